"""Rows of a design whose categories stay codes, and the likelihood of such rows: no 0/1 column is ever made of all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesclf.models.logistic.likelihood import Likelihood, blocks
from bayesclf.typing import Array, Integers

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
        from bayesclf.models.logistic.coded_kernel import add_derivatives

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
