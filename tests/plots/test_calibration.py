"""Reliability: the curve is the isotonic fit, the band holds what calibrated probabilities would show."""

import numpy as np
import pytest
from helpers.drawn import of_color, texts
from sklearn.isotonic import IsotonicRegression

from bayesclf import plots
from bayesclf.classifiers.predictor import CI_PROB
from bayesclf.evaluation import scores
from bayesclf.plots import calibration, style


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


@pytest.mark.slow
def test_the_band_holds_calibrated_probabilities_as_often_as_it_says_and_no_flatter_ones():
    inside, flat = [], []
    for seed in range(80):
        for found, temperature in ((inside, 1.0), (flat, 0.1)):
            curve = calibration.reliability_curve(*answers(400, 2, seed, temperature), seed)
            at = int(np.searchsorted(curve.places, 0.9))
            share = np.interp(curve.places[at], curve.confidence, curve.accuracy)
            found.append(curve.low[at] <= share <= curve.high[at])
    assert np.mean(inside) == pytest.approx(CI_PROB, abs=3.5 * np.sqrt(CI_PROB * (1 - CI_PROB) / 80))
    assert np.mean(flat) < 0.2


def test_answers_that_stand_twice_count_once():
    log_proba, y = answers(60, 3, 2)
    once = calibration.reliability_curve(log_proba, y, 5)
    twice = calibration.reliability_curve(np.tile(log_proba, (2, 1)), np.tile(y, 2), 5, repeats=2)
    for part in ("accuracy", "low", "high"):
        np.testing.assert_allclose(getattr(once, part), getattr(twice, part))


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


def test_panels_hold_the_curves_and_the_errors_of_the_table(comparison):
    figure = plots.reliability(comparison, "nb")
    table = comparison.table.set_index(["model", "rule"])
    for rule, ax in zip(comparison.rules_of("nb"), figure.axes, strict=True):
        curve = calibration.reliability_curve(*comparison.stacked("nb", rule), comparison.seed)
        (drawn,) = of_color(ax.lines, style.RULE_STYLE[rule].color)
        np.testing.assert_allclose(drawn.get_xydata(), np.column_stack([curve.confidence, curve.accuracy]))
        assert ax.get_title(loc="left") == f"{rule}  {table.loc[('nb', rule), 'calibration_error']:.3f}"
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
    assert scores.reliability(*two_classes.stacked("nb", "bayes-optimal")).count.sum() == 240


def test_several_rules_share_given_axes_without_bands(comparison):
    ax = style.axes(None, (4, 4))[1]
    plots.reliability(comparison, "nb", ax=ax)
    assert len([line for line in ax.lines if line.get_label().startswith(comparison.rules_of("nb"))]) == 6
    assert not ax.collections
    plots.reliability(comparison, "nb", rules=["map"], ax=ax)
    assert len(ax.collections) == 1
