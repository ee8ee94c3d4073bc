"""How often two rules of one model decide differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesclf.comparison import Comparison
from bayesclf.plots import style
from bayesclf.plots.rules import chosen_rules
from bayesclf.typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FULL_COLOR_FROM = 0.1
"""Share of rows decided differently that gets the full colour, unless a larger one occurs."""

LONGEST_MODEL = 18
"""Characters of a model's name in a title that goes on after it."""


def disagreement(comparison: Comparison, model: str, ax: Axes | None = None) -> Figure:
    """Draw, for each two rules of a model, the share of rows on which they decide differently.

    Parameters
    ----------
    comparison
        Result of `bayesclf.compare`.
    model
        Name of one of its models.
    ax
        Axes to draw on.

    Returns
    -------
    Figure
        The figure of `ax`, or a new one.

    Raises
    ------
    InputError
        For a model that the comparison does not have.
    """
    chosen = chosen_rules(comparison, model, None)
    figure, ax = style.axes(ax, (4.6, 4.0))
    shares = disagreement_shares(comparison, model)
    shown = np.ma.masked_array(shares, np.triu(np.ones(shares.shape, dtype=bool)))
    from matplotlib.colors import LinearSegmentedColormap, to_rgb

    ink = to_rgb(style.RULE_STYLE["bayes-optimal"].color)
    colors = LinearSegmentedColormap.from_list("share", [(*ink, 0.07), (*ink, 0.6)])
    ax.pcolormesh(shown[1:, :-1], cmap=colors, vmin=0, vmax=max(float(shares.max()), FULL_COLOR_FROM))
    for i, j in zip(*np.tril_indices(len(chosen), -1), strict=True):
        ax.text(j + 0.5, i - 0.5, percent(shares[i, j]), ha="center", va="center")
    count = len(chosen) - 1
    ax.set_xticks(np.arange(count) + 0.5, chosen[:-1], rotation=35, ha="right", rotation_mode="anchor")
    ax.set_yticks(np.arange(count) + 0.5, chosen[1:])
    ax.set(xlim=(0, max(count, 1)), ylim=(max(count, 1), 0))
    ax.set_title(
        f"{style.plain(model, LONGEST_MODEL)}: rows decided differently",
        loc="left",
        fontsize="medium",
        fontweight="bold",
    )
    style.quiet(ax)
    ax.grid(visible=False)
    return figure


def disagreement_shares(comparison: Comparison, model: str) -> Array:
    """Return the share of rows, over all repeats, on which two rules of a model decide differently, (rule, rule)."""
    decided = [comparison.stacked(model, rule)[0].argmax(axis=1) for rule in comparison.rules_of(model)]
    return np.array([[float((one != other).mean()) for other in decided] for one in decided])


def percent(share: float) -> str:
    """Return a share as a percentage that does not round a difference away.

    Examples
    --------
    >>> percent(0), percent(0.0002), percent(0.0345)
    ('0', '< 0.1 %', '3.5 %')
    """
    if share == 0:
        return "0"
    return f"{share:.1%}".replace("%", " %") if share >= 0.001 else "< 0.1 %"
