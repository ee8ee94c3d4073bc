"""Predictions for a table: reading it in the same way as the training rows, deciding, and writing csv."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesclf.cli.console import complain
from bayesclf.cli.csv_output import safe_cell
from bayesclf.errors import InputError
from bayesclf.interpretation.prediction_files import (
    Predicted,
    kind_to_read,
    unseen_levels,
    with_levels,
    write_predictions,
)
from bayesclf.interpretation.predictions import Decision, Extras, prediction_columns
from bayesclf.tables import datasets, reading
from bayesclf.tables.columns import ColumnKind
from bayesclf.tables.limits import MAX_BYTES
from bayesclf.tables.missing import emptied, numbered
from bayesclf.tables.stream_paths import is_name

if TYPE_CHECKING:
    import pandas as pd

    from bayesclf.classifiers import BayesClassifier


@dataclass(frozen=True)
class Predictions:
    """Predicted rows as csv, and how many were left undecided."""

    csv: str
    rows: int
    rejected: int


def read_features(
    table: str,
    classifier: BayesClassifier,
    missing: Mapping[str, Sequence[object]] | None = None,
    max_bytes: int = MAX_BYTES,
) -> pd.DataFrame:
    """Read the columns that a model needs, each with the kind that it had in training.

    Parameters
    ----------
    table
        A file or the name of a data set; all other columns are ignored.
    classifier
        Fitted.
    missing
        By column, the values that stand for "missing"; new rows need not hold them.
    max_bytes
        The most bytes that a packed file may be unpacked to.

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
    present = set(_read(table, {}, max_bytes).columns)
    lacking = [name for name in names if name not in present]
    if lacking:
        which = f"column {lacking[0]!r}" if len(lacking) == 1 else f"columns {', '.join(map(repr, lacking))}"
        raise InputError(f"{table} lacks the {which} that the model needs; add it, with empty cells where unknown")
    kinds = {column.name: kind for column in needed if (kind := kind_to_read(column)) is not None}
    missing = missing or {}
    numbers = {name for name, kind in kinds.items() if kind == "number" and name in missing}
    read = _read(table, {name: kind for name, kind in kinds.items() if name not in numbers}, max_bytes)
    X = numbered(emptied(read, missing, table, required=False), numbers, table, numbers)[names]
    X = with_levels(X, needed)
    for unseen in unseen_levels(X, needed, set()):
        complain(f"note: {unseen}")
    return X


def extras(sets: float | None, interval: float | None, uncertainty: bool) -> Extras:
    """Return what is shown besides probabilities; raise `InputError` for an option that is not a probability."""
    for option, value in (("--sets", sets), ("--interval", interval)):
        if value is not None and not 0 < value < 1:
            raise InputError(f"{option} is a probability between 0 and 1, such as 0.9, not {value:g}")
    return Extras(interval, sets, uncertainty)


def predict_table(
    classifier: BayesClassifier, X: pd.DataFrame, decision: Decision, extras: Extras, safe: bool = False
) -> Predictions:
    """Return one line per row: its number from 1, the predicted label (empty if undecided), P of each label, extras.

    If `safe`, labels that a spreadsheet would take for a formula get an apostrophe.
    """
    found = prediction_columns(classifier, X, decision, extras)
    predicted = found.pop("predicted").tolist()
    labels = ["" if label is None else str(label) for label in predicted]
    if safe:
        labels = [str(safe_cell(label)) for label in labels]
    columns: dict[str, Sequence[Any]] = {"row": range(1, len(labels) + 1), "predicted": labels}
    # truth values, of being in a set, are written as 0 and 1
    columns |= {
        name: (values.astype(int) if values.dtype == bool else values).tolist() for name, values in found.items()
    }
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return Predictions(text.getvalue(), len(labels), predicted.count(None))


def stream_predictions(
    classifier: BayesClassifier,
    table: str,
    output: str | Path,
    decision: Decision,
    extras: Extras,
    missing: Mapping[str, Sequence[object]] | None = None,
    safe: bool = False,
    max_bytes: int = MAX_BYTES,
    resume: bool = False,
) -> Predicted:
    """Write predictions for a table that is read batch by batch; parameters as in `read_features`, `predict_table`.

    The output may be a folder of parts; with `resume` those that it has are kept. Unseen levels are told once for
    each column.
    """

    def note(sentence: str) -> None:
        """Print a note."""
        complain(f"note: {sentence}")

    spelled = (lambda label: safe_cell(label)) if safe else str
    source: Any = table
    if is_name(table):
        kinds = {column.name: kind for column in classifier.columns_ if (kind := kind_to_read(column)) is not None}
        source = _read(table, kinds, max_bytes)
        if all(column.name in source.columns for column in classifier.columns_):
            source = with_levels(source, classifier.columns_)
    return write_predictions(
        classifier,
        source,
        output,
        decision,
        extras,
        missing=missing,
        resume=resume,
        tell_unseen=note,
        spelled=spelled,
    )


def _read(table: str, kinds: dict[str, ColumnKind], max_bytes: int) -> pd.DataFrame:
    """Read a table that need not have labels."""
    if os.path.isfile(table):
        return reading.read_table(table, kinds, max_bytes)
    return datasets.load(table, dtypes=kinds, max_bytes=max_bytes).frame
