"""The tables of the commands: loading, checking and showing them, and predictions for them."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bayesclf.cli.console import complain, plain_table, safe_cell, wrapped
from bayesclf.cli.options import PLURAL, UNLABELED
from bayesclf.errors import InputError
from bayesclf.interpretation.prediction_files import (
    Predicted,
    kind_to_read,
    unseen_levels,
    with_levels,
    write_predictions,
)
from bayesclf.interpretation.predictions import Decision, Extras, prediction_columns
from bayesclf.tables import columns, datasets
from bayesclf.tables import reading as files
from bayesclf.tables.columns import ColumnKind
from bayesclf.tables.datasets import Dataset
from bayesclf.tables.delimited import wish_of
from bayesclf.tables.description import describe_columns
from bayesclf.tables.kinds import require_column
from bayesclf.tables.labels import require_classes
from bayesclf.tables.stream_paths import MAX_BYTES, is_name
from bayesclf.wording import (
    IN_ALL,
    LISTED_ROWS,
    LONGEST_NAME,
    clipped,
    counted,
    listed,
    printable,
    visible,
    written,
)

if TYPE_CHECKING:
    import pandas as pd

    from bayesclf.classifiers import BayesClassifier

LISTED_COLUMNS = 20
"""Tables with more columns are listed by kind."""

NAME_WIDTH, OTHER_WIDTH, SHORTEST_VALUES = 30, 31, 12
"""Widths in the table of columns: longest name, all but name and values, and shortest values."""

LISTED_CLASSES = 6
"""The most classes whose rows are counted in the summary."""


@dataclass(frozen=True, eq=False)
class Training:
    """A table to learn from.

    Attributes
    ----------
    dataset
        As loaded.
    X, y
        The features in use (row, feature) and the labels (row).
    columns
        Their description by `describe_columns`, including the label.
    dropped
        The numbers of rows without a label that were left out.
    """

    dataset: Dataset
    X: pd.DataFrame
    y: pd.Series[Any]
    columns: pd.DataFrame
    dropped: tuple[int, ...] = ()

    @property
    def kinds(self) -> dict[str, str]:
        """Kind of each feature."""
        features = self.columns[self.columns["kind"] != "label"]
        return dict(zip(features["column"], features["kind"], strict=True))


def load_training(
    table: str,
    target: str | None,
    drop: Sequence[str] | None,
    kinds: Mapping[str, ColumnKind],
    missing: Any = None,
    max_bytes: int = MAX_BYTES,
    unlabeled: str = UNLABELED[0],
    reading: Mapping[str, Any] | None = None,
    text: str | None = None,
) -> Training:
    """Load a table and check all of it, so that no error in it interrupts the work later.

    Parameters
    ----------
    table
        A file or the name of a data set.
    target
        The label column; None for that of the data set.
    drop
        Columns to leave out.
    kinds
        Kinds of columns, instead of the inferred ones.
    missing
        By column, the values that stand for "missing".
    max_bytes
        The most bytes that a packed file may be unpacked to.
    unlabeled
        What to do with rows without a label, one of `UNLABELED`.
    reading
        How a file is read.
    text
        A column of text that is to be the only feature.

    Returns
    -------
    Training
        Features and labels.

    Raises
    ------
    InputError
        For a table, a column or labels that cannot be used.
    """
    how, drop = dict(reading or {}), list(drop or ())
    kinds = {**kinds, **({} if text is None else {text: "text"})}
    how["keep"] = [*how.get("keep", ()), *(name for name in drop if name != target)]
    rows = "error" if unlabeled == "error" else "use"
    dataset = datasets.load(table, target, kinds, missing, max_bytes, rows, **how)
    names = [str(name) for name in dataset.frame.columns]
    for name in drop:
        require_column(name, names, table)
        if name == dataset.target:
            raise InputError(f"--drop {name} would drop the label column; choose another --target or keep it")
    if text is not None:
        drop += [name for name in names if name not in (text, dataset.target)]
    frame = dataset.frame.drop(columns=list(dict.fromkeys([*drop, *dataset.left_out])))
    if len(frame.columns) == 1:
        raise InputError(f"--drop leaves no column other than the label {dataset.target!r}; keep at least one")
    remaining = {name: kind for name, kind in kinds.items() if name in frame.columns}
    training = _described(dataset, frame, remaining)
    _check_labels(training)
    _check_cells(training)
    lacking = training.y.isna()
    if unlabeled == "drop" and lacking.any():  # after the checks, whose sentences have rows of the table
        labeled = columns.some_rows(frame, ~lacking.to_numpy())
        training = _described(dataset, labeled, remaining, tuple((np.flatnonzero(lacking) + 1).tolist()))
        _check_cells(training)
    if lacking.any() and pd.api.types.is_float_dtype(training.y.dtype):  # whole numbers, which missing ones made floats
        training = replace(training, y=training.y.astype("Int64"))
    return training


def _described(
    dataset: Dataset, frame: pd.DataFrame, kinds: Mapping[str, ColumnKind], dropped: tuple[int, ...] = ()
) -> Training:
    """Return features and labels of the columns in use with their description."""
    described = describe_columns(frame, dataset.target, kinds)
    X = frame.drop(columns=dataset.target)
    X.attrs[columns.NOTES] = (*filter(None, described["note"]), *dataset.notes)
    return Training(dataset, X, frame[dataset.target], described, dropped)


def _check_labels(training: Training) -> None:
    """Raise for labels that are not classes, or all of one class."""
    y, name = training.y, training.dataset.target
    require_classes(y)
    if y.nunique() < 2:
        only = str(y.dropna().iloc[0])
        raise InputError(
            f"the label column {name!r} has one class only, {only!r}; it needs rows of at least two classes"
        )


def _check_cells(training: Training) -> None:
    """Raise for columns without values and for infinite numbers."""
    empty = dict(zip(training.columns["column"], training.columns["distinct"] == 0, strict=True))
    for name, kind in training.kinds.items():
        if empty[name]:
            raise InputError(f"column {name!r} has no values at all; leave it out with --drop {name}")
        if kind == "number":
            columns.numbers(training.X, (name,))


def source_files(dataset: Dataset) -> list[str]:
    """Return the file that a data set was read from, if it was a file."""
    # where several places have the name, the source continues in parentheses
    source = dataset.source.partition(" (there is also ")[0]
    return [path for path in (dataset.name, source) if os.path.isfile(path)]


def show_training(console: Console, training: Training) -> None:
    """Print a summary of the table and the kinds of its columns."""
    for note in training.dataset.notes:
        console.print(wrapped(printable(f"read: {note}"), console.width), soft_wrap=True)
    console.print(_summary(training))
    described = training.columns
    notes = [note for note in described["note"] if note]
    console.print()
    console.print(column_table(shown_columns(described), console.width), soft_wrap=True)
    if len(described) > LISTED_COLUMNS:
        for kind in dict.fromkeys(training.kinds.values()):
            members = [name for name, own in training.kinds.items() if own == kind]
            names = visible(", ".join(members))
            line = f"{counted(len(members), kind, PLURAL[kind], thousands='')}: {names}"
            console.print(f"  {line}", overflow="ellipsis", no_wrap=True)
    for note in notes:
        console.print(wrapped(printable(f"note: {note}"), console.width), soft_wrap=True)
    if notes:
        console.print("(--kind COL=category, number or text sets the kind of a column)")
    console.print()


def shown_columns(described: pd.DataFrame) -> pd.DataFrame:
    """Return all columns, or of more than `LISTED_COLUMNS` the first, the last, the label and those with a note."""
    if len(described) <= LISTED_COLUMNS:
        return described
    some = (described["note"] != "") | (described["kind"] == "label")
    some.iloc[[0, -1]] = True
    return described[some].head(LISTED_COLUMNS)


def column_table(columns: pd.DataFrame, width: int) -> Table | Text:
    """Return a table for the terminal, one row per column, or a paragraph per column where it is too narrow for that.

    Parameters
    ----------
    columns
        Description of the columns by `describe_columns`.
    width
        Width of the terminal; long names and values are cut so that each row fits into one line.
    """
    table = plain_table(["column", "kind", "missing", "distinct", "values"], right=["missing", "distinct"])
    longest = min(max(len(str(name)) for name in columns["column"]), NAME_WIDTH)
    values = width - longest - OTHER_WIDTH
    if values < SHORTEST_VALUES:
        return Text("\n".join(_paragraph(line, width) for line in columns.to_dict("records")))
    for line in columns.to_dict("records"):
        style = "bold" if line["kind"] == "label" else ""
        name, summary = _cut(line["column"], longest), _cut(line["summary"], values)
        cells = (name, line["kind"], line["missing"] or "", line["distinct"], summary)
        table.add_row(*(Text(str(cell), no_wrap=True) for cell in cells), style=style)
    return table


def _paragraph(line: Mapping[Hashable, Any], width: int) -> str:
    """Return the name of a column, and what is known of it in indented lines."""
    missing = f"{line['missing']} missing, " if line["missing"] else ""
    about = f"{line['kind']}, {missing}{line['distinct']} distinct: {line['summary']}"
    return f"{_cut(line['column'], LONGEST_NAME)}\n{wrapped(printable(about), width, '  ')}"


def _cut(name: object, width: int) -> str:
    text = visible(str(name))
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"


def _summary(training: Training) -> str:
    counts = [
        f"{clipped(label, LONGEST_NAME)} {count}"
        for label, count in training.y.value_counts(sort=True).items()
        if count
    ]
    classes = listed(counts, LISTED_CLASSES)
    missing = int(training.X.isna().sum().sum())
    gaps = f"; {counted(missing, 'missing cell', thousands='')}" if missing else ""
    lacking = int(training.y.isna().sum())
    if lacking:
        gaps += f"; {counted(lacking, 'row', thousands='')} without a label"
    if training.dropped:
        rows = f"row{'s' * (len(training.dropped) > 1)} {listed(training.dropped, LISTED_ROWS, IN_ALL)}"
        gaps += f"; {counted(len(training.dropped), 'row', thousands='')} without a label left out ({rows})"
    return (
        f"{training.dataset.name}: {len(training.y)} rows, {counted(len(training.kinds), 'feature', thousands='')}; "
        f"label {written(training.dataset.target, LONGEST_NAME)}, {len(counts)} classes ({classes}){gaps}"
    )


@dataclass(frozen=True)
class Predictions:
    """Predicted rows as csv, and how many were left undecided."""

    csv: str
    rows: int
    rejected: int


def read_features(
    table: str,
    classifier: BayesClassifier,
    missing: Any = None,
    max_bytes: int = MAX_BYTES,
    reading: Mapping[str, Any] | None = None,
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
    reading
        How a file is read.

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
    present = set(_read(table, {}, {}, max_bytes, reading, names).columns)
    lacking = [name for name in names if name not in present]
    if lacking:
        which = f"column {lacking[0]!r}" if len(lacking) == 1 else f"columns {', '.join(map(repr, lacking))}"
        raise InputError(f"{table} lacks the {which} that the model needs; add it, with empty cells where unknown")
    kinds = {column.name: kind for column in needed if (kind := kind_to_read(column)) is not None}
    X = _read(table, kinds, missing or {}, max_bytes, reading, names)[names]
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
    missing: Any = None,
    safe: bool = False,
    max_bytes: int = MAX_BYTES,
    resume: bool = False,
    reading: Mapping[str, Any] | None = None,
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
        source = _read(table, kinds, {}, max_bytes, reading)
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
        reading=reading,
        tell_unseen=note,
        spelled=spelled,
    )


def _read(
    table: str,
    kinds: Mapping[str, ColumnKind],
    missing: Any,
    max_bytes: int,
    how: Mapping[str, Any] | None = None,
    known: Sequence[str] = (),
) -> pd.DataFrame:
    """Read a table that need not have labels, nor the values that stand for "missing"."""
    if os.path.isfile(table):
        wish = wish_of(how or {}, kinds, missing, known=known)
        return files.read_file(table, replace(wish, required=False), max_bytes).frame
    return datasets.load(table, dtypes=kinds, max_bytes=max_bytes).frame
