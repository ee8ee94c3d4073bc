"""PyMC variables of tables of conditional probabilities: sums over missing cells, and the codes of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor import TensorVariable

from bayesclf.errors import Refused
from bayesclf.families import dirichlet
from bayesclf.families.cells import by_pattern
from bayesclf.families.networks.factors import Factor, Layout
from bayesclf.families.networks.row_counts import LARGEST_SUMS, Sums
from bayesclf.families.pymc import add_simplexes, join_simplexes, observe_simplexes
from bayesclf.typing import Array, Integers

LARGEST_SAMPLED = 2**15
"""Completions × factors above which NUTS refuses their likelihood and its gradient."""

COUPLED = (
    "sums over missing cells that others depend on have a likelihood, but no distribution to draw them from; sample "
    "the model of the rows, clf.to_pymc(X, y)"
)


def add_tables(layout: Layout, alpha: Any, suffix: str, counts: Array | None = None) -> Any:
    """Add θ (outcome, cell) above its simplexes, those of each class and those of all, and return it.

    Parameters
    ----------
    layout
        The tables.
    alpha
        Concentration of each cell, (outcome, cell).
    suffix
        What is added to the names.
    counts
        Counts (outcome, cell) that the simplexes observe.
    """
    if not layout.class_free.any():
        by_size = add_simplexes(alpha, layout.simplexes, layout.simplex_names(), suffix)
        theta = join_simplexes(by_size, layout.simplexes, suffix, "cell")
        if counts is not None:
            observe_simplexes(by_size, counts, layout.simplexes, suffix)
        return theta
    parts, cells = [], []
    for part, own, sizes, names in layout.by_classes():
        of_all = bool(part)
        by_size = add_simplexes(alpha[:1, own] if of_all else alpha[:, own], sizes, names, part + suffix, of_all)
        if counts is not None:
            observed = counts[:, own].sum(axis=0, keepdims=True) if of_all else counts[:, own]
            observe_simplexes(by_size, observed, sizes, part + suffix, of_all)
        for size, places in dirichlet.cells_by_size(sizes).items():
            values = by_size[size].reshape((by_size[size].shape[0], len(places)))
            parts.append(pt.repeat(values, len(layout.axes.labels), axis=0) if of_all else values)
            cells.append(np.flatnonzero(own)[places])
    order = pm.Data(f"cell_order{suffix}", np.argsort(np.concatenate(cells)))
    return pm.Deterministic(
        f"theta{suffix}", pt.concatenate(parts, axis=1)[:, order], dims=("outcome", f"cell{suffix}")
    )


def observe_sums(name: str, theta: TensorVariable, sums: Sums) -> None:
    """Observe the sums in the open PyMC model: log likelihood Σ_s m_s log Σ_z Π θ, for θ (outcome, cell).

    Raises
    ------
    Refused
        Where the sums have too many terms to be sampled.
    """
    if sums.cells.size > LARGEST_SAMPLED:
        raise Refused(
            f"the training rows' missing cells have {sums.cells.size:,} completions × tables, too many for NUTS (limit "
            f"{LARGEST_SAMPLED:,}); fit with missing='level', or by inference='map'"
        )
    cells = pm.Data(f"{name}_cells", sums.cells)
    first = pm.Data(f"{name}_first", sums.first)
    observed = pm.Data(f"{name}_data", sums.counts)
    pm.CustomDist(
        name,
        theta,
        cells,
        first,
        dist=_sums_dist,
        logp=_sums_logp,
        observed=observed,
        signature="(k,c),(z,f),(s)->(k,s)",
    )


def _sums_dist(theta: Any, cells: Any, first: Any, size: Any) -> Any:
    return CheckAndRaise(Refused, COUPLED)(pt.zeros((theta.shape[0], first.shape[0])), pt.gt(theta.shape[0], pt.inf))


def _sums_logp(counts: Any, theta: Any, cells: Any, first: Any) -> Any:
    # Index −1, which means no cell, is that of an added cell with probability 1.
    log_theta = pt.concatenate([pt.log(theta), pt.zeros_like(theta[:, :1])], axis=1)
    terms = pt.exp(log_theta[:, cells].sum(axis=2))
    of = pt.cumsum(pt.set_subtensor(pt.zeros(cells.shape[0], dtype=int)[first], 1)) - 1
    sums = pt.inc_subtensor(pt.zeros_like(counts)[:, of], terms)
    return counts * pt.log(pt.switch(pt.eq(counts, 0), 1.0, sums))


def observe_codes(name: str, layout: Layout, theta: TensorVariable, X: Integers, weight: Array, dim: str) -> None:
    """Observe rows in the open PyMC model: log likelihood Σ_f log θ of their cells, missing ones summed out.

    Parameters
    ----------
    name
        Name of their variable.
    layout
        The tables.
    theta
        The probabilities of all cells in the class of each row, (row, cell).
    X
        Level codes (row, column), negative where missing.
    weight
        How often each row counts, (row).
    dim
        Name of the axis of columns.

    Raises
    ------
    Refused
        Where the missing cells have too many completions.
    """
    pm.modelcontext(None).add_coord(dim, layout.axes.features)
    seen = X >= 0
    if seen.all():
        patterns: list[tuple[Any, Any]] = [(np.ones(layout.features, dtype=bool), slice(None))]
    else:
        patterns = list(by_pattern(~seen))
        terms = sum(len(rows) * sum(layout.count(h.features) for h in layout.plan(on).hidden) for on, rows in patterns)
        if terms > LARGEST_SUMS:
            raise Refused(
                f"the missing cells of these rows have {terms:,} completions (limit {LARGEST_SUMS:,}); give fewer rows"
            )

    def logp(value: Any, theta: Any, weight: Any) -> Any:
        """Return the log density of each row's observed cells, times its weight."""
        total = pt.zeros_like(weight)
        for on, rows in patterns:
            of_rows = _log_density(layout, value[rows], theta[rows], on)
            total = pt.inc_subtensor(total[rows], of_rows)
        return weight * total

    pm.CustomDist(
        name,
        theta,
        pm.Data(f"{name}_weight", weight, dims="row"),
        dist=lambda theta, weight, size: _drawn(layout, theta) * (1 if seen.all() else seen.astype(np.int64)),
        logp=logp,
        signature="(c),()->(f)",
        observed=pm.Data(f"{name}_data", np.where(seen, X, 0), dims=("row", dim)),
        dims=("row", dim),
    )


def _log_density(layout: Layout, value: Any, theta: Any, seen: Any) -> Any:
    """Return the log density (row) of codes (row, column) with the same missing ones."""
    plan, log_theta = layout.plan(seen), pt.log(theta)
    columns = [value[:, j] for j in range(layout.features)]
    terms = [_picked(log_theta, _cells(layout, f, columns)) for f in np.flatnonzero(plan.seen)]
    for hidden in plan.hidden:
        levels = np.indices([layout.axes.sizes[j] for j in hidden.features]).reshape(len(hidden.features), -1)
        filled = [column[:, None] for column in columns]
        for j, values in zip(hidden.features, levels, strict=True):
            filled[j] = pt.as_tensor(values[None])
        completions = sum(_picked(log_theta, _cells(layout, f, filled)) for f in hidden.factors)
        terms.append(pt.logsumexp(completions, axis=1))
    return sum(terms)


def _cells(layout: Layout, f: Any, columns: list[Any]) -> Any:
    """Return the cell of a factor that codes, one array for each column, use."""
    factor = layout.factors[f]
    return layout.starts[f] + _offset(layout, factor, factor.scope, columns)


def _offset(layout: Layout, factor: Factor, features: tuple[int, ...], columns: list[Any]) -> Any:
    strides = zip(features, layout.strides(factor), strict=False)
    return sum(columns[j] * int(stride) for j, stride in strides)


def _picked(log_theta: Any, cells: Any) -> Any:
    """Return log θ of cells (row) or (row, completion) of each row."""
    row = pt.arange(log_theta.shape[0])
    return log_theta[row if cells.ndim == 1 else row[:, None], cells]


def _drawn(layout: Layout, theta: Any) -> Any:
    """Return codes (row, column) drawn one table after the other, given θ (row, cell)."""
    columns: list[Any] = [None] * layout.features
    row = pt.arange(theta.shape[0])[:, None]
    for f, factor in enumerate(layout.factors):
        first = layout.starts[f] + _offset(layout, factor, factor.given, columns) + pt.zeros_like(row[:, 0])
        drawn = pm.Categorical.dist(theta[row, first[:, None] + np.arange(layout.count(factor.of))])
        for j in reversed(factor.of):
            columns[j] = drawn % layout.axes.sizes[j]
            drawn = drawn // layout.axes.sizes[j]
    return pt.stack(columns, axis=1)
