"""Logistic regression's posterior on real tables agrees with a long run of another sampler on the PyMC model."""

from __future__ import annotations

import numpy as np
import pytest
from fixtures.make_logistic_moments import TABLES, Moments, model_of, raveled, read
from scipy import stats

import bayesclf as bc
from bayesclf.engines import inference
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.tables import datasets as shipped

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-4
"""Probability that a test fails though the engine is right, shared out over its comparisons."""
DETECTED = 0.45
"""Posterior sds by which a mean is off, or share by which an sd is, that 99.9% of runs find."""


def of_weighted(draws: inference.Draws) -> Moments:
    """Of independent draws that were resampled by weights: they count as 1/(1/draws + 1/ESS of the weights)."""
    x = raveled(draws).reshape(-1, len(next(iter(draws.parameters.values()))))
    assert draws.stats is not None
    effective = 1 / (1 / x.shape[1] + 1 / float(draws.stats["importance_ess"]))
    mean, sd = x.mean(axis=1), x.std(axis=1)
    kurtosis = stats.kurtosis(x, axis=1, fisher=False)
    return Moments(np.array([mean, sd]), np.array([sd, sd * np.sqrt((kurtosis - 1) / 4)]) / np.sqrt(effective))


def assert_agree(found: Moments, expected: Moments) -> None:
    error = np.hypot(found.errors, expected.errors)
    z = (found.values - expected.values) / error
    limit = stats.norm.isf(FALSE_ALARM / 2 / z.size)
    assert np.abs(z).max() < limit, z
    assert ((limit + 3) * error < DETECTED * expected.values[1]).all()


@pytest.fixture(scope="module", params=TABLES)
def table(request: pytest.FixtureRequest) -> tuple[str, LogisticModel, Moments]:
    """Return a table's name, its model, and the moments of the long run that `make_logistic_moments.py` recorded."""
    if request.param in shipped.KNOWN["openml"]:
        request.getfixturevalue("data_folder")
    return request.param, model_of(request.param), read(request.param)


def test_nuts(table: tuple[str, LogisticModel, Moments]) -> None:
    _, model, expected = table
    found = inference.draw(model, bc.engines.NUTS(), seed=7)
    assert found is not None
    assert found.problems == ()
    assert_agree(Moments.of_chains(found), expected)


def test_auto(table: tuple[str, LogisticModel, Moments]) -> None:
    """Laplace where this takes it, which is all of these tables but ionosphere."""
    name, model, expected = table
    found = inference.infer(model, bc.engines.Auto(), seed=1)
    assert isinstance(found.engine, bc.engines.Laplace) == (name != "ionosphere")
    assert found.draws is not None
    assert_agree(
        (of_weighted if isinstance(found.engine, bc.engines.Laplace) else Moments.of_chains)(found.draws), expected
    )
