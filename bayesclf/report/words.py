"""Numbers and lists in words, as the report prints them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

NEGLIGIBLE = 1e-12
"""Rounding errors of sums of floats lie below this."""


MOST_DECIMALS = 6


def number(value: float, digits: int = 3) -> str:
    """Return a number with a fixed count of decimals; only zero itself is shown as 0.

    Examples
    --------
    >>> number(0.1234), number(-0.02), number(0.0), number(float("inf"))
    ('0.123', '−0.020', '0', '∞')
    """
    if np.isnan(value):
        return "n/a"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) < NEGLIGIBLE:
        return "0"
    text = f"{abs(value):.{digits}f}"
    return f"−{text}" if value < 0 and float(text) else text


def pair(value: float, error: float, digits: int = 3) -> str:
    """Return "value ± standard error", the latter left out where there is none.

    There are more decimals than `digits` where the standard error would be rounded to zero.

    Examples
    --------
    >>> pair(0.1234, 0.05), pair(0.1234, float("nan")), pair(0.00021, 0.00004)
    ('0.123 ± 0.050', '0.123', '0.00021 ± 0.00004')
    """
    if np.isnan(error):
        return number(value, digits)
    if NEGLIGIBLE < error < 0.5 * 10**-digits:
        digits = min(MOST_DECIMALS, int(np.ceil(-np.log10(error))))
    return f"{number(value, digits)} ± {number(error, digits)}"


def percent(share: float, error: float = float("nan")) -> str:
    """Return a share in per cent.

    Examples
    --------
    >>> percent(0.9733), percent(0.9733, 0.0105)
    ('97.3 %', '97.3 ± 1.1 %')
    """
    return f"{pair(100 * share, 100 * error, 1)} %" if np.isfinite(share) else "n/a"


def count(size: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> count(1, "row"), count(12000, "row"), count(2, "class", "classes")
    ('1 row', '12,000 rows', '2 classes')
    """
    return f"{size:,} {noun if size == 1 else plural or noun + 's'}"


def listed(words: Sequence[str]) -> str:
    """Return words joined by commas and "and".

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
