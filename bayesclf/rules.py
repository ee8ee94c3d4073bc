"""Rules: from a posterior to class probabilities, written once for all models.

A posterior is a weighted set of hypotheses h_s, each of which gives P(y | x, h_s).

================= ==============================================================================
rule              P(y = k given x)
================= ==============================================================================
``mle``           P(k | x, θ_MLE)
``map``           P(k | x, θ_MAP): of the most probable hypothesis
``mean``          P(k | x, E[θ | D])
``bayes-optimal`` Σ_s w_s P(k | x, h_s)
``predictive``    p(x, k | D) / p(x | D): generative models, where the new x is itself evidence about θ;
                  for discriminative ones it is ``bayes-optimal``
``gibbs``         P(k | x, h_s) of one drawn hypothesis
================= ==============================================================================

"Bayes-optimal" means averaged over the posterior (Aberdeen; Mitchell 1997 §6.7), not the rule that knows the true
distribution, as some texts have it. All probabilities are computed in logs, and draws × rows are never held at once
beyond `BLOCK_BYTES`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bayesclf.errors import InputError, PredictionWarning, Refused
from bayesclf.families.base import Array, Integers, Model, Parameters, Rows

BLOCK_BYTES = 2**24
"""Size of one array (row, outcome, draw); a handful of these are alive at a time."""

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
        parts.append(_average_block(answer, _log_weights(hypotheses, answer, given_x, block.start)))
    columns = zip(*parts, strict=True) if parts else ([] for _ in range(6))
    width = (len(hypotheses.labels),)
    shapes = (width, width, width, (), (), ())
    return Averages(
        *(
            np.concatenate(list(column)) if parts else np.empty((0, *shape))
            for column, shape in zip(columns, shapes, strict=True)
        )
    )


def _average_block(answer: Conditional, log_weights: Array) -> tuple[Array, ...]:
    """Return the fields of `Averages` for one block; `log_weights` is (draw) or (row, draw)."""
    log_proba, weights = answer.log_proba, np.exp(log_weights)
    proba = np.exp(log_proba)
    mean = _weighted(proba, weights)
    with np.errstate(divide="ignore"):
        log_mean = np.log(mean)
    small = (mean < UNDERFLOW).any(axis=1)
    if small.any():
        by_row = np.broadcast_to(log_weights, (len(proba), log_weights.shape[-1]))[small]
        log_mean[small] = logsumexp(log_proba[small] + by_row[:, None], axis=2)
    best = log_proba.argmax(axis=1)
    labels = range(proba.shape[1])
    votes = np.stack([_weighted((best == k).astype(float), weights) for k in labels], axis=1)
    finite = np.where(proba > 0, log_proba, 0.0)
    return (
        log_mean,
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


def _log_weights(hypotheses: HypothesisSet, answer: Conditional, given_x: bool, first: int = 0) -> Array:
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


def bayes_optimal(hypotheses: HypothesisSet, rows: Rows) -> Array:
    """Return log Σ_s w_s P(k | x, h_s), shape (row, outcome). A single hypothesis is its own average.

    References
    ----------
    Aberdeen, lecture 3; Mitchell 1997 §6.7.
    """
    return _averaged(hypotheses, rows, given_x=False)


def _averaged(hypotheses: HypothesisSet, rows: Rows, given_x: bool) -> Array:
    """Return log Σ_s w_s P(k | x, h_s), (row, outcome), and warn of rows that no hypothesis thinks possible."""
    counted = hypotheses.log_weights > -np.inf
    parts, impossible = [np.empty((0, len(hypotheses.labels)))], [np.empty(0, dtype=bool)]
    for block in blocks(hypotheses, rows):
        answer = conditional(hypotheses, rows[block])
        impossible.append(answer.impossible[:, counted].all(axis=1))
        if len(hypotheses) == 1:
            parts.append(answer.log_proba[..., 0])
        else:
            parts.append(_average_block(answer, _log_weights(hypotheses, answer, given_x, block.start))[0])
    warn_impossible(np.concatenate(impossible))
    return np.concatenate(parts)


def interval(hypotheses: HypothesisSet, rows: Rows, ci_prob: float, given_x: bool = False) -> Array:
    """Return the equal-tailed interval of P(k | x, h) over the posterior, (row, outcome, bound)."""
    tails = np.array([(1 - ci_prob) / 2, (1 + ci_prob) / 2])
    parts = []
    for block in blocks(hypotheses, rows):
        answer = conditional(hypotheses, rows[block])
        order = answer.log_proba.argsort(axis=2)
        log_weights = _log_weights(hypotheses, answer, given_x, block.start)
        weights = np.broadcast_to(np.exp(log_weights)[..., None, :], answer.log_proba.shape)
        cumulative = np.cumsum(np.take_along_axis(weights, order, axis=2), axis=2)
        index = [(cumulative < tail * cumulative[..., -1:]).sum(axis=2) for tail in tails]
        chosen = np.take_along_axis(order, np.stack(index, axis=2).clip(max=order.shape[2] - 1), axis=2)
        parts.append(np.exp(np.take_along_axis(answer.log_proba, chosen, axis=2)))
    return np.concatenate(parts) if parts else np.empty((0, len(hypotheses.labels), 2))


def warn_impossible(impossible: NDArray[np.bool_]) -> None:
    """Say how many rows have probability zero under every class."""
    if impossible.any():
        warnings.warn(
            f"{int(impossible.sum())} of {len(impossible)} rows have probability zero under every class, so the class "
            "prior answered for them; use a rule with smoothing, such as 'map' or 'bayes-optimal'",
            PredictionWarning,
            stacklevel=2,
        )


def predictive(hypotheses: HypothesisSet, rows: Rows) -> Array:
    """Return log P(k | x, D) = log p(x, k | D) − log p(x | D), shape (row, outcome).

    In closed form where the model has one; else the average of p(x, k | h_s), which is exact for a finite space and
    is refused when too few draws carry the weight.
    """
    if not hypotheses.generative:
        return bayes_optimal(hypotheses, rows)
    joint = hypotheses.log_predictive(rows)
    if joint is None:
        return _averaged(hypotheses, rows, given_x=True)
    impossible = np.isneginf(joint).all(axis=1)
    if impossible.any():
        warn_impossible(impossible)
        prior = logsumexp(hypotheses.log_weights[:, None] + hypotheses.log_class_prior(), axis=0)
        joint = np.where(impossible[:, None], prior, joint)
    return np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))


@dataclass(frozen=True)
class Gibbs:
    """The Gibbs classifier: one hypothesis is drawn for each row, and answers.

    Parameters
    ----------
    draw
        ``"hypothesis"``: the drawn hypothesis's most probable class is predicted; ``"label"``: a class drawn from its
        probabilities.
    given
        ``"data"``: h is drawn from P(h | D); ``"data and x"``: from P(h | D, x), which for generative models is what
        the twofold bound needs.

    References
    ----------
    Mitchell 1997 §6.8; Aberdeen, lecture 3.
    """

    draw: str = "hypothesis"
    given: str = "data"

    def __post_init__(self) -> None:
        if self.draw not in ("hypothesis", "label"):
            raise InputError(f"draw must be 'hypothesis' or 'label', not {self.draw!r}")
        if self.given not in ("data", "data and x"):
            raise InputError(f"given must be 'data' or 'data and x', not {self.given!r}")

    def log_proba(self, hypotheses: HypothesisSet, rows: Rows, seed: int) -> Array:
        """Return log P(k | x, h_s), shape (row, outcome), s a function of (seed, row number) alone."""
        position = np.random.default_rng([seed, 0]).random(len(rows))
        if self.given == "data":
            return self._log_proba_of(hypotheses, rows, _pick(np.exp(hypotheses.log_weights), position))
        parts, impossible = [np.empty((0, len(hypotheses.labels)))], [np.empty(0, dtype=bool)]
        for block in blocks(hypotheses, rows):
            answer = conditional(hypotheses, rows[block])
            weights = np.exp(_log_weights(hypotheses, answer, True, block.start))
            drawn = _pick(np.broadcast_to(weights, answer.log_x.shape), position[block])
            parts.append(answer.log_proba[np.arange(len(drawn)), :, drawn])
            impossible.append(answer.impossible[np.arange(len(drawn)), drawn])
        warn_impossible(np.concatenate(impossible))
        return np.concatenate(parts)

    def decide(self, log_proba: Array, seed: int) -> Integers:
        """Return label codes (row), from the drawn hypotheses' probabilities."""
        if self.draw == "hypothesis":
            return np.asarray(log_proba.argmax(axis=1))
        position = np.random.default_rng([seed, 1]).random(len(log_proba))
        return _pick(np.exp(log_proba), position)

    @staticmethod
    def _log_proba_of(hypotheses: HypothesisSet, rows: Rows, drawn: Integers) -> Array:
        """Evaluate each row under its own hypothesis only, the rows of one hypothesis together."""
        log_proba = np.empty((len(rows), len(hypotheses.labels)))
        impossible = np.zeros(len(rows), dtype=bool)
        order = np.argsort(drawn, kind="stable")
        values, first = np.unique(drawn[order], return_index=True)
        for value, index in zip(values, np.split(order, first)[1:], strict=True):
            answer = conditional(hypotheses.take(np.array([value])), rows[index])
            log_proba[index] = answer.log_proba[..., 0]
            impossible[index] = answer.impossible[:, 0]
        warn_impossible(impossible)
        return log_proba


def _pick(weights: Array, position: Array) -> Integers:
    """Return, for each row, the index at which the cumulative weights (last axis) pass `position` in [0, 1)."""
    cumulative = np.cumsum(weights, axis=-1)
    target = position * cumulative[..., -1]
    if cumulative.ndim == 1:
        return np.minimum(np.searchsorted(cumulative, target, side="right"), len(cumulative) - 1)
    return np.asarray((cumulative <= target[:, None]).sum(axis=1).clip(max=cumulative.shape[1] - 1))


@dataclass(frozen=True)
class Rule:
    """A rule's name, the hypotheses it asks for, and whether it averages over a posterior."""

    name: str
    source: str
    summary: str

    @property
    def averages(self) -> bool:
        """Whether it needs a posterior rather than a point."""
        return self.source == "posterior"


RULES = {
    rule.name: rule
    for rule in (
        Rule("mle", "mle", "plug in the maximum likelihood estimate"),
        Rule("map", "map", "plug in the most probable parameters"),
        Rule("mean", "mean", "plug in the posterior mean of the parameters"),
        Rule("bayes-optimal", "posterior", "average the hypotheses' predictions over the posterior"),
        Rule("predictive", "posterior", "average, with the new x as further evidence"),
        Rule("gibbs", "posterior", "ask one hypothesis drawn from the posterior"),
    )
}
"""Rules by name, in the order in which tables show them."""


def resolve(rule: str | Gibbs) -> tuple[Rule, Gibbs]:
    """Return the rule and its Gibbs settings; raises `InputError` that lists the rules."""
    if isinstance(rule, Gibbs):
        return RULES["gibbs"], rule
    if rule not in RULES:
        raise InputError(f"unknown rule {rule!r}; the rules are {', '.join(RULES)}")
    return RULES[rule], Gibbs()


def log_proba(rule: str | Gibbs, hypotheses: HypothesisSet, rows: Rows, seed: int = 0) -> Array:
    """Return log P(y = k given x) under a rule, shape (row, outcome)."""
    resolved, gibbs = resolve(rule)
    match resolved.name:
        case "gibbs":
            return gibbs.log_proba(hypotheses, rows, seed)
        case "predictive":
            return predictive(hypotheses, rows)
        case _:
            return bayes_optimal(hypotheses, rows)
