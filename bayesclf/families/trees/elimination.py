"""Vertices of a weighted graph eliminated one by one: the sum over all trees, many graphs at once, and draws of trees.

The star–mesh rule takes a vertex v out and joins its neighbors by w_ij += w_iv w_jv / Σ_k w_vk; the sum over all
trees is the product of these pivots Σ_k w_vk. No number is ever subtracted, so that nothing cancels. Each weight is kept
relative to its bottleneck (`spanning`): a fill is never heavier than the bottleneck of the edge that it is added to, so
that its factor exp(c_iv + c_jv − c_v − c_ij), c_v = max_k c_vk, is at most 1, and nothing overflows.

A tree is drawn by undoing the eliminations: given a tree of the reduced graph, each of its edges is an original one
with probability w/(w + fill) and is dropped otherwise; v is then joined once to each component, to k with probability
∝ w_vk. (Random walks would never end where weights span hundreds of nats.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numba as nb
import numpy as np

from bayesclf.families.dirichlet import logs
from bayesclf.families.trees.spanning import MaximumTree
from bayesclf.typing import Array, Integers


def _compiled[F: Callable[..., Any]](function: F) -> F:
    """Compile a function, which then needs no lock, and keep its code on disk."""
    return cast(F, nb.njit(cache=True, nogil=True, error_model="numpy")(function))


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
        return np.asarray(_log_sums(cells[:, self.tree.order], ratios, self.weights, self.local, self.factors))

    def draw(self, rng: np.random.Generator, draws: int) -> Integers:
        """Draw trees with P(T) ∝ Π w_e, as edges between vertices, (draw, edge, end)."""
        weights = self.weights.copy()
        kept = np.empty_like(self.factors)
        _eliminate(weights, self.local, self.factors, kept)
        return np.asarray(self.tree.order[_draw(logs(weights) + self.tree.bottleneck, kept, rng, draws)])


@_compiled
def _eliminate(weights: Any, local: Any, factors: Any, kept: Any) -> float:
    """Eliminate all vertices in place and return Σ log pivots; `kept`, unless empty, receives w/(w + fill)."""
    total, stop = 0.0, len(factors)
    for v in range(len(weights) - 1, 0, -1):
        star = weights[v]
        pivot = 0.0
        for k in range(v):
            pivot += star[k] * local[v, k]
        total += np.log(pivot)
        first = stop - v * (v - 1) // 2
        at = first
        for i in range(1, v):
            share = star[i] / pivot
            row = weights[i]
            if len(kept):
                for j in range(i):
                    before = row[j]
                    row[j] = before + share * star[j] * factors[at + j]
                    kept[at + j] = before / row[j] if row[j] > 0 else 0.0
            else:
                for j in range(i):
                    row[j] += share * star[j] * factors[at + j]
            at += i
        stop = first
    return total


@_compiled
def _log_sums(cells: Any, ratios: Any, weights: Any, local: Any, factors: Any) -> Any:
    """Return Σ log pivots (row) of the graphs of rows of cells (row, place)."""
    out, own, none = np.empty(len(cells)), np.empty_like(weights), np.empty(0)
    for row in range(len(cells)):
        for i in range(1, len(weights)):
            of_cell = ratios[cells[row, i]]
            for j in range(i):
                own[i, j] = weights[i, j] * of_cell[cells[row, j]]
        out[row] = _eliminate(own, local, factors, none)
    return out


@_compiled
def _draw(log_star: Any, kept: Any, rng: Any, draws: int) -> Any:
    """Draw trees (draw, edge, end) from the log weights with which each place joins earlier ones."""
    size = len(log_star)
    edges = np.empty((draws, size - 1, 2), dtype=np.int64)
    component, chosen, best = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size)
    for draw in range(draws):
        tree, length, first = edges[draw], 0, 0
        for v in range(1, size):
            component[:v] = np.arange(v)
            left = 0
            for e in range(length):
                i, j = tree[e]
                if rng.random() < kept[first + i * (i - 1) // 2 + j]:
                    tree[left, 0], tree[left, 1] = i, j
                    left += 1
                    _join(component, i, j)
            first += v * (v - 1) // 2
            chosen[:v] = -1
            for k in range(v):
                # The largest sum of a log weight and a Gumbel variate is a draw in proportion to the weights.
                key = log_star[v, k] - np.log(rng.standard_exponential())
                root = _root(component, k)
                if chosen[root] < 0 or key > best[root]:
                    chosen[root], best[root] = k, key
            for root in range(v):
                if component[root] == root:
                    tree[left, 0], tree[left, 1] = v, chosen[root]
                    left += 1
            length = left
    return edges


@_compiled
def _root(component: Any, k: int) -> int:
    while component[k] != k:
        component[k] = component[component[k]]
        k = component[k]
    return k


@_compiled
def _join(component: Any, i: int, j: int) -> None:
    component[_root(component, i)] = _root(component, j)
