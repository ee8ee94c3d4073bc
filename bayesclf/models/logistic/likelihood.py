"""The conditional likelihood and the posterior density of logistic regression, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, logsumexp

from bayesclf.arrays import Array, Integers
from bayesclf.models.linear import Matrix
from bayesclf.tables.numbers import blocks_of

if TYPE_CHECKING:
    from bayesclf.models.logistic.prior import WeightPrior

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

    `X`: (row, column), the intercept's column of ones included. `y`: Codes (row) of the weight vectors, −1 for the
    reference. `weight`: (row). `vectors`: Number of weight vectors, classes − 1. `shift`: What x is X less, (column), 0
    for the ones; None for nothing. It enters by algebra, so that sparse rows stay sparse.

    See Mitchell, eqs 24 and 25 (two classes), 27 and 28 (more).
    """

    X: Matrix
    y: Integers
    weight: Array
    vectors: int
    shift: Array | None = None

    def stored(self, theta: Array) -> Array:
        """Return the θ (…, outcome, column) that gives X the log-odds that this one gives x."""
        if self.shift is None:
            return theta
        return np.concatenate([theta[..., :1] - (theta @ self.shift)[..., None], theta[..., 1:]], axis=-1)

    def log_odds(self, theta: Array) -> Array:
        """Return the log-odds against the reference, (row, outcome)."""
        return np.asarray(self.X @ self.stored(theta).T)

    def largest(self, theta: Array) -> Array:
        """Return the largest magnitude of the log-odds against the reference of each θ (…, outcome, column), (…)."""
        every = theta.reshape(-1, theta.shape[-1])
        of_parts = [np.abs(part.log_odds(every)).max(axis=0, initial=0.0) for part in self._parts or [self]]
        return np.asarray(np.max(of_parts, axis=0).reshape(theta.shape[:-1]).max(axis=-1))

    def values(self, theta: Array) -> Array:
        """Return the log likelihood of each θ (draw, outcome, column), shape (draw)."""
        theta = self.stored(theta)
        out: Array = np.einsum("dkj,kj->d", theta, (self._members * self.weight[:, None]).T @ self.X)
        for draws in blocks_of(len(theta), 1, BLOCK_DRAWS):
            some = theta[draws]
            stacked = np.ascontiguousarray(some.transpose(2, 1, 0).reshape(theta.shape[2], -1))
            for rows in blocks_of(len(self.y), 1, BLOCK_ROWS):
                eta = (self.X[rows] @ stacked).reshape(-1, self.vectors, len(some))
                out[draws] -= self.weight[rows] @ log_normalizer(eta, axis=1)
        return out

    def gradient(self, theta: Array) -> tuple[Array, Array]:
        """Return log likelihood (…) and Σ w (1[y = k] − P(k | x)) x (…, outcome, column); Mitchell eqs 26 and 29."""
        return self._summed(theta, with_curvature=False)[:2]

    def derivatives(self, theta: Array) -> Derivatives:
        """Return log likelihood (…), gradient (…, outcome, column) and minus the Hessian of θ raveled, (…, θ, θ).

        `theta`: One or several, (…, outcome, column), which look at the rows together.
        """
        return self._summed(theta, with_curvature=True)

    def _summed(self, theta: Array, with_curvature: bool) -> Derivatives:
        shape, thetas = theta.shape[:-2], theta.reshape(-1, *theta.shape[-2:])
        size = thetas[0].size if with_curvature else 0
        value, slope, curvature = np.zeros(len(thetas)), np.zeros_like(thetas), np.zeros((len(thetas), size, size))
        for part in self._parts or [self]:
            for some in blocks_of(len(thetas), part.X.shape[0] * part.X.shape[1], PART_CELLS):
                own, P, P_reference = part._probabilities(thetas[some])  # noqa: SLF001
                value[some] += own
                slope[some] += part._slope(P)  # noqa: SLF001
                if with_curvature:
                    curvature[some] += part._curvature(P, P_reference)  # noqa: SLF001
        return value.reshape(shape), slope.reshape(theta.shape), curvature.reshape(*shape, size, size)

    @cached_property
    def _parts(self) -> list[Likelihood]:
        """The same of as many rows at a time as stay in the cache; none where all do, or rows are sparse."""
        size = max(PART_CELLS // (self.vectors * self.X.shape[1]), BLOCK_ROWS)
        if not isinstance(self.X, np.ndarray) or len(self.X) <= size:
            return []
        return [self.of(rows) for rows in blocks_of(len(self.X), 1, size)]

    def of(self, rows: slice | Integers) -> Likelihood:
        """Return the likelihood of some rows."""
        return replace(self, X=self.X[rows], y=self.y[rows], weight=self.weight[rows])

    def some(self, step: int) -> Likelihood | None:
        """Return that of every `step`-th row of many dense ones, for as many; None where that might lack a class."""
        some = self.of(slice(None, None, step))
        if len(self._parts) < step or len(np.unique(some.y)) <= self.vectors:
            return None
        return replace(some, weight=step * some.weight)

    def _probabilities(self, thetas: Array) -> tuple[Array, Array, Array]:
        """Return log likelihoods (θ), P(k | x) (θ, row, outcome), and that of the reference (θ, row)."""
        eta = self.log_odds(thetas.reshape(-1, thetas.shape[2]))
        eta = eta.reshape(len(eta), len(thetas), self.vectors).swapaxes(0, 1)
        log_total = log_normalizer(eta)
        value = (np.vecdot(eta, self._members) - log_total) @ self.weight
        return value, np.exp(eta - log_total[..., None]), np.exp(-log_total)

    @cached_property
    def _members(self) -> Array:
        """1 where a row has the label of a weight vector, else 0, (row, outcome)."""
        return np.asarray(self.y[:, None] == np.arange(self.vectors), dtype=float)

    def _slope(self, P: Array) -> Array:
        residual = ((self._members - P) * self.weight[:, None]).swapaxes(1, 2)
        flat = residual.reshape(len(P) * self.vectors, len(self.y))
        slope = np.asarray(flat @ self.X).reshape(len(P), self.vectors, self.X.shape[1])
        return slope if self.shift is None else slope - slope[..., :1] * self.shift

    def _curvature(self, P: Array, P_reference: Array) -> Array:
        """Return Σ w P_k (1[k = l] − P_l) x xᵀ; 1 − P_k is summed from the other labels, as it may be tiny."""
        columns = self.X.shape[1]
        out = np.empty((len(P), self.vectors, columns, self.vectors, columns))
        for k in range(self.vectors):
            rest = P_reference + np.delete(P, k, axis=2).sum(axis=2)
            out[:, k, :, k] = self.gram(self.weight * P[..., k] * rest)
            for other in range(k):
                out[:, k, :, other] = out[:, other, :, k] = -self.gram(self.weight * P[..., k] * P[..., other])
        return out.reshape(len(P), self.vectors * columns, -1)

    def gram(self, weight: Array) -> Array:
        """Return Σ_i w_i x_i x_iᵀ, (…, column, column), of weights (…, row) of at least 0."""
        products = gram(self.X, weight)
        if self.shift is None:
            return products
        sums = products[..., :1] * self.shift
        return np.asarray(
            products - sums - sums.swapaxes(-1, -2) + products[..., :1, :1] * np.outer(self.shift, self.shift)
        )


type Derivatives = tuple[Array, Array, Array]
"""Value (…), gradient (…, outcome, column) and minus the Hessian of θ raveled (…, θ, θ), of θ (…, outcome, column)."""


class Objective(Protocol):
    """A concave function of θ (…, outcome, column), with its derivatives."""

    def gradient(self, theta: Array, /) -> tuple[Array, Array]:
        """Return value (…) and gradient (…, outcome, column)."""

    def derivatives(self, theta: Array, /) -> Derivatives:
        """Return value, gradient, and minus the Hessian of θ raveled."""


class SumOverRows(Objective, Protocol):
    """A log likelihood, however the rows are read; as `Likelihood`."""

    def largest(self, theta: Array, /) -> Array:
        """Return the largest magnitude of the log-odds against the reference of each θ (…, outcome, column), (…)."""

    def values(self, theta: Array, /) -> Array:
        """Return the log likelihood of each θ (draw, outcome, column), shape (draw)."""


@dataclass(frozen=True, eq=False)
class MappedLikelihood:
    """A likelihood of θ (…, vector, column) as a function of γ (…, contrast, coordinate), θ = M γ T.

    `likelihood`: Of θ. `columns`: T, (coordinate, column); None for the identity. `contrast`: M, (vector, contrast);
    None for the identity.
    """

    likelihood: SumOverRows
    columns: Array | None = None
    contrast: Array | None = None

    def theta(self, gamma: Array) -> Array:
        """Return θ (…, vector, column) of γ (…, contrast, coordinate)."""
        theta = gamma if self.columns is None else gamma @ self.columns
        return theta if self.contrast is None else np.asarray(self.contrast @ theta)

    def some(self, step: int) -> MappedLikelihood | None:
        """Return that of every `step`-th row, as `Likelihood.some` does; None where rows are elsewhere."""
        few = self.likelihood.some(step) if isinstance(self.likelihood, Likelihood) else None
        return None if few is None else replace(self, likelihood=few)

    def largest(self, gamma: Array) -> Array:
        """Return the largest magnitude of the log-odds of each γ (…, contrast, coordinate), shape (…)."""
        return self.likelihood.largest(self.theta(gamma))

    def values(self, gamma: Array) -> Array:
        """Return the log likelihood of each γ (draw, contrast, coordinate), shape (draw)."""
        return self.likelihood.values(self.theta(gamma))

    def gradient(self, gamma: Array) -> tuple[Array, Array]:
        """Return the log likelihood (…) and its gradient (…, contrast, coordinate)."""
        value, slope = self.likelihood.gradient(self.theta(gamma))
        return value, self._pulled_back(slope)

    def derivatives(self, gamma: Array) -> Derivatives:
        """Return log likelihood, gradient, and minus the Hessian of γ raveled."""
        value, slope, curvature = self.likelihood.derivatives(self.theta(gamma))
        for _ in range(2):  # of the rows of the Hessian, and then of its columns
            rows = self._pulled_back(curvature.reshape(*curvature.shape[:-1], *slope.shape[-2:]))
            curvature = rows.reshape(*curvature.shape[:-1], -1).swapaxes(-1, -2)
        return value, self._pulled_back(slope), curvature

    def _pulled_back(self, slope: Array) -> Array:
        slope = slope if self.columns is None else slope @ self.columns.T
        return slope if self.contrast is None else np.asarray(self.contrast.T @ slope)


@dataclass(frozen=True, eq=False)
class LogPosterior:
    """Log likelihood plus log prior, of θ with the weights per sd of a column.

    `prior`: Of θ; or one of each θ, given s and ρ of each.
    """

    likelihood: SumOverRows
    prior: WeightPrior

    def gradient(self, theta: Array) -> tuple[Array, Array]:
        """Return log p(θ, D) (…) and its gradient (…, outcome, column); Mitchell eq 26 with λ = 1/s²."""
        value, slope = self.likelihood.gradient(theta)
        return value + self.prior.log_density(theta), slope + self.prior.gradient(theta)

    def derivatives(self, theta: Array) -> Derivatives:
        """Return log p(θ, D), its gradient, and minus its Hessian of θ raveled."""
        return self.of_likelihood(theta, self.likelihood.derivatives(theta))

    def of_likelihood(self, theta: Array, found: Derivatives) -> Derivatives:
        """Return the same, given what is found of the likelihood."""
        value, slope, curvature = found
        return (
            value + self.prior.log_density(theta),
            slope + self.prior.gradient(theta),
            curvature + self._precision,
        )

    def of(self, which: NDArray[np.bool_]) -> LogPosterior:
        """Return that of some of the θ (θ)."""
        if self.prior.sd.ndim == 1:
            return self
        return replace(self, prior=replace(self.prior, sd=self.prior.sd[which]))

    @cached_property
    def _precision(self) -> Array:
        return self.prior.precision()


LARGEST_CUMULANT, LARGEST_FOURTH = 1 / (6 * np.sqrt(3)), 1 / 8
"""The largest third cumulant of a distribution on an interval of length 1, and so of |∂³ log Σ exp u| for such u; and
the fourth one's largest magnitude where there are two labels."""
NOISE, DRAWS_OF_ROWS = 0.04, 32
"""Sd of log likelihoods for which rows are drawn, and how many draws have the same rows. The squared Monte Carlo error
of averages over draws grows by a share of at most 32 · 0.04², 5 %."""
FEWEST_ROWS = 25
"""The root mean square of what a drawn row adds is at most one part in so many of `NOISE`."""
MOST_SPREAD = 1.5
"""Of draws around another center, or wider ones, by their median squared distance in coordinates, all take all rows."""
MOST_COORDINATES = 500
"""Of more coordinates, the variances of each row's log-odds take about as long as the likelihoods of all draws."""


@dataclass(frozen=True, eq=False)
class NearLikelihood:
    """A likelihood near a mode γ₀, log L(γ) = q(γ) + Σ_i r_i(γ), with q its expansion to second order there.

    A row's |r_i| is about c R³/6 for log-odds that move by a range of R, with c the third cumulant of its label at γ₀
    where there are two, and otherwise `LARGEST_CUMULANT`. Every few draws have rows of their own, drawn with chances in
    proportion to the root mean square of that, so that the sd of the estimated sum is about `NOISE`. The sums are
    unbiased whatever the chances are. Draws that are far from γ₀, for their number of coordinates, take all rows.

    `likelihood`: Of γ. `rows`: That of θ which it maps. `at`: γ₀. `precision`: Of draws around it, (coordinate,
    coordinate). `chance`: That of a row to be drawn, (row).

    See M. Quiroz, R. Kohn, M. Villani, M.-N. Tran, *Speeding up MCMC by efficient data subsampling*, JASA 114 (2019),
    doi:10.1080/01621459.2018.1448827.
    """

    likelihood: MappedLikelihood
    rows: Likelihood
    at: Array
    precision: Array
    chance: Array

    @classmethod
    def of(cls, objective: LogPosterior, at: Array) -> NearLikelihood | None:
        """Return it near the mode of a log posterior; None where rows are not in memory, or most would be drawn."""
        likelihood = objective.likelihood
        if not isinstance(likelihood, MappedLikelihood) or at.size > MOST_COORDINATES:
            return None
        rows = likelihood.likelihood
        if not isinstance(rows, Likelihood) or not isinstance(rows.X, np.ndarray):
            return None
        precision = objective.derivatives(at)[2]
        covariance = np.linalg.inv(precision).reshape(*at.shape, *at.shape)
        M = np.eye(rows.vectors) if likelihood.contrast is None else likelihood.contrast
        of_vectors = np.einsum("kc,cidj,ld->klij", M, covariance, M, optimize=True)
        known = np.pad(of_vectors, ((0, 1), (0, 1), (0, 0), (0, 0)))  # with the reference, whose θ is 0
        # Σ (E u²)³ and Σ (E u²)⁴ of the log-odds u of two classes; E R⁶ and E R⁸ are at most 15 and 105 times as much
        sixth, eighth = np.zeros((2, len(rows.y)))
        for one, other in combinations(range(len(known)), 2):
            of_pair = known[one, one] + known[other, other] - known[one, other] - known[other, one]
            square = np.vecdot(rows.X @ of_pair, rows.X)
            sixth += square**3
            eighth += square**4
        third, fourth = LARGEST_CUMULANT, 0.0
        if rows.vectors == 1:
            P = expit(rows.log_odds(likelihood.theta(at))[:, 0])
            third, fourth = np.abs(P * (1 - P) * (1 - 2 * P)), LARGEST_FOURTH
        rest = rows.weight * (third / 6 * np.sqrt(15 * sixth) + fourth / 24 * np.sqrt(105 * eighth))
        chance = np.minimum(1.0, rest * max(rest.sum() / NOISE**2, FEWEST_ROWS / NOISE))
        return cls(likelihood, rows, at, precision, chance) if chance.sum() < len(chance) / 2 else None

    def values(self, gamma: Array, rng: np.random.Generator) -> Array:
        """Return the estimated log likelihood of each γ (draw, contrast, coordinate), shape (draw)."""
        step = (gamma - self.at).reshape(len(gamma), -1)
        distance = np.vecdot(step @ self.precision, step)
        far = (distance > 4 * step.shape[1] + 20) | (np.median(distance) > MOST_SPREAD * step.shape[1])
        value, slope, curvature = self.likelihood.derivatives(self.at)
        out = np.asarray(value + step @ slope.ravel() - 0.5 * np.vecdot(step @ curvature, step))
        out[far] = self.likelihood.values(gamma[far])
        near, order = np.flatnonzero(~far), rng.permutation(len(self.chance))  # rows may come in turns
        ends = self.chance[order].cumsum()
        for some in (near[part] for part in blocks_of(len(near), 1, DRAWS_OF_ROWS)):
            places = ends.searchsorted(np.arange(rng.random(), ends[-1]), side="right")
            drawn = order.take(places, mode="clip")
            out[some] += self._rest(drawn, self.rows.stored(self.likelihood.theta(gamma[some] - self.at)))
        return out

    def _rest(self, rows: Integers, step: Array) -> Array:
        """Return Σ r_i / chance_i of rows at steps of θ (draw, outcome, column), (draw); labels do not matter."""
        eta, times = self._log_odds[rows], self.rows.weight[rows] / self.chance[rows]
        total = log_normalizer(eta)
        P = np.exp(eta - total[:, None])
        u = (self.rows.X[rows] @ step.transpose(2, 1, 0).reshape(step.shape[2], -1)).reshape(*eta.shape, len(step))
        mean = np.einsum("rk,rkd->rd", P, u)
        mean_square = np.einsum("rk,rkd,rkd->d", times[:, None] * P, u, u)
        u += eta[:, :, None]
        rest = times @ (mean - log_normalizer(u, axis=1)) + times @ total
        return np.asarray(rest + 0.5 * (mean_square - np.einsum("r,rd,rd->d", times, mean, mean)))

    @cached_property
    def _log_odds(self) -> Array:
        """The log-odds against the reference at the mode, (row, outcome)."""
        return self.rows.log_odds(self.likelihood.theta(self.at))


def gram(X: Matrix, weight: Array) -> Array:
    """Return Σ_i w_i X_i X_iᵀ, (…, column, column), of weights (…, row) of at least 0."""
    if isinstance(X, np.ndarray):
        weighted = np.sqrt(weight)[..., None] * X
        return np.asarray(weighted.swapaxes(-1, -2) @ weighted)
    if weight.ndim > 1:
        return np.array([gram(X, each) for each in weight])
    return np.asarray((X.T @ sparse.csr_array(X.multiply(weight[:, None]))).toarray())


def with_ones(X: Matrix, after: bool = False) -> Matrix:
    """Return rows with a column of ones before the others, and perhaps another after them.

    Dense rows that already lie beside ones, as `LogisticDesign.matrix` makes them, are not copied.
    """
    ones = np.ones((X.shape[0], 1))
    if not isinstance(X, np.ndarray):
        one = sparse.csr_array(ones)
        return sparse.csr_array(sparse.hstack([one, X, one] if after else [one, X]))
    whole = X.base  # of a pickle, bytes
    if isinstance(whole, np.ndarray) and whole.shape == (len(X), 1 + X.shape[1]) and not after:
        beside = whole[:, 1:].__array_interface__ == X.__array_interface__
        if beside and (whole[:, 0] == 1).all():
            return whole
    return np.hstack([ones, X, ones] if after else [ones, X])


def log_normalizer(eta: Array, axis: int = -1) -> Array:
    """Return log(1 + Σ_k exp η_k) over the axis of the labels."""
    with np.errstate(over="ignore"):
        odds = np.exp(eta)
        total = odds.squeeze(axis) if odds.shape[axis] == 1 else odds.sum(axis=axis)
    np.log1p(total, out=total)
    far = np.isinf(total)
    return np.where(far, logsumexp(eta, axis=axis), total) if far.any() else total


@dataclass(frozen=True, eq=False)
class Sums:
    """Arrays that are summed over the parts of the rows."""

    arrays: tuple[Array, ...]
    columns = ()

    def __add__(self, other: Sums) -> Sums:
        """Return the sums over the rows of both."""
        return Sums(tuple(mine + theirs for mine, theirs in zip(self.arrays, other.arrays, strict=True)))


class Largest(Sums):
    """Arrays of which the largest numbers over the parts of the rows count."""

    def __add__(self, other: Sums) -> Largest:
        """Return the largest numbers over the rows of both."""
        return Largest(tuple(np.maximum(mine, theirs) for mine, theirs in zip(self.arrays, other.arrays, strict=True)))


@dataclass(frozen=True, eq=False)
class Root:
    """R with RᵀR the weighted sum of x xᵀ over rows, (column, column)."""

    R: Array
    columns = ()

    def __add__(self, other: Root) -> Root:
        """Return the root of the rows of both."""
        return Root(np.asarray(np.linalg.qr(np.concatenate([self.R, other.R]), mode="r")))


class Parts(Protocol):
    """The rows of a table, in parts, which may be read again for each sum."""

    def summed[S](self, work: Callable[[Likelihood], S]) -> S:
        """Return what a function, which can be pickled, returns for each part, added up."""


def values_of(theta: Array, part: Likelihood) -> Sums:
    """Return the log likelihoods of each θ (draw, outcome, column), shape (draw)."""
    return Sums((part.values(theta),))


def derivatives_of(theta: Array, part: Likelihood) -> Sums:
    """Return log likelihood, gradient and minus the Hessian of θ (…, outcome, column)."""
    return Sums(part.derivatives(theta))


def largest_of(theta: Array, part: Likelihood) -> Largest:
    """Return the largest magnitude of the log-odds of each θ (…, outcome, column)."""
    return Largest((part.largest(theta),))


KEPT_BYTES = 2**28
"""Size of the derivatives over a stream that are kept, as a search often begins where another one ended."""


@dataclass(frozen=True, eq=False)
class StreamedLikelihood:
    """The conditional likelihood of rows that are elsewhere; as `Likelihood`, each look at it a pass over the rows."""

    parts: Parts
    _kept: dict[bytes, tuple[Array, ...]] = field(default_factory=dict)

    def largest(self, theta: Array) -> Array:
        """Return the largest magnitude of the log-odds against the reference of each θ (…, outcome, column), (…)."""
        (found,) = self.parts.summed(partial(largest_of, theta)).arrays
        return found

    def values(self, theta: Array) -> Array:
        """Return the log likelihood of each θ (draw, outcome, column), shape (draw)."""
        (found,) = self.parts.summed(partial(values_of, theta)).arrays
        return found

    def gradient(self, theta: Array) -> tuple[Array, Array]:
        """Return the log likelihood (…) and its gradient (…, outcome, column)."""
        return self.derivatives(theta)[:2]

    def derivatives(self, theta: Array) -> Derivatives:
        """Return log likelihood, gradient and minus the Hessian of θ raveled; those of the last few θ are kept."""
        shape, each = theta.shape[:-2], theta.reshape(-1, *theta.shape[-2:])
        keys = [one.tobytes() for one in each]
        if new := [place for place, key in enumerate(keys) if key not in self._kept]:
            found = self.parts.summed(partial(derivatives_of, each[new])).arrays
            self._kept.update(zip([keys[place] for place in new], zip(*found, strict=True), strict=True))
        value, slope, curvature = (np.array(part) for part in zip(*(self._kept[key] for key in keys), strict=True))
        while len(self._kept) > KEPT_BYTES // (8 * curvature[0].size):
            self._kept.pop(next(iter(self._kept)))
        return value.reshape(shape), slope.reshape(theta.shape), curvature.reshape(*shape, *curvature.shape[1:])
