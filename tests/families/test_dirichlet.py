"""Draws of several Dirichlets next to each other have their moments, also where probabilities underflow."""

import numpy as np
import pytest
from scipy import stats

from bayesclf.families import dirichlet

SIZES = np.array([2, 1, 3])
DRAWS = 20_000


@pytest.mark.parametrize("least", [0.02, 0.5], ids=["very small", "moderate"])
def test_draws_have_beta_marginals(least, rng):
    alpha = least * np.array([1.0, 3.0, 2.0, 1.0, 2.0, 4.0])
    log_theta = dirichlet.log_draw(np.tile(alpha, (DRAWS, 1)), SIZES, rng)
    theta = dirichlet.draw(alpha, SIZES, rng, DRAWS)
    rest = np.repeat(np.add.reduceat(alpha, dirichlet.starts(SIZES)), SIZES) - alpha
    for values in (np.exp(log_theta), theta):
        np.testing.assert_allclose(np.add.reduceat(values, dirichlet.starts(SIZES), axis=1), 1.0)
        assert (values[:, 2] == 1).all()
        for cell in (0, 1, 3, 4, 5):
            # Probabilities that underflow are ties, of which the test knows nothing.
            own = values[:, cell][values[:, cell] > 1e-200]
            expected = stats.beta(alpha[cell], rest[cell])
            below = expected.cdf(1e-200)
            assert abs(len(own) / DRAWS - (1 - below)) < 4.5 * np.sqrt(0.25 / DRAWS)
            uniform = (expected.cdf(own[own < 0.5]) - below) / (expected.cdf(0.5) - below)
            assert stats.kstest(uniform, "uniform").pvalue > 1e-5


def test_logarithms_are_finite_where_probabilities_underflow(rng):
    log_theta = dirichlet.log_draw(np.full((1000, 6), 1e-4), SIZES, rng)
    assert np.isfinite(log_theta).all()
    assert log_theta.min() < -1000
