"""Conversion of columns to the kinds that the user declares: numbers, categories or text."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, get_args

import pandas as pd

from bayesclf.errors import InputError
from bayesclf.tables.columns import LONGEST_VALUE, ColumnKind, column_kind, not_plain
from bayesclf.tables.levels import word
from bayesclf.wording import IN_ALL, did_you_mean, flagged_rows, listed, written

LISTED_NAMES, LISTED_LEVELS = 20, 4
"""The most columns and values that a sentence lists."""


def convert_columns(frame: pd.DataFrame, dtypes: Mapping[str, ColumnKind], where: str) -> pd.DataFrame:
    """Make columns of a table that was not read from a file what the user says they are.

    Examples
    --------
    >>> frame = pd.DataFrame({"grade": [1, 3, 2]})
    >>> convert_columns(frame, {"grade": "category"}, "the example")["grade"].cat.categories.tolist()
    ['1', '2', '3']
    """
    require_kinds(dtypes, list(frame.columns), where)
    if not dtypes and all(_is_plain(dtype) for dtype in set(frame.dtypes)):
        return frame.copy(deep=False)  # a table of many columns has each of them made anew otherwise
    columns = {name: _converted(column, dtypes.get(str(name)), where) for name, column in frame.items()}
    return pd.DataFrame(columns, index=frame.index)


def _is_plain(dtype: Any) -> bool:
    """Return whether a column of this type is numbers, words or categories as it stands."""
    numeric = pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
    return numeric or isinstance(dtype, pd.CategoricalDtype | pd.StringDtype)


def require_column(name: str, columns: Sequence[Hashable], where: str) -> None:
    """Raise an `InputError` that lists the columns, the closest first, if `name` is not one of them.

    Examples
    --------
    >>> require_column("play", ["wind", "play"], "the example")
    """
    if name not in columns:
        names = [str(column) for column in columns]
        known = listed(names, LISTED_NAMES, IN_ALL)
        raise InputError(f"{where} has no column {name!r}{did_you_mean(name, names)}; its columns are {known}")


def require_kinds(dtypes: Mapping[str, str], columns: Sequence[Hashable], where: str) -> None:
    """Raise an `InputError` if a column or its kind is unknown; `where` is how the message calls the table."""
    for name, kind in dtypes.items():
        require_column(name, columns, where)
        if kind not in get_args(ColumnKind):
            raise InputError(f"the dtype {kind!r} of column {name!r} is not known; use {listed(get_args(ColumnKind))}")


def _converted(column: pd.Series, kind: ColumnKind | None, where: str) -> pd.Series:
    _check_flat(column, where)
    if kind == "number":
        return _numbers(column, where)
    if kind == "category":
        return as_words(column).astype("category")
    if kind == "text":
        return as_words(column)
    if _is_plain(column.dtype):
        return column
    cells = column.dropna()
    if all(isinstance(value, numbers.Number) and not isinstance(value, bool) for value in cells):
        return _numbers(column, where)
    return as_words(column)


def _check_flat(column: pd.Series, where: str) -> None:
    if column.dtype != object:
        return
    for row, value in enumerate(column, start=1):
        if hasattr(value, "__len__") and not isinstance(value, str):
            raise not_plain(f"{written(value, LONGEST_VALUE)} (row {row})", column.name, f"{where}: ")


def as_words(column: pd.Series) -> pd.Series:
    """Return cells as strings, 2.0 as "2": pandas has floats where a cell is missing."""
    if isinstance(column.dtype, pd.StringDtype):
        return column
    cells = zip(column, column.isna(), strict=True)
    words = [None if missing else word(value) for value, missing in cells]
    return pd.Series(words, index=column.index, name=column.name, dtype="str")


def _numbers(column: pd.Series, where: str) -> pd.Series:
    if column_kind(column, text=False) == "number":
        return column
    words = as_words(column)
    bad = not_numbers(words)
    if bad.any():
        values = listed(map(repr, words[bad].unique()), LISTED_LEVELS, IN_ALL)
        raise InputError(
            f"{where}: column {column.name!r} is to be a number but has {values} in {flagged_rows(bad)}; "
            "correct or empty those cells, or make it a category"
        )
    found = pd.to_numeric(words)
    # integers beyond 64 bits come back as objects, and those beyond 63 beside a missing cell as words
    return found if pd.api.types.is_numeric_dtype(found) else words.astype(float)


def not_numbers(words: pd.Series) -> pd.Series:
    """Flag the cells that are neither missing nor a number; the words "nan" and "NA" are not numbers."""
    return pd.to_numeric(words, errors="coerce").isna() & words.notna()
