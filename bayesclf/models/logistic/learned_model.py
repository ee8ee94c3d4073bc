"""Logistic regression whose prior has a scale that is learned with the weights, and the correlation of these."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, override

import numpy as np
from scipy.special import logsumexp, softmax

from bayesclf.errors import DoesNotExist, Refused
from bayesclf.models.logistic.centered import CenteredRows, Matrix
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.learned_scale import LearnedScale
from bayesclf.models.logistic.likelihood import LaplaceApproximation, Likelihood, LogPosterior
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.models.logistic.newton import DENSE_PARAMETERS, maximize
from bayesclf.models.logistic.prior import LogisticPrior, UnseenPrior, WeightPrior
from bayesclf.models.logistic.scale_grid import Component, Node, ScaleGrid, Starts, explore, explored, mode
from bayesclf.models.logistic.scale_prior import AveragedWeightPrior, ScaledWeightPrior
from bayesclf.typing import Array, Parameters

if TYPE_CHECKING:
    from bayesclf.models.logistic.density import LogisticDensity


SPREAD_SHARE = 0.1
"""Share of the proposals of which all nodes of the grid have as many, except those that are hopeless ..."""
HOPELESS = 10.0
"""... because their density is this much, in nats, below the largest."""


def not_learnable(X: Matrix, weights: int) -> str:
    """Return why the scale of a number of weights on some rows cannot be learned, or would take too long; or ""."""
    if isinstance(X, CenteredRows):
        return "the table is sparse"
    if weights > DENSE_PARAMETERS:
        return f"the model has {weights:,} weights and the limit is {DENSE_PARAMETERS:,}"
    return ""


def learns_nothing(prior: LogisticPrior, design: LogisticDesign) -> bool:
    """Return whether the scales of all columns of a design are given, or there is no column."""
    return not ScaledWeightPrior.of(prior, design, 1).size


def mixture(members: Sequence[LearnedScaleModel]) -> tuple[Component, ...]:
    """Return the normal approximation of the weights at each node of the models' grids that is not hopeless.

    The nodes share the proposals as they share the posterior, but all have as many of `SPREAD_SHARE` of them.
    """
    grids = [member.scale_grid for member in members]
    top = max(grid.log_densities.max() for grid in grids)
    alive = [(m, i) for m, grid in enumerate(grids) for i in np.flatnonzero(grid.log_densities > top - HOPELESS)]
    masses = softmax([grids[m].log_masses[i] for m, i in alive])
    shares = (1 - SPREAD_SHARE) * masses + SPREAD_SHARE / len(alive)
    powers = [member.power if len(members) > 1 else None for member in members]
    return tuple(
        Component(
            members[m].approximation(grids[m].nodes[i]), float(share), replace(grids[m].cells[i], power=powers[m])
        )
        for (m, i), share in zip(alive, shares, strict=True)
    )


def learns_correlations(prior: LogisticPrior, design: LogisticDesign) -> bool:
    """Return whether several columns have scales that are learned, so that λ, of several, makes a difference."""
    assert isinstance(prior.prior_scale, LearnedScale)
    return len(prior.prior_scale.powers) > 1 and ScaledWeightPrior.of(prior, design, 1).size > 1


@dataclass(frozen=True, eq=False, repr=False)
class LearnedScaleModel(LogisticModel):
    """P(y = k | x) ∝ exp(b_k + w_k·(x − center)) with w_kj ~ N(0, s²/sd_j²), log s ~ N(log median, spread²).

    =========== ======= ============================================== ==============================
    parameter   support prior (symmetric)                              axes
    =========== ======= ============================================== ==============================
    prior_scale above 0 LogNormal(log median, spread)                  ()
    intercept   real    as in `LogisticModel`, of a given scale        (outcome), the log-odds at the means
    weight      real    N(0, s²/sd_j²) for any two classes, given s    (outcome, feature), per unit of x_j
    =========== ======= ============================================== ==============================

    MAP: the mode of log s given D, and the mode of the weights given that s. Their joint density has no useful maximum:
    it is unbounded at s = 0 wherever the prior density of s is above 0 there, and where that goes to 0, as a
    log-normal's does, the maximum is at an absurdly small s. The evidence of s is Laplace's approximation; importance
    weights of draws correct it.

    References
    ----------
    MacKay (1992), The evidence framework applied to classification networks, doi:10.1162/neco.1992.4.5.720.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if reason := not_learnable(self.X, self.weight_prior.mean.size):
            raise Refused(f"the prior scale is not learned, because {reason}; take a number, such as prior_scale=2.5")

    @cached_property
    def scale_prior(self) -> ScaledWeightPrior:
        """The prior of the scale, and of the weights given it, in numbers."""
        assert isinstance(self.prior, LogisticPrior)
        rows = None if isinstance(self.X, CenteredRows) else (self.X, self.sample_weight)
        return ScaledWeightPrior.of(self.prior, self.design, len(self.labels) - 1, rows)

    @override
    def log_evidence(self) -> float:
        """Return log ∫ p(D | s) p(s) ds: Laplace's approximation of p(D | s), summed over the grid of s."""
        return self.scale_grid.log_evidence

    @override
    def components(self) -> tuple[Component, ...]:
        """Return the normal approximation of the weights at each node of the grid that is not hopeless."""
        return mixture((self,))

    @override
    def density(self) -> LogisticDensity:
        """Return the log density of the weights given the scale at its mode, whitened there; raises as `map`."""
        return self.density_at(self.best)

    def density_at(self, node: Node) -> LogisticDensity:
        """Return log p(θ, D | s) of a node's scale in coordinates in which it is nearly standard normal."""
        return self._whitened(self.approximation(node), self.scale_prior.at(np.exp(node.log_scale)))

    def _correlated(self, unscaled: Array) -> Array:
        """Return weights in units of the scale, of the columns' covariance L Lᵀ, where PyMC's are independent."""
        covariance = self.scale_prior.unit.covariance
        if covariance is None:
            return unscaled
        return (unscaled * self.design.scale) @ covariance.lower.T / self.design.scale

    @override
    def signature(self) -> Hashable:
        """Return what fixes the compiled form."""
        return ("learned scale", self.weight_prior.covariance is not None, super().signature())

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words."""
        return {**super().dims(), "prior_scale": ()}

    @cached_property
    def scale_grid(self) -> ScaleGrid:
        """The posterior of log s on a grid.

        Raises
        ------
        DoesNotExist
            Where `map` does.
        """
        (grid,) = self._explored_grids()
        return grid

    def _explored_grids(self) -> tuple[ScaleGrid, ...]:
        """Return the grid of each of the members; raises as `scale_grid`."""
        if reason := self.improper():
            raise DoesNotExist(reason)
        settings, start = self.scale_prior.settings, self.objective("mle")[1]
        firsts = self.nodes_of_members([[(float(np.log(settings.median)), start)]] * len(self.members))
        return explore(self.nodes_of_members, [first for (first,) in firsts], settings.spread)

    @cached_property
    def best(self) -> Node:
        """The mode of log s given D."""
        best = mode(self.nodes, self.scale_grid)
        return replace(best, theta=maximize(self.objective_at(best.log_scale), best.theta))

    def nodes(self, starts: Starts) -> list[Node]:
        """Return the evidences of several scales, each with a θ that the search for its mode starts from."""
        return [self.node(log_scale, start) for log_scale, start in starts]

    def nodes_of_members(self, starts: Sequence[Starts]) -> list[list[Node]]:
        """Return the evidences of several scales of each of the members."""
        return [member.nodes(own) for member, own in zip(self.members, starts, strict=True)]

    def node(self, log_scale: float, start: Array) -> Node:
        """Return the evidence of one scale, its mode searched for from θ `start`."""
        log_prior = float(self.scale_prior.log_density_of_scales(np.array(log_scale)))
        return explored(self.objective_at(log_scale), log_scale, start, log_prior)

    @property
    def members(self) -> tuple[LearnedScaleModel, ...]:
        """The models, each with one λ, whose posterior this is: this one."""
        return (self,)

    @property
    def grids(self) -> list[tuple[LearnedScaleModel, ScaleGrid]]:
        """The models, each with one λ, and the grids of their scales."""
        return [(self, self.scale_grid)]

    @property
    def power(self) -> float:
        """λ, of which the prior has one value."""
        return self.scale_prior.settings.powers[0]

    @cached_property
    @override
    def weight_prior(self) -> WeightPrior:
        """The prior of the weights at scale 1, in numbers."""
        return self.scale_prior.unit

    def given(self, scale: float) -> LogisticModel:
        """Return the model in which the scale is given."""
        assert isinstance(self.prior, LogisticPrior)
        given = self.scale_prior.at(scale)
        prior = replace(self.prior, prior_scale=given.scale[0, 1:])
        model = LogisticModel(self.labels, self.design, self.X, self.y, self.sample_weight, prior)
        vars(model)["weight_prior"] = given  # settings of scales alone have neither covariances nor unseen levels
        return model

    @override
    def mle(self) -> Parameters:
        """Return the maximum conditional likelihood estimate; its prior is flat, of infinite scale."""
        return {**self.given(self.scale_prior.settings.median).mle(), **self.unmoved("mle")}

    @override
    def map(self) -> Parameters:
        """Return the mode of log s given D, and that of the weights given this s; raises as `LogisticModel.map`."""
        return {**self.parameters(self._mode), **self.unmoved("map")}

    @override
    def unmoved(self, name: str) -> Parameters:
        """Return the scale: that of a flat prior for ``"mle"``, its mode for ``"map"``."""
        return {"prior_scale": np.array([np.inf if name == "mle" else np.exp(self.best.log_scale)])}

    @override
    def log_posterior(self, intercept: Array, weight: Array, prior_scale: Array | None = None) -> Array:
        """Return log p(θ, log s) + Σ w log P(y | x, θ), constants included, shape (draw).

        Parameters
        ----------
        intercept
            (draw, outcome).
        weight
            Per unit of the columns, (draw, outcome, feature).
        prior_scale
            s (draw); without it, s is integrated out.
        """
        theta, prior = self._theta(intercept, weight), self.scale_prior
        log_likelihood = self._likelihood.values(theta) + self._log_units
        if prior_scale is None:
            return np.asarray(log_likelihood + prior.log_marginal(theta))
        log_prior = prior.log_density_of_scales(np.log(prior_scale)) + prior.log_density(theta, prior_scale)
        return np.asarray(log_likelihood + log_prior)

    @override
    def log_prior(self, parameters: Parameters) -> dict[str, Array]:
        """Return the log densities (draw) of log s, and of the weights given s, up to constants."""
        scale, prior = parameters["prior_scale"], self.scale_prior
        theta = self._theta(parameters["intercept"], parameters["weight"])
        return {"prior_scale": prior.log_density_of_scales(np.log(scale)), "weights": prior.log_density(theta, scale)}

    @override
    def prior_draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw parameters (draw, …) from the prior, or raise `Refused` for a flat one."""
        self.refuse_flat()
        theta, scale = self.scale_prior.draw(rng, draws)
        return {"intercept": theta[:, :, 0], "weight": theta[:, :, 1:] / self.design.scale, "prior_scale": scale}

    @override
    def unseen_prior(self, parameters: Parameters) -> UnseenPrior:
        """Return the prior of the weights of unseen levels, each with the scale of its draw."""
        return self.scale_prior.unseen(parameters["prior_scale"])

    @override
    def laplace(self) -> LaplaceApproximation:
        """Return the normal approximation of the weights given the scale, at the modes of `map`."""
        return self.approximation(self.best)

    def approximation(self, node: Node) -> LaplaceApproximation:
        """Return the normal approximation of the weights given a node's scale."""
        _, _, curvature = self.objective_at(node.log_scale).derivatives(node.theta)
        return LaplaceApproximation.at(node.theta, curvature, self.design.scale)

    @override
    def from_pymc(self, draws: Mapping[str, Array]) -> Parameters:
        """Return intercept, weight and prior_scale; the weight may be given in units of the scale."""
        found = dict(draws)
        if "unscaled_weight" in found:
            times = self.scale_prior.of_columns(draws["prior_scale"])[:, 1:]
            found["weight"] = self._correlated(draws["unscaled_weight"]) * times[:, None, :]
        return {**super().from_pymc(found), "prior_scale": draws["prior_scale"]}

    @override
    def objective(self, name: str) -> tuple[Likelihood | LogPosterior, Array]:
        """Return what ``"mle"`` or ``"map"`` maximizes, the latter given the scale at its mode, and a start θ."""
        objective, start = super().objective(name)
        return (objective if name == "mle" else self.objective_at(self.best.log_scale)), start

    def objective_at(self, log_scale: float) -> LogPosterior:
        """Return the log posterior of θ given log s."""
        return LogPosterior(self._likelihood, self.scale_prior.at(np.exp(log_scale)))

    @cached_property
    def _mode(self) -> Array:
        """The mode of θ given the mode of log s."""
        return self.best.theta

    @override
    @property
    def _prior_of_all(self) -> ScaledWeightPrior | AveragedWeightPrior:
        return self.scale_prior


CONDITIONAL_STREAM = 3
"""Number of the random stream from which λ is drawn where the sampler has summed over it."""


@dataclass(frozen=True, eq=False, repr=False)
class LearnedPowerModel(LearnedScaleModel):
    """P(y = k | x) ∝ exp(b_k + w_k·(x − center)) with w_k ~ N(0, s² C_λ) per sd of the columns, s and λ unknown.

    =========== ======= ============================================== ==============================
    parameter   support prior (symmetric)                              axes
    =========== ======= ============================================== ==============================
    prior_power a few   each value as likely as any other              ()
    prior_scale above 0 LogNormal(log median, spread)                  ()
    intercept   real    as in `LogisticModel`, of a given scale        (outcome), the log-odds at the means
    weight      real    N(0, s² C_λ) for any two classes, given s, λ   (outcome, feature), per unit of x_j
    =========== ======= ============================================== ==============================

    C_λ is that of `LearnedScale`. The posterior is a mixture over λ of those of `LearnedScaleModel`: p(D | λ) is
    Laplace's evidence summed over a grid of s, and importance weights of draws, or the bridges between draws by NUTS,
    correct it. MAP: the most probable λ given D, the mode of log s given this λ, and that of the weights given both.
    In the PyMC model λ is summed out, for NUTS moves through real numbers only, and is drawn afterward from its
    probabilities given s and the weights. MLE: the prior is flat, and λ, which is then without meaning, is the first.

    References
    ----------
    Krishna, Bondell and Ghosh (2009), doi:10.1016/j.jspi.2008.12.004 (the prior, its power unknown). MacKay (1992), The
    evidence framework applied to classification networks, doi:10.1162/neco.1992.4.5.720.
    """

    discrete: ClassVar[tuple[str, ...]] = ("prior_power",)

    @override
    @cached_property
    def members(self) -> tuple[LearnedScaleModel, ...]:
        """The models with one λ each."""
        assert isinstance(self.prior, LogisticPrior)
        assert isinstance(self.prior.prior_scale, LearnedScale)
        settings, found = self.prior.prior_scale, []
        for power in settings.powers:
            prior = replace(self.prior, prior_scale=settings.of_one_power(power))
            member = LearnedScaleModel(self.labels, self.design, self.X, self.y, self.sample_weight, prior)
            vars(member)["_likelihood"] = self._likelihood
            found.append(member)
        return tuple(found)

    @cached_property
    def scale_priors(self) -> AveragedWeightPrior:
        """The prior of λ, of the scale, and of the weights given both, in numbers."""
        return AveragedWeightPrior(tuple(member.scale_prior for member in self.members))

    @override
    @cached_property
    def scale_prior(self) -> ScaledWeightPrior:
        """The prior of the scale and of the weights given the first λ; others differ in the weights' covariances."""
        return self.members[0].scale_prior

    @cached_property
    def explored(self) -> tuple[LearnedScaleModel, ...]:
        """The models with one λ each, with the grids of their scales, each as fine as its share of the posterior."""
        for member, grid in zip(self.members, self._explored_grids(), strict=True):
            vars(member)["scale_grid"] = grid
        return self.members

    @override
    @property
    def grids(self) -> list[tuple[LearnedScaleModel, ScaleGrid]]:
        """The models, each with one λ, and the grids of their scales."""
        return [(member, member.scale_grid) for member in self.explored]

    @property
    def chosen(self) -> LearnedScaleModel:
        """The model with the most probable λ."""
        return max(self.explored, key=lambda member: member.scale_grid.log_evidence)

    @override
    @property
    def scale_grid(self) -> ScaleGrid:
        """The posterior of log s given the most probable λ."""
        return self.chosen.scale_grid

    @override
    @property
    def best(self) -> Node:
        """The mode of log s given the most probable λ."""
        return self.chosen.best

    @override
    def unmoved(self, name: str) -> Parameters:
        """Return scale and λ: for ``"mle"`` those of a flat prior, for ``"map"`` their modes."""
        member = self.members[0] if name == "mle" else self.chosen
        return {**member.unmoved(name), "prior_power": np.array([member.power])}

    @override
    def log_posterior(
        self, intercept: Array, weight: Array, prior_scale: Array | None = None, prior_power: Array | None = None
    ) -> Array:
        """Return log p(θ, log s, λ) + Σ w log P(y | x, θ), constants included, shape (draw).

        Parameters
        ----------
        intercept
            (draw, outcome).
        weight
            Per unit of the columns, (draw, outcome, feature).
        prior_scale
            s (draw); without it, s is integrated out.
        prior_power
            λ (draw); without it, λ is summed out.
        """
        theta, priors = self._theta(intercept, weight), self.scale_priors
        log_density = self._likelihood.values(theta) + self._log_units
        if prior_scale is not None:
            log_density += self.scale_prior.settings.log_density(np.log(prior_scale))
        if prior_scale is None or prior_power is None:
            return np.asarray(log_density + priors.log_marginal(theta, prior_scale))
        return np.asarray(log_density + priors.log_density(theta, prior_scale, prior_power) - np.log(len(self.members)))

    @override
    def log_prior(self, parameters: Parameters) -> dict[str, Array]:
        """Return the log densities (draw) of log s, and of the weights given s and λ, up to constants."""
        scale, theta = parameters["prior_scale"], self._theta(parameters["intercept"], parameters["weight"])
        return {
            "prior_scale": self.scale_prior.settings.log_density(np.log(scale)),
            "weights": self.scale_priors.log_density(theta, scale, parameters["prior_power"]),
        }

    @override
    def prior_draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw parameters (draw, …) from the prior, or raise `Refused` for a flat one."""
        self.refuse_flat()
        theta, scale, power = self.scale_priors.draw(rng, draws)
        weight = theta[:, :, 1:] / self.design.scale
        return {"intercept": theta[:, :, 0], "weight": weight, "prior_scale": scale, "prior_power": power}

    @override
    def unseen_prior(self, parameters: Parameters) -> UnseenPrior:
        """Return the prior of the weights of unseen levels, each with scale and λ of its draw."""
        return self.scale_priors.unseen(parameters["prior_scale"], parameters["prior_power"])

    @override
    def log_evidence(self) -> float:
        """Return log p(D), averaged over the values of λ: Laplace's approximation given s, summed over grids of s."""
        evidences = [member.scale_grid.log_evidence for member in self.explored]
        return float(logsumexp(evidences) - np.log(len(evidences)))

    @override
    def components(self) -> tuple[Component, ...]:
        """Return the normal approximation of the weights at each λ and node of its grid that are not hopeless."""
        return mixture(self.explored)

    @override
    def density(self) -> LogisticDensity:
        """Return the log density of the weights given λ and scale at their modes, whitened there; raises as `map`."""
        return self.chosen.density()

    @override
    def from_pymc(self, draws: Mapping[str, Array]) -> Parameters:
        """Return the parameters; λ, over which the PyMC model sums, is drawn from its probabilities given the rest."""
        parameters = super().from_pymc(draws)
        theta = self._theta(parameters["intercept"], parameters["weight"])
        rng = np.random.default_rng([len(theta), CONDITIONAL_STREAM])
        return {**parameters, "prior_power": self.scale_priors.draw_power(rng, theta, parameters["prior_scale"])}

    @override
    def _correlated(self, unscaled: Array) -> Array:
        """Return the weights of the PyMC model: in units of the scale, they have the covariance of one λ or another."""
        return unscaled

    @override
    def signature(self) -> Hashable:
        """Return what fixes the compiled form."""
        return ("learned power", len(self.members), super().signature())

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words."""
        return {**super().dims(), "prior_power": ()}

    @override
    def objective_at(self, log_scale: float) -> LogPosterior:
        """Return the log posterior of θ given log s and the most probable λ."""
        return self.chosen.objective_at(log_scale)

    @override
    @property
    def _prior_of_all(self) -> AveragedWeightPrior:
        return self.scale_priors
