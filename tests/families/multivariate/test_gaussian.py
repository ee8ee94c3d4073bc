"""The multivariate Gaussian family where its contract does not look: missing cells, and priors without closed form."""

from dataclasses import replace

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from helpers.cases import MULTIVARIATE_GAUSSIAN
from helpers.families import PYTHON
from scipy import stats

from bayesclf.errors import DoesNotExist, Refused
from bayesclf.families import Axes, Gaussian, MultivariateGaussian
from bayesclf.families.multivariate import gaussian
from bayesclf.pymc_models import multivariate_normals

AXES = Axes(("no", "maybe", "yes"), ("u", "v", "w"))
both = pytest.mark.parametrize("covariance", ["shared", "class"])


def data(seed=0, n=40, missing=0.15):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = rng.normal(size=(n, 3)) @ [[1.0, 0.6, 0.0], [0.0, 0.8, -0.5], [0.0, 0.0, 0.7]] + y[:, None] * [1.0, 0.0, -1.0]
    return np.where(rng.random(X.shape) < missing, np.nan, X), y


def resolved(covariance, X, y, **options):
    family = MultivariateGaussian(covariance, **options)
    statistics = family.statistics(X, y, AXES)
    return family.resolve_prior(statistics), statistics


def row_log_density(X, y, parameters):
    """Return the marginal log density of the seen cells, one row at a time, by SciPy."""
    mu, Sigma = parameters["mu"][0], np.broadcast_to(parameters["Sigma"][0], (3, 3, 3))
    found = np.zeros(len(X))
    for i, (x, k) in enumerate(zip(X, y, strict=True)):
        s = ~np.isnan(x)
        if s.any():
            found[i] = stats.multivariate_normal.logpdf(x[s], mu[k][s], Sigma[k][np.ix_(s, s)])
    return found


# Statistics


def test_single_columns_have_the_moments_of_independent_ones():
    X, y = data(missing=0.4)
    cells, expected = MultivariateGaussian().statistics(X, y, AXES).cells(), Gaussian().statistics(X, y, AXES)
    for name, values in expected.arrays().items():
        np.testing.assert_allclose(cells.arrays()[name], values, atol=1e-11, err_msg=name)


# Densities


@pytest.mark.parametrize("options", [{}, {"nu": 7.5}])
@both
def test_the_prior_expects_the_variances_within_the_classes(covariance, options):
    """They have n − 1 degrees of freedom a class, and the pooled variance counts for two more."""
    X, y = data()
    Sigma = resolved(covariance, X, y, **options)[0].mean()["Sigma"][0]
    of_classes = [[list(range(3))], [[k] for k in range(3)]][covariance == "class"]
    for own, members in zip(Sigma.reshape(-1, 3, 3), of_classes, strict=True):
        squares = sum(np.nanvar(X[y == k], axis=0) * np.isfinite(X[y == k]).sum(axis=0) for k in members)
        freedom = sum(np.isfinite(X[y == k]).sum(axis=0) - 1 for k in members)
        expected = (squares + 2 * np.nanvar(X, axis=0)) / (freedom + 2)
        np.testing.assert_allclose(own, np.diag(expected), atol=1e-12)


# Degrees of freedom that are learned


@both
def test_estimates_are_those_given_the_degrees_of_freedom_found(covariance):
    X, y = data(3, missing=0.2)
    prior, statistics = resolved(covariance, X, y)
    found = prior.map(statistics)
    c = np.atleast_1d(found["nu"][0]) - 4
    given = replace(prior, nu=c + 4, psi=c[:, None, None] * prior.scale[:, :, None] * np.eye(3), scale=None)
    for name, values in given.map(statistics).items():
        np.testing.assert_allclose(found[name], values, atol=1e-8)


def test_a_posterior_that_becomes_a_prior_says_what_is_known_of_the_degrees():
    prior, statistics = resolved("class", *data(missing=0.0))
    said = [line.prior for line in prior.posterior(statistics).priors() if line.parameter == "Sigma"]
    assert all(words.endswith("; both given the rows of an earlier fit") for words in said)


def test_a_row_far_out_has_the_density_of_a_ratio_of_evidences():
    X, y = data(missing=0.0)
    prior, statistics = resolved("shared", X, y)
    x = X[:1] + 300.0
    more = [prior.statistics(np.vstack([X, x]), np.append(y, k), AXES) for k in range(3)]
    expected = [(prior.log_evidence(own) - prior.log_evidence(statistics)).sum() for own in more]
    np.testing.assert_allclose(prior.posterior(statistics).log_predictive(x)[0], expected, rtol=1e-8)


@pytest.mark.parametrize("psi", [2.0, np.array([1.0, 2.0, 3.0])])
def test_a_scale_that_is_not_a_matrix_is_a_diagonal(psi):
    prior, _ = resolved("shared", *data(), psi=psi)
    np.testing.assert_array_equal(prior.psi[0], np.diag(np.broadcast_to(psi, 3)))


@pytest.mark.slow
@both
@pytest.mark.parametrize("d", [1, 2])
def test_predictive_intervals_of_six_rows_a_class_are_nearly_calibrated(covariance, d):
    """The prior sees the rows twice, which takes less than five points off: ν does not run away."""
    axes, factor, found = Axes(("no", "yes"), AXES.features[:d]), np.linalg.cholesky(0.4 * np.eye(d) + 0.6), []
    y, grid = np.repeat([0, 1], 6), np.linspace(-25, 25, 4001)
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(12, d)) @ factor.T + 2 * y[:, None]
        family = MultivariateGaussian(covariance)
        statistics = family.statistics(X, y, axes)
        posterior = family.resolve_prior(statistics).posterior(statistics)
        cells = np.column_stack([grid, *[np.full_like(grid, np.nan)] * (d - 1)])
        below = np.cumsum(np.exp(posterior.log_predictive(cells)[:, 0])) * (grid[1] - grid[0])
        np.testing.assert_allclose(below[-1], 1, atol=1e-3)
        u = np.interp(rng.normal(size=400) * factor[0, 0], grid, below)
        found.append([np.mean(np.abs(u - 0.5) < level / 2) for level in (0.5, 0.8, 0.9)])
    np.testing.assert_allclose(np.mean(found, axis=0), [0.5, 0.8, 0.9], atol=0.05)


# Expectation and maximization


@both
@pytest.mark.parametrize("estimate", ["mle", "map"])
def test_no_step_from_an_estimate_of_missing_cells_rises(covariance, estimate):
    """The slope of the density of rows and prior, written with SciPy, is 0."""
    X, y = data(4, n=45)
    prior, statistics = resolved(covariance, X, y, nu=5.0)
    case = replace(next(one for one in MULTIVARIATE_GAUSSIAN if one.family.covariance == covariance), family=prior)

    def log_density(vector):
        parameters = case.constrained(vector)
        of_prior = case.log_prior(prior, parameters) if estimate == "map" else 0.0
        return row_log_density(X, y, parameters).sum() + of_prior

    at = case.unconstrained(getattr(prior, estimate)(statistics))
    steps = 1e-4 * np.eye(len(at))
    slopes = [(log_density(at + step) - log_density(at - step)) / 2e-4 for step in steps]
    np.testing.assert_allclose(slopes, 0.0, atol=1e-3)


def test_a_posterior_from_missing_cells_is_refused():
    prior, statistics = resolved("shared", *data())
    with pytest.raises(Refused, match="no PyMC model: use inference='augmentation'"):
        prior.pymc(statistics, "")
    assert prior.not_conjugate(statistics).startswith("training rows lack cells of columns 'u', 'v', 'w'")
    with pytest.raises(Refused, match="this posterior has no closed form"):
        prior.posterior(statistics)


# PyMC


@pytest.mark.parametrize(("rows", "reason"), [(3, r"no more rows than features \(3 rows\)"), (4, r"columns \('w'\)")])
def test_a_singular_covariance_has_too_few_rows_or_a_constant_column(rows, reason):
    X = np.column_stack([data(missing=0.0)[0][:rows, :2], np.ones(rows)])
    axes = Axes(("all",), ("u", "v", "w"))
    with pytest.raises(DoesNotExist, match=reason):
        MultivariateGaussian().mle(MultivariateGaussian().statistics(X, np.zeros(rows, dtype=int), axes))


@both
def test_pymc_rows_with_missing_cells_have_the_density_of_their_observed_ones(covariance, rng):
    X, y = data(missing=0.3)
    parameters = next(case for case in MULTIVARIATE_GAUSSIAN if case.family.covariance == covariance).point(rng)
    with pm.Model(coords={"outcome": AXES.labels, "feature": AXES.features, "other_feature": AXES.features}) as model:
        mu, chol = pt.constant(parameters["mu"][0]), pt.constant(np.linalg.cholesky(parameters["Sigma"][0]))
        multivariate_normals(mu, chol, X, pm.Data("labels", y))
    found = model.logp().eval(mode=PYTHON)
    np.testing.assert_allclose(found, row_log_density(X, y, parameters).sum(), rtol=1e-10)


def test_factors_that_are_kept_change_no_density(monkeypatch, rng):
    X, _ = data(missing=0.4)
    family, parameters = MultivariateGaussian(), MULTIVARIATE_GAUSSIAN[0].point(rng)
    first = family.log_density(X, parameters)
    kept = len(gaussian.KEPT)
    np.testing.assert_array_equal(family.log_density(X, parameters), first)
    assert len(gaussian.KEPT) == kept > 1
    monkeypatch.setattr(gaussian, "CACHE_BYTES", 0)
    np.testing.assert_array_equal(family.log_density(X, {name: v.copy() for name, v in parameters.items()}), first)
    assert len(gaussian.KEPT) <= 1
