"""A normal prior of any covariance: its density by SciPy, by the machine code and by PyMC."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import bayesclf as bc
from bayesclf.engines import Laplace
from bayesclf.models.logistic.likelihood import Likelihood
from bayesclf.models.logistic.prior import against_reference

COLUMNS = ["age", "dose", "ward"]


def updated(mixed_table, classes, inference="map"):
    X, y = mixed_table
    y = y if classes == 3 else np.where(y == "ill", "ill", "well")
    laplace = Laplace(limit=1.0)
    first = bc.LogisticRegression(prior_scale=2.5, inference=laplace, random_state=1).fit(X[COLUMNS][:50], y[:50])
    return first.as_prior().set_params(inference=inference).fit(X[COLUMNS][50:], y[50:])


@pytest.fixture(scope="module", params=[2, 3])
def clf(request, mixed_table):
    return updated(mixed_table, request.param)


def test_density_gradient_and_precision_are_those_of_a_normal(clf, rng):
    prior = clf.model_.weight_prior
    theta = prior.mean + rng.normal(size=(5, *prior.mean.shape))
    normal = stats.multivariate_normal(prior.mean.ravel(), prior.covariance)
    np.testing.assert_allclose(prior.log_density(theta), normal.logpdf(theta.reshape(5, -1)), rtol=1e-9)
    np.testing.assert_allclose(prior.precision() @ prior.covariance, np.eye(prior.mean.size), atol=1e-8)
    slope = optimize.approx_fprime(theta[0].ravel(), normal.logpdf, 1e-6)
    np.testing.assert_allclose(prior.gradient(theta[0]).ravel(), slope, atol=1e-4)


def test_draws_have_its_moments(clf, rng):
    prior = clf.model_.weight_prior
    draws = prior.draw(rng, 20_000).reshape(20_000, -1)
    z = (draws.mean(axis=0) - prior.mean.ravel()) / np.sqrt(np.diag(prior.covariance) / 20_000)
    assert np.abs(z).max() < 4.5
    root = np.linalg.cholesky(prior.covariance)
    whitened = np.linalg.solve(root, np.linalg.solve(root, np.cov(draws.T)).T)
    np.testing.assert_allclose(whitened, np.eye(len(root)), atol=5 / np.sqrt(20_000) * np.sqrt(2))


def test_the_machine_code_computes_likelihood_times_prior(clf, rng):
    model, density = clf.model_, clf.model_.density()
    z = rng.normal(size=(3, density.size))
    at = [density.parameters(one) for one in z]
    values = [model.log_posterior(one["intercept"][None], one["weight"][None])[0] for one in at]
    found = [density(one) for one in z]
    np.testing.assert_allclose(np.diff([value for value, _ in found]), np.diff(values), rtol=1e-9, atol=1e-8)
    slope = optimize.approx_fprime(z[0], lambda one: density(one)[0], 1e-6)
    np.testing.assert_allclose(found[0][1], slope, atol=1e-4)


def test_pymc_has_the_same_density(clf, rng):
    model, pymc = clf.model_, clf.model_.pymc()
    logp = pymc.compile_logp(mode="FAST_COMPILE")
    for _ in range(3):
        theta = model.weight_prior.draw(rng, 1)
        point = {"intercept": theta[0, :, 0], "weight": theta[0, :, 1:] / model.design.scale}
        own = model.log_posterior(**model.hypotheses(theta))[0]
        assert float(logp(point)) == pytest.approx(own, rel=1e-9)


def test_pymc_draws_from_the_prior_what_it_is(clf):
    import pymc as pm

    prior = clf.prior
    with clf.model_.pymc() as model:
        drawn = pm.draw(model["weight"], draws=500, random_seed=3, mode="FAST_COMPILE")
    flat = drawn.reshape(500, -1)
    places = np.arange(prior.mean.size).reshape(prior.mean.shape)[:, 1:].ravel()
    mean, sd = prior.mean[:, 1:].ravel(), np.sqrt(np.diag(prior.covariance))[places]
    np.testing.assert_allclose((flat.mean(axis=0) - mean) / sd, 0, atol=4.5 / np.sqrt(500))
    np.testing.assert_allclose(flat.std(axis=0) / sd, 1, atol=4.5 / np.sqrt(1000))


def test_the_mode_is_that_of_scipy(clf):
    model, prior = clf.model_, clf.model_.weight_prior
    X = np.column_stack([np.ones(len(model.X)), model.X])
    codes = np.where(model.y == (0 if len(model.labels) == 2 else 2), -1, model.y - (len(model.labels) == 2))
    likelihood = Likelihood(X, codes, model.sample_weight, len(model.labels) - 1)
    normal = stats.multivariate_normal(prior.mean.ravel(), prior.covariance)

    def loss(theta):
        return -likelihood.value(theta.reshape(prior.mean.shape)) - normal.logpdf(theta)

    found = optimize.minimize(loss, prior.mean.ravel(), method="BFGS", options={"gtol": 1e-7}).x
    mode = clf.posterior_["map"].to_dataset()
    own = np.concatenate([mode["intercept"].values[0, 0][:, None], mode["weight"].values[0, 0] * model.design.scale], 1)
    own = against_reference(own, model.symmetric, axis=0)
    np.testing.assert_allclose(own, found.reshape(own.shape), atol=2e-4)


def test_the_prior_is_in_the_columns_own_units(mixed_table):
    X, y = mixed_table
    X = X[["age", "visits"]].fillna(40.0)
    y = np.where(y == "ill", "ill", "well")
    other = pd.DataFrame({"age": X["age"] / 12 + 3, "visits": X["visits"] * 7})
    first = [
        bc.LogisticRegression(prior_scale=2.5, inference=Laplace(draws=250), random_state=1).fit(table[:50], y[:50])
        for table in (X, other)
    ]
    second = [
        clf.as_prior().set_params(inference="map").fit(table[50:], y[50:])
        for clf, table in zip(first, (X, other), strict=True)
    ]
    np.testing.assert_allclose(second[0].predict_proba(X), second[1].predict_proba(other), atol=1e-6)
    np.testing.assert_allclose(first[0].as_prior().prior.khat, first[1].as_prior().prior.khat, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["pymc", "numpyro"])
def test_every_sampler_finds_the_same_posterior(sampler, mixed_table):
    exact, other = (
        updated(mixed_table, 3, inference).summary(of="parameters")
        for inference in (Laplace(draws=2000), bc.engines.NUTS(draws=1000, sampler=sampler))
    )
    error = exact["sd"] / np.sqrt(1000)
    assert (np.abs(exact["mean"] - other["mean"]) < 5 * error).all()
