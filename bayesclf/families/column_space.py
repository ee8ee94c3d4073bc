"""The space that the columns of a design span: coordinates in which maximum likelihood is unique."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesclf.typing import Array

RANK_TOLERANCE = 1e-9
"""Directions in which the rows vary by less than this, relative to the widest one, are collinearity."""


@dataclass(frozen=True, eq=False)
class ColumnSpace:
    """Orthonormal coordinates of the space that the columns span, seen from their mean.

    Attributes
    ----------
    mean
        Weighted mean of the rows (column).
    basis
        (column, coordinate): Z = (X − mean) @ basis has mean 0 and covariance I.
    """

    mean: Array
    basis: Array

    @classmethod
    def of(cls, X: Array, weight: Array) -> ColumnSpace:
        """Find it for rows X (row, column) without the intercept, of positive weight (row)."""
        share = weight / weight.sum()
        mean = share @ X
        R = np.linalg.qr(np.sqrt(share)[:, None] * (X - mean), mode="r")
        _, spread, directions = np.linalg.svd(R)
        rank = int(np.sum(spread > RANK_TOLERANCE * spread.max(initial=0.0)))
        return cls(mean, directions[:rank].T / spread[:rank])

    def coordinates(self, X: Array) -> Array:
        """Return 1 and Z for rows X, (row, 1 + coordinate)."""
        return np.column_stack([np.ones(len(X)), (X - self.mean) @ self.basis])

    def of_weights(self, theta: Array) -> Array:
        """Return the coordinates (label, 1 + coordinate) that give the rows the log-odds of θ (outcome, 1 + column)."""
        weights = theta[:, 1:]
        return np.column_stack(
            [theta[:, 0] + weights @ self.mean, weights @ (self.basis / (self.basis**2).sum(axis=0))]
        )

    def weights(self, gamma: Array) -> Array:
        """Return θ (outcome, 1 + column) of least norm from coordinates (label, 1 + coordinate)."""
        weights = gamma[:, 1:] @ self.basis.T
        return np.column_stack([gamma[:, 0] - weights @ self.mean, weights])
