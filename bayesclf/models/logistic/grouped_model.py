"""Logistic regression in which groups of columns have prior scales of their own, learned with the weights."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, override

import numpy as np
from scipy.special import logsumexp

from bayesclf.errors import DoesNotExist
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.learned_scale import LearnedScale
from bayesclf.models.logistic.newton import maximize
from bayesclf.models.logistic.prior import LogisticPrior
from bayesclf.models.logistic.scale_groups import GroupedWeightPrior
from bayesclf.models.logistic.scale_node import Node
from bayesclf.models.logistic.scaled_model import ScaledModel
from bayesclf.models.logistic.scales_evidence import ScalesEvidence
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
class GroupedScaleModel(ScaledModel):
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

    @override
    @cached_property
    def scale_prior(self) -> GroupedWeightPrior:
        """The prior of the scales, and of the weights given them, in numbers."""
        assert isinstance(self.prior, LogisticPrior)
        return GroupedWeightPrior.of(self.prior, self.design, len(self.labels) - 1)

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

    @cached_property
    def evidence(self) -> ScalesEvidence:
        """Laplace's evidence of the scales."""
        return ScalesEvidence(self._likelihood, self.scale_prior)

    @override
    @cached_property
    def best(self) -> Node[Array]:
        """The mode of log s given D.

        Raises
        ------
        DoesNotExist
            Where `map` does.
        """
        if reason := self.improper():
            raise DoesNotExist(reason)
        best = self.evidence.mode(self.objective("mle")[1])
        return replace(best, theta=maximize(self.objective_at(best.log_scale), best.theta))
