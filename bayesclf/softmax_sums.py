"""Sums of softmax probabilities as machine code: one pass over numbers that NumPy goes over four times or more.

Numba compiles `add_sums` when it is first needed and keeps the code on disk. It takes no Python object and no lock, so
that threads run at once; a row's numbers stay in the cache, and loops over them become vector instructions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numba as nb
import numpy as np
from numba import types

from bayesclf.typing import Array

COEFFICIENTS = tuple(math.log(2) ** n / math.factorial(n) for n in range(13))
"""Of the powers of x in 2^x, enough for 16 digits where |x| ≤ 1/2."""
SMALLEST, LARGEST = -1022.0, 1024.0
"""Exponents of two between which a power is a number of full precision; that of the last is infinite already."""
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "fastmath": {"reassoc", "contract", "nsz"}}
"""Sums may be taken in any order, without which they are not vectorised; infinity and NaN keep their meaning."""


@cache
def compiled() -> Callable[[Array, Array], None]:
    """Return `add_sums` as machine code."""
    signature = types.void(types.double[:, :, ::1], types.double[:, :])
    try:
        code = nb.njit(signature, cache=True, **OPTIONS)(add_sums)
    except RuntimeError:
        # There is no folder that Numba may write to.
        code = nb.njit(signature, **OPTIONS)(add_sums)
    return cast(Callable[[Array, Array], None], code)


def add_sums(exponents: Array, sums: Array) -> None:
    """Add Σ_s P_k to `sums`, where P_0 = 1/(1 + Σ_j 2^x_j) and P_j = 2^x_j P_0; NaN makes a sum NaN.

    Parameters
    ----------
    exponents
        x (outcome, row, draw), of all labels but the first; of more than one it is overwritten.
    sums
        (outcome, row), of the first label and then of the others; of the first alone where there is one other.
    """
    others, rows, draws = exponents.shape
    first = np.empty(draws)
    for row in range(rows):
        if others == 1:
            sums[0, row] += _sum_of_two(exponents[0, row])
        else:
            first[:] = 1.0
            for k in range(others):
                _raise(exponents[k, row], first)
            sums[0, row] += _invert(first)
            for k in range(others):
                sums[1 + k, row] += _product(exponents[k, row], first)


def _part[F: Callable[..., Any]](function: F) -> F:
    """Make a function a part of `add_sums`."""
    return cast(F, nb.njit(forceinline=True, **OPTIONS)(function))


@_part
def _sum_of_two(exponents: Array) -> float:
    total = 0.0
    for draw in range(len(exponents)):
        total += 1.0 / (1.0 + _power_of_two(exponents[draw]))
    return total


@_part
def _raise(exponents: Array, total: Array) -> None:
    """Turn exponents into powers of two and add these to `total`."""
    for draw in range(len(total)):
        power = _power_of_two(exponents[draw])
        exponents[draw] = power
        total[draw] += power


@_part
def _invert(values: Array) -> float:
    """Turn values into their inverses and return the sum of these."""
    total = 0.0
    for draw in range(len(values)):
        values[draw] = 1.0 / values[draw]
        total += values[draw]
    return total


@_part
def _product(a: Array, b: Array) -> float:
    total = 0.0
    for draw in range(len(a)):
        total += a[draw] * b[draw]
    return total


@_part
def _power_of_two(exponent: float) -> float:
    """Return 2 to this power: that of the nearest whole number goes into the bits of the exponent."""
    exponent = SMALLEST if exponent < SMALLEST else exponent
    exponent = LARGEST if exponent > LARGEST else exponent
    whole = math.floor(exponent + 0.5)
    power = COEFFICIENTS[12]
    for n in range(11, -1, -1):
        power = COEFFICIENTS[n] + power * (exponent - whole)
    bits = np.float64(power).view(np.int64) + (np.int64(whole) << 52)
    return float(np.int64(bits).view(np.float64))
