"""Positive numbers whose logarithms are Gaussian."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NoReturn, override

import numpy as np

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.errors import Refused
from bayesclf.families import cells
from bayesclf.families.base import Axes
from bayesclf.families.gaussian import Gaussian
from bayesclf.families.moments import Moments
from bayesclf.families.normal_scores import LARGEST_LOG
from bayesclf.families.terms import Contributions, LinearDesign, Pair


@dataclass(frozen=True, repr=False)
class LogNormal(Gaussian):
    """log x_i | y = k ~ Normal(μ_ik, σ²), independent over features i, with the prior of `Gaussian`.

    ========= ======== =================== ===========================================
    parameter support  prior               posterior
    ========= ======== =================== ===========================================
    σ²        above 0  InvGamma(a, b)      InvGamma(a + n/2, b + ½S + ½ κn/(κ+n)(z̄−m)²)
    μ_ik | σ² real     Normal(m_i, σ²/κ)   Normal((κm + n z̄)/(κ + n), σ²/(κ + n))
    ========= ======== =================== ===========================================

    n, z̄, S are weight, mean and scatter of the logarithms z = log x of a class's observed cells of a feature. Every
    density is that of x itself,

    .. math:: p(x | k) = \\frac{1}{x} \\mathrm{Normal}(\\log x; μ_k, σ_k²),

    so that it can be compared with those of other families; the predictive is the log-t distribution. Cells are
    numbers above 0 (`Hurdle` takes columns with zeros); a missing cell (NaN) is integrated out. μ and σ² are those of
    log x in the column's own unit: another unit adds a constant to μ.

    Parameters
    ----------
    variance, m, kappa, a, b, unbiased
        Those of `Gaussian`, of log x.
    axes : Axes
        Set by `resolve_prior`.

    References
    ----------
    Mitchell, eqs 13 to 15, for the logarithms; Johnson, Kotz & Balakrishnan (1994), Continuous Univariate Distributions
    1, chapter 14.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[1.0], [2.0], [40.0], [90.0]], ["low", "low", "high", "high"]
    >>> clf = bc.NaiveBayes({"x0": "log-normal"}, random_state=1).fit(X, y)
    >>> print(clf.predict([[4.0], [20.0]]))
    ['low' 'high']
    """

    name: ClassVar[str] = "log-normal"
    likelihood: ClassVar[str] = "LogNormal(mu, sigma2)"
    distribution: ClassVar[str] = "LogNormal"
    reads_numbers: ClassVar[bool] = False

    @override
    def statistics(self, X: Array, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Moments:
        """Return the moments of log x."""
        return super().statistics(_logs(X, axes), y, axes, sample_weight)

    @override
    def pymc(self, statistics: Moments, suffix: str) -> None:
        """Add μ and σ², observing the moments of log x, and the Jacobian Π 1/x."""
        import pymc as pm

        super().pymc(statistics, suffix)
        pm.Potential(f"x_log_jacobian{suffix}", pm.Data(f"x_minus_logs{suffix}", _log_jacobian(statistics)).sum())

    @override
    def log_density_given(self, parameters: Parameters) -> Callable[[Array], Array]:
        """Return the function from rows to Σ_i log Normal(log x_i; μ_ik, σ²) − log x_i over the observed cells."""
        of_logs = super().log_density_given(parameters)

        def log_density(X: Array) -> Array:
            """Return it, (draw, row, outcome)."""
            logs = _logs(X, self.axes)
            return of_logs(logs) - np.nansum(logs, axis=1)[:, None]

        return log_density

    @override
    def log_predictive(self, X: Array) -> Array:
        """Return the log density of the log-t distribution, (row, outcome)."""
        logs = _logs(X, self.axes)
        return super().log_predictive(logs) - np.nansum(logs, axis=1)[:, None]

    @override
    def log_predictive_without(self, X: Array, y: Integers) -> Array:
        """The log-t distribution, each cell taken away as in `Gaussian`."""
        logs = _logs(X, self.axes)
        return super().log_predictive_without(logs, y) - np.nansum(logs, axis=1)[:, None]

    @override
    def _log_base(self, statistics: Moments) -> Array:
        """log (2π)^(−n/2), and the Jacobian −Σ log x."""
        return super()._log_base(statistics) + self._group(_log_jacobian(statistics))

    @override
    def linear_terms(self, parameters: Parameters, design: LinearDesign) -> NoReturn:
        """Refuse: the log-odds are at best linear in log x."""
        raise Refused(
            f"{design} is of the family {self.name!r}, whose log-odds are not linear in x; take the logarithms of the "
            "columns and the family 'gaussian' with variance='feature', which has the same log-odds"
        )

    @override
    def contributions(self, X: Array, parameters: Parameters, pair: Pair) -> Contributions:
        """Those of the logarithms: the factor 1/x is the same in all classes."""
        return super().contributions(_logs(X, self.axes), parameters, pair)

    @override
    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw x (row, feature), which neither overflows nor becomes 0."""
        return np.exp(np.clip(super().sample(parameters, y, rng), -LARGEST_LOG, LARGEST_LOG))


def _logs(X: Array, axes: Axes) -> Array:
    observed, values = cells.positive(X, axes, LogNormal.name)
    return np.where(observed > 0, np.log(values), np.nan)


def _log_jacobian(statistics: Moments) -> Array:
    """Return −Σ log x of the cells of each class and feature, (outcome, feature)."""
    return -statistics.n * statistics.mean
