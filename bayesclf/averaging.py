"""Averages over hypotheses: their weights, and what rules and scores need of P(y | x, h) of all of them.

A posterior whose parameters do not fit in memory comes in parts; what is averaged over each part is then averaged over
the parts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from scipy.special import logsumexp

from bayesclf.conditionals import Conditional, blocks, conditional, over_pieces
from bayesclf.errors import Refused
from bayesclf.families.base import Rows
from bayesclf.hypothesis_set import HypothesisSet
from bayesclf.softmax import Normalised, weighted
from bayesclf.typing import Array, Integers

__all__ = ["Averages", "average", "blocks", "conditional", "interval", "log_weights_of"]

MINIMUM_PREDICTIVE_ESS = 100
"""Effective draws below which a Monte Carlo estimate of p(x, y | D) is refused."""


@dataclass(frozen=True)
class Averages:
    """Averages over the hypotheses, one value a row (and label): all that scores and decisions need.

    Attributes
    ----------
    log_proba
        log Σ_s w_s P(k | x, h_s), (row, outcome): the Bayes-optimal classifier.
    votes
        Σ_s w_s [k is h_s's most probable class], (row, outcome): what a drawn hypothesis predicts.
    mean_log_proba
        Σ_s w_s log P(k | x, h_s), (row, outcome): minus the expected log loss of the Gibbs classifier.
    mean_square
        Σ_s w_s Σ_k P(k | x, h_s)², (row).
    entropy
        Σ_s w_s H[P(· | x, h_s)] in nats, (row): the aleatoric part.
    impossible
        Weight of the hypotheses under which x has density 0 in every class, (row).
    """

    log_proba: Array
    votes: Array
    mean_log_proba: Array
    mean_square: Array
    entropy: Array
    impossible: Array


def average(hypotheses: HypothesisSet, rows: Rows, given_x: bool = False) -> Averages:
    """Average over the posterior, in one pass over its parts and over blocks of rows.

    Parameters
    ----------
    hypotheses
        The posterior.
    rows
        Encoded rows.
    given_x
        Weight the hypotheses by P(h | D, x) instead of P(h | D).
    """
    if hypotheses.in_parts:
        return _average_parts(hypotheses, rows, given_x)

    def averaged(answer: Normalised, first: int) -> tuple[Array, ...]:
        return _average_piece(answer, log_weights_of(hypotheses, answer, given_x, first))

    return _joined(over_pieces(averaged, hypotheses, rows), len(hypotheses.labels))


def _joined(parts: list[tuple[Array, ...]], labels: int) -> Averages:
    """Return the averages of all rows from those of blocks of rows."""
    columns = zip(*parts, strict=True) if parts else ([] for _ in range(6))
    width = (labels,)
    shapes = (width, width, width, (), (), ())
    return Averages(
        *(
            np.concatenate(list(column)) if parts else np.empty((0, *shape))
            for column, shape in zip(columns, shapes, strict=True)
        )
    )


@dataclass(frozen=True)
class _Part:
    """Averages over some of the hypotheses, and how much weight these have.

    Attributes
    ----------
    averages
        Under their own weights, which add up to 1.
    draws
        How many they are.
    log_mass, log_square
        Logarithms of the sums of their weights, before these were made to add up to 1, and of their squares, (row).
    """

    averages: Averages
    draws: int
    log_mass: Array
    log_square: Array

    def __add__(self, other: _Part) -> _Part:
        """Return the averages over both: each counts by its weight, or by its draws where x is impossible in both."""
        log_mass = np.logaddexp(self.log_mass, other.log_mass)
        draws = self.draws + other.draws
        nowhere = np.isneginf(log_mass)
        with np.errstate(invalid="ignore"):
            shares = [np.where(nowhere, part.draws / draws, np.exp(part.log_mass - log_mass)) for part in (self, other)]
        mine, theirs = self.averages, other.averages
        with np.errstate(divide="ignore"):
            logs = [np.log(share)[:, None] for share in shares]
        log_proba = np.logaddexp(mine.log_proba + logs[0], theirs.log_proba + logs[1])
        names = [field.name for field in fields(Averages)][1:]
        rest = (_mix(getattr(mine, name), getattr(theirs, name), *shares) for name in names)
        return _Part(Averages(log_proba, *rest), draws, log_mass, np.logaddexp(self.log_square, other.log_square))


def _mix(one: Array, other: Array, share: Array, other_share: Array) -> Array:
    """Return the weighted sum of two averages (row, …); a share of 0 counts for nothing, infinite values included."""
    total = np.zeros_like(one)
    for values, weight in ((one, share), (other, other_share)):
        shaped = weight.reshape(-1, *(1,) * (values.ndim - 1))
        with np.errstate(invalid="ignore"):
            total += np.where(shaped > 0, shaped * values, 0.0)
    return total


def _average_parts(hypotheses: HypothesisSet, rows: Rows, given_x: bool) -> Averages:
    """Average over each part of the hypotheses, then over the parts."""
    total: _Part | None = None
    for part in hypotheses.parts():
        own = _average_part(part, rows, given_x)
        total = own if total is None else total + own
    assert total is not None
    if given_x and hypotheses.generative and not hypotheses.exact:
        nowhere = np.isneginf(total.log_mass)
        with np.errstate(invalid="ignore"):
            ess = np.where(nowhere, total.draws, np.exp(2 * total.log_mass - total.log_square))
        if len(rows):
            _require_effective_draws(ess, total.draws, 0)
    return total.averages


def _average_part(part: HypothesisSet, rows: Rows, given_x: bool) -> _Part:
    """Average over equally weighted hypotheses that are held."""

    def averaged(answer: Normalised, first: int) -> tuple[tuple[Array, ...], Array, Array]:
        joint = answer.log_x if given_x and part.generative else np.zeros(answer.total.shape)
        mass = logsumexp(joint, axis=1)
        log_weights = np.where(np.isneginf(mass)[:, None], -np.log(len(part)), joint - mass[:, None])
        averages = _average_piece(answer, log_weights if given_x else part.log_weights)
        return averages, mass, logsumexp(2 * joint, axis=1)

    done = over_pieces(averaged, part, rows)
    masses, squares = (np.concatenate([np.empty(0), *(each[place] for each in done)]) for place in (1, 2))
    return _Part(_joined([averages for averages, _, _ in done], len(part.labels)), len(part), masses, squares)


def _average_piece(answer: Normalised, log_weights: Array) -> tuple[Array, ...]:
    """Return the fields of `Averages` for some rows; `log_weights` is (draw) or (row, draw)."""
    weights, proba, scores = np.exp(log_weights), answer.proba, answer.scores
    mean_log_total = weighted(answer.log_total(), weights)
    if np.isneginf(scores.min(initial=0.0)):
        scores = np.where(proba > 0, scores, 0.0)
    return (
        answer.log_mean(log_weights),
        _votes(answer.scores, weights),
        weighted(answer.scores, weights) - mean_log_total[:, None],
        weighted(np.einsum("rkd,rkd->rd", proba, proba), weights),
        mean_log_total - weighted(np.einsum("rkd,rkd->rd", proba, scores), weights),
        weighted(answer.impossible.astype(float), weights),
    )


def _votes(scores: Array, weights: Array) -> Array:
    """Return the weight of the hypotheses whose first class of score 0, the largest, is k, (row, outcome)."""
    votes = np.empty(scores.shape[:2])
    left = np.ones((len(scores), scores.shape[2]), dtype=bool)
    for k in range(scores.shape[1]):
        first = left & (scores[:, k] == 0)
        votes[:, k] = weighted(first.astype(float), weights)
        left &= ~first
    return votes


def log_weights_of(hypotheses: HypothesisSet, answer: Normalised | Conditional, given_x: bool, first: int = 0) -> Array:
    """Return log w_s, (draw), or with `given_x` log P(h_s | D, x), (row, draw); `first` is the block's first row."""
    prior = hypotheses.log_weights
    if not given_x or not hypotheses.generative:
        return prior
    joint = answer.log_x + prior
    impossible = np.isneginf(joint).all(axis=1)
    joint[impossible] = prior
    log_weights = joint - logsumexp(joint, axis=1, keepdims=True)
    if not hypotheses.exact and len(prior) > 1:
        _require_effective_draws(np.exp(-logsumexp(2 * log_weights, axis=1)), len(prior), first)
    return np.asarray(log_weights)


def _require_effective_draws(ess: Array, draws: int, first: int) -> None:
    """Refuse Monte Carlo weights p(x | θ_s) that have degenerated onto a few draws; `ess` is (row)."""
    worst = int(ess.argmin())
    needed = min(MINIMUM_PREDICTIVE_ESS, draws / 2)
    if ess[worst] < needed:
        raise Refused(
            f"row {first + worst + 1} leaves {ess[worst]:.1f} effective draws of {draws} when they are "
            f"weighted by p(x | θ), too few for P(θ | D, x) (limit {needed:.0f}); take more draws, or the rule "
            "'bayes-optimal'"
        )


def interval(hypotheses: HypothesisSet, rows: Rows, ci_prob: float, given_x: bool = False) -> Array:
    """Return the equal-tailed interval of P(k | x, h) over the posterior, (row, outcome, bound)."""
    tails = np.array([(1 - ci_prob) / 2, (1 + ci_prob) / 2])
    alike = hypotheses.log_weights
    equal = (alike == alike[0]).all() and not (given_x and hypotheses.generative)

    def bounds(answer: Normalised, first: int) -> Array:
        if not equal:
            weights = np.exp(log_weights_of(hypotheses, answer, given_x, first))
            return np.exp(_weighted_quantiles(answer.log_proba(), weights, tails))
        if answer.scores.shape[1] == 2:
            return _quantiles_of_two(answer.scores[:, 1] - answer.scores[:, 0], tails)
        return np.exp(_quantiles(answer.log_proba(), tails))

    return np.concatenate([np.empty((0, len(hypotheses.labels), 2)), *over_pieces(bounds, hypotheses, rows)])


def _places(tails: Array, draws: int) -> Integers:
    """Return where, among so many sorted values, the smallest is that has at least a share `tails` up to it."""
    # Rounded, as a share of .945 of 4,000 is 3,780 and not a little more.
    return (np.ceil((tails * draws).round(9)) - 1).astype(int).clip(0, draws - 1)


def _quantiles(values: Array, tails: Array) -> Array:
    """Return the quantiles (row, outcome, tail) of equally weighted values (row, outcome, draw)."""
    places = _places(tails, values.shape[2])
    return np.partition(values, places, axis=2)[..., places]


def _quantiles_of_two(log_odds: Array, tails: Array) -> Array:
    """Return the quantiles (row, outcome, tail) of P(k | x, h), from the log-odds (row, draw) of the second label."""
    places = _places(tails, log_odds.shape[1])
    # The first label's probability is the smaller, the larger these log-odds are.
    both = np.stack([log_odds.shape[1] - 1 - places, places])
    chosen = np.partition(log_odds, np.unique(both), axis=1)[:, both]
    return np.exp(-np.logaddexp(0.0, chosen * [[1.0], [-1.0]]))


def _weighted_quantiles(values: Array, weights: Array, tails: Array) -> Array:
    """Return the quantiles (row, outcome, tail) of values (row, outcome, draw) with weights (draw) or (row, draw)."""
    order = values.argsort(axis=2)
    by_value = np.take_along_axis(np.broadcast_to(weights[..., None, :], values.shape), order, axis=2)
    cumulative = np.cumsum(by_value, axis=2)
    index = [(cumulative < tail * cumulative[..., -1:]).sum(axis=2) for tail in tails]
    chosen = np.take_along_axis(order, np.stack(index, axis=2).clip(max=order.shape[2] - 1), axis=2)
    return np.take_along_axis(values, chosen, axis=2)
