"""Positive numbers of any skewness: a shape and a rate for each feature and class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import require
from bayesclf.families.base import POSITIVE, SCALE, Support, require_each
from bayesclf.families.dirichlet import stirling
from bayesclf.families.prior_lines import PriorLine, prior_lines
from bayesclf.families.quadrature import QuadratureFamily, zero_of
from bayesclf.families.template import NUMPY, TINY, CellSums
from bayesclf.families.terms import Density

SPREAD = 1.5
"""Standard deviation of the prior of log α: a row tells of log α about as much, 1 to √2 where its mean is known."""

MEDIANS = (1e-3, 1e6)
"""Range of the prior's median of α, where it is set from the rows."""

ROUNDING = 1e-13
"""Difference of the logarithm of a mean and the mean of logarithms, up to which cells count as equal."""


@dataclass(frozen=True, repr=False)
class Gamma(QuadratureFamily):
    """x_i | y = k ~ Gamma(α_ik, β_ik), independent over features i and classes k.

    ============ ======= ============================= ===========================================
    parameter    support prior                         posterior
    ============ ======= ============================= ===========================================
    α_ik         above 0 LogNormal(log median, spread) by quadrature, β integrated out
    β_ik | α     above 0 Gamma(1 + κα, κm)             Gamma(1 + (κ + n)α, κm + Σx)
    ============ ======= ============================= ===========================================

    The shape is α and the rate β, so that E[x] = α/β; n, Σx and Σ log x are sums over a class's observed cells of a
    feature. Given α the rate is conjugate; the density of log α is evaluated on an even grid (`families.quadrature`),
    from which evidence, predictive and draws come, exact to rounding. The prior of α is cut off at e³⁰, beyond which
    sums over rows do not tell cells apart. At α = 1 the family is `Exponential`, and so is its prior of β. MLE:
    log α − ψ(α) = log x̄ − mean log x, β = α/x̄. MAP: the joint mode in (α, β). Cells are numbers above 0 (`Hurdle`
    takes columns with zeros); a missing cell (NaN) is integrated out.

    Parameters
    ----------
    median, spread
        Of α's prior, above 0, which broadcast to (outcome, feature). A median of None is estimated from the pooled
        rows, by the closed form that starts Minka's iterations. A spread of None is 1.5 for log α: about one row.
    kappa, m
        Rows that the prior of β is worth, and the mean of the column that it expects, in units of the column; above 0,
        they broadcast likewise. Where None, 1 row and the mean of the pooled rows.
    n, sums
        Set by `posterior`: weight of the rows, (outcome, feature), and Σx and Σ log x, (sum, outcome, feature).
    axes : Axes
        Set by `resolve_prior`.

    References
    ----------
    Minka (2002), Estimating a Gamma distribution; Damsleth (1975), Conjugate classes for gamma distributions.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[1.0], [1.2], [3.0], [0.1]], ["regular", "regular", "irregular", "irregular"]
    >>> clf = bc.NaiveBayes({"x0": "gamma"}, random_state=1).fit(X, y)
    >>> print(clf.predict([[1.1], [6.0]]))
    ['regular' 'irregular']
    """

    name: ClassVar[str] = "gamma"
    likelihood: ClassVar[str] = "Gamma(shape, rate)"
    distribution: ClassVar[str] = "Gamma"
    parameters: ClassVar[tuple[str, ...]] = ("shape", "rate")
    support: ClassVar[Support] = POSITIVE
    least_mean: ClassVar[float] = TINY

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.axes.features:
            require(SCALE, m=self.m)

    def terms(self, x: Array) -> tuple[Array, Array]:
        """Return x and log x."""
        return x, np.log(x)

    def natural(self, m: Any, *parameters: Any) -> tuple[tuple[Any, Any], Any]:
        """−βx + (α − 1) log x + α log β − log Γ(α)."""
        shape, rate = parameters
        return (-rate, shape - 1), m.gammaln(shape) - shape * m.log(rate)

    def gain(self, state: tuple[Array, ...], n: Any, *sums: Array) -> Array:
        """log Γ(a + nα)/[Γ(a) Γ(α)^n] b^a/(b + Σx)^(a + nα) e^((α − 1) Σ log x) with a = 1 + wα, w and b of the state.

        Terms that grow with nα are taken together, so that they cancel before they are rounded.
        """
        (weight, b, t), (total, logs) = state, sums
        shape, m, both = np.exp(t), b / weight, weight + n
        mean = np.where(n > 0, total / np.maximum(n, TINY), m)
        a, after = 1 + weight * shape, 1 + both * shape
        of_mean = -n * (_skewness(n, total, logs) + np.log1p(weight * (m - mean) / (both * mean)))
        of_rate = after * np.log1p(1 / (both * shape)) - a * np.log1p(1 / (weight * shape)) - 0.5 * np.log(after / a)
        of_rows = n * (t / 2 - 0.5 * np.log(2 * np.pi) - stirling(shape)) + stirling(after) - stirling(a)
        shrunk = a * np.log1p(n * (mean - m) / (both * m))
        return np.asarray(shape * of_mean - shrunk + of_rate + of_rows - logs)

    def resolve_prior(self, statistics: CellSums) -> Self:
        """Return the prior with its hyperparameters as arrays (outcome, feature)."""
        return self.resolved(statistics, median=_estimate(_skewness(*statistics.pooled().rows())), spread=SPREAD)

    def informative(self, statistics: CellSums) -> NDArray[np.bool_]:
        """Return False for constant and empty columns; with median and m given, for empty ones only."""
        pooled = statistics.pooled()
        given = self.median is not None and self.m is not None
        return np.asarray((pooled.n if given else _skewness(*pooled.rows()))[0] > 0)

    def priors(self) -> list[PriorLine]:
        """Return the log-normal priors of the shape, and the gamma priors of the rate given it."""
        median, spread, kappa, m = self.hyperparameters()
        shapes = prior_lines("shape", "LogNormal(log {median}, {spread})", self.axes, median=median, spread=spread)
        rates = prior_lines("rate", "Gamma(1 + {kappa}·shape, {rate})", self.axes, kappa=kappa, rate=kappa * m)
        return [*shapes, *rates]

    def mle(self, statistics: CellSums) -> Parameters:
        """Return shapes and rates; raises `DoesNotExist` where the cells of a class are equal, or it has none."""
        n, total, logs = statistics.rows()
        skewness = _skewness(n, total, logs)
        lacks, why = "has too few different values", " for a shape by maximum likelihood; use the rule 'map'"
        require_each(skewness > 0, statistics.axes, lacks, why)
        shape = np.exp(zero_of(lambda t: t - digamma(np.exp(t)) - skewness, skewness.shape))
        return {"shape": shape[None], "rate": (shape * n / total)[None]}

    def map(self, statistics: CellSums) -> Parameters:
        """Return the joint mode of α and β: that of β given α is (κ + n)α/(κm + Σx)."""
        posterior = self.posterior(statistics)
        (median, spread, kappa, m), (n, _, logs) = posterior.hyperparameters(), posterior.rows()
        weight, b = posterior.state()

        def slope(t: Array) -> Array:
            """Return the derivative of the log posterior in t = log shape, the rate at its mode."""
            shape = np.exp(t)
            of_prior = kappa * (np.log(kappa * m) - digamma(1 + kappa * shape))
            of_rows = logs - n * digamma(shape) + weight * (t + np.log(weight / b))
            return -(t - np.log(median)) / spread**2 - 1 + shape * (of_prior + of_rows)

        shape = np.exp(zero_of(slope, n.shape))
        return {"shape": shape[None], "rate": (weight * shape / b)[None]}

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw log shape by its quadrature, then rate given shape from its gamma distribution."""
        shape, (weight, b) = np.exp(self.drawn.draw(rng, draws)), self.state()
        return {"shape": shape, "rate": rng.standard_gamma(1 + weight * shape) / b}

    def mean(self) -> Parameters:
        """Return E[α] and E[β] = E[1 + (κ + n)α]/(κm + Σx)."""
        shape, (weight, b) = self.grid.expectation(np.exp(self.grid.nodes)), self.state()
        return {"shape": shape[None], "rate": ((1 + weight * shape) / b)[None]}

    def log_prior(self, parameters: Parameters) -> Density:
        """Of α and β together, per log α and log β."""
        shape, rate = self.given(parameters)
        (kappa, b), (n, total, logs) = self.prior_state(), self.rows()
        a, (etas, normalizer) = 1 + kappa * shape, self.natural(NUMPY, shape, rate)
        of_rate = a * np.log(b) - gammaln(a) + a * np.log(rate) - b * rate
        of_rows = etas[0] * total + etas[1] * logs - n * normalizer
        density = Density.of_cells("shape", self.log_prior_of_t(np.log(shape)) + of_rate + of_rows)
        return density.with_same_parts("rate", "shape")

    def pymc_parameters(self, suffix: str, *prior: Any) -> tuple[Any, Any]:
        """Add α and β to the open PyMC model; return them."""
        from bayesclf import pymc_models

        median, spread, kappa, m = prior
        return pymc_models.gammas(median, spread, kappa, m, suffix)

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw numbers (row, feature)."""
        shape, rate = (values[0][y] for values in self.given(parameters))
        return np.asarray(np.maximum(rng.standard_gamma(shape), TINY) / rate)


def _skewness(n: Array, total: Array, logs: Array) -> Array:
    """Return log x̄ less the mean of log x by their sums; 0 where they differ by rounding only."""
    some = np.maximum(n, TINY)
    log_mean, mean_log = np.log(np.where(total > 0, total / some, 1.0)), logs / some
    difference = np.where(n > 0, log_mean - mean_log, 0.0)
    return np.where(difference > ROUNDING * (1 + np.abs(mean_log)), difference, 0.0)


def _estimate(skewness: Array) -> Array:
    """Return about the α of log α − ψ(α) = s."""
    s = np.maximum(skewness, TINY)
    return np.asarray(np.clip((3 - s + np.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s), *MEDIANS))
