"""Covariances: their linear algebra for many hypotheses at once, and their estimates, from missing cells too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import compress, pairwise

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Parameters
from bayesclf.constraints import Number, require
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.families.base import VARIANCE, Axes, require_each
from bayesclf.families.cells import by_pattern
from bayesclf.families.multivariate.groups import GroupedMoments

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


TOLERANCE = 1e-11
"""Largest change of an estimate in one step, in standard deviations, that counts as convergence."""

STEPS = 20_000


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

    With Ψ = LLᵀ, Σ⁻¹ = L⁻ᵀ U Uᵀ L⁻¹ is Wishart where U is upper triangular with independent entries (Bartlett's
    decomposition): squares of its diagonal, from the last to the first, are χ² with ν, ν − 1, … degrees of freedom; the
    others are standard normal. Then LU⁻ᵀ is a lower triangular factor of Σ.

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


def shared_scatter(values: Array, shared: bool, axis: int = 0) -> Array:
    """Return (group, ...) of (outcome, ...): the sum where the classes share a covariance."""
    return np.asarray(values.sum(axis=axis, keepdims=True)) if shared else values


def maximum_likelihood(statistics: GroupedMoments, shared: bool) -> Parameters:
    """Return x̄ and S/n from complete rows (Abu-El-Haija 2.1); raises `DoesNotExist` where S is singular."""
    n, mean, scatter = statistics.complete()
    n, scatter = (shared_scatter(values, shared) for values in (n, scatter))
    zero = shared_scatter(statistics.cells().without_rounding(), shared) == 0
    for group in range(len(n)):
        columns = collinear(scatter[group], zero[group])
        if columns.any():
            raise DoesNotExist(_singular(statistics.axes, n[group], group, shared, columns))
    Sigma = scatter / n[:, None, None]
    return {"mu": mean[None], "Sigma": Sigma if shared else Sigma[None]}


def _singular(axes: Axes, n: float, group: int, shared: bool, columns: NDArray[np.bool_]) -> str:
    names = axes.features
    subject = "the classes together have" if shared else f"class {axes.labels[group]!r} has"
    what = f"{subject} too few different values for a covariance of {len(names)} columns by maximum likelihood: "
    if n <= len(names):
        return what + f"no more rows than features ({n:g} rows)"
    return what + f"collinear or constant columns ({', '.join(map(repr, compress(names, columns)))})"


def require_estimable(statistics: GroupedMoments, shared: bool) -> None:
    """Raise where a class has no cell of a column, or no row has two columns that need a covariance."""
    labels, names = statistics.axes.labels, statistics.axes.features
    require_each(statistics.cells().n > 0, statistics.axes, "has no value", ", so no mean by maximum likelihood")
    of_label = statistics.labels == np.arange(len(labels))[:, None]
    seen = statistics.seen.astype(float)
    together = shared_scatter(np.einsum("kg,g,gi,gj->kij", of_label, statistics.n, seen, seen, optimize=True), shared)
    apart = np.argwhere(together == 0)
    if apart.size:
        group, one, other = apart[0]
        subject = "no row" if shared else f"class {labels[group]!r} has no row that"
        both_columns = f"both columns {names[one]!r} and {names[other]!r}"
        raise DoesNotExist(f"{subject} has {both_columns}, so no covariance by maximum likelihood")


def observed(statistics: GroupedMoments) -> tuple[Array, Array]:
    """Return means (outcome, feature) and pooled variances (feature) of the observed cells; 1 where all are equal."""
    cells = statistics.cells()
    pooled = cells.pooled()
    s2 = pooled.scatter[0] / np.maximum(pooled.n[0], 1)
    return np.where(cells.n > 0, cells.mean, pooled.mean), np.where(s2 > 0, s2, 1.0)


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


def estimate(
    statistics: GroupedMoments, maximization: Callable[[GroupedMoments], Parameters], shared: bool
) -> Parameters:
    """Return the estimate: directly from complete rows, otherwise by expectation and maximization.

    Raises `DoesNotExist` where it does not converge.
    """
    if not statistics.incomplete():
        return maximization(statistics)
    for now, after in pairwise(steps(statistics, maximization, shared)):
        if _change(now, after) < TOLERANCE:
            return after
    reason = f"the estimate has not converged after {STEPS} steps: too few rows have the same cells"
    raise DoesNotExist(f"{reason}; use inference='augmentation', or drop columns")


def steps(
    statistics: GroupedMoments, maximization: Callable[[GroupedMoments], Parameters], shared: bool
) -> Iterator[Parameters]:
    """Yield means and variances of the observed cells, and the estimate after each step.

    No step lowers the observed-data likelihood (times prior).

    See Dempster, Laird and Rubin (1977); Little and Rubin, *Statistical Analysis with Missing Data*, §11.2.
    """
    mu, s2 = observed(statistics)
    Sigma = np.diag(s2)
    now: Parameters = {"mu": mu[None], "Sigma": Sigma[None] if shared else np.tile(Sigma, (1, len(mu), 1, 1))}
    yield now
    for _ in range(STEPS):
        now = maximization(expectation(statistics, now))
        yield now


def expectation(statistics: GroupedMoments, parameters: Parameters) -> GroupedMoments:
    """Return the expected moments of the complete rows, given the observed cells and the parameters.

    Given the observed cells s, the missing cells u have mean μ_u + B(x_s − μ_s) and covariance Σ_uu − BΣ_su,
    B = Σ_us Σ_ss⁻¹.
    """
    mean, scatter = statistics.mean.copy(), statistics.scatter.copy()
    for s, groups in by_pattern(~statistics.seen):
        if s.all():
            continue
        mu, Sigma = (values[statistics.labels[groups]] for values in (parameters["mu"][0], _of_label(parameters)))
        B = np.linalg.solve(submatrix(Sigma, s), Sigma[:, s][:, :, ~s]).swapaxes(1, 2)
        T = np.zeros((len(groups), len(s), int(s.sum())))
        T[:, s], T[:, ~s] = np.eye(int(s.sum())), B
        inside = np.zeros_like(Sigma)
        inside[:, *np.ix_(~s, ~s)] = submatrix(Sigma, ~s) - B @ Sigma[:, s][:, :, ~s]
        mean[groups] = mu + np.einsum("gfs,gs->gf", T, (mean[groups] - mu)[:, s])
        within = T @ submatrix(scatter[groups], s) @ T.swapaxes(1, 2)
        scatter[groups] = within + statistics.n[groups, None, None] * inside
    return statistics.completed(mean, scatter)


def _of_label(parameters: Parameters) -> Array:
    mu, Sigma = parameters["mu"][0], parameters["Sigma"][0]
    return np.broadcast_to(Sigma, (len(mu), *Sigma.shape[-2:]))


def _change(before: Parameters, after: Parameters) -> float:
    """Return the largest change in units of the standard deviations."""
    Sigma = _of_label(after)
    sd = np.sqrt(np.diagonal(Sigma, axis1=1, axis2=2))
    of_mean = np.abs(after["mu"][0] - before["mu"][0]) / sd
    of_covariance = np.abs(Sigma - _of_label(before)) / (sd[:, :, None] * sd[:, None, :])
    return float(max(of_mean.max(), of_covariance.max()))
