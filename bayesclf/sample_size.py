"""How many examples an estimated probability needs: Mitchell's first exercise."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.special import betaincinv, ndtri

from bayesclf.errors import InputError


def examples_needed(half_width: float = 0.02, p: float = 0.5, level: float = 0.95, method: str = "normal") -> int:
    """Return the smallest n for which the interval of a Bernoulli's estimate is ± `half_width` or narrower.

    The interval after n examples, a share p of them positive:

    ========== ===========================================================================
    method     half width
    ========== ===========================================================================
    ``normal`` z √(p(1 − p)/n)
    ``wilson`` z √(p(1 − p)/n + z²/4n²) / (1 + z²/n)
    ``beta``   half of the distance between the tail quantiles of Beta(1 + np, 1 + n(1 − p))
    ========== ===========================================================================

    The first two are confidence intervals, the third is the credible interval of the posterior under a uniform
    prior. All shrink as n grows, and are widest at p = ½.

    Parameters
    ----------
    half_width
        Largest half width, in (0, ½).
    p
        Share of positive examples, in (0, 1).
    level
        Probability of the interval, in (0, 1).
    method
        One of the table's.

    Raises
    ------
    InputError
        For an unknown method, or a number outside its range.

    References
    ----------
    Mitchell, exercise 1; E. B. Wilson, JASA 22 (1927), doi:10.1080/01621459.1927.10502953.

    Examples
    --------
    >>> examples_needed()
    2401
    >>> [examples_needed(method=method) for method in ("wilson", "beta")]
    [2398, 2398]
    >>> examples_needed(p=0.1)
    865
    """
    for name, value, largest in (("half_width", half_width, 0.5), ("p", p, 1), ("level", level, 1)):
        if not 0 < value < largest:
            raise InputError(f"{name} must lie between 0 and {largest}, not {value}")
    if method not in HALF_WIDTHS:
        raise InputError(f"unknown method {method!r}; the methods are {', '.join(HALF_WIDTHS)}")
    width = HALF_WIDTHS[method]
    enough = 1
    while width(enough, p, level) > half_width:
        enough *= 2
    short = enough // 2
    while enough - short > 1:
        middle = (short + enough) // 2
        if width(middle, p, level) > half_width:
            short = middle
        else:
            enough = middle
    return enough


def _normal(n: int, p: float, level: float) -> float:
    return _z(level) * math.sqrt(p * (1 - p) / n)


def _wilson(n: int, p: float, level: float) -> float:
    z = _z(level)
    return z * math.sqrt(p * (1 - p) / n + (z / (2 * n)) ** 2) / (1 + z**2 / n)


def _beta(n: int, p: float, level: float) -> float:
    low, high = (float(betaincinv(1 + n * p, 1 + n * (1 - p), (1 + sign * level) / 2)) for sign in (-1, 1))
    return (high - low) / 2


def _z(level: float) -> float:
    """Return the quantile z of the standard normal with P(|Z| ≤ z) = level."""
    return float(ndtri((1 + level) / 2))


HALF_WIDTHS: dict[str, Callable[[int, float, float], float]] = {"normal": _normal, "wilson": _wilson, "beta": _beta}
"""Half width of the interval, by method: a function of n, p and the level."""
