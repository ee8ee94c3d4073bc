"""Parquet files: read once what their headers declare is found to fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bayesclf.errors import InputError
from bayesclf.tables.batches import ALL, NoRows, Wanted, after_rows, batch_rows, lacking_or_other
from bayesclf.tables.columns import not_plain
from bayesclf.tables.stream import Stream
from bayesclf.tables.stream_paths import require_names, too_large
from bayesclf.wording import counted

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

CELL = 8
"""Bytes of a number, and of a reference to a word."""

BATCH_WORDS = 2**25
"""Bytes of words, as they are stored, that are read at once."""

INDEX = "__index_level_"
"""How the names of columns begin that pandas writes for an index without a name."""


def read(data: bytes, path: Path, max_bytes: int) -> pd.DataFrame:
    """Return the table of a parquet file, its cells of objects where there are gaps among integers.

    Equal rows are stored once, so that a small file may declare a table of any size. The number of rows and the size of
    words are therefore checked first.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _damage(path):
        file = pq.ParquetFile(pa.BufferReader(data))
        schema = file.schema_arrow
        _check_schema(schema, path)
        _check_declared(file.metadata, schema, path, max_bytes)
        words = [field.name for field in schema if _holds_words(field.type)]
        coded = pq.ParquetFile(pa.BufferReader(data), read_dictionary=words).read()
        if sum(map(_written_out, coded.columns)) > max_bytes:
            raise InputError(too_large(f"the words of {path} take", max_bytes))
        kept = [place for place, name in enumerate(schema.names) if not name.startswith(INDEX)]
        # without the metadata of pandas an index is a plain column; with objects an integer next to a gap stays one
        table = coded.cast(schema).select(kept).replace_schema_metadata(None)
        frame: pd.DataFrame = table.to_pandas(ignore_metadata=True, integer_object_nulls=True)
    return frame


def _check_schema(schema: pa.Schema, path: Path, wanted: Wanted = ALL) -> None:
    """Raise for a table without columns, with names that repeat, or with cells of several values."""
    import pyarrow as pa

    names = [name for name in schema.names if not name.startswith(INDEX)]
    if not names:
        raise InputError(f"{path} has no columns; write the table again")
    require_names(names, path)
    kept = set(wanted.of(names))
    for field in schema:
        if field.name in kept and pa.types.is_nested(field.type):
            raise not_plain(f"cells of the type {field.type}", field.name, f"{path}: ")


def _check_declared(metadata: pq.FileMetaData, schema: pa.Schema, path: Path, max_bytes: int) -> None:
    """Raise if the cells of a table, or its unpacked pages, are declared to take more than `max_bytes`."""
    groups = (metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
    cells = metadata.num_rows * CELL * len(schema)
    if max(cells, sum(groups)) > max_bytes:
        size = f"{counted(metadata.num_rows, 'row')} of {counted(len(schema), 'column')}"
        raise InputError(too_large(f"{path} declares {size}, which take", max_bytes))


def _holds_words(kind: pa.DataType) -> bool:
    """Return whether the cells of a column are of any length."""
    import pyarrow as pa

    types = pa.types
    return any(
        check(kind) for check in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    )


def _written_out(column: pa.ChunkedArray) -> int:
    """Return the bytes of a column's words if each is written out, which a dictionary does once for equal words."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        return 0
    return sum(
        pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices)).as_py() or 0
        for chunk in column.chunks
        if _holds_words(chunk.dictionary.type)
    )


def stream(paths: Sequence[Path], where: str, wanted: Wanted = ALL) -> Stream:
    """Return the stream of some files.

    Only the headers are read at first: they say what each column holds and how many rows there are. Each file must have
    all wanted columns, in any order, with numbers, or words, everywhere.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from bayesclf.tables.batches import is_words, to_table, written_out

    names: tuple[str, ...] = ()
    rows = 0
    words: set[str] = set()
    written: frozenset[str] = frozenset()
    for path in paths:
        with _open(path) as file:
            schema = file.schema_arrow
            _check_schema(schema, path, wanted)
            own = tuple(name for name in schema.names if not name.startswith(INDEX))
            if names:
                lacking_or_other(own, names, str(path), str(paths[0]), wanted)
            names = (*names, *(name for name in own if name not in names))
            words.update(field.name for field in schema if is_words(field.type))
            written |= written_out(schema)
            rows += file.metadata.num_rows
    if not rows:
        raise NoRows(f"{where} has no rows; give at least one")

    def read(chosen: tuple[str, ...], after: int = 0) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield batches of some columns, after so many rows, each with its file's name."""
        for path in paths:
            with _open(path) as file:
                schema = file.schema_arrow
                if after >= file.metadata.num_rows:
                    after -= file.metadata.num_rows
                    continue
                # words that are not stored as a dictionary by choice are read as codes, which takes far less time
                plain = written_out(schema).intersection(chosen)
                empty = {name for name in chosen if pa.types.is_null(schema.field(name).type)} & words
                with pq.ParquetFile(path, read_dictionary=sorted(plain)) as coded, _damage(path):
                    found = coded.iter_batches(_rows_at_once(file.metadata, schema, chosen), columns=list(chosen))
                    for batch in after_rows(found, after):
                        table = to_table(batch.select(list(chosen)), plain)
                        yield str(path), table.astype(dict.fromkeys(empty, object)) if empty else table
                    after = 0

    return Stream(where, names, rows, read, from_file=True, written=written, files=tuple(paths))


def _rows_at_once(metadata: pq.FileMetaData, schema: pa.Schema, chosen: Sequence[str]) -> int:
    """Return how many rows of some columns are read at once: fewer where words, such as documents, are long."""
    long = {name for name in chosen if _holds_words(schema.field(name).type)}
    places = (
        [place for place in range(metadata.num_columns) if metadata.schema.column(place).path in long] if long else []
    )
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    words = sum(int(group.column(place).total_uncompressed_size) for group in groups for place in places)
    return max(1, min(batch_rows(len(chosen)), BATCH_WORDS * int(metadata.num_rows) // max(1, words)))


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Say in a sentence that a file is damaged."""
    import pyarrow as pa

    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:  # names and metadata of damaged files are not UTF-8
        raise InputError(f"{path} is not a whole parquet file; copy or write it again") from error


@contextmanager
def _open(path: Path) -> Iterator[pq.ParquetFile]:
    import pyarrow.parquet as pq

    from bayesclf.files import regular

    with regular(path, "a table") as file, _damage(path), pq.ParquetFile(file) as found:
        yield found
