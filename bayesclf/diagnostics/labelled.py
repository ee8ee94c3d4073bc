"""Rows as the user gave them and as the model sees them, labelled or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesclf.columns import SparseTable
from bayesclf.families.base import Rows
from bayesclf.typing import Integers

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Labelled:
    """Training rows.

    Attributes
    ----------
    table
        In the classifier's columns and their order.
    y
        Label codes (row).
    rows
        The same table in the encoding of the model.
    classes
        The labels (outcome).
    """

    table: pd.DataFrame | SparseTable
    y: Integers
    rows: Rows
    classes: NDArray[Any]

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, some: Integers) -> Labelled:
        if isinstance(self.table, SparseTable):
            table: pd.DataFrame | SparseTable = SparseTable(self.table.cells[some], self.table.columns)
        else:
            table = self.table.iloc[some]
        return Labelled(table, self.y[some], self.rows[some], self.classes)

    @property
    def labels(self) -> NDArray[Any]:
        """The labels themselves (row)."""
        return np.asarray(self.classes[self.y])

    @property
    def X(self) -> Any:  # noqa: N802
        """What a classifier takes: the table, or the cells of a sparse one."""
        return self.table.cells if isinstance(self.table, SparseTable) else self.table


@dataclass(frozen=True, eq=False)
class Unlabelled:
    """Rows to be predicted: the table in the classifier's columns, and the same in the encoding of the model."""

    table: pd.DataFrame | SparseTable
    rows: Rows
