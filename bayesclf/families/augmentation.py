"""Data augmentation: what a family provides where it is conjugate given the missing cells of the training rows."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from bayesclf.typing import Array, Parameters

FRACTIONS = "rows with missing cells have weights that are not whole numbers"
"""Why there is no data augmentation: such a row has no number of completions to be drawn."""


class Alternation(Protocol):
    """Draws of missing cells given parameters, and of parameters given completed cells, for several chains at once.

    A state is a vector of numbers, those of one chain after the other: the parameters that the missing cells depend on.

    References
    ----------
    Tanner and Wong (1987), *The calculation of posterior distributions by data augmentation*, JASA 82.
    """

    def start(self, rng: np.random.Generator) -> Array:
        """Draw where the chains start, farther apart than the posterior is wide."""

    def step(self, state: Array, rng: np.random.Generator) -> Array:
        """Draw the missing cells given a state, and the next state given the completed cells."""

    def parameters(self, states: Array, rng: np.random.Generator) -> Parameters:
        """Return the family's parameters (draw, …) from states of single chains (draw, number)."""
