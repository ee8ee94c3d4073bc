"""Imports point one way, without a circle, and importing the package stays light.

All imports count: at the top of a module, inside functions, under ``TYPE_CHECKING``, and by `import_module`.
"""

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import bayesclf
from bayesclf.methods import METHODS

LAYERS = (
    {"errors", "arrays", "wording", "constraints", "display", "progress", "files", "workers", "methods"},
    {"tables"},
    {"pymc_models"},
    {"families"},
    {"models"},
    {"posterior"},
    {"rules", "decisions", "engines"},
    {"classifiers", "storage"},
    {"finite", "evaluation", "conformal", "stacking"},
    {"interpretation"},
    {"plots"},
    {"diagnostics"},
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


def imports(path):
    """Return the modules of the package that a file imports, wherever in it."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {module for node in nodes for module in map(module_of, targets(node)) if module}


@pytest.fixture(scope="module")
def all_imports():
    """Return what each module imports."""
    return {name: imports(path) - {name} for name, path in MODULES.items()}


def level(name):
    return LEVEL[name.partition(".")[0]]


def test_every_room_has_a_layer():
    assert {name.partition(".")[0] for name in MODULES} == set(LEVEL)


def test_imports_point_one_way(all_imports):
    pairs = ((name, target) for name, below in all_imports.items() for target in below)
    assert [(name, target) for name, target in pairs if level(target) > level(name)] == []


def test_a_listed_method_is_of_a_room_above_its_class():
    listed = ((home, target) for home, methods in METHODS.items() for target in methods.values())
    pairs = [tuple(module_of(name.partition(":")[0]) for name in pair) for pair in listed]
    assert [(cls, target) for cls, target in pairs if level(target) < level(cls)] == []


def test_no_imports_run_in_a_circle(all_imports):
    try:
        TopologicalSorter(all_imports).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


HEAVY = {
    "bayesclf": {"pymc", "arviz", "matplotlib", "pandas", "sklearn", "xarray"},
    "bayesclf.cli": {"pymc", "arviz", "matplotlib", "pandas", "sklearn", "xarray", "scipy", "numpy"},
    "bayesclf.storage": {"pymc", "arviz", "pandas", "sklearn", "xarray", "h5netcdf", "h5py"},
    "bayesclf.tables.datasets": {"pandas", "sklearn", "pyarrow"},
    "bayesclf.engines.nuts": {"pymc", "arviz", "nutpie", "pytensor"},
    "bayesclf.classifiers": {"pymc", "arviz_stats", "xarray", "matplotlib", "nutpie", "pytensor", "numba", "dask"},
    "bayesclf.plots": {"pymc", "arviz_plots", "matplotlib"},
}
"""What importing a module must not load, nor importing all modules above it, nor a first fit of the classifiers."""

IMPORTER = """
import bayesclf, importlib, sys
for module in sys.argv[1:]:
    importlib.import_module(module)
    if module == "bayesclf.classifiers":
        for name in ("NaiveBayes", "LogisticRegression"):
            X, y = importlib.import_module("sklearn.datasets").load_iris(return_X_y=True)
            getattr(bayesclf, name)(random_state=0).fit(X, y).predict(X)
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


HOUSE = Path(bayesclf.__file__).parents[1] / "benchmarks" / "house.py"

SMALL = {"diagnostics.thresholds", "errors", "arrays"}
"""Modules that are still below the bound; no other may be, and one that is not below it any more leaves the list."""
UNBOUNDED = ("__init__", "__main__", "pymc_models")
"""What gives names, the command, and a page for each classifier."""


def test_a_module_has_60_to_600_code_lines():
    spec = spec_from_file_location("house", HOUSE)
    house = module_from_spec(spec)
    spec.loader.exec_module(house)
    bounded = {name: path for name, path in MODULES.items() if path.stem not in UNBOUNDED}
    lines = {name: house.code_lines(path.read_text(encoding="utf-8")) for name, path in bounded.items()}
    assert (house.FEWEST, house.MOST) == (60, 600)
    assert {name for name, count in lines.items() if count < house.FEWEST} == SMALL
    assert {name: count for name, count in lines.items() if count > house.MOST} == {}


FILES = {"predict": 11, "fit exact": 14, "fit logistic": 18, "compare": 38, "diagnose": 45, "report": 65, "stream": 20}
"""The most files that a call enters."""


@pytest.mark.slow
@pytest.mark.parametrize("walk", FILES)
def test_a_call_enters_few_files(walk):
    program = [sys.executable, HOUSE, "--list", walk]
    entered = subprocess.run(program, capture_output=True, text=True, check=True).stdout.split()
    assert 0 < len(entered) <= FILES[walk]
