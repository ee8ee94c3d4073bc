"""A second, naive way to every density of discrete cells, by SciPy."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from helpers.case import MISSING_SHARE, Case
from scipy import special, stats
from scipy.special import gammaln


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
            by_size.setdefault(f"theta_of_{size}", []).append(parameters["theta"][:, :, cells])
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
        """Return what is added to the log density before its mode is found: Σ log θ in the softmax basis."""
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
class OrdinalCase(CategoricalCase):
    """Levels in an order that the classes follow; a point is the probabilities of the levels."""

    def rows(self, rng, y, missing=MISSING_SHARE):
        sizes = np.array(self.axes.sizes)
        X = np.clip((rng.normal(y[:, None] / 2, 0.7, (len(y), 3)) * sizes / 2).round(), 0, sizes - 1).astype(np.intp)
        X[rng.random(X.shape) < missing] = -1
        return X


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
        return {own.name: own.of(parameters) for own in self.prior.page_variables("")} or dict(parameters)

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
class TreesCase(CategoricalCase):
    """Level codes, none missing; a point is a tree and θ."""

    def rows(self, rng, y, missing=0.0):
        return super().rows(rng, y, 0.0)


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
        return {"theta": parameters["theta"]}

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
        return {"theta": parameters["theta"]}

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
