"""What the contract tests know of each family: its variants, and a second, naive way to every density, by SciPy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import gammaln

from bayesclf.families import Axes, Categorical, Gaussian
from bayesclf.families.gaussian import SHARED_OVER

LABELS = ("no", "maybe", "yes")
FEATURES = ("u", "v", "w")
MISSING_SHARE = 0.15


@dataclass(frozen=True, eq=False)
class Case:
    """A variant of a family on three labels and three features."""

    name: str
    family: Any
    axes: Axes

    def data(self, seed=0, n=24):
        """Return rows X with missing cells and labels y."""
        rng = np.random.default_rng(seed)
        y = rng.integers(len(self.axes.labels), size=n)
        return self.rows(rng, y), y

    def statistics(self, X, y, weight=None):
        return self.family.statistics(X, y, self.axes, weight)

    @cached_property
    def prior(self):
        """Return the prior in numbers, where it is empirical from the rows of seed 0."""
        return self.family.resolve_prior(self.statistics(*self.data()))

    @cached_property
    def posterior(self):
        return self.prior.posterior(self.statistics(*self.data()))

    def complete(self, seed=0, n=24):
        """Return rows without missing cells."""
        rng = np.random.default_rng(seed)
        y = rng.integers(len(self.axes.labels), size=n)
        return self.rows(rng, y, missing=0.0), y


@dataclass(frozen=True, eq=False)
class CategoricalCase(Case):
    """Level codes; a point is θ."""

    def rows(self, rng, y, missing=MISSING_SHARE):
        X = np.stack([rng.integers(size, size=len(y)) for size in self.axes.sizes], axis=1)
        X[rng.random(X.shape) < missing] = -1
        return X

    def point(self, rng):
        return {"theta": np.hstack([rng.dirichlet(np.full(size, 2.0), 3) for size in self.axes.sizes])[None]}

    def slices(self):
        ends = np.cumsum(self.axes.sizes)
        return [slice(end - size, end) for end, size in zip(ends, self.axes.sizes, strict=True)]

    def row_log_density(self, X, y, parameters):
        theta = parameters["theta"][0]
        return np.array(
            [
                sum(np.log(theta[k, cells][x]) for x, cells in zip(row, self.slices(), strict=True) if x >= 0)
                for row, k in zip(X, y, strict=True)
            ],
            dtype=float,
        )

    def log_prior(self, family, parameters):
        log_theta = np.log(parameters["theta"][0])
        return sum(
            gammaln(alpha.sum()) - gammaln(alpha).sum() + (alpha - 1) @ log_theta[k, cells]
            for k in range(3)
            for cells in self.slices()
            for alpha in [family.alpha[k, cells]]
        )

    def marginals(self, family):
        """Return the distribution of each parameter under hyperparameters: a Beta for each cell."""
        total = np.hstack(
            [np.repeat(family.alpha[:, s].sum(axis=1, keepdims=True), s.stop - s.start, 1) for s in self.slices()]
        )
        return {"theta": stats.beta(family.alpha, total - family.alpha)}

    def to_pymc(self, parameters):
        by_size = {}
        for size, cells in zip(self.axes.sizes, self.slices(), strict=True):
            by_size.setdefault(f"theta_{size}", []).append(parameters["theta"][:, :, cells])
        return {name: np.stack(parts, axis=2) for name, parts in by_size.items()}

    def cell_grid(self, feature):
        """Return all values of a cell, with the weights that make a sum over them the integral."""
        size = self.axes.sizes[feature]
        return np.arange(size), np.ones(size)

    @property
    def absent(self):
        return -1

    def unconstrained(self, parameters):
        return np.log(parameters["theta"][0]).ravel()

    def constrained(self, vector):
        logits = np.exp(vector.reshape(3, -1))
        return {
            "theta": np.hstack([logits[:, s] / logits[:, s].sum(axis=1, keepdims=True) for s in self.slices()])[None]
        }

    def log_jacobian(self, parameters):
        """Return what the mode is to be found in beside the density: the softmax basis has Σ log θ."""
        return np.log(parameters["theta"]).sum() if self.family.basis == "softmax" else 0.0

    def naive_mle(self, X, y):
        """Return Mitchell's eq 6, a fraction of counts for each class, feature and level."""
        theta = [
            [
                np.sum((X[:, j] == level) & (y == k)) / np.sum((X[:, j] >= 0) & (y == k))
                for j, size in enumerate(self.axes.sizes)
                for level in range(size)
            ]
            for k in range(3)
        ]
        return {"theta": np.array(theta)[None]}

    def standard_errors(self, parameters, n):
        """Return those of the MLE from n rows of each class."""
        theta = parameters["theta"][0]
        return {"theta": np.sqrt(theta * (1 - theta) / n)}


@dataclass(frozen=True, eq=False)
class GaussianCase(Case):
    """Real cells; a point is (μ, σ²)."""

    @property
    def shape(self):
        """Return the shape of the variances on (outcome, feature), axes that are shared of length 1."""
        return tuple(1 if axis in SHARED_OVER[self.family.variance] else 3 for axis in (0, 1))

    def rows(self, rng, y, missing=MISSING_SHARE):
        location = np.array([[0.0, 2.0, -1.0], [1.0, 0.0, 1.0], [-1.0, 1.0, 0.5]])
        X = location[y] + rng.normal(size=(len(y), 3)) * (0.7 + 0.4 * y[:, None])
        return np.where(rng.random(X.shape) < missing, np.nan, X)

    def point(self, rng):
        sigma2 = np.exp(rng.normal(size=self.shape) / 2)
        return self.named(rng.normal(size=(3, 3)), sigma2)

    def named(self, mu, sigma2):
        return {"mu": mu[None], "sigma2": sigma2.reshape(1, *(size for size in self.shape if size > 1))}

    def row_log_density(self, X, y, parameters):
        sd = np.sqrt(np.broadcast_to(parameters["sigma2"].reshape(self.shape), (3, 3)))
        cells = stats.norm.logpdf(X, parameters["mu"][0][y], sd[y])
        return np.where(np.isnan(X), 0.0, cells).sum(axis=1)

    def log_prior(self, family, parameters):
        mu, sigma2 = parameters["mu"][0], parameters["sigma2"].reshape(self.shape)
        of_variance = stats.invgamma.logpdf(sigma2, family.a, scale=family.b).sum()
        return of_variance + stats.norm.logpdf(mu, family.m, np.sqrt(sigma2 / family.kappa)).sum()

    def marginals(self, family):
        """Return the distribution of each parameter: an inverse gamma, and Student's t for a mean."""
        named = self.named(family.m, family.a), self.named(family.m, family.b)
        a, b = (part["sigma2"][0] for part in named)
        scale = np.sqrt(family.b / (family.a * family.kappa))
        t = stats.t(np.broadcast_to(2 * family.a, (3, 3)), loc=family.m, scale=scale)
        return {"mu": t, "sigma2": stats.invgamma(a, scale=b)}

    def to_pymc(self, parameters):
        return dict(parameters)

    def cell_grid(self, feature):
        """Return x = s tan(u) on an even grid of u, and weights dx: exact to rounding for Normal and smooth t tails."""
        u = (np.arange(4000) + 0.5) / 4000 * np.pi - np.pi / 2
        return 3 * np.tan(u), 3 / np.cos(u) ** 2 * np.pi / 4000

    @property
    def absent(self):
        return np.nan

    def unconstrained(self, parameters):
        return np.concatenate([parameters["mu"].ravel(), np.log(parameters["sigma2"]).ravel()])

    def constrained(self, vector):
        return self.named(vector[:9].reshape(3, 3), np.exp(vector[9:]).reshape(self.shape))

    def log_jacobian(self, parameters):
        return 0.0

    def naive_mle(self, X, y):
        """Return Mitchell's eqs 13 to 15: sums over the cells of each variance, one at a time."""
        mu = np.array([[np.nanmean(X[y == k, i]) for i in range(3)] for k in range(3)])
        sigma2 = np.empty(self.shape)
        for group in np.ndindex(self.shape):
            members = [
                (k, i)
                for k, i in np.ndindex(3, 3)
                if (self.shape[0] == 1 or k == group[0]) and (self.shape[1] == 1 or i == group[1])
            ]
            squares = sum(np.nansum((X[y == k, i] - mu[k, i]) ** 2) for k, i in members)
            cells = sum(np.sum(~np.isnan(X[y == k, i])) for k, i in members)
            sigma2[group] = squares / (cells - len(members) if self.family.unbiased else cells)
        return self.named(mu, sigma2)

    def standard_errors(self, parameters, n):
        sigma2 = np.broadcast_to(parameters["sigma2"].reshape(self.shape), (3, 3))
        cells = n * 9 / np.prod(self.shape)
        return {"mu": np.sqrt(sigma2 / n), "sigma2": parameters["sigma2"][0] * np.sqrt(2 / cells)}


def _categorical(name, **options):
    axes = Axes(LABELS, FEATURES, (("a", "b"), (1, 2, 3), (False, True)))
    return CategoricalCase(f"categorical {name}", Categorical(**options), axes)


def _gaussian(name, variance, given=False, **options):
    case = GaussianCase(f"gaussian {variance}{name}", Gaussian(variance, **options), Axes(LABELS, FEATURES))
    if not given:
        return case
    rng = np.random.default_rng(7)
    m, kappa = rng.normal(size=(3, 3)), rng.uniform(0.3, 2.0, (3, 3))
    a, b = rng.uniform(2.0, 4.0, case.shape), rng.uniform(0.5, 3.0, case.shape)
    return replace(case, family=Gaussian(variance, m, kappa, a, b))


CATEGORICAL = (
    _categorical("α=2"),
    _categorical("softmax", alpha=0.7, basis="softmax"),
    _categorical("α given", alpha=np.random.default_rng(5).uniform(1.2, 4.0, (3, 7))),
)
GAUSSIAN = (
    *(_gaussian("", variance) for variance in SHARED_OVER),
    *(_gaussian(" prior given", variance, given=True) for variance in SHARED_OVER),
    *(_gaussian(" unbiased", variance, unbiased=True) for variance in SHARED_OVER),
)
CASES = (*CATEGORICAL, *GAUSSIAN)
"""A family without an entry here fails the contract."""

PRIORS = tuple(case for case in CASES if not getattr(case.family, "unbiased", False))
"""Cases whose prior differs from that of the others: `unbiased` is about the MLE alone."""
