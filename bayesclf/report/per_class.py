"""How well each class is found, and which errors are made."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from bayesclf.typing import Array, Integers
from bayesclf.wording import counted, joined

MOST_ERRORS = 3
"""Kinds of errors that are named."""


def confusion(log_proba: Array, y: Integers) -> Array:
    """Return the rows of each true class decided as each class, (outcome, outcome).

    Parameters
    ----------
    log_proba
        log P(k | x), (row, outcome).
    y
        Label codes (row).
    """
    size = log_proba.shape[1]
    counts = np.bincount(y * size + log_proba.argmax(axis=1), minlength=size * size)
    return np.asarray(counts.reshape(size, size), dtype=float)


def area_under_roc(log_proba: Array, y: Integers) -> float:
    """Return the area under the ROC curve; of more than two classes, the mean of each class against the rest.

    It is the probability that a row of the class has a larger predicted probability of it than a row of the rest. NaN
    where all rows are of one class.
    """
    proba: Any = np.exp(log_proba)
    present = np.unique(y)
    if len(present) < 2:
        return float("nan")
    codes = [1] if proba.shape[1] == 2 else present
    return float(np.mean([roc_auc_score(y == code, proba[:, code]) for code in codes]))


def errors(counts: Array, classes: NDArray[Any]) -> str:
    """Return a sentence on the most frequent errors; empty without any.

    Parameters
    ----------
    counts
        As `confusion` returns them; means over the repeats are rounded.
    classes
        The labels (outcome).
    """
    counts = np.round(counts).astype(int)
    np.fill_diagonal(counts, 0)
    places = np.argsort(-counts, axis=None, kind="stable")[:MOST_ERRORS]
    names = [str(label) for label in classes]
    named = [
        f"{counted(int(counts[true, decided]), 'row')} of {names[true]} taken for {names[decided]}"
        for true, decided in zip(*np.unravel_index(places, counts.shape), strict=True)
        if counts[true, decided]
    ]
    if not named:
        return ""
    total = int(counts.sum())
    most = "" if total == sum(int(n) for n in counts.flat[places]) else "mostly "
    return f"Its errors: {most}{joined(named)}."
