"""Log densities of many cells under normal and Student's t distributions, summed over features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from bayesclf.arrays import Array, Integers
from bayesclf.tables.numbers import blocks_of

CACHED_CELLS = 2**15
"""Cells that several passes go over."""

LARGEST_LOG = 700.0
"""Logarithm of what a number may reach: a little below the largest one."""


def _few_rows(X: Array) -> Iterator[tuple[slice, Array, NDArray[np.bool_] | None]]:
    """Yield a few rows at a time: which, their cells, and which of these are missing, None where none is.

    Cells of a row are next to each other, so that sums over them do not depend on how the table lies in memory.
    """
    for rows in blocks_of(len(X), X.shape[1], CACHED_CELLS):
        cells = np.ascontiguousarray(X[rows])
        yield rows, cells, np.isnan(cells) if np.isnan(cells.sum()) else None


@dataclass(frozen=True, eq=False)
class NormalScores:
    """Σ_i log Normal(x_i; μ_ik, σ²_ik) over the observed cells, of draws of μ and σ².

    The square is expanded around c, the mean of a class's draws, as (x−c)² − 2(x−c)(μ−c) + (μ−c)²: then all draws are
    one matrix product, and as μ−c is small nothing cancels, whatever the origin of x. What does not depend on x is
    computed once.

    `mu`, `sigma2`: (draw, outcome, feature).
    """

    mu: Array
    sigma2: Array

    def __call__(self, X: Array) -> Array:
        """Return the log density of rows `X` (row, feature), NaN where a cell is missing, (draw, row, outcome)."""
        draws, labels, features = self.mu.shape
        out = np.empty((len(X), labels, draws))
        for rows, cells, missing in _few_rows(X):
            factors = self._of_complete if missing is None else self._of_incomplete
            seen = np.ones((len(cells), 1)) if missing is None else (~missing).astype(float)
            for k in range(labels):
                z = cells - self._center[k]
                if missing is not None:
                    z[missing] = 0.0
                if draws > 1:
                    np.matmul(np.hstack([z * z, z, seen]), factors[k], out=out[rows, k])
                    continue
                z *= z
                np.matmul(z, factors[k, :features], out=out[rows, k])
                out[rows, k] += factors[k, -1] if missing is None else seen @ factors[k, -features:]
        return np.moveaxis(out, 2, 0)

    @cached_property
    def _center(self) -> Array:
        return np.asarray(self.mu.mean(axis=0))

    @cached_property
    def _of_incomplete(self) -> Array:
        """What z², z, and whether a cell is observed are multiplied by, (outcome, column, draw)."""
        shift, precision = self.mu - self._center, 1 / self.sigma2
        constants = -0.5 * (np.log(2 * np.pi * self.sigma2) + precision * shift**2)
        factors = np.concatenate([-0.5 * precision, precision * shift, constants], axis=2)
        return np.ascontiguousarray(factors.transpose(1, 2, 0))

    @cached_property
    def _of_complete(self) -> Array:
        """The same of rows without missing cells, whose constants are added up."""
        squares, constants = np.split(self._of_incomplete, [2 * self.mu.shape[2]], axis=1)
        return np.concatenate([squares, constants.sum(axis=1, keepdims=True)], axis=1)


@dataclass(frozen=True, eq=False)
class StudentScores:
    """Σ_i log t(x_i; ν_ik, m_ik, s²_ik) over the observed cells, with ν degrees of freedom.

    Features of the same ν need one logarithm, that of the product of their 1 + z²/ν. Of each factor what exceeds 1 is
    kept, as beside the 1 it would keep few digits where ν is large.

    `nu`, `m`, `scale`: ν, location m and squared scale s², (outcome, feature).
    """

    nu: Array
    m: Array
    scale: Array

    def __call__(self, X: Array) -> Array:
        """Return the log density of rows `X` (row, feature), NaN where a cell is missing, (row, outcome)."""
        out = np.empty((len(X), len(self.m)))
        order, starts = self._groups
        m, rate, constant = self.m[:, order], (1 / (self.scale * self.nu))[:, order], self._constants[:, order]
        exponent = -0.5 * (np.broadcast_to(self.nu, m.shape)[:, order] + 1)
        for rows, cells, missing in _few_rows(X):
            columns = np.ascontiguousarray(cells.T[order])
            lacking = None if missing is None else missing.T[order]
            for k in range(len(m)):
                excess = columns - m[k, :, None]
                excess *= excess
                excess *= rate[k, :, None]
                if lacking is not None:
                    excess[lacking] = 0.0
                places, logs = _log_products(excess, starts)
                own = constant[k].sum() if lacking is None else constant[k] @ ~lacking
                out[rows, k] = exponent[k, places] @ logs + own
        return out

    @cached_property
    def _groups(self) -> tuple[Integers, Integers]:
        """The features in an order in which those of the same ν are neighbors, and where each ν starts."""
        _, group = np.unique(np.broadcast_to(self.nu, self.m.shape), axis=1, return_inverse=True)
        order = np.argsort(group, kind="stable")
        return order, np.flatnonzero(np.diff(group[order], prepend=-1))

    @cached_property
    def _constants(self) -> Array:
        """What does not depend on x, (outcome, feature)."""
        nu = self.nu
        log_scale = np.log(nu * np.pi) + np.log(self.scale)
        return np.asarray(gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * log_scale)


def _log_products(excess: Array, starts: Integers) -> tuple[list[int], Array]:
    """Return log Π (1 + e) of neighboring features, (group, row), and the first feature of each group.

    Groups end where another of the `starts` is, and before a product could be too large for a number.

    `excess`: e (feature, row), which is overwritten.
    """
    many = max(1, int(LARGEST_LOG / max(np.log1p(excess.max(initial=0.0)), 1.0)))
    ends = [*starts.tolist(), len(excess)]
    places = [place for start, end in pairwise(ends) for place in range(start, end, many)]
    products = [_product_less_one(excess[start:end]) for start, end in pairwise([*places, len(excess)])]
    return places, np.log1p(np.stack(products))


def _product_less_one(excess: Array) -> Array:
    """Return Π (1 + e) − 1, (row), of e (feature, row), which is overwritten: halves are multiplied with each other."""
    left = len(excess)
    while left > 1:
        half = left // 2
        one, other = excess[:half], excess[left - half : left]
        product = one * other
        one += other
        one += product
        left -= half
    return np.asarray(excess[0])


def log_student_t(distance: Array, nu: Array, cells: Array | float, log_scale: Array) -> Array:
    """Return the log density of a t over `cells` coordinates: squared distance (x−m)ᵀS⁻¹(x−m), log|S|."""
    return np.asarray(
        gammaln((nu + cells) / 2)
        - gammaln(nu / 2)
        - 0.5 * (cells * np.log(nu * np.pi) + log_scale)
        - 0.5 * (nu + cells) * np.log1p(distance / nu)
    )
