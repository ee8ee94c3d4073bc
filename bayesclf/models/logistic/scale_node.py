"""One value of the prior scales that are learned, with the evidence there."""

from __future__ import annotations

from dataclasses import dataclass

from bayesclf.models.logistic.components import evidence_from
from bayesclf.models.logistic.likelihood import LogPosterior
from bayesclf.models.logistic.newton import maximize
from bayesclf.typing import Array

NODE_CONVERGED = 1e-6
"""Length of the last step to the mode at a node, in posterior sds, after which evidences are right to about 1e-8."""


@dataclass(frozen=True, eq=False)
class Node[Scale: (float, Array)]:
    """One value of log s: a number, or an array (group) where groups of columns have scales of their own.

    Attributes
    ----------
    log_scale
        log s.
    theta
        The mode of the weights' posterior given s, (outcome, 1 + column).
    log_density
        log p(D | s) p(log s) by Laplace's approximation.
    """

    log_scale: Scale
    theta: Array
    log_density: float


def explored[Scale: (float, Array)](
    objective: LogPosterior, log_scale: Scale, start: Array, log_prior: float
) -> tuple[Node[Scale], Array]:
    """Return the node of log s and the curvature of the weights' posterior at its mode.

    Parameters
    ----------
    objective
        The log posterior of θ given s.
    log_scale
        log s.
    start
        θ (outcome, 1 + column) from which the mode is searched for.
    log_prior
        log p(log s).
    """
    theta = maximize(objective, start, NODE_CONVERGED)
    value, _, curvature = objective.derivatives(theta)
    return Node(log_scale, theta, evidence_from(value, curvature) + log_prior), curvature
