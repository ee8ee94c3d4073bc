"""The terms into which log-odds are taken apart, against the density of every family."""

import numpy as np
import pytest
from helpers.cases import CASES

from bayesclf.families.terms import Pair

every_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


@every_case
def test_they_add_up_to_the_log_ratio_of_two_classes(case, rng):
    X, _ = case.data(3)
    parameters = case.point(rng)
    pair = Pair(rng.integers(3, size=len(X)), rng.integers(3, size=len(X)))
    found = case.prior.contributions(X, parameters, pair)
    total = np.bincount(found.row, found.values[0], minlength=len(X))
    density, rows = case.prior.log_density(X, parameters)[0], np.arange(len(X))
    np.testing.assert_allclose(total, density[rows, pair.outcome] - density[rows, pair.against], atol=1e-9)


@every_case
def test_each_is_about_columns_of_the_block(case, rng):
    X, _ = case.data(3)
    pair = Pair(np.zeros(len(X), dtype=int), np.ones(len(X), dtype=int))
    found = case.prior.contributions(X, case.point(rng), pair)
    together = [column for columns in found.features for column in columns]
    assert together == list(case.axes.features)
    assert found.values.shape == (1, len(found.row))
    assert found.feature.max() < len(found.features)
