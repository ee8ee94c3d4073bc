"""Files that are whole or not there: a new one is filled beside the old and takes its place at the end."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path

from bayesclf.errors import InputError


def beside(path: Path) -> Path:
    """Return a new name in the same folder, with the same ending."""
    return path.with_name(f".bayesclf-{secrets.token_hex(6)}{path.suffix}")


def write_whole(path: Path, write: Callable[[Path], object], errors: tuple[type[Exception], ...] = (OSError,)) -> None:
    """Let `write` fill a new file and put it in the place of `path` once it is whole.

    Parameters
    ----------
    path
        The file; a symbolic link is followed, and the permissions of a file that is there are kept.
    write
        Writes the file whose path it is given.
    errors
        What `write` raises when it cannot.

    Raises
    ------
    InputError
        If the disk or the folder cannot take it; whatever was at `path` is still there.
    """
    path = Path(os.path.realpath(path))
    part = beside(path)
    try:
        write(part)
        if path.exists():
            shutil.copymode(path, part)
        os.replace(part, path)
    except errors as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path} cannot be written ({reason}); what was there before is as it was") from error
    finally:
        part.unlink(missing_ok=True)
