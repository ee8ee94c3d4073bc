"""The notebooks run from top to bottom, and what they draw is kept in them."""

import ast
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

SMALLER = {
    "03_generative_vs_discriminative": {
        "folder = Path(tempfile.mkdtemp())": """
from bayesclf.experiments import convergence
from bayesclf.plots import boundary

boundary.GRID = 41
convergence.SIZES, convergence.COLUMNS = (16, 64, 256), (4, 8)
folder = Path(tempfile.mkdtemp())
""",
        'small("assumptions")': 'small("assumptions", picture_rows=30)',
        'problems="sonar,promoters,votes", largest=150': 'problems="promoters", largest=60',
    },
}
"""Sizes of experiments that have tests of their own: that a notebook runs does not depend on them."""

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_kept_with_its_answers(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell.outputs]
    assert outputs
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]
    written = path.read_text(encoding="utf-8")
    assert not re.search(r"site-packages|/home/|/root/|/tmp/|/Users/", written)
    assert len(written) < 1_000_000


def draws(code):
    """Return whether a cell ends in the call that draws a figure, or in the figure."""
    last = ast.parse(code).body[-1]
    return isinstance(last, ast.Expr) and bool(
        re.search(r"\bplots\.|\bplot_\w+\(|\.draw\(|\bshow\(|^figure$", ast.unparse(last.value))
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_cell_that_draws_has_one_image(path):
    notebook = nbformat.read(path, as_version=4)
    drawing = [cell for cell in notebook.cells if cell.cell_type == "code" and draws(cell.source)]
    assert drawing
    for cell in drawing:
        assert sum("image/png" in output.get("data", {}) for output in cell.outputs) == 1, cell.source


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path):
    notebook = nbformat.read(path, as_version=4)
    for size, smaller in SMALLER.get(path.stem, {}).items():
        (cell,) = [cell for cell in notebook.cells if cell.cell_type == "code" and size in cell.source]
        cell.source = cell.source.replace(size, smaller)
    NotebookClient(notebook, timeout=3600, resources={"metadata": {"path": str(path.parent)}}).execute()
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")


@pytest.mark.slow
def test_notebook_about_text_runs_without_the_folder_of_newsgroups(monkeypatch):
    monkeypatch.delenv("BAYESCLF_DATA", raising=False)
    (path,) = [path for path in NOTEBOOKS if path.stem == "04_text"]
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=3600, resources={"metadata": {"path": str(path.parent)}}).execute()
    printed = [output.text for cell in notebook.cells for output in cell.get("outputs", ()) if "text" in output]
    assert any("set BAYESCLF_DATA" in text for text in printed)
