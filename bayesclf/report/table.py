"""The table of scores, cell by cell, and the summary of the columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesclf.arrays import Integers
from bayesclf.evaluation.comparison import Comparison
from bayesclf.tables import columns
from bayesclf.wording import NEGLIGIBLE, counted, listed, number, pair, percent

MOST_COLUMNS = 200
"""Columns that the summary lists."""

SIGNIFICANT = 4
"""Digits of a number of which only the magnitude matters."""

MOST_LEVELS = 6
"""Levels of a column that the summary names."""

LONGEST_LEVEL = 40
"""Characters of a level that the summary shows."""

HEADINGS = (
    ("Model", ""),
    ("Rule", ""),
    (
        "Accuracy",
        "share of rows whose class was predicted, ± standard error; for gibbs the expected share",
    ),
    ("Log loss", "mean of −log P(true class), ± standard error; smaller is better"),
    ("Δ log loss", "difference from the recommended entry on the same rows"),
    ("Δ accuracy", "difference from the recommended entry, in percentage points"),
    ("Brier score", "squared error of the probabilities, summed over the classes; between 0 and 2"),
    ("Calibration error", "binned, with a 90 % bootstrap interval; biased upwards on few rows"),
    ("Decides differently", "share of rows on which the decision differs from Bayes-optimal's"),
    ("Gibbs ratio", "expected error of the Gibbs classifier over the Bayes-optimal error"),
)
"""Headings of the score table and what they mean."""

COST_HEADINGS = (
    ("Cost", "mean cost of the decisions, ± standard error, including the cost of rejected rows"),
    ("Δ cost", "difference from the recommended entry on the same rows"),
    ("Rejected", "share of rows without a decision, because the expected cost of the best one is too large"),
)
"""Further headings, where the comparison has costs or a reject option."""


def headings(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    """Return the headings of a comparison's table and what they mean."""
    found = HEADINGS if _drawn(comparison) else HEADINGS[:-1]
    return found if comparison.costs is None else found + COST_HEADINGS


def _drawn(comparison: Comparison) -> bool:
    """Return whether the Gibbs classifier is among the rules, so that there is a ratio of errors."""
    return any(rule == "gibbs" for _, rule in comparison.answers)


@dataclass(frozen=True)
class Cell:
    """One cell: what it shows, and the number by which its column is sorted."""

    text: str
    value: float | None = None


def cell(value: object) -> Cell:
    """Return a number with a few digits, and the number itself to sort by; words as they are."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        if isinstance(value, list | tuple):
            return Cell(", ".join(str(part) for part in value))
        return Cell("" if value is None else str(value))
    if isinstance(value, int | np.integer):
        return Cell(f"{value:,}".replace("-", "−"), float(value))
    if np.isnan(value):
        return Cell("")
    return Cell(f"{value:.{SIGNIFICANT}g}".replace("-", "−").replace("inf", "∞"), float(value))


@dataclass(frozen=True)
class Line:
    """One entry of the score table; where there are no scores, the reason why."""

    model: str
    anchor: str
    rule: str
    best: bool
    cells: tuple[Cell, ...] = ()
    reason: str = ""


def score_lines(comparison: Comparison, table: pd.DataFrame, anchors: dict[str, str]) -> list[Line]:
    """Return the entries of the score table; rules of one model that fail for the same reason share one."""
    lines, leader = [], comparison.best if "log_loss" in table else None
    for record in table.to_dict("records"):
        model, rule = record["model"], record["rule"]
        if not comparison.answers[model, rule].reason:
            best = (model, rule) == leader
            lines.append(Line(model, anchors[model], rule, best, _cells(record, best, _drawn(comparison))))
    for (model, reason), rules in failures(comparison).items():
        lines.append(Line(model, anchors[model], ", ".join(rules), False, (), reason))
    order = list(anchors)
    return sorted(lines, key=lambda line: order.index(line.model))


def failures(comparison: Comparison) -> dict[tuple[str, str], list[str]]:
    """Return the rules that could not answer, by model and reason."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for (model, rule), answer in comparison.answers.items():
        if answer.reason:
            grouped.setdefault((model, answer.reason), []).append(rule)
    return grouped


def _cells(record: dict[Any, Any], best: bool, drawn: bool) -> tuple[Cell, ...]:
    points, points_se = 100 * record["accuracy_diff"], 100 * record["accuracy_diff_se"]
    disagreement, ratio = record.get("disagreement", np.nan), record.get("error_ratio", np.nan)
    calibration = f"{number(record['calibration_error'])} [{number(record['calibration_low'])}, "
    rank = np.inf if np.isinf(record["log_loss"]) else float(record["log_loss_diff"])
    cells: tuple[Cell, ...] = (
        Cell(percent(record["accuracy"], record["accuracy_se"]), record["accuracy"]),
        Cell(log_loss(record), record["log_loss"]),
        Cell("–" if best else signed(record["log_loss_diff"], record["log_loss_diff_se"], 3), rank),
        Cell("–" if best else signed(points, points_se, 1), points),
        Cell(pair(record["brier"], record["brier_se"]), record["brier"]),
        Cell(f"{calibration}{number(record['calibration_high'])}]", record["calibration_error"]),
        Cell(percent(disagreement), disagreement) if np.isfinite(disagreement) else Cell(""),
        Cell(number(ratio, 2), ratio) if np.isfinite(ratio) else Cell("n/a" if record["rule"] == "gibbs" else ""),
    )
    cells = cells if drawn else cells[:-1]
    if "cost" not in record:
        return cells
    difference = record["cost_diff"]
    return (
        *cells,
        Cell(pair(record["cost"], record["cost_se"]), record["cost"]),
        Cell("–" if best else signed(difference, record["cost_diff_se"], 3), difference),
        Cell(percent(record["rejected"]), record["rejected"]),
    )


def log_loss(record: dict[Any, Any]) -> str:
    """Return a log loss with its standard error, or where it is infinite in how many rows."""
    infinite = int(record["log_loss_infinite"])
    if infinite:
        return f"∞ ({counted(infinite, 'row')}), else {number(record['log_loss_finite'])}"
    return pair(record["log_loss"], record["log_loss_se"])


def signed(value: float, error: float, digits: int) -> str:
    """Return a difference with its standard error and, where it is positive, a plus."""
    text = pair(value, error, digits)
    return f"+{text}" if np.isfinite(value) and value > NEGLIGIBLE else text


def cost_table(comparison: Comparison) -> dict[str, Any] | None:
    """Return the costs of decisions, one line per true class, and of a rejection; None without costs."""
    costs = comparison.costs
    if costs is None:
        return None
    names = [str(label) for label in comparison.classes]
    lines = [[f"{value:g}".replace("-", "−") for value in line] for line in costs.matrix]
    reject = "" if costs.reject is None else f"{costs.reject:g}"
    return {"classes": names, "lines": list(zip(names, lines, strict=True)), "reject": reject}


def class_counts(y: Integers, classes: NDArray[Any]) -> list[tuple[str, int, str]]:
    """Return label, rows and share of each class."""
    counts = np.bincount(y, minlength=len(classes))
    return [(str(label), int(rows), percent(rows / counts.sum())) for label, rows in zip(classes, counts, strict=True)]


@dataclass(frozen=True)
class ColumnSummary:
    """One column of the user's table."""

    name: str
    kind: str
    missing: int
    values: str


def column_summaries(frame: pd.DataFrame) -> list[ColumnSummary]:
    """Return the first `MOST_COLUMNS` columns with their kind, missing cells, and range or levels."""
    return [_summary(frame[name]) for name in list(frame.columns)[:MOST_COLUMNS]]


def _summary(column: pd.Series) -> ColumnSummary:
    kind, missing = columns.kind_of(column), int(column.isna().sum())
    if kind == "number":
        known = column.dropna().to_numpy(dtype=float)
        low, middle, high = np.quantile(known, [0, 0.5, 1]) if known.size else (np.nan,) * 3
        values = f"{low:.4g} to {high:.4g}, median {middle:.4g}".replace("-", "−") if known.size else "empty"
    else:
        levels = [f"{_short(level)} ({rows:,})" for level, rows in column.value_counts().items()]
        values = listed(levels, MOST_LEVELS, ", … ({total:,} levels)") or "empty"
    return ColumnSummary(str(column.name), kind, missing, values)


def _short(level: object) -> str:
    text = str(level)
    return text if len(text) <= LONGEST_LEVEL else text[: LONGEST_LEVEL - 1] + "…"
