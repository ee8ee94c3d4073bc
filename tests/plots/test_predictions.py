"""Uncertainty, disagreement, confusion matrices and threshold curves: what is drawn is what was computed."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from helpers.drawn import HOSTILE, line, texts
from matplotlib.figure import Figure
from sklearn import metrics
from sklearn.datasets import load_iris

import bayesclf as bc
from bayesclf import plots
from bayesclf.classifiers.predictor import Uncertainty
from bayesclf.decisions import Costs
from bayesclf.errors import InputError, Refused
from bayesclf.evaluation import comparison as comparison_module
from bayesclf.evaluation.comparison import Comparison
from bayesclf.plots import calibration, predictions, style
from bayesclf.plots.predictions import disagreement_shares


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

    class Answering(bc.GaussianNB):
        def uncertainty(self, X, rule="bayes-optimal", class_prior=None):
            return parts

    return Answering()


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


class Answers(Comparison):
    """A comparison whose one model predicts classes that are told."""

    models = ("<b>$model$",)
    repeats = 1

    def __init__(self, classes, true, predicted):
        log_proba = np.log(0.1 + 0.9 * np.eye(len(classes))[predicted])
        for name, value in (("classes", np.array(classes)), ("y", np.array(true)), ("log_proba", log_proba)):
            object.__setattr__(self, name, value)

    def rules_of(self, model):
        return ("map",)

    def stacked(self, model, rule):
        return self.log_proba, self.y


def test_confusion_counts_are_those_of_scikit_learn(comparison):
    log_proba, y = comparison.stacked("nb", "map")
    expected = metrics.confusion_matrix(y, log_proba.argmax(axis=1))
    assert (predictions.confusion_counts(comparison, "nb", "map") == expected).all()
    figure = plots.confusion(comparison, "nb", rules=["map"])
    drawn = [text.get_text() for text in figure.axes[0].texts]
    assert drawn == [str(count) for count in expected.ravel() if count]
    wrong = 1 - np.trace(expected) / len(y)
    assert figure.axes[0].get_title(loc="left") == f"map  {wrong:.3f}"


def test_confusion_of_repeats_counts_each_row_once(two_classes):
    counts = predictions.confusion_counts(two_classes, "nb", "map")
    np.testing.assert_allclose(counts.sum(axis=1), [60, 60])


def test_a_class_never_predicted_and_one_without_rows_are_drawn_empty():
    told = Answers(["a", "b", "c"], [0, 0, 1, 1], [0, 0, 0, 0])
    ax = plots.confusion(told, told.models[0]).axes[0]
    cells = ax.collections[0].get_array()
    depth = cells[..., 3]
    np.testing.assert_allclose(depth, predictions.DEEPEST * np.array([[1, 0, 0], [1, 0, 0], [0, 0, 0]]))
    assert [text.get_text() for text in ax.texts] == ["2", "2"]
    right, wrong = (cells[place][:3] for place in ((0, 0), (1, 0)))
    assert not np.allclose(right, wrong)


def test_twenty_classes_of_hostile_names_are_named():
    classes = [*HOSTILE, *(f"class {k}" for k in range(17))]
    told = Answers(classes, np.arange(20), np.arange(20))
    figure = plots.confusion(told, told.models[0])
    words = texts(figure)
    assert {"$x$", "<script>", "class 16"} <= set(words)
    assert "<b>$model$: which class is taken for which (share wrong)" in words
    boxes = [label.get_window_extent() for label in figure.axes[0].get_yticklabels()]
    assert all(above.y0 >= below.y1 - 1 for above, below in pairwise(boxes))


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


def test_disagreement_shares(comparison):
    shares = disagreement_shares(comparison, "nb")
    assert (shares == shares.T).all()
    assert not shares.diagonal().any()
    table = comparison.table.query("model == 'nb'")
    np.testing.assert_allclose(shares[comparison.rules_of("nb").index("bayes-optimal")], table["disagreement"])
    assert "nb: rows decided differently" in texts(plots.disagreement(comparison, "nb"))


def test_disagreement_of_a_model_with_one_rule(comparison):
    assert plots.disagreement(comparison, "lr in $").axes


def test_drawing_on_given_axes(comparison):
    figure = Figure()
    ax = figure.subplots()
    for drawn in (
        plots.reliability(comparison, "nb", rules=["map"], ax=ax),
        plots.disagreement(comparison, "nb", ax=ax),
        plots.rule_scores(comparison, ax=ax),
    ):
        assert drawn is figure


def test_a_comparison_plots_itself(comparison):
    for figure, title in (
        (comparison.plot_confusion("nb", rules=["map"]), "nb: which class is taken for which (share wrong)"),
        (comparison.plot_thresholds("nb"), "nb: what passes a threshold"),
        (comparison.plot_disagreement("nb"), "nb: rows decided differently"),
        (comparison.plot_reliability("nb", rules=["map"]), "nb: reliability (calibration error)"),
        (comparison.plot_scores("brier"), "nb"),
    ):
        assert title in texts(figure)


def test_every_rule_of_a_comparison_has_its_look_in_all_figures(comparison):
    ax = plots.threshold_curve(comparison, "nb").axes[0]
    looks = {line.get_label(): line.get_color() for line in ax.lines}
    assert looks == {rule: style.RULE_STYLE[rule].color for rule in comparison.rules_of("nb")}


def test_no_rule_that_could_answer(comparison):
    silent = replace(comparison, answers={("nb", "map"): comparison_module.Answers((), "no")})
    with pytest.raises(InputError, match="no answers under any rule"):
        plots.confusion(silent, "nb")
