"""Gaussian discriminant analysis against its peers and its special cases."""

import numpy as np
import pandas as pd
import pytest
from helpers.classifiers import CLOSED_FORM
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.metrics import log_loss

import bayesclf as bc
from bayesclf.engines import Exact
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.families import MultivariateGaussian
from bayesclf.rules import RULES

both = pytest.mark.parametrize("covariance", ["shared", "class"])


def gda(covariance, **options):
    return bc.GaussianDiscriminantAnalysis(covariance, **{"random_state": 4, **options})


@pytest.fixture(scope="module")
def rows():
    """Return 120 rows of three dependent columns, and labels of three classes."""
    rng = np.random.default_rng(3)
    y = rng.integers(3, size=120)
    X = rng.normal(size=(120, 3)) @ [[1.0, 0.7, 0.0], [0.0, 0.9, -0.4], [0.0, 0.0, 0.8]]
    return X * (1 + 0.3 * y[:, None]) + y[:, None] * [1.0, -0.5, 0.3], y


# Special cases


@pytest.mark.parametrize(("covariance", "variance"), [("shared", "feature"), ("class", "class-feature")])
@pytest.mark.parametrize("given", [False, True], ids=["default", "given"])
def test_one_column_is_gaussian_naive_bayes(covariance, variance, given, rows):
    """a = ν/2 and b = Ψ/2."""
    X, y = rows[0][:, :1], rows[1]
    own = {"m": 0.3, "kappa": 0.5} if given else {}
    nu, psi = (5.0, 3.0) if given else (3.0, X.var())
    expected = bc.GaussianNB(variance, **own, **({"a": nu / 2, "b": psi / 2} if given else {})).fit(X, y)
    clf = gda(covariance, **own, nu=nu, psi=psi).fit(X, y)
    for rule in CLOSED_FORM:
        found = clf.predict_log_proba(X, rule=rule)
        np.testing.assert_allclose(found, expected.predict_log_proba(X, rule=rule), atol=1e-11)


def test_just_these_two_columns_are_dependent(rows):
    """Log p(x, y) is the sum of the blocks', two pairs of dependent columns among them."""
    X, y = rows
    rng = np.random.default_rng(1)
    table = pd.DataFrame(np.hstack([X, X[:, :1] + rng.normal(size=(len(y), 1))]), columns=["u", "v", "w", "t"])
    table["ward"] = rng.choice(["east", "west"], len(y))
    blocks = {("u", "v"): MultivariateGaussian(), ("w", "t"): MultivariateGaussian("class")}
    clf = bc.NaiveBayes(blocks, random_state=1).fit(table, y)
    assert clf.posterior_["posterior"]["Sigma_2"].dims[2:] == ("outcome", "feature_2", "other_feature_2")
    parts = [gda("shared").fit(table[["u", "v"]], y), gda("class").fit(table[["w", "t"]], y)]
    parts.append(bc.CategoricalNB().fit(table[["ward"]], y))
    joint = sum(part.predict_log_proba(table[list(part.feature_names_in_)], "predictive") for part in parts)
    joint = joint - 2 * np.log((np.bincount(y) + 1) / (len(y) + 3))
    expected = np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(clf.predict_proba(table, "predictive"), expected, rtol=1e-9)


# Peers


@pytest.mark.parametrize(
    ("covariance", "theirs"),
    [
        ("shared", LinearDiscriminantAnalysis(solver="lsqr")),
        ("shared", LinearDiscriminantAnalysis(solver="svd")),
        ("class", QuadraticDiscriminantAnalysis()),
    ],
    ids=str,
)
def test_maximum_likelihood_is_that_of_scikit_learn(covariance, theirs, rows):
    """Which divides by the number of rows as of 1.9; by n − K and n_k − 1 its "svd" and quadratic forms once did."""
    X, y = rows
    found = gda(covariance, inference="mle").fit(X, y).predict_proba(X)
    np.testing.assert_allclose(found, theirs.fit(X, y).predict_proba(X), rtol=0, atol=1e-10)


# Few rows


@both
@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "mle"])
def test_fewer_rows_than_features_give_finite_answers(covariance, rule):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(6, 10)), np.array([0, 0, 0, 1, 1, 2])
    proba = gda(covariance).fit(X, y).predict_proba(X, rule=rule)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


@both
def test_collinear_columns_have_no_maximum_likelihood(covariance, rows):
    X = np.column_stack([rows[0][:, :2], rows[0][:, 0] - 3 * rows[0][:, 1]])
    clf = gda(covariance).fit(X, rows[1])
    with pytest.raises(DoesNotExist, match=r"collinear or constant columns \('x0', 'x1', 'x2'\)"):
        clf.predict(X, rule="mle")
    assert np.isfinite(clf.predict_log_proba(X, rule="predictive")).all()


@pytest.mark.slow
def test_few_rows_of_many_columns_are_predicted_as_well_as_by_shrunk_covariances():
    """At ν = d + 2 the loss of 45 columns is three times the peer's."""
    columns = (15, 30, 45)
    found = np.mean([[losses(*simulated(d, seed)) for d in columns] for seed in range(8)], axis=0)
    assert (found[:, 0] < found[:, 1] + 0.01).all()
    assert (found[:, 0] < [0.42, 0.46, 0.51]).all()


def simulated(columns, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=2060)
    X = rng.normal(size=(len(y), columns))
    X[:, :5] += y[:, None]
    return X[:60], y[:60], X[60:], y[60:]


def losses(X, y, X_test, y_test):
    clf = gda("shared").fit(X, y)
    peer = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(X, y)
    return [log_loss(y_test, own) for own in (clf.predict_proba(X_test, "predictive"), peer.predict_proba(X_test))]


def test_what_was_learned_is_said(rows):
    X, y = rows
    clf = gda("class").fit(X, y)
    assert clf.posterior_["posterior"]["nu"].dims == ("chain", "draw", "outcome")
    (note,) = clf.notes_
    assert note.startswith("the degrees of freedom of the covariance's prior are learned: nu is ")
    assert " (95% interval); the prior is worth " in note
    priors = clf.prior_summary()
    assert note in priors.attrs["model"]
    assert priors.set_index("parameter").loc["nu", "prior"] == "4 + LogNormal(log 3, 1)"
    assert gda("class", nu=9.0).fit(X, y).notes_ == []


@pytest.mark.parametrize(("options", "sensitive"), [({}, "nu"), ({"nu": 40.0, "psi": 400.0}, "Sigma")])
def test_a_strong_prior_is_to_be_learned_and_a_learned_one_is_not_widened(options, sensitive, rows):
    """What is learned is part of the model: only the prior of ν is scaled, not that of Σ given it."""
    X, y = rows
    clf = gda("shared", **options).fit(X, y)
    (finding,) = clf.diagnose(X, y, checks=["M03"]).findings
    assert finding.evidence["parameter"][0].startswith(sensitive)
    assert (finding.section == "passed") == (not options)


# Missing cells


@pytest.fixture(scope="module")
def gaps(rows):
    """Return the rows with a tenth of the cells missing."""
    X, y = rows
    return np.where(np.random.default_rng(9).random(X.shape) < 0.1, np.nan, X), y


@both
def test_missing_cells_leave_estimates_but_no_closed_form(covariance, gaps):
    X, y = gaps
    with pytest.raises(Refused, match=r"no closed form \(training rows lack cells of columns 'x0', 'x1', 'x2'"):
        gda(covariance, inference="exact").fit(X, y)
    clf = gda(covariance, inference="map").fit(X, y)
    for rule in ("mle", "map"):
        np.testing.assert_allclose(clf.predict_proba(X, rule=rule).sum(axis=1), 1.0)
    with pytest.raises(Refused, match=r"this posterior has no closed form \(.*\); leave these rows out$"):
        clf.as_prior()


def test_columns_that_are_never_observed_together_have_no_maximum_likelihood(rows):
    X, y = rows[0].copy(), rows[1]
    X[::2, 0], X[1::2, 1] = np.nan, np.nan
    clf = gda("shared", inference="map").fit(X, y)
    assert np.isfinite(clf.predict_proba(X)).all()
    with pytest.raises(DoesNotExist, match="no row has both columns 'x0' and 'x1'"):
        clf.predict(X, rule="mle")


# Options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nu": 1.5}, "nu is 1.5, but 3 features need one above 2"),
        ({"nu": 2.0, "psi": 1.0}, "nu is 2, but 3 features need one above 2"),
        ({"nu": 3.5}, "nu is 3.5, at which Σ has no prior mean"),
        ({"psi": np.ones((2, 2))}, r"psi has shape \(2, 2\), which does not broadcast to \(1, 3, 3\)"),
        ({"psi": np.ones((3, 3))}, "psi must be positive definite"),
        ({"psi": np.triu(np.ones((3, 3)))}, "psi must be finite and symmetric"),
    ],
)
def test_options_are_checked(options, message, rows):
    with pytest.raises(InputError, match=message):
        bc.GaussianDiscriminantAnalysis(**{"inference": "map", **options}).fit(*rows)


@pytest.mark.parametrize("inference", ["map", Exact(draws=5)])
def test_a_prior_mean_so_far_away_that_rounding_makes_the_covariance_singular_is_named(inference):
    X = np.array([[0.1, 0.7, 0.3, 0.2], [0.9, 0.2, 0.8, 0.4]])
    with pytest.raises(Refused, match=r"numerically singular: .* a given m is far from the rows"):
        bc.GaussianDiscriminantAnalysis(m=1e14, inference=inference, random_state=1).fit(X, ["u", "v"]).predict(X)
