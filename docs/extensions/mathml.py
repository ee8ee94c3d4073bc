"""Formulas as MathML, which browsers draw themselves: no script and no font has to be loaded."""

from __future__ import annotations

import html
import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
STYLE = re.compile(r"(?<=[^\s{])\s*(\\(?:text|display|script)style\b)(.*)", re.DOTALL)


def mathml(node: nodes.math | nodes.math_block, *, block: bool) -> str:
    """Return a formula of LaTeX as a `<math>` element; one that cannot be drawn is shown as it is, with a warning."""
    source = node.astext()
    formula = source.replace("−", "-")  # the minus of docstrings, which docutils does not know
    # A style holds for the rest of the formula; docutils wants it to begin a group.
    formula = STYLE.sub(r" {\1\2}", formula)
    try:
        return tex2mathml(formula, as_block=block)
    except MathError as error:
        LOGGER.warning("the formula %s cannot be drawn: %s", source, error, location=node, type="mathml")
        return f"<code>{html.escape(source)}</code>"


def _inline(self: Any, node: nodes.math) -> None:
    self.body.append(mathml(node, block=False))
    raise nodes.SkipNode


def _block(self: Any, node: nodes.math_block) -> None:
    self.body.append(f'<div class="math-block">{mathml(node, block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
