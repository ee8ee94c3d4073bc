"""Data augmentation of tables of conditional probabilities: θ, and the missing cells of the training rows.

Rows with the same observed cells are drawn together: their completions have a multinomial distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.special import softmax

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.families import dirichlet
from bayesclf.families.networks.factors import Layout
from bayesclf.families.networks.row_counts import Sums


@dataclass(frozen=True)
class CompletedTables:
    """Alternation between the completions of rows and θ ~ Dirichlet(α + n), n the counts of the completed rows.

    The state is log θ, (chain, outcome, cell), which is finite where θ underflows.

    Attributes
    ----------
    layout
        The tables.
    alpha
        α plus the counts of the observed cells, (outcome, cell); those of all classes in cells of all.
    sums
        The completions of the other rows.
    chains
        Number of chains.
    """

    layout: Layout
    alpha: Array
    sums: Sums
    chains: int

    def start(self, rng: np.random.Generator) -> Parameters:
        """Draw log θ uniformly from the simplexes, whatever the prior and the rows."""
        return self._state(np.ones((self.chains, *self.alpha.shape)), rng)

    def step(self, state: Parameters, rng: np.random.Generator) -> Parameters:
        """Draw the missing cells given log θ, then log θ given all cells."""
        log_terms = np.asarray(self._cells @ state["log_theta"].reshape(-1, self.layout.cells).T).T
        numbers, drawn = np.tile(self.sums.counts, (self.chains, 1)).astype(np.int64), np.zeros_like(log_terms)
        for own, places in self._by_length:
            drawn[:, places] = rng.multinomial(numbers[:, own], softmax(log_terms[:, places], axis=-1))
        counts = np.asarray(self._cells.T @ drawn.T).T.reshape(self.chains, *self.alpha.shape)
        return self._state(self.alpha + self.layout.pooled(counts), rng)

    def parameters(self, states: Parameters) -> Parameters:
        """Return θ (draw, outcome, cell)."""
        return {"theta": np.exp(states["log_theta"])}

    def _state(self, alpha: Array, rng: np.random.Generator) -> Parameters:
        return {"log_theta": self.layout.tied(dirichlet.log_draw(alpha, np.asarray(self.layout.simplexes), rng))}

    @cached_property
    def _cells(self) -> sparse.csr_array:
        """Which cells a completion uses, (completion, cell)."""
        return dirichlet.indicators(self.sums.cells, self.layout.cells)

    @cached_property
    def _by_length(self) -> list[tuple[Integers, Integers]]:
        """The sums of as many terms (sum), and the positions of these, (sum, term)."""
        lengths = np.bincount(self.sums.of)
        groups = ((np.flatnonzero(lengths == length), np.arange(length)) for length in np.unique(lengths))
        return [(own, self.sums.first[own, None] + terms) for own, terms in groups]
