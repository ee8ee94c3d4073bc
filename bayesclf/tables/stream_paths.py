"""Paths of streams: the files of a folder or glob, which paths are read in batches, and where results may not go."""

from __future__ import annotations

import glob
import os
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from bayesclf.errors import InputError
from bayesclf.wording import listed

ENDINGS = (".parquet", ".csv", ".tsv", ".csv.gz", ".tsv.gz")
"""Endings of files that are read in batches."""

NOT_READ = f"has an ending that is not read in batches; such tables end in {listed(ENDINGS)}"


def is_streamed(table: str, most_bytes: int) -> bool:
    """Return whether a path is one to read in batches: a folder, a glob, or files of more than so many bytes."""
    if os.path.isdir(table) or (not os.path.exists(table) and glob.has_magic(table)):
        return True
    return os.path.isfile(table) and table.lower().endswith(ENDINGS) and os.path.getsize(table) > most_bytes


def files_of(path: str) -> list[Path]:
    """Return the files of a path: itself, those in a folder or those that a glob matches, sorted."""
    if os.path.isdir(path):
        found = sorted(file for file in Path(path).rglob("*") if file.is_file() and ending_of(file) is not None)
        hidden = [file for file in found if any(part.startswith((".", "_")) for part in file.relative_to(path).parts)]
        found = [file for file in found if file not in hidden]
        if not found:
            raise InputError(f"{path} is a folder, and no file in it ends in {listed(ENDINGS)}; choose another")
        return found
    if os.path.exists(path) or not glob.has_magic(path):
        if not os.path.exists(path):
            raise InputError(f"{path} does not exist; check the path")
        if ending_of(Path(path)) is None:
            raise InputError(f"{path} {NOT_READ}")
        return [Path(path)]
    found = [Path(file) for file in sorted(glob.glob(path, recursive=True)) if os.path.isfile(file)]
    if not found:
        raise InputError(f"no file matches {path}; check the pattern")
    unknown = [file for file in found if ending_of(file) is None]
    if unknown:
        raise InputError(f"{unknown[0]} {NOT_READ}")
    return found


def ending_of(path: Path) -> str | None:
    """Return the ending of a file without ".gz"; None for one that is not known."""
    name = path.name.lower()
    return next((ending.removesuffix(".gz") for ending in ENDINGS if name.endswith(ending)), None)


def require_elsewhere(output: Path, source: Any, option: str) -> None:
    """Raise `InputError` if a result would replace a file of a stream, or become one when it is read again.

    Parameters
    ----------
    output
        The file to write.
    source
        What `bayesclf.tables.streams.open_stream` reads; of lazy tables the files are not known.
    option
        How the user named the output, for messages.
    """
    own = Path(os.path.realpath(output))
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        read = ending_of(own) is not None
        if os.path.isdir(path):
            if read and own.is_relative_to(os.path.realpath(path)):
                raise InputError(f"{option} {output} is in the folder {path}, which is read; choose another folder")
        elif not os.path.exists(path) and read and _matches(own, path):
            raise InputError(f"{option} {output} matches {path}, which is read; choose another name")
        files: list[Any] = [*files_of(path)] if os.path.exists(path) or glob.has_magic(path) else []
    else:
        files = [file for file in getattr(source, "files", None) or () if isinstance(file, str)]
    for file in files:
        if own == Path(os.path.realpath(file)) or (
            own.exists() and os.path.exists(file) and os.path.samefile(own, file)
        ):
            raise InputError(f"{option} {output} is also {file}, which is read; choose another name")


def _matches(path: Path, pattern: str) -> bool:
    """Return whether a glob would find a file; of one with "**", whether it might."""
    folder, name = os.path.split(os.path.abspath(pattern))
    wanted = Path(folder if glob.has_magic(folder) else os.path.realpath(folder)) / name
    if "**" in wanted.parts:
        return fnmatch(str(path), str(wanted).replace("**" + os.sep, "*"))
    pairs = zip(path.parts, wanted.parts, strict=False)
    return len(path.parts) == len(wanted.parts) and all(fnmatch(own, part) for own, part in pairs)
