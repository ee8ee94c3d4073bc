"""A folder of answers, part by part: each is complete or not there, so that an interrupted run can be resumed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bayesclf.errors import InputError
from bayesclf.files import PREFIX, regular, write_whole
from bayesclf.interpretation.predictions import Columns
from bayesclf.storage.origins import Origin

MANIFEST = "_manifest.json"
"""What the answers are of; readers of Parquet folders skip names that begin so."""

PART_ROWS = 2**18
"""Rows from which on a part is complete: it has those of whole batches."""


def is_folder(output: str | os.PathLike[str]) -> bool:
    """Return whether a name means a folder: it is one, or ends as one's does."""
    name = os.fspath(output)
    return name.endswith(("/", os.sep)) or os.path.isdir(name)


def part_name(number: int) -> str:
    """Return the name of a part, counted from 0."""
    return f"part-{number:06}.parquet"


@dataclass(frozen=True)
class Done:
    """The parts that an earlier run has written.

    Attributes
    ----------
    parts
        How many there are.
    rows, rejected
        Rows in them, and those left undecided.
    finished
        Whether these are all.
    """

    parts: int = 0
    rows: int = 0
    rejected: int = 0
    finished: bool = False


def begun(folder: Path, origin: Origin, resume: bool) -> Done:
    """Return what a folder has of the answers, and prepare it for more.

    Raises
    ------
    InputError
        If it has anything, unless `resume`; if that is not what a run with this origin wrote; if it cannot be made.
    """
    try:
        folder.mkdir(exist_ok=True)
        found = [name for name in os.listdir(folder) if not name.startswith(PREFIX)]
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be made ({error.strerror}); choose another") from None
    if not found:
        _write_manifest(folder, origin)
        return Done()
    if not resume:
        raise InputError(
            f"{folder} is not empty; choose another folder, or resume the run that wrote to it (--resume, resume=True "
            "in Python)"
        )
    manifest = _manifest(folder)
    try:
        difference = origin.difference(manifest["origin"])
        finished = bool(manifest["finished"])
    except (KeyError, TypeError, AttributeError):
        raise _damaged(folder) from None
    if difference:
        raise InputError(f"{folder} has answers of another run: {difference}; choose another folder")
    parts = rows = rejected = 0
    while (counts := _counts(folder / part_name(parts), rows)) is not None:
        parts, rows, rejected = parts + 1, rows + counts[0], rejected + counts[1]
    return Done(parts, rows, rejected, finished)


def finish(folder: Path, origin: Origin) -> None:
    """Note that all answers are there."""
    _write_manifest(folder, origin, finished=True)


def in_parts(batches: Iterable[Columns]) -> Iterator[list[Columns]]:
    """Yield answers of batches, as many together as make a part."""
    held: list[Columns] = []
    for columns in batches:
        held.append(columns)
        if sum(len(one["row"]) for one in held) >= PART_ROWS:
            yield held
            held = []
    if held:
        yield held


def _write_manifest(folder: Path, origin: Origin, finished: bool = False) -> None:
    text = json.dumps({"format": "answers of bayesclf", "finished": finished, "origin": origin.as_json()}, indent=1)
    write_whole(folder / MANIFEST, lambda part: part.write_text(text, encoding="utf-8"))


def _manifest(folder: Path) -> Mapping[str, Any]:
    """Return the manifest of a folder, as it was written."""
    if not (folder / MANIFEST).exists():
        raise InputError(
            f"{folder} has files but no {MANIFEST}, so that no run can be resumed there; choose another folder"
        )
    try:
        with regular(folder / MANIFEST, "a manifest") as file:
            found = json.loads(file.read())
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise _damaged(folder) from None
    if not isinstance(found, dict):
        raise _damaged(folder)
    return found


def _damaged(folder: Path) -> InputError:
    return InputError(
        f"{folder / MANIFEST} is damaged, so that it does not say what the answers are of; choose another folder"
    )


def _counts(part: Path, rows: int) -> tuple[int, int] | None:
    """Return how many rows a part has, and how many undecided ones; None unless it is whole and begins after `rows`.

    What is no whole part is written again.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(part, columns=["row", "predicted"])
    except (OSError, KeyError, ValueError, pa.ArrowException):
        return None
    numbers = table["row"].to_numpy()
    if not len(numbers) or not np.array_equal(numbers, np.arange(rows + 1, rows + len(numbers) + 1)):
        return None
    return len(numbers), table["predicted"].null_count
