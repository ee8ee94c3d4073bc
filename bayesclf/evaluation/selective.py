"""The gain from rejecting rows: how good the remaining answers are, against the share of rows that get an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bayesclf.decisions import Costs, decide
from bayesclf.errors import InputError
from bayesclf.evaluation.scores import resampled_standard_error
from bayesclf.typing import Array, Integers

MOST_THRESHOLDS = 200
"""Most rows of the table of a cross-validated curve, at evenly spaced quantiles of the expected cost."""


@dataclass(frozen=True, eq=False)
class CoverageCurve:
    """The decisions that remain when those of large expected cost are rejected, one point per threshold.

    Standard errors are those of a mean over independent rows, s/√kept: they reflect the variation among rows, not among
    training sets. For cross-validated answers see `bayesclf.evaluation.comparison.Comparison.coverage_curve`.

    Attributes
    ----------
    threshold
        Largest expected cost that is kept, increasing, (point): each expected cost that occurs. Under 0-1 loss it is
        1 − max P(k | x). It is the argument `reject` of `predict`.
    kept
        Number of rows that are decided, (point).
    coverage
        Their share of all rows, in (0, 1], (point).
    accuracy, accuracy_se
        Share of right decisions among them and its standard error, NaN where one row remains, (point).
    cost, cost_se
        Mean cost of the decisions among them, under 0-1 loss 1 − `accuracy`, and its standard error, (point).
    area
        Area under `cost` against `coverage`, in the unit of the costs: the mean of the costs of the 1, 2, …, n rows of
        smallest expected cost, averaged over the orders of rows with equal expected cost. Rejecting at random has the
        area of `cost` at full coverage; a smaller area means that expected costs tell good decisions from bad ones.
    """

    threshold: Array
    kept: Integers
    coverage: Array
    accuracy: Array
    accuracy_se: Array
    cost: Array
    cost_se: Array
    area: float


def coverage_curve(log_proba: Array, y: Integers, cost: Any = None) -> CoverageCurve:
    """Return accuracy and mean cost of the rows that Chow's rule keeps, at each threshold.

    Parameters
    ----------
    log_proba
        log P(k | x), (row, outcome), of rows that the classifier was not fitted on.
    y
        Label codes (row).
    cost
        Costs ``cost[true, predicted]``, (outcome, outcome); 0-1 loss by default.

    Returns
    -------
    CoverageCurve
        Kept rows, accuracy and cost by threshold.

    Raises
    ------
    InputError
        Without rows, or for a cost matrix that `bayesclf.decisions.decide` refuses.

    References
    ----------
    Chow, *On optimum recognition error and reject tradeoff*, IEEE Trans. Information Theory 16 (1970). El-Yaniv &
    Wiener, *On the foundations of noise-free selective classification*, JMLR 11 (2010) (risk and coverage).

    Examples
    --------
    >>> import numpy as np
    >>> curve = coverage_curve(np.log([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]), np.array([0, 1, 1]))
    >>> curve.threshold.round(9), curve.accuracy.round(3), round(curve.area, 3)
    (array([0.1, 0.2, 0.4]), array([1.   , 1.   , 0.667]), 0.111)
    """
    if not len(y):
        raise InputError("a coverage curve needs at least one row with its label")
    expected, right, paid = _judged(log_proba, y, cost)
    threshold, place, kept_by = np.unique(expected, return_inverse=True, return_counts=True)
    kept = np.cumsum(kept_by)
    accuracy, accuracy_se = _means(right, place, kept)
    cost_mean, cost_se = _means(paid, place, kept)
    # Giving each row of a tie the tie's mean cost averages over all orders of the tied rows.
    of_tie = np.bincount(place, paid) / kept_by
    area = float((np.cumsum(np.repeat(of_tie, kept_by)) / np.arange(1, len(y) + 1)).mean())
    return CoverageCurve(threshold, kept, kept / len(y), accuracy, accuracy_se, cost_mean, cost_se, area)


def _judged(log_proba: Array, y: Integers, cost: Any) -> tuple[Array, Array, Array]:
    """Return the expected cost of each row's decision, whether it is right (0 or 1), and what it costs, (row)."""
    costs = Costs.checked(log_proba.shape[1], cost)
    decided = decide(log_proba, cost)
    return costs.expected(log_proba).min(axis=1), (decided == y).astype(float), costs.paid(decided, y)


def _means(values: Array, place: Integers, kept: Integers) -> tuple[Array, Array]:
    """Return the mean of the kept values (row) at each point, and its standard error; `place` is a row's first point.

    Values are measured from the first of them, so that a large common cost does not cancel digits of the variance.
    """
    origin = values[0]
    sums, squares = (np.cumsum(np.bincount(place, (values - origin) ** power)) for power in (1, 2))
    mean = sums / kept
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = np.maximum(squares - kept * mean**2, 0.0) / (kept - 1)
    return origin + mean, np.where(kept > 1, np.sqrt(variance / kept), np.nan)


def cross_validated_curve(
    answers: Sequence[tuple[Array, Integers]], train: int, cost: Any = None, most: int = MOST_THRESHOLDS
) -> pd.DataFrame:
    """Return the curve of cross-validated answers, with standard errors over the folds.

    Accuracy and cost of the kept rows are ratios of sums over all folds. Their errors are those of the linearized
    ratio, to which a fold without kept rows contributes correctly.

    Parameters
    ----------
    answers
        log P(k | x), (row, outcome), and label codes (row) of the test rows of each fold.
    train
        Training rows of a fold, on average.
    cost
        As in `coverage_curve`.
    most
        Most rows of the table.

    Returns
    -------
    DataFrame
        One row per threshold: `threshold`, `coverage`, `accuracy` and `cost` as in `CoverageCurve`, each of the last
        three with its Nadeau–Bengio standard error, `…_se`.
    """
    judged = [_judged(log_proba, y, cost) for log_proba, y in answers]
    every = np.concatenate([expected for expected, _, _ in judged])
    levels = np.arange(1, most + 1) / most
    threshold = np.unique(np.quantile(every, levels, method="inverted_cdf"))
    share, right, paid = (np.stack(parts) for parts in zip(*(_kept(fold, threshold) for fold in judged), strict=True))
    rows = np.array([len(y) for _, y in answers], dtype=float)
    table = {"threshold": threshold, "coverage": np.average(share, axis=0, weights=rows)}
    table["coverage_se"] = _errors(share, train, rows)
    for name, values in (("accuracy", right), ("cost", paid)):
        ratio = np.average(values, axis=0, weights=rows) / table["coverage"]
        table[name] = ratio
        table[f"{name}_se"] = _errors((values - ratio * share) / table["coverage"], train, rows)
    return pd.DataFrame(table)


def _kept(fold: tuple[Array, Array, Array], threshold: Array) -> tuple[Array, Array, Array]:
    """Return, as shares of a fold's rows, those kept, those kept and right, and the cost of those kept, (point)."""
    expected, right, paid = fold
    order = np.argsort(expected)
    count = np.searchsorted(expected[order], threshold, side="right")
    sums = [np.concatenate(([0.0], np.cumsum(values[order])))[count] for values in (right, paid)]
    return count / len(expected), sums[0] / len(expected), sums[1] / len(expected)


def _errors(values: Array, train: int, rows: Array) -> Array:
    """Return the standard errors of means over folds, values (fold, point)."""
    return np.array([resampled_standard_error(column, train, int(rows.mean())) for column in values.T])
