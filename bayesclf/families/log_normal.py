"""Positive numbers whose logarithms are Gaussian."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NoReturn, Self, override

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import Instance, require
from bayesclf.errors import Refused
from bayesclf.families import cells
from bayesclf.families.base import Axes, Family, Statistics
from bayesclf.families.gaussian import Gaussian
from bayesclf.families.moments import Moments
from bayesclf.families.prior_lines import PriorLine
from bayesclf.families.terms import Contributions, Density, LinearDesign, Pair

LARGEST_LOG = 700.0
"""Logarithms of cells that are drawn are within ± this, so that the cells themselves neither overflow nor become 0."""


@dataclass(frozen=True, repr=False)
class LogNormal(Family[Moments]):
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
    of_logs : Gaussian
        The family of the logarithms: a `Gaussian` with any of its variance structures.

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

    of_logs: Gaussian = field(default_factory=Gaussian)
    name: ClassVar[str] = "log-normal"
    kind: ClassVar[str] = "number"
    likelihood: ClassVar[str] = "LogNormal(mu, sigma2)"
    statistics_type: ClassVar[type[Statistics]] = Moments

    def __post_init__(self) -> None:
        require(Instance(Gaussian), of_logs=self.of_logs)

    @property
    @override
    def axes(self) -> Axes:
        """Coordinates of the block."""
        return self.of_logs.axes

    @override
    def statistics(self, X: Array, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Moments:
        """Return the moments of log x."""
        return self.of_logs.statistics(_logs(X, axes), y, axes, sample_weight)

    def resolve_prior(self, statistics: Moments) -> Self:
        """Return the prior of the logarithms in numbers."""
        return replace(self, of_logs=self.of_logs.resolve_prior(statistics))

    def informative(self, statistics: Moments) -> NDArray[np.bool_]:
        """Return False for constant and empty columns, unless location and variance have priors of their own."""
        return self.of_logs.informative(statistics)

    @override
    def priors(self) -> list[PriorLine]:
        """Return the priors of μ and σ² of log x."""
        return self.of_logs.priors()

    def mle(self, statistics: Moments) -> Parameters:
        """Return means and variances of log x by maximum likelihood; raises `DoesNotExist` as `Gaussian` does."""
        return self.of_logs.mle(statistics)

    def map(self, statistics: Moments) -> Parameters:
        """Return the joint posterior mode of means and variances of log x."""
        return self.of_logs.map(statistics)

    def posterior(self, statistics: Moments) -> Self:
        """Return the normal-inverse-gamma posterior."""
        return replace(self, of_logs=self.of_logs.posterior(statistics))

    @override
    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw μ and σ² of log x."""
        return self.of_logs.draw(rng, draws)

    def mean(self) -> Parameters:
        """Return E[μ] and E[σ²]; raises `DoesNotExist` where a ≤ 1."""
        return self.of_logs.mean()

    @override
    def pymc(self, statistics: Moments, suffix: str) -> None:
        """Add μ and σ², observing the moments of log x, and the Jacobian Π 1/x."""
        import pymc as pm

        self.of_logs.pymc(statistics, suffix)
        pm.Potential(f"x_log_jacobian{suffix}", pm.Data(f"x_minus_logs{suffix}", _log_jacobian(statistics)).sum())

    @override
    def page(self, X: Array, row: Any, suffix: str) -> None:
        """Add μ and σ², observing x ~ LogNormal(μ_y, σ²_y)."""
        import pymc as pm

        from bayesclf import pymc_models

        pymc_models.cells(pm.LogNormal, X, row, *self.of_logs.page_moments(suffix), name=suffix)

    def log_density(self, X: Array, parameters: Parameters) -> Array:
        """Return Σ_i log Normal(log x_i; μ_ik, σ²) − log x_i over the observed cells, (draw, row, outcome)."""
        logs = _logs(X, self.axes)
        return self.of_logs.log_density(logs, parameters) - np.nansum(logs, axis=1)[:, None]

    def log_predictive(self, X: Array) -> Array:
        """Return the log density of the log-t distribution, (row, outcome)."""
        logs = _logs(X, self.axes)
        return self.of_logs.log_predictive(logs) - np.nansum(logs, axis=1)[:, None]

    @override
    def log_predictive_without(self, X: Array, y: Integers) -> Array:
        """The log-t distribution, each cell taken away as in `Gaussian`."""
        logs = _logs(X, self.axes)
        return self.of_logs.log_predictive_without(logs, y) - np.nansum(logs, axis=1)[:, None]

    @override
    def log_normalizer(self) -> Array:
        """Return log Z of the normal model of log x."""
        return self.of_logs.log_normalizer()

    def log_base(self, statistics: Moments) -> Array:
        """log (2π)^(−n/2), and the Jacobian −Σ log x."""
        of_logs = np.asarray(self.of_logs.log_base(statistics))
        jacobian = _log_jacobian(statistics)
        shared = tuple(axis for axis in (0, 1) if of_logs.shape[axis] < jacobian.shape[axis])
        return of_logs + jacobian.sum(axis=shared, keepdims=True)

    @override
    def log_prior(self, parameters: Parameters) -> Density:
        """Return the log density of μ and σ² of log x."""
        return self.of_logs.log_prior(parameters)

    @override
    def log_likelihood(self, statistics: Moments, parameters: Parameters) -> Density | None:
        """Return the log likelihood by the statistics of log x."""
        return self.of_logs.log_likelihood(statistics, parameters)

    def linear_terms(self, parameters: Parameters, design: LinearDesign) -> NoReturn:
        """Refuse: the log-odds are at best linear in log x."""
        raise Refused(
            f"{design} is of the family {self.name!r}, whose log-odds are not linear in x; take the logarithms of the "
            "columns and the family 'gaussian' with variance='feature', which has the same log-odds"
        )

    def contributions(self, X: Array, parameters: Parameters, pair: Pair) -> Contributions:
        """Those of the logarithms: the factor 1/x is the same in all classes."""
        return self.of_logs.contributions(_logs(X, self.axes), parameters, pair)

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw x (row, feature)."""
        return np.exp(np.clip(self.of_logs.sample(parameters, y, rng), -LARGEST_LOG, LARGEST_LOG))

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of μ and σ² of log x."""
        return self.of_logs.dims()


def _logs(X: Array, axes: Axes) -> Array:
    """Return log x (row, feature), NaN where a cell is missing; raise for cells that are not above 0."""
    observed, values = cells.positive(X, axes, LogNormal.name)
    return np.where(observed > 0, np.log(values), np.nan)


def _log_jacobian(statistics: Moments) -> Array:
    """Return −Σ log x of the cells of each class and feature, (outcome, feature)."""
    return -statistics.n * statistics.mean
