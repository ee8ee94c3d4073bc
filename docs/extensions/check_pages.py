"""Three pages of the checks of `diagnose`: docstrings, an example with the fault to be found, and simulated rates.

The rates are those of `checks/false_alarms.md`, which `benchmarks/checks.py` writes.
"""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

from bayesclf.diagnostics import CHECKS, Finding

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
import checks as simulation  # noqa: E402

FOLDER = DOCS / "checks"
RATES = FOLDER / "false_alarms.md"
SECTIONS = {"P": "posterior", "M": "model", "Y": "predictions"}
SEEDS = 20
"""Tables with a fault that are drawn until the check finds it."""
ROWS = {"Y05": 1000}
"""Rows of the table with the fault, where 100 are too few to find it."""


def example(code: str) -> tuple[str, Finding] | None:
    """Return the fault of a simulated table, in words, and what the check says of it."""
    if code not in simulation.FAULTS:
        return None
    rows = ROWS.get(code, 100)
    fault, case = simulation.FAULTS[code]
    for seed in range(SEEDS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clf, X, y, new = case(np.random.default_rng([seed, rows]), rows)
            (finding,) = clf.diagnose(X, y, new=new, checks=[code], progress=False).findings
        if finding.section in ("issue", "tip"):
            return f"{rows:,} rows: {fault}", finding
    raise ExtensionError(f"check {code} does not find {fault!r}: {finding.reason}")


def rates(code: str) -> list[list[str]]:
    """Return the simulated rates of a check as tables of Markdown, one for each header."""
    found: dict[tuple[str, ...], list[str]] = {}
    for part in re.split(r"^#+ ", RATES.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, *lines = part.splitlines()
        head = tuple(line.replace("| check |", "| tables |") for line in lines if re.match(r"\| check|\|--", line))
        own = (line.split(" | ", 1)[1] for line in lines if line.startswith(f"| {code} "))
        found.setdefault(head, []).extend(f"| {title} | {cells}" for cells in own)
    return [[*head, *rows] for head, rows in found.items() if rows]


def escaped(text: str) -> str:
    """Return a sentence as Markdown that shows it as it is."""
    text = re.sub(r"([\\`*_\[\]<>$|#])", r"\\\1", text)
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "?", "!")) else ".")


def told(code: str) -> tuple[str, str]:
    """Return what a check does, from its docstring, and its references."""
    text, _, references = inspect.cleandoc(CHECKS[code].answer.__doc__ or "").partition("\n\nReferences\n----------\n")
    verb, space, rest = text.partition(" ")  # the imperative of docstrings becomes what the check does
    return f"{verb}s{space}{rest}", references


def write(app: Sphinx, config: Config) -> None:
    """Write the pages, unless they are newer than the package."""
    folder = jinja2.FileSystemLoader(DOCS / "_templates")
    template = jinja2.Environment(loader=folder, trim_blocks=True, lstrip_blocks=True).get_template("checks.md")
    sources = (*(ROOT / "bayesclf").rglob("*.py"), *(DOCS / "_templates").glob("*.md"), Path(__file__), RATES)
    pages = {FOLDER / f"of_{name}.md": letter for letter, name in SECTIONS.items()}
    newest = max(path.stat().st_mtime for path in sources)
    if all(page.exists() and page.stat().st_mtime > newest for page in pages):
        return
    tools = {"example": example, "rates": rates, "escaped": escaped, "told": told}
    for page, letter in pages.items():
        checks = {code: check for code, check in CHECKS.items() if code.startswith(letter)}
        text = template.render(name=SECTIONS[letter], checks=checks, why_not=simulation.NOT_SIMULATED, **tools)
        page.write_text(text + "\n", encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages as soon as the settings are known."""
    app.connect("config-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
