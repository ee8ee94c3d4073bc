"""The gallery: a page for each script of the folder, with the figures that its cells end with.

A script is a docstring, whose first line is the title of the page, and cells. A cell begins with ``# %%`` and what its
figure shows, and its last line is a call that returns the figure. Figures are inline SVG in the colors of the page,
light or dark.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

import bayesclf as bc
from bayesclf.report.document import svg
from extensions import cache
from extensions.reference import keep

FOLDER = Path(__file__).resolve().parents[1] / "gallery"
IMAGES = FOLDER.parent / "_build" / "gallery"
CARDS = FOLDER.parent / "_build" / "cards"
ORDER = (
    *("comparison", "calibration", "learning", "posterior", "boundary", "weights", "dependence", "leave_one_out"),
    "chains",
)
"""Scripts in the order of the gallery."""
PLOT = re.compile(r"bc\.plots\.(\w+)\(")


@dataclass(frozen=True)
class Cell:
    """Part of a script.

    Attributes
    ----------
    title
        What its figure shows.
    code
        Its lines.
    function
        Name of the plotting function.
    image
        The figure, as an element of HTML.
    """

    title: str
    code: str
    function: str
    image: str = ""


def cells(script: str) -> Iterator[Cell]:
    """Yield the cells of a script, without figures."""
    for part in re.split(r"^# %% ", script, flags=re.MULTILINE)[1:]:
        title, _, code = part.partition("\n")
        yield Cell(title.strip(), code.strip(), PLOT.findall(code)[-1])


def drawn(name: str, script: str) -> list[Cell]:
    """Return the cells of a script with their figures, which are drawn unless the same code has drawn them before."""
    path = cache.place(f"gallery-{name}", script.encode(), Path(__file__).read_bytes())
    if not path.exists():
        found = list(_run(name, script))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([asdict(cell) for cell in found]), encoding="utf-8")
    return [Cell(**cell) for cell in json.loads(path.read_text(encoding="utf-8"))]


def _run(name: str, script: str) -> Iterator[Cell]:
    """Run the cells of a script one after the other, and yield them with their figures."""
    bc.set_progress(False)
    space: dict[str, Any] = {}
    for number, cell in enumerate(cells(script)):
        *before, last = ast.parse(cell.code).body
        assert isinstance(last, ast.Expr)
        exec(compile(ast.Module(before, []), f"{name}.py", "exec"), space)
        call = compile(ast.Expression(last.value), f"{name}.py", "eval")
        summary = (inspect.getdoc(getattr(bc.plots, cell.function)) or "").partition("\n\n")[0].replace("\n", " ")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            image = svg(lambda call=call: eval(call, space), f"{name}-{number}", cell.title, summary)
        yield Cell(cell.title, cell.code, cell.function, str(image))


def page(name: str, script: str, found: list[Cell]) -> str:
    """Return the page of a script, and leave its figures where the page finds them."""
    title, _, text = (ast.get_docstring(ast.parse(script)) or "").partition("\n\n")
    lines = [title, "=" * len(title), "", text, ""]
    for number, cell in enumerate(found):
        keep(IMAGES / f"{name}-{number}.html", f'<div class="figure">{cell.image}</div>\n')
        lines += [f".. _plot-{cell.function}:", ""] if f".. _plot-{cell.function}:" not in lines else []
        lines += [cell.title, "-" * len(cell.title), "", f":func:`bayesclf.plots.{cell.function}`", ""]
        lines += [".. code-block:: python", "", *(f"   {line}".rstrip() for line in cell.code.splitlines()), ""]
        lines += [".. raw:: html", f"   :file: ../_build/gallery/{name}-{number}.html", ""]
    return "\n".join(lines)


def card(image: str) -> str:
    """Return a figure as a file of its own, in grays that light and dark pages have in common."""
    for of_page, gray in {"currentColor": "#808080", "var(--line)": "#80808055", "var(--muted)": "#8c8c8c"}.items():
        image = image.replace(of_page, gray)
    return image.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" ', 1)


def write(app: Sphinx, config: Config) -> None:
    """Write the page of each script, and the cards of the index."""
    cards = ['<div class="gallery">']
    for name in ORDER:
        script = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
        found = drawn(name, script)
        keep(FOLDER / f"{name}.rst", page(name, script, found))
        for number, cell in enumerate(found):
            anchor = re.sub(r"[^a-z0-9]+", "-", cell.title.lower()).strip("-")
            keep(CARDS / "cards" / f"{name}-{number}.svg", card(cell.image))
            image = f'<img src="../_static/cards/{name}-{number}.svg" alt="" loading="lazy">'
            cards.append(f'<a class="card-of" href="{name}.html#{anchor}">{image}<span>{cell.title}</span></a>')
    keep(IMAGES / "index.html", "\n".join([*cards, "</div>", ""]))


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages as soon as the settings are known."""
    app.connect("config-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
