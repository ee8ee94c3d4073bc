"""Logistic regression whose weights have a prior scale and a prior correlation that are learned with them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, override

import numpy as np
from scipy.special import logsumexp

from bayesclf.models.logistic.components import Component
from bayesclf.models.logistic.learned_model import LearnedScaleModel, mixture
from bayesclf.models.logistic.learned_scale import LearnedScale
from bayesclf.models.logistic.likelihood import LogPosterior
from bayesclf.models.logistic.prior import LogisticPrior, UnseenPrior
from bayesclf.models.logistic.scale_grid import ScaleGrid
from bayesclf.models.logistic.scale_node import Node
from bayesclf.models.logistic.scale_prior import AveragedWeightPrior, ScaledWeightPrior
from bayesclf.typing import Array, Parameters

if TYPE_CHECKING:
    from bayesclf.models.logistic.kernel import LogisticDensity

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
    def best(self) -> Node[float]:
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
