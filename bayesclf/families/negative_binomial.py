"""Counts of events that vary more than Poisson's: a dispersion and a probability for each feature and class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy.fft import dct
from scipy.special import digamma, gammaln, xlog1py

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.families.base import EVENTS, MOST_EVENTS, Axes, Support, require_each
from bayesclf.families.dirichlet import log_rising, stirling
from bayesclf.families.prior_lines import PriorLine, prior_lines
from bayesclf.families.quadrature import QuadratureFamily, zero_of
from bayesclf.families.template import TINY, CellSums
from bayesclf.families.terms import Density

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

It is analytic in log r but at distance π from the real axis, whatever the counts. So the error of interpolation falls
like exp(−0.13 · points) on this range, below rounding here.
"""


@dataclass(frozen=True, repr=False)
class NegativeBinomial(QuadratureFamily):
    r"""x_i | y = k ~ NegativeBinomial(r_ik, θ_ik), independent over features i and classes k.

    ========= ======= ============================= ===========================================
    parameter support prior                         posterior
    ========= ======= ============================= ===========================================
    r_ik      above 0 LogNormal(log median, spread) by quadrature, θ integrated out
    θ_ik | r  (0, 1)  Beta(1 + κr, 1 + κm)          Beta(1 + (κ + n)r, 1 + κm + Σx)
    ========= ======= ============================= ===========================================

    .. math:: P(x | k) = \frac{Γ(x + r)}{Γ(r)\, x!} θ^r (1 − θ)^x,

    with mean μ = r(1 − θ)/θ and variance μ + μ²/r; n and Σx are sums over a class's observed cells of a feature. Given
    r, θ is conjugate; the density of log r is evaluated on an even grid (`families.quadrature`). From it come evidence,
    predictive and draws, exact to the rounding of Σ log Γ(x + r): the evidence of 1,000 counts of a million is known to
    1e-5, of a billion to 1e-2. As r grows the family becomes `Poisson`, and so does its prior. MLE, MAP: the joint
    modes in (r, θ), given r θ = nr/(nr + Σx) and θ = (κ + n)r/((κ + n)r + κm + Σx). Cells are whole numbers of at least
    0; a missing cell (NaN) is integrated out. Where rows hardly differ from Poisson's, r has no upper limit but its
    prior's, and its mean with that of θ is no likely pair: take another rule than ``"mean"`` there.

    Parameters
    ----------
    median, spread
        Of r's prior, above 0, which broadcast to (outcome, feature). A median of None is the mean of the column, where
        the variance is twice Poisson's. A spread of None is 2 for log r: about one row.
    kappa, m
        Rows that the prior of θ is worth, and the mean that it expects, above 0; they broadcast likewise. Where None, 1
        row and the mean of the pooled rows.
    n, sums
        Set by `posterior`: weight of the rows, (outcome, feature), and sums (sum, outcome, feature). These are Σx, Σx²
        and the coefficients of Σ log Γ(x + r)/Γ(r), a Chebyshev series in log r.
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

    name: ClassVar[str] = "negative-binomial"
    likelihood: ClassVar[str] = "NegativeBinomial(dispersion, theta)"
    distribution: ClassVar[str] = "NegativeBinomial"
    parameters: ClassVar[tuple[str, ...]] = ("dispersion", "theta")
    support: ClassVar[Support] = EVENTS
    bounds: ClassVar[tuple[float, float]] = BOUNDS

    def terms(self, x: Array) -> tuple[Array, Array]:
        """Return x and x²."""
        return x, x**2

    def log_h(self, x: Array) -> Array:
        """−log x!."""
        return -gammaln(x + 1)

    def statistics(self, X: Array, y: Integers, axes: Axes, sample_weight: Array | None = None) -> CellSums:
        """Return Σ x, Σ x², and Σ log Γ(x + r)/Γ(r) as Chebyshev coefficients in log r."""
        found = super().statistics(X, y, axes, sample_weight)
        _, counts = self.support.read(X, axes, self.name)
        rising = np.zeros((*found.n.shape, DEGREE))
        for j, column in enumerate(counts.T):
            values, place = np.unique(column, return_inverse=True)
            # A missing cell has count 0, whose rising factorial is 1.
            counted = np.bincount(place + len(values) * y, sample_weight, len(axes.labels) * len(values))
            rising[:, j] = counted.reshape(len(axes.labels), -1) @ _coefficients(values)
        return replace(found, sums=np.concatenate([found.sums, rising], axis=-1))

    def natural(self, m: Any, *parameters: Any) -> tuple[tuple[Any], Any]:
        """x log(1 − θ) + r log θ: the part of the density without log Γ(x + r)/Γ(r)."""
        r, theta = parameters
        return (m.log1p(-theta),), -r * m.log(theta)

    def gain(self, state: tuple[Array, ...], n: Any, *sums: Array) -> Array:
        """Σ log Γ(x + r)/Γ(r) by interpolation, and log B(a + nr, b + Σx)/B(a, b), a and b those of θ."""
        (weight, events, t), (total, _, *rising) = state, sums
        r = np.exp(t)
        of_theta = _log_beta(1 + (weight + n) * r, 1 + events + total) - _log_beta(1 + weight * r, 1 + events)
        return np.asarray(_at(np.array(rising), t) + of_theta)

    def log_cell(self, state: tuple[Array, ...], x: Array) -> Array:
        """The beta negative binomial distribution, Γ(x + r)/[Γ(r) x!] B(a + r, b + x)/B(a, b), a and b those of θ.

        By Stirling's formula its large terms are −Σ O log O/E. O is the table of r and x over a and b, E the expected
        one with the same margins. All parts of the sum have one sign, so large counts lose no digits.
        """
        weight, events, t = state
        r = np.exp(t)
        a, b = 1 + weight * r, 1 + events
        above, below, left, right = r + x, a + b, a + r, b + x
        total, determinant = above + below, r * b - x * a
        margins = ((above, left, 1), (above, right, -1), (below, left, -1), (below, right, 1))
        ratio = sum(one * other * _excess(sign * determinant / (one * other)) for one, other, sign in margins) / total
        some = np.maximum(x, 1.0)
        choices = 0.5 * np.log(r / (2 * np.pi * some * (r + some))) + stirling(r + some) - stirling(r) - stirling(some)
        of_theta = 0.5 * np.log(a * b / below * total / left / right) + stirling(below) - stirling(a) - stirling(b)
        of_both = stirling(left) + stirling(right) - stirling(total)
        return np.asarray(np.where(x > 0, choices, 0.0) + of_theta + of_both - ratio)

    def resolve_prior(self, statistics: CellSums) -> Self:
        """Return the prior with its hyperparameters as arrays (outcome, feature)."""
        return self.resolved(statistics, median=np.clip(statistics.mean(), *MEDIANS), spread=SPREAD)

    def informative(self, statistics: CellSums) -> NDArray[np.bool_]:
        """Return False for a feature without an observed cell, or without an event unless m is given."""
        n, total, *_ = statistics.pooled().rows()
        return np.asarray((total if self.m is None else n)[0] > 0)

    def priors(self) -> list[PriorLine]:
        """Return the log-normal priors of r, and the beta priors of θ given it."""
        median, spread, kappa, m = self.hyperparameters()
        form, beta = "LogNormal(log {median}, {spread})", "Beta(1 + {kappa}·dispersion, {beta})"
        dispersions = prior_lines("dispersion", form, self.axes, median=median, spread=spread)
        return [*dispersions, *prior_lines("theta", beta, self.axes, kappa=kappa, beta=1 + kappa * m)]

    def mle(self, statistics: CellSums) -> Parameters:
        """Return r and θ; raises `DoesNotExist` where the counts of a class vary no more than Poisson's."""
        n, total, squares, *rising = statistics.rows()
        require_each(n > 0, statistics.axes, "has no value")
        why = ", so that r grows without bound by maximum likelihood; use the family 'poisson', or another rule"
        varies = n * squares - total**2 > n * total
        require_each(varies, statistics.axes, "has counts that vary no more than Poisson's", why)
        slopes: Array = np.asarray(chebyshev.chebder(np.array(rising), axis=0), dtype=float)

        def slope(t: Array) -> Array:
            """Return the derivative of the log likelihood in t = log r, θ at its best."""
            return _at(slopes, t) / HALF - n * np.exp(t) * np.log1p(total / n / np.exp(t))

        r = np.exp(zero_of(slope, n.shape, self.bounds))
        return {"dispersion": r[None], "theta": (n * r / (n * r + total))[None]}

    def map(self, statistics: CellSums) -> Parameters:
        """Return the joint mode of r and θ: that of θ given r is (κ + n)r/((κ + n)r + κm + Σx)."""
        posterior = self.posterior(statistics)
        (median, spread, kappa, m), (weight, events) = posterior.hyperparameters(), posterior.state()
        slopes: Array = np.asarray(chebyshev.chebder(posterior.rising(), axis=0), dtype=float)

        def slope(t: Array) -> Array:
            """Return the derivative of the log posterior in t = log r, θ at its mode."""
            r = np.exp(t)
            prior = kappa * r * (digamma(2 + kappa * (r + m)) - digamma(1 + kappa * r))
            of_rows = _at(slopes, t) / HALF - weight * r * np.log1p(events / (weight * r))
            return -(t - np.log(median)) / spread**2 - 1 + prior + of_rows

        r = np.exp(zero_of(slope, median.shape, self.bounds))
        return {"dispersion": r[None], "theta": (weight * r / (weight * r + events))[None]}

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw log r by its quadrature, then θ given r from its beta distribution."""
        r, (weight, events) = np.exp(self.drawn.draw(rng, draws)), self.state()
        return {"dispersion": r, "theta": np.maximum(rng.beta(1 + weight * r, 1 + events), TINY)}

    def mean(self) -> Parameters:
        """Return E[r] and E[θ]."""
        r, (weight, events) = np.exp(self.grid.nodes), self.state()
        a = 1 + weight * r
        means = (self.grid.expectation(r), self.grid.expectation(a / (a + 1 + events)))
        return dict(zip(self.parameters, (mean[None] for mean in means), strict=True))

    def rising(self) -> Array:
        """Return the coefficients of Σ log Γ(x + r)/Γ(r) of the rows, (coefficient, outcome, feature)."""
        return np.asarray(self.sums)[2:]

    def log_prior(self, parameters: Parameters) -> Density:
        """Of r and θ together, per log r and θ."""
        r, theta = self.given(parameters)
        (kappa, of_m), (weight, events), t = self.prior_state(), self.state(), np.log(r)
        density = self.log_prior_of_t(t) - _log_beta(1 + kappa * r, 1 + of_m) + _at(self.rising(), t)
        density += weight * r * np.log(theta) + xlog1py(events, -theta)
        return Density.of_cells("dispersion", density).with_same_parts("theta", "dispersion")

    def log_density_given(self, parameters: Parameters) -> Callable[[Array], Array]:
        """Return the function from rows to Σ_i log P(x_i | r_ik, θ_ik) over the observed cells."""
        of_sums, r = super().log_density_given(parameters), parameters["dispersion"]

        def log_density(X: Array) -> Array:
            """Return it, (draw, row, outcome)."""
            density, (_, counts) = of_sums(X), self.support.read(X, self.axes, self.name)
            for j, column in enumerate(counts.T):
                values, place = np.unique(column, return_inverse=True)
                for k in range(r.shape[1]):
                    density[:, :, k] += log_rising(r[:, k, j, None], values)[:, place]
            return density

        return log_density

    def pymc(self, statistics: CellSums, suffix: str) -> None:
        """Add r and θ, with the log likelihood of the sums."""
        import pymc as pm
        import pytensor.tensor as pt

        super().pymc(replace(statistics, sums=statistics.sums[..., :2]), suffix)
        rising = pm.Data(f"sum_rising{suffix}", statistics.sums[..., 2:])
        pm.Potential(f"rising{suffix}", _pymc_at(rising, pt.log(pm.modelcontext(None)[f"dispersion{suffix}"])).sum())

    def pymc_parameters(self, suffix: str, *prior: Any) -> tuple[Any, Any]:
        """Add r and θ to the open PyMC model; return them."""
        from bayesclf import pymc_models

        median, spread, kappa, m = prior
        return pymc_models.negative_binomials(median, spread, kappa, m, suffix)

    def arguments(self, *parameters: Any) -> tuple[Any, Any]:
        """Return mean and dispersion, which PyMC's distribution takes."""
        r, theta = parameters
        return r * (1 - theta) / theta, r

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw counts (row, feature): Poisson's, whose rate is drawn from a gamma distribution."""
        r, theta = (values[0][y] for values in self.given(parameters))
        rate = rng.standard_gamma(r) * (1 - theta) / theta
        return np.asarray(rng.poisson(np.minimum(rate, MOST_EVENTS / 2)), dtype=float)


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
