"""Counts of distinct rows with each label: the statistics of families whose features depend on each other.

Rows with missing cells are kept as they are, because estimates have to sum over the completions of a row. A structure
can be learned from these counts too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, override

import numpy as np
from numpy.typing import NDArray

from bayesclf.families.base import Axes, Statistics
from bayesclf.tables.columns import MISSING
from bayesclf.typing import Array, Integers

LARGEST_KEY = 2**62
"""Rows are encoded as integers below this to compare them."""


@dataclass(frozen=True)
class RowCounts(Statistics):
    """Counts of the distinct rows, in lexicographic order; rows without any known cell are left out.

    Attributes
    ----------
    axes
        Labels, features and levels.
    rows
        Level codes (pattern, feature), −1 where a cell is missing.
    counts
        Weight of each row with each label, (outcome, pattern).
    """

    axes: Axes
    rows: Integers
    counts: Array
    averages: ClassVar[tuple[str, ...]] = ("rows",)

    @classmethod
    def of(cls, X: Integers, y: Integers, axes: Axes, sample_weight: Array | None = None) -> RowCounts:
        """Count rows `X` (row, feature) with label codes `y` (row)."""
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        rows, which = different(np.where(X < 0, MISSING, X), axes.sizes)
        cells = y * len(rows) + which
        counts = np.bincount(cells, weight, minlength=len(axes.labels) * len(rows))
        return _of_known_cells(axes, rows, counts.reshape(len(axes.labels), len(rows)))

    @override
    def __add__(self, other: RowCounts) -> RowCounts:
        return _merged(np.vstack([self.rows, other.rows]), np.hstack([self.counts, other.counts]), self.axes)

    @override
    def pooled(self) -> RowCounts:
        """Return the counts of distinct rows under one label."""
        return RowCounts(self.axes.pooled(), self.rows, self.counts.sum(axis=0, keepdims=True))

    @override
    def select(self, features: NDArray[np.bool_]) -> RowCounts:
        """Return the counts of rows of some of the features; rows that become equal are merged."""
        return _merged(self.rows[:, features], self.counts, self.axes.select(features))

    @override
    def reindex(self, axes: Axes) -> RowCounts:
        """Return the counts on axes with additional labels or levels, codes by the new levels."""
        rows = np.empty_like(self.rows)
        for j, (levels, wider) in enumerate(zip(self.axes.levels, axes.levels, strict=True)):
            codes = np.array([*(wider.index(level) for level in levels), MISSING], dtype=np.intp)
            rows[:, j] = codes[self.rows[:, j]]
        counts = np.zeros((len(axes.labels), self.counts.shape[1]))
        counts[self.axes.labels_in(axes)] = self.counts
        return _merged(rows, counts, axes)


def _merged(rows: Integers, counts: Array, axes: Axes) -> RowCounts:
    """Return the counts with those of equal rows added up."""
    merged, which = different(rows, axes.sizes)
    return _of_known_cells(axes, merged, added_up(counts, which, len(merged)))


def _of_known_cells(axes: Axes, rows: Integers, counts: Array) -> RowCounts:
    """Return the counts of rows that occur and have a known cell."""
    kept = (rows >= 0).any(axis=1) & (counts > 0).any(axis=0)
    return RowCounts(axes, rows[kept], counts[:, kept])


def added_up(values: Array, which: Integers, length: int) -> Array:
    """Return the sums (outcome, place) of values (outcome, item) with the same place."""
    return np.stack([np.bincount(which, row, minlength=length) for row in values])


def different(rows: Integers, sizes: tuple[int, ...]) -> tuple[Integers, Integers]:
    """Return the distinct rows in lexicographic order, and which of them each row is.

    Parameters
    ----------
    rows
        Codes (row, feature), each from −2 up to below its feature's size.
    sizes
        Number of levels of each feature.
    """
    key, keys = np.zeros(len(rows), dtype=np.int64), 1
    for column, size in zip(rows.T, sizes, strict=True):
        if keys * (size + 2) >= LARGEST_KEY:
            # Ranks instead of values: the order is the same, and the numbers stay small.
            values, key = np.unique(key, return_inverse=True)
            keys = len(values)
        key = key * (size + 2) + column + 2
        keys *= size + 2
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    return rows[first], np.asarray(which, dtype=np.intp)
