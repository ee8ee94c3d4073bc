"""Evidence against the chain rule, quadrature and enumeration."""

import numpy as np
import pytest
from helpers.cases import DISCRETE, HISTOGRAMS, PRIORS
from helpers.families import MAIN_SUITE
from helpers.suites import mostly_slow

from bayesclf.families import KnownClassPrior

CELLWISE = [
    case
    for case in PRIORS
    if getattr(case.family, "variance", None) not in ("class", "shared")
    and case.family.name not in ("joint", "network", "multinomial", "multivariate-gaussian", "conditional-gaussian")
]


def one_step_ahead(case, X, y):
    """Return Σ_i log p(x_i | y_i, rows before i)."""
    total, now = 0.0, case.prior
    for i in range(len(y)):
        total += now.log_predictive(X[i : i + 1])[0, y[i]]
        now = now.posterior(case.statistics(X[i : i + 1], y[i : i + 1]))
    return total


@mostly_slow([*PRIORS, *DISCRETE], MAIN_SUITE)
@pytest.mark.parametrize("n", [0, 1, 24])
def test_evidence_is_the_product_of_predictions_one_step_ahead(case, n):
    X, y = case.data(5, n)
    found = case.prior.log_evidence(case.statistics(X, y))
    np.testing.assert_allclose(found.sum(), one_step_ahead(case, X, y), rtol=1e-10, atol=1e-12)


@mostly_slow([*CELLWISE, *HISTOGRAMS], MAIN_SUITE)
@pytest.mark.parametrize("features", [(0,), (0, 2)])
def test_the_part_of_a_family_of_some_features_is_the_family_of_these_alone(case, features):
    X, y = case.data(5)
    keep = np.isin(np.arange(3), features)
    others = np.where(keep, X, case.absent).astype(X.dtype)
    part = case.prior.select(keep)
    assert part.axes == case.axes.select(keep)
    statistics = case.statistics(X, y).select(keep)
    whole = case.prior.log_evidence(case.statistics(others, y))
    np.testing.assert_allclose(part.log_evidence(statistics).sum(), whole.sum(), rtol=1e-12)
    found = case.posterior.select(keep).log_predictive(X[:, keep])
    np.testing.assert_allclose(found, case.posterior.log_predictive(others), rtol=1e-12, atol=1e-12)


def test_evidence_of_labels_that_cannot_occur_is_zero():
    prior = KnownClassPrior(np.array([0.0, 1.0]))
    assert prior.log_evidence(np.array([0.0, 3.0])) == 0.0
    assert prior.log_evidence(np.array([1.0, 3.0])) == -np.inf
