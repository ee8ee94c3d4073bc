"""Class priors, learned from the labels or given."""

import numpy as np
import pymc as pm
import pytest
from helpers.families import PYTHON
from pymc.model.transform.conditioning import remove_value_transforms
from scipy import stats

from bayesclf.errors import DoesNotExist
from bayesclf.families import LearntClassPrior
from bayesclf.families.class_prior import KnownClassPrior

COUNTS = np.array([3.0, 0.0, 5.0])


def test_estimates_are_the_textbooks():
    prior = LearntClassPrior(np.array([2.0, 3.0, 1.5]))
    np.testing.assert_allclose(prior.mle(COUNTS)["pi"], [[3 / 8, 0, 5 / 8]])
    np.testing.assert_allclose(prior.map(COUNTS)["pi"], [[4 / 11.5, 2 / 11.5, 5.5 / 11.5]])
    np.testing.assert_allclose(prior.posterior(COUNTS).mean()["pi"], [[5 / 14.5, 3 / 14.5, 6.5 / 14.5]])
    with pytest.raises(DoesNotExist, match="class prior has no posterior mode"):
        LearntClassPrior(np.full(3, 0.9)).map(COUNTS)


def test_pymc_observes_the_label_counts():
    prior = LearntClassPrior(np.array([1.5, 2.0, 3.0]))
    with pm.Model(coords={"outcome": ["a", "b", "c"]}) as model:
        prior.pymc(COUNTS)
    pi = np.array([0.2, 0.5, 0.3])
    found = remove_value_transforms(model).compile_logp(mode=PYTHON)({"pi": pi})
    expected = stats.dirichlet.logpdf(pi, prior.alpha) + 3 * np.log(0.2) + 5 * np.log(0.3)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_rows_of_a_class_that_a_given_prior_rules_out_do_not_count():
    with pm.Model(coords={"outcome": ["a", "b", "c"]}) as model:
        KnownClassPrior(np.array([0.25, 0.0, 0.75])).pymc(np.array([3.0, 2.0, 5.0]))
    found = model.compile_logp(mode=PYTHON)({})
    np.testing.assert_allclose(found, 3 * np.log(0.25) + 5 * np.log(0.75), rtol=1e-12)
