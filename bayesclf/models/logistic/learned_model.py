"""Logistic regression whose weights have a prior scale that is learned with them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, override

import numpy as np
from scipy.special import softmax

from bayesclf.errors import DoesNotExist
from bayesclf.models.logistic.centered import CenteredRows
from bayesclf.models.logistic.components import Component
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.learned_scale import LearnedScale
from bayesclf.models.logistic.newton import maximize
from bayesclf.models.logistic.prior import LogisticPrior
from bayesclf.models.logistic.scale_grid import ScaleGrid, Starts, explore, mode
from bayesclf.models.logistic.scale_node import Node, explored
from bayesclf.models.logistic.scale_prior import ScaledWeightPrior
from bayesclf.models.logistic.scaled_model import ScaledModel
from bayesclf.typing import Array

if TYPE_CHECKING:
    from bayesclf.models.logistic.kernel import LogisticDensity

SPREAD_SHARE = 0.1
"""Share of the proposals of which all nodes of the grid have as many, except those that are hopeless ..."""
HOPELESS = 10.0
"""... because their density is this much, in nats, below the largest."""


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
class LearnedScaleModel(ScaledModel):
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

    @override
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

    def density_at(self, node: Node[float]) -> LogisticDensity:
        """Return log p(θ, D | s) of a node's scale in coordinates in which it is nearly standard normal."""
        return self._whitened(self.approximation(node), self.scale_prior.at(np.exp(node.log_scale)))

    @override
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

    @override
    @cached_property
    def best(self) -> Node[float]:
        """The mode of log s given D."""
        best = mode(self.nodes, self.scale_grid)
        return replace(best, theta=maximize(self.objective_at(best.log_scale), best.theta))

    def nodes(self, starts: Starts) -> list[Node[float]]:
        """Return the evidences of several scales, each with a θ that the search for its mode starts from."""
        return [self.node(log_scale, start) for log_scale, start in starts]

    def nodes_of_members(self, starts: Sequence[Starts]) -> list[list[Node[float]]]:
        """Return the evidences of several scales of each of the members."""
        return [member.nodes(own) for member, own in zip(self.members, starts, strict=True)]

    def node(self, log_scale: float, start: Array) -> Node[float]:
        """Return the evidence of one scale, its mode searched for from θ `start`."""
        log_prior = float(self.scale_prior.log_density_of_scales(np.array(log_scale)))
        return explored(self.objective_at(log_scale), log_scale, start, log_prior)[0]

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
