"""Class-conditional distributions over the rows that they were learned from, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.base import CI_PROB, BayesClassifier
from bayesclf.classifiers.inputs import checked_labels
from bayesclf.errors import InputError, Refused
from bayesclf.models import Model
from bayesclf.models.generative import Block
from bayesclf.plots import style
from bayesclf.plots.style import Axes, Figure
from bayesclf.posterior.hypotheses import Hypotheses
from bayesclf.tables import columns
from bayesclf.tables.columns import SparseTable
from bayesclf.tables.levels import class_order, leading_number
from bayesclf.wording import did_you_mean

MOST_PANELS = 6
"""Columns that are drawn where none are named."""

MOST_LEVELS = 12
"""Most levels of a category that are drawn, the most frequent ones."""

MOST_CLASSES = 6
"""Most classes that are drawn, as many as have colors of their own."""

DRAWS = 200
"""Most hypotheses of the posterior behind a band."""

GRID = 201
"""Places along a column at which densities are computed."""

BINS = 24
"""Bins of a histogram."""

DECISION = "decision point"


@style.figure
def class_conditionals(clf: BayesClassifier, X: Any, y: Any, features: Sequence[str] | None = None) -> Figure:
    """Draw what a generative classifier has learned: p(x_j | y) of each class over the class's rows.

    A number has its density, the posterior mean with a band of its credible interval over the histogram of each class's
    rows; a category the probabilities of its levels, with intervals, over bars of the rows' shares. Dashed lines are
    the decision points of that column alone: where another class becomes the most probable one given it and the class
    prior. A level has the color of the class that it alone predicts. A point estimate has no bands.

    Densities that do not follow their histograms show a wrong family: `NaiveBayes(families="auto")` chooses by
    evidence.

    Parameters
    ----------
    clf : BayesClassifier
        Fitted, generative.
    X, y
        Rows to draw, such as the training rows: table (row, feature) and labels (row).
    features : sequence of str or None
        Columns; by default the first six that the model uses.

    Returns
    -------
    Figure
        A new figure.

    Raises
    ------
    Refused
        For a model without p(x | y) of columns: logistic regression, text and counts of events.

    References
    ----------
    CS4780, naive Bayes (figures 1 to 4: class-conditional distributions and the decision rule); Wehbe.
    """
    panels = _Panels.of(clf, X, y, features)
    figure, every = style.panels(len(panels.features), (3.6, 2.9), common=False)
    for ax, feature in zip(every, panels.features, strict=True):
        if panels.levels_of(feature):
            _draw_levels(ax, panels, feature)
        else:
            _draw_number(ax, panels, feature)
        style.quiet(ax)
    every[0].plot([], [], color=style.ink(), linestyle="--", linewidth=1, label=DECISION)
    handles, labels = every[0].get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    figure.legend(
        named.values(), named.keys(), loc="outside upper left", ncols=len(named), frameon=False, fontsize="small"
    )
    return figure


@dataclass(frozen=True, eq=False)
class _Panels:
    """What all panels draw from: parameters with a leading draw axis, the mean log prior (outcome), codes to draw."""

    model: Model
    parameters: Any
    log_prior: Array
    frame: pd.DataFrame
    codes: Integers
    classes: Any
    shown: tuple[int, ...]
    features: tuple[str, ...]

    @classmethod
    def of(cls, clf: BayesClassifier, X: Any, y: Any, features: Any) -> _Panels:
        """Check the arguments."""
        frame = clf.frame(X)
        model = clf.model_
        if not model.generative:
            raise Refused(f"{type(clf).__name__} has no p(x | y) to draw, only P(y | x); use decision_boundary")
        if isinstance(frame, SparseTable) or any(
            block.family.kind not in ("number", "category", "mixed") for block in model.blocks
        ):
            raise Refused("class-conditional distributions are drawn of numbers and categories, not of words or counts")
        codes = clf.known_codes(checked_labels(y, len(frame)))
        used = [name for block in model.blocks for name in block.statistics.axes.features]
        used = [name for name in frame.columns if name in used]
        if not used:
            raise Refused("no column is informative, so the model has no p(x | y) to draw")
        chosen = tuple(used[:MOST_PANELS] if features is None else features)
        if not chosen or isinstance(features, str):
            raise InputError("features must be a list of columns, such as ['age', 'bmi']")
        for name in chosen:
            if name not in used:
                raise InputError(f"the model uses no column {name!r}{did_you_mean(str(name), used)}")
        source = "posterior" if clf.draws_ is not None else clf.requested_rule(None)
        found = clf.hypotheses(str(source))
        draws = np.linspace(0, len(found) - 1, min(DRAWS, len(found))).astype(np.intp)
        some: Any = found.take(draws) if clf.draws_ is not None else found
        assert isinstance(some, Hypotheses)
        log_prior = np.log(np.exp(some.log_class_prior()).mean(axis=0))
        shown = class_order(y, clf.classes_)[:MOST_CLASSES]
        return cls(model, some.parameters, log_prior, frame, codes, clf.classes_, shown, chosen)

    def block_of(self, feature: str) -> Block:
        """Return the block that has a feature."""
        return next(block for block in self.model.blocks if feature in block.statistics.axes.features)

    def levels_of(self, feature: str) -> tuple[Any, ...]:
        """Return the levels of a feature; a number has none."""
        axes = self.block_of(feature).statistics.axes
        return axes.levels[axes.features.index(feature)] if axes.levels else ()

    def of_column(self, feature: str, values: Array | Integers) -> Array:
        """Return p(x_j | y, θ) of one feature, (draw, row, outcome), the others of its block integrated out.

        That of a number is given that it is not missing.
        """
        block = self.block_of(feature)
        axes, own = block.statistics.axes, block.own(self.parameters)
        place = axes.features.index(feature)
        X = np.full((len(values), len(axes.features)), block.family.unobserved())
        observed = np.ones(1)
        if np.isinf(X[:1, place]).any():
            X[:1, place] = np.nan
            observed = -np.expm1(np.asarray(block.family.log_density(X[:1], own)))
        X[:, place] = values
        return np.exp(np.asarray(block.family.log_density(X, own))) / observed

    def best(self, density: Array) -> Integers:
        """Return the most probable class given p(x | y) (row, outcome)."""
        with np.errstate(divide="ignore"):
            return np.asarray((np.log(density) + self.log_prior).argmax(axis=1))


def decision_points(values: Array, best: Integers) -> Array:
    """Return the places half-way between neighboring values at which the most probable class changes."""
    changes = np.flatnonzero(np.diff(best))
    return np.asarray((values[changes] + values[changes + 1]) / 2)


def _draw_number(ax: Axes, panels: _Panels, feature: str) -> None:
    """Draw densities over histograms, or masses over shares where the family has whole numbers."""
    (column,) = columns.numbers(panels.frame[[feature]], (feature,)).T
    known = column[~np.isnan(column)]
    if not known.size:
        raise Refused(f"column {feature!r} has no numbers in these rows")
    support = panels.block_of(feature).family.support
    masses = support.whole
    low, high = known.min(), known.max()
    room = 0.05 * (high - low) or 1.0
    if masses and high - low < GRID:
        x = np.arange(np.floor(low), np.ceil(high) + 1)
        edges = np.append(x, x[-1] + 1) - 0.5
    else:
        x, edges = np.linspace(low - room, high + room, GRID), np.linspace(low, high, BINS + 1)
        if low == high:
            edges = np.array([low - room, high + room])
    x = np.round(x) if masses else x
    x = x[support.holds(x)]
    density = panels.of_column(feature, x)
    mean = density.mean(axis=0)
    lower, upper = np.quantile(density, [(1 - CI_PROB) / 2, (1 + CI_PROB) / 2], axis=0)
    highest = 0.0
    for k in panels.shown:
        own, color = column[(panels.codes == k) & ~np.isnan(column)], style.class_color(k)
        if own.size:
            heights = np.histogram(own, edges)[0] / (own.size * np.diff(edges))
            highest = max(highest, heights.max())
            ax.stairs(heights, edges, fill=True, color=color, alpha=0.22)
        if len(density) > 1:
            ax.fill_between(x, lower[:, k], upper[:, k], color=color, alpha=0.35, linewidth=0)
        look: Any = {"marker": "o", "markersize": 3} if masses else {}
        ax.plot(x, mean[:, k], color=color, linewidth=1.6, label=style.plain(panels.classes[k]), **look)
    points, step = decision_points(x, panels.best(mean)), x[1] - x[0] if len(x) > 1 else 1.0
    for place in points[(points > low + step / 2) & (points < high - step / 2)]:  # where there are rows
        ax.axvline(place, color=style.ink(), linestyle="--", linewidth=1, label=DECISION)
    ax.set_ylim(0, 1.15 * max(highest, mean[np.isfinite(mean)].max(initial=0.0)) or 1.0)
    ax.set_xlabel(style.plain(feature))
    ax.set_ylabel("P(x | y)" if masses else "p(x | y)")


def _draw_levels(ax: Axes, panels: _Panels, feature: str) -> None:
    """Draw probabilities of levels over the rows' shares; a level has the color of the class that it predicts."""
    levels = panels.levels_of(feature)
    codes = columns.codes(panels.frame[[feature]], (feature,), (levels,))[:, 0]
    most = np.argsort(-np.bincount(codes[codes >= 0], minlength=len(levels)), kind="stable")[:MOST_LEVELS]
    order = np.array(sorted(most, key=lambda code: (leading_number(levels[code]), code)))
    theta = panels.of_column(feature, order)
    mean = theta.mean(axis=0)
    lower, upper = np.quantile(theta, [(1 - CI_PROB) / 2, (1 + CI_PROB) / 2], axis=0)
    width = 0.8 / len(panels.shown)
    for number, k in enumerate(panels.shown):
        own = codes[(panels.codes == k) & (codes >= 0)]
        place = np.arange(len(order)) + (number - (len(panels.shown) - 1) / 2) * width
        share = np.bincount(own, minlength=len(levels))[order] / max(own.size, 1)
        color = style.class_color(k)
        ax.bar(place, share, width, color=color, alpha=0.3)
        if len(theta) > 1:
            ax.vlines(place, lower[:, k], upper[:, k], color=color, linewidth=1.6)
        ax.plot(place, mean[:, k], "o", color=color, markersize=4, label=style.plain(panels.classes[k]))
    names = [style.plain("missing" if levels[j] is None else levels[j], 14) for j in order]
    rotation = 90 if len(order) > 6 else 30 * (len(order) > 3)
    ax.set_xticks(np.arange(len(order)), names, rotation=rotation, ha="right" if rotation == 30 else "center")
    for tick, k in zip(ax.get_xticklabels(), panels.best(mean), strict=True):
        tick.set_color(style.class_color(int(k)))
    ax.set_xlabel(style.plain(feature))
    ax.set_ylabel("P(x | y)")
