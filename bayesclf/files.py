"""Atomic file writes, and checks of output paths before the work starts."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from bayesclf.errors import InputError
from bayesclf.wording import visible

STDOUT = Path("-")
"""The path that stands for stdout."""

PREFIX = ".bayesclf-"
"""How names of files begin that are being written."""

_parts: set[Path] = set()
"""Files that this process is writing."""


def regular(path: str | os.PathLike[str], what: str) -> IO[bytes]:
    """Open an ordinary file for reading; nothing else is opened, as reading a pipe or a device could wait forever."""
    try:
        _require_regular(os.stat(path).st_mode, path, what)
        # the file may have been exchanged since
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        file = os.fdopen(descriptor, "rb")
    except FileNotFoundError:
        raise InputError(f"{os.fspath(path)} does not exist; check the path") from None
    except PermissionError:
        raise InputError(f"{os.fspath(path)} may not be read; ask its owner for the permission to read it") from None
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{os.fspath(path)} cannot be read ({reason}); check the path and the disk") from error
    try:
        _require_regular(os.fstat(descriptor).st_mode, path, what)
    except InputError:
        file.close()
        raise
    return file


KINDS_OF_FILES = {
    stat.S_IFDIR: "a folder; give the path of {what} in it",
    stat.S_IFIFO: "a pipe, and {what} is read from an ordinary file; write it into one first",
    stat.S_IFCHR: "a device, and {what} is read from an ordinary file",
}
"""What to say of files that are not ordinary ones, by the format bits of their modes."""


def _require_regular(mode: int, path: str | os.PathLike[str], what: str) -> None:
    if not stat.S_ISREG(mode):
        said = KINDS_OF_FILES.get(stat.S_IFMT(mode), "not an ordinary file").format(what=what)
        raise InputError(f"{os.fspath(path)} is {said}")


def sibling(path: Path) -> Path:
    """Return a new name in the same folder, with the same ending."""
    return path.with_name(f"{PREFIX}{secrets.token_hex(6)}{path.suffix}")


def write_whole(path: Path, write: Callable[[Path], object], errors: tuple[type[Exception], ...] = (OSError,)) -> None:
    """Write a file atomically: `write` fills a new one, which replaces `path` once it is complete.

    Links are followed, and an existing file keeps its permissions. If `write` raises one of `errors`, `InputError` is
    raised and `path` is unchanged.
    """
    path = Path(os.path.realpath(path))
    try:
        with _part_of(path) as part:
            _remove_abandoned(path.parent)
            write(part)
            _synchronize(part)  # the disk may be found full only now, and then the old file must still be there
            if path.exists():
                shutil.copymode(path, part)
            os.replace(part, path)
    except errors as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path} cannot be written ({reason}); an existing file is unchanged") from error


def remove_unfinished() -> None:
    """Remove the files that this process is writing, before it ends at once."""
    for part in tuple(_parts):
        with suppress(OSError):
            part.unlink()


@contextmanager
def _part_of(path: Path) -> Iterator[Path]:
    """Create and lock a file that is to replace `path`; remove it in the end if it did not."""
    part = sibling(path)
    _parts.add(part)
    try:
        with _locked(part) as file:
            if os.name == "nt":  # there is no such lock, and an open file cannot be replaced
                file.close()
            yield part
    finally:
        part.unlink(missing_ok=True)
        _parts.discard(part)


def _locked(part: Path) -> IO[bytes]:
    """Create a file, and hold a lock on it as long as it is open."""
    while True:
        file = part.open("xb")
        _lock(file, wait=True)
        if part.exists():
            return file
        file.close()  # another process took it for abandoned before it was locked


def _synchronize(path: Path) -> None:
    """Wait until the contents of a file are on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _remove_abandoned(folder: Path) -> None:
    """Remove what killed processes left half written: the system has released their locks."""
    for part in folder.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if stat.S_ISREG(part.lstat().st_mode):  # to open another, such as a pipe, could wait for ever
                with part.open("rb") as file:
                    if _lock(file):
                        part.unlink()


def _lock(file: IO[bytes], wait: bool = False) -> bool:
    """Return whether a file could be locked; never on systems without such locks."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def output_file(name: str | None, option: str, others: Iterable[str | os.PathLike[str]] = ()) -> Path | None:
    """Check that a file can be written, before the work whose result it takes.

    `option` is how the user named it. It must not be one of `others`, which are read or written too.
    """
    if name == str(STDOUT) and sys.stdout is None:
        raise InputError(f"{option} - is not possible, as stdout is closed; give the name of a file")
    if name is None or name == str(STDOUT):
        return None if name is None else STDOUT
    try:
        os.stat(name)
    except ValueError:
        raise InputError(f"{option} {name!r} is not a valid file name; choose another name") from None
    except OSError as error:  # usually there is no such file yet
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(f"{option} {name[:20]}… has too long a name; choose a shorter one") from None
    path = Path(os.path.realpath(name))
    for other in others:
        if path == Path(os.path.realpath(other)) or (path.exists() and _same(path, other)):
            raise InputError(f"{option} {name} is also {os.fspath(other)}, which is in use; choose another name")
    if path.is_dir():
        raise InputError(f"{option} {name} is a folder; give the name of a file in it")
    if path.exists() and not path.is_file():
        raise InputError(f"{option} {name} is not an ordinary file; choose another name")
    if not path.parent.is_dir():
        raise InputError(f"{option} {name}: there is no folder {path.parent}; create it first")
    if path.exists() and not os.access(path, os.W_OK):
        raise InputError(f"{option} {name} may not be written to; choose another name or change its permissions")
    try:
        with _part_of(path):
            pass
    except OSError as error:
        raise InputError(
            f"{option} {name}: nothing can be written to the folder {path.parent} ({error.strerror}); choose another"
        ) from None
    return path


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically; to stdout if `path` is `STDOUT`, with visible control characters on a terminal."""
    if path == STDOUT:
        if sys.stdout.isatty():
            text = visible(text, kept="\n\t")
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    else:
        write_whole(path, lambda part: part.write_bytes(text.encode()))


def _same(path: Path, other: str | os.PathLike[str]) -> bool:
    return os.path.exists(other) and os.path.samefile(path, other)
