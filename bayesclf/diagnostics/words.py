"""Lists of names and of rows in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from bayesclf.diagnostics import thresholds
from bayesclf.wording import AND_MORE, listed


def named(names: Sequence[str]) -> str:
    """Return quoted names joined by commas and "and", `SHOWN` of them at most.

    Examples
    --------
    >>> named(["a", "b"]), named(["a", "b", "c", "d", "e", "f", "g"])
    ("'a' and 'b'", "'a', 'b', 'c', 'd', 'e' and 2 more")
    """
    return listed(map(repr, names), thresholds.SHOWN, AND_MORE, last=" and ")


def counted(rows: Sequence[int]) -> str:
    """Return numbers of rows joined by commas, `SHOWN` of them at most.

    Examples
    --------
    >>> counted([3, 17]), counted([1, 2, 3, 4, 5, 6, 7])
    ('3, 17', '1, 2, 3, 4, 5, …')
    """
    return listed(rows, thresholds.SHOWN)
