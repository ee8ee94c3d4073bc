"""Columns of numbers as they lie in a table, which become floats a few rows at a time, so that no table is copied."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers
from bayesclf.errors import InputError
from bayesclf.wording import AND_MORE, LISTED_NAMES, listed

type Cells = NDArray[Any]
"""Cells of a column or of several ones, of any type of real numbers that NumPy has."""

SMALLEST, LARGEST = 1e-100, 1e100
"""Bounds of the largest magnitude of a column that is not 0 throughout: squares neither vanish nor overflow."""

BLOCK_CELLS = 2**16
"""Cells that are looked at together, few enough to stay in the cache."""

COPIED_COLUMNS = 16
"""Columns of which copies are made together, as their cells share cache lines."""

LONG_ROW = 2**10
"""Cells of a row that NumPy reduces at the rate of the memory."""


def blocks_of(rows: int, features: int, cells: int = BLOCK_CELLS) -> Iterator[slice]:
    """Yield slices of rows with about so many cells each."""
    size = max(1, cells // max(features, 1))
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))


@dataclass(frozen=True, eq=False)
class Numbers:
    """Columns of numbers (row, feature); indexing by a slice or by row numbers gives rows as floats.

    Such rows may be part of the table itself and cannot be written to; copied rows are contiguous.
    """

    columns: tuple[Cells, ...]
    length: int

    def __len__(self) -> int:
        return self.length

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.length, len(self.columns)

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.length * len(self.columns)

    def __getitem__(self, rows: slice | Integers) -> Array:
        if self.table is not None:
            return np.ascontiguousarray(self.table[rows], dtype=float)
        length = len(range(*rows.indices(self.length))) if isinstance(rows, slice) else len(rows)
        X = np.empty((length, len(self.columns)))
        for j, column in enumerate(self.columns):
            X[:, j] = column[rows]
        return X

    def array(self) -> Array:
        """Return all rows, in memory of their own."""
        X = np.empty(self.shape)
        for rows in blocks_of(*self.shape):
            X[rows] = self[rows]
        return X

    def by_column(self) -> Iterator[Array]:
        """Yield each feature as floats next to each other, (row); copies are made of some together, a few rows each."""
        if self.columns and self.columns[0].flags.contiguous:
            yield from (np.ascontiguousarray(column, dtype=float) for column in self.columns)
            return
        for start in range(0, len(self.columns), COPIED_COLUMNS):
            some = Numbers(self.columns[start : start + COPIED_COLUMNS], self.length)
            X = np.empty(some.shape[::-1])
            for rows in blocks_of(*some.shape):
                X[:, rows] = some[rows].T
            yield from X

    def select(self, features: NDArray[np.bool_]) -> Numbers:
        """Return some of the features."""
        if features.all():
            return self
        columns = tuple(column for column, kept in zip(self.columns, features, strict=True) if kept)
        return Numbers(columns, self.length)

    @cached_property
    def table(self) -> Cells | None:
        """All columns as one array (row, feature) in the memory where they are, if they lie there evenly spaced."""
        return _evenly_spaced(self.columns)

    @cached_property
    def ordinary(self) -> bool:
        """Whether no cell is missing, infinite or beyond `LARGEST`, by one look at each."""
        whole = [self.columns] if self.table is None else [[self.table]]
        with np.errstate(all="ignore"):
            return all(_squares_are_small(cells) for some in whole for cells in some)

    @cached_property
    def ranges(self) -> tuple[Array, Array, Array, Array]:
        """The smallest and the largest cell of each feature, their sum, and their number, (feature).

        Of a feature without cells the first two are ∞ and −∞.
        """
        low, high, total = self._reduced(np.minimum, np.maximum, np.sum)
        if np.isfinite([low, high]).all():
            return low, high, total, np.full(len(low), float(self.length))
        count = np.array([np.count_nonzero(~np.isnan(column)) for column in self.columns], dtype=float)
        return *self._reduced(np.fmin, np.fmax, np.nansum), count

    def _reduced(self, least: np.ufunc, most: np.ufunc, add: Callable[..., Any]) -> tuple[Array, Array, Array]:
        """Return what three functions make of the cells of each feature, a few rows at a time, (feature)."""
        low, high, total = (np.full(len(self.columns), start) for start in (np.inf, -np.inf, 0.0))
        sources = enumerate(self.columns) if self.table is None else [(slice(None), self.table)]
        with np.errstate(all="ignore"):  # infinite and huge cells are refused elsewhere
            for place, cells in sources:
                for rows in blocks_of(self.length, cells[:1].size):
                    some = cells[rows]
                    low[place] = least(low[place], _of_columns(least.reduce, some))
                    high[place] = most(high[place], _of_columns(most.reduce, some))
                    total[place] += _of_columns(partial(add, dtype=float), some)
        return low, high, total


def out_of_range(found: Mapping[str, str]) -> InputError:
    """Return the error for columns whose largest magnitude is out of range, by name what it is."""
    some = listed((f"{name!r} ({size})" for name, size in found.items()), LISTED_NAMES, AND_MORE)
    return InputError(
        f"the largest magnitude of a column must be 0 or between {SMALLEST:g} and {LARGEST:g}; rescale column {some} "
        "by a constant"
    )


def _of_columns(reduce: Callable[..., Any], cells: Cells) -> Any:
    """Reduce cells (row, …) along the rows, several rows as one where they are short: NumPy takes long for each."""
    together = LONG_ROW // max(cells[0].size, 1)
    if cells.ndim > 1 and cells.flags.c_contiguous and len(cells) > together > 1:
        whole = len(cells) - len(cells) % together
        long = reduce(cells[:whole].reshape(whole // together, -1), axis=0)
        cells = np.concatenate([long.reshape(together, -1), cells[whole:]])
    return reduce(cells, axis=0)


def in_each_row(operation: np.ufunc, cells: Array, values: Array) -> None:
    """Apply an operation on cells (row, feature), one after the other in memory, and values (feature), in place."""
    together = max(LONG_ROW // max(len(values), 1), 1)
    whole = len(cells) - len(cells) % together
    long = cells[:whole].reshape(whole // together, together * len(values))
    operation(long, np.tile(values, together), out=long)
    operation(cells[whole:], values, out=cells[whole:])


def _squares_are_small(cells: Cells) -> bool:
    """Return whether the squares of cells (row, …) add up to less than that of `LARGEST`."""
    if cells.dtype.kind != "f":
        return True
    for rows in blocks_of(len(cells), cells[:1].size):
        flat = cells[rows].ravel(order="K")
        if not np.einsum("i,i", flat, flat) < LARGEST**2:  # BLAS starts threads, which take longer
            return False
    return True


def _evenly_spaced(columns: Sequence[Cells]) -> Cells | None:
    """Return columns (row) as one array (row, feature) of the same memory; None where they do not lie evenly spaced."""
    if not columns:
        return None
    first, *others = columns
    if not others:
        return first[:, None]
    places = [column.__array_interface__["data"][0] for column in columns]
    step = places[1] - places[0]
    even = all(place == places[0] + j * step for j, place in enumerate(places))
    owner = first.base
    alike = all(c.dtype == first.dtype and c.strides == first.strides and c.base is owner for c in others)
    if not (even and alike and step and owner is not None):
        return None
    return np.lib.stride_tricks.as_strided(first, (len(first), len(columns)), (*first.strides, step), writeable=False)
