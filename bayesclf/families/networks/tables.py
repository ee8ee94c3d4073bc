"""Tables of conditional probabilities along one axis: cells and densities of rows, and what counts of rows say of θ.

P(x | y) = Π_f P(x_of | x_given, y), one factor f after the other, each feature the `of` of exactly one. Its table
holds a simplex over the values of `of` for each configuration of `given`; all cells stand along one axis, the last
feature of a factor fastest. A joint table is one factor of all features; a Bayesian network has one factor per feature.
A factor need not depend on y: arrays (outcome, cell) then have the same values for all classes.

Missing cells are summed out by variable elimination. For a tree this is message passing: no intermediate factor is
larger than two features' levels. In general features are eliminated one by one, the one that leaves the smallest table
first, exactly and in logs.

With missing cells the likelihood of rows is Π_c θ_c^{n_c} Π_s (Σ_{z ∈ s} Π_f θ_{f(z)})^{m_s}: counts n of factors whose
features are observed, and sums s over the completions z of missing cells. Observed cells can separate these sums, so
that a row factors into small sums that many rows have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import softmax

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.errors import Refused
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes
from bayesclf.families.cells import by_pattern
from bayesclf.families.multivariate.groups import GroupedMoments, different
from bayesclf.tables.columns import MISSING

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

    def needed(self, seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which features are observed, or something observed depends on, (feature)."""
        out = seen.copy()
        for factor in reversed(self.factors):
            if out[list(factor.of)].any():
                out[list(factor.scope)] = True
        return out

    def plan(self, seen: NDArray[np.bool_]) -> Plan:
        """Return how to sum out missing cells, `seen` (feature) false where missing.

        A factor whose features are missing, and on which no observed feature depends, sums to 1 and drops out.
        """
        needed = self.needed(seen)
        closed = np.array([needed[list(factor.of)].any() for factor in self.factors], dtype=bool)
        groups: list[tuple[set[int], set[int]]] = []
        for f in np.flatnonzero(closed).tolist():
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
    """Return log Σ exp over an axis, −∞ where all are; SciPy's takes twice the time."""
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
class Completions:
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


def split(layout: Layout, statistics: GroupedMoments) -> tuple[Array, Completions]:
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


def _expanded(layout: Layout, keys: Integers, counts: Array) -> Completions:
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
    return Completions(cells, (np.cumsum(lengths) - lengths).astype(np.intp), counts[:, order])


def _completed(layout: Layout, keys: Integers, summed: Integers) -> Integers:
    """Return the cells (completion, factor) of all values of the summed features, −1 for factors without any."""
    values = np.indices([layout.axes.sizes[j] for j in summed]).reshape(len(summed), -1).T
    X = np.repeat(keys, len(values), axis=0)
    X[:, summed] = np.tile(values, (len(keys), 1))
    cells = layout.cells_of(X)
    cells[:, [not set(factor.scope) & set(summed.tolist()) for factor in layout.factors]] = -1
    return cells


def expectation_maximization(counts: Array, sums: Completions, prior: Array, layout: Layout) -> Array:
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


def expected_counts(sums: Completions, theta: Array) -> Array:
    """Return the expected counts of the completions given the observed cells and θ, (outcome, cell): the E step."""
    totals, terms = log_sums(sums, theta)
    with np.errstate(invalid="ignore"):
        shares = np.exp(terms - totals[:, sums.of])
    weights = np.nan_to_num(shares) * sums.counts[:, sums.of]
    return np.asarray((dirichlet.indicators(sums.cells, theta.shape[1]).T @ weights.T).T)


def log_sums(sums: Completions, theta: Array) -> tuple[Array, Array]:
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
    sums: Completions
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
