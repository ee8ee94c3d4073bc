"""Counts, means and scatters of real features: the sufficient statistics of the Gaussian family."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import reduce
from operator import add, itemgetter
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayesclf.arrays import Array, Integers
from bayesclf.families.base import Axes, Statistics
from bayesclf.families.cells import ColumnValues
from bayesclf.tables.numbers import Numbers, blocks_of

COMPILED_CELLS = 2**22
"""Cells from which on reading them once, by machine code, saves more time than loading that code takes."""

FEW_CELLS = 2**12
"""Cells below which that code, once loaded, saves no time."""

READ_CELLS = 2**18
"""Cells that are read together."""

EQUAL = 1e-100
"""Scatter of the cells of a class, next to the mean square of the column, up to which they count as equal.

A variance thus has a reciprocal, and the square of a cell over it does not overflow.
"""


@dataclass(frozen=True)
class Moments(Statistics):
    """Weight n, mean x̄ and scatter S = Σ w (x − x̄)² of the observed cells, each (outcome, feature).

    Means are 0 where n is 0. Sums of squares are never formed around a distant origin; statistics are merged by
    the update of Chan, Golub & LeVeque (1983), so that adding 1e6 to a column costs no digits of its variance.
    """

    axes: Axes
    n: Array
    mean: Array
    scatter: Array

    @classmethod
    def of(cls, X: Array | Numbers, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Self:
        """Return the moments of rows `X` (row, feature), NaN where a cell is missing, with label codes `y`.

        Many rows are read once, by machine code.
        """
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        if X.size >= FEW_CELLS and X.size + _before.get() >= COMPILED_CELLS:
            y, weight = np.ascontiguousarray(y, dtype=np.intp), np.ascontiguousarray(weight, dtype=float)
            return cls._compiled(X, y, axes, weight)
        if isinstance(X, Numbers):
            X = X[:]
        seen = ~np.isnan(X) & (weight > 0)[:, None]
        by_label = sparse.csr_array((weight, (y, np.arange(len(y)))), shape=(len(axes.labels), len(y)))
        n = np.asarray(by_label @ seen.astype(float))
        origin = _first_cells(X, y, seen, len(axes.labels))
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(n > 0, origin + (by_label @ np.where(seen, X - origin[y], 0.0)) / n, 0.0)
        scatter = by_label @ np.where(seen, X - mean[y], 0.0) ** 2
        return cls(axes, n, mean, np.asarray(scatter))

    @classmethod
    def of_values(cls, axes: Axes, columns: Iterable[ColumnValues]) -> Self:
        """Return the moments of columns from how often each of their values occurs."""
        parts = [np.zeros((3, len(axes.labels), 0))]
        for values, counts in ((own.values, own.counts) for own in columns):
            n = counts.sum(axis=1)
            # The mean of equal cells is exact.
            origin = values[(counts > 0).argmax(axis=1)] if len(values) else np.zeros_like(n)
            mean = np.where(n > 0, origin + _ratio(np.vecdot(counts, values - origin[:, None]), n), 0.0)
            scatter = np.vecdot(counts, (values - mean[:, None]) ** 2)
            parts.append(np.stack([n, mean, scatter])[..., None])
        return cls(axes, *np.concatenate(parts, axis=2))

    def __add__(self, other: Self) -> Self:
        n = self.n + other.n
        share = _ratio(other.n, n)
        delta = other.mean - self.mean
        scatter = self.scatter + other.scatter + delta**2 * self.n * share
        # An empty side has mean 0 by convention, which must not enter the weighted mean even as 0 · x rounding.
        mean = np.where(self.n == 0, other.mean, self.mean + delta * share)
        return type(self)(self.axes, n, mean, scatter)

    def pooled(self) -> Self:
        """Return the moments of all rows under one label, means of classes combined by their weights."""
        labels = (slice(k, k + 1) for k in range(len(self.n)))
        return reduce(add, (self.mapped(self.axes.pooled(), itemgetter(label)) for label in labels))

    def centre(self) -> Array:
        """Return the pooled means."""
        return np.asarray(self.pooled().mean[0])

    @classmethod
    def _compiled(cls, X: Array | Numbers, y: Integers, axes: Axes, weight: Array) -> Self:
        """Return the moments by machine code, from sums of deviations from an origin: stored means are rounded.

        The origin of a class and feature is the mean of its cells in the first block of rows that has any.
        """
        from bayesclf.families.kernels import add_moments

        sums = np.zeros((3, len(axes.labels), len(axes.features)))
        origin = np.zeros_like(sums[0])
        for rows in blocks_of(len(X), X.shape[1], READ_CELLS):
            block = np.ascontiguousarray(X[rows]), y[rows], weight[rows]
            new = (sums[0] == 0) & (np.bincount(y[rows], minlength=len(origin)) > 0)[:, None]
            if new.any():
                seen = ~np.isnan(block[0]) & (weight[rows] > 0)[:, None]
                origin = np.where(new, _first_cells(*block[:2], seen, len(origin)), origin)
                of_block = np.zeros_like(sums)
                add_moments(*block, origin, *of_block)
                origin = np.where(new, origin + _ratio(of_block[1], of_block[0]), origin)
            add_moments(*block, origin, *sums)
        n, first, second = sums
        shift = _ratio(first, n)
        return cls(axes, n, np.where(n > 0, origin + shift, 0.0), np.maximum(second - first * shift, 0.0))

    def constant(self) -> NDArray[np.bool_]:
        """Return, for each feature, whether its observed cells are all equal, up to rounding, or it has none."""
        return np.asarray(self.pooled().without_rounding()[0] == 0)

    def without_rounding(self) -> Array:
        """Return the scatters, set to 0 where rounding errors of equal cells could be as large, see also `EQUAL`."""
        rounding = self.n * (8 * np.finfo(float).eps * np.abs(self.mean)) ** 2
        squares = (self.mean**2 + self.scatter / np.maximum(self.n, 1)).max(axis=0)
        return np.where(self.scatter <= np.maximum(rounding, EQUAL * squares), 0.0, self.scatter)


_before: ContextVar[int] = ContextVar("_before", default=0)


@contextmanager
def part_of_more(cells: int) -> Iterator[None]:
    """Let rows count as a part of a table of which so many cells were read before."""
    token = _before.set(cells)
    try:
        yield
    finally:
        _before.reset(token)


def _ratio(total: Array, n: Array) -> Array:
    return np.divide(total, n, out=np.zeros_like(n), where=n > 0)


def _first_cells(X: Array, y: Integers, seen: NDArray[np.bool_], labels: int) -> Array:
    """Return the first observed cell of each (outcome, feature), 0 where there is none.

    Used as the origin of a class's sums, it makes the mean of equal cells exact and their scatter 0.
    """
    first = np.zeros((labels, X.shape[1]))
    if X.shape[1] < labels:
        for j in range(X.shape[1]):
            rows = np.flatnonzero(seen[:, j])
            begins = rows[np.diff(y[rows], prepend=-1) != 0][::-1]
            first[y[begins], j] = X[begins, j]  # of the cells of a class the last one stays
        return first
    for k in np.unique(y):
        rows = np.flatnonzero(y == k)
        cells = X[rows[seen[rows].argmax(axis=0)], np.arange(X.shape[1])]
        first[k] = np.where(np.isnan(cells), 0.0, cells)
    return first
