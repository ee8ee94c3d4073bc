"""Pareto-smoothed weights of one row at the edges."""

import numpy as np
import pytest

import bayesclf as bc
from bayesclf.errors import Refused
from bayesclf.evaluation.leave_one_out import importance
from bayesclf.inference import Exact


class TestWeights:
    """Pareto-smoothed weights of one row at the edges."""

    def test_the_same_density_under_all_draws_needs_no_smoothing(self):
        log_weight, khat = importance._smoothed(np.full(100, -3.0), 1.0)
        np.testing.assert_allclose(np.exp(log_weight), 0.01)
        assert khat == -np.inf

    def test_draws_under_which_the_row_is_impossible_have_all_the_weight(self):
        log_weight, khat = importance._smoothed(np.array([-1.0, -np.inf, -2.0, -np.inf]), 1.0)
        np.testing.assert_array_equal(np.exp(log_weight), [0, 0.5, 0, 0.5])
        assert khat == np.inf

    def test_equal_largest_ratios_are_not_smoothed(self):
        log_density = np.append(np.zeros(50), np.full(50, -1.0))
        log_weight, khat = importance._smoothed(log_density, 1.0)
        np.testing.assert_allclose(np.exp(log_weight), np.append(np.ones(50), np.full(50, np.e)) / (50 * (1 + np.e)))
        assert khat == np.inf

    def test_too_few_draws_are_refused(self, tennis):
        clf = bc.CategoricalNB(random_state=1, inference=Exact(draws=6)).fit(*tennis)
        with pytest.raises(Refused, match="24 draws are too few"):
            bc.loo(clf, *tennis, method="psis")
