"""The training rows of a fit, given again: most classifiers store what was learned from the rows, not the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.labels import checked_labels, require_labels_as
from bayesclf.errors import InputError
from bayesclf.models.base import Rows
from bayesclf.models.generative import GenerativeModel
from bayesclf.models.logistic.centered import CenteredRows, Matrix
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.models.logistic.streamed import RowsElsewhere
from bayesclf.typing import Array, Integers

NEEDED = "leaving rows out needs the training rows, a row of weight 2 twice"

SAME = 1e-6
"""Relative difference up to which statistics are those of the same rows: the order of rows changes rounding."""


@dataclass(frozen=True)
class TrainingRows:
    """Training rows in the encoding of their model, and their label codes (row)."""

    rows: Rows
    y: Integers

    def __len__(self) -> int:
        return len(self.rows)


def training_rows(clf: BayesClassifier, X: Any, y: Any) -> TrainingRows:
    """Return the rows that a classifier was fitted on, encoded, or raise `InputError` if they differ.

    Parameters
    ----------
    clf
        A fitted classifier.
    X, y
        The table (row, feature) and labels (row) that `fit` was given, or `partial_fit` in all, in any order; a row of
        weight w as w rows.

    Raises
    ------
    InputError
        If the rows are not the training rows.
    """
    rows = clf.rows(X)
    labels = checked_labels(y, len(rows))
    model: Any = clf.model_
    logistic = isinstance(model, LogisticModel)
    expected = model.label_counts
    require_labels_as(clf.classes_, labels)
    found, counts = np.unique(labels, return_counts=True)
    if not np.array_equal(clf.classes_[expected > 0], found) or not np.array_equal(expected[expected > 0], counts):
        raise InputError(
            f"{NEEDED}: the classifier was fitted on {_listed(clf.classes_, expected)}, but y has "
            f"{_listed(found, counts)}"
        )
    codes = np.searchsorted(clf.classes_, labels)
    if not (_same_design if logistic else _same_statistics)(model, rows, codes):
        raise InputError(
            f"{NEEDED}: X and y have as many rows of each class as the classifier was fitted on, but not the same ones"
        )
    return TrainingRows(rows, codes)


def _same_statistics(model: GenerativeModel, rows: Rows, y: Integers) -> bool:
    """Return whether rows have the statistics that a model was conditioned on."""
    for block, part in zip(model.blocks, rows.parts, strict=True):
        expected = block.statistics.arrays()
        found = block.family.statistics(part, y, block.statistics.axes).arrays()
        if not all(_close(found[name], values) for name, values in expected.items()):
            return False
    return True


def _same_design(model: LogisticModel, rows: Rows, y: Integers) -> bool:
    """Return whether rows are those that a model stores, where duplicate rows may be one row with a weight.

    Of a model that was fitted to batches only the columns' moments can tell.
    """
    if isinstance(model, RowsElsewhere):
        return model.has_moments_of(np.asarray(model.design.matrix(rows)))
    kind = kinds_of_rows((model.y, model.X), (y, model.design.matrix(rows)))
    surplus = np.bincount(kind, np.concatenate([model.sample_weight, np.full(len(y), -1.0)]))
    return bool((np.abs(surplus) <= SAME).all())


def kinds_of_rows(*parts: tuple[Integers, Matrix]) -> Integers:
    """Return a number for each row of tables (labels, columns), the same for rows with the same label and cells."""
    if all(isinstance(X, np.ndarray) for _, X in parts):
        cells = np.vstack([np.column_stack([y, np.asarray(X)]) for y, X in parts])
        return np.asarray(np.unique(cells, axis=0, return_inverse=True)[1].ravel())
    numbers: dict[tuple[int, bytes, bytes], int] = {}
    kinds = []
    for y, X in parts:
        stored = sparse.csr_array(X.cells if isinstance(X, CenteredRows) else X, copy=True)
        stored.eliminate_zeros()
        stored.sum_duplicates()
        for row, label in enumerate(y.tolist()):
            some = slice(stored.indptr[row], stored.indptr[row + 1])
            key = label, stored.indices[some].astype(np.intp).tobytes(), stored.data[some].tobytes()
            kinds.append(numbers.setdefault(key, len(numbers)))
    return np.array(kinds)


def _close(found: Array, expected: Array) -> bool:
    """Return whether two arrays are equal up to rounding."""
    largest = np.abs(expected).max(initial=0.0)
    return found.shape == expected.shape and np.allclose(found, expected, rtol=SAME, atol=SAME**2 * largest)


def _listed(labels: NDArray[Any], counts: NDArray[Any]) -> str:
    """Return how many rows there are of each label, in words."""
    return ", ".join(f"{count:g} of {str(label)!r}" for label, count in zip(labels, counts, strict=True))
