"""Checks of hyperparameters that users give, and their broadcasting."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bayesclf.errors import InputError
from bayesclf.typing import Array


def require_positive(**given: object) -> None:
    """Raise `InputError` for the first value that is neither None nor positive and finite."""
    for name, value in given.items():
        if value is not None:
            numbers = np.asarray(value)
            if not (np.all(numbers > 0) and np.all(np.isfinite(numbers))):
                raise InputError(f"{name} must be above 0 and finite, not {value}")


def require_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Raise `InputError` for a value that is not among the choices."""
    if value not in (allowed := tuple(choices)):
        raise InputError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}")


def broadcast(name: str, value: float | Array, shape: tuple[int, ...], axes: str = "") -> Array:
    """Return a hyperparameter as an array of this shape, or raise `InputError` that names it and the axes."""
    try:
        return np.array(np.broadcast_to(np.asarray(value, dtype=float), shape))
    except ValueError:
        what = f"({axes}) = {shape}" if axes else f"{shape}"
        raise InputError(f"{name} has shape {np.shape(value)}, which does not broadcast to {what}") from None
