"""Counts of events and waiting times: families with one rate for each feature and class, and its gamma prior."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, override

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import require
from bayesclf.errors import InputError
from bayesclf.families import cells
from bayesclf.families.base import LOST, SCALE, Axes, Family, Statistics, broadcast, require_each, require_positive
from bayesclf.families.dirichlet import class_sums, logs
from bayesclf.families.prior_lines import PriorLine, prior_lines
from bayesclf.families.terms import Contributions, Density, LinearDesign, LinearTerms, Pair, each

if TYPE_CHECKING:
    from pytensor.tensor import TensorVariable


@dataclass(frozen=True, repr=False)
class GammaRate[S: Statistics](Family[S]):
    """A family whose one parameter is a rate λ_ik ~ Gamma(a_ik, b_ik), independent over features i and classes k.

    Parameters
    ----------
    a, b
        Shape and rate, above 0, which broadcast to (outcome, feature).
    axes : Axes
        Set by `resolve_prior`.
    """

    a: float | Array | None = None
    b: float | Array | None = None
    axes: Axes = field(default=Axes((), ()), repr=False)

    def __post_init__(self) -> None:
        require_positive(a=self.a, b=self.b)

    @override
    def priors(self) -> list[PriorLine]:
        """Return the gamma priors of the rate."""
        a, b = self._hyperparameters()
        return prior_lines("rate", "Gamma({a}, {b})", self.axes, a=a, b=b)

    @override
    def mean(self) -> Parameters:
        """Return a/b."""
        a, b = self._hyperparameters()
        return {"rate": (a / b)[None]}

    def _pymc_rate(self, suffix: str) -> TensorVariable:
        """Add λ to the open PyMC model; return it."""
        import pymc as pm

        a, b = (
            pm.Data(f"rate_{name}{suffix}", value) for name, value in zip("ab", self._hyperparameters(), strict=True)
        )
        return pm.Gamma(f"rate{suffix}", a, b, dims=("outcome", f"feature{suffix}"))

    @override
    def log_normalizer(self) -> Array:
        """log Γ(a) b^−a."""
        a, b = self._hyperparameters()
        return np.asarray(gammaln(a) - a * np.log(b))

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of the rate."""
        return {"rate": ("outcome", "feature")}

    def _hyperparameters(self) -> tuple[Array, Array]:
        """Return a and b, (outcome, feature) each."""
        return np.asarray(self.a), np.asarray(self.b)


@dataclass(frozen=True)
class PoissonStatistics(Statistics):
    """Sums over the observed cells of each class and feature, (outcome, feature).

    Attributes
    ----------
    n
        Weight of the cells.
    events
        Σ x, their events.
    log_factorials
        Σ log x!, which the evidence needs and no estimate does.
    """

    axes: Axes
    n: Array
    events: Array
    log_factorials: Array

    @classmethod
    def of(cls, X: Any, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Self:
        """Add up counts `X` (row, feature), NaN where a cell is missing."""
        observed, counts = cells.events(X, axes)
        summed = (observed, counts, gammaln(counts + 1))
        return cls(axes, *(class_sums(values, y, len(axes.labels), sample_weight) for values in summed))


@dataclass(frozen=True, repr=False)
class Poisson(GammaRate[PoissonStatistics]):
    """x_i | y = k ~ Poisson(λ_ik) with λ_ik ~ Gamma(a_ik, b_ik), independent over features i and classes k.

    ========= ======= ================= =============================
    parameter support prior             posterior
    ========= ======= ================= =============================
    λ_ik      above 0 Gamma(a_ik, b_ik) Gamma(a_ik + Σx, b_ik + n_ik)
    ========= ======= ================= =============================

    n and Σx are the number of a class's observed cells of a feature and their sum; b is a rate, so that E[λ] = a/b.
    MLE Σx/n; MAP (a + Σx − 1)/(b + n). The predictive is the negative binomial distribution,

    .. math:: p(x | k, D) = \\frac{Γ(a + x)}{Γ(a)\\, x!} \\frac{b^a}{(b + 1)^{a + x}},

    with a and b of the posterior. The log-odds are linear in x. Cells are whole numbers of at least 0; a missing cell
    (NaN) is integrated out.

    Parameters
    ----------
    a, b
        Shape and rate, above 0, which broadcast to (outcome, feature). Where None, unit information from the pooled
        rows: b = 1, a prior worth one row, and a = 1 + b·(mean of the column), so that the prior's mode is that mean.
    axes : Axes
        Set by `resolve_prior`.

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, 3rd edition, section 2.6.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[0.0], [1.0], [4.0], [6.0]], ["few", "few", "many", "many"]
    >>> clf = bc.NaiveBayes({"x0": bc.families.Poisson(a=1, b=1)}, random_state=1).fit(X, y)
    >>> clf.posterior_["map"]["rate"].values.ravel()  # (a + Σx − 1)/(b + n)
    array([0.33333333, 3.33333333])
    """

    name: ClassVar[str] = "poisson"
    kind: ClassVar[str] = "number"
    likelihood: ClassVar[str] = "Poisson(rate)"
    statistics_type: ClassVar[type[Statistics]] = PoissonStatistics

    def resolve_prior(self, statistics: PoissonStatistics) -> Self:
        """Return the prior with a and b as arrays (outcome, feature)."""
        pooled, shape = statistics.pooled(), statistics.n.shape
        b = broadcast("b", 1.0 if self.b is None else self.b, shape, "outcome, feature")
        a = 1 + b * pooled.events / np.maximum(pooled.n, 1) if self.a is None else self.a
        return replace(self, a=broadcast("a", a, shape, "outcome, feature"), b=b, axes=statistics.axes)

    def informative(self, statistics: PoissonStatistics) -> NDArray[np.bool_]:
        """Return False for a feature without an observed cell, or without an event unless the prior is given."""
        pooled = statistics.pooled()
        return np.asarray(pooled.events[0] > 0) if self.a is None else np.asarray(pooled.n[0] > 0)

    def mle(self, statistics: PoissonStatistics) -> Parameters:
        """Return the means Σx/n; raises `DoesNotExist` where a class has no cell of a feature."""
        require_each(statistics.n > 0, statistics.axes, "has no value")
        rate = statistics.events / statistics.n
        return {"rate": rate[None]}

    def map(self, statistics: PoissonStatistics) -> Parameters:
        """Return the mode (a − 1)/b of the posterior; raises `DoesNotExist` where its density is unbounded at 0."""
        posterior = self.posterior(statistics)
        a, b = np.asarray(posterior.a), np.asarray(posterior.b)
        require_each(a >= 1, self.axes, "has no most probable rate (a + events is below 1; give a larger a)")
        return {"rate": ((a - 1) / b)[None]}

    def posterior(self, statistics: PoissonStatistics) -> Self:
        """Return Gamma(a + Σx, b + n)."""
        a, b = self._hyperparameters()
        return replace(self, a=a + statistics.events, b=b + statistics.n)

    @override
    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw rate ~ Gamma(a, b)."""
        a, b = self._hyperparameters()
        return {"rate": rng.standard_gamma(a, size=(draws, *a.shape)) / b}

    @override
    def pymc(self, statistics: PoissonStatistics, suffix: str) -> None:
        """Add λ, with the log likelihood Σx log λ − nλ − Σ log x! of the cells."""
        from bayesclf.families.pymc import observe_sums

        sums = {"n": statistics.n, "x": statistics.events, "log_factorials": statistics.log_factorials}
        observe_sums(suffix, (self._pymc_rate(suffix),), sums, _log_likelihood_of_events)

    @override
    def page(self, X: Array, row: Any, suffix: str) -> None:
        """Add λ, observing x ~ Poisson(λ_y)."""
        import pymc as pm

        from bayesclf import pymc_models

        pymc_models.cells(pm.Poisson, X, row, pymc_models.rates(*self._hyperparameters(), suffix), name=suffix)

    def log_density(self, X: Array, parameters: Parameters) -> Array:
        """Return Σ_i x_i log λ_ik − λ_ik − log x_i! over the observed cells, (draw, row, outcome)."""
        observed, counts = cells.events(X, self.axes)
        rate = parameters["rate"]
        never = rate == 0
        log_rate = np.log(np.where(never, 1.0, rate))
        density = (
            cells.products(counts, log_rate) - cells.products(observed, rate) - gammaln(counts + 1).sum(axis=1)[:, None]
        )
        if never.any():
            density[cells.products((counts > 0).astype(float), never.astype(float)) > 0] = -np.inf
        return density

    def log_predictive(self, X: Array) -> Array:
        """Return the log mass of the negative binomial, summed over the observed cells, (row, outcome)."""
        observed, counts = cells.events(X, self.axes)
        a, b = self._hyperparameters()
        return np.stack([_negative_binomial(counts, observed, a[k], b[k]) for k in range(len(a))], axis=1)

    def log_predictive_without(self, X: Array, y: Integers) -> Array:
        """The negative binomial with a − x and b − 1 for each cell taken away."""
        observed, counts = cells.events(X, self.axes)
        a, b = self._hyperparameters()
        return self._with_own(X, y, _negative_binomial(counts, observed, a[y] - counts, b[y] - observed))

    def log_base(self, statistics: PoissonStatistics) -> Array:
        """−Σ log x!."""
        return -statistics.log_factorials

    def log_prior(self, parameters: Parameters) -> Density:
        """λ ~ Gamma(a, b), per log λ: its power α is Gamma(αa, αb), a prior worth α times as many rows."""
        a, b = self._hyperparameters()
        return Density.of_cells("rate", xlogy(a, parameters["rate"]) - b * parameters["rate"])

    def linear_design(self, statistics: PoissonStatistics, at_means: bool) -> LinearDesign:
        """Measure from the pooled means."""
        pooled = statistics.pooled()
        mean = pooled.events[0] / np.maximum(pooled.n[0], 1)
        return LinearDesign(statistics.axes.features, (), mean if at_means else np.zeros_like(mean))

    def linear_terms(self, parameters: Parameters, design: LinearDesign) -> LinearTerms:
        """x log λ − λ = z log λ + c log λ − λ with z = x − c."""
        rate = parameters["rate"]
        return LinearTerms(logs(rate), xlogy(design.centre, rate) - rate)

    def contributions(self, X: Array, parameters: Parameters, pair: Pair) -> Contributions:
        """x log λ_k/λ_k′ − (λ_k − λ_k′)."""
        observed, counts = cells.events(X, self.axes)
        rate = parameters["rate"]
        with np.errstate(invalid="ignore"):
            ratios = np.where(counts > 0, counts * pair.log_ratios(rate), 0.0)
        return Contributions.of_rows(each(self.axes.features), ratios - observed * pair.differences(rate))

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw counts (row, feature)."""
        return np.asarray(rng.poisson(parameters["rate"][0][y]), dtype=float)


def _negative_binomial(counts: Array, observed: Array, a: Array, b: Array) -> Array:
    """Return the log mass summed over the observed cells, (row); a and b are (feature) or (row, feature).

    A missing cell has count 0 and, where b counts the cell itself, has not been taken from it.
    """
    masses = gammaln(a + counts) - gammaln(a) - gammaln(counts + 1) - a * np.log1p(1 / b) - counts * np.log1p(b)
    return np.asarray((observed * masses).sum(axis=1))


def _log_likelihood_of_events(rate: Any, n: Any, events: Any, log_factorials: Any) -> Any:
    import pytensor.tensor as pt

    # Where there are no events the logarithm is taken of 1, so that neither the value nor the gradient sees log 0.
    return events * pt.log(pt.switch(pt.eq(events, 0), 1.0, rate)) - n * rate - log_factorials


@dataclass(frozen=True)
class ExponentialStatistics(Statistics):
    """Weight n and sum Σ x of the observed cells of each class and feature, (outcome, feature)."""

    axes: Axes
    n: Array
    total: Array

    @classmethod
    def of(cls, X: Any, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Self:
        """Add up cells `X` (row, feature), NaN where one is missing."""
        summed = cells.not_negative(X, axes, Exponential.name)
        return cls(axes, *(class_sums(values, y, len(axes.labels), sample_weight) for values in summed))


@dataclass(frozen=True, repr=False)
class Exponential(GammaRate[ExponentialStatistics]):
    """x_i | y = k ~ Exponential(λ_ik) with λ_ik ~ Gamma(a_ik, b_ik), independent over features i and classes k.

    ========= ======= ================= ==============================
    parameter support prior             posterior
    ========= ======= ================= ==============================
    λ_ik      above 0 Gamma(a_ik, b_ik) Gamma(a_ik + n_ik, b_ik + Σx)
    ========= ======= ================= ==============================

    n and Σx are the number of a class's observed cells of a feature and their sum; b is a rate, so that E[λ] = a/b.
    MLE n/Σx; MAP (a + n − 1)/(b + Σx). The predictive is the Lomax distribution,

    .. math:: p(x | k, D) = \\frac{a\\, b^a}{(b + x)^{a + 1}},

    with a and b of the posterior. The log-odds are linear in x. Cells are numbers of at least 0; a missing cell (NaN)
    is integrated out.

    Parameters
    ----------
    a, b
        Shape, and rate in units of the column, above 0, which broadcast to (outcome, feature). Where None, unit
        information from the pooled rows: a = 2, a prior worth one row, and b = (a − 1)·(mean of the column), so that
        1/λ has that mean as its expectation, and λ its reciprocal as its prior mode.
    axes : Axes
        Set by `resolve_prior`.

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, 3rd edition, section 2.6.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[0.5], [1.5], [4.0], [8.0]], ["short", "short", "long", "long"]
    >>> clf = bc.NaiveBayes({"x0": bc.families.Exponential(a=2, b=1)}, random_state=1).fit(X, y)
    >>> clf.posterior_["map"]["rate"].values.ravel().round(3)  # (a + n − 1)/(b + Σx)
    array([0.231, 1.   ])
    """

    name: ClassVar[str] = "exponential"
    kind: ClassVar[str] = "number"
    likelihood: ClassVar[str] = "Exponential(rate)"
    statistics_type: ClassVar[type[Statistics]] = ExponentialStatistics

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.axes.features:
            require(SCALE, b=self.b)

    def resolve_prior(self, statistics: ExponentialStatistics) -> Self:
        """Return the prior with a and b as arrays (outcome, feature)."""
        pooled, shape = statistics.pooled(), statistics.n.shape
        a = broadcast("a", 2.0 if self.a is None else self.a, shape, "outcome, feature")
        if self.b is None and not (a > 1).all():
            raise InputError("a is at most 1, where 1/λ has no prior mean to set b by; give b too, or a above 1")
        b = (a - 1) * pooled.total / np.maximum(pooled.n, 1)
        if self.b is not None:
            b = broadcast("b", self.b, shape, "outcome, feature")
        return replace(self, a=a, b=np.maximum(b, np.finfo(float).tiny), axes=statistics.axes)

    def informative(self, statistics: ExponentialStatistics) -> NDArray[np.bool_]:
        """Return False for a feature without an observed cell, or without one above 0 unless the prior is given."""
        pooled = statistics.pooled()
        return np.asarray(pooled.total[0] > 0) if self.b is None else np.asarray(pooled.n[0] > 0)

    def mle(self, statistics: ExponentialStatistics) -> Parameters:
        """Return n/Σx; raises `DoesNotExist` where a class has no cell of a feature above 0."""
        require_each(statistics.total > 0, statistics.axes, "has no value above 0")
        return {"rate": (statistics.n / statistics.total)[None]}

    def map(self, statistics: ExponentialStatistics) -> Parameters:
        """Return the mode (a − 1)/b of the posterior; raises `DoesNotExist` where it is at 0."""
        posterior = self.posterior(statistics)
        a, b = np.asarray(posterior.a), np.asarray(posterior.b)
        require_each(a > 1, self.axes, "has no most probable rate above 0 (a + n is at most 1; give a larger a)")
        return {"rate": ((a - 1) / b)[None]}

    def posterior(self, statistics: ExponentialStatistics) -> Self:
        """Return Gamma(a + n, b + Σx)."""
        a, b = self._hyperparameters()
        return replace(self, a=a + statistics.n, b=b + statistics.total)

    @override
    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw rate ~ Gamma(a, b), at least the smallest positive number."""
        a, b = self._hyperparameters()
        return {"rate": np.maximum(rng.standard_gamma(a, size=(draws, *a.shape)), np.finfo(float).tiny) / b}

    @override
    def pymc(self, statistics: ExponentialStatistics, suffix: str) -> None:
        """Add λ, with the log likelihood n log λ − λ Σx of the cells."""
        from bayesclf.families.pymc import observe_sums

        observe_sums(suffix, (self._pymc_rate(suffix),), {"n": statistics.n, "x": statistics.total}, _log_likelihood)

    @override
    def page(self, X: Array, row: Any, suffix: str) -> None:
        """Add λ, observing x ~ Exponential(λ_y)."""
        import pymc as pm

        from bayesclf import pymc_models

        pymc_models.cells(pm.Exponential, X, row, pymc_models.rates(*self._hyperparameters(), suffix), name=suffix)

    def log_density(self, X: Array, parameters: Parameters) -> Array:
        """Return Σ_i log λ_ik − λ_ik x_i over the observed cells, (draw, row, outcome)."""
        observed, values = cells.not_negative(X, self.axes, self.name)
        rate = parameters["rate"]
        return cells.products(observed, np.log(rate)) - cells.products(values, rate)

    def log_predictive(self, X: Array) -> Array:
        """Return the log density of the Lomax distribution, summed over the observed cells, (row, outcome)."""
        observed, values = cells.not_negative(X, self.axes, self.name)
        a, b = self._hyperparameters()
        return np.stack([self._lomax(values, observed, a[k], b[k]) for k in range(len(a))], axis=1)

    def log_predictive_without(self, X: Array, y: Integers) -> Array:
        """The Lomax distribution with a − 1 and b − x for each cell taken away."""
        observed, values = cells.not_negative(X, self.axes, self.name)
        a, b = self._hyperparameters()
        kept = (b[y] - values > LOST * b[y]).all(axis=1)
        without = np.where(kept[:, None], b[y] - values, b[y])
        out = self._with_own(X, y, self._lomax(values, observed, a[y] - observed, without))
        out[~kept] = np.nan
        return out

    def log_prior(self, parameters: Parameters) -> Density:
        """λ ~ Gamma(a, b), per log λ: its power α is Gamma(αa, αb), a prior worth α times as many rows."""
        a, b = self._hyperparameters()
        return Density.of_cells("rate", a * np.log(parameters["rate"]) - b * parameters["rate"])

    def linear_design(self, statistics: ExponentialStatistics, at_means: bool) -> LinearDesign:
        """Measure from the pooled means."""
        pooled = statistics.pooled()
        mean = pooled.total[0] / np.maximum(pooled.n[0], 1)
        centre = mean if at_means else np.zeros_like(mean)
        return LinearDesign(statistics.axes.features, (), centre)

    def linear_terms(self, parameters: Parameters, design: LinearDesign) -> LinearTerms:
        """log λ − λx = −λz + log λ − λc with z = x − c."""
        rate = parameters["rate"]
        return LinearTerms(-rate, logs(rate) - rate * design.centre)

    def contributions(self, X: Array, parameters: Parameters, pair: Pair) -> Contributions:
        """log λ_k/λ_k′ − (λ_k − λ_k′) x."""
        observed, values = cells.not_negative(X, self.axes, self.name)
        rate = parameters["rate"]
        terms = observed * pair.log_ratios(rate) - values * pair.differences(rate)
        return Contributions.of_rows(each(self.axes.features), terms)

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw numbers (row, feature)."""
        rate = parameters["rate"][0][y]
        return np.asarray(rng.standard_exponential(rate.shape) / rate)

    def _lomax(self, values: Array, observed: Array, a: Array, b: Array) -> Array:
        """Return the log density summed over the observed cells, (row); a and b are (feature) or (row, feature)."""
        densities = np.log(a) - np.log(b) - (a + 1) * np.log1p(values / b)
        return np.asarray((observed * densities).sum(axis=1))


def _log_likelihood(rate: Any, n: Any, total: Any) -> Any:
    import pytensor.tensor as pt

    return n * pt.log(rate) - rate * total
