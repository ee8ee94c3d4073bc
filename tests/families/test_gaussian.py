"""Half-normal scales instead of the conjugate prior of the Gaussian family."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats

import bayesclf as bc
from bayesclf import inference
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.families import Axes, Gaussian, HalfNormal
from bayesclf.families.gaussian import SHARED_OVER

AXES = Axes(("a", "b"), ("u", "v"))
SCALE = 1.7
KAPPA = 0.6


@pytest.fixture
def rows():
    rng = np.random.default_rng(8)
    y = np.repeat([0, 1], [5, 7])
    return rng.normal(size=(12, 2)) * [1.0, 3.0] + y[:, None], y


def resolved(variance, X, y):
    family = Gaussian(variance, m=0.3, kappa=KAPPA, scale_prior=HalfNormal(SCALE))
    statistics = family.statistics(X, y, AXES)
    return family.resolve_prior(statistics), statistics


def log_density(variance, X, y, mu, sigma2):
    """Return the log posterior of μ and of the variances themselves, by SciPy, row by row."""
    spread = np.broadcast_to(np.expand_dims(sigma2, SHARED_OVER[variance]), mu.shape)
    sigma = np.sqrt(sigma2)
    prior = (stats.halfnorm.logpdf(sigma, scale=SCALE) - np.log(2 * sigma)).sum()
    prior += stats.norm.logpdf(mu, 0.3, np.sqrt(spread / KAPPA)).sum()
    return prior + stats.norm.logpdf(X, mu[y], np.sqrt(spread)[y]).sum()


@pytest.mark.parametrize("variance", SHARED_OVER)
def test_map_is_the_mode_in_means_and_variances(rows, variance):
    X, y = rows
    family, statistics = resolved(variance, X, y)
    mode = family.map(statistics)
    mu, sigma2 = mode["mu"][0], mode["sigma2"][0]

    def loss(parameters):
        own = np.exp(parameters[mu.size :]).reshape(np.shape(sigma2))
        return -log_density(variance, X, y, parameters[: mu.size].reshape(mu.shape), own)

    start = np.concatenate([np.zeros(mu.size), np.zeros(np.size(sigma2))])
    found = optimize.minimize(loss, start, method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(mu.ravel(), found.x[: mu.size], atol=1e-5)
    np.testing.assert_allclose(np.ravel(sigma2), np.exp(found.x[mu.size :]), rtol=1e-5)


@pytest.mark.parametrize("variance", SHARED_OVER)
def test_pymc_has_the_density_of_the_rows(rows, variance):
    import pymc as pm

    X, y = rows
    family, statistics = resolved(variance, X, y)
    with pm.Model(coords={"outcome": AXES.labels, "feature": AXES.features}) as model:
        family.pymc(statistics, "")
    logp = model.compile_logp(mode="FAST_COMPILE")
    rng = np.random.default_rng(1)
    gaps = []
    for _ in range(5):
        draw = family.draw(rng, 1)
        mu, sigma2 = draw["mu"][0], draw["sigma2"][0]
        point = {"sigma_log__": np.log(np.sqrt(sigma2)), "mu": mu}
        # PyMC's density is of log σ: dσ²/d log σ = 2σ².
        gaps.append(float(logp(point)) - log_density(variance, X, y, mu, sigma2) - np.log(2 * sigma2).sum())
    np.testing.assert_allclose(gaps, 0, atol=1e-9)


def test_exact_refuses_and_auto_takes_nuts(rows):
    clf = bc.GaussianNB(scale_prior=HalfNormal(), inference="exact")
    with pytest.raises(Refused, match="half-normal prior of a standard deviation is not conjugate"):
        clf.fit(*rows)
    model = bc.GaussianNB(scale_prior=HalfNormal(), inference="map").fit(*rows).model_
    assert isinstance(inference.resolve("auto", model), bc.NUTS)
    assert model.log_predictive(bc.GaussianNB(inference="map").fit(*rows).rows(rows[0])) is None


@pytest.mark.parametrize("change", ["units", "origin"])
def test_default_scales_are_in_the_units_of_the_columns(rows, change):
    X, y = rows
    moved = X * [1e6, 1] if change == "units" else X + 1e6
    expected, found = (
        bc.GaussianNB(scale_prior=HalfNormal(), inference="map").fit(table, y).predict_proba(table)
        for table in (X, moved)
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 if change == "units" else 1e-6)


def test_a_class_with_one_row_has_no_mode():
    family = Gaussian(m=np.zeros((2, 2)), scale_prior=HalfNormal(1.0))
    statistics = family.statistics(np.zeros((3, 2)), np.array([0, 1, 1]), AXES)
    prior = family.resolve_prior(statistics)
    with pytest.raises(DoesNotExist, match="most probable σ of a class without different values is 0"):
        prior.map(statistics)


@pytest.mark.parametrize("scale", [0.0, -1.0, np.inf])
def test_scales_that_cannot_be(scale):
    with pytest.raises(InputError, match="scale must be above 0 and finite"):
        HalfNormal(scale)


@pytest.mark.slow
def test_nuts_agrees_with_quadrature():
    """One column, one variance a class: μ integrates out, and E[σ²] is a one-dimensional integral."""
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(9, 1)) * 2, np.array([0, 0, 0, 0, 1, 1, 1, 1, 1])
    clf = bc.GaussianNB(
        m=0.0,
        kappa=KAPPA,
        scale_prior=HalfNormal(SCALE),
        inference=bc.NUTS(draws=3000, target_accept=0.95),
        random_state=3,
    )
    posterior = clf.fit(x, y).posterior_["posterior"].to_dataset()
    for k in range(2):
        own = x[y == k, 0]
        n, mean = len(own), own.mean()
        scatter = ((own - mean) ** 2).sum() + KAPPA * n / (KAPPA + n) * mean**2

        def density(sigma, n=n, scatter=scatter):
            return stats.halfnorm.pdf(sigma, scale=SCALE) * sigma**-n * np.exp(-scatter / (2 * sigma**2))

        total, first, second = (
            integrate.quad(lambda sigma, power=power: sigma**power * density(sigma), 1e-6, 12)[0] for power in (0, 2, 4)
        )
        expected, sd = first / total, np.sqrt(second / total - (first / total) ** 2)
        draws = posterior["sigma2"].values[..., k, 0]
        assert abs(draws.mean() - expected) < 5 * sd / np.sqrt(2000)
        assert draws.std() == pytest.approx(sd, rel=0.1)


@pytest.mark.slow
def test_every_rule_answers_and_the_fit_can_be_saved(rows, tmp_path):
    clf = bc.GaussianNB(scale_prior=HalfNormal(), inference=bc.NUTS(draws=500, target_accept=0.95), random_state=1)
    clf.fit(*rows)
    clf.save(tmp_path / "model.nc")
    loaded = bc.load(tmp_path / "model.nc")
    for rule in bc.rules.RULES:
        proba = clf.predict_proba(rows[0], rule=rule)
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        np.testing.assert_array_equal(loaded.predict_proba(rows[0], rule=rule), proba)
