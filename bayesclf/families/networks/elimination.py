"""Log densities under tables of conditional probabilities, missing cells summed out by variable elimination.

For a tree this is message passing: no factor on the way is larger than two features' levels. In general a feature is
taken out after the other, the one that leaves the smallest table first, exactly and in logs.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
from scipy import sparse

from bayesclf.errors import Refused
from bayesclf.families.networks.factors import Hidden, Layout
from bayesclf.typing import Array, Integers

LARGEST_TABLE = 2**16
"""Combinations of missing features' levels in one table, above which they are not summed out."""

WORK_BYTES = 2**25
"""Size of the largest table of some rows and all draws; rows beyond wait for their turn."""


def log_density(layout: Layout, X: Integers, theta: Array) -> Array:
    """Return log p(x | y, θ), missing cells summed out.

    Parameters
    ----------
    layout
        Which cell is what.
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
        Where too many features hang together in what is missing.
    """
    cells, hidden = layout.cells_of(X), []
    patterns, which = np.unique(X >= 0, axis=0, return_inverse=True)
    for number, seen in enumerate(patterns):
        rows = np.flatnonzero(which.ravel() == number)
        plan = layout.plan(seen)
        cells[np.ix_(rows, np.flatnonzero(~plan.seen))] = -1
        hidden += [(rows, part) for part in plan.hidden]
    total = _seen(cells, theta)
    for rows, part in hidden:
        total[:, rows] += _summed_out(layout, X[rows], theta, part)
    return total


def _seen(cells: Integers, theta: Array) -> Array:
    """Return Σ log θ over the cells (row, factor) that are not −1, as (draw, row, outcome).

    Sparse, because 0 · log 0 would be NaN in a dense product and an absent entry is not multiplied at all.
    """
    draws, labels, _ = theta.shape
    given = cells >= 0
    used, columns = np.unique(cells[given], return_inverse=True)
    with np.errstate(divide="ignore"):
        log_theta = np.log(theta[:, :, used]).transpose(2, 1, 0).reshape(len(used), labels * draws)
    ends = np.concatenate(([0], np.cumsum(given.sum(axis=1))))
    indicators = sparse.csr_array((np.ones(columns.size), columns, ends), shape=(len(cells), len(used)))
    return np.moveaxis(np.asarray(indicators @ log_theta).reshape(len(cells), labels, draws), 2, 0)


def _summed_out(layout: Layout, X: Integers, theta: Array, hidden: Hidden) -> Array:
    """Return log Σ Π_f θ over the values of the hidden features, (draw, row, outcome), rows of one pattern."""
    widest = max(
        layout.count(tuple(j for j in layout.factors[f].scope if j in hidden.features)) for f in hidden.factors
    )
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
    """Return a factor as a table over its missing features, what is seen filled in."""
    factor = layout.factors[f]
    strides = dict(zip(factor.scope, layout.strides(factor), strict=True))
    own = tuple(sorted(set(factor.scope) & set(missing)))
    cells = layout.starts[f] + sum(X[:, j] * strides[j] for j in factor.scope if j not in own)
    cells = np.broadcast_to(cells, len(X)).reshape(-1, *(1 for _ in own))
    for axis, j in enumerate(own):
        values = np.arange(layout.axes.sizes[j]) * strides[j]
        cells = cells + values.reshape(-1, *(1 for _ in own[axis + 1 :]))
    with np.errstate(divide="ignore"):
        return own, np.log(theta[:, :, cells])


def _aligned(table: Table, features: tuple[int, ...]) -> Array:
    """Return a table's values with an axis of length 1 for each feature that it does not have."""
    own, values = table
    sizes = iter(values.shape[3:])
    return values.reshape(*values.shape[:3], *(next(sizes) if j in own else 1 for j in features))


def _logsumexp(values: Array, axis: int) -> Array:
    """Return log Σ exp over an axis; −∞ where all are."""
    top = values.max(axis=axis, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(values - top).sum(axis=axis)) + top.squeeze(axis))


def _require_small(layout: Layout, features: tuple[int, ...]) -> None:
    combinations = layout.count(features)
    if combinations > LARGEST_TABLE:
        names = ", ".join(repr(layout.axes.features[j]) for j in features)
        raise Refused(
            f"summing out the missing cells of columns {names} takes a table of {combinations:,} combinations "
            f"(limit {LARGEST_TABLE:,}); fit with missing='level', or with fewer edges"
        )
