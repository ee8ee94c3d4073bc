"""Accuracy and cost of the rows that are kept, against the share of rows that are kept."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_wine

import bayesclf as bc
from bayesclf.decisions import REJECTED, decide
from bayesclf.errors import InputError, Refused
from bayesclf.evaluation.scores import resampled_standard_error
from bayesclf.evaluation.selective import coverage_curve, cross_validated_curve

COST = np.array([[0.0, 5.0, 1.0], [1.0, 0.0, 1.0], [3.0, 1.0, -0.5]])


@pytest.fixture
def predictions(rng):
    proba = rng.dirichlet([1.0, 2.0, 0.5], size=300)
    return np.log(proba), np.array([rng.choice(3, p=p) for p in proba])


@pytest.fixture(scope="module")
def comparison():
    X, y = load_wine(return_X_y=True, as_frame=True)
    models = {"gnb": bc.GaussianNB(), "lr": bc.LogisticRegression(prior_scale=2.5, inference="map")}
    return bc.compare(models, X.iloc[:, :4], y, rules=["map", "bayes-optimal"], cv=4, repeats=2, random_state=1)


@pytest.mark.parametrize("cost", [None, COST])
def test_each_point_is_what_predict_would_keep_at_that_limit(predictions, cost):
    log_proba, y = predictions
    curve = coverage_curve(log_proba, y, cost)
    matrix = 1 - np.eye(3) if cost is None else cost
    assert (np.diff(curve.threshold) > 0).all()
    for point in range(1, len(curve.threshold), 13):
        limit = curve.threshold[point]
        if limit < 0:
            continue  # a gain is sure here, and `reject` is never negative
        decided = decide(log_proba, cost, limit)
        kept = decided != REJECTED
        assert curve.kept[point] == kept.sum()
        assert curve.coverage[point] == kept.mean()
        assert curve.accuracy[point] == pytest.approx((decided == y)[kept].mean())
        paid = matrix[y[kept], decided[kept]]
        assert curve.cost[point] == pytest.approx(paid.mean())
        assert curve.cost_se[point] == pytest.approx(paid.std(ddof=1) / np.sqrt(kept.sum()))


def test_under_zero_one_loss_the_cost_is_the_error(predictions):
    curve = coverage_curve(*predictions)
    np.testing.assert_allclose(curve.cost, 1 - curve.accuracy, atol=1e-12)
    np.testing.assert_allclose(curve.cost_se, curve.accuracy_se, atol=1e-9)
    assert curve.coverage[-1] == 1
    assert np.isnan(curve.accuracy_se[0])


def test_a_large_common_cost_takes_no_digits_from_the_errors(predictions):
    near, far = (coverage_curve(*predictions, COST + shift) for shift in (0, 1e6))
    np.testing.assert_allclose(far.cost - 1e6, near.cost, atol=1e-8)
    np.testing.assert_allclose(far.cost_se[1:], near.cost_se[1:], rtol=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_the_area_is_the_mean_over_all_orders_of_equal_rows(seed):
    rng = np.random.default_rng(seed)
    confidence, y = rng.choice([0.55, 0.7, 0.9], size=6), rng.integers(2, size=6)
    curve = coverage_curve(np.log(np.column_stack([confidence, 1 - confidence])), y)
    areas = []
    for order in itertools.permutations(range(6)):
        if (np.diff(confidence[list(order)]) <= 0).all():
            wrong = (y[list(order)] != 0).cumsum()
            areas.append((wrong / np.arange(1, 7)).mean())
    assert curve.area == pytest.approx(np.mean(areas))


def test_the_area_tells_a_good_order_from_none():
    y = np.array([0, 0, 0, 1])
    flat = np.log(np.full((4, 2), [0.8, 0.2]))
    assert coverage_curve(flat, y).area == pytest.approx(0.25)
    doubtful = np.log([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.6, 0.4]])
    assert coverage_curve(doubtful, y).area == pytest.approx(0.25 / 4)


def test_probabilities_of_almost_one_still_have_an_order():
    """1 − P is 0 in floating point for both rows, but not the sum of the other classes' probabilities."""
    log_proba = np.array([[0.0, -100.0], [0.0, -50.0]])
    curve = coverage_curve(log_proba, np.array([0, 1]))
    assert curve.kept.tolist() == [1, 2]
    assert curve.accuracy.tolist() == [1.0, 0.5]


def test_no_rows_and_wrong_costs_are_refused():
    with pytest.raises(InputError, match="at least one row"):
        coverage_curve(np.empty((0, 2)), np.empty(0, dtype=int))
    with pytest.raises(InputError, match="cost must be a finite matrix"):
        coverage_curve(np.log([[0.5, 0.5]]), np.array([0]), [[1.0]])


class TestCrossValidated:
    @pytest.mark.parametrize("cost", [None, COST])
    def test_its_lines_are_points_of_the_curve_of_all_rows(self, predictions, cost):
        log_proba, y = predictions
        whole = coverage_curve(log_proba, y, cost)
        folds = [(log_proba[start::4], y[start::4]) for start in range(4)]
        table = cross_validated_curve(folds, 225, cost, most=50)
        assert 45 <= len(table) <= 50
        place = np.searchsorted(whole.threshold, table["threshold"])
        np.testing.assert_array_equal(whole.threshold[place], table["threshold"])
        for name in ("coverage", "accuracy", "cost"):
            np.testing.assert_allclose(table[name], getattr(whole, name)[place], atol=1e-12)

    def test_errors_are_those_of_fold_means_where_all_folds_keep_as_many_rows(self, rng):
        """The ratio is then the mean of the folds' own accuracies."""
        confidence = np.repeat([0.9, 0.6], [6, 4])
        folds = [
            (np.log(np.column_stack([confidence, 1 - confidence])), (rng.random(10) > confidence).astype(int))
            for _ in range(5)
        ]
        table = cross_validated_curve(folds, 40)
        assert table["threshold"].round(9).tolist() == [0.1, 0.4]
        for line, kept in enumerate([6, 10]):
            accuracy = np.array([(y[:kept] == 0).mean() for _, y in folds])
            assert table["accuracy"][line] == pytest.approx(accuracy.mean())
            assert table["accuracy_se"][line] == pytest.approx(resampled_standard_error(accuracy, 40, 10))
            assert table["coverage_se"][line] == pytest.approx(0, abs=1e-15)

    def test_errors_of_a_ratio_agree_with_the_jackknife(self, rng):
        """Both estimate the spread over folds; they differ by a term of one over the number of folds."""
        proba = rng.dirichlet([2.0, 1.0], size=4000)
        y = (rng.random(4000) < proba[:, 1]).astype(int)
        folds = [(np.log(proba[start::40]), y[start::40]) for start in range(40)]
        table = cross_validated_curve(folds, 10**9, most=10)
        line = table.iloc[4]
        parts = [
            ((expected := p.min(axis=1)) <= line["threshold"], p.argmax(axis=1) == truth, expected)
            for p, truth in ((np.exp(log_proba), truth) for log_proba, truth in folds)
        ]
        kept = np.array([k.sum() for k, _, _ in parts])
        right = np.array([(k & r).sum() for k, r, _ in parts])
        left_out = (right.sum() - right) / (kept.sum() - kept)
        jackknife = np.sqrt(39 / 40 * ((left_out - left_out.mean()) ** 2).sum())
        assert line["accuracy_se"] == pytest.approx(jackknife, rel=0.05)

    def test_a_fold_of_which_nothing_is_kept_does_not_stop_it(self):
        sure, unsure = np.log([[0.9, 0.1]] * 4), np.log([[0.6, 0.4]] * 4)
        y = np.array([0, 0, 0, 1])
        table = cross_validated_curve([(sure, y), (unsure, y)], 4)
        assert table["coverage"].tolist() == [0.5, 1.0]
        assert table["accuracy"].tolist() == [0.75, 0.75]
        assert np.isfinite(table.to_numpy()).all()


class TestOfAComparison:
    def test_at_full_coverage_it_is_the_line_of_the_table(self, comparison):
        line = comparison.table.set_index(["model", "rule"]).loc[("gnb", "bayes-optimal")]
        last = comparison.coverage_curve("gnb", "bayes-optimal").iloc[-1]
        assert last["coverage"] == 1
        assert last["accuracy"] == pytest.approx(line["accuracy"])
        assert last["accuracy_se"] == pytest.approx(line["accuracy_se"], rel=0.02)  # folds differ by a row
        assert last["cost"] == pytest.approx(1 - line["accuracy"])

    def test_rows_that_are_kept_first_are_right_more_often(self, comparison):
        curve = comparison.coverage_curve("gnb", "map")
        half = curve[curve["coverage"] >= 0.5].iloc[0]
        assert half["accuracy"] - 2 * half["accuracy_se"] > curve["accuracy"].iloc[-1]

    def test_lines_that_there_are_not_and_rules_that_cannot_answer(self, comparison):
        with pytest.raises(InputError, match="no row gnb gibbs; its rows are gnb map, "):
            comparison.coverage_curve("gnb", "gibbs")
        with pytest.raises(Refused, match="lr has no answers under the rule bayes-optimal: a fit by MAP leaves no"):
            comparison.coverage_curve("lr", "bayes-optimal")
