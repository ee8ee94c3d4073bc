"""Where two learning curves cross."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesclf.typing import Array

BOOTSTRAPS = 500
"""Resamples of the blocks of splits for the interval of a crossing."""

BOUNDS = (0.05, 0.95)


@dataclass(frozen=True)
class Crossing:
    """From how many training rows on the second curve stays below the first.

    Attributes
    ----------
    m
        Rows; the smallest size where it always is, infinite where it is not at the largest size.
    low, high
        5 % and 95 % of the bootstrap distribution, over blocks of splits; NaN with a single block.
    """

    m: float
    low: float
    high: float


def crossing(sizes: Array, difference: Array, rng: np.random.Generator) -> Crossing:
    """Return where first − second turns positive for good, interpolated in log m.

    Parameters
    ----------
    sizes
        Training sizes, increasing, (m).
    difference
        Error of the first curve minus that of the second, (block, m).
    rng
        Of the bootstrap.
    """
    point = last_crossing(sizes, difference.mean(axis=0))
    if len(difference) < 2:
        return Crossing(point, np.nan, np.nan)
    chosen = rng.integers(len(difference), size=(BOOTSTRAPS, len(difference)))
    resampled = [last_crossing(sizes, difference[rows].mean(axis=0)) for rows in chosen]
    low, high = np.quantile(resampled, BOUNDS, method="nearest")
    return Crossing(point, float(low), float(high))


def last_crossing(sizes: Array, difference: Array) -> float:
    """Return where a difference (m) turns positive for good, interpolated in log m; infinite where it never does."""
    behind = np.flatnonzero(difference <= 0)
    if not behind.size:
        return float(sizes[0])
    last = int(behind[-1])
    if last == len(sizes) - 1:
        return float("inf")
    before, after = difference[last], difference[last + 1]
    share = before / (before - after)
    return float(np.exp(np.log(sizes[last]) + share * np.log(sizes[last + 1] / sizes[last])))
