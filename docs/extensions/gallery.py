"""Figures of the gallery, for sphinx-gallery: elements of the page in its colors, light or dark."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

import bayesclf as bc
from bayesclf.report.document import SETTINGS, svg


def begin(gallery_conf: dict[str, Any], name: str) -> None:
    """Start an example as it is to be drawn."""
    bc.set_progress(False)
    mpl.rcParams.update(SETTINGS)


def scrape(block: Any, example: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Return the figure that an example has left open, if any, and keep it as the file from which its card is made."""
    if not plt.get_fignums():
        return ""
    path = Path(next(example["image_path_iterator"])).with_suffix(".svg")
    title, _, text = example["example_globals"]["__doc__"].strip().partition("\n")
    image = str(svg(plt.gcf, Path(example["src_file"]).stem, title, text.partition("\n\n")[2].replace("\n", " ")))
    path.write_text(card(image), encoding="utf-8")
    return f".. raw:: html\n\n   <div class='figure'>\n{textwrap.indent(image, '   ')}\n   </div>\n"


def card(image: str) -> str:
    """Return a figure as a file of its own, in grays that light and dark pages have in common."""
    for of_page, gray in {"currentColor": "#808080", "var(--line)": "#80808055", "var(--muted)": "#8c8c8c"}.items():
        image = image.replace(of_page, gray)
    return image.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" ', 1)
