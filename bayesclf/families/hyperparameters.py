"""Hyperparameters as users give them: checked, and brought to their shape."""

from __future__ import annotations

import numpy as np

from bayesclf.errors import InputError
from bayesclf.typing import Array


def require_positive(**given: object) -> None:
    """Raise `InputError` for the first, by name, that is neither None nor above 0 and finite."""
    for name, value in given.items():
        if value is not None:
            numbers = np.asarray(value)
            if not (np.all(numbers > 0) and np.all(np.isfinite(numbers))):
                raise InputError(f"{name} must be above 0 and finite, not {value}")


def broadcast(name: str, value: float | Array, shape: tuple[int, ...], axes: str = "") -> Array:
    """Return a hyperparameter as an array of this shape, or raise `InputError` that names it and the axes."""
    try:
        return np.array(np.broadcast_to(np.asarray(value, dtype=float), shape))
    except ValueError:
        what = f"({axes}) = {shape}" if axes else f"{shape}"
        raise InputError(f"{name} has shape {np.shape(value)}, which does not broadcast to {what}") from None
