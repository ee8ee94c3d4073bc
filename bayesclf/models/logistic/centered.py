"""Columns of a sparse table with mean 0: what is stored stays sparse, and the means enter by algebra."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayesclf.arrays import Array, Integers
from bayesclf.tables.numbers import blocks_of


@dataclass(frozen=True, eq=False)
class CenteredRows:
    """Rows X = S − 1 mᵀ, (row, column), of which only the sparse S and m are stored.

    It stands where an array would: ``X @ B`` is S B − 1 (mᵀB), ``A @ X`` is A S − (A 1) mᵀ, and ``X[rows]`` are some of
    the rows. No product makes S dense.

    `data`, `indices`, `indptr`: S in compressed rows, as in `scipy.sparse.csr_array`. `shift`: m (column).

    Examples
    --------
    >>> X = CenteredRows.of(sparse.csr_array([[0.0, 2.0], [4.0, 0.0]]), np.array([2.0, 1.0]))
    >>> X @ np.eye(2)
    array([[-2.,  1.],
           [ 2., -1.]])
    """

    data: Array
    indices: NDArray[np.integer[Any]]
    indptr: NDArray[np.integer[Any]]
    shift: Array
    __array_ufunc__: ClassVar[None] = None  # products with arrays are those below

    @classmethod
    def of(cls, cells: sparse.csr_array, shift: Array) -> CenteredRows:
        """Return the rows of a sparse table less a shift (column)."""
        return cls(cells.data, cells.indices, cells.indptr, shift)

    @cached_property
    def cells(self) -> sparse.csr_array:
        """S, (row, column)."""
        return sparse.csr_array((self.data, self.indices, self.indptr), shape=self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.indptr) - 1, len(self.shift)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, rows: slice | Integers | NDArray[np.bool_]) -> CenteredRows:
        return CenteredRows.of(self.cells[rows], self.shift)

    def __matmul__(self, other: Array) -> Array:
        return np.asarray(self.cells @ other) - self.shift @ other

    def __rmatmul__(self, other: Array) -> Array:
        product = np.asarray((self.cells.T @ other.T).T)
        return np.asarray(product - np.multiply.outer(other.sum(axis=-1), self.shift))

    def gram(self, weight: Array) -> Array:
        """Return Σ_i w_i x_i x_iᵀ, (column, column), = SᵀWS − s mᵀ − m sᵀ + (Σ w) m mᵀ with s = Sᵀw."""
        weighted = sparse.csr_array((self.data * self._by_cell(weight), self.indices, self.indptr), shape=self.shape)
        sums = np.outer(np.asarray(self.cells.T @ weight), self.shift)
        squares = np.asarray((self.cells.T @ weighted).toarray())
        return np.asarray(squares - sums - sums.T + weight.sum() * np.outer(self.shift, self.shift))

    def own_products(self, coefficient: Array) -> Array:
        """Return Σ_j x_ij c_jki, (row, outcome), of coefficients (column, outcome, row) of each row's own."""
        rows = self._by_cell(np.arange(len(self)))
        terms = self.data[:, None] * coefficient[self.indices, :, rows]
        out: Array = -np.einsum("c,ckr->rk", self.shift, coefficient)
        np.add.at(out, rows, terms)
        return out

    def scaled(self, scale: Array) -> CenteredRows:
        """Return the rows with each column multiplied by a number (column)."""
        return CenteredRows(self.data * scale[self.indices], self.indices, self.indptr, self.shift * scale)

    def with_ones(self) -> CenteredRows:
        """Return the rows with a column of ones before the others."""
        rows = len(self)
        first = self.indptr[:-1]
        return CenteredRows(
            np.insert(self.data, first, 1.0),
            np.insert(self.indices + 1, first, 0).astype(self.indices.dtype),
            (self.indptr + np.arange(rows + 1)).astype(self.indptr.dtype),
            np.concatenate([[0.0], self.shift]),
        )

    def moved(self, theta: Array) -> Array:
        """Return θ (outcome, column), a column of ones being the first, so that S gives the log-odds of X."""
        out = theta.copy()
        out[:, 0] -= theta @ self.shift
        return out

    def toarray(self) -> Array:
        """Return the rows as an array; for a few of them only."""
        return np.asarray(self.cells.toarray() - self.shift)

    def _by_cell(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values (row) for each stored cell."""
        return np.repeat(values, np.diff(self.indptr))


type Matrix = Array | CenteredRows
"""Rows (row, column) of a design: dense, or sparse but for the columns' means."""


def with_ones(X: Matrix) -> Matrix:
    """Return rows with a column of ones before the others."""
    return X.with_ones() if isinstance(X, CenteredRows) else np.column_stack([np.ones(len(X)), X])


def gram(X: Matrix, weight: Array) -> Array:
    """Return Σ_i w_i x_i x_iᵀ, (column, column), of weights (row) of at least 0."""
    if isinstance(X, CenteredRows):
        return X.gram(weight)
    weighted = np.sqrt(weight)[:, None] * X
    return weighted.T @ weighted


@dataclass(frozen=True, eq=False)
class Moments:
    """Means and covariance of the columns of rows, by their weights.

    `mean`: (column). `covariance`: (column, column).
    """

    mean: Array
    covariance: Array

    @classmethod
    def of(cls, X: Matrix, weight: Array) -> Self:
        """Return the moments of rows (row, column) with weights (row); 0 without rows."""
        total = weight.sum()
        share = weight / total if total > 0 else weight
        mean = share @ X
        if isinstance(X, CenteredRows):
            return cls(mean, gram(X, share) - np.outer(mean, mean))
        covariance = np.zeros((len(mean), len(mean)))
        for some in blocks_of(*X.shape):
            covariance += gram(X[some] - mean, share[some])
        return cls(mean, covariance)


def dense(X: Matrix) -> Array:
    """Return rows as an array."""
    return X.toarray() if isinstance(X, CenteredRows) else X


def sparse_moments(cells: sparse.csr_array, weight: Array) -> tuple[Array, Array]:
    """Return weighted mean and sd of each column of a sparse table, cells that are not stored being 0.

    An sd of exactly 0 means that a column is constant.
    """
    if not cells.shape[0]:
        return np.zeros(cells.shape[1]), np.zeros(cells.shape[1])
    most, least = (found(axis=0).toarray().ravel() for found in (cells.max, cells.min))
    columns, by_cell = cells.indices, np.repeat(weight, np.diff(cells.indptr))
    data = cells.data
    width, total = cells.shape[1], weight.sum()
    mean = np.bincount(columns, by_cell * data, width) / total
    stored = np.bincount(columns, by_cell, width)
    squares = np.bincount(columns, by_cell * (data - mean[columns]) ** 2, width)
    variance = (squares + np.maximum(total - stored, 0.0) * mean**2) / total
    return mean, np.where(most > least, np.sqrt(variance), 0.0)
