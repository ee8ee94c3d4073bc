"""Tables of counts, dense or sparse: sums by class, and moves of (outcome, feature) arrays to other axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayesclf.errors import InputError
from bayesclf.families.base import Axes
from bayesclf.typing import Array, Integers


def class_sums(X: Any, y: Integers, labels: int, sample_weight: Array | None = None) -> Array:
    """Return Σ_i w_i x_i over the rows of each class, (outcome, feature).

    Parameters
    ----------
    X
        Cells (row, feature), dense or sparse; a sparse table is never made dense.
    y
        Label codes (row).
    labels
        Number of classes.
    sample_weight
        Weights (row).
    """
    rows = X.shape[0]
    weight = np.ones(rows) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    membership = sparse.csr_array((weight, (y, np.arange(rows))), shape=(labels, rows))
    sums: Any = membership @ X
    return np.asarray(sums.toarray() if sparse.issparse(X) else sums)


def canonical(X: sparse.csr_array) -> sparse.csr_array:
    """Return the same cells, each stored once: SciPy allows a cell to be the sum of several entries."""
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def selected(axes: Axes, features: NDArray[np.bool_]) -> Axes:
    """Return axes with some of the features."""
    if features.all():
        return axes
    return Axes(axes.labels, tuple(np.asarray(axes.features, dtype=object)[features].tolist()))


def moved(values: Array, old: Axes, new: Axes) -> Array:
    """Return (outcome, feature) on axes with further labels or features, zero there."""
    if old == new:
        return values
    moved = np.zeros((len(new.labels), len(new.features)))
    moved[np.ix_(_positions(old.labels, new.labels), _positions(old.features, new.features))] = values
    return moved


def broadcast(name: str, value: float | Array, axes: Axes, second: str) -> Array:
    """Return a hyperparameter as an array (outcome, feature); `second` is the word for the second axis."""
    shape = (len(axes.labels), len(axes.features))
    try:
        return np.array(np.broadcast_to(np.asarray(value, dtype=float), shape))
    except ValueError:
        raise InputError(
            f"{name} has shape {np.shape(value)}, which does not broadcast to (outcome, {second}) = {shape}"
        ) from None


def _positions(some: tuple[str, ...], every: tuple[str, ...]) -> Integers:
    if some == every:
        return np.arange(len(every))
    index = {name: position for position, name in enumerate(every)}
    return np.array([index[name] for name in some], dtype=np.intp)
