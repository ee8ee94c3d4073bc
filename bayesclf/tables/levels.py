"""The levels of a category: how truth values and numbers are written as words, and the order of levels."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Hashable, Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesclf.errors import InputError

MISSING_LEVEL = None
"""The level that stands for "missing" where missing cells are a level of their own."""

EXACT = 2.0**53
"""Whole numbers below it are floats exactly."""


def canonical(value: Hashable) -> str | None:
    """Return the one word for a truth value or a number, however a file writes it; None for what is neither.

    Examples
    --------
    >>> [canonical(value) for value in (True, "TRUE", 2, 2.0, "2.0", 0.5, "01", "rain", None)]
    ['True', 'True', '2', '2', '2', '0.5', '01', 'rain', None]
    """
    if isinstance(value, str):
        whole, _, rest = value.partition(".")
        if rest == "0" and whole.removeprefix("-").isdecimal():
            return whole
        return value.capitalize() if value in ("true", "false", "TRUE", "FALSE") else value
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        return str(int(value))
    return str(value) if isinstance(value, int | float) else None


def whole_labels(y: pd.Series) -> pd.Series:
    """Return labels of a file that are whole numbers as such: gaps, and decimals as in 1.0, make floats of them."""
    y = y.infer_objects()
    known = y.dropna()
    if y.dtype.kind == "f" and (known % 1 == 0).all() and (known.abs() < EXACT).all():
        return y.astype("Int64" if y.hasnans else "int64")
    return y


def word(value: Any) -> str:
    """Return what stands for a cell in a column of words: a number is written as `canonical` does, a word as it is."""
    plain = value.item() if isinstance(value, np.generic) else value
    return str(plain if isinstance(plain, str) else canonical(plain) or plain)


def written_alike(values: Collection[Hashable], levels: Iterable[Hashable]) -> dict[Hashable, Hashable]:
    """Return, by value, the level that a file would write in the same way, for the values that have one.

    Of several, as "True" and "true", it is the one that Python writes.

    Examples
    --------
    >>> written_alike([True, 2.0, "maybe"], ["False", "True", "1", "2"])
    {True: 'True', 2.0: '2'}
    >>> written_alike(["false", "1"], [False, True])
    {'false': False}
    """
    if not values:
        return {}
    levels = list(levels)
    known = {canonical(level): level for level in levels} | {level: level for level in levels if isinstance(level, str)}
    words = {value: own for value in values if (own := canonical(value)) is not None}
    found = {value: known.get(str(value), known.get(own)) for value, own in words.items()}
    return {value: level for value, level in found.items() if level is not None}


def require_one_way(name: str, levels: Collection[Hashable], others: Collection[Hashable]) -> None:
    """Raise `InputError` where a level of some rows is written as another one of other rows is, as True and "True"."""
    for one, two in ((levels, others), (others, levels)):
        for value, level in written_alike([value for value in one if value not in two], two).items():
            if level not in one and not (isinstance(value, str) and isinstance(level, str)):
                raise InputError(
                    f"column {name!r} holds both {value!r} and {level!r}, which would be two levels; give all rows as "
                    "files, or all as tables with the same types"
                )


def leading_number(level: object) -> tuple[float, bool]:
    """Return the number that a level begins with, ∞ without one, and whether the level is not below it.

    By these, ranges such as <5, 5-9 and 10-14 are shown in their order.

    Examples
    --------
    >>> sorted(["10-14", "5-9", "<5"], key=leading_number)
    ['<5', '5-9', '10-14']
    """
    found = re.match(r"\s*([<>≤≥]?)\s*(-?\d+(?:\.\d+)?)", str(level))
    return (float(found[2]), found[1] not in ("<", "≤")) if found else (math.inf, True)


def class_order(y: Any, classes: NDArray[Any]) -> tuple[int, ...]:
    """Return the codes of the classes as people read them: in the order of an ordered categorical, or sorted."""
    codes = range(len(classes))
    dtype: Any = getattr(y, "dtype", None)
    if not getattr(dtype, "ordered", False):
        return tuple(codes)
    return tuple(sorted(codes, key=lambda code: list(dtype.categories).index(classes[code])))


def in_order(values: set[Hashable]) -> tuple[Hashable, ...]:
    """Sort values of any types: by type, then by value; `MISSING_LEVEL` last."""
    known = sorted((v for v in values if v is not MISSING_LEVEL), key=_sort_key)
    return (*known, MISSING_LEVEL) if MISSING_LEVEL in values else tuple(known)


def _sort_key(value: Hashable) -> tuple[str, Any]:
    if isinstance(value, bool | int | float):
        return ("", value)
    return (type(value).__name__, value if isinstance(value, str) else str(value))
