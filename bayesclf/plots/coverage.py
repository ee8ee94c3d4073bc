"""What the option to reject buys: how good the decisions are that are left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.comparison import Comparison
from bayesclf.plots import style
from bayesclf.plots.rules import chosen_rules
from bayesclf.typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAST_KEPT, LEAST_SHARE = 20, 0.05
"""Rows, and share of all rows, from which a point is drawn: the accuracy of fewer is mostly noise."""


def coverage_curve(
    comparison: Comparison,
    model: str,
    rules: Sequence[str] | None = None,
    cost: Any = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw the accuracy of the rows that are kept against their share, when those of large expected cost are rejected.

    A rule whose probabilities know where it errs climbs as coverage falls. Bands are one Nadeau–Bengio standard error.
    With costs, the mean cost of the decisions is drawn instead, which falls.

    Parameters
    ----------
    comparison
        Result of `bayesclf.compare`.
    model
        Name of one of its models.
    rules
        Rules to draw, by default all that the model could answer under.
    cost
        Costs ``cost[true, predicted]``, (outcome, outcome); by default those of the comparison, or 0-1 loss.
    ax
        Axes to draw on.

    Returns
    -------
    Figure
        The figure of `ax`, or a new one.

    Raises
    ------
    InputError
        For a model or rule that the comparison does not have, or a cost matrix that cannot be used.

    References
    ----------
    Chow, *On optimum recognition error and reject tradeoff*, IEEE Trans. Information Theory 16 (1970).
    """
    chosen = chosen_rules(comparison, model, rules)
    figure, ax = style.axes(ax, (5.0, 3.9))
    priced = cost is not None or (comparison.costs is not None and not _is_zero_one(comparison.costs.matrix))
    what = "cost" if priced else "accuracy"
    for rule in chosen:
        curve = comparison.coverage_curve(model, rule, cost)
        curve = curve[curve["coverage"] >= min(max(LEAST_SHARE, LEAST_KEPT / len(comparison.y)), 0.5)]
        look = style.RULE_STYLE[rule]
        ax.plot(curve["coverage"], curve[what], color=look.color, linestyle=look.line, linewidth=1.8, label=rule)
        low, high = (curve[what] + sign * curve[f"{what}_se"] for sign in (-1, 1))
        ax.fill_between(curve["coverage"], low, high, color=look.color, alpha=0.1, linewidth=0)
    ax.set(xlim=(-0.02, 1.02), xlabel="share of rows kept")
    if not priced:
        ax.set_ylim(top=min(ax.get_ylim()[1], 1.005))
    ax.set_ylabel("mean cost of the rows kept" if priced else "accuracy on the rows kept")
    ax.xaxis.set_major_formatter("{x:.0%}")
    ax.set_title(
        f"{style.plain(model)}: rejecting what is least certain", loc="left", fontsize="medium", fontweight="bold"
    )
    style.quiet(ax)
    ax.legend(loc="upper left" if priced else "lower left", frameon=False, fontsize="small", handlelength=3.2)
    return figure


def _is_zero_one(costs: Array) -> bool:
    return np.array_equal(costs, 1 - np.eye(len(costs)))
