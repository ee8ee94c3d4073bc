"""Completed scatters are those of rows whose missing cells are drawn one by one, and their alternation is exact."""

import numpy as np
import pytest
from scipy import stats

from bayesclf.families import Axes, MultivariateGaussian
from bayesclf.families.multivariate.groups import GroupedMoments

AXES = Axes(("no", "yes"), ("a", "b", "c"))
PSI = np.array([[2.0, 0.6, 0.2], [0.6, 1.5, 0.1], [0.2, 0.1, 1.0]])


def rows_with_gaps(rng, n=14):
    y = rng.integers(2, size=n)
    X = rng.multivariate_normal([1.0, 5.0, -2.0], PSI / 2, size=n) + y[:, None]
    X[rng.random(X.shape) < 0.4] = np.nan
    return X, y


def completed(X, y, mu, Sigma, rng, draws):
    """Return means (draw, outcome, feature) and scatters of rows whose missing cells are drawn given the others."""
    Z = np.tile(X, (draws, 1, 1))
    for row, label in enumerate(y):
        u, own = np.isnan(X[row]), Sigma[min(label, len(Sigma) - 1)]
        B = own[np.ix_(u, ~u)] @ np.linalg.inv(own[np.ix_(~u, ~u)])
        mean = mu[label, u] + B @ (X[row, ~u] - mu[label, ~u])
        factor = np.linalg.cholesky(own[np.ix_(u, u)] - B @ own[np.ix_(~u, u)])
        Z[:, row, u] = mean + rng.standard_normal((draws, u.sum())) @ factor.T
    parts = [Z[:, y == label] for label in (0, 1)]
    centred = [part - part.mean(axis=1, keepdims=True) for part in parts]
    means = np.stack([part.mean(axis=1) for part in parts], axis=1)
    return means, np.stack([part.swapaxes(1, 2) @ part for part in centred], axis=1)


@pytest.mark.parametrize("rows", [14, 60])
@pytest.mark.parametrize("covariance", ["shared", "class"])
def test_scatters_are_those_of_rows_completed_one_by_one(covariance, rows, rng):
    """So are weighted sums of all their numbers, which tell whether these depend on each other as they should."""
    X, y = rows_with_gaps(rng, rows)
    kept = ~np.isnan(X).all(axis=1)
    X, y = X[kept], y[kept]
    statistics = GroupedMoments.of(X, y, AXES)
    prior = MultivariateGaussian(covariance).resolve_prior(statistics)
    parameters = prior.draw(rng, 1)
    mu, Sigma = parameters["mu"][0], parameters["Sigma"][0].reshape(-1, 3, 3)
    draws = 1500
    alternation = prior.alternation(statistics, draws)
    n, *found = alternation.completed(np.tile(mu, (draws, 1, 1)), np.tile(Sigma, (draws, 1, 1, 1)), rng)
    np.testing.assert_array_equal(n, np.bincount(y))
    flat = [
        np.hstack([values.reshape(draws, -1) for values in parts])
        for parts in (found, completed(X, y, mu, Sigma, rng, draws))
    ]
    weights = rng.standard_normal((flat[0].shape[1], 5))
    for draw, other in zip(*(np.hstack([values, values @ weights]).T for values in flat), strict=True):
        assert stats.ks_2samp(draw, other).pvalue > 1e-5
