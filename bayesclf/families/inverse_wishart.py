"""The inverse Wishart distribution: the conjugate prior of a covariance matrix."""

from __future__ import annotations

import numpy as np

from bayesclf.typing import Array


def draw_factors(nu: Array, psi: Array, rng: np.random.Generator, draws: int) -> Array:
    """Draw lower Cholesky factors of Σ ~ InvWishart(ν, Ψ), (draw, group, feature, other_feature).

    With Ψ = LLᵀ, Σ⁻¹ = L⁻ᵀ U Uᵀ L⁻¹ is Wishart where U is upper triangular with independent entries: squares of its
    diagonal from the last to the first are χ² with ν, ν − 1, … degrees of freedom, the others standard normal
    (Bartlett's decomposition). Then LU⁻ᵀ is a factor of Σ, lower triangular itself.

    Parameters
    ----------
    nu
        Degrees of freedom (group), each above the number of features less one.
    psi
        Scale (group, feature, other_feature).
    """
    groups, size = psi.shape[:2]
    U = np.triu(rng.standard_normal((draws, groups, size, size)), 1)
    freedom = nu[:, None] - np.arange(size)[::-1]
    diagonal = np.sqrt(rng.chisquare(freedom, size=(draws, groups, size)))
    U[..., np.arange(size), np.arange(size)] = diagonal
    transposed = np.linalg.solve(U, np.linalg.cholesky(psi).swapaxes(1, 2))
    return np.asarray(np.tril(transposed.swapaxes(2, 3)))


def outer(factors: Array) -> Array:
    """Return CCᵀ, symmetric to the last bit."""
    return np.asarray(np.einsum("...ij,...kj->...ik", factors, factors))
