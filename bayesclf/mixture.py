"""The mixture Σ_s w_s P(k | x, h_s): what the Bayes-optimal classifier answers with, and nothing beside it.

Where scores are linear in columns of the rows, an answer costs one product, one exponential and one division a row,
draw and label, in tiles (row, draw) that stay in the cache. Its probabilities are precise relative to themselves
however small they are; a row with one that is too small for a number is answered in logs, as other models' rows are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayesclf import threads
from bayesclf.averaging import log_weights_of
from bayesclf.conditionals import over_pieces
from bayesclf.families.base import Rows
from bayesclf.families.linear_scores import LinearScores
from bayesclf.hypothesis_set import Hypotheses, HypothesisSet
from bayesclf.softmax import UNDERFLOW, Memory, Normalised, logarithms
from bayesclf.typing import Array

TASK_ROWS = 1024
"""Rows that one thread answers at a time."""

TILE_DRAWS = 512
"""Most draws of a tile."""

UNPACKED = 10**6
"""Size of a product (row × column × draw) up to which OpenBLAS multiplies without packing, which saves a seventh."""

CACHED = 2**17
"""Exponentials of a tile, which several passes go over."""

LEAST_PRODUCT = 2**14
"""Rows × draws of a product below which there are so many columns that packing does not matter."""

MACHINE_CODE_WORK = 2**29
"""Numbers to compute from which machine code saves more than loading it costs; NUTS will have loaded Numba itself."""

UNLIKELY = 0.9
"""Where the label that should be the less likely of two has more, the other's probability is not 1 less this one."""

LOG2_E = 1 / np.log(2)
"""NumPy's powers of two are faster than those of e."""


@dataclass(frozen=True)
class Mixture:
    """The averaged answers.

    Attributes
    ----------
    log_proba
        log Σ_s w_s P(k | x, h_s), (row, outcome).
    impossible
        Whether x has density 0 in every class under all hypotheses, (row); their class priors are averaged there.
    """

    log_proba: Array
    impossible: NDArray[np.bool_]


def mixture(hypotheses: HypothesisSet, rows: Rows, given_x: bool = False) -> Mixture:
    """Average the answers of hypotheses that are not in parts; arguments as in `averaging.average`."""
    scores = hypotheses.linear_scores if isinstance(hypotheses, Hypotheses) else None
    if scores is None or len(hypotheses) == 1:
        return _by_draws(hypotheses, rows, given_x)
    tasks = [rows[start : start + TASK_ROWS] for start in range(0, len(rows), TASK_ROWS)]
    work = len(rows) * len(hypotheses) * len(hypotheses.labels)
    done = threads.each(LinearMixture(scores, _machine_code(work)).proba, tasks, work)
    proba = np.concatenate([np.empty((0, scores.labels)), *done])
    log_proba, impossible = logarithms(proba), np.zeros(len(rows), dtype=bool)
    left = np.flatnonzero(~(proba >= UNDERFLOW).all(axis=1))
    if len(left):
        rest = _by_draws(hypotheses, rows[left], given_x)
        log_proba[left], impossible[left] = rest.log_proba, rest.impossible
    return Mixture(log_proba, impossible)


def _machine_code(work: int) -> Callable[[Array, Array], None] | None:
    """Return `softmax_sums.add_sums` where it is worth loading it."""
    if work < MACHINE_CODE_WORK:
        return None
    from bayesclf.softmax_sums import compiled

    return compiled()


def _by_draws(hypotheses: HypothesisSet, rows: Rows, given_x: bool) -> Mixture:
    """Average answers of any model, normalised draw by draw."""
    counted = hypotheses.log_weights > -np.inf

    def answered(answer: Normalised, first: int) -> tuple[Array, NDArray[np.bool_]]:
        impossible = (answer.impossible | ~counted).all(axis=1)
        if len(hypotheses) == 1:
            return answer.log_proba()[..., 0], impossible
        return answer.log_mean(log_weights_of(hypotheses, answer, given_x, first)), impossible

    done = over_pieces(answered, hypotheses, rows)
    nothing = np.empty((0, len(hypotheses.labels))), np.empty(0, dtype=bool)
    log_proba, impossible = zip(nothing, *done, strict=True)
    return Mixture(np.concatenate(log_proba), np.concatenate(impossible))


@dataclass(frozen=True, eq=False)
class LinearMixture:
    """Averages over equally weighted hypotheses whose scores s are linear in columns of the rows.

    P(j | x, h) = e^(s_j − s_k) / Σ_i e^(s_i − s_k), where the mean coefficients decide on k, the pivot. Of more than
    two labels it is the most likely one. Of two it is the less likely one, whose probability alone is averaged, as
    1/(1 + e^(s_j − s_k)). So exponentials overflow only where an average is too small for a number, or where the
    hypotheses disagree by hundreds in log-odds.

    Attributes
    ----------
    scores
        The scores.
    add_sums
        Machine code that adds up probabilities, `softmax_sums.add_sums`; None for NumPy to do the same.
    """

    scores: LinearScores
    add_sums: Callable[[Array, Array], None] | None = None
    _memory: Memory = field(default_factory=Memory)

    def proba(self, rows: Rows) -> Array:
        """Return Σ_s w_s P(k | x, h_s), (row, outcome); 0, NaN or less than `UNDERFLOW` in rows that need logs."""
        z = self.scores.columns(rows)
        with np.errstate(over="ignore", invalid="ignore"):
            expected = z @ self._mean[: z.shape[1]]
            return self._of_two(z, expected[:, 0]) if self.scores.labels == 2 else self._of_many(z, expected)

    def _of_two(self, z: Array, expected: Array) -> Array:
        """Return the averages of rows z (row, column) with expected log-odds (row) against the reference."""
        sign = np.where(expected < 0, -1.0, 1.0)
        pivot = np.where(expected < 0, 1 - self.scores.reference, self.scores.reference)
        (own,) = self._means(z * sign[:, None], self._pieces)
        own[own > UNLIKELY] = np.nan
        return np.asarray(np.where(pivot[:, None] == [0, 1], own[:, None], 1 - own[:, None]))

    def _of_many(self, z: Array, expected: Array) -> Array:
        """Return the same for more labels; expected log-odds (row, outcome), the reference left out."""
        labels, reference = self.scores.labels, self.scores.reference
        proba = np.empty((len(z), labels))
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

    def _means(self, z: Array, pieces: Iterable[Array]) -> Array:
        """Return the averages, (outcome, row), of the pivot and then the others; of two labels the pivot's alone.

        Parameters
        ----------
        z
            Rows (row, column).
        pieces
            Coefficients of the others less the pivot's, (outcome, column, draw), some draws at a time.
        """
        columns, others, draws = self.scores.coefficient.shape
        width = self._pieces[0].shape[2]
        area = UNPACKED // columns if UNPACKED // columns >= LEAST_PRODUCT else CACHED
        products = -(-len(z) * width // area)
        height = -(-len(z) // products)
        stack = np.zeros((products, height, z.shape[1]))
        stack.reshape(-1, z.shape[1])[: len(z)] = z
        deep = max(1, CACHED // (others * height * width))
        sums = np.zeros((1 if others == 1 else others + 1, len(stack) * height))
        add = self.add_sums or _add_sums
        for piece in pieces:
            for first in range(0, len(stack), deep):
                some = stack[first : first + deep]
                exponents = self._memory.array("exponents", (others, *some.shape[:2], piece.shape[2]))
                for own, coefficient in zip(exponents, piece[:, : z.shape[1]], strict=True):
                    np.matmul(some, coefficient, out=own)
                rows = slice(first * height, first * height + some.shape[0] * height)
                add(exponents.reshape(others, -1, piece.shape[2]), sums[:, rows])
        return np.asarray(sums[:, : len(z)] / draws)

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
    """Do with NumPy what `softmax_sums.add_sums` does."""
    ones = np.ones(exponents.shape[2])
    np.exp2(exponents, out=exponents)
    first = exponents[0] if len(sums) == 1 else exponents.sum(axis=0)
    first += 1
    np.divide(1, first, out=first)
    sums[0] += first @ ones
    if len(sums) > 1:
        exponents *= first
        sums[1:] += exponents @ ones
