"""Fitted attributes under scikit-learn's names: against scikit-learn's own, and in its meta-estimators."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logsumexp, softmax
from sklearn import discriminant_analysis, naive_bayes
from sklearn.datasets import load_iris

import bayesclf as bc

IRIS, SPECIES = load_iris(return_X_y=True)
PAIR = SPECIES > 0
"""Rows of the two species that overlap, so that every estimate exists."""
COUNTS = np.round(10 * IRIS)
LINEAR = {
    "gnb": (bc.GaussianNB, {"variance": "feature"}, IRIS),
    "gda": (bc.GaussianDiscriminantAnalysis, {}, IRIS),
    "multinomial": (bc.MultinomialNB, {}, COUNTS),
    "bernoulli": (bc.BernoulliNB, {}, (IRIS.mean(axis=0) < IRIS).astype(float)),
    "poisson": (bc.NaiveBayes, {"blocks": {("x0", "x1", "x2", "x3"): "poisson"}}, COUNTS),
    "exponential": (bc.NaiveBayes, {"blocks": {("x0", "x1", "x2", "x3"): "exponential"}}, IRIS),
    "lr": (bc.LogisticRegression, {"prior_scale": 2.5, "inference": "laplace"}, IRIS),
}
every_linear = pytest.mark.parametrize("name", LINEAR)


def fitted(name, rows=slice(None), **options):
    kind, own, X = LINEAR[name]
    return kind(**{"random_state": 1, **own, **options}).fit(X[rows], SPECIES[rows]), X[rows]


class TestAgainstScikitLearn:
    def test_gaussian_naive_bayes(self):
        ours = bc.GaussianNB(rule="mle", class_prior="empirical").fit(IRIS, SPECIES)
        theirs = naive_bayes.GaussianNB(var_smoothing=0).fit(IRIS, SPECIES)
        for attribute in ("theta_", "var_", "class_prior_", "class_count_"):
            np.testing.assert_allclose(getattr(ours, attribute), getattr(theirs, attribute), rtol=1e-12)
        np.testing.assert_allclose(ours.predict_joint_log_proba(IRIS), theirs.predict_joint_log_proba(IRIS), rtol=1e-10)

    @pytest.mark.parametrize(
        ("ours", "theirs"), [(bc.MultinomialNB, naive_bayes.MultinomialNB), (bc.BernoulliNB, naive_bayes.BernoulliNB)]
    )
    def test_counts(self, ours, theirs):
        X = COUNTS - 20 * (COUNTS > 30)
        ours = ours(alpha=2.0, rule="map", class_prior="empirical").fit(X - X.min(axis=0), SPECIES)
        theirs = theirs(alpha=1.0).fit(X - X.min(axis=0), SPECIES)
        for attribute in ("feature_count_", "feature_log_prob_", "class_count_"):
            np.testing.assert_allclose(getattr(ours, attribute), getattr(theirs, attribute), rtol=1e-12)
        np.testing.assert_allclose(np.log(ours.class_prior_), theirs.class_log_prior_, rtol=1e-12)

    def test_categorical(self):
        X = np.array([["a", "x"], ["b", "x"], ["a", "y"], ["c", "y"], ["a", "x"]])
        y = [0, 0, 1, 1, 1]
        ours = bc.CategoricalNB(rule="map").fit(X, y)
        theirs = naive_bayes.CategoricalNB(alpha=1.0).fit(np.unique(X, return_inverse=True)[1].reshape(X.shape), y)
        for mine, other in zip(ours.category_count_, theirs.category_count_, strict=True):
            np.testing.assert_array_equal(mine, other[:, other.sum(axis=0) > 0])
        np.testing.assert_allclose(np.exp(ours.feature_log_prob_[0][0]), [2 / 5, 2 / 5, 1 / 5])

    @pytest.mark.parametrize("rows", [PAIR, slice(None)], ids=["two classes", "three"])
    def test_linear_discriminant_analysis(self, rows):
        ours, X = fitted("gda", rows, rule="mle", class_prior="empirical")
        theirs = discriminant_analysis.LinearDiscriminantAnalysis("lsqr", store_covariance=True).fit(X, SPECIES[rows])
        np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-12)
        np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-10)
        shown = theirs.coef_ if len(theirs.coef_) == 1 else theirs.coef_ - theirs.coef_.mean(axis=0)
        np.testing.assert_allclose(ours.coef_, shown, rtol=1e-8)
        np.testing.assert_allclose(
            ours.intercept_, theirs.intercept_ - (theirs.intercept_.mean() if len(shown) > 1 else 0)
        )

    def test_quadratic_discriminant_analysis(self):
        ours = bc.GaussianDiscriminantAnalysis("class", rule="mle").fit(IRIS, SPECIES)
        theirs = discriminant_analysis.QuadraticDiscriminantAnalysis(store_covariance=True).fit(IRIS, SPECIES)
        np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-10)


class TestLinear:
    @every_linear
    @pytest.mark.parametrize("rule", ["map", "mle"])
    @pytest.mark.parametrize("rows", [PAIR, slice(None)], ids=["two classes", "three"])
    def test_a_plug_in_rule_is_linear_in_x(self, name, rule, rows):
        if (name, rule) == ("lr", "mle"):
            rows = PAIR  # of three classes one is separable
        if (name, rule) == ("bernoulli", "mle"):
            pytest.skip("a presence that a class never has makes a weight infinite")
        clf, X = fitted(name, rows, rule=rule)
        log_odds = clf.decision_function(X)
        np.testing.assert_allclose((X @ clf.coef_.T + clf.intercept_).reshape(log_odds.shape), log_odds, atol=1e-8)
        proba = softmax(log_odds, axis=1) if log_odds.ndim > 1 else expit(np.stack([-log_odds, log_odds], axis=1))
        np.testing.assert_allclose(proba, clf.predict_proba(X), atol=1e-10)

    def test_a_column_of_one_value_has_the_weight_zero(self):
        X = np.column_stack([IRIS[:, :2], np.ones(150), IRIS[:, 2:]])
        for clf in (bc.LogisticRegression(prior_scale=2.5, inference="map"), bc.GaussianNB("feature", rule="map")):
            np.testing.assert_array_equal(clf.fit(X, SPECIES).coef_[:, 2], 0)


def test_the_joint_density_is_normalized_by_the_predictive_rule():
    clf = bc.GaussianNB(random_state=1).fit(IRIS, SPECIES)
    joint = clf.predict_joint_log_proba(IRIS)
    expected = clf.predict_log_proba(IRIS, rule="predictive")
    np.testing.assert_allclose(joint - logsumexp(joint, axis=1, keepdims=True), expected, atol=1e-10)
    mode = bc.GaussianNB(inference="map").fit(IRIS, SPECIES)
    np.testing.assert_allclose(
        softmax(mode.predict_joint_log_proba(IRIS), axis=1), mode.predict_proba(IRIS), atol=1e-12
    )
    with pytest.raises(ValueError, match="the rule 'gibbs' draws another hypothesis for each row"):
        clf.predict_joint_log_proba(IRIS, rule="gibbs")


class TestWhereTheyDoNotApply:
    @pytest.mark.parametrize(
        ("clf", "attribute", "reason"),
        [
            (bc.GaussianNB(), "coef_", "coef_ does not exist: .* has a variance for each class"),
            (bc.GaussianNB(), "means_", "only if all columns are multivariate-gaussian, but column 'x0' is gaussian"),
            (bc.GaussianNB(), "feature_count_", "are bernoulli or multinomial, but column 'x0' is gaussian"),
            (bc.GaussianDiscriminantAnalysis(), "theta_", "are gaussian, but column 'x0' is multivariate-gaussian"),
            (bc.GaussianNB(rule="mean", inference="map"), "theta_", "has no posterior to average over"),
        ],
    )
    def test_the_reason_is_one_sentence(self, clf, attribute, reason):
        clf.fit(IRIS, SPECIES)
        assert not hasattr(clf, attribute)
        with pytest.raises(AttributeError, match=reason) as caught:
            getattr(clf, attribute)
        assert "\n" not in str(caught.value)

    def test_categories_have_no_coefficient_of_their_own(self):
        table = pd.DataFrame({"wind": ["weak", "strong"] * 4, "degrees": [29.0, 17.0, 25.0, 15.0] * 2})
        y = ["yes", "no", "no", "no", "yes", "no", "yes", "yes"]
        for clf in (
            bc.LogisticRegression(prior_scale=2.5, inference="map"),
            bc.NaiveBayes({"degrees": bc.families.Gaussian("feature")}),
        ):
            with pytest.raises(AttributeError, match="but 'wind' has a weight for each level"):
                _ = clf.fit(table, y).coef_
