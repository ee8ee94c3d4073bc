"""Batches of rows: how many rows one has, slices of larger ones, and batches of Arrow as tables of pandas."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesclf.errors import InputError
from bayesclf.wording import LISTED_NAMES, listed

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS, BATCH_CELLS = 2**18, 2**24
"""The most rows of a batch, and the most cells, of which a wide table has fewer rows."""


def pieces(batch: Any) -> Iterator[Any]:
    """Yield slices of a batch of Arrow or pandas, each of at most as many rows as a batch may have."""
    columns = max(1, batch.num_columns if hasattr(batch, "num_columns") else batch.shape[1])
    rows, size = len(batch), batch_rows(columns)
    for start in range(0, rows, size):
        if rows <= size:
            yield batch
        elif hasattr(batch, "iloc"):
            yield batch.iloc[start : start + size]
        else:
            yield batch.slice(start, size)


def batch_rows(columns: int) -> int:
    """Return how many rows a batch of so many columns has."""
    return max(1, min(BATCH_ROWS, BATCH_CELLS // max(1, columns)))


def after_rows(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Yield what batches of Arrow or pandas have after so many rows."""
    for batch in batches:
        if rows >= len(batch) > 0:
            rows -= len(batch)
            continue
        kept, rows = batch if not rows else batch[rows:], 0
        yield kept


def pieces_of_files(
    paths: Sequence[Path], rows: Mapping[Path, int], batches: Callable[[Path], Iterable[Any]], after: int
) -> Iterator[tuple[str, Any]]:
    """Yield slices of the batches of some files, after so many rows, each with its file's name."""
    for path in paths:
        if after >= rows[path]:
            after -= rows[path]
            continue
        found = (piece for batch in batches(path) for piece in pieces(batch))
        for piece in after_rows(found, after):
            yield str(path), piece
        after = 0


class NoRows(InputError):
    """A file has column names and no row."""


@dataclass(frozen=True)
class Wanted:
    """Which columns of a stream matter: those that a model needs, or all without those that are dropped."""

    needed: Collection[str] = ()
    drop: Collection[str] = ()

    def of(self, names: Iterable[str]) -> list[str]:
        """Return those of some columns that matter."""
        if self.needed:
            return [name for name in names if name in self.needed]
        return [name for name in names if name not in self.drop]


ALL = Wanted()
"""All columns matter."""


def lacking_or_other(found: Iterable[str], names: Sequence[str], where: str, other: str, wanted: Wanted = ALL) -> None:
    """Raise `InputError` if a part of a stream lacks a column that another has, or has one more; order is free."""
    own, names = set(wanted.of(found)), wanted.of(names)
    lacking = [name for name in names if name not in own]
    if lacking:
        some = listed(map(repr, lacking), LISTED_NAMES)
        raise InputError(f"{where} lacks column {some}, which {other} has; add it, with empty cells where unknown")
    more = sorted(own.difference(names))
    if more:
        some = listed(map(repr, more), LISTED_NAMES)
        raise InputError(f"{where} has column {some}, which {other} lacks; leave it out, or add it there")


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

    Dictionary columns keep their levels in order. Written-out words, and dictionaries in `plain`, have sorted levels
    that occur. Integers with gaps are nullable, so that a level 1 stays 1.
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
    """Return codes (row) of the sorted kept words, −1 where a cell has none of them, and these words once each."""
    levels, place = np.unique(words[kept], return_inverse=True)
    moved = np.full(len(words) + 1, -1, dtype=np.intp)
    moved[np.flatnonzero(kept)] = place
    return moved[codes], pd.Index(levels, dtype=object)
