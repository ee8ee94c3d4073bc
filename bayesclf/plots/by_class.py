"""How often each class comes true as a function of its probability: one curve per class, without bins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.predictor import CI_PROB
from bayesclf.errors import InputError
from bayesclf.evaluation.comparison import Comparison
from bayesclf.evaluation.leave_one_out import left_out
from bayesclf.evaluation.thresholds import code_of
from bayesclf.plots import style
from bayesclf.plots.calibration import class_curve, draw_curve, draw_expected
from bayesclf.plots.style import Figure
from bayesclf.typing import Array, Integers
from bayesclf.wording import AND_MORE, listed

PANEL = (2.5, 2.4)
"""Inches of one panel."""

BAND = (
    f"The band holds, at each probability, {100 * CI_PROB:.0f} % of the curves of labels drawn from the probabilities; "
    "where these were learned from rows of the same table, a calibrated model leaves it somewhat less often."
)
"""What the band means."""

MOST_CLASSES = 6
"""Classes that are drawn without being named: the commonest."""


@style.figure
def class_calibration(
    comparison: Comparison, model: str, rule: str | None = None, outcomes: Sequence[Any] | None = None
) -> Figure:
    """Draw how often each class comes true against its probability, by the held-out rows of a comparison.

    On the diagonal a class comes true as often as its probability says. The curve is the isotonic regression of
    [the label is k] on P(k | x), which needs no bins; the gray band holds, at each probability, 89 % of the curves of
    labels that are drawn from the probabilities, so that a curve within it deviates no further than chance. With many
    panels some curve leaves its band somewhere by chance. The bars at the bottom show where the rows are.

    Parameters
    ----------
    rule : str or None
        Of the probabilities; by default the model's rule of the smallest log loss.
    outcomes : sequence of labels or None
        Labels to draw, one panel each; by default the second of two classes, as the first mirrors it, or the commonest
        of more, six at most.

    Raises
    ------
    InputError
        For a model, rule or label that the comparison does not have.

    See Also
    --------
    bayesclf.plots.loo_calibration : The same of training rows, each left out.
    bayesclf.plots.reliability : Of the predicted class alone.

    References
    ----------
    Dimitriadis, Gneiting & Jordan, PNAS 118 (2021), doi:10.1073/pnas.2016191118.

    Examples
    --------
    >>> import bayesclf as bc
    >>> iris = bc.datasets.load("iris")
    >>> comparison = bc.compare({"nb": bc.GaussianNB()}, iris.X, iris.y)
    >>> figure = bc.plots.class_calibration(comparison, "nb", "predictive")
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['setosa', 'versicolor', 'virginica']
    """
    if rule is None:
        answered = style.chosen_rules(comparison, model, None)
        losses = comparison.table[comparison.table["model"] == model].set_index("rule")["log_loss"]
        rule = min(answered, key=lambda one: float(losses[one]))
    (rule,) = style.chosen_rules(comparison, model, [rule])
    log_proba, y = comparison.stacked(model, rule)
    title = f"{style.plain(model)} ({rule}): calibration by class"
    return _panels(log_proba, y, comparison.classes, outcomes, rule, comparison.seed, comparison.repeats, title)


@style.figure
def loo_calibration(
    clf: BayesClassifier, X: Any, y: Any, rule: str | None = None, outcomes: Sequence[Any] | None = None
) -> Figure:
    """Draw how often each class comes true against its leave-one-out probability.

    As `class_calibration`, by P(k | x_i, all rows but i), which `bayesclf.loo` scores: nothing is held out, and what
    was derived from all rows stays fixed. The band is that of labels drawn from these probabilities, row by row, as in
    ArviZ's ``plot_loo_pava``. As the other rows' labels set the level of a row's probability, curves vary less around
    the diagonal than drawn labels would: in simulations of a true naive Bayes model of four columns 95 % of a curve
    stayed within the band at 60 rows, 92 % at 400.

    Parameters
    ----------
    X, y
        The rows it was fitted on, in any order.
    rule : str or None
        As for `bayesclf.loo`; by default the classifier's own.
    outcomes : sequence of labels or None
        Labels to draw, one panel each; by default the second of two classes, as the first mirrors it, or the commonest
        of more, six at most.

    Raises
    ------
    InputError
        For other rows than the training rows, or a label that is not one of the classes.
    Refused
        For a rule that has no leave-one-out probabilities, or too much work.

    See Also
    --------
    bayesclf.plots.class_calibration : By held-out rows of a comparison.
    bayesclf.plots.pareto_k : Whether the weights that leave rows out can be trusted.

    References
    ----------
    Säilynoja, Johnson, Martin & Vehtari, *Recommendations for visual predictive checks in Bayesian workflow* (2025),
    arXiv:2503.01509. Dimitriadis, Gneiting & Jordan, PNAS 118 (2021), doi:10.1073/pnas.2016191118.

    Examples
    --------
    >>> import bayesclf as bc
    >>> iris = bc.datasets.load("iris")
    >>> figure = bc.plots.loo_calibration(bc.GaussianNB().fit(iris.X, iris.y), iris.X, iris.y, "predictive")
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['setosa', 'versicolor', 'virginica']
    """
    asked = clf.requested_rule(None) if rule is None else rule
    found = left_out(clf, X, y, asked)
    title = "Leave-one-out calibration by class"
    return _panels(found.log_proba, found.y, clf.classes_, outcomes, str(asked), clf.seed_, 1, title)


@style.figure
def draw_by_class(log_proba: Array, y: Integers, classes: NDArray[Any], rule: str, seed: int) -> Figure:
    """Draw the panels of `class_calibration` for answers to held-out rows.

    Parameters
    ----------
    log_proba
        log P(k | x), (row, outcome).
    y
        Label codes (row).
    classes
        The labels (outcome).
    rule
        Name of the rule that the answers are of.
    seed
        Of the labels drawn for the bands.
    """
    return _panels(log_proba, y, classes, None, rule, seed, 1, "")


def _panels(
    log_proba: Array,
    y: Integers,
    classes: NDArray[Any],
    outcomes: Sequence[Any] | None,
    rule: str,
    seed: int,
    repeats: int,
    title: str,
) -> Figure:
    """Draw one panel per class."""
    codes = _default(y, len(classes)) if outcomes is None else [code_of(classes, outcome) for outcome in outcomes]
    if not codes:
        raise InputError(f"outcomes must name at least one of the labels {listed(classes, MOST_CLASSES, AND_MORE)}")
    figure, panels = style.panels(len(codes), PANEL)
    style.headline(figure, title)
    figure.supxlabel("probability of the class", fontsize="medium")
    figure.supylabel("share of rows of the class", fontsize="medium")
    for k, ax in zip(codes, panels, strict=True):
        curve = class_curve(log_proba, y, k, seed, repeats)
        draw_expected(ax, curve)
        draw_curve(ax, curve, rule, rule)
        ax.set_title(style.plain(classes[k]), loc="left", fontsize="medium")
    panels[0].set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.03), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
    return figure


def _default(y: Integers, classes: int) -> list[int]:
    """Return the codes of the classes to draw: the second of two, or the commonest of more."""
    if classes == 2:
        return [1]
    counts = np.bincount(y, minlength=classes)
    return sorted(np.argsort(-counts, kind="stable")[:MOST_CLASSES].tolist())
