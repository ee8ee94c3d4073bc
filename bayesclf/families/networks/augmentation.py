"""Data augmentation of tables of conditional probabilities: θ, and the missing cells of the training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bayesclf.families import dirichlet
from bayesclf.families.networks.circuits import Circuit, circuit
from bayesclf.families.networks.factors import Layout
from bayesclf.typing import Array, Integers, Parameters


@dataclass(frozen=True)
class Simplexes:
    """Some of the simplexes of all classes' tables.

    Attributes
    ----------
    cells
        Their cells, ``outcome × number of cells + cell``.
    alpha
        α plus the counts of the observed cells, (cell).
    sizes
        Number of cells of each.
    """

    cells: Integers
    alpha: Array
    sizes: Integers

    @classmethod
    def of(cls, alpha: Array, sizes: Integers, chosen: NDArray[np.bool_]) -> Self:
        """Return those chosen (simplex), from α and sizes of all."""
        cells = np.flatnonzero(np.repeat(chosen, sizes))
        return cls(cells, alpha[cells], sizes[chosen])


@dataclass(frozen=True)
class CompletedTables:
    """Alternation between the completions of rows and θ ~ Dirichlet(α + n), n the counts of the completed rows.

    The state is log θ of the tables that missing cells depend on. The others are independent of them given the observed
    cells, and drawn independently.

    Attributes
    ----------
    layout
        The tables.
    shape
        That of θ, (outcome, cell). Cells of all classes are drawn for the first one.
    chains
        The tables that missing cells depend on, those of one chain after the other.
    fixed
        The other tables.
    circuit
        Draws the missing cells of all chains.
    """

    layout: Layout
    shape: tuple[int, int]
    chains: Simplexes
    fixed: Simplexes
    circuit: Circuit

    @classmethod
    def of(cls, layout: Layout, alpha: Array, keys: Integers, counts: Array, chains: int) -> Self:
        """Return the alternation.

        Parameters
        ----------
        layout
            The tables.
        alpha
            α plus the counts of the observed cells, (outcome, cell); those of all classes in cells of all.
        keys, counts
            Kinds of rows (row, feature) with missing cells, and their numbers (outcome, row).
        chains
            Number of chains.
        """
        drawn = circuit(layout, keys, np.tile(counts, (chains, 1)), len(alpha))
        sizes = np.tile(layout.simplexes, chains * len(alpha))
        moving = np.isin(dirichlet.starts(sizes), drawn.cells)
        of_one = len(sizes) // chains
        fixed = Simplexes.of(alpha.ravel(), sizes[:of_one], ~moving[:of_one])
        return cls(
            layout,
            (len(alpha), layout.cells),
            Simplexes.of(np.tile(alpha.ravel(), chains), sizes, moving),
            fixed,
            drawn,
        )

    def start(self, rng: np.random.Generator) -> Array:
        """Draw log θ uniformly from the simplexes, whatever the prior and the rows."""
        return dirichlet.log_draw(np.ones_like(self.chains.alpha), self.chains.sizes, rng)

    def step(self, state: Array, rng: np.random.Generator) -> Array:
        """Draw the missing cells given log θ, then log θ given all cells, (chain and cell)."""
        return dirichlet.log_draw(self.chains.alpha + self.circuit.draw(state, rng), self.chains.sizes, rng)

    def parameters(self, states: Array, rng: np.random.Generator) -> Parameters:
        """Return θ (draw, outcome, cell)."""
        theta = np.empty((len(states), self.shape[0] * self.shape[1]))
        theta[:, self.chains.cells[: states.shape[1]]] = np.exp(states)
        if len(self.fixed.cells):
            fixed = self.fixed
            theta[:, fixed.cells] = dirichlet.draw_quickly(fixed.alpha, fixed.sizes, rng, len(states))
        return {"theta": self.layout.tied(theta.reshape(-1, *self.shape))}
