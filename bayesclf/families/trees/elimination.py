"""Vertices of a weighted graph eliminated one by one: the sum over all trees, many graphs at once, and draws of trees.

The star–mesh rule takes a vertex v out and joins its neighbors by w_ij += w_iv w_jv / Σ_k w_vk; the sum over all
trees is the product of these pivots Σ_k w_vk. Nothing is ever subtracted, so that nothing cancels. Each weight is kept
relative to its bottleneck (`spanning`): a fill is never heavier than the bottleneck of the edge that it is added to, so
that its factor exp(c_iv + c_jv − c_v − c_ij), c_v = max_k c_vk, is at most 1, and nothing overflows.

A tree is drawn by undoing the eliminations: given a tree of the reduced graph, each of its edges is an original one
with probability w/(w + fill) and is dropped otherwise; v is then joined once to each component, to k with probability
∝ w_vk. (Random walks would never end where weights span hundreds of nats.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayesclf.families.dirichlet import logs
from bayesclf.families.trees.spanning import MaximumTree
from bayesclf.typing import Array, Integers


@dataclass(frozen=True)
class Elimination:
    """The order in which the vertices of a graph are eliminated, the last place first, and the scales of its weights.

    They are those of one graph, and serve others whose weights differ from its by moderate factors: the graphs of rows,
    whose weights are those of the posterior times ratios of probabilities.

    Attributes
    ----------
    tree
        The maximum tree, which sets order and scales.
    """

    tree: MaximumTree

    @cached_property
    def weights(self) -> Array:
        """Weights relative to their bottlenecks, at most 1, (place, place)."""
        return np.exp(self.tree.log_weights - self.tree.bottleneck)

    @cached_property
    def log_scale(self) -> float:
        """What is left out of the logarithms of the scaled pivots: Σ_v c_v."""
        return float(self.tree.edge_log_weights.sum())

    @cached_property
    def local(self) -> Array:
        """exp(c_vk − c_v), (place, place), of earlier places k."""
        return np.tril(np.exp(np.minimum(self.tree.bottleneck - self._largest[:, None], 0.0)), -1)

    @cached_property
    def factors(self) -> Array:
        """exp(c_iv + c_jv − c_v − c_ij) for j < i < v, these one after the other, the last index fastest."""
        size, scale = len(self.tree.order), self.tree.bottleneck
        parts = [np.empty(0)]
        for v in range(2, size):
            i, j = np.tril_indices(v, -1)
            parts.append(np.exp(scale[v, i] + scale[v, j] - self._largest[v] - scale[i, j]))
        return np.concatenate(parts)

    @property
    def _largest(self) -> Array:
        return np.concatenate(([0.0], self.tree.edge_log_weights))

    def log_sums(self, cells: Integers, ratios: Array) -> Array:
        """Return log Σ_T Π w_e r_e − Σ_v c_v of many graphs, whose weights are this one's times ratios, (row).

        Parameters
        ----------
        cells
            What each row has at each vertex, (row, vertex).
        ratios
            Symmetric factors above 0 of an edge between vertices with two cells, (cell, cell).
        """
        from bayesclf.families import kernels

        return np.asarray(kernels.log_sums(cells[:, self.tree.order], ratios, self.weights, self.local, self.factors))

    def draw(self, rng: np.random.Generator, draws: int) -> Integers:
        """Draw trees with P(T) ∝ Π w_e, as edges between vertices, (draw, edge, end)."""
        from bayesclf.families import kernels

        weights, kept = self.weights.copy(), np.empty_like(self.factors)
        kernels.eliminate(weights, self.local, self.factors, kept)
        edges = kernels.draw_trees(logs(weights) + self.tree.bottleneck, kept, rng, draws)
        return np.asarray(self.tree.order[edges])
