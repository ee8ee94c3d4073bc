"""Pairs of columns by the evidence that they depend on each other given the class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesclf.constraints import Whole, require
from bayesclf.plots import style
from bayesclf.plots.style import Axes, Figure

if TYPE_CHECKING:
    from bayesclf.interpretation.dependence import DependentPairs


@style.figure
def dependent_pairs(pairs: DependentPairs, most: int = 15, ax: Axes | None = None) -> Figure:
    """Draw the log Bayes factors of pairs for dependence given the class, the largest at the top.

    Right of the dashed line dependence is more probable than independence. Pairs that the model takes for independent
    are in color, those that it joins are gray.

    Parameters
    ----------
    pairs : DependentPairs
        Result of `bayesclf.dependent_pairs`.
    most : int
        Number of pairs, at least 1.
    """
    require(Whole(1), most=most)
    lines = pairs.table.head(most)
    names = [
        f"{style.plain(a, 24)} – {style.plain(b, 24)}" for a, b in zip(lines["first"], lines["second"], strict=True)
    ]
    width = 4.0 + style.LETTER * max(map(len, names), default=0)
    figure, ax = style.axes(ax, (width, 1.2 + 0.27 * len(lines)))
    place = -np.arange(len(lines))
    colors = ["0.65" if joined else style.class_color(1) for joined in lines["joined"]]
    ax.barh(place, lines["log_bayes_factor"], color=colors, height=0.6)
    ax.axvline(-np.log(pairs.prior_odds), color=style.ink(), linewidth=1, linestyle="--")
    ax.set_yticks(place, names)
    ax.set_xlabel("log Bayes factor for dependence (dashed: P = ½)")
    style.quiet(ax, "x")
    gray = "\ngray: joined by the model" if lines["joined"].any() else ""
    style.title(ax, f"Dependence given the class{gray}")
    return figure
