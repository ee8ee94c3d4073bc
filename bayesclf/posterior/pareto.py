"""Importance weights whose largest are smoothed by a generalized Pareto tail, many rows at a time."""

from __future__ import annotations

import numpy as np

from bayesclf.arrays import Array
from bayesclf.posterior.answers import BLOCK_BYTES

NEGLIGIBLE_SPREAD = 1e-9
"""Log ratios that differ by no more than this are equal up to rounding and have no tail to fit."""

FACTORS, WIDEST = 8, 1e30
"""Factors 1 − θ·x of a product, which is finite where x is at most so many times the first quartile."""

SMALLEST = 1e-280
"""A first quartile of the excesses below this, of which the largest is about 1, has no reciprocal to compute with."""

SHAPE_MEAN, SHAPE_ROWS = 0.5, 10
"""The prior of k̂: as if this many further ratios of the tail had this shape."""


def smoothed(log_density: Array, efficiency: float) -> tuple[Array, Array]:
    """Return log weights proportional to 1/density, their largest values smoothed, and the Pareto shape k̂ of each row.

    The largest M ratios of a row are replaced by quantiles of a generalized Pareto distribution fitted to them, none
    larger than the largest ratio. It is what `arviz_stats` does for one row, here for all rows in a few passes over
    arrays.

    `log_density`: log p of each row under each draw (row, draw). `efficiency`: Effective draws over draws, which sets
    M: 3·√(draws/efficiency), at most a fifth of the draws.

    Returns: log weights, each row adding up to 1 outside the logs, and k̂ (row). k̂ is ∞ where the ratios have no tail
    of any shape. Then some density is 0 (its draws have all the weight), the largest ratios are equal, or a few are so
    large that others underflow. k̂ is −∞ where all ratios are equal.

    See Vehtari, Simpson, Gelman, Yao & Gabry, *Pareto smoothed importance sampling*, JMLR 25 (2024), section 3 and
    appendix C; Zhang & Stephens, *A new and efficient estimation method for the generalized Pareto distribution*,
    Technometrics 51 (2009).
    """
    size = _tail_size(log_density.shape[1], efficiency)
    step = max(1, BLOCK_BYTES // (8 * size * _candidates(size)))
    log_weight, khat = np.empty_like(log_density), np.empty(len(log_density))
    for rows in (slice(first, first + step) for first in range(0, len(log_density), step)):
        log_weight[rows], khat[rows] = _smoothed_block(log_density[rows], size)
    return log_weight, khat


def _smoothed_block(log_density: Array, size: int) -> tuple[Array, Array]:
    """Return log weights and k̂ of some rows, so few that arrays stay in the cache; `size` ratios are smoothed."""
    lowest, highest = log_density.min(axis=1), log_density.max(axis=1)
    khat = np.full(len(log_density), np.inf)
    with np.errstate(invalid="ignore"):
        log_ratio = lowest[:, None] - log_density  # the largest is 0
    for row in np.flatnonzero(np.isneginf(lowest)):
        log_ratio[row] = np.where(np.isneginf(log_density[row]), 0.0, -np.inf)
    flat = ~(highest - lowest > NEGLIGIBLE_SPREAD) & ~np.isneginf(lowest)
    khat[flat], log_ratio[flat] = -np.inf, 0.0
    with_tail = np.flatnonzero(np.isfinite(lowest) & ~flat)
    log_ratio[with_tail], khat[with_tail] = _smoothed(log_ratio[with_tail], size)
    log_ratio -= np.log(np.exp(log_ratio).sum(axis=1, keepdims=True))
    return log_ratio, khat


def _tail_size(draws: int, efficiency: float) -> int:
    """Return M, how many of the largest ratios are smoothed."""
    return int(3 * np.sqrt(draws / efficiency)) if draws * efficiency > 225 else draws // 5


def _smoothed(log_ratio: Array, size: int) -> tuple[Array, Array]:
    """Return log ratios (row, draw), of which the largest is 0, with the `size` largest smoothed, and k̂ (row)."""
    draws = log_ratio.shape[1]
    order = np.argpartition(log_ratio, draws - size - 1, axis=1)
    largest, below = order[:, draws - size :], order[:, draws - size - 1, None]
    tail = np.take_along_axis(log_ratio, largest, axis=1)
    within = np.argsort(tail, axis=1)
    largest, tail = np.take_along_axis(largest, within, axis=1), np.take_along_axis(tail, within, axis=1)
    cutoff = np.exp(np.take_along_axis(log_ratio, below, axis=1))
    excess = np.exp(tail) - cutoff
    khat, result = np.full(len(tail), np.inf), log_ratio.copy()
    # Without spread among the smaller excesses, or if these vanish beside the largest, no distribution fits.
    fits = np.flatnonzero(_first_quartile(excess) > np.maximum(excess[:, 0], SMALLEST))
    if fits.size:
        khat[fits], scale = _generalized_pareto(excess[fits])
        quantiles = cutoff[fits] + _quantiles(khat[fits, None], scale[:, None], size)
        tail[fits] = np.minimum(np.log(quantiles), 0.0)
        np.put_along_axis(result, largest, tail, axis=1)
    return result, khat


def _first_quartile(ordered: Array) -> Array:
    """Return the first quartile of each row of ordered values."""
    return np.asarray(ordered[:, int(ordered.shape[1] / 4 + 0.5) - 1])


def _candidates(size: int) -> int:
    """Return on how many values of the parameter the likelihood is evaluated."""
    return 30 + int(np.sqrt(size))


def _generalized_pareto(excess: Array) -> tuple[Array, Array]:
    """Return shape and scale (row) of generalized Pareto distributions fitted to ordered excesses (row, size).

    With θ = −k/σ the likelihood has one parameter, as k maximizes it at the mean of log(1 − θ·x). Its posterior mean
    under Zhang and Stephens' prior is a sum over a few values of θ.
    """
    size = excess.shape[1]
    number = _candidates(size)
    steps = 1 - np.sqrt(number / (np.arange(number) + 0.5))
    theta = 1 / excess[:, -1:] + steps / (3 * _first_quartile(excess)[:, None])
    shape = _mean_log(theta, excess)
    log_likelihood = size * (np.log(-theta / shape) - shape - 1)
    weight = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    theta = (weight * theta).sum(axis=1) / weight.sum(axis=1)
    shape = np.log1p(-theta[:, None] * excess).mean(axis=1)
    return (size * shape + SHAPE_ROWS * SHAPE_MEAN) / (size + SHAPE_ROWS), -shape / theta


def _mean_log(theta: Array, excess: Array) -> Array:
    """Return the mean of log(1 − θ·x) over x (row, candidate), with one logarithm for a product of several terms."""
    size = excess.shape[1]
    factors = FACTORS if (excess[:, -1] < WIDEST * _first_quartile(excess)).all() else 1
    padded = np.zeros((len(excess), -(-size // factors) * factors))
    padded[:, :size] = excess  # an excess of 0 has the factor 1
    products = np.ones((*theta.shape, padded.shape[1] // factors))
    for part in np.split(padded, factors, axis=1):
        products *= 1 - theta[:, :, None] * part[:, None, :]
    return np.asarray(np.log(products, out=products).sum(axis=2) / size)


def _quantiles(shape: Array, scale: Array, number: int) -> Array:
    """Return the quantiles (row, number) of generalized Pareto distributions at (z − ½)/number."""
    log_above = np.log1p(-(np.arange(number) + 0.5) / number)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        curved = np.expm1(-shape * log_above) / shape
    return np.asarray(scale * np.where(shape == 0, -log_above, curved))
