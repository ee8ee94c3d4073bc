"""Parquet files: read once what their headers declare is found to fit into memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bayesclf.errors import InputError
from bayesclf.tables.columns import not_plain
from bayesclf.tables.limits import require_names, too_large
from bayesclf.wording import counted

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

CELL = 8
"""Bytes of a number, and of a reference to a word."""

INDEX = "__index_level_"
"""How the names of columns begin that pandas writes for an index without a name."""


def read(data: bytes, path: Path, max_bytes: int) -> pd.DataFrame:
    """Return the table of a parquet file, its cells of objects where there are gaps among integers.

    Rows that are all equal are stored once, so that a small file may declare a table of any size. The number of its
    rows, and the size of its words, are looked at before there is a cell for each.

    Raises
    ------
    InputError
        If it is damaged, has no columns or nested ones, or declares more than `max_bytes`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
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
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:  # names and metadata of damaged files are not UTF-8
        raise InputError(f"{path} is not a whole parquet file; copy or write it again") from error
    return frame


def _check_schema(schema: pa.Schema, path: Path) -> None:
    """Raise for a table without columns, with names that repeat, or with cells of several values."""
    import pyarrow as pa

    names = [name for name in schema.names if not name.startswith(INDEX)]
    if not names:
        raise InputError(f"{path} has no columns; write the table again")
    require_names(names, path)
    for field in schema:
        if pa.types.is_nested(field.type):
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
