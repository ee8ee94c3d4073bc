"""A second, naive way to every density of counts and of positive numbers, by SciPy."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from helpers.case import MISSING_SHARE, Case, CellCase, class_means, gaps, log_grid
from helpers.gaussian_cases import GaussianCase
from scipy import integrate, optimize, special, stats


@dataclass(frozen=True, eq=False)
class PoissonCase(CellCase):
    """Counts of events, some missing; a point is the rates."""

    spaces: ClassVar = {"rate": ("log", (1, 3, 3))}

    def cells(self, rate):
        return stats.poisson(rate)

    def rows(self, rng, y, missing=MISSING_SHARE):
        X = rng.poisson(np.array([[1.0, 4.0, 0.5], [2.0, 2.0, 1.0], [3.0, 1.0, 2.0]])[y]).astype(float)
        return gaps(rng, X, missing)

    def marginals(self, family):
        return {"rate": stats.gamma(family.a, scale=1 / family.b)}

    def cell_grid(self, feature):
        return np.arange(200.0), np.ones(200)

    def naive_mle(self, X, y):
        return {"rate": class_means(X, y)}


@dataclass(frozen=True, eq=False)
class ExponentialCase(CellCase):
    """Numbers of at least 0, some missing; a point is the rates."""

    spaces: ClassVar = {"rate": ("log", (1, 3, 3))}

    def cells(self, rate):
        return stats.expon(scale=1 / rate)

    def rows(self, rng, y, missing=MISSING_SHARE):
        mean = np.array([[1.0, 4.0, 0.5], [2.0, 2.0, 1.0], [3.0, 1.0, 2.0]])
        return gaps(rng, rng.exponential(mean[y]), missing)

    def marginals(self, family):
        return {"rate": stats.gamma(family.a, scale=1 / family.b)}

    def cell_grid(self, feature):
        return log_grid()

    def naive_mle(self, X, y):
        return {"rate": 1 / class_means(X, y)}


@dataclass(frozen=True, eq=False)
class Mixture:
    """Distributions (outcome, feature) given t, averaged over t: `weight` (node, outcome, feature) on an even grid."""

    weight: np.ndarray
    given: object

    def cdf(self, x):
        """Return P(X ≤ x) of x (draw, outcome, feature)."""
        return np.array([(self.weight * self.given.cdf(one)).sum(axis=0) for one in x])

    def mean(self):
        return (self.weight * self.given.mean()).sum(axis=0)


@dataclass(frozen=True, eq=False)
class OfGrid:
    """The distribution of e^t, t on an even grid fine enough to interpolate its distribution function."""

    t: np.ndarray
    density: np.ndarray

    def cdf(self, x):
        below = integrate.cumulative_simpson(self.density, x=self.t, axis=0, initial=0.0)
        out = np.empty(x.shape)
        for cell in np.ndindex(x.shape[1:]):
            out[:, *cell] = np.interp(np.log(x[:, *cell]), self.t[:, *cell], below[:, *cell])
        return out

    def mean(self):
        return integrate.simpson(np.exp(self.t) * self.density, x=self.t, axis=0)


GRIDS = {}
"""Families and what `QuadratureCase.grid` returns of them, by their identity."""


@dataclass(frozen=True, eq=False)
class QuadratureCase(CellCase):
    """A family with a parameter e^t on a grid: the naive density of t, and what follows from it by Simpson's rule."""

    def grid(self, family):
        """Return t (node, outcome, feature) around the maximum, its density and the log of its integral."""
        if id(family) not in GRIDS:
            GRIDS[id(family)] = (family, self.integrated(family))
        return GRIDS[id(family)][1]

    def integrated(self, family):
        low, high = np.full((3, 3), -16.0), np.full((3, 3), 26.0)
        for nodes in (201, 201, 201, 2001):
            t = np.linspace(low, high, nodes)
            values = self.log_marginal(family, t)
            inside = values > values.max(axis=0) - 60
            low = t[inside.argmax(axis=0), *np.indices((3, 3))]
            high = t[nodes - 1 - inside[::-1].argmax(axis=0), *np.indices((3, 3))]
        log_total = np.log(integrate.simpson(np.exp(values - values.max(axis=0)), x=t, axis=0)) + values.max(axis=0)
        return t, np.exp(values - log_total), log_total


@dataclass(frozen=True, eq=False)
class GammaCase(QuadratureCase):
    """Positive numbers, some missing; a point is shapes and rates."""

    spaces: ClassVar = {"shape": ("log", (1, 3, 3)), "rate": ("log", (1, 3, 3))}
    cell_grid = ExponentialCase.cell_grid

    def cells(self, shape, rate):
        return stats.gamma(shape, scale=1 / rate)

    def rows(self, rng, y, missing=MISSING_SHARE):
        shape = np.array([[1.0, 4.0, 0.8], [2.0, 2.0, 1.0], [3.0, 1.0, 2.0]])
        return gaps(rng, rng.gamma(shape[y], 1 / shape[y]), missing)

    def log_marginal(self, family, t):
        """Return the log density of t, unnormalized, each term as it is in the formula."""
        shape = np.exp(t)
        prior, a = 1 + family.kappa * shape, 1 + (family.kappa + family.n) * shape
        out = stats.norm.logpdf(t, np.log(family.median), family.spread)
        out = out + prior * np.log(family.kappa * family.m) - special.gammaln(prior)
        out = out + (shape - 1) * family.sums[1] - family.n * special.gammaln(shape)
        return out + special.gammaln(a) - a * np.log(family.kappa * family.m + family.sums[0])

    def log_prior(self, family, parameters):
        shape, rate = parameters["shape"][0], parameters["rate"][0]
        *_, log_total = self.grid(family)
        of_shape = self.log_marginal(family, np.log(shape)) - log_total - np.log(shape)
        a, b = 1 + (family.kappa + family.n) * shape, family.kappa * family.m + family.sums[0]
        return (of_shape + stats.gamma.logpdf(rate, a, scale=1 / b)).sum()

    def marginals(self, family):
        t, density, _ = self.grid(family)
        a, b = 1 + (family.kappa + family.n) * np.exp(t), family.kappa * family.m + family.sums[0]
        weight = density[::20] / density[::20].sum(axis=0)
        return {"shape": OfGrid(t, density), "rate": Mixture(weight, stats.gamma(a[::20], scale=1 / b))}

    def naive_mle(self, X, y):
        shape = np.empty((1, 3, 3))
        for k, j in np.ndindex(3, 3):
            x = X[(y == k) & ~np.isnan(X[:, j]), j]
            s = np.log(x.mean()) - np.log(x).mean()
            shape[0, k, j] = optimize.brentq(lambda a, s=s: np.log(a) - special.digamma(a) - s, 1e-6, 1e6, xtol=1e-14)
        return {"shape": shape, "rate": shape / class_means(X, y)}


@dataclass(frozen=True, eq=False)
class NegativeBinomialCase(QuadratureCase):
    """Counts of events in bursts, some missing; a point is dispersions and probabilities.

    Posteriors keep no rows: Σ log Γ(x + r)/Γ(r) is the family's own, and a test in `test_numbers.py` has it by rows.
    """

    spaces: ClassVar = {"dispersion": ("log", (1, 3, 3)), "theta": ("logit", (1, 3, 3))}

    def cells(self, dispersion, theta):
        return stats.nbinom(dispersion, theta)

    def rows(self, rng, y, missing=MISSING_SHARE):
        mean = np.array([[4.0, 9.0, 6.0], [8.0, 5.0, 10.0], [5.0, 7.0, 12.0]])
        return gaps(rng, rng.negative_binomial(0.4, 0.4 / (0.4 + mean[y])).astype(float), missing)

    def cell_grid(self, feature):
        return np.arange(3_000.0), np.ones(3_000)

    def log_marginal(self, family, t):
        """Return the log density of t, unnormalized, each term as it is in the formula."""
        r, kappa = np.exp(t), family.kappa
        out = stats.norm.logpdf(t, np.log(family.median), family.spread)
        out = out - special.betaln(1 + kappa * r, 1 + kappa * family.m)
        out = out + np.polynomial.chebyshev.chebval((t - 6.0) / 24.0, family.sums[2:], tensor=False)
        return out + special.betaln(1 + (kappa + family.n) * r, 1 + kappa * family.m + family.sums[0])

    def log_prior(self, family, parameters):
        r, theta = parameters["dispersion"][0], parameters["theta"][0]
        *_, log_total = self.grid(family)
        of_r = self.log_marginal(family, np.log(r)) - log_total - np.log(r)
        a, b = 1 + (family.kappa + family.n) * r, 1 + family.kappa * family.m + family.sums[0]
        return (of_r + stats.beta.logpdf(theta, a, b)).sum()

    def marginals(self, family):
        t, density, _ = self.grid(family)
        a, b = 1 + (family.kappa + family.n) * np.exp(t), 1 + family.kappa * family.m + family.sums[0]
        weight = density[::20] / density[::20].sum(axis=0)
        return {"dispersion": OfGrid(t, density), "theta": Mixture(weight, stats.beta(a[::20], b))}

    def naive_mle(self, X, y):
        r, mean = np.empty((1, 3, 3)), class_means(X, y)
        for k, j in np.ndindex(3, 3):
            x = X[(y == k) & ~np.isnan(X[:, j]), j]

            def slope(r, x=x):
                return (special.digamma(x + r) - special.digamma(r)).sum() - len(x) * np.log1p(x.mean() / r)

            r[0, k, j] = optimize.brentq(slope, 1e-4, 1e4, xtol=1e-15, rtol=1e-14)
        return {"dispersion": r, "theta": r / (r + mean)}


@dataclass(frozen=True, eq=False)
class LogNormalCase(GaussianCase):
    """Positive cells whose logarithms are those of a Gaussian case."""

    def cells(self, mu, sigma2):
        return stats.lognorm(np.sqrt(sigma2), scale=np.exp(mu))

    def rows(self, rng, y, missing=MISSING_SHARE):
        return np.exp(super().rows(rng, y, missing))

    def cell_grid(self, feature):
        logs, weights = super().cell_grid(feature)
        finite = np.abs(logs) < 700
        return np.exp(logs[finite]), np.exp(logs[finite]) * weights[finite]

    def naive_mle(self, X, y):
        return super().naive_mle(np.log(X), y)


@dataclass(frozen=True, eq=False)
class HurdleCase(Case):
    """Cells of which some are 0 and the others those of another case; a point has the probabilities of 0 too."""

    positive: Case = None

    @property
    def spaces(self):
        return {"theta": ("logit", (1, 3, 3)), **self.positive.spaces}

    def rows(self, rng, y, missing=MISSING_SHARE):
        X = self.positive.rows(rng, y, 0.0)
        return gaps(rng, np.where(rng.random(X.shape) < [0.2, 0.4, 0.3], 0.0, X), missing)

    def others(self, parameters):
        return {name: values for name, values in parameters.items() if name != "theta"}

    def row_log_density(self, X, y, parameters):
        theta = parameters["theta"][0][y]
        of_zeros = np.where(np.isnan(X), 0.0, np.log(np.where(X == 0, theta, 1 - theta))).sum(axis=1)
        above = np.where(X == 0, np.nan, X)
        return of_zeros + self.positive.row_log_density(above, y, self.others(parameters))

    def log_prior(self, family, parameters):
        of_zeros = stats.beta.logpdf(parameters["theta"][0], family.alpha, family.beta).sum()
        return of_zeros + self.positive.log_prior(family.family, self.others(parameters))

    def marginals(self, family):
        return {"theta": stats.beta(family.alpha, family.beta), **self.positive.marginals(family.family)}

    def to_pymc(self, parameters):
        return {"theta": parameters["theta"], **self.positive.to_pymc(self.others(parameters))}

    def cell_grid(self, feature):
        values, weights = self.positive.cell_grid(feature)
        return np.concatenate([[0.0], values]), np.concatenate([[1.0], weights])

    def naive_mle(self, X, y):
        zero = np.where(np.isnan(X), np.nan, X == 0)
        return {"theta": class_means(zero, y), **self.positive.naive_mle(np.where(X == 0, np.nan, X), y)}


@dataclass(frozen=True, eq=False)
class HistogramCase(Case):
    """Real cells in tenths, one column with a value that many rows share; a point is the probabilities of the cells."""

    def rows(self, rng, y, missing=MISSING_SHARE):
        X = np.round(
            np.array([[0.0, 2.0, -1.0], [1.0, 0.0, 1.0], [-1.0, 1.0, 0.5]])[y] + rng.normal(size=(len(y), 3)), 1
        )
        X[:, 1] = np.where(rng.random(len(y)) < 0.6, 0.0, np.exp(X[:, 1]))
        return gaps(rng, X, missing)
