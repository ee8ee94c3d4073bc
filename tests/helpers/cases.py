"""What the contract tests know of each family: its variants, and a second, naive way to every density, by SciPy."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special, stats
from scipy.special import gammaln

from bayesclf.families import (
    Axes,
    BayesianNetwork,
    Bernoulli,
    Categorical,
    Gaussian,
    JointTable,
    Multinomial,
    MultivariateGaussian,
)
from bayesclf.families.gaussian import SHARED_OVER

LABELS = ("no", "maybe", "yes")
FEATURES = ("u", "v", "w")
MISSING_SHARE = 0.15
TREE, OF_TREE = (("v", "u"), ("v", "w")), (((), (1,)), ((1,), (0,)), ((1,), (2,)))
"""Edges, and what each table of that network is given and of, parents first."""


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


@dataclass(frozen=True, eq=False)
class MultivariateGaussianCase(Case):
    """Real rows without missing cells, which alone are conjugate; a point is (μ, Σ)."""

    @property
    def groups(self):
        """Return the number of covariances."""
        return 1 if self.family.covariance == "shared" else 3

    def rows(self, rng, y, missing=0.0):
        location = np.array([[0.0, 2.0, -1.0], [1.0, 0.0, 1.0], [-1.0, 1.0, 0.5]])
        return location[y] + rng.normal(size=(len(y), 3)) @ [[1.0, 0.6, 0.0], [0.0, 0.8, -0.5], [0.0, 0.0, 0.7]]

    def point(self, rng):
        factor = rng.normal(size=(self.groups, 3, 3)) / 2 + np.eye(3)
        return self.named(rng.normal(size=(3, 3)), factor @ factor.swapaxes(1, 2) + 0.1 * np.eye(3))

    def named(self, mu, Sigma):
        return {"mu": mu[None], "Sigma": Sigma[:1] if self.groups == 1 else Sigma[None]}

    def by_class(self, parameters):
        return np.broadcast_to(parameters["Sigma"][0], (3, 3, 3))

    def row_log_density(self, X, y, parameters):
        normals = [
            stats.multivariate_normal(mu, Sigma)
            for mu, Sigma in zip(parameters["mu"][0], self.by_class(parameters), strict=True)
        ]
        return np.array([normals[k].logpdf(x) for x, k in zip(X, y, strict=True)], dtype=float)

    def log_prior(self, family, parameters):
        Sigma = self.by_class(parameters)
        covariances = zip(Sigma[: self.groups], family.nu, family.psi, strict=True)
        total = sum(stats.invwishart.logpdf(own, nu, psi) for own, nu, psi in covariances)
        means = zip(parameters["mu"][0], family.m, Sigma, family.kappa, strict=True)
        return total + sum(stats.multivariate_normal.logpdf(mu, m, own / kappa) for mu, m, own, kappa in means)

    def marginals(self, family):
        """Return the distribution of each parameter: Student's t for a mean, and that of an entry of Σ."""
        freedom = family.nu - 2
        scale = np.diagonal(family.psi, axis1=1, axis2=2) / freedom[:, None] / family.kappa[:, None]
        t = stats.t(np.broadcast_to(freedom[:, None], (3, 3)), loc=family.m, scale=np.sqrt(scale))
        return {"mu": t, "Sigma": CovarianceMarginals(family.nu, family.psi)}

    def to_pymc(self, parameters):
        return dict(parameters)

    cell_grid = GaussianCase.cell_grid
    absent = np.nan

    def unconstrained(self, parameters):
        factor = np.linalg.cholesky(self.by_class(parameters)[: self.groups])
        rows, columns = np.tril_indices(3, -1)
        diagonal = np.log(np.diagonal(factor, axis1=1, axis2=2))
        return np.concatenate([parameters["mu"].ravel(), diagonal.ravel(), factor[:, rows, columns].ravel()])

    def constrained(self, vector):
        factor = np.zeros((self.groups, 3, 3))
        rows, columns = np.tril_indices(3, -1)
        factor[:, rows, columns] = vector[9 + 3 * self.groups :].reshape(self.groups, 3)
        factor[:, range(3), range(3)] = np.exp(vector[9 : 9 + 3 * self.groups]).reshape(self.groups, 3)
        return self.named(vector[:9].reshape(3, 3), factor @ factor.swapaxes(1, 2))

    def log_jacobian(self, parameters):
        return 0.0

    def naive_mle(self, X, y):
        """Return Abu-El-Haija's estimates: sums of outer products over the rows, one at a time."""
        mu = np.array([X[y == k].mean(axis=0) for k in range(3)])
        Sigma = np.zeros((self.groups, 3, 3))
        for x, k in zip(X, y, strict=True):
            n = len(y) if self.groups == 1 else np.sum(y == k)
            Sigma[k if self.groups > 1 else 0] += np.outer(x - mu[k], x - mu[k]) / n
        return self.named(mu, Sigma)

    def standard_errors(self, parameters, n):
        Sigma = self.by_class(parameters)
        variance = np.diagonal(Sigma, axis1=1, axis2=2)
        of_entry = (Sigma**2 + variance[:, :, None] * variance[:, None, :]) / (n * 3 / self.groups)
        return {"mu": np.sqrt(variance / n), "Sigma": np.sqrt(of_entry[0] if self.groups == 1 else of_entry)}


@dataclass(frozen=True, eq=False)
class CovarianceMarginals:
    """Each entry of Σ ~ InvWishart(ν, Ψ): Σ_ii is inverse gamma; Σ_ij is Σ_ii times an independent Student's t."""

    nu: Any
    psi: Any

    def mean(self):
        return self._squeezed(self.psi / (self.nu - 4)[:, None, None])

    def std(self):
        nu, psi = self.nu[:, None, None], self.psi
        variance = np.diagonal(psi, axis1=1, axis2=2)
        product = variance[:, :, None] * variance[:, None, :]
        return self._squeezed(np.sqrt(((nu - 2) * psi**2 + (nu - 4) * product) / ((nu - 3) * (nu - 4) ** 2 * (nu - 6))))

    def cdf(self, x):
        x = np.asarray(x, dtype=float)
        return np.stack(
            [
                self._entry(x[..., g, i, j] if len(self.nu) > 1 else x[..., i, j], g, i, j)
                for g, i, j in self._entries()
            ],
            axis=-1,
        ).reshape(x.shape)

    def ppf(self, level):
        low, high = np.full((2, len(self.nu), 3, 3), [[[[-1e4]]], [[[1e4]]]])
        for _ in range(60):
            middle = (low + high) / 2
            below = self.cdf(self._squeezed(middle)).reshape(middle.shape) < level
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return self._squeezed(low)

    def _entries(self):
        return np.ndindex(len(self.nu), 3, 3)

    def _squeezed(self, values):
        return values[0] if len(self.nu) == 1 else values

    def _entry(self, x, g, i, j):
        nu, psi = self.nu[g] - 1, self.psi[g]  # of a block of two of the three columns
        variance = stats.invgamma((nu - 1) / 2, scale=psi[i, i] / 2)
        if i == j:
            return variance.cdf(x)
        residual = psi[j, j] - psi[i, j] ** 2 / psi[i, i]
        slope = stats.t(nu, loc=psi[i, j] / psi[i, i], scale=np.sqrt(residual / psi[i, i] / nu))
        # Averaged over the variance's quantiles: 40 Gauss points leave about 1e-4, as 200 even ones do.
        points, weights = np.polynomial.legendre.leggauss(40)
        values = variance.ppf((points + 1) / 2)
        return sum(w / 2 * slope.cdf(x / value) for value, w in zip(values, weights, strict=True))


@dataclass(frozen=True, eq=False)
class TablesCase(CategoricalCase):
    """Level codes, none missing, as these couple the tables; a point is θ.

    Attributes
    ----------
    tables
        Positions of the features (given, of) of each table.
    """

    tables: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()

    def rows(self, rng, y, missing=0.0):
        return super().rows(rng, y, missing)

    def combinations(self, features):
        return list(itertools.product(*(range(self.axes.sizes[j]) for j in features)))

    def cells(self):
        """Return what each cell is about: the features of its table, their values, and the same without `of`."""
        return [
            ((*given, *of), (*u, *x), given, u)
            for given, of in self.tables
            for u in self.combinations(given)
            for x in self.combinations(of)
        ]

    def slices(self):
        widths = [len(self.combinations(of)) for given, of in self.tables for _ in self.combinations(given)]
        return [slice(end - width, end) for end, width in zip(np.cumsum(widths), widths, strict=True)]

    def point(self, rng):
        return {"theta": np.hstack([rng.dirichlet(np.full(s.stop - s.start, 2.0), 3) for s in self.slices()])[None]}

    def density(self, row, k, parameters):
        """Return p(x | y = k) as a sum over all completions of a row."""
        values = [range(size) if x < 0 else [x] for x, size in zip(row, self.axes.sizes, strict=True)]
        theta, cells = parameters["theta"][0, k], self.cells()
        return sum(
            np.prod([p for p, (on, at, _, _) in zip(theta, cells, strict=True) if tuple(x[j] for j in on) == at])
            for x in itertools.product(*values)
        )

    def row_log_density(self, X, y, parameters):
        return np.array([np.log(self.density(row, k, parameters)) for row, k in zip(X, y, strict=True)])

    def to_pymc(self, parameters):
        by_size = {}
        for cells in self.slices():
            by_size.setdefault(f"theta_{cells.stop - cells.start}", []).append(parameters["theta"][:, :, cells])
        return {name: np.stack(parts, axis=2) for name, parts in by_size.items()}

    def naive_mle(self, X, y):
        def rows(k, features, values):
            return np.sum((y == k) & (X[:, features] == values).all(axis=1))

        theta = [[rows(k, on, at) / rows(k, given, u) for on, at, given, u in self.cells()] for k in range(3)]
        return {"theta": np.array(theta)[None]}

    def standard_errors(self, parameters, n):
        theta = parameters["theta"][0]
        shares = np.empty_like(theta)
        for cell, (_, _, given, u) in enumerate(self.cells()):
            row = np.full(3, -1)
            row[list(given)] = u
            shares[:, cell] = [self.density(row, k, parameters) for k in range(3)]
        return {"theta": np.sqrt(theta * (1 - theta) / (n * shares))}


@dataclass(frozen=True, eq=False)
class BernoulliCase(Case):
    """Cells 0 and 1; a point is θ."""

    def rows(self, rng, y, missing=MISSING_SHARE):
        X = (rng.random((len(y), 3)) < np.array([[0.3, 0.6, 0.5], [0.7, 0.4, 0.5], [0.5, 0.5, 0.2]])[y]).astype(float)
        return np.where(rng.random(X.shape) < missing, np.nan, X)

    def point(self, rng):
        return {"theta": rng.beta(2, 2, (1, 3, 3))}

    def row_log_density(self, X, y, parameters):
        cells = stats.bernoulli.logpmf(np.nan_to_num(X), parameters["theta"][0][y])
        return np.where(np.isnan(X), 0.0, cells).sum(axis=1)

    def log_prior(self, family, parameters):
        return stats.beta.logpdf(parameters["theta"][0], family.alpha, family.beta).sum()

    def marginals(self, family):
        return {"theta": stats.beta(family.alpha, family.beta)}

    def to_pymc(self, parameters):
        return {"theta_present": parameters["theta"]}

    def cell_grid(self, feature):
        return np.array([0.0, 1.0]), np.ones(2)

    @property
    def absent(self):
        return np.nan

    def unconstrained(self, parameters):
        return special.logit(parameters["theta"][0]).ravel()

    def constrained(self, vector):
        return {"theta": special.expit(vector).reshape(1, 3, 3)}

    def log_jacobian(self, parameters):
        return 0.0

    def naive_mle(self, X, y):
        return {"theta": np.array([np.nanmean(X[y == k], axis=0) for k in range(3)])[None]}

    def standard_errors(self, parameters, n):
        theta = parameters["theta"][0]
        return {"theta": np.sqrt(theta * (1 - theta) / n)}


@dataclass(frozen=True, eq=False)
class MultinomialCase(Case):
    """Counts of three words, none missing; a point is θ."""

    def rows(self, rng, y, missing=0.0):
        return rng.poisson(np.array([[1.0, 2.0, 0.5], [0.5, 1.0, 2.0], [1.0, 1.0, 1.0]])[y]).astype(float)

    def point(self, rng):
        return {"theta": rng.dirichlet(np.full(3, 2.0), 3)[None]}

    def row_log_density(self, X, y, parameters):
        return (X * np.log(parameters["theta"][0][y])).sum(axis=1)

    def log_prior(self, family, parameters):
        return sum(
            stats.dirichlet.logpdf(theta, a) for theta, a in zip(parameters["theta"][0], family.alpha, strict=True)
        )

    def marginals(self, family):
        return {"theta": stats.beta(family.alpha, family.alpha.sum(axis=1, keepdims=True) - family.alpha)}

    def to_pymc(self, parameters):
        return {"theta_word": parameters["theta"]}

    @property
    def absent(self):
        return 0.0

    def unconstrained(self, parameters):
        return np.log(parameters["theta"][0]).ravel()

    def constrained(self, vector):
        return {"theta": special.softmax(vector.reshape(1, 3, 3), axis=2)}

    def log_jacobian(self, parameters):
        return 0.0

    def naive_mle(self, X, y):
        totals = np.array([X[y == k].sum(axis=0) for k in range(3)])
        return {"theta": (totals / totals.sum(axis=1, keepdims=True))[None]}

    def standard_errors(self, parameters, n):
        theta = parameters["theta"][0]
        return {"theta": np.sqrt(theta * (1 - theta) / (n * self.family.length))}


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


def _multivariate_gaussian(name, covariance, given=False):
    axes = Axes(LABELS, FEATURES)
    case = MultivariateGaussianCase(f"multivariate gaussian {covariance}{name}", MultivariateGaussian(covariance), axes)
    if not given:
        return case
    rng = np.random.default_rng(11)
    m, kappa, nu = rng.normal(size=(3, 3)), rng.uniform(0.3, 2.0, 3), rng.uniform(6.0, 9.0, case.groups)
    factor = rng.normal(size=(case.groups, 3, 3)) + np.eye(3)
    psi = factor @ factor.swapaxes(1, 2) + np.eye(3)
    return replace(case, family=MultivariateGaussian(covariance, m, kappa, nu, psi))


def _tables(name, family, *tables):
    return TablesCase(name, family, Axes(LABELS, FEATURES, (("a", "b"), (1, 2), (False, True))), tables)


TABLES = (
    _tables("joint α=2", JointTable(), ((), (0, 1, 2))),
    _tables("joint α given", JointTable(np.random.default_rng(6).uniform(1.2, 4.0, (3, 8))), ((), (0, 1, 2))),
    _tables("network α=2", BayesianNetwork(edges=TREE), *OF_TREE),
    _tables("network softmax", BayesianNetwork(0.7, "softmax", edges=TREE), *OF_TREE),
)
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
MULTIVARIATE_GAUSSIAN = (
    *(_multivariate_gaussian("", covariance) for covariance in ("shared", "class")),
    *(_multivariate_gaussian(" prior given", covariance, given=True) for covariance in ("shared", "class")),
)
BERNOULLI = (
    BernoulliCase("bernoulli α=2", Bernoulli(), Axes(LABELS, FEATURES)),
    BernoulliCase(
        "bernoulli α given", Bernoulli(*np.random.default_rng(4).uniform(1.2, 4.0, (2, 3, 3))), Axes(LABELS, FEATURES)
    ),
)
MULTINOMIAL = (
    MultinomialCase("multinomial α=2", Multinomial(), Axes(LABELS, FEATURES)),
    MultinomialCase(
        "multinomial α given",
        Multinomial(np.random.default_rng(9).uniform(1.2, 4.0, (3, 3))),
        Axes(LABELS, FEATURES),
    ),
)
CASES = (*CATEGORICAL, *GAUSSIAN, *MULTIVARIATE_GAUSSIAN, *TABLES, *BERNOULLI, *MULTINOMIAL)
"""A family without an entry here fails the contract."""

PRIORS = tuple(case for case in CASES if not getattr(case.family, "unbiased", False))
"""Cases whose prior differs from that of the others: `unbiased` is about the MLE alone."""
