"""Tables and learning curves of the experiments: means, where two curves cross, and how they are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bayesclf.experiments.experiment import Axes, Drawing, Figure
from bayesclf.plots import learning_curve, style
from bayesclf.typing import Array

MODELS = {"nb": "naive Bayes", "lr": "logistic regression"}
"""The two models of a learning curve, by their name in the records."""

METRIC_NAMES = {"error": "error", "log_loss": "log loss", "brier": "Brier score", "overconfidence": "over-confidence"}
"""Names of the metrics of records, in words."""

SHARED_ROWS = (
    "Splits of one data set share its rows: standard errors show the uncertainty of the mean over splits of this data "
    "set, not that of another sample from the same population."
)
"""What standard errors over splits do not show."""

GREY = "#8c8c8c"
"""Color of a reference line."""

COLUMNS = 3
"""Panels of problems in a row."""

BOOTSTRAPS = 500
"""Resamples of the blocks of splits for the interval of a crossing."""


@dataclass(frozen=True)
class Crossing:
    """From how many training rows on the second curve stays below the first.

    Attributes
    ----------
    m
        Rows; the smallest size where it always is, infinite where it is not at the largest size.
    low, high
        5 % and 95 % of the bootstrap distribution, over blocks of splits; NaN with a single block.
    """

    m: float
    low: float
    high: float


def crossing(sizes: Array, difference: Array, rng: np.random.Generator) -> Crossing:
    """Return where first − second turns positive for good, interpolated in log m.

    Parameters
    ----------
    sizes
        Training sizes, increasing, (m).
    difference
        Error of the first curve minus that of the second, (block, m).
    rng
        Generator of the bootstrap.
    """
    point = last_crossing(sizes, difference.mean(axis=0))
    if len(difference) < 2:
        return Crossing(point, np.nan, np.nan)
    chosen = rng.integers(len(difference), size=(BOOTSTRAPS, len(difference)))
    resampled = [last_crossing(sizes, difference[rows].mean(axis=0)) for rows in chosen]
    low, high = np.quantile(resampled, (0.05, 0.95), method="nearest")
    return Crossing(point, float(low), float(high))


def last_crossing(sizes: Array, difference: Array) -> float:
    """Return where a difference (m) turns positive for good, interpolated in log m; infinite where it never does."""
    behind = np.flatnonzero(difference <= 0)
    if not behind.size:
        return float(sizes[0])
    last = int(behind[-1])
    if last == len(sizes) - 1:
        return float("inf")
    before, after = difference[last], difference[last + 1]
    share = before / (before - after)
    return float(np.exp(np.log(sizes[last]) + share * np.log(sizes[last + 1] / sizes[last])))


def means(groups: Any, *metrics: str) -> pd.DataFrame:
    """Return mean and standard error (…_se) of columns by group."""
    found: pd.DataFrame = groups[list(metrics)].agg(["mean", "sem"])
    names = [f"{metric}{ending}" for metric in metrics for ending in ("", "_se")]
    return found.set_axis(names, axis=1).reset_index()


def in_order(table: pd.DataFrame, by: Sequence[str], **orders: Iterable[str]) -> pd.DataFrame:
    """Return a table sorted by columns, of which some have values in a given order."""
    places = {name: {value: place for place, value in enumerate(order)} for name, order in orders.items()}
    return table.sort_values(
        list(by), key=lambda c: c.map(places[c.name]) if c.name in places else c, kind="stable", ignore_index=True
    )


def grid(
    count: int, columns: int, size: tuple[float, float], sharex: bool = False, sharey: bool = False
) -> tuple[Drawing, list[Axes]]:
    """Return a new figure of a size in inches and its panels, row by row; those beyond `count` are left empty."""
    import matplotlib.pyplot as plt

    rows = -(-count // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=size, layout="constrained", squeeze=False, sharex=sharex, sharey=sharey
    )
    for ax in axes.flat[count:]:
        ax.set_axis_off()
    return style.shown_once(figure), list(axes.flat[:count])


def name_above(figure: Drawing, axes: Iterable[Axes]) -> None:
    """Write the names of the curves of several panels in one line above them."""
    handles = {text: handle for ax in axes for handle, text in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside upper left", ncols=len(handles), frameon=False)


def shade(share: float) -> Any:
    """Return a color of a scale from light (0) to dark (1), for curves that have an order."""
    import matplotlib.pyplot as plt

    return plt.get_cmap("viridis_r")(0.2 + 0.8 * share)


def capital(name: str) -> str:
    """Return a name with a capital, to begin a sentence."""
    return name[0].upper() + name[1:]


def every_rule(table: pd.DataFrame, problems: Sequence[str], model: str, metric: str, caption: str) -> Figure:
    """Return the figure of one metric of a model, `by_problem`, with one curve per rule."""
    label = METRIC_NAMES[metric]
    return Figure(
        f"{metric}-{model}",
        f"Test {label} of {MODELS[model]} under every rule",
        "One panel per problem, training rows on a log axis, one curve per rule.",
        partial(by_problem, table, problems, metric, label),
        caption,
    )


def by_problem(table: pd.DataFrame, problems: Sequence[str], metric: str, label: str) -> Drawing:
    """Draw a metric against training rows, one panel per problem, and the names of the curves above them.

    Parameters
    ----------
    table
        One row per problem, model, rule and m, with the metric and its standard error.
    problems
        The problems to draw, in order.
    metric, label
        Column of the metric, and its name in words.
    """
    figure, axes = grid(len(problems), COLUMNS, (9.6, 2.35 * -(-len(problems) // COLUMNS) + 0.5))
    for ax, problem in zip(axes, problems, strict=True):
        own = table[table["problem"] == problem]
        own = own.assign(mean=own[metric], se=own[f"{metric}_se"], model=own["model"].replace(MODELS))
        own = own[np.isfinite(own["mean"])]
        if own.empty:
            ax.set_axis_off()
            continue
        learning_curve(own, ylabel=label, xlabel="", labels=False, ax=ax)
        ax.set_title(problem, loc="left")
    name_above(figure, axes)
    return figure
