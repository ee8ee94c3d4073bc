"""The table of scores of a comparison, and where its entries stand: which are clearly behind the best, or tied with it.

Claims about all entries hold together, so that the number of entries does not make false ones likely.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd

from bayesclf.arrays import Array, Integers
from bayesclf.decisions import Costs
from bayesclf.evaluation import scores
from bayesclf.evaluation.cross_validation import Answers, Split
from bayesclf.evaluation.peers import NO_RULE
from bayesclf.evaluation.scores import RowScores, standard_error_of_rows
from bayesclf.wording import NEGLIGIBLE

type Key = tuple[str, str]
"""A model and a rule."""

BASELINE = ("baseline", NO_RULE)
"""The entry that gives every row the shares of the classes in the training rows, whatever its columns say."""

CONFIDENCE = 0.95
"""Probability that all claims about a group of entries hold."""

MATTERS = 0.01
"""Smallest difference of log loss that matters, in nats: one percent in the probability of the true class."""

MATTERS_RELATIVELY = 0.1
"""Share of the best log loss that matters, where that is smaller than `MATTERS`."""

MOST_NATS = float(np.log(1000))
"""Log loss of a row above which it counts as that much against an entry: its true class had less than 1/1000.

An entry whose truncated loss is clearly larger than another's whole loss has a clearly larger loss, and the few rows
that make the loss of an over-confident model large cannot make its standard error so large that nothing is clear.
"""

DRAWS, AT_ONCE = 20_000, 1_000
"""Draws from the distribution of the largest statistic, and in one array; its 95 % point is then accurate to 0.02."""

EQUAL = 1e-6
"""Share of the largest standard deviation of a difference below which two entries are the same."""

Kind = Literal["best", "tied", "open", "behind"]


class HeldOut(Protocol):
    """Answers to held-out rows, as `bayesclf.evaluation.comparison.Comparison` has them."""

    @property
    def answers(self) -> Mapping[Key, Answers]:
        """Scores by model and rule."""

    @property
    def y(self) -> Integers:
        """Label codes (row)."""

    @property
    def splits(self) -> Sequence[Split]:
        """Training and test rows of each fold."""

    @property
    def runs(self) -> Sequence[Sequence[int]]:
        """The folds of each entry of `Answers.scores`."""

    @property
    def tested(self) -> Sequence[Integers]:
        """The rows that each entry of `Answers.scores` is about."""

    @property
    def repeats(self) -> int:
        """How often the rows were split."""

    @property
    def seed(self) -> int:
        """Seed of everything."""

    @property
    def costs(self) -> Costs | None:
        """What decisions cost, if anything was said of it."""

    @property
    def best(self) -> Key:
        """The line with the smallest mean log loss."""

    def stacked(self, model: str, rule: str) -> tuple[Array, Integers]:
        """Return log P(k | x) of all repeats, concatenated, (row, outcome), and the label codes (row)."""


def score_table(comparison: HeldOut, calibration: bool = True) -> pd.DataFrame:
    """Return the table that `Comparison.table` describes, without the calibration, which takes longest, if desired."""
    table = pd.DataFrame([_line(comparison, *key, calibration) for key in comparison.answers])
    return table.assign(**_differences(comparison, table)) if "log_loss" in table else table


def mean(comparison: HeldOut, key: Key, metric: str) -> float:
    """Return a metric's mean over rows and repeats; the metrics are fields of `RowScores`."""
    return float(np.concatenate([getattr(part, metric) for part in comparison.answers[key].scores]).mean())


def rows_of_folds(comparison: HeldOut, key: Key) -> Iterator[tuple[RowScores, Integers, Integers]]:
    """Yield, for each fold, the scores of its repeat, the places of its test rows in them, and their numbers."""
    for part, rows, run in zip(comparison.answers[key].scores, comparison.tested, comparison.runs, strict=True):
        for number in run:
            test = comparison.splits[number][1]
            yield part, np.searchsorted(rows, test), test


def fold_means(comparison: HeldOut, key: Key, metric: str) -> Array:
    """Return a metric's mean over the test rows of each fold, (fold)."""
    return np.array([getattr(part, metric)[places].mean() for part, places, _ in rows_of_folds(comparison, key)])


def standard_error(comparison: HeldOut, values: Array) -> float:
    """Return the Nadeau–Bengio standard error of the mean of values (fold)."""
    train, test = (float(np.mean([len(split[side]) for split in comparison.splits])) for side in (0, 1))
    return scores.resampled_standard_error(values, int(train), int(test))


def _with_error(comparison: HeldOut, key: Key, metric: str) -> dict[str, float]:
    """Return a metric's mean and its standard error, under its name."""
    error = standard_error(comparison, fold_means(comparison, key, metric))
    return {metric: mean(comparison, key, metric), f"{metric}_se": error}


def _line(comparison: HeldOut, model: str, rule: str, calibrated: bool) -> dict[str, Any]:
    """Return one row of the table."""
    key = (model, rule)
    line: dict[str, Any] = {"model": model, "rule": rule}
    if reason := comparison.answers[key].reason:
        return line | {"reason": reason}
    log_proba, y = comparison.stacked(model, rule)
    log_losses = [part.log_loss for part in comparison.answers[key].scores]
    losses = np.concatenate(log_losses)
    log_loss = scores.mean_log_loss(losses)
    error = _with_error(comparison, key, "error")
    line |= {
        "accuracy": 1 - error["error"],
        "accuracy_se": error["error_se"],
        "log_loss": log_loss.mean,
        "log_loss_se": standard_error(comparison, fold_means(comparison, key, "log_loss")),
        "log_loss_finite": log_loss.finite_mean,
        "log_loss_infinite": np.unique(np.concatenate(comparison.tested)[np.isinf(losses)]).size,
        **_with_error(comparison, key, "brier"),
    }
    if calibrated:
        calibration = scores.calibration_error(log_proba, y, comparison.seed, comparison.repeats)
        line |= {f"calibration_{name}": getattr(calibration, name) for name in ("error", "low", "high", "expected")}
    if comparison.costs is not None:
        line |= _with_error(comparison, key, "cost") | {"rejected": mean(comparison, key, "rejected")}
    return line | _against_bayes_optimal(comparison, key, log_proba)


def _against_bayes_optimal(comparison: HeldOut, key: Key, log_proba: Array) -> dict[str, float]:
    """Compare the decisions and errors of a rule with those of the same model's Bayes-optimal rule."""
    optimal = (key[0], "bayes-optimal")
    if optimal not in comparison.answers or comparison.answers[optimal].reason:
        return {}
    best, _ = comparison.stacked(*optimal)
    found = {"disagreement": float((best.argmax(axis=1) != log_proba.argmax(axis=1)).mean())}
    if key[1] == "gibbs":
        error = mean(comparison, optimal, "error")
        found["error_ratio"] = mean(comparison, key, "error") / error if error > 0 else float("nan")
    return found


def _differences(comparison: HeldOut, table: pd.DataFrame) -> dict[str, list[float]]:
    """Return paired differences from the best model and rule, and their standard errors."""
    result: dict[str, list[float]] = {}
    for metric in ("error", "log_loss", "brier", *(["cost"] if comparison.costs is not None else [])):
        best = fold_means(comparison, comparison.best, metric)
        differences = []
        for key in zip(table["model"], table["rule"], strict=True):
            reason = comparison.answers[key].reason
            with np.errstate(invalid="ignore"):
                differences.append(np.full(1, np.nan) if reason else fold_means(comparison, key, metric) - best)
        name, sign = ("accuracy", -1) if metric == "error" else (metric, 1)
        result[f"{name}_diff"] = [float(sign * values.mean()) for values in differences]
        result[f"{name}_diff_se"] = [standard_error(comparison, values) for values in differences]
    return result


@dataclass(frozen=True)
class Standing:
    """An entry against the best one of its group.

    Attributes
    ----------
    model, rule
        The entry.
    loss
        Its mean loss over the rows.
    difference, error
        The loss minus that of the best entry, and the standard error of this difference over the rows, as `standings`
        has it; the table of a comparison has that over the folds.
    kind
        ``"best"``; ``"behind"``: clearly, by an amount that matters; ``"tied"``: a difference is too small to matter;
        ``"open"``: these rows do not tell.
    """

    model: str
    rule: str
    loss: float
    difference: float
    error: float
    kind: Kind


def standings(
    comparison: HeldOut, entries: Sequence[Key], metric: str = "log_loss", against: Key | None = None
) -> list[Standing]:
    """Compare entries with the best of them, by the mean of a loss over the rows, the smallest first.

    The standard error of a mean difference is s √(1/n + 1/n_train), s being the standard deviation of the difference
    over n rows: Nadeau and Bengio's allowance for training sets that overlap, applied to rows instead of folds, since
    five folds tell little about a variance. A difference is clear if it exceeds q standard errors, q the 95 % point of
    the largest |t| over all pairs of entries, so that the probability of any false claim is at most 5 %.

    Parameters
    ----------
    comparison
        The comparison.
    entries
        Models and rules that have answers, and possibly `BASELINE`; at least one.
    metric
        A field of `bayesclf.evaluation.scores.RowScores`: ``"log_loss"``, ``"error"`` or ``"cost"``. Differences of log
        loss below `MATTERS` count as ties, of others those of 0.
    against
        The entry that takes the place of the best one, and comes first; better ones are not behind it.

    References
    ----------
    Nadeau & Bengio (2003), Inference for the generalization error, Machine Learning 52. Hothorn, Bretz & Westfall
    (2008), Simultaneous inference in general parametric models, Biometrical Journal 50, section 3.
    """
    losses = np.column_stack([row_losses(comparison, key, metric) for key in entries])
    train = float(np.mean([len(train) for train, _ in comparison.splits]))
    means = losses.mean(axis=0)
    order = sorted(range(len(entries)), key=lambda place: (entries[place] != against, means[place]))
    if metric == "log_loss":
        return _ordered(entries, order, losses, np.minimum(losses, MOST_NATS), train, smallest_difference(losses))
    return _ordered(entries, order, losses, losses, train, NEGLIGIBLE)


def smallest_difference(losses: Array) -> float:
    """Return the smallest difference that matters, given log losses (row, entry)."""
    return max(min(MATTERS, MATTERS_RELATIVELY * float(losses.mean(axis=0).min())), NEGLIGIBLE)


def row_losses(comparison: HeldOut, key: Key, metric: str = "log_loss") -> Array:
    """Return a loss of each tested row, (row), averaged over the repeats."""
    rows, values = np.concatenate(comparison.tested), _losses(comparison, key, metric)
    times = np.bincount(rows)
    return np.asarray((np.bincount(rows, values) / np.maximum(times, 1))[times > 0])


def _losses(comparison: HeldOut, key: Key, metric: str) -> Array:
    """Return a loss of the rows of all repeats, concatenated."""
    if key != BASELINE:
        return np.concatenate([getattr(part, metric) for part in comparison.answers[key].scores])
    found = [np.empty(len(rows)) for rows in comparison.tested]
    for values, rows, run in zip(found, comparison.tested, comparison.runs, strict=True):
        for number in run:
            train, test = comparison.splits[number]
            counts = np.bincount(comparison.y[train], minlength=comparison.y.max() + 1) + 1.0
            y = comparison.y[test]
            loss = -np.log(counts[y] / counts.sum()) if metric == "log_loss" else (y != counts.argmax()).astype(float)
            values[np.searchsorted(rows, test)] = loss
    return np.concatenate(found)


def critical_value(losses: Array) -> float:
    """Return the 95 % point of the largest |t| over all pairs of columns, given finite losses (row, entry).

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


def _ordered(
    entries: Sequence[Key], order: Sequence[int], losses: Array, truncated: Array, train: float, matters: float
) -> list[Standing]:
    """Return the standings for losses (row, entry) in an order, in which the first is what others are compared with."""
    means = losses.mean(axis=0)
    best, quantile = order[0], critical_value(truncated)
    found = [Standing(entries[best][0], entries[best][1], float(means[best]), 0.0, 0.0, "best")]
    for place in order[1:]:
        model, rule = entries[place]
        if np.isinf(means[best]):
            found.append(Standing(model, rule, float(means[place]), np.nan, np.nan, "open"))
            continue
        difference = float(means[place] - means[best])
        error = standard_error_of_rows(losses[:, place] - losses[:, best], train)
        cautious = truncated[:, place] - losses[:, best]
        least = cautious.mean() - quantile * standard_error_of_rows(cautious, train)
        clear = np.isinf(difference) or least > NEGLIGIBLE
        small = difference < matters and (clear or difference + quantile * error < matters)
        kind: Kind = "tied" if small else "behind" if clear else "open"
        found.append(Standing(model, rule, float(means[place]), difference, error, kind))
    return found
