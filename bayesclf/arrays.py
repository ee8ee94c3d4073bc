"""Types of arrays that every module uses, and the refusal of those that would take more memory than they may."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bayesclf.errors import InputError, Refused

type Array = NDArray[np.float64]
type Integers = NDArray[np.intp]
type Parameters = Mapping[str, Array]
"""Values of a model's parameters, by name; every array has the draw as its first axis."""

MOST_BYTES = 4 * 2**30
"""Bytes that one step of a fit may take; the environment variable `SETTING` is another number."""

SETTING = "BAYESCLF_MAX_BYTES"


def most_bytes() -> int:
    """Return the bytes that one step may take: those of the environment variable, or `MOST_BYTES`."""
    given = os.environ.get(SETTING, "").strip()
    if not given:
        return MOST_BYTES
    try:
        allowed = int(float(given))
    except (ValueError, OverflowError):
        allowed = 0
    if allowed < 1:
        raise InputError(f"the environment variable {SETTING} must be a number of bytes, such as 16e9, not {given!r}")
    return allowed


def require_bytes(needed: float, what: str, remedy: str) -> None:
    """Raise `Refused` before work that would take more memory than it may.

    Examples
    --------
    >>> require_bytes(2**40, "a matrix of 370,728 × 370,728 numbers", "take fewer columns")
    Traceback (most recent call last):
        ...
    bayesclf.errors.Refused: a matrix of 370,728 × 370,728 numbers would take about 1,024 GiB of memory (limit 4 GiB); \
take fewer columns, or raise the limit by the environment variable BAYESCLF_MAX_BYTES
    """
    allowed = most_bytes()
    if needed > allowed:
        raise Refused(
            f"{what} would take about {_gibibytes(needed)} of memory (limit {_gibibytes(allowed)}); {remedy}, or raise "
            f"the limit by the environment variable {SETTING}"
        )


def require_number(each: int, error: type[Exception] = InputError, /, **given: int) -> None:
    """Raise for the first number of things that would take more memory than they may.

    Examples
    --------
    >>> require_number(80, draws=10**9)
    Traceback (most recent call last):
        ...
    bayesclf.errors.InputError: draws=1,000,000,000 would take about 74.5 GiB of memory (limit 4 GiB); at most \
53,687,091 fit, or raise the limit by the environment variable BAYESCLF_MAX_BYTES
    """
    allowed = most_bytes()
    for name, number in given.items():
        needed = int(number) * each
        if needed > allowed:
            raise error(
                f"{name}={number:,} would take about {_gibibytes(needed)} of memory (limit {_gibibytes(allowed)}); at "
                f"most {allowed // each:,} fit, or raise the limit by the environment variable {SETTING}"
            )


def _gibibytes(size: float) -> str:
    return f"{size / 2**30:,.3g} GiB" if size < 100 * 2**30 else f"{size / 2**30:,.0f} GiB"
