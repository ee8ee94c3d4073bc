"""Units of columns: powers of two in which a family measures numbers whose squares would overflow, or underflow.

A Gaussian family needs squares of its cells, and products of such squares. Columns of ordinary size are measured as
they are. The cells of any other are divided by a power of two, which is exact, so that no answer depends on the scale
of a column; densities are those of the column itself, by the Jacobian of the division.
"""

from __future__ import annotations

from typing import overload

import numpy as np

from bayesclf.tables.numbers import FARTHEST, Numbers
from bayesclf.typing import Array, Integers

ORDINARY = 2.0**128
"""Columns whose largest number is between its reciprocal and this one, the range of single precision, have unit 1."""

SMALLEST = -1022
"""Power of two of the smallest unit: its reciprocal must be finite."""

NEGLIGIBLE = 2.0**-600
"""Scatter, in squared units, at or below which the cells of a class count as equal: its reciprocal must be finite."""

LOST = 1e-6
"""Least share of a sum that must remain without a row: below it the difference loses six of sixteen digits."""


def unit_of(largest: Array) -> Array:
    """Return the units (feature) of columns by their largest magnitudes (feature); 0 for a column of zeros.

    A unit never falls as the largest magnitude rises, so that the unit of all rows is the largest of those of parts.
    """
    _, exponent = np.frexp(largest)
    ordinary = (largest >= 1 / ORDINARY) & (largest <= ORDINARY)
    return np.where(ordinary, 1.0, np.where(largest > 0, np.ldexp(1.0, np.maximum(exponent - 1, SMALLEST)), 0.0))


def at_unit_scale(values: Array) -> tuple[Array, Integers]:
    """Return columns (row, …) divided by powers of two, so that each has its largest magnitude below 1, and the powers.

    Squares and standard deviations of the columns themselves could overflow; those of what is returned are multiplied
    by a power of two exactly, with ``np.ldexp``.
    """
    _, power = np.frexp(np.abs(values).max(axis=0, initial=0.0))
    return np.ldexp(values, -power), power


def extent(X: Array | Numbers, *given: float | Array | None) -> Array:
    """Return the largest magnitude (feature) among cells (row, feature) and the sizes that a prior was given.

    A given size may be one number, or have the features, if as many, on its last axis.
    """
    if isinstance(X, Numbers):
        low, high = X.extremes
    else:
        low, high = np.fmin.reduce(X, axis=0, initial=0.0), np.fmax.reduce(X, axis=0, initial=0.0)
    largest: Array = np.maximum(np.maximum(high, -low), 0.0)
    for size in given:
        if size is not None:
            of_last = np.abs(np.atleast_1d(np.asarray(size, dtype=float)))
            of_last = of_last.reshape(-1, of_last.shape[-1]).max(axis=0)
            largest = np.maximum(largest, of_last if of_last.shape == largest.shape else of_last.max())
    return largest


def variances(values: Array, ratio: Array | float) -> Array:
    """Return variances (…, feature) multiplied by squared ratios of units (feature), above 0.

    One that would underflow is nothing next to the rows, by which its unit was chosen.
    """
    return np.maximum(values * ratio * ratio, np.finfo(float).tiny)


@overload
def measured(X: Numbers, unit: Array) -> Numbers: ...
@overload
def measured(X: Array, unit: Array) -> Array: ...
def measured(X: Array | Numbers, unit: Array) -> Array | Numbers:
    """Return cells (row, feature) in units (feature), arrays changed in place; none is further off than `FARTHEST`."""
    if isinstance(X, Numbers):
        return X.measured(unit)
    if (unit != 1).any():
        with np.errstate(over="ignore"):
            X /= unit
    return np.clip(X, -FARTHEST, FARTHEST, out=X)
