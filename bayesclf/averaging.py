"""Averages over hypotheses: P(y | x, h) of each, their weights, and what all rules and scores need of both.

All probabilities are computed in logs, and draws × rows are never held at once beyond `BLOCK_BYTES`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bayesclf.errors import Refused
from bayesclf.families.base import Array, Integers, Model, Parameters, Rows

BLOCK_BYTES = 2**20
"""Size of one array (row, outcome, draw): a handful of these are alive at a time, and stay in the cache."""

UNDERFLOW = 1e-280
"""Averages of probabilities below this are taken again in logs."""

MINIMUM_PREDICTIVE_ESS = 100
"""Effective draws below which a Monte Carlo estimate of p(x, y | D) is refused."""


class HypothesisSet(Protocol):
    """A weighted set of hypotheses: a posterior's draws, one point estimate, or a finite space."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes."""

    @property
    def generative(self) -> bool:
        """Whether a hypothesis has a p(x | y)."""

    @property
    def exact(self) -> bool:
        """Whether the set is the whole posterior rather than draws from it."""

    @property
    def log_weights(self) -> Array:
        """Log weights (draw), adding up to 1 outside the logs."""

    def __len__(self) -> int: ...

    def take(self, draws: Integers) -> HypothesisSet:
        """Return some of the hypotheses, equally weighted."""

    def log_scores(self, rows: Rows) -> Array:
        """Return (draw, row, outcome), log p(x, y | h) or, for discriminative models, log P(y | x, h) + constant."""

    def log_class_prior(self) -> Array:
        """Return log P(y | h), (draw, outcome) or (1, outcome)."""

    def log_predictive(self, rows: Rows) -> Array | None:
        """Return log p(x, y | D), (row, outcome), in closed form, or None."""


@dataclass(frozen=True)
class Hypotheses:
    """Equally weighted parameter values of one model.

    Attributes
    ----------
    offset
        Log odds (outcome) added to the scores, for other base rates.
    """

    model: Model
    parameters: Parameters
    offset: Array | None = None
    exact: ClassVar[bool] = False

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes."""
        return self.model.labels

    @property
    def generative(self) -> bool:
        """Whether the model has a p(x | y)."""
        return self.model.generative

    @property
    def log_weights(self) -> Array:
        """Log weights (draw)."""
        return np.full(len(self), -np.log(len(self)))

    def __len__(self) -> int:
        return max((len(values) for values in self.parameters.values()), default=1)

    def take(self, draws: Integers) -> Hypotheses:
        """Return some of the hypotheses, equally weighted."""
        chosen = {name: values[draws] for name, values in self.parameters.items()}
        return Hypotheses(self.model, chosen, self.offset)

    def log_scores(self, rows: Rows) -> Array:
        """Return the model's scores (draw, row, outcome)."""
        scores = self.model.log_scores(rows, self.parameters)
        return scores if self.offset is None else scores + self.offset

    def log_class_prior(self) -> Array:
        """Return the model's log class prior."""
        prior = self.model.log_class_prior(self.parameters)
        return prior if self.offset is None else prior + self.offset

    def log_predictive(self, rows: Rows) -> Array | None:
        """Return the model's closed-form predictive, if it has one."""
        joint = self.model.log_predictive(rows)
        return joint if joint is None or self.offset is None else joint + self.offset


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
    """Return slices of rows such that (row, outcome, draw) stays within `BLOCK_BYTES`."""
    per_row = 8 * len(hypotheses.labels) * len(hypotheses)
    size = max(1, BLOCK_BYTES // per_row)
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
    """Average over the posterior, in one pass over blocks of rows.

    Parameters
    ----------
    hypotheses
        The posterior.
    rows
        Encoded rows.
    given_x
        Weight the hypotheses by P(h | D, x) instead of P(h | D).
    """
    parts = []
    for block in blocks(hypotheses, rows):
        answer = conditional(hypotheses, rows[block])
        parts.append(_average_block(answer, log_weights_of(hypotheses, answer, given_x, block.start)))
    columns = zip(*parts, strict=True) if parts else ([] for _ in range(6))
    width = (len(hypotheses.labels),)
    shapes = (width, width, width, (), (), ())
    return Averages(
        *(
            np.concatenate(list(column)) if parts else np.empty((0, *shape))
            for column, shape in zip(columns, shapes, strict=True)
        )
    )


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
        _require_effective_draws(log_weights, first)
    return np.asarray(log_weights)


def _require_effective_draws(log_weights: Array, first: int) -> None:
    """Refuse Monte Carlo weights p(x | θ_s) that have degenerated onto a few draws."""
    ess = np.exp(-logsumexp(2 * log_weights, axis=1))
    worst = int(ess.argmin())
    needed = min(MINIMUM_PREDICTIVE_ESS, log_weights.shape[1] / 2)
    if ess[worst] < needed:
        raise Refused(
            f"row {first + worst + 1} leaves {ess[worst]:.1f} effective draws of {log_weights.shape[1]} when they are "
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
