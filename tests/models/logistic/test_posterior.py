"""Logistic regression's posterior on real tables agrees with a long run of another sampler on the PyMC model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy import stats

import bayesclf as bc
from bayesclf import inference
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.tables import datasets, openml
from bayesclf.typing import Array

pytestmark = pytest.mark.slow

REFERENCE = bc.NUTS(draws=2000, tune=1000, chains=4, sampler="numpyro")
"""NumPyro's own implementation, of the model as PyMC has it, in its own coordinates and not in whitened ones."""
FALSE_ALARM = 1e-4
"""Probability that a test fails though the engine is right, shared out over its comparisons."""
MIN_ESS = 400
PARAMETERS = ("intercept", "weight")


@dataclass(frozen=True)
class Moments:
    """Means and sds of all parameters, (statistic, parameter), with their Monte Carlo errors."""

    values: Array
    errors: Array


def raveled(draws: inference.Draws) -> Array:
    """All parameters as (parameter, chain, draw)."""
    parts = [draws.parameters[name].reshape(draws.chains, -1, draws.parameters[name][0].size) for name in PARAMETERS]
    return np.moveaxis(np.concatenate(parts, axis=2), 2, 0)


def of_chains(draws: inference.Draws) -> Moments:
    x = raveled(draws)
    assert min(array_stats.ess(one) for one in x) > MIN_ESS
    errors = [[array_stats.mcse(one, method=method) for one in x] for method in ("mean", "sd")]
    return Moments(np.array([x.mean(axis=(1, 2)), x.std(axis=(1, 2))]), np.array(errors))


def of_weighted(draws: inference.Draws) -> Moments:
    """Of independent draws that were resampled by weights: they count as 1/(1/draws + 1/ESS of the weights)."""
    x = raveled(draws).reshape(-1, len(next(iter(draws.parameters.values()))))
    assert draws.stats is not None
    effective = 1 / (1 / x.shape[1] + 1 / float(draws.stats["importance_ess"]))
    mean, sd = x.mean(axis=1), x.std(axis=1)
    kurtosis = stats.kurtosis(x, axis=1, fisher=False)
    return Moments(np.array([mean, sd]), np.array([sd, sd * np.sqrt((kurtosis - 1) / 4)]) / np.sqrt(effective))


def assert_agree(found: Moments, expected: Moments) -> None:
    z = (found.values - expected.values) / np.hypot(found.errors, expected.errors)
    assert np.abs(z).max() < stats.norm.isf(FALSE_ALARM / 2 / z.size), z


@pytest.fixture(scope="module", params=["breast_cancer", "pima", "ionosphere", "iris"])
def table(request: pytest.FixtureRequest) -> tuple[str, LogisticModel, Moments]:
    """A table's name, its model, and the moments of the long run.

    Its columns are brought to one scale first, without which NumPyro's chains do not find the posterior.
    """
    pytest.importorskip("numpyro")
    if request.param in openml.NAMED:
        request.getfixturevalue("data_folder")
    data = datasets.load(request.param)
    X = (data.X - data.X.mean()) / data.X.std().replace(0.0, 1.0)
    model = bc.LogisticRegression(inference="map").fit(X, data.y).model_
    assert isinstance(model, LogisticModel)
    long = inference.draw(model, REFERENCE, seed=101)
    assert long is not None
    assert long.problems == ()
    return request.param, model, of_chains(long)


def test_nuts(table: tuple[str, LogisticModel, Moments]) -> None:
    _, model, expected = table
    found = inference.draw(model, bc.NUTS(), seed=7)
    assert found is not None
    assert found.problems == ()
    assert_agree(of_chains(found), expected)


def test_auto(table: tuple[str, LogisticModel, Moments]) -> None:
    """Laplace where this takes it: of iris, three classes, with some seeds only, of which this is one."""
    name, model, expected = table
    found = inference.infer(model, bc.Auto(), seed=1)
    assert isinstance(found.engine, bc.Laplace) == (name in ("pima", "iris"))
    assert found.draws is not None
    assert_agree((of_weighted if isinstance(found.engine, bc.Laplace) else of_chains)(found.draws), expected)
