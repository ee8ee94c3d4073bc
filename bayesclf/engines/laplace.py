"""Draws around the posterior mode, corrected by Pareto-smoothed importance resampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

import numpy as np

from bayesclf.arrays import Array, DrawZ, Integers, Parameters, Statistics
from bayesclf.constraints import Number, Whole, require
from bayesclf.display import Concise
from bayesclf.engines.convergence import smoothed
from bayesclf.errors import Refused
from bayesclf.models import Model

WIDER = 1.05
"""Factor of the sds of draws that gives the sds of proposals: the importance weights then have lighter tails."""
LEAST_EFFECTIVE = 100
"""Effective number of proposals from which others are placed; where there are fewer, their weights count by a power."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """A multivariate t distribution of z = center + sd t, where the posterior of z is nearly standard normal.

    `degrees`: Degrees of freedom; there are at least as many as coordinates, so that |t| varies through them no more
    than it does by itself. `center`, `sd`: Of each coordinate, (coordinate), or one for all.
    """

    degrees: float
    center: Array | float = 0.0
    sd: Array | float = 1.0

    def draw(self, rng: np.random.Generator, number: int, size: int) -> tuple[Array, Array]:
        """Return draws (draw, coordinate) and their log density (draw) up to a constant."""
        degrees = max(self.degrees, size)
        t = rng.standard_normal((number, size))
        t /= np.sqrt(rng.chisquare(degrees, number) / degrees)[:, None]
        return self.center + self.sd * t, -0.5 * (degrees + size) * np.log1p(np.sum(t**2, axis=1) / degrees)

    def moved(self, z: Array, log_weight: Array) -> Proposal:
        """Return the one with the means and `WIDER` sds of draws z (draw, coordinate), by weights given as logs (draw).

        Where few draws have all the weight, a power of the weights is taken that leaves `LEAST_EFFECTIVE`, and sds stay
        near those so far.

        See Cappé, Douc, Guillin, Marin, Robert, *Adaptive importance sampling in general mixture classes*, Statistics
        and Computing 18 (2008), doi:10.1007/s11222-008-9059-x.
        """
        log_weight = power_of(log_weight, LEAST_EFFECTIVE) * log_weight
        known = _effective(log_weight)
        weight = np.exp(log_weight)
        weight /= weight.sum()
        center = weight @ z
        variance = (known * (weight @ (z - center) ** 2) + LEAST_EFFECTIVE * self.sd**2) / (known + LEAST_EFFECTIVE)
        return Proposal(self.degrees, center, WIDER * np.sqrt(variance))


def power_of(log_weight: Array, least: float) -> float:
    """Return the largest power, at most 1, of weights given by their logs that leaves so many effective ones."""
    if _effective(log_weight) >= least:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _effective(middle * log_weight) >= least else (low, middle)
    return low


def _effective(log_weight: Array) -> float:
    """Return the effective number of draws of weights given by their logs, the largest of which is 0."""
    weight = np.exp(log_weight)
    return float(weight.sum() ** 2 / (weight**2).sum())


MOST_PER_DRAW = 8
"""Proposals from which one draw of the posterior is resampled, at most."""
LEAST_PROPOSALS = 1000
"""Proposals of a pilot, and of all draws at least, so that k̂ has a tail to fit."""
AMPLE = 1.5
"""How many effective proposals there should be for each draw, as a pilot promises too many where tails are heavy."""
LEAST_DEGREES = 10
"""Degrees of freedom of the t distribution of the proposals, or the number of parameters where that is more."""
AT_MODE = Proposal(LEAST_DEGREES)
"""Where the first proposals are."""
HOPELESS = 0.8
"""Multiple of the effective number that is needed which a pilot must promise of the most proposals.

With heavy tails a few promise too much.
"""
MOVES, MOVED_PROPOSALS, MOVED_ENOUGH = 6, 2000, 0.4
"""How often proposals are placed by the weights of those before, how many there are then, and the share of effective
ones that is enough."""


@runtime_checkable
class LaplaceModel(Protocol):
    """A model with an unnormalized log posterior and its normal approximation."""

    def propose(self, number: int, draw: DrawZ, rng: np.random.Generator) -> tuple[Parameters, Array, Array]:
        """Return proposals (draw, …), their log importance ratios (draw) up to a constant, and z (draw, coordinate)."""


@runtime_checkable
class PropagatedModel(LaplaceModel, Protocol):
    """Such a model that may have better normals than those around its mode."""

    labels: tuple[str, ...]

    def propagated(self) -> Self:
        """Return the model with normals that have the moments of the posterior, or itself where they take too long."""


LOST, LOST_OF_TWO = 0.01, 0.2
"""Shares of effective proposals around the mode, of several and of two classes, below which the posterior is not there:
expectation propagation then takes less time than proposals that are placed by their weights."""


@dataclass(frozen=True, repr=False)
class Laplace(Concise):
    """Draws around the posterior mode, resampled by importance weights from more proposals than draws.

    A skewed posterior can leave fewer than 40% of a pilot's 1,000 proposals effective. Then its weighted mean and sds
    place them anew, up to six times. Where it leaves fewer than 20% of two classes, or 1% of more, proposals come from
    normals with the moments of the posterior, by expectation propagation. The pilot says how many proposals give 1.5
    effective ones for each draw. If these leave fewer, eight proposals for each draw are made, the maximum. The log
    likelihood of a logistic regression on many rows is its expansion at the mode, and for some of them what that
    leaves: an error of sd 0.04 or so, which makes Monte Carlo errors at most 3% larger (Quiroz et al. 2019).

    Parameters
    ----------
    draws, chains
        Draws per chain, and chains; the draws are independent, and chains only a format.
    limit : float
        Largest Pareto k̂ of the importance weights; above 0.7 these have too heavy a tail for their averages to
        settle at any practical number of draws (Vehtari et al. 2024, doi:10.48550/arXiv.1507.02646).
    """

    draws: int = 1000
    chains: int = 4
    limit: float = 0.7

    def __post_init__(self) -> None:
        require(Whole(1), draws=self.draws, chains=self.chains)
        require(Number(infinite=True), limit=self.limit)


@dataclass(frozen=True, eq=False)
class Proposals:
    """Draws from an approximation of the posterior, with their importance weights.

    `parameters`: Draws by name, (draw, ...). `log_weight`: Raw log importance ratios, up to a constant (draw).
    `weight`: Pareto-smoothed weights, adding up to 1 (draw). `khat`: Pareto shape k̂ of the ratios' tail. `z`: Their
    coordinates, in which the posterior is nearly standard normal, (draw, coordinate). `of_z`: What z is drawn from.
    """

    parameters: Parameters
    log_weight: Array
    weight: Array
    khat: float
    z: Array
    of_z: Proposal

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def ess(self) -> float:
        """Effective number 1/Σw² of the proposals."""
        return float(1 / np.sum(self.weight**2))

    @property
    def share(self) -> float:
        """Effective number of one proposal."""
        return self.ess / len(self)


def sample(model: Model, settings: Laplace, seed: int | np.random.SeedSequence) -> tuple[Parameters, Statistics]:
    """Draw from the posterior by importance resampling from its approximation at the mode.

    Returns: As `resample`.

    Raises `Refused` if k̂ is above the limit, or if the model has no normal approximation.
    """
    rng = np.random.default_rng(seed)
    if not isinstance(model, LaplaceModel):
        raise Refused("this model has no Laplace approximation; use inference='auto'")
    near, few = pilot(model, rng)
    proposals = enough(near, settings, rng, few)
    if not proposals.khat <= settings.limit:
        cause = f"k̂ = {proposals.khat:.2f} is above {settings.limit}, so weights cannot correct it"
        remedy = "use inference='slice', which needs all rows in memory, or inference='map' and plug-in rules"
        raise Refused(f"the Laplace approximation is not accurate: {cause}; {remedy}")
    return resample(proposals, settings, rng)


def promises(proposals: Proposals) -> bool:
    """Return whether the most proposals would be worth about as many as the draws."""
    return proposals.share * MOST_PER_DRAW >= HOPELESS


def pilot[M: LaplaceModel](model: M, rng: np.random.Generator) -> tuple[M, Proposals]:
    """Return a few proposals, and the model with the normals that they come from.

    Where the posterior is not around its mode, these are the model's `propagated` ones, if it has any. Elsewhere they
    are placed by the weights of those before while too few are effective.
    """
    first = propose(model, LEAST_PROPOSALS, rng)
    if isinstance(model, PropagatedModel):
        least = LOST_OF_TWO if len(model.labels) == 2 else LOST
        near = model.propagated() if first.share < least else model
        if near is not model:
            return near, moved(near, rng, propose(near, MOVED_PROPOSALS, rng), times=1)
    return model, moved(model, rng, first)


def moved(model: LaplaceModel, rng: np.random.Generator, proposals: Proposals, times: int = MOVES) -> Proposals:
    """Return proposals placed by the weights of those before, up to so many times while too few are effective."""
    for _ in range(times):
        if proposals.share >= MOVED_ENOUGH:
            break
        proposals = propose(model, MOVED_PROPOSALS, rng, proposals.of_z.moved(proposals.z, proposals.log_weight))
    return proposals


def enough(model: LaplaceModel, settings: Laplace, rng: np.random.Generator, pilot: Proposals) -> Proposals:
    """Return proposals that are worth at least as many as the draws, if `MOST_PER_DRAW` for each of these are.

    `model`, `settings`: As for `sample`. `pilot`: A few proposals, which say how many are needed.
    """
    draws = settings.draws * settings.chains
    most = max(MOST_PER_DRAW * draws, LEAST_PROPOSALS)
    number = int(np.clip(np.ceil(AMPLE * draws / pilot.share), LEAST_PROPOSALS, most))
    proposals = propose(model, number, rng, pilot.of_z)
    if proposals.ess >= draws or number == most:
        return proposals
    return propose(model, most, rng, pilot.of_z)


def propose(model: LaplaceModel, number: int, rng: np.random.Generator, of_z: Proposal = AT_MODE) -> Proposals:
    """Draw proposals and weigh them.

    θ_i ~ q, a multivariate t with the mode and the curvature of the posterior unless `of_z` has others. The largest
    ratios r_i = p(θ_i, D)/q(θ_i) are smoothed by the order statistics of a generalized Pareto tail. Draws from a normal
    would hardly ever reach the long side of a skewed posterior, and their k̂ would not show it. The tails of t are
    heavier than those of the normal prior, so that r is bounded.

    See Geweke, *Bayesian inference in econometric models using Monte Carlo integration*, Econometrica 57 (1989),
    doi:10.2307/1913710. Vehtari, Simpson, Gelman, Yao, Gabry, *Pareto smoothed importance sampling*, JMLR 25 (2024).
    """
    parameters, log_ratio, z = model.propose(number, of_z.draw, rng)
    log_weight = np.where(np.isnan(log_ratio), -np.inf, log_ratio)
    log_weight -= log_weight.max()
    return Proposals(parameters, log_weight, *_smooth(log_weight), z, of_z)


def resample(proposals: Proposals, settings: Laplace, rng: np.random.Generator) -> tuple[Parameters, Statistics]:
    """Return equally weighted draws, by systematic resampling.

    Returns: Parameters (draw, …), and sample statistics. ``log_weight`` (chain, draw) is the raw log importance ratio
    of each draw, up to a constant. ``pareto_k`` and ``importance_ess``, 1/Σw² by smoothed weights w, belong to all
    proposals; Monte Carlo errors follow from the latter.
    """
    shape = (settings.chains, settings.draws)
    chosen = systematic(proposals.weight, settings.chains * settings.draws, rng).reshape(shape)
    of_all = {"pareto_k": np.array(proposals.khat), "importance_ess": np.array(proposals.ess)}
    stats = {"log_weight": proposals.log_weight[chosen], **of_all}
    return {name: values[chosen.ravel()] for name, values in proposals.parameters.items()}, stats


def _smooth(log_weight: Array) -> tuple[Array, float]:
    """Return Pareto-smoothed weights, adding up to 1, and k̂."""
    smooth, khat = smoothed(-log_weight[None], 1.0)
    weight = np.exp(smooth[0])
    return weight / weight.sum(), float(khat[0])


def systematic(weight: Array, size: int, rng: np.random.Generator) -> Integers:
    """Choose `size` positions so that position i comes up size·w_i times, rounded up or down; shuffled."""
    ends = np.cumsum(weight)
    chosen = np.searchsorted(ends / ends[-1], (np.arange(size) + rng.random()) / size, side="right")
    return rng.permutation(np.minimum(chosen, len(weight) - 1))
