"""Rows as the user gave them and as the model sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesclf.models.base import Rows
from bayesclf.tables.columns import SparseTable, Table
from bayesclf.typing import Integers

NO_ROWS = "give the training rows, clf.diagnose(X, y)"
"""What a check that needs the training rows says without them."""


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """A table and its encoding.

    Attributes
    ----------
    table
        In the classifier's columns and their order.
    rows
        The same rows in the encoding of the model.
    """

    table: Table
    rows: Rows

    def __len__(self) -> int:
        return len(self.table)


@dataclass(frozen=True, eq=False)
class Labelled(EncodedTable):
    """Training rows with their labels.

    Attributes
    ----------
    y
        Label codes (row).
    classes
        The labels (outcome).
    """

    y: Integers
    classes: NDArray[Any]

    def __getitem__(self, some: Integers) -> Labelled:
        if isinstance(self.table, SparseTable):
            table: Table = SparseTable(self.table.cells[some], self.table.columns)
        else:
            table = self.table.iloc[some]
        return Labelled(table, self.rows[some], self.y[some], self.classes)

    @property
    def labels(self) -> NDArray[Any]:
        """The labels themselves (row)."""
        return np.asarray(self.classes[self.y])

    @property
    def X(self) -> Any:  # noqa: N802
        """What a classifier takes: the table, or the cells of a sparse one."""
        return self.table.cells if isinstance(self.table, SparseTable) else self.table
