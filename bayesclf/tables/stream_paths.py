"""Files of a table: which ones a path means, and what names and sizes they may have."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from bayesclf.errors import InputError
from bayesclf.wording import listed

MAX_BYTES = 2**28
"""Default of the most bytes that a packed table may take once it is unpacked."""


def too_large(what: str, max_bytes: int) -> str:
    """Return a sentence for a table that is too large; `what` says what of it is, as in "t.csv.gz holds"."""
    return f"{what} more than {max_bytes:,} bytes; if that is expected, allow more with --max-bytes (max_bytes=…)"


def require_names(names: Sequence[str], path: Path) -> None:
    """Raise `InputError` for a column without a name, and for two of the same."""
    first: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise InputError(f"{path}: column {position} has no name; name it, or remove it if it numbers the rows")
        if name in first:
            raise InputError(f"{path}: columns {first[name]} and {position} are both named {name!r}; rename one")
        first[name] = position


TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".data", ".dat")
"""Endings of files of text with separators."""

ENDINGS = (".parquet", *TEXT_ENDINGS, *(f"{ending}.gz" for ending in TEXT_ENDINGS))
"""Endings of files that are read in batches."""

NOT_READ = f"has an ending that is not read in batches; such tables end in {listed(ENDINGS)}"


def is_streamed(table: str, most_bytes: int | None) -> bool:
    """Return whether a path is one to read in batches: a folder, a glob, or files of more bytes, if given."""
    if os.path.isdir(table) or (not os.path.exists(table) and glob.has_magic(table)):
        return True
    if most_bytes is None:
        return False
    return os.path.isfile(table) and table.lower().endswith(ENDINGS) and os.path.getsize(table) > most_bytes


def is_name(table: str) -> bool:
    """Return whether what a command is given is no path, but the name of a data set."""
    return not os.path.exists(table) and not glob.has_magic(table) and ending_of(Path(table)) is None


def files_of(path: str) -> list[Path]:
    """Return the files of a path: itself, those in a folder or those that a glob matches, sorted."""
    if os.path.isdir(path):
        found = sorted(file for file in Path(path).rglob("*") if file.is_file() and ending_of(file) is not None)
        hidden = [file for file in found if any(part.startswith((".", "_")) for part in file.relative_to(path).parts)]
        found = [file for file in found if file not in hidden]
        if not found:
            raise InputError(f"{path} is a folder, and no file in it ends in {listed(ENDINGS)}; choose another")
        keyed = next((part for file in found for part in file.relative_to(path).parts[:-1] if "=" in part), None)
        if keyed is not None:
            raise InputError(
                f"{path} has folders such as {keyed}, whose names are cells; give "
                f"pyarrow.dataset.dataset({path!r}, partitioning='hive') in Python"
            )
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
    """Raise `InputError` if a result would replace a file of a stream, or become one when it is read again."""
    own = Path(os.path.realpath(output))
    if isinstance(source, list | tuple):
        for part in source:
            require_elsewhere(output, part, option)
        return
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if os.path.isdir(path):
            if ending_of(own) is not None and own.is_relative_to(os.path.realpath(path)):
                raise InputError(f"{option} {output} is in the folder {path}, which is read; choose another folder")
        elif not os.path.exists(path) and fnmatch(str(own), os.path.abspath(path)):
            raise InputError(f"{option} {output} matches {path}, which is read; choose another name")
        files: list[Any] = [*files_of(path)] if os.path.exists(path) or glob.has_magic(path) else []
    else:
        files = [file for file in getattr(source, "files", None) or () if isinstance(file, str)]
    for file in files:
        if own == Path(os.path.realpath(file)) or (
            own.exists() and os.path.exists(file) and os.path.samefile(own, file)
        ):
            raise InputError(f"{option} {output} is also {file}, which is read; choose another name")
