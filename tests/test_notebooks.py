"""The notebooks run from top to bottom, and what they draw is kept in them."""

import ast
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

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
    assert len(written) < 500_000


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_read_in_ten_minutes(path):
    """At 150 words a minute, code included."""
    assert sum(len(cell.source.split()) for cell in nbformat.read(path, as_version=4).cells) <= 1500


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
    NotebookClient(notebook, timeout=3600, resources={"metadata": {"path": str(path.parent)}}).execute()
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
