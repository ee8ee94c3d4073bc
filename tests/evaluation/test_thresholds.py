"""The curve over thresholds of a risk and of expected costs: by hand, its errors, and that of a comparison."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

import bayesclf as bc
from bayesclf.decisions import REJECTED, decide
from bayesclf.errors import InputError, Refused
from bayesclf.evaluation.scores import RISKS, code_of, threshold_curve

COST = np.array([[0.0, 5.0, 1.0], [1.0, 0.0, 1.0], [3.0, 1.0, -0.5]])


@pytest.fixture
def answers(rng):
    log_proba = np.log(rng.dirichlet([1.0, 2.0, 0.5], size=300))
    return log_proba, np.array([rng.choice(3, p=p) for p in np.exp(log_proba)])


@pytest.fixture(scope="module")
def comparison():
    X, y = load_wine(return_X_y=True, as_frame=True)
    models = {"gnb": bc.GaussianNB(), "lr": bc.LogisticRegression(prior_scale=2.5, inference="map")}
    return bc.compare(models, X.iloc[:, :4], y, rules=["map", "bayes-optimal"], cv=4, repeats=2, random_state=1)


@pytest.mark.parametrize("cost", [None, COST])
def test_each_line_is_what_predict_would_keep_at_that_limit(answers, cost):
    log_proba, y = answers
    matrix = 1 - np.eye(3) if cost is None else cost
    table = threshold_curve(*answers, 225, cost=cost)
    assert 190 <= len(table) <= 200
    for line in table.iloc[1::13].itertuples():
        if line.threshold < 0:
            continue  # a gain is sure here, and `reject` is never negative
        decided = decide(log_proba, cost, line.threshold)
        kept = decided != REJECTED
        paid = matrix[y[kept], decided[kept]]
        assert line.coverage == pytest.approx(kept.mean())
        assert line.accuracy == pytest.approx((decided == y)[kept].mean())
        assert line.cost == pytest.approx(paid.mean())
        # what rejecting every row costs, less what this does
        spent = paid.sum() + line.threshold * (~kept).sum()
        assert line.net_benefit == pytest.approx(line.threshold - spent / len(y))
        assert line.net_benefit_all == pytest.approx(line.threshold - matrix[y, decide(log_proba, cost)].mean())


def test_net_benefits_of_a_risk_are_those_of_the_counts(answers):
    """From Vickers and Elkin's definition, row by row."""
    log_proba, y = answers
    for line in threshold_curve(*answers, 225, 1, thresholds=[0.8, 0.1, 0.25]).itertuples():
        odds = line.threshold / (1 - line.threshold)
        acted = np.exp(log_proba[:, 1]) >= line.threshold
        assert line.coverage == pytest.approx(acted.mean())
        assert line.accuracy == pytest.approx((y == 1)[acted].mean())
        assert line.net_benefit == pytest.approx(np.where(acted, np.where(y == 1, 1, -odds), 0).mean())
        assert line.net_benefit_all == pytest.approx(np.where(y == 1, 1, -odds).mean())


def test_a_risk_at_a_threshold_is_acted_on_and_where_none_is_there_is_no_accuracy():
    y = np.arange(100) % 2
    table = threshold_curve(np.log(np.full((100, 2), [0.9, 0.1])), y, 100, 1)
    np.testing.assert_array_equal(table["threshold"], RISKS)
    acted = table["threshold"] < 0.105
    assert (table["coverage"] == acted).all()
    assert (table["accuracy"].isna() == ~acted).all()
    assert (table.loc[~acted, "net_benefit"] == 0).all()


def test_errors_of_a_ratio_agree_with_the_jackknife(rng):
    proba = rng.dirichlet([2.0, 1.0], size=1000)
    y = (rng.random(1000) < proba[:, 1]).astype(int)
    line = threshold_curve(np.log(proba), y, 10**9).iloc[100]
    kept, right = proba.min(axis=1) <= line["threshold"], proba.argmax(axis=1) == y
    left_out = ((kept & right).sum() - (kept & right)) / (kept.sum() - kept)
    jackknife = np.sqrt(999 / 1000 * ((left_out - left_out.mean()) ** 2).sum())
    assert line["accuracy_se"] == pytest.approx(jackknife, rel=0.01)


def test_rows_that_are_answered_several_times_count_once(answers):
    log_proba, y = answers
    once = threshold_curve(log_proba, y, 225, thresholds=[0.2, 0.5])
    rows = np.tile(np.arange(300), 4)
    again = threshold_curve(np.tile(log_proba, (4, 1)), np.tile(y, 4), 225, thresholds=[0.2, 0.5], rows=rows)
    np.testing.assert_allclose(again, once)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"outcome": 1, "thresholds": [0.0, 0.5]}, "thresholds are risks between 0 and 1"),
        ({"thresholds": []}, "thresholds must be numbers"),
        ({"thresholds": ["a"]}, "thresholds must be numbers"),
        ({"cost": [[1.0]]}, "cost must be a finite matrix"),
    ],
)
def test_what_cannot_be_used_is_refused(answers, arguments, message):
    with pytest.raises(InputError, match=message):
        threshold_curve(*answers, 225, **arguments)
    with pytest.raises(InputError, match="at least one row"):
        threshold_curve(np.empty((0, 2)), np.empty(0, dtype=int), 1)


def test_of_three_classes_one_must_be_named():
    with pytest.raises(InputError, match="say which class matters, as outcome='c': one of a, b, c"):
        code_of(np.array(["a", "b", "c"]), None)
    assert code_of(np.array([3, 5, 9]), 5) == 1


class TestOfAComparison:
    def test_at_full_coverage_it_is_the_line_of_the_table(self, comparison):
        line = comparison.table.set_index(["model", "rule"]).loc[("gnb", "bayes-optimal")]
        last = comparison.threshold_curve("gnb", "bayes-optimal").iloc[-1]
        assert last["coverage"] == 1
        assert last["accuracy"] == pytest.approx(line["accuracy"])
        assert last["accuracy_se"] == pytest.approx(line["accuracy_se"])
        assert last["cost"] == pytest.approx(1 - line["accuracy"])

    def test_of_a_class_that_is_named(self, comparison):
        log_proba, y = comparison.stacked("gnb", "map")
        acted = np.exp(log_proba[:, 2]) >= 0.3
        line = comparison.threshold_curve("gnb", "map", outcome=2, thresholds=[0.3]).iloc[0]
        assert line["accuracy"] == pytest.approx((y == 2)[acted].mean())
        with pytest.raises(InputError, match="outcome must be one of the classes 0, 1, 2, not 'dead'"):
            comparison.threshold_curve("gnb", "map", "dead")
        with pytest.raises(InputError, match="give an outcome or a cost"):
            comparison.threshold_curve("gnb", "map", 2, COST)

    def test_lines_that_there_are_not_and_rules_that_cannot_answer(self, comparison):
        with pytest.raises(InputError, match="no row gnb gibbs; its rows are gnb map, "):
            comparison.threshold_curve("gnb", "gibbs")
        with pytest.raises(Refused, match="lr has no answers under the rule bayes-optimal: a fit by MAP has no"):
            comparison.threshold_curve("lr", "bayes-optimal")
