"""The tables of a report: scores, costs, classes and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesclf.arrays import Integers
from bayesclf.evaluation.comparison import Comparison
from bayesclf.tables import columns
from bayesclf.wording import NEGLIGIBLE, clipped, counted, listed, number, pair, percent

MOST_COLUMNS = 200
"""Columns that the summary lists."""

MOST_LEVELS = 6
"""Levels of a column that the summary names."""

LONGEST_LEVEL = 40
"""Characters of a level that the summary shows."""

BEST = "–"
"""What the recommended entry has instead of a difference from it."""

MEANINGS = {
    "accuracy": "share of rows whose class was predicted, ± standard error",
    "log loss": "mean of −log P(true class), ± standard error; smaller is better",
    "difference": "of the log loss from that of the first line, on the same rows",
    "Brier": "squared error of the probabilities, summed over the classes; between 0 and 2",
    "calibration error": "± standard error; (chance alone: …) is what calibrated probabilities would show",
    "differs": "share of rows whose most probable class differs from that under Bayes-optimal",
    "cost": "mean cost of the decisions, ± standard error, including the cost of rejected rows",
    "rejected": "share of rows without a decision, because the expected cost of the best one is too large",
}
"""What the headings of the table of scores mean."""


def scores(comparison: Comparison, table: pd.DataFrame) -> pd.DataFrame:
    """Return the entries that could answer as people read them: the recommended one, then by log loss.

    Rules under which a model has the same scores are one line. `table` is that of the comparison; where it has no
    calibration errors, none are shown.
    """
    if "log_loss" not in table or table["log_loss"].isna().all():
        return pd.DataFrame()
    answered = table[table["log_loss"].notna()].sort_values("log_loss", kind="stable")
    scored = answered.groupby(["model", "accuracy", "log_loss", "brier"], sort=False)["rule"]
    answered = answered.assign(rule=scored.transform(", ".join)).drop_duplicates(["model", "rule"])
    shown = pd.DataFrame([_line(comparison, record) for record in answered.to_dict("records")])
    return shown.sort_values("difference", key=lambda column: column != BEST, kind="stable", ignore_index=True)


def _line(comparison: Comparison, record: dict[Any, Any]) -> dict[str, str]:
    """Return an entry of the table of scores."""
    best = record["model"] == comparison.best[0] and comparison.best[1] in record["rule"].split(", ")
    difference, error = record["log_loss_diff"], record["log_loss_diff_se"]
    line = {
        "model": record["model"],
        "rule": record["rule"],
        "accuracy": percent(record["accuracy"], record["accuracy_se"]),
        "log loss": log_loss(record),
        "difference": BEST if best else signed(difference, error, 3) if np.isfinite(difference) else "",
        "Brier": pair(record["brier"], record["brier_se"]),
    }
    if "calibration_error" in record:
        own = pair(record["calibration_error"], record["calibration_error_se"])
        own = f"{own} (chance alone: {number(record['calibration_expected'])})"
        line["calibration error"] = own if np.isfinite(record["calibration_error"]) else ""
        line["differs"] = percent(record["disagreement"]) if np.isfinite(record.get("disagreement", np.nan)) else ""
    if "cost" in record:
        line |= {"cost": pair(record["cost"], record["cost_se"]), "rejected": percent(record["rejected"])}
    return line


def failures(comparison: Comparison) -> dict[tuple[str, str], list[str]]:
    """Return the rules that could not answer, by model and reason."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for (model, rule), answer in comparison.answers.items():
        if answer.reason:
            grouped.setdefault((model, answer.reason), []).append(rule)
    return grouped


def log_loss(record: dict[Any, Any]) -> str:
    """Return a log loss with its standard error, or where it is infinite in how many rows."""
    infinite = int(record["log_loss_infinite"])
    if infinite:
        return f"∞ ({counted(infinite, 'row')}), else {number(record['log_loss_finite'])}"
    return pair(record["log_loss"], record["log_loss_se"])


def signed(value: float, error: float, digits: int) -> str:
    """Return a difference with its standard error and, where it is positive, a plus."""
    text = pair(value, error, digits)
    return f"+{text}" if value > NEGLIGIBLE else text


def in_order(frame: pd.DataFrame, classes: NDArray[Any], order: Sequence[int]) -> pd.DataFrame:
    """Return lines in which the outcomes of the same cells before them come in an order."""
    if list(order) == sorted(order):
        return frame
    place = {str(classes[code]): number for number, code in enumerate(order)}
    before = list(frame.columns[: list(frame.columns).index("outcome")])
    group = frame.groupby(before, sort=False, dropna=False).ngroup() if before else np.zeros(len(frame))
    return frame.iloc[np.lexsort([frame["outcome"].astype(str).map(place).fillna(-1), group])]


def by_class(counts: NDArray[Any], classes: NDArray[Any], order: Sequence[int]) -> pd.DataFrame:
    """Return counts or costs (true outcome, decision) as a table, classes in an order, and rejected rows last."""
    names = [str(classes[code]) for code in order]
    decided = [*order, *range(len(order), counts.shape[1])]
    lines = pd.DataFrame(counts[np.ix_(order, decided)], columns=pd.Index([*names, "rejected"][: len(decided)]))
    lines.insert(0, "true class", names, allow_duplicates=True)
    return lines


def class_counts(y: Integers, classes: NDArray[Any], order: Sequence[int]) -> list[tuple[str, int, str]]:
    """Return label, rows and share of each class, in an order."""
    counts = np.bincount(y, minlength=len(classes))
    return [(str(classes[code]), int(counts[code]), percent(counts[code] / len(y))) for code in order]


def column_summaries(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the first `MOST_COLUMNS` columns with their kind, missing cells, and range or levels."""
    found = [_summary(frame[name]) for name in list(frame.columns)[:MOST_COLUMNS]]
    return pd.DataFrame(found, columns=["column", "kind", "missing", "values"])


def _summary(column: pd.Series) -> tuple[str, str, int, str]:
    kind, missing = columns.kind_of(column), int(column.isna().sum())
    if kind == "number":
        known = column.dropna().to_numpy(dtype=float)
        low, middle, high = np.quantile(known, [0, 0.5, 1]) if known.size else (np.nan,) * 3
        values = f"{low:.4g} to {high:.4g}, median {middle:.4g}".replace("-", "−") if known.size else "empty"
    else:
        levels = [f"{clipped(level, LONGEST_LEVEL)} ({rows:,})" for level, rows in column.value_counts().items()]
        values = listed(levels, MOST_LEVELS, ", … ({total:,} levels)") or "empty"
    return str(column.name), kind, missing, values
