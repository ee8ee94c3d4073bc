"""Every tree between categorical features at once, each with its probability.

A single tree has its edges directed away from a root, tables, and a density with missing cells summed out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.errors import InputError, Refused
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes, Family, Statistics, joined, require_each, require_positive
from bayesclf.families.cells import by_pattern
from bayesclf.families.networks.trees import EQUIVALENT_ROWS, MaximumTree, PairCounts, PairTables, log_likelihood_gains
from bayesclf.families.prior_lines import Hyperparameter, PriorLine, listing
from bayesclf.wording import counted

NEGLIGIBLE = 1e-13
"""Posterior probability below which an equivalent number of rows is left out of averages."""

MOST_FEATURES = 256
"""Features above which trees are refused: an elimination keeps d³/6 numbers."""

EXACT_WORK = 2**20
"""Completions × d³ up to which the missing cells of a row are summed out one completion at a time."""

TREES, TREES_AT_ONCE = 1000, 100
"""Drawn trees that the missing cells of other rows are summed out under."""

NO_PYMC = "all trees are averaged over in closed form and have no PyMC model; use inference='exact', not 'nuts'"
"""Why NUTS cannot be used."""

LARGEST_THETA = 2**17
"""Probabilities (outcome × cell) of one hypothesis above which trees are refused."""


@dataclass(frozen=True)
class TreeTables:
    """P(x_j | x_parent(j)) of every feature along one axis, whatever its parent.

    Feature j has r_j cells for each value of its parent, for as many values as the feature with the most levels has. A
    root uses the first r_j of them. Cells that a tree does not use are 0.
    """

    axes: Axes

    @property
    def width(self) -> int:
        """Number of values that a parent may have."""
        return max(self.axes.sizes)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return sum(self.axes.sizes) * self.width

    @cached_property
    def sizes(self) -> Integers:
        """Number of levels of each feature."""
        return np.array(self.axes.sizes, dtype=np.intp)

    @cached_property
    def simplexes(self) -> tuple[int, ...]:
        """Number of cells of each simplex."""
        return tuple(size for size in self.axes.sizes for _ in range(self.width))

    @cached_property
    def starts(self) -> Integers:
        """First cell of each feature."""
        return np.asarray(dirichlet.starts(self.axes.sizes) * self.width)

    @cached_property
    def feature(self) -> Integers:
        """Feature of each cell."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes * self.width)

    @cached_property
    def given(self) -> Integers:
        """Value of the parent in each cell, as a code."""
        return (np.arange(self.cells) - self.starts[self.feature]) // self.sizes[self.feature]

    @cached_property
    def level(self) -> Integers:
        """Value of the feature itself in each cell, as a position among the levels of all features."""
        code = (np.arange(self.cells) - self.starts[self.feature]) % self.sizes[self.feature]
        return np.asarray(dirichlet.starts(self.axes.sizes)[self.feature] + code)

    def parent_levels(self, parent: Integers) -> tuple[Integers, NDArray[np.bool_]]:
        """Return what each cell is given in directed trees, and whether a tree uses it.

        `parent`: Parent of each feature, −1 for a root, (…, feature).

        Returns: Position among the levels of all features, −1 for a root, (…, cell); and whether the cell is used,
        likewise.
        """
        own = parent[..., self.feature]
        is_root = own < 0
        used = np.where(is_root, self.given == 0, self.given < self.sizes[own])
        position = dirichlet.starts(self.axes.sizes)[own] + self.given
        return np.where(is_root | ~used, -1, position), used

    def names(self) -> list[str]:
        """Return the name of each cell: the value, and which value of the parent it is given."""
        levels = [f"{name}={level}" for name, level in self.axes.values]
        return [f"{levels[at]} | value {given + 1} of parent" for at, given in zip(self.level, self.given, strict=True)]

    def log_density(self, X: Integers, parent: Integers, order: Integers, theta: Array) -> Array:
        """Return log p(x | y, θ) (draw, row, outcome), missing cells summed out.

        `X`: Level codes (row, feature), negative where missing. `parent`, `order`: As `directed` returns them, (draw,
        feature). `theta`: Probabilities (draw, outcome, cell).
        """
        from bayesclf.families import kernels

        out = np.empty((len(theta), len(X), theta.shape[1]))
        if (X < 0).any():
            kernels.sum_out(X, parent, order, theta, self.starts, self.sizes, self.width, out)
        else:
            kernels.add_up(X, parent, dirichlet.logs(theta), self.starts, self.sizes, out)
        return out

    def sample(self, parent: Integers, order: Integers, theta: Array, rng: np.random.Generator, rows: int) -> Integers:
        """Draw level codes (row, feature) from one tree: parent, order (feature) and θ (cell)."""
        X = np.zeros((rows, len(self.sizes)), dtype=np.intp)
        for j in order.tolist():
            given = X[:, parent[j]] if parent[j] >= 0 else np.zeros(rows, dtype=np.intp)
            first = self.starts[j] + given * self.sizes[j]
            X[:, j] = dirichlet.chosen(theta[first[:, None] + np.arange(self.sizes[j])], rng)
        return X


def pairs(features: int) -> tuple[Integers, Integers]:
    """Return both ends of every possible edge, the earlier feature first, (edge) each."""
    return np.triu_indices(features, 1)


def directed(present: Array, features: int) -> tuple[Integers, Integers]:
    """Return trees or forests with each component directed away from its first feature.

    `present`: Whether each of `pairs` is an edge, 0 or 1, (…, edge).

    Returns: Parent of each feature, −1 for a root, (…, feature); and the features in an order in which parents come
    first.
    """
    from bayesclf.families import kernels

    flat = np.ascontiguousarray(present.reshape(int(np.prod(present.shape[:-1])), present.shape[-1]) > 0)
    parent, order = kernels.directed(flat, *pairs(features), features)
    shape = (*present.shape[:-1], features)
    return parent.reshape(shape), order.reshape(shape)


def presence(edges: Integers, features: int) -> Array:
    """Return 1 for each pair of features that is among edges, (…, pair), from (…, edge, end); a star's do not count."""
    low, high = edges.min(axis=-1), edges.max(axis=-1)
    place = low * features - low * (low + 1) // 2 + high - low - 1
    out = np.zeros((*edges.shape[:-2], features * (features - 1) // 2 + 1))
    np.put_along_axis(out, np.where(high < features, place, out.shape[-1] - 1), 1.0, axis=-1)
    return out[..., :-1]


@dataclass(frozen=True)
class Node:
    """The posterior over trees at one equivalent number of rows.

    P(T) is uniform over all trees, or over all rooted `forests` weighted by d for each component. A star vertex, the
    last, is then tied to each of the d features with weight d: trees of that graph are forests of the features in which
    each component has a root, the feature that is tied to the star.
    """

    tables: PairTables
    forests: bool

    @property
    def features(self) -> int:
        """Number of features."""
        return len(self.tables.sizes)

    @cached_property
    def tree(self) -> MaximumTree:
        """The most probable tree, and the sum over all."""
        graph = self.tables.log_weights.sum(axis=0)
        if self.forests:
            graph = np.pad(graph, (0, 1), constant_values=np.log(self.features))
            graph[-1, -1] = 0.0
        return MaximumTree.of(graph)

    @property
    def log_evidence(self) -> float:
        """log Σ_T P(T) P(D | T) of all rows, P(T) over d^(d−2) trees, or of weights that add up to d (2d)^(d−1)."""
        d = self.features
        log_count = np.log(d) + (d - 1) * np.log(2 * d) if self.forests else (d - 2) * np.log(d)
        return float(self.tables.log_columns.sum() + self.tree.log_sum - log_count)

    def most_probable(self) -> Array:
        """Return the edges of the most probable tree or rooted forest, (pair)."""
        return presence(self.tree.edges, self.features)

    def draw(self, rng: np.random.Generator, draws: int) -> Array:
        """Draw the edges of trees, (draw, pair)."""
        return presence(self.tree.draw(rng, draws), self.features)

    def log_predictive(self, X: Integers) -> Array:
        """Return log p(x | y, D) of complete rows of level codes (row, feature), (row, outcome).

        It is Σ_i log P̄(x_i | y) + log det L(W ∘ ρ_y(x)) − log det L(W). ρ_ij is the posterior mean of two values
        together, over the product of their posterior means.
        """
        cells = self._cells(X)
        out = self._log_independent(X)
        for k in range(out.shape[1]):
            out[:, k] += self.tree.log_sums(cells, self._ratios(k)) - self.tree.scaled_log_sum
        return out

    def log_predictive_without(self, X: Integers, y: Integers) -> Array:
        """Return log p(x_i | k, all rows but i), (row, outcome), of complete training rows with label codes (row).

        Without row i the weights are W/ρ, ρ the ratios in its own class less that row.
        """
        cells, out = self._cells(X), self._log_independent(X)
        less = self._log_independent(X, 1)
        for own in np.unique(y):
            rows = np.flatnonzero(y == own)
            out[rows, own] = less[rows, own]
            left = 1 / self._ratios(own, 1)
            without = self.tree.log_sums(cells[rows], left)
            for k in range(out.shape[1]):
                more = self.tree.scaled_log_sum if k == own else self.tree.log_sums(cells[rows], left * self._ratios(k))
                out[rows, k] += more - without
        return out

    def _cells(self, X: Integers) -> Integers:
        """Return the cell of `_ratios` at each vertex of the graph of each row; the star has one of its own."""
        cells = X + dirichlet.starts(self.tables.sizes)
        if not self.forests:
            return np.asarray(cells, dtype=np.intp)
        return np.column_stack([cells, np.full(len(X), sum(self.tables.sizes))])

    def _ratios(self, outcome: int, less: int = 0) -> Array:
        ratios = self.tables.ratios(outcome, less)
        return np.pad(ratios, (0, 1), constant_values=1.0) if self.forests else ratios

    def _log_independent(self, X: Integers, less: int = 0) -> Array:
        """Return Σ_i log P̄(x_i | y), (row, outcome)."""
        cells = X + dirichlet.starts(self.tables.sizes)
        return np.stack([of[cells].sum(axis=1) for of in self.tables.log_single(less)], axis=1)


@dataclass(frozen=True, repr=False)
class EveryTree(Family[PairCounts]):
    """P(x | y = k) = Σ_T P(T) Π_j P(x_j | x_parent(j), y = k, θ_T): a mixture over all trees, or all rooted forests.

    ========== ================================ ==============================================================
    parameter  support                          prior
    ========== ================================ ==============================================================
    T          trees over the d features        uniform over d^(d−2) trees, or ∝ d^c over rooted forests
                                                of c components, in which a component C counts |C| times
    θ_T        a simplex for each value of the  Dirichlet(N'/(r_i r_j)) in each cell of a pair (BDeu): margins
               parent and class                 agree, and no feature is the root
    N'         a grid                           uniform
    ========== ================================ ==============================================================

    Evidence, probabilities of edges, predictive and leave-one-out are exact: by the matrix-tree theorem a sum over all
    trees is a determinant (`networks.trees`). Given T the posterior of θ_T is Dirichlet(α + n). MLE is the tree of Chow
    and Liu with relative frequencies. MAP is the most probable tree given the most probable N'. Its θ is in the softmax
    basis, (n + α)/(N + Σα), which is the posterior mean and the same for every root; the mode on the simplex often does
    not exist and depends on the root. The mean of a posterior over trees is no tree; `mean` is that of the most
    probable one, so that it equals MAP. Of forests, MAP is the most probable forest together with its roots.

    Training rows must be complete. At prediction a missing cell is summed out: exactly one completion at a time where
    there are few, otherwise exactly under each of 1,000 trees drawn from the posterior, which are then averaged.

    Parameters
    ----------
    equivalent_rows : float or tuple of float
        N' in each class, above 0: a number, or several that are averaged over by their evidence.
    forests : bool
        Whether to average over rooted forests rather than trees; the forest without edges is naive Bayes. A priori
        (d − 1)/2 edges are expected.
    axes, counts
        Set by `resolve_prior`; the counts (outcome, level, level) are of the rows that a prior has seen already.

    References
    ----------
    Meilă & Jaakkola (2006), *Tractable Bayesian learning of tree belief networks*, Statistics and Computing 16.
    """

    equivalent_rows: float | tuple[float, ...] = EQUIVALENT_ROWS
    forests: bool = False
    axes: Axes = field(default=Axes((), ()), repr=False)
    counts: Array | None = field(default=None, repr=False)
    name: ClassVar[str] = "every-tree"
    likelihood: ClassVar[str] = "Categorical(theta) of each column given its neighbor in a tree, averaged over trees"
    kind: ClassVar[str] = "category"
    statistics_type: ClassVar[type[Statistics]] = PairCounts
    _no_pymc: ClassVar[str] = NO_PYMC

    def __post_init__(self) -> None:
        require_positive(equivalent_rows=self.equivalent_rows)
        if not np.size(self.equivalent_rows):
            raise InputError("equivalent_rows must be a number or several of them, not an empty list")

    def statistics(self, X: Integers, y: Integers, axes: Axes, sample_weight: Array | None = None) -> PairCounts:
        """Return the counts of pairs of values in complete rows; rows and columns without any cell are left out.

        Raises
        ------
        Refused
            For a missing cell in other rows.
        """
        seen = (X >= 0).any(axis=1)
        absent = np.where(np.array(axes.sizes) > 0, (X[seen] < 0).sum(axis=0), 0)
        if absent.any():
            first = int(absent.argmax())
            raise Refused(
                f"column {axes.features[first]!r} has {counted(int(absent[first]), 'missing cell')}, and sums over all "
                "trees take complete training rows only; fit with missing='level', fill the cells, or use "
                "structure='tan'"
            )
        return super().statistics(X, y, axes, sample_weight)

    def resolve_prior(self, statistics: PairCounts) -> Self:
        """Return the prior on the axes of the rows.

        Raises
        ------
        Refused
            For too many features.
        """
        features = len(statistics.axes.features)
        if features > MOST_FEATURES:
            raise Refused(
                f"sums over all trees of {features} columns are too large (limit {MOST_FEATURES}); use fewer columns, "
                "or structure='tan'"
            )
        cells = TreeTables(statistics.axes).cells * len(statistics.axes.labels)
        if cells > LARGEST_THETA:
            size, name = max(zip(statistics.axes.sizes, statistics.axes.features, strict=True))
            raise Refused(
                f"column {name!r} has {size:,} values, and a tree through it up to {cells:,} probabilities (limit "
                f"{LARGEST_THETA:,}); leave the column out, or merge values"
            )
        grid = tuple(float(value) for value in np.ravel(self.equivalent_rows))
        return replace(self, axes=statistics.axes, counts=np.zeros_like(statistics.counts), equivalent_rows=grid)

    def informative(self, statistics: PairCounts) -> NDArray[np.bool_]:
        """Return False for a feature without an observed cell."""
        return statistics.axes.occurring(statistics.single.sum(axis=0))

    def mle(self, statistics: PairCounts) -> Parameters:
        """Return the most likely tree, of greatest information given the class, with its relative frequencies.

        Raises
        ------
        DoesNotExist
            Where a class has no rows.

        References
        ----------
        Chow and Liu (1968), *Approximating discrete probability distributions with dependence trees*.
        """
        rows = statistics.single[:, : statistics.axes.sizes[0]].sum(axis=1)
        require_each(np.repeat(rows[:, None] > 0, len(statistics.axes.features), axis=1), statistics.axes, "has no row")
        gains, _ = log_likelihood_gains(statistics.counts, statistics.axes.sizes)
        present = presence(MaximumTree.of(gains.sum(axis=0)).edges, len(gains[0]))[None]
        counts, used = self._cells_of(present, statistics.counts)
        theta = dirichlet.normalize(np.where(used, counts, 0.0), self._tables.simplexes)
        sizes = np.repeat(self._tables.simplexes, self._tables.simplexes)
        # A value of the parent without rows has probability 0 itself, so that anything may follow it.
        return {"tree": present, "theta": np.where(used, np.where(np.isnan(theta), 1 / sizes, theta), 0.0)}

    def map(self, statistics: PairCounts) -> Parameters:
        """Return the most probable tree with its posterior mean of θ."""
        return self.posterior(statistics).mean()

    def posterior(self, statistics: PairCounts) -> Self:
        """Return the posterior: trees weighted by their evidence, and Dirichlet(α + n) given each."""
        return replace(self, counts=cast("Array", self.counts) + statistics.counts)

    @property
    def trees(self) -> Self:
        """Itself, as `EveryTreeOfCells` has one of these."""
        return self

    @cached_property
    def _tables(self) -> TreeTables:
        return TreeTables(self.axes)

    @cached_property
    def _nodes(self) -> tuple[Node, ...]:
        assert self.counts is not None
        tables = (PairTables(self.counts, self.axes.sizes, rows) for rows in np.ravel(self.equivalent_rows).tolist())
        return tuple(Node(each, self.forests) for each in tables)

    @cached_property
    def _log_evidence(self) -> Array:
        return np.array([node.log_evidence for node in self._nodes])

    @cached_property
    def node_probabilities(self) -> Array:
        """Probability of each equivalent number of rows, (node)."""
        return np.asarray(softmax(self._log_evidence))

    def _likely(self) -> list[tuple[float, Node]]:
        """Return the nodes that count, with their probabilities."""
        likely = zip(self.node_probabilities, self._nodes, strict=True)
        return [(float(probability), node) for probability, node in likely if probability > NEGLIGIBLE]

    def edge_probabilities(self) -> Array:
        """Return the probability that two features are joined, (feature, feature)."""
        d = len(self.axes.features)
        return np.asarray(sum(probability * node.tree.probabilities[:d, :d] for probability, node in self._likely()))

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """The edges, (parent, child), of the most probable tree."""
        (parent,), (order,) = directed(self.mean()["tree"], len(self.axes.features))
        names = self.axes.features
        return tuple((names[parent[j]], names[j]) for j in order.tolist() if parent[j] >= 0)

    def _log_normalizer(self) -> Array:
        """log Σ_N' P(N') Σ_T P(T) P(rows | T, N'), of the whole block: (1, 1)."""
        return np.array([[logsumexp(self._log_evidence) - np.log(len(self._log_evidence))]])

    def priors(self) -> list[PriorLine]:
        """Return the prior of trees or forests, and of θ given one."""
        trees, numbers = "Uniform(trees)", dict[str, Hyperparameter]()
        if self.forests:
            trees, numbers = "rooted forests, ∝ {weight}^components", {"weight": float(len(self.axes.features))}
        rows, worth = listing("rows", np.ravel(self.equivalent_rows))
        cells = f"Dirichlet(worth {rows} in rows in all, the same in each cell of a pair of columns)"
        return [PriorLine("tree", "", "", trees, numbers), PriorLine("theta", "", "", cells, worth)]

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw N', then a tree given N', then θ given the tree."""
        chosen = rng.choice(len(self._nodes), size=draws, p=self.node_probabilities)
        present = self._draw_trees(rng, chosen)
        alpha, used = self._alpha(present, chosen)
        theta = dirichlet.draw(np.where(used, alpha, 1.0), self._tables.simplexes, rng, 1)[0]
        return {"tree": present, "theta": np.where(used, theta, 0.0)}

    def mean(self) -> Parameters:
        """Return the most probable tree with the posterior mean of its θ."""
        best = int(self.node_probabilities.argmax())
        return self._means(self._nodes[best].most_probable()[None], np.array([best]))

    def _draw_trees(self, rng: np.random.Generator, chosen: Integers) -> Array:
        """Draw the edges of trees given which N' each has, (draw, pair)."""
        present = np.empty((len(chosen), len(pairs(len(self.axes.features))[0])))
        for number in np.unique(chosen):
            own = np.flatnonzero(chosen == number)
            present[own] = self._nodes[number].draw(rng, len(own))
        return present

    def _means(self, present: Array, chosen: Integers) -> Parameters:
        """Return trees (draw, pair) with the posterior means of their θ given which N' each has."""
        alpha, used = self._alpha(present, chosen)
        theta = dirichlet.normalize(np.where(used, alpha, 1.0), self._tables.simplexes)
        return {"tree": present, "theta": np.where(used, theta, 0.0)}

    def _alpha(self, present: Array, chosen: Integers) -> tuple[Array, NDArray[np.bool_]]:
        """Return the concentration of each cell, (draw, outcome, cell), and which cells each tree uses."""
        assert self.counts is not None
        counts, used = self._cells_of(present, self.counts)
        sizes = self._tables.sizes
        parent = directed(present, len(self.axes.features))[0][:, None, self._tables.feature]
        levels = sizes[self._tables.feature] * np.where(parent < 0, 1, sizes[parent])
        rows = np.ravel(self.equivalent_rows)[chosen]
        return counts + rows[:, None, None] / levels, used

    def _cells_of(self, present: Array, counts: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Return the counts of each cell of trees (draw, pair), (draw, outcome, cell), and which are used."""
        parent, _ = directed(present, len(self.axes.features))
        given, used = self._tables.parent_levels(parent[:, None])
        own = np.broadcast_to(self._tables.level, given.shape)
        label = np.arange(len(counts))[:, None]
        return counts[label, np.where(given < 0, own, given), own], np.broadcast_to(
            used, (len(present), len(counts), used.shape[-1])
        )

    def log_density(self, X: Integers, parameters: Parameters) -> Array:
        """Return Σ_j log θ (draw, row, outcome), missing cells summed out."""
        return self._tables.log_density(X, *directed(parameters["tree"], len(self.axes.features)), parameters["theta"])

    def log_predictive(self, X: Integers) -> Array:
        """Return log Σ_T P(T | D) p(x | y, T, D), (row, outcome)."""
        out = np.zeros((len(X), len(self.axes.labels)))
        for seen, rows in by_pattern(X < 0):
            sizes = self._tables.sizes[~seen]
            if seen.all() or np.prod(sizes, dtype=float) * len(seen) ** 3 <= EXACT_WORK:
                out[rows] = self._summed(X[rows], np.flatnonzero(~seen))
            else:
                parts = [logsumexp(self.log_density(X[rows], drawn), axis=0) for drawn in self._typical()]
                out[rows] = logsumexp(parts, axis=0) - np.log(TREES)
        return out

    def _summed(self, X: Integers, hidden: Integers) -> Array:
        """Return the log predictive of rows with the same cells missing, as a sum over their completions."""
        total = np.full((len(X), len(self.axes.labels)), -np.inf)
        completed = X.copy()
        for values in np.ndindex(*self._tables.sizes[hidden].tolist()):
            completed[:, hidden] = values
            for probability, node in self._likely():
                total = np.logaddexp(total, np.log(probability) + node.log_predictive(completed))
        return total

    def _typical(self) -> Iterator[Parameters]:
        """Yield parts of trees drawn from the posterior, always the same, with the posterior means of their θ."""
        rng = np.random.default_rng(0)
        for _ in range(TREES // TREES_AT_ONCE):
            chosen = rng.choice(len(self._nodes), size=TREES_AT_ONCE, p=self.node_probabilities)
            yield self._means(self._draw_trees(rng, chosen), chosen)

    def log_predictive_without(self, X: Integers, y: Integers) -> Array:
        """All classes: each N' counts as the other rows make it count, and its trees likewise."""
        # A training row is complete, or has no cell at all.
        seen = np.flatnonzero((X >= 0).all(axis=1))
        likely = self._likely()
        parts = np.stack([node.log_predictive_without(X[seen], y[seen]) for _, node in likely])
        log_weights = np.log([[probability] for probability, _ in likely]) - parts[:, np.arange(len(seen)), y[seen]]
        log_weights -= logsumexp(log_weights, axis=0)
        out = np.zeros((len(y), len(self.axes.labels)))
        out[seen] = logsumexp(parts + log_weights[..., None], axis=0)
        return out

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the first column with each other one: all depend on each other."""
        return joined(self.axes.features)

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Integers:
        """Draw level codes (row, feature), parents first."""
        (parent,), (order,) = directed(parameters["tree"], len(self.axes.features))
        X = np.zeros((len(y), len(self.axes.features)), dtype=np.intp)
        for k, theta in enumerate(parameters["theta"][0]):
            rows = np.flatnonzero(y == k)
            X[rows] = self._tables.sample(parent, order, theta, rng, len(rows))
        return X

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of the tree and of θ."""
        return {"tree": ("edge",), "theta": ("outcome", "cell")}

    def coords(self) -> dict[str, Any]:
        """Return the names of edges, such as "outlook – wind", and of cells."""
        names = self.axes.features
        edges = [f"{names[i]} – {names[j]}" for i, j in zip(*pairs(len(names)), strict=True)]
        return {"edge": edges, "cell": self._tables.names()}
