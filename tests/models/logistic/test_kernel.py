"""The machine code that NUTS calls for logistic regression is the model's own log posterior and gradient."""

import numpy as np
import pandas as pd
import pytest
from helpers.suites import mainly

import bayesclf as bc
from bayesclf.engines import NUTS
from bayesclf.engines.nuts import sample_machine_code

CASES = {
    "two labels": {"labels": 2},
    "three labels": {"labels": 3},
    "reference prior": {"labels": 3, "prior_form": "reference"},
    "intercept at zero": {"labels": 2, "intercept_at": "zero", "intercept_mean": 0.4},
    "intercept at zero, reference": {"labels": 2, "intercept_at": "zero", "prior_form": "reference"},
    "flat intercept": {"labels": 3, "intercept_scale": np.inf},
    "own means and scales": {"labels": 2, "prior_mean": {"a": 0.3, "b": -1.0, "word": 0.2}, "prior_scale": 0.7},
    "missing cells": {"labels": 3, "missing": True},
    "weights": {"labels": 2, "weights": True},
    "many rows": {"labels": 3, "rows": 333},
    "many labels": {"labels": 12},
    "no column": {"labels": 3, "columns": []},
}


def fitted(labels=2, rows=50, columns=("a", "b", "word"), missing=False, weights=False, **settings):
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.normal(5, 30, rows), "b": rng.normal(size=rows), "word": rng.choice(["u", "v"], rows)})
    X["one"] = 1.0
    if missing:
        X = X.mask(rng.random(X.shape) < 0.2)
    y = rng.integers(labels, size=rows)
    y[:labels] = range(labels)
    weight = rng.gamma(2, size=rows) if weights else None
    # A constant column has no weight, so that a model without columns can be made too.
    return bc.LogisticRegression(inference="map", **{"prior_scale": 2.5} | settings).fit(
        X[[*columns, "one"]], y, sample_weight=weight
    )


@pytest.mark.parametrize(
    "case", mainly(CASES, "intercept at zero", "own means and scales", "missing cells", "many rows", "many labels")
)
def test_the_value_is_the_log_posterior(case):
    model = fitted(**CASES[case]).model_
    density = model.density()
    points = np.random.default_rng(0).normal(0, 2, (6, density.size))
    values = np.array([density(z)[0] for z in points])
    expected = model.log_posterior(**density.parameters(points, np.random.default_rng(0)))
    np.testing.assert_allclose(values - values[0], expected - expected[0], rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("scale", [1e3, 1e8, 1e300])
def test_far_away_the_value_is_low_or_said_not_to_be_finite(scale):
    value, _ = fitted(labels=3).model_.density()(np.full(fitted(labels=3).model_.density().size, scale))
    assert not value > -1e3


def test_draws_do_not_depend_on_the_number_of_cores():
    density = fitted(labels=3).model_.density()
    one, two = (sample_machine_code(density, NUTS(draws=50, tune=60, cores=cores), 5) for cores in (1, 2))
    for name, values in one.draws.items():
        np.testing.assert_array_equal(values, two.draws[name])


def test_few_steps_are_enough_however_columns_are_scaled_and_correlated():
    rng = np.random.default_rng(0)
    a = rng.normal(size=300)
    X = np.column_stack([1e6 * a, a + rng.normal(0, 1e-3, 300), rng.normal(size=300)])
    y = (rng.random(300) < 1 / (1 + np.exp(-a))).astype(int)
    clf = bc.LogisticRegression(prior_scale=2.5, inference=NUTS(draws=300), random_state=1).fit(X, y)
    assert float(clf.posterior_["sample_stats"]["n_steps"].mean()) < 9
    assert clf.convergence_problems_ == ()
