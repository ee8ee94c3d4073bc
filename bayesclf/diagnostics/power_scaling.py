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
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.check import Skipped
from bayesclf.diagnostics.draws import names_of
from bayesclf.diagnostics.prior_density import Density, gaussian_likelihood, prior_density
from bayesclf.families.gaussian import Gaussian
from bayesclf.families.generative import Block, GenerativeModel
from bayesclf.families.logistic import LogisticModel
from bayesclf.typing import Array, Parameters

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from bayesclf.diagnostics.context import Context


FLAT = 1e-9
"""A log density that varies by no more than this is flat up to rounding, and has no tails to smooth."""


COMPARED = 10
"""Draws at which a recorded log density is compared with the density itself."""

SAME = 1e-4
"""Spread of their differences up to which they are the same: samplers may compute in other coordinates."""


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
        from arviz_stats.base import array_stats

        if not np.ptp(log_density) > FLAT:
            return np.zeros(len(self.draws))
        lower, upper = (_weights(log_density, power) for power in thresholds.POWERS)
        return np.array(
            [
                array_stats.power_scale_sense(draws, lower, upper, *thresholds.POWERS, chain_axis=0, draw_axis=1)
                for draws in self.draws
            ]
        )

    def pull(self) -> Array:
        """Return cov(θ, log p(θ))/sd(θ), (scalar): how far the prior moves the mean, in posterior sds.

        It is the derivative of E[θ | D] by the power of the prior, at the posterior as it is.
        """
        flat, log_prior = self.draws.reshape(len(self.draws), -1), self.log_prior.ravel()
        centred = flat - flat.mean(axis=1, keepdims=True)
        return np.asarray(centred @ (log_prior - log_prior.mean()) / (log_prior.size * flat.std(axis=1)))


def _weights(log_density: Array, power: float) -> Array:
    """Return p(θ)^(power − 1), Pareto-smoothed and adding up to 1, (chain, draw)."""
    from arviz_stats.base import array_stats

    try:
        log_weight = array_stats.power_scale_lw(log_density - log_density.max(), power, axis=[-2, -1])
    except ValueError:  # the largest weights are all equal, as those of one draw that was resampled often
        log_weight = (power - 1) * (log_density - log_density.max())
    weight = np.exp(log_weight)
    return np.asarray(weight / weight.sum())


def sensitivities(context: Context) -> pd.DataFrame:
    """Return one line a parameter: its sensitivities to the prior and to the likelihood, and the pull of the prior.

    Parameters that do not vary are left out; of more than `MAX_SCALARS`, some parts are taken at even distances.
    """
    import pandas as pd

    draws = context.posterior.sizes["chain"] * context.posterior.sizes["draw"]
    if draws < thresholds.MIN_SCALED_DRAWS:
        raise Skipped(f"{draws} draws are too few to weigh; take at least {thresholds.MIN_SCALED_DRAWS}")
    parts = list(_parts(context))
    scalars = sum(len(part.names) for part in parts)
    step = max(-(-scalars // thresholds.MAX_SCALARS), 1)
    lines = [
        pd.DataFrame(
            {
                "parameter": part.names,
                "prior": part.sensitivity(part.log_prior),
                "likelihood": part.sensitivity(part.log_likelihood),
                "pull": part.pull(),
            }
        )
        for part in parts[::step]
    ]
    empty = pd.DataFrame({"parameter": [], "prior": [], "likelihood": [], "pull": []})
    table = pd.concat(lines, ignore_index=True) if lines else empty
    table.attrs["of"] = scalars
    return table


def _parts(context: Context) -> Iterator[Part]:
    posterior = context.posterior
    model = context.classifier.model_
    if isinstance(model, LogisticModel):
        yield _of_weights(model, posterior, context.statistics)
        return
    assert isinstance(model, GenerativeModel)
    if model.class_prior.learnt:
        pi = {"pi": _flat(posterior["pi"])}
        both = prior_density(model.class_prior, pi), prior_density(model.class_prior.posterior(model.label_counts), pi)
        yield from _split(posterior, "", *_difference(*both))
    for index, block in enumerate(model.blocks):
        names = [name + block.suffix for name in block.family.dims()]
        if all(name in posterior for name in names):  # else the draws are too large to hold
            parameters = block.own({name: _flat(posterior[name]) for name in names})
            yield from _split(posterior, block.suffix, *_of_block(context, block, index, parameters))


def _of_weights(model: LogisticModel, posterior: xr.Dataset, statistics: xr.Dataset | None) -> Part:
    """Return the one part of logistic regression.

    The likelihood is recorded, or computed from all rows: of some draws only where these are many. With fewer draws the
    sensitivities have a larger Monte Carlo error, which can hide that a likelihood is weak and cannot feign it.
    """
    recorded = _recorded(model, posterior, statistics)
    if recorded is None:
        cells = model.X.shape[0] * model.weight_prior.mean.size
        step = -(-posterior.sizes["chain"] * posterior.sizes["draw"] * cells // thresholds.SCALED_CELLS)
        posterior = posterior.isel(draw=slice(None, None, max(step, 1)))
    intercept, weight = _flat(posterior["intercept"]), _flat(posterior["weight"])
    theta = np.concatenate([intercept[:, :, None], weight * model.design.scale], axis=2)
    log_prior = model.weight_prior.log_density(theta)
    log_posterior = model.log_posterior(intercept, weight) if recorded is None else recorded
    log_likelihood = log_posterior - log_prior
    shape = posterior.sizes["chain"], posterior.sizes["draw"]
    names, draws = [], []
    for name in ("intercept", "weight"):
        names += names_of(name, posterior[name])
        draws.append(posterior[name].transpose(..., "chain", "draw").values.reshape(-1, *shape))
    return Part(tuple(names), np.concatenate(draws), log_prior.reshape(shape), log_likelihood.reshape(shape))


def _recorded(model: LogisticModel, posterior: xr.Dataset, statistics: xr.Dataset | None) -> Array | None:
    """Return log p(θ, D) up to a constant, (draw), where the engine recorded it.

    It is believed where it differs from the density itself, at a few draws, by no more than a constant.
    """
    if statistics is None or "lp" not in statistics:
        return None
    recorded = _flat(statistics["lp"])
    some = np.linspace(0, len(recorded) - 1, COMPARED).astype(int)
    density = model.log_posterior(_flat(posterior["intercept"])[some], _flat(posterior["weight"])[some])
    return recorded if np.ptp(recorded[some] - density) < SAME else None


def _of_block(context: Context, block: Block, index: int, parameters: Parameters) -> tuple[Density, Density]:
    """Return prior and likelihood of a block: in closed form, or of the rows together where that is not at hand."""
    prior = prior_density(block.family, parameters)
    if isinstance(block.family, Gaussian):
        return prior, gaussian_likelihood(block.family, block.statistics, parameters)  # type: ignore[arg-type]
    if not block.family.not_conjugate(block.statistics):
        return _difference(prior, prior_density(block.family.posterior(block.statistics), parameters))
    training = context.training
    log_density = block.family.log_density(training.rows.parts[index], parameters)
    total = log_density[:, np.arange(len(training)), training.y].sum(axis=1)
    whole = {name: np.zeros_like(part) for name, part in prior.part_of.items()}
    return Density(prior.log_density.sum(axis=1, keepdims=True), whole), Density(total[:, None], whole)


def _difference(prior: Density, posterior: Density) -> tuple[Density, Density]:
    """Return prior and likelihood from prior and posterior."""
    return prior, Density(posterior.log_density - prior.log_density, prior.part_of)


def _split(posterior: xr.Dataset, suffix: str, prior: Density, likelihood: Density) -> Iterator[Part]:
    """Yield each part with its parameters that vary."""
    shape = posterior.sizes["chain"], posterior.sizes["draw"]
    names, values, of = [], [], []
    for name, part_of in prior.part_of.items():
        variable = posterior[name + suffix]
        names += names_of(name + suffix, variable)
        values.append(variable.transpose(..., "chain", "draw").values.reshape(-1, *shape))
        of.append(np.asarray(part_of).ravel())
    draws, numbers = np.concatenate(values), np.concatenate(of)
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
    return np.asarray(values.reshape(-1, *values.shape[2:]))
