"""The scores of a comparison, models × rules, and how they change with the number of training rows."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesclf.constraints import Choice, require
from bayesclf.errors import InputError
from bayesclf.evaluation import learning
from bayesclf.evaluation.comparison import Comparison
from bayesclf.evaluation.learning import LearningCurve
from bayesclf.evaluation.peers import NO_RULE
from bayesclf.evaluation.score_table import Standing
from bayesclf.plots import style
from bayesclf.plots.style import Axes, Figure

METRICS = {
    "log_loss": "log loss",
    "accuracy": "accuracy",
    "brier": "Brier score",
    "calibration_error": "calibration error",
}
"""Columns of `Comparison.table` that can be drawn, with axis labels."""

LOG_SCALE_FROM = 20
"""Ratio of the largest to the smallest value above which the axis is logarithmic."""


NOTE_WIDTH = 90
"""Characters in a line of the note below the axis."""

NEEDED = ("model", "rule", "m", "mean")
"""Columns that a table of learning curves has."""

BAND_OPACITY = 0.22
"""Opacity of the band of a single curve; less for several curves."""

MODEL_LINES = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)))
"""Lines of models, where colors distinguish rules; Ng and Jordan's are solid and dashed."""


@style.figure
def rule_scores(comparison: Comparison, metric: str = "log_loss", ax: Axes | None = None) -> Figure:
    """Draw a score of every model under every rule with its standard error.

    Standard errors are over the rows, as of `Comparison.table`. An infinite log loss is drawn as ∞ at the right margin;
    rules that could not answer are left out and named below.

    Parameters
    ----------
    comparison : Comparison
        Result of `bayesclf.compare`.
    metric : str
        One of ``"log_loss"``, ``"accuracy"``, ``"brier"``, ``"calibration_error"``.
    ax : matplotlib Axes or None
        Axes to draw on.

    Returns
    -------
    Figure
        The figure of `ax`, or a new one.

    Raises
    ------
    InputError
        For an unknown metric.
    """
    require(Choice(METRICS), metric=metric)
    return draw(comparison.table, metric, ax)


def draw(table: pd.DataFrame, metric: str, ax: Axes | None = None) -> Figure:
    """Draw a score of `Comparison.table`; see `rule_scores`."""
    scored = table[table[metric].notna()] if metric in table else table.iloc[:0]
    lines = scored.to_dict("records")
    models = list(dict.fromkeys(scored["model"]))
    figure, ax = style.axes(ax, (6.4, 0.9 + 0.23 * (len(lines) + 1.4 * len(models)) + 0.2))
    # Heights, from the top, with room for a model's name above its rules.
    places = [index + 1.4 * (models.index(line["model"]) + 1) - 0.4 for index, line in enumerate(lines)]
    finite = np.array([line[metric] for line in lines if np.isfinite(line[metric])])
    if metric != "accuracy" and finite.size and 0 < finite.min() * LOG_SCALE_FROM < finite.max():
        ax.set_xscale("log")  # a large value would squeeze all others together
    for line, place in zip(lines, places, strict=True):
        _draw_line(ax, line, metric, place)
    _label(ax, lines, places, models)
    if finite.size:
        best = finite.max() if metric == "accuracy" else finite.min()
        ax.axvline(best, color="0.55", linewidth=0.8, alpha=0.7, zorder=1)
    ax.set_xlabel(METRICS[metric] + (" (log scale)" if ax.get_xscale() == "log" else "") + _left_out(table, scored))
    style.quiet(ax, "x")
    return figure


def draw_standings(found: Sequence[Standing], names: Sequence[str]) -> Figure:
    """Draw the log loss of the best entry of each model, with the standard error over the rows of its difference.

    Parameters
    ----------
    found
        Standings, the best first; infinite ones are drawn at the right margin.
    names
        What each is called.
    """
    figure, ax = style.axes(None, (4.9, 0.75 + 0.46 * len(found)))
    finite = np.array([standing.loss for standing in found if np.isfinite(standing.loss)])
    if finite.size and 0 < finite.min() * LOG_SCALE_FROM < finite.max():
        ax.set_xscale("log")
    for place, standing in enumerate(found):
        look = style.look_of(standing.rule)
        if np.isfinite(standing.loss):
            if standing.error > 0:
                ends = [max(standing.loss + sign * standing.error, 0.02 * standing.loss) for sign in (-1, 1)]
                ax.plot(ends, [place] * 2, color=look.color, linewidth=1.8)
            ax.plot(standing.loss, place, marker=look.marker, color=look.color, markersize=7, linestyle="none")
        size = f"{standing.loss:.3f}" if np.isfinite(standing.loss) else "∞"
        ax.text(1.02, place, size, transform=ax.get_yaxis_transform(), va="center", ha="left")
    ax.axvline(found[0].loss, color="0.55", linewidth=0.8, alpha=0.7, zorder=1)
    ax.set_yticks(range(len(found)), [textwrap.fill(style.plain(name, 44), 24) for name in names])
    ax.set_ylim(len(found) - 0.4, -0.6)
    ax.margins(x=0.06)
    ax.set_xlabel("log loss, smaller is better" + (" (log scale)" if ax.get_xscale() == "log" else ""))
    style.quiet(ax, "x")
    return figure


def _draw_line(ax: Axes, line: dict[Any, Any], metric: str, place: float) -> None:
    look, value = style.look_of(line["rule"]), line[metric]
    if not np.isfinite(value):
        rows = int(line["log_loss_infinite"])
        where = ax.get_yaxis_transform()
        ax.text(1.0, place, "∞", transform=where, color=look.color, ha="right", va="center", fontsize="x-large")
        note = f"{rows} {'row' if rows == 1 else 'rows'}"
        ax.text(0.965, place, note, transform=where, ha="right", va="center", fontsize="small", alpha=0.75)
        return
    error = line.get(f"{metric}_se", np.nan)
    if np.isfinite(error):
        ax.plot([value - error, value + error], [place] * 2, color=look.color, linewidth=1.8)
    ax.plot(value, place, marker=look.marker, color=look.color, markersize=6.5, linestyle="none")


def _label(ax: Axes, lines: list[dict[Any, Any]], places: list[float], models: list[str]) -> None:
    """Name the rules on the axis and the models above them."""
    ax.set_yticks(places, [line["rule"] for line in lines])
    ax.set_ylim(max(places, default=1) + 0.7, -0.3)
    ax.margins(x=0.06)
    look: Any = {"transform": ax.get_yaxis_transform(), "va": "center", "fontweight": "bold"}
    for model in models:
        first = min(place for place, line in zip(places, lines, strict=True) if line["model"] == model)
        ax.text(0.0, first - 1.0, style.plain(model), **look)


def _left_out(table: pd.DataFrame, scored: pd.DataFrame) -> str:
    """Return a note below the axis that names the models and rules without a score, or nothing."""
    missing = table.loc[table.index.difference(scored.index)]
    names = [
        f"{style.plain(model)} {', '.join(rules)}" for model, rules in missing.groupby("model", sort=False)["rule"]
    ]
    return "\n" + textwrap.fill("n/a: " + "; ".join(names), NOTE_WIDTH) if names else ""


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
    table, what = (curve.of(metric), learning.METRICS[metric]) if isinstance(curve, LearningCurve) else (curve, "score")
    lacking = [name for name in NEEDED if name not in table]
    if lacking:
        raise InputError(f"the table of learning curves has no column {lacking[0]!r}; it needs {', '.join(NEEDED)}")
    if table.empty:
        raise InputError(
            f"there is no finite {what} to draw at any training size; the column 'reason' of the learning curve's "
            "table says why"
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
