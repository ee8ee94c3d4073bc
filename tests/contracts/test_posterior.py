"""The posterior of every family, against Bayes' theorem, quadrature and its marginals."""

import numpy as np
from helpers.families import STANDARD_ERRORS, assert_drawn_from, assert_same_parameters, every_prior, slow_prior


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
