"""What a classifier predicts in addition to labels and probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesclf.display import Display, Displayed
from bayesclf.typing import Array
from bayesclf.wording import counted, number

SHOWN = 5
"""Rows that a display of uncertainties names."""


@dataclass(frozen=True, repr=False)
class Uncertainty(Displayed):
    """Entropy of the predicted class in nats, each (row).

    Attributes
    ----------
    total
        H[Σ_s w_s P(y | x, h_s)].
    aleatoric
        Σ_s w_s H[P(y | x, h_s)]: what would remain if θ were known.
    epistemic
        Their difference, the mutual information of y and θ: what more data would remove. Conditional on the model:
        under a false independence assumption it shrinks around a wrong value.
    """

    total: Array
    aleatoric: Array
    epistemic: Array

    def _display(self) -> Display:
        rows = len(self.total)
        most = np.argsort(-self.epistemic, kind="stable")[:SHOWN]
        parts = (self.total, self.aleatoric, self.epistemic)
        lines = [("mean", *(number(float(part.mean())) for part in parts))] if rows else []
        lines += [(f"row {row}", *(number(float(part[row])) for part in parts)) for row in most]
        return Display(
            f"Uncertainty of {counted(rows, 'row')}, entropy in nats; the rows of which more data would teach most",
            ("", "total", "aleatoric", "epistemic"),
            lines,
            left_out=rows - len(most),
        )


@dataclass(frozen=True)
class LogLikelihood:
    """log p(x_i, y_i | θ_s) and log P(y_i | x_i, θ_s), each (draw, row).

    Leave-one-out importance ratios are those of what the posterior was conditioned on: of `joint` for generative
    models, of `conditional` for logistic regression, whose `joint` is None.
    """

    joint: Array | None
    conditional: Array
