"""Directions and times of day: a mean direction and a concentration for each feature and class."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, override

import numpy as np
from numpy.typing import NDArray
from scipy.special import i0e, i1e

from bayesclf.constraints import Number, require
from bayesclf.families import cells
from bayesclf.families.base import Axes, Statistics, broadcast, require_each, require_positive
from bayesclf.families.dirichlet import class_sums
from bayesclf.families.prior_lines import PriorLine, prior_lines
from bayesclf.families.quadrature import QuadratureFamily, log_normal_density, require_within, zero_of
from bayesclf.families.terms import Contributions, Density, Pair, each
from bayesclf.typing import Array, Integers, Parameters

if TYPE_CHECKING:
    from pytensor.tensor import TensorVariable

    from bayesclf.families.pymc_rows import LabeledRows

TURN = 2 * np.pi

SPREAD = 1.5
"""Standard deviation of the prior of log κ: from κ = 1 on, a row tells of log κ about as much, 1.2 to 1.7."""

MEDIANS = (1.0, 1e4)
"""Range of the prior's median of κ, where it is set from the rows.

Classes that point to different directions can each be concentrated where the pooled rows are not.
"""

BOUNDS = (-12.0, 20.0)
"""Range of log κ: from uniform up to 1e-6 to a standard deviation of 0.003 degrees."""

NODES, DEPTH = 448, 600.0
"""Of the grid of log κ: its density falls faster than a normal one on the right, where leaving out an outlier goes."""

RESOLUTION = 1e-9
"""Mean resultant lengths as near to 1 count as one direction, and as near to 0 as no direction at all."""

SCANNED = 513
"""Values of log κ at which the highest mode is looked for."""


@dataclass(frozen=True)
class VonMisesStatistics(Statistics):
    """Weight n, Σ cos φ and Σ sin φ of the observed cells of each class and feature, (outcome, feature)."""

    axes: Axes
    n: Array
    cosines: Array
    sines: Array

    @classmethod
    def of(cls, X: Any, y: Integers, axes: Axes, sample_weight: Array | None = None, period: float = TURN) -> Self:
        """Add up the unit vectors of cells `X` (row, feature), NaN where one is missing."""
        observed, cosines, sines = _vectors(X, period)
        summed = (class_sums(part, y, len(axes.labels), sample_weight) for part in (observed, cosines, sines))
        return cls(axes, *summed)

    def mean_length(self) -> Array:
        """Return the mean resultant length, from 0 to 1, (outcome, feature); 0 without a cell."""
        return np.asarray(np.hypot(self.cosines, self.sines) / np.where(self.n > 0, self.n, 1.0))


@dataclass(frozen=True, repr=False)
class VonMises(QuadratureFamily[VonMisesStatistics]):
    r"""x_i | y = k ~ VonMises(μ_ik, κ_ik), independent over features i and classes k: numbers that go around a circle.

    ========= ======== ============================= ===========================================
    parameter support  prior                         posterior
    ========= ======== ============================= ===========================================
    κ_ik      above 0  LogNormal(log median, spread) by quadrature, μ integrated out
    μ_ik | κ  circle   uniform                       VonMises(direction of (C, S), κR)
    ========= ======== ============================= ===========================================

    .. math:: p(x | k) = \frac{\exp(κ \cos(2π(x − μ)/T))}{T \, I_0(κ)}

    with T the period and φ = 2πx/T; C = Σ cos φ, S = Σ sin φ and R = √(C² + S²) are of a class's observed cells of a
    feature. Given κ the direction is conjugate,

    .. math:: p(D | κ) = \frac{I_0(κR)}{(T \, I_0(κ))^n},

    and the density of log κ is evaluated on an even grid (`families.quadrature`), from which evidence, predictive and
    draws come, exact to rounding. The prior of κ is cut off at e²⁰, a standard deviation of 0.003 degrees, beyond which
    sums of unit vectors do not tell directions apart: there lies the posterior of a class of many cells that are all
    equal. MLE: the direction of (C, S), and κ with I₁(κ)/I₀(κ) = R/n. MAP: the joint mode in (μ, κ). A large κ makes it
    a Gaussian with variance (T/2π)²/κ, a small one uniform.

    Directions μ are in units of the column: those of estimates from 0 to the period, those of draws within half a
    period of the posterior's mean direction, so that averages of draws are right; −1 is the same as T − 1. Cells of
    training rows lie between −T and T; a missing cell (NaN) is integrated out.

    Parameters
    ----------
    period : float
        What a full turn is in units of the column: 2π for radians, 360 for degrees, 24 for hours of a day. Above 0.
    median, spread
        Of κ's prior, above 0, which broadcast to (outcome, feature). Where None, the median is an estimate of κ from
        the pooled rows, at least 1, and the spread of log κ 1.5: about one row.
    n, cosines, sines
        Set by `posterior`: weight of the rows, C and S.
    axes : Axes
        Set by `resolve_prior`.

    References
    ----------
    Mardia & El-Atoum (1976), Bayesian inference for the von Mises-Fisher distribution, doi:10.1093/biomet/63.1.203 (μ
    given κ); Damien & Walker (1999), A full Bayesian analysis of circular data using the von Mises distribution,
    doi:10.2307/3315639; Banerjee et al. (2005), Clustering on the unit hypersphere using von Mises-Fisher
    distributions, equation 4.4 (the estimate of κ).

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[23.5], [0.5], [1.0], [12.0], [14.0], [13.0]], ["night", "night", "night", "day", "day", "day"]
    >>> clf = bc.NaiveBayes({"x0": bc.families.VonMises(period=24)}, random_state=1).fit(X, y)
    >>> print(clf.predict([[22.0], [15.0]]))
    ['night' 'day']
    """

    period: float = TURN
    median: float | Array | None = None
    spread: float | Array | None = None
    n: float | Array = 0.0
    cosines: float | Array = 0.0
    sines: float | Array = 0.0
    axes: Axes = field(default=Axes((), ()), repr=False)
    name: ClassVar[str] = "von-mises"
    kind: ClassVar[str] = "number"
    likelihood: ClassVar[str] = "VonMises(mu, kappa)"
    statistics_type: ClassVar[type[Statistics]] = VonMisesStatistics
    bounds: ClassVar[tuple[float, float]] = BOUNDS
    _nodes: ClassVar[int] = NODES
    _depth: ClassVar[float] = DEPTH

    def __post_init__(self) -> None:
        require(Number(above=0), period=self.period)
        require_positive(median=self.median, spread=self.spread)
        require(Number(array=True), n=self.n, cosines=self.cosines, sines=self.sines)

    @override
    def statistics(self, X: Any, y: Integers, axes: Axes, sample_weight: Array | None = None) -> VonMisesStatistics:
        """Return the sums of unit vectors; raises `InputError` for cells that another period would fit."""
        reason = (
            f"but directions of period {self.period:.4g} lie between {-self.period:.4g} and {self.period:.4g}; take "
            "VonMises(period=360) for degrees, period=24 for hours, or the period that the column has,"
        )
        cells.require(np.isnan(X) | (np.abs(X) <= self.period), X, axes, reason)
        return VonMisesStatistics.of(X, y, axes, sample_weight, self.period)

    def resolve_prior(self, statistics: VonMisesStatistics) -> Self:
        """Return the prior with its hyperparameters as arrays (outcome, feature)."""
        shape = statistics.n.shape
        of_rows = _estimate(statistics.pooled().mean_length()) if self.median is None else self.median
        median = broadcast("median", of_rows, shape, "outcome, feature")
        spread = broadcast("spread", SPREAD if self.spread is None else self.spread, shape, "outcome, feature")
        require_within(self.bounds, median, spread)
        none = np.zeros(shape)
        return replace(self, median=median, spread=spread, n=none, cosines=none, sines=none, axes=statistics.axes)

    def informative(self, statistics: VonMisesStatistics) -> NDArray[np.bool_]:
        """Return False for constant and empty columns; with the median given, for empty ones only."""
        pooled = statistics.pooled()
        some = pooled.n[0] > 0
        return np.asarray(some if self.median is not None else some & (pooled.mean_length()[0] < 1 - RESOLUTION))

    @override
    def priors(self) -> list[PriorLine]:
        """Return the log-normal priors of κ, and the uniform prior of μ."""
        median, spread, *_ = self.hyperparameters()
        concentrations = prior_lines(
            "kappa", "LogNormal(log {median}, {spread})", self.axes, median=median, spread=spread
        )
        directions = prior_lines("mu", "Uniform(0, {period})", self.axes, period=np.full_like(median, self.period))
        return [*directions, *concentrations]

    def mle(self, statistics: VonMisesStatistics) -> Parameters:
        """Return μ and κ; raises `DoesNotExist` where cells of a class are equal, cancel each other, or are lacking."""
        axes, length = statistics.axes, statistics.mean_length()
        require_each(statistics.n > 0, axes, "has no value")
        lacks, why = "has too few different directions", " for a concentration by maximum likelihood"
        require_each(length < 1 - RESOLUTION, axes, lacks, why)
        require_each(
            length > RESOLUTION, axes, "has directions that cancel each other", ", so that there is no mean one"
        )
        kappa = np.exp(zero_of(lambda t: length - _mean_cosine(np.exp(t)), length.shape, self.bounds))
        angle = np.arctan2(statistics.sines, statistics.cosines)
        return {"mu": self._from_zero(angle)[None], "kappa": kappa[None]}

    def map(self, statistics: VonMisesStatistics) -> Parameters:
        """Return the joint mode of μ and κ: μ is the direction of (C, S), whatever κ."""
        posterior = self.posterior(statistics)
        median, spread, n, *_ = posterior.hyperparameters()
        length, angle = posterior.resultant()

        def slope(t: Array) -> Array:
            """Return the derivative of the log posterior in t = log κ, the direction at its mode."""
            kappa = np.exp(t)
            return -(t - np.log(median)) / spread**2 - 1 + kappa * (length - n * _mean_cosine(kappa))

        t = np.linspace(*self.bounds, SCANNED)[:, None, None]
        kappa = np.exp(t)
        joint = log_normal_density(t, median, spread) - t - kappa * np.maximum(n - length, 0.0) - n * np.log(i0e(kappa))
        highest = t.ravel()[np.clip(joint.argmax(axis=0), 1, SCANNED - 2)]
        step = t[1].item() - t[0].item()
        kappa = np.exp(zero_of(slope, n.shape, (highest - step, highest + step)))
        return {"mu": self._from_zero(angle)[None], "kappa": kappa[None]}

    def posterior(self, statistics: VonMisesStatistics) -> Self:
        """Return the same prior with the sums of more rows."""
        *_, n, cosines, sines = self.hyperparameters()
        return replace(self, n=n + statistics.n, cosines=cosines + statistics.cosines, sines=sines + statistics.sines)

    @override
    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw log κ by its quadrature, then μ given κ from its von Mises distribution."""
        kappa = np.exp(self.draw_t(rng, draws))
        length, angle = self.resultant()
        turned = rng.vonmises(0.0, kappa * length) * self.period / TURN
        return {"mu": self._from_zero(angle) + turned, "kappa": kappa}

    def mean(self) -> Parameters:
        """Return the mean direction, about which the posterior is symmetric, and E[κ]."""
        _, angle = self.resultant()
        return {"mu": self._from_zero(angle)[None], "kappa": self.grid.expectation(np.exp(self.grid.nodes))[None]}

    @override
    def pymc(self, statistics: VonMisesStatistics, suffix: str) -> None:
        """Add μ and κ, observing Σ cos φ and Σ sin φ, with the log likelihood of the cells."""
        from bayesclf.families.pymc_statistics import observe_sums

        sums = {"cos x": statistics.cosines, "sin x": statistics.sines}
        given = self._pymc_parameters(statistics, suffix)
        directions = _Directions(self.period)
        observe_sums("sums", given, statistics.n, sums, suffix, directions.vectors, directions.sums_logp)

    @override
    def pymc_rows(self, X: Array, rows: LabeledRows, statistics: VonMisesStatistics, suffix: str) -> None:
        """Add μ and κ, observing x ~ VonMises(μ_y, κ_y)."""
        given = tuple(parameter[rows.y] for parameter in self._pymc_parameters(statistics, suffix))
        dims = ("row", f"feature{suffix}")
        rows.observe(f"directions{suffix}", _Directions(self.period), given, X, dims, ~np.isnan(X))

    def _pymc_parameters(self, statistics: VonMisesStatistics, suffix: str) -> tuple[TensorVariable, TensorVariable]:
        """Add μ and κ to the open PyMC model; return them."""
        import pymc as pm
        import pytensor.tensor as pt

        from bayesclf.families import pymc_conditionals

        median, spread, n, cosines, sines = self.hyperparameters()
        dims = ("outcome", f"feature{suffix}")
        of_kappa = (pm.Data(f"kappa_{name}{suffix}", value) for name, value in (("median", median), ("spread", spread)))
        median, spread = of_kappa
        kappa = pm.LogNormal(f"kappa{suffix}", pt.log(median), spread, dims=dims)
        length, angle = self.posterior(statistics).resultant()
        center = pm.Data(f"mu_center{suffix}", self._from_zero(angle))
        precision = kappa * pm.Data(f"mu_length{suffix}", length)
        mu = pymc_conditionals.direction(f"mu{suffix}", center, precision, self.period, dims)
        if self._given_rows:
            sums = pt.stack([pm.Data(f"mu_cosines{suffix}", cosines), pm.Data(f"mu_sines{suffix}", sines)], axis=-1)
            earlier = _Directions(self.period).sums_logp(sums, mu, kappa, pm.Data(f"kappa_n{suffix}", n))
            pm.Potential(f"kappa_given_rows{suffix}", earlier)
        return mu, kappa

    def log_density(self, X: Array, parameters: Parameters) -> Array:
        """Return Σ_i κ cos(φ_i − μ) − log T I₀(κ) over the observed cells, (draw, row, outcome)."""
        observed, cosines, sines = _vectors(X, self.period)
        angle, kappa = parameters["mu"] * TURN / self.period, parameters["kappa"]
        density = cells.products(cosines, kappa * np.cos(angle)) + cells.products(sines, kappa * np.sin(angle))
        return np.asarray(density - cells.products(observed, _log_i0(kappa) + np.log(self.period)))

    @override
    def log_marginal(self, t: Array) -> Array:
        """The log density of log κ, with log I₀(κR) − n log I₀(κ) of the rows."""
        median, spread, n, *_ = self.hyperparameters()
        length, _ = self.resultant()
        kappa = np.exp(t)
        # Exponents are taken together, so that they cancel before they are rounded.
        of_rows = np.log(i0e(kappa * length)) - n * np.log(i0e(kappa)) - kappa * np.maximum(n - length, 0.0)
        return np.asarray(log_normal_density(t, median, spread) + of_rows)

    @override
    def _log_cells_at(self, values: Array, t: Array, outcome: int, feature: int, left_out: bool) -> Array:
        """I₀(κ|R + x|)/[I₀(κR) T I₀(κ)], and I₀(κR)/[I₀(κ|R − x|) T I₀(κ)] where x is left out, x a unit vector."""
        length, angle = (part[outcome, feature] for part in self.resultant())
        kappa = np.exp(t)
        half = (values * TURN / self.period - angle) / 2
        constant = -np.log(i0e(kappa)) - np.log(self.period)
        of_all = np.log(i0e(kappa * length))
        if left_out:
            sine = 4 * length * np.sin(half) ** 2
            other = np.sqrt((length - 1) ** 2 + sine)
            excess = sine / (other + length - 1) if length > 1 else other + 1 - length
            return np.asarray(constant + of_all - np.log(i0e(kappa * other)) - kappa * excess)
        other = np.sqrt((length - 1) ** 2 + 4 * length * np.cos(half) ** 2)
        excess = 4 * length * np.sin(half) ** 2 / (other + length + 1)
        return np.asarray(constant - of_all + np.log(i0e(kappa * other)) - kappa * excess)

    def log_base(self, statistics: VonMisesStatistics) -> Array:
        """−n log T."""
        return np.asarray(-statistics.n * np.log(self.period))

    def log_prior(self, parameters: Parameters) -> Density:
        """Of μ and κ together, per μ and log κ."""
        median, spread, n, cosines, sines = self.hyperparameters()
        angle, kappa = parameters["mu"] * TURN / self.period, parameters["kappa"]
        density = log_normal_density(np.log(kappa), median, spread) - np.log(self.period)
        density += kappa * (cosines * np.cos(angle) + sines * np.sin(angle)) - n * _log_i0(kappa)
        return Density.of_cells("kappa", density).with_same_parts("mu", "kappa")

    def contributions(self, X: Array, parameters: Parameters, pair: Pair) -> Contributions:
        """Differences of κ cos(φ − μ) − log I₀(κ) between the two classes."""
        observed, cosines, sines = _vectors(X, self.period)
        angle, kappa = parameters["mu"] * TURN / self.period, parameters["kappa"]
        terms = cosines * pair.differences(kappa * np.cos(angle)) + sines * pair.differences(kappa * np.sin(angle))
        return Contributions.of_rows(each(self.axes.features), terms - observed * pair.differences(_log_i0(kappa)))

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw directions from 0 to the period (row, feature)."""
        mu, kappa = (parameters[name][0][y] for name in self.dims())
        return np.asarray((mu + rng.vonmises(0.0, kappa) * self.period / TURN) % self.period)

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of μ and κ."""
        return dict.fromkeys(("mu", "kappa"), ("outcome", "feature"))

    @property
    @override
    def variant(self) -> str:
        """The period, and whether rows are in it: a posterior has another PyMC block than a prior."""
        return f"period {self.period!r}{' given rows' if self._given_rows else ''}"

    @property
    def _given_rows(self) -> bool:
        """Whether these are the hyperparameters of a posterior."""
        return bool(np.any(np.asarray(self.n) > 0))

    @property
    @override
    def cells_shape(self) -> tuple[int, ...]:
        """Shape of the cells with a direction and a concentration each, (outcome, feature)."""
        return np.shape(self.n)

    def hyperparameters(self) -> tuple[Array, ...]:
        """Return median, spread, n, C and S, each (outcome, feature)."""
        given = (self.median, self.spread, self.n, self.cosines, self.sines)
        return tuple(np.asarray(value, dtype=float) for value in given)

    def resultant(self) -> tuple[Array, Array]:
        """Return the length R of (C, S) and its angle in radians: given κ, μ is von Mises with κR around it.

        Where R is 0 the angle is π, so that uniform draws of μ lie between 0 and the period.
        """
        *_, cosines, sines = self.hyperparameters()
        length = np.hypot(cosines, sines)
        return length, np.where(length > 0, np.arctan2(sines, cosines), np.pi)

    def _from_zero(self, angle: Array) -> Array:
        """Return angles in radians as numbers of the column, from 0 to the period."""
        return np.asarray(angle * self.period / TURN % self.period)


class _Directions:
    """The distribution of cells in PyMC, whose own von Mises overflows from κ = 710 on and ends at ±π."""

    def __init__(self, period: float) -> None:
        self._period = period

    def __call__(self, name: str, mu: Any, kappa: Any, **options: Any) -> Any:
        """Add a variable to the open PyMC model; return it."""
        import pymc as pm

        return pm.CustomDist(name, mu, kappa, dist=self._draw, logp=self.logp, **options)

    def dist(self, mu: Any, kappa: Any, **options: Any) -> Any:
        """Return a variable without a name."""
        import pymc as pm

        return pm.CustomDist.dist(mu, kappa, dist=self._draw, logp=self.logp, **options)

    def _draw(self, mu: Any, kappa: Any, size: Any) -> Any:
        import pymc as pm
        import pytensor.tensor as pt

        turned = pm.VonMises.dist(pt.zeros_like(kappa), kappa, size=size) * self._period / TURN
        return (mu + turned) % self._period

    def logp(self, x: Any, mu: Any, kappa: Any) -> Any:
        """Return the log density of cells."""
        import pytensor.tensor as pt

        return kappa * pt.cos((x - mu) * TURN / self._period) - _pymc_log_i0(kappa) - np.log(self._period)

    def vectors(self, mu: Any, kappa: Any, size: Any) -> tuple[Any, Any]:
        """Draw cells; return the cosines and sines of their angles."""
        import pytensor.tensor as pt

        angle = self._draw(mu, kappa, size) * TURN / self._period
        return pt.cos(angle), pt.sin(angle)

    def sums_logp(self, sums: Any, mu: Any, kappa: Any, n: Any) -> Any:
        """Return the log likelihood of n cells by the sums (…, sum) of their cosines and sines."""
        import pytensor.tensor as pt

        angle = mu * TURN / self._period
        along = sums[..., 0] * pt.cos(angle) + sums[..., 1] * pt.sin(angle)
        return kappa * along - n * (_pymc_log_i0(kappa) + np.log(self._period))


def _vectors(X: Array, period: float) -> tuple[Array, Array, Array]:
    """Return whether each cell is observed, 0 or 1, and the cosine and sine of its angle, 0 where it is missing."""
    observed = ~np.isnan(X)
    angle = np.where(observed, X, 0.0) * TURN / period
    return observed.astype(float), np.cos(angle) * observed, np.sin(angle) * observed


def _estimate(length: Array) -> Array:
    """Return about the κ of I₁(κ)/I₀(κ) = r."""
    r = np.minimum(length, 1 - RESOLUTION)
    return np.asarray(np.clip(r * (2 - r**2) / (1 - r**2), *MEDIANS))


def _log_i0(kappa: Array) -> Array:
    """Return log I₀(κ), which does not overflow."""
    return np.asarray(np.log(i0e(kappa)) + kappa)


def _mean_cosine(kappa: Array) -> Array:
    """Return I₁(κ)/I₀(κ), the expectation of cos(φ − μ)."""
    return np.asarray(i1e(kappa) / i0e(kappa))


def _pymc_log_i0(kappa: Any) -> Any:
    import pytensor.tensor as pt

    return pt.log(pt.ive(0, kappa)) + kappa
