"""What counts of different rows, some with missing cells, say of tables of conditional probabilities.

Under them the likelihood is Π_c θ_c^{n_c} Π_s (Σ_{z ∈ s} Π_f θ_{f(z)})^{m_s}: counts n
of factors whose features are observed, and sums s over the completions z of missing cells. Observed cells can
separate these sums, so that a row factors into small sums that many rows have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.special import softmax

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.errors import Refused
from bayesclf.families import dirichlet
from bayesclf.families.cells import by_pattern
from bayesclf.families.multivariate.groups import GroupedMoments, different
from bayesclf.families.networks.factors import Hidden, Layout
from bayesclf.tables.columns import MISSING

LARGEST_SUMS = 2**20
"""Completions × factors above which training rows with missing cells are refused."""

SUMMED = -2
"""Code of a missing cell that is summed over; `MISSING` cells sum to 1 by themselves."""

NO_PYMC = "such rows have no PyMC model: use inference='augmentation'"
"""What to do about rows whose missing cells couple the parameters, where a PyMC model is requested."""

TOLERANCE, ITERATIONS = 1e-9, 5000
"""EM ends when no probability changes by more than this, or after this many steps."""


def added_up(values: Array, which: Integers, length: int) -> Array:
    """Return the sums (outcome, place) of values (outcome, item) with the same place."""
    return np.stack([np.bincount(which, row, minlength=length) for row in values])


def require_whole(weight: Array) -> None:
    """Raise `Refused` for weights of rows with missing cells of which no number of completions can be drawn."""
    if np.any(weight != np.floor(weight)):
        raise Refused(
            "rows with missing cells have weights that are not whole numbers, and no engine samples this posterior; "
            "give whole ones, or fill the cells in"
        )


def require_conjugate(reason: str, remedy: str = "leave these rows out") -> None:
    """Raise `Refused` for a reason why the posterior has no closed form; nothing where it is empty."""
    if reason:
        raise Refused(f"this posterior has no closed form ({reason}); {remedy}")


@dataclass(frozen=True)
class Sums:
    """Sums over completions, those of one sum together.

    `cells`: Cells (completion, factor) whose product a completion contributes, −1 for none. `first`: First completion
    of each sum, (sum). `counts`: Weight of each sum with each label, (outcome, sum).
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


def split(layout: Layout, statistics: GroupedMoments) -> tuple[Array, Sums]:
    """Return the counts of cells (outcome, cell), and the sums over missing cells.

    Raises `Refused` where the sums have too many terms.
    """
    counts = np.zeros((len(statistics.axes.labels), layout.cells))
    keys, weights = [np.empty((0, layout.features), dtype=np.intp)], [np.empty((len(counts), 0))]
    all_rows, all_counts = statistics.row_counts
    for seen, rows in by_pattern(all_rows < 0):
        plan = layout.plan(seen)
        X, weight = all_rows[rows], all_counts[:, rows]
        for f in np.flatnonzero(plan.seen):
            counts += added_up(weight, layout.cells_of(X)[:, f], layout.cells)
        for hidden in plan.hidden:
            keys.append(_key(layout, X, hidden))
            weights.append(weight)
    merged, which = different(np.vstack(keys), layout.axes.sizes)
    return counts, _expanded(layout, merged, added_up(np.hstack(weights), which, len(merged)))


def _key(layout: Layout, X: Integers, hidden: Hidden) -> Integers:
    """Return rows of codes that identify a sum: observed levels, cells summed over, and cells that do not enter."""
    key = np.full_like(X, MISSING)
    touched = sorted({j for f in hidden.factors for j in layout.factors[f].scope})
    key[:, touched] = X[:, touched]
    key[:, hidden.features] = SUMMED
    return key


def _expanded(layout: Layout, keys: Integers, counts: Array) -> Sums:
    """List the completions of each sum."""
    kinds, which = np.unique(np.where(keys >= 0, 0, keys), axis=0, return_inverse=True)
    groups = [(np.flatnonzero(which.ravel() == n), np.flatnonzero(kind == SUMMED)) for n, kind in enumerate(kinds)]
    terms = len(layout.factors) * sum(len(rows) * layout.count(tuple(summed)) for rows, summed in groups)
    if terms > LARGEST_SUMS:
        size = f"{terms:,} completions × tables to be summed over (limit {LARGEST_SUMS:,})"
        remedy = "fit with missing='level', with fewer edges, or leave out columns with many gaps"
        raise Refused(f"the training rows' missing cells have {size}; {remedy}")
    parts = [_completed(layout, keys[rows], summed) for rows, summed in groups]
    cells = np.vstack([np.empty((0, len(layout.factors)), dtype=np.intp), *parts])
    order = np.concatenate([np.empty(0, dtype=np.intp), *(rows for rows, _ in groups)])
    lengths = np.repeat([layout.count(tuple(summed)) for _, summed in groups], [len(rows) for rows, _ in groups])
    return Sums(cells, (np.cumsum(lengths) - lengths).astype(np.intp), counts[:, order])


def _completed(layout: Layout, keys: Integers, summed: Integers) -> Integers:
    """Return the cells (completion, factor) of all values of the summed features, −1 for factors without any."""
    values = np.indices([layout.axes.sizes[j] for j in summed]).reshape(len(summed), -1).T
    X = np.repeat(keys, len(values), axis=0)
    X[:, summed] = np.tile(values, (len(keys), 1))
    cells = layout.cells_of(X)
    cells[:, [not set(factor.scope) & set(summed.tolist()) for factor in layout.factors]] = -1
    return cells


def expectation_maximization(counts: Array, sums: Sums, prior: Array, layout: Layout) -> Array:
    """Return a maximum of Σ_c (n_c + a_c) log θ_c + Σ_s m_s log Σ_z Π θ, shape (outcome, cell).

    The E step expects the counts of all completions, the M step normalizes them; each raises the objective. The start
    is the estimate from the counts with one more in each cell, so that the maximum is the one near a smooth start;
    others may exist.

    `counts`: n (outcome, cell), those of all classes in cells of all. `prior`: a (outcome, cell): 0 for maximum
    likelihood, α − 1 for MAP.

    See Dempster, Laird and Rubin (1977), *Maximum likelihood from incomplete data via the EM algorithm*.
    """
    simplexes = layout.simplexes
    theta = dirichlet.normalize(counts + np.maximum(prior, 0.0) + 1.0, simplexes)
    for _ in range(ITERATIONS):
        total = counts + prior + layout.pooled(expected_counts(sums, theta))
        new = dirichlet.normalize(np.maximum(total, 0.0), simplexes)
        change = np.abs(new - theta).max(where=~np.isnan(new), initial=0.0)
        # A simplex without counts keeps its values: nothing depends on them.
        theta = np.where(np.isnan(new), theta, new)
        if change < TOLERANCE:
            break
    return np.where(dirichlet.totals(total, simplexes) > 0, theta, np.nan)


def expected_counts(sums: Sums, theta: Array) -> Array:
    """Return the expected counts of the completions given the observed cells and θ, (outcome, cell): the E step."""
    totals, terms = log_sums(sums, theta)
    with np.errstate(invalid="ignore"):
        shares = np.exp(terms - totals[:, sums.of])
    weights = np.nan_to_num(shares) * sums.counts[:, sums.of]
    return np.asarray((dirichlet.indicators(sums.cells, theta.shape[1]).T @ weights.T).T)


def log_sums(sums: Sums, theta: Array) -> tuple[Array, Array]:
    """Return log Σ_z Π θ (outcome, sum) and the log of each term (outcome, completion)."""
    if not len(sums):
        return np.zeros((len(theta), 0)), np.zeros((len(theta), 0))
    terms = np.asarray(dirichlet.indicators(sums.cells, theta.shape[1]) @ dirichlet.logs(theta).T).T
    top = np.maximum.reduceat(terms, sums.first, axis=1)
    top = np.where(np.isneginf(top), 0.0, top)
    totals = np.add.reduceat(np.exp(terms - top[:, sums.of]), sums.first, axis=1)
    return dirichlet.logs(totals) + top, terms


@dataclass(frozen=True)
class CompletedTables:
    """Alternation between the completions of rows and θ ~ Dirichlet(α + n), n the counts of the completed rows.

    The state is log θ, (chain, outcome, cell), which is finite where θ underflows.

    `alpha`: α plus the counts of the observed cells, (outcome, cell); those of all classes in cells of all. `sums`: The
    completions of the other rows.
    """

    layout: Layout
    alpha: Array
    sums: Sums
    chains: int

    def start(self, rng: np.random.Generator) -> Parameters:
        """Draw log θ uniformly from the simplexes, whatever the prior and the rows."""
        return self._state(np.ones((self.chains, *self.alpha.shape)), rng)

    def step(self, state: Parameters, rng: np.random.Generator) -> Parameters:
        """Draw the missing cells given log θ, then log θ given all cells."""
        log_terms = np.asarray(self._cells @ state["log_theta"].reshape(-1, self.layout.cells).T).T
        numbers, drawn = np.tile(self.sums.counts, (self.chains, 1)).astype(np.int64), np.zeros_like(log_terms)
        for own, places in self._by_length:
            drawn[:, places] = rng.multinomial(numbers[:, own], softmax(log_terms[:, places], axis=-1))
        counts = np.asarray(self._cells.T @ drawn.T).T.reshape(self.chains, *self.alpha.shape)
        return self._state(self.alpha + self.layout.pooled(counts), rng)

    def parameters(self, states: Parameters) -> Parameters:
        """Return θ (draw, outcome, cell)."""
        return {"theta": np.exp(states["log_theta"])}

    def _state(self, alpha: Array, rng: np.random.Generator) -> Parameters:
        return {"log_theta": self.layout.tied(dirichlet.log_draw(alpha, np.asarray(self.layout.simplexes), rng))}

    @cached_property
    def _cells(self) -> sparse.csr_array:
        """Which cells a completion uses, (completion, cell)."""
        return dirichlet.indicators(self.sums.cells, self.layout.cells)

    @cached_property
    def _by_length(self) -> list[tuple[Integers, Integers]]:
        """The sums of as many terms (sum), and the positions of these, (sum, term)."""
        lengths = np.bincount(self.sums.of)
        groups = ((np.flatnonzero(lengths == length), np.arange(length)) for length in np.unique(lengths))
        return [(own, self.sums.first[own, None] + terms) for own, terms in groups]
