"""What decisions cost: of one set of probabilities, and of the Gibbs classifier in expectation."""

import numpy as np

import bayesclf as bc
from bayesclf.decisions import Costs, decision_costs, decision_shares, gibbs_decision_costs
from bayesclf.finite import FiniteSpace
from bayesclf.inference import Exact
from bayesclf.posterior import averaging
from bayesclf.posterior import hypotheses as hypothesis_set

COST = np.array([[0.0, 5.0], [1.0, 0.0]])


def test_of_one_set_of_probabilities():
    log_proba = np.log(np.array([[0.7, 0.3], [0.95, 0.05], [0.5, 0.5]]))
    found = decision_costs(log_proba, np.array([0, 0, 1]), Costs(COST, 0.4))
    # deciding for the first class is expected to cost .3, .05 and .5, for the second 3.5, 4.75 and 2.5
    assert found.cost.tolist() == [0.0, 0.0, 0.4]
    assert found.rejected.tolist() == [0.0, 0.0, 1.0]


def test_of_the_gibbs_classifier_each_hypothesis_decides_for_itself():
    """By hand: three hypotheses of weights .5, .3, .2 on one x."""
    space = FiniteSpace(("h1", "h2", "h3"), ("+", "-"), (0.5, 0.3, 0.2), [[[0.9, 0.1]], [[0.1, 0.9]], [[0.5, 0.5]]])
    rows = space.rows([0, 0])
    # the best decisions are "+", "-" and "+", expected to cost .1, .5 and .5
    np.testing.assert_allclose(decision_shares(space, rows, Costs(COST)), [[0.7, 0.3, 0.0]] * 2)
    np.testing.assert_allclose(decision_shares(space, rows, Costs(COST, 0.45)), [[0.5, 0.0, 0.5]] * 2)
    found = gibbs_decision_costs(space, rows, np.array([0, 1]), Costs(COST, 0.45))
    np.testing.assert_allclose(found.cost, [0.5 * 0.45, 0.5 * 1 + 0.5 * 0.45])


def test_expected_costs_are_means_over_the_draws(play_tennis):
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


def test_a_posterior_that_is_not_held_gives_the_same(rng, monkeypatch):
    X, y = rng.poisson(1.0, (20, 5)), np.arange(20) % 2
    shares = []
    for budget in (hypothesis_set.POSTERIOR_BYTES, 0):
        monkeypatch.setattr(hypothesis_set, "POSTERIOR_BYTES", budget)
        clf = bc.MultinomialNB(random_state=2, inference=Exact(draws=500)).fit(X, y)
        hypotheses = clf.hypotheses("posterior")
        assert hypotheses.in_parts == (budget == 0)
        shares.append(decision_shares(hypotheses, clf.rows(X), Costs(COST, 0.3)))
    np.testing.assert_allclose(shares[1].sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(shares[0], shares[1], atol=5 * np.sqrt(0.5 / 2000))
