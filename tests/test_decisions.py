"""Decisions at the smallest expected cost, and what they cost, the Gibbs classifier's too."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import bayesclf as bc
from bayesclf.decisions import REJECTED, Costs, decide, decision_costs, decision_shares, gibbs_decision_costs
from bayesclf.engines import Exact
from bayesclf.errors import InputError
from bayesclf.finite import FiniteSpace
from bayesclf.posterior import averaging

ROUNDING = 1e-9
COST = np.array([[0.0, 5.0], [1.0, 0.0]])


def distributions(rows: int = 6, labels: int = 3) -> st.SearchStrategy[np.ndarray]:
    """P(k | x), (row, outcome), zeros and ones included."""
    counts = hnp.arrays(np.int64, (rows, labels), elements=st.integers(0, 20))
    return counts.map(lambda n: np.where(n.sum(axis=1, keepdims=True) == 0, 1, n)).map(
        lambda n: n / n.sum(axis=1, keepdims=True)
    )


def costs(labels: int = 3) -> st.SearchStrategy[np.ndarray]:
    """Any costs, gains (negative ones) included."""
    return hnp.arrays(np.float64, (labels, labels), elements=st.floats(-100, 100))


def log(proba: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(proba)


def expected_cost(row: np.ndarray, cost: np.ndarray, predicted: int) -> float:
    """Σ_k P(k | x) cost[k, predicted], one term after the other."""
    return sum(float(p) * float(cost[true, predicted]) for true, p in enumerate(row))


class TestCosts:
    @given(proba=distributions(), cost=costs())
    def test_no_other_decision_is_expected_to_cost_less(self, proba, cost):
        for row, chosen in zip(proba, decide(log(proba), cost), strict=True):
            all_costs = [expected_cost(row, cost, k) for k in range(3)]
            assert all_costs[chosen] <= min(all_costs) + ROUNDING

    def test_rows_of_the_matrix_are_true_classes(self):
        """cost[true, predicted]: missing a rare fault costs 10, a false alarm 1, so P(fault) > 1/11 is an alarm."""
        cost = [[0, 1], [10, 0]]
        assert decide(log(np.array([[0.92, 0.08], [0.90, 0.10]])), cost).tolist() == [0, 1]

    def test_probabilities_that_underflow_still_decide(self):
        """The most probable class is read off the logs."""
        assert decide(np.array([[-9000.0, -8000.0, -8500.0]])).tolist() == [1]

    @pytest.mark.parametrize(
        "cost", [[[0, 1], [1, 0]], np.ones(3), np.full((3, 3), np.nan), np.full((3, 3), np.inf), "free", [[0, 1], [1]]]
    )
    def test_a_bad_matrix_is_refused_in_one_sentence(self, cost):
        with pytest.raises(InputError, match=r"^cost must be a .*matrix") as caught:
            decide(log(np.full((1, 3), 1 / 3)), cost)
        assert "\n" not in str(caught.value)


class TestReject:
    @given(proba=distributions(), cost=costs(), reject=st.floats(0, 100))
    def test_rejected_are_the_rows_whose_best_decision_costs_too_much(self, proba, cost, reject):
        """Chow's rule, by brute force."""
        for row, code in zip(proba, decide(log(proba), cost, reject), strict=True):
            best = min(expected_cost(row, cost, k) for k in range(3))
            if abs(best - reject) > ROUNDING:
                assert (code == REJECTED) == (best > reject)


class TestDecisionCosts:
    def test_of_the_gibbs_classifier_each_hypothesis_decides_for_itself(self):
        """By hand: three hypotheses of weights .5, .3, .2 on one x."""
        space = FiniteSpace(("h1", "h2", "h3"), ("+", "-"), (0.5, 0.3, 0.2), [[[0.9, 0.1]], [[0.1, 0.9]], [[0.5, 0.5]]])
        rows = space.rows([0, 0])
        # the best decisions are "+", "-" and "+", expected to cost .1, .5 and .5
        np.testing.assert_allclose(decision_shares(space, rows, Costs(COST)), [[0.7, 0.3, 0.0]] * 2)
        np.testing.assert_allclose(decision_shares(space, rows, Costs(COST, 0.45)), [[0.5, 0.0, 0.5]] * 2)
        found = gibbs_decision_costs(space, rows, np.array([0, 1]), Costs(COST, 0.45))
        np.testing.assert_allclose(found.cost, [0.5 * 0.45, 0.5 * 1 + 0.5 * 0.45])

    def test_expected_costs_are_means_over_the_draws(self, play_tennis):
        clf = bc.CategoricalNB(random_state=2, inference=Exact(draws=50)).fit(play_tennis.X, play_tennis.y)
        codes = np.searchsorted(clf.classes_, play_tennis.y)
        rows, hypotheses = clf.rows(play_tennis.X), clf.hypotheses("posterior")
        costs = Costs(COST, 0.3)
        found = gibbs_decision_costs(hypotheses, rows, codes, costs)
        by_draw = [
            decision_costs(averaging.conditional(hypotheses.take(np.array([s])), rows).log_proba[..., 0], codes, costs)
            for s in range(200)
        ]
        np.testing.assert_allclose(found.cost, np.mean([one.cost for one in by_draw], axis=0), rtol=1e-12)
        np.testing.assert_allclose(found.rejected, np.mean([one.rejected for one in by_draw], axis=0), rtol=1e-12)
        assert 0 < found.rejected.mean() < 1
