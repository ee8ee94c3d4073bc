"""How far probabilities can be trusted: reliability without bins, and what passes a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.base import CI_PROB, BayesClassifier
from bayesclf.classifiers.inputs import checked_labels
from bayesclf.evaluation.comparison import Comparison
from bayesclf.evaluation.score_table import calibration
from bayesclf.plots import style
from bayesclf.plots.style import Axes, Figure
from bayesclf.rules import resolve
from bayesclf.wording import pair

PANEL = (2.5, 2.4)
"""Inches of one panel."""

XLABEL, YLABEL = "probability of the predicted class", "share of right predictions"

RESAMPLES = 200
"""Data sets drawn from the predicted probabilities themselves, for the band."""

PLACES = 101
"""Probabilities at which the band is drawn."""

HISTOGRAM_BINS, HISTOGRAM_HEIGHT = 40, 0.13
"""Number of bars that show where the rows are, and the height of the tallest relative to the panel."""

LEAST_KEPT, LEAST_SHARE = 20, 0.05
"""Least rows, and least share of all rows, of a point that is drawn: the accuracy of fewer rows is mostly noise."""

BELOW = 0.15
"""How far below zero a net benefit is drawn, as a share of the largest: that of every row can be any loss."""


@dataclass(frozen=True)
class ReliabilityCurve:
    """How often the predicted class is right, as a function of its probability.

    Attributes
    ----------
    confidence
        Probability of the predicted class, increasing, each value once, (value).
    accuracy
        Share of right predictions there: the isotonic least squares fit, (value).
    count
        Rows, (value).
    places
        Probabilities at which the band is given, (place).
    low, high
        Bounds of that share, with probability `CI_PROB`, if all probabilities were calibrated, (place).
    """

    confidence: Array
    accuracy: Array
    count: Integers
    places: Array
    low: Array
    high: Array


def reliability_curve(log_proba: Array, y: Integers, seed: int, repeats: int = 1) -> ReliabilityCurve:
    """Return the CORP reliability curve of the predicted class, with its consistency band.

    The curve is the isotonic regression of [prediction is right] on the probability of the predicted class: it needs
    no bins. The band repeats this regression with labels drawn from the predicted probabilities.

    Parameters
    ----------
    log_proba, y
        log P(k | x), (row, outcome), and label codes (row).
    seed
        Of the labels drawn for the band.
    repeats
        Number of answers to each row, concatenated; all answers to a row share one drawn label.

    References
    ----------
    Dimitriadis, Gneiting & Jordan, *Stable reliability diagrams for probabilistic classifiers*, PNAS 118 (2021),
    doi:10.1073/pnas.2016191118.
    """
    proba = np.exp(log_proba)
    best = proba.argmax(axis=1)
    below = (proba.cumsum(axis=1) - proba)[np.arange(len(y)), best]
    confidence, value, count = np.unique(proba.max(axis=1), return_inverse=True, return_counts=True)
    accuracy = _isotonic((best == y).astype(float), value, count)
    above = below + confidence[value]
    places = np.linspace(confidence[0], confidence[-1], PLACES)
    rng = np.random.default_rng(seed)
    drawn = np.empty((RESAMPLES, PLACES))
    for index in range(RESAMPLES):
        position = np.tile(rng.random(len(proba) // repeats), repeats)  # a number per row decides on its label
        right = ((below <= position) & (position < above)).astype(float)
        drawn[index] = np.interp(places, confidence, _isotonic(right, value, count))
    low, high = np.quantile(drawn, [(1 - CI_PROB) / 2, (1 + CI_PROB) / 2], axis=0)
    return ReliabilityCurve(confidence, accuracy, count, places, low, high)


def _isotonic(right: Array, value: Integers, count: Integers) -> Array:
    """Return the increasing function of the values that fits best, (value)."""
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(np.bincount(value, right) / count, weights=count).x)


@style.figure
def reliability(
    comparison: Comparison, model: str, rules: Sequence[str] | str | None = None, ax: Axes | None = None
) -> Figure:
    """Draw the share of right predictions against the probability of the predicted class, one panel per rule.

    Calibrated probabilities lie on the diagonal; a curve below the gray band is over-confident, a curve above it
    under-confident, and within the band deviations are explained by chance. The bars at the bottom show where the rows
    are. The calibration error follows the name of the rule; that of gibbs is of one draw for each row.

    Parameters
    ----------
    comparison : Comparison
        Result of `bayesclf.compare`.
    model : str
        Name of one of its models.
    rules : sequence of str, "all" or None
        Rules to draw, by default all that the model could answer under.
    ax : matplotlib Axes or None
        Axes to draw on; several rules share them without bars and bands, each labeled with its error.

    Returns
    -------
    Figure
        The figure of `ax`, or a new one.

    Raises
    ------
    InputError
        For a model or rule that the comparison does not have.

    References
    ----------
    Dimitriadis, Gneiting & Jordan, PNAS 118 (2021), doi:10.1073/pnas.2016191118.
    """
    chosen = style.chosen_rules(comparison, model, rules)
    title = f"{style.plain(model)}: reliability (calibration error)"
    if ax is None:
        figure, places = style.panels(len(chosen), PANEL)
        style.headline(figure, title)
        figure.supxlabel(XLABEL, fontsize="medium")
        figure.supylabel(YLABEL, fontsize="medium")
    else:
        figure, places = style.axes(ax, PANEL)[0], [ax] * len(chosen)
        ax.set(xlabel=XLABEL, ylabel=YLABEL)
    low = 1.0
    for rule, place in zip(chosen, places, strict=True):
        log_proba, y = comparison.stacked(model, rule)
        curve = reliability_curve(log_proba, y, comparison.seed, comparison.repeats)
        judged = calibration(comparison, (model, rule))
        name = f"{rule}  {pair(judged.error, judged.standard_error)}"
        if ax is None or len(chosen) == 1:
            draw_expected(place, curve)
            place.set_title(name, loc="left", fontsize="medium")
        draw_curve(place, curve, rule, name)
        low = min(low, float(curve.confidence[0]))
    room = 0.02 * max(1 - low, 0.1)
    places[0].set(xlim=(low - room, 1 + room), ylim=(-0.02, 1.03))
    if ax is not None and len(chosen) > 1:
        style.title(ax, title)
        ax.legend(frameon=False, fontsize="small")
    return figure


@style.figure
def reliability_of(clf: BayesClassifier, X: Any, y: Any, rule: str | None = None, ax: Axes | None = None) -> Figure:
    """Draw the share of right predictions of a classifier against the probability of the predicted class.

    As `bayesclf.plots.reliability`, which has the held-out rows of a comparison, for rows that are given.

    Parameters
    ----------
    clf : BayesClassifier
        Fitted.
    X, y
        Rows that it was not fitted on: on its training rows every classifier looks better than it is. Table (row,
        feature) and labels (row).
    rule : str or None
        By default the classifier's own.
    ax : matplotlib Axes or None
        Axes to draw on.

    Returns
    -------
    Figure
        The figure of `ax`, or a new one.

    Raises
    ------
    InputError
        For rows that do not fit the training table, or labels that are not classes.

    Examples
    --------
    >>> import bayesclf as bc
    >>> iris = bc.datasets.load("iris")
    >>> clf = bc.GaussianNB().fit(iris.X[::2], iris.y[::2])
    >>> figure = clf.plot_reliability(iris.X[1::2], iris.y[1::2])
    """
    log_proba = clf.predict_log_proba(X, rule)
    codes = clf.known_codes(checked_labels(y, len(log_proba)))
    name = resolve(clf.requested_rule(rule))[0].name
    return draw_reliability(log_proba, codes, name, clf.seed_, ax=ax)


@style.figure
def draw_reliability(
    log_proba: Array, y: Integers, rule: str, seed: int, repeats: int = 1, ax: Axes | None = None
) -> Figure:
    """Draw the panel of `reliability` for answers to held-out rows: log P(k | x), (row, outcome), and codes (row)."""
    curve = reliability_curve(log_proba, y, seed, repeats)
    figure, ax = style.axes(ax, (4.2, 3.4))
    draw_expected(ax, curve)
    draw_curve(ax, curve, rule, rule)
    ax.set(xlabel="probability of the predicted class", ylabel="share right")
    return figure


def draw_expected(ax: Axes, curve: ReliabilityCurve) -> None:
    """Draw where the rows are, and where the curve would lie if the probabilities were calibrated."""
    low, high = curve.confidence[0], curve.confidence[-1]
    edges = np.linspace(low, high, HISTOGRAM_BINS + 1) if low < high else np.array([low - 0.005, low + 0.005])
    rows = np.histogram(curve.confidence, edges, weights=curve.count)[0]
    ax.stairs(HISTOGRAM_HEIGHT * rows / rows.max(), edges, fill=True, color="0.55", alpha=0.45, lw=0, zorder=1)
    ax.fill_between(curve.places, curve.low, curve.high, color="0.55", alpha=0.28, lw=0, zorder=2)


def draw_curve(ax: Axes, curve: ReliabilityCurve, rule: str, name: str) -> None:
    """Draw the diagonal and the curve of one rule; the curve is a point if all probabilities are equal."""
    ax.axline((1, 1), slope=1, color="0.55", linewidth=0.9, zorder=2)
    look = style.look_of(rule)
    marker = "o" if len(curve.confidence) == 1 else ""
    ax.plot(curve.confidence, curve.accuracy, color=look.color, marker=marker, linewidth=2, label=name, zorder=3)
    style.quiet(ax)


@style.figure
def threshold_curve(
    comparison: Comparison,
    model: str,
    rules: Sequence[str] | str | None = None,
    outcome: Any = None,
    cost: Any = None,
    thresholds: Any = None,
) -> Figure:
    """Draw how good the answers are that pass a threshold, and what acting on them is worth.

    Left: accuracy, or mean cost where there are costs, against the share of rows that pass. If the probabilities of a
    rule indicate its errors, accuracy rises as fewer rows pass. Right: the net benefit by the threshold. It is 0 if no
    row passes, and the dotted line if every row passes. Where it is not above both, one does as well without the model.
    Bands are one standard error.

    Parameters
    ----------
    comparison : Comparison
        Result of `bayesclf.compare`.
    model : str
        Name of one of its models.
    rules : sequence of str, "all" or None
        Rules to draw, by default all that the model could answer under.
    outcome : label or None
        Class on whose risk one acts, as in decision curve analysis. Without one, the rows of the smallest expected cost
        are decided and the others rejected.
    cost : array, DataFrame, dict or None
        Costs ``cost[true, predicted]``, (outcome, outcome); by default those of the comparison, or 0-1 loss.
    thresholds : array or None
        Risks in (0, 1), by default 1% to 99%; or expected costs, by default their quantiles.

    Returns
    -------
    Figure
        A new figure.

    Raises
    ------
    InputError
        For a model, rule or class that the comparison does not have, or costs or thresholds that cannot be used.

    References
    ----------
    Vickers & Elkin, *Decision curve analysis*, Medical Decision Making 26 (2006). Chow, *On optimum recognition error
    and reject tradeoff*, IEEE Trans. Information Theory 16 (1970).
    """
    chosen = style.chosen_rules(comparison, model, rules)
    figure, (left, right) = style.panels(2, (4.0, 2.9), common=False)
    priced = cost is not None or (comparison.costs is not None and not _is_zero_one(comparison.costs.matrix))
    what = "cost" if priced and outcome is None else "accuracy"
    top = 1e-3
    for rule in chosen:
        table = comparison.threshold_curve(model, rule, outcome, cost, thresholds)
        some = table[table["coverage"] >= min(max(LEAST_SHARE, LEAST_KEPT / len(comparison.y)), 0.5)]
        look = style.look_of(rule)
        for ax, lines, across, value in ((left, some, "coverage", what), (right, table, "threshold", "net_benefit")):
            ax.plot(lines[across], lines[value], color=look.color, linestyle=look.line, linewidth=1.8, label=rule)
            low, high = (lines[value] + sign * lines[f"{value}_se"] for sign in (-1, 1))
            ax.fill_between(lines[across], low, high, color=look.color, alpha=0.1, linewidth=0)
        right.plot(table["threshold"], table["net_benefit_all"], color=look.color, linewidth=1, linestyle=":")
        top = max(top, table["net_benefit"].max(), table["net_benefit_all"].max())
    right.axhline(0, color="0.45", linewidth=1)
    right.set_ylim(-BELOW * top, 1.05 * top)
    _name_axes(left, right, None if outcome is None else style.plain(outcome), what)
    for ax in (left, right):
        style.quiet(ax)
    left.legend(loc="upper left" if what == "cost" else "lower left", frameon=False, fontsize="small", handlelength=3.2)
    of = "" if outcome is None else f", risk of {style.plain(outcome)}"
    style.headline(figure, f"{style.plain(model)}{of}: what passes a threshold")
    return figure


def _name_axes(left: Axes, right: Axes, outcome: str | None, what: str) -> None:
    """Say what the axes of a threshold curve are about."""
    done = "decided" if outcome is None else "acted on"
    share = "accuracy" if outcome is None else f"share of {outcome}"
    left.set(xlim=(-0.02, 1.02), xlabel=f"share of rows {done}")
    left.set_ylabel(f"mean cost of the rows {done}" if what == "cost" else f"{share} on the rows {done}")
    left.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}%")
    if what == "accuracy":
        left.set_ylim(top=min(left.get_ylim()[1], 1.005))
    right.set_xlabel("largest expected cost" if outcome is None else f"risk of {outcome} from which one acts")
    right.set_ylabel(f"net benefit (dotted: every row {done})")


def _is_zero_one(costs: Array) -> bool:
    return np.array_equal(costs, 1 - np.eye(len(costs)))
