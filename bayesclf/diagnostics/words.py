"""Lists of names and of rows in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from bayesclf.diagnostics import thresholds


def named(names: Sequence[str]) -> str:
    """Return quoted names joined by commas and "and", `SHOWN` of them at most.

    Examples
    --------
    >>> named(["a", "b"]), named(["a", "b", "c", "d", "e", "f", "g"])
    ("'a' and 'b'", "'a', 'b', 'c', 'd', 'e' and 2 more")
    """
    shown = [repr(name) for name in names[: thresholds.SHOWN]]
    if len(names) > thresholds.SHOWN:
        shown.append(f"{len(names) - thresholds.SHOWN} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def counted(rows: Sequence[int]) -> str:
    """Return numbers of rows joined by commas, `SHOWN` of them at most.

    Examples
    --------
    >>> counted([3, 17]), counted([1, 2, 3, 4, 5, 6, 7])
    ('3, 17', '1, 2, 3, 4, 5, …')
    """
    shown = [str(row) for row in rows[: thresholds.SHOWN]]
    return ", ".join(shown + ["…"] * (len(rows) > thresholds.SHOWN))
