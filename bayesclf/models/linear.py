"""Scores that are linear in columns of the rows, as in logistic regression, and averages of what they say of labels.

An answer costs one product, one exponential and one division per row, draw and label, in tiles (row, draw) that stay in
the cache. Probabilities are precise relative to themselves however small they are; rows with one that
underflows are computed in logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from bayesclf.arrays import Array, Integers
from bayesclf.tables.columns import Rows
from bayesclf.tables.numbers import blocks_of

type Matrix = Array | sparse.csr_array
"""Rows (row, column): dense, or sparse."""

OWN_BYTES = 2**20
"""Size of the coefficients that are gathered at once, where each row has its own."""

LARGEST = 1e300
"""Log-odds that stand for those that are too large for a number."""


@dataclass(frozen=True, eq=False)
class LinearScores:
    """Scores Σ_j z_j(x) c_jks of label k under hypothesis h_s; the reference label's are 0.

    `columns`: Returns z (row, column) of rows, dense or sparse. The first column is 1; trailing columns that would be 0
    may be omitted. `coefficient`: c (column, outcome, draw), of all labels except the reference. `reference`: Position
    of the reference among all labels.
    """

    columns: Callable[[Rows], Matrix]
    coefficient: Array
    reference: int

    @property
    def labels(self) -> int:
        """Number of labels, the reference included."""
        return len(self.coefficient[0]) + 1

    def plus(self, offset: Array) -> LinearScores:
        """Return the scores with a constant (outcome) added to each label's, less the reference's."""
        coefficient = self.coefficient.copy()
        coefficient[0] += (np.delete(offset, self.reference) - offset[self.reference])[:, None]
        return replace(self, coefficient=coefficient)

    def scores(self, rows: Rows) -> Array:
        """Return the scores (draw, row, outcome); the memory is laid out (row, outcome, draw)."""
        out = np.empty((len(rows), self.labels, self.coefficient.shape[2]))
        return np.moveaxis(self.fill(out, self.columns(rows)), 2, 0)

    def fill(self, out: Array, z: Matrix) -> Array:
        """Put the scores of rows z (row, column) into `out` (row, outcome, draw), and return it."""
        flat = out.reshape(len(out), out.shape[1] * out.shape[2])
        coefficient = self.coefficient[: z.shape[1]].reshape(z.shape[1], -1)
        # The other labels are those before the reference and those after it.
        first = self.reference * out.shape[2]
        last = first + out.shape[2]
        try:
            with np.errstate(over="raise", invalid="raise"):
                product_into(z, coefficient[:, :first], flat[:, :first])
                product_into(z, coefficient[:, first:], flat[:, last:])
        except FloatingPointError:
            flat[:, :first], flat[:, last:] = np.split(_bounded_product(z, coefficient), [first], axis=1)
        flat[:, first:last] = 0.0
        return out

    def own(self, rows: Rows, drawn: Integers) -> Array:
        """Return the scores of each row under its own hypothesis `drawn` (row), shape (row, outcome)."""
        scores = np.empty((len(rows), self.labels - 1))
        size = max(1, OWN_BYTES // self.coefficient[..., 0].nbytes)
        for some in blocks_of(len(rows), 1, size):
            z = self.columns(rows[some])
            own = self.coefficient[: z.shape[1], :, drawn[some]]
            if isinstance(z, np.ndarray):
                np.einsum("rc,ckr->rk", z, own, out=scores[some])
            else:
                scores[some] = np.column_stack([z.multiply(each.T).sum(axis=1) for each in own.swapaxes(0, 1)])
        return np.insert(scores, self.reference, 0.0, axis=1)


def product_into(z: Matrix, coefficient: Array, out: Array) -> None:
    """Put z @ coefficient into `out`, (row, …)."""
    if isinstance(z, np.ndarray):
        np.matmul(z, coefficient, out=out)
    else:
        out[:] = z @ coefficient


def _bounded_product(z: Matrix, coefficient: Array) -> Array:
    """Return z @ coefficient, with what overflows at `LARGEST`, where odds are certain too.

    Terms that overflow in opposite directions leave the odds unknown, and count as even.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return np.nan_to_num(z @ coefficient, nan=0.0, posinf=LARGEST, neginf=-LARGEST)


TILE_DRAWS = 512
"""Most draws of a tile."""

CACHED = 2**17
"""Exponentials of a tile, which several passes go over."""

UNLIKELY = 0.9
"""Where the label that should be the less likely of two has more, the other's probability is not 1 less this one."""

LOG2_E = 1 / np.log(2)
"""NumPy's powers of two are faster than those of e."""


@dataclass(frozen=True, eq=False)
class LinearMixture:
    """Averages over equally weighted hypotheses whose scores s are linear in columns of the rows.

    P(j | x, h) = e^(s_j − s_k) / Σ_i e^(s_i − s_k), where the mean coefficients decide on k, the pivot. Of more than
    two labels it is the most likely one. Of two it is the less likely one, whose probability alone is averaged, as
    1/(1 + e^(s_j − s_k)). So exponentials overflow only where an average is too small for a number, or where the
    hypotheses disagree by hundreds in log-odds.

    `array`: From a name and a shape to an array that each thread reuses.
    """

    scores: LinearScores
    array: Callable[[str, tuple[int, ...]], Array]

    def proba(self, rows: Rows) -> Array:
        """Return Σ_s w_s P(k | x, h_s), (row, outcome).

        Rows that need logs have a probability that is 0, NaN, or too small for its reciprocal.
        """
        z = self.scores.columns(rows)
        with np.errstate(over="ignore", invalid="ignore"):
            expected = z @ self._mean[: z.shape[1]]
            return self._of_two(z, expected[:, 0]) if self.scores.labels == 2 else self._of_many(z, expected)

    def _of_two(self, z: Matrix, expected: Array) -> Array:
        """Return the averages of rows z (row, column) with expected log-odds (row) against the reference."""
        sign = np.where(expected < 0, -1.0, 1.0)
        pivot = np.where(expected < 0, 1 - self.scores.reference, self.scores.reference)
        turned = z * sign[:, None]
        (own,) = self._means(turned if isinstance(turned, np.ndarray) else sparse.csr_array(turned), self._pieces)
        own[own > UNLIKELY] = np.nan
        return np.asarray(np.where(pivot[:, None] == [0, 1], own[:, None], 1 - own[:, None]))

    def _of_many(self, z: Matrix, expected: Array) -> Array:
        """Return the same for more labels; expected log-odds (row, outcome), the reference left out."""
        labels, reference = self.scores.labels, self.scores.reference
        proba = np.empty((len(expected), labels))
        pivots = np.insert(expected, reference, 0.0, axis=1).argmax(axis=1)
        for pivot in np.unique(pivots):
            rows = np.flatnonzero(pivots == pivot)
            order = [pivot, *(k for k in range(labels) if k not in (pivot, reference))]
            pieces: Iterable[Array] = self._pieces
            if pivot != reference:
                order.append(reference)
                place = pivot - (pivot > reference)
                pieces = (_against(piece, place) for piece in self._pieces)
            proba[rows[:, None], order] = self._means(z[rows], pieces).T
        return proba

    def _means(self, z: Matrix, pieces: Iterable[Array]) -> Array:
        """Return the averages, (outcome, row), of the pivot and then the others; of two labels the pivot's alone.

        `z`: Rows (row, column). `pieces`: Coefficients of the others less the pivot's, (outcome, column, draw), some
        draws at a time.
        """
        _, others, draws = self.scores.coefficient.shape
        height = max(1, CACHED // (others * self._pieces[0].shape[2]))
        sums = np.zeros((1 if others == 1 else others + 1, z.shape[0]))
        for piece in pieces:
            for first in range(0, z.shape[0], height):
                rows = slice(first, first + height)
                some = z[rows]
                exponents = self.array("exponents", (others, some.shape[0], piece.shape[2]))
                for own, coefficient in zip(exponents, piece[:, : z.shape[1]], strict=True):
                    product_into(some, coefficient, own)
                _add_sums(exponents, sums[:, rows])
        return np.asarray(sums / draws)

    @cached_property
    def _mean(self) -> Array:
        """The mean coefficients, (column, outcome)."""
        return np.asarray(self.scores.coefficient.mean(axis=2))

    @cached_property
    def _pieces(self) -> list[Array]:
        """The coefficients of powers of two, (outcome, column, draw), some draws at a time."""
        coefficient = LOG2_E * self.scores.coefficient.transpose(1, 0, 2)
        number = -(-coefficient.shape[2] // TILE_DRAWS)
        return [np.ascontiguousarray(piece) for piece in np.array_split(coefficient, number, axis=2)]


def _against(piece: Array, place: int) -> Array:
    """Return coefficients (outcome, column, draw) less those at `place`, which itself becomes the reference's, last."""
    own = piece[place]
    return np.concatenate([np.delete(piece, place, axis=0) - own, -own[None]])


def _add_sums(exponents: Array, sums: Array) -> None:
    """Add Σ_s P_k to `sums`, where P_0 = 1/(1 + Σ_j 2^x_j) and P_j = 2^x_j P_0; NaN makes a sum NaN.

    `exponents`: x (outcome, row, draw), of all labels but the first; overwritten. `sums`: (outcome, row), of the first
    label and then of the others; of the first alone where there is one other.
    """
    ones = np.ones(exponents.shape[2])
    np.exp2(exponents, out=exponents)
    first = exponents[0] if len(sums) == 1 else exponents.sum(axis=0)
    first += 1
    np.divide(1, first, out=first)
    sums[0] += first @ ones
    if len(sums) > 1:
        sums[1:] += np.vecdot(exponents, first)
