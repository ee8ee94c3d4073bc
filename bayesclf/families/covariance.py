"""Linear algebra of covariances, for many hypotheses at once."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from bayesclf.typing import Array

RANK_TOLERANCE = 1e-13
"""Smallest eigenvalue of a correlation matrix, per column, that is more than what rounding leaves of zero."""

CACHE_BYTES = 2**28
"""Size of the whitenings that are kept between blocks of rows."""


@dataclass(frozen=True)
class Whitening:
    """Inverse Cholesky factors of the covariances of many hypotheses.

    Attributes
    ----------
    factor
        (outcome, feature, other_feature, draw), lower triangular; a single outcome where the classes share it.
    log_det
        log|Σ|, (outcome, draw).
    """

    factor: Array
    log_det: Array

    @classmethod
    def of(cls, Sigma: Array) -> Whitening:
        """Return that of covariances (draw, outcome, feature, other_feature)."""
        factor = np.linalg.cholesky(Sigma)
        log_det = 2 * np.log(np.diagonal(factor, axis1=2, axis2=3)).sum(axis=2).T
        return cls(np.ascontiguousarray(np.moveaxis(inverse_lower(factor), 0, -1)), log_det)


class Whitenings:
    """The whitenings of arrays of covariances that are still in use: rows come in blocks, all with the same draws.

    Arrays are known by identity, and nobody changes parameters in place.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, bytes], Whitening] = OrderedDict()

    def of(self, Sigma: Array, by_label: Array, seen: NDArray[np.bool_]) -> Whitening:
        """Return the whitening of the seen features.

        Parameters
        ----------
        Sigma
            The array that is asked for again and again.
        by_label
            The same as (draw, outcome, feature, other_feature).
        seen
            (feature).
        """
        if len(Sigma) == 1:
            return Whitening.of(submatrix(by_label, seen))
        key = id(Sigma), seen.tobytes()
        found = self._kept.get(key)
        if found is None:
            found = Whitening.of(submatrix(by_label, seen))
            finalize(Sigma, self._kept.pop, key, None)
            self._kept[key] = found
            while len(self._kept) > 1 and sum(kept.factor.nbytes for kept in self._kept.values()) > CACHE_BYTES:
                self._kept.popitem(last=False)
        return found


def quadratic_forms(X: Array, mu: Array, whitening: Whitening) -> Array:
    """Return (x − μ)ᵀ Σ⁻¹ (x − μ), (row, outcome, draw).

    x is whitened by the inverse Cholesky factor of each draw, one matrix product a coordinate, around c, the middle
    of a class's draws: as μ − c is small nothing cancels, wherever the origin of x lies.

    Parameters
    ----------
    X
        Complete rows (row, feature).
    mu
        (draw, outcome, feature).
    whitening
        Of Σ.
    """
    draws, labels, features = mu.shape
    out = np.empty((len(X), labels, draws))
    for k in range(labels):
        W = whitening.factor[min(k, len(whitening.factor) - 1)]
        centre = np.median(mu[:, k], axis=0)
        moved, shift = X - centre, np.einsum("ijd,dj->id", W, mu[:, k] - centre)
        total = np.zeros((len(X), draws))
        for i in range(features):
            z = moved[:, : i + 1] @ W[i, : i + 1]
            z -= shift[i]
            total += np.square(z, out=z)
        out[:, k] = total
    return out


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
