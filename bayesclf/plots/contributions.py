"""What speaks for and against a class in one row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bayesclf.interpretation.explanation import Explanation
from bayesclf.plots import style
from bayesclf.plots.style import Axes, Figure

MOST_TERMS = 12
"""Most contributions that are drawn one by one; the remaining, smallest ones are summed in one bar."""

LONGEST_VALUE, LONGEST_CLASS = 14, 18
"""Characters of a cell next to its column's name, and of a class."""

FOR, AGAINST = style.CLASS_COLORS[1], style.CLASS_COLORS[0]
"""Colors of what speaks for the first class of the log-odds, and for the second."""


@style.figure
def explanation(found: Explanation, row: int = 0, limit: int = MOST_TERMS, ax: Axes | None = None) -> Figure:
    """Draw what each feature of one row contributes to the log-odds between two classes, largest first.

    Bars to the right speak for the first class, to the left for the second; they add up to the last bar. With a
    posterior, bars are posterior means and thin lines their credible intervals, which do not add up.

    Parameters
    ----------
    found : Explanation
        Result of ``explain`` for a classifier.
    row : int
        Number of the row, from 0, in the explained table.
    limit : int
        Most contributions that are drawn one by one, at least 1.

    Raises
    ------
    InputError
        For a row that was not explained.
    """
    table = found.table(row)
    terms, total = table.iloc[:-1], table.iloc[-1]
    lines: list[tuple[str, Any]] = [(_name(term), term) for _, term in terms.head(limit).iterrows()]
    rest = terms.iloc[limit:]
    if len(rest):
        lines.append((f"{len(rest)} others", {"contribution": rest["contribution"].sum()}))
    lines.append(("sum", total))
    names = [name for name, _ in lines]
    figure, ax = style.axes(ax, (3.6 + style.LETTER * max(map(len, names)), 1.3 + 0.27 * len(lines)))
    ax.axvline(0, color="0.55", linewidth=0.9, zorder=1)
    places = np.append(np.arange(len(lines) - 1.0), len(lines) - 0.6)
    for place, (_, line) in zip(places, lines, strict=True):
        _draw(ax, place, line)
    ax.set_yticks(places, names)
    ax.get_yticklabels()[-1].set_fontweight("bold")
    ax.set_ylim(places[-1] + 0.6, -0.6)
    about = found.rows.iloc[row]
    outcome, against = (style.plain(about[side], LONGEST_CLASS) for side in ("outcome", "against"))
    title = f"Row {row + 1}: P({outcome}) = {about['proba_outcome']:.3g}"
    style.title(ax, f"{title}\nagainst P({against}) = {about['proba_against']:.3g}")
    ax.locator_params(axis="x", nbins=6)
    ax.set_xlabel(f"contribution to the log-odds\n← {against}    {outcome} →")
    style.quiet(ax, "x")
    return figure


def _name(term: pd.Series) -> str:
    """Return a column's name with the (shortened) cell of the row."""
    name, value = style.plain(term["feature"]), term["value"]
    if pd.isna(value):
        return name
    text = f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
    return f"{name} = {style.plain(text, LONGEST_VALUE)}"


def _draw(ax: Axes, place: float, line: Any) -> None:
    """Draw the bar of one line, and its interval where it has one."""
    value = line["contribution"]
    color = FOR if value >= 0 else AGAINST
    ax.barh(place, value, height=0.62, color=color, linewidth=0, alpha=0.85, zorder=2)
    if "low" in line:
        ax.plot([line["low"], line["high"]], [place] * 2, color=style.ink(), linewidth=1.1, zorder=3)
