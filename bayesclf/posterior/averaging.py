"""What all hypotheses answer to rows, and averages over these answers: Σ_s w_s P(k | x, h_s), and what else rules need.

Every sum is one pass::

    for each part of the hypotheses:        one, unless their parameters do not fit in memory
        for each block of rows:             shared among threads
            for each few rows of it:        `Answers`: P(k | x, h_s), (row, outcome, draw), small enough for the cache
                sum over the draws

Arrays of draws × rows never exceed `BLOCK_BYTES`. Exponentials are taken once, of scores less the largest one; means
are of probabilities, and where these underflow, of their logarithms.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bayesclf.arrays import Array, Integers
from bayesclf.errors import Refused
from bayesclf.models.linear import LinearMixture, LinearScores
from bayesclf.posterior.hypotheses import HypothesisSet
from bayesclf.tables.columns import Rows

__all__ = ["Averages", "average", "blocks", "conditional", "interval"]

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

LEAST_WORK = 2**21
"""Numbers to compute below which threads cost more than they save."""


def average_proba(
    hypotheses: HypothesisSet, rows: Rows, given_x: bool, numbers: Integers | None = None
) -> tuple[Array, NDArray[np.bool_]]:
    """Return log Σ_s w_s P(k | x, h_s), (row, outcome), and whether a row is impossible under all hypotheses, (row).

    Arguments and errors are those of `average`; class priors are averaged where x has density 0 in every class.
    Log-odds that are linear in columns are averaged faster; rows of tiny probabilities are computed in logs.
    """
    by_scores = len(hypotheses) == 1 or (given_x and hypotheses.generative)
    odds = None if by_scores else hypotheses.linear_odds
    if odds is None:
        found = averaged(hypotheses, rows, given_x, "log_proba", "impossible", numbers=numbers)
        return found["log_proba"], found["impossible"] > NEARLY
    proba = _linear_mean(odds, rows)
    log_proba, impossible = _logarithms(proba), np.zeros(len(rows), dtype=bool)
    small = np.flatnonzero(~(proba >= UNDERFLOW).all(axis=1))
    if len(small):
        found = averaged(hypotheses, rows[small], given_x, "log_proba", "impossible")
        log_proba[small], impossible[small] = found["log_proba"], found["impossible"] > NEARLY
    return log_proba, impossible


TASK_ROWS = 1024
"""Rows that one thread averages at a time where log-odds are linear."""


def _linear_mean(scores: LinearScores, rows: Rows) -> Array:
    """Return Σ_s w_s P(k | x, h_s) of equally weighted hypotheses with linear scores; as in `LinearMixture.proba`."""
    work = len(rows) * scores.labels * scores.coefficient.shape[2]
    mixture = LinearMixture(scores, _MEMORY.array)
    tasks = [rows[start : start + TASK_ROWS] for start in range(0, len(rows), TASK_ROWS)]
    return np.concatenate([np.empty((0, scores.labels)), *each(mixture.proba, tasks, work)])


def weights_given_x(hypotheses: HypothesisSet, log_x: Array) -> tuple[Array, Array, Array]:
    """Return log P(h_s | D, x), (row, draw), and log Σ_s w_s p(x | h_s) and log Σ_s (w_s p(x | h_s))², (row) each."""
    joint = log_x + hypotheses.log_weights
    log_mass, log_square = logsumexp(joint, axis=1), logsumexp(2 * joint, axis=1)
    # a row that is impossible under all hypotheses says nothing about them
    with np.errstate(invalid="ignore"):
        log_weights = np.where(np.isneginf(log_mass)[:, None], hypotheses.log_weights, joint - log_mass[:, None])
    return log_weights, log_mass, log_square


def blocks(hypotheses: HypothesisSet, rows: Rows, numbers: float | None = None) -> Iterator[slice]:
    """Yield slices of rows whose arrays (row, …, draw) stay within the sizes above; one empty slice of no rows.

    `numbers`: How many numbers a row has under one hypothesis; by default one per class.
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


_MEMORY = Memory()
"""That of sums over answers, which one call leaves to the next: a few arrays of `BLOCK_BYTES` for each thread.

A question about answers must not ask for another sum, which would overwrite them.
"""


@dataclass(frozen=True, eq=False)
class Answers:
    """What every hypothesis answers to a few rows, and how much it counts. Arrays hold until the next few rows.

    `scores`: Scores less the largest of their row and draw, (row, outcome, draw); draws are next to each other in
    memory. `ratios`: exp(score), (row, outcome, draw). `total`: Their sums over the labels, (row, draw). `top`: The
    largest score, (row, draw); −inf where x is impossible. `impossible`: (row, draw): x has density 0 under every
    class; the scores are then those of the class prior. `log_weights`: log w_s, (draw), or log P(h_s | D, x), (row,
    draw); adding up to 1 outside the logs. `log_mass`, `log_square`: Given x: log Σ_s w_s p(x | h_s) and log Σ_s (w_s
    p(x | h_s))², (row); 0 otherwise. `first`: Number of the first row.
    """

    scores: Array
    ratios: Array
    total: Array
    top: Array
    impossible: NDArray[np.bool_]
    log_weights: Array
    log_mass: Array
    log_square: Array
    memory: Memory
    first: int = 0

    @classmethod
    def of(
        cls, scores: Array, hypotheses: HypothesisSet, memory: Memory, given_x: bool = False, first: int = 0
    ) -> Answers:
        """Normalize scores (row, outcome, draw) over the labels, and weigh the hypotheses.

        Where every class is impossible the class prior answers.

        `scores`: They are overwritten.
        """
        top = largest = scores.max(axis=1)
        impossible = top == -np.inf
        if impossible.any():
            scores = np.where(impossible[:, None], hypotheses.log_class_prior().T, scores)
            largest = scores.max(axis=1)
        scores -= largest[:, None]
        ratios = np.exp(scores, out=memory.array("ratios", scores.shape))
        total = ratios.sum(axis=1)
        log_weights = hypotheses.log_weights
        mass = square = np.zeros(len(scores))
        if given_x and hypotheses.generative:
            log_weights, mass, square = weights_given_x(hypotheses, top + np.log(total))
        return cls(scores, ratios, total, top, impossible, log_weights, mass, square, memory, first)

    def __len__(self) -> int:
        return len(self.scores)

    @cached_property
    def weights(self) -> Array:
        """w_s, (draw) or (row, draw)."""
        return np.exp(self.log_weights)

    @cached_property
    def proba(self) -> Array:
        """P(k | x, h_s), (row, outcome, draw)."""
        return np.multiply(self.ratios, (1 / self.total)[:, None], out=self.memory.array("proba", self.ratios.shape))

    @property
    def mean_proba(self) -> Array:
        """Σ_s w_s P(k | x, h_s), (row, outcome), without an array of all P."""
        return np.asarray(np.vecdot(self.ratios, (self.weights / self.total)[:, None]))

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
        for some in block_answers(hypotheses, rows, block, given_x, memory):
            if given_x and hypotheses.generative:
                require_effective_draws(hypotheses, some.log_mass, some.log_square, some.first)
            yield some


def block_answers(
    hypotheses: HypothesisSet, rows: Rows, block: slice, given_x: bool, memory: Memory
) -> Iterator[Answers]:
    """Yield the answers to a block of rows, so many of these at a time that an array is within `BLOCK_BYTES`."""
    # a block of all rows is these rows; slicing would copy sparse tables
    own = rows if block == slice(0, rows.length) else rows[block]
    shape = len(hypotheses.labels), len(hypotheses)
    size = max(1, BLOCK_BYTES // (8 * shape[0] * shape[1]))
    line = hypotheses.linear_scores
    made = np.moveaxis(hypotheses.log_scores(own), 0, -1) if line is None else line.columns(own)
    for start in range(0, max(1, len(own)), size):
        part = made[start : start + size]
        scores = np.asarray(part) if line is None else line.fill(memory.array("linear", (part.shape[0], *shape)), part)
        yield Answers.of(scores, hypotheses, memory, given_x, block.start + start)


def over_rows(
    hypotheses: HypothesisSet, rows: Rows, given_x: bool, *questions: Callable[[Answers], Array]
) -> list[Array]:
    """Return what is asked of the answers to all rows, (row, …) each: threads share out the blocks."""

    def of_block(block: slice) -> list[list[Array]]:
        """Return the questions' answers to one block of rows, part by part."""
        return [
            [question(some) for question in questions]
            for some in block_answers(hypotheses, rows, block, given_x, _MEMORY)
        ]

    # parts are made one after the other, and their blocks are large
    work = 0 if hypotheses.in_parts else rows.length * len(hypotheses.labels) * len(hypotheses)
    done = each(of_block, list(blocks(hypotheses, rows)), work)
    return [np.concatenate(column) for column in zip(*chain.from_iterable(done), strict=True)]


def _log_mean(answers: Answers) -> Array:
    """Return log Σ_s w_s P(k | x, h_s), (row, outcome). A single hypothesis is its own average."""
    if answers.scores.shape[2] == 1:
        return answers.log_proba[..., 0]
    mean = answers.mean_proba
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
    "impossible": lambda some: (
        some.mean(some.impossible.astype(float)) if some.impossible.any() else np.zeros(len(some))
    ),
}
"""What is averaged over hypotheses, by its name in `Averages`."""

WEIGHTS: tuple[Callable[[Answers], Array], ...] = (lambda some: some.log_mass, lambda some: some.log_square)
"""What tells how many draws have the weight."""


def averaged(
    hypotheses: HypothesisSet, rows: Rows, given_x: bool, *names: str, numbers: Integers | None = None
) -> dict[str, Array]:
    """Return some of the averages by name: over each part of the hypotheses, then over the parts.

    `numbers`: Positions of the rows in their table (row), for messages; by default they are the whole table.
    """
    total: Part | None = None
    for part in hypotheses.parts():
        found = over_rows(part, rows, given_x, *WEIGHTS, *(SUMS[name] for name in names))
        share = len(part) / len(hypotheses)
        weights = found[0] + np.log(share), found[1] + 2 * np.log(share)
        own = Part(dict(zip(names, found[2:], strict=True)), share, *weights)
        total = own if total is None else total + own
    assert total is not None
    if given_x and hypotheses.generative:
        require_effective_draws(hypotheses, total.log_mass, total.log_square, numbers=numbers)
    return total.averages


@dataclass(frozen=True)
class Part:
    """Averages over some of the hypotheses, and how much weight these have.

    `averages`: Under weights that add up to 1, by name. `share`: Their share of all hypotheses. `log_mass`,
    `log_square`: As in `Answers`, with the weights that they have among all hypotheses.
    """

    averages: dict[str, Array]
    share: float
    log_mass: Array
    log_square: Array

    def __add__(self, other: Part) -> Part:
        """Return the averages over both: each counts by its weight, or by its share where x is impossible in both."""
        share, log_mass = self.share + other.share, np.logaddexp(self.log_mass, other.log_mass)
        lost = np.isneginf(log_mass)
        with np.errstate(invalid="ignore"):
            weights = [np.where(lost, part.share / share, np.exp(part.log_mass - log_mass)) for part in (self, other)]
        averages = {name: _mixed(name, (mine, other.averages[name]), weights) for name, mine in self.averages.items()}
        return Part(averages, share, log_mass, np.logaddexp(self.log_square, other.log_square))


def _mixed(name: str, averages: tuple[Array, Array], weights: list[Array]) -> Array:
    """Return the weighted sum of two averages (row, …); one of weight 0 counts for nothing, infinite ones included."""
    by_weight = [(values, w.reshape(-1, *[1] * (values.ndim - 1))) for values, w in zip(averages, weights, strict=True)]
    with np.errstate(divide="ignore", invalid="ignore"):
        if name == "log_proba":
            return np.asarray(np.logaddexp(*(values + np.log(w) for values, w in by_weight)))
        return np.asarray(np.add(*(np.where(w > 0, values * w, 0.0) for values, w in by_weight)))


def require_effective_draws(
    hypotheses: HypothesisSet, log_mass: Array, log_square: Array, first: int = 0, numbers: Integers | None = None
) -> None:
    """Refuse Monte Carlo weights p(x | θ_s) that have degenerated onto a few draws.

    `first`: Position of the first row in the table. `numbers`: Positions of the rows, where they do not follow it.
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
        row = first + worst if numbers is None else int(numbers[worst])
        raise Refused(
            f"row {row + 1} leaves {ess[worst]:.1f} effective draws of {draws} (limit {needed:.0f}) when "
            "weighted by p(x | θ); use more draws, or the rule 'bayes-optimal'"
        )


def each[Item, Result](function: Callable[[Item], Result], items: Sequence[Item], work: int) -> list[Result]:
    """Return ``function(item)`` of each item, in order, computed by as many threads as there are cores.

    The BLAS computes with one thread meanwhile, so that threads do not wait for each other, and results depend on the
    items alone. Its earlier limit, by ``OMP_NUM_THREADS``, threadpoolctl or joblib, holds for the threads here.

    `function`: Safe to call from several threads at once. `work`: How many numbers all calls compute together; below
    `LEAST_WORK` no threads are started.
    """
    threads = min(available(), len(items)) if work >= LEAST_WORK else 1
    with _blas().limit(limits=1):
        if threads < 2:
            return [function(item) for item in items]
        # Some BLAS libraries keep their limit by thread, so each thread sets its own.
        with ThreadPoolExecutor(threads, initializer=_limit_blas) as pool:
            return list(pool.map(function, items))


def available() -> int:
    """Return the number of cores that this process may use, or of threads that the BLAS may, if these are fewer."""
    import joblib

    cores = int(joblib.cpu_count())
    return min((int(library["num_threads"]) for library in _blas().info()), default=cores) if cores > 1 else 1


def _limit_blas() -> None:
    _blas().limit(limits=1)


@cache
def _blas() -> Any:
    """Return the BLAS libraries of this process, as what sets their numbers of threads."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


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
