"""Logistic regression in which groups of columns have prior scales of their own, learned with the weights."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, override

import numpy as np
from scipy.special import logsumexp

from bayesclf.errors import DoesNotExist, Refused
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.learned_model import not_learnable
from bayesclf.models.logistic.learned_scale import LearnedScale
from bayesclf.models.logistic.likelihood import LaplaceApproximation, Likelihood, LogPosterior
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.models.logistic.newton import maximize
from bayesclf.models.logistic.prior import LogisticPrior, UnseenPrior, WeightPrior
from bayesclf.models.logistic.scale_groups import GroupedWeightPrior
from bayesclf.models.logistic.scales_evidence import ScalesEvidence, ScalesNode
from bayesclf.models.logistic.scales_proposal import ScalesProposal
from bayesclf.typing import Array, Parameters

if TYPE_CHECKING:
    from bayesclf.models.logistic.scales_kernel import ScalesDensity

LEAST_LEFT = 1e-12
"""Least share of a weight's prior variance that counts as left in its posterior."""
EVIDENCE_PROPOSALS = 4_000
"""Proposals over which the evidence is averaged, from a seed of its own."""


def learned_groups(prior: LogisticPrior, design: LogisticDesign) -> int:
    """Return how many groups of a design's columns have a learned scale; 1 where `groups` is None."""
    assert isinstance(prior.prior_scale, LearnedScale)
    return len(GroupedWeightPrior.of(prior, design, 1)) if prior.prior_scale.groups is not None else 1


@dataclass(frozen=True, eq=False, repr=False)
class GroupedScaleModel(LogisticModel):
    """P(y = k | x) ∝ exp(b_k + w_k·(x − center)) with w_kj ~ N(0, s_g²/sd_j²) for a column j of group g.

    =========== ======= ============================================== ==============================
    parameter   support prior (symmetric)                              axes
    =========== ======= ============================================== ==============================
    prior_scale above 0 LogNormal(log median, spread), independent     (scale_group)
    intercept   real    as in `LogisticModel`, of a given scale        (outcome), the log-odds at the means
    weight      real    N(0, s_g²/sd_j²) for any two classes, given s  (outcome, feature), per unit of x_j
    =========== ======= ============================================== ==============================

    MAP: the mode of log s given D by Laplace's approximation of the evidence, and the mode of the weights given that s;
    the posterior of log s may have others, and the search starts from the prior's median. Draws are proposed around
    the mode (`ScalesProposal`) and corrected by importance weights, of which the average is the evidence.

    References
    ----------
    MacKay (1992), The evidence framework applied to classification networks, doi:10.1162/neco.1992.4.5.720, §3.2: a
    scale for each class of weights.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if reason := not_learnable(self.X, self.weight_prior.mean.size):
            raise Refused(f"the prior scales are not learned, because {reason}; take a number, such as prior_scale=2.5")

    @cached_property
    def scale_prior(self) -> GroupedWeightPrior:
        """The prior of the scales, and of the weights given them, in numbers."""
        assert isinstance(self.prior, LogisticPrior)
        return GroupedWeightPrior.of(self.prior, self.design, len(self.labels) - 1)

    @cached_property
    @override
    def weight_prior(self) -> WeightPrior:
        """The prior of the weights where all learned scales are 1, in numbers."""
        return self.scale_prior.unit

    def given(self, scale: Array) -> LogisticModel:
        """Return the model in which the scales (group) are given."""
        assert isinstance(self.prior, LogisticPrior)
        given = self.scale_prior.at(scale)
        prior = replace(self.prior, prior_scale=given.scale[0, 1:])
        model = LogisticModel(self.labels, self.design, self.X, self.y, self.sample_weight, prior)
        vars(model)["weight_prior"] = given  # unseen levels too
        return model

    @override
    def mle(self) -> Parameters:
        """Return the maximum conditional likelihood estimate; its prior is flat, of infinite scale."""
        median = np.full(len(self.scale_prior), self.scale_prior.settings.median)
        return {**self.given(median).mle(), **self.unmoved("mle")}

    @override
    def map(self) -> Parameters:
        """Return the mode of log s given D, and that of the weights given this s; raises as `LogisticModel.map`."""
        return {**self.parameters(self._mode), **self.unmoved("map")}

    @override
    def unmoved(self, name: str) -> Parameters:
        """Return the scales: those of a flat prior for ``"mle"``, their mode for ``"map"``."""
        flat = np.full(len(self.scale_prior), np.inf)
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
            s (draw, scale_group); without it, s is integrated out.
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
    def log_evidence(self) -> float:
        """Return log p(D), the log average of importance ratios p(θ, s, D)/q(θ, s) of draws from a fixed seed."""
        _, _, log_ratio = self.proposal.draw(EVIDENCE_PROPOSALS, np.random.default_rng(0))
        return float(logsumexp(log_ratio) - np.log(EVIDENCE_PROPOSALS))

    def propose(self, number: int, rng: np.random.Generator) -> tuple[Parameters, Array]:
        """Return proposals of the parameters (draw, …), and their log importance ratios (draw)."""
        log_scale, theta, log_ratio = self.proposal.draw(number, rng)
        parameters = {"intercept": theta[:, :, 0], "weight": theta[:, :, 1:] / self.design.scale}
        return {**parameters, "prior_scale": np.exp(log_scale)}, log_ratio

    @cached_property
    def proposal(self) -> ScalesProposal:
        """The distribution that draws are proposed from; raises as `map`."""
        return ScalesProposal.around(self.evidence, self.best)

    @override
    def laplace(self) -> LaplaceApproximation:
        """Return the normal approximation of the weights given the scales, at the modes of `map`."""
        _, _, curvature = self.evidence.objective(self.best.log_scale).derivatives(self._mode)
        return LaplaceApproximation.at(self._mode, curvature, self.design.scale)

    @override
    def density(self) -> ScalesDensity:  # type: ignore[override]
        """Return the log density of scales and weights, whitened at the mode; raises as `map`."""
        from bayesclf.models.logistic.scales_kernel import ScalesDensity

        normal, prior = self.laplace(), self.scale_prior.at(np.exp(self.best.log_scale))
        given = self._whitened(normal, prior)
        vectors, columns = prior.mean.shape
        variance = np.sum(given.factor**2, axis=1)
        of_weights = variance[vectors:].reshape(vectors, columns - 1)
        left = np.column_stack([variance[:vectors], of_weights]) / prior.scale**2
        information = np.where(self.scale_prior.group >= 0, 1 / np.clip(left, LEAST_LEFT, 1.0) - 1, 0.0)
        return ScalesDensity(given, self.scale_prior, self.best.log_scale, self.proposal.lower, information)

    @override
    def from_pymc(self, draws: Mapping[str, Array]) -> Parameters:
        """Return intercept, weight and prior_scale; the weight may be given in units of the scales."""
        found = dict(draws)
        if "unscaled_weight" in found:
            times = self.scale_prior.of_columns(draws["prior_scale"])[:, 1:]
            found["weight"] = draws["unscaled_weight"] * times[:, None, :]
        return {**super().from_pymc(found), "prior_scale": draws["prior_scale"]}

    @override
    def signature(self) -> Hashable:
        """Return what fixes the compiled form."""
        return ("learned scales", len(self.scale_prior), super().signature())

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words."""
        return {**super().dims(), "prior_scale": ("scale_group",)}

    @override
    def coords(self) -> dict[str, Any]:
        """Return labels, columns and the names of the groups."""
        return {**super().coords(), "scale_group": list(self.scale_prior.names)}

    @override
    def objective(self, name: str) -> tuple[Likelihood | LogPosterior, Array]:
        """Return what ``"mle"`` or ``"map"`` maximizes, the latter given the scales at their mode, and a start θ."""
        objective, start = super().objective(name)
        return (objective if name == "mle" else self.evidence.objective(self.best.log_scale)), start

    @cached_property
    def evidence(self) -> ScalesEvidence:
        """Laplace's evidence of the scales."""
        return ScalesEvidence(self._likelihood, self.scale_prior)

    @cached_property
    def best(self) -> ScalesNode:
        """The mode of log s given D.

        Raises
        ------
        DoesNotExist
            Where `map` does.
        """
        if reason := self.improper():
            raise DoesNotExist(reason)
        best = self.evidence.mode(super().objective("mle")[1])
        return replace(best, theta=maximize(self.evidence.objective(best.log_scale), best.theta))

    @cached_property
    def _mode(self) -> Array:
        """The mode of θ given the mode of log s."""
        return self.best.theta

    @override
    @property
    def _prior_of_all(self) -> GroupedWeightPrior:
        return self.scale_prior
