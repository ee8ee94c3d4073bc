"""Log densities under tables of conditional probabilities, missing cells summed out by variable elimination.

For a tree this is message passing: no intermediate factor is larger than two features' levels. In general features are
eliminated one by one, the one that leaves the smallest table first, exactly and in logs.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from bayesclf.errors import Refused
from bayesclf.families import dirichlet
from bayesclf.families.cells import by_pattern
from bayesclf.families.networks.factors import Hidden, Layout
from bayesclf.typing import Array, Integers

LARGEST_TABLE = 2**16
"""Combinations of missing features' levels in one table, above which summing out is refused."""

WORK_BYTES = 2**25
"""Size of the largest table, for all draws; rows are treated in blocks that fit."""


def log_density(layout: Layout, X: Integers, theta: Array) -> Array:
    """Return log p(x | y, θ), missing cells summed out.

    Parameters
    ----------
    layout
        The tables and their cells.
    X
        Codes (row, feature), negative where missing.
    theta
        Probabilities (draw, outcome, cell).

    Returns
    -------
    ndarray
        (draw, row, outcome).

    Raises
    ------
    Refused
        If too many missing features are dependent.
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
