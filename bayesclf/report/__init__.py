"""Reports: one HTML file that holds everything it shows and requests nothing."""

from __future__ import annotations

import os
from pathlib import Path

from bayesclf.comparison import Comparison
from bayesclf.errors import InputError
from bayesclf.files import write_whole

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

    write_whole(target, lambda part: part.write_text(render(comparison, command), encoding="utf-8", newline="\n"))


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
