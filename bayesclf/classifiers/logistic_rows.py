"""Columns of logistic regression, and rows encoded by them: numbers and level codes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from bayesclf.errors import InputError
from bayesclf.tables import columns
from bayesclf.tables.columns import Column, Rows, SparseTable, Table, row_numbers, sparse_numbers
from bayesclf.wording import LISTED_ROWS, listed

if TYPE_CHECKING:
    import pandas as pd


def training_columns(frame: Table) -> tuple[Column, ...]:
    """Return the columns of a training table, with the levels of the categorical ones."""
    if isinstance(frame, SparseTable):
        return tuple(Column(name, "number") for name in frame.columns)
    return tuple(
        Column(name, kind, columns.levels_of(frame[name], "ignore") if kind == "category" else ())
        for name, kind in columns.kinds_of(frame).items()
    )


def names_of(known: tuple[Column, ...], kind: str) -> tuple[str, ...]:
    """Return the names of the columns of one kind, "number" or "category"."""
    return tuple(column.name for column in known if column.kind == kind)


def levels_of(known: tuple[Column, ...]) -> tuple[tuple[Hashable, ...], ...]:
    """Return the levels of each categorical column."""
    return tuple(column.levels for column in known if column.kind == "category")


def encoded(known: tuple[Column, ...], frame: Table, missing: str) -> Rows:
    """Return rows of checked columns as (numbers, level codes), by the columns that were fitted.

    Raises
    ------
    InputError
        For a sparse table where a column is a category, and for a missing cell with ``missing="error"``.
    """
    numbers, categories = names_of(known, "number"), names_of(known, "category")
    if isinstance(frame, SparseTable):
        if categories:
            raise InputError(
                f"column {categories[0]!r} is a category, and a sparse table holds numbers only; give a dense table"
            )
        return Rows((sparse_numbers(frame, numbers), np.empty((len(frame), 0), dtype=np.intp)), len(frame))
    if missing == "error":
        refuse_missing(frame)
    return Rows(
        (columns.numbers(frame, numbers), columns.codes(frame, categories, levels_of(known))),
        len(frame),
    )


def refuse_missing(frame: pd.DataFrame) -> None:
    """Raise for the first column with missing cells."""
    for name in frame:
        empty = np.flatnonzero(frame[name].isna())
        if empty.size:
            rows = listed(row_numbers(frame, empty), LISTED_ROWS)
            raise InputError(
                f"column {name!r} has {empty.size} missing cells (rows {rows}); fill them in, or fit with "
                "missing='impute'"
            )
