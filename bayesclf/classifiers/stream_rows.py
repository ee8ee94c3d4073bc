"""Training rows of a table that passes batch by batch: what its columns are, labels, weights, and where a fault is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.labels import checked_labels, possible_labels
from bayesclf.classifiers.training import weighted
from bayesclf.constraints import Choice, Instance, OrNone, Several, require
from bayesclf.errors import InputError
from bayesclf.tables.columns import ColumnKind, column_kind, require_column
from bayesclf.tables.delimited import wish_of
from bayesclf.tables.reading import files_of, open_stream
from bayesclf.tables.remarks import left_out, mended_labels
from bayesclf.tables.streams import Batch, NoRows, Stream, relabeled
from bayesclf.wording import LISTED_ROWS, listed

EXACT = 2.0**53
"""Whole numbers below it are floats exactly."""


@dataclass(frozen=True)
class Reading:
    """What the columns of a stream are; as the arguments of `fit_stream`."""

    target: str
    weight: str | None
    classes: Any
    drop: tuple[str, ...]
    kinds: dict[str, ColumnKind]
    missing: dict[str, Sequence[object]]
    unlabeled: str = "error"
    options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        target: Any,
        weight: Any,
        classes: Any,
        drop: Any,
        kinds: Any,
        missing: Any,
        unlabeled: Any = "error",
        reading: Any = None,
    ) -> Self:
        """Check the arguments."""
        if not isinstance(target, str):
            raise InputError(f"target must be the name of the column of labels, not {target!r}")
        if not (weight is None or isinstance(weight, str)) or weight == target:
            raise InputError(f"weight must be the name of a column other than the target {target!r}, not {weight!r}")
        require(Several("columns, such as ['id']"), drop=drop)
        require(OrNone(Instance(Mapping, "a mapping from columns")), kinds=kinds, missing=missing, reading=reading)
        require(Choice(("error", "drop")), unlabeled=unlabeled)
        options = dict(reading or {})
        wish_of(options)
        return cls(target, weight, classes, tuple(drop), dict(kinds or {}), dict(missing or {}), unlabeled, options)

    def weights(self, batch: Batch) -> Array | None:
        """Return the weights of a batch's rows, (row), 0 where a row without a label is left out; None if all are 1."""
        weight = None if self.weight is None else _weights(batch.table[self.weight])
        if self.unlabeled != "drop":
            return weight
        return np.where(batch.table[self.target].isna(), 0.0, 1.0 if weight is None else weight)

    def labels(self, batch: Batch) -> pd.Series | None:
        """Return the labels of a batch's rows, (row), any one for a row that is left out; None where all are."""
        y = batch.table[self.target]
        lacking = y.isna().to_numpy()
        if not lacking.any():
            return _whole(y) if self.unlabeled == "drop" else y
        if self.unlabeled != "drop":
            rows = np.flatnonzero(lacking) + 1
            raise InputError(
                f"column {self.target!r} has {len(rows)} missing labels (rows {listed(rows, LISTED_ROWS)}); label "
                "them, or pass unlabeled='drop' (--unlabeled drop) to leave them out"
            )
        if lacking.all():
            return None
        return _whole(y.iloc[np.where(lacking, lacking.argmin(), np.arange(len(y)))])


def _whole(y: pd.Series) -> pd.Series:
    """Return labels as they were before missing ones, of this batch or of another, made floats or objects of them."""
    y = y.infer_objects()
    if y.dtype.kind == "f" and (y % 1 == 0).all() and (y.abs() < EXACT).all():
        return y.astype("int64")
    return y


def opened(source: Any, how: Reading, expected: Mapping[str, str] | None = None) -> tuple[Stream, list[str]]:
    """Return a stream of features, labels and weights, and the features."""
    found = open_stream(source, how.kinds, how.missing, (), how.drop, how.options, how.target)
    stream = replace(found, expected=expected or {})
    features = [name for name in stream.names if name not in (how.target, how.weight)]
    return stream.select([*features, how.target, *([] if how.weight is None else [how.weight])]), features


def decided(source: Any, how: Reading, client: Any, texts: bool) -> tuple[Any, Reading, list[str]]:
    """Return a table of files with its reading decided by the first batch, without useless columns, and notes.

    What is no file is returned as it is: there the user has chosen the columns.
    """
    if not isinstance(source, str | os.PathLike):
        return source, how, []
    stream, parts = None, [source] if client is None else files_of(os.fspath(source))
    for part in parts:
        with suppress(*([] if client is None else [NoRows])):
            stream = open_stream(part, how.kinds, how.missing, (), how.drop, how.options, how.target)
            break
    if stream is None:
        return source, how, []
    require_column(how.target, stream.names, stream.where)
    if (batch := next(stream.batches(), None)) is None:
        raise no_rows(how)
    keep = {*how.options.get("keep", ()), *how.kinds, *(() if how.weight is None else (how.weight,))}
    words = [name for name in stream.written if name in batch.table.columns]  # whose levels are codes in a batch
    table = batch.table.astype(dict.fromkeys(words, object))
    if texts:
        keep |= {name for name in words if column_kind(table[name]) == "text"}
    every_row = len(parts) == 1 and len(table) == stream.rows
    left, notes = left_out(table, how.target, keep, stream.where, every_row)
    labels = table[how.target].dropna()
    mends = client is None and not how.options.get("labels_as_written") and labels.dtype == object
    slips, said = mended_labels(labels) if mends else ({}, [])
    if slips:
        stream = relabeled(stream, how.target, slips)
    notes = [*notes, *stream.notes, *said]
    if client is None:
        return stream, replace(how, drop=tuple(left)), notes
    return source, replace(how, drop=(*how.drop, *left)), notes


def kinds_of_part(how: Reading, part: Any) -> dict[str, str]:
    """Return what columns of a part of a table hold, without those whose cells are all missing."""
    if isinstance(part, pd.DataFrame) and not len(part):
        return {}
    try:
        return opened(part, how)[0].found_kinds()
    except NoRows:
        return {}


@contextmanager
def told_where(batch: Batch, done: int, stream: Stream) -> Iterator[None]:
    """Say in the sentence of an error which batch it is about, and how many rows were before it."""
    try:
        yield
    except InputError as reason:
        if len(batch.table) == stream.rows:
            raise
        first = f"{batch.where}, counting from row {done + 1:,} of the stream"
        raise type(reason)(f"{first}: {reason}") from None


def no_rows(how: Reading) -> InputError:
    """Return the error for a stream of which no row counts."""
    if how.unlabeled == "drop":
        return InputError(f"no row counts: none has a label in column {how.target!r}, and a weight above 0; label some")
    if how.weight is None:
        return InputError("there is no row to learn from; give at least two, of different classes")
    return InputError(f"no row counts: there is none, or all weights of column {how.weight!r} are zero")


def require_classes(classes: NDArray[Any], target: str) -> None:
    """Raise `InputError` for labels that are all the same."""
    if len(classes) < 2:
        raise InputError(
            f"column {target!r} has one class only, {str(classes[0])!r}; give rows of at least two "
            "classes, or name all that can occur (classes=[…])"
        )


def coded_labels(y: pd.Series, classes: Any) -> tuple[NDArray[Any], Integers]:
    """Return the labels of a batch in order, or all that can occur, (outcome), and the codes of its rows (row)."""
    if not isinstance(y.dtype, pd.CategoricalDtype) or y.isna().any():
        labels = checked_labels(y, len(y))
        known = possible_labels(labels, classes)
        return known, np.asarray(np.searchsorted(known, labels))
    codes = y.cat.codes.to_numpy()
    occurring = np.unique(codes)
    labels = checked_labels(y.cat.categories.to_numpy()[occurring], len(occurring))
    known = possible_labels(labels, classes)
    places = np.zeros(len(y.cat.categories), dtype=np.intp)
    places[occurring] = np.searchsorted(known, labels)
    return known, places[codes]


def _weights(column: pd.Series) -> Array:
    """Return a column of numbers as weights (row)."""
    try:
        return np.asarray(column.to_numpy(dtype=float, na_value=np.nan))
    except (TypeError, ValueError):
        raise InputError(f"the weights in column {column.name!r} must be numbers of at least 0") from None


def labeled_rows(
    frame: pd.DataFrame, batch: Batch, how: Reading, classes: Any, written: frozenset[str]
) -> tuple[NDArray[Any], tuple[pd.DataFrame, Integers, Array | None]] | None:
    """Return the labels of a batch in order, (outcome), and its rows that count as (cells, codes, weights), if any."""
    y = how.labels(batch)
    if y is None:
        return None
    known, codes = coded_labels(y, classes)
    rows = counted(frame, codes, how.weights(batch), written)
    return None if rows is None else (known, rows)


def counted(
    frame: pd.DataFrame, codes: Integers, weight: Array | None, written: frozenset[str]
) -> tuple[pd.DataFrame, Integers, Array | None] | None:
    """Return training rows without those of weight 0, nor the levels that only these have; None if none is left."""
    if weight is not None and (weight == 0).all():
        return None
    rows: tuple[pd.DataFrame, Integers, Array | None] = weighted(frame, codes, weight)
    table = rows[0]
    if len(table) < len(frame):
        fewer = {name: table[name].cat.remove_unused_categories() for name in table.columns if name in written}
        rows = (table.assign(**fewer), *rows[1:])
    return rows
