"""Examples needed and what intervals cover: enumeration against SciPy's intervals and against drawn counts."""

import numpy as np
import pytest
from scipy import stats

from bayesclf.experiments import find, run
from bayesclf.experiments.sample_size import METHODS, SHARES, coverage, interval, within

EXPERIMENT = find("sample-size")


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    return run(EXPERIMENT, EXPERIMENT.Settings(), tmp_path_factory.mktemp("sample-size"))


def test_the_normal_approximation_needs_2401_examples(outcome):
    assert "normal approximation needs 2,401 examples" in outcome.answer[0]
    needed = outcome.table[outcome.table["half_width"] == 0.02]
    assert len(needed) == len(METHODS) * len(SHARES)
    assert needed.set_index(["method", "p"]).loc[("normal", 0.5), "n"] == 2401


def test_needed_examples_put_the_estimate_within_the_half_width_about_as_often_as_requested(outcome):
    own = outcome.table[outcome.table["p"] == 0.5]
    large = own[own["n"] > 1000]
    assert len(large) == 6
    np.testing.assert_allclose(large["within"], 0.95, atol=0.006)


def test_wilsons_interval_is_scipys():
    low, high = interval("wilson", np.arange(21), 20, 0.95)
    for k in range(21):
        expected = stats.binomtest(k, 20).proportion_ci(0.95, method="wilson")
        assert (low[k], high[k]) == pytest.approx(tuple(expected), abs=1e-12)


def test_the_posteriors_interval_is_that_of_its_beta():
    low, high = interval("beta", np.arange(21), 20, 0.8)
    np.testing.assert_allclose((low, high), stats.beta.interval(0.8, 1 + np.arange(21), 21 - np.arange(21)))


@pytest.mark.parametrize("method", METHODS)
def test_coverage_is_the_share_of_drawn_counts_whose_interval_holds_p(method, rng):
    p, draws = 0.13, 40_000
    low, high = interval(method, np.arange(31), 30, 0.95)
    k = rng.binomial(30, p, size=draws)
    held = int(((low[k] <= p) & (p <= high[k])).sum())
    assert stats.binomtest(held, draws, coverage(method, 30, p, 0.95)).pvalue > 0.001


def test_a_posteriors_interval_is_right_on_average_over_its_prior():
    """∫ coverage(p) dp = level, as p is uniform under the prior."""
    p = (np.arange(2000) + 0.5) / 2000
    assert np.mean([coverage("beta", 12, one, 0.9) for one in p]) == pytest.approx(0.9, abs=2e-3)


def test_within_enumerates_the_binomial():
    assert within(10, 0.5, 0.1) == pytest.approx((210 + 252 + 210) / 1024)
    assert within(10, 0.5, 0.09) == pytest.approx(252 / 1024)
