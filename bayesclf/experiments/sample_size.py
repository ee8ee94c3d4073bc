"""How many examples does an estimated probability need, and do its intervals have the stated coverage?

Naive Bayes estimates probabilities, such as that of a word in a class, from counts. Exercise 1 of Mitchell's draft
chapter Generative and Discriminative Classifiers (2010) asks how many examples one such probability p takes: when is it
known to within ±0.02 with 95% confidence, say? The usual answer treats the share k/n of positive examples among n as
normally distributed, with variance p(1 − p)/n. Wilson's interval consists of the values of p that a test with this
variance does not reject. The Bayesian answer (beta) is an interval of the posterior of p under a uniform prior. The
coverage of an interval is the probability that it contains p. All numbers are enumerated from the binomial
distribution, without simulation.

p is not known before the examples are observed; the number for p = ½ is the largest, and so is enough for any p. A
credible interval has the stated coverage on average over the prior, not at every p.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import betaincinv, ndtri

from bayesclf.arrays import Array
from bayesclf.constraints import INSIDE, Choice, Number, Whole, require
from bayesclf.errors import InputError
from bayesclf.experiments.runner import Each, Figure, Record, Unit, curves, in_order, option
from bayesclf.wording import percent

__all__ = ["coverage", "examples_needed", "interval", "within"]

METHODS = ("normal", "wilson", "beta")
"""Normal approximation, Wilson's interval, and the posterior's under a uniform prior."""

SHARES = (0.5, 0.3, 0.1, 0.03, 0.01)
"""Values of p for which examples are counted."""

WIDTHS = (0.1, 0.05, 0.02, 0.01)
"""Half widths, besides the requested one."""

NARROWEST = 0.001
"""Narrower intervals need too many examples to enumerate."""


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    half_width: float = option(0.02, f"Half width of the interval, {NARROWEST} to 1/2.")
    level: float = option(0.95, "Probability of the interval, between 0 and 1.")
    seed: int = option(0, "Seed; nothing is random in this experiment.")


def tabulate(settings: Settings, each: Each) -> pd.DataFrame:
    """Return the examples needed, and what intervals then cover, by method, p and half width.

    `within` is the probability that the estimate k/n is no farther from p than the half width.
    """
    if not NARROWEST <= settings.half_width < 0.5:
        raise InputError(f"half_width must lie between {NARROWEST} and 0.5, not {settings.half_width}")
    require(INSIDE, level=settings.level)
    return in_order(each([(method, p) for method in METHODS for p in SHARES]), ["method"], method=METHODS)


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return the examples needed for each half width, their coverage, and how often the estimate is close enough."""
    method, p = str(unit[0]), float(unit[1])
    records = []
    for width in dict.fromkeys((settings.half_width, *WIDTHS)):
        n = examples_needed(width, p, settings.level, method)
        about = {"method": method, "p": p, "half_width": width, "n": n}
        records.append({**about, "coverage": coverage(method, n, p, settings.level), "within": within(n, p, width)})
    return records


def answer(settings: Settings, table: pd.DataFrame) -> tuple[str, ...]:
    """Say how many examples are needed, and what intervals cover at the smallest p."""
    own = table[table["half_width"] == settings.half_width].set_index(["p", "method"])
    half, tenth = ([f"{own['n'][p, method]:,.0f}" for method in METHODS] for p in (0.5, 0.1))
    rare = [percent(own["coverage"][min(SHARES), method]) for method in METHODS]
    return (
        f"For a {100 * settings.level:g}% interval of ±{settings.half_width:g} at p = ½, the normal approximation "
        f"needs {half[0]} examples, Wilson's interval {half[1]} and the posterior's interval {half[2]}. At p = 0.1, "
        f"the three intervals need {tenth[0]}, {tenth[1]} and {tenth[2]}.",
        f"At p = {min(SHARES):g}, with as many examples as each requires, their coverage is {rare[0]}, {rare[1]} and "
        f"{rare[2]}.",
    )


def summary(settings: Settings, table: pd.DataFrame) -> pd.DataFrame:
    """Return the examples needed for the requested half width, and what the intervals then cover."""
    return table[table["half_width"] == settings.half_width]


def figure(settings: Settings, table: pd.DataFrame) -> Figure:
    """Return the examples needed by method and p."""
    caption = "By p. Under the normal approximation, half the width takes four times as many examples, whatever p is."
    labels = ("half width", "examples")
    draw = partial(curves, table, "method", "p", "n", x="half_width", labels=labels, log="xy")
    return Figure("Examples needed against half width", caption, draw)


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
    require(Number(above=0, below=0.5), half_width=half_width)
    require(INSIDE, p=p, level=level)

    def narrow(n: int) -> bool:
        """Return whether the interval after n examples is narrow enough."""
        low, high = interval(method, n * p, n, level)
        return bool((high - low) / 2 <= half_width)

    enough = 1
    while not narrow(enough):
        enough *= 2
    candidates = range(enough // 2 + 1, enough)
    return candidates.start + bisect_left(candidates, True, key=narrow)


def within(n: int, p: float, half_width: float) -> float:
    """Return P(|k/n − p| ≤ half width), k ~ Binomial(n, p), by enumeration.

    Examples
    --------
    >>> round(within(2, 0.5, 0.02), 3)
    0.5
    """
    require(Whole(1), n=n)
    require(Number(least=0, most=1), p=p)
    require(Number(least=0), half_width=half_width)
    k = np.arange(n + 1)
    # A share on the bound counts as within, whatever the rounding of k/n.
    near = np.abs(k / n - p) <= half_width * (1 + 1e-12)
    return float(stats.binom.pmf(k, n, p)[near].sum())


def coverage(method: str, n: int, p: float, level: float) -> float:
    """Return Σ_k Binomial(k | n, p) 1[p lies in the interval after k of n].

    References
    ----------
    Brown, Cai & DasGupta, *Interval Estimation for a Binomial Proportion*, Statist. Sci. 16 (2001),
    doi:10.1214/ss/1009213286.

    Examples
    --------
    The interval after 0 or 2 of 2 has no width under the normal approximation, that after 1 holds ½:

    >>> round(coverage("normal", 2, 0.5, 0.95), 3)
    0.5
    """
    require(Whole(1), n=n)
    require(Number(least=0, most=1), p=p)
    k = np.arange(n + 1)
    low, high = interval(method, k, n, level)
    return float(stats.binom.pmf(k, n, p)[(low <= p) & (p <= high)].sum())


def interval(method: str, k: Any, n: int, level: float) -> tuple[Array, Array]:
    """Return both ends of the interval after k of n positive examples.

    Wilson's is centered at (k + z²/2)/(n + z²), the normal one at k/n; the posterior's runs between its tail quantiles.
    """
    require(Choice(METHODS), method=method)
    require(Whole(1), n=n)
    require(Number(least=0, most=n, array=True), k=k)
    require(INSIDE, level=level)
    share = np.asarray(k, dtype=float) / n
    if method == "beta":
        low, high = (betaincinv(1 + n * share, 1 + n * (1 - share), (1 + sign * level) / 2) for sign in (-1, 1))
        return np.asarray(low), np.asarray(high)
    z = float(ndtri((1 + level) / 2))
    shift = z**2 if method == "wilson" else 0.0
    center = (n * share + shift / 2) / (n + shift)
    half = z * np.sqrt(share * (1 - share) / n + shift / (2 * n) ** 2) / (1 + shift / n)
    return center - half, center + half
