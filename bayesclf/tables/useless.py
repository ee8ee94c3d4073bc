"""Columns that say nothing about new rows: constants, names and numbers of rows, dates, text beside other columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln

from bayesclf.errors import InputError
from bayesclf.tables import columns
from bayesclf.tables.kinds import require_column
from bayesclf.tables.writing import PLAIN, written
from bayesclf.wording import AND_MORE, LISTED_NAMES, listed

FEWEST_ROWS = 20
"""The fewest rows that tell: in fewer ones the values of any column may all be equal, or all be different."""

MOST_DIFFERENT = 0.9
"""The share of cells of words with a value of their own from which on a column names rows."""

CHANCE = 0.01
"""The largest probability that whole numbers that are all different are so by chance."""

ROW_NAMES = re.compile(r"(?i:id|uuid|guid|row_?names?|index)|.+[_ .-](?i:id|uuid)|.*[a-z](Id|ID)")
"""Names of columns that name rows, where their values are all different."""

LOOKED_AT = 1000
"""Rows that are looked at first, so that most columns of a table in memory take no time."""

AMOUNTS = {"whole", "point", "point?", "comma?", "commas", "commas, point"}
"""Shapes of numbers that only signs and commas keep from being read as such."""

MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T]\d.*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{2}|\d{4})([ T]\d.*)?"
    rf"|{MONTH} \d{{1,2}},? \d{{4}}|\d{{1,2}}[- ]{MONTH}[- ](\d{{2}}|\d{{4}})"
    r"|(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])",
    re.IGNORECASE,
)
MANY_DATES = 20
"""A column with at least so many values, all of this form, holds dates."""


def useless(
    frame: pd.DataFrame, target: str | None = None, keep: Collection[str] = (), every_row: bool = True
) -> dict[str, str]:
    """Return the columns that say nothing about new rows, and why; `keep` has columns that are not looked at.

    The first rows of more, without `every_row`, do not tell whether a column has one value only, or none.

    Examples
    --------
    >>> table = pd.DataFrame({"id": range(40), "unit": "kg", "weight": [61.5, 70.0] * 20})
    >>> useless(table)
    {'id': 'numbers the rows', 'unit': 'has one value only'}
    """
    names = [str(name) for name in frame.columns if name != target]
    found = {name: why for name in names if name not in keep and (why := why_useless(frame[name], every_row))}
    if len(names) > 1:
        texts = [name for name in names if name not in {*found, *keep} and columns.column_kind(frame[name]) == "text"]
        rest = [name for name in names if name not in {*found, *texts}]
        found |= dict.fromkeys(texts if rest else [], "holds free text")
    return found


def about_useless(frame: pd.DataFrame) -> list[str]:
    """Say of a table in memory which columns say nothing about new rows, or hold numbers with signs, and what to do.

    Examples
    --------
    >>> prices = [f"${number / 2:.2f}" for number in range(40)]
    >>> print(*about_useless(pd.DataFrame({"id": range(40), "x": 0.5, "price": prices})), sep="\\n")
    column 'id' numbers the rows; X.drop(columns=['id']) leaves it out
    column 'price' holds numbers with signs; X['price'].replace(r"[^0-9.-]", "", regex=True).astype(float) reads them
    """
    names = [str(name) for name in frame.columns]
    named, amounts = frame.set_axis(names, axis=1), []
    keep = [name for name in names if pd.api.types.is_float_dtype(named.dtypes[name])]
    for part in [named.head(LOOKED_AT), named] if len(named) > LOOKED_AT else [named]:
        amounts = [name for name in names if name not in keep and _holds_amounts(part[name])]
        found = useless(part, None, [*keep, *amounts], every_row=False)
        keep = [name for name in names if name not in {*found, *amounts}]
    said = [
        f'column {name!r} holds numbers with signs; X[{name!r}].replace(r"[^0-9.-]", "", regex=True).astype(float) '
        "reads them"
        for name in amounts
    ]
    if not found:
        return said
    whys = listed([f"column {name!r} {why}" for name, why in found.items()], LISTED_NAMES, AND_MORE)
    derive = "; derive numbers from dates, such as the year" if "holds dates" in found.values() else ""
    them = "it" if len(found) == 1 else "them"
    return [f"{whys}; X.drop(columns={list(found)!r}) leaves {them} out{derive}", *said]


def _holds_amounts(column: pd.Series[Any]) -> bool:
    """Return whether nearly all words of a column are numbers with signs or commas, as in $1,137.00."""
    if isinstance(column.dtype, pd.CategoricalDtype) or not (
        column.dtype == object or pd.api.types.is_string_dtype(column.dtype)
    ):
        return False
    words = pd.unique(column.dropna())
    if len(words) < FEWEST_ROWS or not all(isinstance(word, str) for word in words):
        return False
    shapes = [written(word.strip()) for word in words]
    return all(found and found[1] in AMOUNTS for found in shapes) and not all(map(PLAIN.fullmatch, words))


def why_useless(column: pd.Series[Any], every_row: bool = True) -> str:
    """Return why a column says nothing about new rows; empty for one that may."""
    values = pd.unique(column.dropna())
    if len(values) < 2 and not every_row:
        return ""
    if not len(values):
        return "has no values"
    if len(column) < FEWEST_ROWS:
        return ""
    if len(values) == 1:  # whether a cell is missing may say something
        return "" if column.isna().any() else "has one value only"
    if holds_dates(column):
        return "holds dates"
    text = not isinstance(column.dtype, pd.CategoricalDtype) and columns.column_kind(column) == "text"
    return "" if text else names_rows(column)


def holds_dates(column: pd.Series[Any]) -> bool:
    """Return whether a column has many values, all of which are written as dates."""
    values = pd.unique(column.dropna())
    if len(values) < MANY_DATES or pd.api.types.is_float_dtype(column.dtype):
        return False
    return all(DATE.fullmatch(str(value)) for value in values)


def names_rows(column: pd.Series[Any]) -> str:
    """Return how a column names or numbers the rows; empty if it does neither.

    Words name the rows if nearly all are different and they are no numbers. Whole numbers do if they only rise or fall.
    Different ones do if measured ones would not differ (`all_different`), or if the column is called an identifier.
    """
    values = column.dropna()
    if len(values) < FEWEST_ROWS:
        return ""
    different, named = values.nunique(), bool(ROW_NAMES.fullmatch(str(column.name)))
    if columns.kind_of(column) == "category":
        if different <= MOST_DIFFERENT * len(values) or _mostly_numbers(values):
            return ""
        return "has another value in almost every row"
    if different < len(values):
        return ""
    x = values.to_numpy(dtype=float)
    if not np.isfinite(x).all() or not (x == np.floor(x)).all():
        return ""
    steps = np.diff(x)
    counts = all_different(len(x), np.ptp(x) + 1) < CHANCE or (steps > 0).all() or (steps < 0).all()
    return "numbers the rows" if counts or named else ""


def _mostly_numbers(values: Iterable[Any]) -> bool:
    words = [str(value) for value in values]
    return sum(bool(PLAIN.fullmatch(word.strip())) for word in words) >= MOST_DIFFERENT * len(words)


def all_different(values: int, span: float) -> float:
    """Return the largest probability that independent whole numbers in a range are all different.

    It is Π(1 − i/R) over i < n, that of uniform numbers: no distribution has fewer collisions.

    Parameters
    ----------
    values
        Their number n.
    span
        Number of whole numbers from the smallest to the largest; the range R is taken to be wider by (n + 1)/(n − 1),
        as the extremes of n uniform numbers lie inside it.

    References
    ----------
    Munford (1977), A note on the uniformity assumption in the birthday problem, The American Statistician 31.

    Examples
    --------
    >>> round(all_different(23, 365 * 22 / 24), 2)
    0.49
    """
    span *= (values + 1) / (values - 1)
    if span <= values:
        return 0.0
    return float(np.exp(gammaln(span + 1) - gammaln(span - values + 1) - values * np.log(span)))


def left_out(
    frame: pd.DataFrame, target: str | None, keep: Collection[str], where: str, every_row: bool = True
) -> tuple[dict[str, str], list[str]]:
    """Return the columns of a file that are not fitted, and why; and sentences about them."""
    for name in keep:
        require_column(name, [str(column) for column in frame.columns], where)
    if target is not None and (why := names_rows(frame[target])):
        raise InputError(
            f"{where}: the label column {target!r} {why}, and so does not say a class; choose another --target"
        )
    found = useless(frame, target, keep, every_row)
    if found and len(found) == len(frame.columns) - (target is not None):
        names = " ".join(f"--keep {quote(name)}" for name in found)
        raise InputError(
            f"{where}: no column is left, as {listed(f'{name!r} {why}' for name, why in found.items())}; {names} "
            f"(keep={list(found)!r}) takes what is to be used all the same"
        )
    return found, [_sentence(name, why) for name, why in found.items()]


def _sentence(name: str, why: str) -> str:
    derived = "; derive numbers from it, such as the year or the days since the first" if why == "holds dates" else ""
    alone = f"; --models text --text {quote(name)} fits it alone" if why == "holds free text" else ""
    return f"column {name!r} {why} and is left out (--keep {quote(name)} takes it{derived}{alone})"
