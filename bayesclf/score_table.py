"""The table of a comparison: one line a model and rule, each score with its standard error over the folds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf import scores
from bayesclf.typing import Array

if TYPE_CHECKING:
    import pandas as pd

    from bayesclf.comparison import Comparison

type Key = tuple[str, str]
"""A model and a rule."""


def score_table(comparison: Comparison) -> pd.DataFrame:
    """Return the table that `Comparison.table` describes."""
    import pandas as pd

    table = pd.DataFrame([_line(comparison, *key) for key in comparison.answers])
    return table.assign(**_differences(comparison, table)) if "log_loss" in table else table


def mean(comparison: Comparison, key: Key, metric: str) -> float:
    """Return a metric's mean over rows and repeats; the metrics are fields of `bayesclf.scores.RowScores`."""
    return float(np.mean([getattr(part, metric).mean() for part in comparison.answers[key].scores]))


def fold_means(comparison: Comparison, key: Key, metric: str) -> Array:
    """Return a metric's mean over the test rows of each fold, (fold)."""
    parts = comparison.answers[key].scores
    per_repeat = len(comparison.splits) // comparison.repeats
    return np.array(
        [getattr(parts[index // per_repeat], metric)[test].mean() for index, (_, test) in enumerate(comparison.splits)]
    )


def standard_error(comparison: Comparison, values: Array) -> float:
    """Return the Nadeau–Bengio standard error of the mean of values (fold)."""
    train, test = (float(np.mean([len(split[side]) for split in comparison.splits])) for side in (0, 1))
    return scores.resampled_standard_error(values, int(train), int(test))


def _with_error(comparison: Comparison, key: Key, metric: str) -> dict[str, float]:
    """Return a metric's mean and its standard error, under its name."""
    error = standard_error(comparison, fold_means(comparison, key, metric))
    return {metric: mean(comparison, key, metric), f"{metric}_se": error}


def _line(comparison: Comparison, model: str, rule: str) -> dict[str, Any]:
    """Return one line of the table."""
    key = (model, rule)
    line: dict[str, Any] = {"model": model, "rule": rule}
    if comparison.answers[key].reason:
        return line | {"reason": comparison.answers[key].reason}
    log_proba, y = comparison.stacked(model, rule)
    log_losses = [part.log_loss for part in comparison.answers[key].scores]
    log_loss = scores.mean_log_loss(np.concatenate(log_losses))
    calibration = scores.calibration_error(log_proba, y, comparison.seed, comparison.repeats)
    error = _with_error(comparison, key, "error")
    line |= {
        "accuracy": 1 - error["error"],
        "accuracy_se": error["error_se"],
        "log_loss": log_loss.mean,
        "log_loss_se": standard_error(comparison, fold_means(comparison, key, "log_loss")),
        "log_loss_finite": log_loss.finite_mean,
        "log_loss_infinite": int(np.any(np.isinf(log_losses), axis=0).sum()),
        **_with_error(comparison, key, "brier"),
        "calibration_error": calibration.error,
        "calibration_low": calibration.low,
        "calibration_high": calibration.high,
    }
    if comparison.costs is not None:
        line |= _with_error(comparison, key, "cost") | {"rejected": mean(comparison, key, "rejected")}
    return line | _beside_bayes_optimal(comparison, key, log_proba)


def _beside_bayes_optimal(comparison: Comparison, key: Key, log_proba: Array) -> dict[str, float]:
    """Return how a line's decisions and errors stand to those of the same model's Bayes-optimal line."""
    optimal = (key[0], "bayes-optimal")
    if optimal not in comparison.answers or comparison.answers[optimal].reason:
        return {}
    best, _ = comparison.stacked(*optimal)
    found = {"disagreement": float((best.argmax(axis=1) != log_proba.argmax(axis=1)).mean())}
    if key[1] == "gibbs":
        error = mean(comparison, optimal, "error")
        found["error_ratio"] = mean(comparison, key, "error") / error if error > 0 else float("nan")
    return found


def _differences(comparison: Comparison, table: pd.DataFrame) -> dict[str, list[float]]:
    """Return paired differences from the best line, and their standard errors."""
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
