"""Tables that are read a batch at a time: Arrow's data sets, lazy tables, tables of memory, and iterables of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesclf.constraints import require_bytes
from bayesclf.errors import InputError, PredictionWarning, warn
from bayesclf.tables.columns import (
    ColumnKind,
    convert_columns,
    kinds_of,
    require_column,
    to_pandas,
)
from bayesclf.tables.options import named_for, option
from bayesclf.tables.remarks import ROW_NAMES, emptied
from bayesclf.wording import LISTED_NAMES, listed, one_line

if TYPE_CHECKING:
    import pyarrow as pa

    from bayesclf.tables.writing import Survey

BATCH_ROWS, BATCH_CELLS = 2**18, 2**24
"""The most rows of a batch, and the most cells, of which a wide table has fewer rows."""

LIBRARIES = ("polars", "duckdb", "_duckdb")
"""Libraries whose errors a lazy table can raise whenever it is read."""


class NoRows(InputError):
    """A file has column names and no row."""


def batch_rows(columns: int) -> int:
    """Return how many rows a batch of so many columns has."""
    return max(1, min(BATCH_ROWS, BATCH_CELLS // max(1, columns)))


def pieces(batch: Any) -> Iterator[Any]:
    """Yield slices of a batch of Arrow or pandas, each of at most as many rows as a batch may have."""
    size = batch_rows(batch.shape[1])
    if len(batch) <= size:
        yield batch
        return
    rows = getattr(batch, "iloc", batch)
    for start in range(0, len(batch), size):
        yield rows[start : start + size]


def _selected(batch: Any, names: Sequence[str]) -> Any:
    """Return some columns of a batch of Arrow or pandas."""
    return batch[list(names)] if isinstance(batch, pd.DataFrame) else batch.select(list(names))


type Part = tuple[str, Callable[[list[str]], Iterable[Any]]]
"""A part of a table: how messages call it, and what reads some columns in batches."""


def reader(parts: Callable[[], Iterable[Part]]) -> Callable[[tuple[str, ...]], Iterator[tuple[str, Any]]]:
    """Return the function of a stream that reads parts, each in pieces of at most as many rows as a batch may have."""

    def read(chosen: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        """Yield batches of some columns, and how messages call each."""
        for where, batches in parts():
            for batch in batches(list(chosen)):
                for piece in pieces(_selected(batch, chosen)):
                    yield where, piece

    return read


@dataclass(frozen=True)
class Wanted:
    """The columns of a stream that matter: those that a model needs, or all but dropped ones.

    With `row_names` those are read too whose names say that they name rows, such as "id"; they come first, as written.
    """

    needed: Collection[str] = ()
    drop: Collection[str] = ()
    row_names: bool = False

    def of(self, names: Iterable[str]) -> list[str]:
        """Return those of some columns that matter."""
        if self.needed:
            return [name for name in names if name in self.needed or name in self.of_rows([name])]
        return [name for name in names if name not in self.drop]

    def of_rows(self, names: Iterable[str]) -> list[str]:
        """Return those of some columns that are read because they name the rows, by their own names."""
        return [name for name in names if self.row_names and name not in self.needed and ROW_NAMES.fullmatch(name)]


ALL = Wanted()
"""All columns matter."""


def require_same(found: Iterable[str], names: Sequence[str], where: str, other: str, wanted: Wanted = ALL) -> None:
    """Raise `InputError` if a part of a stream lacks a column that another has, or has one more; order is free."""
    own, expected = wanted.of(found), wanted.of(names)
    for some, has, lacks in (
        ([name for name in expected if name not in set(own)], other, where),
        (sorted(set(own).difference(expected)), where, other),
    ):
        if some:
            which = listed(map(repr, some), LISTED_NAMES)
            raise InputError(f"{lacks} lacks column {which}, which {has} has; add it with empty cells, or drop it")


def names_of(files: Mapping[Path, Sequence[str]], wanted: Wanted) -> tuple[str, ...]:
    """Return the columns of files, without those that name rows in some of them only; errors as in `require_same`."""
    names: tuple[str, ...] = ()
    first = str(next(iter(files)))
    for path, found in files.items():
        if names:
            require_same(found, names, str(path), first, replace(wanted, row_names=False))
        names = (*names, *(name for name in found if name not in names))
    lacking = {name: path for path, own in files.items() for name in wanted.of_rows(names) if name not in own}
    for name, path in lacking.items():
        warn(f"column {name!r}, which names rows, is left out, as {path} lacks it", PredictionWarning)
    return tuple(name for name in names if name not in lacking)


def is_words(kind: pa.DataType) -> bool:
    """Return whether the cells of a column of this type are words, written out or coded."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def written_out(schema: pa.Schema) -> frozenset[str]:
    """Return the columns of words that are written out, not coded."""
    import pyarrow as pa

    return frozenset(f.name for f in schema if is_words(f.type) and not pa.types.is_dictionary(f.type))


def to_table(batch: pa.RecordBatch | pa.Table, plain: Collection[str] = (), coded: bool = True) -> pd.DataFrame:
    """Return a batch of Arrow as a table, with words as categoricals, or, unless `coded`, as words.

    Dictionary columns keep their levels in order. Written-out words, and dictionaries in `plain`, have sorted levels
    that occur. Integers with gaps are nullable, so that a level 1 stays 1.
    """
    columns: dict[str, Any] = {}
    for place, name in enumerate(batch.schema.names):
        columns[name] = _cells(batch.column(place), name in plain, coded)
    return pd.DataFrame(columns, index=pd.RangeIndex(batch.num_rows), copy=False)


def _cells(column: Any, plain: bool, coded: bool) -> Any:
    import pyarrow as pa

    types, kind = pa.types, column.type
    if is_words(kind):
        plain |= not types.is_dictionary(kind)
        if plain and not coded:
            return _words(column)
        words = _categorical(column, plain)
        return words if coded else pd.Categorical.from_codes(words.codes, words.categories.astype("str"))
    if types.is_null(kind):
        return np.full(len(column), np.nan)
    if types.is_decimal(kind):
        column, kind = column.cast(pa.float64()), pa.float64()
    if types.is_integer(kind) and column.null_count:
        mask = column.is_null().to_numpy(zero_copy_only=False)
        return pd.arrays.IntegerArray(column.fill_null(0).to_numpy(zero_copy_only=False), mask)
    if types.is_integer(kind) or types.is_floating(kind):
        return column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy()
    cells = column.to_pandas()
    return cells.to_numpy() if cells.dtype == object or cells.dtype == bool else cells.array


def _words(column: Any) -> Any:
    """Return words as strings; of a dictionary, equal words of any length may take few bytes until they are written."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        size = pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0
        require_bytes(size, "the words of a column", "leave it out")
        column = column.dictionary_decode()
    return column.to_pandas().array


def _categorical(column: Any, observed: bool) -> pd.Categorical:
    """Return words as codes of levels: those that occur, sorted, or those of the dictionary in its order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    coded = pa.types.is_dictionary(column.type)
    try:
        words = pd.Categorical((column if coded else pc.dictionary_encode(column)).to_pandas())
    except (ValueError, pa.ArrowInvalid):  # a level of a dictionary is missing, or there twice
        return _categorical(column.cast(column.type.value_type), observed=True)
    codes, levels = words.codes, words.categories.to_numpy(dtype=object)
    if observed:
        kept = np.flatnonzero(np.bincount(codes[codes >= 0] if column.null_count else codes, minlength=len(levels)))
        kept = kept[np.argsort(levels[kept])]
        places = np.full(len(levels) + 1, -1, dtype=codes.dtype)  # of a missing word's code, −1, the last
        places[kept] = np.arange(len(kept))
        codes, levels = places[codes], levels[kept]
    return pd.Categorical.from_codes(codes, dtype=_of_levels(tuple(levels), words.ordered), validate=False)


@lru_cache
def _of_levels(levels: tuple[str, ...], ordered: bool) -> pd.CategoricalDtype:
    """Return the dtype of words with these levels, which most batches of a table share."""
    return pd.CategoricalDtype(pd.Index(levels, dtype=object), ordered)


def written_words(column: pd.Series) -> Any:
    """Return coded words, written out; of them, pandas itself would look at each cell."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column.astype("str")
    return column.cat.categories.astype("str").array.take(column.cat.codes.to_numpy(), allow_fill=True)


@dataclass(frozen=True)
class Batch:
    """Some rows of a stream."""

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
        Reads columns of these names: yields how messages call each batch, and the batch, of Arrow or pandas.
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
        The files that it is read from; of other sources none.
    notes
        What was done to read the files, in sentences.
    sum_below
        Whether they say that the last row may be a sum.
    emptied
        Columns in which a cell that was read had a value that the user calls missing.
    signs
        By column, the sign of its numbers, where they are words in the source.
    reading
        How further files are to be read, as options of `bayesclf.datasets.read`.
    surveys
        Of files of text, what the cells of each column are like.
    """

    where: str
    names: tuple[str, ...]
    rows: int | None
    read: Callable[[tuple[str, ...]], Iterator[tuple[str, Any]]]
    from_file: bool = False
    kinds: Mapping[str, ColumnKind] = field(default_factory=dict)
    missing: Mapping[str, Sequence[object]] = field(default_factory=dict)
    written: frozenset[str] = frozenset()
    again: bool = True
    expected: Mapping[str, str] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    sum_below: bool = False
    emptied: set[str] = field(default_factory=set)
    signs: dict[str, str] = field(default_factory=dict)
    reading: Mapping[str, Any] = field(default_factory=dict)
    surveys: Mapping[str, Survey] = field(default_factory=dict)

    def select(self, names: Sequence[str]) -> Stream:
        """Return the stream of some of its columns; the others are not read."""
        for name in names:
            require_column(name, self.names, self.where)
        kinds = {name: kind for name, kind in self.kinds.items() if name in names}
        missing = {name: values for name, values in self.missing.items() if name in names}
        return replace(self, names=tuple(names), kinds=kinds, missing=missing)

    def whole(self) -> pd.DataFrame:
        """Return all rows, with words that are not coded; cells and columns as in batches."""
        tables = [_in_memory(batch, self.written, coded=False) for _, batch in self._read()]
        frame = tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)
        integer = pd.api.types.is_integer_dtype
        gaps = [name for name, own in frame.dtypes.items() if integer(own) and not isinstance(own, np.dtype)]
        frame = frame.astype(dict.fromkeys(gaps, object)) if gaps else frame
        frame = emptied(frame, self.missing, self.emptied)
        return convert_columns(frame, self.kinds, self.where, self.signs)

    def batches(self) -> Iterator[Batch]:
        """Yield the rows in their order, at least one at a time."""
        kinds = {name: kind for name, kind in self.expected.items() if name in self.names}
        for batch in self._tables():
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

    def _tables(self) -> Iterator[Batch]:
        """Yield the rows, cells that stand for missing ones emptied, and columns what they are declared to be."""
        for where, batch in self._read():
            if not len(batch):
                continue
            table = _in_memory(batch, self.written)
            if tuple(table.columns) != self.names:
                require_same(table.columns, self.names, where, self.where)
                table = table[list(self.names)]
            if self.missing:
                table = emptied(table, self.missing, self.emptied)
            if self.from_file or self.kinds:
                table = _converted(table, self.kinds, where, self.from_file, self.signs)
            yield Batch(where, table)

    def _read(self) -> Iterator[tuple[str, Any]]:
        """Yield what the source reads; errors of reading are the source's, whatever is done with the rows."""
        found = self.read(self.names)
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


def _in_memory(batch: Any, plain: Collection[str], coded: bool = True) -> pd.DataFrame:
    return batch if isinstance(batch, pd.DataFrame) else to_table(batch, plain, coded)


def changed(stream: Stream, name: str, change: Callable[[pd.Series], pd.Series]) -> Stream:
    """Return a stream with another column in place of one."""

    def read(names: tuple[str, ...]) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield batches of some columns, and how messages call each."""
        for where, batch in stream.read(names):
            table = _in_memory(batch, stream.written)
            yield where, table.assign(**{name: change(table[name])}) if name in table.columns else table

    return replace(stream, read=read)


def is_of_source(error: Exception) -> bool:
    """Return whether an error is one of reading, of the disk or of the library that a source is from."""
    import pyarrow as pa

    library = type(error).__module__.partition(".")[0]
    return isinstance(error, OSError | pa.ArrowException) or library in LIBRARIES


def _converted(
    table: pd.DataFrame, kinds: Mapping[str, ColumnKind], where: str, from_file: bool, signs: dict[str, str]
) -> pd.DataFrame:
    """Return columns as what they are declared to be; from files truth values and the like become words."""
    words = {
        name
        for name, dtype in table.dtypes.items()
        if isinstance(dtype, pd.CategoricalDtype) and all(isinstance(level, str) for level in dtype.categories)
    }
    wanted = {name: kind for name, kind in kinds.items() if name not in words or kind == "number"}
    if from_file:
        return convert_columns(table, wanted, where, signs)
    return table.assign(**convert_columns(table[list(wanted)], wanted, where, signs)) if wanted else table


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


@named_for("stream")
def _same_kinds(table: pd.DataFrame, kinds: Mapping[str, str], where: str) -> pd.DataFrame:
    """Return a table with the kinds of the other batches, as a column without a value may have any type."""
    empty: dict[str, pd.Series] = {}
    for name, own in kinds_of(table).items():
        known = kinds[name]
        if own == known:
            continue
        if not table[name].isna().all():
            said = {"number": "numbers", "category": "words"}
            raise InputError(
                f"column {name!r} holds {said[own]} in {where}, and {said[known]} in the rows before; declare what it "
                f"is, with {option('kind', {name: 'category'})}"
            )
        cells = [float("nan")] * len(table) if known == "number" else [None] * len(table)
        empty[name] = pd.Series(cells, index=table.index, dtype=float if known == "number" else object)
    return table.assign(**empty) if empty else table


def stream_of(source: Any, wanted: Wanted = ALL) -> Stream:
    """Return the stream of a table, a lazy table, or an iterable of tables."""
    import pyarrow as pa

    if isinstance(source, pd.DataFrame):
        return of_frame("the table", source)
    if hasattr(source, "partitions") and hasattr(source, "npartitions"):
        total = source.npartitions

        def partition(number: int, names: list[str]) -> list[pd.DataFrame]:
            """Return some columns of a partition."""
            return [source[names].partitions[number].compute()]

        parts: list[Part] = [(f"partition {n + 1} of {total}", partial(partition, n)) for n in range(total)]
        return _stream("the dask.dataframe", source.columns, lambda: parts)
    found = _of_arrow(source)
    if found is not None:
        where, schema, rows, run = found
        stream = _stream(where, schema.names, lambda: [(where, run)], rows)
        return replace(stream, written=written_out(schema), again=not isinstance(source, pa.RecordBatchReader))
    if isinstance(source, Iterable) or callable(source):
        return _of_iterable(source, wanted)
    raise InputError(
        f"a stream is read from files, Arrow's data sets, lazy tables or an iterable of tables, not from an object of "
        f"type {type(source).__name__}"
    )


def of_frame(where: str, frame: pd.DataFrame) -> Stream:
    """Return the stream of a table in memory."""
    return _stream(where, frame.columns, lambda: [(where, _as_part(frame))], len(frame))


def _as_part(frame: pd.DataFrame) -> Callable[[list[str]], list[pd.DataFrame]]:
    """Return what reads a table in memory, whose columns have words for names then."""
    return lambda names: [frame.set_axis(list(map(str, frame.columns)), axis=1)]


def _stream(where: str, columns: Iterable[Any], parts: Callable[[], Iterable[Part]], rows: int | None = None) -> Stream:
    """Return the stream of parts with some columns."""
    names = tuple(map(str, columns))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{where} has several columns named {twice!r}; rename one")
    return Stream(where, names, rows, reader(parts))


def _of_arrow(source: Any) -> tuple[str, pa.Schema, int | None, Callable[[list[str]], Iterable[Any]]] | None:
    """Return how messages call a source of Arrow, its schema, its rows, where known, and what reads some columns."""
    import pyarrow as pa

    if isinstance(source, pa.RecordBatchReader):
        return "the reader", source.schema, None, lambda names: source
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
        return "the table", reader(source).schema, getattr(source, "num_rows", None), lambda names: reader(source)
    return None


def _of_iterable(source: Iterable[Any] | Callable[[], Iterable[Any]], wanted: Wanted) -> Stream:
    """Return the stream of an iterable of tables, or of a function that returns one; an iterator is read once."""
    start = source if callable(source) else lambda: source
    ahead = _iterator(start())
    first = next(ahead, None)
    if first is None:
        raise InputError("the iterable holds no table; give at least one")
    again = ahead is not source

    def parts() -> Iterator[Part]:
        """Yield the tables as parts."""
        for number, table in enumerate(_iterator(start()) if again else chain([first], ahead), start=1):
            where = f"table {number} of the iterable"
            frame = _frame(table, where)
            require_same(map(str, frame.columns), stream.names, where, "the first one", wanted)
            yield where, _as_part(frame)

    columns = _frame(first, "the first table of the iterable").columns
    stream = replace(_stream("the iterable", columns, parts), again=again)
    return stream


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

    frame = to_table(table) if isinstance(table, pa.Table | pa.RecordBatch) else to_pandas(table)
    if not isinstance(frame, pd.DataFrame):
        raise InputError(
            f"{where} is of type {type(table).__name__}; give DataFrames with names of columns, as from "
            "pandas.read_csv(…, chunksize=100_000)"
        )
    return frame
