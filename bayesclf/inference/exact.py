"""Exact inference: independent draws from a conjugate posterior.

Point estimates: maximum likelihood and the posterior mode.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesclf.errors import InputError, Refused
from bayesclf.inference.optimisers import ConjugateGradient, GradientAscent, LBFGSOptimiser, Newton, Trace
from bayesclf.models.base import Model
from bayesclf.models.generative import GenerativeModel
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.posterior.hypotheses import SeededDraws, seeded_if_large
from bayesclf.typing import Parameters


@dataclass(frozen=True)
class Exact:
    """Settings of exact inference: independent draws, so that no tuning and no convergence is at stake.

    Parameters
    ----------
    draws
        Draws a chain.
    chains
        Chains; they serve ArviZ's between-chain checks only, as all draws are independent.
    """

    draws: int = 250
    chains: int = 4

    def __post_init__(self) -> None:
        if self.draws < 1 or self.chains < 1:
            raise InputError(f"draws and chains must be at least 1, not {self.draws} and {self.chains}")


def sample(model: Model, settings: Exact, seed: int) -> Parameters | SeededDraws:
    """Draw from the exact posterior; the draws of one chain stand together.

    Draws that would be too large to hold are not made, but come back as how to make them.

    Raises
    ------
    Refused
        Where the model is not conjugate.
    """
    if reason := model.not_conjugate():
        raise Refused(f"this posterior has no closed form ({reason}); use inference='nuts' instead of 'exact'")
    assert isinstance(model, GenerativeModel)
    draws = settings.draws * settings.chains
    return seeded_if_large(model, draws, seed) or model.draw(np.random.default_rng(seed), draws)


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
