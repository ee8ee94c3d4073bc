"""Docstrings on the site: names in backticks are links, and bars are bars."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

LITERAL = re.compile(r"(``.*?``|`.*?`)")
BAR = re.compile(r"(?<![^\s(\[{<\"'/])\|(?=\S)")


def escape_bars(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Let |x| be an absolute value or a number of members, not the name of a substitution."""
    for number, line in enumerate(lines):
        if "|" in line and not line.lstrip().startswith(".. math::"):
            parts = LITERAL.split(line)
            parts[::2] = [BAR.sub(r"\\|", part) for part in parts[::2]]
            lines[number] = "".join(parts)


def resolve(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element) -> nodes.Element | None:
    """Link a name in backticks to the one public object that ends with it; leave it as code if there is none.

    A docstring names `compare` or `bayesclf.evaluation.comparison.compare`, where the page is of `bayesclf.compare`.
    A word in small letters, such as `coverage`, is more often a parameter, an attribute or a column than a function of
    another module, and leads to names of the package itself and of the docstring's own module only.
    """
    if node.get("refdomain") != "py" or not re.fullmatch(r"[\w.]+", target := node["reftarget"]):
        return None
    domain: Any = env.domains["py"]
    last = target.rpartition(".")[2]
    ends = (f".{target}", f".{last}") if target.startswith("bayesclf.") else (f".{target}",)
    for end in ends:
        found = sorted((name for name in domain.objects if name.endswith(end)), key=lambda it: (it.count("."), it))
        of_package = [name for name in found if name.count(".") - target.count(".") <= 2 and not _member(domain, name)]
        if target.islower() and "." not in target:
            of_package = [name for name in of_package if name.rpartition(".")[0] in ("bayesclf", node.get("py:module"))]
        if of_package:
            return domain.resolve_xref(env, node["refdoc"], app.builder, node["reftype"], of_package[0], node, content)
    return None


def _member(domain: Any, name: str) -> bool:
    return domain.objects[name].objtype in ("method", "attribute", "property")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to autodoc, before numpydoc does."""
    app.connect("autodoc-process-docstring", escape_bars, priority=200)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
