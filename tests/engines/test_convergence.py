"""What the checks of draws say at their limits, on draws that are made for it."""

import re

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy import signal

from bayesclf.engines import convergence
from bayesclf.engines.convergence import (
    MAX_RHAT,
    MAX_SATURATED_SHARE,
    Scalars,
    divergences,
    energy,
    rhat,
    rhat_limit,
    saturation,
)


@pytest.mark.parametrize(("reached", "found"), [(1, False), (2, True)])
def test_a_share_at_the_limit_is_allowed(reached, found):
    draws = np.arange(20).reshape(4, 5) < reached
    assert (draws.mean() > MAX_SATURATED_SHARE) == found
    assert bool(saturation(draws, 10).problem) == found


def chains(rng, parameters, count, draws, rho=0.0):
    """Return stationary autoregressive draws (scalar, chain, draw)."""
    noise = rng.normal(size=(parameters, count, draws + 50)) * np.sqrt(1 - rho**2)
    return signal.lfilter([1.0], [1.0, -rho], noise, axis=-1)[..., 50:]


def scalars(draws):
    return Scalars(tuple(f"weight[{i}]" for i in range(len(draws))), draws, len(draws))


def independent_draws(rho, draws):
    """Return how many independent draws four chains with correlation ρ from draw to draw are worth."""
    return np.array(4 * draws * (1 - rho) / (1 + rho))


def test_the_limit_of_r_hat_is_what_chance_gives_one_parameter():
    rng = np.random.default_rng(1)
    values = np.asarray(array_stats.rhat(chains(rng, 500, 4, 250, 0.4)))
    limit = float(rhat_limit(independent_draws(0.4, 250), 4, 250, 1))
    assert limit > MAX_RHAT
    assert (values > MAX_RHAT).mean() > 0.05  # which a fixed limit would call a problem
    assert (values > limit).sum() <= 13  # more of 500 with probability 0.001 at 1%
    assert np.quantile(values, 0.99) == pytest.approx(limit, abs=0.25 * (limit - 1))


def test_chains_that_agree_pass_and_chains_that_do_not_fail_however_dependent_the_draws_are():
    rng = np.random.default_rng(2)
    agreeing = chains(rng, 20, 4, 500, 0.5)
    found = rhat(scalars(agreeing))
    assert found.values.max() > MAX_RHAT
    assert not found.problem
    moved = agreeing + np.array([0.0, 0.0, 0.0, 0.7])[:, None]
    assert rhat(scalars(moved)).problem
    drifting = np.cumsum(rng.normal(size=(3, 4, 500)), axis=-1)
    assert rhat(scalars(drifting)).problem


def test_a_limit_and_what_is_above_it_are_never_printed_alike():
    rng = np.random.default_rng(3)
    draws = chains(rng, 1, 4, 2000)
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        shifted = scalars(draws + middle * np.array([0, 0, 0, 1])[:, None])
        low, high = (low, middle) if rhat(shifted).problem else (middle, high)
    problem = rhat(scalars(draws + high * np.array([0, 0, 0, 1])[:, None])).problem
    value, limit = re.search(r"R-hat is ([\d.]+) \(limit ([\d.]+)\)", problem).groups()
    assert float(value) > float(limit) == MAX_RHAT


def test_remedies_are_given_as_settings_of_the_engine():
    assert "inference=bc.engines.NUTS(draws=2000, tune=1000)" in energy(np.ones((4, 9))).advice("NUTS")
    assert "NUTS(max_treedepth=12)" in saturation(np.ones((4, 5)), 10).advice("NUTS")
    assert "NUTS(chains=4)" in convergence.one_chain().advice("NUTS")


@pytest.mark.parametrize(("accepted", "advised"), [(0.82, 0.95), (0.95, 0.999)])
def test_smaller_steps_than_those_that_diverged(accepted, advised):
    found = divergences(np.eye(4, dtype=bool), np.full((4, 4), accepted))
    assert f"target_accept={advised}" in found.advice("NUTS")
