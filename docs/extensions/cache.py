"""Results of running the package, kept between builds while its code stays the same."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "_build" / "cache"


@cache
def _package() -> bytes:
    """Return a digest of the package's code."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "bayesclf").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


def place(name: str, *parts: bytes) -> Path:
    """Return where to keep a result that follows from the package's code and the given parts."""
    digest = hashlib.sha256(_package())
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return FOLDER / f"{name}-{digest.hexdigest()[:16]}"
