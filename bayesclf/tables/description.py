"""Description of a table: what each column was taken for, and what deserves attention."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from bayesclf.tables.columns import ColumnKind, column_kind
from bayesclf.tables.kinds import LISTED_LEVELS, as_words, not_numbers, require_column, require_kinds
from bayesclf.tables.missing import spike
from bayesclf.tables.useless import why_useless
from bayesclf.tables.writing import quoted
from bayesclf.wording import IN_ALL, flagged_rows, listed

ALMOST_NUMBERS = 0.5
"""A column of categories in which more than this share of the cells are numbers gets a note."""

NUMERIC = re.compile(r"\d|inf", re.IGNORECASE)
"""What every number has."""

SUMMARY_WIDTH = 48
"""The most characters of a cell in a summary."""


def describe_columns(
    frame: pd.DataFrame, target: str | None = None, dtypes: Mapping[str, ColumnKind] | None = None
) -> pd.DataFrame:
    """Show what each column of a table was taken for, so that a wrong guess is noticed before a model is fitted.

    Parameters
    ----------
    frame : DataFrame
        A table, as from `read_table`.
    target : str, optional
        The column with the labels.
    dtypes : mapping of str to {"number", "category", "text"}, optional
        What the user has said the columns are; the others are guessed by `column_kind`.

    Returns
    -------
    DataFrame
        One row per column of `frame`: ``column`` (its name), ``kind`` ("number", "category", "text" or "label"),
        ``dtype``, ``missing`` (number of cells), ``distinct`` (number of different values, missing ones aside),
        ``summary`` (the range, the most frequent levels with their counts, or the start of a text)
        and ``note`` (empty, or one sentence about something that deserves attention).

    Raises
    ------
    InputError
        If `target` or a name in `dtypes` is not a column.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": ["31", "old", "45"], "rain": [0.5, 2.0, None], "play": ["no", "yes", "yes"]})
    >>> table = describe_columns(frame, target="play")
    >>> table[["column", "kind", "missing", "distinct", "summary"]]
      column      kind  missing  distinct            summary
    0    age  category        0         3  31 1, old 1, 45 1
    1   rain    number        1         2           0.5 to 2
    2   play     label        0         2        yes 2, no 1
    >>> print(table["note"][0])  # doctest: +NORMALIZE_WHITESPACE
    column 'age' is read as categories because of 'old' (row 2); leave that cell empty (--missing age=old,
    missing={'age': ['old']} in Python) to read the column as numbers, or declare that this is meant, with --kind
    age=category (dtypes={'age': 'category'} in Python)
    """
    dtypes = dtypes or {}
    if target is not None:
        require_column(target, list(frame.columns), "the table")
    require_kinds(dtypes, list(frame.columns), "the table")
    lines = []
    for name, column in frame.items():
        kind = "label" if name == target else dtypes.get(str(name)) or column_kind(column)
        missing = column.isna().to_numpy()
        cells = column.to_numpy()[~missing].tolist() if missing.any() else column.tolist()
        levels = Counter(cells)  # pandas counts a short column in a hundred times as long
        lines.append(
            {
                "column": name,
                "kind": kind,
                "dtype": str(column.dtype),
                "missing": len(column) - len(cells),
                "distinct": len(levels),
                "summary": _summary(cells, levels, kind),
                "note": _note(name, column, kind, levels),
            }
        )
    return pd.DataFrame(lines)


def _summary(cells: list[Any], levels: Counter[Any], kind: str) -> str:
    if not cells:
        return "no values"
    if kind == "number":
        return f"{min(levels):.6g} to {max(levels):.6g}"
    if kind == "text":
        return _start(cells[0])
    return listed((f"{_start(level)} {count}" for level, count in levels.most_common()), LISTED_LEVELS)


def _start(cell: object) -> str:
    return textwrap.shorten(str(cell), SUMMARY_WIDTH, placeholder=" …")


def _note(name: Hashable, column: pd.Series, kind: str, levels: Counter[Any]) -> str:
    if not levels:
        return f"column {name!r} has no values at all; leave it out"
    found = spike(column) if kind == "number" else None
    if found:
        return found.sentence(name)
    why = why_useless(column) if kind == "category" else ""
    if why and why != "has one value only":
        return f"column {name!r} {why}, and so says nothing about new rows; leave it out (--drop {quoted(str(name))})"
    if kind == "category" and not isinstance(column.dtype, pd.CategoricalDtype):
        return _almost_numbers(name, column, levels)
    return ""


def _almost_numbers(name: Hashable, column: pd.Series, levels: Counter[Any]) -> str:
    """Say which cells keep a column from being read as numbers, if the others are numbers."""
    if sum(count for level, count in levels.items() if NUMERIC.search(str(level))) <= ALMOST_NUMBERS * levels.total():
        return ""
    words = as_words(column)
    bad = not_numbers(words)
    if not 0 < bad.sum() < (1 - ALMOST_NUMBERS) * column.notna().sum():
        return ""
    found = [f"{word!r} ({flagged_rows(words == word)})" for word in words[bad].unique()]
    cells, one = "that cell" if bad.sum() == 1 else "those cells", str(words[bad].iloc[0])
    return (
        f"column {name!r} is read as categories because of {listed(found, LISTED_LEVELS, IN_ALL)}; "
        f"leave {cells} empty (--missing {quoted(f'{name}={one}')}, missing={{{str(name)!r}: [{one!r}]}} in Python) to "
        f"read the column as numbers, or declare that this is meant, with --kind {quoted(str(name))}=category "
        f"(dtypes={{{str(name)!r}: 'category'}} in Python)"
    )
