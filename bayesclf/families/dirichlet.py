"""Dirichlet distributions side by side: the algebra behind every table of probabilities.

An array (..., cell) holds several simplexes next to each other along its last axis; `sizes` gives their lengths, so
that features with different numbers of levels need no padding and no loop.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from bayesclf.typing import Array, Integers


def starts(sizes: tuple[int, ...]) -> Integers:
    """Return the first cell of each simplex."""
    return np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.intp)


def totals(values: Array, sizes: tuple[int, ...]) -> Array:
    """Sum each simplex and repeat the sum over its cells, shape of `values`."""
    return np.repeat(np.add.reduceat(values, starts(sizes), axis=-1), sizes, axis=-1)


def normalise(values: Array, sizes: tuple[int, ...]) -> Array:
    """Divide by the sum of each simplex; 0/0 is NaN."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return values / totals(values, sizes)


def mean(alpha: Array, sizes: tuple[int, ...]) -> Array:
    """Return E[θ_j] = α_j / Σα."""
    return normalise(alpha, sizes)


def mode(alpha: Array, sizes: tuple[int, ...]) -> Array:
    """Return the mode (α_j − 1)/(Σα − J) in the simplex itself.

    A cell with α_j < 1 makes the density unbounded, and α = 1 in every cell makes every point a mode: both come
    back as NaN in the whole simplex, and the caller, who knows the names, says so. The only cell of a simplex is 1.

    References
    ----------
    Mitchell, eqs 7 and 9 (with l = α − 1).
    """
    bounded = np.minimum.reduceat(alpha, starts(sizes), axis=-1) >= 1
    theta = np.where(np.repeat(bounded, sizes, axis=-1), normalise(alpha - 1, sizes), np.nan)
    return np.where(np.repeat(np.equal(sizes, 1), sizes), 1.0, theta)


def draw(alpha: Array, sizes: tuple[int, ...], rng: np.random.Generator, draws: int) -> Array:
    """Draw θ, shape (draw, ..., cell), by normalised Gamma variates.

    Γ(α) is drawn as Γ(α + 1)·U^(1/α) and kept as a logarithm, because for small α the variates themselves
    underflow and a simplex would become 0/0.
    """
    shape = (draws, *alpha.shape)
    log_gamma = np.log(rng.standard_gamma(alpha + 1, size=shape)) + np.log(rng.random(shape)) / alpha
    largest = np.maximum.reduceat(log_gamma, starts(sizes), axis=-1)
    return normalise(np.exp(log_gamma - np.repeat(largest, sizes, axis=-1)), sizes)


def log_beta(alpha: Array, sizes: tuple[int, ...]) -> Array:
    """Return the log normaliser Σ log Γ(α_j) − log Γ(Σα) of each simplex, shape (..., simplex)."""
    first = starts(sizes)
    return np.asarray(np.add.reduceat(gammaln(alpha), first, axis=-1) - gammaln(np.add.reduceat(alpha, first, axis=-1)))
