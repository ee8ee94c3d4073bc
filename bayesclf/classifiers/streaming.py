"""What a fit needs of a table that passes batch by batch: label codes, and the rows that α is learned by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesclf.classifiers.concentrations import settings_of
from bayesclf.classifiers.training import ColumnBlock, checked_labels, possible_labels
from bayesclf.families.by_evidence import ByEvidence
from bayesclf.families.hierarchical import LEAVE_ONE_OUT
from bayesclf.families.left_out import MOST_ROWS
from bayesclf.typing import Array, Integers


def coded_labels(y: pd.Series, classes: Any) -> tuple[NDArray[Any], Integers]:
    """Return the labels of a batch in order, or all that can occur, (outcome), and the codes of its rows (row).

    Of coded words each is looked at once.

    Parameters
    ----------
    y
        Labels (row).
    classes
        All labels that can occur; None for those of the batch.
    """
    if not isinstance(y.dtype, pd.CategoricalDtype) or y.isna().any():
        labels = checked_labels(y, len(y))
        known = possible_labels(labels, classes)
        return known, np.asarray(np.searchsorted(known, labels))
    codes = y.cat.codes.to_numpy()
    occurring = np.unique(codes)
    labels = checked_labels(y.cat.categories.to_numpy()[occurring], len(occurring))
    known = possible_labels(labels, classes)
    places = np.zeros(len(y.cat.categories), dtype=np.intp)
    places[occurring] = np.searchsorted(known, labels)
    return known, places[codes]


def learns_by_leaving_out(block: ColumnBlock) -> bool:
    """Return whether the α of a block is learned by leaving out rows."""
    settings = None if isinstance(block.family, ByEvidence) else settings_of(block.family)
    return settings is not None and settings.method == LEAVE_ONE_OUT


@dataclass
class LeftOutRows:
    """The rows that α is learned by: all where they are few, else some at even distances, whatever the batches.

    Where their number is known beforehand, and none has a weight, they are the rows that a fit in memory leaves out.

    Attributes
    ----------
    total
        Number of rows of the stream, where it is known and all of them count once.
    """

    total: int | None
    _passed: int = 0
    _step: int = 1
    _parts: list[tuple[Integers, pd.DataFrame, NDArray[Any], Array | None]] = field(default_factory=list)
    _kept: int = 0

    def add(self, table: pd.DataFrame, y: NDArray[Any], weight: Array | None) -> None:
        """Look at further rows: cells (row, feature), labels and weights (row)."""
        rows = np.arange(len(y)) if weight is None else np.flatnonzero(weight >= 1)
        numbers = self._passed + np.arange(len(rows))
        self._passed += len(rows)
        kept = self._is_kept(numbers)
        if kept.any():
            own = rows[kept]
            self._parts.append((numbers[kept], table.iloc[own], y[own], None if weight is None else weight[own]))
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
        """Return the rows of two streams, at the same distances."""
        both = LeftOutRows(None, self._passed + other._passed, max(self._step, other._step))
        both._parts = [_some(part, both._is_kept(part[0])) for part in (*self._parts, *other._parts)]
        both._kept = sum(len(part[0]) for part in both._parts)
        both._thin()
        return both

    def _thin(self) -> None:
        while self.total is None and self._kept > 2 * MOST_ROWS:
            self._step *= 2
            self._parts = [_some(part, self._is_kept(part[0])) for part in self._parts]
            self._kept = sum(len(part[0]) for part in self._parts)

    def _is_kept(self, numbers: Integers) -> NDArray[np.bool_]:
        if self.total is None:
            return np.asarray(numbers % self._step == 0)
        if self.total <= MOST_ROWS:
            return np.ones(len(numbers), dtype=bool)
        return np.isin(numbers, np.linspace(0, self.total - 1, MOST_ROWS).astype(np.intp))


def _some(part: tuple[Any, ...], kept: NDArray[np.bool_]) -> Any:
    numbers, table, labels, weight = part
    return numbers[kept], table[kept], labels[kept], None if weight is None else weight[kept]


def _uncoded(table: pd.DataFrame) -> dict[str, type]:
    """Return what makes objects of coded columns, whose levels differ from batch to batch."""
    return {str(name): object for name, dtype in table.dtypes.items() if isinstance(dtype, pd.CategoricalDtype)}
