"""Imports point one way, and importing the package stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "bayesclf"

LAYERS = (
    {"errors", "threads", "wording"},
    {"posterior", "column_kinds", "tables", "table_description", "files"},
    {"families", "datasets"},
    {"columns"},
    {"hypothesis_set"},
    {"inference", "mixture"},
    {"averaging"},
    {"rules", "decisions"},
    {"hypotheses", "scores", "coverage"},
    {"classifiers"},
    {
        "storage",
        "cross_validation",
        "conformal",
        "leave_one_out",
        "explanation",
        "logistic_weights",
    },
    {"comparison", "predictive_checks", "stacking"},
    {"plots", "diagnostics"},
    {"report"},
    {"experiments"},
    {"cli", "sample_size"},
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

UPWARD = {
    ("classifiers/base.py", "report"): "BayesClassifier.report",
    ("classifiers/base.py", "storage"): "BayesClassifier.save",
    ("classifiers/base.py", "explanation"): "BayesClassifier.explain",
    ("classifiers/base.py", "diagnostics"): "BayesClassifier.diagnose",
    ("classifiers/base.py", "predictive_checks"): "BayesClassifier.predictive_check",
    ("classifiers/base.py", "leave_one_out"): "BayesClassifier.loo",
    ("comparison.py", "report"): "Comparison.report",
    ("comparison.py", "plots"): "Comparison.plot_…",
}
"""Convenience methods that reach upward, inside the function, and hold no logic of their own."""


def imports():
    """Yield (file, module it belongs to, module that it imports, whether at the top level)."""
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE)
        if file == Path("__init__.py"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        hidden = {
            id(node)
            for block in ast.walk(tree)
            if (isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING")
            or isinstance(block, ast.FunctionDef)
            for node in ast.walk(block)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bayesclf"):
                parts = node.module.split(".")
                names = [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
                for name in set(names) & set(LEVEL):
                    yield file.as_posix(), file.parts[0].removesuffix(".py"), name, id(node) not in hidden


def test_every_module_has_a_layer():
    modules = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert {name for name in modules if not name.startswith("__")} - {"data", "py.typed"} == set(LEVEL)


def test_imports_point_one_way():
    wrong = [
        (file, name)
        for file, module, name, _ in imports()
        if LEVEL[name] > LEVEL[module] and (file, name) not in UPWARD
    ]
    assert wrong == []


def test_upward_imports_are_inside_functions_and_still_there():
    found = {(file, name): top for file, module, name, top in imports() if LEVEL[name] > LEVEL[module]}
    assert set(found) == set(UPWARD)
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
