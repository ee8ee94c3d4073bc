"""A page for each check of `diagnose`: its docstring, its thresholds, its simulated rates and an example.

Everything is read from the package, from `checks/false_alarms.md`, which `benchmarks/checks.py` writes, and from a run
on a table with the fault that the check is there to find.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import warnings
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import xarray as xr
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

import bayesclf as bc
from bayesclf.diagnostics import CHECKS, Check, Finding, thresholds
from bayesclf.engines import convergence
from bayesclf.engines.nuts import STATISTICS
from extensions import cache
from extensions.reference import keep

FOLDER = Path(__file__).resolve().parents[1] / "checks"
RATES = FOLDER / "false_alarms.md"
SIMULATION = cache.ROOT / "benchmarks" / "checks.py"

SECTIONS = {"P": "the posterior", "M": "the model", "Y": "predictions"}
SEEDS = 20
"""Tables with a fault that are drawn until the check finds it."""
ROWS = {"Y05": 1000}
"""Rows of the table with the fault, where 100 are too few to find it."""
BOUNDS = "# Bounds on work"
"""Line of `thresholds` below which are bounds on work, which decide nothing."""


def simulation() -> ModuleType:
    """Return `benchmarks/checks.py`, which is not part of the package."""
    spec = spec_from_file_location("simulated_checks", SIMULATION)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module  # where its dataclasses look for their types
    spec.loader.exec_module(module)
    return module


# Examples


def found_by(code: str) -> tuple[str, Finding]:
    """Return what is wrong with a table or with draws, in words, and what the check of this code says of it."""
    module = simulation()
    if code not in module.FAULTS:
        return _made_up(code)
    fault, case = module.FAULTS[code]
    rows = ROWS.get(code, 100)
    for seed in range(SEEDS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clf, X, y, new = case(np.random.default_rng([seed, rows]), rows)
            (finding,) = clf.diagnose(X, y, new=new, checks=[code], progress=False).findings
        if finding.section in ("issue", "tip"):
            return f"{rows:,} rows: {fault}", finding
    raise ExtensionError(f"check {code} finds {fault!r} in none of {SEEDS} tables of {rows} rows")


def _made_up(code: str) -> tuple[str, Finding]:
    """Return an example of a check of chains, with draws that no sampler made, or of Laplace's approximation."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 1)) + y[:, None]
    if code == "P08":
        engine = bc.engines.Laplace(draws=500, limit=np.inf)
        few = bc.LogisticRegression(prior_scale=10.0, inference=engine, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clf, said = few.fit(rng.normal(size=(12, 10)), np.arange(12) % 2), "12 rows of 10 columns"
    else:
        said, change = CHAINS[code]
        exact = bc.GaussianNB(inference=bc.engines.Exact(draws=1000), random_state=1).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the same problem, as a warning
            clf = exact.with_posterior(_chains(exact, change, rng))
    (finding,) = clf.diagnose(checks=[code], progress=False).findings
    if finding.section not in ("issue", "tip"):
        raise ExtensionError(f"check {code} does not find {said!r}: {finding.reason}")
    return said, finding


CHAINS: dict[str, tuple[str, Callable[[dict[str, Any]], None]]] = {
    "P01": ("one of four chains is elsewhere", lambda at: at["draws"].__setitem__(0, at["draws"][0] + 1.0)),
    "P02": ("each draw is nearly the one before", lambda at: at.update(draws=np.cumsum(at["draws"], axis=1) / 30)),
    "P03": ("each draw is nearly the one before", lambda at: at.update(draws=np.cumsum(at["draws"], axis=1) / 30)),
    "P05": ("12 divergent draws", lambda at: at["diverging"].__setitem__((0, slice(12)), True)),
    "P06": ("a fifth of the draws at the deepest tree", lambda at: at["deepest"].__setitem__((0, slice(800)), True)),
    "P07": ("energies that change slowly", lambda at: at.update(energy=np.cumsum(at["energy"], axis=1) / 30)),
}
"""What is done to four chains of 1,000 independent draws, by the check that finds it."""


def _chains(clf: Any, change: Callable[[dict[str, Any]], None], rng: np.random.Generator) -> xr.DataTree:
    """Return draws of a classifier's parameters as if NUTS had made them, changed."""
    posterior = clf.posterior_["posterior"].to_dataset()
    shape = (4, 1000)
    at: dict[str, Any] = {
        "draws": rng.normal(size=shape),
        "energy": rng.normal(size=shape),
        "diverging": np.zeros(shape, dtype=bool),
        "deepest": np.zeros(shape, dtype=bool),
        "other": np.ones(shape),
    }
    change(at)
    draws = xr.DataArray(at["draws"], dims=("chain", "draw"))
    base = posterior.isel(chain=0, draw=0, drop=True)
    moved = {name: value * xr.ones_like(draws) for name, value in base.data_vars.items()}
    moved["mu"] = moved["mu"] + draws
    keys = {"diverging": "diverging", "energy": "energy", "reached_max_treedepth": "deepest"}
    stats = {name: (("chain", "draw"), at[keys.get(name, "other")]) for name in STATISTICS}
    return xr.DataTree.from_dict({"posterior": xr.Dataset(moved), "sample_stats": xr.Dataset(stats)})


def examples() -> dict[str, dict[str, str]]:
    """Return the example of each check, as it was found before by the same code, or else by running it."""
    path = cache.place("checks", SIMULATION.read_bytes(), Path(__file__).read_bytes())
    if not path.exists():
        found = {}
        for code in CHECKS:
            said, finding = found_by(code)
            found[code] = {
                "fault": said,
                "section": finding.section,
                "severity": finding.severity,
                "reason": finding.reason,
                "next_step": finding.next_step,
            }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
    return dict(json.loads(path.read_text(encoding="utf-8")))


# Thresholds


def constants() -> dict[str, tuple[object, str]]:
    """Return (value, docstring) of each threshold that decides, by its name."""
    found: dict[str, tuple[object, str]] = {}
    for module in (convergence, thresholds):
        source = inspect.getsource(module).partition(BOUNDS)[0]
        body = ast.parse(source).body
        for node, after in zip(body, [*body[1:], None], strict=True):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
                name = node.targets[0].id
                match after:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        found[name] = getattr(module, name), text
                    case _:
                        found.setdefault(name, (getattr(module, name), ""))
    return found


def reached(function: Callable[..., Any], known: set[Any] | None = None) -> Iterator[str]:
    """Yield the sources of a function and of the functions and classes of the checks that it names, each once."""
    known = set() if known is None else known
    if function in known:
        return
    known.add(function)
    source = inspect.getsource(function)
    yield source
    here = inspect.getmodule(function)
    for first, second in re.findall(r"\b([A-Za-z_]\w*)(?:\.(\w+))?\(", source):
        value = getattr(here, first, None)
        if inspect.ismodule(value) and second:
            value = getattr(value, second, None)
        of_checks = (FunctionType, "bayesclf.engines.convergence"), (FunctionType | type, "bayesclf.diagnostics")
        if any(isinstance(value, kind) and value.__module__.startswith(home) for kind, home in of_checks):
            yield from reached(value, known)


def limits(check: Check) -> list[tuple[str, object, str]]:
    """Return (name, value, what it is) of the thresholds that a check's code names, in their order."""
    sources = "\n".join(reached(check.answer))
    return [
        (name, value, text)
        for name, (value, text) in constants().items()
        if text and isinstance(value, int | float) and re.search(rf"\b{name}\b", sources)
    ]


# Rates


def rates(code: str) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return (kind of table, what the number is, (column, percentage) of each column) of the simulated rates."""
    found = []
    part = kind = ""
    header: list[str] = []
    for line in RATES.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            level, _, title = line.partition(" ")
            part, kind = (title, "") if level == "##" else (part, title)
        elif line.startswith("| check"):
            header = _cells(line)
        elif line.startswith(f"| {code} "):
            found.append((part, kind, list(zip(header[1:], _cells(line)[1:], strict=True))))
    return found


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("| ").split("|")]


# Pages


def page(check: Check, example: dict[str, str]) -> str:
    """Return the page of a check."""
    title = f"{check.code} {check.title}"
    summary, references = _docstring(check)
    lines = [f".. _check-{check.code}:", "", title, "=" * len(title), ""]
    lines += [f"*A check of {SECTIONS[check.code[0]]}. Applies to: {check.applies_to}.*", ""]
    lines += _section("What it does", _told(summary))
    if decisive := limits(check):
        lines += _section("When it reports", "Thresholds of `bayesclf.diagnostics.thresholds`:")
        lines += _table(("threshold", "value", "what it is"), [(f"``{n}``", f"{v:g}", t) for n, v, t in decisive])
    fault = f"For example, of a table or draws with this fault ({example['fault']}):"
    lines += _section("What it says, and what to do", fault)
    lines += [f"    **{example['section'].capitalize()} ({example['severity']}).** {_sentence(example['reason'])}", ""]
    lines += [f"    **Next step:** {_sentence(example['next_step'])}", ""]
    alone = f'``clf.diagnose(X, y, checks=["{check.code}"])`` runs this check alone'
    lines += [f"{alone}; ``.evidence`` of its finding has the numbers.", ""]
    lines += ["How often it is wrong", "-" * 21, "", *_rates(check.code)]
    if references:
        lines += _section("References", references)
    return "\n".join(lines)


def _section(heading: str, text: str) -> list[str]:
    return [heading, "-" * len(heading), "", text, ""]


def _docstring(check: Check) -> tuple[str, str]:
    """Return what a check's docstring says, and its references."""
    text, _, references = inspect.cleandoc(check.answer.__doc__ or "").partition("\n\nReferences\n----------\n")
    return text, references


def _told(docstring: str) -> str:
    """Return what a check is told to do, in the imperative as in docstrings, as what it does."""
    verb, space, rest = docstring.partition(" ")
    return f"{verb}s{space}{rest}"


def _sentence(text: str) -> str:
    """Return a sentence as reStructuredText that shows it as it is."""
    escaped = re.sub(r"([*`|_\\])", r"\\\1", text)
    return f"{escaped[:1].upper()}{escaped[1:]}" + ("" if text.endswith((".", "?", "!")) else ".")


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in (header, *rows):
        for number, cell in enumerate(row):
            lines.append(f"   {'*' if not number else ' '} - {' '.join(cell.split())}".rstrip())
    return [*lines, ""]


def _rates(code: str) -> list[str]:
    """Return the simulated false alarms and power; :doc:`false_alarms` says how they came about."""
    found = rates(code)
    if not found:
        why = simulation().NOT_SIMULATED[code]
        return [f"Not simulated: {why}.", ""]
    false = {kind or part: dict(cells) for part, kind, cells in found if part != "Faults"}
    faults = [dict(cells) for part, _, cells in found if part == "Faults"]
    chains = false.pop("Chains", {})
    lines = []
    if chains:
        lines += ["In percent, by :doc:`simulation <false_alarms>`:", ""]
        lines += _table(tuple(chains), [tuple(chains.values())])
    if false:
        lines += ["False alarms in percent, by :doc:`simulation <false_alarms>` of tables that the model fits:", ""]
        sizes = list(dict.fromkeys(size for shares in false.values() for size in shares))
        header = ("tables", *(f"{size} rows" for size in sizes))
        lines += _table(header, [(kind, *(shares.get(size, "–") for size in sizes)) for kind, shares in false.items()])
    for shares in faults:
        fault = shares.pop("fault")
        lines += [f"Power in percent, on tables with this fault: {fault}.", ""]
        lines += _table(tuple(shares), [tuple(shares.values())])
    return lines


def index() -> str:
    """Return the table of all checks, which the page of the folder includes."""
    lines = []
    for letter, what in SECTIONS.items():
        lines += [f".. rubric:: {letter}: checks of {what}", ""]
        rows = [
            (f":doc:`{code} <{code}>`", check.title, check.applies_to)
            for code, check in CHECKS.items()
            if code.startswith(letter)
        ]
        lines += _table(("code", "check", "applies to"), rows)
    return "\n".join(lines)


def write(app: Sphinx, config: Config) -> None:
    """Write all pages."""
    found = examples()
    for code, check in CHECKS.items():
        keep(FOLDER / f"{code}.rst", page(check, found[code]))
    keep(FOLDER / "table.txt", index())


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages as soon as the settings are known."""
    app.connect("config-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
