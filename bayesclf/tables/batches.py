"""Batches of rows: how many rows one has, slices of what came in larger ones, and that they have the same columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayesclf.errors import InputError
from bayesclf.wording import LISTED_NAMES, listed

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
    """Yield slices of the batches of some files, after so many rows, each with its file's name.

    Parameters
    ----------
    paths
        The files.
    rows
        How many rows each has, so that those before are not read.
    batches
        Returns the batches of a file.
    after
        How many rows to leave out.
    """
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
    """Which columns of a stream matter: those that a model needs, or all without those that are dropped.

    Attributes
    ----------
    needed
        Columns that a model needs; where there are none, all.
    drop
        Columns that are left out.
    """

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
