"""Cells as families read them: which are missing, and how often each value occurs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from operator import add
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayesclf.arrays import Array, Integers
from bayesclf.errors import Refused
from bayesclf.families.base import Axes, Statistics
from bayesclf.tables.numbers import Numbers, blocks_of

type Booleans = NDArray[np.bool_]

MOST_VALUES = 10**5
"""Different values of a column above which they are rounded down to multiples of a power of two."""

MOST_COUNTS, FEWEST_VALUES = 10**6, 1000
"""Counts of a column, values × classes, above which they are too, and the number of values that is always kept."""

MOST_DECIMALS = 15
"""Decimals that a floating-point number of size 1 can have."""

REAL = MOST_DECIMALS + 1.0
"""Stands for the decimals of numbers that have more."""

EXACT_WHOLE = 1e14
"""Largest whole number of steps that is told apart from a number with a fraction."""

LARGEST_CELLS = 2**22
"""Cells of a sparse table above which its rows are not made dense."""

FINER = 2
"""A column is counted in steps that are finer, by this power of two, than those of which few enough span it."""

PROBE = 256
"""Values that are looked at first where one is enough to rule a number of decimals, or a family, out."""


def dense(X: Any) -> Array:
    """Return the rows of a table, dense or sparse, as an array (row, feature)."""
    table: Any = X
    if not sparse.issparse(X):
        return np.asarray(X)
    rows, columns = table.shape
    if rows * columns > LARGEST_CELLS:
        raise Refused(
            f"a PyMC model of {rows:,} rows with {columns:,} columns would hold all their {rows * columns:,} cells "
            f"(limit {LARGEST_CELLS:,}); give fewer rows"
        )
    return np.asarray(table.toarray())


def products(values: Array, parameters: Array) -> Array:
    """Return Σ_i v_ri p_dki of values (row, feature) and parameters (draw, outcome, feature), (draw, row, outcome).

    Draws are next to each other in memory.
    """
    draws, labels, features = parameters.shape
    by_draw = np.ascontiguousarray(parameters.transpose(2, 1, 0)).reshape(features, labels * draws)
    return np.moveaxis((values @ by_draw).reshape(len(values), labels, draws), 2, 0)


def by_pattern(missing: Booleans) -> Iterator[tuple[Booleans, Integers]]:
    """Yield each set of observed cells (feature) with the positions of the rows that have exactly these.

    Rows without an observed cell are left out.

    `missing`: Whether a cell is missing, (row, feature).
    """
    if not missing.any():
        if len(missing):
            yield np.ones(missing.shape[1], dtype=bool), np.arange(len(missing))
        return
    patterns, of_row = np.unique(missing, axis=0, return_inverse=True)
    order = np.argsort(of_row, kind="stable")
    ends = np.cumsum(np.bincount(of_row, minlength=len(patterns)))
    for absent, rows in zip(patterns, np.split(order, ends[:-1]), strict=True):
        if not absent.all():
            yield ~absent, rows


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """How often each value of a column occurs in each class.

    At most 100,000 values are kept, or a million counts with more than ten classes. More are rounded down to multiples
    of the smallest power of two that suffices. That power depends on the set of values and the number of classes only,
    so that those of parts add up in any order.

    `values`: Different ones, in increasing order, (value). `counts`: Weight of the rows with each, (outcome, value).
    `decimals`: Number of decimals that the values are recorded with, from 0 to 15; 16 for real numbers, which have
    more; −1 without any value.
    """

    values: Array
    counts: Array
    decimals: float

    @classmethod
    def of(cls, cells: Array, y: Integers, weight: Array | None, labels: int) -> Self:
        """Count the values of cells (row) with label codes and weights (row)."""
        most = _most(labels)
        found = _counted_in_steps(cells, y, weight, labels, most) if len(cells) > most else None
        if found is not None:
            return cls(*found, _decimals(cells))
        different, place = np.unique(cells, return_inverse=True)
        values, group = _rounded(different, labels)
        flat = np.bincount(group[place] + len(values) * y, weight, labels * len(values))
        return cls(values, flat.reshape(labels, len(values)).astype(float), _decimals(different))

    def __add__(self, other: Self) -> Self:
        both = np.concatenate([self.values, other.values])
        # where it returns indices, `unique` sorts by merging, which is fast for parts that are sorted
        different, _, place = np.unique(both, return_index=True, return_inverse=True)
        values, group = _rounded(different, len(self.counts))
        places = group[place]
        of_labels = zip(self.counts, other.counts, strict=True)
        counts = np.array([np.bincount(places, np.concatenate(own), len(values)) for own in of_labels])
        return type(self)(values, counts, _told_apart(values, max(self.decimals, other.decimals)))

    @cached_property
    def weight(self) -> Array:
        """Weight of all rows with each value, (value)."""
        return np.asarray(self.counts.sum(axis=0))

    @property
    def step(self) -> float:
        """Width of the cells that the values stand for.

        It is the last decimal that they are recorded with, or else the resolution of floating-point numbers.
        """
        if self.decimals < REAL:
            return float(10.0 ** -max(self.decimals, 0.0))
        return float(4 * np.spacing(np.abs(self.values).max(initial=0.0)))


@dataclass(frozen=True)
class ValueCounts(Statistics):
    """How often each value occurs in each class, column by column."""

    axes: Axes
    columns: tuple[ColumnValues, ...]

    @classmethod
    def of(cls, X: Array | Numbers, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Self:
        """Count the values in rows `X` (row, feature), NaN where a cell is missing, with label codes `y` (row)."""
        weighed = np.ones(len(y), dtype=bool) if sample_weight is None else sample_weight > 0
        columns = []
        table = X if isinstance(X, Numbers) else Numbers(tuple(np.asarray(X).T), len(y))
        for cells in table.by_column():
            seen = ~np.isnan(cells) & weighed
            own = cells, y, sample_weight
            if not seen.all():
                own = cells[seen], y[seen], None if sample_weight is None else sample_weight[seen]
            columns.append(ColumnValues.of(*own, len(axes.labels)))
        return cls(axes, tuple(columns))

    def __add__(self, other: Self) -> Self:
        return type(self)(self.axes, tuple(map(add, self.columns, other.columns)))

    def mapped(self, axes: Axes, function: Callable[[Array], Array]) -> Self:
        """Return the counts on other axes, by a function of those of each column."""
        return type(self)(axes, tuple(replace(own, counts=function(own.counts)) for own in self.columns))

    def select(self, features: NDArray[np.bool_]) -> Self:
        """Return the columns of some of the features."""
        return type(self)(self.axes.select(features), tuple(compress(self.columns, features)))

    def reindex(self, axes: Axes) -> Self:
        """Return the counts on axes with additional labels or features."""
        none = ColumnValues(np.empty(0), np.empty((len(self.axes.labels), 0)), -1.0)
        known = dict(zip(self.axes.features, self.columns, strict=True))
        wider = type(self)(axes, tuple(known.get(name, none) for name in axes.features))
        place = np.arange(len(axes.labels))[:, None] == self.axes.labels_in(axes)
        return wider.mapped(axes, lambda counts: place.astype(float) @ counts)

    def arrays(self) -> dict[str, Array]:
        """Return the values, counts and decimals of all columns, one after the other."""
        parts = {name: [np.ravel(getattr(own, name)) for own in self.columns] for name in ("values", "counts")}
        joined = {name: np.concatenate([np.empty(0), *values]) for name, values in parts.items()}
        return joined | {"decimals": np.array([own.decimals for own in self.columns])}

    @property
    def sizes(self) -> Integers:
        """Number of different values of each feature, (feature)."""
        return np.array([len(own.values) for own in self.columns], dtype=np.intp)

    def without_zeros(self) -> Self:
        """Return the statistics without the zeros of columns whose least value is 0."""
        columns = (
            replace(own, values=own.values[1:], counts=own.counts[:, 1:]) if (own.values[:1] == 0).any() else own
            for own in self.columns
        )
        return type(self)(self.axes, tuple(columns))


def _decimals(values: Array) -> float:
    """Return the least number of decimals with which all values can be written, or `REAL`."""
    if not len(values):
        return -1.0
    largest = max(-values.min(), values.max())
    for decimals in range(MOST_DECIMALS + 1):
        scale = 10.0**decimals
        if largest * scale > EXACT_WHOLE:
            break
        if _whole(values[:PROBE] * scale) and _whole(values * scale):
            return float(decimals)
    return REAL


def _told_apart(values: Array, decimals: float) -> float:
    """Return a number of decimals, or `REAL` where whole numbers of such steps are too large to be told apart."""
    return REAL if len(values) and np.abs(values[[0, -1]]).max() * 10.0**decimals > EXACT_WHOLE else decimals


def _whole(values: Array) -> bool:
    """Return whether values are whole numbers up to the rounding of a product."""
    return bool((np.abs(values - np.rint(values)) <= 4 * np.spacing(np.abs(values))).all())


def _counted_in_steps(
    cells: Array, y: Integers, weight: Array | None, labels: int, most: int
) -> tuple[Array, Array] | None:
    """Return values as `_rounded` has them, and their counts (outcome, value), without sorting the cells.

    They are counted in steps of a power of two that leaves too many values, and neighbors joined until it does not.
    None where it leaves few already, or where the steps are more than there are cells to speak of.
    """
    low, high = cells.min(), cells.max()
    power = int(np.frexp((high - low) / most)[1]) - FINER
    first, last = np.floor(np.ldexp([low, high], -power))
    first -= first % 2 ** (FINER + 1)
    steps = int(last - first) // 2 ** (FINER + 1) * 2 ** (FINER + 1) + 2 ** (FINER + 1)
    if labels * steps > 4 * 2**FINER * len(cells):
        return None
    place, used = np.empty(len(cells), dtype=np.intp), np.zeros(steps, dtype=bool)
    for some in blocks_of(len(cells), 1):
        floors = np.floor(cells[some] * 2.0**-power)
        place[some] = np.subtract(floors, first, out=floors)
        used[place[some]] = True
    if np.count_nonzero(used) <= most:
        return None
    joined = 0
    while np.count_nonzero(used) > most:
        joined, used = joined + 1, used[::2] | used[1::2]
    kept, group = np.flatnonzero(used), np.cumsum(used) - 1
    starts = len(kept) * np.arange(labels)
    for some in blocks_of(len(cells), 1):
        place[some] = group[place[some] >> joined] + starts[y[some]]
    flat = np.bincount(place, weight, labels * len(kept))
    return np.ldexp(first / 2**joined + kept, power + joined), flat.reshape(labels, len(kept)).astype(float)


def _most(labels: int) -> int:
    """Return how many values a column may have."""
    return min(MOST_VALUES, max(FEWEST_VALUES, MOST_COUNTS // labels))


def _rounded(values: Array, labels: int) -> tuple[Array, Integers]:
    """Return values rounded down so that there are not too many, and which of them each value becomes, (value)."""
    most = _most(labels)
    if len(values) <= most:
        return values, np.arange(len(values))
    _, top = np.frexp(np.abs(values[[0, -1]]).max())
    # All values differ at the lower power, and none at the upper one but for their sign.
    low, high = int(np.frexp(np.diff(values).min())[1]) - 1, int(top)
    low = max(low, high - 1000)
    while high - low > 1:
        middle = (low + high) // 2
        if 1 + np.count_nonzero(np.diff(np.floor(np.ldexp(values, -middle)))) <= most:
            high = middle
        else:
            low = middle
    floors = np.floor(np.ldexp(values, -high))
    begins = np.concatenate(([True], np.diff(floors) != 0))
    return np.ldexp(floors[begins], high), np.asarray(np.cumsum(begins) - 1)
