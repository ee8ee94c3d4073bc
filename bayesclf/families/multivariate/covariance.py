"""Linear algebra of covariances of many hypotheses at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array
from bayesclf.errors import Refused

RANK_TOLERANCE = 1e-13
"""Smallest eigenvalue of a correlation matrix, per column, that cannot be a rounding error of zero."""

SINGULAR = float(np.finfo(float).eps)
"""Smallest eigenvalue likewise of a matrix whose inverse still has digits."""

FEW_ROWS, COORDINATES = 8, 16
"""Up to so many rows, so many coordinates are whitened at a time: reading the factors takes longer than computing."""

COLLINEAR = (
    "a covariance is singular to rounding: columns are nearly collinear, or a given prior mean is very far "
    "from the rows; drop such a column, or give m and psi nearer to the rows"
)


@dataclass(frozen=True)
class Whitening:
    """Inverse Cholesky factors of the covariances of many hypotheses, and where these put their means.

    `factor`: (outcome, other_feature, feature, draw), lower triangular; a single outcome where the classes share it.
    `log_det`: log|Σ|, (outcome, draw). `center`: c, the median of a class's draws of μ, (outcome, feature). `shift`: μ
    − c, whitened, (outcome, feature, draw).
    """

    factor: Array
    log_det: Array
    center: Array
    shift: Array

    @classmethod
    def of(cls, Sigma: Array, mu: Array) -> Whitening:
        """Return that of covariances (draw, outcome, feature, other_feature) and means (draw, outcome, feature)."""
        factor = cholesky(Sigma)
        log_det = 2 * np.log(np.diagonal(factor, axis1=2, axis2=3)).sum(axis=2).T
        inverse, center = np.linalg.inv(factor.mT).mT, np.median(mu, axis=0)
        shift = (np.broadcast_to(inverse, (*mu.shape, mu.shape[2])) @ (mu - center)[..., None])[..., 0]
        columns = np.swapaxes(inverse, 2, 3)
        arrays = (np.ascontiguousarray(np.moveaxis(values, 0, -1)) for values in (columns, shift))
        factor, shift = arrays
        return cls(factor, log_det, center, shift)

    def squares(self, X: Array) -> Array:
        """Return (x − μ)ᵀ Σ⁻¹ (x − μ) of complete rows (row, feature), (row, outcome, draw).

        x is whitened by the inverse Cholesky factor of each draw, some coordinates at a time, around c: as μ − c is
        small nothing cancels, whatever the origin of x.
        """
        labels, features, draws = self.shift.shape
        out = np.zeros((len(X), labels, draws))
        step = 1 if len(X) > FEW_ROWS else COORDINATES
        for k in range(labels):
            W, moved = self.factor[min(k, len(self.factor) - 1)], X - self.center[k]
            for start in range(0, features, step):
                end = min(start + step, features)
                z = moved[:, :end] @ W[:end, start:end].reshape(end, -1)
                z -= self.shift[k, start:end].ravel()
                out[:, k] += np.square(z, out=z).reshape(len(X), end - start, draws).sum(axis=1)
        return out


def cholesky(Sigma: Array) -> Array:
    """Return lower triangular factors of covariances (…, feature, other_feature).

    Raises `Refused` if one is singular to rounding.
    """
    try:
        return np.linalg.cholesky(Sigma)
    except np.linalg.LinAlgError:
        raise Refused(COLLINEAR) from None


def collinear(scatter: Array, zero: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which columns are involved in a linear dependence of a scatter (feature, other_feature).

    `zero`: Columns known to be constant, (feature).
    """
    if zero.any():
        return zero
    scale = np.sqrt(np.diagonal(scatter))
    values, vectors = np.linalg.eigh(scatter / np.outer(scale, scale))
    null = vectors[:, values <= RANK_TOLERANCE * len(scale)]
    return np.asarray(np.abs(null).max(axis=1, initial=0.0) > np.sqrt(RANK_TOLERANCE))


def submatrix(matrices: Array, seen: NDArray[np.bool_]) -> Array:
    """Return the observed rows and columns of (..., feature, other_feature)."""
    return matrices[..., seen, :][..., seen]


def inverse_wishart_factors(nu: Array, psi: Array, rng: np.random.Generator, draws: int) -> Array:
    """Draw lower Cholesky factors of Σ ~ InvWishart(ν, Ψ), (draw, group, feature, other_feature).

    With Ψ = LLᵀ, Σ⁻¹ = L⁻ᵀ U Uᵀ L⁻¹ is Wishart where U is upper triangular with independent entries: squares of its
    diagonal from the last to the first are χ² with ν, ν − 1, … degrees of freedom, the others standard normal
    (Bartlett's decomposition). Then LU⁻ᵀ is a factor of Σ, lower triangular itself.

    `nu`: Degrees of freedom (group) or (draw, group), each above the number of features less one. `psi`: Scale (group,
    feature, other_feature), or with the draw as first axis.
    """
    groups, size = psi.shape[-3:-1]
    U = np.triu(rng.standard_normal((draws, groups, size, size)), 1)
    freedom = nu[..., None] - np.arange(size)[::-1]
    diagonal = np.sqrt(rng.chisquare(freedom, size=(draws, groups, size)))
    U[..., np.arange(size), np.arange(size)] = diagonal
    transposed = np.linalg.solve(U, cholesky(psi).swapaxes(-1, -2))
    return np.asarray(np.tril(transposed.swapaxes(2, 3)))


def outer(factors: Array) -> Array:
    """Return CCᵀ, exactly symmetric."""
    return np.asarray(np.einsum("...ij,...kj->...ik", factors, factors))
