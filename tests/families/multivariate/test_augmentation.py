"""Completed scatters are those of rows whose missing cells are drawn one by one, and their alternation is exact."""

import numpy as np
import pytest
from arviz_stats.base import array_stats
from helpers.families import chained
from scipy import stats

from bayesclf.families import Axes, MultivariateGaussian
from bayesclf.families.multivariate.groups import GroupedMoments

AXES = Axes(("no", "yes"), ("a", "b", "c"))
STANDARD_ERRORS = 4.5
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


def monotone_posterior(X, prior, rng, draws):
    """Return independent draws of μ and Σ of two columns of one class, of which the second has gaps.

    Under the normal-inverse-Wishart prior the first column's mean and variance are independent of the regression of the
    second on it, and the likelihood of rows with such gaps factors likewise: all rows inform the former, complete ones
    the latter.
    """
    (m1, m2), kappa, nu, psi = prior.m[0], prior.kappa[0], prior.nu[0], prior.psi[0]
    x, n = X[:, 0], len(X)
    scatter = ((x - x.mean()) ** 2).sum() + kappa * n / (kappa + n) * (x.mean() - m1) ** 2
    variance = stats.invgamma.rvs((nu - 1 + n) / 2, scale=(psi[0, 0] + scatter) / 2, size=draws, random_state=rng)
    mu1 = rng.normal((kappa * m1 + n * x.mean()) / (kappa + n), np.sqrt(variance / (kappa + n)))
    both = X[~np.isnan(X[:, 1])]
    design = np.vstack([[np.sqrt(kappa), np.sqrt(kappa) * m1], np.column_stack([np.ones(len(both)), both[:, 0]])])
    target = np.append(np.sqrt(kappa) * m2, both[:, 1])
    slope = psi[0, 1] / psi[0, 0]
    precision = design.T @ design + np.diag([0.0, psi[0, 0]])
    weights = np.linalg.solve(precision, design.T @ target + [0.0, psi[0, 0] * slope])
    rest = psi[1, 1] - psi[0, 1] * slope + target @ target + psi[0, 0] * slope**2 - weights @ precision @ weights
    noise = stats.invgamma.rvs((nu + len(both)) / 2, scale=rest / 2, size=draws, random_state=rng)
    shape = np.linalg.cholesky(np.linalg.inv(precision))
    a, b = (weights + np.sqrt(noise)[:, None] * (rng.standard_normal((draws, 2)) @ shape.T)).T
    return np.column_stack([mu1, a + b * mu1, variance, b * variance, noise + b**2 * variance])


def test_monotone_gaps_have_the_posterior_of_a_regression(rng):
    X = rng.multivariate_normal([1.0, 5.0], PSI[:2, :2], size=25)
    X[rng.random(25) < 0.4, 1] = np.nan
    axes = Axes(("only",), ("a", "b"))
    statistics = GroupedMoments.of(X, np.zeros(25, dtype=int), axes)
    given = {"m": np.array([0.5, 4.0]), "kappa": 1.5, "nu": 5.0, "psi": PSI[:2, :2]}
    prior = MultivariateGaussian(**given).resolve_prior(statistics)
    expected = monotone_posterior(X, prior, rng, 40_000)
    chains, draws = 40, 300
    found = chained(prior.alternation(statistics, chains), rng, 50, draws)
    assert found["Sigma"].shape == (chains * draws, 2, 2)
    Sigma = found["Sigma"].reshape(-1, 4)[:, [0, 1, 3]]
    for values, exact in zip(np.column_stack([found["mu"][:, 0], Sigma]).T, expected.T, strict=True):
        scale = np.quantile(exact, [0.1, 0.5, 0.9])
        ours, theirs = (np.tanh((part - scale[1]) / (scale[2] - scale[0])) for part in (values, exact))
        ours = ours.reshape(chains, draws)
        for method in ("mean", "sd"):
            difference = np.subtract(*(getattr(part, method.replace("sd", "std"))() for part in (ours, theirs)))
            error = np.hypot(array_stats.mcse(ours, method=method), theirs.std() / np.sqrt(len(theirs)))
            assert abs(difference) < STANDARD_ERRORS * error
