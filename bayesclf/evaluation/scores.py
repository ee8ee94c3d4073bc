"""Scores of class probabilities: proper scores per row, calibration, standard errors, and a curve over thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bayesclf.arrays import Array, Integers
from bayesclf.decisions import Costs, decide
from bayesclf.display import Sized
from bayesclf.errors import InputError
from bayesclf.posterior.averaging import Averages
from bayesclf.wording import LONGEST_NAME, written

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
    votes
        Of the Gibbs classifier: the posterior probability that the drawn hypothesis decides for each class, (row,
        outcome).
    """

    log_proba: Array
    error: Array
    log_loss: Array
    brier: Array
    cost: Array | None = None
    rejected: Array | None = None
    votes: Array | None = None


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
        votes=averages.votes,
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


def calibration_gaps(log_proba: Array, y: Integers) -> Array:
    """Return what each answer adds to the calibration error, (answer): its rightness less its confidence, or minus it.

    The sign is that of its bin's sum. So the mean is the binned calibration error Σ_b n_b/n |accuracy_b − confidence_b|
    with bins of equal width on [0, 1], and its standard error is that of this mean. The calibration error exceeds 0 on
    finitely many rows even where probabilities are calibrated; see `errors_if_calibrated`.
    """
    index, confidence, right = _binned(log_proba, y)
    gap = right - confidence
    return np.asarray(np.sign(np.bincount(index, gap, minlength=CALIBRATION_BINS))[index] * gap)


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
    """The calibration error, its standard error, its mean if calibrated, and P(then it is at least that)."""

    error: float
    standard_error: float
    expected: float
    p_value: float

    @classmethod
    def of(cls, log_proba: Array, error: float, standard_error: float, seed: int, repeats: int) -> Calibration:
        """Return the calibration of probabilities of which the errors are known; see `errors_if_calibrated`."""
        simulated = errors_if_calibrated(log_proba, seed, repeats=repeats)
        p_value = (1 + (simulated >= error).sum()) / (1 + len(simulated))
        return cls(error, standard_error, float(simulated.mean()), float(p_value))


RISKS = np.arange(1, 100) / 100
"""Risks from which one acts, where none are given."""

MOST_THRESHOLDS = 200
"""Most expected costs, at evenly spaced quantiles, where none are given."""

SLACK = 1e-12
"""By how much a risk may miss a threshold: rounding decides about nothing."""


def threshold_curve(
    log_proba: Array,
    y: Integers,
    train: float,
    outcome: int | None = None,
    cost: Any = None,
    thresholds: ArrayLike | None = None,
    rows: Integers | None = None,
) -> pd.DataFrame:
    """Return how good the answers are that pass each threshold, with standard errors over the rows.

    With an `outcome` k, one acts on a row if its risk P(k | x) is at least t. Of n rows let TP have the class and be
    acted on, and FP be acted on without having it. Acting from a risk of t on means that one missed row of the class is
    as bad as (1 − t)/t needless acts. So the net benefit is TP/n − FP/n · t/(1 − t), in rows of the class.

    Without one, a row is decided if the expected cost of its best decision is at most t, and rejected otherwise (Chow's
    rule). If a rejected row costs t, deciding saves [decided] · (t − cost) per row; the net benefit is the mean over
    all rows.

    Accuracy and cost are ratios of means over the rows. Their errors are those of the linearized ratio, to which a row
    that does not pass contributes 0.

    Parameters
    ----------
    log_proba, y
        log P(k | x), (answer, outcome), and label codes (answer) of held-out rows.
    train
        Number of rows that the classifiers were fitted on, on average.
    outcome
        Code k of the class of interest.
    cost
        Costs ``cost[true, predicted]``, (outcome, outcome), where there is no outcome of interest; 0-1 loss by default,
        whose expected cost is 1 − max P(k | x).
    thresholds
        Risks in (0, 1), or expected costs, (threshold). By default 1% to 99%, or quantiles of the expected costs.
    rows
        Numbers of the rows (answer), where some were answered several times, in repeats of a cross-validation.

    Returns
    -------
    DataFrame
        One row per threshold: `threshold`; `coverage`, the share of rows that pass it; among these `accuracy`, the
        share with the class of interest or a right decision, and the mean `cost`, with an outcome 1 − accuracy;
        `net_benefit`; each with its standard error as of `standard_error_of_rows`, such as `coverage_se`; and
        `net_benefit_all`, that where every row passes.

    Raises
    ------
    InputError
        Without rows, or for thresholds or costs that cannot be used.

    References
    ----------
    Vickers & Elkin, *Decision curve analysis*, Medical Decision Making 26 (2006). Chow, *On optimum recognition error
    and reject tradeoff*, IEEE Trans. Information Theory 16 (1970).

    Examples
    --------
    >>> import numpy as np
    >>> risk = np.array([0.9, 0.8, 0.6, 0.3, 0.2, 0.1])
    >>> y = np.array([1, 1, 0, 1, 0, 0])
    >>> found = threshold_curve(np.log(np.column_stack([1 - risk, risk])), y, 6, outcome=1, thresholds=[0.25, 0.5])
    >>> found[["threshold", "coverage", "accuracy", "net_benefit", "net_benefit_all"]].round(2)
       threshold  coverage  accuracy  net_benefit  net_benefit_all
    0       0.25      0.67      0.75         0.44             0.33
    1       0.50      0.50      0.67         0.17             0.00
    """
    if not len(y):
        raise InputError("a curve over thresholds needs at least one row with its label")
    expected, right, paid = _judged(log_proba, y, outcome, cost)
    rows = np.arange(len(y)) if rows is None else rows
    lines = []
    for at in _thresholds(expected, outcome, thresholds):
        price, unit, slack = (at, 1.0, 0.0) if outcome is None else (1 - at, 1 - at, SLACK)
        passing = (expected <= price + slack).astype(float)
        coverage = mean_of_rows(passing, rows).mean()
        line = {"threshold": at}
        for name, values, ratio in (
            ("coverage", passing, False),
            ("accuracy", passing * right, True),
            ("cost", passing * paid, True),
            ("net_benefit", passing * (price - paid) / unit, False),
        ):
            with np.errstate(invalid="ignore", divide="ignore"):  # no row passes
                mean = mean_of_rows(values, rows).mean() / (coverage if ratio else 1.0)
                of_rows = mean_of_rows((values - mean * passing) / coverage if ratio else values, rows)
            line |= {name: mean, f"{name}_se": standard_error_of_rows(of_rows, train)}
        lines.append(line | {"net_benefit_all": (price - mean_of_rows(paid, rows).mean()) / unit})
    return pd.DataFrame(lines)


def code_of(classes: NDArray[Any], outcome: Any) -> int:
    """Return the code of the class of interest; of two classes the second where none is named.

    Raises
    ------
    InputError
        For a label that is not one of the classes, and for None with more than two classes.
    """
    labels = [str(label) for label in classes]
    if outcome is None and len(classes) == 2:
        return 1
    if outcome is None:
        raise InputError(f"say which class matters, as outcome={classes.tolist()[-1]!r}: one of {', '.join(labels)}")
    found = np.flatnonzero(classes == outcome) if np.ndim(outcome) == 0 else np.empty(0, dtype=int)
    if not found.size:
        shown = written(outcome, LONGEST_NAME)
        raise InputError(f"outcome must be one of the classes {', '.join(labels)}, not {shown}")
    return int(found[0])


def _judged(log_proba: Array, y: Integers, outcome: int | None, cost: Any) -> tuple[Array, Array, Array]:
    """Return the expected cost of each row's answer, whether it is right (0 or 1), and what it costs, (row)."""
    if outcome is None:
        costs = Costs.checked(log_proba.shape[1], cost)
        decided = decide(log_proba, cost)
        return costs.expected(log_proba).min(axis=1), (decided == y).astype(float), costs.paid(decided, y)
    right = (y == outcome).astype(float)
    return 1 - np.exp(log_proba[:, outcome]), right, 1 - right


def _thresholds(expected: Array, outcome: int | None, given: Any) -> Array:
    """Return the thresholds, increasing, from those given and the expected costs of all rows (row)."""
    if given is None and outcome is not None:
        return RISKS
    if given is None:
        return np.unique(
            np.quantile(expected, np.arange(1, MOST_THRESHOLDS + 1) / MOST_THRESHOLDS, method="inverted_cdf")
        )
    try:
        at = np.unique(np.asarray(given, dtype=float))
    except (TypeError, ValueError):
        at = np.empty(0)
    if not at.size or not np.isfinite(at).all():
        raise InputError(f"thresholds must be numbers, such as [0.1, 0.2], not {given!r}")
    if outcome is not None and not ((at > 0) & (at < 1)).all():
        raise InputError(f"thresholds are risks between 0 and 1, such as [0.1, 0.2], not {given!r}")
    return at
