"""Linear algebra of covariances, for many hypotheses at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesclf.families.base import Array

RANK_TOLERANCE = 1e-13
"""Smallest eigenvalue of a correlation matrix, per column, that is more than what rounding leaves of zero."""


def quadratic_forms(X: Array, mu: Array, Sigma: Array) -> tuple[Array, Array]:
    """Return (x − μ)ᵀ Σ⁻¹ (x − μ), (row, outcome, draw), and log|Σ|, (outcome, draw).

    x is whitened by the inverse Cholesky factor of each draw, one matrix product a coordinate, around c, the middle
    of a class's draws: as μ − c is small nothing cancels, wherever the origin of x lies.

    Parameters
    ----------
    X
        Complete rows (row, feature).
    mu
        (draw, outcome, feature).
    Sigma
        (draw, outcome, feature, other_feature), or with a single outcome where the classes share it.
    """
    draws, labels, features = mu.shape
    factor = np.linalg.cholesky(Sigma)
    whiten = inverse_lower(factor)
    log_det = 2 * np.log(np.diagonal(factor, axis1=2, axis2=3)).sum(axis=2)
    out = np.empty((len(X), labels, draws))
    for k in range(labels):
        W = whiten[:, min(k, whiten.shape[1] - 1)]
        centre = np.median(mu[:, k], axis=0)
        moved, shift = X - centre, np.einsum("dij,dj->id", W, mu[:, k] - centre)
        total = np.zeros((len(X), draws))
        for i in range(features):
            z = moved[:, : i + 1] @ W[:, i, : i + 1].T
            z -= shift[i]
            total += np.square(z, out=z)
        out[:, k] = total
    return out, np.broadcast_to(log_det.T, (labels, draws))


def inverse_lower(factor: Array) -> Array:
    """Return the inverse of lower triangular matrices (..., feature, other_feature), by forward substitution."""
    size = factor.shape[-1]
    inverse = np.zeros_like(factor)
    for i in range(size):
        row = -np.einsum("...j,...jk->...k", factor[..., i, :i], inverse[..., :i, :])
        row[..., i] += 1.0
        inverse[..., i, :] = row / factor[..., i, i, None]
    return inverse


def collinear(scatter: Array, zero: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which columns take part in a linear dependence of a scatter (feature, other_feature).

    Parameters
    ----------
    scatter
        Positive semidefinite.
    zero
        Columns known to be constant, (feature).
    """
    if zero.any():
        return zero
    scale = np.sqrt(np.diagonal(scatter))
    values, vectors = np.linalg.eigh(scatter / np.outer(scale, scale))
    null = vectors[:, values <= RANK_TOLERANCE * len(scale)]
    return np.asarray(np.abs(null).max(axis=1, initial=0.0) > np.sqrt(RANK_TOLERANCE))


def submatrix(matrices: Array, seen: NDArray[np.bool_]) -> Array:
    """Return the seen rows and columns of (..., feature, other_feature)."""
    return matrices[..., seen, :][..., seen]
