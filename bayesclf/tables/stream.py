"""Tables that are read a batch at a time: files, Arrow's data sets, lazy tables, iterables of tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bayesclf.errors import InputError
from bayesclf.tables.batches import Wanted, batch_rows, lacking_or_other, pieces, to_table, written_out
from bayesclf.tables.columns import ColumnKind, kinds_of, to_pandas
from bayesclf.tables.kinds import convert_columns, require_column, require_kinds
from bayesclf.tables.labels import renamed
from bayesclf.tables.missing import emptied
from bayesclf.tables.stream_paths import ending_of, files_of
from bayesclf.wording import LISTED_NAMES, listed, one_line

if TYPE_CHECKING:
    import pyarrow as pa

    from bayesclf.tables.delimited import Wish


def read_ahead[T](items: Generator[T]) -> Iterator[T]:
    """Yield what a generator does; another thread makes the next item while one is used, and no more than that.

    Parameters
    ----------
    items
        Must not depend on which thread it runs in; closed at the end.

    Examples
    --------
    >>> list(read_ahead(2 * number for number in range(3)))
    [0, 2, 4]
    """
    end = object()
    try:
        with ThreadPoolExecutor(1, "bayesclf reads ahead") as thread:
            made = thread.submit(next, items, end)
            while (item := made.result()) is not end:
                made = thread.submit(next, items, end)
                yield item  # type: ignore[misc]
    finally:
        with suppress(ValueError):  # the thread still makes an item, where a second interruption ended the wait for it
            items.close()


LIBRARIES = ("polars", "duckdb", "_duckdb")
"""Where classes of errors are from that a lazy table can raise whenever it is read."""


@dataclass(frozen=True)
class Batch:
    """Some rows of a stream.

    Attributes
    ----------
    where
        How messages call them.
    table
        Columns (row, feature), in the order of the stream's names.
    """

    where: str
    table: pd.DataFrame


@dataclass(frozen=True)
class Stream:
    """A table that is read a batch at a time.

    Attributes
    ----------
    where
        How messages call it.
    names
        Its columns.
    rows
        Number of rows, where it is known before they are read.
    read
        Reads columns of these names: yields tables, and how messages call each.
    from_file
        Whether cells are converted as `bayesclf.tables.reading.read_table` does: truth values become words.
    kinds
        Declared kinds of columns.
    missing
        By column, values that stand for "missing".
    written
        Columns of words that are written out, whose levels are those that occur, though batches have them as codes.
    again
        Whether it can be read more than once.
    expected
        What columns hold, "number" or "category", where their cells do not say so, as all of them are missing.
    files
        The files that it is read from; of other sources none. Their `read` takes, as its second argument, how many rows
        to leave out at the start.
    ahead
        Whether a batch of files is read while the one before is used, by a thread of its own.
    notes
        What was done to read the files, in sentences.
    """

    where: str
    names: tuple[str, ...]
    rows: int | None
    read: Callable[..., Iterator[tuple[str, pd.DataFrame]]]
    from_file: bool = False
    kinds: Mapping[str, ColumnKind] = field(default_factory=dict)
    missing: Mapping[str, Sequence[object]] | None = None
    written: frozenset[str] = frozenset()
    again: bool = True
    expected: Mapping[str, str] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    ahead: bool = False
    notes: tuple[str, ...] = ()

    def select(self, names: Sequence[str]) -> Stream:
        """Return the stream of some of its columns; the others are not read."""
        for name in names:
            require_column(name, self.names, self.where)
        kept = set(names)
        return replace(
            self,
            names=tuple(names),
            kinds={name: kind for name, kind in self.kinds.items() if name in kept},
            missing={name: values for name, values in (self.missing or {}).items() if name in kept},
        )

    def without(self, names: Sequence[str]) -> Stream:
        """Return the stream without some of its columns."""
        for name in names:
            require_column(name, self.names, self.where)
        return self.select([name for name in self.names if name not in names])

    def batches(self, after: int = 0) -> Iterator[Batch]:
        """Yield the rows in their order, at least one at a time.

        Parameters
        ----------
        after
            Rows to leave out at the start, of files only. Where a batch begins there, this one and all later ones are
            those of the whole stream.

        Raises
        ------
        InputError
            If a batch lacks a column or has another one, a column holds words here and numbers there, or the source
            cannot be read.
        """
        require_kinds(self.kinds, self.names, self.where)
        kinds = {name: kind for name, kind in self.expected.items() if name in self.names}
        if after:
            kinds = self.found_kinds() | kinds
        found = self._tables(after)
        for batch in read_ahead(found) if self.ahead and self.files else found:
            unknown = _note_kinds(batch.table, kinds)
            if unknown and self.again:
                kinds |= self.select(unknown).found_kinds()
            if unknown:
                kinds |= {name: kind for name, kind in kinds_of(batch.table).items() if name not in kinds}
            yield Batch(batch.where, _same_kinds(batch.table, kinds, batch.where))

    def found_kinds(self) -> dict[str, str]:
        """Return what columns hold, read as far as needed, without those whose cells are all missing; as `expected`."""
        kinds: dict[str, str] = {}
        for batch in self._tables():
            if not _note_kinds(batch.table, kinds):
                break
        return kinds

    def _tables(self, after: int = 0) -> Generator[Batch]:
        """Yield the rows, cells that stand for missing ones emptied, and columns what they are declared to be."""
        for where, found in self._read(after):
            if not len(found):
                continue
            table = found
            if tuple(found.columns) != self.names:
                lacking_or_other(found.columns, self.names, where, self.where)
                table = found[list(self.names)]
            if self.missing:
                table = emptied(table, self.missing, where)
            if self.from_file or self.kinds:
                table = _converted(table, self.kinds, where, self.from_file)
            yield Batch(where, table)

    def _read(self, after: int) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield what the source reads; errors of reading are the source's, whatever is done with the rows."""
        found = self.read(self.names, after) if after else self.read(self.names)
        while True:
            try:
                one = next(found)
            except StopIteration:
                return
            except Exception as error:
                if not is_of_source(error):
                    raise
                raise InputError(
                    f"{self.where} cannot be read to its end ({one_line(error)}); try again, or copy it"
                ) from error
            yield one


def relabeled(stream: Stream, name: str, slips: Mapping[str, str]) -> Stream:
    """Return a stream with other words for some of a column."""

    def read(names: tuple[str, ...], after: int = 0) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield batches of some columns, and how messages call each."""
        for where, table in stream.read(names, after):
            yield where, table.assign(**{name: renamed(table[name], slips)}) if name in table.columns else table

    return replace(stream, read=read)


def is_of_source(error: Exception) -> bool:
    """Return whether an error is one of reading, of the disk or of the library that a source is from."""
    import pyarrow as pa

    library = type(error).__module__.partition(".")[0]
    return isinstance(error, OSError | pa.ArrowException) or library in LIBRARIES


def _converted(table: pd.DataFrame, kinds: Mapping[str, ColumnKind], where: str, from_file: bool) -> pd.DataFrame:
    """Return columns as what they are declared to be; from files truth values and the like become words."""
    words = {
        name
        for name, dtype in table.dtypes.items()
        if isinstance(dtype, pd.CategoricalDtype) and all(isinstance(level, str) for level in dtype.categories)
    }
    wanted = {name: kind for name, kind in kinds.items() if name not in words or kind == "number"}
    if from_file:
        return convert_columns(table, wanted, where) if wanted or not _is_plain(table) else table
    if not wanted:
        return table
    return table.assign(**convert_columns(table[list(wanted)], wanted, where))


def _is_plain(table: pd.DataFrame) -> bool:
    return all(isinstance(dtype, pd.CategoricalDtype) or dtype.kind in "iuf" for dtype in set(table.dtypes))


def _note_kinds(table: pd.DataFrame, kinds: dict[str, str]) -> list[str]:
    """Note what columns hold, and return those of which nothing is known, as all cells are missing."""
    unknown = []
    for name, own in kinds_of(table).items():
        if name in kinds:
            continue
        if pd.isna(table[name].iloc[0]) and table[name].isna().all():
            unknown.append(name)
        else:
            kinds[name] = own
    return unknown


def _same_kinds(table: pd.DataFrame, kinds: Mapping[str, str], where: str) -> pd.DataFrame:
    """Return a table whose columns hold what those of the other batches do.

    A column without a value is what it is elsewhere: a batch of it may have any type.
    """
    empty: dict[str, pd.Series] = {}
    for name, own in kinds_of(table).items():
        known = kinds[name]
        if own == known:
            continue
        if not table[name].isna().all():
            said = {"number": "numbers", "category": "words"}
            raise InputError(
                f"column {name!r} holds {said[own]} in {where}, and {said[known]} in the rows before; declare what it "
                f'is, with --kind {name}=category (kinds={{"{name}": "category"}} in Python)'
            )
        cells = [float("nan")] * len(table) if known == "number" else [None] * len(table)
        empty[name] = pd.Series(cells, index=table.index, dtype=float if known == "number" else object)
    return table.assign(**empty) if empty else table


def open_stream(
    source: Any,
    kinds: Mapping[str, ColumnKind] | None = None,
    missing: Mapping[str, Sequence[object]] | None = None,
    needed: Sequence[str] = (),
    drop: Sequence[str] = (),
    reading: Mapping[str, Any] | None = None,
    target: str | None = None,
) -> Stream:
    """Return a table as a stream.

    Parameters
    ----------
    source
        A Parquet, csv or tsv file (all but Parquet also gzipped), a folder of such files, or a glob; a pyarrow
        data set, table or reader; a polars LazyFrame, a DuckDB relation, a dask.dataframe; any table that offers
        Arrow's stream interface; a DataFrame; an iterable of tables; or a function without arguments that returns one.
    kinds
        What columns hold, "number", "category" or "text", whatever they look like.
    missing
        By column, values that stand for "missing".
    needed
        Columns that a model needs; all where there are none.
    drop
        Columns that are left out; parts of the stream may differ in them, and in those that are not needed.
    reading
        How files of text are read, by names of `bayesclf.tables.layout.ReadOptions`.
    target
        The column of labels, if there is one.

    Raises
    ------
    InputError
        If it is not one of these, or cannot be read.
    """
    from bayesclf.tables.delimited import wish_of

    wish = wish_of(reading or {}, kinds, missing, target, (*needed, *drop))
    kinds, given = dict(kinds or {}), dict(wish.missing)
    try:
        found = _opened(source, wish, Wanted(frozenset(needed), frozenset(drop)))
    except Exception as error:
        if not is_of_source(error):
            raise
        raise InputError(f"the source cannot be read ({one_line(error)}); look at what it reads") from error
    lacking = [name for name in needed if name not in found.names]
    if lacking:
        some = listed(map(repr, lacking), LISTED_NAMES)
        raise InputError(f"{found.where} lacks column {some}, which the model needs; add it, empty where unknown")
    require_kinds(kinds, found.names, found.where)
    for name in given:
        require_column(name, found.names, found.where)
    if wish.options.missing:
        given = {name: [*given.get(name, ()), *wish.options.missing] for name in found.names}
    whole = replace(found, kinds={**found.kinds, **kinds}, missing={**(found.missing or {}), **given} or None)
    return whole.select(needed) if needed else whole.without(drop)


def _opened(source: Any, wish: Wish, wanted: Wanted) -> Stream:

    if isinstance(source, Stream):
        return source
    if isinstance(source, str | os.PathLike):
        return _of_files(os.fspath(source), wish, wanted)
    if isinstance(source, pd.DataFrame):
        return _of_frame(source)
    found = _of_arrow(source)
    if found is not None:
        return found
    if hasattr(source, "partitions") and hasattr(source, "npartitions"):
        return _of_partitions(source)
    if isinstance(source, Iterable) or callable(source):
        return _of_iterable(source, wanted)
    raise InputError(
        f"a stream is read from files, Arrow's data sets, lazy tables or an iterable of tables, not from an object of "
        f"type {type(source).__name__}"
    )


def _of_files(path: str, wish: Wish, wanted: Wanted) -> Stream:
    paths = files_of(path)
    endings = {ending_of(one) for one in paths}
    if len(endings) > 1:
        raise InputError(f"{path} has files of several kinds, {listed(sorted(map(str, endings)))}; choose by a glob")
    if endings == {".parquet"}:
        from bayesclf.tables.parquet import stream

        return stream(paths, path, wanted)
    from bayesclf.tables.delimited import csv_stream

    return csv_stream(paths, path, wish, wanted)


def _of_arrow(source: Any) -> Stream | None:
    """Return the stream of a table or lazy table that offers batches of Arrow; None for another source."""
    import pyarrow as pa

    found = _batches_of(source)
    if found is None:
        return None
    where, schema, rows, run = found

    def read(names: tuple[str, ...]) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield batches of some columns, and how messages call each."""
        for whole in run(list(names)):
            for batch in pieces(whole.select(list(names))):
                yield where, to_table(batch)

    again = not isinstance(source, pa.RecordBatchReader)
    return Stream(where, _named(schema.names, where), rows, read, written=written_out(schema), again=again)


def _batches_of(source: Any) -> tuple[str, pa.Schema, int | None, Callable[[list[str]], Iterable[Any]]] | None:
    """Return how messages call a source, its schema, its rows, where known, and what reads batches of some columns."""
    import pyarrow as pa

    if isinstance(source, pa.RecordBatchReader):
        return "the reader", source.schema, None, lambda names: source
    if isinstance(source, pa.Table | pa.RecordBatch):
        table = pa.table(source)
        return "the table", table.schema, table.num_rows, lambda names: table.select(names).to_batches()
    if hasattr(source, "scanner") and hasattr(source, "count_rows"):
        return (
            *("the data set", source.schema, source.count_rows()),
            lambda names: source.to_batches(columns=names, batch_size=batch_rows(len(names))),
        )
    if hasattr(source, "collect_batches"):
        # the plan of a LazyFrame of Polars runs once for each pass, over the columns it needs
        return (
            *("the lazy frame", source.head(0).collect().to_arrow().schema, None),
            lambda names: (
                batch.to_arrow()
                for batch in source.select(names).collect_batches(
                    chunk_size=batch_rows(len(names)), maintain_order=True
                )
            ),
        )
    # a relation of DuckDB, by the method's name of today or of earlier versions
    run = getattr(source, "to_arrow_reader", None) or getattr(source, "fetch_record_batch", None)
    if run is not None:
        return "the relation", run(1).schema, None, lambda names: run(batch_rows(1))
    if hasattr(source, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream
        return "the table", reader(source).schema, None, lambda names: reader(source)
    return None


def _of_partitions(source: Any) -> Stream:
    """Return the stream of a dask.dataframe, one partition after the other."""

    def read(names: tuple[str, ...]) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield batches of some columns, and how messages call each."""
        for number in range(source.npartitions):
            where = f"partition {number + 1} of {source.npartitions}"
            for piece in pieces(source[list(names)].partitions[number].compute()):
                yield where, piece

    return Stream("the dask.dataframe", _named(source.columns, "the dask.dataframe"), None, read)


def _of_frame(source: pd.DataFrame) -> Stream:
    frame = source.set_axis([str(name) for name in source.columns], axis=1)

    def read(names: tuple[str, ...]) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield batches of some columns, and how messages call each."""
        for piece in pieces(frame[list(names)]):
            yield "the table", piece

    return Stream("the table", _named(frame.columns, "the table"), len(frame), read)


def _of_iterable(source: Iterable[Any] | Callable[[], Iterable[Any]], wanted: Wanted) -> Stream:
    """Return the stream of an iterable of tables, or of a function that returns one.

    It can be read again, unless it is an iterator.
    """
    start = source if callable(source) else lambda: source
    ahead = _iterator(start())
    first = next(ahead, None)
    if first is None:
        raise InputError("the iterable holds no table; give at least one")
    again = ahead is not source

    def tables() -> Iterator[Any]:
        """Yield the tables, the first one too."""
        if again:
            yield from _iterator(start())
        else:
            yield first
            yield from ahead

    def read(names: tuple[str, ...]) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield batches of some columns, and how messages call each."""
        for number, table in enumerate(tables(), start=1):
            where = f"table {number} of the iterable"
            frame = _frame(table, where)
            lacking_or_other(frame.columns, all_names, where, "the first one", wanted)
            for piece in pieces(frame[list(names)]):
                yield where, piece

    all_names = _named(_frame(first, "the first table of the iterable").columns, "the iterable")
    return Stream("the iterable", all_names, None, read, again=again)


def _iterator(tables: Any) -> Iterator[Any]:
    """Return an iterator over what a function of a stream returned."""
    if not isinstance(tables, Iterable) or isinstance(tables, str | Mapping):
        raise InputError(
            f"a function that is given as a stream must return an iterable of tables, not an object of type "
            f"{type(tables).__name__}"
        )
    return iter(tables)


def _frame(table: Any, where: str) -> pd.DataFrame:
    import pyarrow as pa

    if isinstance(table, pa.Table | pa.RecordBatch):
        return to_table(table)
    frame = to_pandas(table)
    if not isinstance(frame, pd.DataFrame):
        raise InputError(
            f"{where} is of type {type(table).__name__}; give DataFrames, whose columns have names, such as those of "
            "pandas.read_csv(…, chunksize=100_000)"
        )
    return frame.set_axis([str(name) for name in frame.columns], axis=1)


def _named(names: Iterable[Any], where: str) -> tuple[str, ...]:
    given = tuple(map(str, names))
    repeated = [name for name in given if given.count(name) > 1] if len(set(given)) < len(given) else []
    if repeated:
        raise InputError(f"{where} has several columns named {repeated[0]!r}; rename one")
    return given
