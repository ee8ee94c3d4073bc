"""NUTS on a family's PyMC block draws from the family's exact posterior, within Monte Carlo error.

`test_sbc.py` says that the exact posterior is calibrated, so that this test says it of NUTS. Compiling makes it slow.
The main suite has its two halves: `test_pymc.py` compares the log density of each block with that of the family, and
`engines/test_nuts.py` draws with a log density.
"""

import numpy as np
import pytest
from arviz_stats.base import array_stats
from helpers.cases import BY_STRUCTURE
from helpers.suites import NIGHTLY
from scipy import stats

from bayesclf.engines import NUTS, inference
from bayesclf.families import LearntClassPrior
from bayesclf.models.generative import Block, GenerativeModel

CASES = tuple(BY_STRUCTURE.values())
HEAVY_TAILED = "multivariate gaussian class"
"""Without rows the covariance of a class has no variance, and R-hat of its chains rightly warns."""
QUANTILES = (0.05, 0.95)
MIN_ESS = 400
FALSE_ALARM = 1e-4
"""Probability that a test fails though NUTS is right, shared out over its comparisons."""
DETECTED = 0.45
"""Posterior sds by which a location is off, or share by which a scale is, that a test is sure to find."""


def many_rows(case):
    return case.data(6, n=60)


def few_rows_and_an_empty_class(case):
    """Return rows that leave much to the prior, and posteriors skewed."""
    X, y = case.data(5, n=12)
    return X[y != 1], y[y != 1]


def model_of(case, X, y):
    counts = np.bincount(y, minlength=3).astype(float)
    block = Block(case.prior, case.statistics(X, y))
    return GenerativeModel(case.axes.labels, LearntClassPrior(np.array([1.0, 2.0, 3.0])), counts, (block,))


def exact_marginals(case, model):
    alpha = model.posterior().class_prior.alpha
    return {"pi": stats.beta(alpha, alpha.sum() - alpha), **case.marginals(model.posterior().blocks[0].family)}


SAMPLE = ("categorical α given", "gaussian class-feature prior given", "gamma")
"""The cases of continuous integration: a simplex, means beside variances, and a posterior of quadrature."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.name, marks=() if case.name in SAMPLE else NIGHTLY) for case in CASES]
)
def test_nuts_agrees_with_the_exact_posterior(case):
    """Draws are taken to where their exact distribution is standard normal, which has moments whatever their tails.

    A mean that is off by DETECTED sds, or an sd by that share, is three standard errors beyond the largest difference
    that passes: 99.9% of runs find it. Simulation-based calibration by 60 short fits finds an sd that is wrong by a
    factor of two in about half of its runs.
    """
    for rows in (many_rows,) if case.name == HEAVY_TAILED else (many_rows, few_rows_and_an_empty_class):
        model = model_of(case, *rows(case))
        drawn = inference.draw(model, NUTS(draws=1000, tune=500, chains=4), seed=13)
        marginals = exact_marginals(case, model)
        assert drawn.parameters.keys() == marginals.keys()
        comparisons = 2 * sum(values[0].size for values in drawn.parameters.values()) * (2 + len(QUANTILES))
        standard_errors = stats.norm.isf(FALSE_ALARM / 2 / comparisons)
        for name, values in drawn.parameters.items():
            z = stats.norm.ppf(marginals[name].cdf(values)).reshape(4, -1, values[0].size)
            for x in np.moveaxis(z, 2, 0):
                assert array_stats.ess(x) > MIN_ESS
                found = np.array([x.mean(), x.std(), *np.quantile(x, QUANTILES)])
                expected = [0.0, 1.0, *stats.norm.ppf(QUANTILES)]
                errors = np.array(
                    [
                        array_stats.mcse(x, method="mean"),
                        array_stats.mcse(x, method="sd"),
                        *(array_stats.mcse(x, method="quantile", prob=level) for level in QUANTILES),
                    ]
                )
                assert (np.abs(found - expected) < standard_errors * errors).all(), name
                assert ((standard_errors + 3) * errors[:2] < DETECTED).all(), name
