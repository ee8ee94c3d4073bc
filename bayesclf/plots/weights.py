"""Posterior weights of logistic regression, compared with those that a generative model implies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesclf.arrays import Array
from bayesclf.classifiers.implied import ImpliedLogistic
from bayesclf.classifiers.logistic import LogisticRegression
from bayesclf.classifiers.predictor import CI_PROB
from bayesclf.errors import InputError, Refused
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.plots import style
from bayesclf.plots.posterior import INNER_PROB, posterior_of
from bayesclf.plots.style import Axes, Figure

if TYPE_CHECKING:
    import xarray as xr

MOST_COLUMNS = 24
"""Most columns that are drawn by default: those with the largest weights."""

MOST_RATIOS = 5
"""Odds ratios that are written above a panel."""

LARGEST_LOG_ODDS = 700.0
"""Log-odds beyond which no ratio is written, as it would be no number."""

APART = 0.34
"""Distance between the two intervals of a column, where columns are 1 apart."""

LABELS = ("logistic regression", "implied by the generative model")


@style.figure
def posterior_weights(
    lr: LogisticRegression, implied: ImpliedLogistic | None = None, features: Sequence[str] | None = None
) -> Figure:
    """Draw means and intervals of logistic weights, and of those that a generative model implies, in common units.

    Weights are log-odds against the reference class, per sd of a number and per level of a category. Weights of
    levels are measured from their mean over the category, because that mean is part of the intercept and differs
    between the models. Columns are in the order of logistic regression's weights for the first class. If the two
    models differ by more than their intervals, an assumption of the generative model is violated, such as independent
    columns given the class, or a prior has an effect.

    Parameters
    ----------
    lr : LogisticRegression
        Fitted, with a posterior.
    implied : ImpliedLogistic or None
        Result of ``to_logistic`` for a generative classifier fitted on the same table.
    features : sequence of str or None
        Columns to draw, such as "age" or "workclass=Private"; by default those of the largest weights.

    Returns
    -------
    Figure
        A new figure, one panel per class other than the reference.

    Raises
    ------
    InputError
        For columns that logistic regression does not have, or other classes in `implied`.
    Refused
        If one of the two has no posterior.

    References
    ----------
    Mitchell, eqs 21, 22 and exercise 3; Ng & Jordan.
    """
    posterior = _against_reference(posterior_of(lr)["weight"], lr)
    design = lr.model_.design  # type: ignore[attr-defined]
    sets = [_in_common_units(posterior, design)]
    if implied is not None:
        sets.append(_in_common_units(_implied(implied, lr), design))
    chosen = _chosen(sets[0], design, features)
    outcomes = posterior["outcome"].values
    names = [style.plain(design.names[place]) for place in chosen]
    left = 0.3 + style.LETTER * max(map(len, names), default=0)
    figure, panels = style.panels(len(outcomes), (2.9, 1.0 + 0.23 * len(chosen)), columns=2, left=left)
    for k, (ax, outcome) in enumerate(zip(panels, outcomes, strict=True)):
        ax.axvline(0, color="0.55", linewidth=0.9, zorder=1)
        for index, weights in enumerate(sets):
            places = np.arange(len(chosen), dtype=float) + APART * (index - (len(sets) - 1) / 2)
            _draw(ax, weights[:, k, chosen], places, style.class_color(index), LABELS[index])
        ax.set_title(style.plain(outcome), loc="left", fontsize="medium")
        ax.set_xlabel("log-odds", fontsize="small")
        style.quiet(ax, "x")
    _name_odds(panels)
    panels[0].set_yticks(range(len(chosen)), names)
    panels[0].set_ylim(len(chosen) - 0.4, -0.6)
    reference = lr.classes_[0] if len(lr.classes_) == 2 else lr.classes_[-1]
    style.headline(figure, f"Log-odds against {style.plain(reference)}\nper sd of a number, per level of a category")
    handles, labels = panels[0].get_legend_handles_labels()
    intervals = f"mean, {100 * INNER_PROB:.0f} % and {100 * CI_PROB:.0f} % intervals"
    figure.legend(
        handles, labels, title=intervals, loc="outside lower right", frameon=False, ncols=min(len(outcomes), 2)
    )
    return figure


def _against_reference(weights: xr.DataArray, lr: LogisticRegression) -> xr.DataArray:
    """Return weights against the last class where each class has its own."""
    if weights.sizes["outcome"] < len(lr.classes_):
        return weights
    return weights.isel(outcome=slice(-1)) - weights.isel(outcome=-1, drop=True)


def _in_common_units(weights: xr.DataArray, design: LogisticDesign) -> Array:
    """Return weights (draw, outcome, column) of the columns of `design`, NaN for those that the model lacks.

    Weights are multiplied by the sd of their column, and those of levels are centered within their category.
    """
    ordered = weights.transpose("chain", "draw", "outcome", "feature").values
    values = ordered.reshape(-1, *ordered.shape[2:])
    place = {str(name): index for index, name in enumerate(weights["feature"].values)}
    found = np.full((*values.shape[:2], len(design)), np.nan)
    for column, (name, scale) in enumerate(zip(design.names, design.scale, strict=True)):
        if name in place:
            found[..., column] = values[..., place[name]] * scale
    features = np.array(design.features, dtype=object)
    for category in design.category_names:
        levels = features == category
        found[..., levels] -= found[..., levels].mean(axis=-1, keepdims=True)
    return found


def _implied(implied: ImpliedLogistic, lr: LogisticRegression) -> xr.DataArray:
    """Return the posterior of the implied weights, if they are log-odds of the same classes."""
    labels = tuple(str(label) for label in lr.classes_)
    if implied.labels != labels:
        raise InputError(f"the implied weights are those of {', '.join(implied.labels)}, not of {', '.join(labels)}")
    tree = implied.posterior_
    if "posterior" not in tree.children or "weight" not in tree["posterior"]:
        raise Refused("the generative model has no posterior of weights; fit it with 'auto', 'exact' or 'nuts'")
    return tree["posterior"].to_dataset()["weight"]


def _chosen(weights: Array, design: LogisticDesign, features: Sequence[str] | None) -> list[int]:
    """Return the columns to draw, in the requested order, or by their weight for the first class.

    Of the two levels of a category only the second is drawn by default: the first is its mirror image.
    """
    names = design.names
    if features is not None:
        unknown = [name for name in features if name not in names]
        if unknown:
            raise InputError(f"there is no column {unknown[0]!r}; the columns are {', '.join(map(repr, names))}")
        return [names.index(name) for name in features]
    sizes = zip(design.category_names, design.sizes, strict=True)
    mirrored = [design.features.index(name) for name, size in sizes if size == 2]
    mean = weights.mean(axis=0)
    size = np.abs(mean).max(axis=0)
    size[mirrored] = -1
    largest = np.argsort(-size, kind="stable")[: min(MOST_COLUMNS, len(names) - len(mirrored))]
    return [int(column) for column in largest[np.argsort(-mean[0, largest], kind="stable")]]


def _name_odds(panels: Sequence[Axes]) -> None:
    """Write, above each panel, the odds ratios of the log-odds below it; all panels have the same scale."""
    ratios = odds_ticks(*panels[0].get_xlim())
    for ax in panels:
        top = ax.secondary_xaxis("top")
        top.set_xticks(np.log(ratios), [f"×{ratio:g}" for ratio in ratios])
        top.tick_params(labelsize="small", length=0, labelcolor="0.4")
        top.spines["top"].set_visible(False)


def odds_ticks(low: float, high: float) -> list[float]:
    """Return odds ratios between two log-odds: powers of 2, 10, 100, …, as many as have room."""
    low, high = np.clip([low, high], -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
    for base in (2.0, *(10.0**2.0**k for k in range(9))):
        powers = np.arange(np.ceil(low / np.log(base)), np.floor(high / np.log(base)) + 1)
        if len(powers) <= MOST_RATIOS:
            return [float(base**power) for power in powers]
    return [1.0]


def _draw(ax: Axes, weights: Array, places: Array, color: str, label: str) -> None:
    """Draw means and two intervals of weights (draw, column) at heights (column)."""
    ax.plot(weights.mean(axis=0), places, "o", color=color, markersize=4.5, label=label, zorder=3)
    for prob, width in ((INNER_PROB, 3.2), (CI_PROB, 1.2)):
        low, high = np.quantile(weights, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
        ax.hlines(places, low, high, color=color, linewidth=width, zorder=2)
