"""Estimates of means and covariances from scatters, and when there are none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesclf.errors import DoesNotExist, InputError
from bayesclf.families.covariance import collinear
from bayesclf.families.scatters import Scatters
from bayesclf.typing import Array, Parameters


def shared_scatter(values: Array, shared: bool) -> Array:
    """Return (group, ...) of (outcome, ...): the sum where the classes share a covariance."""
    return np.asarray(values.sum(axis=0, keepdims=True)) if shared else values


def maximum_likelihood(complete: Scatters, shared: bool) -> Parameters:
    """Return x̄ and S/n from complete rows (Abu-El-Haija 2.1); raises `DoesNotExist` where S is singular."""
    n, scatter = (shared_scatter(values[0], shared) for values in (complete.n, complete.scatter))
    moments = complete.cells()
    zero = shared_scatter(moments.without_rounding(), shared) == 0
    for group in range(len(n)):
        columns = collinear(scatter[group], zero[group])
        if columns.any():
            raise DoesNotExist(_singular(complete, n[group], group, shared, columns))
    Sigma = scatter / n[:, None, None]
    return {"mu": complete.mean[:1], "Sigma": Sigma if shared else Sigma[None]}


def _singular(complete: Scatters, n: float, group: int, shared: bool, columns: NDArray[np.bool_]) -> str:
    """Return why a covariance is singular."""
    names = complete.axes.features
    whose = "the classes together have" if shared else f"class {complete.axes.labels[group]!r} has"
    what = f"{whose} too few different values for a covariance of {len(names)} columns by maximum likelihood: "
    if n <= len(names):
        return what + f"fewer rows than features ({n:g} rows)"
    involved = ", ".join(repr(name) for name, part in zip(names, columns, strict=True) if part)
    return what + f"collinear or constant columns ({involved})"


def require_estimable(statistics: Scatters, shared: bool) -> None:
    """Raise where a class has no cell of a column, or no row has two columns that need a covariance."""
    labels, names = statistics.axes.labels, statistics.axes.features
    empty = np.argwhere(statistics.cells().n == 0)
    if empty.size:
        label, feature = empty[0]
        raise DoesNotExist(
            f"class {labels[label]!r} has no value in column {names[feature]!r}, so no mean by maximum likelihood"
        )
    both = statistics.seen[:, :, None] & statistics.seen[:, None, :]
    together = shared_scatter(np.einsum("pk,pij->kij", statistics.n, both.astype(float)), shared)
    apart = np.argwhere(together == 0)
    if apart.size:
        group, one, other = apart[0]
        whose = "no row" if shared else f"class {labels[group]!r} has no row that"
        raise DoesNotExist(
            f"{whose} has both columns {names[one]!r} and {names[other]!r}, so their covariance has no maximum "
            "likelihood estimate"
        )


def start(statistics: Scatters, shared: bool) -> Parameters:
    """Return means and variances of the seen cells, where expectation and maximisation starts."""
    cells = statistics.cells()
    pooled = cells.pooled()
    s2 = pooled.scatter[0] / np.maximum(pooled.n[0], 1)
    mu = np.where(cells.n > 0, cells.mean, pooled.mean)
    Sigma = np.diag(np.where(s2 > 0, s2, 1.0))
    return {"mu": mu[None], "Sigma": Sigma[None] if shared else np.tile(Sigma, (1, len(mu), 1, 1))}


def given_scale(psi: float | Array, shape: tuple[int, int, int]) -> Array:
    """Return Ψ (group, feature, other_feature) from a matrix, one a class, or a diagonal."""
    given = np.asarray(psi, dtype=float)
    matrices = given if given.ndim >= 2 else given[..., None] * np.eye(shape[1])
    try:
        matrices = np.array(np.broadcast_to(matrices, shape))
    except ValueError:
        raise InputError(f"psi has shape {given.shape}, which does not broadcast to {shape}") from None
    if not (np.isfinite(matrices).all() and np.allclose(matrices, matrices.swapaxes(1, 2), rtol=1e-10, atol=0)):
        raise InputError("psi must be finite and symmetric; give the scale matrix of a covariance, or its diagonal")
    try:
        np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        raise InputError("psi must be positive definite; its columns are collinear or a diagonal entry is 0") from None
    return matrices
