"""The covariance of a design's columns, as the shape of the prior covariance of their weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from bayesclf.typing import Array

FLOOR = 0.01
"""Share of the identity in the covariance: no direction is excluded, and the matrix has an inverse."""


@dataclass(frozen=True, eq=False)
class ColumnCovariance:
    """C = 0.99 Σ^λ/mean(diag Σ^λ) + 0.01 I, with Σ the covariance of standardized columns.

    Weights are s L z with C = L Lᵀ and z normal; `LearnedScale` says what for.

    Attributes
    ----------
    lower
        L, (column, column), lower triangular.

    References
    ----------
    Krishna, Bondell and Ghosh (2009), Bayesian variable selection using an adaptive powered correlation prior, Journal
    of Statistical Planning and Inference 139, doi:10.1016/j.jspi.2008.12.004.
    """

    lower: Array

    @classmethod
    def of(cls, X: Array, weight: Array, chosen: NDArray[np.bool_], power: float) -> Self:
        """Return that of some columns; the others' weights are independent, with variance 1.

        Parameters
        ----------
        X
            Standardized (row, column).
        weight
            (row).
        chosen
            Which columns, (column).
        power
            λ, above 0.
        """
        part, total = X[:, chosen], weight.sum()
        covariance = np.eye(part.shape[1])
        if total > 0:
            centered = np.sqrt(weight / total)[:, None] * (part - weight @ part / total)
            covariance = _average_one(_to_power(centered.T @ centered, power))
        covariance = (1 - FLOOR) * covariance + FLOOR * np.eye(len(covariance))
        lower = np.eye(X.shape[1])
        lower[np.ix_(chosen, chosen)] = np.linalg.cholesky(covariance)
        return cls(lower)

    @cached_property
    def inverse(self) -> Array:
        """L⁻¹."""
        return np.asarray(linalg.solve_triangular(self.lower, np.eye(len(self.lower)), lower=True))

    @cached_property
    def precision(self) -> Array:
        """C⁻¹."""
        return self.inverse.T @ self.inverse

    @cached_property
    def log_determinant(self) -> float:
        """log |L|."""
        return float(np.log(np.diag(self.lower)).sum())


def _to_power(covariance: Array, power: float) -> Array:
    """Return Σ^λ of a covariance, λ above 0."""
    if power == 1:
        return covariance
    values, vectors = linalg.eigh(covariance)
    return np.asarray((vectors * np.maximum(values, 0) ** power) @ vectors.T)


def _average_one(covariance: Array) -> Array:
    """Return a covariance whose average variance is 1; the identity in place of one that is 0."""
    average = np.trace(covariance) / len(covariance)
    return covariance / average if average > 0 else np.eye(len(covariance))
