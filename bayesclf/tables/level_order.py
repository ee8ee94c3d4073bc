"""The order of the levels of a category: what a column says of it, what is given, and that of several together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import pandas as pd

from bayesclf.errors import InputError

MISSING_LEVEL = None
"""The level that stands for "missing" where missing cells are a level of their own."""


def has_order(dtype: Any) -> bool:
    """Return whether a dtype is that of an ordered categorical."""
    return isinstance(dtype, pd.CategoricalDtype) and bool(dtype.ordered)


def ordered_levels(
    column: pd.Series, levels: tuple[Hashable, ...], given: Sequence[Hashable] | None = None
) -> tuple[Hashable, ...]:
    """Return a column's levels in the order that is given, or that the column has.

    Parameters
    ----------
    column : Series of shape (row,)
        The column.
    levels : tuple
        Its levels: those of a categorical as they stand there, which is their order only where it is an ordered one,
        others sorted.
    given : sequence or None
        All levels in order.

    Raises
    ------
    InputError
        For words without an order, and for a level that is not among those given.

    Examples
    --------
    >>> ordered_levels(pd.Series([3, 1, 2, 3]), (1, 2, 3))
    (1, 2, 3)
    >>> ordered_levels(pd.Series(["S", "L"]), ("L", "S"), given=["S", "M", "L"])
    ('S', 'M', 'L')
    >>> ordered_levels(pd.Series(pd.Categorical([3, 1], categories=[3, 1, 2])), (3, 1, 2))
    (1, 2, 3)
    """
    name = column.name
    if given is not None:
        unknown = [level for level in levels if level not in given]
        if unknown:
            raise InputError(f"column {name!r} has the level {unknown[0]!r}, but the levels given are {list(given)!r}")
        return tuple(given)
    if has_order(column.dtype):
        return levels
    words = [level for level in levels if isinstance(level, str)]
    if words:
        raise InputError(
            f"column {name!r} has words without an order, such as {words[0]!r}; make it an ordered "
            f"categorical, X[{name!r}].astype(pd.CategoricalDtype(['low', 'high'], ordered=True)) with its own levels "
            "from the lowest to the highest, or list these in Ordinal(levels=['low', 'high'])"
        )
    numbers: Any = levels
    return tuple(sorted(numbers))


def merged(name: str, levels: tuple[Hashable, ...], others: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    """Return the levels of two columns of that name whose order was given: the longer list, which has the other in it.

    Raises
    ------
    InputError
        Where neither has the other in it, in its order.
    """
    longer = max(levels, others, key=len)
    if any(tuple(level for level in longer if level in own) != own for own in (levels, others)):
        raise InputError(
            f"column {name!r} has the levels {list(levels)!r} in some rows and {list(others)!r} in others; give all "
            "rows the same levels in the same order"
        )
    return longer


def in_order(values: set[Hashable]) -> tuple[Hashable, ...]:
    """Sort values of any types: by type, then by value; `MISSING_LEVEL` last."""
    known = sorted((v for v in values if v is not MISSING_LEVEL), key=_sort_key)
    return (*known, MISSING_LEVEL) if MISSING_LEVEL in values else tuple(known)


def _sort_key(value: Hashable) -> tuple[str, Any]:
    if isinstance(value, bool | int | float):
        return ("", value)
    return (type(value).__name__, value if isinstance(value, str) else str(value))
