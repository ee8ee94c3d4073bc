"""Normal approximations of a posterior of logistic regression: one, or a mixture with a normal at each prior scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesclf.models.logistic.likelihood import LaplaceApproximation, LogPosterior
from bayesclf.models.logistic.prior import LOG_2_PI
from bayesclf.typing import Array, Parameters


def evidence_at(objective: LogPosterior, mode: Array) -> float:
    """Return Laplace's approximation of log ∫ p(θ, D) dθ, log p(θ̂, D) + ½ d log 2π − ½ log |H|, at the mode θ̂."""
    value, _, curvature = objective.derivatives(mode)
    return evidence_from(value, curvature)


def evidence_from(value: float, curvature: Array) -> float:
    """Return the same, given log p(θ̂, D) and minus the Hessian H."""
    return value + 0.5 * len(curvature) * LOG_2_PI - float(np.log(np.diag(np.linalg.cholesky(curvature))).sum())


@dataclass(frozen=True)
class Cell:
    """The stretch of log s that a node of a grid stands for.

    Attributes
    ----------
    center
        log s of the node.
    low, high
        Ends of the stretch.
    power
        λ of the prior that has the scale, where several are averaged over.
    """

    center: float
    low: float
    high: float
    power: float | None = None

    @property
    def width(self) -> float:
        """The weight of the node in sums that stand for integrals over log s."""
        return self.high - self.low

    def node(self, draws: int) -> Parameters:
        """Return the node's scale, and its λ where there are several, for a number of draws."""
        scale = {"prior_scale": np.full(draws, np.exp(self.center))}
        return scale if self.power is None else {**scale, "prior_power": np.full(draws, self.power)}

    def spread(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw scales, their logarithms uniform between the ends."""
        return {"prior_scale": np.exp(rng.uniform(self.low, self.high, draws))}


@dataclass(frozen=True, eq=False)
class Component:
    """One normal of the mixture that approximates a posterior.

    Attributes
    ----------
    approximation
        The normal.
    share
        Share of the proposals that are drawn around it.
    cell
        The prior scale that it is given, and what that stands for; None where the prior is given.
    """

    approximation: LaplaceApproximation
    share: float = 1.0
    cell: Cell | None = None

    @property
    def log_measure(self) -> float:
        """What log p(θ, D) − log q(z) lacks to be a log importance ratio: log Δ − log share + log |factor|."""
        log_width = 0.0 if self.cell is None else np.log(self.cell.width)
        log_determinant = np.log(np.diag(self.approximation.factor)).sum()
        return float(log_width - np.log(self.share) + log_determinant)
