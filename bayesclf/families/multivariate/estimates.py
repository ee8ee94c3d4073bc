"""Estimates of a multivariate Gaussian from scatters, by expectation and maximization where cells are missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from bayesclf.constraints import Number, require
from bayesclf.errors import DoesNotExist, InputError
from bayesclf.families.base import VARIANCE, require_each
from bayesclf.families.multivariate.covariance import collinear, submatrix
from bayesclf.families.multivariate.scatters import Scatters
from bayesclf.typing import Array, Parameters

TOLERANCE = 1e-11
"""Largest change of an estimate in one step, in standard deviations, that counts as convergence."""

STEPS = 20_000


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
    subject = "the classes together have" if shared else f"class {complete.axes.labels[group]!r} has"
    what = f"{subject} too few different values for a covariance of {len(names)} columns by maximum likelihood: "
    if n <= len(names):
        return what + f"no more rows than features ({n:g} rows)"
    involved = ", ".join(repr(name) for name, part in zip(names, columns, strict=True) if part)
    return what + f"collinear or constant columns ({involved})"


def require_estimable(statistics: Scatters, shared: bool) -> None:
    """Raise where a class has no cell of a column, or no row has two columns that need a covariance."""
    labels, names = statistics.axes.labels, statistics.axes.features
    require_each(statistics.cells().n > 0, statistics.axes, "has no value", ", so no mean by maximum likelihood")
    both = statistics.seen[:, :, None] & statistics.seen[:, None, :]
    together = shared_scatter(np.einsum("pk,pij->kij", statistics.n, both.astype(float)), shared)
    apart = np.argwhere(together == 0)
    if apart.size:
        group, one, other = apart[0]
        subject = "no row" if shared else f"class {labels[group]!r} has no row that"
        both_columns = f"both columns {names[one]!r} and {names[other]!r}"
        raise DoesNotExist(f"{subject} has {both_columns}, so no covariance by maximum likelihood")


def start(statistics: Scatters, shared: bool) -> Parameters:
    """Return means and variances of the observed cells, where expectation and maximization starts."""
    cells = statistics.cells()
    pooled = cells.pooled()
    s2 = pooled.scatter[0] / np.maximum(pooled.n[0], 1)
    mu = np.where(cells.n > 0, cells.mean, pooled.mean)
    Sigma = np.diag(np.where(s2 > 0, s2, 1.0))
    return {"mu": mu[None], "Sigma": Sigma[None] if shared else np.tile(Sigma, (1, len(mu), 1, 1))}


def given_scale(psi: float | Array, shape: tuple[int, int, int]) -> Array:
    """Return Ψ (group, feature, other_feature) from one matrix, one per class, or a diagonal."""
    require(Number(array=True), psi=psi)
    given = np.asarray(psi, dtype=float)
    try:
        matrices = given if given.ndim >= 2 else given[..., None] * np.eye(shape[1])
        matrices = np.array(np.broadcast_to(matrices, shape))
    except ValueError:
        raise InputError(f"psi has shape {given.shape}, which does not broadcast to {shape}") from None
    if not (np.isfinite(matrices).all() and np.allclose(matrices, matrices.swapaxes(1, 2), rtol=1e-10, atol=0)):
        raise InputError("psi must be finite and symmetric; give the scale matrix of a covariance, or its diagonal")
    try:
        np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        raise InputError("psi must be positive definite; its columns are collinear or a diagonal entry is 0") from None
    require(VARIANCE, psi=np.diagonal(matrices, axis1=1, axis2=2))
    return matrices


def estimate(statistics: Scatters, maximization: Callable[[Scatters], Parameters], start: Parameters) -> Parameters:
    """Return the estimate, directly from complete rows; raises `DoesNotExist` where it does not converge."""
    if not statistics.missing():
        return maximization(statistics)
    parameters, converged = maximize(statistics, maximization, start)
    if not converged:
        reason = f"the estimate has not converged after {STEPS} steps: too few rows have the same cells"
        raise DoesNotExist(f"{reason}; use inference='nuts', or drop columns")
    return parameters


def maximize(
    statistics: Scatters, maximization: Callable[[Scatters], Parameters], start: Parameters, steps: int = STEPS
) -> tuple[Parameters, bool]:
    """Return the estimate from rows with missing cells, and whether it has converged.

    No step lowers the observed-data likelihood (times prior).

    Parameters
    ----------
    statistics
        Scatters of every pattern of missing cells.
    maximization
        The estimate from complete rows.
    start
        Where to start; Σ is (draw, feature, other_feature) or (draw, outcome, feature, other_feature).
    steps
        Largest number of steps.

    References
    ----------
    Dempster, Laird and Rubin (1977); Little and Rubin, *Statistical Analysis with Missing Data*, §11.2.
    """
    now = start
    for _ in range(steps):
        after = maximization(expectation(statistics, now))
        change = _change(now, after)
        now = after
        if change < TOLERANCE:
            return now, True
    return now, False


def expectation(statistics: Scatters, parameters: Parameters) -> Scatters:
    """Return the expected scatters of the complete rows, given the observed cells and the parameters.

    Given the observed cells s, the missing cells u have mean μ_u + B(x_s − μ_s) and covariance Σ_uu − BΣ_su,
    B = Σ_us Σ_ss⁻¹.
    """
    mu, Sigma = parameters["mu"][0], _of_label(parameters)
    features = mu.shape[1]
    parts = []
    for p, s in enumerate(statistics.seen):
        n, mean, scatter = statistics.n[p], statistics.mean[p], statistics.scatter[p]
        if not s.all():
            B = np.linalg.solve(submatrix(Sigma, s), Sigma[:, s][:, :, ~s]).swapaxes(1, 2)
            T = np.zeros((len(mu), features, int(s.sum())))
            T[:, s], T[:, ~s] = np.eye(int(s.sum())), B
            inside = np.zeros_like(scatter)
            inside[:, np.ix_(~s, ~s)[0], np.ix_(~s, ~s)[1]] = submatrix(Sigma, ~s) - B @ Sigma[:, s][:, :, ~s]
            mean = mu + np.einsum("kfs,ks->kf", T, mean[:, s] - mu[:, s])
            scatter = T @ submatrix(scatter, s) @ T.swapaxes(1, 2) + n[:, None, None] * inside
            mean = np.where(n[:, None] > 0, mean, 0.0)
        parts.append(Scatters.complete(statistics.axes, n, mean, scatter))
    return reduce(Scatters.__add__, parts)


def _of_label(parameters: Parameters) -> Array:
    """Return Σ (outcome, feature, other_feature), also where the classes share it."""
    mu, Sigma = parameters["mu"][0], parameters["Sigma"][0]
    return np.broadcast_to(Sigma, (len(mu), *Sigma.shape[-2:]))


def _change(before: Parameters, after: Parameters) -> float:
    """Return the largest change in units of the standard deviations."""
    Sigma = _of_label(after)
    sd = np.sqrt(np.diagonal(Sigma, axis1=1, axis2=2))
    of_mean = np.abs(after["mu"][0] - before["mu"][0]) / sd
    of_covariance = np.abs(Sigma - _of_label(before)) / (sd[:, :, None] * sd[:, None, :])
    return float(max(of_mean.max(), of_covariance.max()))
