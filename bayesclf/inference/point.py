"""Point estimates: maximum likelihood and the posterior mode."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesclf.errors import Refused
from bayesclf.families.base import Model
from bayesclf.inference.optimisers import ConjugateGradient, GradientAscent, LBFGSOptimiser, Newton, Trace
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.typing import Parameters

type Optimiser = GradientAscent | ConjugateGradient | LBFGSOptimiser | Newton


@dataclass(frozen=True)
class MLE:
    """Maximum likelihood only: no posterior is drawn.

    Parameters
    ----------
    optimiser
        For logistic regression, an optimiser of `bayesclf.inference.optimisers` whose way is kept; None takes
        Newton's method without a trace.
    """

    optimiser: Optimiser | None = None


@dataclass(frozen=True)
class MAP:
    """The posterior mode only: no posterior is drawn.

    Parameters
    ----------
    optimiser
        As for `MLE`.
    """

    optimiser: Optimiser | None = None


def estimate(model: Model, name: str) -> Parameters:
    """Return the estimate `name`, ``"mle"`` or ``"map"``, or raise `DoesNotExist`."""
    return model.mle() if name == "mle" else model.map()


def watch(model: Model, name: str, optimiser: Optimiser, seed: int) -> tuple[Trace, Parameters]:
    """Optimise step by step; return the way and the parameters where it ended.

    Raises
    ------
    DoesNotExist
        Where the estimate does not exist: an optimiser would run for ever.
    Refused
        For models whose estimates are closed forms.
    """
    if not isinstance(model, LogisticModel):
        raise Refused("this model's estimates are closed forms: there is no optimiser to choose or to watch")
    estimate(model, name)
    objective, start = model.objective(name)
    trace = optimiser.run(objective, start, np.random.default_rng(seed))
    return trace, model.parameters(trace.theta)
