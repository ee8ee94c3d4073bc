"""What a result says of where it was measured, without naming the machine, and how it is kept."""

import json
import os
import platform
from contextlib import suppress
from pathlib import Path
from typing import Any

from peers import peer


def versions(peers: list[str]) -> dict[str, dict[str, str]]:
    """Return the parts of each peer that is installed, and their versions."""
    found = {}
    for name in peers:
        with suppress(ImportError):
            found[name] = peer(name).versions()
    return found


def description(found: dict[str, dict[str, str]]) -> dict[str, Any]:
    """Return versions and number of cores."""
    parts = {name: version for parts in found.values() for name, version in parts.items()}
    return {"cores": os.cpu_count(), "versions": {"Python": platform.python_version()} | dict(sorted(parts.items()))}


def write(path: Path, result: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def kept(path: Path, result: dict[str, Any]) -> dict[str, Any]:
    """Return the tables of an earlier result that was measured with the same versions and settings."""
    if not path.exists():
        return {}
    earlier: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    same = all(earlier.get(name) == value for name, value in result.items() if name != "tables")
    return dict(earlier["tables"]) if same else {}
