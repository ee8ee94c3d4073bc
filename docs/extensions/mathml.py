"""Formulas as MathML, which browsers draw themselves: no script and no font has to be loaded."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError


def mathml(formula: str, *, block: bool) -> str:
    """Return a formula of LaTeX as a `<math>` element."""
    formula = formula.replace("−", "-")  # the source's minus, which docutils does not know
    try:
        return tex2mathml(formula, as_block=block)
    except MathError as error:
        raise ExtensionError(f"the formula {formula!r} cannot be drawn: {error}") from error


def _inline(self: Any, node: nodes.math) -> None:
    self.body.append(mathml(node.astext(), block=False))
    raise nodes.SkipNode


def _block(self: Any, node: nodes.math_block) -> None:
    self.body.append(f'<div class="math-block">{mathml(node.astext(), block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
