"""Symmetric positive definite systems whose rows are in very different units.

Elimination compares numbers of different columns when it chooses its pivots, so that a column that is 1e20 times as
large as another takes digits from it. Cells are therefore brought to a diagonal near 1 first, by powers of two, which
are exact.
"""

from __future__ import annotations

import numpy as np

from bayesclf.typing import Array


def solved(matrix: Array, right: Array) -> Array:
    """Return x with Ax = right, for matrices A (…, term, other term) and `right` (…, term).

    Examples
    --------
    >>> import numpy as np
    >>> solved(np.array([[4.0, 2e20], [2e20, 4e40]]), np.array([6.0, 6e20]))
    array([1.e+00, 1.e-20])
    """
    scale = _scale(matrix)
    inside = matrix * scale[..., :, None] * scale[..., None, :]
    return np.asarray(scale * np.linalg.solve(inside, (scale * right)[..., None])[..., 0])


def root_of_inverse(matrix: Array) -> Array:
    """Return upper triangular F with FFᵀ = A⁻¹, (…, term, other term).

    Neither the Cholesky decomposition nor elimination of an upper triangular matrix compares columns.
    """
    return np.asarray(np.linalg.inv(np.linalg.cholesky(matrix).swapaxes(-1, -2)))


def _scale(matrix: Array) -> Array:
    """Return powers of two (…, term) that bring the diagonal between ½ and 2; 1 where it is 0."""
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    _, exponent = np.frexp(np.where(diagonal > 0, diagonal, 1.0))
    return np.asarray(np.ldexp(1.0, -(exponent // 2)))
