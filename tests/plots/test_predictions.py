"""Uncertainty: steps are the entropies of the rows, marks the wrong predictions."""

from types import SimpleNamespace

import numpy as np
import pytest
from helpers.drawn import texts
from sklearn.datasets import load_iris

import bayesclf as bc
from bayesclf import plots
from bayesclf.classifiers.predictor import Uncertainty
from bayesclf.errors import InputError, Refused
from bayesclf.plots import predictions


@pytest.fixture(scope="module")
def iris():
    data = load_iris()
    return data.data[:, :2], data.target_names[data.target]


@pytest.fixture(scope="module")
def fit(iris):
    X, y = iris
    return bc.GaussianNB(random_state=0).fit(X[::2], y[::2])


def test_steps_are_the_parts_of_the_entropy_most_uncertain_first(iris, fit):
    X, y = iris
    figure = plots.uncertainty(fit, X, y)
    below, above = (patch.get_data() for patch in figure.axes[0].patches)
    parts = fit.uncertainty(X)
    order = np.argsort(-parts.total, kind="stable")
    np.testing.assert_allclose(below.values, parts.aleatoric[order])
    np.testing.assert_allclose(above.values - above.baseline, parts.epistemic[order])
    assert (np.diff(above.values) <= 0).all()
    share = parts.epistemic.sum() / parts.total.sum()
    assert f"epistemic, {100 * share:.0f} % of all" in texts(figure)


def test_marks_are_the_wrong_predictions(iris, fit):
    X, y = iris
    figure = plots.uncertainty(fit, X, y, rule="predictive")
    (marks,) = figure.axes[0].lines
    order = np.argsort(-fit.uncertainty(X, rule="predictive").total, kind="stable")
    wrong = np.flatnonzero((fit.predict(X, rule="predictive") != y)[order])
    np.testing.assert_allclose(marks.get_xdata(), (wrong + 0.5) / len(y))
    assert f"{len(wrong)} wrong" in texts(figure)
    assert not plots.uncertainty(fit, X).axes[0].lines


def of(total, aleatoric):
    """Return a classifier that answers with these entropies."""
    parts = Uncertainty(np.array(total), np.array(aleatoric), np.subtract(total, aleatoric))
    return SimpleNamespace(uncertainty=lambda X, rule: parts)


def test_many_rows_are_averaged_in_their_order_and_keep_their_area():
    values = np.linspace(1, 0, 1003)
    below, above = plots.uncertainty(of(values, values / 4), None).axes[0].patches
    heights, edges, _ = above.get_data()
    assert len(heights) == predictions.MOST_STEPS
    assert (heights * np.diff(edges)).sum() == pytest.approx(values.mean())
    assert heights[0] == pytest.approx(values[: round(edges[1] * 1003)].mean())
    np.testing.assert_allclose(below.get_data().values, heights / 4)


def test_one_row_and_certain_rows_are_drawn(fit):
    (below, _) = plots.uncertainty(fit, [[5.0, 3.0]]).axes[0].patches
    assert below.get_data().edges.tolist() == [0, 1]
    assert "epistemic, 0 % of all" in texts(plots.uncertainty(of([0.0, 0.0], [0.0, 0.0]), None))


def test_what_has_no_uncertainty_is_refused(iris, fit):
    with pytest.raises(InputError, match="rule must be"):
        plots.uncertainty(fit, iris[0], rule="map")
    with pytest.raises(Refused, match="leaves no posterior"):
        plots.uncertainty(bc.GaussianNB(inference="map").fit(*iris), iris[0])
