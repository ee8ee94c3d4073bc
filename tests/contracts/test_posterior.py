"""The posterior of every family, against Bayes' theorem, quadrature and its marginals."""

from dataclasses import fields

import numpy as np
import pytest
from helpers.families import STANDARD_ERRORS, assert_drawn_from, assert_same_parameters, every_prior, slow_prior
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import logsumexp

from bayesclf.families import Axes, Categorical, Family, Gaussian


def hyperparameters(family):
    """Return all arrays among the fields of a family, and of families in it."""
    found = {}
    for field in fields(family):
        value = getattr(family, field.name)
        if isinstance(value, np.ndarray):
            found[field.name] = value
        elif isinstance(value, Family):
            found |= hyperparameters(value)
    return found


@every_prior
def test_posterior_and_evidence_are_bayes_theorem_at_every_point(case, rng):
    """Log prior + log likelihood − log posterior is the log evidence, whatever θ."""
    X, y = case.data(3)
    statistics = case.statistics(X, y)
    posterior, evidence = case.prior.posterior(statistics), []
    for _ in range(5):
        point = case.point(rng)
        joint = case.log_prior(case.prior, point) + case.row_log_density(X, y, point).sum()
        evidence.append(joint - case.log_prior(posterior, point))
    np.testing.assert_allclose(evidence, case.prior.log_evidence(statistics).sum(), rtol=1e-10)


@slow_prior
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 20))
def test_posterior_by_parts_is_the_posterior_of_the_whole(case, seed, n):
    X, y = case.data(seed, n)
    half = case.statistics(X[: n // 2], y[: n // 2]), case.statistics(X[n // 2 :], y[n // 2 :])
    in_two = hyperparameters(case.prior.posterior(half[0]).posterior(half[1]))
    at_once = hyperparameters(case.prior.posterior(half[0] + half[1]))
    assert_same_parameters(in_two, at_once, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("x", [[], [0], [1, 1, 0, 1]])
def test_categorical_posterior_is_that_of_quadrature(x):
    axes = Axes(("k",), ("u",), ((0, 1),))
    X = np.array(x, dtype=int)[:, None]
    family = Categorical(np.array([[1.5, 3.0]]))
    statistics = family.statistics(X, np.zeros(len(x), dtype=int), axes)
    prior = family.resolve_prior(statistics)
    found = prior.posterior(statistics)

    def joint(theta, power):
        return theta**power * stats.beta.pdf(theta, 1.5, 3.0) * np.prod(np.where(X[:, 0] == 0, theta, 1 - theta))

    norm, first, second = (integrate.quad(joint, 0, 1, args=(power,))[0] for power in (0, 1, 2))
    np.testing.assert_allclose(prior.log_evidence(statistics), np.log(norm), atol=1e-7)
    np.testing.assert_allclose(found.mean()["theta"][0, 0, 0], first / norm, rtol=1e-7)
    a, b = found.alpha[0]
    np.testing.assert_allclose(stats.beta(a, b).var(), second / norm - (first / norm) ** 2, rtol=1e-6)


@pytest.mark.parametrize("x", [[], [1.3], [0.2, 1.9, -0.4]])
def test_gaussian_posterior_is_that_of_quadrature(x):
    axes = Axes(("k",), ("u",))
    X = np.array(x)[:, None]
    family = Gaussian(m=0.5, kappa=0.8, a=4.0, b=2.0)
    statistics = family.statistics(X, np.zeros(len(x), dtype=int), axes)
    prior = family.resolve_prior(statistics)
    found = prior.posterior(statistics)
    # Even grids in standardized μ and in log σ²: the sums converge faster than any power of the step.
    t, log_sigma2 = np.meshgrid(np.linspace(-12, 12, 241), np.linspace(-6, 8, 1401), indexing="ij")
    sigma2 = np.exp(log_sigma2)
    mu = 0.5 + t * np.sqrt(sigma2 / 0.8)
    log_joint = stats.norm.logpdf(t) + stats.invgamma.logpdf(sigma2, 4.0, scale=2.0) + log_sigma2
    log_joint += stats.norm.logpdf(X[:, :, None], mu, np.sqrt(sigma2)).sum(axis=0)
    weights = np.exp(log_joint - logsumexp(log_joint))
    cell = (t[1, 0] - t[0, 0]) * (log_sigma2[0, 1] - log_sigma2[0, 0])
    np.testing.assert_allclose(prior.log_evidence(statistics), np.log(cell) + logsumexp(log_joint), atol=1e-6)
    mean = found.mean()
    np.testing.assert_allclose(mean["mu"][0, 0, 0], (weights * mu).sum(), rtol=1e-6)
    np.testing.assert_allclose(mean["sigma2"][0, 0, 0], (weights * sigma2).sum(), rtol=1e-6)


@slow_prior
def test_draws_follow_the_posterior(case, rng):
    assert_drawn_from(case.posterior.draw(rng, 4000), case.marginals(case.posterior))


@every_prior
def test_mean_is_that_of_the_marginals(case):
    expected = {name: marginal.mean()[None] for name, marginal in case.marginals(case.posterior).items()}
    assert_same_parameters(case.posterior.mean(), expected, rtol=1e-12)


@slow_prior
def test_predictive_is_the_average_density_over_the_posterior(case, rng):
    X, _ = case.data(4, n=10)
    density = np.exp(case.posterior.log_density(X, case.posterior.draw(rng, 20_000)))
    error = density.std(axis=0) / np.sqrt(len(density))
    predictive = np.exp(case.posterior.log_predictive(X))
    assert (np.abs(density.mean(axis=0) - predictive) <= STANDARD_ERRORS * error + 1e-12).all()


def test_small_concentrations_are_drawn_without_underflow(rng):
    axes = Axes(("k",), ("u",), ((0, 1, 2),))
    theta = Categorical(np.full((1, 3), 1e-4), axes=axes).draw(rng, 2000)["theta"]
    assert np.isfinite(theta).all()
    np.testing.assert_allclose(theta.sum(axis=2), 1.0)
