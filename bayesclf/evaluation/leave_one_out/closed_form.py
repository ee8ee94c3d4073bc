"""Predictive densities of training rows, each under the posterior of the other rows, in closed form."""

from __future__ import annotations

from bayesclf.models.base import Rows
from bayesclf.models.generative import GenerativeModel
from bayesclf.typing import Array, Integers


def log_joint_without(model: GenerativeModel, rows: Rows, y: Integers) -> Array:
    """Return log p(x_i, k | all rows but i), (row, outcome); NaN for rows that need another way.

    Parameters
    ----------
    model
        A conjugate model conditioned on the rows.
    rows
        The training rows, each of weight 1.
    y
        Their label codes (row).
    """
    posterior = model.posterior()
    total = posterior.class_prior.log_mean_without(y)
    for block, part in zip(posterior.blocks, rows.parts, strict=True):
        total += block.family.log_predictive_without(part, y)
    return total
