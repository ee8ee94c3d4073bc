"""Numbers and lists in words, as the report prints them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def number(value: float, digits: int = 3) -> str:
    """Return a number with a fixed count of decimals, or with significant digits where these would hide it.

    Examples
    --------
    >>> number(0.1234), number(-0.02), number(0.00001), number(float("inf"))
    ('0.123', '−0.020', '1e-05', '∞')
    """
    if np.isnan(value):
        return "n/a"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value != 0 and abs(value) < 0.5 * 10**-digits:
        return "0" if abs(value) < 1e-12 else f"{value:.0e}".replace("-", "−", 1) if value < 0 else f"{value:.0e}"
    return f"{value:.{digits}f}".replace("-", "−")


def pair(value: float, error: float, digits: int = 3) -> str:
    """Return "value ± standard error", the latter left out where there is none."""
    return number(value, digits) if np.isnan(error) else f"{number(value, digits)} ± {number(error, digits)}"


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
