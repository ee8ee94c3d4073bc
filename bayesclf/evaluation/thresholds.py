"""One curve over thresholds: how good the answers are that pass a threshold, and what acting on them is worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bayesclf.arrays import Array, Integers
from bayesclf.decisions import Costs, decide
from bayesclf.errors import InputError
from bayesclf.evaluation.scores import resampled_standard_error
from bayesclf.wording import LONGEST_NAME, written

RISKS = np.arange(1, 100) / 100
"""Risks from which one acts, where none are given."""

MOST_THRESHOLDS = 200
"""Most expected costs, at evenly spaced quantiles, where none are given."""

SLACK = 1e-12
"""By how much a risk may miss a threshold: rounding decides about nothing."""


def threshold_curve(
    answers: Sequence[tuple[Array, Integers]],
    train: int,
    outcome: int | None = None,
    cost: Any = None,
    thresholds: ArrayLike | None = None,
) -> pd.DataFrame:
    """Return how good the answers are that pass each threshold, with standard errors over the folds.

    With an `outcome` k, one acts on a row if its risk P(k | x) is at least t. Of n rows let TP have the class and be
    acted on, and FP be acted on without having it. Who acts from a risk of t on holds one missed row of the class to be
    as bad as (1 − t)/t needless acts, so that the net benefit is TP/n − FP/n · t/(1 − t), in rows of the class.

    Without one, a row is decided if the expected cost of its best decision is at most t, and rejected otherwise (Chow's
    rule). Where a rejected row costs t, deciding saves the mean over all rows of [decided] · (t − cost) per row, which
    is the net benefit here.

    Accuracy and cost are ratios of sums over all folds. Their errors are those of the linearized ratio, to which a fold
    without passing rows contributes correctly.

    Parameters
    ----------
    answers
        log P(k | x), (row, outcome), and label codes (row) of the test rows of each fold.
    train
        Training rows of a fold, on average.
    outcome
        Code k of the class of interest.
    cost
        Costs ``cost[true, predicted]``, (outcome, outcome), where there is no outcome of interest; 0-1 loss by default,
        whose expected cost is 1 − max P(k | x).
    thresholds
        Risks in (0, 1), or expected costs, (threshold). By default 1 % to 99 %, or quantiles of the expected costs.

    Returns
    -------
    DataFrame
        One row per threshold: `threshold`; `coverage`, the share of rows that pass it; among these `accuracy`, the
        share with the class of interest or a right decision, and the mean `cost`, with an outcome 1 − accuracy;
        `net_benefit`; each with its Nadeau–Bengio standard error, such as `coverage_se`; and `net_benefit_all`, that
        where every row passes.

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
    >>> folds = [(np.log(np.column_stack([1 - risk, risk])), np.array([1, 1, 0, 1, 0, 0]))] * 2
    >>> found = threshold_curve(folds, 6, outcome=1, thresholds=[0.25, 0.5])
    >>> found[["threshold", "coverage", "accuracy", "net_benefit", "net_benefit_all"]].round(2)
       threshold  coverage  accuracy  net_benefit  net_benefit_all
    0       0.25      0.67      0.75         0.44             0.33
    1       0.50      0.50      0.67         0.17             0.00
    """
    if not sum(len(y) for _, y in answers):
        raise InputError("a curve over thresholds needs at least one row with its label")
    judged = [_judged(log_proba, y, outcome, cost) for log_proba, y in answers]
    expected, _, paid_by_all = (np.concatenate(parts) for parts in zip(*judged, strict=True))
    at = _thresholds(expected, outcome, thresholds)
    price, slack = (at, 0.0) if outcome is None else (1 - at, SLACK)
    share, right, paid = (
        np.stack(parts) for parts in zip(*(_passing(fold, price + slack) for fold in judged), strict=True)
    )
    unit = np.ones_like(at) if outcome is None else price
    rows = np.array([len(y) for _, y in answers], dtype=float)
    table = {"threshold": at}
    for name, values, ratio in (
        ("coverage", share, False),
        ("accuracy", right, True),
        ("cost", paid, True),
        ("net_benefit", (price * share - paid) / unit, False),
    ):
        mean = np.average(values, axis=0, weights=rows)
        if ratio:
            with np.errstate(invalid="ignore"):  # no row passes
                mean = mean / table["coverage"]
                values = (values - mean * share) / table["coverage"]
        table[name] = mean
        table[f"{name}_se"] = np.array([resampled_standard_error(fold, train, int(rows.mean())) for fold in values.T])
    return pd.DataFrame(table).assign(net_benefit_all=(price - paid_by_all.mean()) / unit)


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
    """Return the expected cost of each row's answer, whether it is right (0 or 1), and what it costs, (row).

    Acting for the class of interest costs 1 where a row does not have it, so that the expected cost is 1 − P(k | x).
    """
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


def _passing(fold: tuple[Array, Array, Array], limit: Array) -> tuple[Array, Array, Array]:
    """Return, as shares of a fold's rows, those that pass, those also right, and the cost of those that pass."""
    expected, right, paid = fold
    order = np.argsort(expected)
    count = np.searchsorted(expected[order], limit, side="right")
    sums = [np.concatenate(([0.0], np.cumsum(values[order])))[count] for values in (right, paid)]
    return count / len(expected), sums[0] / len(expected), sums[1] / len(expected)
