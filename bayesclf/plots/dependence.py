"""Dependence between columns: pairs by their evidence, and networks by how probable their edges are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesclf.arrays import Array
from bayesclf.classifiers.bayes_net import BayesNetClassifier
from bayesclf.constraints import Whole, require
from bayesclf.errors import check_between
from bayesclf.plots import style
from bayesclf.plots.style import Axes, Figure

if TYPE_CHECKING:
    from bayesclf.interpretation.dependence import DependentPairs

WIDEST = 5.0
"""Width, in points, of an edge of probability 1."""

NAMED_FROM = 0.3
"""Probability from which an edge shows its number, where the columns are few."""

FEW_COLUMNS = 12


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


@style.figure
def edge_probabilities(classifier: BayesNetClassifier, least: float = 0.05) -> Figure:
    """Draw the columns of a posterior over trees, joined by lines as wide as the edge is probable.

    Edges of the most probable tree, the hypothesis of the rule ``"map"``, are in color; the others, which averages take
    into account and that tree leaves out, are gray.

    Parameters
    ----------
    classifier : BayesClassifier
        Fitted with ``structure="all-trees"`` or ``"all-forests"``.
    least : float
        Probability below which an edge is not drawn, in (0, 1).

    Returns
    -------
    Figure
        A new figure.

    Raises
    ------
    RefusedAttribute
        For a classifier with one structure only.
    """
    check_between("least", least)
    table = classifier.edge_probabilities_
    figure, (ax,) = style.panels(1, (6.0, 4.2))
    _draw(ax, [str(name) for name in table.columns], table.to_numpy(), frozenset(classifier.edges_), least)
    style.headline(figure, "Probability that two columns are joined\nin color: the most probable tree")
    return figure


def _draw(ax: Axes, names: list[str], probabilities: Array, tree: frozenset[tuple[str, str]], least: float) -> None:
    """Draw the columns on a circle, and the lines between them."""
    angle = np.pi / 2 - 2 * np.pi * np.arange(len(names)) / len(names)
    x, y = np.cos(angle), np.sin(angle)
    for i, j in zip(*np.triu_indices(len(names), 1), strict=True):
        probability = probabilities[i, j]
        if probability < least:
            continue
        chosen = (names[i], names[j]) in tree or (names[j], names[i]) in tree
        color = style.class_color(1) if chosen else "0.6"
        ax.plot(x[[i, j]], y[[i, j]], color=color, linewidth=WIDEST * probability, zorder=2 if chosen else 1)
        if len(names) <= FEW_COLUMNS and probability >= NAMED_FROM:
            # Off the middle, where the lines of a circle cross.
            at = 0.42 * np.array([x[i], y[i]]) + 0.58 * np.array([x[j], y[j]])
            box = {"boxstyle": "round,pad=0.1", "facecolor": ax.get_facecolor(), "edgecolor": "none"}
            ax.text(
                at[0], at[1], f"{probability:.2f}", fontsize="x-small", ha="center", va="center", bbox=box, zorder=3
            )
    ax.plot(x, y, "o", color=style.ink(), markersize=5, zorder=4)
    for name, horizontal, vertical in zip(names, x, y, strict=True):
        side = "center" if abs(horizontal) < 0.3 else ("left" if horizontal > 0 else "right")
        above = "bottom" if vertical > 0.7 else ("top" if vertical < -0.7 else "center")
        ax.text(1.07 * horizontal, 1.07 * vertical, style.plain(name), ha=side, va=above, fontsize="small")
    ax.set_xlim(-2.1, 2.1)
    ax.set_ylim(-1.25, 1.25)
    ax.set_axis_off()
