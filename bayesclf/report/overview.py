"""A comparison in a few lines: its entries by log loss, and the verdict."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesclf.display import Display
from bayesclf.evaluation.comparison import Comparison, score_table
from bayesclf.report.table import failures, log_loss, signed
from bayesclf.report.verdict import verdict
from bayesclf.wording import counted, joined, pair, percent

MOST_REASONS = 2
"""Reasons why rules have no answer that are shown; `table` has all."""

ERRORS = "(± over folds; below, over rows)"
"""What the standard errors of the table are over, and those of the sentences below it."""


def overview(comparison: Comparison) -> Display:
    """Return what a comparison shows of itself: the entries with the smallest log loss, and what to conclude."""
    table = score_table(comparison, calibration=False)
    records: list[dict[Any, Any]] = []
    if "log_loss" in table:
        records = table[table["log_loss"].notna()].sort_values("log_loss", kind="stable").to_dict("records")
    said = verdict(comparison, table)
    missing = [
        f"n/a: {_entries(comparison, model, rules)}: {why}" for (model, why), rules in failures(comparison).items()
    ]
    more = len(missing) - MOST_REASONS
    costs = () if comparison.costs is None else ("cost", "rejected")
    return Display(
        headline=_headline(comparison),
        header=("model", "rule", "accuracy", "log loss", "difference", "Brier", *costs) if records else (),
        lines=[_cells(record, position == 0) for position, record in enumerate(records)],
        best=0 if records else None,
        sentences=(
            *missing[:MOST_REASONS],
            *([f"n/a: {counted(more, 'more reason')} in the table"] if more > 0 else []),
            " ".join([said.headline, *said.findings[:2]]),
        ),
    )


def _entries(comparison: Comparison, model: str, rules: list[str]) -> str:
    """Return a model and some rules, or the model alone if these are all of several."""
    every = [rule for name, rule in comparison.answers if name == model]
    return model if len(every) > 1 and rules == every else f"{model} under {joined(rules)}"


def _headline(comparison: Comparison) -> str:
    rules = dict.fromkeys(rule for _, rule in comparison.answers)
    folds = counted(comparison.cv, "fold") + (f" × {comparison.repeats}" if comparison.repeats > 1 else "")
    entries = f"{counted(len(comparison.models), 'model')} × {counted(len(rules), 'rule')}"
    return f"Comparison of {entries} on {counted(len(comparison.y), 'row')}, {folds}, by log loss {ERRORS}"


def _cells(record: dict[Any, Any], best: bool) -> list[str]:
    difference = signed(record["log_loss_diff"], record["log_loss_diff_se"], 3)
    cells = [
        record["model"],
        record["rule"],
        percent(record["accuracy"], record["accuracy_se"]),
        log_loss(record),
        "best" if best else difference if np.isfinite(record["log_loss_diff"]) else "",
        pair(record["brier"], record["brier_se"]),
    ]
    if "cost" in record:
        cells += [pair(record["cost"], record["cost_se"]), percent(record["rejected"])]
    return cells
