"""What the uncertainty of predictions is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.training import checked_labels
from bayesclf.plots import style
from bayesclf.typing import Array, Integers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ALEATORIC, EPISTEMIC = "#8fa3bf", "#c8566b"
"""Colours of the entropy that stays, and of that which more data would take away."""

MOST_STEPS = 400
"""Steps that are drawn; of more rows, neighbours in the order are averaged."""

MARK_HEIGHT = -0.035
"""Where wrong predictions are marked, as a share of the panel's height."""


def uncertainty(
    clf: BayesClassifier, X: Any, y: Any = None, rule: str = "bayes-optimal", ax: Axes | None = None
) -> Figure:
    """Draw the entropy of each row's predicted class, the most uncertain first, split into its two parts.

    The aleatoric part would remain if the parameters were known, the epistemic part is what more training rows would
    remove, if the model is right: under a false independence assumption it shrinks around a wrong value. Wrong
    predictions are marked below the axis: many of them on the right say that the model is sure where it errs.

    Parameters
    ----------
    clf
        A fitted classifier with a posterior.
    X
        Table (row, feature); rows that the classifier was not fitted on.
    y
        Their labels (row), to mark wrong predictions.
    rule
        ``"bayes-optimal"`` or ``"predictive"``, as in `BayesClassifier.uncertainty`.
    ax
        Axes to draw on.

    Returns
    -------
    Figure
        The figure of `ax`, or a new one.

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
    """Return the means of the values between each two neighbouring bounds."""
    return np.asarray(np.add.reduceat(values, bounds[:-1]) / np.diff(bounds))
