"""The stack of a comparison: its weights, and the classifier that it becomes."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import LeaveOneOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import bayesclf as bc
from bayesclf.errors import InputError, Refused
from bayesclf.evaluation.peers import NO_RULE, line_name

RULES = ["mle", "map", "predictive", "gibbs"]
LINES = [(model, rule) for model in ("gnb", "gda") for rule in RULES[:3]]


@pytest.fixture(scope="module")
def table():
    """Return 80 rows of three classes, of which the first two differ by how two columns depend on each other."""
    rng = np.random.default_rng(6)
    y = np.array(["one", "two", "three", "two"] * 20)
    X = rng.normal(size=(80, 3))
    X[:, 1] += np.where(y == "two", 0.8, -0.8) * X[:, 0]
    X[:, 2] += y == "three"
    return pd.DataFrame(X, columns=["u", "v", "w"]), y


MODELS = {"gnb": bc.GaussianNB(), "gda": bc.GaussianDiscriminantAnalysis("class")}


@pytest.fixture(scope="module")
def comparison(table):
    return bc.compare(MODELS, *table, RULES, cv=4, repeats=2, random_state=3, reject=0.3)


@pytest.fixture(scope="module")
def stack(comparison):
    return comparison.stack()


def assert_best(weights, likelihood):
    """Assert that weights are the best ones, by the condition for an optimum: mean_i P_im / P_i ≤ 1, = 1 if w_m > 0."""
    assert weights.sum() == pytest.approx(1)
    slope = (likelihood / (likelihood @ weights)[:, None]).mean(axis=0)
    assert (slope < 1 + 1e-4).all()
    np.testing.assert_allclose(slope[weights > 0.01], 1, atol=1e-4)


def answers_of(comparison, lines, repeat):
    """Return P(k | x) of each line in a repeat, (line, row, outcome), from the table of predictions."""
    frame = comparison.predictions.query(f"repeat == {repeat}").set_index(["model", "rule"]).sort_index()
    return np.stack([frame.loc[line].sort_values("row").filter(like="P(").to_numpy() for line in lines])


class TestClassifier:
    def test_its_weights_are_the_best_for_all_held_out_answers(self, stack, comparison):
        proba = np.concatenate([answers_of(comparison, LINES, r)[:, np.arange(80), comparison.y].T for r in range(2)])
        np.testing.assert_allclose(np.exp(stack.log_scores_), proba, rtol=1e-9)
        assert_best(np.array(list(stack.weights_.values())), proba)
        assert list(stack.weights_) == [line_name(*key) for key in LINES]

    def test_it_mixes_the_fits_on_all_rows(self, stack, comparison, table):
        X, _ = table
        expected = sum(
            weight * comparison.fits[model].predict_proba(X, rule=rule)
            for (model, rule), weight in zip(LINES, stack.weights_.values(), strict=True)
        )
        np.testing.assert_allclose(stack.predict_proba(X), expected, rtol=1e-12)
        np.testing.assert_array_equal(stack.predict(X), stack.classes_[expected.argmax(axis=1)])
        assert stack.feature_names_in_.tolist() == ["u", "v", "w"]

    def test_it_can_be_pickled_shown_and_cloned(self, stack, table):
        X, _ = table
        again = pickle.loads(pickle.dumps(stack))
        np.testing.assert_array_equal(again.predict_proba(X), stack.predict_proba(X))
        assert "'gda': ['mle', 'map', 'predictive']" in repr(stack)
        assert "StackedClassifier" in stack._repr_html_()
        assert not hasattr(clone(stack), "weights_")

    def test_its_summary_has_the_largest_weights_first(self, stack):
        table = stack.summary()
        assert table["weight"].is_monotonic_decreasing
        assert table["weight"].to_dict() == stack.weights_
        line = table.loc["gda under map"]
        place = list(stack.weights_).index("gda under map")
        assert line["log_score"] == pytest.approx(stack.log_scores_[:, place].mean())
        assert (line["model"], line["rule"]) == ("gda", "map")

    def test_fitting_it_anew_repeats_the_folds_and_gives_the_same_weights(self, table):
        found = bc.compare(MODELS, *table, ["map", "predictive"], cv=4, repeats=1, random_state=3).stack()
        again = clone(found).fit(*table)
        np.testing.assert_allclose(again.log_scores_, found.log_scores_, rtol=1e-9)
        assert again.parts_ == found.parts_
        assert again.models_.keys() == MODELS.keys()
        np.testing.assert_allclose(again.predict_proba(table[0]), found.predict_proba(table[0]), atol=1e-6)

    def test_it_says_which_lines_are_left_out(self, stack):
        assert set(stack.left_out_) == {"gnb under gibbs", "gda under gibbs"}
        assert "one drawn hypothesis" in stack.left_out_["gda under gibbs"]

    def test_classifiers_of_scikit_learn_are_lines_too(self, table):
        X, y = table
        models = {**MODELS, "rf": RandomForestClassifier(20, random_state=1)}
        found = bc.compare(models, X, y, ["predictive"], cv=4, repeats=1)
        stack = found.stack()
        assert stack.parts_["rf"] == ("rf", NO_RULE)
        alone = bc.compare({"rf": models["rf"]}, X, y, cv=4, repeats=1)
        np.testing.assert_allclose(alone.stack().predict_proba(X), alone.peers["rf"].predict_proba(X), rtol=1e-12)
        again = clone(stack).fit(X, y)
        np.testing.assert_allclose(again.log_scores_, stack.log_scores_, rtol=1e-9)
        with pytest.raises(InputError, match="takes no sample_weight"):
            clone(stack).fit(X, y, sample_weight=np.ones(80))

    def test_texts(self):
        texts = ["win a prize now", "claim the prize", "see you at lunch", "lunch now?", "a prize", "the lunch"] * 3
        y = np.array(["spam", "spam", "ham", "ham", "spam", "ham"] * 3)
        stack = bc.compare([bc.TextNB(), bc.TextNB("bernoulli")], texts, y, ["map", "predictive"], cv=3).stack()
        assert stack.predict(["prize prize", "lunch at lunch"]).tolist() == ["spam", "ham"]


class TestSimulations:
    """What a stack should do, on rows that nothing was fitted to."""

    def test_complementary_models_mixed_beat_each_of_them(self, rng):
        # In one half of the rows the first column decides, in the other the second; each model sees one of them.
        X = rng.normal(size=(4400, 2))
        decides = np.where(rng.random(4400) < 0.5, X[:, 0], X[:, 1])
        y = (decides + 0.2 * rng.logistic(size=4400) > 0).astype(int)
        models = {name: seeing(place) for place, name in enumerate(("first", "second"))}
        found = bc.compare(models, X[:400], y[:400], cv=4)
        stack = found.stack()
        own = np.arange(4000)
        scores = {name: -model.predict_log_proba(X[400:])[own, y[400:]] for name, model in found.peers.items()}
        mixed = -stack.predict_log_proba(X[400:])[own, y[400:]]
        for name, one in scores.items():
            gain = one - mixed
            assert gain.mean() > 4 * gain.std() / np.sqrt(4000), name
        assert 0.3 < stack.weights_["first"] < 0.7


def seeing(place):
    """Return a classifier that sees one column."""
    return make_pipeline(FunctionTransformer(lambda X: np.asarray(X)[:, [place]]), bc.GaussianNB())


class TestRefusals:
    def test_a_comparison_of_the_gibbs_classifier_alone(self, table):
        found = bc.compare({"gnb": bc.GaussianNB()}, *table, ["gibbs"], cv=2)
        message = "no model can be stacked; gnb under gibbs: it answers each row by one drawn hypothesis"
        with pytest.raises(Refused, match=message):
            found.stack()

    def test_a_row_that_every_line_thinks_impossible(self):
        X = pd.DataFrame({"a": ["x"] * 5 + ["y"] * 6})
        y = np.array([0] * 5 + [1] * 5 + [0])
        found = bc.compare({"nb": bc.CategoricalNB()}, X, y, ["mle"], cv=LeaveOneOut())
        message = "every model gave the label of row 11 the probability 0, so no mixture is best"
        with pytest.raises(Refused, match=message):
            found.stack()

    def test_rules_by_name_are_of_models_that_there_are(self, table):
        with pytest.raises(InputError, match="rule names 'nb', which is not one of the models, gnb and gda"):
            bc.StackedClassifier(MODELS, rule={"nb": "map"}).fit(*table)
        with pytest.raises(InputError, match="rule must be a rule such as 'map', or several of them, not"):
            bc.StackedClassifier(MODELS, rule={"gda": []}).fit(*table)
