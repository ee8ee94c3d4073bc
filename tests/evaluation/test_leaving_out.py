"""Leaving rows out exactly and by reweighting, against models fitted by hand."""

import numpy as np
import pytest
from arviz_stats.base import array_stats
from helpers.classifiers import COUNTS, EVENTS, FILL, NUMBERS, WORDS
from helpers.refits import STANDARD_ERRORS, by_refits, refits
from helpers.suites import mainly
from sklearn.base import clone

import bayesclf as bc
from bayesclf.engines import Exact
from bayesclf.engines.convergence import smoothed
from bayesclf.errors import DoesNotExist, Refused
from bayesclf.evaluation.leave_one_out import log_joint_without, training_rows
from bayesclf.families.gaussian import SHARED_OVER

DOCUMENTS = [
    "a prize to win",
    "win the prize now",
    "see you at lunch",
    "now or at lunch",
    "lunch prize",
    "see the prize",
]
OF_DOCUMENTS = np.array(["spam", "spam", "ham", "ham", "ham", "spam"])

GENERATIVE = {
    "nb": (bc.NaiveBayes(), NUMBERS + WORDS),
    "nb missing as a level": (bc.NaiveBayes(missing="level"), NUMBERS + WORDS),
    **{f"gnb {v}": (bc.GaussianNB(v), NUMBERS) for v in SHARED_OVER},
    **{f"gda {c}": (bc.GaussianDiscriminantAnalysis(c), NUMBERS) for c in ("shared", "class")},
    "joint": (bc.JointBayes(), WORDS),
    "tan": (bc.BayesNetClassifier(class_prior="empirical"), WORDS),
    "bernoulli": (bc.BernoulliNB(1.5, 1.2), EVENTS),
    "multinomial": (bc.MultinomialNB(1.3), COUNTS),
}


def table_of(name, mixed_table):
    """Return rows under which a classifier is conjugate."""
    X, y = mixed_table
    complete = name.startswith(("gda", "joint", "tan"))
    return (X.fillna(FILL) if complete else X)[GENERATIVE[name][1]].iloc[:18], y[:18]


@pytest.fixture(scope="module")
def fit():
    return bc.TextNB(alpha=2.0, random_state=1, inference=Exact(draws=2000)).fit(DOCUMENTS, OF_DOCUMENTS)


@pytest.fixture(
    scope="module", params=mainly(GENERATIVE, "nb", "gnb class-feature", "gda shared", "tan", "multinomial")
)
def with_refits(request, mixed_table):
    """Return a fit, its rows and labels, and the fits without each of the rows."""
    X, y = table_of(request.param, mixed_table)
    clf = clone(GENERATIVE[request.param][0]).set_params(random_state=1, inference=Exact(draws=30)).fit(X, y)
    return clf, X, y, refits(clf, X, y)


class TestExact:
    @pytest.mark.parametrize("rule", ["predictive", "mean", "map"])
    def test_it_is_that_of_refits_under_the_resolved_prior(self, with_refits, rule):
        clf, X, y, fitted = with_refits
        found = bc.loo(clf, X, y, rule)
        np.testing.assert_allclose(found.elpd_i, by_refits(clf, X, y, rule, fitted), rtol=1e-8, atol=1e-10)
        assert (found.pareto_k == 0).all()
        own = clf.predict_log_proba(X, rule=rule)[np.arange(len(y)), np.searchsorted(clf.classes_, y)]
        assert found.p == pytest.approx((own - found.elpd_i.to_numpy()).sum())

    @pytest.mark.parametrize("name", ["nb", "gda shared", "multinomial"])
    def test_bayes_optimal_is_that_of_refits_up_to_their_draws(self, mixed_table, name):
        X, y = table_of(name, mixed_table)
        X, y = X.iloc[::2], y[::2]
        clf = clone(GENERATIVE[name][0]).set_params(random_state=1, inference=Exact(draws=1000)).fit(X, y)
        found, refitted = bc.loo(clf, X, y, method="exact").elpd_i, by_refits(clf, X, y, "bayes-optimal")
        # P between 0 and 1 has an sd of at most √(P(1 − P)), of which the posterior's is a part.
        proba = np.exp(refitted)
        error = np.sqrt(2 * (1 - proba) / proba / 4000)
        assert (np.abs(found - refitted) < STANDARD_ERRORS * error).all()

    def test_an_outlier_that_makes_up_a_variance_is_left_out_by_adding_up_the_others(self, rng):
        y = np.repeat(["a", "b"], 8)
        X = rng.normal(size=(16, 2)) + (y == "b")[:, None]
        X[7] = 1e5, -3e4
        for clf in (bc.GaussianNB(), bc.GaussianNB("shared"), bc.GaussianDiscriminantAnalysis()):
            kind = type(clf)
            given = {"m": 0.0, "kappa": 1.0} | (
                {"a": 2.0, "b": 1.0} if kind is bc.GaussianNB else {"nu": 4.0, "psi": 1.0}
            )
            clf = clf.set_params(random_state=1, **given).fit(X, y)
            training = training_rows(clf, X, y)
            joint = log_joint_without(clf.model_, training.rows, training.y)
            np.testing.assert_array_equal(np.isnan(joint).any(axis=1), np.arange(16) == 7)
            np.testing.assert_allclose(
                bc.loo(clf, X, y, "predictive").elpd_i, by_refits(clf, X, y, "predictive"), rtol=1e-7, atol=1e-9
            )

    def test_maximum_likelihood_names_the_row_without_which_it_does_not_exist(self):
        X, y = [[1.0], [2.0], [4.0], [5.0], [7.0]], ["a", "a", "b", "b", "b"]
        clf = bc.GaussianNB(random_state=1).fit(X, y)
        with pytest.raises(DoesNotExist, match="without row 1: class 'a' has too few different values"):
            bc.loo(clf, X, y, "mle")

    def test_a_row_that_is_impossible_without_itself_has_an_infinite_score(self, tennis_fit, tennis):
        found = bc.loo(tennis_fit, *tennis, rule="mle")
        assert found.elpd == -np.inf
        np.testing.assert_allclose(found.elpd_i, by_refits(tennis_fit, *tennis, "mle"), rtol=1e-12)


class TestText:
    @pytest.mark.parametrize("rule", ["predictive", "mean", "map"])
    def test_documents_are_left_out_as_by_refits(self, fit, rule):
        found = bc.loo(fit, DOCUMENTS, OF_DOCUMENTS, rule).elpd_i
        np.testing.assert_allclose(
            found, by_refits(fit, np.array(DOCUMENTS, dtype=object), OF_DOCUMENTS, rule), rtol=1e-9
        )


def test_the_same_density_under_all_draws_needs_no_smoothing():
    log_weight, khat = smoothed(np.full((1, 100), -3.0), 1.0)
    np.testing.assert_allclose(np.exp(log_weight), 0.01)
    assert khat == -np.inf


def test_draws_under_which_the_row_is_impossible_have_all_the_weight():
    log_weight, khat = smoothed(np.array([[-1.0, -np.inf, -2.0, -np.inf] * 10]), 1.0)
    np.testing.assert_allclose(np.exp(log_weight), [[0, 0.05, 0, 0.05] * 10])
    assert khat == np.inf


def test_ratios_that_vanish_beside_the_largest_have_no_tail_that_could_be_trusted():
    """ArviZ's k̂ is NaN there, or it finds none."""
    log_density = np.append(np.arange(999) * 10.0, -9e3)[None]
    log_weight, khat = smoothed(log_density, 1.0)
    np.testing.assert_allclose(np.exp(log_weight[0]), np.append(np.zeros(999), 1.0), atol=1e-300)
    assert khat == np.inf


@pytest.mark.parametrize("spread", [0.1, 3, 100, 3000])
@pytest.mark.parametrize("draws", [30, 1000])
def test_tails_are_smoothed_as_by_arviz_however_far_ratios_are_apart(spread, draws):
    log_density = spread * np.random.default_rng(0).normal(size=(200, draws))
    log_weight, khat = smoothed(log_density, 0.9)
    with np.errstate(all="ignore"):
        expected, expected_khat = map(np.array, array_stats.psislw(log_density, r_eff=0.9))
    fits = ~np.isnan(expected_khat)
    np.testing.assert_allclose(khat, np.where(fits, expected_khat, np.inf), rtol=1e-9)
    np.testing.assert_allclose(log_weight[fits], expected[fits], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.exp(log_weight).sum(axis=1), 1.0)


def test_too_few_draws_are_refused(tennis):
    clf = bc.CategoricalNB(random_state=1, inference=Exact(draws=6)).fit(*tennis)
    with pytest.raises(Refused, match="24 draws are too few"):
        bc.loo(clf, *tennis, method="psis")
