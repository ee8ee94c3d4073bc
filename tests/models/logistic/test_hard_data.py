"""Data that break samplers: each engine either draws a posterior that can be trusted, or says why not."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine

import bayesclf as bc
from bayesclf.arrays import Array, Integers
from bayesclf.errors import InputError, Refused
from bayesclf.models.logistic.prior import against_reference

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
NOISY = (X[:, 0] + RNG.logistic(size=40) > 0).astype(int)

DATA: dict[str, tuple[Array, Integers]] = {
    "separable classes": (X, (X[:, 0] > 0).astype(int)),
    "collinear columns": (np.column_stack([X[:, 0], 3 - 2 * X[:, 0]]), NOISY),
    "a constant column": (np.column_stack([X, np.full(40, 7.0)]), NOISY),
    "a column of millions": (X * [1e6, 1.0] + [1e8, 0.0], NOISY),
    "three rows": (X[:3], np.array([0, 1, 1])),
    "more columns than rows": (RNG.normal(size=(6, 12)), np.arange(6) % 2),
    "a class of one row": (X, (np.arange(40) == 7).astype(int)),
    "a separable class of three": (X, np.where(X[:, 0] > 0.3, 2, X[:, 1] + RNG.logistic(size=40) > 0).astype(int)),
}
ENGINES: dict[str, Any] = {
    "map": "map",
    "laplace": "laplace",
    "nuts": bc.engines.NUTS(),
    "slice": "slice",
    "auto": "auto",
}
LARGEST_GRADIENT = 1e-8
"""Of the log posterior by the weights per sd of a column, at its mode."""


def test_weights_that_rounding_drowns_leave_the_estimate_and_have_no_posterior():
    rows, y, weights = np.random.default_rng(111).normal(size=(6, 1)), np.array([0, 1, 0, 1, 1, 0]), np.full(6, 1e20)
    once = bc.LogisticRegression(inference="mle").fit(rows, y)
    np.testing.assert_allclose(clone(once).fit(rows, y, weights).coef_, once.coef_, rtol=1e-6)
    with pytest.raises(InputError, match=r"adds up to 6.0e\+20, and above 1e\+11 rounding hides the posterior"):
        bc.LogisticRegression().fit(rows, y, weights)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", DATA)
def test_default_prior(name: str, engine: str) -> None:
    rows, y = DATA[name]
    clf = bc.LogisticRegression(prior_scale=2.5, inference=ENGINES[engine], random_state=1)
    clf.fit(rows, y)
    assert clf.convergence_problems_ == ()
    proba = clf.predict_proba(rows)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    assert np.mean(clf.predict(rows) == y) > 0.5
    if engine == "map":
        objective, _ = clf.model_.objective("map")
        point = clf.model_.map()
        theta = np.column_stack([point["intercept"][0], point["weight"][0] * clf.model_.design.scale])
        theta = against_reference(theta, clf.model_.symmetric, axis=0)
        assert np.abs(objective.gradient(theta)[1]).max() < LARGEST_GRADIENT
    else:
        posterior = clf.posterior_["posterior"].to_dataset()
        assert all(np.isfinite(values).all() for values in posterior.values())
        assert posterior.sizes["chain"] * posterior.sizes["draw"] == 4000


WIDE = bc.LogisticRegression(prior_scale=50.0, random_state=1)
"""Twenty times the default: as wide is the posterior along what separates, or what no row tells of."""


def test_laplace_refuses_what_is_far_from_normal() -> None:
    clf = clone(WIDE).set_params(inference="laplace")
    with pytest.raises(Refused, match=r"is not accurate: k̂ = .* is above 0\.7, .*; use inference='slice'"):
        clf.fit(*load_wine(return_X_y=True))


@pytest.mark.parametrize("name", ["collinear columns", "a column of millions"])
def test_nuts_under_a_wide_prior(name: str) -> None:
    """Neither units nor a ridge that only the prior bounds hold it up, as it samples whitened coordinates."""
    clf = clone(WIDE).set_params(inference="nuts").fit(*DATA[name])
    assert clf.convergence_problems_ == ()
    assert int(clf.posterior_["sample_stats"]["n_steps"].max()) < 64


@pytest.mark.parametrize("engine", ["laplace", "nuts", "slice", "auto"])
def test_an_improper_posterior_is_refused(engine: str) -> None:
    clf = bc.LogisticRegression(prior_scale=2.5, intercept_scale=np.inf, inference=ENGINES[engine])
    with pytest.raises(Refused, match=r"class '2' has no rows and the intercept's prior is flat, .* use a finite"):
        clf.fit(X, NOISY, classes=[0, 1, 2])


@pytest.mark.parametrize("size", [1e-98, 1e98])
def test_without_standardization_numbers_of_any_size_have_a_mode(size):
    X = np.array([[1.0], [2.0], [3.0], [5.0]]) * size
    clf = bc.LogisticRegression(prior_scale=2.0 / size, standardize=False, inference="map").fit(X, [0, 1, 0, 1])
    expected = bc.LogisticRegression(prior_scale=2.0, standardize=False, inference="map").fit(X / size, [0, 1, 0, 1])
    np.testing.assert_allclose(clf.predict_proba(X), expected.predict_proba(X / size), rtol=1e-6)


def test_a_prior_too_narrow_for_the_unit_of_a_column_leaves_its_weight_at_zero():
    X = np.array([[1.0], [2.0], [3.0], [5.0]]) * 1e-98
    clf = bc.LogisticRegression(prior_scale=2.5, standardize=False, inference="map").fit(X, [0, 1, 0, 1])
    np.testing.assert_allclose(clf.predict_proba(X), 0.5, rtol=1e-9)


def test_a_prior_whose_variance_no_number_can_hold_is_flat():
    X, y = np.array([[1.0], [2.0], [3.0], [5.0]]), [0, 1, 0, 1]
    wide, flat = (
        bc.LogisticRegression(prior_scale=scale, intercept_scale=scale, random_state=1).fit(X, y)
        for scale in (1e300, 1e6)
    )
    np.testing.assert_allclose(wide.predict_proba(X, rule="map"), flat.predict_proba(X, rule="map"), rtol=1e-6)


@pytest.mark.parametrize("form", ["symmetric", "reference"])
def test_the_evidence_under_a_flat_intercept_is_that_of_wide_ones_less_their_densities(form, rng):
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 3
    fits = [
        bc.LogisticRegression(prior_scale=2.5, prior_form=form, intercept_scale=scale, inference="laplace").fit(X, y)
        for scale in (1e4, np.inf)
    ]
    wide, flat = (fit.model_ for fit in fits)
    at = np.zeros((1, 2, 3))
    density = (wide.weight_prior.log_density(at) - flat.weight_prior.log_density(at))[0]
    assert flat.log_evidence() == pytest.approx(wide.log_evidence() - density, abs=1e-5)


def test_odds_that_no_number_can_hold_are_certain():
    clf = bc.LogisticRegression(prior_scale=2.5, prior_mean=1e12, random_state=1).fit(
        [[1.0], [2.0], [3.0], [5.0]], [0, 1, 0, 1]
    )
    np.testing.assert_array_equal(clf.predict_proba([[-1e100], [1e100]]), [[1, 0], [0, 1]])
