"""Mixtures of classifiers: the weights are optimal, and the answers are the mixture's."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import bayesclf as bc
from bayesclf.engines import Exact
from bayesclf.errors import InputError, Refused
from bayesclf.evaluation.leave_one_out import stacking_weights


@pytest.fixture(scope="module")
def table():
    """Return 60 rows whose classes differ in a mean and in how two columns depend on each other."""
    rng = np.random.default_rng(6)
    y = np.repeat(["one", "three", "two"], 20)
    X = rng.normal(size=(60, 3))
    X[:, 1] += np.where(y == "two", 0.8, -0.8) * X[:, 0]
    X[:, 2] += y == "three"
    return pd.DataFrame(X, columns=["u", "v", "w"]), y


@pytest.fixture(scope="module")
def models():
    return {
        "gnb": bc.GaussianNB(random_state=1, inference=Exact(draws=100)),
        "gda": bc.GaussianDiscriminantAnalysis("class", nu=5.0, random_state=1, inference=Exact(draws=100)),
        "lr": bc.LogisticRegression(prior_scale=2.5, inference="map", random_state=1),
    }


@pytest.fixture(scope="module")
def stacked(models, table):
    return bc.StackedClassifier(models).fit(*table)


def expectation_maximization(likelihood, steps):
    """Return mixture weights by the fixed point w_m ← mean_i w_m P_im / Σ_l w_l P_il, whose score rises each step."""
    weights = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(steps):
        weights = weights * (likelihood / (likelihood @ weights)[:, None]).mean(axis=0)
    return weights


class TestWeights:
    """max Σ_i log Σ_m w_m P_im over the simplex."""

    @pytest.mark.parametrize("seed", range(12))
    def test_they_are_those_of_expectation_maximization_where_only_one_mixture_is_best(self, seed):
        rng = np.random.default_rng(seed)
        likelihood = rng.dirichlet(np.ones(3), size=200) * rng.random((200, 1))
        expected = expectation_maximization(likelihood, 3_000)
        np.testing.assert_allclose(stacking_weights(np.log(likelihood)), expected, atol=1e-5)

    def test_rows_of_tiny_probability_do_not_underflow(self, rng):
        log_score = -np.abs(rng.normal(size=(30, 3)))
        shift = np.linspace(0, -5000, 30)[:, None]
        np.testing.assert_allclose(stacking_weights(log_score + shift), stacking_weights(log_score), atol=1e-5)

    def test_a_row_that_no_model_thinks_possible_is_named(self):
        with pytest.raises(InputError, match="row 2 has probability 0 under every model"):
            stacking_weights(np.array([[-1.0, -1.0], [-np.inf, -np.inf]]))


class TestStackedClassifier:
    def test_each_model_is_scored_under_its_own_rule_by_leave_one_out(self, stacked, table):
        scores = [
            bc.loo(clf, *table, "map" if name == "lr" else "bayes-optimal").elpd_i
            for name, clf in stacked.models_.items()
        ]
        np.testing.assert_array_equal(stacked.log_scores_, np.column_stack(scores))
        np.testing.assert_array_equal(list(stacked.weights_.values()), stacking_weights(stacked.log_scores_))

    def test_folds_give_the_scores_of_refits(self, models, table):
        X, y = table
        clf = bc.StackedClassifier(models, rule="map", cv=4, random_state=3).fit(X, y)
        folds = StratifiedKFold(4, shuffle=True, random_state=3)
        for m, model in enumerate(models.values()):
            plug_in = clone(model).set_params(rule="map")
            proba = cross_val_predict(plug_in, X, y, cv=folds, method="predict_proba")
            own = proba[np.arange(60), np.searchsorted(clf.classes_, y)]
            np.testing.assert_allclose(clf.log_scores_[:, m], np.log(own), rtol=1e-10)

    def test_costs_decide_by_the_mixtures_probabilities(self, stacked, table):
        X, _ = table
        cost = np.array([[0.0, 1.0, 1.0], [5.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
        expected = stacked.predict_proba(X) @ cost
        np.testing.assert_array_equal(stacked.predict(X, cost=cost), stacked.classes_[expected.argmin(axis=1)])
        rejected = np.array([label is None for label in stacked.predict(X, cost=cost, reject=0.3)])
        np.testing.assert_array_equal(rejected, expected.min(axis=1) > 0.3)
        assert 0 < rejected.sum() < 60

    def test_rows_count_in_each_fold_as_often_as_their_weight_says(self, table):
        X, y = table
        weight = np.random.default_rng(3).uniform(0.1, 3.0, len(y))
        folds = [(np.flatnonzero(np.arange(len(y)) % 3 != k), np.arange(k, len(y), 3)) for k in range(3)]
        clf = bc.StackedClassifier({"gnb": bc.GaussianNB()}, rule="map", cv=folds).fit(X, y, weight)
        for train, test in folds:
            fit = bc.GaussianNB().fit(np.asarray(X)[train], y[train], weight[train], classes=clf.classes_)
            expected = fit.predict_log_proba(np.asarray(X)[test], rule="map")
            own = np.searchsorted(clf.classes_, y[test])
            np.testing.assert_allclose(clf.log_scores_[test, 0], expected[np.arange(len(test)), own], rtol=1e-12)


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"models": {}}, "models must be a mapping from names to classifiers"),
            ({"models": [bc.GaussianNB()]}, "models must be a mapping"),
            ({"models": {"nb": "gnb"}}, "model 'nb' is not a bayesclf classifier but 'gnb'"),
            ({"cv": "loo"}, "cv must be None, 'prefit' or a number of folds, not 'loo'"),
            ({"cv": True}, "cv must be None"),
            ({"cv": 1}, "cv must lie between 2 and the number of rows, 60"),
            ({"cv": 21}, "cv=21 needs a class with at least 21 rows, but the largest has 20"),
        ],
    )
    def test_options_that_cannot_be(self, models, table, options, message):
        with pytest.raises(InputError, match=message):
            bc.StackedClassifier(**{"models": models, **options}).fit(*table)

    def test_the_gibbs_classifier_has_no_log_scores(self, models, table):
        with pytest.raises(Refused, match="Gibbs classifier"):
            bc.StackedClassifier({"gnb": models["gnb"]}, rule="gibbs").fit(*table)
        with pytest.raises(Refused, match="Gibbs classifier"):
            bc.StackedClassifier({"gnb": models["gnb"]}, rule="gibbs", cv=3).fit(*table)

    def test_fits_with_other_classes(self, models, table):
        X, y = table
        fits = {"gnb": clone(models["gnb"]).fit(X, y), "gda": clone(models["gda"]).fit(X, y, classes=[*y, "four"])}
        with pytest.raises(InputError, match="model 'gda' knows other classes than the first"):
            bc.StackedClassifier(fits, cv="prefit").fit(X, y)


def test_parameters_of_a_stack_are_its_own_before_its_models():
    stack = bc.StackedClassifier({"nb": bc.GaussianNB(), "cv": bc.GaussianNB()}).set_params(cv=3, nb=bc.CategoricalNB())
    assert (stack.cv, type(stack.models["nb"]), type(stack.models["cv"])) == (3, bc.CategoricalNB, bc.GaussianNB)
    stack.set_params(models={"q": bc.GaussianNB()}, q__rule="map")
    assert (list(stack.models), stack.get_params()["q__rule"]) == (["q"], "map")
