"""The notebooks and pages that lie outside the folder of the documentation, copied into it for the build."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

DOCS = Path(__file__).resolve().parents[1]
FOLDER = DOCS / "tutorials"


def copy(app: Sphinx, config: Config) -> None:
    """Copy the notebooks that changed, and remove copies of those that are gone."""
    sources = {path.name: path for path in (DOCS.parent / "notebooks").glob("*.ipynb")}
    for path in FOLDER.glob("*.ipynb"):
        if path.name not in sources:
            path.unlink()
    for name, source in sources.items():
        target = FOLDER / name
        if not target.exists() or target.read_bytes() != source.read_bytes():
            shutil.copyfile(source, target)


def setup(app: Sphinx) -> dict[str, Any]:
    """Copy as soon as the settings are known."""
    app.connect("config-inited", copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
