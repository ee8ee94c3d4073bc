"""The cells that histograms are made of: where bins may be cut, without a look at the labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress, pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bayesclf.families import dirichlet
from bayesclf.families.value_counts import REAL, ValueCounts
from bayesclf.typing import Array, Integers

ROWS_PER_CELL = 5
"""Least number of pooled rows between quantiles that are neighbors."""

HEAVY_ROWS = 10
"""Least number of pooled rows with one value that may have a cell of its own, as wide as the step."""


@dataclass(frozen=True)
class CellLayout:
    """The cells of each feature, concatenated: the open one on the left, those between borders, the open one.

    Attributes
    ----------
    sizes
        Number of cells of each feature, at least 3.
    borders
        Those of each feature in increasing order, one fewer than its cells.
    widths
        Width of each cell; that of an open one is the integral of its density relative to that at its border.
    shares
        q, the share of each cell in the prior; those of a feature add up to 1.
    decimals
        Number of decimals that the values of each feature are recorded with, as in `ValueCounts`, (feature).
    """

    sizes: tuple[int, ...] = ()
    borders: Array = field(default_factory=lambda: np.empty(0))
    widths: Array = field(default_factory=lambda: np.empty(0))
    shares: Array = field(default_factory=lambda: np.empty(0))
    decimals: Array = field(default_factory=lambda: np.empty(0))

    @property
    def starts(self) -> Integers:
        """The first cell of each feature."""
        return dirichlet.starts(self.sizes)

    def slices(self) -> tuple[slice, ...]:
        """Return the cells of each feature."""
        return self._slices

    @cached_property
    def _slices(self) -> tuple[slice, ...]:
        return tuple(slice(start, start + size) for start, size in zip(self.starts, self.sizes, strict=True))

    @cached_property
    def _borders(self) -> tuple[Array, ...]:
        ends = np.cumsum([0, *(size - 1 for size in self.sizes)])
        return tuple(self.borders[start:end] for start, end in pairwise(ends))

    def borders_of(self, feature: int) -> Array:
        """Return the borders of a feature, in increasing order."""
        return self._borders[feature]

    def codes(self, X: Array) -> Integers:
        """Return the number of the cell, within its feature, of each value (row, feature); −1 for NaN."""
        out = np.empty(X.shape, dtype=np.intp)
        for j, borders in enumerate(self._borders):
            out[:, j] = np.searchsorted(borders, X[:, j], side="right")
        out[np.isnan(X)] = -1
        return out

    def log_shape(self, X: Array) -> Array:
        """Return the log density of values (row, feature) relative to that of their cell: below 0 in open cells."""
        columns = [self.log_shape_of(j, X[:, j]) for j in range(len(self.sizes))]
        return np.stack(columns, axis=1) if columns else np.zeros(X.shape)

    def log_shape_of(self, feature: int, values: Array) -> Array:
        """Return the same of values (value) of one feature."""
        borders, (below, above) = self._borders[feature], self.widths[self.slices()[feature]][[0, -1]]
        with np.errstate(invalid="ignore"):
            out: Array = -2 * np.log1p(np.fmax(borders[0] - values, 0.0) / below)
            out -= 2 * np.log1p(np.fmax(values - borders[-1], 0.0) / above)
        return out

    def select(self, features: NDArray[np.bool_]) -> Self:
        """Return the cells of some of the features."""
        of_cell = np.repeat(features, self.sizes)
        of_border = np.repeat(features, np.asarray(self.sizes, dtype=np.intp) - 1)
        sizes = tuple(compress(self.sizes, features))
        kept = self.borders[of_border], self.widths[of_cell], self.shares[of_cell], self.decimals[features]
        return type(self)(sizes, *kept)

    def sample(self, codes: Integers, rng: np.random.Generator) -> Array:
        """Draw a value in each cell (row, feature), in the decimals of the feature."""
        out = np.empty(codes.shape)
        for j, (borders, cells) in enumerate(zip(self._borders, self.slices(), strict=True)):
            widths, code = self.widths[cells], codes[:, j]
            u = rng.random(len(code))
            inside = np.concatenate(([borders[0]], borders))[code] + u * widths[code]
            beyond = u / (1 - u)
            x = np.where(code == 0, borders[0] - beyond * widths[0], inside)
            x = np.where(code == len(widths) - 1, borders[-1] + beyond * widths[-1], x)
            decimals = self.decimals[j]
            out[:, j] = np.round(x, max(int(decimals), 0)) if decimals < REAL else x
        return out


def layout_of(statistics: ValueCounts, quantiles: int) -> CellLayout:
    """Return cells between pooled quantiles of each feature, at most so many, and their shares in the prior."""
    parts = []
    for j in range(len(statistics.sizes)):
        values, counts = statistics.column(j)
        parts.append(_cells(values, counts.sum(axis=0), statistics.step(j), quantiles))
    sizes = tuple(len(widths) for _, widths, _ in parts)
    borders, widths, shares = (np.concatenate([np.empty(0), *arrays]) for arrays in zip(*parts, strict=True))
    return CellLayout(sizes, borders, widths, shares, statistics.decimals)


def _cells(values: Array, weight: Array, step: float, quantiles: int) -> tuple[Array, Array, Array]:
    """Return borders, widths and shares of the cells of one feature, from its pooled values."""
    if not len(values):
        values, weight = np.zeros(1), np.zeros(1)
    n = weight.sum()
    most = min(quantiles, max(1, int(n / ROWS_PER_CELL)))
    heavy = (weight >= max(HEAVY_ROWS, n / quantiles)) & (len(values) > 1)
    after = np.searchsorted(np.cumsum(weight), n * np.arange(1, most) / most * (1 - 1e-12))
    of_heavy = np.flatnonzero(heavy)
    after = np.unique(np.concatenate([after, of_heavy, of_heavy - 1]))
    after = after[(after >= 0) & (after < len(values) - 1)]
    inner = _borders(values[after], values[after + 1], heavy[after], heavy[after + 1], step)
    borders = np.concatenate(([values[0] - step / 2], inner, [values[-1] + step / 2]))
    open_width = max((values[-1] - values[0]) / (n + 1), step)
    widths = np.concatenate(([open_width], np.maximum(np.diff(borders), step / 2), [open_width]))
    counts = np.bincount(np.searchsorted(borders, values, side="right"), weight, len(widths))
    return borders, widths, (counts + 1) / (n + len(widths))


def _borders(
    left: Array, right: Array, heavy_left: NDArray[np.bool_], heavy_right: NDArray[np.bool_], step: float
) -> Array:
    """Return borders between neighboring values: next to a heavy value where there is a gap, else in the middle."""
    gap = right - left > 1.5 * step
    after, before = gap & heavy_left, gap & heavy_right
    middle = left / 2 + right / 2
    return np.unique(np.concatenate([middle[~after & ~before], left[after] + step / 2, right[before] - step / 2]))
