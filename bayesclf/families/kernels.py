"""Loops over rows and trees as machine code, which Numba compiles when they are first needed and keeps on disk."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numba as nb
import numpy as np
from numba import types

CELLS = types.Array(types.float64, 2, "C", readonly=True)
SUMS = types.float64[:, ::1]
CODES = types.Array(types.intp, 1, "C", readonly=True)
WEIGHTS = types.Array(types.float64, 1, "C", readonly=True)


def _compiled[F: Callable[..., Any]](signature: Any = None, **options: Any) -> Callable[[F], F]:
    options |= {"nogil": True, "error_model": "numpy"}

    def compiled(function: F) -> F:
        """Return the function compiled, and kept on disk where that is possible."""
        try:
            return cast(F, nb.njit(signature, cache=True, **options)(function))
        except RuntimeError:  # no folder to keep it in can be written to
            return cast(F, nb.njit(signature, **options)(function))

    return compiled


@_compiled(types.void(CELLS, CODES, WEIGHTS, CELLS, SUMS, SUMS, SUMS), fastmath={"contract", "nsz"})
def add_moments(X: Any, y: Any, weight: Any, origin: Any, n: Any, first: Any, second: Any) -> None:
    """Add Σ w, Σ w d and Σ w d² of each class's observed cells to sums (outcome, feature), d = x − origin.

    `X`: Cells (row, feature), NaN where missing. `y`, `weight`: Label codes and weights (row). `origin`: What
    deviations are taken from, (outcome, feature).
    """
    for i in range(len(X)):
        k, w = y[i], weight[i]
        cells, center, weights, sums, squares = X[i], origin[k], n[k], first[k], second[k]
        for j in range(X.shape[1]):
            seen = cells[j] == cells[j]
            share = w if seen else 0.0
            deviation = cells[j] - center[j] if seen else 0.0
            weights[j] += share
            sums[j] += share * deviation
            squares[j] += share * deviation * deviation


@_compiled()
def rising_factors(
    ends: Any, words: Any, counts: Any, y: Any, alpha: Any, more: Any, steps: int, lost: float, factors: int
) -> Any:
    """Return Σ log [Γ(a + x)/Γ(a)] over the words of each row, (row, outcome).

    A logarithm is taken of many factors at once. In the class `y` of a row, −1 for none, a has counted the row, and the
    term is log [Γ(a)/Γ(a − x)].

    `ends`, `words`, `counts`: Rows of counts x in SciPy's CSR format. `alpha`, `more`: (word, outcome) and (word), a is
    their sum. `steps`: Largest whole count of which factors are taken. `lost`: Least share of a in a − x; below, the
    term is NaN. `factors`: How many can be multiplied.
    """
    classes = alpha.shape[1]
    out, product = np.zeros((len(y), classes)), np.ones(classes)
    for row in range(len(y)):
        label, total, own, own_total, left = y[row], out[row], 1.0, 0.0, factors
        for entry in range(ends[row], ends[row + 1]):
            of_word, extra, count = alpha[words[entry]], more[words[entry]], counts[entry]
            whole = count <= steps and count == np.floor(count)
            if label >= 0:
                without = of_word[label] + extra - count
                if without < lost * (of_word[label] + extra):
                    own = np.nan
                elif whole:
                    for step in range(int(count)):
                        own *= without + step
                        if not 1e-100 < own < 1e100:
                            own_total += np.log(own)
                            own = 1.0
                else:
                    own_total += math.lgamma(without + count) - math.lgamma(without)
            if not whole:
                for k in range(classes):
                    total[k] += math.lgamma(of_word[k] + extra + count) - math.lgamma(of_word[k] + extra)
                continue
            for step in range(int(count)):
                for k in range(classes):
                    product[k] *= of_word[k] + (extra + step)
                left -= 1
                if left == 0:
                    for k in range(classes):
                        total[k] += np.log(product[k])
                        product[k] = 1.0
                    left = factors
        for k in range(classes):
            total[k] += np.log(product[k])
            product[k] = 1.0
        if label >= 0:
            total[label] = own_total + np.log(own)
    return out


@_compiled()
def eliminate(weights: Any, local: Any, factors: Any, kept: Any) -> float:
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


@_compiled()
def log_sums(cells: Any, ratios: Any, weights: Any, local: Any, factors: Any) -> Any:
    """Return Σ log pivots (row) of the graphs of rows of cells (row, place)."""
    out, own, none = np.empty(len(cells)), np.empty_like(weights), np.empty(0)
    for row in range(len(cells)):
        for i in range(1, len(weights)):
            of_cell = ratios[cells[row, i]]
            for j in range(i):
                own[i, j] = weights[i, j] * of_cell[cells[row, j]]
        out[row] = eliminate(own, local, factors, none)
    return out


@_compiled()
def draw_trees(log_star: Any, kept: Any, rng: Any, draws: int) -> Any:
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


@_compiled()
def _root(component: Any, k: int) -> int:
    while component[k] != k:
        component[k] = component[component[k]]
        k = component[k]
    return k


@_compiled()
def _join(component: Any, i: int, j: int) -> None:
    component[_root(component, i)] = _root(component, j)


@_compiled()
def directed(present: Any, first: Any, second: Any, features: int) -> Any:
    """Return parents, −1 for none, and an order with parents first, both (tree, feature), of edges (tree, pair)."""
    parent = np.full((len(present), features), -1, np.int64)
    order = np.empty((len(present), features), np.int64)
    for tree in range(len(present)):
        edges = np.flatnonzero(present[tree])
        reached = np.zeros(features, np.bool_)
        done = 0
        for root in range(features):
            if reached[root]:
                continue
            reached[root] = True
            order[tree, done] = root
            at, done = done, done + 1
            while at < done:
                i = order[tree, at]
                for e in edges:
                    j = second[e] if first[e] == i else (first[e] if second[e] == i else -1)
                    if j >= 0 and not reached[j]:
                        reached[j] = True
                        parent[tree, j] = i
                        order[tree, done] = j
                        done += 1
                at += 1
    return parent, order


@_compiled()
def add_up(X: Any, parent: Any, log_theta: Any, starts: Any, sizes: Any, out: Any) -> None:
    """Write Σ_j log θ of complete rows."""
    features = X.shape[1]
    for draw in range(len(log_theta)):
        above = parent[draw]
        for k in range(log_theta.shape[1]):
            own = log_theta[draw, k]
            for row in range(len(X)):
                total = 0.0
                for j in range(features):
                    given = X[row, above[j]] if above[j] >= 0 else 0
                    total += own[starts[j] + given * sizes[j] + X[row, j]]
                out[draw, row, k] = total


@_compiled()
def sum_out(X: Any, parent: Any, order: Any, theta: Any, starts: Any, sizes: Any, width: int, out: Any) -> None:
    """Write log Σ Π_j θ over the values of missing cells, from the leaves to the roots."""
    features = X.shape[1]
    below = np.empty((features, width))  # by feature and value: what its children say, relative to their largest
    for draw in range(len(theta)):
        above = parent[draw]
        for k in range(theta.shape[1]):
            own = theta[draw, k]
            for row in range(len(X)):
                below[:] = 1.0
                total = 0.0
                for place in range(features - 1, -1, -1):
                    j = order[draw, place]
                    p, x, largest = above[j], X[row, j], 0.0
                    values = sizes[p] if p >= 0 else 1
                    for v in range(values):
                        if p >= 0 and X[row, p] >= 0 and X[row, p] != v:
                            continue
                        first, message = starts[j] + v * sizes[j], 0.0
                        if x >= 0:
                            message = own[first + x] * below[j, x]
                        else:
                            for value in range(sizes[j]):
                                message += own[first + value] * below[j, value]
                        largest = max(largest, message)
                        if p >= 0:
                            below[p, v] *= message
                    total += np.log(largest)
                    if p >= 0 and largest > 0:
                        for v in range(values):
                            below[p, v] /= largest
                out[draw, row, k] = total
