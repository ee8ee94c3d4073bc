"""Pareto-smoothed weights of many rows: those of ArviZ row by row, and the edges where there is no tail to fit."""

import numpy as np
import pytest
from arviz_stats.base import array_stats

from bayesclf.evaluation.leave_one_out.smoothing import smoothed


@pytest.mark.parametrize("draws", [30, 225, 1000, 4000])
@pytest.mark.parametrize("efficiency", [0.1, 1.0, 1.7])
def test_equals_arviz_row_by_row(draws, efficiency):
    rng = np.random.default_rng(draws)
    spread = np.repeat([1e-6, 0.01, 0.3, 1.0, 3.0, 10.0, 40.0], 3)[:, None]
    log_density = spread * rng.normal(size=(len(spread), draws)) + rng.normal(size=(len(spread), 1))
    log_weight, khat = smoothed(log_density, efficiency)
    for row, found, k in zip(log_density, log_weight, khat, strict=True):
        expected, expected_k = array_stats.psislw(row, r_eff=efficiency)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(k, expected_k, rtol=1e-10, atol=1e-11)


def test_excesses_that_span_many_powers_of_ten_do_not_overflow():
    """Products of several factors 1 − θ·x would."""
    log_density = np.linspace(0, 150, 4000)[None, ::-1]
    log_weight, khat = smoothed(log_density, 1.0)
    expected, expected_k = array_stats.psislw(log_density[0], r_eff=1.0)
    np.testing.assert_allclose(log_weight[0], expected, rtol=1e-11)
    np.testing.assert_allclose(khat, expected_k)


def test_the_same_density_under_all_draws_needs_no_smoothing():
    log_weight, khat = smoothed(np.full((1, 100), -3.0), 1.0)
    np.testing.assert_allclose(np.exp(log_weight), 0.01)
    assert khat == -np.inf


def test_draws_under_which_the_row_is_impossible_have_all_the_weight():
    log_weight, khat = smoothed(np.array([[-1.0, -np.inf, -2.0, -np.inf] * 10]), 1.0)
    np.testing.assert_allclose(np.exp(log_weight), [[0, 0.05, 0, 0.05] * 10])
    assert khat == np.inf


def test_equal_largest_ratios_are_not_smoothed():
    log_density = np.append(np.zeros(50), np.full(50, -1.0))[None]
    log_weight, khat = smoothed(log_density, 1.0)
    np.testing.assert_allclose(np.exp(log_weight[0]), np.append(np.ones(50), np.full(50, np.e)) / (50 * (1 + np.e)))
    assert khat == np.inf


def test_ratios_that_vanish_beside_the_largest_have_no_tail_that_could_be_trusted():
    """ArviZ's k̂ is NaN there, which no limit is below."""
    log_density = np.append(np.arange(999) * 10.0, -9e3)[None]
    log_weight, khat = smoothed(log_density, 1.0)
    np.testing.assert_allclose(np.exp(log_weight[0]), np.append(np.zeros(999), 1.0), atol=1e-300)
    assert khat == np.inf


@pytest.mark.parametrize("spread", [100, 300, 500, 3000])
@pytest.mark.parametrize("draws", [30, 1000])
def test_however_far_ratios_are_apart_weights_add_up_to_one(spread, draws):
    log_weight, khat = smoothed(spread * np.random.default_rng(0).normal(size=(200, draws)), 1.0)
    np.testing.assert_allclose(np.exp(log_weight).sum(axis=1), 1.0)
    assert (khat > 1).all()


def test_the_kinds_of_rows_do_not_touch_each_other():
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(3, 400))
    rows = np.vstack([plain[0], np.zeros(400), plain[1], np.where(np.arange(400) < 2, -np.inf, 0.0), plain[2]])
    log_weight, khat = smoothed(rows, 1.0)
    alone, own = smoothed(plain, 1.0)
    np.testing.assert_array_equal(log_weight[::2], alone)
    np.testing.assert_array_equal(khat[::2], own)
    np.testing.assert_allclose(np.exp(log_weight).sum(axis=1), 1.0)
