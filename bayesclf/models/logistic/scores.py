"""Scores that are linear in columns of the rows, as those of logistic regression are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from bayesclf.models.base import Rows
from bayesclf.models.logistic.centered import CenteredRows, Matrix
from bayesclf.models.logistic.likelihood import blocks
from bayesclf.typing import Array, Integers, Parameters

OWN_BYTES = 2**20
"""Size of the coefficients that are gathered at once, where each row has its own."""

LARGEST = 1e300
"""Log-odds that stand for those that are too large for a number."""


@dataclass(frozen=True, eq=False)
class LinearScores:
    """Scores Σ_j z_j(x) c_jks of label k under hypothesis h_s; the reference label's are 0.

    Attributes
    ----------
    columns
        Returns z (row, column) of rows, dense or sparse. The first column is 1; trailing columns that would be 0 may be
        omitted.
    coefficient
        c (column, outcome, draw), of all labels except the reference.
    reference
        Position of the reference among all labels.
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
        if isinstance(z, CenteredRows):
            flat[:, :first], flat[:, last:] = z @ coefficient[:, :first], z @ coefficient[:, first:]
        else:
            try:
                with np.errstate(over="raise", invalid="raise"):
                    np.matmul(z, coefficient[:, :first], out=flat[:, :first])
                    np.matmul(z, coefficient[:, first:], out=flat[:, last:])
            except FloatingPointError:
                flat[:, :first], flat[:, last:] = np.split(_bounded_product(z, coefficient), [first], axis=1)
        flat[:, first:last] = 0.0
        return out

    def own(self, rows: Rows, drawn: Integers) -> Array:
        """Return the scores of each row under its own hypothesis `drawn` (row), shape (row, outcome)."""
        scores = np.empty((len(rows), self.labels - 1))
        size = max(1, OWN_BYTES // self.coefficient[..., 0].nbytes)
        for some in blocks(len(rows), size):
            z = self.columns(rows[some])
            own = self.coefficient[: z.shape[1], :, drawn[some]]
            if isinstance(z, CenteredRows):
                scores[some] = z.own_products(own)
            else:
                np.einsum("rc,ckr->rk", z, own, out=scores[some])
        return np.insert(scores, self.reference, 0.0, axis=1)


def _bounded_product(z: Array, coefficient: Array) -> Array:
    """Return z @ coefficient, with what overflows at `LARGEST`, where odds are certain too.

    Terms that overflow in opposite directions leave the odds unknown, and count as even.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return np.nan_to_num(z @ coefficient, nan=0.0, posinf=LARGEST, neginf=-LARGEST)


@runtime_checkable
class LinearModel(Protocol):
    """A model whose scores are linear in columns of the rows."""

    def linear_scores(self, parameters: Parameters) -> LinearScores:
        """Return the scores under each hypothesis."""
