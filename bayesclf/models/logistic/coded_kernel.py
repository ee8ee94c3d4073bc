"""Sums over rows whose categories are codes, as machine code; Numba compiles it when needed and keeps it on disk.

Rows are taken in blocks, so that what is computed of them stays in the cache. A level's column is 0 in all rows but
those that have it, and costs nothing there.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from bayesclf.models.logistic.compiled_density import OPTIONS, inlined
from bayesclf.typing import Array, Integers

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
