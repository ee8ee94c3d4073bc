"""NUTS on a family's PyMC block draws from the family's exact posterior, within Monte Carlo error."""

import numpy as np
import pytest
from arviz_stats.base import array_stats
from helpers.cases import BERNOULLI, CATEGORICAL, GAUSSIAN, MULTINOMIAL, MULTIVARIATE_GAUSSIAN
from scipy import stats

from bayesclf import inference
from bayesclf.families import LearntClassPrior
from bayesclf.families.gaussian import SHARED_OVER
from bayesclf.inference import NUTS
from bayesclf.models.generative import Block, GenerativeModel

CASES = (
    CATEGORICAL[2],
    BERNOULLI[1],
    MULTINOMIAL[1],
    *(next(case for case in GAUSSIAN if case.family.variance == variance) for variance in SHARED_OVER),
    *MULTIVARIATE_GAUSSIAN[:2],
)
QUANTILES = (0.05, 0.95)
MIN_ESS = 400
FALSE_ALARM = 1e-4
"""Probability that a test fails though NUTS is right, shared out over its comparisons."""


def model_of(case):
    X, y = case.data(6, n=60)
    counts = np.bincount(y, minlength=3).astype(float)
    block = Block(case.prior, case.statistics(X, y))
    return GenerativeModel(case.axes.labels, LearntClassPrior(np.array([1.0, 2.0, 3.0])), counts, (block,))


def exact_marginals(case, model):
    alpha = model.posterior().class_prior.alpha
    return {"pi": stats.beta(alpha, alpha.sum() - alpha), **case.marginals(model.posterior().blocks[0].family)}


MAIN_SUITE = "gaussian feature"
"""The one case that is quick enough for it; compiling takes most of the others' time."""


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=() if case.name == MAIN_SUITE else pytest.mark.slow) for case in CASES],
)
def test_nuts_agrees_with_the_exact_posterior(case):
    model = model_of(case)
    drawn = inference.draw(model, NUTS(draws=1000, tune=500, chains=4), seed=12)
    marginals = exact_marginals(case, model)
    assert drawn.parameters.keys() == marginals.keys()
    comparisons = sum(values[0].size for values in drawn.parameters.values()) * (2 + len(QUANTILES))
    standard_errors = stats.norm.isf(FALSE_ALARM / 2 / comparisons)
    for name, values in drawn.parameters.items():
        truth = marginals[name]
        expected = [truth.mean(), truth.std(), *(truth.ppf(level) for level in QUANTILES)]
        columns = values.reshape(4, -1, values[0].size)
        by_number = np.array([np.broadcast_to(part, values.shape[1:]).ravel() for part in expected]).T
        for x, numbers in zip(np.moveaxis(columns, 2, 0), by_number, strict=True):
            assert array_stats.ess(x) > MIN_ESS
            found = [x.mean(), x.std(), *np.quantile(x, QUANTILES)]
            errors = [
                array_stats.mcse(x, method="mean"),
                array_stats.mcse(x, method="sd"),
                *(array_stats.mcse(x, method="quantile", prob=level) for level in QUANTILES),
            ]
            assert (np.abs(np.array(found) - numbers) < standard_errors * np.array(errors)).all(), name
