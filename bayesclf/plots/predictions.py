"""What predictions are made of: their uncertainty, rules of a model that disagree, and counts that a model predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.labels import checked_labels
from bayesclf.classifiers.predictor import CI_PROB
from bayesclf.evaluation.comparison import Comparison
from bayesclf.plots import style
from bayesclf.plots.posterior import INNER_PROB
from bayesclf.plots.style import Axes, Figure
from bayesclf.typing import Array, Integers

if TYPE_CHECKING:
    import xarray as xr


FULL_COLOR_FROM = 0.1
"""Share of differently decided rows with full color, unless a larger share occurs."""

LONGEST_MODEL = 18
"""Characters of a model's name in a longer title."""

ALEATORIC, EPISTEMIC = "#8fa3bf", "#c8566b"
"""Colors of the entropy that remains, and of the entropy that more data would remove."""

MOST_STEPS = 400
"""Most steps that are drawn; with more rows, neighbors in the order are averaged."""

MARK_HEIGHT = -0.035
"""Where wrong predictions are marked, as a share of the panel's height."""


@style.figure
def disagreement(comparison: Comparison, model: str, ax: Axes | None = None) -> Figure:
    """Draw the share of rows that each two rules of a model decide differently.

    Raises
    ------
    InputError
        For a model that the comparison does not have.
    """
    chosen = style.chosen_rules(comparison, model, None)
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
    style.title(ax, f"{style.plain(model, LONGEST_MODEL)}: rows decided differently")
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


@style.figure
def uncertainty(
    clf: BayesClassifier, X: Any, y: Any = None, rule: str = "bayes-optimal", ax: Axes | None = None
) -> Figure:
    """Draw the entropy of each row's predicted class, the most uncertain first, split into its two parts.

    The aleatoric part would remain if the parameters were known, the epistemic part is what more training rows would
    remove if the model is right: under a false independence assumption it shrinks around a wrong value. Wrong
    predictions are marked below the axis: many on the right mean that the model is certain where it is wrong.

    Parameters
    ----------
    clf : BayesClassifier
        A fitted classifier with a posterior.
    X : table or array of shape (row, feature)
        Table (row, feature); rows that the classifier was not fitted on.
    y : array of shape (row,)
        Their labels (row), to mark wrong predictions.
    rule : str
        ``"bayes-optimal"`` or ``"predictive"``, as in `BayesClassifier.uncertainty`.

    Raises
    ------
    InputError
        For another rule.
    Refused
        If the classifier has no posterior.
    """
    parts = clf.uncertainty(X, rule)
    order = np.argsort(-parts.total, kind="stable")
    bounds = np.linspace(0, len(order), min(len(order), MOST_STEPS) + 1).astype(np.intp)
    total, aleatoric = (_means(values[order], bounds) for values in (parts.total, parts.aleatoric))
    edges = bounds / len(order)
    figure, ax = style.axes(ax, (5.4, 3.4))
    share = float(parts.epistemic.sum() / parts.total.sum()) if parts.total.any() else 0.0
    name = f"epistemic, {100 * share:.0f} % of all"
    ax.stairs(aleatoric, edges, fill=True, color=ALEATORIC, linewidth=0, label="aleatoric")
    ax.stairs(total, edges, baseline=aleatoric, fill=True, color=EPISTEMIC, linewidth=0, label=name)
    ax.set(xlim=(0, 1), xlabel="share of rows, the most uncertain first", ylabel="entropy / nats")
    ax.set_ylim(bottom=0)
    if y is not None:
        wrong = np.flatnonzero((clf.predict(X, rule=rule) != checked_labels(y, len(order)))[order])
        places = (wrong + 0.5) / len(order)
        look: Any = {"color": "0.55", "markersize": 7, "transform": ax.get_xaxis_transform(), "clip_on": False}
        ax.plot(places, np.full(len(places), MARK_HEIGHT), "|", label=f"{len(wrong)} wrong", **look)
        ax.tick_params(axis="x", pad=12)
    style.legend_above(ax)
    ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    style.quiet(ax, "y")
    return figure


def _means(values: Array, bounds: Integers) -> Array:
    """Return the means of the values between neighboring bounds."""
    return np.asarray(np.add.reduceat(values, bounds[:-1]) / np.diff(bounds))


STATISTIC = "class_count_given_x"

POSTERIOR, PRIOR = "#2f6fd0", "0.62"
"""Colors of data sets simulated from the posterior and from the prior."""

LONGEST_CLASS = 18
"""Characters of a class name next to its line."""


@style.figure
def predictive_counts(tree: xr.DataTree, ax: Axes | None = None) -> Figure:
    """Draw how many rows of each class the model makes, given the rows' features, and how many there were.

    The interval of data sets simulated from the posterior is blue, thick for the inner half; that of the prior, if it
    can be drawn from, is gray above it. Rings are the observed counts: outside the blue interval the model does not
    reproduce the data.

    Parameters
    ----------
    tree : DataTree
        Result of ``predictive_check`` for a classifier.
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
    ax.plot(observed.values, places, "o", color=style.ink(), fillstyle="none", markersize=8, zorder=4, label="observed")
    ax.set_yticks(places, labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.set_xlim(left=0)
    ax.set_xlabel(f"rows; {100 * INNER_PROB:.0f} % and {100 * CI_PROB:.0f} % intervals")
    style.legend_above(ax)
    style.quiet(ax, "x")
    return figure
