"""Cells of numbers as families read them: whole numbers of at least 0, numbers of at least 0, numbers above 0."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesclf.errors import InputError
from bayesclf.families.base import Axes
from bayesclf.typing import Array

MOST_EVENTS = 2.0**53
"""Largest count: above it floating-point numbers are no longer all whole numbers."""


def events(X: Array, axes: Axes) -> tuple[Array, Array]:
    """Return whether each cell is observed, 0 or 1, and its count, 0 where it is missing; raise for other numbers."""
    observed = ~np.isnan(X)
    counts = np.where(observed, X, 0.0)
    require(counts <= MOST_EVENTS, X, axes, "which is too large for a count of events; take the family 'gaussian'")
    whole = (counts >= 0) & (counts == np.floor(counts))
    require(whole, X, axes, "but events are whole numbers of at least 0; take the family 'gaussian'")
    return observed.astype(float), counts


def not_negative(X: Array, axes: Axes, name: str) -> tuple[Array, Array]:
    """Return whether each cell is observed, 0 or 1, and its number, 0 where it is missing; raise for negative ones."""
    observed = ~np.isnan(X)
    values = np.where(observed, X, 0.0)
    require(values >= 0, X, axes, f"but the family {name!r} is for numbers of at least 0; take the family 'gaussian'")
    return observed.astype(float), values


def positive(X: Array, axes: Axes, name: str) -> tuple[Array, Array]:
    """Return whether each cell is observed, 0 or 1, and its number, 1 where it is missing; raise for 0 and below.

    A missing cell is thus one whose logarithm is 0.
    """
    observed, values = not_negative(X, axes, name)
    above = (values > 0) | (observed == 0)
    require(above, X, axes, f"but the family {name!r} is for numbers above 0; take the family 'hurdle'")
    return observed, np.where(observed > 0, values, 1.0)


def products(values: Array, parameters: Array) -> Array:
    """Return Σ_i v_ri p_dki of values (row, feature) and parameters (draw, outcome, feature), (draw, row, outcome)."""
    return np.asarray(values @ parameters.transpose(0, 2, 1))


def require(holds: NDArray[np.bool_], X: Array, axes: Axes, reason: str) -> None:
    """Raise `InputError` for the first cell for which a condition does not hold."""
    if not holds.all():
        row, feature = np.argwhere(~holds)[0]
        cell = f"column {axes.features[feature]!r} has {X[row, feature]:g} in row {row + 1}"
        raise InputError(f"{cell}, {reason} for it")
