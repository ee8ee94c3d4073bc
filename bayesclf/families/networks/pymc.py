"""PyMC variables of tables of conditional probabilities: sums over missing cells, and the codes of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesclf.errors import Refused
from bayesclf.families import dirichlet
from bayesclf.families.networks.factors import Layout
from bayesclf.families.networks.row_counts import Sums
from bayesclf.families.pymc import add_simplexes, join_simplexes, observe_simplexes
from bayesclf.typing import Array

LARGEST_SAMPLED = 2**15
"""Completions × factors above which NUTS refuses their likelihood and its gradient."""


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
    first, counts = pm.Data(f"{name}_first", sums.first), pm.Data(f"{name}_data", sums.counts)
    # Index −1, which means no cell, is that of an added cell with probability 1.
    log_theta = pt.concatenate([pt.log(theta), pt.zeros_like(theta[:, :1])], axis=1)
    terms = pt.exp(log_theta[:, cells].sum(axis=2))
    of = pt.cumsum(pt.set_subtensor(pt.zeros(cells.shape[0], dtype=int)[first], 1)) - 1
    of_sums = pt.inc_subtensor(pt.zeros_like(counts)[:, of], terms)
    pm.Potential(name, (counts * pt.log(pt.switch(pt.eq(counts, 0), 1.0, of_sums))).sum())
