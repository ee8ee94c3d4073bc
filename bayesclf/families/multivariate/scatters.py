"""Means and scatter matrices of real features, one set for each pattern of missing cells, and estimates from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import override

import numpy as np
from numpy.typing import NDArray

from bayesclf import arrays
from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import Number, require
from bayesclf.errors import DoesNotExist, InputError
from bayesclf.families.base import VARIANCE, Axes, Statistics, require_each
from bayesclf.families.cells import Booleans, by_pattern
from bayesclf.families.moments import Moments
from bayesclf.families.multivariate.covariance import collinear, submatrix

COPIES, COPIES_OF_CLASS = 12, 6
"""Matrices (feature, other_feature) that a fit holds at once in addition to the scatters, and for each class, measured.

Those of a class are of the spectra with which the degrees of freedom are learned.
"""

TOLERANCE = 1e-11
"""Largest change of an estimate in one step, in standard deviations, that counts as convergence."""

STEPS = 20_000


@dataclass(frozen=True)
class Scatters(Statistics):
    """Weight n, mean x̄ and scatter S = Σ w (x − x̄)(x − x̄)ᵀ of the rows of each class, by their observed cells.

    Rows with the same cells missing are summed together, because their observed columns are jointly normal. The
    first pattern is that of complete rows, with or without any; the others are sorted; rows without a cell
    are not informative and have none. Parts are merged by the update of Chan, Golub & LeVeque (1983), so that adding
    1e6 to a column costs no digits of its scatter.

    `seen`: Observed cells of a pattern, (pattern, feature). `n`: (pattern, outcome). `mean`: (pattern, outcome,
    feature), 0 where nothing is observed. `scatter`: (pattern, outcome, feature, other_feature), 0 where nothing is
    observed.
    """

    axes: Axes
    seen: Booleans
    n: Array
    mean: Array
    scatter: Array

    @classmethod
    def of(cls, X: Array, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Scatters:
        """Return the scatters of rows `X` (row, feature), NaN where a cell is missing, with label codes `y`."""
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        patterns = list(by_pattern(np.isnan(X)))
        labels, features = len(axes.labels), X.shape[1]
        kinds = len(patterns) if len(patterns) > 1 else 1
        arrays.require_bytes(
            (COPIES + (2.0 * kinds + COPIES_OF_CLASS) * labels) * 8 * features**2,
            f"covariances of {features:,} columns",
            "take fewer columns (--drop on the command line) or another model, such as naive Bayes",
        )
        n, mean = np.zeros((len(patterns), labels)), np.zeros((len(patterns), labels, features))
        scatter = np.zeros((len(patterns), labels, features, features))
        for p, (seen, rows) in enumerate(patterns):
            for k in np.unique(y[rows]):
                own = rows[y[rows] == k]
                n[p, k], mean[p, k, seen], scatter[p, k][np.ix_(seen, seen)] = _summed(X[own][:, seen], weight[own])
        seen_cells = np.array([seen for seen, _ in patterns], dtype=bool).reshape(len(patterns), features)
        return _collected(axes, seen_cells, n, mean, scatter)

    @classmethod
    def complete(cls, axes: Axes, n: Array, mean: Array, scatter: Array) -> Scatters:
        """Return the scatters of complete rows, from arrays (outcome), (outcome, feature) and so on."""
        return cls(axes, np.ones((1, mean.shape[1]), dtype=bool), n[None], mean[None], scatter[None])

    @override
    def __add__(self, other: Scatters) -> Scatters:
        pairs = ((self.n, other.n), (self.mean, other.mean), (self.scatter, other.scatter))
        seen = np.concatenate([self.seen, other.seen])
        return _collected(self.axes, seen, *(np.concatenate(pair) for pair in pairs))

    @override
    def pooled(self) -> Scatters:
        """Return the moments of all rows under one label, means of classes combined by their weights."""
        return reduce(Scatters.__add__, map(self._of_label, range(len(self.axes.labels))))

    def select(self, features: Booleans) -> Scatters:
        """Return the scatters of some features; patterns that now have the same cells become one."""
        mean, scatter = self.mean[:, :, features], self.scatter[:, :, features][:, :, :, features]
        return _collected(self.axes.select(features), self.seen[:, features], self.n, mean, scatter)

    @override
    def reindex(self, axes: Axes) -> Scatters:
        """Return the moments on axes with additional labels."""
        places = self.axes.labels_in(axes)
        arrays = self.n, self.mean, self.scatter
        moved = [np.zeros((len(values), len(axes.labels), *values.shape[2:])) for values in arrays]
        for wider, values in zip(moved, arrays, strict=True):
            wider[:, places] = values
        return Scatters(axes, self.seen, *moved)

    def cells(self) -> Moments:
        """Return the moments of each column by itself, over all its observed cells."""
        diagonals = np.diagonal(self.scatter, axis1=2, axis2=3)
        of_cells = self.n[:, :, None] * self.seen[:, None, :]
        parts = zip(of_cells, self.mean, diagonals, strict=True)
        return reduce(Moments.__add__, (Moments(self.axes, *part) for part in parts))

    def missing(self) -> tuple[str, ...]:
        """Return the columns with missing cells in rows that count."""
        absent = ~self.seen[self.n.sum(axis=1) > 0]
        return tuple(name for name, gone in zip(self.axes.features, absent.any(axis=0), strict=True) if gone)

    def _of_label(self, k: int) -> Scatters:
        one = slice(k, k + 1)
        return Scatters(self.axes.pooled(), self.seen, self.n[:, one], self.mean[:, one], self.scatter[:, one])


def _summed(X: Array, weight: Array) -> tuple[float, Array, Array]:
    """Return weight, mean and scatter of complete rows; the first row as origin makes those of equal rows exact."""
    n = float(weight.sum())
    mean = X[0] + weight @ (X - X[0]) / n
    centered = X - mean
    return n, mean, (centered * weight[:, None]).T @ centered


def _collected(axes: Axes, seen: Booleans, n: Array, mean: Array, scatter: Array) -> Scatters:
    """Return scatters with the patterns in order, equal ones merged."""
    nothing = np.zeros((1, seen.shape[1]), dtype=bool)
    absent, place = np.unique(np.vstack([nothing, ~seen]), axis=0, return_inverse=True)
    total = [np.zeros((len(absent), *values.shape[1:])) for values in (n, mean, scatter)]
    for p, at in enumerate(place.ravel()[1:]):
        merged = _merged([values[at] for values in total], [n[p], mean[p], scatter[p]])
        for values, part in zip(total, merged, strict=True):
            values[at] = part
    kept = ~absent.all(axis=1)
    return Scatters(axes, ~absent[kept], *(values[kept] for values in total))


def _merged(one: Sequence[Array], other: Sequence[Array]) -> tuple[Array, Array, Array]:
    n = one[0] + other[0]
    share = np.divide(other[0], n, out=np.zeros_like(n), where=n > 0)
    delta = other[1] - one[1]
    outer = delta[:, :, None] * delta[:, None, :] * (one[0] * share)[:, None, None]
    # An empty side has mean 0 by convention, which must not enter the weighted mean even as 0 · x rounding.
    mean = np.where((one[0] == 0)[:, None], other[1], one[1] + delta * share[:, None])
    return n, mean, one[2] + other[2] + outer


def shared_scatter(values: Array, shared: bool, axis: int = 0) -> Array:
    """Return (group, ...) of (outcome, ...): the sum where the classes share a covariance."""
    return np.asarray(values.sum(axis=axis, keepdims=True)) if shared else values


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
        raise DoesNotExist(f"{reason}; use inference='augmentation', or drop columns")
    return parameters


def maximize(
    statistics: Scatters, maximization: Callable[[Scatters], Parameters], start: Parameters, steps: int = STEPS
) -> tuple[Parameters, bool]:
    """Return the estimate from rows with missing cells, and whether it has converged.

    No step lowers the observed-data likelihood (times prior).

    `statistics`: Scatters of every pattern of missing cells. `start`: Where to start; Σ is (draw, feature,
    other_feature) or (draw, outcome, feature, other_feature).

    See Dempster, Laird and Rubin (1977); Little and Rubin, *Statistical Analysis with Missing Data*, §11.2.
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
    mu, Sigma = parameters["mu"][0], parameters["Sigma"][0]
    return np.broadcast_to(Sigma, (len(mu), *Sigma.shape[-2:]))


def _change(before: Parameters, after: Parameters) -> float:
    """Return the largest change in units of the standard deviations."""
    Sigma = _of_label(after)
    sd = np.sqrt(np.diagonal(Sigma, axis1=1, axis2=2))
    of_mean = np.abs(after["mu"][0] - before["mu"][0]) / sd
    of_covariance = np.abs(Sigma - _of_label(before)) / (sd[:, :, None] * sd[:, None, :])
    return float(max(of_mean.max(), of_covariance.max()))
