"""Do samplers agree on one posterior? Means and sds of all parameters, in units of their Monte Carlo error.

Each peer is compared with the others pooled, whose errors are independent of its own. With P peers and d parameters
there are 2 P d comparisons; by Bonferroni, all of them stay within the bound of a standard normal's tail
α/(2 · 2 P d) with probability 1 − α at least, if all peers are right.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from problems import Array
from scipy import stats

FALSE_ALARM = 0.001
"""Probability α that peers which are all right are said to disagree."""
QUANTITIES = ("mean", "sd")


@dataclass(frozen=True, eq=False)
class Estimates:
    """A posterior quantity by Monte Carlo, and its standard error, both (parameter)."""

    value: Array
    error: Array


@dataclass(frozen=True)
class Agreement:
    """How far peers are from each other, over a number of parameters."""

    parameters: int
    bound: float
    """Largest |z| that chance explains."""
    largest: dict[str, dict[str, float]]
    """For each peer and quantity, the largest |z| over the parameters."""

    @property
    def disagreements(self) -> list[str]:
        """Say so of each peer and quantity beyond the bound."""
        return [
            f"a posterior {quantity} of {peer} is {z:.1f} Monte Carlo errors from the others' (bound {self.bound:.1f})"
            for peer, found in self.largest.items()
            for quantity, z in found.items()
            if not z <= self.bound
        ]


def compare(draws: Mapping[str, Array]) -> Agreement:
    """Compare at least two peers.

    Parameters
    ----------
    draws
        Of each peer (chain, draw, parameter), the same parameters in the same order.
    """
    if len(draws) < 2:
        raise ValueError(f"agreement takes at least two peers, not {len(draws)}")
    parameters = next(iter(draws.values())).shape[2]
    bound = float(stats.norm.isf(FALSE_ALARM / (2 * len(QUANTITIES) * len(draws) * parameters)))
    largest: dict[str, dict[str, float]] = {peer: {} for peer in draws}
    for quantity in QUANTITIES:
        found = {peer: estimate(values, quantity) for peer, values in draws.items()}
        for peer, own in found.items():
            others = pool([estimates for other, estimates in found.items() if other != peer])
            z = (own.value - others.value) / np.hypot(own.error, others.error)
            largest[peer][quantity] = float(np.abs(z).max())
    return Agreement(parameters, bound, largest)


def estimate(draws: Array, quantity: str) -> Estimates:
    """Return the mean or the sd of draws (chain, draw, parameter), with its Monte Carlo error."""
    from arviz_stats.base import array_stats

    flat = draws.reshape(-1, draws.shape[2])
    value = flat.mean(axis=0) if quantity == "mean" else flat.std(axis=0, ddof=1)
    return Estimates(value, array_stats.mcse(draws, chain_axis=0, draw_axis=1, method=quantity))


def pool(estimates: list[Estimates]) -> Estimates:
    """Average independent estimates, each weighted by its precision."""
    precision = np.array([one.error**-2.0 for one in estimates])
    total = precision.sum(axis=0)
    value = (precision * np.array([one.value for one in estimates])).sum(axis=0) / total
    return Estimates(value, total**-0.5)


def effective_draws(draws: Array) -> Array:
    """Return the bulk effective sample size of each parameter, from draws (chain, draw, parameter)."""
    from arviz_stats.base import array_stats

    return np.asarray(array_stats.ess(draws, chain_axis=0, draw_axis=1, method="bulk"))
