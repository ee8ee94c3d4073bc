"""Docstrings of classifiers: parameters and attributes that several have are described once, where they are defined."""

from __future__ import annotations

import inspect
import re

PARAMETERS, ATTRIBUTES = "Parameters", "Attributes"


def complete_docstring(cls: type) -> None:
    """Add to a class's docstring what it has from its bases: their entries of parameters and attributes.

    Tools such as scikit-learn's display look at the docstring of the class alone. Of the parameters those of the
    constructor are added, and of the attributes those that the class itself does not describe.
    """
    parts = sections(cls.__doc__)
    accepted = set(inspect.signature(cls).parameters)
    for section in (PARAMETERS, ATTRIBUTES):
        known = entries(parts.get(section, []))
        for base in cls.__mro__[1:]:
            if base.__module__.startswith("bayesclf."):
                inherited = entries(sections(base.__doc__).get(section, []))
                known |= {name: lines for name, lines in inherited.items() if name not in known}
        kept = [lines for name, lines in known.items() if section == ATTRIBUTES or name in accepted]
        parts[section] = [line for lines in kept for line in lines]
    first = ("", PARAMETERS, ATTRIBUTES)
    ordered = [*first, *(heading for heading in parts if heading not in first)]
    texts = ["\n".join([heading, "-" * len(heading)] * bool(heading) + parts[heading]) for heading in ordered]
    cls.__doc__ = "\n\n".join(texts)


def sections(docstring: str | None) -> dict[str, list[str]]:
    """Return the lines of each section of a numpydoc docstring by its heading; what comes first has the heading ""."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    found: dict[str, list[str]] = {"": []}
    heading = ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line and re.fullmatch("-{3,}", following):
            heading = line
            found[heading] = []
        elif not re.fullmatch("-{3,}", line):
            found[heading].append(line)
    return {heading: "\n".join(body).strip("\n").splitlines() for heading, body in found.items()}


def entries(lines: list[str]) -> dict[str, list[str]]:
    """Return the lines of each entry of a section, ``name : type`` and the indented ones after it, by its name."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        if line and not line[0].isspace():
            name = line.partition(" :")[0]
        found.setdefault(name, []).append(line)
    return found
