"""Whether a model makes data like those it was fitted on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesclf.classifiers.base import CI_PROB
from bayesclf.plots import style
from bayesclf.plots.posterior import INNER_PROB
from bayesclf.plots.style import Axes, Figure

if TYPE_CHECKING:
    import xarray as xr

STATISTIC = "class_count_given_x"

POSTERIOR, PRIOR = "#2f6fd0", "0.62"
"""Colours of data sets made by the posterior and by the prior."""

LONGEST_CLASS = 18
"""Characters of a class beside its line."""


@style.figure
def predictive_counts(tree: xr.DataTree, ax: Axes | None = None) -> Figure:
    """Draw how many rows of each class the model makes, given the rows' features, and how many there were.

    The interval of the data sets made by the posterior is blue, thick for one half of them; that of the prior, where
    it can be drawn from, is grey above it. Rings are the counts that were seen: outside the blue interval the model
    does not make such data.

    Parameters
    ----------
    tree
        What ``predictive_check`` returns of a classifier.
    """
    observed = tree["observed_statistics"].to_dataset()[STATISTIC]
    labels = [style.plain(label, LONGEST_CLASS) for label in observed["outcome"].values]
    places = np.arange(len(labels), dtype=float)
    figure, ax = style.axes(ax, (5.4, 1.2 + 0.36 * len(labels)))
    for name, color, above, probs in (
        ("prior", PRIOR, 0.2, (CI_PROB,)),
        ("posterior", POSTERIOR, 0.0, (CI_PROB, INNER_PROB)),
    ):
        if f"{name}_statistics" not in tree.children:
            continue
        made = tree[f"{name}_statistics"].to_dataset()[STATISTIC]
        for prob, width in zip(probs, (1.6, 5.0), strict=False):
            low, high = made.quantile([(1 - prob) / 2, (1 + prob) / 2], dim=("chain", "draw")).values
            ax.hlines(places - above, low, high, color=color, linewidth=width, zorder=2, label=f"{name} predictive")
    ax.plot(observed.values, places, "o", color=style.ink(), fillstyle="none", markersize=8, zorder=4, label="seen")
    ax.set_yticks(places, labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.set_xlim(left=0)
    ax.set_xlabel(f"rows; {100 * INNER_PROB:.0f} % and {100 * CI_PROB:.0f} % intervals")
    style.legend_above(ax)
    style.quiet(ax, "x")
    return figure
