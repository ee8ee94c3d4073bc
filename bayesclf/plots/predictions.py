"""Figures of predictions: how far probabilities can be believed, and where rules decide differently."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesclf import scores
from bayesclf.comparison import Comparison
from bayesclf.errors import InputError
from bayesclf.families.base import Array
from bayesclf.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

JOINED_FROM = 10
"""Rows from which a bin is joined to its neighbours by a line; the share of right answers in fewer is mostly noise."""

SMALLEST_MARK, LARGEST_MARK = 12.0, 110.0
"""Areas of the marks of the emptiest and of the fullest bin, in square points."""


FULL_COLOR_FROM = 0.1
"""Share of rows decided differently that gets the full colour, unless a larger one occurs."""


LONGEST_MODEL = 18
"""Characters of a model's name in a title that goes on after it."""


def reliability(
    comparison: Comparison, model: str, rules: Sequence[str] | None = None, ax: Axes | None = None
) -> Figure:
    """Draw the share of right predictions against the probability of the predicted class, one curve a rule.

    On the diagonal probabilities mean what they say; below it a rule is over-confident. The area of a mark grows
    with the number of rows in its bin; bins of fewer than `JOINED_FROM` rows are not joined to the line. The
    calibration error stands beside the rule's name.

    Parameters
    ----------
    comparison
        Result of `bayesclf.compare`.
    model
        Name of one of its models.
    rules
        Rules to draw, by default all that the model could answer under.
    ax
        Axes to draw on.

    Returns
    -------
    Figure
        The figure of `ax`, or a new one.

    Raises
    ------
    InputError
        For a model or rule that the comparison does not have.
    """
    chosen = _chosen(comparison, model, rules)
    figure, ax = style.axes(ax, (4.6, 4.9))
    curves = {rule: scores.reliability(*comparison.stacked(model, rule)) for rule in chosen}
    ax.plot([0, 1], [0, 1], color="0.55", linewidth=1, zorder=1)
    fullest = max((int(curve.count.max()) for curve in curves.values()), default=1)
    for rule, curve in curves.items():
        look = style.RULE_STYLE[rule]
        joined = curve.count >= JOINED_FROM
        line = curve.confidence[joined], curve.accuracy[joined]
        ax.plot(*line, color=look.color, linestyle=look.line, linewidth=1.3, zorder=2)
        area = SMALLEST_MARK + (LARGEST_MARK - SMALLEST_MARK) * curve.count / fullest
        ax.scatter(
            curve.confidence, curve.accuracy, s=area, color=look.color, marker=look.marker, alpha=0.75, lw=0, zorder=3
        )
        ax.plot([], [], color=look.color, linestyle=look.line, marker=look.marker, label=f"{rule}  {curve.error:.3f}")
    low = 0.9 / max(len(comparison.classes), 2)
    lowest = min((float(curve.accuracy.min()) for curve in curves.values()), default=low)
    ax.set(xlim=(low, 1.02), ylim=(min(low, lowest - 0.03), 1.02))
    ax.set(xlabel="probability of the predicted class", ylabel="share of right predictions")
    ax.set_title(style.plain(model), loc="left", fontsize="medium", fontweight="bold")
    style.quiet(ax)
    ax.legend(
        title="rule, calibration error",
        loc="upper center",
        bbox_to_anchor=(0.5, -0.14),
        ncols=2,
        frameon=False,
        fontsize="small",
        title_fontsize="small",
        handlelength=3.2,
    )
    return figure


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
    chosen = _chosen(comparison, model, None)
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


def _chosen(comparison: Comparison, model: str, rules: Sequence[str] | None) -> tuple[str, ...]:
    """Return the rules to draw, in the order of the tables."""
    if model not in comparison.models:
        raise InputError(f"the comparison has no model {model!r}; its models are {', '.join(comparison.models)}")
    answered = comparison.rules_of(model)
    if rules is None:
        return answered
    unknown = [rule for rule in rules if rule not in answered]
    if unknown:
        raise InputError(f"{model!r} has no answers under the rule {unknown[0]!r}; it has {', '.join(answered)}")
    return tuple(rules)
