"""Batches of Arrow's columns as tables: numbers stay where they are in memory, words become codes of levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa


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


def to_table(batch: pa.RecordBatch | pa.Table, plain: frozenset[str] = frozenset()) -> pd.DataFrame:
    """Return a batch as a table, with words as categoricals.

    Columns that are dictionaries keep all levels of these, in their order; of words that are written out only those
    that occur are levels, sorted, and of dictionaries in `plain` too, which were words when they were stored. Integers
    with gaps are of a nullable type, so that a level 1 stays 1.
    """
    names = list(batch.schema.names)
    columns: dict[str, Any] = {}
    for place, name in enumerate(names):
        columns[name] = _cells(batch.column(place), name in plain)
    return pd.DataFrame(columns, index=pd.RangeIndex(batch.num_rows), copy=False)


def _cells(column: Any, plain: bool) -> Any:
    import pyarrow as pa

    types, kind = pa.types, column.type
    if is_words(kind):
        return _categorical(column, plain or not types.is_dictionary(kind))
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


def _categorical(column: Any, observed: bool) -> pd.Categorical:
    """Return words as codes of levels: those that occur, sorted, or those of the dictionary in its order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    words = np.asarray(column.dictionary.to_pylist(), dtype=object)
    codes = pc.fill_null(column.indices.cast(pa.int64()), len(words)).to_numpy(zero_copy_only=False)
    known = np.array([word is not None for word in words], dtype=bool)
    if observed:
        known &= np.bincount(codes, minlength=len(words) + 1)[: len(words)] > 0
    elif known.all() and len(set(words)) == len(words):
        return pd.Categorical.from_codes(np.where(codes == len(words), -1, codes), pd.Index(words, dtype=object))
    return pd.Categorical.from_codes(*sorted_levels(words, codes, known))


def sorted_levels(
    words: NDArray[Any], codes: NDArray[np.integer[Any]], kept: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], pd.Index]:
    """Return codes (row) of the sorted kept words, −1 where a cell has none of them, and these words once each.

    Parameters
    ----------
    words
        (level), which may repeat.
    codes
        Of the cells (row); the number of words stands for a missing cell.
    kept
        Which words are levels, (level).
    """
    levels, place = np.unique(words[kept], return_inverse=True)
    moved = np.full(len(words) + 1, -1, dtype=np.intp)
    moved[np.flatnonzero(kept)] = place
    return moved[codes], pd.Index(levels, dtype=object)
