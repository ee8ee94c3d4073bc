"""Decision curves: what acting on a predicted risk is worth, and how probably it is worth more than not to predict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bayesclf.evaluation.comparison import Comparison
from bayesclf.evaluation.net_benefit import code_of
from bayesclf.evaluation.score_table import mean
from bayesclf.plots import style
from bayesclf.plots.style import Axes, Figure

SIZE = (6.0, 4.6)
"""Inches of the figure."""

BELOW = 0.15
"""How far below zero the axis reaches, as a share of the largest net benefit: acting on all is worth any loss there."""

REFERENCE = "0.45"
"""Color of acting on all rows and of acting on none."""


@style.figure
def decision_curve(
    comparison: Comparison, model: str, rule: str | None = None, outcome: Any = None, thresholds: Any = None
) -> Figure:
    """Draw the net benefit of acting on the risk of a class, and the probability that the model is of use.

    Above: the net benefit by the risk from which one acts, with its credible interval, beside those of acting on all
    rows and on none. Below: the probability that the model's is larger than both. At thresholds where it is near 0 or
    1/2 one does as well without the model.

    Parameters
    ----------
    rule : str or None
        By default the one of the model's smallest mean log loss.
    outcome : label or None
        Label of the class of interest; of two classes the second by default.
    thresholds : array or None
        Risks from which one acts, each in (0, 1); 1 % to 99 % by default.

    Raises
    ------
    InputError
        For a model, rule or class that the comparison does not have, or thresholds that cannot be used.

    References
    ----------
    Vickers & Elkin, *Decision curve analysis*, Medical Decision Making 26 (2006).
    """
    import matplotlib.pyplot as plt

    rules = style.chosen_rules(comparison, model, None if rule is None else [rule])
    chosen = min(rules, key=lambda name: mean(comparison, (model, name), "log_loss"))
    table = comparison.decision_curve(model, chosen, outcome, thresholds)
    label = style.plain(comparison.classes[code_of(comparison.classes, outcome)])
    figure, (above, below) = plt.subplots(
        2, 1, figsize=SIZE, layout="constrained", sharex=True, gridspec_kw={"height_ratios": [2.2, 1]}
    )
    _draw_benefit(above, table, style.plain(model), style.look_of(chosen).color)
    below.plot(table["threshold"], table["useful"], color=style.look_of(chosen).color, linewidth=1.8)
    below.set(ylim=(-0.03, 1.03), ylabel="P(model is\nof use)", xlabel=f"risk of {label} from which one acts")
    below.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    for ax in (above, below):
        style.quiet(ax)
    style.title(above, f"{style.plain(model)}, {chosen}: what acting on the risk of {label} is worth")
    return style.shown_once(figure)


def _draw_benefit(ax: Axes, table: pd.DataFrame, model: str, color: str) -> None:
    """Draw the net benefits, and name the curves in a legend."""
    at = table["threshold"]
    ax.fill_between(at, table["low"], table["high"], color=color, alpha=0.2, linewidth=0)
    ax.plot(at, table["net_benefit"], color=color, linewidth=1.8, label=model)
    ax.plot(at, table["treat_all"], color=REFERENCE, linewidth=1.2, label="act on all")
    ax.axhline(0, color=REFERENCE, linewidth=1.2, linestyle=(0, (4, 2)), label="act on none")
    top = float(np.max([table["net_benefit"].max(), table["high"].max(), table["treat_all"].max(), 1e-3]))
    ax.set(xlim=(0, 1), ylim=(-BELOW * top, 1.05 * top), ylabel="net benefit")
    ax.legend(loc="upper right", frameon=False, fontsize="small")
