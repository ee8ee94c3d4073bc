"""Reports: one HTML file that holds everything it shows and requests nothing."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from bayesclf.comparison import Comparison
from bayesclf.errors import InputError

__all__ = ["write_comparison"]


def write_comparison(comparison: Comparison, path: str | os.PathLike[str], command: str | None = None) -> None:
    """Write the report of a comparison.

    The file appears under its name when it is complete; one that was there before stays whole until then.

    Parameters
    ----------
    comparison
        Result of `bayesclf.compare`.
    path
        File to write, usually ``….html``.
    command
        Command line that made the comparison, to be shown under "How this was made".

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    target = _writable(path)
    from bayesclf.report.page import render

    _replace(target, render(comparison, command))


def _writable(path: str | os.PathLike[str]) -> Path:
    """Check a path before the work of drawing begins."""
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target} is a folder; give the name of a file for the report, such as {target}/report.html")
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {target.parent} to write the report into; create it first")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"the folder {target.parent} cannot be written to; choose another place for the report")
    return target


def _replace(target: Path, text: str) -> None:
    """Write to a temporary file beside the target, then put it in the target's place."""
    temporary: str | None = None
    try:
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except OSError as error:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
        raise InputError(
            f"the report cannot be written to {target} ({error.strerror}); choose another place"
        ) from error


def _mode(target: Path) -> int:
    """Return the permissions of the file that is replaced, or those of a new file."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
