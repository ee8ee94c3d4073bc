"""What a table that is read a batch at a time may be: files, Arrow's data sets, lazy tables, iterables of tables."""

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
from bayesclf.tables.stream_paths import ending_of, files_of
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
    """Return the stream of an iterable of tables, or of a function that returns one; an iterator is read once."""
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
