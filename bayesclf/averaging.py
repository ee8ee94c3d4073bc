"""Averages over hypotheses: P(y | x, h) of each, their weights, and what all rules and scores need of both.

All probabilities are computed in logs, and draws × rows are never held at once beyond `BLOCK_BYTES`. A posterior whose
parameters do not fit in memory comes in parts; what is averaged over each part is then averaged over the parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bayesclf.errors import Refused
from bayesclf.families.base import Array, Rows
from bayesclf.hypothesis_set import HypothesisSet

BLOCK_BYTES = 2**20
"""Size of one array (row, outcome, draw): a handful of these are alive at a time, and stay in the cache."""

LEAST_ROWS = 64
"""Rows of a block whatever its size: what a model prepares for a block must not cost more than the block itself."""

GATHERED_BYTES = 2**28
"""The same of a posterior in parts, for what needs all draws of a row at once: each block of rows makes them anew."""

UNDERFLOW = 1e-280
"""Averages of probabilities below this are taken again in logs."""

MINIMUM_PREDICTIVE_ESS = 100
"""Effective draws below which a Monte Carlo estimate of p(x, y | D) is refused."""


@dataclass(frozen=True)
class Conditional:
    """P(y | x, h_s) of one block of rows.

    Attributes
    ----------
    log_proba
        (row, outcome, draw): draws are next to each other in memory, so that averaging them is one pass.
    log_x
        log p(x | h_s) (row, draw), up to a constant for discriminative models.
    impossible
        (row, draw): x has density 0 under every class; the answer there is the class prior.
    """

    log_proba: Array
    log_x: Array
    impossible: NDArray[np.bool_]


def conditional(hypotheses: HypothesisSet, rows: Rows) -> Conditional:
    """Normalise the scores over the labels; where every class is impossible the class prior answers."""
    if hypotheses.in_parts:
        answers = [conditional(part, rows) for part in hypotheses.parts()]
        return Conditional(
            np.concatenate([answer.log_proba for answer in answers], axis=2),
            np.concatenate([answer.log_x for answer in answers], axis=1),
            np.concatenate([answer.impossible for answer in answers], axis=1),
        )
    scores = np.moveaxis(hypotheses.log_scores(rows), 0, -1)
    top = scores.max(axis=1)
    impossible = np.isneginf(top)
    scores = scores - np.where(impossible, 0.0, top)[:, None]
    with np.errstate(divide="ignore"):
        log_total = np.log(np.exp(scores).sum(axis=1))
    if impossible.any():
        prior = np.broadcast_to(hypotheses.log_class_prior().T, scores.shape)
        scores = np.where(impossible[:, None], prior, scores)
        scores -= np.where(impossible, 0.0, log_total)[:, None]
    else:
        scores -= log_total[:, None]
    return Conditional(scores, top + log_total, impossible)


def blocks(hypotheses: HypothesisSet, rows: Rows) -> Iterator[slice]:
    """Return slices of rows such that (row, outcome, draw) stays within `BLOCK_BYTES`, or `GATHERED_BYTES`."""
    per_row = 8 * len(hypotheses.labels) * len(hypotheses)
    size = max(1, GATHERED_BYTES // per_row) if hypotheses.in_parts else max(LEAST_ROWS, BLOCK_BYTES // per_row)
    return (slice(start, min(start + size, len(rows))) for start in range(0, len(rows), size))


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
    parts = []
    for block in blocks(hypotheses, rows):
        answer = conditional(hypotheses, rows[block])
        parts.append(_average_block(answer, log_weights_of(hypotheses, answer, given_x, block.start)))
    return _joined(parts, len(hypotheses.labels))


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
    averages, masses, squares = [], [np.empty(0)], [np.empty(0)]
    for block in blocks(part, rows):
        answer = conditional(part, rows[block])
        joint = answer.log_x if given_x and part.generative else np.zeros(answer.log_x.shape)
        mass = logsumexp(joint, axis=1)
        log_weights = np.where(np.isneginf(mass)[:, None], -np.log(len(part)), joint - mass[:, None])
        averages.append(_average_block(answer, log_weights if given_x else part.log_weights))
        masses.append(mass)
        squares.append(logsumexp(2 * joint, axis=1))
    return _Part(_joined(averages, len(part.labels)), len(part), np.concatenate(masses), np.concatenate(squares))


def log_mean(log_proba: Array, proba: Array, log_weights: Array) -> Array:
    """Return log Σ_s w_s P(k | x, h_s), (row, outcome).

    Parameters
    ----------
    log_proba, proba
        (row, outcome, draw).
    log_weights
        (draw) or (row, draw).
    """
    mean = _weighted(proba, np.exp(log_weights))
    with np.errstate(divide="ignore"):
        logs = np.log(mean)
    small = (mean < UNDERFLOW).any(axis=1)
    if small.any():
        by_row = np.broadcast_to(log_weights, (len(proba), log_weights.shape[-1]))[small]
        logs[small] = logsumexp(log_proba[small] + by_row[:, None], axis=2)
    return logs


def _average_block(answer: Conditional, log_weights: Array) -> tuple[Array, ...]:
    """Return the fields of `Averages` for one block; `log_weights` is (draw) or (row, draw)."""
    log_proba, weights = answer.log_proba, np.exp(log_weights)
    proba = np.exp(log_proba)
    best = log_proba.argmax(axis=1)
    votes = np.stack([_weighted((best == k).astype(float), weights) for k in range(proba.shape[1])], axis=1)
    finite = log_proba if np.isfinite(log_proba.min(initial=0.0)) else np.where(proba > 0, log_proba, 0.0)
    return (
        log_mean(log_proba, proba, log_weights),
        votes,
        _weighted(log_proba, weights),
        _weighted(np.einsum("rkd,rkd->rd", proba, proba), weights),
        _weighted(-np.einsum("rkd,rkd->rd", proba, finite), weights),
        _weighted(answer.impossible.astype(float), weights),
    )


def _weighted(values: Array, weights: Array) -> Array:
    """Return Σ_s w_s v_s over the last axis; hypotheses of weight 0 count for nothing, infinite v_s included."""
    if weights.ndim == 1:
        kept = weights > 0
        return np.asarray(values @ weights if kept.all() else values[..., kept] @ weights[kept])
    shaped = weights.reshape(len(weights), *(1,) * (values.ndim - 2), -1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(shaped > 0, values * shaped, 0.0).sum(axis=-1))


def log_weights_of(hypotheses: HypothesisSet, answer: Conditional, given_x: bool, first: int = 0) -> Array:
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
    parts = []
    for block in blocks(hypotheses, rows):
        answer = conditional(hypotheses, rows[block])
        order = answer.log_proba.argsort(axis=2)
        log_weights = log_weights_of(hypotheses, answer, given_x, block.start)
        weights = np.broadcast_to(np.exp(log_weights)[..., None, :], answer.log_proba.shape)
        cumulative = np.cumsum(np.take_along_axis(weights, order, axis=2), axis=2)
        index = [(cumulative < tail * cumulative[..., -1:]).sum(axis=2) for tail in tails]
        chosen = np.take_along_axis(order, np.stack(index, axis=2).clip(max=order.shape[2] - 1), axis=2)
        parts.append(np.exp(np.take_along_axis(answer.log_proba, chosen, axis=2)))
    return np.concatenate(parts) if parts else np.empty((0, len(hypotheses.labels), 2))
