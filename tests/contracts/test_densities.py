"""The density of every family, against SciPy and itself in other units; missing cells."""

import numpy as np
import pytest
from helpers.cases import GAUSSIAN, MIXED, MULTINOMIAL, PRIORS
from helpers.families import MAIN_SUITE, every_prior, ids

from bayesclf.families.terms import Pair

CELLWISE = [case for case in PRIORS if case not in MULTINOMIAL]
every_cellwise_prior = pytest.mark.parametrize("case", **ids(CELLWISE))
gaussian_prior = pytest.mark.parametrize("case", **ids([case for case in PRIORS if case in GAUSSIAN]))


@every_prior
def test_log_density_is_that_of_scipy(case, rng):
    X, _ = case.data(1)
    point = case.point(rng)
    found = case.prior.log_density(X, point)
    assert found.shape == (1, len(X), 3)
    np.testing.assert_allclose(case.prior.log_density_given(point)(X), found, rtol=1e-12)
    for k in range(3):
        np.testing.assert_allclose(found[0, :, k], case.row_log_density(X, np.full(len(X), k), point), rtol=1e-11)


@every_prior
def test_prior_and_likelihood_of_the_statistics_are_those_of_scipy(case, rng):
    """By part, up to constants; the prior per log θ of what is above 0, and covariances per |Σ|^(−(d + 1)/2) dΣ."""
    X, y = case.data(1)
    points = [case.point(rng) for _ in range(3)]
    together = {name: np.concatenate([point[name] for point in points]) for name in points[0]}
    own = case.prior.log_prior(together)
    expected = [case.log_prior(case.prior, point) + case.log_measure(point) for point in points]
    np.testing.assert_allclose(np.diff(own.log_density.sum(axis=1)), np.diff(expected), rtol=1e-9, atol=1e-8)
    statistics = case.statistics(X, y)
    if not case.prior.not_conjugate(statistics):
        likelihood = case.prior.posterior(statistics).log_prior(together).ratio(own)
        expected = [case.row_log_density(X, y, point).sum() for point in points]
        np.testing.assert_allclose(np.diff(likelihood.log_density.sum(axis=1)), np.diff(expected), atol=1e-8)


def spread(case, X, feature):
    """Return every row once for each value of one cell, and the weights of these values."""
    values, weights = case.cell_grid(feature)
    rows = np.repeat(X, len(values), axis=0)
    rows[:, feature] = np.tile(values, len(X))
    return rows, weights


@every_cellwise_prior
@pytest.mark.parametrize("feature", [0, 1, 2])
def test_a_missing_cell_is_integrated_out_of_the_density(case, feature, rng):
    X, _ = case.data(1, n=4)
    point = case.point(rng)
    rows, weights = spread(case, X, feature)
    density = np.exp(case.prior.log_density(rows, point)[0]).reshape(len(X), len(weights), 3)
    X[:, feature] = case.absent
    marginal = np.exp(case.prior.log_density(X, point)[0])
    np.testing.assert_allclose(np.einsum("rvk,v->rk", density, weights), marginal, rtol=1e-9)


# A missing number on which another one depends has no predictive in closed form: tests/families/mixed.
IN_CLOSED_FORM = [
    pytest.param(case, feature, id=f"{case.name}-{feature}", marks=() if case.name in MAIN_SUITE else pytest.mark.slow)
    for case in CELLWISE
    for feature in range(3)
    if case not in MIXED or not any(feature in on for _, _, on in case.lines)
]


@pytest.mark.parametrize(("case", "feature"), IN_CLOSED_FORM)
def test_a_missing_cell_is_integrated_out_of_the_predictive(case, feature):
    X, _ = case.data(1, n=4)
    rows, weights = spread(case, X, feature)
    density = np.exp(case.posterior.log_predictive(rows)).reshape(len(X), len(weights), 3)
    X[:, feature] = case.absent
    # Student's tails end the smoothness of the integrand at u = ±π/2, where a grid of 4,000 leaves about 1e-7.
    marginal = np.exp(case.posterior.log_predictive(X))
    np.testing.assert_allclose(np.einsum("rvk,v->rk", density, weights), marginal, rtol=1e-6)


@gaussian_prior
@pytest.mark.parametrize("draws", [1, 50])
def test_a_distant_origin_costs_no_digits_of_the_density(case, draws):
    X, _ = case.data(1)
    points = case.posterior.draw(np.random.default_rng(0), draws)
    far = {"mu": points["mu"] + 1e6, "sigma2": points["sigma2"]}
    # x and μ keep 1e-10 of their unit at 1e6, which z²/2 multiplies by |z|/σ, here below 100.
    np.testing.assert_allclose(
        case.prior.log_density(X + 1e6, far), case.prior.log_density(X, points), rtol=1e-7, atol=1e-7
    )


@every_prior
def test_contributions_are_those_of_the_columns_and_add_up_to_the_log_ratio_of_two_classes(case, rng):
    X, _ = case.data(3)
    parameters, rows = case.point(rng), np.arange(len(X))
    pair = Pair(rng.integers(3, size=len(X)), rng.integers(3, size=len(X)))
    found = case.prior.contributions(X, parameters, pair)
    density = case.prior.log_density(X, parameters)[0]
    total = np.bincount(found.row, found.values[0], minlength=len(X))
    np.testing.assert_allclose(total, density[rows, pair.outcome] - density[rows, pair.against], atol=1e-9)
    assert [column for columns in found.features for column in columns] == list(case.axes.features)
    assert found.values.shape == (1, len(found.row))
    assert found.feature.max(initial=0) < len(found.features)
