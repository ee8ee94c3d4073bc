"""Predictions for a table that is read batch by batch, written to a file batch by batch."""

from __future__ import annotations

import csv
import io
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesclf import rules
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.constraints import PATH, require
from bayesclf.errors import InputError, Refused
from bayesclf.files import STDOUT, write_text, write_whole
from bayesclf.interpretation.predictions import Columns, Decision, Extras, prediction_columns
from bayesclf.progress import Progress, shown
from bayesclf.tables.columns import Column, ColumnKind
from bayesclf.tables.stream_paths import require_elsewhere
from bayesclf.tables.streams import Stream, open_stream
from bayesclf.wording import listed

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ENDINGS = (".parquet", ".csv")
"""What names of files of predictions end in; words of csv are written by a function that may change them."""


@dataclass(frozen=True)
class Predicted:
    """How many rows were predicted, and how many of them left undecided."""

    rows: int
    rejected: int


def kind_to_read(column: Column) -> ColumnKind | None:
    """Return the kind to read a column of a file as; None infers it from the cells, for categories that are numbers.

    "01" that was a word in training must not come back as the number 1.
    """
    if column.kind == "number":
        return "number"
    return "text" if all(isinstance(level, str) for level in column.levels if level is not None) else None


def predict_stream(
    classifier: BayesClassifier,
    source: Any,
    output: str | os.PathLike[str],
    decision: Decision,
    extras: Extras,
    *,
    missing: Mapping[str, Sequence[object]] | None = None,
    progress: Progress = None,
    seen: Callable[[pd.DataFrame], object] | None = None,
    spelled: Callable[[str], object] = str,
) -> Predicted:
    """Write predictions for a stream; see `BayesClassifier.predict_stream`.

    Parameters
    ----------
    classifier
        Fitted.
    source
        As `bayesclf.tables.streams.open_stream` takes it.
    output
        A file of `ENDINGS`, or "-" for csv on stdout; a file is complete, or as it was before.
    decision, extras
        As in `prediction_columns`.
    missing
        By column, values that stand for "missing".
    progress
        The user's choice.
    seen
        Is called with each batch of rows.
    spelled
        What csv has for a label.
    """
    require(PATH, output=output)
    path = Path(output)
    if path != STDOUT and path.suffix.lower() not in ENDINGS:
        raise InputError(f"predictions are written to files that end in {listed(ENDINGS)}, not to {os.fspath(output)}")
    require_elsewhere(path, source, "output")
    if rules.resolve(classifier.requested_rule(decision.rule))[0].name == "gibbs":
        raise Refused(
            "the rule 'gibbs' draws a hypothesis by the number of a row in its table; take another for a stream"
        )
    needed = [column.name for column in classifier.columns_]
    kinds: dict[str, ColumnKind] = {}
    if isinstance(source, str | os.PathLike):
        kinds = {column.name: kind for column in classifier.columns_ if (kind := kind_to_read(column)) is not None}
    stream = open_stream(source, kinds, missing, needed)
    answers = _Answers(classifier, stream, decision, extras, progress, seen)
    if path == STDOUT:
        for columns in answers:
            write_text(STDOUT, _csv_text(columns, answers, spelled))
    elif path.suffix.lower() == ".csv":
        write_whole(path, lambda part: _write_csv(part, answers, spelled))
    else:
        import pyarrow as pa

        write_whole(path, lambda part: _write_parquet(part, answers), (OSError, pa.ArrowException))
    return Predicted(answers.rows, answers.rejected)


class _Answers:
    """The columns of predictions, batch by batch; iterating over it tells of progress and counts the rows."""

    def __init__(
        self,
        classifier: BayesClassifier,
        stream: Stream,
        decision: Decision,
        extras: Extras,
        progress: Progress,
        seen: Callable[[pd.DataFrame], object] | None,
    ) -> None:
        self.labels = classifier.classes_
        self.rows = self.rejected = 0
        self._classifier, self._stream, self._decision, self._extras = classifier, stream, decision, extras
        self._progress, self._seen = progress, seen

    def __iter__(self) -> Iterator[Columns]:
        stream, start = self._stream, time.perf_counter()
        with shown(f"predicting {stream.where}", stream.rows or 0, self._progress) as tell:
            for batch in stream.batches():
                if self._seen is not None:
                    self._seen(batch.table)
                try:
                    found = prediction_columns(self._classifier, batch.table, self._decision, self._extras)
                except InputError as reason:
                    if len(batch.table) == stream.rows:
                        raise
                    first = f"{batch.where}, counting from row {self.rows + 1:,} of the stream"
                    raise type(reason)(f"{first}: {reason}") from None
                numbers = np.arange(self.rows + 1, self.rows + len(batch.table) + 1)
                self.rows += len(numbers)
                if found["predicted"].dtype == object:
                    self.rejected += found["predicted"].tolist().count(None)
                yield {"row": numbers} | found
                speed = self.rows / max(time.perf_counter() - start, 1e-9)
                tell(f"{stream.where}, {speed:,.0f} rows a second", self.rows, stream.rows or self.rows)
        if not self.rows:
            raise InputError(f"{stream.where} has no rows to predict; give at least one")


def _csv_text(columns: Columns, answers: _Answers, spelled: Callable[[str], object]) -> str:
    """Return a batch as csv, with a header if it is the first one."""
    cells = {
        name: (values.astype(int) if values.dtype == bool else values).tolist() for name, values in columns.items()
    }
    cells["predicted"] = ["" if label is None else spelled(str(label)) for label in cells["predicted"]]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if columns["row"][0] == 1:
        writer.writerow(cells)
    writer.writerows(zip(*cells.values(), strict=True))
    return text.getvalue()


def _write_csv(part: Path, answers: _Answers, spelled: Callable[[str], object]) -> None:
    with part.open("w", encoding="utf-8", newline="") as file:
        for columns in answers:
            file.write(_csv_text(columns, answers, spelled))


def _write_parquet(part: Path, answers: _Answers) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    try:
        for columns in answers:
            table = pa.table({name: _arrow(values, name, answers.labels) for name, values in columns.items()})
            writer = pq.ParquetWriter(part, table.schema) if writer is None else writer
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _arrow(values: NDArray[Any], name: str, labels: NDArray[Any]) -> pa.Array:
    """Return a column of predictions, labels of a type that does not depend on the batch."""
    import pyarrow as pa

    if name != "predicted":
        return pa.array(values)
    if labels.dtype.kind in "biuf":
        return pa.array(values.tolist(), pa.from_numpy_dtype(labels.dtype))
    return pa.array([None if label is None else str(label) for label in values.tolist()], pa.string())
