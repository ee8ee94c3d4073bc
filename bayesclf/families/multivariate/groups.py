"""Moments of numbers in each group of rows with the same label, categories and missing cells.

They are the statistics of numbers that depend on each other, and of numbers and categories that do. Which columns of
mixed axes are categories is told by their levels: a number has none. A cell of a category is its code.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bayesclf import constraints
from bayesclf.arrays import Array, Integers
from bayesclf.families.base import Axes, Statistics
from bayesclf.families.cells import Booleans, by_pattern
from bayesclf.families.gaussian import Moments
from bayesclf.tables.columns import MISSING, UNSEEN

SEEN = 0
"""Code, in a group, of a number that is observed; that of one that is not is `MISSING`.

Of a category `UNSEEN` is a level that a prior lacks, which counts as missing.
"""

COPIES, COPIES_OF_CLASS, COPIES_OF_GROUP = 12, 6, 2
"""Matrices (number, other number) that a fit holds at once, and for each class and group, measured.

Those of a class are of the spectra with which degrees of freedom are learned.
"""

LARGEST_KEY = 2**62
"""Rows are encoded as integers below this to compare them."""

APART = 1
"""Code of the same in a row that is a group by itself, as its missing cells are drawn or expected by its numbers."""


def are_categories(axes: Axes) -> Booleans:
    """Return which features are categories, (feature)."""
    return np.array(axes.sizes) > 0 if axes.levels else np.zeros(len(axes.features), dtype=bool)


def are_seen(X: Array, axes: Axes) -> Booleans:
    """Return which cells (row, feature) are observed: no NaN, and no negative code of a category."""
    return ~np.isnan(X) & ~(are_categories(axes) & (X < 0))


def level_counts(axes: Axes, codes: Integers, n: Array) -> list[tuple[str, tuple[Hashable, ...], Array]]:
    """Return the name, the levels and the weight of each level (level), of each category of rows (row, feature)."""
    out: list[tuple[str, tuple[Hashable, ...], Array]] = []
    for j in np.flatnonzero(are_categories(axes)):
        seen = codes[:, j] >= 0
        out.append((axes.features[j], axes.levels[j], np.bincount(codes[seen, j], n[seen], len(axes.levels[j]))))
    return out


@dataclass(frozen=True)
class GroupedMoments(Statistics):
    """Weight n, mean x̄ and scatter S = Σ w (x − x̄)(x − x̄)ᵀ of the numbers of each group of rows.

    The rows of a group have the same label and the same values of all categories. Groups are merged by the update of
    Chan, Golub & LeVeque (1983). Rows that are kept apart are merged with equal ones only; rows without any cell are
    left out.

    `axes`: Labels, features and levels; numbers have no levels. `groups`: Label code, then the code of each feature,
    (group, 1 + feature), in lexicographic order. `n`: (group). `mean`: (group, number), 0 where it is missing.
    `scatter`: (group, number, other number), 0 where one of them is missing.
    """

    axes: Axes
    groups: Integers
    n: Array
    mean: Array
    scatter: Array

    @classmethod
    def of(
        cls,
        X: Array,
        y: Integers,
        axes: Axes,
        sample_weight: Array | None = None,
        apart: Callable[[Booleans], bool] = lambda seen: False,
    ) -> Self:
        """Return the moments of rows `X` (row, feature), codes of categories and numbers, with label codes `y`.

        `apart` says by which cells (feature) are observed whether such rows are kept apart.
        """
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        category, seen = are_categories(axes), are_seen(X, axes)
        gaps = np.where(category & (X == UNSEEN), UNSEEN, MISSING)
        alone = np.zeros(len(X), dtype=bool)
        for pattern, rows in by_pattern(~seen):
            alone[rows] = apart(pattern)
        codes = np.where(seen, np.where(category, X, np.where(alone, APART, SEEN)[:, None]), gaps).astype(np.intp)
        numbers = np.where(seen, X, 0.0)[:, ~category]
        return cls._merged(axes, np.column_stack([y, codes]), weight, numbers, None)

    @classmethod
    def _merged(cls, axes: Axes, groups: Integers, n: Array, mean: Array, scatter: Array | None) -> Self:
        """Return the moments of parts, (part, …), of which equal groups are merged; single rows have no scatter."""
        some = (groups[:, 1:] >= 0).any(axis=1) if groups.shape[1] > 1 else np.zeros(len(groups), dtype=bool)
        groups, n, mean = groups[some], n[some], mean[some]
        sizes = [size or APART + 1 for size in axes.sizes] if axes.levels else [APART + 1] * len(axes.features)
        merged, which = different(groups, (len(axes.labels), *sizes))
        alone = (groups[:, 1:][:, ~are_categories(axes)] == APART).any(axis=1)
        if alone.any():
            cells, part = np.column_stack([which[alone], mean[alone]]), np.zeros(len(groups), dtype=np.intp)
            part[alone] = np.unique(cells, axis=0, return_inverse=True)[1].ravel()
            _, first, which = np.unique(which * len(groups) + part, return_index=True, return_inverse=True)
            merged = groups[first]
        d = mean.shape[1]
        constraints.require_bytes(
            (COPIES + COPIES_OF_CLASS * len(axes.labels) + float(COPIES_OF_GROUP) * len(merged)) * 8 * d**2,
            f"covariances of {d:,} columns",
            "use fewer columns (--drop on the command line) or another model, such as naive Bayes",
        )
        moments = merge(which, len(merged), n, mean, None if scatter is None else scatter[some])
        return cls(axes, merged, *moments)

    def __add__(self, other: Self) -> Self:
        groups, n = np.concatenate([self.groups, other.groups]), np.concatenate([self.n, other.n])
        moments = (np.concatenate(pair) for pair in ((self.mean, other.mean), (self.scatter, other.scatter)))
        return self._merged(self.axes, groups, n, *moments)

    def pooled(self) -> Self:
        """Return the moments with all labels as one."""
        groups = self.groups.copy()
        groups[:, 0] = 0
        return self._merged(self.axes.pooled(), groups, self.n, self.mean, self.scatter)

    def level_counts(self) -> list[tuple[str, tuple[Hashable, ...], Array]]:
        """Return the name, the levels and the weight of the rows of each level (level), of each category."""
        return level_counts(self.axes, self.groups[:, 1:], self.n)

    def select(self, features: NDArray[np.bool_]) -> Self:
        """Return the moments of some of the features; groups that become equal are merged."""
        own = features[~are_categories(self.axes)]
        groups = self.groups[:, np.concatenate([[True], features])]
        axes = self.axes.select(features)
        return self._merged(axes, groups, self.n, self.mean[:, own], self.scatter[:, own][:, :, own])

    def reindex(self, axes: Axes) -> Self:
        """Return the moments on axes with additional labels or levels, codes by the new ones."""
        groups = self.groups.copy()
        groups[:, 0] = np.array(self.axes.labels_in(axes), dtype=np.intp)[groups[:, 0]]
        for j, (levels, wider) in enumerate(zip(self.axes.levels, axes.levels, strict=True), start=1):
            if levels:
                codes = np.array([*(wider.index(level) for level in levels), UNSEEN, MISSING], dtype=np.intp)
                groups[:, j] = codes[groups[:, j]]
        # A column without a cell so far may turn out to be a category.
        still = ~are_categories(axes)[~are_categories(self.axes)]
        mean, scatter = self.mean[:, still], self.scatter[:, still][:, :, still]
        return self._merged(axes, groups, self.n, mean, scatter)

    def of_pair(self, i: int, j: int) -> Self:
        """Return the moments of two features, of the rows in which both are observed."""
        there = self.seen[:, [i, j]].all(axis=1)
        parts = self.groups[there], self.n[there], self.mean[there], self.scatter[there]
        return type(self)(self.axes, *parts).select(np.isin(np.arange(len(self.axes.features)), (i, j)))

    def centre(self) -> Array:
        """Return the pooled means of the numbers; 0 of levels where all columns are categories."""
        return super().centre() if are_categories(self.axes).all() else self.cells().centre()

    def arrays(self) -> dict[str, Array]:
        """Return the arrays as numbers, without rows that are kept apart: which are so depends on the edges alone."""
        number = ~are_categories(self.axes)
        groups = self.groups.copy()
        groups[:, 1:] = np.where(number & (groups[:, 1:] == APART), SEEN, groups[:, 1:])
        plain = self._merged(self.axes, groups, self.n, self.mean, self.scatter)
        return super(GroupedMoments, plain).arrays()

    def where(self, some: Booleans) -> Self:
        """Return the moments of some of the groups, (group)."""
        return type(self)(self.axes, self.groups[some], self.n[some], self.mean[some], self.scatter[some])

    @property
    def seen(self) -> Booleans:
        """Which features are observed, (group, feature)."""
        return np.asarray(self.groups[:, 1:] >= 0)

    def weight_of_cells(self) -> Array:
        """Return the weight of the rows in which each feature is observed, (outcome, feature)."""
        of_label = self.labels == np.arange(len(self.axes.labels))[:, None]
        return np.asarray((of_label * self.n) @ self.seen)

    def of_categories(self) -> Self:
        """Return the moments of the categories alone, which are counts."""
        return self.select(are_categories(self.axes))

    @cached_property
    def row_counts(self) -> tuple[Integers, Array]:
        """The different rows of codes (pattern, feature), and the weight of each with each label (outcome, pattern)."""
        rows, which = different(np.maximum(self.groups[:, 1:], MISSING), self.axes.sizes)
        cells = self.labels * len(rows) + which
        counts = np.bincount(cells, self.n, minlength=len(self.axes.labels) * len(rows))
        return rows, counts.reshape(len(self.axes.labels), len(rows))

    @property
    def labels(self) -> Integers:
        """Label code of each group, (group)."""
        return self.groups[:, 0]

    def incomplete(self) -> list[str]:
        """Return the columns with missing cells."""
        return list(compress(self.axes.features, ~self.seen.all(axis=0)))

    def complete(self) -> tuple[Array, Array, Array]:
        """Return weight (outcome), mean (outcome, number) and scatter of the rows of each label that lack no cell."""
        own = self.where(self.seen.all(axis=1))
        return merge(own.labels, len(self.axes.labels), own.n, own.mean, own.scatter)

    def completed(self, mean: Array, scatter: Array) -> Self:
        """Return moments with no cell missing, of groups with these means and scatters of all numbers."""
        groups = np.where(np.arange(self.groups.shape[1]) > 0, SEEN, self.groups)
        return self._merged(self.axes, groups, self.n, mean, scatter)

    def cells(self) -> Moments:
        """Return the moments of each number by itself, over all its observed cells."""
        number, labels = ~are_categories(self.axes), len(self.axes.labels)
        parts = []
        for j, own in enumerate(self.seen[:, number].T):
            moments = self.n[own], self.mean[own, j, None], self.scatter[own, j, j, None, None]
            parts.append(merge(self.labels[own], labels, *moments))
        arrays = (np.array([part[of].ravel() for part in parts]).reshape(-1, labels).T for of in range(3))
        return Moments(self.axes.select(number), *arrays)


def different(rows: Integers, sizes: tuple[int, ...]) -> tuple[Integers, Integers]:
    """Return the distinct rows in lexicographic order, and which of them each row is.

    `rows`: Codes (row, feature), each from −2 up to below its feature's size.
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


def merge(which: Integers, length: int, n: Array, mean: Array, scatter: Array | None) -> tuple[Array, Array, Array]:
    """Return weight (place), mean (place, number) and scatter of parts (part, …) merged by their place, `which` (part).

    Means are measured from that of the first part of a place, which makes the mean of equal cells exact. A place
    without parts has the mean 0. Single rows have no scatter.
    """
    order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[order], np.arange(length + 1))
    there, d = np.flatnonzero(np.diff(ends)), mean.shape[1]

    def summed(values: Array) -> Array:
        """Return the sums (place, …) of what parts have."""
        out = np.zeros((length, *values.shape[1:]))
        out[there] = np.add.reduceat(values[order], ends[there], axis=0)
        return out

    origin = np.zeros((length, d))
    origin[there] = mean[order[ends[there]]]
    total = summed(n)
    share = np.divide(n, total[which], out=np.zeros_like(n), where=total[which] > 0)
    merged = origin + summed(share[:, None] * (mean - origin[which]))
    out = np.zeros((length, d, d)) if scatter is None else summed(scatter)
    for place in np.flatnonzero(np.diff(ends) > 1) if d else ():
        parts = order[ends[place] : ends[place + 1]]
        away = mean[parts] - merged[place]
        out[place] += (n[parts, None] * away).T @ away
    return total, merged, out
