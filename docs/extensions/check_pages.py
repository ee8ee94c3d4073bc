"""A page for each check of `diagnose`: its docstring, its thresholds, its simulated rates and an example.

Everything is read from the package, from `checks/false_alarms.md`, which `benchmarks/checks.py` writes, and from a run
on a table or on draws with the fault that the check is there to find.
"""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import xarray as xr
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.pycode import ModuleAnalyzer

import bayesclf as bc
from bayesclf.diagnostics import CHECKS, Finding, thresholds
from bayesclf.engines import convergence
from bayesclf.engines.nuts import STATISTICS

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
import checks as simulation  # noqa: E402

FOLDER = DOCS / "checks"
RATES = FOLDER / "false_alarms.md"
SECTIONS = {"P": "the posterior", "M": "the model", "Y": "predictions"}
SEEDS = 20
"""Tables with a fault that are drawn until the check finds it."""
ROWS = {"Y05": 1000}
"""Rows of the table with the fault, where 100 are too few to find it."""
BOUNDS = "# Bounds on work"
"""Line of `thresholds` below which are bounds on work, which decide nothing."""
MADE = {
    "P01": "one of four chains is elsewhere",
    "P08": "30 rows of 20 columns",
}
"""Faults that no table of the simulation has."""


def example(code: str) -> tuple[str, Finding]:
    """Return what is wrong with a table or with draws, in words, and what the check says of it."""
    rows = ROWS.get(code, 100)
    fault, case = simulation.FAULTS.get(code, (MADE.get(code, ""), None))
    for seed in range(SEEDS if case else 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if case:
                clf, X, y, new = case(np.random.default_rng([seed, rows]), rows)
                (finding,) = clf.diagnose(X, y, new=new, checks=[code], progress=False).findings
            else:
                (finding,) = made(code).diagnose(checks=[code], progress=False).findings
        if finding.section in ("issue", "tip"):
            return f"{rows:,} rows: {fault}" if case else fault, finding
    raise ExtensionError(f"check {code} does not find {fault!r}: {finding.reason}")


def made(code: str) -> Any:
    """Return a classifier with four chains that no sampler made, or with a normal approximation that is too narrow."""
    rng = np.random.default_rng(0)
    if code == "P08":
        few = bc.LogisticRegression(prior_scale=50.0, inference=simulation.LAPLACE, random_state=0)
        return few.fit(rng.normal(size=(30, 20)), np.arange(30) % 2)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 1)) + y[:, None]
    clf = bc.GaussianNB(inference=bc.engines.Exact(draws=1000), random_state=1).fit(X, y)
    moves, energy = rng.normal(size=(2, 4, 1000))
    stats = {name: np.zeros((4, 1000)) for name in STATISTICS} | {"energy": energy, "step_size": np.ones((4, 1000))}
    stats |= {name: np.zeros((4, 1000), dtype=bool) for name in ("diverging", "reached_max_treedepth")}
    moves[0] += 1.0
    draws = xr.DataArray(moves, dims=("chain", "draw"))
    point = clf.posterior_["posterior"].to_dataset().isel(chain=0, draw=0, drop=True)
    posterior = point.map(lambda value: value + (draws if value.name == "mu" else xr.zeros_like(draws)))
    sampled = xr.Dataset({name: (draws.dims, values) for name, values in stats.items()})
    return clf.with_posterior(xr.DataTree.from_dict({"posterior": posterior, "sample_stats": sampled}))


def limits(check: Any) -> list[tuple[str, object, str]]:
    """Return (name, value, what it is) of the thresholds that a check's code names, in their order."""
    code = "\n".join(reached(check.answer, set()))
    found = []
    for module in (convergence, thresholds):
        deciding = inspect.getsource(module).partition(BOUNDS)[0]
        for (_, name), text in ModuleAnalyzer.for_module(module.__name__).find_attr_docs().items():
            value = getattr(module, name, None)
            if isinstance(value, int | float) and f"\n{name} = " in deciding and re.search(rf"\b{name}\b", code):
                found.append((name, value, " ".join(text).strip()))
    return found


def reached(function: Any, known: set[Any]) -> Iterator[str]:
    """Yield the sources of a function and of the functions and classes of the checks that it calls, each once."""
    known.add(function)
    source = inspect.getsource(function)
    yield source
    here = inspect.getmodule(function)
    for first, second in re.findall(r"\b([A-Za-z_]\w*)(?:\.(\w+))?\(", source):
        value = getattr(here, first, None)
        value = getattr(value, second, None) if inspect.ismodule(value) and second else value
        homes = ("bayesclf.diagnostics", "bayesclf.engines.convergence")[: 1 + inspect.isfunction(value)]
        made_here = inspect.isfunction(value) or inspect.isclass(value)
        if made_here and value not in known and value.__module__.startswith(homes):
            yield from reached(value, known)


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


def write(app: Sphinx, config: Config) -> None:
    """Write the pages of all checks and the table of their index, unless they are newer than the package."""
    templates = jinja2.Environment(loader=jinja2.FileSystemLoader(DOCS / "_templates"), trim_blocks=True)
    page, index = templates.get_template("check.md"), FOLDER / "table.txt"
    sources = (*(ROOT / "bayesclf").rglob("*.py"), *(DOCS / "_templates").glob("*.md"), Path(__file__), RATES)
    if index.exists() and index.stat().st_mtime > max(path.stat().st_mtime for path in sources):
        return
    for code, check in CHECKS.items():
        told, _, references = inspect.cleandoc(check.answer.__doc__ or "").partition("\n\nReferences\n----------\n")
        verb, space, rest = told.partition(" ")  # the imperative of docstrings becomes what the check does
        fault, finding = example(code)
        shown = {
            "told": f"{verb}s{space}{rest}",
            "references": references,
            "section": SECTIONS[code[0]],
            "limits": limits(check),
            "rates": rates(code),
            "why_not": simulation.NOT_SIMULATED.get(code),
        }
        text = page.render(check=check, fault=fault, finding=finding, escaped=escaped, **shown)
        (FOLDER / f"{code}.md").write_text(text + "\n", encoding="utf-8")
    index.write_text(templates.get_template("checks.md").render(sections=SECTIONS, checks=CHECKS), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages as soon as the settings are known."""
    app.connect("config-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
