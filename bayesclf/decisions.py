"""Decisions from class probabilities: costs, and the option to reject."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayesclf.errors import InputError, is_number
from bayesclf.typing import Array, Integers

REJECTED = -1
"""The code of a row that no class is given to."""


@dataclass(frozen=True, eq=False)
class Costs:
    """What decisions cost, checked.

    Attributes
    ----------
    matrix
        Costs ``matrix[true, predicted]``, (outcome, outcome).
    reject
        Largest acceptable expected cost, and so the price of a row that no class is given to; None where each row must
        be given one.
    """

    matrix: Array
    reject: float | None = None

    @classmethod
    def checked(cls, labels: int, cost: Any = None, reject: float | None = None) -> Self:
        """Return the costs of a problem with so many labels, 0-1 loss by default; arguments as in `decide`."""
        if reject is not None and not (is_number(reject) and reject >= 0):
            raise InputError(f"reject is an expected cost and must be a number of at least 0, not {reject!r}")
        return cls(_matrix(cost, labels), reject)

    def expected(self, log_proba: Array) -> Array:
        """Return Σ_k P(k | x) matrix[k, predicted] of each decision, (row, outcome), from log P(k | x)."""
        return np.asarray(np.exp(log_proba) @ self.matrix)

    def decide(self, log_proba: Array) -> Integers:
        """Return label codes (row) of the smallest expected cost, `REJECTED` where even that is too much."""
        expected = self.expected(log_proba)
        best = np.asarray(expected.argmin(axis=1))
        return best if self.reject is None else np.where(expected.min(axis=1) > self.reject, REJECTED, best)

    def paid(self, decided: Integers, y: Integers) -> Array:
        """Return what decided codes cost given the true ones, (row); a rejected row costs `reject`.

        It is at this price of a rejection that Chow's rule has the smallest expected cost.
        """
        paid = self.matrix[y, decided]
        return paid if self.reject is None else np.where(decided == REJECTED, self.reject, paid)


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
    return Costs.checked(log_proba.shape[1], cost, reject).decide(log_proba)


def _matrix(cost: Any, labels: int) -> Array:
    if cost is None:
        return 1 - np.eye(labels)
    try:
        matrix = np.asarray(cost, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"cost must be a matrix of numbers cost[true, predicted], not {cost!r}") from None
    if matrix.shape != (labels, labels):
        raise InputError(
            f"cost must be a finite matrix cost[true, predicted] of shape ({labels}, {labels}), "
            f"not of shape {matrix.shape}"
        )
    wrong = np.argwhere(~np.isfinite(matrix))
    if len(wrong):
        true, predicted = wrong[0]
        raise InputError(
            f"cost must be a finite matrix cost[true, predicted], but cost[{true}, {predicted}] is "
            f"{matrix[true, predicted]}"
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
