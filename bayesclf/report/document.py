"""Pages: a filled template, with a content security policy that allows only its own script."""

from __future__ import annotations

import os
import platform
from base64 import b64encode
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bayesclf.errors import InputError
from bayesclf.files import output_file

PACKAGES = ("bayesclf", "pymc", "arviz", "nutpie", "numpy", "scipy", "scikit-learn", "pandas", "xarray")


def fill(template: str, **context: Any) -> str:
    """Return the page of a template; all names that it uses must be in `context`; their values are escaped."""
    environment = Environment(
        loader=PackageLoader("bayesclf.report"),
        autoescape=lambda name: name is None or name.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["unbroken"] = unbroken
    script = environment.get_template("sort.js").render()
    policy = b64encode(sha256(script.encode()).digest()).decode()
    return environment.get_template(template).render(context, script=Markup(script), script_hash=policy)


def unbroken(sentence: str) -> str:
    """Return a sentence in which no line ends between a number and its standard error or unit."""
    return sentence.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}").replace(" %", "\N{NO-BREAK SPACE}%")


def made(command: str | None, *facts: tuple[str, str]) -> list[tuple[str, str]]:
    """Return how a page was made: the command, if there was one, further facts, and the versions in use."""
    return [*([("Command", command)] if command else []), *facts, *versions()]


def versions() -> list[tuple[str, str]]:
    """Return the versions in use, for the section on how a page was made."""
    packages = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    return [("Python", platform.python_version()), ("Packages", packages)]


def writable(path: str | os.PathLike[str]) -> Path:
    """Check a path before any figure is drawn."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"a report needs the name of a file, such as 'report.html', not {path!r}")
    target = output_file(os.fspath(path), "the report")
    assert target is not None  # as a name is given
    return target
