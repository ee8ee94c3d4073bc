"""A table that is read a batch at a time: its columns, their kinds, and its rows; files may be read ahead."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from bayesclf.errors import InputError
from bayesclf.tables.batches import lacking_or_other
from bayesclf.tables.columns import ColumnKind, kinds_of
from bayesclf.tables.kinds import convert_columns, require_column, require_kinds
from bayesclf.tables.labels import renamed
from bayesclf.tables.missing import emptied
from bayesclf.wording import one_line


def read_ahead[T](items: Generator[T]) -> Iterator[T]:
    """Yield what a generator does; another thread makes the next item while one is used, and no more than that.

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
        """Yield the rows in their order, at least one at a time, but for the first `after` ones of files."""
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
        return convert_columns(table, wanted, where)
    if not wanted:
        return table
    return table.assign(**convert_columns(table[list(wanted)], wanted, where))


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
                f'is, with --kind {name}=category (kinds={{"{name}": "category"}} in Python)'
            )
        cells = [float("nan")] * len(table) if known == "number" else [None] * len(table)
        empty[name] = pd.Series(cells, index=table.index, dtype=float if known == "number" else object)
    return table.assign(**empty) if empty else table
