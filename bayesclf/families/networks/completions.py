"""Training rows with missing cells under tables of conditional probabilities: what is counted, and what is summed.

The observed-data likelihood is Π_c θ_c^{n_c} Π_s (Σ_{z ∈ s} Π_f θ_{f(z)})^{m_s}: counts n of factors whose features
are seen, and sums s over the completions z of what is missing. Sums share nothing where what is seen separates them,
so a row falls into small sums that many rows have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.errors import Refused
from bayesclf.families import dirichlet
from bayesclf.families.networks.factors import Hidden, Layout
from bayesclf.families.networks.row_counts import MISSING, RowCounts, added_up, different
from bayesclf.typing import Array, Integers

if TYPE_CHECKING:
    from pytensor.tensor import TensorVariable

LARGEST_SUMS = 2**20
"""Completions × factors above which rows with missing cells are not learnt from."""

LARGEST_SAMPLED = 2**15
"""Completions × factors above which their likelihood, with its gradient, is not sampled from."""

SUMMED = -2
"""Code of a missing cell that is summed over; `MISSING` cells sum to 1 by themselves."""

TOLERANCE, ITERATIONS = 1e-9, 5000
"""EM ends when no probability changes by more than this, or after so many steps."""


@dataclass(frozen=True)
class Sums:
    """Sums over completions, those of one sum together.

    Attributes
    ----------
    cells
        Cells (completion, factor) whose product a completion contributes, −1 for none.
    first
        First completion of each sum, (sum).
    counts
        Weight of each sum with each label, (outcome, sum).
    """

    cells: Integers
    first: Integers
    counts: Array

    def __len__(self) -> int:
        return len(self.first)

    @property
    def of(self) -> Integers:
        """Number of the sum that a completion belongs to, (completion)."""
        return np.repeat(np.arange(len(self)), np.diff(np.append(self.first, len(self.cells))))


def split(layout: Layout, statistics: RowCounts) -> tuple[Array, Sums]:
    """Return the counts of cells (outcome, cell), and the sums that are left.

    Raises
    ------
    Refused
        Where the sums have too many terms.
    """
    counts = np.zeros((len(statistics.axes.labels), layout.cells))
    keys, weights = [np.empty((0, layout.features), dtype=np.intp)], [np.empty((len(counts), 0))]
    for rows, seen in _by_pattern(statistics.rows):
        plan = layout.plan(seen)
        X, weight = statistics.rows[rows], statistics.counts[:, rows]
        for f in np.flatnonzero(plan.seen):
            counts += added_up(weight, layout.cells_of(X)[:, f], layout.cells)
        for hidden in plan.hidden:
            keys.append(_key(layout, X, hidden))
            weights.append(weight)
    merged, which = different(np.vstack(keys), layout.axes.sizes)
    return counts, _expanded(layout, merged, added_up(np.hstack(weights), which, len(merged)))


def _by_pattern(rows: Integers) -> list[tuple[Integers, Any]]:
    """Return the rows with the same missing cells, and which cells are seen."""
    patterns, which = np.unique(rows >= 0, axis=0, return_inverse=True)
    return [(np.flatnonzero(which.ravel() == number), seen) for number, seen in enumerate(patterns)]


def _key(layout: Layout, X: Integers, hidden: Hidden) -> Integers:
    """Return rows of codes that say all of a sum: what is seen, what is summed over, and what it does not touch."""
    key = np.full_like(X, MISSING)
    touched = sorted({j for f in hidden.factors for j in layout.factors[f].scope})
    key[:, touched] = X[:, touched]
    key[:, hidden.features] = SUMMED
    return key


def _expanded(layout: Layout, keys: Integers, counts: Array) -> Sums:
    """Write out the completions of each sum."""
    groups = []
    terms = 0
    kinds, which = np.unique(np.where(keys >= 0, 0, keys), axis=0, return_inverse=True)
    for number, kind in enumerate(kinds):
        summed = np.flatnonzero(kind == SUMMED)
        rows = np.flatnonzero(which.ravel() == number)
        terms += len(rows) * layout.count(tuple(summed)) * len(layout.factors)
        groups.append((rows, summed))
    if terms > LARGEST_SUMS:
        raise Refused(
            f"the training rows' missing cells have {terms:,} completions × tables to be summed over (limit "
            f"{LARGEST_SUMS:,}); fit with missing='level', with fewer edges, or leave out columns with many gaps"
        )
    cells, first, order, length = [np.empty((0, len(layout.factors)), dtype=np.intp)], [], [], 0
    for rows, summed in groups:
        part = _completed(layout, keys[rows], summed)
        cells.append(part)
        size = len(part) // len(rows)
        first.append(length + size * np.arange(len(rows)))
        order.append(rows)
        length += len(part)
    empty = np.empty(0, dtype=np.intp)
    return Sums(np.vstack(cells), np.concatenate([empty, *first]), counts[:, np.concatenate([empty, *order])])


def _completed(layout: Layout, keys: Integers, summed: Integers) -> Integers:
    """Return the cells (completion, factor) of all values of the summed features, only factors that have one."""
    values = np.indices([layout.axes.sizes[j] for j in summed]).reshape(len(summed), -1).T
    X = np.repeat(keys, len(values), axis=0)
    X[:, summed] = np.tile(values, (len(keys), 1))
    cells = layout.cells_of(X)
    touched = [f for f, factor in enumerate(layout.factors) if set(factor.scope) & set(summed.tolist())]
    untouched = np.ones(len(layout.factors), dtype=bool)
    untouched[touched] = False
    cells[:, untouched] = -1
    return cells


def log_likelihood(counts: Array, sums: Sums, theta: Array) -> float:
    """Return the observed-data log likelihood of one hypothesis θ (outcome, cell)."""
    with np.errstate(divide="ignore"):
        log_theta = np.log(theta)
    seen = np.where(counts > 0, counts * np.where(counts > 0, log_theta, 0.0), 0.0).sum()
    return float(seen + np.where(sums.counts > 0, sums.counts * _log_sums(sums, theta)[0], 0.0).sum())


def expectation_maximization(counts: Array, sums: Sums, prior: Array, simplexes: tuple[int, ...]) -> Array:
    """Return a maximum of Σ_c (n_c + a_c) log θ_c + Σ_s m_s log Σ_z Π θ, shape (outcome, cell).

    The E step expects the counts of all completions, the M step normalizes them; each raises the objective. The start
    is the counts' own estimate with one more count a cell, so that the maximum is that of a smooth start; another one
    may exist.

    Parameters
    ----------
    counts
        n (outcome, cell).
    sums
        What is missing.
    prior
        a (outcome, cell): 0 for maximum likelihood, α − 1 for MAP.
    simplexes
        Number of cells of each simplex.

    References
    ----------
    Dempster, Laird and Rubin (1977), *Maximum likelihood from incomplete data via the EM algorithm*.
    """
    theta = dirichlet.normalize(counts + np.maximum(prior, 0.0) + 1.0, simplexes)
    for _ in range(ITERATIONS):
        total = counts + prior + expected_counts(sums, theta)
        new = dirichlet.normalize(np.maximum(total, 0.0), simplexes)
        change = np.abs(new - theta).max(where=~np.isnan(new), initial=0.0)
        # A simplex without any count stays where it was: nothing depends on it.
        theta = np.where(np.isnan(new), theta, new)
        if change < TOLERANCE:
            break
    return np.where(dirichlet.totals(total, simplexes) > 0, theta, np.nan)


def expected_counts(sums: Sums, theta: Array) -> Array:
    """Return E[counts of the completions | what is seen, θ], (outcome, cell): the E step."""
    log_sums, log_terms = _log_sums(sums, theta)
    with np.errstate(invalid="ignore"):
        shares = np.exp(log_terms - log_sums[:, sums.of])
    weights = np.nan_to_num(shares) * sums.counts[:, sums.of]
    return np.asarray((dirichlet.indicators(sums.cells, theta.shape[1]).T @ weights.T).T)


def _log_sums(sums: Sums, theta: Array) -> tuple[Array, Array]:
    """Return log Σ_z Π θ (outcome, sum) and the log of each term (outcome, completion)."""
    if not len(sums):
        return np.zeros((len(theta), 0)), np.zeros((len(theta), 0))
    with np.errstate(divide="ignore"):
        terms = np.asarray(dirichlet.indicators(sums.cells, theta.shape[1]) @ np.log(theta).T).T
    top = np.maximum.reduceat(terms, sums.first, axis=1)
    top = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return np.log(np.add.reduceat(np.exp(terms - top[:, sums.of]), sums.first, axis=1)) + top, terms


def observe_sums(name: str, theta: TensorVariable, sums: Sums) -> None:
    """Observe the sums in the open PyMC model: log likelihood Σ_s m_s log Σ_z Π θ, for θ (outcome, cell).

    Raises
    ------
    Refused
        Where the sums have too many terms to be sampled.
    """
    import pymc as pm

    if sums.cells.size > LARGEST_SAMPLED:
        raise Refused(
            f"the training rows' missing cells have {sums.cells.size:,} completions × tables, too many for NUTS (limit "
            f"{LARGEST_SAMPLED:,}); fit with missing='level', or by inference='map'"
        )
    cells = pm.Data(f"{name}_cells", sums.cells)
    first = pm.Data(f"{name}_first", sums.first)
    observed = pm.Data(f"{name}_data", sums.counts)
    pm.CustomDist(name, theta, cells, first, logp=_sums_logp, observed=observed, signature="(k,c),(z,f),(s)->(k,s)")


def _sums_logp(counts: TensorVariable, theta: TensorVariable, cells: TensorVariable, first: TensorVariable) -> Any:
    import pytensor.tensor as pt

    # The last cell, which −1 stands for, has probability 1.
    log_theta = pt.concatenate([pt.log(theta), pt.zeros_like(theta[:, :1])], axis=1)
    terms = pt.exp(log_theta[:, cells].sum(axis=2))
    of = pt.cumsum(pt.set_subtensor(pt.zeros(cells.shape[0], dtype=int)[first], 1)) - 1
    sums = pt.inc_subtensor(pt.zeros_like(counts)[:, of], terms)
    return counts * pt.log(pt.switch(pt.eq(counts, 0), 1.0, sums))
