"""Exact posteriors too large to hold as draws: hyperparameters and a seed, from which blocks of draws are made anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bayesclf.families.base import Model
from bayesclf.families.generative import GenerativeModel
from bayesclf.typing import Integers, Parameters

POSTERIOR_BYTES = 2**26
"""Draws of an exact posterior that are held in memory at most; beyond it, a posterior is kept as a seed."""

BLOCK_BYTES = 2**22
"""Draws that are made at once, at least one of them."""


@dataclass(frozen=True)
class SeededDraws:
    """Independent draws that are made when they are needed: the same ones each time, in whatever order.

    Draws ``b·block`` to ``(b + 1)·block`` come from a generator of their own, of (seed, b).

    Attributes
    ----------
    seed
        Seed of all.
    draws
        Number of draws.
    block
        Draws that are made together.
    """

    seed: int
    draws: int
    block: int

    def __len__(self) -> int:
        return self.draws

    def blocks(self) -> Iterator[Integers]:
        """Return the numbers of the draws of each block."""
        return (np.arange(start, min(start + self.block, self.draws)) for start in range(0, self.draws, self.block))

    def make(self, posterior: GenerativeModel, number: int) -> Parameters:
        """Return the draws of block `number` from a model whose hyperparameters are the posterior's."""
        return posterior.prior_draw(self._rng(number), self._size(number))

    def class_prior(self, posterior: GenerativeModel) -> Parameters:
        """Return all draws of the class prior, which each block draws first."""
        numbers = range(-(-self.draws // self.block))
        parts = [posterior.class_prior.draw(self._rng(number), self._size(number)) for number in numbers]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _size(self, number: int) -> int:
        return min(self.block, self.draws - number * self.block)

    def _rng(self, number: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, number])


def seeded(model: Model, draws: int, seed: int) -> SeededDraws | None:
    """Return how to make draws of a model that would exceed `POSTERIOR_BYTES`; None where they fit."""
    size = 8 * parameter_count(model)
    return None if size * draws <= POSTERIOR_BYTES else SeededDraws(seed, draws, max(1, BLOCK_BYTES // size))


def parameter_count(model: Model) -> int:
    """Return how many numbers one hypothesis has."""
    coords = model.coords()
    return sum(int(np.prod([len(coords[axis]) for axis in axes])) for axes in model.dims().values())
