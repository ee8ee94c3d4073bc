"""Logistic regression whose weights have a prior scale that is learned with them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, override

import numpy as np
from scipy.special import softmax

from bayesclf.errors import DoesNotExist, Refused
from bayesclf.models.logistic.centered import CenteredRows, Matrix
from bayesclf.models.logistic.components import Component, evidence_at
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.learned_scale import LearnedScale
from bayesclf.models.logistic.likelihood import LaplaceApproximation, Likelihood, LogPosterior
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.models.logistic.newton import DENSE_PARAMETERS, maximize
from bayesclf.models.logistic.prior import LogisticPrior, UnseenPrior, WeightPrior
from bayesclf.models.logistic.scale_grid import Node, ScaleGrid, explore, mode
from bayesclf.models.logistic.scale_prior import AveragedWeightPrior, ScaledWeightPrior
from bayesclf.typing import Array, Parameters

if TYPE_CHECKING:
    from bayesclf.models.logistic.kernel import LogisticDensity

NODE_CONVERGED = 1e-6
"""Length of the last step to the mode at a node, in posterior sds, after which evidences are right to about 1e-8."""
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

    @cached_property
    @override
    def weight_prior(self) -> WeightPrior:
        """The prior of the weights where the learned scale is 1, in numbers."""
        return self.scale_prior.unit

    def given(self, scale: float) -> LogisticModel:
        """Return the model in which the scale is given."""
        assert isinstance(self.prior, LogisticPrior)
        given = self.scale_prior.at(scale)
        prior = replace(self.prior, prior_scale=given.scale[0, 1:])
        model = LogisticModel(self.labels, self.design, self.X, self.y, self.sample_weight, prior)
        vars(model)["weight_prior"] = given  # settings of scales alone have no covariances
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
        return {"prior_scale": np.array([np.inf]) if name == "mle" else np.exp([self.best.log_scale])}

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
        log_prior = prior.settings.log_density(np.log(prior_scale)) + prior.log_density(theta, prior_scale)
        return np.asarray(log_likelihood + log_prior)

    @override
    def log_prior(self, parameters: Parameters) -> dict[str, Array]:
        """Return the log densities (draw) of log s, and of the weights given s, up to constants."""
        scale, prior = parameters["prior_scale"], self.scale_prior
        theta = self._theta(parameters["intercept"], parameters["weight"])
        return {"prior_scale": prior.settings.log_density(np.log(scale)), "weights": prior.log_density(theta, scale)}

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
    def log_evidence(self) -> float:
        """Return log ∫ p(D | s) p(s) ds: Laplace's approximation of p(D | s), summed over the grid of s."""
        return self.scale_grid.log_evidence

    @override
    def laplace(self) -> LaplaceApproximation:
        """Return the normal approximation of the weights given the scale, at the modes of `map`."""
        return self.approximation(self.best)

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

    @override
    def from_pymc(self, draws: Mapping[str, Array]) -> Parameters:
        """Return intercept, weight and prior_scale; the weight may be given in units of the scale."""
        found = dict(draws)
        if "unscaled_weight" in found:
            prior, weight = self.scale_prior, draws["unscaled_weight"]
            if prior.unit.covariance is not None:
                weight = (weight * self.design.scale) @ prior.unit.covariance.lower.T / self.design.scale
            times = np.where(prior.learned[1:], draws["prior_scale"][:, None], 1.0)
            found["weight"] = weight * times[:, None, :]
        return {**super().from_pymc(found), "prior_scale": draws["prior_scale"]}

    @override
    def signature(self) -> Hashable:
        """Return what fixes the compiled form."""
        return ("learned scale", self.weight_prior.covariance is not None, super().signature())

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words."""
        return {**super().dims(), "prior_scale": ()}

    @override
    def objective(self, name: str) -> tuple[Likelihood | LogPosterior, Array]:
        """Return what ``"mle"`` or ``"map"`` maximizes, the latter given the scale at its mode, and a start θ."""
        objective, start = super().objective(name)
        return (objective if name == "mle" else self._objective(self.best.log_scale)), start

    @cached_property
    def scale_grid(self) -> ScaleGrid:
        """The posterior of log s on a grid.

        Raises
        ------
        DoesNotExist
            Where `map` does.
        """
        if reason := self.improper():
            raise DoesNotExist(reason)
        return self.grid_from(super().objective("mle")[1])

    def grid_from(self, start: Array, elsewhere: float = -np.inf) -> ScaleGrid:
        """Return the grid, of which the search for the first mode starts from θ `start`.

        `elsewhere` is the log of the posterior's mass that the grids of other priors hold.
        """
        settings = self.scale_prior.settings
        (first,) = self.nodes([(float(np.log(settings.median)), start)])
        return explore(self.nodes, first, settings.spread, elsewhere)

    @cached_property
    def best(self) -> Node:
        """The mode of log s given D."""
        best = mode(self.nodes, self.scale_grid)
        return replace(best, theta=maximize(self._objective(best.log_scale), best.theta))

    @cached_property
    def _mode(self) -> Array:
        """The mode of θ given the mode of log s."""
        return self.best.theta

    def nodes(self, starts: Sequence[tuple[float, Array]]) -> list[Node]:
        """Return the evidences of several scales, each with a θ that the search for its mode starts from."""
        return [self.node(log_scale, start) for log_scale, start in starts]

    def node(self, log_scale: float, start: Array) -> Node:
        """Return the evidence of one scale, its mode searched for from θ `start`."""
        objective = self._objective(log_scale)
        theta = maximize(objective, start, NODE_CONVERGED)
        log_prior = float(self.scale_prior.settings.log_density(np.array(log_scale)))
        return Node(log_scale, theta, evidence_at(objective, theta) + log_prior)

    def _objective(self, log_scale: float) -> LogPosterior:
        """Return the log posterior of θ given s."""
        return LogPosterior(self._likelihood, self.scale_prior.at(np.exp(log_scale)))

    def approximation(self, node: Node) -> LaplaceApproximation:
        """Return the normal approximation of the weights given a node's scale."""
        _, _, curvature = self._objective(node.log_scale).derivatives(node.theta)
        return LaplaceApproximation.at(node.theta, curvature, self.design.scale)

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

    @override
    @property
    def _prior_of_all(self) -> ScaledWeightPrior | AveragedWeightPrior:
        return self.scale_prior
