"""The posterior of every family, against Bayes' theorem, quadrature and its marginals."""

from dataclasses import fields

import numpy as np
from helpers.families import STANDARD_ERRORS, assert_drawn_from, assert_same_parameters, every_prior, slow_prior
from hypothesis import given
from hypothesis import strategies as st

from bayesclf.families import Axes, Categorical, Family


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
