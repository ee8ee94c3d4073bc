"""Tables of conditional probabilities along one axis: which cell of which table a row uses, and densities of rows.

P(x | y) = Π_f P(x_of | x_given, y), one factor f after the other, each feature the `of` of exactly one. Its table
holds a simplex over the values of `of` for each configuration of `given`; all cells stand along one axis, the last
feature of a factor fastest. A joint table is one factor of all features; a Bayesian network has one factor per feature.
A factor need not depend on y: arrays (outcome, cell) then have the same values for all classes.

Missing cells are summed out by variable elimination. For a tree this is message passing: no intermediate factor is
larger than two features' levels. In general features are eliminated one by one, the one that leaves the smallest table
first, exactly and in logs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers
from bayesclf.errors import Refused
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes
from bayesclf.families.cells import by_pattern

LARGEST_TABLE = 2**16
"""Combinations of missing features' levels in one table, above which summing out is refused."""

WORK_BYTES = 2**25
"""Size of the largest table, for all draws; rows are treated in blocks that fit."""


@dataclass(frozen=True)
class Factor:
    """P(of | given, y), features as positions.

    `of`: Features that it is the distribution of. `given`: Features on which it depends. `class_free`: Whether its
    table is that of all classes.
    """

    of: tuple[int, ...]
    given: tuple[int, ...] = ()
    class_free: bool = False

    @property
    def scope(self) -> tuple[int, ...]:
        """All features of its table, in the order of the cells."""
        return self.given + self.of


@dataclass(frozen=True)
class Hidden:
    """Missing features that must be summed over together, and the factors in the product.

    `features`: The missing features among their scopes.
    """

    factors: tuple[int, ...]
    features: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """How to compute the density of rows with the same missing cells.

    `seen`: Factors (factor) whose features are all observed: each contributes one cell. `hidden`: Sums over missing
    features, independent of each other given the observed ones.
    """

    seen: NDArray[np.bool_]
    hidden: tuple[Hidden, ...]


@dataclass(frozen=True)
class Layout:
    """The cells of all factors along one axis.

    `factors`: Each comes after the factors of the features that it depends on.
    """

    axes: Axes
    factors: tuple[Factor, ...]

    @property
    def features(self) -> int:
        """Number of features."""
        return len(self.axes.features)

    def count(self, features: tuple[int, ...]) -> int:
        """Return the number of combinations of features' values."""
        return prod(self.axes.sizes[j] for j in features)

    @cached_property
    def simplexes(self) -> tuple[int, ...]:
        """Number of cells of each simplex, along the axis of cells."""
        return tuple(size for factor in self.factors for size in [self.count(factor.of)] * self.count(factor.given))

    @cached_property
    def starts(self) -> Integers:
        """First cell of each factor."""
        return dirichlet.starts(tuple(self.count(factor.scope) for factor in self.factors))

    @property
    def cells(self) -> int:
        """Number of cells."""
        return sum(self.count(factor.scope) for factor in self.factors)

    @cached_property
    def class_free(self) -> NDArray[np.bool_]:
        """Whether a cell is that of all classes, (cell)."""
        return np.repeat([f.class_free for f in self.factors], [self.count(f.scope) for f in self.factors])

    @cached_property
    def class_free_simplexes(self) -> NDArray[np.bool_]:
        """The same of each simplex, (simplex)."""
        return np.repeat([f.class_free for f in self.factors], [self.count(f.given) for f in self.factors])

    def pooled(self, counts: Array) -> Array:
        """Return counts (…, outcome, cell) with those of all classes in each, where the cell is that of all."""
        if not self.class_free.any():
            return counts
        return np.where(self.class_free, counts.sum(axis=-2, keepdims=True), counts)

    def tied[A: NDArray[Any]](self, values: A) -> A:
        """Return values (…, outcome, cell) of which the first class has those of all, in a cell of all."""
        if not self.class_free.any():
            return values
        return cast("A", np.where(self.class_free, values[..., :1, :], values))

    def cells_of(self, X: Integers) -> Integers:
        """Return the cell (row, factor) of codes (row, feature); −1 where a feature of the factor is missing."""
        cells = np.empty((len(X), len(self.factors)), dtype=np.intp)
        for f, factor in enumerate(self.factors):
            codes = X[:, factor.scope]
            offset = codes @ self.strides(factor)
            cells[:, f] = np.where((codes >= 0).all(axis=1), self.starts[f] + offset, -1)
        return cells

    def strides(self, factor: Factor) -> Integers:
        """Return how many cells apart two values of each feature of a factor are, (scope)."""
        sizes = [self.axes.sizes[j] for j in factor.scope]
        return np.array([prod(sizes[i + 1 :]) for i in range(len(sizes))], dtype=np.intp)

    def plan(self, seen: NDArray[np.bool_]) -> Plan:
        """Return how to sum out missing cells, `seen` (feature) false where missing.

        A factor whose features are missing, and on which no observed feature depends, sums to 1 and drops out.
        """
        relevant, needed = np.zeros(len(self.factors), dtype=bool), seen.copy()
        for f in reversed(range(len(self.factors))):
            factor = self.factors[f]
            relevant[f] = needed[list(factor.of)].any()
            if relevant[f]:
                needed[list(factor.given)] = True
        groups: list[tuple[set[int], set[int]]] = []
        closed = relevant.copy()
        for f in np.flatnonzero(relevant).tolist():
            missing = {j for j in self.factors[f].scope if not seen[j]}
            if not missing:
                continue
            closed[f] = False
            factors = {f}
            for group in [group for group in groups if group[1] & missing]:
                groups.remove(group)
                factors |= group[0]
                missing |= group[1]
            groups.append((factors, missing))
        return Plan(closed, tuple(Hidden(tuple(sorted(fs)), tuple(sorted(js))) for fs, js in groups))

    def names(self) -> list[str]:
        """Return the name of each cell: its values and, after a bar, those that they are conditional on."""
        names = []
        for factor in self.factors:
            given = self._combinations(factor.given)
            of = self._combinations(factor.of)
            names += [f"{value} | {condition}" if condition else value for condition in given for value in of]
        return names

    def simplex_names(self) -> list[str]:
        """Return the name of each simplex: its features and, after a bar, the values that it is conditional on."""
        names = []
        for factor in self.factors:
            of = ", ".join(self.axes.features[j] for j in factor.of)
            names += [f"{of} | {given}" if given else of for given in self._combinations(factor.given)]
        return names

    def _combinations(self, features: tuple[int, ...]) -> list[str]:
        """Return "outlook=sunny, wind=weak", …, for all values of features, the last one fastest."""
        own = ([f"{self.axes.features[j]}={level}" for level in self.axes.levels[j]] for j in features)
        return [", ".join(values) for values in product(*own)]


def log_density(layout: Layout, X: Integers, theta: Array) -> Array:
    """Return log p(x | y, θ), missing cells summed out.

    `X`: Codes (row, feature), negative where missing. `theta`: Probabilities (draw, outcome, cell).

    Returns: (draw, row, outcome).

    Raises `Refused` if too many missing features are dependent.
    """
    cells, hidden = layout.cells_of(X), []
    for seen, rows in by_pattern(X < 0):
        plan = layout.plan(seen)
        cells[np.ix_(rows, np.flatnonzero(~plan.seen))] = -1
        hidden += [(rows, part) for part in plan.hidden]
    total = _seen(cells, theta)
    for rows, part in hidden:
        total[:, rows] += _summed_out(layout, X[rows], theta, part)
    return total


def _seen(cells: Integers, theta: Array) -> Array:
    """Return Σ log θ over the cells (row, factor) that are not −1, as (draw, row, outcome)."""
    given = cells >= 0
    # θ has many cells that these rows do not use, and a logarithm of each for every draw is expensive.
    used, own = np.unique(cells[given], return_inverse=True)
    positions = np.full_like(cells, -1)
    positions[given] = own
    return dirichlet.weighted_logs(dirichlet.indicators(positions, len(used)), theta[:, :, used])


def _summed_out(layout: Layout, X: Integers, theta: Array, hidden: Hidden) -> Array:
    """Return log Σ Π_f θ over the values of the hidden features, (draw, row, outcome), rows of one pattern."""
    missing = (set(layout.factors[f].scope) & set(hidden.features) for f in hidden.factors)
    widest = max(layout.count(tuple(features)) for features in missing)
    per_row = 8 * widest * theta.shape[0] * theta.shape[1]
    step = max(1, WORK_BYTES // per_row)
    parts = [_eliminated(layout, X[start : start + step], theta, hidden) for start in range(0, len(X), step)]
    return np.concatenate(parts, axis=1)


type Table = tuple[tuple[int, ...], Array]
"""Features, and log values (draw, outcome, row, feature …)."""


def _eliminated(layout: Layout, X: Integers, theta: Array, hidden: Hidden) -> Array:
    tables = [_table(layout, X, theta, f, hidden.features) for f in hidden.factors]
    left = set(hidden.features)
    while left:
        unions = {v: tuple(sorted({j for scope, _ in tables if v in scope for j in scope})) for v in left}
        chosen = min(sorted(left), key=lambda v: layout.count(unions[v]))
        union = unions[chosen]
        _require_small(layout, union)
        product = reduce(np.add, (_aligned(table, union) for table in tables if chosen in table[0]))
        summed = _logsumexp(product, 3 + union.index(chosen))
        tables = [table for table in tables if chosen not in table[0]]
        tables.append((tuple(j for j in union if j != chosen), summed))
        left.remove(chosen)
    return np.asarray(sum(values for _, values in tables)).swapaxes(1, 2)


def _table(layout: Layout, X: Integers, theta: Array, f: int, missing: tuple[int, ...]) -> Table:
    """Return a factor as a table over its missing features, at the values of the observed ones."""
    factor = layout.factors[f]
    strides = dict(zip(factor.scope, layout.strides(factor), strict=True))
    own = tuple(sorted(set(factor.scope) & set(missing)))
    cells = layout.starts[f] + sum(X[:, j] * strides[j] for j in factor.scope if j not in own)
    cells = np.broadcast_to(cells, len(X)).reshape(-1, *(1 for _ in own))
    for axis, j in enumerate(own):
        values = np.arange(layout.axes.sizes[j]) * strides[j]
        cells = cells + values.reshape(-1, *(1 for _ in own[axis + 1 :]))
    return own, dirichlet.logs(theta[:, :, cells])


def _aligned(table: Table, features: tuple[int, ...]) -> Array:
    """Return a table's values with an axis of length 1 for each feature that it does not have."""
    own, values = table
    sizes = iter(values.shape[3:])
    return values.reshape(*values.shape[:3], *(next(sizes) if j in own else 1 for j in features))


def _logsumexp(values: Array, axis: int) -> Array:
    """Return log Σ exp over an axis; −∞ where all are."""
    top = values.max(axis=axis, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top)
    return dirichlet.logs(np.exp(values - top).sum(axis=axis)) + top.squeeze(axis)


def _require_small(layout: Layout, features: tuple[int, ...]) -> None:
    combinations = layout.count(features)
    if combinations > LARGEST_TABLE:
        names = ", ".join(repr(layout.axes.features[j]) for j in features)
        size = f"a table of {combinations:,} combinations (limit {LARGEST_TABLE:,})"
        remedy = "fit with missing='level', or with fewer edges"
        raise Refused(f"summing out the missing cells of columns {names} takes {size}; {remedy}")
