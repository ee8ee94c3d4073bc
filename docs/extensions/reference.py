"""Pages of the reference: every public name, in the group of the module that defines it.

The names are those of `bayesclf.__all__` and of the public modules; `GROUPS` says only which modules make a group, and
a name without one ends the build.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.pycode import ModuleAnalyzer

import bayesclf

FOLDER = Path(__file__).resolve().parents[1] / "reference"


@dataclass(frozen=True)
class Group:
    """A page of the reference.

    Attributes
    ----------
    file, title, text
        Name of the page, its heading, and what stands below it.
    homes
        Beginnings of the modules that define its names of `bayesclf`.
    modules
        Public modules whose names follow.
    results
        Full names of classes that functions of `bayesclf` return.
    """

    file: str
    title: str
    text: str
    homes: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    results: tuple[str, ...] = ()


GROUPS = (
    Group(
        "classifiers",
        "Classifiers",
        "Classifiers of scikit-learn's API, each with a posterior that answers under every rule. Generative ones also "
        "learn by ``partial_fit``, ``as_prior`` and, from tables larger than memory, ``fit_stream``.",
        ("bayesclf.classifiers", "bayesclf.models"),
    ),
    Group(
        "families",
        "Families and priors",
        "P(x | y) of one column or of a block of columns, to be given to :class:`bayesclf.NaiveBayes` in ``blocks``.",
        modules=("families",),
    ),
    Group(
        "pymc_models",
        "Models as PyMC code",
        "Each classifier as a page of plain PyMC. ``clf.to_pymc(X, y)`` is made of the same functions with the "
        "hyperparameters of the fit.",
        modules=("pymc_models",),
    ),
    Group(
        "engines",
        "Inference engines",
        "Values of the classifiers' ``inference``, where the defaults of a name such as ``'nuts'`` do not suit.",
        modules=("engines",),
    ),
    Group(
        "rules",
        "Rules and averages",
        "From a posterior to P(y | x), and from P(y | x) to sets of labels.",
        ("bayesclf.rules", "bayesclf.conformal"),
        ("rules", "posterior.averaging", "finite"),
    ),
    Group(
        "comparison",
        "Comparison and scores",
        "Classifiers and rules on held-out rows: scores with standard errors, curves, leave-one-out, stacking.",
        ("bayesclf.evaluation", "bayesclf.stacking"),
        results=("bayesclf.evaluation.comparison.Comparison", "bayesclf.evaluation.learning.LearningCurve"),
    ),
    Group(
        "diagnostics",
        "Diagnostics and reports",
        "What to trust in a fit. :doc:`/checks/index` has a page for each check; ``clf.report`` and "
        "``comparison.report`` write reports.",
        modules=("diagnostics", "evaluation.predictive_checks"),
    ),
    Group(
        "interpretation",
        "Interpretation",
        "Dependence of columns and weights of models. ``clf.explain`` decomposes the answer to one row.",
        ("bayesclf.interpretation",),
        results=("bayesclf.interpretation.dependence.DependentPairs",),
    ),
    Group(
        "plots",
        "Plots",
        "Each function returns a figure of matplotlib; :doc:`/gallery/index` shows them.",
        modules=("plots",),
    ),
    Group(
        "tables",
        "Tables and streams",
        "Data sets by name and tables from files. Tables larger than memory are read by ``fit_stream`` and "
        "``predict_stream`` of the classifiers, whose pages list what they take; :doc:`/scale` has measurements.",
        ("bayesclf.tables",),
        ("tables.datasets", "tables"),
    ),
    Group(
        "experiments",
        "Experiments",
        "What ``bayesclf experiment`` runs, from Python.",
        modules=("experiments", "experiments.sample_size"),
    ),
    Group(
        "environment",
        "Saved models, progress and errors",
        "``clf.save`` writes a model, :func:`bayesclf.load` reads it.",
        ("bayesclf.storage", "bayesclf.progress"),
        ("errors",),
    ),
)


def public_names(module: ModuleType) -> list[str]:
    """Return the names of a public module that have pages: what it exports, or else its functions and classes.

    Constants of a module without `__all__` have one if they are documented.
    """
    if hasattr(module, "__all__"):
        return [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]
    documented = {name for _, name in ModuleAnalyzer.for_module(module.__name__).find_attr_docs()}
    named = (name for name in _defined(module) if not name.startswith("_"))
    return [name for name in named if _made(module, name) or name in documented]


def _defined(module: ModuleType) -> Iterator[str]:
    """Yield the names that a module's own file binds, in their order."""
    for node in ast.parse(inspect.getsource(module)).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.TypeAlias(name=ast.Name(id=name)):
                yield name


def _made(module: ModuleType, name: str) -> bool:
    value = getattr(module, name)
    return inspect.isfunction(value) or inspect.isclass(value)


def members() -> dict[str, dict[str, list[str]]]:
    """Return, for each group by its file, the full public names by the module they belong to.

    Raises
    ------
    ExtensionError
        For a public name or module that no group has.
    """
    found: dict[str, dict[str, list[str]]] = {group.file: {} for group in GROUPS}
    modules = {name for group in GROUPS for name in group.modules}
    for name in bayesclf.__all__:
        value: Any = getattr(bayesclf, name)
        if inspect.ismodule(value):
            if value.__name__.removeprefix("bayesclf.") not in modules:
                raise ExtensionError(f"no group of the reference has the module bayesclf.{name}")
            continue
        home = value.__module__
        file = next((group.file for group in GROUPS if home.startswith(group.homes)), None) if home else None
        if file is None:
            raise ExtensionError(f"no group of the reference has bayesclf.{name}, which {home} defines")
        found[file].setdefault("bayesclf", []).append(f"bayesclf.{name}")
    for group in GROUPS:
        if group.results:
            found[group.file].setdefault("bayesclf", []).extend(group.results)
        for name in group.modules:
            path = f"bayesclf.{name}"
            found[group.file][path] = [f"{path}.{each}" for each in public_names(import_module(path))]
    return found


def page(group: Group, names: dict[str, list[str]]) -> str:
    """Return the page of a group, with a table for each module."""
    lines = [group.title, "=" * len(group.title), "", group.text, ""]
    for module, full in names.items():
        if len(names) > 1 or module != "bayesclf":
            heading = f"``{module}``"
            summary = (inspect.getdoc(import_module(module)) or "").split("\n\n")[0] if module != "bayesclf" else ""
            lines += [heading, "-" * len(heading), "", summary, ""]
        lines += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
        lines += [*(f"   ~{name}" for name in full), ""]
    return "\n".join(lines)


def write(app: Sphinx, config: Config) -> None:
    """Write the pages of all groups, before autosummary looks for the names."""
    found = members()
    for group in GROUPS:
        keep(FOLDER / f"{group.file}.rst", page(group, found[group.file]))


def keep(path: Path, text: str) -> None:
    """Write a file unless it holds the text, so that Sphinx does not read it again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def mend_links(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Let pages of source code link to names by the module that they are public in.

    `sphinx.ext.viewcode` takes all names of a file for those of one public module, where some may be of another.
    """
    if not page.startswith("_modules/") or "body" not in context:
        return
    objects = app.env.domains["py"].objects

    def mended(found: re.Match[str]) -> str:
        """Return a link to the name that the page has, where there is one."""
        start, document, name = found.groups()
        if name not in objects or objects[name].docname != document:
            here = [full for full, each in objects.items() if each.docname == document]
            for cut in range(name.count("."), 0, -1):
                end = "." + ".".join(name.split(".")[-cut:])
                if ends := [full for full in here if full.endswith(end)]:
                    return f'{start}{document}.html#{ends[0]}"'
        return found[0]

    context["body"] = re.sub(r'(href="(?:\.\./)*)([^"]*)\.html#(bayesclf[\w.]*)"', mended, context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages as soon as the settings are known."""
    app.connect("config-inited", write)
    app.connect("html-page-context", mend_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
