"""How a posterior moves when its prior, or its likelihood, is raised to a power: p(θ | D) ∝ p(θ)^α p(D | θ)^β.

The arithmetic is that of `arviz.psense`: Pareto-smoothed weights p(θ)^(α − 1) at the draws, and the cumulative
Jensen-Shannon distance from the draws as they are, by the change of log₂ α. The likelihood is that of what the
posterior was conditioned on, p(x, y | θ) for a generative model. Parts of a model that are independent a posteriori
are scaled one by one: scaling the others as well changes nothing but the Monte Carlo error.

References
----------
Kallioinen, Paananen, Bürkner, Vehtari (2024), Detecting and diagnosing prior and likelihood sensitivity with
power-scaling, Statistics and Computing 34, doi:10.1007/s11222-023-10366-5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesclf.arrays import Array, Parameters
from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.held_out import NO_ROWS, Labelled, NotApplicable, Undecided
from bayesclf.engines.convergence import of_unit_scale, single
from bayesclf.errors import Refused
from bayesclf.families.class_prior import LearntClassPrior
from bayesclf.families.terms import Density
from bayesclf.models import Model
from bayesclf.models.generative import Block, GenerativeModel

if TYPE_CHECKING:
    import xarray as xr

FLAT = 1e-9
"""A log density that varies by no more than this is flat up to rounding and has no tails to smooth."""


@dataclass(frozen=True, eq=False)
class Part:
    """Parameters with a prior and a likelihood of their own.

    Attributes
    ----------
    names
        Such as "mu[yes, age]".
    draws
        (scalar, chain, draw).
    log_prior, log_likelihood
        (chain, draw), up to constants.
    """

    names: tuple[str, ...]
    draws: Array
    log_prior: Array
    log_likelihood: Array

    def sensitivity(self, log_density: Array) -> Array:
        """Return the sensitivity (scalar) to raising a density (chain, draw) to a power; 0 to that of a flat one."""
        if not np.ptp(log_density) > FLAT:
            return np.zeros(len(self.draws))
        from arviz_stats.base import array_stats

        lower, upper = (_weights(log_density, power) for power in thresholds.POWERS)
        sense = partial(array_stats.power_scale_sense, chain_axis=0, draw_axis=1)
        return np.array([sense(draws, lower, upper, *thresholds.POWERS) for draws in self.draws])

    def pull(self) -> Array:
        """Return cov(θ, log p(θ))/sd(θ), (scalar): how far the prior moves the mean, in posterior sds.

        It is the derivative of E[θ | D] with respect to the power of the prior, at power 1.
        """
        flat, log_prior = self.draws.reshape(len(self.draws), -1), self.log_prior.ravel()
        centered = flat - flat.mean(axis=1, keepdims=True)
        return np.asarray(centered @ (log_prior - log_prior.mean()) / (log_prior.size * flat.std(axis=1)))

    def lines(self) -> Iterator[tuple[str, float, float, float]]:
        """Yield the name of each scalar, its sensitivity to the prior and to the likelihood, and the prior's pull."""
        scaled = replace(self, draws=of_unit_scale(self.draws))  # no answer depends on the unit of a parameter
        prior, likelihood = scaled.sensitivity(self.log_prior), scaled.sensitivity(self.log_likelihood)
        yield from zip(self.names, prior, likelihood, scaled.pull(), strict=True)


def _weights(log_density: Array, power: float) -> Array:
    """Return p(θ)^(power − 1), Pareto-smoothed and adding up to 1, (chain, draw)."""
    from arviz_stats.base import array_stats

    try:
        log_weight = array_stats.power_scale_lw(log_density - log_density.max(), power, axis=[-2, -1])
    except ValueError:  # the largest weights are equal, such as those of a draw that was resampled often
        log_weight = (power - 1) * (log_density - log_density.max())
    weight = np.exp(log_weight)
    return np.asarray(weight / weight.sum())


def sensitivities(model: Model, posterior: xr.Dataset, training: Labelled | None) -> pd.DataFrame:
    """Return one row per parameter: its sensitivities to the prior and to the likelihood, and the pull of the prior.

    Parameters that do not vary are left out; of more than `MAX_SCALARS` parameters, evenly spaced parts are used.
    """
    draws = posterior.sizes["chain"] * posterior.sizes["draw"]
    if not draws:
        raise Undecided("no parameter varies")
    if draws < thresholds.MIN_SCALED_DRAWS:
        raise Undecided(f"{draws} draws are too few to reweight; use at least {thresholds.MIN_SCALED_DRAWS}")
    parts = list(_parts(model, posterior, training))
    scalars = sum(len(part.names) for part in parts)
    step = max(-(-scalars // thresholds.MAX_SCALARS), 1)
    lines = [line for part in parts[::step] for line in part.lines()]
    table = pd.DataFrame(lines, columns=["parameter", "prior", "likelihood", "pull"])
    table.attrs["of"] = scalars
    return table


def _parts(model: Model, posterior: xr.Dataset, training: Labelled | None) -> Iterator[Part]:
    """Yield the parts of a model that are independent a posteriori; arguments as in `sensitivities`."""
    if not isinstance(model, GenerativeModel):
        raise NotApplicable(
            "the weights of logistic regression share a prior, so that they have no sensitivities of their own"
        )
    if isinstance(model.class_prior, LearntClassPrior):
        pi = {"pi": _flat(posterior["pi"])}
        prior = model.class_prior.log_prior(pi)
        likelihood = model.class_prior.posterior(model.label_counts).log_prior(pi).ratio(prior)
        yield from _split(posterior, "", prior, likelihood)
    for index, block in enumerate(model.blocks):
        names = [name + block.suffix for name in block.family.dims()]
        if all(name in posterior for name in names):  # else the draws are too large to keep in memory
            parameters = block.own({name: _flat(posterior[name]) for name in names})
            yield from _split(posterior, block.suffix, *_of_block(block, index, parameters, training))


def _of_block(block: Block, index: int, parameters: Parameters, training: Labelled | None) -> tuple[Density, Density]:
    """Return prior and likelihood of a block: in closed form, or computed from all rows where there is none."""
    family, statistics = block.family, block.statistics
    try:
        own = family.log_prior(parameters)
    except Refused as reason:
        raise NotApplicable(str(reason)) from None
    prior = own if own.scaled is None else replace(own, log_density=own.scaled)
    if not family.not_conjugate(statistics):
        return prior, family.posterior(statistics).log_prior(parameters).ratio(own)
    if training is None:
        raise Undecided(NO_ROWS)
    log_density = family.log_density(training.rows.parts[index], parameters)
    total = log_density[:, np.arange(len(training)), training.y].sum(axis=1)
    whole = {name: np.zeros_like(part) for name, part in prior.part_of.items()}
    return Density(prior.log_density.sum(axis=1, keepdims=True), whole), Density(total[:, None], whole)


def _split(posterior: xr.Dataset, suffix: str, prior: Density, likelihood: Density) -> Iterator[Part]:
    """Yield each part with its parameters that vary."""
    shape = posterior.sizes["chain"], posterior.sizes["draw"]
    names, draws = single(posterior, [name + suffix for name in prior.part_of])
    numbers = np.concatenate([part_of.ravel() for part_of in prior.part_of.values()])
    varying = np.ptp(draws, axis=(1, 2)) > 0
    for part in range(prior.log_density.shape[1]):
        members = np.flatnonzero((numbers == part) & varying)
        if members.size:
            yield Part(
                tuple(names[i] for i in members),
                draws[members],
                prior.log_density[:, part].reshape(shape),
                likelihood.log_density[:, part].reshape(shape),
            )


def _flat(variable: xr.DataArray) -> Array:
    """Join chain and draw: (draw, …)."""
    values = variable.transpose("chain", "draw", ...).values
    return np.asarray(values.reshape(values.shape[0] * values.shape[1], *values.shape[2:]))
