"""The stack of a comparison: its weights, its line scored fold by fold, and the classifier that it becomes."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import LeaveOneOut, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import bayesclf as bc
from bayesclf.errors import InputError, Refused
from bayesclf.evaluation.peers import NO_RULE, line_name
from bayesclf.evaluation.stack import STACK, stacked

LINE = (STACK, NO_RULE)
RULES = ["mle", "map", "predictive", "gibbs"]


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
    return bc.compare(MODELS, *table, RULES, cv=4, repeats=2, random_state=3, reject=0.3, stack=True)


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


class TestLine:
    def test_each_fold_is_scored_with_the_best_weights_of_the_rows_outside_it(self, comparison):
        lines = list(comparison.mixture.weights)
        assert lines == [(model, rule) for model in MODELS for rule in RULES[:3]]
        proba = [answers_of(comparison, lines, repeat) for repeat in range(2)]
        own = [each[:, np.arange(80), comparison.y].T for each in proba]
        for number, (_, test) in enumerate(comparison.splits):
            outside = np.setdiff1d(np.arange(80), test)
            weights = comparison.mixture.fold_weights[number]
            assert_best(weights, np.concatenate([each[outside] for each in own]))
            expected = np.tensordot(weights, proba[number // 4], 1)[test]
            found = np.exp(comparison.answers[LINE].scores[number // 4].log_proba[test])
            np.testing.assert_allclose(found, expected, rtol=1e-9)

    def test_no_label_of_a_fold_enters_its_weights(self, comparison):
        before, _ = stacked(comparison)
        inside = comparison.splits[1][1]
        altered = {}
        for place, (key, answer) in enumerate(comparison.answers.items()):
            parts = []
            for part in answer.scores:
                log_loss = part.log_loss.copy()
                log_loss[inside] += 3.0 * place
                parts.append(replace(part, log_loss=log_loss))
            altered[key] = replace(answer, scores=tuple(parts))
        after, _ = stacked(replace(comparison, answers=altered))
        np.testing.assert_array_equal(after.fold_weights[1], before.fold_weights[1])
        assert np.abs(after.fold_weights - before.fold_weights).max(axis=1)[[0, 2, 3]].min() > 0.01

    def test_it_stands_in_the_table_with_all_scores(self, comparison):
        line = comparison.table.set_index(["model", "rule"]).loc[LINE]
        scores = comparison.answers[LINE].scores
        assert line["log_loss"] == pytest.approx(np.mean([part.log_loss for part in scores]))
        assert {"accuracy", "brier", "calibration_error", "cost", "rejected", "log_loss_diff_se"} <= set(
            line.dropna().index
        )
        assert comparison.models == ("gnb", "gda", STACK)
        assert comparison.seconds[STACK] > 0

    def test_its_notes_say_what_it_mixes_and_how_it_was_scored(self, comparison):
        mixture, nesting = comparison.notes[STACK]
        assert "× gda under" in mixture
        assert "trained on rows of the fold" in nesting

    def test_splits_that_overlap_use_all_answers_outside_a_fold(self, table):
        found = bc.compare(
            MODELS, *table, ["predictive"], cv=ShuffleSplit(3, test_size=0.3, random_state=1), stack=True
        )
        rows = np.concatenate(found.tested)
        for number, (_, test) in enumerate(found.splits):
            outside = ~np.isin(rows, test)
            likelihood = np.exp(found.stack().log_scores_)[outside]
            assert_best(found.mixture.fold_weights[number], likelihood)

    def test_one_split_leaves_no_rows_to_learn_weights_from(self, table):
        found = bc.compare(MODELS, *table, ["predictive"], cv=[(np.arange(60), np.arange(60, 80))], stack=True)
        assert found.answers[LINE].reason == (
            "a stack is scored with weights from the rows outside each fold, and there are none"
        )
        assert found.stack().weights_.keys() == {"gnb under predictive", "gda under predictive"}

    def test_a_model_of_the_same_name_is_refused(self, table):
        with pytest.raises(InputError, match="a model is named 'stack'"):
            bc.compare({"stack": bc.GaussianNB()}, *table, stack=True)


class TestClassifier:
    def test_its_weights_are_the_best_for_all_held_out_answers(self, stack, comparison):
        lines = list(comparison.mixture.weights)
        proba = np.concatenate([answers_of(comparison, lines, r)[:, np.arange(80), comparison.y].T for r in range(2)])
        np.testing.assert_allclose(np.exp(stack.log_scores_), proba, rtol=1e-9)
        assert_best(np.array(list(stack.weights_.values())), proba)
        assert list(stack.weights_) == [line_name(*key) for key in lines]
        assert list(stack.weights_.values()) == list(comparison.mixture.weights.values())

    def test_it_mixes_the_fits_on_all_rows(self, stack, comparison, table):
        X, _ = table
        expected = sum(
            weight * comparison.fits[model].predict_proba(X, rule=rule)
            for (model, rule), weight in comparison.mixture.weights.items()
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

    def test_lines_can_be_chosen(self, comparison):
        lines = [("gnb", "map"), ("gda", "predictive")]
        assert list(comparison.stack(lines).weights_) == ["gnb under map", "gda under predictive"]
        assert comparison.stack([("gnb", "map")] * 2).weights_ == {"gnb under map": 1.0}

    def test_it_says_which_lines_are_left_out(self, stack):
        assert set(stack.left_out_) == {"gnb under gibbs", "gda under gibbs"}
        assert "one drawn hypothesis" in stack.left_out_["gda under gibbs"]

    def test_classifiers_of_scikit_learn_are_lines_too(self, table):
        X, y = table
        models = {**MODELS, "rf": RandomForestClassifier(20, random_state=1)}
        found = bc.compare(models, X, y, ["predictive"], cv=4, repeats=1, stack=True)
        stack = found.stack()
        assert stack.parts_["rf"] == ("rf", NO_RULE)
        expected = found.peers["rf"].predict_proba(X)
        np.testing.assert_allclose(found.stack([("rf", NO_RULE)]).predict_proba(X), expected, rtol=1e-12)
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
        found = bc.compare(models, X[:400], y[:400], cv=4, stack=True)
        stack = found.stack()
        own = np.arange(4000)
        scores = {name: -model.predict_log_proba(X[400:])[own, y[400:]] for name, model in found.peers.items()}
        mixed = -stack.predict_log_proba(X[400:])[own, y[400:]]
        for name, one in scores.items():
            gain = one - mixed
            assert gain.mean() > 4 * gain.std() / np.sqrt(4000), name
        assert found.best == LINE
        assert 0.3 < stack.weights_["first"] < 0.7
        assert found.table["log_loss"].iloc[-1] == pytest.approx(mixed.mean(), abs=4 * mixed.std() / np.sqrt(400))

    @pytest.mark.slow
    def test_its_score_is_that_of_a_cross_validation_inside_each_training_set(self, rng):
        """Weights from models trained on rows of the fold are hardly optimistic: against fully nested folds."""
        differences = []
        for _ in range(20):
            y = rng.integers(0, 2, size=60)
            X = rng.normal(size=(60, 3))
            X[:, 1] += np.where(y, 0.8, -0.8) * X[:, 0]
            found = bc.compare(MODELS, X, y, ["predictive"], cv=5, stack=True)
            nested = np.empty(60)
            for train, test in found.splits:
                inner = bc.StackedClassifier(MODELS, rule="predictive", cv=4).fit(X[train], y[train])
                nested[test] = -inner.predict_log_proba(X[test])[np.arange(len(test)), y[test]]
            differences.append(found.answers[LINE].scores[0].log_loss.mean() - nested.mean())
        error = np.std(differences, ddof=1) / np.sqrt(20)
        assert abs(np.mean(differences)) < 0.01 + 3 * error
        assert error < 0.01


def seeing(place):
    """Return a classifier that sees one column."""
    return make_pipeline(FunctionTransformer(lambda X: np.asarray(X)[:, [place]]), bc.GaussianNB())


class TestRefusals:
    @pytest.mark.parametrize(
        ("lines", "error", "message"),
        [
            ([("gnb", "maps")], InputError, r"lines must be pairs of a model and a rule .* not \('gnb', 'maps'\)"),
            (["gnb"], InputError, "lines must be pairs of a model and a rule of this comparison, .* not 'gnb'"),
            ([LINE], InputError, "lines must be pairs"),
            ([3], InputError, "lines must be pairs .* not 3"),
            ([("gda", "gibbs")], Refused, "gda under gibbs cannot be part of a stack: its probabilities are those of"),
            ([], InputError, "lines must be pairs .* not empty"),
        ],
    )
    def test_lines_that_cannot_be(self, comparison, lines, error, message):
        with pytest.raises(error, match=message):
            comparison.stack(lines)

    def test_a_comparison_of_the_gibbs_classifier_alone(self, table):
        found = bc.compare({"gnb": bc.GaussianNB()}, *table, ["gibbs"], cv=2, stack=True)
        message = "no line can be part of a stack; gnb under gibbs: its probabilities are those of one drawn hypothesis"
        assert message in found.answers[LINE].reason
        with pytest.raises(Refused, match=message):
            found.stack()

    def test_a_row_that_every_line_thinks_impossible(self):
        X = pd.DataFrame({"a": ["x"] * 5 + ["y"] * 6})
        y = np.array([0] * 5 + [1] * 5 + [0])
        found = bc.compare({"nb": bc.CategoricalNB()}, X, y, ["mle"], cv=LeaveOneOut(), stack=True)
        message = "every line gave the label of row 11 the probability 0, so that no mixture of them is best"
        assert found.answers[LINE].reason == message
        with pytest.raises(Refused, match=message):
            found.stack()

    def test_rules_by_name_are_of_models_that_there_are(self, table):
        with pytest.raises(InputError, match="rule names 'nb', which is not one of the models, gnb and gda"):
            bc.StackedClassifier(MODELS, rule={"nb": "map"}).fit(*table)
        with pytest.raises(InputError, match="rule has no rule for the model 'gda'"):
            bc.StackedClassifier(MODELS, rule={"gda": []}).fit(*table)
