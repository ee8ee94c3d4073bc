"""The log-odds between two classes as a sum over features: log p(x_j | y = k, θ) − log p(x_j | y = k′, θ).

A block whose features are independent given the class has a term for each; any other has one term, that of the block.
In a table of counts only the words that a row has get one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesclf.errors import Refused
from bayesclf.families.terms import Contributions, Pair, each
from bayesclf.models.base import Model, Rows
from bayesclf.models.generative import GenerativeModel
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.typing import Array, Parameters


@dataclass(frozen=True, eq=False)
class LogOdds:
    """log P(k | x, θ)/P(k′ | x, θ) of each row under each hypothesis, as a sum.

    Attributes
    ----------
    constant
        What does not depend on x: log π_k/π_k′, or logistic regression's intercept, (draw, row).
    terms
        The rest: the terms of the blocks, or of the columns of logistic regression.
    """

    constant: Array
    terms: Contributions


def log_odds(model: Model, rows: Rows, parameters: Parameters, pair: Pair) -> LogOdds:
    """Return the terms of the log-odds between the two classes of each row."""
    if isinstance(model, LogisticModel):
        constant = pair.differences(_with_reference(parameters["intercept"]))
        return LogOdds(constant, _of_columns(model, rows, parameters, pair))
    if not isinstance(model, GenerativeModel):
        raise Refused(f"the log-odds of a {type(model).__name__} are not taken apart into features")
    blocks = [
        block.family.contributions(part, block.own(parameters), pair)
        for block, part in zip(model.blocks, rows.parts, strict=True)
    ]
    draws = max((len(values) for values in parameters.values()), default=1)
    constant = pair.differences(model.log_class_prior(parameters))
    return LogOdds(np.broadcast_to(constant, (draws, len(rows))), Contributions.joined(blocks, draws))


def _of_columns(model: LogisticModel, rows: Rows, parameters: Parameters, pair: Pair) -> Contributions:
    """Return (w_k − w_k′)·(x − centre) of each column of logistic regression's design.

    A missing number is at its mean; a level that the training rows lack adds its weight, as in `log_scores`.
    """
    design = model.design
    matrix, unseen = design.matrix(rows), design.unseen(rows).astype(float)
    levels = parameters.get("unseen", model.weight_prior.unseen_mean[None])
    levels = np.broadcast_to(levels, (len(parameters["weight"]), *levels.shape[1:]))
    weights = np.concatenate([parameters["weight"] * design.scale, levels], axis=2)
    values = pair.differences(_with_reference(weights)) * np.concatenate([matrix, unseen], axis=1)
    return Contributions.of_rows(each((*design.features, *design.category_names)), values)


def _with_reference(values: Array) -> Array:
    """Return logistic regression's parameters (draw, outcome, …) with the 0 of the reference class in its place."""
    nothing = np.zeros_like(values[:, :1])
    parts = (nothing, values) if values.shape[1] == 1 else (values, nothing)
    return np.concatenate(parts, axis=1)
