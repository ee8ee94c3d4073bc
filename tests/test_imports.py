"""Imports point one way, without a circle, and importing the package stays light.

All imports count: at the top of a module, inside functions, and under ``TYPE_CHECKING``.
"""

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import bayesclf

PACKAGE = Path(bayesclf.__file__).parent

LAYERS = (
    {"errors", "typing", "wording", "files"},
    {"families", "tables"},
    {"models"},
    {"posterior"},
    {"rules", "decisions", "inference"},
    {"finite", "classifiers"},
    {"storage", "evaluation", "interpretation"},
    {"conformal", "stacking", "plots", "diagnostics"},
    {"report"},
    {"experiments"},
    {"cli"},
)
"""Rooms from the ground up: a room imports from lower layers, and from rooms of its own without a circle."""
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

OUTSIDE = {"__init__"}
"""The package's own front door, which names every room and is imported by none."""

UPWARD = {
    ("classifiers.base", "report"): "BayesClassifier.report",
    ("classifiers.base", "storage"): "BayesClassifier.save",
    ("classifiers.base", "interpretation.explanation"): "BayesClassifier.explain",
    ("classifiers.base", "diagnostics"): "BayesClassifier.diagnose",
    ("classifiers.base", "evaluation.predictive_checks"): "BayesClassifier.predictive_check",
    ("classifiers.base", "evaluation.leave_one_out"): "BayesClassifier.loo",
    ("evaluation.comparison", "report"): "Comparison.report",
    ("evaluation.comparison", "plots"): "Comparison.plot_…",
}
"""Convenience methods that reach upward, by (module, what it imports): three lines, the import inside."""


def modules():
    """Return the path of every module of the package by its name, packages by the name of their folder."""
    names = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)] = path
    return names


MODULES = modules()


def imports(name):
    """Return the modules of the package that one imports, wherever in the file, each with whether at the top level."""
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) or _is_for_types(node)]
    inner = {id(node) for block in blocks for node in ast.walk(block)}
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "bayesclf":
            module = node.module.removeprefix("bayesclf").removeprefix(".")
            for alias in node.names:
                target = f"{module}.{alias.name}".removeprefix(".")
                target = target if target in MODULES else module
                if target and target != name:
                    found[target] = found.get(target, False) or id(node) not in inner
    return found


def _is_for_types(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


GRAPH = {name: imports(name) for name in MODULES if name.split(".")[0] not in OUTSIDE}


def is_upward(name, target):
    return any(name == module and f"{target}.".startswith(f"{aim}.") for module, aim in UPWARD)


def level(name):
    return LEVEL[name.split(".")[0]]


def test_every_room_has_a_layer():
    assert {name.split(".")[0] for name in MODULES} - OUTSIDE == set(LEVEL)


def test_imports_point_one_way():
    wrong = [
        (name, target)
        for name, targets in GRAPH.items()
        for target in targets
        if level(target) > level(name) and not is_upward(name, target)
    ]
    assert wrong == []


def test_no_imports_run_in_a_circle():
    below = {name: {t for t in targets if not is_upward(name, t)} for name, targets in GRAPH.items()}
    try:
        list(TopologicalSorter(below).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_upward_imports_are_inside_methods_and_still_there():
    found = {
        (name, target): top
        for name, targets in GRAPH.items()
        for target, top in targets.items()
        if is_upward(name, target)
    }
    assert {
        (name, aim) for name, aim in UPWARD if any(n == name and f"{t}.".startswith(f"{aim}.") for n, t in found)
    } == set(UPWARD)
    assert not any(found.values())


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("bayesclf", {"pymc", "arviz", "matplotlib", "pandas", "sklearn", "xarray"}),
        ("bayesclf.cli", {"pymc", "arviz", "matplotlib", "pandas", "sklearn", "xarray"}),
        ("bayesclf.classifiers", {"pymc", "arviz", "matplotlib", "nutpie", "pytensor"}),
    ],
)
def test_import_is_light(module, heavy):
    program = f"import sys, {module}; print(*{{name.split('.')[0] for name in sys.modules}})"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert heavy.isdisjoint(loaded)
