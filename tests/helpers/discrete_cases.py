"""A second, naive way to every density of discrete cells, by SciPy."""

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from helpers.case import MISSING_SHARE, Case, CellCase, class_means, gaps
from scipy import stats
from scipy.special import gammaln


@dataclass(frozen=True, eq=False)
class TablesCase(Case):
    """Level codes, none missing where a table has several features, as these couple the tables; a point is θ.

    Attributes
    ----------
    tables
        Positions of the features (given, of) of each table.
    free
        Features that do not depend on the class; θ has their tables once for each class.
    """

    tables: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (((), (0,)), ((), (1,)), ((), (2,)))
    free: tuple[int, ...] = ()

    absent = -1

    @property
    def spaces(self):
        return {"theta": ("simplex", (1, 3, self.slices()[-1].stop))}

    @cached_property
    def own(self):
        found = super().own
        found["theta"][:, 1:, [on[-1] in self.free for on, *_ in self.cells()]] = False
        return found

    def rows(self, rng, y, missing=None):
        X = np.stack([rng.integers(size, size=len(y)) for size in self.axes.sizes], axis=1)
        if missing is None:
            missing = MISSING_SHARE if all(len((*given, *of)) == 1 for given, of in self.tables) else 0.0
        X[rng.random(X.shape) < missing] = -1
        return X

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

    def density(self, row, k, parameters):
        """Return p(x | y = k) as a sum over all completions of a row."""
        values = [range(size) if x < 0 else [x] for x, size in zip(row, self.axes.sizes, strict=True)]
        theta, cells = parameters["theta"][0, k], self.cells()
        return sum(
            np.prod([p for p, (on, at, _, _) in zip(theta, cells, strict=True) if tuple(x[j] for j in on) == at])
            for x in itertools.product(*values)
        )

    def row_log_density(self, X, y, parameters):
        return np.array([np.log(self.density(row, k, parameters)) for row, k in zip(X, y, strict=True)], dtype=float)

    def log_prior(self, family, parameters):
        log_theta, own = np.log(parameters["theta"][0]), self.own["theta"][0]
        return sum(
            gammaln(alpha.sum()) - gammaln(alpha).sum() + (alpha - 1) @ log_theta[k, cells]
            for k in range(3)
            for cells in self.slices()
            if own[k, cells].all()
            for alpha in [family.alpha[k, cells]]
        )

    def marginals(self, family):
        """Return the distribution of each parameter under hyperparameters: a Beta for each cell."""
        total = np.hstack(
            [np.repeat(family.alpha[:, s].sum(axis=1, keepdims=True), s.stop - s.start, 1) for s in self.slices()]
        )
        return {"theta": stats.beta(family.alpha, total - family.alpha)}

    def to_pymc(self, parameters):
        return {own.name: own.of(parameters) for own in self.prior.page_variables("")} or dict(parameters)

    def cell_grid(self, feature):
        """Return all values of a cell, with the weights that make a sum over them the integral."""
        size = self.axes.sizes[feature]
        return np.arange(size), np.ones(size)

    def naive_mle(self, X, y):
        """Return fractions of counts for each class, table and cell: Mitchell's eq 6."""

        def rows(k, on, features, values):
            of_class = (y == k) | (on[-1] in self.free)
            return np.sum(of_class & (X[:, on] >= 0).all(axis=1) & (X[:, features] == values).all(axis=1))

        theta = [[rows(k, on, on, at) / rows(k, on, given, u) for on, at, given, u in self.cells()] for k in range(3)]
        return {"theta": np.array(theta)[None]}


@dataclass(frozen=True, eq=False)
class CategoricalCase(TablesCase):
    """Level codes, some missing, each feature a table of its own."""

    def to_pymc(self, parameters):
        by_size = {}
        for size, cells in zip(self.axes.sizes, self.slices(), strict=True):
            by_size.setdefault(f"theta_of_{size}", []).append(parameters["theta"][:, :, cells])
        return {name: np.stack(parts, axis=2) for name, parts in by_size.items()}


@dataclass(frozen=True, eq=False)
class TreesCase(TablesCase):
    """Level codes, none missing; a point is a tree and θ."""

    def rows(self, rng, y, missing=0.0):
        return super().rows(rng, y, 0.0)


@dataclass(frozen=True, eq=False)
class TreesOfCellsCase(Case):
    """Numbers on both sides of a code, none missing."""

    def rows(self, rng, y, missing=0.0):
        code = (rng.random(len(y)) < np.array([0.2, 0.5, 0.8])[y]).astype(float)
        return np.column_stack([rng.normal(y, 1), code, np.round(rng.normal(code, 1), 1)])


@dataclass(frozen=True, eq=False)
class BernoulliCase(CellCase):
    """Cells 0 and 1; a point is θ."""

    spaces: ClassVar = {"theta": ("logit", (1, 3, 3))}

    def cells(self, theta):
        return stats.bernoulli(theta)

    def rows(self, rng, y, missing=MISSING_SHARE):
        X = (rng.random((len(y), 3)) < np.array([[0.3, 0.6, 0.5], [0.7, 0.4, 0.5], [0.5, 0.5, 0.2]])[y]).astype(float)
        return gaps(rng, X, missing)

    def marginals(self, family):
        return {"theta": stats.beta(family.alpha, family.beta)}

    def cell_grid(self, feature):
        return np.array([0.0, 1.0]), np.ones(2)

    def naive_mle(self, X, y):
        return {"theta": class_means(X, y)}


@dataclass(frozen=True, eq=False)
class MultinomialCase(Case):
    """Counts of three words, none missing; a point is θ."""

    absent = 0.0
    spaces: ClassVar = {"theta": ("simplex", (1, 3, 3))}

    def slices(self):
        return [slice(0, 3)]

    def rows(self, rng, y, missing=0.0):
        return rng.poisson(np.array([[1.0, 2.0, 0.5], [0.5, 1.0, 2.0], [1.0, 1.0, 1.0]])[y]).astype(float)

    def row_log_density(self, X, y, parameters):
        return (X * np.log(parameters["theta"][0][y])).sum(axis=1)

    def log_prior(self, family, parameters):
        return sum(
            stats.dirichlet.logpdf(theta, a) for theta, a in zip(parameters["theta"][0], family.alpha, strict=True)
        )

    def marginals(self, family):
        return {"theta": stats.beta(family.alpha, family.alpha.sum(axis=1, keepdims=True) - family.alpha)}

    def naive_mle(self, X, y):
        totals = np.array([X[y == k].sum(axis=0) for k in range(3)])
        return {"theta": (totals / totals.sum(axis=1, keepdims=True))[None]}
