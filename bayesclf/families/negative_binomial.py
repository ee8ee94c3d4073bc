"""Counts of events that vary more than Poisson's: a dispersion and a probability for each feature and class."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, override

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy import sparse
from scipy.fft import dct
from scipy.special import digamma, gammaln, xlog1py

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import Number, require
from bayesclf.families import cells
from bayesclf.families.base import Axes, Statistics, broadcast, require_each, require_positive, require_prior_of_page
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


SPREAD = 2.0
"""Standard deviation of the prior of log r: a row tells of log r about as much where r is near the mean."""

MEDIANS = (0.05, 1e6)
"""Range of the prior's median of r, where it is set from the rows."""

BOUNDS = (-18.0, 30.0)
"""Range of log r."""

DEGREE = 256
"""Number of Chebyshev points of log r at which Σ log Γ(x + r)/Γ(r) is kept.

It is analytic in log r but at distance π from the real axis, whatever the counts, so that the error of interpolation
falls like exp(−0.13 · points) on this range, below rounding here.
"""


@dataclass(frozen=True)
class NegativeBinomialStatistics(Statistics):
    """Sums over the observed cells of each class and feature, (outcome, feature).

    Attributes
    ----------
    n
        Weight of the cells.
    total, squares
        Σ x and Σ x².
    log_factorials
        Σ log x!, which the evidence needs and no estimate does.
    rising
        Σ log Γ(x + r)/Γ(r) as Chebyshev coefficients in log r, (outcome, feature, coefficient).
    """

    axes: Axes
    n: Array
    total: Array
    squares: Array
    log_factorials: Array
    rising: Array

    @classmethod
    def of(cls, X: Any, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Self:
        """Add up counts `X` (row, feature), NaN where a cell is missing."""
        observed, counts = cells.events(X, axes)
        summed = (observed, counts, counts**2, gammaln(counts + 1))
        n, total, squares, factorials = (class_sums(v, y, len(axes.labels), sample_weight) for v in summed)
        rising = np.zeros((len(axes.labels), len(axes.features), DEGREE))
        for j, column in enumerate(counts.T):
            values, place = np.unique(column, return_inverse=True)
            # A missing cell has count 0, whose rising factorial is 1.
            cell = np.arange(len(place)), place
            of_value = sparse.csr_array((np.ones(len(place)), cell), shape=(len(place), len(values)))
            counted = class_sums(of_value, y, len(axes.labels), sample_weight)
            rising[:, j] = counted @ _coefficients(values)
        return cls(axes, n, total, squares, factorials, rising)


@dataclass(frozen=True, repr=False)
class NegativeBinomial(QuadratureFamily[NegativeBinomialStatistics]):
    r"""x_i | y = k ~ NegativeBinomial(r_ik, θ_ik), independent over features i and classes k.

    ========= ======= ============================= ===========================================
    parameter support prior                         posterior
    ========= ======= ============================= ===========================================
    r_ik      above 0 LogNormal(log median, spread) by quadrature, θ integrated out
    θ_ik | r  (0, 1)  Beta(1 + κr, 1 + κm)          Beta(1 + (κ + n)r, 1 + κm + Σx)
    ========= ======= ============================= ===========================================

    .. math:: P(x | k) = \frac{Γ(x + r)}{Γ(r)\, x!} θ^r (1 − θ)^x,

    with mean μ = r(1 − θ)/θ and variance μ + μ²/r; n and Σx are sums over a class's observed cells of a feature. Given
    r, θ is conjugate; the density of log r is evaluated on an even grid (`families.quadrature`), from which evidence,
    predictive and draws come, exact to rounding: of Σ log Γ(x + r), so that the evidence of 1,000 counts of a million
    is known to 1e-5, and of a billion to 1e-2. As r grows the family becomes `Poisson`, and so does its prior. MLE,
    MAP: the joint modes in (r, θ), given r θ = nr/(nr + Σx) and θ = (κ + n)r/((κ + n)r + κm + Σx). Cells are whole
    numbers of at least 0; a missing cell (NaN) is integrated out.

    Parameters
    ----------
    median, spread
        Of r's prior, above 0, which broadcast to (outcome, feature). Where None, the median is the mean of the column,
        where the variance is twice that of Poisson's, and the spread of log r 2: about one row.
    kappa, m
        Rows that the prior of θ is worth, and the mean that it expects, above 0; they broadcast likewise. Where None, 1
        row and the mean of the pooled rows.
    n, total, rising
        Set by `posterior`: weight of the rows, Σx, and Σ log Γ(x + r)/Γ(r) as Chebyshev coefficients (coefficient,
        outcome, feature) in log r.
    axes : Axes
        Set by `resolve_prior`.

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, 3rd edition, section 2.6; Levin & Reeds (1977), Compound multinomial
    likelihood functions are unimodal, doi:10.1214/aos/1176343740.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[2.0], [3.0], [1.0], [0.0], [14.0], [0.0]], ["even", "even", "even", "bursts", "bursts", "bursts"]
    >>> clf = bc.NaiveBayes({"x0": "negative-binomial"}, random_state=1).fit(X, y)
    >>> print(clf.predict([[2.0], [20.0]]))
    ['even' 'bursts']
    """

    median: float | Array | None = None
    spread: float | Array | None = None
    kappa: float | Array | None = None
    m: float | Array | None = None
    n: float | Array = 0.0
    total: float | Array = 0.0
    rising: float | Array = 0.0
    axes: Axes = field(default=Axes((), ()), repr=False)
    name: ClassVar[str] = "negative-binomial"
    kind: ClassVar[str] = "number"
    likelihood: ClassVar[str] = "NegativeBinomial(dispersion, theta)"
    statistics_type: ClassVar[type[Statistics]] = NegativeBinomialStatistics
    bounds: ClassVar[tuple[float, float]] = BOUNDS

    def __post_init__(self) -> None:
        require_positive(median=self.median, spread=self.spread, kappa=self.kappa, m=self.m)
        require(Number(array=True), n=self.n, total=self.total, rising=self.rising)

    def resolve_prior(self, statistics: NegativeBinomialStatistics) -> Self:
        """Return the prior with its hyperparameters as arrays (outcome, feature)."""
        pooled, shape = statistics.pooled(), statistics.n.shape
        mean = pooled.total / np.maximum(pooled.n, 1)
        given = {
            "median": np.clip(mean, *MEDIANS) if self.median is None else self.median,
            "spread": SPREAD if self.spread is None else self.spread,
            "kappa": 1.0 if self.kappa is None else self.kappa,
            "m": mean if self.m is None else self.m,
        }
        arrays = {name: broadcast(name, value, shape, "outcome, feature") for name, value in given.items()}
        require_within(self.bounds, arrays["median"], arrays["spread"])
        sums = {"n": np.zeros(shape), "total": np.zeros(shape), "rising": np.zeros((DEGREE, *shape))}
        return replace(self, **arrays, **sums, axes=statistics.axes)

    def informative(self, statistics: NegativeBinomialStatistics) -> NDArray[np.bool_]:
        """Return False for a feature without an observed cell, or without an event unless m is given."""
        pooled = statistics.pooled()
        return np.asarray(pooled.total[0] > 0) if self.m is None else np.asarray(pooled.n[0] > 0)

    @override
    def priors(self) -> list[PriorLine]:
        """Return the log-normal priors of r, and the beta priors of θ given it."""
        median, spread, kappa, m, *_ = self.hyperparameters()
        form, beta = "LogNormal(log {median}, {spread})", "Beta(1 + {kappa}·dispersion, {beta})"
        dispersions = prior_lines("dispersion", form, self.axes, median=median, spread=spread)
        return [*dispersions, *prior_lines("theta", beta, self.axes, kappa=kappa, beta=1 + kappa * m)]

    def mle(self, statistics: NegativeBinomialStatistics) -> Parameters:
        """Return r and θ; raises `DoesNotExist` where the counts of a class vary no more than Poisson's."""
        n, total, axes = statistics.n, statistics.total, statistics.axes
        require_each(n > 0, axes, "has no value")
        varies = n * statistics.squares - total**2 > n * total
        why = ", so that r grows without bound by maximum likelihood; take the family 'poisson', or another rule"
        require_each(varies, axes, "has counts that vary no more than Poisson's", why)
        slopes: Array = np.asarray(chebyshev.chebder(np.moveaxis(statistics.rising, 2, 0), axis=0), dtype=float)

        def slope(t: Array) -> Array:
            """Return the derivative of the log likelihood in t = log r, θ at its best."""
            return _at(slopes, t) / HALF - n * np.exp(t) * np.log1p(total / n / np.exp(t))

        r = np.exp(zero_of(slope, n.shape, self.bounds))
        return {"dispersion": r[None], "theta": (n * r / (n * r + total))[None]}

    def map(self, statistics: NegativeBinomialStatistics) -> Parameters:
        """Return the joint mode of r and θ: that of θ given r is (κ + n)r/((κ + n)r + κm + Σx)."""
        posterior = self.posterior(statistics)
        median, spread, kappa, m, *_ = posterior.hyperparameters()
        weight, events = posterior.of_theta()
        slopes: Array = np.asarray(chebyshev.chebder(np.asarray(posterior.rising), axis=0), dtype=float)

        def slope(t: Array) -> Array:
            """Return the derivative of the log posterior in t = log r, θ at its mode."""
            r = np.exp(t)
            prior = kappa * r * (digamma(2 + kappa * (r + m)) - digamma(1 + kappa * r))
            of_rows = _at(slopes, t) / HALF - weight * r * np.log1p(events / (weight * r))
            return -(t - np.log(median)) / spread**2 - 1 + prior + of_rows

        r = np.exp(zero_of(slope, median.shape, self.bounds))
        return {"dispersion": r[None], "theta": (weight * r / (weight * r + events))[None]}

    def posterior(self, statistics: NegativeBinomialStatistics) -> Self:
        """Return the same prior with the sums of more rows."""
        *_, n, total, rising = self.hyperparameters()
        more = np.moveaxis(statistics.rising, 2, 0)
        return replace(self, n=n + statistics.n, total=total + statistics.total, rising=rising + more)

    @override
    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw log r by its quadrature, then θ given r from its beta distribution."""
        r = np.exp(self.draw_t(rng, draws))
        weight, events = self.of_theta()
        return {"dispersion": r, "theta": np.maximum(rng.beta(1 + weight * r, 1 + events), np.finfo(float).tiny)}

    def mean(self) -> Parameters:
        """Return E[r] and E[θ]."""
        weight, events = self.of_theta()
        r = np.exp(self.grid.nodes)
        a = 1 + weight * r
        means = (self.grid.expectation(r), self.grid.expectation(a / (a + 1 + events)))
        return dict(zip(self.dims(), (mean[None] for mean in means), strict=True))

    @override
    def pymc(self, statistics: NegativeBinomialStatistics, suffix: str) -> None:
        """Add r and θ, observing Σx and Σ log Γ(x + r)/Γ(r), with the log likelihood of the cells."""
        from bayesclf.families.pymc import observe_sums

        sums = {"n": statistics.n, "x": statistics.total, "rising": statistics.rising}
        sums["log_factorials"] = statistics.log_factorials
        observe_sums(suffix, self._pymc_parameters(statistics, suffix), sums, _log_likelihood)

    @override
    def page(self, X: Array, row: Any, suffix: str) -> None:
        """Add r and θ, observing x ~ NegativeBinomial(r_y, θ_y)."""
        import pymc as pm

        from bayesclf import pymc_models

        require_prior_of_page(self)
        median, spread, kappa, m, *_ = self.hyperparameters()
        prior = pymc_models.negative_binomials(median, spread, kappa, m, suffix)
        pymc_models.cells(pm.NegativeBinomial, X, row, *prior, name=suffix)

    def _pymc_parameters(
        self, statistics: NegativeBinomialStatistics, suffix: str
    ) -> tuple[TensorVariable, TensorVariable]:
        """Add r and θ to the open PyMC model; return them."""
        import pymc as pm
        import pytensor.tensor as pt

        from bayesclf.families.pymc import standardized_probability

        names = ("median", "spread", "kappa", "m", "n", "total")
        *given, rising = self.hyperparameters()
        median, spread, kappa, m, n, total = (
            pm.Data(f"dispersion_{name}{suffix}", value) for name, value in zip(names, given, strict=True)
        )
        dims = ("outcome", f"feature{suffix}")
        r = pm.LogNormal(f"dispersion{suffix}", pt.log(median), spread, dims=dims)
        a, b = 1 + (kappa + n) * r, 1 + kappa * m + total
        more, sums = pm.Data(f"theta_n{suffix}", statistics.n), pm.Data(f"theta_total{suffix}", statistics.total)
        theta = standardized_probability(f"theta{suffix}", (a, b), (a + more * r, b + sums), dims)
        if self.variant:
            prior = pt.betaln(1 + kappa * r, 1 + kappa * m)
            of_counts = _pymc_at(pm.Data(f"dispersion_rising{suffix}", np.moveaxis(rising, 0, 2)), pt.log(r))
            pm.Potential(f"dispersion_given_rows{suffix}", of_counts + pt.betaln(a, b) - prior)
        return r, theta

    def log_density(self, X: Array, parameters: Parameters) -> Array:
        """Return Σ_i log P(x_i | r_ik, θ_ik) over the observed cells, (draw, row, outcome)."""
        observed, counts = cells.events(X, self.axes)
        r, theta = parameters["dispersion"], parameters["theta"]
        density = cells.products(observed, r * np.log(theta)) + cells.products(counts, np.log1p(-theta))
        density -= gammaln(counts + 1).sum(axis=1)[:, None]
        for j, column in enumerate(counts.T):
            values, place = np.unique(column, return_inverse=True)
            for k in range(r.shape[1]):
                density[:, :, k] += log_rising(r[:, k, j, None], values)[:, place]
        return np.asarray(density)

    @override
    def log_marginal(self, t: Array) -> Array:
        """The log density of log r: Σ log Γ(x + r)/Γ(r) by interpolation, and the integrals over θ."""
        median, spread, kappa, m, *_, rising = self.hyperparameters()
        weight, events = self.of_theta()
        r = np.exp(t)
        of_theta = _log_beta(1 + weight * r, 1 + events) - _log_beta(1 + kappa * r, 1 + kappa * m)
        return np.asarray(log_normal_density(t, median, spread) + _at(rising, t) + of_theta)

    @override
    def _log_cells_at(self, values: Array, t: Array, outcome: int, feature: int, left_out: bool) -> Array:
        """The beta negative binomial distribution, Γ(x + r)/[Γ(r) x!] B(a + r, b + x)/B(a, b), a and b those of θ.

        By Stirling's formula its large terms are −Σ O log O/E, O the table of r and x over a and b, and E that of the
        same margins: a sum of parts of one sign, which keeps its digits however large the counts.
        """
        weight, events = (part[outcome, feature] for part in self.of_theta())
        r, x = np.exp(t), values
        a, b = 1 + weight * r, 1 + events
        if left_out:
            a, b = a - r, b - x
        above, below, left, right = r + x, a + b, a + r, b + x
        total, determinant = above + below, r * b - x * a
        margins = ((above, left, 1), (above, right, -1), (below, left, -1), (below, right, 1))
        ratio = sum(one * other * _excess(sign * determinant / (one * other)) for one, other, sign in margins) / total
        some = np.maximum(x, 1.0)
        choices = 0.5 * np.log(r / (2 * np.pi * some * (r + some))) + stirling(r + some) - stirling(r) - stirling(some)
        of_theta = 0.5 * np.log(a * b / below * total / left / right) + stirling(below) - stirling(a) - stirling(b)
        of_both = stirling(left) + stirling(right) - stirling(total)
        return np.asarray(np.where(x > 0, choices, 0.0) + of_theta + of_both - ratio)

    def log_base(self, statistics: NegativeBinomialStatistics) -> Array:
        """−Σ log x!."""
        return -statistics.log_factorials

    def log_prior(self, parameters: Parameters) -> Density:
        """Of r and θ together, per log r and θ."""
        median, spread, kappa, m, *_, rising = self.hyperparameters()
        weight, events = self.of_theta()
        r, theta = parameters["dispersion"], parameters["theta"]
        density = log_normal_density(np.log(r), median, spread) - _log_beta(1 + kappa * r, 1 + kappa * m)
        density += _at(rising, np.log(r)) + weight * r * np.log(theta) + xlog1py(events, -theta)
        return Density.of_cells("dispersion", density).with_same_parts("theta", "dispersion")

    def contributions(self, X: Array, parameters: Parameters, pair: Pair) -> Contributions:
        """Differences of log Γ(x + r)/Γ(r) + r log θ + x log (1 − θ) between the two classes."""
        observed, counts = cells.events(X, self.axes)
        r, theta = parameters["dispersion"], parameters["theta"]
        rising = [log_rising(r[:, codes], counts) for codes in pair]
        terms = rising[0] - rising[1] + pair.differences(r * np.log(theta)) + counts * pair.log_ratios(1 - theta)
        return Contributions.of_rows(each(self.axes.features), observed * terms)

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw counts (row, feature): Poisson's, whose rate is drawn from a gamma distribution."""
        r, theta = (parameters[name][0][y] for name in self.dims())
        rate = rng.standard_gamma(r) * (1 - theta) / theta
        return np.asarray(rng.poisson(np.minimum(rate, cells.MOST_EVENTS / 2)), dtype=float)

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of r and θ."""
        return dict.fromkeys(("dispersion", "theta"), ("outcome", "feature"))

    @property
    @override
    def variant(self) -> str:
        """Whether rows are in it: a posterior has another PyMC block than a prior."""
        return "given rows" if np.any(np.asarray(self.n) > 0) else ""

    @property
    @override
    def cells_shape(self) -> tuple[int, ...]:
        """Shape of the cells with an r and a θ each, (outcome, feature)."""
        return np.shape(self.n)

    def hyperparameters(self) -> tuple[Array, ...]:
        """Return median, spread, κ, m, n, Σx, each (outcome, feature), and the coefficients of `rising`."""
        given = (self.median, self.spread, self.kappa, self.m, self.n, self.total, self.rising)
        return tuple(np.asarray(value, dtype=float) for value in given)

    def of_theta(self) -> tuple[Array, Array]:
        """Return κ + n and κm + Σx: given r, θ is Beta(1 + (κ + n)r, 1 + κm + Σx)."""
        *_, kappa, m, n, total, _ = self.hyperparameters()
        return kappa + n, kappa * m + total


MIDDLE, HALF = sum(BOUNDS) / 2, (BOUNDS[1] - BOUNDS[0]) / 2
ANGLES = np.pi * (np.arange(DEGREE) + 0.5) / DEGREE
"""Angles whose cosines are the Chebyshev points."""


def _coefficients(counts: Array) -> Array:
    """Return log Γ(x + r)/Γ(r) of counts (value) as Chebyshev coefficients in log r, (value, coefficient)."""
    r = np.exp(MIDDLE + HALF * np.cos(ANGLES))
    coefficients = np.asarray(dct(log_rising(r, counts[:, None]), axis=1)) / DEGREE
    coefficients[:, 0] /= 2
    return coefficients


def _at(coefficients: Array, t: Array) -> Array:
    """Return sums of Chebyshev polynomials, by coefficients (coefficient, outcome, feature), at t (…, same axes)."""
    return np.asarray(chebyshev.chebval((t - MIDDLE) / HALF, coefficients, tensor=False))


def _log_beta(a: Array, b: Array) -> Array:
    """Return log B(a, b), which loses no digits where a is large."""
    return gammaln(b) - log_rising(a, b)


def _excess(e: Array) -> Array:
    """Return (1 + e) log(1 + e) − e, at least 0, for e from −1 on."""
    e = np.maximum(e, -1.0)
    return np.asarray(xlog1py(1 + e, e) - e)


def _pymc_at(coefficients: TensorVariable, t: TensorVariable) -> Any:
    """Return what `_at` does of coefficients (outcome, feature, coefficient)."""
    import pytensor.tensor as pt

    angle = pt.arccos(pt.clip((t - MIDDLE) / HALF, -1 + 1e-12, 1 - 1e-12))
    return (coefficients * pt.cos(np.arange(DEGREE) * angle[..., None])).sum(axis=-1)


def _log_likelihood(r: Any, theta: Any, n: Any, total: Any, rising: Any, log_factorials: Any) -> Any:
    import pytensor.tensor as pt

    return _pymc_at(rising, pt.log(r)) - log_factorials + n * r * pt.log(theta) + total * pt.log1p(-theta)
