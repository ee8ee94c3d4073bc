"""What decisions turn out to cost, row by row: those of one set of probabilities, and the Gibbs classifier's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesclf import averaging
from bayesclf.decisions import REJECTED, Costs
from bayesclf.families.base import Rows
from bayesclf.hypothesis_set import HypothesisSet
from bayesclf.typing import Array, Integers


@dataclass(frozen=True, eq=False)
class DecisionCosts:
    """Costs of labelled rows, for the Gibbs classifier in expectation over the drawn hypothesis.

    Attributes
    ----------
    cost
        What the decision costs given the true label, (row); a rejection costs the limit beyond which rows are rejected.
    rejected
        Whether the row is rejected, 0 or 1, or how probably, (row).
    """

    cost: Array
    rejected: Array


def decision_costs(log_proba: Array, y: Integers, costs: Costs) -> DecisionCosts:
    """Return what deciding by log P(k | x), (row, outcome), costs given label codes `y` (row)."""
    decided = costs.decide(log_proba)
    return DecisionCosts(costs.paid(decided, y), (decided == REJECTED).astype(float))


def gibbs_decision_costs(hypotheses: HypothesisSet, rows: Rows, y: Integers, costs: Costs) -> DecisionCosts:
    """Return the expected costs of the Gibbs classifier: each hypothesis decides by its own probabilities.

    Parameters
    ----------
    hypotheses
        The posterior.
    rows
        Encoded rows.
    y
        Label codes (row).
    costs
        Costs and limit, the same for every hypothesis.
    """
    shares = decision_shares(hypotheses, rows, costs)
    rejected = shares[:, REJECTED]
    cost = (shares[:, :REJECTED] * costs.matrix[y]).sum(axis=1)
    return DecisionCosts(cost if costs.reject is None else cost + costs.reject * rejected, rejected)


def decision_shares(hypotheses: HypothesisSet, rows: Rows, costs: Costs) -> Array:
    """Return Σ_s w_s [h_s decides for k], (row, outcome + 1); the last place, `REJECTED`, is for no class at all."""
    labels = len(hypotheses.labels)
    shares = np.zeros((len(rows), labels + 1))
    for part in hypotheses.parts():
        weights = np.exp(part.log_weights) * (len(part) / len(hypotheses))
        for block in averaging.blocks(part, rows):
            decided = _decided(averaging.conditional(part, rows[block]).log_proba, costs)
            for code in range(labels):
                shares[block, code] += (decided == code) @ weights
            shares[block, REJECTED] += (decided == REJECTED) @ weights
    return shares


def _decided(log_proba: Array, costs: Costs) -> Integers:
    """Return the decision of each hypothesis, (row, draw), from log P(k | x, h), (row, outcome, draw)."""
    rows, labels, draws = log_proba.shape
    return costs.decide(log_proba.transpose(0, 2, 1).reshape(rows * draws, labels)).reshape(rows, draws)
