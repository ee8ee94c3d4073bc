"""Dirichlet distributions along one axis: the algebra behind every table of probabilities.

An array (..., cell) holds several simplexes next to each other along its last axis; `sizes` gives their lengths, so
that features with different numbers of levels need no padding and no loop. Data to be counted are level codes, or
tables (row, feature), dense or sparse. Ratios of gamma functions, of which evidences are made, lose no digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from bayesclf.arrays import Array, Integers

SMALLEST = np.finfo(float).tiny
"""Probabilities that underflow are replaced by this before a density is evaluated."""

UNDERFLOW_FREE = 0.1
"""Gamma variates of this shape fall below the smallest number with probability 1e-31."""

SMALL = 10.0
"""Arguments from which Stirling's series has all digits."""

STIRLING = (-691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
"""Coefficients of the series of z times its correction in powers of 1/z², the highest first."""


def logs(probabilities: Array) -> Array:
    """Return logarithms, −∞ of 0, without the warning."""
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


def countable(logs: Array) -> Any:
    """Return logarithms with −∞ as −i: a sum that subtracts as many of these as it adds has a finite value."""
    never = np.isneginf(logs)
    return np.where(never, -1j, logs) if never.any() else logs


def summed(values: Any) -> Array:
    """Return sums of what `countable` returns as logarithms, −∞ where any −i is left."""
    return np.where(values.imag < -0.5, -np.inf, values.real) if np.iscomplexobj(values) else values


def starts(sizes: tuple[int, ...] | Integers) -> Integers:
    """Return the first cell of each simplex."""
    return np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.intp)


def totals(values: Array, sizes: tuple[int, ...]) -> Array:
    """Sum each simplex and repeat the sum over its cells, shape of `values`."""
    return np.repeat(np.add.reduceat(values, starts(sizes), axis=-1), sizes, axis=-1)


def normalize(values: Array, sizes: tuple[int, ...]) -> Array:
    """Divide by the sum of each simplex; 0/0 is NaN."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return values / totals(values, sizes)


def mode(alpha: Array, sizes: tuple[int, ...]) -> Array:
    """Return the mode (α_j − 1)/(Σα − J) in the simplex itself.

    A cell with α_j < 1 makes the density unbounded, and α = 1 in every cell makes every point a mode: both give
    NaN in the whole simplex, and the caller, which knows the names, raises. The only cell of a simplex is 1.

    See Mitchell, eqs 7 and 9 (with l = α − 1).
    """
    bounded = np.minimum.reduceat(alpha, starts(sizes), axis=-1) >= 1
    theta = np.where(np.repeat(bounded, sizes, axis=-1), normalize(alpha - 1, sizes), np.nan)
    return np.where(np.repeat(np.equal(sizes, 1), sizes), 1.0, theta)


def draw(alpha: Array, sizes: tuple[int, ...], rng: np.random.Generator, draws: int) -> Array:
    """Draw θ, shape (draw, ..., cell), by normalized Gamma variates.

    Γ(α) is drawn as Γ(α + 1)·U^(1/α) and kept as a logarithm. For small α the variates themselves underflow, and a
    simplex would become 0/0.
    """
    shape, first = (draws, *alpha.shape), starts(sizes)
    log_gamma = np.log(rng.standard_gamma(alpha + 1, size=shape)) + np.log(rng.random(shape)) / alpha
    ratios = np.exp(log_gamma - np.repeat(np.maximum.reduceat(log_gamma, first, axis=-1), sizes, axis=-1))
    return np.asarray(ratios / np.repeat(np.add.reduceat(ratios, first, axis=-1), sizes, axis=-1))


def log_draw(alpha: Array, sizes: Integers, rng: np.random.Generator) -> Array:
    """Draw log θ, one θ for each α (…, cell), finite where θ itself underflows."""
    first = starts(sizes)
    if alpha.min(initial=1.0) >= UNDERFLOW_FREE:
        gamma = rng.standard_gamma(alpha)
        total = np.add.reduceat(gamma, first, axis=-1)
        return np.asarray(np.log(gamma) - np.repeat(np.log(total), sizes, axis=-1))
    log_gamma = np.log(rng.standard_gamma(alpha + 1)) + np.log1p(-rng.random(alpha.shape)) / alpha
    log_gamma -= np.repeat(np.maximum.reduceat(log_gamma, first, axis=-1), sizes, axis=-1)
    total = np.add.reduceat(np.exp(log_gamma), first, axis=-1)
    return np.asarray(log_gamma - np.repeat(np.log(total), sizes, axis=-1))


def log_beta(alpha: Array, sizes: tuple[int, ...]) -> Array:
    """Return the log normalizer Σ log Γ(α_j) − log Γ(Σα) of each simplex, shape (..., simplex)."""
    first = starts(sizes)
    return np.asarray(np.add.reduceat(gammaln(alpha), first, axis=-1) - gammaln(np.add.reduceat(alpha, first, axis=-1)))


def log_rising(z: Array, k: Array) -> Array:
    """Return log Γ(z + k)/Γ(z), which loses no digits where z is large."""
    large = np.maximum(z, SMALL)
    difference = (large - 0.5) * np.log1p(k / large) + k * (np.log(large + k) - 1)
    by_series = np.asarray(difference + stirling(large + k) - stirling(large))
    return by_series if np.all(large == z) else np.where(z >= SMALL, by_series, gammaln(z + k) - gammaln(z))


def stirling(z: Array) -> Array:
    """Return log Γ(z) − (z − ½) log z + z − ½ log 2π, Stirling's correction, without cancellation."""
    large = np.maximum(z, SMALL)
    inverse = 1 / large
    square = inverse**2
    series = inverse * np.polyval(STIRLING, square)
    if np.all(large == z):
        return np.asarray(series)
    direct = gammaln(z) - (z - 0.5) * np.log(z) + z - 0.5 * np.log(2 * np.pi)
    return np.asarray(np.where(z >= SMALL, series, direct))


def log_density(theta: Array, alpha: Array, sizes: tuple[int, ...]) -> Array:
    """Return Σ (α_j − 1) log θ_j of each simplex, shape (..., simplex), up to a constant."""
    terms = (alpha - 1) * np.log(np.maximum(theta, SMALLEST))
    return np.asarray(np.add.reduceat(terms, starts(sizes), axis=-1))


def log_mean_without(alpha: Array, sizes: tuple[int, ...], cells: Integers, y: Integers) -> Array:
    """Return Σ_c log (α_c − 1)/(Σα − 1) of the cells to which each row itself has contributed, (row).

    `alpha`: Of the posterior given all rows, (outcome, cell). `cells`: Cells (row, entry) of each row, −1 for none.
    `y`: Label codes (row).
    """
    used, own = cells >= 0, y[:, None]
    total = totals(alpha, sizes)
    shares = np.divide(alpha[own, cells] - 1, total[own, cells] - 1, out=np.ones(cells.shape), where=used)
    return np.asarray(np.log(shares).sum(axis=1))


def cells_of(X: Integers, sizes: tuple[int, ...]) -> Integers:
    """Return the cell of each level code (row, feature), −1 where it is negative."""
    return np.where(X >= 0, X + starts(sizes), -1)


def drawn_codes(theta: Array, sizes: tuple[int, ...], y: Integers, rng: np.random.Generator) -> Integers:
    """Draw the code of a cell in each simplex, (row, simplex), from θ (outcome, cell) of the class of each row."""
    of_features = np.split(theta, np.cumsum(sizes)[:-1], axis=1)
    return np.column_stack([np.empty((len(y), 0), dtype=np.intp), *(chosen(own[y], rng) for own in of_features)])


def chosen(weights: Array, rng: np.random.Generator) -> Integers:
    """Draw one position for each row of weights (…, position), in proportion to these."""
    below = np.cumsum(weights, axis=-1)
    drawn = rng.random(below.shape[:-1]) * below[..., -1]
    return np.asarray((drawn[..., None] >= below[..., :-1]).sum(axis=-1), dtype=np.intp)


def indicators(cells: Integers, width: int) -> sparse.csr_array:
    """Return 0/1 indicators (row, cell) of the cells (row, entry) of each row, −1 for none."""
    given = cells >= 0
    ends = np.concatenate(([0], np.cumsum(given.sum(axis=1))))
    return sparse.csr_array((np.ones(ends[-1]), cells[given], ends), shape=(len(cells), width))


def weighted_logs(weights: sparse.csr_array, theta: Array) -> Array:
    """Return Σ_c w_c log θ_c (draw, row, outcome) of sparse weights (row, cell) and θ (draw, outcome, cell).

    Sparse, because 0 · log 0 would be NaN in a dense product and an absent entry is not multiplied at all.
    """
    draws, labels, cells = theta.shape
    log_theta = logs(theta).transpose(2, 1, 0).reshape(cells, labels * draws)
    return np.moveaxis(np.asarray(weights @ log_theta).reshape(-1, labels, draws), 2, 0)


def canonical(X: Any) -> sparse.csr_array:
    """Return the same cells, each stored once: in SciPy a cell may be the sum of several entries."""
    cells = sparse.csr_array(X)
    if cells.has_canonical_format:
        return cells
    cells = cells.tocsc().tocsr()  # in order, quicker than by sorting
    cells.sum_duplicates()
    return cells


def class_sums(X: Any, y: Integers, labels: int, sample_weight: Array | None = None) -> Array:
    """Return Σ_i w_i x_i over the rows of each class, (outcome, feature).

    `X`: Cells (row, feature), dense or sparse; a sparse table is never made dense. `y`: Label codes (row).
    `sample_weight`: Weights (row).
    """
    rows = X.shape[0]
    weight = np.ones(rows) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if sparse.issparse(X):
        # A product of two sparse tables would go through the entries twice, and hash each of them.
        table: Any = X
        cells: Any = sparse.csr_array(table)
        entries = np.diff(cells.indptr)
        place = np.repeat(y * cells.shape[1], entries)
        place += cells.indices
        values = cells.data if sample_weight is None else cells.data * np.repeat(weight, entries)
        return np.bincount(place, values, minlength=labels * cells.shape[1]).reshape(labels, cells.shape[1])
    membership = sparse.csr_array((weight, (y, np.arange(rows))), shape=(labels, rows))
    return np.asarray(membership @ X)
