"""Sums over all spanning trees of a weighted graph, in logarithms, by its maximum tree; and draws of trees.

Every edge closes a path in the maximum spanning tree, and is at most as heavy as the lightest edge of that path. That
*bottleneck* is therefore a scale on which each weight is at most 1, however many orders of magnitude the weights span:
whatever underflows on it is negligible beside the tree.

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
Meilă & Jaakkola (2006), *Tractable Bayesian learning of tree belief networks*, Statistics and Computing 16.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from bayesclf.arrays import Array, Integers
from bayesclf.families.dirichlet import logs


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
        edges = kernels.draw_trees(logs(weights) + self.bottleneck, kept, rng, draws)
        return np.asarray(self.order[edges])
