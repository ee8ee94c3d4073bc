"""Tables that are read a batch of rows at a time: files, Arrow's data sets, lazy tables, iterables of tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from bayesclf.errors import InputError
from bayesclf.tables.batches import Wanted, batch_rows, lacking_or_other, pieces, to_table, written_out
from bayesclf.tables.columns import ColumnKind, to_pandas
from bayesclf.tables.delimited import Wish, csv_stream, wish_of
from bayesclf.tables.kinds import require_column, require_kinds
from bayesclf.tables.stream import Stream, is_of_source
from bayesclf.tables.stream_paths import FilePart, ending_of, parts_of
from bayesclf.wording import LISTED_NAMES, listed, one_line

if TYPE_CHECKING:
    import pyarrow as pa


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
        A Parquet, csv, tsv or jsonl file (all but Parquet also gzipped), a folder of such files, or a glob; a pyarrow
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
    import pyarrow as pa

    if isinstance(source, Stream):
        return source
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        return _of_files(parts_of(path), path, wish, wanted)
    if isinstance(source, FilePart):
        return _of_files([source], str(source.path), wish, wanted)
    if isinstance(source, pd.DataFrame):
        return _of_frame(source)
    module = type(source).__module__.partition(".")[0]
    if isinstance(source, pa.Table | pa.RecordBatch):
        table = pa.table(source)
        return _of_arrow(
            "the table", table.schema, table.num_rows, lambda: table.to_reader(batch_rows(table.num_columns))
        )
    if isinstance(source, pa.RecordBatchReader):
        return _of_arrow("the reader", source.schema, None, lambda: source, again=False)
    if module == "pyarrow" and hasattr(source, "to_batches") and hasattr(source, "count_rows"):
        return _of_dataset(source)
    if hasattr(source, "collect_batches"):
        return _of_lazy_frame(source)
    # a relation of DuckDB, by the method's name of today or of earlier versions
    run = getattr(source, "to_arrow_reader", None) or getattr(source, "fetch_record_batch", None)
    if run is not None:
        return _of_arrow("the relation", run(1).schema, None, lambda: run(batch_rows(1)))
    if hasattr(source, "partitions") and hasattr(source, "npartitions"):
        return _of_partitions(source)
    if hasattr(source, "__arrow_c_stream__"):
        schema = pa.RecordBatchReader.from_stream(source).schema
        return _of_arrow("the table", schema, None, lambda: pa.RecordBatchReader.from_stream(source))
    if isinstance(source, Iterable):
        return _of_iterable(source, wanted)
    if callable(source):
        return _of_iterable(source, wanted)
    raise InputError(
        f"a stream is read from files, Arrow's data sets, lazy tables or an iterable of tables, not from an object of "
        f"type {type(source).__name__}"
    )


def _of_files(parts: Sequence[FilePart], path: str, wish: Wish, wanted: Wanted) -> Stream:
    endings = {ending_of(part.path) for part in parts}
    if len(endings) > 1:
        raise InputError(f"{path} has files of several kinds, {listed(sorted(map(str, endings)))}; choose by a glob")
    paths = [part.path for part in parts]
    notes: tuple[str, ...] = ()
    if endings == {".parquet"}:
        from bayesclf.tables.parquet import stream

        names, rows, written, read = stream(paths, path, wanted)
    elif endings == {".jsonl"}:
        from bayesclf.tables.text_files import json_stream

        names, rows, written, read = json_stream(paths, path, wish.kinds, wanted)
    else:
        names, rows, written, read, notes = csv_stream(paths, path, wish, wanted)
    found = Stream(path, names, rows, read, from_file=True, written=written, files=tuple(paths), notes=notes)
    keys = {name for part in parts for name in part.keys}.difference(names)
    return _with_keys(found, parts, sorted(keys)) if keys else found


def _with_keys(stream: Stream, parts: Sequence[FilePart], keys: Sequence[str]) -> Stream:
    """Return a stream of files with the columns that their folders' names give, such as "year=2024"."""
    given = {str(part.path): part.keys for part in parts}
    words = {name for name in keys if any(isinstance(part.keys.get(name), str) for part in parts)}

    def read(names: tuple[str, ...], after: int = 0) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield batches of some columns, after so many rows, each with its file's name."""
        own = tuple(name for name in names if name not in keys)
        for where, table in stream.read(own or stream.names[:1], after):
            more: dict[str, Any] = {}
            for name in names:
                if name in keys:
                    value = given[where].get(name)
                    more[name] = _repeated(value, len(table)) if name in words else [value] * len(table)
            yield where, table.assign(**more)[list(names)]

    names = (*stream.names, *keys)
    return replace(stream, names=names, read=read, written=stream.written | words)


def _repeated(word: str | int | None, rows: int) -> pd.Categorical:
    """Return a column of words that are all the same, or all missing."""
    levels = pd.Index([] if word is None else [word], dtype=object)
    return pd.Categorical.from_codes([-1 if word is None else 0] * rows, levels)


def _of_arrow(
    where: str,
    schema: pa.Schema,
    rows: int | None,
    reader: Callable[[], Iterable[pa.RecordBatch]],
    again: bool = True,
) -> Stream:
    """Return the stream of what Arrow reads."""

    def read(names: tuple[str, ...]) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield batches of some columns, and how messages call each."""
        for whole in reader():
            for batch in pieces(whole.select(list(names))):
                yield where, to_table(batch)

    return Stream(where, _named(schema.names, where), rows, read, written=written_out(schema), again=again)


def _of_dataset(source: Any) -> Stream:
    def read(names: tuple[str, ...]) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield batches of some columns, and how messages call each."""
        for whole in source.to_batches(columns=list(names), batch_size=batch_rows(len(names))):
            for batch in pieces(whole):
                yield "the data set", to_table(batch)

    names = _named(source.schema.names, "the data set")
    return Stream("the data set", names, source.count_rows(), read, written=written_out(source.schema))


def _of_lazy_frame(source: Any) -> Stream:
    """Return the stream of a LazyFrame of Polars, whose plan runs once for each pass, over the columns it needs."""

    def read(names: tuple[str, ...]) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield batches of some columns, and how messages call each."""
        found = source.select(list(names)).collect_batches(chunk_size=batch_rows(len(names)), maintain_order=True)
        for whole in found:
            for batch in pieces(whole.to_arrow()):
                yield "the lazy frame", to_table(batch)

    names = _named(source.collect_schema().names(), "the lazy frame")
    strings = frozenset(name for name, kind in source.collect_schema().items() if str(kind) == "String")
    return Stream("the lazy frame", names, None, read, written=strings)


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
