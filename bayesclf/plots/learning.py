"""How scores change with the number of training rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bayesclf.errors import InputError
from bayesclf.evaluation.learning import METRICS, LearningCurve
from bayesclf.evaluation.peers import NO_RULE
from bayesclf.plots import style
from bayesclf.plots.style import Axes, Figure

NEEDED = ("model", "rule", "m", "mean")
"""Columns that a table of learning curves has."""

BAND_OPACITY = 0.22
"""Opacity of the band of a single curve; less for several curves."""

MODEL_LINES = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)))
"""Lines of models, where colors distinguish rules; Ng and Jordan's are solid and dashed."""


@style.figure
def learning_curve(
    curve: LearningCurve | pd.DataFrame,
    metric: str = "log_loss",
    *,
    ylabel: str | None = None,
    xlabel: str = "training rows",
    ax: Axes | None = None,
) -> Figure:
    """Draw a score against the number of training rows, one curve per model and rule.

    Curves of a single model have the look of their rules. With several models each has its own line style, and under
    one rule also its own color; otherwise colors are those of the rules.

    Parameters
    ----------
    curve : LearningCurve or DataFrame
        Result of `bayesclf.learning_curve`, with bands of one standard error. Or a table with one row per curve and
        size: `model`, `rule`, `m` (training rows), `mean`, and for a band `se`, its standard error.
    metric : {"log_loss", "error", "brier"}
        The score of a `LearningCurve`.
    ylabel, xlabel
        What the axes show, with units. By default the y-axis names the metric.
    ax : matplotlib Axes or None
        Axes to draw on.

    Returns
    -------
    Figure
        The figure of `ax`, or a new one.

    Raises
    ------
    InputError
        For a table without rows or without one of the columns, or where no rule has a finite score at any size.

    References
    ----------
    Ng & Jordan, *On Discriminative vs. Generative Classifiers*, NIPS 2002, Figure 1.
    """
    table, what = (curve.of(metric), METRICS[metric]) if isinstance(curve, LearningCurve) else (curve, "score")
    lacking = [name for name in NEEDED if name not in table]
    if lacking:
        raise InputError(f"the table of learning curves has no column {lacking[0]!r}; it needs {', '.join(NEEDED)}")
    if table.empty:
        raise InputError(
            f"no model and rule has a finite {what} at any training size, so that there is "
            "nothing to draw; the column 'reason' of a LearningCurve's table says why"
        )
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    figure, ax = style.axes(ax, (6.0, 3.8))
    models, rules = (list(dict.fromkeys(table[name])) for name in ("model", "rule"))
    for (model, rule), lines in table.groupby(["model", "rule"], sort=False):
        lines = lines.sort_values("m")
        look = _look(models, rules, model, rule)
        parts = [style.plain(model)] * (len(models) > 1) + [str(rule)] * (len(rules) > 1 and rule != NO_RULE)
        name = " ".join(parts)
        marker = "o" if len(lines) == 1 else ""
        ax.plot(lines["m"], lines["mean"], linewidth=1.8, marker=marker, label=name or str(rule), **look)
        if "se" in lines:
            low, high = lines["mean"] - lines["se"], lines["mean"] + lines["se"]
            alpha = BAND_OPACITY / np.sqrt(len(models) * len(rules))
            ax.fill_between(lines["m"], low, high, color=look["color"], alpha=alpha, linewidth=0)
    ax.set(xlabel=xlabel, ylabel=ylabel or what)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if table["m"].max() < 1_000 * table["m"].min() else (1,)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    style.quiet(ax, "y")
    ax.legend(frameon=False, fontsize="small")
    return figure


def _look(models: list[Any], rules: list[Any], model: Any, rule: Any) -> dict[str, Any]:
    """Return color and line of a curve."""
    known = style.RULE_STYLE.get(rule)
    place = models.index(model)
    line = MODEL_LINES[place % len(MODEL_LINES)]
    if known is None or (len(models) > 1 and len(rules) == 1):
        return {"color": style.class_color(place + rules.index(rule)), "linestyle": line}
    return {"color": known.color, "linestyle": known.line if len(models) == 1 else line}
