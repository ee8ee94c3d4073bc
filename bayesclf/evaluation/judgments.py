"""Questions about held-out answers that every page, check and verdict decides by the same numbers.

Is a classifier too sure of itself? Is it better than an answer that ignores the columns, in its probabilities and in
its decisions? (Yes, no, or undecided, if the rows do not tell.) Is one entry of a comparison better than another? Clear
differences hold for all entries together, so that the number of entries does not make false ones likely.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from bayesclf.arrays import Array, Integers
from bayesclf.evaluation.scores import mean_of_rows, standard_error_of_rows
from bayesclf.wording import NEGLIGIBLE

Z_CONFIDENCE = 2.576
"""A gap between confidence and accuracy is clear above this many standard errors, at a level of 1%."""

SMALLEST_GAP = 0.02
"""Mean confidence minus accuracy, below which over-confidence does not matter."""

Z_GAIN = 1.96
"""A gain over the answer that ignores the columns is clear above this many standard errors."""

type State = Literal["yes", "no", "undecided"]

CONFIDENCE = 0.95
"""Probability that all claims about a group of entries hold."""

MATTERS = 0.01
"""Smallest difference of log loss that matters, in nats: one percent in the probability of the true class."""

MATTERS_RELATIVELY = 0.1
"""Share of the best log loss that matters, where that is smaller than `MATTERS`."""

MOST_NATS = float(np.log(1000))
"""Log loss of a row above which it counts as that much against an entry: its true class had less than 1/1000.

If an entry's truncated loss is clearly larger than another's whole loss, so is its own whole loss. A few rows make the
loss of an over-confident model large. Truncated, they do not make its standard error so large that nothing is clear.
"""

DRAWS, AT_ONCE = 20_000, 1_000
"""Draws from the distribution of the largest statistic, and in one array; its 95% point is then accurate to 0.02."""

EQUAL = 1e-6
"""Share of the largest standard deviation of a difference below which two entries are the same."""

ONE_SPLIT = 0.3
"""Error that the choice of the folds leaves in a difference after one repeat, in standard errors over the rows.

It cannot be estimated from one repeat. On 19 tables of 40 to 768 rows it was .07 to .49, with a median of .27.
"""

Kind = Literal["best", "open", "tied", "leaning", "behind"]
"""Where an entry stands; of several, the first claims least."""

KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Step:
    """A mean over rows with its standard error: a gap between confidence and accuracy, or a difference of two.

    Attributes
    ----------
    mean, error
        Of the probability of the predicted class minus 1 where it is right and 0 where not.
    """

    mean: float
    error: float

    @classmethod
    def of(cls, values: Array) -> Step:
        """Return the mean of values (row)."""
        return cls(float(values.mean()), float(values.std() / np.sqrt(len(values))))

    @property
    def matters(self) -> bool:
        """Whether it exceeds both its error and the smallest gap that matters."""
        return self.mean > max(Z_CONFIDENCE * self.error, SMALLEST_GAP)

    def __str__(self) -> str:
        return f"{round(self.mean, 3) + 0.0:+.3f} ± {self.error:.3f}".replace("-", "−")  # no "−0.000"


def confidence_gap(log_proba: Array, y: Integers, rows: Integers | None = None) -> Array:
    """Return the probability of the predicted class minus 1 where it is right, (row).

    Parameters
    ----------
    log_proba, y
        log P(k | x), (answer, outcome), and label codes (answer).
    rows
        Numbers of the rows (answer), where some were answered several times; the mean of each row is returned.
    """
    gap = np.exp(log_proba.max(axis=1)) - (log_proba.argmax(axis=1) == y)
    return np.asarray(gap if rows is None else mean_of_rows(gap, rows))


def class_shares(y: Integers, classes: int) -> Array:
    """Return the share of each class in training rows, with one row more of each, (outcome)."""
    counts = np.bincount(y, minlength=classes) + 1.0
    return np.asarray(counts / counts.sum())


@dataclass(frozen=True)
class Gain:
    """By how much a loss is smaller than the loss of an answer that ignores the columns, over the rows.

    For log loss and Brier score that answer is the class shares; for errors, the most frequent class; for costs, the
    decision that is cheapest for all rows together.
    """

    mean: float
    error: float

    @classmethod
    def of(cls, losses: Array, constant: Array, train: float) -> Gain:
        """Return the gain of losses (row) over those of the constant answer (row), without rows of infinite loss."""
        gain = (constant - losses)[np.isfinite(losses)]
        return cls(float(gain.mean()) if len(gain) else np.nan, standard_error_of_rows(gain, train))

    @property
    def state(self) -> State:
        """Whether it is clear that the classifier is better; ``"no"`` if it is clearly worse."""
        return "yes" if self.mean > Z_GAIN * self.error else "no" if self.mean < -Z_GAIN * self.error else "undecided"


def smallest_difference(losses: Array) -> float:
    """Return the smallest difference that matters, given log losses (row, entry)."""
    return max(min(MATTERS, MATTERS_RELATIVELY * float(losses.mean(axis=0).min())), NEGLIGIBLE)


def split_error(values: Array, folds: Integers) -> float:
    """Return the standard error of the mean of values that comes from the choice of the folds.

    The values of a fold, less the means of their rows over the repeats, add to the mean of the fold's repeat. What they
    add has mean 0 and is taken as independent between folds.

    Parameters
    ----------
    values
        (repeat, row), of at least two repeats.
    folds
        Number of the fold of each value, (repeat, row).
    """
    repeats, rows = values.shape
    parts = np.bincount(folds.ravel(), (values - values.mean(axis=0)).ravel()) / rows
    return float(np.sqrt((parts**2).sum() * repeats / (repeats - 1)) / repeats)


def critical_value(losses: Array) -> float:
    """Return the 95% point of the largest |t| over all pairs of columns, given finite losses (row, entry).

    It is drawn from the multivariate t distribution with the observed correlations. Equal columns are no pair.
    """
    rows, entries = losses.shape
    if rows < 2:
        return float("inf")
    rng = np.random.default_rng(entries)  # the same claims for the same losses
    values, vectors = np.linalg.eigh(np.cov(losses, rowvar=False).reshape(entries, entries))
    root = vectors * np.sqrt(np.maximum(values, 0))
    one, other = np.triu_indices(entries, 1)
    contrasts = root[one] - root[other]
    sizes = np.linalg.norm(contrasts, axis=1)
    distinct = sizes > EQUAL * max(sizes.max(initial=0.0), NEGLIGIBLE)
    if not distinct.any():
        return 0.0
    contrasts = contrasts[distinct] / sizes[distinct, None]
    parts = (np.abs(rng.standard_normal((AT_ONCE, entries)) @ contrasts.T) for _ in range(DRAWS // AT_ONCE))
    largest = np.concatenate([part.max(axis=1) for part in parts])
    scale = np.sqrt(rng.chisquare(rows - 1, DRAWS) / (rows - 1))
    return float(np.quantile(largest / scale, CONFIDENCE))


def kind_of(difference: float, error: float, clear_by: float, leans_by: float, quantile: float, matters: float) -> Kind:
    """Return where an entry stands, whose difference exceeds what is clear, and what leans, by so much."""
    clear = bool(np.isinf(difference) or clear_by > NEGLIGIBLE)
    if difference < matters and (clear or difference + quantile * error < matters):
        return "tied"
    return "behind" if clear else "leaning" if leans_by > NEGLIGIBLE else "open"
