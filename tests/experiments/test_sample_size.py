"""Examples needed and what intervals cover: enumeration against SciPy's intervals and against drawn counts."""

import numpy as np
import pytest
from scipy import stats

from bayesclf.errors import InputError
from bayesclf.experiments import find, run
from bayesclf.experiments.sample_size import HALF_WIDTHS, METHODS, SHARES, coverage, interval, within

EXPERIMENT = find("sample-size")


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    return run(EXPERIMENT, EXPERIMENT.Settings(), tmp_path_factory.mktemp("sample-size"))


def test_the_normal_approximation_needs_2401_examples(outcome):
    assert "normal approximation needs 2,401 examples" in outcome.answer[0]
    needed = outcome.table[(outcome.table["part"] == "needed") & (outcome.table["half_width"] == 0.02)]
    assert len(needed) == len(METHODS) * len(SHARES)
    assert needed.set_index(["method", "p"]).loc[("normal", 0.5), "n"] == 2401


def test_needed_examples_put_the_estimate_within_the_half_width_about_as_often_as_requested(outcome):
    own = outcome.table[(outcome.table["part"] == "needed") & (outcome.table["p"] == 0.5)]
    large = own[own["n"] > 1000]
    assert len(large) == 6
    np.testing.assert_allclose(large["within"], 0.95, atol=0.006)


@pytest.mark.parametrize("method", METHODS)
def test_an_interval_is_as_wide_as_the_method_says(method):
    k, n = np.arange(1, 40), 40
    low, high = interval(method, k, n, 0.9)
    np.testing.assert_allclose((high - low) / 2, [HALF_WIDTHS[method](n, share, 0.9) for share in k / n])


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
    assert stats.binomtest(held, draws, float(coverage(method, 30, np.array([p]), 0.95)[0])).pvalue > 0.001


def test_a_posteriors_interval_is_right_on_average_over_its_prior():
    """∫ coverage(p) dp = level, as p is uniform under the prior."""
    p = (np.arange(4000) + 0.5) / 4000
    assert coverage("beta", 12, p, 0.9).mean() == pytest.approx(0.9, abs=2e-3)


def test_the_normal_approximation_fails_with_few_examples(outcome):
    """At p = .01 it holds p after 1 or 2 of 10; after 0 it has no width. Wilson's holds p after 0 alone."""
    drawn = outcome.table[(outcome.table["part"] == "coverage") & (outcome.table["n"] == 10)]
    own = drawn.set_index(["method", "p"])["coverage"]
    none, one, two = stats.binom.pmf([0, 1, 2], 10, 0.01)
    assert own["normal", 0.01] == pytest.approx(one + two)
    assert own["wilson", 0.01] == pytest.approx(none)


def test_within_enumerates_the_binomial():
    assert within(10, 0.5, 0.1) == pytest.approx((210 + 252 + 210) / 1024)
    assert within(10, 0.5, 0.09) == pytest.approx(252 / 1024)


def test_figures_have_a_panel_for_each_method_and_each_number(outcome):
    needed, covered = (figure.draw() for figure in outcome.figures)
    assert [ax.get_title(loc="left") for ax in needed.axes] == list(METHODS)
    assert [ax.get_title(loc="left") for ax in covered.axes] == ["10", "100", "2,401"]


@pytest.mark.parametrize("settings", [{"half_width": 0.0}, {"half_width": 0.5}, {"level": 1.0}])
def test_numbers_outside_their_range_are_refused(settings):
    with pytest.raises(InputError, match="must lie between"):
        EXPERIMENT.tabulate(EXPERIMENT.Settings(**settings), None)
