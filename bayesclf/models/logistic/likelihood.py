"""The conditional likelihood and the posterior density of logistic regression, with their derivatives.

The normal approximation of a posterior at its mode.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from bayesclf.arrays import Array, Integers
from bayesclf.models.logistic.centered import CenteredRows, Matrix

PART_CELLS = 2**16
"""Number of cells in rows over which derivatives are summed, times the weight vectors, so that they fit in the cache;
there are at least as many rows as the next number."""
BLOCK_ROWS = 256
BLOCK_DRAWS = 128
"""Numbers of rows and draws whose log-odds are computed at once, so that they fit in the cache."""


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

    X: Matrix
    y: Integers
    weight: Array
    vectors: int

    def log_odds(self, theta: Array) -> Array:
        """Return the log-odds against the reference, (row, outcome)."""
        return np.asarray(self.X @ theta.T)

    def value(self, theta: Array) -> float:
        """Return the log likelihood."""
        if self._parts:
            return sum(part.value(theta) for part in self._parts)
        eta = self.log_odds(theta)
        return float(self.weight @ (self._own(eta) - log_normalizer(eta)))

    def values(self, theta: Array) -> Array:
        """Return the log likelihood of each θ (draw, outcome, column), shape (draw)."""
        members = (self.y[:, None] == np.arange(self.vectors)) * self.weight[:, None]
        out: Array = np.einsum("dkj,kj->d", theta, members.T @ self.X)
        for draws in blocks(len(theta), BLOCK_DRAWS):
            some = theta[draws]
            stacked = np.ascontiguousarray(some.transpose(2, 1, 0).reshape(theta.shape[2], -1))
            for rows in blocks(len(self.X), BLOCK_ROWS):
                eta = (self.X[rows] @ stacked).reshape(-1, self.vectors, len(some))
                out[draws] -= self.weight[rows] @ log_normalizer(eta, axis=1)
        return out

    def gradient(self, theta: Array) -> tuple[float, Array]:
        """Return the log likelihood and Σ w (1[y = k] − P(k | x)) x (outcome, column); Mitchell eqs 26 and 29."""
        if self._parts:
            values, slopes = zip(*(part.gradient(theta) for part in self._parts), strict=True)
            return sum(values), np.sum(slopes, axis=0)
        value, P, _ = self._probabilities(theta)
        return value, self._slope(P)

    def derivatives(self, theta: Array) -> tuple[float, Array, Array]:
        """Return log likelihood, gradient (outcome, column) and minus the Hessian of θ raveled."""
        if self._parts:
            value, slope, curvature = 0.0, np.zeros_like(theta), np.zeros((theta.size, theta.size))
            for part in self._parts:
                own = part.derivatives(theta)
                value += own[0]
                slope += own[1]
                curvature += own[2]
            return value, slope, curvature
        value, P, P_reference = self._probabilities(theta)
        return value, self._slope(P), self._curvature(P, P_reference)

    @cached_property
    def _parts(self) -> list[Likelihood]:
        """The same of as many rows at a time as stay in the cache; none where all do, or rows are sparse."""
        size = max(PART_CELLS // (self.vectors * self.X.shape[1]), BLOCK_ROWS)
        if isinstance(self.X, CenteredRows) or len(self.X) <= size:
            return []
        return [replace(self, X=self.X[i], y=self.y[i], weight=self.weight[i]) for i in blocks(len(self.X), size)]

    def some(self, step: int) -> Likelihood | None:
        """Return that of every `step`-th row of many dense ones, for as many; None where that might lack a class."""
        y = self.y[::step]
        if len(self._parts) < step or len(np.unique(y)) <= self.vectors:
            return None
        return replace(self, X=self.X[::step], y=y, weight=step * self.weight[::step])

    def _probabilities(self, theta: Array) -> tuple[float, Array, Array]:
        """Return the log likelihood, P(k | x) (row, outcome), and that of the reference (row)."""
        eta = self.log_odds(theta)
        log_total = log_normalizer(eta)
        value = float(self.weight @ (self._own(eta) - log_total))
        return value, np.exp(eta - log_total[:, None]), np.exp(-log_total)

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
        1 − P_k is summed from the other labels, as it may be tiny. NumPy computes only half of a product RᵀR.
        """
        if isinstance(self.X, CenteredRows):
            return self._sparse_curvature(self.X, P, P_reference)
        X, w, vectors, columns = self.X, self.weight, self.vectors, self.X.shape[1]
        size = vectors * columns
        out = np.zeros((vectors, columns, vectors, columns))
        if vectors > 1:
            A = ((np.sqrt(w)[:, None] * P)[:, :, None] * X[:, None, :]).reshape(-1, size)
            out -= (A.T @ A).reshape(out.shape)
        for k in range(vectors):
            rest = P_reference + np.delete(P, k, axis=1).sum(axis=1) if vectors > 1 else P_reference
            R = np.sqrt(w * P[:, k] * rest)[:, None] * X
            out[k, :, k] = R.T @ R
        return out.reshape(size, size)

    def _sparse_curvature(self, X: CenteredRows, P: Array, P_reference: Array) -> Array:
        """Return the same pair by pair of labels."""
        columns = X.shape[1]
        out = np.empty((self.vectors, columns, self.vectors, columns))
        for k in range(self.vectors):
            rest = P_reference + np.delete(P, k, axis=1).sum(axis=1)
            out[k, :, k] = X.gram(self.weight * P[:, k] * rest)
            for other in range(k):
                between = X.gram(self.weight * P[:, k] * P[:, other])
                out[k, :, other] = out[other, :, k] = -between
        return out.reshape(self.vectors * columns, -1)


class SumOverRows(Protocol):
    """A log likelihood with its derivatives, however the rows are read; as those of `Likelihood`."""

    def value(self, theta: Array, /) -> float:
        """Return the log likelihood."""

    def values(self, theta: Array, /) -> Array:
        """Return the log likelihood of each θ (draw, outcome, column), shape (draw)."""

    def gradient(self, theta: Array, /) -> tuple[float, Array]:
        """Return the log likelihood and its gradient (outcome, column)."""

    def derivatives(self, theta: Array, /) -> tuple[float, Array, Array]:
        """Return log likelihood, gradient (outcome, column) and minus the Hessian of θ raveled."""


@dataclass(frozen=True, eq=False)
class MappedLikelihood:
    """A likelihood of θ (vector, column) as a function of γ (contrast, coordinate), θ = M γ T.

    Attributes
    ----------
    likelihood
        Of θ.
    columns
        T, (coordinate, column); None for the identity.
    contrast
        M, (vector, contrast); None for the identity.
    """

    likelihood: SumOverRows
    columns: Array | None = None
    contrast: Array | None = None

    def theta(self, gamma: Array) -> Array:
        """Return θ (…, vector, column) of γ (…, contrast, coordinate)."""
        theta = gamma if self.columns is None else gamma @ self.columns
        return theta if self.contrast is None else np.asarray(self.contrast @ theta)

    def value(self, gamma: Array) -> float:
        """Return the log likelihood."""
        return self.likelihood.value(self.theta(gamma))

    def values(self, gamma: Array) -> Array:
        """Return the log likelihood of each γ (draw, contrast, coordinate), shape (draw)."""
        return self.likelihood.values(self.theta(gamma))

    def gradient(self, gamma: Array) -> tuple[float, Array]:
        """Return the log likelihood and its gradient (contrast, coordinate)."""
        value, slope = self.likelihood.gradient(self.theta(gamma))
        return value, self._pulled_back(slope)

    def derivatives(self, gamma: Array) -> tuple[float, Array, Array]:
        """Return log likelihood, gradient, and minus the Hessian of γ raveled."""
        return self.pulled_back(*self.likelihood.derivatives(self.theta(gamma)))

    def pulled_back(self, value: float, slope: Array, curvature: Array) -> tuple[float, Array, Array]:
        """Return the same, given derivatives in θ."""
        shape, slope = slope.shape, self._pulled_back(slope)
        half = self._pulled_back(curvature.reshape(-1, *shape)).reshape(-1, slope.size)
        return value, slope, self._pulled_back(half.T.reshape(-1, *shape)).reshape(slope.size, -1)

    def _pulled_back(self, slope: Array) -> Array:
        slope = slope if self.columns is None else slope @ self.columns.T
        return slope if self.contrast is None else np.asarray(self.contrast.T @ slope)


class Prior(Protocol):
    """A normal prior of θ in numbers."""

    def log_density(self, theta: Array, /) -> Array:
        """Return log p(θ), shape (draw), of θ (draw, outcome, column)."""

    def gradient(self, theta: Array, /) -> Array:
        """Return ∂ log p(θ)/∂θ, (outcome, column), of one θ."""

    def precision(self) -> Array:
        """Return the precision matrix of θ raveled, label by label."""


@dataclass(frozen=True, eq=False)
class LogPosterior:
    """Log likelihood plus log prior, of θ with the weights per sd of a column."""

    likelihood: SumOverRows
    prior: Prior

    def value(self, theta: Array) -> float:
        """Return log p(θ, D)."""
        return self.likelihood.value(theta) + float(self.prior.log_density(theta[None])[0])

    def gradient(self, theta: Array) -> tuple[float, Array]:
        """Return log p(θ, D) and its gradient (outcome, column); Mitchell eq 26 with λ = 1/s²."""
        value, slope = self.likelihood.gradient(theta)
        return value + float(self.prior.log_density(theta[None])[0]), slope + self.prior.gradient(theta)

    def derivatives(self, theta: Array) -> tuple[float, Array, Array]:
        """Return log p(θ, D), its gradient, and minus its Hessian of θ raveled."""
        return self.with_prior(theta, self.likelihood.derivatives(theta))

    def with_prior(self, theta: Array, of_rows: tuple[float, Array, Array]) -> tuple[float, Array, Array]:
        """Return the same, given log likelihood, gradient and minus the Hessian."""
        value, slope, curvature = of_rows
        value += float(self.prior.log_density(theta[None])[0])
        return value, slope + self.prior.gradient(theta), curvature + self._precision

    @cached_property
    def _precision(self) -> Array:
        return self.prior.precision()


def log_normalizer(eta: Array, axis: int = -1) -> Array:
    """Return log(1 + Σ_k exp η_k) over the axis of the labels."""
    if eta.shape[axis] == 1:
        only = eta.squeeze(axis)
        return np.asarray(np.maximum(only, 0) + np.log1p(np.exp(-np.abs(only))))
    top = np.maximum(eta.max(axis=axis), 0)
    odds = eta - np.expand_dims(top, axis)
    np.exp(odds, out=odds)
    return np.asarray(top + np.log(np.exp(-top) + odds.sum(axis=axis)))


def blocks(length: int, size: int) -> Iterator[slice]:
    """Return the slices of at most `size` that make up a length."""
    for start in range(0, length, size):
        yield slice(start, start + size)


LARGE_FACTOR, CELLS_SHARE = 2**20, 10
"""Numbers in a matrix of coordinates, which no cache holds then, and in it for each stored cell of sparse rows, from
which on scales alone are used: a gradient takes a seventh of the time or less, and a draw up to twice as many."""


@dataclass(frozen=True, eq=False)
class LaplaceApproximation:
    """The normal approximation N(center, factor factorᵀ) at the posterior mode of logistic regression.

    Attributes
    ----------
    center
        The mode: intercept at the means, then weight raveled.
    factor
        Lower triangular root of the inverse of minus the log posterior's Hessian.
    """

    center: Array
    factor: Array

    @classmethod
    def at(cls, mode: Array, curvature: Array, scale: Array) -> LaplaceApproximation:
        """Find it from the mode and minus the Hessian there.

        The Hessian is factored with the weights per sd of a column and the factor scaled afterward, so that units cost
        no digits.

        Parameters
        ----------
        mode
            θ (outcome, 1 + column), weights per sd of a column.
        curvature
            Minus the Hessian of the log posterior, of θ raveled.
        scale
            The columns' sds (column).
        """
        positions = np.arange(mode.size).reshape(mode.shape)
        order = np.concatenate([positions[:, 0], positions[:, 1:].ravel()])
        unit = np.concatenate([np.ones(len(mode)), np.tile(scale, len(mode))])
        # H = U Uᵀ with U upper triangular, from the Cholesky factor of H in reverse order; then H⁻¹ = U⁻ᵀ U⁻¹.
        reverse = order[::-1]
        upper = np.linalg.cholesky(curvature[np.ix_(reverse, reverse)])[::-1, ::-1]
        factor = linalg.solve_triangular(upper, np.eye(mode.size), lower=False, trans="T")
        return cls(mode.ravel()[order] / unit, factor / unit[:, None])

    def coordinates(self, X: Matrix) -> Array:
        """Return the factor for z in center + factor z, or the sds of parameters given all others, (parameter).

        These take the place of the factor where its product would cost much more than a pass over sparse rows.
        """
        if not isinstance(X, CenteredRows) or self.factor.size <= max(LARGE_FACTOR, CELLS_SHARE * len(X.data)):
            return self.factor
        inverse = linalg.solve_triangular(self.factor, np.eye(len(self.factor)), lower=True)
        return np.asarray(1 / np.linalg.norm(inverse, axis=0))  # 1/√H_jj with H⁻¹ = factor factorᵀ


LEAST_EFFECTIVE = 100
"""Effective number of proposals from which others are placed; where there are fewer, their weights count by a power."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """A multivariate t distribution of z = center + sd t, where the posterior of z is nearly standard normal.

    Attributes
    ----------
    degrees
        Degrees of freedom; there are at least as many as coordinates, so that |t| varies through them no more than it
        does by itself.
    center, sd
        Of each coordinate, (coordinate), or one for all.
    """

    degrees: float
    center: Array | float = 0.0
    sd: Array | float = 1.0

    def draw(self, rng: np.random.Generator, number: int, size: int) -> tuple[Array, Array]:
        """Return draws (draw, coordinate) and their log density (draw) up to a constant."""
        degrees = max(self.degrees, size)
        t = rng.standard_normal((number, size))
        t /= np.sqrt(rng.chisquare(degrees, number) / degrees)[:, None]
        return self.center + self.sd * t, -0.5 * (degrees + size) * np.log1p(np.sum(t**2, axis=1) / degrees)

    def moved(self, z: Array, log_weight: Array) -> Proposal:
        """Return the one with the means and sds of draws z (draw, coordinate) by their weights, given by logs (draw).

        Where few draws have all the weight, a power of the weights is taken that leaves `LEAST_EFFECTIVE`, and sds stay
        near those so far.

        References
        ----------
        Cappé, Douc, Guillin, Marin, Robert, *Adaptive importance sampling in general mixture classes*, Statistics and
        Computing 18 (2008), doi:10.1007/s11222-008-9059-x.
        """
        log_weight = power_of(log_weight, LEAST_EFFECTIVE) * log_weight
        known = _effective(log_weight)
        weight = np.exp(log_weight)
        weight /= weight.sum()
        center = weight @ z
        variance = (known * (weight @ (z - center) ** 2) + LEAST_EFFECTIVE * self.sd**2) / (known + LEAST_EFFECTIVE)
        return Proposal(self.degrees, center, np.sqrt(variance))


def power_of(log_weight: Array, least: float) -> float:
    """Return the largest power, at most 1, of weights given by their logs that leaves so many effective ones."""
    if _effective(log_weight) >= least:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _effective(middle * log_weight) >= least else (low, middle)
    return low


def _effective(log_weight: Array) -> float:
    """Return the effective number of draws of weights given by their logs, the largest of which is 0."""
    weight = np.exp(log_weight)
    return float(weight.sum() ** 2 / (weight**2).sum())


DENSE_ROWS = 2048
"""Rows that are made dense at once."""


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows (row, 1 + column) of a design with a column of ones before the others.

    Attributes
    ----------
    numbers
        Ones, and the numbers standardized, (1 + number, row).
    places
        Which 0/1 column each category has in a row, counting that of ones, (category, row); ``width`` where it has
        none, as its cell is missing. An indicator of missing cells is a category with one level. Each category has
        columns after those of the one before.
    width
        Number of columns, that of ones included.
    """

    numbers: Array
    places: NDArray[np.int32]
    width: int

    def __len__(self) -> int:
        return len(self.numbers.T)

    def __getitem__(self, rows: slice | Integers) -> CodedRows:
        return CodedRows(self.numbers[:, rows], self.places[:, rows], self.width)

    @property
    def cells(self) -> int:
        """Number of cells that are held."""
        return int(self.numbers.size + self.places.size)

    def dense(self) -> Array:
        """Return the columns, (row, 1 + column); for some rows only."""
        out = np.zeros((len(self), self.width + 1))
        out[:, : len(self.numbers)] = self.numbers.T
        for places in self.places:
            out[np.arange(len(self)), places] = 1.0
        return out[:, : self.width]


@dataclass(frozen=True, eq=False)
class CodedLikelihood:
    """The conditional likelihood of rows, as `Likelihood`, of rows whose categories are codes.

    Attributes
    ----------
    X
        The rows.
    y, weight, vectors
        As of `Likelihood`.

    Examples
    --------
    >>> X = CodedRows(np.ones((1, 3)), np.array([[1, 2, 3]], dtype=np.int32), 3)
    >>> part = CodedLikelihood(X, np.array([0, -1, 0]), np.ones(3), 1)
    >>> value, slope, _ = part.derivatives(np.zeros((1, 3)))
    >>> round(value / np.log(0.5)), slope
    (3, array([[ 0.5,  0.5, -0.5]]))
    """

    X: CodedRows
    y: Integers
    weight: Array
    vectors: int

    def values(self, theta: Array) -> Array:
        """Return the log likelihood of each θ (draw, outcome, column), shape (draw)."""
        out: Array = np.zeros(len(theta))
        for part in self.dense_parts():
            out += part.values(theta)
        return out

    def derivatives(self, theta: Array) -> tuple[float, Array, Array]:
        """Return log likelihood, gradient (outcome, column) and minus the Hessian of θ raveled."""
        from bayesclf.models.logistic.kernel import add_derivatives

        X, width = self.X, self.X.width
        padded = np.pad(np.ascontiguousarray(theta), ((0, 0), (0, 1)))
        slope = np.zeros_like(padded)
        pairs = np.zeros((self.vectors * (self.vectors + 1) // 2, width + 1, width + 1))
        value = add_derivatives(padded, X.numbers, X.places, self.y, self.weight, slope, pairs)
        return value, slope[:, :width], self._curvature(pairs[:, :width, :width])

    def dense_parts(self) -> Iterator[Likelihood]:
        """Yield likelihoods of some rows each, whose columns are an array."""
        for rows in blocks(len(self.X), DENSE_ROWS):
            yield Likelihood(self.X[rows].dense(), self.y[rows], self.weight[rows], self.vectors)

    def _curvature(self, pairs: Array) -> Array:
        """Return minus the Hessian, given what `add_derivatives` sums up."""
        width, levels = self.X.width, slice(len(self.X.numbers), None)
        lower = np.tril(pairs, -1)
        whole = lower + lower.transpose(0, 2, 1)
        at = np.arange(width)
        whole[:, at, at] = pairs[:, at, at]
        whole[:, at[levels], at[levels]] = pairs[:, levels, 0]
        out = np.empty((self.vectors, width, self.vectors, width))
        for pair, (k, other) in enumerate(zip(*np.tril_indices(self.vectors), strict=True)):
            if k == other:
                out[k, :, k] = whole[pair]
            else:
                out[k, :, other] = out[other, :, k] = -whole[pair]
        return out.reshape(self.vectors * width, -1)
