"""Classifiers that answer from given draws."""

import numpy as np
import pytest
from helpers.classifiers import NUMBERS, WORDS

import bayesclf as bc
from bayesclf.classifiers import given as of_given
from bayesclf.engines import Exact, Laplace
from bayesclf.errors import DoesNotExist, InputError, PredictionWarning, Refused


@pytest.fixture(scope="module")
def table(mixed_table):
    X, y = mixed_table
    return X[NUMBERS + WORDS], y


@pytest.fixture(scope="module")
def fitted(table):
    return bc.NaiveBayes(families="gaussian", inference=Exact(draws=50), random_state=1).fit(*table)


@pytest.mark.parametrize("rule", ["bayes-optimal", "gibbs", "mle"])
@pytest.mark.parametrize("kind", ["nb", "lr"])
def test_its_own_posterior_answers_as_before(kind, rule, fitted, table):
    X, y = table
    clf = fitted
    if kind == "lr":
        X = X[["smoker"]]
        clf = bc.LogisticRegression(prior_scale=2.5, inference=Laplace(draws=200), random_state=1).fit(X, y)
    again = clf.with_posterior(clf.posterior_)
    np.testing.assert_allclose(again.predict_proba(X, rule=rule), clf.predict_proba(X, rule=rule), rtol=1e-13)


def test_the_mean_and_the_mode_are_of_the_given_posterior(table):
    """A posterior with every mean moved by 1 answers rows that are moved by 1 as before."""
    X, y = table
    fitted = bc.NaiveBayes(families="gaussian", inference=Exact(draws=1500), random_state=1).fit(X, y)
    tree = fitted.posterior_.copy(deep=True)
    tree["posterior"]["mu"] = tree["posterior"]["mu"] + 1.0
    point = {name: values[0].copy() for name, values in fitted.hypotheses("map").parameters.items()}
    point["mu"] += 1.0
    moved = fitted.with_posterior(tree, point)
    further = X.assign(**{name: X[name] + 1.0 for name in NUMBERS})
    mode = {name: values[0] for name, values in fitted.hypotheses("map").parameters.items()}
    unmoved = fitted.with_posterior(fitted.posterior_, mode)
    for rule in ("map", "mean", "bayes-optimal", "predictive", "gibbs"):
        expected = unmoved.predict_proba(X, rule=rule)
        np.testing.assert_allclose(moved.predict_proba(further, rule=rule), expected, atol=1e-9, err_msg=rule)
    np.testing.assert_allclose(unmoved.predict_proba(X, rule="map"), fitted.predict_proba(X, rule="map"))


def test_what_is_in_closed_form_is_not_that_of_the_fit(fitted, table):
    given = fitted.with_posterior(fitted.posterior_)
    with pytest.raises(DoesNotExist, match="give it, with_posterior"):
        given.predict(table[0], rule="map")
    with pytest.raises(Refused, match="given as draws has no hyperparameters"):
        given.as_prior()
    rows = given.rows(table[0])
    assert given.model_.log_predictive(rows) is None
    assert fitted.model_.log_predictive(rows) is not None


def test_the_fitted_classifier_stays_as_it_was(fitted, table):
    before = fitted.predict_proba(table[0], rule="predictive")
    fitted.with_posterior(fitted.posterior_)
    np.testing.assert_array_equal(fitted.predict_proba(table[0], rule="predictive"), before)
    assert not fitted.model_.posterior_given


@pytest.mark.parametrize(
    "clf",
    [bc.NaiveBayes(random_state=1), bc.LogisticRegression(inference=Laplace(draws=100, limit=5.0), random_state=1)],
)
def test_notes_on_the_draws_of_the_fit_are_left_out(clf, table, tmp_path):
    clf.fit(*table).save(tmp_path / "fitted.nc")
    words = ("log-likelihood of the columns", "(Laplace)", "learned from the rows")
    assert any(word in note for note in clf.notes_ for word in words)
    notes = bc.load(tmp_path / "fitted.nc").with_posterior(clf.posterior_).notes_
    assert notes[-1] == "draws of the posterior were given"
    assert (of_given.UNTEMPERED in notes) == isinstance(clf, bc.NaiveBayes)
    assert not any(word in note for note in notes for word in words)


def test_the_prior_of_the_fit_is_not_taken_for_that_of_given_draws(table):
    """Draws of another prior: what looks at the prior is undecided, and what comes from refits says so."""
    X, y = table
    fitted = bc.NaiveBayes(families="gaussian", inference=Exact(draws=200), random_state=1).fit(X, y)
    assert fitted.diagnose(X, y, checks=["M03"])["M03"].section in ("passed", "tip")
    given = fitted.with_posterior(fitted.posterior_)
    found = given.diagnose(X, y, checks=["M03", "Y01"])
    unknown = "draws of the posterior were given, under an unknown prior"
    assert (found["M03"].section, found["M03"].reason) == ("undecided", unknown)
    own = "by fits under the classifier's own prior rather than by the given draws"
    assert own in found.held_out.setting
    assert own in found.findings[-1].reason
    assert own not in fitted.diagnose(X, y, checks=["Y01"]).held_out.setting

    with pytest.warns(PredictionWarning, match="these are the priors of the fit, and the draws may have"):
        said = given.prior_summary().attrs["model"]
    with pytest.warns(PredictionWarning, match="these are the priors of the fit, and the draws may have"):
        given.to_pymc(X, y)
    assert said[:-1] == fitted.prior_summary().attrs["model"]
    assert said[-1].startswith("draws of the posterior were given; these are the priors of the fit")
    assert given.with_posterior(fitted.posterior_).notes_ == given.notes_


def test_a_tree_has_no_prior_of_given_draws(fitted, table):
    """They may be of a model with another prior, which that of the fit must not be taken for."""
    given = fitted.with_posterior(fitted.posterior_)
    for clf, groups in ((fitted, {"prior", "prior_predictive", "log_prior"}), (given, set())):
        tree = clf.to_datatree(*table)
        assert {"prior", "prior_predictive", "log_prior"} & set(tree.children) == groups
    assert "under an unknown prior" in tree.attrs["no_log_prior"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda draws: draws.drop_vars("mu"), "the posterior lacks 'mu'; the variables are pi, mu, sigma2, theta"),
        (lambda draws: draws.rename(level="word"), "'theta' has the axes .*, word, not chain, draw, outcome, level"),
        (lambda draws: draws.isel(feature=[0]), "'mu' has age along 'feature', and the model has age, dose"),
        (lambda draws: draws.isel(feature=[1, 0]), "'mu' has dose, age along 'feature', and the model has age, dose"),
        (lambda draws: draws.assign(mu=draws["mu"] * np.nan), "'mu' has draws that are not finite"),
        (lambda draws: draws["mu"], "idata must be a DataTree with a group 'posterior'"),
    ],
)
def test_another_posterior_is_refused(change, message, fitted):
    draws = fitted.posterior_["posterior"].to_dataset()
    with pytest.raises(InputError, match=message):
        fitted.with_posterior(change(draws))


def test_a_comparison_says_that_given_draws_are_not_used():
    X, y = [[value] for value in range(12)], ["a", "b"] * 6
    clf = bc.GaussianNB(random_state=1).fit(X, y)
    models = {"given": clf.with_posterior(clf.posterior_), "own": clf}
    found = bc.compare(models, X, y, rules=["bayes-optimal"], cv=2, repeats=1, boosting=False)
    assert any("the given draws are of all rows" in note for note in found.notes["given"])
    assert not any("given draws" in note for note in found.notes["own"])
