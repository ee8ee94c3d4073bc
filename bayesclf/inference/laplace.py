"""The Laplace approximation, corrected by Pareto-smoothed importance resampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from bayesclf.errors import InputError, Refused
from bayesclf.families.base import Array, Integers, Model, Parameters

if TYPE_CHECKING:
    import xarray as xr

    from bayesclf.families.logistic import LaplaceApproximation

PROPOSALS_PER_DRAW = 4
"""Draws of the normal from which one draw of the posterior is resampled."""
NEGLIGIBLE_SPREAD = 1e-9
"""Log weights within this of each other are equal up to rounding, and have no tail to fit."""


@runtime_checkable
class LaplaceModel(Protocol):
    """A model with an unnormalised log posterior and its normal approximation."""

    def laplace(self) -> LaplaceApproximation:
        """Return the normal approximation at the mode."""

    def unravel(self, values: Array) -> Parameters:
        """Return the parameters from vectors (draw, value) in the order of `laplace`."""

    def log_posterior(self, intercept: Array, weight: Array) -> Array:
        """Return log p(θ, D), shape (draw)."""


@dataclass(frozen=True)
class Laplace:
    """Settings of the Laplace engine.

    Parameters
    ----------
    draws, chains
        Draws a chain, and chains; the draws are independent, the chains a format.
    limit
        Largest Pareto k̂ of the importance weights; above 0.7 these have too heavy a tail for their averages to
        settle at any practical number of draws (Vehtari et al. 2024, doi:10.48550/arXiv.1507.02646).
    """

    draws: int = 1000
    chains: int = 4
    limit: float = 0.7

    def __post_init__(self) -> None:
        for name in ("draws", "chains"):
            if not getattr(self, name) >= 1:
                raise InputError(f"{name} must be at least 1, not {getattr(self, name)}")


@dataclass(frozen=True, eq=False)
class LaplaceSample:
    """Equally weighted draws, and how good the approximation was.

    Attributes
    ----------
    parameters
        Draws by name, (chain, draw, ...).
    stats
        ``log_weight`` (chain, draw), the raw log importance ratio of each draw, up to a constant; ``pareto_k`` and
        ``importance_ess``, which belong to all proposals.
    khat
        Pareto shape k̂ of the importance ratios' tail.
    ess
        Effective number 1/Σw² of the proposals, by their smoothed weights w; Monte Carlo errors follow from it.
    """

    parameters: dict[str, Array]
    stats: xr.Dataset
    khat: float
    ess: float


def sample(model: Model, settings: Laplace, seed: int | np.random.SeedSequence) -> LaplaceSample:
    """Draw from the posterior by importance resampling from its normal approximation.

    θ_i ~ q = N(mode, H⁻¹) with ratios r_i = p(θ_i, D)/q(θ_i), whose largest are smoothed by the order statistics of a
    generalised Pareto tail; systematic resampling by them leaves equally weighted draws.

    Parameters
    ----------
    model
        What is sampled.
    settings
        How much, and what is refused.
    seed
        The same seed gives the same draws.

    Raises
    ------
    Refused
        If k̂ is above the limit, or if the model has no normal approximation.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao, Gabry, *Pareto smoothed importance sampling*, JMLR 25 (2024).
    """
    import xarray as xr

    if not isinstance(model, LaplaceModel):
        raise Refused("this model has no Laplace approximation; use inference='auto', 'exact' or 'nuts'")
    rng = np.random.default_rng(seed)
    wanted = settings.draws * settings.chains
    approximation = model.laplace()
    noise = rng.standard_normal((PROPOSALS_PER_DRAW * wanted, len(approximation.centre)))
    proposals = model.unravel(approximation.centre + noise @ approximation.factor.T)
    # log q up to its constant: |noise|² is the distance in the metric of the covariance.
    log_weight = model.log_posterior(**proposals) + 0.5 * np.sum(noise**2, axis=1)
    log_weight -= log_weight.max()
    smoothed, khat = _smooth(log_weight)
    if not khat <= settings.limit:
        raise Refused(
            f"the Laplace approximation is refused: k̂ = {khat:.2f} is above {settings.limit}, so the posterior is too "
            "far from a normal for its draws to be corrected by weights; use inference='nuts'"
        )
    chosen = _systematic(smoothed, wanted, rng)
    shape = (settings.chains, settings.draws)
    ess = float(1 / np.sum(smoothed**2))
    stats = xr.Dataset(
        {
            "log_weight": (("chain", "draw"), log_weight[chosen].reshape(shape)),
            "pareto_k": khat,
            "importance_ess": ess,
        }
    )
    parameters = {name: values[chosen].reshape(*shape, *values.shape[1:]) for name, values in proposals.items()}
    return LaplaceSample(parameters, stats, khat, ess)


def _smooth(log_weight: Array) -> tuple[Array, float]:
    """Return Pareto-smoothed weights, adding up to 1, and k̂."""
    if not np.ptp(log_weight) > NEGLIGIBLE_SPREAD:
        return np.full(log_weight.shape, 1 / log_weight.size), -np.inf
    from arviz_stats.base import array_stats

    # psislw is made for leave-one-out and takes log likelihoods: it smooths the tail of minus its argument.
    smoothed, khat = array_stats.psislw(-log_weight)
    weight = np.exp(smoothed)
    return weight / weight.sum(), float(khat)


def _systematic(weight: Array, size: int, rng: np.random.Generator) -> Integers:
    """Choose `size` positions so that position i comes up size·w_i times, rounded up or down; shuffled."""
    ends = np.cumsum(weight)
    chosen = np.searchsorted(ends / ends[-1], (np.arange(size) + rng.random()) / size, side="right")
    return rng.permutation(np.minimum(chosen, len(weight) - 1))
