"""The table of scores of a comparison, line by line, with paired differences and their standard errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd

from bayesclf.decisions import Costs
from bayesclf.evaluation import scores
from bayesclf.evaluation.cross_validation import Answers, Split
from bayesclf.evaluation.scores import RowScores
from bayesclf.typing import Array, Integers

type Key = tuple[str, str]
"""A model and a rule."""


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
