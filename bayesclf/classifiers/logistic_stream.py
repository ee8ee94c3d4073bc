"""What logistic regression needs of a table that is read in batches: columns and labels first, then sums over rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayesclf import cluster
from bayesclf.arrays import Array
from bayesclf.classifiers.labels import require_same_labels
from bayesclf.classifiers.on_dask import first_of_each, of_dask, parts_of, tree
from bayesclf.classifiers.stream_rows import (
    Reading,
    kinds_of_part,
    labeled_rows,
    no_rows,
    opened,
    require_classes,
    told_where,
)
from bayesclf.errors import InputError
from bayesclf.families.moments import Moments
from bayesclf.models.logistic.centered import CenteredRows, with_ones
from bayesclf.models.logistic.design import (
    LogisticDesign,
    WeightedRows,
    encoded,
    gaps_of,
    levels_of,
    moments_of,
    names_of,
    training_columns,
)
from bayesclf.models.logistic.likelihood import Likelihood
from bayesclf.models.logistic.streamed import Sums, added
from bayesclf.progress import Tell
from bayesclf.tables import columns
from bayesclf.tables.columns import Column
from bayesclf.tables.streams import NoRows, Stream

if TYPE_CHECKING:
    import pandas as pd

KEPT_CELLS = 2**25
"""Cells of rows that are kept in memory, so that small streams are encoded once only."""
SPARSE_LEVELS = 4
"""How many levels there are for each number where rows are stored as sparse ones."""


class Checks(Protocol):
    """A classifier that checks rows, before it is fitted."""

    def checked(self, X: Any, first: bool) -> pd.DataFrame:
        """Return a batch of rows as a table whose columns are those of the first one."""

    @property
    def missing(self) -> str:
        """What is done about missing cells, "impute" or "error"."""


@dataclass(frozen=True, eq=False)
class Survey:
    """What the first pass finds, which adds: labels and weights, columns with levels, moments of the numbers."""

    classes: NDArray[Any]
    counts: Array
    columns: tuple[Column, ...]
    numbers: Moments
    gaps: NDArray[np.bool_]

    def __add__(self, other: Survey) -> Survey:
        """Return what both found."""
        require_same_labels(self.classes, other.classes)
        kind = np.result_type(self.classes, other.classes)
        classes = np.union1d(self.classes.astype(kind), other.classes.astype(kind))
        counts = np.zeros(len(classes))
        for part in (self, other):
            counts[np.searchsorted(classes, part.classes.astype(kind))] += part.counts
        pairs = zip(self.columns, other.columns, strict=True)
        both = tuple(mine.union(theirs) for mine, theirs in pairs)
        return Survey(classes, counts, both, self.numbers + other.numbers, self.gaps | other.gaps)

    @cached_property
    def design(self) -> LogisticDesign:
        """The columns of the design matrix."""
        numbers, categories = (names_of(self.columns, kind) for kind in ("number", "category"))
        return LogisticDesign.of_moments(self.numbers, self.gaps, numbers, categories, levels_of(self.columns))


def surveyed(clf: Checks, stream: Stream, features: Sequence[str], how: Reading, tell: Tell) -> Survey | None:
    """Return what a pass over a stream finds, and let the classifier know the names of its columns."""
    found: Survey | None = None
    done = 0
    for batch in stream.batches():
        with told_where(batch, done, stream):
            frame = clf.checked(batch.table[list(features)], first=done == 0)
            rows = labeled_rows(frame, batch, how, how.classes, stream.written)
            if rows is not None:
                own = _survey(*rows[1], rows[0])
                found = own if found is None else found + own
        done += len(batch.table)
        tell(f"{stream.where}, first pass", done, stream.rows or done)
    return found


def _survey(frame: pd.DataFrame, codes: Any, weight: Array | None, classes: NDArray[Any]) -> Survey:
    found = training_columns(frame)
    numbers = names_of(found, "number")
    weight = _weights(frame, weight)
    counts = np.bincount(codes, weight, minlength=len(classes))
    cells = columns.read_numbers(frame, numbers)
    columns.require_not_tiny(cells, numbers)
    return Survey(classes, counts, found, moments_of(cells, weight, numbers), gaps_of(cells))


def _weights(frame: pd.DataFrame, weight: Array | None) -> Array:
    return np.ones(len(frame)) if weight is None else weight


@dataclass(eq=False)
class Encoding:
    """How the rows of a stream become parts of a likelihood."""

    clf: Checks
    how: Reading
    survey: Survey

    def parts(self, stream: Stream, features: Sequence[str]) -> Iterator[tuple[int, Likelihood | None]]:
        """Yield how many rows a batch has, and the likelihood of those that count, duplicate rows merged."""
        done = 0
        for batch in stream.batches():
            with told_where(batch, done, stream):
                frame = self.clf.checked(batch.table[list(features)], first=False)
                rows = labeled_rows(frame, batch, self.how, self.survey.classes, frozenset())
                part = None if rows is None else self._likelihood(*rows[1])
            done += len(batch.table)
            yield len(batch.table), part

    def _likelihood(self, frame: pd.DataFrame, codes: Any, weight: Array | None) -> Likelihood:
        survey, design, others = self.survey, self.survey.design, len(self.survey.classes) - 1
        y = codes - 1 if others == 1 else np.where(codes == others, -1, codes)  # −1 is the reference
        rows = WeightedRows(encoded(survey.columns, frame, self.clf.missing), y, _weights(frame, weight)).merged()
        X: Any = with_ones(design.matrix(rows.rows))
        if sum(design.sizes) > SPARSE_LEVELS * len(design.varying):
            X = CenteredRows.of(sparse.csr_array(X), np.zeros(X.shape[1]))
        return Likelihood(X, rows.y, rows.weight, others)


@dataclass(eq=False)
class StreamParts:
    """The rows of a stream, encoded anew for each sum unless they are few."""

    encoding: Encoding
    source: tuple[Stream, Sequence[str]]
    tell: Tell
    passes: int = 1
    _kept: list[Likelihood] = field(default_factory=list)
    _complete: bool = False

    def summed(self, work: Callable[[Likelihood], Sums], add: Callable[[Sums, Sums], Sums] = added) -> Sums:
        """Return what a function returns for each part, added up."""
        return reduce(add, map(work, self._parts()))

    def _parts(self) -> Iterator[Likelihood]:
        self.passes += 1
        stream, done, cells, kept = self.source[0], 0, 0, True
        if self._complete:
            self.tell(f"{stream.where}, pass {self.passes}", stream.rows or 1, stream.rows or 1)
            yield from self._kept
            return
        self._kept = []
        for rows, part in self.encoding.parts(*self.source):
            if part is not None:
                cells += part.X.shape[0] * part.X.shape[1]
                kept = kept and cells <= KEPT_CELLS
                self._kept = [*self._kept, part] if kept else []
                yield part
            done += rows
            self.tell(f"{stream.where}, pass {self.passes}", done, stream.rows or done)
        self._complete = kept


@dataclass(eq=False)
class DaskParts:
    """The rows of parts of a table that Dask's workers read."""

    encoding: Encoding
    sources: Sequence[Any]
    client: Any
    kinds: dict[str, str]
    tell: Tell
    passes: int = 1

    def summed(self, work: Callable[[Likelihood], Sums], add: Callable[[Sums, Sums], Sums] = added) -> Sums:
        """Return what a function returns for each part, added up where the parts are."""
        self.passes += 1
        own = partial(_summed_part, self.encoding, self.kinds, work, add)
        total: Sums | None = on_each(self.sources, own, add, self.client)
        self.tell(f"fitting on Dask, pass {self.passes}", self.passes, self.passes)
        assert total is not None  # some rows count
        return total


def read(clf: Checks, source: Any, how: Reading, client: Any, tell: Tell) -> tuple[Encoding, StreamParts | DaskParts]:
    """Return how rows are encoded, with what the first pass has found, and the rows for further passes."""
    if client is None:
        opening = opened(source, how)
        if not opening[0].again:
            raise InputError(
                f"logistic regression reads its rows many times, and {opening[0].where} can be read once; give files, "
                "a list of tables, or a function that returns an iterator of them"
            )
        encoding = _encoding(clf, how, surveyed(clf, *opening, how, tell))
        return encoding, StreamParts(encoding, opening, tell)
    sources = parts_of(source)
    kinds = on_each(sources, partial(kinds_of_part, how), first_of_each, client)
    found = on_each(sources, partial(survey_part, clf, how, kinds), merged_surveys, client)
    encoding = _encoding(*(clf, how, None) if found is None else (found[0], how, found[1]))
    return encoding, DaskParts(encoding, sources, client, kinds, tell)


def _encoding(clf: Checks, how: Reading, survey: Survey | None) -> Encoding:
    if survey is None:
        raise no_rows(how)
    require_classes(survey.classes, how.target)
    return Encoding(clf, how, survey)


def on_each(parts: Sequence[Any], work: Callable[[Any], Any], add: Callable[[Any, Any], Any], client: Any) -> Any:
    """Return what a function returns for each part of a table, added up on Dask; None of parts without rows."""
    delayed = of_dask()
    task, merge = delayed(work, pure=False), delayed(partial(_either, add), pure=False)
    return cluster.computed(tree([task(part) for part in parts], merge), client)


def _either(add: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    if one is None or other is None:
        return one if other is None else other
    return add(one, other)


def _summed_part(
    encoding: Encoding,
    kinds: dict[str, str],
    work: Callable[[Likelihood], Sums],
    add: Callable[[Sums, Sums], Sums],
    source: Any,
) -> Sums | None:
    """Return the sums over a part of a table."""
    try:
        found = opened(source, encoding.how, kinds)
    except NoRows:
        return None
    own = [work(part) for _, part in encoding.parts(*found) if part is not None]
    return reduce(add, own) if own else None


def survey_part(clf: Checks, how: Reading, kinds: dict[str, str], source: Any) -> tuple[Any, Survey] | None:
    """Return the classifier with the names of its columns, and what is found in a part of a table."""
    try:
        stream, features = opened(source, how, kinds)
    except NoRows:
        return None
    found = surveyed(clf, stream, features, how, lambda *_: None)
    return None if found is None else (clf, found)


def merged_surveys(one: tuple[Any, Survey], other: tuple[Any, Survey]) -> tuple[Any, Survey]:
    """Return what was found in two parts, with columns in the order of the first."""
    mine, theirs = one[1].columns, other[1].columns
    if [(column.name, column.kind) for column in mine] != [(column.name, column.kind) for column in theirs]:
        raise InputError(
            "the columns of some parts are in another order, or differ in name or in what they hold; bring them into "
            "one order, and declare what they hold (kinds={…}, --kind)"
        )
    return one[0], one[1] + other[1]
