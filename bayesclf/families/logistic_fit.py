"""Maximising the conditional likelihood and the posterior density of logistic regression."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import linalg, optimize

from bayesclf.families.base import Array, Integers
from bayesclf.families.logistic_prior import WeightPrior

HESSIAN_CELLS = 2_000_000
"""Cells of a block of rows that the Hessian is summed over."""
BLOCK_ROWS = 2048
BLOCK_DRAWS = 128
"""Rows and draws whose log-odds are held at once: what stays in the cache."""
DENSE_PARAMETERS = 3_000
"""Above this number of parameters no Hessian is formed."""
NEWTON_STEPS = 200
CONVERGED = 1e-10
"""A Newton step is the last when its length in the Hessian's metric, in posterior sds, is below this ..."""
ROUNDING = 1e-6
"""... or below this without having shrunk, the limit of double precision."""
FULL_STEP = 1e-3
"""Shorter steps are taken whole: the differences of the objective would be rounding."""
HALVINGS = 60
SUFFICIENT_DECREASE = 1e-4
RANK_TOLERANCE = 1e-9
"""Directions in which the rows vary by less than this, relative to the widest one, are collinearity."""
LBFGS_STEPS = 20_000


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The conditional likelihood of rows, Π P(y | x, θ)^weight, as a function of θ (outcome, column).

    log P(y = k | x) = θ_k·x − log(1 + Σ_l exp θ_l·x), where the reference has θ = 0.

    Attributes
    ----------
    X
        (row, column), the intercept's column of ones included.
    y
        Codes (row) of the weight vectors, −1 for the reference.
    weight
        (row).
    vectors
        Number of weight vectors, classes − 1.

    References
    ----------
    Mitchell, eqs 24 and 25 (two classes), 27 and 28 (more).
    """

    X: Array
    y: Integers
    weight: Array
    vectors: int

    def log_odds(self, theta: Array) -> Array:
        """Return the log-odds against the reference, (row, outcome)."""
        return np.asarray(self.X @ theta.T)

    def value(self, theta: Array) -> float:
        """Return the log likelihood."""
        eta = self.log_odds(theta)
        return float(self.weight @ (self._own(eta) - log_normaliser(eta)))

    def values(self, theta: Array) -> Array:
        """Return the log likelihood of each θ (draw, outcome, column), shape (draw)."""
        members = (self.y[:, None] == np.arange(self.vectors)) * self.weight[:, None]
        out: Array = np.einsum("dkj,kj->d", theta, members.T @ self.X)
        for draws in _blocks(len(theta), BLOCK_DRAWS):
            some = theta[draws]
            stacked = np.ascontiguousarray(some.transpose(2, 1, 0).reshape(theta.shape[2], -1))
            for rows in _blocks(len(self.X), BLOCK_ROWS):
                eta = (self.X[rows] @ stacked).reshape(-1, self.vectors, len(some))
                out[draws] -= self.weight[rows] @ log_normaliser(np.moveaxis(eta, 1, -1))
        return out

    def gradient(self, theta: Array) -> tuple[float, Array]:
        """Return the log likelihood and Σ w (1[y = k] − P(k | x)) x (outcome, column); Mitchell eqs 26 and 29."""
        eta = self.log_odds(theta)
        log_total = log_normaliser(eta)
        return float(self.weight @ (self._own(eta) - log_total)), self._slope(np.exp(eta - log_total[:, None]))

    def derivatives(self, theta: Array) -> tuple[float, Array, Array]:
        """Return log likelihood, gradient (outcome, column) and minus the Hessian of θ raveled."""
        eta = self.log_odds(theta)
        log_total = log_normaliser(eta)
        P = np.exp(eta - log_total[:, None])
        value = float(self.weight @ (self._own(eta) - log_total))
        return value, self._slope(P), self._curvature(P, np.exp(-log_total))

    def _own(self, eta: Array) -> Array:
        """Return the log-odds of each row's own class, 0 for the reference."""
        own = eta[np.arange(len(eta)), np.maximum(self.y, 0)]
        return np.where(self.y >= 0, own, 0.0)

    def _slope(self, P: Array) -> Array:
        residual = -P
        members = np.flatnonzero(self.y >= 0)
        residual[members, self.y[members]] += 1
        residual *= self.weight[:, None]
        return residual.T @ self.X

    def _curvature(self, P: Array, P_reference: Array) -> Array:
        """Return Σ w P_k (1[k = l] − P_l) x xᵀ.

        Off the diagonal it is −AᵀA with the rows √w P_k x side by side, one product for all pairs of labels; on it
        1 − P_k is summed from the other labels, as it may be tiny.
        """
        vectors, columns = self.vectors, self.X.shape[1]
        size = vectors * columns
        out = np.zeros((vectors, columns, vectors, columns))
        raveled = out.reshape(size, size)
        diagonal = np.zeros((vectors, columns, columns))
        for block in _blocks(len(P), max(HESSIAN_CELLS // size, 1)):
            X, w, p = self.X[block], self.weight[block], P[block]
            for k in range(vectors):
                rest = P_reference[block] + np.delete(p, k, axis=1).sum(axis=1)
                root = np.sqrt(w * p[:, k] * rest)[:, None] * X
                diagonal[k] += root.T @ root
            if vectors > 1:
                A = ((np.sqrt(w)[:, None] * p)[:, :, None] * X[:, None, :]).reshape(-1, size)
                raveled -= A.T @ A
        for k in range(vectors):
            out[k, :, k] = diagonal[k]
        return raveled


class Objective(Protocol):
    """A concave function of θ (outcome, column)."""

    def value(self, theta: Array) -> float:
        """Return its value."""

    def gradient(self, theta: Array) -> tuple[float, Array]:
        """Return value and gradient (outcome, column)."""

    def derivatives(self, theta: Array) -> tuple[float, Array, Array]:
        """Return value, gradient and minus the Hessian of θ raveled."""


@dataclass(frozen=True, eq=False)
class LogPosterior:
    """Log likelihood plus log prior, of θ with the weights per sd of a column."""

    likelihood: Likelihood
    prior: WeightPrior

    def value(self, theta: Array) -> float:
        """Return log p(θ, D)."""
        return self.likelihood.value(theta) + float(self.prior.log_density(theta[None])[0])

    def gradient(self, theta: Array) -> tuple[float, Array]:
        """Return log p(θ, D) and its gradient (outcome, column); Mitchell eq 26 with λ = 1/s²."""
        value, slope = self.likelihood.gradient(theta)
        return value + float(self.prior.log_density(theta[None])[0]), slope + self.prior.gradient(theta)

    def derivatives(self, theta: Array) -> tuple[float, Array, Array]:
        """Return log p(θ, D), its gradient, and minus its Hessian of θ raveled."""
        value, slope, curvature = self.likelihood.derivatives(theta)
        value += float(self.prior.log_density(theta[None])[0])
        return value, slope + self.prior.gradient(theta), curvature + self.prior.precision()


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where an optimiser stopped.

    Attributes
    ----------
    theta
        (outcome, column).
    converged
        Whether the last Newton step was below `CONVERGED` posterior sds.
    at_rounding
        Whether the steps had become as short as double precision allows.
    """

    theta: Array
    converged: bool
    at_rounding: bool = False


def maximise(objective: Objective, start: Array) -> Array:
    """Return the maximum of a strictly concave function.

    Newton, or L-BFGS above `DENSE_PARAMETERS` and where a Hessian is singular in double precision.
    """
    if start.size <= DENSE_PARAMETERS:
        optimum = newton(objective, start)
        if optimum.converged or optimum.at_rounding:
            return optimum.theta
        start = optimum.theta

    def negative(raveled: Array) -> tuple[float, Array]:
        value, slope = objective.gradient(raveled.reshape(start.shape))
        return -value, -slope.ravel()

    tolerance = CONVERGED * max(1.0, float(np.abs(negative(start.ravel())[1]).max()))
    found = optimize.minimize(
        negative,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": LBFGS_STEPS, "maxfun": 2 * LBFGS_STEPS, "ftol": 0.0, "gtol": tolerance, "maxcor": 20},
    )
    return np.asarray(found.x, dtype=float).reshape(start.shape)


def newton(objective: Objective, start: Array, give_up: Callable[[Array], bool] | None = None) -> Optimum:
    """Maximise a concave function by Newton's method with step halving.

    For the likelihood this is iteratively reweighted least squares.

    Parameters
    ----------
    objective
        What is maximised.
    start
        θ (outcome, column) to start from.
    give_up
        Says of a θ on the way whether to stop there, not converged.
    """
    theta, previous = start, np.inf
    for _ in range(NEWTON_STEPS):
        value, slope, curvature = objective.derivatives(theta)
        try:
            raveled: Array = linalg.cho_solve(linalg.cho_factor(curvature, lower=True), slope.ravel())
        except linalg.LinAlgError:
            return Optimum(theta, converged=False)
        length = float(np.sqrt(np.maximum(raveled @ slope.ravel(), 0.0)))
        step = raveled.reshape(theta.shape)
        if length <= CONVERGED:
            return Optimum(theta + step, converged=True)
        if length <= ROUNDING and length > previous / 2:
            return Optimum(theta, converged=False, at_rounding=True)
        theta = theta + (step if length < FULL_STEP else _shorten(objective, theta, step, value, length**2))
        if give_up is not None and give_up(theta):
            break
        previous = length
    return Optimum(theta, converged=False)


def _shorten(objective: Objective, theta: Array, step: Array, value: float, slope: float) -> Array:
    """Halve a step until the objective rises by a share of what its slope promises."""
    size = 1.0
    for _ in range(HALVINGS):
        if objective.value(theta + size * step) >= value + SUFFICIENT_DECREASE * size * slope:
            break
        size /= 2
    return size * step


@dataclass(frozen=True, eq=False)
class ColumnSpace:
    """Orthonormal coordinates of the space that the columns span, seen from their mean.

    Attributes
    ----------
    mean
        Weighted mean of the rows (column).
    basis
        (column, coordinate): Z = (X − mean) @ basis has mean 0 and covariance I.
    null
        (column, direction): orthonormal directions of the weights that change no row.
    """

    mean: Array
    basis: Array
    null: Array

    @classmethod
    def of(cls, X: Array, weight: Array) -> ColumnSpace:
        """Find it for rows X (row, column) without the intercept, of positive weight (row)."""
        share = weight / weight.sum()
        mean = share @ X
        R = np.linalg.qr(np.sqrt(share)[:, None] * (X - mean), mode="r")
        _, spread, directions = np.linalg.svd(R)
        rank = int(np.sum(spread > RANK_TOLERANCE * spread.max(initial=0.0)))
        return cls(mean, directions[:rank].T / spread[:rank], directions[rank:].T)

    def coordinates(self, X: Array) -> Array:
        """Return 1 and Z for rows X, (row, 1 + coordinate)."""
        return np.column_stack([np.ones(len(X)), (X - self.mean) @ self.basis])

    def weights(self, gamma: Array) -> Array:
        """Return θ (outcome, 1 + column) of least norm from coordinates (label, 1 + coordinate)."""
        weights = gamma[:, 1:] @ self.basis.T
        return np.column_stack([gamma[:, 0] - weights @ self.mean, weights])


def log_normaliser(eta: Array) -> Array:
    """Return log(1 + Σ_k exp η_k) over the last axis."""
    if eta.shape[-1] == 1:
        only = eta[..., 0]
        return np.asarray(np.maximum(only, 0) + np.log1p(np.exp(-np.abs(only))))
    top = np.maximum(eta.max(axis=-1), 0)
    return np.asarray(top + np.log(np.exp(-top) + np.exp(eta - top[..., None]).sum(axis=-1)))


def _blocks(length: int, size: int) -> Iterator[slice]:
    for start in range(0, length, size):
        yield slice(start, start + size)
