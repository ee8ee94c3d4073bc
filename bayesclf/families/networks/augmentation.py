"""Data augmentation of tables of conditional probabilities: θ, and the missing cells of the training rows.

Draws are of many rows at once. A row's sum over the completions of its missing cells is evaluated by eliminating
features, as in `factors`. The sums of all rows form one circuit of sums of products, whose layers are evaluated
together; then completions are drawn from the last layer to the first, each sum passing on the number of rows that reach
it. Equal rows are drawn together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.families import dirichlet
from bayesclf.families.networks.factors import Layout
from bayesclf.families.networks.row_counts import SUMMED, require_few
from bayesclf.tables.columns import MISSING

LARGEST_CIRCUIT = 2**22
"""Values in the products of all sums above which missing cells are not drawn."""

SUMMED_TOGETHER = 2**6
"""Features are eliminated together while their table has at most so many cells, so that there are few layers."""

LENGTHS = 4
"""Sums are in one layer where their numbers of terms differ by less than this factor."""


@dataclass(frozen=True)
class Layer:
    """Sums none of which is part of another.

    Attributes
    ----------
    of
        Position of each sum's value, (sum).
    factors
        Positions (factor, term, sum) of the values that are multiplied.
    """

    of: Integers
    factors: Integers


@dataclass(frozen=True)
class Circuit:
    """Sums over the completions of missing cells.

    Values have one axis of positions: those of the `cells` first, then a 0 and a 1, and then the sums.

    Attributes
    ----------
    cells
        Cells of the tables that can be drawn, ``table × number of cells + cell``, in order.
    layers
        Each after those on which it depends.
    size
        Number of values.
    roots
        Position of the sum of all completions of each kind of row, (row).
    counts
        Number of rows of each kind, (row).
    """

    cells: Integers
    layers: tuple[Layer, ...]
    size: int
    roots: Integers
    counts: Integers

    def draw(self, log_theta: Array, rng: np.random.Generator) -> Array:
        """Draw completions of all rows; return how many rows have each of the cells, (cell).

        Parameters
        ----------
        log_theta
            Finite logarithms of the probabilities of the cells, (cell).
        rng
            Source of randomness.
        """
        values = np.zeros(self.size)
        values[: len(self.cells)] = log_theta
        values[len(self.cells)] = -np.inf
        shares = []
        for layer in self.layers:
            terms = values[layer.factors].sum(axis=0)
            top = terms.max(axis=0)
            terms = np.exp(terms - top)
            total = terms.sum(axis=0)
            values[layer.of] = np.log(total) + top
            shares.append((terms / total).T)
        numbers: Array = np.zeros(self.size)
        numbers[self.roots] = self.counts
        for layer, share in zip(reversed(self.layers), reversed(shares), strict=True):
            drawn = rng.multinomial(numbers[layer.of].astype(np.int64), share)
            which = np.nonzero(drawn)
            chosen = layer.factors[:, which[1], which[0]]
            weights = np.tile(drawn[which], len(chosen))
            numbers += np.bincount(chosen.ravel(), weights, minlength=self.size)
        return numbers[: len(self.cells)]


@dataclass(frozen=True, eq=False)
class _Part:
    """Values of a table, or of a sum, at all values of its missing features.

    Attributes
    ----------
    scope
        The missing features on which it depends.
    positions
        (row, value of the first feature, …).
    height
        Number of layers below.
    """

    scope: tuple[int, ...]
    positions: Integers
    height: int = 0


def circuit(layout: Layout, keys: Integers, counts: Array, classes: int = 1) -> Circuit:
    """Return the circuit of rows with missing cells.

    Parameters
    ----------
    layout
        The tables.
    keys, counts
        The kinds of rows (row, feature), as `completions.keyed` returns them, and their numbers (table, row) under
        tables of their own: those of each class and chain.
    classes
        Number of classes. Cells of all classes of a chain are those of its first one.

    Raises
    ------
    Refused
        Where the sums are too large.
    """
    zero = len(counts) * layout.cells
    size = zero + 2
    layers: dict[tuple[int, int], list[Layer]] = {}
    roots, rows_of_roots, values = [], [], 0
    kinds, which = np.unique(np.where(keys >= 0, 0, keys), axis=0, return_inverse=True)
    for number, kind in enumerate(kinds):
        rows = np.flatnonzero(which.ravel() == number)
        table, place = np.nonzero(counts[:, rows])
        parts = list(_parts(layout, kind, keys[rows[place]], table, table // classes * classes))
        left = set(np.flatnonzero(kind == SUMMED).tolist())
        while left:
            chosen = _eliminated(layout, parts, left)
            used = [part for part in parts if chosen & set(part.scope)]
            kept = tuple(sorted({j for part in used for j in part.scope} - chosen))
            values += len(place) * layout.count((*kept, *chosen)) * len(used)
            require_few(values, LARGEST_CIRCUIT)
            layer = _layer(layout, used, kept, tuple(sorted(chosen)), size)
            height = 1 + max(part.height for part in used)
            length = int(np.ceil(np.log(layer.factors.shape[1]) / np.log(LENGTHS)))
            layers.setdefault((height, length), []).append(layer)
            size += len(layer.of)
            of = layer.of.reshape(len(place), *(layout.axes.sizes[j] for j in kept))
            parts = [part for part in parts if part not in used] + [_Part(kept, of, height)]
            left -= chosen
        roots.append(parts[0].positions)
        rows_of_roots.append(counts[table, rows[place]])
    joined = tuple(_joined(layers[key], zero) for key in sorted(layers))
    whole = Circuit(
        np.arange(zero), joined, size, np.concatenate(roots), np.concatenate(rows_of_roots).astype(np.int64)
    )
    return _of_used_cells(whole, np.tile(layout.simplexes, len(counts)))


def _parts(layout: Layout, kind: Integers, keys: Integers, table: Integers, first_table: Integers) -> Iterator[_Part]:
    """Yield the factors in the sums of rows (row, feature) of one kind (feature), at the rows' observed values."""
    summed = np.flatnonzero(kind == SUMMED).tolist()
    for f, factor in enumerate(layout.factors):
        own = tuple(sorted(set(factor.scope) & set(summed)))
        if not own or any(kind[j] == MISSING for j in factor.scope):
            continue
        strides = dict(zip(factor.scope, layout.strides(factor).tolist(), strict=True))
        cells = (first_table if factor.class_free else table) * layout.cells + layout.starts[f]
        for j in factor.scope:
            cells = cells + (0 if j in own else keys[:, j] * strides[j])
        for j in own:
            cells = cells[..., None] + np.arange(layout.axes.sizes[j]) * strides[j]
        yield _Part(own, cells)


def _eliminated(layout: Layout, parts: Sequence[_Part], left: set[int]) -> set[int]:
    """Return the features to sum over next: the one that takes the smallest table, and those that add little to it."""

    def size(features: set[int]) -> int:
        """Return how many cells the table has that summing over these features takes."""
        return layout.count(tuple({j for part in parts if features & set(part.scope) for j in part.scope}))

    chosen = {min(sorted(left), key=lambda j: size({j}))}
    for j in sorted(left - chosen):
        if size(chosen | {j}) <= max(SUMMED_TOGETHER, size(chosen)):
            chosen.add(j)
    return chosen


def _layer(layout: Layout, used: Sequence[_Part], kept: tuple[int, ...], chosen: tuple[int, ...], size: int) -> Layer:
    """Return the sums over `chosen` of the product of parts, one for each row and values of the features `kept`."""
    axes = kept + chosen
    sizes = [layout.axes.sizes[j] for j in axes]
    aligned = []
    for part in used:
        moved = part.positions.transpose(0, *(1 + part.scope.index(j) for j in axes if j in part.scope))
        shape = [layout.axes.sizes[j] if j in part.scope else 1 for j in axes]
        aligned.append(np.broadcast_to(moved.reshape(-1, *shape), (len(moved), *sizes)))
    factors = np.stack([part.reshape(-1, layout.count(chosen)).T for part in aligned])
    return Layer(size + np.arange(factors.shape[2]), factors)


def _joined(layers: Sequence[Layer], zero: int) -> Layer:
    """Return layers as one; products are extended by the factor 1, and sums by products of 0 before the others."""
    width, terms = (max(layer.factors.shape[axis] for layer in layers) for axis in (0, 1))
    extended = []
    for layer in layers:
        own, length, sums = layer.factors.shape
        factors = np.full((width, terms, sums), zero + 1)
        factors[:, : terms - length] = zero
        factors[:own, terms - length :] = layer.factors
        extended.append(factors)
    return Layer(np.concatenate([layer.of for layer in layers]), np.concatenate(extended, axis=2))


def _of_used_cells(whole: Circuit, simplexes: Integers) -> Circuit:
    """Return the circuit on the cells of those simplexes that it depends on, `simplexes` their numbers of cells."""
    used = np.zeros(whole.size, dtype=bool)
    for layer in whole.layers:
        used[layer.factors] = True
    of_simplexes = np.logical_or.reduceat(used[: len(whole.cells)], dirichlet.starts(simplexes))
    cells = np.flatnonzero(np.repeat(of_simplexes, simplexes))
    fewer = len(whole.cells) - len(cells)
    position = np.arange(whole.size) - fewer
    position[cells] = np.arange(len(cells))
    return replace(
        whole,
        cells=cells,
        layers=tuple(Layer(position[layer.of], position[layer.factors]) for layer in whole.layers),
        size=whole.size - fewer,
        roots=position[whole.roots],
    )


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
