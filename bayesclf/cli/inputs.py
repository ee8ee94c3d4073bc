"""The tables of the commands: loading, checking and showing them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bayesclf.cli.console import plain_table, wrapped
from bayesclf.cli.options import UNLABELED
from bayesclf.errors import InputError
from bayesclf.tables import columns, datasets
from bayesclf.tables.columns import ColumnKind, require_column
from bayesclf.tables.datasets import Dataset
from bayesclf.tables.remarks import EACH_ROW, FREE_TEXT, describe_columns
from bayesclf.wording import LONGEST_NAME, clipped, counted, listed, printable, visible, written

NAME_WIDTH = 30
"""The most characters of a name in the table of columns."""

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
    """

    dataset: Dataset
    X: pd.DataFrame
    y: pd.Series[Any]
    columns: pd.DataFrame

    @property
    def kinds(self) -> dict[str, str]:
        """Kind of each feature."""
        features = self.columns[self.columns["kind"] != "label"]
        return dict(zip(features["column"], features["kind"], strict=True))

    @property
    def texts(self) -> list[str]:
        """Columns that were left out and may be texts."""
        left_out = self.dataset.left_out
        return [name for reason in (FREE_TEXT, EACH_ROW) for name, why in left_out.items() if why == reason]


def load_training(
    table: str,
    target: str | None,
    reading: Mapping[str, Any],
    drop: Sequence[str] | None = None,
    kinds: Mapping[str, ColumnKind] | None = None,
    text: str | None = None,
    unlabeled: str = UNLABELED[0],
) -> Training:
    """Load a table and check all of it, so that no error in it interrupts the work later.

    Parameters
    ----------
    table
        A file or the name of a data set.
    target
        The label column; None for that of the data set.
    reading
        How a file is read, as `datasets.load` takes it.
    drop
        Columns to leave out.
    kinds
        Kinds of columns, instead of the inferred ones.
    text
        A column of text that is to be the only feature.
    unlabeled
        What to do with rows without a label, one of `UNLABELED`.

    Raises
    ------
    InputError
        For a table, a column or labels that cannot be used.
    """
    drop = list(drop or ())
    kinds = {**(kinds or {}), **({} if text is None else {text: "text"})}
    keep = [*reading.get("keep", ()), *(name for name in drop if name != target)]
    dataset = datasets.load(table, target, kinds, unlabeled=unlabeled, **{**reading, "keep": keep})
    names = [str(name) for name in dataset.frame.columns]
    for name in drop:
        require_column(name, names, table)
        if name == dataset.target:
            raise InputError(f"{name} is the label column; choose another for --drop or --group, or another --target")
    if text is not None:
        drop += [name for name in names if name not in (text, dataset.target)]
    told = (note for note in dataset.notes if not any(f"column {name!r}" in note for name in drop))
    dataset = replace(dataset, notes=tuple(told))
    frame = dataset.frame.drop(columns=list(dict.fromkeys([*drop, *dataset.left_out])))
    if len(frame.columns) == 1:
        raise InputError(f"no column is left other than the label {dataset.target!r}; keep at least one")
    described = describe_columns(frame, dataset.target, {name: kinds[name] for name in frame if name in kinds})
    X, y = frame.drop(columns=dataset.target), frame[dataset.target]
    X.attrs[columns.NOTES] = dataset.notes
    if y.nunique() < 2:
        raise InputError(
            f"the label column {y.name!r} has one class only, {str(y.iloc[0])!r}; it needs rows of at least two classes"
        )
    for name in X.columns[X.isna().all()]:
        raise InputError(f"column {name!r} has no values at all; leave it out with --drop {name}")
    return Training(dataset, X, y, described)


def source_files(dataset: Dataset) -> list[str]:
    """Return the file that a data set was read from, if it was a file."""
    return [path for path in (dataset.name, dataset.source) if os.path.isfile(path)]


def show_sentences(console: Console, label: str, sentences: Iterable[str]) -> None:
    """Print sentences, each after a word that says what they are."""
    for sentence in filter(None, sentences):
        console.print(wrapped(printable(f"{label}: {sentence}"), console.width), soft_wrap=True)


def show_training(console: Console, training: Training) -> None:
    """Print a summary of the table and the kinds of its columns."""
    show_sentences(console, "read", training.dataset.notes)
    console.print(_summary(training))
    console.print()
    shown = shown_columns(training)
    console.print(column_table(shown))
    if more := len(training.columns) - len(shown):
        console.print(f"… and {counted(more, 'more column', thousands='')}")
    console.print()


def shown_columns(training: Training) -> pd.DataFrame:
    """Return all columns, or of more than `LISTED_COLUMNS` the first, the label and those with a note."""
    described = training.columns
    if len(described) <= columns.LISTED_COLUMNS:
        return described
    said = " ".join(training.dataset.notes)
    some = described["column"].map(lambda name: f"column {name!r}" in said) | (described["kind"] == "label")
    some.iloc[: columns.LISTED_COLUMNS // 2] = True
    return described[some].head(columns.LISTED_COLUMNS)


def column_table(columns: pd.DataFrame) -> Table:
    """Return a table for the terminal, one line for each column, described by `describe_columns`."""
    table = plain_table(["column", "kind", "missing", "distinct", "values"], right=["missing", "distinct"])
    for line in columns.to_dict("records"):
        cells = (line["column"], line["kind"], line["missing"] or "", line["distinct"], line["summary"])
        texts = (Text(visible(str(cell)), no_wrap=True, overflow="ellipsis") for cell in cells)
        table.add_row(*texts, style="bold" if line["kind"] == "label" else "")
    table.columns[0].max_width = NAME_WIDTH
    for place in (1, 2, 3):
        table.columns[place].min_width = len("category")
    return table


def _summary(training: Training) -> str:
    counts = [
        f"{clipped(label, LONGEST_NAME)} {count}"
        for label, count in training.y.value_counts(sort=True).items()
        if count
    ]
    classes = listed(counts, LISTED_CLASSES)
    missing = int(training.X.isna().sum().sum())
    gaps = f"; {counted(missing, 'missing cell', thousands='')}" if missing else ""
    return (
        f"{training.dataset.name}: {len(training.y)} rows, {counted(len(training.kinds), 'feature', thousands='')}; "
        f"label {written(training.dataset.target, LONGEST_NAME)}, {len(counts)} classes ({classes}){gaps}"
    )
