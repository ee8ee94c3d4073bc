"""A posterior of logistic regression as a normal, and how good a normal it is."""

import numpy as np
import pytest

import bayesclf as bc
from bayesclf.engines import Laplace
from bayesclf.engines.laplace import khat_at_draws
from bayesclf.errors import Refused


@pytest.mark.parametrize("variance", [0.4, 0.7, 0.9])
def test_khat_is_in_terms_of_draws_from_the_approximation(variance, rng):
    """For p = N(0, 1) and q = N(0, v) the ratios p/q have a Pareto tail of shape 1 − v under q."""
    x = rng.normal(size=200_000)
    log_ratio = -0.5 * x**2 + 0.5 * x**2 / variance
    assert khat_at_draws(log_ratio) == pytest.approx(1 - variance, abs=0.06)


def test_the_normal_has_the_mean_and_covariance_of_the_draws(mixed_table):
    X, y = mixed_table
    clf = bc.LogisticRegression(prior_scale=2.5, inference=Laplace(draws=250), random_state=1).fit(
        X[["age", "ward"]], y
    )
    prior = clf.as_prior().prior
    parameters = clf.draws_.parameters  # the intercept is at the means of the numbers
    every = np.concatenate([parameters["intercept"][:, :, None], parameters["weight"]], axis=2)
    ill = (every[:, 0] - every[:, 2]).T
    np.testing.assert_allclose(prior.mean[0], ill.mean(axis=1))
    np.testing.assert_allclose(prior.covariance[: len(ill), : len(ill)], np.cov(ill))
    assert prior.design is clf.model_.design
    assert prior.labels == ("ill", "mild", "well")


def test_the_more_rows_the_more_normal(rng):
    X = rng.normal(size=(2000, 2))
    y = X[:, 0] + rng.logistic(size=2000) > 0
    few, many = (
        bc.LogisticRegression(prior_scale=2.5, inference=Laplace(), random_state=1)
        .fit(X[:n], y[:n])
        .as_prior()
        .prior.khat
        for n in (25, 2000)
    )
    assert many < few - 0.1


def test_too_few_draws_for_a_covariance(mixed_table):
    X, y = mixed_table
    clf = bc.LogisticRegression(prior_scale=2.5, inference=Laplace(draws=5, chains=2), random_state=1).fit(
        X[["age", "visits"]], y
    )
    with pytest.raises(Refused, match="10 draws are too few for the covariance of 8 parameters; fit with at least 80"):
        clf.as_prior()
    clf = bc.LogisticRegression(prior_scale=2.5, inference=Laplace(draws=40, chains=2), random_state=1)
    assert isinstance(clf.fit(X[["age", "visits"]], y).as_prior(), bc.LogisticRegression)
