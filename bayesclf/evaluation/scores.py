"""Scores of class probabilities: proper scores per row, calibration, and standard errors over rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bayesclf.arrays import Array, Integers
from bayesclf.display import Sized
from bayesclf.posterior.averaging import Averages

CALIBRATION_BINS = 10
"""Bins of equal width of the binned calibration error."""

REPLICATES = 200
"""Simulated sets of labels behind the calibration error that calibrated probabilities would show."""


@dataclass(frozen=True, repr=False)
class RowScores(Sized):
    """Scores of each row under one rule, smaller is better.

    Attributes
    ----------
    log_proba
        log P(k | x), (row, outcome), unclipped.
    error
        0-1 loss (row); for the Gibbs classifier all three scores are expectations over the drawn hypothesis.
    log_loss
        −log P(y | x), (row), infinite where the predicted probability of the true class is 0.
    brier
        Σ_k (P(k | x) − [k = y])², (row): between 0 and 2.
    cost, rejected
        As in `bayesclf.decisions.DecisionCosts`, where costs or a limit were given.
    """

    log_proba: Array
    error: Array
    log_loss: Array
    brier: Array
    cost: Array | None = None
    rejected: Array | None = None


def score(log_proba: Array, y: Integers) -> RowScores:
    """Score probabilities log P(k | x), (row, outcome), against label codes `y` (row)."""
    rows = np.arange(len(y))
    proba = np.exp(log_proba)
    return RowScores(
        log_proba,
        (log_proba.argmax(axis=1) != y).astype(float),
        -log_proba[rows, y],
        (proba**2).sum(axis=1) - 2 * proba[rows, y] + 1,
    )


def score_gibbs(log_proba: Array, averages: Averages, y: Integers) -> RowScores:
    """Score the Gibbs classifier by its expectation over the posterior instead of one noisy run."""
    rows = np.arange(len(y))
    own = np.exp(averages.log_proba[rows, y])
    return RowScores(
        log_proba,
        1 - averages.votes[rows, y],
        -averages.mean_log_proba[rows, y],
        averages.mean_square - 2 * own + 1,
    )


def mean_of_rows(values: Array, rows: Integers) -> Array:
    """Return the mean of the values of each row, (row), of values (answer) and the numbers of their rows (answer)."""
    times = np.bincount(rows)
    return np.asarray((np.bincount(rows, values) / np.maximum(times, 1))[times > 0])


def standard_error_of_rows(values: Array, train: float, share: bool = False) -> float:
    """Return the standard error of the mean of scores of held-out rows, or of their differences, (row).

    s √(1/n + 1/n_train) with the standard deviation s: training sets overlap, so the naive s/√n is too small. It is
    Nadeau and Bengio's allowance for folds, applied to rows. NaN if a value is infinite.

    Rows that are all right do not show that every new row is. So s² of a share is at least p(1 − p), where
    p = ½/(n + 1) is the mean of Jeffreys' posterior after no error in n rows.

    Parameters
    ----------
    values
        (row).
    train
        Mean number of rows that the models were fitted on.
    share
        Whether the values are 0-1 losses, whose mean is a share of the rows.

    References
    ----------
    Nadeau & Bengio, *Inference for the Generalization Error*, Machine Learning 52 (2003).
    """
    if len(values) < 2 or not np.isfinite(values).all():
        return float("nan")
    unseen = 0.5 / (len(values) + 1) if share else 0.0
    return float(max(values.std(ddof=1), np.sqrt(unseen * (1 - unseen))) * np.sqrt(1 / len(values) + 1 / train))


def _binned(log_proba: Array, y: Integers) -> tuple[Integers, Array, Array]:
    """Return bin, confidence and rightness (0 or 1) of each row's predicted class."""
    confidence = np.exp(log_proba.max(axis=1))
    index = np.minimum((confidence * CALIBRATION_BINS).astype(np.intp), CALIBRATION_BINS - 1)
    return index, confidence, (log_proba.argmax(axis=1) == y).astype(float)


def binned_error(log_proba: Array, y: Integers) -> float:
    """Return the binned calibration error Σ_b n_b/n |accuracy_b − confidence_b|, bins of equal width on [0, 1].

    It exceeds 0 on finitely many rows even where probabilities are calibrated; see `errors_if_calibrated`.
    """
    index, confidence, right = _binned(log_proba, y)
    return float(np.abs(np.bincount(index, right - confidence, minlength=CALIBRATION_BINS)).sum() / len(y))


def errors_if_calibrated(log_proba: Array, seed: int, replicates: int = REPLICATES, repeats: int = 1) -> Array:
    """Return calibration errors (replicate) of simulated labels, for which the probabilities are calibrated.

    A prediction of confidence c is right with probability c, independently in each row; repeated answers to a row are
    right together.

    Parameters
    ----------
    log_proba
        log P(k | x), (row, outcome).
    seed
        Of the labels.
    replicates
        Number of simulated sets of labels.
    repeats
        Number of answers to each row, concatenated.

    References
    ----------
    Bröcker & Smith, *Increasing the reliability of reliability diagrams*, Weather and Forecasting 22 (2007):
    consistency resampling.
    """
    index, confidence, _ = _binned(log_proba, np.zeros(len(log_proba), dtype=np.intp))
    rng = np.random.default_rng(seed)
    rows = len(confidence) // repeats
    errors = np.empty(replicates)
    for i in range(replicates):
        right = np.tile(rng.random(rows), repeats) < confidence
        errors[i] = np.abs(np.bincount(index, right - confidence, minlength=CALIBRATION_BINS)).sum() / len(confidence)
    return errors


class Calibration(NamedTuple):
    """The binned calibration error, its mean if the probabilities were calibrated, and P(then it is at least that)."""

    error: float
    expected: float
    p_value: float

    @classmethod
    def of(cls, log_proba: Array, y: Integers, seed: int, repeats: int) -> Calibration:
        """Return the calibration of probabilities; arguments are those of `errors_if_calibrated`."""
        error, simulated = binned_error(log_proba, y), errors_if_calibrated(log_proba, seed, repeats=repeats)
        return cls(error, float(simulated.mean()), float((1 + (simulated >= error).sum()) / (1 + len(simulated))))
