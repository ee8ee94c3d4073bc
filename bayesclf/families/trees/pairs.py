"""Counts of pairs of values within each class: the statistics of trees over categorical features.

The evidence of any tree, and its posterior, need only how often each two values of two features occur together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self, override

import numpy as np
from numpy.typing import NDArray

from bayesclf.errors import Refused
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes, Statistics
from bayesclf.typing import Array, Integers

LARGEST_COUNTS = 2**25
"""Numbers (outcome × level × level) above which tables of pairs are refused."""

BLOCK_CELLS = 2**22
"""Indicators (row × level) that are multiplied at once."""


@dataclass(frozen=True)
class PairCounts(Statistics):
    """Counts n (outcome, level, level) of rows with both values, the levels of all features concatenated.

    The diagonal has the counts of single values.
    """

    axes: Axes
    counts: Array

    @classmethod
    def of(cls, X: Integers, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Self:
        """Count the pairs of values in rows `X` (row, feature) of level codes with label codes `y` (row).

        A pair of which one cell is missing, a negative code, is left out.

        Raises
        ------
        Refused
            For more pairs of values than can be kept in memory.
        """
        n_labels, n_levels = len(axes.labels), sum(axes.sizes)
        if n_labels * n_levels**2 > LARGEST_COUNTS:
            size = f"{n_labels} × {n_levels:,}² numbers (limit {LARGEST_COUNTS:,})"
            raise Refused(
                f"the pairs of values of {len(axes.features)} columns need {size}; take fewer columns, or naive Bayes"
            )
        counts = np.zeros((n_labels, n_levels, n_levels))
        cells, step = dirichlet.cells_of(X, axes.sizes), max(1, BLOCK_CELLS // max(n_levels, 1))
        for label, of_label in enumerate(counts):
            rows = np.flatnonzero(y == label)
            for part in np.split(rows, range(step, len(rows), step)):
                present = np.zeros((len(part), n_levels + 1))
                present[np.arange(len(part))[:, None], cells[part]] = 1.0  # the last one of missing cells
                weighted = present if sample_weight is None else present * sample_weight[part, None]
                of_label += (weighted.T @ present)[:-1, :-1]
        return cls(axes, counts)

    @override
    def select(self, features: NDArray[np.bool_]) -> Self:
        """Return the counts of pairs of levels of some of the features."""
        kept = np.repeat(features, self.axes.sizes)
        return type(self)(self.axes.select(features), self.counts[:, kept][:, :, kept])

    @override
    def reindex(self, axes: Axes) -> Self:
        """Return the counts on axes with additional labels, features or levels, which have none."""
        place = {name: position for position, name in enumerate(axes.features)}
        starts = dirichlet.starts(axes.sizes)
        to = [
            int(starts[place[name]]) + axes.levels[place[name]].index(level)
            for name, levels in zip(self.axes.features, self.axes.levels, strict=True)
            for level in levels
        ]
        n_levels = sum(axes.sizes)
        counts = np.zeros((len(axes.labels), n_levels, n_levels))
        counts[np.ix_(self.axes.labels_in(axes), to, to)] = self.counts
        return type(self)(axes, counts)

    def occurring(self) -> NDArray[np.bool_]:
        """Return whether each feature has an observed cell, (feature)."""
        seen = np.concatenate(([0.0], np.cumsum(self.single.sum(axis=0))))
        ends = np.cumsum(self.axes.sizes)
        return np.asarray(seen[ends] > seen[ends - self.axes.sizes])

    @property
    def single(self) -> Array:
        """Counts of single values, (outcome, level)."""
        return np.asarray(np.diagonal(self.counts, axis1=1, axis2=2))
