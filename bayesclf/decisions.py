"""Decisions from class probabilities: costs, and the option to reject."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesclf.errors import InputError
from bayesclf.families.base import Array, Integers

REJECTED = -1
"""The code of a row that no class is given to."""


def decide(log_proba: Array, cost: Any = None, reject: float | None = None) -> Integers:
    """Return label codes (row) of the smallest expected cost, `REJECTED` where even that is too much.

    Parameters
    ----------
    log_proba
        log P(k | x), (row, outcome).
    cost
        Costs ``cost[true, predicted]``, finite, (outcome, outcome); 0-1 loss by default.
    reject
        Largest acceptable expected cost: a row whose best decision is expected to cost more is rejected (Chow's
        rule). Under 0-1 loss the expected cost is 1 − max P(k | x).

    Raises
    ------
    InputError
        For a cost matrix of the wrong shape or with values that are not finite, or a negative `reject`.
    """
    if cost is None and reject is None:
        return np.asarray(log_proba.argmax(axis=1))
    expected = np.exp(log_proba) @ _matrix(cost, log_proba.shape[1])
    best = np.asarray(expected.argmin(axis=1))
    if reject is None:
        return best
    if not reject >= 0:
        raise InputError(f"reject is an expected cost and must be at least 0, not {reject}")
    return np.where(expected.min(axis=1) > reject, REJECTED, best)


def _matrix(cost: Any, labels: int) -> Array:
    if cost is None:
        return 1 - np.eye(labels)
    try:
        matrix = np.asarray(cost, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"cost must be a matrix of numbers cost[true, predicted], not {cost!r}") from None
    if matrix.shape != (labels, labels) or not np.isfinite(matrix).all():
        raise InputError(
            f"cost must be a finite matrix cost[true, predicted] of shape ({labels}, {labels}), "
            f"not of shape {matrix.shape}"
        )
    return matrix


def named(codes: Integers, classes: NDArray[Any]) -> NDArray[Any]:
    """Return class labels (row); None, in an array of objects, where a row was rejected."""
    if not (codes == REJECTED).any():
        return np.asarray(classes[codes])
    labels = np.empty(len(codes), dtype=object)
    kept = codes != REJECTED
    labels[kept] = classes[codes[kept]]
    return labels
