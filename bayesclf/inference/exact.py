"""Exact inference: independent draws from a conjugate posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesclf.errors import InputError, Refused
from bayesclf.families.base import Model
from bayesclf.models.generative import GenerativeModel
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
