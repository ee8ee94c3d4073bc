"""Positive numbers of any skewness: a shape and a rate for each feature and class."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, override

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import Number, require
from bayesclf.families import cells
from bayesclf.families.base import (
    LOST,
    SCALE,
    Axes,
    Statistics,
    broadcast,
    require_each,
    require_positive,
    require_prior_of_page,
)
from bayesclf.families.dirichlet import class_sums
from bayesclf.families.prior_lines import PriorLine, prior_lines
from bayesclf.families.quadrature import (
    QuadratureFamily,
    log_normal_density,
    log_rising,
    require_within,
    stirling,
    zero_of,
)
from bayesclf.families.terms import Contributions, Density, Pair, each

if TYPE_CHECKING:
    from pytensor.tensor import TensorVariable


SPREAD = 1.5
"""Standard deviation of the prior of log α: a row tells of log α about as much, 1 to √2 where its mean is known."""

MEDIANS = (1e-3, 1e6)
"""Range of the prior's median of α, where it is set from the rows."""

ROUNDING = 1e-13
"""Difference of the logarithm of a mean and the mean of logarithms, up to which cells count as equal."""

NEAR = 1e-6
"""Slope of the log density in α, per row, up to which equal cells count as next to the prior's mean."""


@dataclass(frozen=True)
class GammaStatistics(Statistics):
    """Weight n, sum Σ x and sum Σ log x of the observed cells of each class and feature, (outcome, feature)."""

    axes: Axes
    n: Array
    total: Array
    logs: Array

    @classmethod
    def of(cls, X: Any, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Self:
        """Add up cells `X` (row, feature), NaN where one is missing."""
        observed, values = cells.positive(X, axes, Gamma.name)
        summed = (observed, observed * values, np.log(values))
        return cls(axes, *(class_sums(part, y, len(axes.labels), sample_weight) for part in summed))

    def skewness(self) -> Array:
        """Return log x̄ less the mean of log x, (outcome, feature): about 1/2α; 0 where cells are equal or lacking."""
        return _skewness(self.n, self.total, self.logs)


@dataclass(frozen=True, repr=False)
class Gamma(QuadratureFamily[GammaStatistics]):
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
        Of α's prior, above 0, which broadcast to (outcome, feature). Where None, the median is an estimate of α from
        the pooled rows, by the closed form that starts Minka's iterations, and the spread of log α 1.5: about one row.
    kappa, m
        Rows that the prior of β is worth, and the mean of the column that it expects, in units of the column; above 0,
        they broadcast likewise. Where None, 1 row and the mean of the pooled rows.
    n, total, logs
        Set by `posterior`: weight of the rows, Σx and Σ log x.
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

    median: float | Array | None = None
    spread: float | Array | None = None
    kappa: float | Array | None = None
    m: float | Array | None = None
    n: float | Array = 0.0
    total: float | Array = 0.0
    logs: float | Array = 0.0
    axes: Axes = field(default=Axes((), ()), repr=False)
    name: ClassVar[str] = "gamma"
    kind: ClassVar[str] = "number"
    likelihood: ClassVar[str] = "Gamma(shape, rate)"
    statistics_type: ClassVar[type[Statistics]] = GammaStatistics

    def __post_init__(self) -> None:
        require_positive(median=self.median, spread=self.spread, kappa=self.kappa, m=self.m)
        require(Number(array=True), n=self.n, total=self.total, logs=self.logs)
        if not self.axes.features:
            require(SCALE, m=self.m)

    def resolve_prior(self, statistics: GammaStatistics) -> Self:
        """Return the prior with its hyperparameters as arrays (outcome, feature)."""
        pooled = statistics.pooled()
        given = {
            "median": _estimate(pooled.skewness()) if self.median is None else self.median,
            "spread": SPREAD if self.spread is None else self.spread,
            "kappa": 1.0 if self.kappa is None else self.kappa,
            "m": pooled.total / np.maximum(pooled.n, 1) if self.m is None else self.m,
        }
        shape = statistics.n.shape
        arrays = {name: broadcast(name, value, shape, "outcome, feature") for name, value in given.items()}
        arrays["m"] = np.maximum(arrays["m"], np.finfo(float).tiny)
        require_within(self.bounds, arrays["median"], arrays["spread"])
        sums = {name: np.zeros(shape) for name in ("n", "total", "logs")}
        return replace(self, **arrays, **sums, axes=statistics.axes)

    def informative(self, statistics: GammaStatistics) -> NDArray[np.bool_]:
        """Return False for constant and empty columns; with median and m given, for empty ones only."""
        pooled = statistics.pooled()
        if self.median is not None and self.m is not None:
            return np.asarray(pooled.n[0] > 0)
        return np.asarray(pooled.skewness()[0] > 0)

    @override
    def priors(self) -> list[PriorLine]:
        """Return the log-normal priors of the shape, and the gamma priors of the rate given it."""
        median, spread, kappa, m, *_ = self.hyperparameters()
        shapes = prior_lines("shape", "LogNormal(log {median}, {spread})", self.axes, median=median, spread=spread)
        rates = prior_lines("rate", "Gamma(1 + {kappa}·shape, {rate})", self.axes, kappa=kappa, rate=kappa * m)
        return [*shapes, *rates]

    def mle(self, statistics: GammaStatistics) -> Parameters:
        """Return shapes and rates; raises `DoesNotExist` where the cells of a class are equal, or it has none."""
        skewness = statistics.skewness()
        require_each(
            skewness > 0, statistics.axes, "has too few different values", " for a shape by maximum likelihood"
        )
        shape = np.exp(zero_of(lambda t: t - digamma(np.exp(t)) - skewness, skewness.shape))
        return {"shape": shape[None], "rate": (shape * statistics.n / statistics.total)[None]}

    def map(self, statistics: GammaStatistics) -> Parameters:
        """Return the joint mode of α and β: that of β given α is (κ + n)α/(κm + Σx)."""
        posterior = self.posterior(statistics)
        median, spread, kappa, m, n, _, logs = posterior.hyperparameters()
        weight, b = posterior.of_rate()

        def slope(t: Array) -> Array:
            """Return the derivative of the log posterior in t = log shape, the rate at its mode."""
            shape = np.exp(t)
            of_prior = kappa * (np.log(kappa * m) - digamma(1 + kappa * shape))
            of_rows = logs - n * digamma(shape) + weight * (t + np.log(weight / b))
            return -(t - np.log(median)) / spread**2 - 1 + shape * (of_prior + of_rows)

        shape = np.exp(zero_of(slope, n.shape))
        return {"shape": shape[None], "rate": (weight * shape / b)[None]}

    def posterior(self, statistics: GammaStatistics) -> Self:
        """Return the same prior with the sums of more rows."""
        *_, n, total, logs = self.hyperparameters()
        return replace(self, n=n + statistics.n, total=total + statistics.total, logs=logs + statistics.logs)

    @override
    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw log shape by its quadrature, then rate given shape from its gamma distribution."""
        shape = np.exp(self.draw_t(rng, draws))
        weight, b = self.of_rate()
        return {"shape": shape, "rate": rng.standard_gamma(1 + weight * shape) / b}

    def mean(self) -> Parameters:
        """Return E[α] and E[β] = E[1 + (κ + n)α]/(κm + Σx)."""
        weight, b = self.of_rate()
        shape = self.grid.expectation(np.exp(self.grid.nodes))
        return {"shape": shape[None], "rate": ((1 + weight * shape) / b)[None]}

    @override
    def pymc(self, statistics: GammaStatistics, suffix: str) -> None:
        """Add α and β, observing Σx and Σ log x, with the log likelihood of the cells."""
        from bayesclf.families.pymc import observe_sums

        shape, rate = self._pymc_parameters(statistics, suffix)
        sums = {"n": statistics.n, "x": statistics.total, "log": statistics.logs}
        observe_sums(suffix, (shape, rate), sums, _log_likelihood)

    @override
    def page(self, X: Array, row: Any, suffix: str) -> None:
        """Add α and β, observing x ~ Gamma(α_y, β_y)."""
        import pymc as pm

        from bayesclf import pymc_models

        require_prior_of_page(self)
        median, spread, kappa, m, *_ = self.hyperparameters()
        prior = pymc_models.gammas(median, spread, kappa, m, suffix)
        pymc_models.cells(pm.Gamma, X, row, *prior, name=suffix)

    def _pymc_parameters(self, statistics: GammaStatistics, suffix: str) -> tuple[TensorVariable, TensorVariable]:
        """Add α and β to the open PyMC model; return them."""
        import pymc as pm
        import pytensor.tensor as pt

        from bayesclf.families.pymc import standardized_rate

        names = ("median", "spread", "kappa", "m", "n", "total", "logs")
        median, spread, kappa, m, n, total, logs = (
            pm.Data(f"shape_{name}{suffix}", value) for name, value in zip(names, self.hyperparameters(), strict=True)
        )
        dims = ("outcome", f"feature{suffix}")
        shape = pm.LogNormal(f"shape{suffix}", pt.log(median), spread, dims=dims)
        a, b = 1 + (kappa + n) * shape, kappa * m + total
        more, sums = pm.Data(f"rate_n{suffix}", statistics.n), pm.Data(f"rate_total{suffix}", statistics.total)
        rate = standardized_rate(f"rate{suffix}", (a, b), (a + more * shape, b + sums), dims)
        if self.variant:
            prior = (1 + kappa * shape) * pt.log(kappa * m) - pt.gammaln(1 + kappa * shape)
            rows = (shape - 1) * logs - n * pt.gammaln(shape) + pt.gammaln(a) - a * pt.log(b)
            pm.Potential(f"shape_given_rows{suffix}", prior + rows)
        return shape, rate

    def log_density(self, X: Array, parameters: Parameters) -> Array:
        """Return Σ_i (α−1) log x_i + α log β − log Γ(α) − βx_i over the observed cells, (draw, row, outcome)."""
        observed, values = cells.positive(X, self.axes, self.name)
        shape, rate = parameters["shape"], parameters["rate"]
        constant = shape * np.log(rate) - gammaln(shape)
        density = cells.products(observed, constant) + cells.products(np.log(values), shape - 1)
        density -= cells.products(observed * values, rate)
        return np.asarray(density)

    @override
    def log_marginal(self, t: Array) -> Array:
        """Terms that grow with nα are taken together, so that they cancel before they are rounded."""
        median, spread, kappa, m, n, _, logs = self.hyperparameters()
        weight, b = self.of_rate()
        shape, log_mean = np.exp(t), np.log(b / weight)
        prior, rows = 1 + kappa * shape, 1 + weight * shape
        of_prior = prior * (np.log(m) - log_mean - np.log1p(1 / (kappa * shape))) + 0.5 * np.log(prior)
        near, gap = self._equal_cells
        slope = np.where(near, gap - kappa * (np.log(m) - log_mean), logs - n * log_mean)
        of_rows = shape * slope - logs + n * (t / 2 - 0.5 * np.log(2 * np.pi) - stirling(shape))
        of_rate = rows * np.log1p(1 / (weight * shape)) - 0.5 * np.log(rows)
        corrections = stirling(rows) - stirling(prior)
        return np.asarray(log_normal_density(t, median, spread) + of_prior + of_rows + of_rate + corrections)

    @override
    def _log_cells_at(self, values: Array, t: Array, outcome: int, feature: int, left_out: bool) -> Array:
        """The compound gamma distribution, x^(α−1) Γ(a + α)/[Γ(α) Γ(a)] b^a/(b + x)^(a+α), a and b those of β."""
        cell = (outcome, feature)
        weight, b = (part[cell] for part in self.of_rate())
        shape, x = np.exp(t), values
        a = 1 + weight * shape
        kept = b - x > LOST * b
        if left_out:
            a, b = a - shape, np.where(kept, b - x, np.nan)
        near, _ = self._equal_cells
        if near[cell]:
            return _log_compound(x, shape, a, b)
        constant = log_rising(a, shape) - gammaln(shape)
        return np.asarray(constant + (shape - 1) * np.log(x) - shape * np.log(b + x) - a * np.log1p(x / b))

    @cached_property
    def _equal_cells(self) -> tuple[NDArray[np.bool_], Array]:
        """Return where cells are equal and next to m, and n log x̄ + κ log m − (κ + n) log of their weighted mean.

        There α grows to the end of its range, at which the terms of the density that grow with it must cancel to more
        digits than sums over rows have.
        """
        _, _, kappa, m, n, total, logs = self.hyperparameters()
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            away = (total / np.maximum(n, np.finfo(float).tiny) - m) / m
            gap = n * np.log1p(away) - (kappa + n) * np.log1p(away * n / (kappa + n))
        near: NDArray[np.bool_] = (n > 0) & (_skewness(n, total, logs) == 0) & (gap > -NEAR * (kappa + n))
        return near, gap

    def log_prior(self, parameters: Parameters) -> Density:
        """Of α and β together, per log α and log β."""
        median, spread, kappa, m, n, _, logs = self.hyperparameters()
        weight, b = self.of_rate()
        shape, rate = parameters["shape"], parameters["rate"]
        prior = 1 + kappa * shape
        density = log_normal_density(np.log(shape), median, spread) + prior * np.log(kappa * m) - gammaln(prior)
        density += (shape - 1) * logs - n * gammaln(shape) + (1 + weight * shape) * np.log(rate) - b * rate
        return Density.of_cells("shape", density).with_same_parts("rate", "shape")

    def contributions(self, X: Array, parameters: Parameters, pair: Pair) -> Contributions:
        """Differences of α log βx − βx − log Γ(α) between the two classes."""
        observed, values = cells.positive(X, self.axes, self.name)
        shape, rate = parameters["shape"], parameters["rate"]
        constant = pair.differences(shape * np.log(rate) - gammaln(shape))
        terms = constant + pair.differences(shape) * np.log(values) - pair.differences(rate) * values
        return Contributions.of_rows(each(self.axes.features), observed * terms)

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw numbers (row, feature)."""
        shape, rate = (parameters[name][0][y] for name in ("shape", "rate"))
        return np.asarray(np.maximum(rng.standard_gamma(shape), np.finfo(float).tiny) / rate)

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of shape and rate."""
        return dict.fromkeys(("shape", "rate"), ("outcome", "feature"))

    @property
    @override
    def variant(self) -> str:
        """Whether rows are in it: a posterior has another PyMC block than a prior."""
        return "given rows" if np.any(np.asarray(self.n) > 0) else ""

    @property
    @override
    def cells_shape(self) -> tuple[int, ...]:
        """Shape of the cells with a shape and a rate each, (outcome, feature)."""
        return np.shape(self.n)

    def hyperparameters(self) -> tuple[Array, ...]:
        """Return median, spread, κ, m, n, Σx and Σ log x, each (outcome, feature)."""
        given = (self.median, self.spread, self.kappa, self.m, self.n, self.total, self.logs)
        return tuple(np.asarray(value, dtype=float) for value in given)

    def of_rate(self) -> tuple[Array, Array]:
        """Return κ + n and κm + Σx: given α, β is Gamma(1 + (κ + n)α, κm + Σx)."""
        *_, kappa, m, n, total, _ = self.hyperparameters()
        return kappa + n, kappa * m + total


def _skewness(n: Array, total: Array, logs: Array) -> Array:
    """Return log x̄ less the mean of log x by their sums; 0 where they differ by rounding only."""
    some = np.maximum(n, np.finfo(float).tiny)
    log_mean, mean_log = np.log(np.where(total > 0, total / some, 1.0)), logs / some
    difference = np.where(n > 0, log_mean - mean_log, 0.0)
    return np.where(difference > ROUNDING * (1 + np.abs(mean_log)), difference, 0.0)


def _log_compound(x: Array, shape: Array, a: Array, b: Array) -> Array:
    """Return the log of x^(α−1) Γ(a + α)/[Γ(α) Γ(a)] b^a/(b + x)^(a+α), which keeps its digits where α is large.

    By Stirling's formula α log (ξ/λ) − (a + α) log [(1 + ξ)/(1 + λ)] is left, ξ = x/b and λ = α/a, of which the parts
    linear in ξ − λ cancel.
    """
    share, expected = x / b, shape / a
    own, whole = (share - expected) / expected, (share - expected) / (1 + expected)
    small = np.abs(own) < 0.5
    linear = np.where(small, own, 0.0), np.where(small, whole, 0.0)
    large = shape * (np.log1p(own) - linear[0]) - (a + shape) * (np.log1p(whole) - linear[1])
    corrections = stirling(a + shape) - stirling(shape) - stirling(a)
    return np.asarray(large + 0.5 * np.log(shape / (2 * np.pi * (1 + expected))) + corrections - np.log(x))


def _estimate(skewness: Array) -> Array:
    """Return about the α of log α − ψ(α) = s."""
    s = np.maximum(skewness, np.finfo(float).tiny)
    return np.asarray(np.clip((3 - s + np.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s), *MEDIANS))


def _log_likelihood(shape: Any, rate: Any, n: Any, total: Any, logs: Any) -> Any:
    import pytensor.tensor as pt

    return n * (shape * pt.log(rate) - pt.gammaln(shape)) + (shape - 1) * logs - rate * total
