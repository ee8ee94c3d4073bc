"""A linear generative classifier and the logistic regression that it implies are one classifier, draw by draw."""

import numpy as np
import pandas as pd
import pytest
from helpers.suites import mainly
from scipy import sparse
from scipy.special import softmax

import bayesclf as bc
from bayesclf.engines import Exact, inference
from bayesclf.errors import Refused
from bayesclf.families import Bernoulli, Gaussian, Multinomial
from bayesclf.posterior import averaging

NUMBERS, WORDS = ["age", "dose"], ["ward", "smoker"]
EXACT = {"inference": Exact(draws=40), "random_state": 4}
CASES = {
    "gnb2": (bc.GaussianNB("feature", **EXACT), NUMBERS),
    "gnb shared": (bc.GaussianNB("shared", **EXACT), NUMBERS),
    "categorical": (bc.CategoricalNB(**EXACT), WORDS),
    "missing level": (bc.CategoricalNB(missing="level", **EXACT), WORDS),
    "mixed": (bc.NaiveBayes({tuple(NUMBERS): Gaussian("feature")}, **EXACT), NUMBERS + WORDS),
    "two of a family": (
        bc.NaiveBayes({"age": Gaussian("feature"), "dose": Gaussian("shared")}, missing="level", **EXACT),
        NUMBERS + WORDS,
    ),
    "known class prior": (bc.GaussianNB("feature", class_prior="uniform", **EXACT), NUMBERS),
    "bernoulli": (bc.NaiveBayes({("apples", "pears"): Bernoulli(threshold=2.0)}, **EXACT), ["apples", "pears"]),
    "counts": (bc.NaiveBayes({("apples", "pears"): Multinomial()}, **EXACT), ["apples", "pears"]),
    "gda": (bc.GaussianDiscriminantAnalysis("shared", **EXACT), ["apples", "full age"]),
    "no column is used": (bc.GaussianNB("feature", **EXACT), ["one"]),
}


def fitted(clf, columns, mixed_table, classes):
    X, y = mixed_table
    counts = {"apples": np.arange(90) % 7.0, "pears": np.arange(90) % 4.0}
    X = X.assign(one=1.0, level=np.where(np.arange(90) % 2, "a", "b"), **counts, **{"full age": X["age"].fillna(30.0)})[
        columns
    ]
    return clf.fit(X, y if classes == 3 else np.where(y == "ill", "ill", "well")), X


def of_weights(implied, X, source):
    """Return P(y = k | x, θ) by the implied weights, (draw, row, outcome)."""
    pairs = [name.partition("=")[::2] for name in implied.columns]
    z = np.column_stack([X[name].astype(str) == level if level else X[name] for name, level in pairs])
    found = implied.weights[source]
    scores = found.intercept[:, None] + np.moveaxis(found.weight @ (z - implied.centre).T, 2, 1)
    place = implied.labels.index(implied.reference)
    return softmax(np.insert(scores, place, 0.0, axis=2), axis=2)


COMPLETE = ["gnb2", "gnb shared", "categorical", "mixed", "known class prior", "counts", "gda"]


@pytest.mark.parametrize(("clf", "columns"), [CASES[name] for name in COMPLETE], ids=COMPLETE)
@pytest.mark.parametrize("classes", mainly([2, 3], 3))
@pytest.mark.parametrize("intercept_at", ["means", "zero"])
@pytest.mark.parametrize("source", mainly(["posterior", "map", "mle"], "posterior"))
def test_both_classifiers_have_the_same_probabilities_in_every_draw(
    clf, columns, classes, intercept_at, source, mixed_table
):
    clf, X = fitted(clf, columns, mixed_table, classes)
    X = X.dropna()
    expected = averaging.conditional(clf.hypotheses(source), clf.rows(X)).log_proba
    found = of_weights(clf.to_logistic(intercept_at), X, source)
    np.testing.assert_allclose(found, np.exp(np.moveaxis(expected, 2, 0)), rtol=0, atol=1e-10)


def test_weights_of_two_classes_are_mitchells_eqs_21_and_22(mixed_table):
    X, y = mixed_table
    y = (y == "well").astype(int)
    clf = bc.GaussianNB("feature", **EXACT).fit(X[NUMBERS], y)
    implied = clf.to_logistic("zero").posterior_["posterior"].to_dataset().stack(s=("chain", "draw"))
    for s in range(0, 160, 17):
        theta = {name: values[s] for name, values in clf.hypotheses("posterior").parameters.items()}
        w0 = np.log((1 - theta["pi"][1]) / theta["pi"][1])
        w = []
        for i in range(2):
            mu_i0, mu_i1, sigma2_i = theta["mu"][0, i], theta["mu"][1, i], theta["sigma2"][i]
            w0 += (mu_i1**2 - mu_i0**2) / (2 * sigma2_i)
            w.append((mu_i0 - mu_i1) / sigma2_i)
        # The textbook's P(Y=1 | X) is 1/(1 + exp(w0 + w·x)): its weights are log-odds of class 0.
        np.testing.assert_allclose(implied["weight"].isel(s=s).values[0], [-value for value in w], rtol=1e-10)
        np.testing.assert_allclose(implied["intercept"].isel(s=s).values[0], -w0, rtol=1e-10)


@pytest.mark.parametrize(
    ("clf", "columns", "reason"),
    [
        (bc.GaussianNB(**EXACT), NUMBERS, "'age', 'dose' has a variance for each class"),
        (bc.GaussianNB("class", **EXACT), NUMBERS, "only variance='feature' or 'shared'"),
        (bc.GaussianDiscriminantAnalysis("class", **EXACT), ["apples", "full age"], "a covariance for each class"),
        (bc.JointBayes(**EXACT), ["level"], "'level' is of the family 'joint', .* not a sum over single columns"),
        (
            bc.NaiveBayes(families="gaussian", **EXACT),
            NUMBERS + WORDS,
            "the block of 'age', 'dose' has a variance for each class",
        ),
    ],
)
def test_a_block_that_is_not_linear_is_refused_with_the_reason(clf, columns, reason, mixed_table):
    clf, _ = fitted(clf, columns, mixed_table, 3)
    with pytest.raises(Refused, match=reason):
        clf.to_logistic()


def test_infinite_weights_do_not_exist_but_the_others_do(play_tennis):
    X, y = play_tennis.X, play_tennis.y
    implied = bc.CategoricalNB(**EXACT).fit(X, y).to_logistic()  # no day of "no" was overcast
    assert "probability 0 makes a logistic weight infinite" in implied.posterior_["mle"].attrs["does_not_exist"]
    assert np.isfinite(implied.weights["map"].weight).all()


def test_bernoulli_weights_are_those_of_mitchells_exercise_3(rng):
    X, y = pd.DataFrame(rng.integers(2, size=(30, 2)), columns=["u", "v"]), np.arange(30) % 2
    clf = bc.NaiveBayes({("u", "v"): Bernoulli()}, **EXACT).fit(X, y)
    theta, pi = clf.posterior_["map"]["theta"].values[0, 0], clf.posterior_["map"]["pi"].values[0, 0]
    implied = clf.to_logistic("zero").posterior_["map"]
    w = [np.log(theta[1, i] * (1 - theta[0, i]) / (theta[0, i] * (1 - theta[1, i]))) for i in range(2)]
    w0 = np.log(pi[1] / pi[0]) + sum(np.log((1 - theta[1, i]) / (1 - theta[0, i])) for i in range(2))
    np.testing.assert_allclose(implied["weight"].values.ravel(), w, rtol=1e-12)
    np.testing.assert_allclose(implied["intercept"].item(), w0, rtol=1e-12)


def test_a_posterior_not_kept_in_memory_has_no_weights_but_its_points_have(monkeypatch, rng):
    monkeypatch.setattr(inference, "POSTERIOR_BYTES", 0)
    X, y = sparse.csr_array(rng.poisson(0.7, (40, 6))), np.arange(40) % 2
    implied = bc.MultinomialNB(**EXACT).fit(X, y).to_logistic()
    assert "160 draws of the weights are too large to keep in memory" in str(implied.weights["posterior"])
    assert np.isfinite(implied.weights["map"].weight).all()
