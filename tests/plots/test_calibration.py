"""Reliability: curves are isotonic fits, drawn as they are, and bands hold as they say."""

from dataclasses import replace

import numpy as np
import pytest
from arviz_stats.helper_stats import _isotonic_fit
from helpers.drawn import line, of_color, texts
from matplotlib.figure import Figure
from sklearn.datasets import load_iris
from sklearn.isotonic import IsotonicRegression

import bayesclf as bc
from bayesclf import plots
from bayesclf.classifiers.base import CI_PROB
from bayesclf.decisions import Costs
from bayesclf.errors import InputError
from bayesclf.evaluation import score_table
from bayesclf.plots import calibration, style
from bayesclf.wording import pair


def answers(rows, classes, seed, temperature=1.0):
    """Return probabilities, and labels drawn from them or, at another temperature, from flatter ones."""
    rng = np.random.default_rng(seed)
    log_proba = np.log(rng.dirichlet(np.ones(classes), rows))
    truth = np.exp(log_proba * temperature)
    truth /= truth.sum(axis=1, keepdims=True)
    y = (rng.random((rows, 1)) > truth.cumsum(axis=1)).sum(axis=1).clip(max=classes - 1)
    return log_proba, y


def test_the_curve_is_the_isotonic_regression_of_being_right():
    log_proba, y = answers(90, 3, 1)
    curve = calibration.reliability_curve(log_proba, y, 0)
    confidence = np.exp(log_proba).max(axis=1)
    other = IsotonicRegression().fit(confidence, log_proba.argmax(axis=1) == y)
    np.testing.assert_allclose(curve.accuracy, other.predict(curve.confidence))
    assert curve.count.sum() == 90


@pytest.mark.parametrize("rows", [1, 12])
def test_one_row_and_constant_probabilities_are_one_point(rows):
    curve = calibration.reliability_curve(np.log(np.tile([0.7, 0.3], (rows, 1))), np.arange(rows) % 2, 0)
    assert curve.confidence.tolist() == [0.7]
    assert curve.accuracy == pytest.approx([np.mean(np.arange(rows) % 2 == 0)])
    figure, ax = style.axes(None, (2, 2))
    calibration.draw_expected(ax, curve)
    calibration.draw_curve(ax, curve, "map", "map")
    assert [line.get_marker() for line in ax.lines].count("o") == 1
    assert ax.patches[0].get_data().values.tolist() == [calibration.HISTOGRAM_HEIGHT]
    figure.canvas.draw()


def test_panels_hold_the_curves_and_the_calibration_errors(comparison):
    figure = plots.reliability(comparison, "nb", rules="all")
    for rule, ax in zip(comparison.rules_of("nb"), figure.axes, strict=True):
        curve = calibration.reliability_curve(*comparison.stacked("nb", rule), comparison.seed)
        (drawn,) = of_color(ax.lines, style.RULE_STYLE[rule].color)
        np.testing.assert_allclose(drawn.get_xydata(), np.column_stack([curve.confidence, curve.accuracy]))
        judged = score_table.calibration(comparison, ("nb", rule))
        assert ax.get_title(loc="left") == f"{rule}  {pair(judged.error, judged.standard_error)}"
    assert "nb: reliability (calibration error)" in texts(figure)


def test_bars_are_where_the_rows_are(comparison):
    ax = plots.reliability(comparison, "nb", rules=["map"]).axes[0]
    heights, edges, _ = ax.patches[0].get_data()
    confidence = np.exp(comparison.stacked("nb", "map")[0].max(axis=1))
    rows = np.histogram(confidence, edges)[0]
    np.testing.assert_allclose(heights, calibration.HISTOGRAM_HEIGHT * rows / rows.max())


def test_repeats_are_told(two_classes):
    (ax,) = plots.reliability(two_classes, "nb", rules=["bayes-optimal"]).axes
    curve = calibration.reliability_curve(*two_classes.stacked("nb", "bayes-optimal"), two_classes.seed, repeats=2)
    band = ax.collections[0].get_paths()[0].get_extents()
    assert band.y0 == pytest.approx(curve.low.min())
    assert curve.count.sum() == 240


def test_the_curve_and_the_band_are_those_of_arviz():
    """ArviZ takes draws of labels; those here have probabilities as their exact means."""
    rng = np.random.default_rng(0)
    draws = 2_000
    ones = rng.choice(np.arange(draws // 2 + 1, draws), size=120, replace=False)  # the second class is predicted
    proba = ones / draws
    y = (rng.random(120) < proba).astype(int)
    labels = np.array([rng.permutation(np.arange(draws) < one) for one in ones]).T.astype(float)
    share, at, low, high = _isotonic_fit(proba, y, CI_PROB, False, labels, None)
    curve = calibration.reliability_curve(np.log(np.column_stack([1 - proba, proba])), y, 3)
    np.testing.assert_allclose(curve.confidence, at, atol=1e-12)
    np.testing.assert_allclose(curve.accuracy, share)
    # Quantiles of 200 curves, theirs of 2,000: a quantile's error is that of its place among 200.
    for own, theirs in ((curve.low, low), (curve.high, high)):
        off = own - np.interp(curve.places, at, theirs)
        assert abs(off.mean()) < 0.015
        assert np.abs(off).max() < 0.12


def test_the_reliability_of_one_classifier_is_the_curve_of_its_own_rule():
    X, y = load_iris(return_X_y=True)
    clf = bc.NaiveBayes().fit(X[::2], y[::2])
    ax = clf.plot_reliability(X[1::2], y[1::2]).axes[0]
    curve = calibration.reliability_curve(clf.predict_log_proba(X[1::2]), y[1::2], clf.seed_)
    (drawn,) = of_color(ax.lines, style.look_of("tempered").color)
    np.testing.assert_allclose(drawn.get_ydata(), curve.accuracy)
    with pytest.raises(InputError, match="has 75 rows but y"):
        clf.plot_reliability(X[1::2], y[::3])


def test_drawing_on_given_axes(comparison):
    figure = Figure()
    ax = figure.subplots()
    for drawn in (plots.reliability(comparison, "nb", rules=["map"], ax=ax), plots.rule_scores(comparison, ax=ax)):
        assert drawn is figure


def test_lines_of_thresholds_are_the_curve(comparison):
    left, right = plots.threshold_curve(comparison, "nb", rules=["mle", "gibbs"]).axes
    for rule in ("mle", "gibbs"):
        curve = comparison.threshold_curve("nb", rule)
        drawn = line(left, rule)
        np.testing.assert_allclose(drawn, curve[["coverage", "accuracy"]].iloc[-len(drawn) :])
        np.testing.assert_allclose(line(right, rule), curve[["threshold", "net_benefit"]])
        assert drawn[0, 0] * 150 >= calibration.LEAST_KEPT > 0.9 * drawn[0, 0] * 150
        accuracy = comparison.table.set_index(["model", "rule"]).loc[("nb", rule), "accuracy"]
        if rule == "mle":  # that of gibbs is an expectation over hypotheses, the curve one run
            np.testing.assert_allclose(drawn[-1], [1, accuracy])


def test_thresholds_on_costs(two_classes):
    cost = [[0, 1], [5, 0]]
    left = plots.threshold_curve(two_classes, "nb", rules=["map"], cost=cost).axes[0]
    curve = two_classes.threshold_curve("nb", "map", cost=cost)
    np.testing.assert_allclose(line(left, "map")[-1], [1, curve["cost"].iloc[-1]])
    assert left.get_ylabel() == "mean cost of the rows decided"
    for matrix, label in ((cost, "mean cost of the rows decided"), (None, "accuracy on the rows decided")):
        asked = replace(two_classes, costs=Costs.checked(2, matrix, reject=0.2))
        assert plots.threshold_curve(asked, "nb", rules=["map"]).axes[0].get_ylabel() == label


def test_thresholds_on_the_risk_of_a_class(two_classes):
    figure = plots.threshold_curve(two_classes, "nb", ["map"], "<yes>", thresholds=[0.1, 0.3, 0.6])
    table = two_classes.threshold_curve("nb", "map", "<yes>", thresholds=[0.1, 0.3, 0.6])
    right = figure.axes[1]
    np.testing.assert_allclose(line(right, "map"), table[["threshold", "net_benefit"]])
    np.testing.assert_allclose(right.lines[1].get_xydata(), table[["threshold", "net_benefit_all"]])
    assert "risk of <yes> from which one acts" in texts(figure)
