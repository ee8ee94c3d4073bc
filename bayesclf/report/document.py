"""Pages: a filled template, with a content security policy that allows only its own script."""

from __future__ import annotations

import errno
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
    target = Path(path)
    try:
        os.stat(target)
    except ValueError:
        raise InputError(f"the name {str(target)!r} is not a valid file name; choose another one") from None
    except OSError as error:  # it is normal that there is no such file yet
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(f"the name {target.name[:20]}… of the report is too long; choose a shorter one") from None
    if target.is_dir():
        raise InputError(f"{target} is a folder; give the name of a file for the report, such as {target}/report.html")
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {target.parent} to write the report into; create it first")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"the folder {target.parent} cannot be written to; choose another place for the report")
    return target
