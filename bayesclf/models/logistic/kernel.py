"""The log posterior of logistic regression and its gradient as machine code, for samplers that call C.

Numba compiles `log_density` when it is first needed and keeps the code on disk. It takes no Python object and no lock,
so that chains run in parallel. Rows come in blocks, in which the cells of a column are neighbors in memory: loops over
them become vector instructions, and a block stays in the cache between its two products.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numba as nb
import numpy as np
from numba import types

from bayesclf.arrays import Array, Integers

OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}
"""Sums may be taken in any order, without which they are not vectorized; infinity and NaN keep their meaning."""


def inlined[F: Callable[..., Any]](function: F) -> F:
    """Inline a function in machine code: a call might be rounded differently when the code is loaded from disk."""
    return cast(F, nb.njit(forceinline=True, **OPTIONS)(function))


@cache
def compiled(log_density: Callable[[Any, Any, Any, Any, Any], int]) -> Any:
    """Return a function like `bayesclf.models.logistic.kernel.log_density` as Numba's ``CFunc``, kept on disk."""
    at = types.CPointer(types.double)
    signature = types.int32(types.uintp, at, at, at, types.CPointer(at))
    return nb.cfunc(signature, cache=True, **OPTIONS)(log_density)


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


def log_density_of_scale(size: Any, x: Any, gradient: Any, value: Any, data: Any) -> int:
    """Write log p(log s, logit ρ, γ, D), up to a constant, and its gradient, of x = (log s, logit ρ, z).

    The first two are in units of their posterior, and γ = m + D R z with the modes m, the scales D = s √(1 − ρ + ρ e)
    of the prior, and the roots R; m and R are interpolated between the nodes of a `Lattice`.
    """
    sizes = data[0]
    vectors, columns, blocks = types.intp(sizes[0]), types.intp(sizes[1]), types.intp(sizes[2])
    rows, others, learns = types.intp(sizes[3]), types.intp(sizes[4]), sizes[5] > 0
    count = size - 2
    place = nb.carray(data[1], 11)  # first (2), step (2), center (2), unit (2), log median, spread, fixed ρ
    values, learned = nb.carray(data[2], columns), nb.carray(data[3], columns)
    sd, mean = nb.carray(data[4], columns), nb.carray(data[5], vectors)
    contrast = nb.carray(data[6], (vectors, vectors))
    modes = nb.carray(data[7], (rows, others, count))
    roots = nb.carray(data[8], (rows, others, count, count))
    X = nb.carray(data[9], (blocks, columns, ROWS))
    y, weight = nb.carray(data[10], (blocks, ROWS)), nb.carray(data[11], (blocks, ROWS))
    at, slope_at = nb.carray(x, size), nb.carray(gradient, size)
    log_scale, logit = place[4] + place[6] * at[0], place[5] + place[7] * at[1]
    rho = 1 / (1 + math.exp(-logit)) if learns else place[10]
    rest = 1 / (1 + math.exp(logit)) if learns else 1 - place[10]

    # the four nodes around (log s, logit ρ), their shares, and the slopes of these
    i, a, da = _between(log_scale, place[0], place[2], rows)
    j, b, db = _between(logit, place[1], place[3], others)
    share, by_scale, by_logit = np.empty(4), np.empty(4), np.empty(4)
    above, beside = np.empty(4, np.intp), np.empty(4, np.intp)
    for corner in range(4):
        up, right = corner // 2, corner % 2
        p, dp = (a, da) if up else (1 - a, -da)
        q, dq = (b, db) if right else (1 - b, -db)
        share[corner], by_scale[corner], by_logit[corner] = p * q, dp * q, p * dq
        above[corner], beside[corner] = min(i + up, rows - 1), min(j + right, others - 1)

    # γ, its slopes along log s and logit ρ at the same z, and the log determinant
    gamma, along_scale, along_logit = np.empty(count), np.empty(count), np.empty(count)
    times, turn = np.empty(columns), np.empty(columns)
    total, of_scale, of_logit = 0.0, 0.0, 0.0
    for c in range(columns):
        variance = rest + rho * values[c]
        times[c] = math.exp(log_scale) * math.sqrt(variance) if learned[c] > 0 else 1.0
        turn[c] = 0.5 * (values[c] - 1) * rho * rest / variance if learned[c] > 0 and learns else 0.0
    for p in range(count):
        c = p % columns
        middle, middle_s, middle_l, spread, spread_s, spread_l, diagonal, diagonal_s, diagonal_l = (
            0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
        )  # fmt: skip
        for corner in range(4):
            if share[corner] == 0 and by_scale[corner] == 0 and by_logit[corner] == 0:
                continue
            root = roots[above[corner], beside[corner], p]
            along, mode = _dot(root, at[2:], p + 1), modes[above[corner], beside[corner], p]
            middle += share[corner] * mode
            middle_s += by_scale[corner] * mode
            middle_l += by_logit[corner] * mode
            spread += share[corner] * along
            spread_s += by_scale[corner] * along
            spread_l += by_logit[corner] * along
            diagonal += share[corner] * root[p]
            diagonal_s += by_scale[corner] * root[p]
            diagonal_l += by_logit[corner] * root[p]
        own = 1.0 if learned[c] > 0 else 0.0
        gamma[p] = middle + times[c] * spread
        along_scale[p] = middle_s + times[c] * (spread_s + own * spread)
        along_logit[p] = middle_l + times[c] * (spread_l + turn[c] * spread)
        total += math.log(diagonal) + math.log(times[c])
        of_scale += diagonal_s / diagonal + own
        of_logit += diagonal_l / diagonal + turn[c]

    # the prior
    slope = np.empty(count)
    for p in range(count):
        c = p % columns
        deviation = (gamma[p] - (mean[p // columns] if c == 0 else 0.0)) / (sd[c] * times[c])
        total -= 0.5 * deviation**2
        slope[p] = -deviation / (sd[c] * times[c])
        if learned[c] > 0:
            total -= math.log(times[c])
            of_scale += deviation**2 - 1
            of_logit += (deviation**2 - 1) * turn[c]
    z = (log_scale - place[8]) / place[9]
    total -= 0.5 * z**2
    of_scale -= z / place[9]
    if learns:
        total += math.log(rho) + math.log(rest)
        of_logit += rest - rho
    else:
        total -= 0.5 * at[1] ** 2  # a coordinate without meaning

    # the rows
    theta, of_theta = np.zeros((vectors, columns)), np.zeros((vectors, columns))
    for k in range(vectors):
        for own_contrast in range(vectors):
            for c in range(columns):
                theta[k, c] += contrast[k, own_contrast] * gamma[own_contrast * columns + c]
    total += log_likelihood(theta, X, y, weight, of_theta)
    for own_contrast in range(vectors):
        for k in range(vectors):
            for c in range(columns):
                slope[own_contrast * columns + c] += contrast[k, own_contrast] * of_theta[k, c]

    for entry in range(size):
        slope_at[entry] = 0.0
    for p in range(count):
        of_scale += slope[p] * along_scale[p]
        of_logit += slope[p] * along_logit[p]
        for corner in range(4):
            if share[corner] != 0:
                scaled = share[corner] * times[p % columns] * slope[p]
                _add(scaled, roots[above[corner], beside[corner], p], p + 1, slope_at[2:])
    slope_at[0], slope_at[1] = of_scale * place[6], (of_logit * place[7] if learns else -at[1])
    value[0] = total
    return 0 if math.isfinite(total) else 1


@inlined
def _between(at: float, first: float, step: float, nodes: int) -> tuple[int, float, float]:
    """Return the node below, the share of the next one, and its slope; beyond the ends, those of the end."""
    place = (at - first) / step
    if place <= 0 or nodes == 1:
        return 0, 0.0, 0.0
    if place >= nodes - 1:
        return nodes - 2, 1.0, 0.0
    below = int(place)
    return below, place - below, 1 / step


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


BLOCK = 256
"""Rows of a block."""


@nb.njit(cache=True, nogil=True, **OPTIONS)  # type: ignore[untyped-decorator]
def add_derivatives(
    theta: Array, numbers: Array, places: Integers, y: Integers, weight: Array, slope: Array, curvature: Array
) -> float:
    """Return the log likelihood of rows, and add its gradient and minus its Hessian to sums.

    Parameters
    ----------
    theta
        (outcome, 1 + column + 1); the last stands for "no level", and is 0.
    numbers
        A row of ones and the standardized numbers, (1 + number, row).
    places
        The column of each category's level, counting that of ones, (category, row).
    y
        Codes (row) of the weight vectors, −1 for the reference.
    weight
        (row).
    slope
        (outcome, 1 + column + 1).
    curvature
        Σ w P_k (1[k = l] − P_l) x xᵀ without its sign, its lower triangle, for each pair of vectors l ≤ k, (pair, 1 +
        column + 1, 1 + column + 1); of the levels' columns with themselves it is that with the column of ones.
    """
    vectors, dense = len(theta), len(numbers)
    cells, scaled = np.empty((dense, BLOCK)), np.empty((dense, BLOCK))
    by_row, gram = np.empty((BLOCK, dense)), np.empty((dense, dense))
    P, residuals, reference = np.empty((vectors, BLOCK)), np.empty((vectors, BLOCK)), np.empty(BLOCK)
    share, own, counts = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    total = 0.0
    for start in range(0, len(y), BLOCK):
        rows = min(BLOCK, len(y) - start)
        for j in range(dense):
            for i in range(rows):
                cells[j, i] = numbers[j, start + i]
            for i in range(rows, BLOCK):
                cells[j, i] = 0.0
        for i in range(BLOCK):
            counts[i] = weight[start + i] if i < rows else 0.0
        _log_odds(theta, cells, places, start, rows, P)
        total += _probabilities(P, y, counts, start, rows, residuals, reference, own)
        _add_slope(residuals, cells, places, start, rows, slope)
        pair = 0
        for k in range(vectors):
            for other in range(k + 1):
                for i in range(BLOCK):
                    share[i] = counts[i] * P[k, i] * (P[other, i] if other < k else reference[i])
                if other == k:  # 1 − P_k summed from the others, as it may be tiny
                    for rest in range(vectors):
                        if rest != k:
                            for i in range(BLOCK):
                                share[i] += counts[i] * P[k, i] * P[rest, i]
                for j in range(dense):
                    for i in range(BLOCK):
                        scaled[j, i] = share[i] * cells[j, i]
                np.dot(scaled, cells.T, gram)
                for j in range(dense):
                    for m in range(dense):
                        curvature[pair, j, m] += gram[j, m]
                if len(places):
                    for j in range(dense):
                        for i in range(rows):
                            by_row[i, j] = scaled[j, i]
                    _add_levels(by_row, places, start, rows, curvature[pair])
                pair += 1
    return total


@inlined
def _log_odds(theta: Array, cells: Array, places: Integers, start: int, rows: int, eta: Array) -> None:
    """Set the log-odds (outcome, row) of a block."""
    for k in range(len(theta)):
        for i in range(BLOCK):
            eta[k, i] = 0.0
        for j in range(len(cells)):
            for i in range(BLOCK):
                eta[k, i] += theta[k, j] * cells[j, i]
        for c in range(len(places)):
            for i in range(rows):
                eta[k, i] += theta[k, places[c, start + i]]


@inlined
def _probabilities(
    P: Array, y: Integers, weight: Array, start: int, rows: int, residuals: Array, reference: Array, own: Array
) -> float:
    """Return Σ w log P(y | x, θ); log-odds (outcome, row) become P(k | x), and residuals w (1[y = k] − P(k | x))."""
    vectors = len(P)
    for i in range(BLOCK):
        reference[i] = own[i] = 0.0
    for k in range(vectors):
        for i in range(BLOCK):
            reference[i] = max(reference[i], P[k, i])
        for i in range(rows):
            own[i] = P[k, i] if y[start + i] == k else own[i]
    total = 0.0
    for i in range(BLOCK):
        top = reference[i]
        odds = reference[i] = math.exp(-top)
        for k in range(vectors):
            P[k, i] = math.exp(P[k, i] - top)
            odds += P[k, i]
        total += weight[i] * (own[i] - top - math.log(odds))
        reference[i] /= odds
        for k in range(vectors):
            P[k, i] /= odds
    for k in range(vectors):
        for i in range(BLOCK):
            residuals[k, i] = -weight[i] * P[k, i]
        for i in range(rows):
            residuals[k, i] += weight[i] if y[start + i] == k else 0.0
    return total


@inlined
def _add_slope(residuals: Array, cells: Array, places: Integers, start: int, rows: int, slope: Array) -> None:
    for k in range(len(residuals)):
        for j in range(len(cells)):
            down = 0.0
            for i in range(BLOCK):
                down += residuals[k, i] * cells[j, i]
            slope[k, j] += down
        for c in range(len(places)):
            for i in range(rows):
                slope[k, places[c, start + i]] += residuals[k, i]


@inlined
def _add_levels(by_row: Array, places: Integers, start: int, rows: int, curvature: Array) -> None:
    """Add what levels have with the numbers, (row, 1 + number) times a share of the row, and with other levels."""
    dense = by_row.shape[1]
    for i in range(rows):
        share = by_row[i, 0]
        for c in range(len(places)):
            place = places[c, start + i]
            for j in range(dense):
                curvature[place, j] += by_row[i, j]
            for earlier in range(c):
                curvature[place, places[earlier, start + i]] += share
