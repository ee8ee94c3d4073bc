"""Averages over hypotheses: Σ_s w_s P(k | x, h_s), and what else rules and scores need from the hypotheses' answers.

Every average is one pass::

    for each part of the hypotheses:        one, unless their parameters do not fit in memory
        for each block of rows:             shared out to threads
            for each few rows of it:        `Answers`: P(k | x, h_s), (row, outcome, draw), small enough for the cache
                sum over the draws

Arrays of draws × rows never exceed `BLOCK_BYTES`. Exponentials are taken once, of scores less the largest one;
means are of probabilities, and where these are too small for a number, of their logarithms.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bayesclf.errors import Refused
from bayesclf.posterior import threads
from bayesclf.posterior.hypotheses import Hypotheses, HypothesisSet
from bayesclf.posterior.linear import mean_proba
from bayesclf.tables.columns import Rows
from bayesclf.typing import Array

__all__ = ["Averages", "average", "blocks", "conditional", "interval", "log_weights_of"]

MINIMUM_PREDICTIVE_ESS = 100
"""Effective draws below which a Monte Carlo estimate of p(x, y | D) is refused."""

BLOCK_BYTES = 2**20
"""Size of an array (row, outcome, draw): few enough are alive at a time to stay in the cache."""

LEAST_ROWS = 64
"""Rows of a block whatever its size: what a model prepares for a block must not cost more than the block itself."""

GATHERED_BYTES = 2**28
"""Most of such a block; and its size where a posterior in parts must give all draws of a row, made again each time."""

UNDERFLOW = 1e-280
"""Means of probabilities below this are taken again in logs."""

NEARLY = 1 - 1e-9
"""A weight above this is 1 up to rounding."""

SHORT_OF = 1 - 1e-12
"""Factor of a tail: .945 of 4,000 draws are 3,780, though in floating point a little more, and so one draw further."""


@dataclass(frozen=True)
class Averages:
    """Averages over the hypotheses, one value per row (and label): all that scores and decisions need.

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
    """Average over the posterior.

    Parameters
    ----------
    hypotheses
        The posterior.
    rows
        Encoded rows.
    given_x
        Weight the hypotheses by P(h | D, x) instead of P(h | D).

    Raises
    ------
    Refused
        Where too few draws have nearly all the weight given x.
    """
    return Averages(**_averaged(hypotheses, rows, given_x, *SUMS))


@dataclass(frozen=True)
class AveragedProba:
    """Probabilities of the Bayes-optimal classifier.

    Attributes
    ----------
    log_proba
        log Σ_s w_s P(k | x, h_s), (row, outcome).
    impossible
        Whether x has density 0 in every class under all hypotheses, (row); their class priors are averaged there.
    """

    log_proba: Array
    impossible: NDArray[np.bool_]


def average_proba(hypotheses: HypothesisSet, rows: Rows, given_x: bool = False) -> AveragedProba:
    """Average the probabilities alone; arguments and errors as in `average`.

    Scores that are linear in columns of the rows are averaged faster; rows of tiny probabilities are computed in logs.
    """
    linear = hypotheses.linear_scores if isinstance(hypotheses, Hypotheses) else None
    if linear is None or len(hypotheses) == 1:
        found = _averaged(hypotheses, rows, given_x, "log_proba", "impossible")
        return AveragedProba(found["log_proba"], found["impossible"] > NEARLY)
    proba = mean_proba(linear, rows, Memory().array)
    log_proba, impossible = _logarithms(proba), np.zeros(len(rows), dtype=bool)
    small = np.flatnonzero(~(proba >= UNDERFLOW).all(axis=1))
    if len(small):
        log_proba[small] = _averaged(hypotheses, rows[small], given_x, "log_proba")["log_proba"]
    return AveragedProba(log_proba, impossible)


def interval(hypotheses: HypothesisSet, rows: Rows, ci_prob: float, given_x: bool = False) -> Array:
    """Return the equal-tailed interval of P(k | x, h) over the posterior, (row, outcome, bound)."""
    tails = np.array([(1 - ci_prob) / 2, (1 + ci_prob) / 2])
    log_mass, log_square, bounds = _over_rows(hypotheses, rows, given_x, *WEIGHTS, lambda some: _bounds(some, tails))
    if given_x and hypotheses.generative:
        _require_effective_draws(hypotheses, log_mass, log_square)
    return bounds


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
    """Return the answers of all hypotheses to some rows, such as those of one of the `blocks`."""
    parts = []
    for part in hypotheses.parts():
        scores = np.moveaxis(part.log_scores(rows), 0, -1)
        answers = Answers.of(scores, part, Memory())
        parts.append((answers.log_proba, answers.log_x, answers.impossible))
    if len(parts) == 1:
        return Conditional(*parts[0])
    log_proba, log_x, impossible = zip(*parts, strict=True)
    return Conditional(np.concatenate(log_proba, axis=2), np.concatenate(log_x, axis=1), np.concatenate(impossible, 1))


def log_weights_of(hypotheses: HypothesisSet, answer: Conditional, given_x: bool, first: int = 0) -> Array:
    """Return log w_s, (draw), or with `given_x` log P(h_s | D, x), (row, draw); `first` is the block's first row.

    Raises
    ------
    Refused
        Where too few draws have nearly all the weight given x.
    """
    if not given_x or not hypotheses.generative:
        return hypotheses.log_weights
    log_weights, log_mass, log_square = _given_x(hypotheses, answer.log_x)
    _require_effective_draws(hypotheses, log_mass, log_square, first)
    return log_weights


def _given_x(hypotheses: HypothesisSet, log_x: Array) -> tuple[Array, Array, Array]:
    """Return log P(h_s | D, x), (row, draw), and log Σ_s w_s p(x | h_s) and log Σ_s (w_s p(x | h_s))², (row) each."""
    joint = log_x + hypotheses.log_weights
    log_mass, log_square = logsumexp(joint, axis=1), logsumexp(2 * joint, axis=1)
    # a row that is impossible under all hypotheses says nothing about them
    with np.errstate(invalid="ignore"):
        log_weights = np.where(np.isneginf(log_mass)[:, None], hypotheses.log_weights, joint - log_mass[:, None])
    return log_weights, log_mass, log_square


def blocks(hypotheses: HypothesisSet, rows: Rows, numbers: float | None = None) -> Iterator[slice]:
    """Yield slices of rows whose arrays (row, …, draw) stay within the sizes above; one empty slice of no rows.

    Parameters
    ----------
    hypotheses, rows
        What is asked, and about what.
    numbers
        How many numbers a row has under one hypothesis; by default one per class.
    """
    per_row = 8 * len(hypotheses) * (len(hypotheses.labels) if numbers is None else numbers)
    most = max(1, int(GATHERED_BYTES / per_row))
    size = most if hypotheses.in_parts else max(min(LEAST_ROWS, most), int(BLOCK_BYTES / per_row))
    return (slice(start, min(start + size, len(rows))) for start in range(0, max(1, len(rows)), size))


class Memory(threading.local):
    """Arrays that a thread uses again: the system takes longer to provide new ones than it takes to fill them."""

    def __init__(self) -> None:
        self._held: dict[str, Array] = {}

    def array(self, name: str, shape: tuple[int, ...]) -> Array:
        """Return an array of this shape, in the memory of the last one of this name."""
        size = math.prod(shape)
        if name not in self._held or len(self._held[name]) < size:
            self._held[name] = np.empty(size)
        return self._held[name][:size].reshape(shape)


@dataclass(frozen=True, eq=False)
class Answers:
    """What every hypothesis answers to a few rows, and how much it counts. Arrays hold until the next few rows.

    Attributes
    ----------
    scores
        Scores less the largest of their row and draw, (row, outcome, draw); draws are next to each other in memory.
    proba
        P(k | x, h_s), (row, outcome, draw).
    total
        Σ_k exp(score), (row, draw).
    top
        The largest score, (row, draw); −inf where x is impossible.
    impossible
        (row, draw): x has density 0 under every class; the scores are then those of the class prior.
    log_weights
        log w_s, (draw), or log P(h_s | D, x), (row, draw); adding up to 1 outside the logs.
    log_mass, log_square
        Given x: log Σ_s w_s p(x | h_s) and log Σ_s (w_s p(x | h_s))², (row); 0 otherwise.
    first
        Number of the first row.
    """

    scores: Array
    proba: Array
    total: Array
    top: Array
    impossible: NDArray[np.bool_]
    log_weights: Array
    log_mass: Array
    log_square: Array
    first: int = 0

    @classmethod
    def of(
        cls, scores: Array, hypotheses: HypothesisSet, memory: Memory, given_x: bool = False, first: int = 0
    ) -> Answers:
        """Normalize scores (row, outcome, draw) over the labels, and weigh the hypotheses.

        The large arrays are in `memory`; where every class is impossible the class prior answers.
        """
        top = largest = scores.max(axis=1)
        impossible = top == -np.inf
        if impossible.any():
            scores = np.where(impossible[:, None], hypotheses.log_class_prior().T, scores)
            largest = scores.max(axis=1)
        less = np.subtract(scores, largest[:, None], out=memory.array("scores", scores.shape))
        proba = np.exp(less, out=memory.array("proba", scores.shape))
        total = proba.sum(axis=1)
        proba *= (1 / total)[:, None]
        log_weights = hypotheses.log_weights
        mass = square = np.zeros(len(scores))
        if given_x and hypotheses.generative:
            log_weights, mass, square = _given_x(hypotheses, top + np.log(total))
        return cls(less, proba, total, top, impossible, log_weights, mass, square, first)

    def __len__(self) -> int:
        return len(self.scores)

    @cached_property
    def weights(self) -> Array:
        """w_s, (draw) or (row, draw)."""
        return np.exp(self.log_weights)

    @cached_property
    def log_total(self) -> Array:
        """The logarithm of `total`, (row, draw)."""
        return np.log(self.total)

    @property
    def log_proba(self) -> Array:
        """log P(k | x, h_s), (row, outcome, draw)."""
        return self.scores - self.log_total[:, None]

    @property
    def log_x(self) -> Array:
        """log p(x | h_s), (row, draw), up to a constant for discriminative models."""
        return self.top + self.log_total

    def mean(self, values: Array) -> Array:
        """Return Σ_s w_s v_s of values (row, …, draw); v_s of weight 0 count for nothing, infinite ones included."""
        if self.weights.ndim == 1:
            kept = self.weights > 0
            return np.asarray(values @ self.weights if kept.all() else values[..., kept] @ self.weights[kept])
        weights = self.weights.reshape(len(values), *(1,) * (values.ndim - 2), values.shape[-1])
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(weights > 0, values * weights, 0.0).sum(axis=-1))


def answers(hypotheses: HypothesisSet, rows: Rows, given_x: bool = False) -> Iterator[Answers]:
    """Yield the answers of all hypotheses, a few rows at a time; `given_x` and errors as in `average`."""
    memory = Memory()
    for block in blocks(hypotheses, rows):
        for some in _answers(hypotheses, rows, block, given_x, memory):
            if given_x and hypotheses.generative:
                _require_effective_draws(hypotheses, some.log_mass, some.log_square, some.first)
            yield some


def _answers(hypotheses: HypothesisSet, rows: Rows, block: slice, given_x: bool, memory: Memory) -> Iterator[Answers]:
    """Yield the answers to a block of rows, so many of these at a time that an array is within `BLOCK_BYTES`."""
    # a block of all rows is these rows; slicing would copy sparse tables
    own = rows if block == slice(0, rows.length) else rows[block]
    shape = len(hypotheses.labels), len(hypotheses)
    size = max(1, BLOCK_BYTES // (8 * shape[0] * shape[1]))
    linear = hypotheses.linear_scores if isinstance(hypotheses, Hypotheses) else None
    made = np.moveaxis(hypotheses.log_scores(own), 0, -1) if linear is None else linear.columns(own)
    for start in range(0, max(1, len(made)), size):
        scores = made[start : start + size]
        if linear is not None:
            scores = linear.fill(memory.array("linear", (len(scores), *shape)), scores)
        yield Answers.of(scores, hypotheses, memory, given_x, block.start + start)


def _over_rows(
    hypotheses: HypothesisSet, rows: Rows, given_x: bool, *questions: Callable[[Answers], Array]
) -> list[Array]:
    """Return what is asked of the answers to all rows, (row, …) each: threads share out the blocks."""
    memory = Memory()

    def of_block(block: slice) -> list[list[Array]]:
        return [
            [question(some) for question in questions] for some in _answers(hypotheses, rows, block, given_x, memory)
        ]

    items = list(blocks(hypotheses, rows))
    if len(items) == 1:
        done = [of_block(items[0])]
    else:
        # parts are made one after the other, and their blocks are large
        work = 0 if hypotheses.in_parts else rows.length * len(hypotheses.labels) * len(hypotheses)
        done = threads.each(of_block, items, work)
    return [np.concatenate(column) for column in zip(*chain.from_iterable(done), strict=True)]


def _log_mean(answers: Answers) -> Array:
    """Return log Σ_s w_s P(k | x, h_s), (row, outcome). A single hypothesis is its own average."""
    if answers.proba.shape[2] == 1:
        return answers.log_proba[..., 0]
    mean = answers.mean(answers.proba)
    logs = _logarithms(mean)
    small = (mean < UNDERFLOW).any(axis=1)
    if small.any():
        log_weights = np.broadcast_to(answers.log_weights, answers.total.shape)[small]
        log_proba = answers.scores[small] - np.log(answers.total[small])[:, None]
        logs[small] = logsumexp(log_proba + log_weights[:, None], axis=2)
    return logs


def _logarithms(proba: Array) -> Array:
    """Return log P (row, outcome) of probabilities whose small ones are precise: the largest is one less the others."""
    with np.errstate(divide="ignore"):
        logs = np.log(proba)
    rows, largest = np.arange(len(proba)), proba.argmax(axis=1)
    others = proba.copy()
    others[rows, largest] = 0.0
    logs[rows, largest] = np.log1p(-others.sum(axis=1))
    return logs


def _votes(answers: Answers) -> Array:
    """Return the weight of the hypotheses whose first class of score 0, the largest, is k, (row, outcome)."""
    votes = np.empty(answers.scores.shape[:2])
    left = np.ones(answers.total.shape, dtype=bool)
    for k in range(votes.shape[1]):
        first = left & (answers.scores[:, k] == 0)
        votes[:, k] = answers.mean(first.astype(float))
        left &= ~first
    return votes


def _entropy(answers: Answers) -> Array:
    """Return Σ_s w_s H[P(· | x, h_s)], (row)."""
    scores = answers.scores
    if np.isneginf(scores.min(initial=0.0)):
        scores = np.where(answers.proba > 0, scores, 0.0)  # p log p is 0 where p is
    return answers.mean(answers.log_total) - answers.mean(np.einsum("rkd,rkd->rd", answers.proba, scores))


SUMS: Mapping[str, Callable[[Answers], Array]] = {
    "log_proba": _log_mean,
    "votes": _votes,
    "mean_log_proba": lambda some: some.mean(some.scores) - some.mean(some.log_total)[:, None],
    "mean_square": lambda some: some.mean(np.einsum("rkd,rkd->rd", some.proba, some.proba)),
    "entropy": _entropy,
    "impossible": lambda some: some.mean(some.impossible.astype(float)),
}
"""What is averaged over hypotheses, by its name in `Averages`."""

WEIGHTS: tuple[Callable[[Answers], Array], ...] = (lambda some: some.log_mass, lambda some: some.log_square)
"""What tells how many draws have the weight."""


def _averaged(hypotheses: HypothesisSet, rows: Rows, given_x: bool, *names: str) -> dict[str, Array]:
    """Return some of the averages by name: over each part of the hypotheses, then over the parts."""
    total: _Part | None = None
    for part in hypotheses.parts():
        found = _over_rows(part, rows, given_x, *WEIGHTS, *(SUMS[name] for name in names))
        own = _Part.of(dict(zip(names, found[2:], strict=True)), len(part) / len(hypotheses), *found[:2])
        total = own if total is None else total + own
    assert total is not None
    if given_x and hypotheses.generative:
        _require_effective_draws(hypotheses, total.log_mass, total.log_square)
    return total.averages


@dataclass(frozen=True)
class _Part:
    """Averages over some of the hypotheses, and how much weight these have.

    Attributes
    ----------
    averages
        Under weights that add up to 1, by name.
    share
        Their share of all hypotheses.
    log_mass, log_square
        As in `Answers`, with the weights that they have among all hypotheses.
    """

    averages: dict[str, Array]
    share: float
    log_mass: Array
    log_square: Array

    @classmethod
    def of(cls, averages: dict[str, Array], share: float, log_mass: Array, log_square: Array) -> _Part:
        """Make one of averages under the part's own weights."""
        return cls(averages, share, log_mass + np.log(share), log_square + 2 * np.log(share))

    def __add__(self, other: _Part) -> _Part:
        """Return the averages over both: each counts by its weight, or by its share where x is impossible in both."""
        share, log_mass = self.share + other.share, np.logaddexp(self.log_mass, other.log_mass)
        nowhere = np.isneginf(log_mass)
        with np.errstate(invalid="ignore"):
            weights = [
                np.where(nowhere, part.share / share, np.exp(part.log_mass - log_mass)) for part in (self, other)
            ]
        averages = {name: _mixed(name, (mine, other.averages[name]), weights) for name, mine in self.averages.items()}
        return _Part(averages, share, log_mass, np.logaddexp(self.log_square, other.log_square))


def _mixed(name: str, averages: tuple[Array, Array], weights: list[Array]) -> Array:
    """Return the weighted sum of two averages (row, …); one of weight 0 counts for nothing, infinite ones included."""
    by_weight = [
        (values, w.reshape(-1, *(1,) * (values.ndim - 1))) for values, w in zip(averages, weights, strict=True)
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        if name == "log_proba":
            return np.asarray(np.logaddexp(*(values + np.log(w) for values, w in by_weight)))
        return np.asarray(np.add(*(np.where(w > 0, values * w, 0.0) for values, w in by_weight)))


def _require_effective_draws(hypotheses: HypothesisSet, log_mass: Array, log_square: Array, first: int = 0) -> None:
    """Refuse Monte Carlo weights p(x | θ_s) that have degenerated onto a few draws; `first` is the first row's number.

    Effective draws are (Σ_s w_s)²/Σ_s w_s². A row that is impossible under all draws leaves their weights as they are.
    """
    draws = len(hypotheses)
    if hypotheses.exact or draws == 1 or not len(log_mass):
        return
    with np.errstate(invalid="ignore"):
        ess = np.where(np.isneginf(log_mass), draws, np.exp(2 * log_mass - log_square))
    worst = int(ess.argmin())
    needed = min(MINIMUM_PREDICTIVE_ESS, draws / 2)
    if ess[worst] < needed:
        raise Refused(
            f"row {first + worst + 1} leaves {ess[worst]:.1f} effective draws of {draws} when they are "
            f"weighted by p(x | θ), too few for P(θ | D, x) (limit {needed:.0f}); take more draws, or the rule "
            "'bayes-optimal'"
        )


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
