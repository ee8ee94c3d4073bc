"""Links to what other projects have: names of docstrings and types of parameters, without a network.

The names and their pages are in `docs/external_names.txt`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

FILE = Path(__file__).resolve().parents[1] / "external_names.txt"
AFTER_OWN = 900
"""Priority of the links: a name of this package comes first."""


class External(NamedTuple):
    """A name, what it is, and the page that describes it."""

    name: str
    kind: str
    address: str


def known() -> dict[str, External]:
    """Return the names of the file."""
    lines = (line.split() for line in FILE.read_text(encoding="utf-8").splitlines() if line and line[0] != "#")
    return {words[0]: External(*words) for words in lines}


def types() -> dict[str, str]:
    """Return the full names of classes, by what types of parameters call them."""
    short = {name.rpartition(".")[2]: name for name, each in known().items() if each.kind == "class"}
    return short | {"xr.DataTree": "xarray.DataTree", "pd.DataFrame": "pandas.DataFrame", "pd.Series": "pandas.Series"}


def resolve(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element) -> nodes.Element | None:
    """Link a name of the file that this package does not have."""
    found = known().get(node["reftarget"]) if node.get("refdomain") == "py" else None
    if found is None:
        return None
    title = f"(in {found.name.partition('.')[0]})"
    return nodes.reference("", "", content, internal=False, refuri=found.address, reftitle=title)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.connect("missing-reference", resolve, priority=AFTER_OWN)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
