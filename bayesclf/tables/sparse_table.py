"""Sparse tables, which stand where a DataFrame would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_array

from bayesclf.errors import InputError
from bayesclf.tables.numbers import LARGEST, out_of_range
from bayesclf.typing import Integers


@dataclass(frozen=True)
class SparseTable:
    """A sparse table, of which only the cells that are not 0 are stored; it stands where a DataFrame would.

    Attributes
    ----------
    cells
        (row, feature).
    columns
        Names of the features.
    rows
        Of some rows of a larger table, their places in it, from 0; None for a whole table.
    """

    cells: sparse.csr_array
    columns: tuple[str, ...]
    rows: Integers | None = None

    def __len__(self) -> int:
        return int(self.cells.shape[0])

    def __getitem__(self, rows: NDArray[np.bool_]) -> SparseTable:
        kept = np.flatnonzero(rows)
        return SparseTable(self.cells[kept], self.columns, kept if self.rows is None else self.rows[kept])


def to_sparse_table(X: Any, names: tuple[str, ...] | None = None) -> SparseTable:
    """Return a SciPy sparse matrix or array (row, feature) as a table with these columns, or x0, x1, …"""
    of_any_size: Any = {"ensure_min_samples": 0, "ensure_min_features": 0}
    given = sparse.csr_array(check_array(X, accept_sparse="csr", dtype=None, ensure_all_finite=False, **of_any_size))
    require_cells(given.shape)
    if given.dtype.kind not in "biuf":
        raise InputError(f"Complex data not supported: the sparse table holds {given.dtype}; give real numbers")
    cells = sparse.csr_array((given.data.astype(np.float64, copy=False), given.indices, given.indptr), given.shape)
    return SparseTable(cells, tuple(f"x{j}" for j in range(cells.shape[1])) if names is None else names)


def require_cells(shape: tuple[int, ...]) -> None:
    """Raise for a table without rows or without columns."""
    rows, columns = shape
    if rows == 0:
        raise InputError("X has no rows (0 sample(s)); give at least one")
    if columns == 0:
        raise InputError(f"X has 0 feature(s) (shape=({rows}, 0)) while a minimum of 1 is required; give a column")


def sparse_numbers(table: SparseTable, names: tuple[str, ...]) -> sparse.csr_array:
    """Return the cells of a sparse table (row, feature), all of its columns.

    Raises
    ------
    InputError
        For a cell that is missing, infinite or beyond `LARGEST`.
    """
    wrong = np.flatnonzero(~np.isfinite(table.cells.data))
    if wrong.size:
        row, name = place_of(table, int(wrong[0]), names)
        what = "an infinite" if np.isinf(table.cells.data[wrong[0]]) else "a missing (NaN)"
        raise InputError(
            f"column {name!r} of the sparse table has {what} value (row {row}); replace it, or give a dense table, "
            "where missing cells are allowed"
        )
    sizes = np.abs(table.cells.data)
    if sizes.max(initial=0.0) > LARGEST:
        row, name = place_of(table, int(sizes.argmax()), names)
        raise out_of_range({name: f"{sizes.max():.1e} in row {row}"})
    return table.cells


def place_of(table: SparseTable, entry: int, names: tuple[str, ...]) -> tuple[int, str]:
    """Return the number of the row, from 1 and in the whole table, and the column's name of a stored entry."""
    place = int(np.searchsorted(table.cells.indptr, entry, side="right")) - 1
    return (place if table.rows is None else int(table.rows[place])) + 1, names[table.cells.indices[entry]]
