"""Trees between categorical features: the evidence of pairs, from which that of any tree follows, and sums over trees.

The evidence of a tree, and its posterior, need only how often each two values of two features occur together. BDeu
takes N'/r_i for each value of column i, and N'/(r_i r_j) for each cell of a pair. The evidence of a tree then does not
depend on which feature is its root,

    log P(D | T) = Σ_i log ML_i + Σ_{(i, j) ∈ T} log W_ij,  W_ij = ML_ij/(ML_i ML_j),

ML_i and ML_ij the Dirichlet-multinomial evidence of a column, and of a pair taken as one variable.

Sums over all spanning trees of a weighted graph are taken in logarithms, by its maximum tree. Every other edge closes a
path in it, and is at most as heavy as the lightest edge of that path. That *bottleneck* is therefore a scale on which
each weight is at most 1, however many orders of magnitude the weights span: whatever underflows on it is negligible
beside the tree.

By the matrix-tree theorem Σ_T Π_{e ∈ T} w_e is a cofactor of the graph Laplacian. Weights may span thousands of nats,
where the Laplacian itself loses everything. So the maximum tree T* is taken out: with u_e = ±√(w_e/w_f) on the edges f
of the path in T* that e closes, which are at most 1 in size,

    det L = Π_{f ∈ T*} w_f · det M,  M = I + Σ_{e ∉ T*} u_e u_eᵀ,

and under P(T) ∝ Π w_e the probability of an edge is (M⁻¹)_ff on T*, and u_eᵀ M⁻¹ u_e off it.

The sum itself, of many graphs at once, eliminates vertices one by one. The star–mesh rule takes a vertex v out and
joins its neighbors by w_ij += w_iv w_jv / Σ_k w_vk; the sum over all trees is the product of these pivots Σ_k w_vk.
Nothing is ever subtracted, so that nothing cancels. Each weight is kept relative to its bottleneck: a fill is never
heavier than the bottleneck of the edge that it is added to. Its factor exp(c_iv + c_jv − c_v − c_ij), c_v = max_k c_vk,
is at most 1, and nothing overflows.

A tree is drawn by undoing the eliminations: given a tree of the reduced graph, each of its edges is an original one
with probability w/(w + fill) and is dropped otherwise; v is then joined once to each component, to k with probability
∝ w_vk. (Random walks would never end where weights span hundreds of nats.)

References
----------
Heckerman, Geiger and Chickering (1995), *Learning Bayesian networks*, Machine Learning 20 (BDeu). Meilă & Jaakkola
(2006), *Tractable Bayesian learning of tree belief networks*, Statistics and Computing 16.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.special import gammaln, xlogy

from bayesclf.arrays import Array, Integers
from bayesclf.errors import Refused
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes, Statistics
from bayesclf.families.dirichlet import stirling

EQUIVALENT_ROWS = tuple(2.0**power for power in range(-1, 6))
"""Rows of each class that the prior of tables is worth, averaged over with equal weights."""

LARGEST_COUNTS = 2**25
"""Numbers (outcome × level × level) above which tables of pairs are refused."""

BLOCK_CELLS = 2**22
"""Indicators (row × level) that are multiplied at once."""


@dataclass(frozen=True)
class PairCounts(Statistics):
    """Counts n (outcome, level, level) of rows with both values, the levels of all features concatenated.

    The diagonal has the counts of single values.
    """

    axes: Axes
    counts: Array

    @classmethod
    def of(cls, X: Integers, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Self:
        """Count the pairs of values in rows `X` (row, feature) of level codes with label codes `y` (row).

        A pair of which one cell is missing, a negative code, is left out.

        Raises `Refused` for more pairs of values than can be kept in memory.
        """
        n_labels, n_levels = len(axes.labels), sum(axes.sizes)
        if n_labels * n_levels**2 > LARGEST_COUNTS:
            size = f"{n_labels} × {n_levels:,}² numbers (limit {LARGEST_COUNTS:,})"
            raise Refused(
                f"the pairs of values of {len(axes.features)} columns need {size}; use fewer columns, or naive Bayes"
            )
        counts = np.zeros((n_labels, n_levels, n_levels))
        cells, step = dirichlet.cells_of(X, axes.sizes), max(1, BLOCK_CELLS // max(n_levels, 1))
        for label, of_label in enumerate(counts):
            rows = np.flatnonzero(y == label)
            for part in np.split(rows, range(step, len(rows), step)):
                present = np.zeros((len(part), n_levels + 1))
                present[np.arange(len(part))[:, None], cells[part]] = 1.0  # the last one of missing cells
                weighted = present if sample_weight is None else present * sample_weight[part, None]
                of_label += (weighted.T @ present)[:-1, :-1]
        return cls(axes, counts)

    def select(self, features: NDArray[np.bool_]) -> Self:
        """Return the counts of pairs of levels of some of the features."""
        kept = np.repeat(features, self.axes.sizes)
        return type(self)(self.axes.select(features), self.counts[:, kept][:, :, kept])

    def reindex(self, axes: Axes) -> Self:
        """Return the counts on axes with additional labels, features or levels, which have none."""
        to, n_levels = self.axes.levels_in(axes), sum(axes.sizes)
        counts = np.zeros((len(axes.labels), n_levels, n_levels))
        counts[np.ix_(self.axes.labels_in(axes), to, to)] = self.counts
        return type(self)(axes, counts)

    @property
    def single(self) -> Array:
        """Counts of single values, (outcome, level)."""
        return np.asarray(np.diagonal(self.counts, axis1=1, axis2=2))


@dataclass(frozen=True)
class PairTables:
    """The Dirichlets of all columns and pairs of columns at one equivalent number of rows.

    `counts`: Counts (outcome, level, level), as in `PairCounts`. `sizes`: Number of levels of each feature.
    `equivalent_rows`: N', the weight of the prior in rows of each class.
    """

    counts: Array
    sizes: tuple[int, ...]
    equivalent_rows: float

    @property
    def _shares(self) -> Array:
        """1/r of the feature of each level, (level)."""
        return np.repeat(1 / np.array(self.sizes, dtype=float), self.sizes)

    @cached_property
    def single_prior(self) -> Array:
        """Concentration of each value under the prior, (level)."""
        return self.equivalent_rows * self._shares

    @cached_property
    def pair_prior(self) -> Array:
        """Concentration of each cell of a pair under the prior, (level, level)."""
        return self.equivalent_rows * np.outer(self._shares, self._shares)

    @cached_property
    def rows(self) -> Array:
        """Number of rows of each class, (outcome)."""
        return np.asarray(np.diagonal(self.counts, axis1=1, axis2=2)[:, : self.sizes[0]].sum(axis=1))

    @cached_property
    def single(self) -> Array:
        """Concentration of each value given the rows, (outcome, level)."""
        return np.asarray(np.diagonal(self.counts, axis1=1, axis2=2) + self.single_prior)

    @cached_property
    def pair(self) -> Array:
        """Concentration of each cell of a pair given the rows, (outcome, level, level)."""
        return self.counts + self.pair_prior

    @cached_property
    def log_columns(self) -> Array:
        """Log evidence of each column, (outcome, feature)."""
        of_values = gammaln(self.single) - gammaln(self.single_prior)
        return np.add.reduceat(of_values, dirichlet.starts(self.sizes), axis=1) - self._log_total[:, None]

    @cached_property
    def log_weights(self) -> Array:
        """log W of each pair, (outcome, feature, feature), 0 on the diagonal."""
        total = self._total(0)
        weights = self._log_ratios(self.pair, self.single, total)
        prior = self._log_ratios(self.pair_prior[None], self.single_prior[None], np.array([self.equivalent_rows]))
        return np.asarray((weights - prior) * (1 - np.eye(len(self.sizes))))

    def _log_ratios(self, pair: Array, single: Array, total: Array) -> Array:
        """Return log B(pair) − log B(one column) − log B(the other), (outcome, feature, feature).

        Terms x log x, as large as the number of rows, are combined in each cell before they are added up. So what
        remains of them is not lost.
        """
        first = dirichlet.starts(self.sizes)
        expected = single[:, :, None] * single[:, None] / total[:, None, None]
        of_cells = pair * np.log(pair / expected) + _remainder(pair)
        of_pairs = np.add.reduceat(np.add.reduceat(of_cells, first, axis=1), first, axis=2)
        of_columns = np.add.reduceat(_remainder(single), first, axis=1)
        ratios = of_pairs - of_columns[:, :, None] - of_columns[:, None] + _remainder(total)[:, None, None]
        return np.asarray(ratios)

    @property
    def _log_total(self) -> Array:
        return np.asarray(gammaln(self.rows + self.equivalent_rows) - gammaln(self.equivalent_rows))

    def log_single(self, less: int = 0) -> Array:
        """Return the log posterior mean of each value, (outcome, level), `less` rows with that value left out."""
        return dirichlet.logs(self._left(self.single, less) / self._total(less)[:, None])

    def ratios(self, outcome: int, less: int = 0) -> Array:
        """Return P̄(a, b)/(P̄(a) P̄(b)) of the posterior means in one class, (level, level), 1 within a feature.

        With `less` = 1, one row is left out that has both values.
        """
        single, total = self._left(self.single[outcome], less), self._total(less)[outcome]
        values = self._left(self.pair[outcome], less) * total / np.outer(single, single)
        feature = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return np.where(feature[:, None] == feature, 1.0, values)

    def _total(self, less: int) -> Array:
        return np.asarray(self.rows + self.equivalent_rows - less)

    @staticmethod
    def _left(alpha: Array, less: int) -> Array:
        """Return concentrations without a row; cells that no row can have used keep a positive number."""
        return np.where(alpha > less, alpha - less, alpha) if less else alpha


def _remainder(x: Array) -> Array:
    """Return log Γ(x) − x log x + x, of numbers above 0."""
    return stirling(x) + 0.5 * np.log(2 * np.pi / x)


def log_likelihood_gains(counts: Array, sizes: tuple[int, ...]) -> tuple[Array, Array]:
    """Return what an edge adds to the largest log likelihood, n I(X_i; X_j), and n, (outcome, feature, feature)."""
    first = dirichlet.starts(sizes)
    margin = np.add.reduceat(counts, first, axis=2)  # of rows that have both columns
    n = np.add.reduceat(margin, first, axis=1)
    terms = np.add.reduceat(np.add.reduceat(xlogy(counts, counts), first, axis=1), first, axis=2)
    columns = np.add.reduceat(xlogy(margin, margin), first, axis=1)
    gains = terms - columns - columns.swapaxes(1, 2) + xlogy(n, n)
    return gains * (1 - np.eye(len(sizes))), n


@dataclass(frozen=True)
class MaximumTree:
    """The maximum spanning tree of a graph, its vertices in the order in which Prim's algorithm reaches them.

    `order`: The vertices in that order (place); vertex 0 comes first. Each place but the first hangs on an earlier one.
    So in reverse order each vertex is a leaf when it is eliminated. `parent`: The place on which each place hangs,
    (place), −1 for the first. `log_weights`: Log weights of all edges, (place, place), in that order.

    Order and scales of one graph serve others whose weights differ from its by moderate factors: the graphs of rows,
    whose weights are those of the posterior times ratios of probabilities.
    """

    order: Integers
    parent: Integers
    log_weights: Array

    @classmethod
    def of(cls, log_weights: Array) -> MaximumTree:
        """Return the maximum tree of symmetric log weights (vertex, vertex), all finite; ties go to earlier edges."""
        size = len(log_weights)
        order, parent = np.zeros(size, dtype=np.intp), np.full(size, -1, dtype=np.intp)
        heaviest, nearest = log_weights[0].astype(float), np.zeros(size, dtype=np.intp)
        heaviest[0] = -np.inf
        for place in range(1, size):
            vertex = int(heaviest.argmax())
            order[place], parent[place] = vertex, nearest[vertex]
            heaviest[vertex] = -np.inf
            outside = ~np.isin(np.arange(size), order[: place + 1])
            closer = outside & (log_weights[vertex] > heaviest)
            heaviest[closer], nearest[closer] = log_weights[vertex, closer], place
        return cls(order, parent, log_weights[np.ix_(order, order)])

    @property
    def edges(self) -> Integers:
        """The edges of the tree, (edge, end), as vertices."""
        return np.column_stack([self.order[self.parent[1:]], self.order[1:]])

    @cached_property
    def edge_log_weights(self) -> Array:
        """Log weights of the edges of the tree, (edge), that of place p first seen at p − 1."""
        places = np.arange(1, len(self.order))
        return np.asarray(self.log_weights[places, self.parent[1:]])

    @cached_property
    def bottleneck(self) -> Array:
        """Log weight of the lightest edge of the tree between two places, (place, place); 0 on the diagonal."""
        size = len(self.order)
        scale = np.zeros((size, size))
        for place in range(1, size):
            above, own = self.parent[place], self.edge_log_weights[place - 1]
            row = np.minimum(scale[above, :place], own)
            row[above] = own
            scale[place, :place] = scale[:place, place] = row
        return scale

    @property
    def log_sum(self) -> float:
        """log Σ_T Π_{e ∈ T} w_e."""
        return self.scaled_log_sum + float(self.edge_log_weights.sum())

    @cached_property
    def scaled_log_sum(self) -> float:
        """The same on the scale of `log_sums`."""
        none = np.zeros((1, len(self.order)), dtype=np.intp)
        return float(self.log_sums(none, np.ones((1, 1)))[0])

    @cached_property
    def probabilities(self) -> Array:
        """Probability that an edge is in the tree, (vertex, vertex), P(T) ∝ Π_{e ∈ T} w_e; 0 on the diagonal."""
        size = len(self.order)
        first, second = np.tril_indices(size, -1)
        off = self.parent[first] != second
        first, second = first[off], second[off]
        # Row p says which edges of T* lie between the first place and place p; a path between two is the difference.
        path = np.eye(size, size - 1, k=-1)
        for place in range(1, size):
            path[place] += path[self.parent[place]]
        closed = path[first] - path[second]
        exponent = (self.log_weights[first, second][:, None] - self.edge_log_weights) / 2
        u = closed * np.exp(np.where(closed == 0, 0.0, exponent))
        factor = cholesky(np.eye(size - 1) + u.T @ u, lower=True)
        placed, out = np.zeros((size, size)), np.zeros((size, size))
        on_tree = solve_triangular(factor, np.eye(size - 1), lower=True) ** 2
        placed[np.arange(1, size), self.parent[1:]] = on_tree.sum(axis=0)
        placed[first, second] = (solve_triangular(factor, u.T, lower=True) ** 2).sum(axis=0)
        out[np.ix_(self.order, self.order)] = placed + placed.T
        return np.minimum(out, 1.0)

    @cached_property
    def _scaled(self) -> Array:
        """Weights relative to their bottlenecks, at most 1, (place, place)."""
        return np.exp(self.log_weights - self.bottleneck)

    @cached_property
    def _local(self) -> Array:
        """exp(c_vk − c_v), (place, place), of earlier places k."""
        return np.tril(np.exp(np.minimum(self.bottleneck - self._largest[:, None], 0.0)), -1)

    @cached_property
    def _factors(self) -> Array:
        """exp(c_iv + c_jv − c_v − c_ij) for j < i < v, these one after the other, the last index fastest."""
        scale, parts = self.bottleneck, [np.empty(0)]
        for v in range(2, len(self.order)):
            i, j = np.tril_indices(v, -1)
            parts.append(np.exp(scale[v, i] + scale[v, j] - self._largest[v] - scale[i, j]))
        return np.concatenate(parts)

    @property
    def _largest(self) -> Array:
        return np.concatenate(([0.0], self.edge_log_weights))

    def log_sums(self, cells: Integers, ratios: Array) -> Array:
        """Return log Σ_T Π w_e r_e − Σ_v c_v of many graphs, whose weights are this one's times ratios, (row).

        `cells`: What each row has at each vertex, (row, vertex). `ratios`: Symmetric factors above 0 of an edge between
        vertices with two cells, (cell, cell).
        """
        from bayesclf.families import kernels

        return np.asarray(kernels.log_sums(cells[:, self.order], ratios, self._scaled, self._local, self._factors))

    def draw(self, rng: np.random.Generator, draws: int) -> Integers:
        """Draw trees with P(T) ∝ Π w_e, as edges between vertices, (draw, edge, end)."""
        from bayesclf.families import kernels

        weights, kept = self._scaled.copy(), np.empty_like(self._factors)
        kernels.eliminate(weights, self._local, self._factors, kept)
        edges = kernels.draw_trees(dirichlet.logs(weights) + self.bottleneck, kept, rng, draws)
        return np.asarray(self.order[edges])
