"""What a classifier predicts in addition to labels and probabilities."""

from __future__ import annotations

from dataclasses import dataclass

from bayesclf.typing import Array


@dataclass(frozen=True)
class Uncertainty:
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


@dataclass(frozen=True)
class LogLikelihood:
    """log p(x_i, y_i | θ_s) and log P(y_i | x_i, θ_s), each (draw, row).

    Leave-one-out importance ratios are those of what the posterior was conditioned on: of `joint` for generative
    models, of `conditional` for logistic regression, whose `joint` is None.
    """

    joint: Array | None
    conditional: Array
