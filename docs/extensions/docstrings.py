"""Docstrings on the site: their form is checked, types come from annotations, and names in backticks are links.

Parameters and returned values whose docstring gives no type get that of the annotation, as it stands in the source.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from docutils import nodes
from numpydoc.validate import validate
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
PARAMETERS = {"Parameters", "Other Parameters", "Attributes"}
LITERAL = re.compile(r"(``.*?``|`.*?`)")
BAR = re.compile(r"(?<![^\s(\[{<\"'/])\|(?=\S)")
REQUEST = re.compile("set_.*_request")
UNTYPED = re.compile(r"(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*)")


def add_types(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Write the type after each parameter that has none, before numpydoc reads the docstring."""
    types = annotations(obj)
    section = ""
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if line and re.fullmatch("-{3,}", following):
            section = line
        elif section in PARAMETERS and (found := UNTYPED.fullmatch(line)):
            known = {types[each.lstrip("*")]: None for each in found["names"].split(", ") if each.lstrip("*") in types}
            if len(known) == 1 and "Any" not in known:  # which says nothing
                lines[number] = f"{line} : {next(iter(known))}"


def escape_bars(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Let |x| be an absolute value or a number of members, not the name of a substitution."""
    for number, line in enumerate(lines):
        if "|" in line and not line.lstrip().startswith(".. math::"):
            parts = LITERAL.split(line)
            parts[::2] = [BAR.sub(r"\\|", part) for part in parts[::2]]
            lines[number] = "".join(parts)


HELD = {"GL01", "GL03", "GL05", "GL06", "GL08", "GL09", "GL10", "SS01", "SS03", "SS04", "SS06"} | {
    *("PR02", "PR05", "PR06", "PR07", "PR09", "PR10", "RT02", "RT03", "RT04", "RT05"),
}
"""Checks of numpydoc that every docstring on the site passes."""
HELD_BY_FUNCTIONS = HELD | {"PR01", "RT01"}
"""Those of functions that users call: all parameters and what is returned are described."""
OF_USERS = (
    "bayesclf",
    "bayesclf.diagnostics",
    "bayesclf.plots",
    "bayesclf.tables.datasets",
)
"""Their modules. Functions of the others say in their summary what they return of which arguments, with its shape."""


def check_form(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Warn of a docstring that does not have numpydoc's form."""
    if what not in ("function", "class", "method", "property") or not getattr(obj, "__doc__", None):
        return
    of_users = what == "function" and name.rpartition(".")[0] in OF_USERS
    held = HELD_BY_FUNCTIONS if of_users else HELD
    for code, text in validate(name)["errors"]:
        if code in held:
            LOGGER.warning("%s: %s (%s)", name, text, code, type="numpydoc")


def annotations(obj: Any) -> dict[str, str]:
    """Return the annotations of parameters, or of a class's fields, as they are written."""
    found: dict[str, str] = {}
    if inspect.isclass(obj):
        for base in reversed(obj.__mro__):
            found |= {name: str(each) for name, each in vars(base).get("__annotations__", {}).items()}
    try:
        parameters = inspect.signature(obj).parameters.values()
    except (TypeError, ValueError):
        return found
    return found | {each.name: written(each.annotation) for each in parameters if each.annotation is not each.empty}


def written(annotation: Any) -> str:
    """Return an annotation as it is written in the source."""
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


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


def skip(app: Sphinx, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to estimators, by its version, and classes that are attributes of others."""
    return True if REQUEST.fullmatch(name) or inspect.isclass(obj) else None


def _member(domain: Any, name: str) -> bool:
    return domain.objects[name].objtype in ("method", "attribute", "property")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to autodoc, before numpydoc does."""
    app.connect("autodoc-process-docstring", check_form, priority=50)
    app.connect("autodoc-process-docstring", add_types, priority=100)
    app.connect("autodoc-process-docstring", escape_bars, priority=200)
    app.connect("autodoc-skip-member", skip)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
