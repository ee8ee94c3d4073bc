"""How good answers to held-out rows are: number by number, beside what one has without a model, and class by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from bayesclf.arrays import Array, Integers
from bayesclf.evaluation.judgments import class_shares
from bayesclf.evaluation.score_table import (
    BASELINE,
    HeldOut,
    Key,
    calibration,
    gain,
    mean,
    standing_of_shares,
    useful,
    with_error,
)
from bayesclf.evaluation.scores import mean_of_rows, standard_error_of_rows
from bayesclf.report import table
from bayesclf.report.tree import Table
from bayesclf.wording import AND_MORE, LISTED_NAMES, counted, joined, listed, number, pair, percent

MOST_CLASSES = 6
"""Classes whose shares found are shown; of more, the classes that are found least often."""

FEW_ROWS = 10
"""Rows of a class below which more rows help, not costs."""

UNDONE = ", which other folds may change"
"""Why a difference of more than a standard error is not even probable."""

MOST_ERRORS = 3
"""Kinds of errors that are named."""

SMALL_RECALL = 0.2
"""Recall below which a class is named, however good the labels are as a whole."""


@dataclass(frozen=True)
class Fact:
    """A number of a model: what it is, beside it the number without any model, and its meaning."""

    name: str
    value: str
    baseline: str
    meaning: str


def facts_table(found: Sequence[Fact], caption: str) -> Table:
    """Return how good answers are, beside what one has without a model, as a table."""
    lines = pd.DataFrame([(one.name, one.value, one.baseline) for one in found], columns=["", "model", "baseline"])
    meanings = {one.name: one.meaning for one in found}
    return Table(lines, caption=caption, meanings=meanings)


def facts(held_out: HeldOut, key: Key, classes: NDArray[Any], order: Sequence[int]) -> list[Fact]:
    """Return how good the answers of an entry to held-out rows are.

    The baselines always predict the most frequent class, give the class shares, and take the decision that is cheapest
    for all rows together. `order` has the codes of the labels `classes` (outcome) as people read them.
    """
    error, loss = (with_error(held_out, key, metric) for metric in ("error", "log_loss"))
    found = [
        Fact(
            f"Accuracy{', without the costs' * (held_out.costs is not None)}",
            percent(1 - error["error"], error["error_se"]),
            percent(1 - mean(held_out, BASELINE, "error")),
            "Share of rows whose class was predicted; the baseline always predicts the most frequent class.",
        ),
        Fact(
            "Log loss",
            pair(loss["log_loss"], loss["log_loss_se"]),
            number(mean(held_out, BASELINE, "log_loss")),
            "Mean of −log of the probability given to the true class, smaller is better; the baseline always predicts "
            "the class shares.",
        ),
    ]
    if held_out.costs is not None:
        cost = with_error(held_out, key, "cost")
        meaning = "Mean cost of the decisions; the baseline takes the decision that is cheapest for all rows together."
        baseline = number(mean(held_out, BASELINE, "cost"))
        found.append(Fact("Cost per row", pair(cost["cost"], cost["cost_se"]), baseline, meaning))
    area, area_se = area_under_roc(held_out, key)
    if np.isfinite(area):
        meaning = "Probability that a row of a class gets a larger probability of this class than a row of another"
        each = "" if len(classes) == 2 else "; mean over the classes, each against the rest"
        found.append(Fact("Area under the ROC curve", pair(area, area_se), "0.500", f"{meaning}{each}."))
    judged = calibration(held_out, key)
    reliability = Fact(
        "Calibration error",
        f"{pair(judged.error, judged.standard_error)} (chance alone: {number(judged.expected)})",
        "",
        "Mean distance of predicted probabilities from the shares that come true; (chance alone: …) is what "
        "calibrated probabilities would show on as many rows.",
    )
    return [*found, *_found(held_out, key, classes, order), reliability]


def _found(held_out: HeldOut, key: Key, classes: NDArray[Any], order: Sequence[int]) -> list[Fact]:
    """Return the share found of each class, or of the classes that are found least often."""
    log_proba, y = held_out.stacked(*key)
    tested, wrong = np.concatenate(held_out.tested), (_decisions(held_out, log_proba) != y).astype(float)
    counts = confusion(held_out, key)
    rows = counts.sum(axis=1)
    right = counts.diagonal()
    train = held_out.train_size * rows / rows.sum()
    errors = [
        standard_error_of_rows(mean_of_rows(wrong[y == code], tested[y == code]), train[code], share=True)
        for code in range(len(classes))
    ]
    shown = [code for code in order if rows[code] > 0]
    if len(shown) > MOST_CLASSES:
        shown = sorted(shown, key=lambda code: right[code] / rows[code])[:MOST_CLASSES]
    always = constant(held_out)
    return [
        Fact(
            f"Recall of {classes[code]}",
            _share(right[code], rows[code], errors[code]),
            "100%" if code == always else "0%",
            "Share of the rows of this class that were decided to be of it (its sensitivity, or recall).",
        )
        for code in shown
    ]


def _share(right: float, rows: float, error: float) -> str:
    """Return a share of rows with its error, or as a count where the error reaches beyond 0% or 100%.

    Examples
    --------
    >>> _share(4, 4, 0.225), _share(3.5, 4, 0.225), _share(30, 40, 0.07)
    ('4 of 4 rows', '3.5 of 4 rows', '75.0 ± 7.0% of 40 rows')
    """
    share = right / rows
    found = percent(share, error) if error <= min(share, 1 - share) else _count(right)
    return f"{found} of {counted(round(rows), 'row')}"


def loss_and_shares(held_out: HeldOut, key: Key) -> str:
    """Return the log loss of an entry beside that of the class shares, and their difference, each with its error."""
    loss, shares = with_error(held_out, key, "log_loss"), standing_of_shares(held_out, key)
    own, difference = pair(loss["log_loss"], loss["log_loss_se"]), pair(-shares.difference, shares.error)
    difference += UNDONE * shares.undone
    return f"{own}, against {number(shares.loss)} for the class shares (difference {difference})"


def decided(held_out: HeldOut, key: Key, classes: NDArray[Any], order: Sequence[int]) -> Table:
    """Return the rows of each true class decided as each class, as a table."""
    mean = f", a mean over {held_out.repeats} repeats" * (held_out.repeats > 1)
    costs = " at the given costs" * (held_out.costs is not None)
    caption = f"Held-out rows by true class (rows) and predicted class (columns){costs}{mean}"
    counts = confusion(held_out, key)
    shown = np.array([[_count(count) for count in line] for line in counts])
    return Table(table.by_class(counts, classes, order), table.by_class(shown, classes, order), caption=caption)


def _count(rows: float) -> str:
    """Return a number of rows, which has a decimal where it is a mean over repeats."""
    return f"{rows:,.1f}".removesuffix(".0")


def confusion(held_out: HeldOut, key: Key) -> Array:
    """Return the rows of each true class decided as each class, (outcome, outcome), a mean over the repeats.

    Where the costs have a limit, the last of the decisions, one more than there are classes, is to reject the row.
    """
    log_proba, y = held_out.stacked(*key)
    size = log_proba.shape[1] + (held_out.costs is not None and held_out.costs.reject is not None)
    decided = _decisions(held_out, log_proba) % size  # of −1, which is REJECTED, the last
    counts = np.bincount(y * size + decided, minlength=size * log_proba.shape[1])
    return np.asarray(counts.reshape(-1, size) / len(held_out.tested))


def _decisions(held_out: HeldOut, log_proba: Array) -> Integers:
    """Return the most probable classes (row), or where there are costs, those of the smallest expected cost."""
    return np.asarray(log_proba.argmax(axis=1)) if held_out.costs is None else held_out.costs.decide(log_proba)


def constant(held_out: HeldOut) -> int:
    """Return the best decision for all rows together: the most frequent class, or the cheapest decision."""
    shares = class_shares(held_out.y, int(held_out.y.max()) + 1)
    return int(_decisions(held_out, np.log(shares)[None])[0])


def no_better(held_out: HeldOut, key: Key, classes: NDArray[Any]) -> str:
    """Return a sentence where labels are not clearly better than a constant one, or hardly find a class; else ""."""
    counts = confusion(held_out, key)
    rows, judged = counts.sum(axis=1), gain(held_out, key, "error")
    recall = np.divide(counts.diagonal(), rows, out=np.ones(len(rows)), where=rows > 0)
    least = int(recall.argmin())
    if judged.state == "yes" and recall[least] >= SMALL_RECALL:
        return ""
    right, baseline = (percent(1 - mean(held_out, one, "error")) for one in (key, BASELINE))
    worse = "clearly worse than" if judged.state == "no" else f"no{'t clearly' * (judged.error > 0)} better than"
    by = f" (difference {pair(100 * judged.mean, 100 * judged.error, 1)} points)" if judged.error > 0 else ""
    labels = (
        f"The labels are {worse} always predicting '{classes[constant(held_out)]}': {right} of the rows are right, "
        f"against {baseline}{by}. "
    )
    unfound = [f"'{label}'" for label in classes[recall == 0]]
    found = (
        f"No row of {listed(unfound, LISTED_NAMES, AND_MORE)} is found"
        if unfound
        else f"The recall of '{classes[least]}' is {percent(recall[least])}"
    )
    remedy = " If some errors are worse, predict with cost=… (--cost FILE: header predicted labels, first column true)."
    remedy *= useful(held_out, key)
    if rows[least] < FEW_ROWS:
        remedy = f" Gather more rows of '{classes[least]}'{', or merge it with another class' * (len(rows) > 2)}."
    return f"{labels if judged.state != 'yes' else ''}{found}.{remedy}"


def area_under_roc(held_out: HeldOut, key: Key) -> tuple[float, float]:
    """Return the area under the ROC curve, of more than two classes the mean of each against the rest, and its error.

    It is the probability that a row of the class has a larger predicted probability of it than a row of the rest. NaN
    where all rows are of one class. The standard error is DeLong's, by what each row adds to the area, with the
    allowance for training rows that folds share.

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Comparing the areas under two or more correlated receiver operating
    characteristic curves, Biometrics 44.
    """
    areas, added = [], []
    for part, rows in zip(held_out.answers[key].scores, held_out.tested, strict=True):
        y = held_out.y[rows]
        present = np.unique(y)
        if len(present) < 2:
            return float("nan"), float("nan")
        codes = [1] if part.log_proba.shape[1] == 2 else present
        of_classes = [_below(part.log_proba[:, code], y == code) for code in codes]
        areas.append(np.mean([area for area, _ in of_classes]))
        added.append(np.mean([own for _, own in of_classes], axis=0))
    values = mean_of_rows(np.concatenate(added), np.concatenate(held_out.tested))
    return float(np.mean(areas)), standard_error_of_rows(values, held_out.train_size)


def _below(score: Array, own: NDArray[np.bool_]) -> tuple[float, Array]:
    """Return the share of pairs that scores order rightly, and by what each row adds to it, of mean 0, (row)."""
    ranks, share = rankdata(score), own.mean()
    below = np.empty(len(score))
    below[own] = (ranks[own] - rankdata(score[own])) / (~own).sum()
    below[~own] = 1 - (ranks[~own] - rankdata(score[~own])) / own.sum()
    area = float(below[own].mean())
    return area, (below - area) / np.where(own, share, 1 - share)


def errors(held_out: HeldOut, key: Key, classes: NDArray[Any]) -> str:
    """Return a sentence on the most frequent errors of the decisions; empty without any."""
    counts = confusion(held_out, key)[:, : len(classes)]
    np.fill_diagonal(counts, 0)
    places = np.argsort(-counts, axis=None, kind="stable")[:MOST_ERRORS]
    names = [str(label) for label in classes]
    named = [
        f"{_rows(counts[true, decided])} of {names[true]} predicted as {names[decided]}"
        for true, decided in zip(*np.unravel_index(places, counts.shape), strict=True)
        if counts[true, decided]
    ]
    if not named:
        return ""
    most = "" if np.isclose(counts.sum(), counts.flat[places].sum()) else "mostly "
    of = "Errors" if held_out.costs is None else "Errors at the given costs"
    repeated = f", means over {held_out.repeats} repeats" * (held_out.repeats > 1)
    return f"{of}{repeated}: {most}{joined(named)}."


def _rows(count: float) -> str:
    """Return a number of rows, a mean over repeats, in words."""
    return counted(int(count), "row") if count % 1 == 0 else f"{count:,.1f} rows"
