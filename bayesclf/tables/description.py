"""Description of a table: what each column was taken for, and what deserves attention."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Hashable, Mapping
from shlex import quote
from typing import Any

import pandas as pd

from bayesclf.tables.columns import ColumnKind, column_kind, row_numbers
from bayesclf.tables.kinds import LISTED_LEVELS, as_words, not_numbers, require_column, require_kinds
from bayesclf.tables.labels import alike, both
from bayesclf.tables.missing import spike
from bayesclf.tables.useless import why_useless
from bayesclf.tables.writing import Survey, written
from bayesclf.wording import AND_MORE, IN_ALL, flagged_rows, listed

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
        return f"column {name!r} {why}, and so says nothing about new rows; leave it out (--drop {quote(str(name))})"
    if kind != "category":
        return ""
    almost = "" if isinstance(column.dtype, pd.CategoricalDtype) else _almost_numbers(name, column, levels)
    return almost or _differ_in_case(name, levels)


def _differ_in_case(name: Hashable, levels: Counter[Any]) -> str:
    """Name levels that may be one; empty where all differ in more than case and blanks."""
    counts = {str(level): count for level, count in levels.items()}
    pairs = listed((both(pair, counts) for pair in alike(counts)), LISTED_LEVELS, AND_MORE)
    return (
        f"levels {pairs} of column {name!r} differ in case alone; write them one way if they are one" if pairs else ""
    )


def _almost_numbers(name: Hashable, column: pd.Series, levels: Counter[Any]) -> str:
    """Say which cells keep a column from being read as numbers, if the others are numbers."""
    if sum(count for level, count in levels.items() if NUMERIC.search(str(level))) <= ALMOST_NUMBERS * levels.total():
        return ""
    words, most = as_words(column), (1 - ALMOST_NUMBERS) * column.notna().sum()
    bad = not_numbers(words)
    if bad.sum() >= most:  # with decimal commas or signs, all are words to a program
        bad = words.map(lambda word: written(word.strip()) is None, na_action="ignore").fillna(False).astype(bool)
        if not _are_numbers(words[~bad]):
            return ""
    if not 0 < bad.sum() < most:
        return ""
    rows, bad_words = row_numbers(column, range(len(column))), [str(word) for word in words[bad].unique()]
    found = [f"{word!r} ({flagged_rows(words == word, rows)})" for word in bad_words]
    cells = "that cell" if bad.sum() == 1 else "those cells"
    remedy = f"write numbers into {cells}, or leave them empty,"
    if len(bad_words) <= LISTED_LEVELS:
        options = " ".join(f"--missing {quote(f'{name}={word}')}" for word in bad_words)
        remedy = f"leave {cells} empty ({options}, missing={{{str(name)!r}: {bad_words!r}}} in Python)"
    return (
        f"column {name!r} is read as categories because of {listed(found, LISTED_LEVELS, IN_ALL)}; {remedy} to "
        f"read the column as numbers, or declare that this is meant, with --kind {quote(str(name))}=category "
        f"(dtypes={{{str(name)!r}: 'category'}} in Python)"
    )


def _are_numbers(words: pd.Series[Any]) -> bool:
    """Return whether a file with these words alone in a column would be read as numbers."""
    import pyarrow as pa

    survey = Survey()
    survey.add(pa.array(words.dropna(), pa.string()))
    return survey.meaning(None).held in ("whole", "number")
