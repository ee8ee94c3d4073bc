"""How well each class is found, and which errors are made."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from bayesclf.evaluation.comparison import Comparison
from bayesclf.typing import Array
from bayesclf.wording import counted, joined

MOST_ERRORS = 3
"""Kinds of errors that are named."""


def confusion(comparison: Comparison, model: str, rule: str) -> Array:
    """Return the rows of each true class decided as each class, (outcome, outcome); means over the repeats."""
    log_proba, y = comparison.stacked(model, rule)
    size = len(comparison.classes)
    counts = np.bincount(y * size + log_proba.argmax(axis=1), minlength=size * size).reshape(size, size)
    return np.asarray(counts / len(comparison.tested))


def area_under_roc(comparison: Comparison, model: str, rule: str) -> float:
    """Return the area under the ROC curve; of more than two classes, the mean of each class against the rest.

    It is the probability that a row of the class has a larger predicted probability of it than a row of the rest.
    """
    log_proba, y = comparison.stacked(model, rule)
    proba: Any = np.exp(log_proba)
    present = np.unique(y)
    if len(present) < 2:
        return float("nan")
    codes = [1] if len(comparison.classes) == 2 else present
    return float(np.mean([roc_auc_score(y == code, proba[:, code]) for code in codes]))


def errors(comparison: Comparison, model: str, rule: str) -> str:
    """Return a sentence on the most frequent errors; empty without any."""
    counts = np.round(confusion(comparison, model, rule)).astype(int)
    np.fill_diagonal(counts, 0)
    places = np.argsort(-counts, axis=None, kind="stable")[:MOST_ERRORS]
    names = [str(label) for label in comparison.classes]
    named = [
        f"{counted(int(counts[true, decided]), 'row')} of {names[true]} taken for {names[decided]}"
        for true, decided in zip(*np.unravel_index(places, counts.shape), strict=True)
        if counts[true, decided]
    ]
    if not named:
        return ""
    total = int(counts.sum())
    most = "" if total == sum(int(n) for n in counts.flat[places]) else "most often "
    return f"Its errors, {most}{joined(named)}."
