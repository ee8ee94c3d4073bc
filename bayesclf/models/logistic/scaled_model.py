"""What models have in common whose weights have prior scales that are learned with them, one scale or several."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, override

import numpy as np

from bayesclf.errors import Refused
from bayesclf.models.logistic.centered import CenteredRows, Matrix
from bayesclf.models.logistic.likelihood import LaplaceApproximation, Likelihood, LogPosterior
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.models.logistic.newton import DENSE_PARAMETERS
from bayesclf.models.logistic.prior import LogisticPrior, UnseenPrior, WeightPrior
from bayesclf.models.logistic.scale_groups import GroupedWeightPrior
from bayesclf.models.logistic.scale_node import Node
from bayesclf.models.logistic.scale_prior import AveragedWeightPrior, ScaledWeightPrior
from bayesclf.typing import Array, Parameters


def not_learnable(X: Matrix, weights: int) -> str:
    """Return why the scale of a number of weights on some rows cannot be learned, or would take too long; or ""."""
    if isinstance(X, CenteredRows):
        return "the table is sparse"
    if weights > DENSE_PARAMETERS:
        return f"the model has {weights:,} weights and the limit is {DENSE_PARAMETERS:,}"
    return ""


@dataclass(frozen=True, eq=False, repr=False)
class ScaledModel(LogisticModel):
    """`LogisticModel` with prior scales s that are learned: log s ~ N(log median, spread²), and given s normal weights.

    A subclass has the prior of scales and weights, and says where log s has its mode. MAP is this mode of log s given
    D, and that of the weights given this s.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if reason := not_learnable(self.X, self.weight_prior.mean.size):
            what = "scales are" if np.ndim(self.scale_prior.median) else "scale is"
            raise Refused(f"the prior {what} not learned, because {reason}; take a number, such as prior_scale=2.5")

    @property
    @abstractmethod
    def scale_prior(self) -> ScaledWeightPrior | GroupedWeightPrior:
        """The prior of the scales, and of the weights given them, in numbers."""

    @property
    @abstractmethod
    def best(self) -> Node[float] | Node[Array]:
        """The mode of log s given D; raises as `map`."""

    @cached_property
    @override
    def weight_prior(self) -> WeightPrior:
        """The prior of the weights where all learned scales are 1, in numbers."""
        return self.scale_prior.unit

    def given(self, scale: Any) -> LogisticModel:
        """Return the model in which the scale, or the scales (group), are given."""
        assert isinstance(self.prior, LogisticPrior)
        given = self.scale_prior.at(scale)
        prior = replace(self.prior, prior_scale=given.scale[0, 1:])
        model = LogisticModel(self.labels, self.design, self.X, self.y, self.sample_weight, prior)
        vars(model)["weight_prior"] = given  # settings of scales alone have neither covariances nor unseen levels
        return model

    @override
    def mle(self) -> Parameters:
        """Return the maximum conditional likelihood estimate; its prior is flat, of infinite scale."""
        return {**self.given(self.scale_prior.median).mle(), **self.unmoved("mle")}

    @override
    def map(self) -> Parameters:
        """Return the mode of log s given D, and that of the weights given this s; raises as `LogisticModel.map`."""
        return {**self.parameters(self._mode), **self.unmoved("map")}

    @override
    def unmoved(self, name: str) -> Parameters:
        """Return the scales: those of a flat prior for ``"mle"``, their mode for ``"map"``."""
        flat = np.full(np.shape(self.scale_prior.median), np.inf)
        return {"prior_scale": (flat if name == "mle" else np.exp(self.best.log_scale))[None]}

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
            s, (draw) or (draw, scale_group); without it, s is integrated out.
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
        """Return the prior of the weights of unseen levels, each with the scales of its draw."""
        return self.scale_prior.unseen(parameters["prior_scale"])

    @override
    def laplace(self) -> LaplaceApproximation:
        """Return the normal approximation of the weights given the scales, at the modes of `map`."""
        return self.approximation(self.best)

    def approximation(self, node: Node[float] | Node[Array]) -> LaplaceApproximation:
        """Return the normal approximation of the weights given a node's scales."""
        _, _, curvature = self.objective_at(node.log_scale).derivatives(node.theta)
        return LaplaceApproximation.at(node.theta, curvature, self.design.scale)

    @override
    def from_pymc(self, draws: Mapping[str, Array]) -> Parameters:
        """Return intercept, weight and prior_scale; the weight may be given in units of the scales."""
        found = dict(draws)
        if "unscaled_weight" in found:
            times = self.scale_prior.of_columns(draws["prior_scale"])[:, 1:]
            found["weight"] = self._correlated(draws["unscaled_weight"]) * times[:, None, :]
        return {**super().from_pymc(found), "prior_scale": draws["prior_scale"]}

    def _correlated(self, unscaled: Array) -> Array:
        """Return weights in units of the scales (draw, outcome, feature) from those of the PyMC model: the same."""
        return unscaled

    @override
    def objective(self, name: str) -> tuple[Likelihood | LogPosterior, Array]:
        """Return what ``"mle"`` or ``"map"`` maximizes, the latter given the scales at their mode, and a start θ."""
        objective, start = super().objective(name)
        return (objective if name == "mle" else self.objective_at(self.best.log_scale)), start

    def objective_at(self, log_scale: Any) -> LogPosterior:
        """Return the log posterior of θ given log s, a number or (group)."""
        return LogPosterior(self._likelihood, self.scale_prior.at(np.exp(log_scale)))

    @cached_property
    def _mode(self) -> Array:
        """The mode of θ given the mode of log s."""
        return self.best.theta

    @override
    @property
    def _prior_of_all(self) -> ScaledWeightPrior | GroupedWeightPrior | AveragedWeightPrior:
        return self.scale_prior
