"""Imports point one way, without a circle, and importing the package stays light.

All imports count: at the top of a module, inside functions, under ``TYPE_CHECKING``, and by `import_module`.
"""

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import bayesclf

LAYERS = (
    {"errors", "typing", "wording", "constraints", "display", "progress", "files", "workers", "memory", "cluster"},
    {"families", "tables"},
    {"models"},
    {"posterior"},
    {"rules", "decisions", "inference"},
    {"finite", "classifiers"},
    {"storage", "evaluation", "interpretation"},
    {"conformal", "stacking", "plots", "diagnostics"},
    {"report"},
    {"bayesclf"},
    {"experiments"},
    {"cli"},
    {"__main__"},
)
"""Rooms from the ground up: a room imports from lower layers, and from rooms of its own without a circle.

``bayesclf`` is the package's own `__init__`: what the public names stand on is below it, what uses them above.
"""
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}

UPWARD = {
    ("classifiers.base", "storage"),
    ("classifiers.base", "interpretation.explanation"),
    ("classifiers.base", "interpretation.prediction_files"),
    ("classifiers.base", "interpretation.predictions"),
    ("classifiers.base", "interpretation.priors"),
    ("classifiers.base", "interpretation.summary"),
    ("classifiers.base", "evaluation.datatree"),
    ("classifiers.base", "evaluation.leave_one_out"),
    ("classifiers.base", "evaluation.predictive_checks"),
    ("classifiers.base", "diagnostics"),
    ("classifiers.base", "report"),
    ("classifiers.text", "interpretation.explanation"),
    ("evaluation.comparison", "plots"),
    ("evaluation.comparison", "report"),
    ("evaluation.comparison", "report.overview"),
    ("evaluation.comparison", "stacking"),
    ("evaluation.learning", "plots"),
    ("interpretation.dependence", "plots"),
    ("families", "models.base"),
}
"""Methods that reach upward, by (module, what it imports), as ``save`` and ``report``; names that moved upward."""


def modules():
    """Return the path of every module by its name without the package's, packages by the name of their folder."""
    package = Path(bayesclf.__file__).parent
    paths = {path.relative_to(package).with_suffix("").parts: path for path in package.rglob("*.py")}
    return {".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "bayesclf": paths[parts] for parts in paths}


MODULES = modules()


def targets(node):
    """Return what a node of a syntax tree imports, by full names."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(level=0, module=module, names=names):
            return [f"{module}.{alias.name}" for alias in names]
        case ast.ImportFrom():
            raise AssertionError(f"a relative import: {ast.unparse(node)}")
        case ast.Call(func=ast.Name(id="import_module"), args=[ast.Constant(value=str(name))]):
            return [name]
    return []


def module_of(target):
    """Return the module of the package that a full name is, or is taken from; None outside the package."""
    first, *parts = target.split(".")
    while parts and ".".join(parts) not in MODULES:
        parts.pop()
    return (".".join(parts) or "bayesclf") if first == "bayesclf" else None


def is_deferred(node):
    """Return whether nothing inside a node runs when its module is imported."""
    is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    return is_function or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")


def imports(node, deferred=False):
    """Yield the modules that are imported below a node of a syntax tree, each with whether that is deferred."""
    for child in ast.iter_child_nodes(node):
        yield from ((module, deferred) for module in map(module_of, targets(child)) if module)
        yield from imports(child, deferred or is_deferred(child))


@pytest.fixture(scope="module")
def all_imports():
    """Return every import of the package as (module, what it imports, whether that is deferred)."""
    return {
        (name, target, deferred)
        for name, path in MODULES.items()
        for target, deferred in imports(ast.parse(path.read_text(encoding="utf-8")))
        if target != name
    }


def level(name):
    return LEVEL[name.partition(".")[0]]


def test_every_room_has_a_layer():
    assert {name.partition(".")[0] for name in MODULES} == set(LEVEL)


def test_imports_point_one_way(all_imports):
    assert {(name, target) for name, target, _ in all_imports if level(target) > level(name)} == UPWARD


def test_upward_imports_are_inside_functions(all_imports):
    assert [(name, target) for name, target, deferred in all_imports if (name, target) in UPWARD and not deferred] == []


def test_no_imports_run_in_a_circle(all_imports):
    below = {name: set() for name in MODULES}
    for name, target, _ in all_imports:
        if (name, target) not in UPWARD:
            below[name].add(target)
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


HEAVY = {
    "bayesclf": {"pymc", "arviz", "matplotlib", "pandas", "sklearn", "xarray"},
    "bayesclf.cli": {"pymc", "arviz", "matplotlib", "pandas", "sklearn", "xarray", "scipy", "numpy"},
    "bayesclf.storage": {"pymc", "arviz", "pandas", "sklearn", "xarray", "h5netcdf", "h5py"},
    "bayesclf.tables.datasets": {"pandas", "sklearn", "pyarrow"},
    "bayesclf.inference.nuts": {"pymc", "arviz", "nutpie", "pytensor"},
    "bayesclf.classifiers": {"pymc", "arviz", "matplotlib", "nutpie", "pytensor"},
    "bayesclf.plots": {"pymc", "arviz_plots", "matplotlib"},
}
"""What importing a module must not load, nor importing all modules above it."""

IMPORTER = """
import importlib, sys
for module in sys.argv[1:]:
    importlib.import_module(module)
    print(*{name.partition(".")[0] for name in sys.modules})
"""


@pytest.fixture(scope="module")
def loaded():
    """Return the libraries that a process has loaded after importing each of the modules in turn."""
    program = [sys.executable, "-c", IMPORTER, *HEAVY]
    lines = subprocess.run(program, capture_output=True, text=True, check=True).stdout.splitlines()
    return dict(zip(HEAVY, map(str.split, lines), strict=True))


@pytest.mark.parametrize("module", HEAVY)
def test_import_is_light(module, loaded):
    assert module.partition(".")[0] in loaded[module]
    assert HEAVY[module].isdisjoint(loaded[module])
