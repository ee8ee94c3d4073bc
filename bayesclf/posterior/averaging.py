"""Averages over hypotheses: Σ_s w_s P(k | x, h_s), and what else rules and scores need from the hypotheses' answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bayesclf.arrays import Array
from bayesclf.posterior.answers import (
    SUMS,
    WEIGHTS,
    Answers,
    Memory,
    averaged,
    blocks,
    over_rows,
    require_effective_draws,
)
from bayesclf.posterior.hypotheses import HypothesisSet
from bayesclf.tables.columns import Rows

__all__ = ["Averages", "average", "blocks", "conditional", "interval"]

SHORT_OF = 1 - 1e-12
"""Factor of a tail: .945 of 4,000 draws are 3,780, though in floating point a little more, and so one draw further."""


@dataclass(frozen=True)
class Averages:
    """Averages over the hypotheses, one value per row (and label): all that scores and decisions need.

    `log_proba`: log Σ_s w_s P(k | x, h_s), (row, outcome): the Bayes-optimal classifier. `votes`: Σ_s w_s [k is h_s's
    most probable class], (row, outcome): what a drawn hypothesis predicts. `mean_log_proba`: Σ_s w_s log P(k | x, h_s),
    (row, outcome): minus the expected log loss of the Gibbs classifier. `mean_square`: Σ_s w_s Σ_k P(k | x, h_s)²,
    (row). `entropy`: Σ_s w_s H[P(· | x, h_s)] in nats, (row): the aleatoric part. `impossible`: Weight of the
    hypotheses under which x has density 0 in every class, (row).
    """

    log_proba: Array
    votes: Array
    mean_log_proba: Array
    mean_square: Array
    entropy: Array
    impossible: Array


def average(hypotheses: HypothesisSet, rows: Rows, given_x: bool = False) -> Averages:
    """Average over the posterior.

    `given_x`: Weight the hypotheses by P(h | D, x) instead of P(h | D).

    Raises `Refused` where too few draws have nearly all the weight given x.
    """
    return Averages(**averaged(hypotheses, rows, given_x, *SUMS))


def log_joint(hypotheses: HypothesisSet, rows: Rows) -> Array:
    """Return log Σ_s w_s p(x, k | h_s), (row, outcome), of generative hypotheses."""
    log_weights = hypotheses.log_weights[:, None, None]
    found = [logsumexp(log_weights + hypotheses.log_scores(rows[some]), axis=0) for some in blocks(hypotheses, rows)]
    return np.concatenate(found)


def interval(hypotheses: HypothesisSet, rows: Rows, ci_prob: float, given_x: bool = False) -> Array:
    """Return the equal-tailed interval of P(k | x, h) over the posterior, (row, outcome, bound)."""
    tails = np.array([(1 - ci_prob) / 2, (1 + ci_prob) / 2])
    log_mass, log_square, bounds = over_rows(hypotheses, rows, given_x, *WEIGHTS, lambda some: _bounds(some, tails))
    if given_x and hypotheses.generative:
        require_effective_draws(hypotheses, log_mass, log_square)
    return bounds


@dataclass(frozen=True)
class Conditional:
    """P(y | x, h_s) of one block of rows.

    `log_proba`: (row, outcome, draw): draws are next to each other in memory, so that averaging them is one pass.
    `log_x`: log p(x | h_s) (row, draw), up to a constant for discriminative models. `impossible`: (row, draw): x has
    density 0 under every class; the answer there is the class prior.
    """

    log_proba: Array
    log_x: Array
    impossible: NDArray[np.bool_]


def conditional(hypotheses: HypothesisSet, rows: Rows) -> Conditional:
    """Return the answers of all hypotheses to some rows, such as those of one of the `blocks`."""
    of_parts = (Answers.of(np.moveaxis(part.log_scores(rows), 0, -1), part, Memory()) for part in hypotheses.parts())
    log_proba, log_x, impossible = zip(*((of.log_proba, of.log_x, of.impossible) for of in of_parts), strict=True)
    return Conditional(np.concatenate(log_proba, axis=2), np.concatenate(log_x, axis=1), np.concatenate(impossible, 1))


def _bounds(answers: Answers, tails: Array) -> Array:
    """Return the smallest values of P(k | x, h) with at least these shares of the weight up to them, (row, …, tail)."""
    rows, labels, draws = answers.proba.shape
    weights: Array | None = None
    equal = answers.log_weights.ndim == 1 and (answers.log_weights == answers.log_weights[0]).all()
    if equal and labels == 2:
        return _bounds_of_two(answers.scores[:, 1] - answers.scores[:, 0], tails)
    if not equal:
        by_row = np.broadcast_to(np.expand_dims(answers.weights, -2), answers.proba.shape)
        weights = by_row.reshape(rows * labels, draws)
    values = answers.proba.reshape(rows * labels, draws)
    bounds = np.quantile(values, tails * SHORT_OF, axis=1, weights=weights, method="inverted_cdf")
    return np.asarray(bounds.T.reshape(rows, labels, len(tails)))


def _bounds_of_two(log_odds: Array, tails: Array) -> Array:
    """Return the same of two labels and equal weights, from the log-odds (row, draw) of the second, sorted but once."""
    draws = log_odds.shape[1]
    places = np.ceil(tails * SHORT_OF * draws).astype(int) - 1
    # the first label's probability is the smaller, the larger these log-odds are
    both = np.stack([draws - 1 - places, places])
    chosen = np.partition(log_odds, np.unique(both), axis=1)[:, both]
    return np.exp(-np.logaddexp(0.0, chosen * [[1.0], [-1.0]]))
