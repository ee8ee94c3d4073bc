"""What a table in a file may be at all: its names, and how large it may be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bayesclf.errors import InputError

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
