"""The log posterior of logistic regression and its gradient as machine code, for samplers that call C.

Numba compiles `log_density` when it is first needed and keeps the code on disk. It takes no Python object and no lock,
so that chains run in parallel. Rows come in blocks, in which the cells of a column are neighbors in memory: loops over
them become vector instructions, and a block stays in the cache between its two products.

`LogisticDensity` is that density in coordinates in which the posterior is nearly standard normal, which suits NUTS.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, override

import numba as nb
import numpy as np
from numba import types
from numpy.typing import NDArray

from bayesclf.models.logistic.centered import CenteredRows
from bayesclf.models.logistic.compiled_density import CompiledDensity, compiled, inlined
from bayesclf.models.logistic.likelihood import Likelihood
from bayesclf.models.logistic.normal_prior import NormalWeightPrior
from bayesclf.models.logistic.prior import WeightPrior
from bayesclf.typing import Array, Integers

ROWS = 64
"""Rows of a block."""
SMALLEST_EXPONENT = -64.0
"""Probability ratios below e to this power are replaced by it: a difference far below rounding."""
SQUARINGS = 7


def log_density(size: Any, z: Any, gradient: Any, value: Any, data: Any) -> int:
    """Write log p(θ, D), up to a constant, and its gradient in z, where θ = center + factor z raveled.

    Parameters
    ----------
    size
        Number of entries of z, of the gradient and of θ.
    z, gradient, value
        Pointers to z, and to where gradient and value are written.
    data
        Pointers to the arrays of a `LogisticDensity`, in the order of its attributes.

    Returns
    -------
    int
        0; 1 where the value is not finite.
    """
    vectors, columns, blocks = types.intp(data[0][0]), types.intp(data[0][1]), types.intp(data[0][2])
    symmetric = data[0][3] > 0
    factor = nb.carray(data[2], (size, size))
    mean, precision = nb.carray(data[3], (vectors, columns)), nb.carray(data[4], (vectors, columns))
    shift = nb.carray(data[5], columns)
    X = nb.carray(data[6], (blocks, columns, ROWS))
    y, weight = nb.carray(data[7], (blocks, ROWS)), nb.carray(data[8], (blocks, ROWS))
    theta, slope = np.empty((vectors, columns)), np.empty((vectors, columns))
    unwhiten(nb.carray(z, size), nb.carray(data[1], size), factor, theta)
    total = log_prior(theta, mean, precision, shift, symmetric, slope)
    total += log_likelihood(theta, X, y, weight, slope)
    whiten(slope, factor, nb.carray(gradient, size))
    value[0] = total
    return 0 if math.isfinite(total) else 1


def sparse_log_density(size: Any, z: Any, gradient: Any, value: Any, data: Any) -> int:
    """Do what `log_density` does, for rows that are stored as `CenteredRows`; a pass costs what its cells cost.

    The factor may be a diagonal matrix, of which the diagonal is given: then the coordinates cost no more than θ.
    """
    vectors, columns, rows = types.intp(data[0][0]), types.intp(data[0][1]), types.intp(data[0][2])
    symmetric, cells, diagonal = data[0][3] > 0, types.intp(data[0][4]), data[0][5] > 0
    mean, precision = nb.carray(data[3], (vectors, columns)), nb.carray(data[4], (vectors, columns))
    shift = nb.carray(data[5], columns)
    values, indices = nb.carray(data[6], cells), nb.carray(data[7], cells)
    indptr, center = nb.carray(data[8], rows + 1), nb.carray(data[9], columns)
    y, weight = nb.carray(data[10], rows), nb.carray(data[11], rows)
    theta, slope = np.empty((vectors, columns)), np.empty((vectors, columns))
    if diagonal:
        _unscale(nb.carray(z, size), nb.carray(data[1], size), nb.carray(data[2], size), theta)
    else:
        unwhiten(nb.carray(z, size), nb.carray(data[1], size), nb.carray(data[2], (size, size)), theta)
    total = log_prior(theta, mean, precision, shift, symmetric, slope)
    total += _sparse_log_likelihood(theta, values, indices, indptr, center, y, weight, slope)
    if diagonal:
        _scale(slope, nb.carray(data[2], size), nb.carray(gradient, size))
    else:
        whiten(slope, nb.carray(data[2], (size, size)), nb.carray(gradient, size))
    value[0] = total
    return 0 if math.isfinite(total) else 1


@inlined
def _sparse_log_likelihood(
    theta: Array,
    values: Array,
    indices: Array,
    indptr: Array,
    center: Array,
    y: Array,
    weight: Array,
    slope: Array,
) -> float:
    """Return Σ w log P(y | x, θ) and add its gradient to `slope`, x = s − center of the stored s; arrays as given."""
    vectors, columns = theta.shape
    base, scores, residuals = np.zeros(vectors), np.empty(vectors), np.zeros(vectors)
    for k in range(vectors):
        for j in range(columns):
            base[k] -= theta[k, j] * center[j]
    total = 0.0
    for row in range(len(y)):
        first, last = types.intp(indptr[row]), types.intp(indptr[row + 1])
        top, own = 0.0, 0.0
        for k in range(vectors):
            score = base[k]
            for cell in range(first, last):
                score += theta[k, types.intp(indices[cell])] * values[cell]
            scores[k] = score
            top = max(top, score)
            own = score if y[row] == k else own
        normalizer = math.exp(-top)
        for k in range(vectors):
            scores[k] = math.exp(scores[k] - top)
            normalizer += scores[k]
        total += weight[row] * (own - top - math.log(normalizer))
        for k in range(vectors):
            residual = weight[row] * ((1.0 if y[row] == k else 0.0) - scores[k] / normalizer)
            residuals[k] += residual
            for cell in range(first, last):
                slope[k, types.intp(indices[cell])] += residual * values[cell]
    for k in range(vectors):
        for j in range(columns):
            slope[k, j] -= residuals[k] * center[j]
    return total


def log_density_of_normal(size: Any, z: Any, gradient: Any, value: Any, data: Any) -> int:
    """Write what `log_density` does, for a normal prior of any covariance, whose precision is a matrix."""
    vectors, columns, blocks = types.intp(data[0][0]), types.intp(data[0][1]), types.intp(data[0][2])
    factor = nb.carray(data[2], (size, size))
    mean, precision = nb.carray(data[3], (vectors, columns)), nb.carray(data[4], (size, size))
    X = nb.carray(data[6], (blocks, columns, ROWS))
    y, weight = nb.carray(data[7], (blocks, ROWS)), nb.carray(data[8], (blocks, ROWS))
    theta, slope = np.empty((vectors, columns)), np.empty((vectors, columns))
    unwhiten(nb.carray(z, size), nb.carray(data[1], size), factor, theta)
    total = _log_normal_prior(theta, mean, precision, slope)
    total += log_likelihood(theta, X, y, weight, slope)
    whiten(slope, factor, nb.carray(gradient, size))
    value[0] = total
    return 0 if math.isfinite(total) else 1


@inlined
def _log_normal_prior(theta: Array, mean: Array, precision: Array, slope: Array) -> float:
    """Return −½ uᵀ precision u with u = θ − mean raveled, and set `slope` to its gradient."""
    vectors, columns = theta.shape
    total = 0.0
    for k in range(vectors):
        for j in range(columns):
            down = 0.0
            for other in range(vectors):
                for i in range(columns):
                    deviation = theta[other, i] - mean[other, i]
                    down += precision[k * columns + j, other * columns + i] * deviation
            total -= 0.5 * (theta[k, j] - mean[k, j]) * down
            slope[k, j] = -down
    return total


@inlined
def unwhiten(z: Array, center: Array, factor: Array, theta: Array) -> None:
    """Set θ = center + factor z."""
    vectors, columns = theta.shape
    for k in range(vectors):
        theta[k, 0] = center[k] + _dot(factor[k], z, k + 1)
    entry = vectors
    for k in range(vectors):
        for j in range(1, columns):
            theta[k, j] = center[entry] + _dot(factor[entry], z, entry + 1)
            entry += 1


@inlined
def whiten(slope: Array, factor: Array, gradient: Array) -> None:
    """Set the gradient in z, factorᵀ slope."""
    vectors, columns = slope.shape
    for b in range(len(gradient)):
        gradient[b] = 0.0
    for k in range(vectors):
        _add(slope[k, 0], factor[k], k + 1, gradient)
    entry = vectors
    for k in range(vectors):
        for j in range(1, columns):
            _add(slope[k, j], factor[entry], entry + 1, gradient)
            entry += 1


@inlined
def _unscale(z: Array, center: Array, scale: Array, theta: Array) -> None:
    """Set θ = center + scale z, elementwise."""
    vectors, columns = theta.shape
    entry = vectors
    for k in range(vectors):
        theta[k, 0] = center[k] + scale[k] * z[k]
        for j in range(1, columns):
            theta[k, j] = center[entry] + scale[entry] * z[entry]
            entry += 1


@inlined
def _scale(slope: Array, scale: Array, gradient: Array) -> None:
    """Set the gradient in z, scale slope elementwise."""
    vectors, columns = slope.shape
    entry = vectors
    for k in range(vectors):
        gradient[k] = scale[k] * slope[k, 0]
        for j in range(1, columns):
            gradient[entry] = scale[entry] * slope[k, j]
            entry += 1


@inlined
def _dot(a: Array, b: Array, length: int) -> float:
    total = 0.0
    for i in range(length):
        total += a[i] * b[i]
    return total


@inlined
def _add(times: float, a: Array, length: int, to: Array) -> None:
    for i in range(length):
        to[i] += times * a[i]


@inlined
def log_prior(theta: Array, mean: Array, precision: Array, shift: Array, symmetric: bool, slope: Array) -> float:
    """Return log p(θ) up to a constant and set `slope` to its gradient; see `WeightPrior` for the arrays.

    With u = (θ − mean) precision, whose labels have correlation C = I or ½(I + 11ᵀ), it is −½ Σ uᵀ C⁻¹ u over columns.
    """
    vectors, columns = theta.shape
    for k in range(vectors):
        for j in range(columns):
            slope[k, j] = (theta[k, j] - mean[k, j]) * precision[k, j]
            slope[k, 0] -= shift[j] * theta[k, j] * precision[k, 0]
    total = 0.0
    for j in range(columns):
        common = 0.0
        for k in range(vectors):
            common += slope[k, j]
        common /= vectors + 1
        for k in range(vectors):
            u = slope[k, j]
            down = 2 * (u - common) if symmetric else u
            total -= 0.5 * u * down
            slope[k, j] = -down * precision[k, j]
    for k in range(vectors):
        for j in range(columns):
            slope[k, j] -= shift[j] * slope[k, 0]
    return total


@inlined
def log_likelihood(theta: Array, X: Array, y: Array, weight: Array, slope: Array) -> float:
    """Return Σ w log P(y | x, θ) and add its gradient to `slope`; X (block, column, row), y and weight (block, row)."""
    vectors, columns = theta.shape
    scores, product = np.empty((vectors, ROWS)), np.empty((vectors, columns))
    work = np.empty((3, ROWS))
    total = 0.0
    for block in range(len(X)):
        np.dot(theta, X[block], scores)
        total += _residuals(scores, y[block], weight[block], work)
        np.dot(scores, X[block].T, product)
        for k in range(vectors):
            for j in range(columns):
                slope[k, j] += product[k, j]
    return total


@inlined
def _residuals(scores: Array, y: Array, weight: Array, work: Array) -> float:
    """Return Σ w log P(y | x, θ) over the rows of a block; log-odds (label, row) become w (1[y = k] − P(k | x))."""
    top, own, normalizer = work[0], work[1], work[2]
    for i in range(ROWS):
        top[i] = own[i] = 0.0
    for k in range(len(scores)):
        for i in range(ROWS):
            top[i] = max(top[i], scores[k, i])
            own[i] = scores[k, i] if y[i] == k else own[i]
    for i in range(ROWS):
        normalizer[i] = _exp(-top[i])
    for k in range(len(scores)):
        for i in range(ROWS):
            scores[k, i] = _exp(scores[k, i] - top[i])
            normalizer[i] += scores[k, i]
    total = 0.0
    for i in range(ROWS):
        total += weight[i] * (own[i] - top[i] - math.log(normalizer[i]))
    for i in range(ROWS):
        normalizer[i] = weight[i] / normalizer[i]
    for k in range(len(scores)):
        for i in range(ROWS):
            scores[k, i] = (weight[i] if y[i] == k else 0.0) - scores[k, i] * normalizer[i]
    return total


@inlined
def _exp(x: float) -> float:
    """Return e^x for x ≤ 0, to 13 digits where it counts: a Taylor polynomial of x/2^7, squared 7 times.

    The C library's function takes one number at a time; this polynomial is vectorized.
    """
    x = max(x, SMALLEST_EXPONENT) / 2**SQUARINGS
    power = 1.0
    for n in range(11, 0, -1):
        power = 1.0 + power * x * (1.0 / n)
    for _ in range(SQUARINGS):
        power *= power
    return power


def row_blocks(likelihood: Likelihood) -> tuple[Array, Integers, Array]:
    """Return dense rows as (block, column, row), codes and weights (block, row), filled up with rows of weight 0."""
    X = np.asarray(likelihood.X)
    blocks = -(-len(X) // ROWS)
    filled = (0, blocks * ROWS - len(X))
    cells = np.pad(X, (filled, (0, 0))).reshape(blocks, ROWS, X.shape[1]).transpose(0, 2, 1)
    return cells, np.pad(likelihood.y, filled), np.pad(likelihood.weight, filled)


@dataclass(frozen=True, eq=False)
class LogisticDensity(CompiledDensity):
    """log p(θ, D), up to a constant, and its gradient, of z in θ = center + factor z; computed by machine code.

    With center and factor from the Laplace approximation, z is nearly standard normal, which NUTS
    samples with few leapfrog steps. θ has its weights per sd of a column; raveled, the intercepts come before the
    weights, label by label.

    Attributes
    ----------
    likelihood
        Of the training rows; its first column is the intercept's.
    prior
        Of θ.
    center
        θ raveled at z = 0 (parameter).
    factor
        (parameter, parameter), lower triangular; for sparse rows also (parameter), the diagonal of a diagonal matrix.
    scale
        Sds of the columns (feature).

    Examples
    --------
    >>> import bayesclf as bc
    >>> clf = bc.LogisticRegression(inference="map").fit([[1.0], [1.9], [2.1], [3.0]], [0, 1, 0, 1])
    >>> value, gradient = clf.model_.density()(np.zeros(2))
    >>> bool(np.abs(gradient).max() < 1e-8)  # z = 0 is the mode
    True
    """

    likelihood: Likelihood
    prior: WeightPrior | NormalWeightPrior
    center: Array
    factor: Array
    scale: Array

    @override
    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.center)

    @override
    @property
    def function(self) -> Any:
        """The machine code, `log_density`, `sparse_log_density` or `log_density_of_normal`, with its ``address``."""
        if isinstance(self.likelihood.X, CenteredRows):
            return compiled(sparse_log_density)
        return compiled(log_density_of_normal if self._has_matrix else log_density)

    @property
    def _has_matrix(self) -> bool:
        """Whether the weights of different columns depend on each other under the prior."""
        return isinstance(self.prior, NormalWeightPrior) or self.prior.covariance is not None

    @override
    @property
    def _data(self) -> tuple[NDArray[Any], ...]:
        likelihood, prior, X = self.likelihood, self.prior, self.likelihood.X
        vectors, columns = prior.mean.shape
        if isinstance(prior, NormalWeightPrior) or prior.covariance is not None:
            precision, symmetric, shift = prior.precision(), False, np.zeros(columns)
        else:
            symmetric, shift = prior.symmetric, np.concatenate([[0.0], prior.shift])
            with np.errstate(divide="ignore"):
                precision = 1 / prior.scale
        common = (self.center, self.factor, prior.mean, precision, shift)
        sizes = (vectors, columns)
        if isinstance(X, CenteredRows):
            stored = (X.data, X.indices, X.indptr, X.shift)
            sparse_sizes = np.array([*sizes, len(X), symmetric, len(X.data), self.factor.ndim == 1])
            return sparse_sizes, *common, *stored, likelihood.y, likelihood.weight
        cells, y, weight = row_blocks(likelihood)
        return np.array([*sizes, len(cells), symmetric]), *common, cells, y, weight

    def parameters(self, z: Array) -> dict[str, Array]:
        """Return intercept (..., outcome) and weight (..., outcome, feature), per unit, at z (..., parameter).

        They are the variables of the PyMC model, whose intercept is at x = 0 where that was requested.
        """
        return self.of_theta(self.center + (z * self.factor if self.factor.ndim == 1 else z @ self.factor.T))

    def of_theta(self, theta: Array) -> dict[str, Array]:
        """Return the same of θ raveled (..., parameter), the intercepts before the weights."""
        vectors, columns = self.prior.mean.shape
        intercept = theta[..., :vectors]
        weight = theta[..., vectors:].reshape(*theta.shape[:-1], vectors, columns - 1)
        if isinstance(self.prior, WeightPrior) and self.prior.at_zero:
            intercept = intercept - weight @ self.prior.shift
        return {"intercept": intercept, "weight": weight / self.scale}
