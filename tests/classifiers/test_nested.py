"""Classifiers in pipelines, frozen, and inside the meta-estimators of bayesclf."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import bayesclf as bc
from bayesclf.classifiers.base import transformed
from bayesclf.errors import InputError, Refused
from bayesclf.models.logistic.design import LogisticDesign

X, Y = load_iris(return_X_y=True)
ROWS = np.random.default_rng(0).permutation(150)
X, Y = X[ROWS], Y[ROWS]
GNB = bc.GaussianNB(random_state=1)


def piped(clf=GNB):
    return make_pipeline(StandardScaler(), clone(clf))


def test_rows_are_transformed_as_the_classifier_sees_them():
    outer = make_pipeline(StandardScaler(), piped()).fit(X, Y)
    twice = StandardScaler().fit_transform(StandardScaler().fit_transform(X))
    np.testing.assert_allclose(transformed(FrozenEstimator(outer), X), twice)


class TestSplitConformal:
    def test_it_is_scored_and_searched(self):
        conformal = bc.SplitConformal(GNB, random_state=1)
        assert cross_val_score(conformal, X, Y, cv=3, error_score="raise").min() > 0.85
        options = {"nonconformity": ["lac", "aps"], "classifier__variance": ["feature", "class-feature"]}
        search = GridSearchCV(conformal, options, cv=3, error_score="raise").fit(X, Y)
        assert set(search.best_params_) == set(options)

    def test_it_answers_as_its_classifier(self):
        conformal = bc.SplitConformal(GNB, rule="map", random_state=1).fit(X, Y)
        np.testing.assert_array_equal(conformal.classes_, [0, 1, 2])
        assert conformal.n_features_in_ == 4
        assert conformal.score(X, Y) == np.mean(conformal.classifier_.predict(X, rule="map") == Y)
        np.testing.assert_array_equal(conformal.predict_proba(X), conformal.classifier_.predict_proba(X, rule="map"))

    @pytest.mark.parametrize("make", [clone, piped], ids=["classifier", "pipeline"])
    def test_a_frozen_classifier_is_calibrated_on_all_rows(self, make):
        fitted = make(GNB).fit(X[:75], Y[:75])
        frozen = bc.SplitConformal(FrozenEstimator(fitted), random_state=1).fit(X[75:], Y[75:])
        direct = bc.SplitConformal(fitted, random_state=1).calibrate(X[75:], Y[75:])
        np.testing.assert_array_equal(frozen.thresholds_, direct.thresholds_)
        assert frozen.n_calibration_[0] == 75

    def test_weights_go_to_the_fit(self):
        weight = np.random.default_rng(2).integers(0, 3, size=150)
        conformal = bc.SplitConformal(piped(), random_state=1).fit(X, Y, sample_weight=weight)
        kept = np.flatnonzero(weight)
        again = bc.SplitConformal(piped(), random_state=1).fit(X[kept], Y[kept], sample_weight=weight[kept])
        np.testing.assert_array_equal(conformal.thresholds_, again.thresholds_)
        counts = conformal.classifier_[-1].class_count_
        assert counts.sum() + conformal.n_calibration_[0] > len(kept)  # rows of the fit count twice, others once
        np.testing.assert_array_equal(counts, np.round(counts))


MODELS = {"own": bc.GaussianNB(random_state=1), "shared": bc.GaussianNB("feature", random_state=1)}


class TestStackedClassifier:
    def test_parameters_of_its_models(self):
        stacked = bc.StackedClassifier(MODELS, rule="predictive")
        changed = clone(stacked).set_params(shared__variance="shared", own=bc.GaussianNB("class"), rule=None)
        assert changed.get_params()["shared__variance"] == "shared"
        assert changed.models["own"].variance == "class"
        assert changed.rule is None
        assert stacked.models["shared"].variance == "feature"

    def test_pipelines_and_frozen_models(self):
        plain = bc.StackedClassifier(MODELS, rule="predictive").fit(X, Y)
        piped_models = {name: piped(model) for name, model in MODELS.items()}
        np.testing.assert_allclose(
            bc.StackedClassifier(piped_models, rule="predictive").fit(X, Y).log_scores_, plain.log_scores_, atol=1e-9
        )
        frozen = {name: FrozenEstimator(model.fit(X, Y)) for name, model in piped_models.items()}
        prefit = bc.StackedClassifier(frozen, rule="predictive", cv="prefit").fit(X, Y)
        np.testing.assert_allclose(prefit.log_scores_, plain.log_scores_, atol=1e-9)
        assert prefit.score(X, Y) == plain.score(X, Y)
        folds = bc.StackedClassifier(piped_models, cv=3).fit(X, Y)
        np.testing.assert_allclose(sum(folds.weights_.values()), 1)

    def test_whole_weights_are_repeated_rows(self):
        weight = np.random.default_rng(3).integers(0, 3, size=150)
        rows = np.repeat(np.arange(150), weight)
        weighted = bc.StackedClassifier(MODELS, rule="predictive").fit(X, Y, sample_weight=weight)
        repeated = bc.StackedClassifier(MODELS, rule="predictive").fit(X[rows], Y[rows])
        assert weighted.weights_ == repeated.weights_
        with pytest.raises(InputError, match="one by one needs weights that are whole numbers"):
            bc.StackedClassifier(MODELS).fit(X, Y, sample_weight=np.full(150, 0.5))

    def test_folds_that_leave_out_a_row_twice_are_refused(self):
        folds = [(np.arange(50, 150), np.arange(50)), (np.arange(49), np.arange(49, 150))]
        with pytest.raises(InputError, match="cv has row 50 2 times among its test rows"):
            bc.StackedClassifier(MODELS, cv=folds).fit(X, Y)


class TestTags:
    @pytest.mark.parametrize(
        ("clf", "expected"),
        [
            (bc.GaussianNB(), {"categorical": False, "allow_nan": True, "sparse": False}),
            (bc.NaiveBayes(), {"categorical": True, "allow_nan": True}),
            (bc.LogisticRegression(prior_scale=2.5), {"categorical": True, "allow_nan": True, "sparse": True}),
            (bc.LogisticRegression(prior_scale=2.5, missing="error"), {"allow_nan": False}),
            (bc.GaussianDiscriminantAnalysis(), {"categorical": False, "allow_nan": True}),
            (bc.GaussianDiscriminantAnalysis(inference="exact"), {"allow_nan": False}),
            (bc.JointBayes(inference="exact"), {"categorical": True, "allow_nan": False}),
            (bc.JointBayes(inference="exact", missing="level"), {"allow_nan": True}),
            (bc.BernoulliNB(), {"sparse": True, "categorical": False}),
            (bc.BernoulliNB(missing="level"), {"sparse": False}),
            (bc.MultinomialNB(), {"sparse": True, "allow_nan": False, "positive_only": True}),
            (bc.SplitConformal(bc.BernoulliNB()), {"sparse": True, "categorical": False}),
            (bc.StackedClassifier({"a": bc.BernoulliNB(), "b": bc.GaussianNB()}), {"sparse": False, "allow_nan": True}),
        ],
    )
    def test_they_follow_the_parameters(self, clf, expected):
        tags = get_tags(clf).input_tags
        assert {name: getattr(tags, name) for name in expected} == expected

    @pytest.mark.parametrize("rule", ["gibbs", bc.rules.Gibbs("label")])
    def test_a_rule_that_draws_is_not_deterministic(self, rule):
        assert get_tags(bc.GaussianNB(rule=rule)).non_deterministic
        assert not get_tags(bc.GaussianNB(rule="map")).non_deterministic

    @pytest.mark.parametrize("clf", [bc.JointBayes(), bc.GaussianDiscriminantAnalysis()])
    @pytest.mark.parametrize("options", [{"inference": "exact"}, {"inference": "map"}])
    def test_what_they_promise_of_missing_cells_holds(self, clf, options):
        made = clone(clf).set_params(**options)
        table, y = np.where(X < 1, np.nan, X), Y
        if isinstance(clf, bc.JointBayes):
            table, y = pd.DataFrame({"a": ["x", "y", None, "x"], "b": ["u", "u", "v", None]}), [0, 1, 0, 1]
        if get_tags(made).input_tags.allow_nan:
            made.fit(table, y)
        else:
            with pytest.raises(Refused, match="no closed form"):
                made.fit(table, y)


@pytest.mark.parametrize("inference", ["map", "laplace", pytest.param("nuts", marks=pytest.mark.slow)])
def test_words_as_numbers_stay_sparse_in_a_pipeline(inference, monkeypatch):
    if inference != "nuts":  # whose machine code takes dense rows
        monkeypatch.setattr(LogisticDesign, "standardized", None)
    texts = ["win a prize now", "claim the prize", "see you at lunch", "lunch now?", "a prize for lunch", "you win"] * 5
    y = ["spam", "spam", "ham", "ham", "ham", "spam"] * 5
    settings = {"inference": bc.engines.NUTS(draws=1000) if inference == "nuts" else inference, "prior_scale": 0.5}
    clf = bc.LogisticRegression(**settings, random_state=1)
    pipeline = make_pipeline(TfidfVectorizer(), clf).fit(texts, y)
    assert pipeline.score(texts, y) > 0.9
    dense = TfidfVectorizer().fit_transform(texts).toarray()
    direct = clone(clf).fit(dense, y)
    tolerance = 0.02 if inference == "nuts" else 1e-7
    np.testing.assert_allclose(pipeline.predict_proba(texts), direct.predict_proba(dense), atol=tolerance)
