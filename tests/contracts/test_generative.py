"""What every generative classifier must satisfy in addition to the contract of all classifiers."""

import numpy as np
import pandas as pd
import pytest
from helpers.classifiers import (
    CLOSED_FORM,
    NUMBERS,
    OF_STATISTICS,
    WORDS,
    adds_up,
    assert_same_answers,
    every_generative,
    every_rule,
    with_words,
)
from scipy.special import logsumexp, softmax

import bayesclf as bc
from bayesclf.errors import DoesNotExist, InputError
from bayesclf.rules import RULES

# Learning in parts


@every_generative
def test_as_prior_continues_an_empirical_prior_too(case, mixed_table):
    """The prior of the first rows stays: the posterior in two steps is that of one fit under the frozen prior."""
    X, y = case.table(mixed_table)
    prior = case.make().fit(X[:25], y[:25]).as_prior()
    in_two = prior.fit(X[25:40], y[25:40]).as_prior().fit(X[40:], y[40:])
    assert_same_answers(prior.fit(X[25:], y[25:]), in_two, X, [rule for rule in OF_STATISTICS if rule != "mle"])


def test_a_prior_refuses_classes_that_it_does_not_know(mixed_table):
    X, y = mixed_table
    prior = bc.NaiveBayes().fit(X[y != "ill"], y[y != "ill"]).as_prior()
    with pytest.raises(InputError, match=r"the prior knows the classes .*, but the rows have"):
        prior.fit(X, y)


# Missing cells and levels


@every_generative
def test_a_row_without_any_cell_is_answered_by_the_class_prior(case, mixed_table):
    X, y = case.table(mixed_table)
    X, y = X[:55], y[:55]
    clf = case.make().fit(X, y)
    nothing = pd.DataFrame(case.empty, index=range(3), columns=X.columns).astype(object)
    counts = np.unique(y, return_counts=True)[1]
    draws = clf.posterior_["posterior"]["pi"].values.reshape(-1, 3)
    expected = {
        **dict.fromkeys(("mle", "map"), counts / 55),
        **dict.fromkeys(("mean", "predictive"), (counts + 1) / 58),
        "bayes-optimal": draws.mean(axis=0),
        "tempered": softmax(np.log((counts + 1) / 58) + clf.temper_["b"].to_numpy()[0], axis=1).mean(axis=0),
    }
    assert {*expected, "gibbs"} == set(RULES)
    for rule, pi in expected.items():
        found = clf.predict_proba(nothing, rule=rule)
        np.testing.assert_allclose(found, np.tile(pi, (3, 1)), rtol=1e-12, err_msg=rule)
    drawn = clf.predict_proba(nothing, rule="gibbs")
    assert all(np.isclose(draws, row, rtol=1e-12).all(axis=1).any() for row in drawn)


@with_words
@every_rule
def test_an_unseen_level_is_a_missing_cell(case, rule, mixed_table, fitted):
    X, _ = case.table(mixed_table)
    clf = fitted(case)
    assert_same_answers(clf, clf, X.assign(ward=None), [rule], 0, other_X=X.assign(ward="south"))


@with_words
def test_a_missing_word_as_a_level_is_a_word_of_its_own(case, mixed_table):
    X, y = case.table(mixed_table)
    level, word = case.make(missing="level"), case.make()
    if case.kind is bc.NaiveBayes:
        X = X[WORDS]
    said = X.fillna("~ none")
    assert_same_answers(level.fit(X, y), word.fit(said, y), X, RULES, 0, said)


@pytest.mark.parametrize("kind", [bc.GaussianNB, bc.NaiveBayes])
def test_a_missing_number_as_a_level_is_a_column_that_says_so(kind, mixed_table):
    X, y = mixed_table[0][NUMBERS], mixed_table[1]
    said = X.assign(**{f"no {name}": X[name].isna() for name in NUMBERS})
    settings = {"inference": "exact", "random_state": 1}
    named = {"families": "gaussian"} if kind is bc.NaiveBayes else {}
    level = kind(missing="level", **named, **settings).fit(X, y)
    column = bc.NaiveBayes(families="gaussian", **settings).fit(said, y)
    assert_same_answers(level, column, X, RULES, 1e-12, said)


@with_words
def test_levels_of_a_pandas_categorical_are_its_categories(case, mixed_table):
    X, y = case.table(mixed_table)
    wider = X.assign(ward=pd.Categorical(X["ward"], categories=["east", "north", "south", "west"]))
    clf = case.make().fit(wider, y)
    posterior = clf.posterior_["posterior"].dataset
    thetas = [posterior[name] for name in posterior.data_vars if name.startswith("theta")]
    assert any("ward=south" in name for theta in thetas for name in theta[theta.dims[-1]].values)
    south = clf.predict_proba(wider.assign(ward="south"), rule="map")
    assert (south != clf.predict_proba(wider.assign(ward=None), rule="map")).any()


# Class priors


@adds_up
@pytest.mark.parametrize("pi", [[0.2, 0.5, 0.3], {"ill": 0.2, "mild": 0.5, "well": 0.3}, "uniform"])
def test_other_base_rates_at_prediction_are_those_of_a_fit(case, pi, mixed_table, fitted):
    X, y = case.table(mixed_table)
    plain, known = fitted(case), case.make(class_prior=pi).fit(X, y)
    np.testing.assert_array_equal(known.classes_, ["ill", "mild", "well"])
    assert "pi" not in known.posterior_["posterior"]  # it is known, and not learned
    for rule in CLOSED_FORM:
        found = plain.predict_proba(X, rule=rule, class_prior=pi)
        np.testing.assert_allclose(found, known.predict_proba(X, rule=rule), rtol=1e-12, err_msg=rule)
    at_prediction = plain.predict_log_proba(X, rule="map", class_prior=pi)
    odds = plain.predict_log_proba(X, rule="map") - np.log(plain.posterior_["map"]["pi"].values[0, 0])
    expected = odds + np.log([1 / 3] * 3 if pi == "uniform" else [0.2, 0.5, 0.3])
    np.testing.assert_allclose(at_prediction, expected - logsumexp(expected, axis=1, keepdims=True), atol=1e-10)


@pytest.mark.parametrize(("alpha", "counts"), [([2.0, 3.0, 5.0], [31, 32, 34]), (2.0, [31, 31, 31])])
def test_a_concentration_is_the_dirichlets(alpha, counts, mixed_table):
    X, y = mixed_table
    prior = bc.families.LearntClassPrior(alpha) if isinstance(alpha, list) else alpha
    clf = bc.NaiveBayes(class_prior=prior).fit(X, y)
    nothing = pd.DataFrame(np.nan, index=[0], columns=X.columns).astype(object)
    np.testing.assert_allclose(clf.predict_proba(nothing, rule="map")[0], np.array(counts) / sum(counts))


# Classes with few rows


@every_generative
def test_a_class_announced_but_not_observed(case, mixed_table):
    X, y = case.table(mixed_table)
    clf = case.make().fit(X, y, classes=["dead", "ill", "mild", "well"])
    with pytest.raises(DoesNotExist, match="class 'dead' has"):
        clf.predict_proba(X, rule="mle")
    for rule in set(RULES) - {"mle"}:
        proba = clf.predict_proba(X, rule=rule)
        assert np.isfinite(proba).all()
        # Under a flat class prior the most probable π gives it nothing; every average gives it something.
        assert (proba[:, 0] == 0).all() if rule == "map" else (proba[:, 0] > 0).all()


@every_generative
def test_a_class_of_one_row(case, mixed_table):
    X, y = case.table(mixed_table)
    X, y = X.dropna(), y[X.notna().all(axis=1)]
    rows = (y != "ill") | (np.cumsum(y == "ill") == 1)
    X, y = X[rows], y[rows]
    clf = case.make().fit(X, y)
    exists = case.name in {
        *("nb histogram", "gda shared", "gnb feature", "gnb shared", "bernoulli", "multinomial"),
        *("categorical", "categorical, α learnt", "joint", "tan", "all trees", "all forests", "all trees of numbers"),
    }
    for rule in RULES:
        if rule == "mle" and not exists:
            with pytest.raises(DoesNotExist, match=r"class 'ill' has (too few different values|no value)"):
                clf.predict_proba(X, rule=rule)
            assert "class 'ill'" in clf.posterior_["mle"].attrs["does_not_exist"]
        else:
            assert np.isfinite(clf.predict_proba(X, rule=rule)).all(), rule


# Generating


@every_generative
def test_generated_rows_look_like_the_training_rows(case, mixed_table, fitted):
    X, y = case.table(mixed_table)
    clf = fitted(case)
    generated, labels = clf.sample(6000, random_state=2)
    assert list(generated.columns) == list(X.columns)
    posterior = clf.posterior_["posterior"].mean(("chain", "draw"))
    spread = clf.posterior_["posterior"].std(("chain", "draw"))
    for label in clf.classes_:
        own = generated[labels == label]
        share = float(posterior["pi"].sel(outcome=label))
        assert abs(len(own) / 6000 - share) < 5 * np.sqrt(share * (1 - share) / 6000)
        for name in set(NUMBERS) & set(X.columns):
            if case.name in ("nb auto", "nb histogram", "all trees of numbers"):  # whose tails may have no mean
                training = X.loc[y == label, name].dropna()
                error = np.sqrt(np.pi / 2) * training.std() / np.sqrt(len(training))
                assert abs(own[name].median() - training.median()) < 4 * error
                continue
            if "beta" in posterior:  # means follow from the categories'; test_families.py samples them
                continue
            mu = posterior["mu"].sel(outcome=label, feature=name)
            sd = np.hypot(own[name].std(), spread["mu"].sel(outcome=label, feature=name))
            assert abs(own[name].mean() - mu) < 5 * sd / np.sqrt(len(own))
        for name in set(WORDS) & set(X.columns) if "level" in posterior.dims else ():
            for level, found in own[name].value_counts(normalize=True).items():
                theta = float(posterior["theta"].sel(outcome=label, level=f"{name}={level}"))
                assert abs(found - theta) < 5 * np.sqrt(theta * (1 - theta) / len(own))


@every_generative
def test_generated_rows_can_be_learnt_from_and_labels_may_be_given(case, mixed_table, fitted):
    X, _ = case.table(mixed_table)
    clf = fitted(case)
    again = case.make(inference="map").fit(*clf.sample(200, random_state=1))
    np.testing.assert_array_equal(again.classes_, clf.classes_)
    wanted = ["well", "ill", "ill"]
    generated, labels = again.sample(3, wanted)  # by a point estimate too
    assert labels.tolist() == wanted
    assert generated.shape == (3, len(X.columns))
