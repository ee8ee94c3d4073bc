"""Learning in parts: further rows, and tables read batch by batch, here or on Dask's workers.

In a pass over a table, a step adds what it finds in each batch. Statistics add, so that the posterior is that of all
rows.
"""
# ruff: noqa: SLF001 - some functions are methods of `BayesClassifier`

from __future__ import annotations

import operator
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import reduce
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.inputs import MOST_ROWS, UNLABELED_IN_PARTS, Training, checked_labels, possible_labels
from bayesclf.classifiers.training import NO_WORD, Learnt, block_cells
from bayesclf.constraints import Instance, OrNone, Several, require
from bayesclf.errors import InputError, Stopped
from bayesclf.families.gaussian import part_of_more
from bayesclf.progress import Progress, Tell, shown, silent
from bayesclf.tables.columns import Column, ColumnKind, column_kind, require_column, some_rows
from bayesclf.tables.levels import whole_labels
from bayesclf.tables.options import Wish, label_among, named_for, wish_of
from bayesclf.tables.reading import files_of, open_stream
from bayesclf.tables.remarks import about_columns, decided as decided_by, renamed, require_classes, require_emptied
from bayesclf.tables.streams import Batch, NoRows, Stream, Wanted, changed, written_words
from bayesclf.tables.writing import ONE_WAY, Survey
from bayesclf.wording import counted, flagged_rows, one_line


@dataclass(frozen=True)
class Reading:
    """What the columns of a stream are; as the arguments of `fit_stream`, and what the user says of the table."""

    target: str
    weight: str | None = None
    classes: Any = None
    drop: Sequence[str] = ()
    unlabeled: str = "drop"
    wish: Wish = field(default_factory=Wish)

    def __post_init__(self) -> None:
        target, weight = self.target, self.weight
        if not isinstance(target, str):
            raise InputError(f"target must be the name of the column of labels, not {target!r}")
        if not (weight is None or isinstance(weight, str)) or weight == target:
            raise InputError(f"weight must be the name of a column other than the target {target!r}, not {weight!r}")
        require(Several("columns, such as ['id']"), drop=self.drop)
        require(UNLABELED_IN_PARTS, unlabeled=self.unlabeled)

    def stream(self, source: Any) -> Stream:
        """Return a source as a stream of all columns that are not dropped."""
        return open_stream(source, self.wish, Wanted(drop=frozenset(self.drop)))

    def surveys_of(self, source: Any) -> Mapping[str, Survey]:
        """Return what the cells of each column of a part are like, if it is a file of text."""
        try:
            return self.stream(source).surveys
        except NoRows:
            return {}

    def opened(self, source: Any, expected: Mapping[str, str] | None = None) -> Opened:
        """Return a stream of features, labels and weights, and the features."""
        stream = replace(self.stream(source), expected=expected or {})
        others = [self.target, *([] if self.weight is None else [self.weight])]
        features = [name for name in stream.names if name not in others]
        return stream.select([*features, *others]), features

    def kinds_of_part(self, source: Any) -> dict[str, str]:
        """Return what columns of a part of a table hold, without those whose cells are all missing."""
        try:
            return self.opened(source)[0].found_kinds()
        except NoRows:
            return {}

    def counted(self, frame: pd.DataFrame, batch: Batch, written: frozenset[str], from_file: bool) -> Counted | None:
        """Return the rows of a batch that count, given its checked cells; None where none does.

        Levels of columns in `written`, words that are written out, are those that occur in rows that count. Whole
        labels of a file with gaps are whole numbers, as in memory.
        """
        y = batch.table[self.target]
        weight = None if self.weight is None else _weights(batch.table[self.weight])
        there = y.notna().to_numpy()
        if not there.all():
            if self.unlabeled != "drop":
                raise InputError(
                    f"column {self.target!r} has no label in {flagged_rows(~there)}; label these rows, or pass "
                    "unlabeled='drop' (--unlabeled drop) to leave them out"
                )
            frame, y, weight = some_rows(frame, there), y[there], None if weight is None else weight[there]
        if not len(y) or (weight is not None and (weight == 0).all()):
            return None
        y = whole_labels(y) if from_file else y.infer_objects()
        classes, codes = _coded_labels(y, self.classes)
        kept = Training.of(frame, codes, weight)
        if len(kept.y) < len(batch.table):
            used = {name: kept.frame[name].cat.remove_unused_categories() for name in kept.frame if name in written}
            kept = replace(kept, frame=kept.frame.assign(**used))
        return Counted(kept.frame, kept.y, kept.weight, classes=classes)

    def no_rows(self, any_row: bool) -> InputError:
        """Return the error for a stream of which no row counts, if it has any."""
        if not any_row:
            return InputError("there is no row to learn from; give at least two, of different classes")
        if self.weight is None:
            return InputError(f"no row counts, as none has a label in column {self.target!r}; label some")
        both = f"a label in column {self.target!r} and a weight above 0 in column {self.weight!r}"
        return InputError(f"no row counts, as none has {both}; give some rows both")


type Opened = tuple[Stream, list[str]]
"""A stream of features, labels and weights, and the names of the features."""


@dataclass(frozen=True, eq=False)
class Counted(Training):
    """Rows of a batch that count, and the labels in order.

    `before` counts the rows of the part before the batch, and `part` all rows of the part. `total` counts the rows of
    the table, if that is known and each counts once.
    """

    classes: NDArray[Any] = field(kw_only=True)
    before: int = 0
    part: int = 0
    total: int | None = None


def _coded_labels(y: pd.Series, classes: Any) -> tuple[NDArray[Any], Integers]:
    """Return the labels of a batch in order, or all that can occur, (outcome), and the codes of its rows (row)."""
    codes, occurring = pd.factorize(y)
    labels = checked_labels(pd.Series(occurring), len(occurring))
    known = possible_labels(labels, classes)
    return known, np.searchsorted(known, labels)[codes]


def _weights(column: pd.Series) -> Array:
    """Return a column of numbers as weights (row)."""
    try:
        return np.asarray(column.to_numpy(dtype=float, na_value=np.nan))
    except (TypeError, ValueError):
        raise InputError(f"the weights in column {column.name!r} must be numbers of at least 0") from None


@named_for("stream")
def decided(source: Any, how: Reading, client: Any, texts: bool) -> tuple[Any, Reading, list[str], Mapping[str, Any]]:
    """Return a table of files with its reading decided by the first batch, without useless columns, notes, and how.

    What is no file is returned as it is: there the user has chosen the columns, and notes name the useless ones.
    """
    if not isinstance(source, str | os.PathLike):
        notes = _about(source, how) if nw.dependencies.is_into_dataframe(source) else []
        return source, how, notes, how.wish.remembered()
    stream, parts = None, [source] if client is None else files_of(os.fspath(source))
    for part in parts:
        with suppress(*([] if client is None else [NoRows])):
            stream = how.stream(part)
            break
    if stream is None:
        return source, how, [], {}
    how = replace(how, target=label_among(stream.names, how.target))
    require_column(how.target, stream.names, stream.where)
    if (batch := next(stream.batches(), None)) is None:
        raise how.no_rows(any_row=False)
    keep = {*how.wish.keep, *how.wish.kinds, *(() if how.weight is None else (how.weight,))}
    words = [name for name in stream.written if name in batch.table.columns]  # whose levels are codes in a batch
    table = _written_out(batch.table, words)
    if texts:
        keep |= {name for name in words if column_kind(table[name]) == "text"}
    every_row = len(parts) == 1 and len(table) == stream.rows
    if how.classes is None:
        require_classes(table[how.target])
    as_written = how.wish.labels_as_written or client is not None
    found = decided_by(table, how.target, as_written, keep, stream.where, every_row, stream.sum_below)
    if found.slips:
        stream = changed(stream, how.target, lambda y: renamed(y, found.slips))
    left, notes = found.left_out, [*found.notes, *stream.notes]
    if client is None:
        return stream, replace(how, drop=tuple(left)), notes, stream.reading
    return source, replace(how, drop=(*how.drop, *left)), notes, stream.reading


def _about(source: Any, how: Reading) -> list[str]:
    """Return what there is to say about the columns of a table in memory, by its first batch."""
    stream, features = how.opened(source)
    if (batch := next(stream.batches(), None)) is None:
        return []
    table = batch.table[[name for name in features if name not in how.wish.kinds]]
    return about_columns(_written_out(table, [name for name in stream.written if name in table.columns]))


def _written_out(table: pd.DataFrame, words: Iterable[str]) -> pd.DataFrame:
    """Return a table whose columns of words have words instead of codes."""
    table = table.copy(deep=False)
    for name in words:
        table[name] = written_words(table[name])
    return table


class Unlike(InputError):
    """Parts of a table whose columns hold different things, as one may be empty in some of them."""


@dataclass(frozen=True, eq=False)
class Found:
    """What a pass finds.

    Attributes
    ----------
    clf
        The classifier that knows the names of the columns.
    value
        A value that adds. It has the `columns` that must be alike in all parts: all training columns, or none for plain
        sums. None where no row counts.
    rows, unlabeled
        Number of rows, and of those without a label.
    signs
        By column, the sign of its numbers, where they are words in the source.
    """

    clf: Any
    value: Any
    rows: int
    unlabeled: int
    signs: Mapping[str, str]

    def __add__(self, other: Found) -> Found:
        """Return what was found in two parts, whose columns must be alike."""
        rows, unlabeled = self.rows + other.rows, self.unlabeled + other.unlabeled
        signs = {**self.signs, **other.signs}
        for name, sign in self.signs.items():
            if signs[name] != sign:
                here, there = (repr(own) if own else "no sign" for own in (sign, signs[name]))
                raise InputError(f"column {name!r} has {here} in one part and {there} in another; {ONE_WAY}")
        if self.value is None or other.value is None:
            one = other if self.value is None else self
            return Found(one.clf, one.value, rows, unlabeled, signs)
        names, others = (list(found.clf.feature_names_in_) for found in (self, other))
        if differing := sorted(set(names).symmetric_difference(others)):
            raise InputError(f"column {differing[0]!r} is in one part and not in another; add it, or leave it out")
        kinds, of_others = ([column.kind for column in found.value.columns] for found in (self, other))
        if (names, kinds) != (others, of_others):
            raise Unlike(
                "the parts differ in the order or in the kinds of their columns; use one order, and declare the kinds "
                "(kinds={…}, --kind)"
            )
        return Found(self.clf, self.value + other.value, rows, unlabeled, signs)


type Step = Callable[[Any, Any, Counted], Any]
"""Returns what is found so far and in further rows, given the classifier and what is found so far, None at first."""


@dataclass(frozen=True, eq=False)
class Pass:
    """A pass over a table: a copy of an unfitted classifier checks each batch, and a step adds what is found in it."""

    clf: Any
    how: Reading
    step: Step

    def over(self, opened: Opened, tell: Tell = silent, nth: str = "", part: int | None = None) -> Found | None:
        """Return what is found in a stream; None where it has no row."""
        clf, (stream, features) = clone(self.clf), opened
        found, done, unlabeled, start = None, 0, 0, time.perf_counter()
        total = stream.rows if part is None and self.how.weight is None else None
        for batch in stream.batches():
            with _told_where(batch, done, stream):
                frame = clf._validated(batch.table[features], reset=not done)
                rows = self.how.counted(frame, batch, stream.written, stream.from_file)
                if rows is not None:
                    found = self.step(clf, found, replace(rows, before=done, part=part or 0, total=total))
            done += len(batch.table)
            unlabeled += int(batch.table[self.how.target].isna().sum())
            speed = done / max(time.perf_counter() - start, 1e-9)
            tell(f"{stream.where}{nth}, {speed:,.0f} rows a second", done, stream.rows or done)
        if part is None:
            require_emptied(self.how.wish, stream.names, stream.emptied, stream.where)
        return Found(clf, found, done, unlabeled, stream.signs) if done else None

    def over_part(self, source: Any, part: int, kinds: Mapping[str, str] | None) -> Found | None:
        """Return what is found in a part of a table, whose columns hold what is said; None where it has no row."""
        try:
            return self.over(self.how.opened(source, kinds), part=part)
        except NoRows:
            return None


@contextmanager
def _told_where(batch: Batch, done: int, stream: Stream) -> Iterator[None]:
    """Say in the sentence of an error which batch it is about, and how many rows were before it."""
    try:
        yield
    except InputError as reason:
        if len(batch.table) == stream.rows:
            raise
        first = f"{batch.where}, counting from row {done + 1:,} of the stream"
        raise type(reason)(f"{first}: {reason}") from None


def added[T](one: T | None, other: T | None) -> T | None:
    """Return the sum of what was found, if anything, in two parts."""
    if one is None or other is None:
        return one if other is None else other
    return one + other  # type: ignore[operator, no-any-return]


class StreamedTable:
    """A table that is read in batches, for as many passes as are needed, on this machine or on Dask."""

    def __init__(self, source: Any, how: Reading, client: Any, tell: Tell) -> None:
        self.how, self.client, self.tell = how, client, tell
        self.passes = self.rows = self.unlabeled = 0
        self._kinds: dict[str, str] | None = None
        if client is None:
            self._opened = how.opened(source)
        else:
            self._parts = parts_of(source)

    def require_again(self, what: str) -> None:
        """Raise `InputError` if the table can be read once only."""
        if self.client is None and not self._opened[0].again:
            raise InputError(
                f"{what} reads its rows repeatedly, but {self._opened[0].where} can be read only once; give files, a "
                "list of tables, or a function that returns an iterator"
            )

    def passed(self, clf: Any, step: Step) -> Found:
        """Make a pass and return what it found."""
        one = Pass(clone(clf), self.how, step)  # what a fit has so far holds the client, which workers cannot take
        self.passes += 1
        nth = f", pass {self.passes}" if self.passes > 1 else ""
        found = one.over(self._opened, self.tell, nth) if self.client is None else self._on_dask(one)
        if found is None or found.value is None:
            raise self.how.no_rows(found is not None)
        self.rows, self.unlabeled = found.rows, found.unlabeled
        return found

    def _on_dask(self, one: Pass) -> Found | None:
        """Return what workers find: one task a part, and a tree of additions where the parts are.

        Where parts seem to hold different things, they are asked what they hold. All are then read again by the first
        answer.
        """
        delayed = of_dask()

        def total() -> Found | None:
            """Return what all parts give."""
            tasks = [delayed(one.over_part, pure=False)(part, at, self._kinds) for at, part in enumerate(self._parts)]
            return computed(_tree(tasks, delayed(added, pure=False)), self.client)  # type: ignore[no-any-return]

        self.tell(f"fitting on Dask, pass {self.passes}", self.passes - 1, self.passes)
        try:
            return total()
        except Unlike:
            if self._kinds is not None:
                raise
            kinds = [delayed(self.how.kinds_of_part, pure=False)(part) for part in self._parts]
            self._kinds = computed(_tree(kinds, delayed(_first_of_each, pure=False)), self.client)
            return total()


def parts_of(source: Any) -> list[Any]:
    """Return each task's delayed partition, file or table; paths are absolute, as a worker may run elsewhere."""
    if isinstance(source, str | os.PathLike):
        return [path.absolute() for path in files_of(os.fspath(source))]
    if hasattr(source, "to_delayed"):
        return list(source.to_delayed())
    if isinstance(source, Sequence):
        if not source:
            raise InputError("the list of tables is empty; give at least one")
        return [os.path.abspath(part) if isinstance(part, str | os.PathLike) else part for part in source]
    raise InputError(
        "with a client the source must be files that all workers can read, a dask.dataframe or a list of tables, not a "
        f"{type(source).__name__}"
    )


def of_dask() -> Any:
    """Return the function that makes a task of another, or raise where Dask is not installed."""
    try:
        from dask.delayed import delayed
    except ImportError:
        raise InputError("a client needs Dask; install it with: pip install 'bayesclf[dask]'") from None
    return delayed


def computed(graph: Any, client: Any) -> Any:
    """Return what a delayed object of Dask evaluates to; other workers do the tasks of a worker that dies."""
    if not hasattr(client, "compute"):
        raise InputError(
            f"client must be a client of Dask, such as distributed.Client(address), not an object of type "
            f"{type(client).__name__}"
        )
    if (status := getattr(client, "status", "running")) != "running":
        raise InputError(f"the client of Dask is {status}; connect again, client = distributed.Client(address)")
    future = client.compute(graph)
    try:
        return _result(future, client)
    finally:  # of an error too, which keeps this frame: workers go on as long as anybody has the future
        future.release()


def _result(future: Any, client: Any) -> Any:
    """Return what a task has returned, or raise `Stopped` where the workers or the scheduler ended before it."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker

    try:
        return future.result()
    except KilledWorker as error:
        raise Stopped(f"Dask workers died during the work ({one_line(error)})") from None
    except (CancelledError, OSError) as error:
        if not future.cancelled() and client.status == "running":
            raise  # an error of the work itself
        raise Stopped("the connection to the Dask scheduler was lost") from error


def _tree(found: list[Any], add: Callable[[Any, Any], Any]) -> Any:
    """Return what adding all of them up, pair by pair, gives."""
    while len(found) > 1:
        pairs = zip(found[::2], found[1::2], strict=False)
        found = [add(one, other) for one, other in pairs] + found[len(found) // 2 * 2 :]
    return found[0]


def surveyed(how: Reading, source: Any, client: Any) -> Reading:
    """Return how a source is read whose files of text are parts: what cells mean is decided by those of all parts."""
    files = [part for part in parts_of(source) if isinstance(part, str | os.PathLike)]
    if len(files) < 2:
        return how
    tasks = [of_dask()(how.surveys_of, pure=False)(part) for part in files]
    surveys = computed(_tree(tasks, of_dask()(_sum_of_each, pure=False)), client)
    return replace(how, wish=replace(how.wish, surveys=surveys))


def _sum_of_each(one: Mapping[str, Survey], other: Mapping[str, Survey]) -> dict[str, Survey]:
    """Return what the cells of each column of two parts are like."""
    return {**one, **other, **{name: one[name] + other[name] for name in one.keys() & other.keys()}}


def _first_of_each(one: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    """Return what columns hold, by the first part that says so."""
    return {**other, **one}


def settle(self: Any, found: Found, classes: NDArray[Any], target: str) -> None:
    """Set the names and labels that a pass over a table has found."""
    if len(classes) < 2:
        raise InputError(
            f"column {target!r} has one class only, {str(classes[0])!r}; give rows of at least two "
            "classes, or name all that can occur (classes=[…])"
        )
    self.n_features_in_, self.feature_names_in_ = found.clf.n_features_in_, found.clf.feature_names_in_
    self.classes_, self.target_name_ = classes, target


MOST_KEPT = 2 * MOST_ROWS
"""Rows that are kept where their number is not known beforehand; of more than `MOST_ROWS`, as many are left out."""

KEY, LABEL, WEIGHT = 0, 1, 2
"""Columns of what is kept of rows: their priorities, labels and weights. Names of a table's columns are words."""


@dataclass(frozen=True, eq=False)
class LeftOutRows:
    """The rows that α and T are learned by: all where they are few, else some, whatever the batches.

    With a known number of rows, `total`, they are at even distances, as in a fit in memory. Otherwise they are the
    `MOST_KEPT` with the lowest priorities: random numbers, each a function of part and row. `seen` is how many rows
    were looked at; `tables` have cells, priorities, labels and weights of rows of each batch.
    """

    total: int | None = None
    part: int = 0
    seen: int = 0
    tables: tuple[pd.DataFrame, ...] = ()

    def with_rows(self, rows: Counted) -> LeftOutRows:
        """Return the same after a look at further rows."""
        some = rows.kept(rows.weights >= 1)
        keys = np.random.Generator(np.random.PCG64(self.part).advance(self.seen)).random(len(some.y))
        if self.total is not None:
            places = np.linspace(0, self.total - 1, MOST_ROWS).astype(np.intp) - self.seen
            keys[places[(places >= 0) & (places < len(keys))]] = 0
        limit = min((table[KEY].max() for table in self.tables if len(table) >= MOST_KEPT), default=1.0)
        below = np.flatnonzero(keys <= limit)
        lowest = below[_lowest(keys[below])]
        labels, weights = rows.classes[some.y[lowest]], some.weights[lowest]
        about = pd.DataFrame({KEY: keys[lowest], LABEL: labels, WEIGHT: weights})
        table = pd.concat([some.frame.iloc[lowest].reset_index(drop=True), about], axis=1)
        return replace(self, seen=self.seen + len(keys), tables=_thinned((*self.tables, table)))

    def rows(self) -> pd.DataFrame | None:
        """Return the rows: cells, labels and weights; None without any."""
        if not any(map(len, self.tables)):
            return None
        table = _joined(self.tables)
        if self.total == self.seen:
            return table[table[KEY] == 0].reset_index(drop=True)
        return table.iloc[_lowest(table[KEY])].reset_index(drop=True)

    def __add__(self, other: LeftOutRows) -> LeftOutRows:
        """Return the rows of two parts with the lowest priorities."""
        tables = _thinned((*self.tables, *other.tables))
        return LeftOutRows(None, self.part, self.seen + other.seen, tables)


def _thinned(tables: tuple[pd.DataFrame, ...]) -> tuple[pd.DataFrame, ...]:
    """Return rows without those of high priorities, where there are many."""
    if sum(map(len, tables)) <= 2 * MOST_KEPT:
        return tables
    table = _joined(tables)
    return (table.iloc[_lowest(table[KEY])],)


def _joined(tables: tuple[pd.DataFrame, ...]) -> pd.DataFrame:
    """Return the rows of all batches; columns whose levels differ from batch to batch hold these as objects."""
    return pd.concat(tables, ignore_index=True)


def _lowest(keys: ArrayLike) -> Integers:
    """Return the places of the `MOST_KEPT` lowest priorities, in their order."""
    keys = np.asarray(keys)
    few = len(keys) <= MOST_KEPT
    return np.arange(len(keys)) if few else np.sort(np.argpartition(keys, MOST_KEPT - 1)[:MOST_KEPT])


@dataclass(frozen=True, eq=False)
class Taught:
    """What a generative classifier learns in a pass: statistics, and the rows that α and T are learned by.

    The words of documents grow with every batch: moving all counts each time would take quadratic time. Each part has
    more than twice as many columns as the next, so that all parts have at most twice the columns.
    """

    parts: tuple[Learnt, ...]
    left_out: LeftOutRows

    @property
    def columns(self) -> tuple[Column, ...]:
        """The training columns."""
        return tuple(self.parts[0].columns.values())

    @property
    def learnt(self) -> Learnt:
        """What was learned from all batches."""
        return reduce(operator.add, self.parts)

    def __add__(self, other: Taught) -> Taught:
        """Return what the rows of both teach."""
        return Taught(_merged(self.parts, other.parts), self.left_out + other.left_out)


def _merged(parts: tuple[Learnt, ...], more: tuple[Learnt, ...]) -> tuple[Learnt, ...]:
    """Return parts and further ones, with two added where the first is not more than twice as wide."""
    kept = list(parts)
    for one in more:
        kept.append(one)
        while len(kept) > 1 and _width(kept[-2]) <= 2 * _width(kept[-1]):
            kept[-2:] = [kept[-2] + kept[-1]]
    return tuple(kept)


def _width(learnt: Learnt) -> int:
    return sum(len(block.names) for block in learnt.blocks)


def taught(self: Any, so_far: Taught | None, rows: Counted) -> Taught:
    """Return what the rows so far and further ones teach a generative classifier."""
    self.classes_ = rows.classes
    before = so_far or Taught((), LeftOutRows(rows.total, rows.part))
    blocks = self._blocks_of_batch(before.parts[0] if so_far else None)
    with part_of_more(rows.before * rows.frame.shape[1]):
        learnt = self._learn(rows, blocks, every_row=False)
    left_out = before.left_out
    if self._may_temper or any(block.learned_alpha for block in learnt.blocks):
        left_out = left_out.with_rows(rows)
    return Taught(_merged(before.parts, (learnt,)), left_out)


def learn_stream(self: Any, table: StreamedTable) -> None:
    """Condition the model on a table that is read batch by batch; see `fit_stream`."""
    self._check_options()
    self._require_words_in_parts("a table that is read in parts")
    if table.how.classes is None and self.prior is not None:
        table.how = replace(table.how, classes=self.prior.learnt.classes)
    found = table.passed(self, taught)
    learnt, rows = found.value.learnt, found.value.left_out.rows()
    settle(self, found, learnt.classes, table.how.target)
    if not any(block.names for block in learnt.blocks):
        raise InputError(NO_WORD)
    if rows is None:
        model = self._model_of(learnt)
    else:
        codes = np.searchsorted(self.classes_, np.asarray(rows[LABEL], dtype=self.classes_.dtype))
        frame = rows.drop(columns=[KEY, LABEL, WEIGHT])
        some = Training(frame, np.asarray(codes), np.asarray(rows[WEIGHT], dtype=float))
        model = self._model_of(_with_concentrations(self, learnt, some), some)
    self._infer(model)


def _with_concentrations(self: Any, learnt: Learnt, rows: Training) -> Learnt:
    """Return what was learned from a stream with the α that the rows to be left out teach."""
    if self.prior is not None:
        return learnt
    table = self._table_of(rows.frame, learnt)
    cells = [block_cells(learnt, table, block) if block.learned_alpha else None for block in learnt.blocks]
    class_prior = self._class_prior(learnt.counts).posterior(learnt.counts)
    return learnt.learned_from_rows(cells, rows, class_prior)


def partial_fit[C](
    self: C, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, unlabeled: str = "error"
) -> C:
    """Add rows to what was learned so far; over any split of the rows the result is that of `fit`.

    An α that is learned by leave-one-out needs all rows: it stays that of an earlier `fit`, or 1.

    Parameters
    ----------
    X, y, sample_weight
        As in `fit`.
    classes : sequence of labels or None
        All labels that can occur; needed at the first call unless these rows have them all, and the same
        ones, if any, at the others.
    unlabeled : {"error", "drop"}
        Whether rows without a label are refused or left out; to learn from them takes all rows at once, by `fit`.

    Raises
    ------
    InputError
        As `fit`; and for other classes than those of the first call.
    Refused
        If an option of the prior or of the blocks has changed since rows were learned, or rows had no label.
    """
    clf: Any = self
    with clf._rollback_on_error():
        first = not hasattr(clf, "_learnt")
        if not first:
            clf._require_continuable("updated")
        rows, remarks = clf._training(X, y, sample_weight, classes, unlabeled, in_parts=True)
        clf._require_words_in_parts("partial_fit")
        added = clf._learn(rows, None if first else clf._blocks_of_batch(clf._gathered), every_row=False)
        clf._infer(clf._model_of(added if first else clf._gathered + added))
        clf.notes_ += remarks
    return self


def same_setting(value: Any, other: Any) -> bool:
    """Return whether two values of an option are the same, arrays and priors that hold arrays among them."""
    if value is other:
        return True
    if is_dataclass(value) and not isinstance(value, type):
        of_both = ((getattr(value, own.name), getattr(other, own.name)) for own in fields(value) if own.init)
        return type(value) is type(other) and all(same_setting(*pair) for pair in of_both)
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(same_setting(own, other[key]) for key, own in value.items())
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return len(value) == len(other) and all(map(same_setting, value, other))
    return np.array_equal(value, other, equal_nan=np.asarray(value).dtype.kind == "f")


def fit_stream[C](
    self: C,
    source: Any,
    target: str,
    *,
    weight: str | None = None,
    classes: Any = None,
    drop: Sequence[str] = (),
    kinds: Mapping[str, ColumnKind] | None = None,
    unlabeled: str = "drop",
    reading: Mapping[str, Any] | None = None,
    client: Any = None,
    progress: Progress = None,
) -> C:
    """Condition the model on a table that is read batch by batch, and need not fit into memory.

    The posterior is that of `fit` on all rows, whatever the batches and their order; classes and levels may appear
    late. What is learned by leaving out rows, α and T, is learned by at most 5,000: those that `fit` takes where
    the number of rows is known beforehand, else a random sample. Memory is that of a batch, of these rows, and of
    the statistics.

    `LogisticRegression` reads the rows many times: the first pass finds columns, levels, classes, means and sds.
    Then log likelihood, gradient, curvature and importance weights are sums over batches. Batches that are few
    enough stay in memory. The fitted model has the posterior and its mode, but no rows. What needs these, such as
    maximum likelihood, NUTS and checks of the training rows, raises `Refused`.

    Parameters
    ----------
    source : path, glob, table or iterable of tables
        Parquet, csv, tsv or jsonl files (all but Parquet also gzipped, and read twice) by path, folder or glob,
        such as ``"big/*.parquet"``; a pyarrow data set, table or reader; a polars LazyFrame, a DuckDB relation, a
        dask.dataframe; any table with Arrow's stream interface; a DataFrame; an iterable of tables; or a function
        without arguments that returns one.
    target : str
        The column of labels.
    weight : str or None
        A column that says how often each row counts.
    classes : sequence of labels or None
        All labels that can occur, where the rows may lack some.
    drop : sequence of str
        Columns that are left out.
    kinds : mapping from column to {"number", "category", "text"}, or None
        What columns hold, "number", "category" or "text", whatever they look like.
    unlabeled : {"drop", "error"}
        Whether rows without a label, which cannot teach in batches, are left out, which `notes_` say, or refused.
        Where some are left out, an α that is learned by leaving out rows is learned by a random sample.
    reading : mapping of str or None
        How tables are read, where what is found is not right: ``{"separator": ";", "missing": {"dose": [99]}}``,
        with the options of `bayesclf.datasets.read`. Columns of files that say nothing about new rows, such as names
        of rows and dates, are left out, and `notes_` says so.
    client : dask.distributed.Client or None
        A client of Dask: each partition of a dask.dataframe, file or table of a list is one task. Only statistics,
        and rows that α is learned by, come back. All parts must have their columns in the same order. The scheduler
        repeats tasks of a worker that dies.
    progress : bool, callable or None
        As in `bayesclf.set_progress`.

    Raises
    ------
    InputError
        For rows that `fit` refuses, a batch that lacks a column, and a column that holds words in some batches and
        numbers in others. For logistic regression also for what can be read once only, such as an iterator.
    Refused
        Where an option or an engine needs all rows at once.

    Examples
    --------
    >>> import bayesclf as bc, pandas as pd
    >>> parts = [pd.DataFrame({"x": [1.0, 1.2], "y": "low"}), pd.DataFrame({"x": [2.9, 3.1], "y": "high"})]
    >>> print(bc.GaussianNB(random_state=1).fit_stream(parts, "y").predict(pd.DataFrame({"x": [1.1, 3.0]})))
    ['low' 'high']
    """
    clf: Any = self
    with clf._rollback_on_error():
        require(OrNone(Instance(Mapping, "a mapping from columns")), kinds=kinds, reading=reading)
        how = Reading(target, weight, classes, drop, unlabeled, wish_of(reading or {}, kinds, target=target))
        if client is not None:
            how = surveyed(how, source, client)
        source, how, notes, reading = decided(source, how, client, clf._takes_text)
        clf.reading_ = dict(reading)
        with shown("fitting in batches", 0, progress) as tell:
            table = StreamedTable(source, how, client, tell)
            clf._learn_stream(table)
        if table.unlabeled:
            notes.append(f"{counted(table.unlabeled, 'row')} of {table.rows} without a label left out")
        clf.notes_ = [*notes, *clf.notes_]
    return self
