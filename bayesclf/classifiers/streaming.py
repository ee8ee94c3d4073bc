"""What a fit needs of a table that passes batch by batch: statistics so far, and the rows that α is learned by."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.training import ColumnBlock, Learnt
from bayesclf.families.learned_alpha import MOST_ROWS, learned_by

MOST_KEPT = 2 * MOST_ROWS
"""Rows that are kept where their number is not known beforehand; of more than `MOST_ROWS`, as many are left out."""

ROW_BITS = 40
"""Bits of a row's number within its part, in what its priority is a hash of."""

HIGHEST = np.uint64(2**64 - 1)
"""The highest priority."""


def learns_by_leaving_out(block: ColumnBlock) -> bool:
    """Return whether the α of a block is learned by leaving out rows."""
    return learned_by(block.family) is not None


@dataclass
class LeftOutRows:
    """The rows that α is learned by: all where they are few, else some, whatever the batches.

    With a known number of rows and no weights, they are at even distances, as in a fit in memory. Otherwise they are
    the `MOST_KEPT` with the lowest priorities: a hash of part and number, which gives all rows the same chance.
    """

    total: int | None
    part: int = 0
    _passed: int = 0
    _below: np.uint64 = HIGHEST
    _parts: list[tuple[NDArray[np.uint64], pd.DataFrame, NDArray[Any], Array | None]] = field(default_factory=list)
    _kept: int = 0

    @property
    def passed(self) -> int:
        """Number of rows that were looked at."""
        return self._passed

    def add(self, table: pd.DataFrame, y: NDArray[Any], weight: Array | None) -> None:
        """Look at further rows: cells (row, feature), labels and weights (row)."""
        rows = np.arange(len(y)) if weight is None else np.flatnonzero(weight >= 1)
        numbers = self._passed + np.arange(len(rows))
        self._passed += len(rows)
        keys = _priorities(self.part, numbers)
        kept = self._is_kept(numbers, keys)
        if kept.any():
            own = rows[kept]
            self._parts.append((keys[kept], table.iloc[own], y[own], None if weight is None else weight[own]))
            self._kept += len(own)
        self._thin()

    def rows(self) -> tuple[pd.DataFrame, NDArray[Any], Array | None] | None:
        """Return the rows, cells (row, feature), labels and weights (row); None without any."""
        if not self._kept:
            return None
        _, tables, labels, weights = zip(*self._parts, strict=True)
        table = pd.concat([part.astype(_uncoded(part)) for part in tables], ignore_index=True)
        own = None if weights[0] is None else np.concatenate(weights)
        return table, np.concatenate(labels), own

    def __add__(self, other: LeftOutRows) -> LeftOutRows:
        """Return the rows of two parts with the lowest priorities."""
        both = LeftOutRows(None, self.part, self._passed + other._passed, min(self._below, other._below))
        both._parts = [*self._parts, *other._parts]
        both._kept = self._kept + other._kept
        both._thin()
        return both

    def _thin(self) -> None:
        if self.total is not None or self._kept <= MOST_KEPT:
            return
        keys = np.concatenate([part[0] for part in self._parts])
        kept = np.zeros(len(keys), dtype=bool)
        kept[np.argpartition(keys, MOST_KEPT - 1)[:MOST_KEPT]] = True
        self._below = keys[kept].max()
        ends = np.cumsum([len(part[0]) for part in self._parts])[:-1]
        own = [(part, mine) for part, mine in zip(self._parts, np.split(kept, ends), strict=True) if mine.any()]
        self._parts = [part if mine.all() else _some(part, mine) for part, mine in own]
        self._kept = MOST_KEPT

    def _is_kept(self, numbers: Integers, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        if self.total is None:
            below = keys <= self._below
            if np.count_nonzero(below) > MOST_KEPT:
                below &= keys <= np.partition(keys, MOST_KEPT - 1)[MOST_KEPT - 1]
            return np.asarray(below)
        if self.total <= MOST_ROWS:
            return np.ones(len(numbers), dtype=bool)
        return np.isin(numbers, np.linspace(0, self.total - 1, MOST_ROWS).astype(np.intp))


def _priorities(part: int, numbers: Integers) -> NDArray[np.uint64]:
    """Return hashes of rows by SplitMix64 (Steele, Lea and Flood, 2014, https://doi.org/10.1145/2660193.2660195)."""
    keys = (np.uint64(part) << np.uint64(ROW_BITS)) ^ np.asarray(numbers, dtype=np.uint64)
    keys += np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        keys = (keys ^ (keys >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(keys ^ (keys >> np.uint64(31)))


def _some(part: tuple[Any, ...], kept: NDArray[np.bool_]) -> Any:
    keys, table, labels, weight = part
    return keys[kept], table[kept], labels[kept], None if weight is None else weight[kept]


def _uncoded(table: pd.DataFrame) -> dict[str, type]:
    """Return what makes objects of coded columns, whose levels differ from batch to batch."""
    return {str(name): object for name, dtype in table.dtypes.items() if isinstance(dtype, pd.CategoricalDtype)}


@dataclass
class Gathering:
    """Statistics of the batches so far, and the rows that α is learned by.

    The words of documents grow with every batch: moving all counts each time would take quadratic time. Each part has
    more than twice as many columns as the next, so that all parts have at most twice the columns.
    """

    samples: tuple[LeftOutRows, ...]
    done: int = 0
    parts: list[Learnt] = field(default_factory=list)

    @property
    def left_out(self) -> LeftOutRows:
        """The rows that α is learned by."""
        return next((rows for rows in self.samples if rows.total in (None, rows.passed)), self.samples[-1])

    @property
    def first(self) -> Learnt | None:
        """What was learned from the first batches; None before any."""
        return self.parts[0] if self.parts else None

    @property
    def learnt(self) -> Learnt | None:
        """What was learned from all batches; None of none."""
        return reduce(add, self.parts) if self.parts else None

    def add(self, learnt: Learnt) -> None:
        """Add what was learned from a batch."""
        self.parts.append(learnt)
        while len(self.parts) > 1 and _width(self.parts[-2]) <= 2 * _width(self.parts[-1]):
            mine, theirs = self.parts[-2:]
            self.parts[-2:] = [mine + theirs]


def _width(learnt: Learnt) -> int:
    return sum(len(block.names) for block in learnt.blocks)
