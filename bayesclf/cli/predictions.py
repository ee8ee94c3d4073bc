"""Predictions for a table: reading it as the model saw its training rows, deciding, and writing csv."""

from __future__ import annotations

import csv
import io
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bayesclf import columns, datasets, decisions, tables
from bayesclf.cli.console import complain
from bayesclf.columns import Column
from bayesclf.errors import InputError
from bayesclf.families.base import Array
from bayesclf.tables import ColumnKind

if TYPE_CHECKING:
    import pandas as pd

    from bayesclf.classifiers import BayesClassifier


@dataclass(frozen=True, eq=False)
class Decision:
    """How labels are chosen.

    Attributes
    ----------
    rule
        Name of the rule; None for the model's own.
    cost
        Costs (outcome, outcome), true by predicted; None for 0-1 loss.
    reject
        Largest expected cost of a decision; None for no limit.
    class_prior
        Base rates (outcome); None for the training rows'.
    """

    rule: str | None = None
    cost: Array | None = None
    reject: float | None = None
    class_prior: list[float] | None = None

    def __post_init__(self) -> None:
        if self.reject is None:
            return
        if self.cost is None and not 0 <= self.reject <= 1:
            raise InputError(f"--reject must lie between 0 and 1, the expected share of errors, not {self.reject}")
        if not (math.isfinite(self.reject) and self.reject >= 0):
            raise InputError(f"--reject is an expected cost and must be at least 0, not {self.reject}")


@dataclass(frozen=True)
class Predictions:
    """Predicted rows as csv, and how many were left undecided."""

    csv: str
    rows: int
    rejected: int


def read_features(table: str, classifier: BayesClassifier) -> pd.DataFrame:
    """Read the columns that a model needs, each as what it was in training.

    Parameters
    ----------
    table
        A file or the name of a data set; other columns than the needed are ignored.
    classifier
        Fitted.

    Returns
    -------
    DataFrame
        Needed columns (row, feature).

    Raises
    ------
    InputError
        If a column is missing or holds something else than in training.
    """
    needed = classifier.columns_
    names = [column.name for column in needed]
    present = set(_read(table, {}).columns)
    lacking = [name for name in names if name not in present]
    if lacking:
        which = f"column {lacking[0]!r}" if len(lacking) == 1 else f"columns {', '.join(map(repr, lacking))}"
        raise InputError(f"{table} lacks the {which} that the model needs; add it, with empty cells where unknown")
    # "01" that was a word in training must not come back as the number 1
    kinds = {column.name: kind for column in needed if (kind := _kind(column)) is not None}
    X = _read(table, kinds)[names]
    for column in needed:
        if column.kind == "category":
            found = columns.codes(X, (column.name,), (column.levels,))
            if unseen := columns.unseen_cells(found, X, (column.name,)):
                complain(f"note: {unseen}")
    return X


def predict_table(classifier: BayesClassifier, X: pd.DataFrame, decision: Decision) -> Predictions:
    """Return a line a row: its number from 1, the predicted label, empty where undecided, and P of each label."""
    log_proba = classifier.predict_log_proba(X, decision.rule, decision.class_prior)
    codes = decisions.decide(log_proba, decision.cost, decision.reject)
    labels = ["" if label is None else str(label) for label in decisions.named(codes, classifier.classes_)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", "predicted", *(f"P({label})" for label in classifier.classes_)])
    for row, (label, proba) in enumerate(zip(labels, np.exp(log_proba).tolist(), strict=True), 1):
        writer.writerow([row, label, *proba])
    return Predictions(text.getvalue(), len(labels), int((codes == decisions.REJECTED).sum()))


def read_cost(path: str, labels: list[str]) -> Array:
    """Read costs cost[true, predicted].

    Parameters
    ----------
    path
        A csv file of numbers, a row a true label and a column a predicted one: either with the labels as its header
        and first column, in any order, or the numbers alone in the order of `labels`.
    labels
        The labels of the model.

    Returns
    -------
    ndarray
        Costs (outcome, outcome).

    Raises
    ------
    InputError
        If the file cannot be read, has another shape or labels, or a cell is not a finite number.
    """
    cells = _cells(path)
    size = len(labels)
    shape = (len(cells), *sorted({len(line) for line in cells}))
    if shape == (size + 1, size + 1):
        predicted, true = cells[0][1:], [line[0] for line in cells[1:]]
        for place, found in (("header", predicted), ("first column", true)):
            if sorted(found) != sorted(labels):
                raise InputError(
                    f"--cost {path}: the {place} has {', '.join(found)}, but the labels are {', '.join(labels)}"
                )
        rows = [[cells[1 + true.index(t)][1 + predicted.index(p)] for p in labels] for t in labels]
    elif shape == (size, size):
        rows = cells
    else:
        widths = " or ".join(map(str, shape[1:])) or "no"
        raise InputError(
            f"--cost {path} has {len(cells)} rows of {widths} cells, but {size} labels need {size} rows of {size} "
            f"numbers, or these with the labels ({', '.join(labels)}) as header and first column"
        )
    return np.array(
        [
            [_cost(cell, f"{t} predicted as {p}", path) for p, cell in zip(labels, row, strict=True)]
            for t, row in zip(labels, rows, strict=True)
        ]
    )


def _cells(path: str) -> list[list[str]]:
    """Return the cells of a small csv file, without blank lines."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"--cost {path} is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise InputError(f"--cost {path} cannot be read ({error.strerror}); check the path") from None
    try:
        lines = [[cell.strip() for cell in line] for line in csv.reader(text.splitlines(), strict=True)]
    except csv.Error as error:
        raise InputError(f"--cost {path} is not csv ({error}); write numbers with commas between them") from None
    return [line for line in lines if any(line)]


def _cost(cell: str, what: str, path: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"--cost {path} has {cell!r} for {what}, which is not a finite number; write one")
    return value


def _kind(column: Column) -> ColumnKind | None:
    """Return what to read a column as; None leaves it to the cells, for categories that are numbers."""
    if column.kind == "number":
        return "number"
    return "text" if all(isinstance(level, str) for level in column.levels if level is not None) else None


def _read(table: str, kinds: dict[str, ColumnKind]) -> pd.DataFrame:
    """Read a table that need not have labels."""
    if os.path.isfile(table):
        return tables.read_table(table, kinds)
    return datasets.load(table, dtypes=kinds).frame
