"""Figures of a page as SVG in its colors, and how a page was made."""

from __future__ import annotations

import io
import os
import platform
import re
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from bayesclf.errors import InputError
from bayesclf.files import output_file
from bayesclf.wording import listed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PACKAGES = ("bayesclf", "pymc", "arviz", "nutpie", "numpy", "scipy", "scikit-learn", "pandas", "xarray")

INK, FAINT = "#010203", "#010204"
"""Colors of text and of grid lines while a figure is drawn; they are replaced by those of the page, dark or light."""

PAGE_COLORS = {INK: "currentColor", "#000000": "currentColor", FAINT: "var(--line)", "#8c8c8c": "var(--muted)"}

SETTINGS: dict[str, Any] = {
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor"), INK),
    **dict.fromkeys(("xtick.color", "ytick.color", "xtick.labelcolor", "ytick.labelcolor"), INK),
    "grid.color": FAINT,
    "figure.facecolor": "#ffffff00",  # transparent; ArviZ takes "none" for black, and writes on it in white
    **dict.fromkeys(("axes.facecolor", "savefig.facecolor"), "none"),
    "savefig.dpi": 130,
    "font.size": 10,
    "axes.titlesize": 10,
    "svg.fonttype": "none",
}

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"

REFERENCE = re.compile(r"url\(#([^)]*)\)")

PRECISION = re.compile(r"(\d+\.\d\d)\d+")


def made(command: str | None, *facts: tuple[str, str]) -> list[tuple[str, str]]:
    """Return how a page was made: the command, if there was one, further facts, and the versions in use."""
    return [*([("Command", command)] if command else []), *facts, *versions()]


def versions() -> list[tuple[str, str]]:
    """Return the versions in use, for the section on how a page was made."""
    packages = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    return [("Python", platform.python_version()), ("Packages", packages)]


ENDINGS = (".html", ".htm", ".md", ".json")
"""Endings of reports, which say the form."""


def writable(path: str | os.PathLike[str], option: str = "the report", inputs: Sequence[str] = ()) -> Path:
    """Check a path, which the user named so, before any work; it must not be one of the inputs."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"a report needs the name of a file, such as 'report.html', not {path!r}")
    target = output_file(os.fspath(path), option, inputs)
    if target is None or target.suffix.lower() not in ENDINGS:
        raise InputError(
            f"{option} {os.fspath(path)} must end in {listed(ENDINGS, last=' or ')}, which says the form; choose "
            "such a name"
        )
    return target


def svg(draw: Callable[[], Figure], name: str, title: str, description: str) -> str:
    """Return a figure as an `<svg>` element.

    Parameters
    ----------
    draw
        Returns the figure; called under the settings of the page.
    name
        Start of all ids in the element, unique in the page.
    title, description
        Alternative text: what the figure is, and what it shows.
    """
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    file = io.BytesIO()
    settings: Any = SETTINGS | {"svg.hashsalt": name}
    with mpl.rc_context(settings), warnings.catch_warnings():
        # Text stays text, so that the glyph has to be in the font of the page, not in matplotlib's.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        figure = draw()
        # Nobody else shows it, and a page can have more figures than pyplot keeps open without a warning.
        plt.close(figure)
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    root = ElementTree.fromstring(file.getvalue())
    _inline(root, name, title, description)
    return ElementTree.tostring(root, encoding="unicode")


def _inline(root: ElementTree.Element, name: str, title: str, description: str) -> None:
    """Turn a stand-alone SVG, in place, into one that can be part of a page."""
    for parent in list(root.iter()):
        # A style element inside an inline SVG would apply to the whole page, whose own style sheet has its rules.
        for child in [child for child in parent if child.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style")]:
            parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{SVG}}}")
        element.attrib = dict(_attributes(element, name))
    width = root.attrib.pop("width", "0pt")
    root.attrib.pop("height", None)
    root.attrib |= {
        "role": "img",
        "aria-labelledby": f"{name}-title {name}-description",
        "style": f"--width: {float(width.removesuffix('pt')):.0f}pt",
    }
    for index, (tag, role, text) in enumerate((("title", "title", title), ("desc", "description", description))):
        child = ElementTree.Element(tag, {"id": f"{name}-{role}"})
        child.text = text
        root.insert(index, child)


def _attributes(element: ElementTree.Element, name: str) -> list[tuple[str, str]]:
    """Return attributes with prefixed ids and references, colors of the page, and path data of fewer digits."""
    changed = []
    for key, value in element.attrib.items():
        match key.removeprefix(f"{{{XLINK}}}"):
            case "id":
                changed.append(("id", f"{name}-{value}"))
            case "href":
                changed.append(("href", f"#{name}-{value[1:]}" if value.startswith("#") else value))
            case "d" | "points":
                changed.append((key, PRECISION.sub(r"\1", value)))
            case plain if not key.startswith("{"):
                value = REFERENCE.sub(rf"url(#{name}-\1)", value)
                for color, page_color in PAGE_COLORS.items():
                    value = value.replace(color, page_color)
                changed.append((plain, value))
    return changed
