"""A second, naive way to every density of directions, by SciPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from helpers.case import MISSING_SHARE
from helpers.number_cases import Mixture, OfGrid, QuadratureCase, absent
from scipy import optimize, special, stats


def log_i0(kappa):
    """Return log I₀(κ), by its asymptotic series where SciPy's function of any order ends."""
    few = np.clip(kappa, 0.0, 1e6)
    many = np.maximum(kappa, 1e6)
    series = np.log1p(1 / (8 * many)) - 0.5 * np.log(2 * np.pi * many)
    return np.where(kappa < 1e6, np.log(special.ive(0, few)), series) + kappa


@dataclass(frozen=True, eq=False)
class Turned:
    """Directions around the loc of a distribution of them, its circle cut opposite to that."""

    of: Mixture
    loc: np.ndarray
    period: float

    def cdf(self, x):
        """Return P(X ≤ x), whatever turn x (draw, outcome, feature) is in."""
        half = self.period / 2
        return self.of.cdf((x - self.loc + half) % self.period - half)

    def mean(self):
        return self.loc


@dataclass(frozen=True, eq=False)
class VonMisesCase(QuadratureCase):
    """Directions of the family's period, some missing, on both sides of 0; a point is directions and concentrations."""

    @property
    def unit(self):
        return self.family.period / (2 * np.pi)

    def rows(self, rng, y, missing=MISSING_SHARE):
        angle = np.array([[0.0, 2.0, 3.0], [1.0, 2.5, -2.0], [-0.5, 0.0, 1.0]])
        x = rng.vonmises(angle[y], np.array([4.0, 1.0, 20.0]), (len(y), 3))
        return absent(rng, x * self.unit, missing)

    def point(self, rng):
        angle, kappa = rng.uniform(1.0, 5.0, (1, 3, 3)), rng.gamma(2.0, 1.0, (1, 3, 3)) + 0.3
        return {"mu": angle * self.unit, "kappa": kappa}

    def row_log_density(self, X, y, parameters):
        mu, kappa = (parameters[name][0][y] for name in ("mu", "kappa"))
        return np.nansum(stats.vonmises.logpdf(X / self.unit, kappa, loc=mu / self.unit) - np.log(self.unit), axis=1)

    def cell_grid(self, feature):
        """Return an even grid around the circle: exact to rounding."""
        return np.arange(400) * self.family.period / 400, np.full(400, self.family.period / 400)

    def resultant(self, family):
        sums = family.cosines + 1j * family.sines
        return np.abs(sums), np.angle(sums)

    def log_marginal(self, family, t):
        """Return the log density of t, unnormalized, each term as it is in the formula."""
        kappa, (length, _) = np.exp(t), self.resultant(family)
        out = stats.norm.logpdf(t, np.log(family.median), family.spread)
        return out + log_i0(kappa * length) - family.n * log_i0(kappa)

    def log_prior(self, family, parameters):
        mu, kappa = parameters["mu"][0], parameters["kappa"][0]
        *_, log_total = self.grid(family)
        of_kappa = self.log_marginal(family, np.log(kappa)) - log_total - np.log(kappa)
        length, angle = self.resultant(family)
        of_mu = stats.vonmises.logpdf(mu / self.unit, np.maximum(kappa * length, 1e-300), loc=angle)
        return (of_kappa + of_mu - np.log(self.unit)).sum()

    def marginals(self, family):
        t, density, _ = self.grid(family)
        length, angle = self.resultant(family)
        weight = density[::20] / density[::20].sum(axis=0)
        given = stats.vonmises(np.maximum(np.exp(t[::20]) * length, 1e-300), scale=self.unit)
        loc = (angle * self.unit) % family.period
        return {"mu": Turned(Mixture(weight, given), loc, family.period), "kappa": OfGrid(t, density)}

    def unconstrained(self, parameters):
        return np.concatenate([(parameters["mu"] / self.unit).ravel(), np.log(parameters["kappa"]).ravel()])

    def constrained(self, vector):
        angle, log_kappa = vector.reshape(2, 1, 3, 3)
        return {"mu": angle * self.unit, "kappa": np.exp(log_kappa)}

    def naive_mle(self, X, y):
        mu, kappa = np.empty((2, 1, 3, 3))
        for k, j in np.ndindex(3, 3):
            x = X[(y == k) & ~np.isnan(X[:, j]), j] / self.unit
            mu[0, k, j] = stats.circmean(x) * self.unit
            length = 1 - stats.circvar(x)

            def excess(kappa, length=length):
                return special.ive(1, kappa) / special.ive(0, kappa) - length

            kappa[0, k, j] = optimize.brentq(excess, 1e-6, 1e6, xtol=1e-14, rtol=1e-14)
        return {"mu": mu, "kappa": kappa}

    def standard_errors(self, parameters, n):
        kappa = parameters["kappa"][0]
        cosine = special.ive(1, kappa) / special.ive(0, kappa)
        of_kappa = 1 - cosine / kappa - cosine**2
        return {"mu": self.unit / np.sqrt(n * kappa * cosine), "kappa": 1 / np.sqrt(n * of_kappa)}
