"""Training rows with weights, in which rows that are alike count as one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesclf.families.base import Rows
from bayesclf.typing import Array, Integers

WORTHWHILE = 0.9
"""Alike rows are merged where at most this share of the rows is left; for less, they stay as they are."""


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Encoded rows with their labels, and how often each counts.

    Attributes
    ----------
    rows
        Cells in the encoding of a model: arrays (row, feature), numbers with NaN where missing, or level codes.
    y
        Label codes (row).
    weight
        (row).
    """

    rows: Rows
    y: Integers
    weight: Array

    def merged(self) -> WeightedRows:
        """Return one row for all that have the same cells and label, with the sum of their weights.

        A likelihood Π P(y_i | x_i)^w_i is the same function of the parameters before and after, so that nothing that
        follows from it changes but by rounding. The rows stay in the order in which each first occurs. Where few are
        alike, these rows themselves are returned.

        Examples
        --------
        >>> cells = np.array([[1.0], [2.0], [1.0], [np.nan], [np.nan]])
        >>> rows = WeightedRows(Rows((cells,), 5), np.array([0, 0, 0, 1, 1]), np.array([1.0, 1.0, 2.0, 1.0, 1.0]))
        >>> rows.merged().rows.parts[0].ravel()
        array([ 1.,  2., nan])
        >>> rows.merged().weight
        array([3., 1., 2.])
        """
        most = WORTHWHILE * len(self.rows)
        kind, kinds = _ranks(self.y)
        for column in (column for part in self.rows.parts for column in part.T):
            if kinds > most:
                return self
            ranks, values = _ranks(column)
            kind, kinds = _ranks(kind * values + ranks)
        if kinds > most:
            return self
        # Ranks are given out by first occurrence, so that a row with a new one is the first of its kind.
        first = np.flatnonzero(np.diff(np.maximum.accumulate(kind), prepend=-1))
        return WeightedRows(self.rows[first], self.y[first], np.bincount(kind, self.weight, minlength=kinds))


def _ranks(values: NDArray[np.generic]) -> tuple[Integers, int]:
    """Return which of the different values each is, by first occurrence and NaN among them, and their number.

    By hashing, as sorting would take several times as long.
    """
    import pandas as pd

    ranks, different = pd.factorize(values, use_na_sentinel=False)
    return np.asarray(ranks, dtype=np.intp), len(different)
