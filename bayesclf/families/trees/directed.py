"""One tree at a time: its edges directed away from a root, its tables, and its density, missing cells summed out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes


@dataclass(frozen=True)
class TreeTables:
    """P(x_j | x_parent(j)) of every feature along one axis, whatever its parent.

    The part of feature j has r_j cells for each value that its parent may have, as many as the feature with the most
    levels has. A root uses the first r_j of them. Cells that a tree does not use are 0.
    """

    axes: Axes

    @property
    def width(self) -> int:
        """Number of values that a parent may have."""
        return max(self.axes.sizes)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return sum(self.axes.sizes) * self.width

    @cached_property
    def sizes(self) -> Integers:
        """Number of levels of each feature."""
        return np.array(self.axes.sizes, dtype=np.intp)

    @cached_property
    def simplexes(self) -> tuple[int, ...]:
        """Number of cells of each simplex."""
        return tuple(size for size in self.axes.sizes for _ in range(self.width))

    @cached_property
    def starts(self) -> Integers:
        """First cell of each feature."""
        return np.asarray(dirichlet.starts(self.axes.sizes) * self.width)

    @cached_property
    def feature(self) -> Integers:
        """Feature of each cell."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes * self.width)

    @cached_property
    def given(self) -> Integers:
        """Value of the parent in each cell, as a code."""
        return (np.arange(self.cells) - self.starts[self.feature]) // self.sizes[self.feature]

    @cached_property
    def level(self) -> Integers:
        """Value of the feature itself in each cell, as a position among the levels of all features."""
        code = (np.arange(self.cells) - self.starts[self.feature]) % self.sizes[self.feature]
        return np.asarray(dirichlet.starts(self.axes.sizes)[self.feature] + code)

    def parent_levels(self, parent: Integers) -> tuple[Integers, NDArray[np.bool_]]:
        """Return what each cell is given in directed trees, and whether a tree uses it.

        `parent`: Parent of each feature, −1 for a root, (…, feature).

        Returns: Position among the levels of all features, −1 for a root, (…, cell); and whether the cell is used,
        likewise.
        """
        own = parent[..., self.feature]
        is_root = own < 0
        used = np.where(is_root, self.given == 0, self.given < self.sizes[own])
        position = dirichlet.starts(self.axes.sizes)[own] + self.given
        return np.where(is_root | ~used, -1, position), used

    def names(self) -> list[str]:
        """Return the name of each cell: the value, and which value of the parent it is given."""
        described = zip(self.axes.features, self.axes.levels, strict=True)
        levels = [f"{name}={level}" for name, own in described for level in own]
        return [f"{levels[at]} | value {given + 1} of parent" for at, given in zip(self.level, self.given, strict=True)]

    def log_density(self, X: Integers, parent: Integers, order: Integers, theta: Array) -> Array:
        """Return log p(x | y, θ) (draw, row, outcome), missing cells summed out.

        `X`: Level codes (row, feature), negative where missing. `parent`, `order`: As `directed` returns them, (draw,
        feature). `theta`: Probabilities (draw, outcome, cell).
        """
        from bayesclf.families import kernels

        out = np.empty((len(theta), len(X), theta.shape[1]))
        if (X < 0).any():
            kernels.sum_out(X, parent[:, None], order[:, None], theta, self.starts, self.sizes, self.width, out)
        else:
            kernels.add_up(X, parent[:, None], dirichlet.logs(theta), self.starts, self.sizes, out)
        return out

    def sample(self, parent: Integers, order: Integers, theta: Array, rng: np.random.Generator, rows: int) -> Integers:
        """Draw level codes (row, feature) from one tree: parent, order (feature) and θ (cell)."""
        X = np.zeros((rows, len(self.sizes)), dtype=np.intp)
        for j in order.tolist():
            given = X[:, parent[j]] if parent[j] >= 0 else np.zeros(rows, dtype=np.intp)
            first = self.starts[j] + given * self.sizes[j]
            below = np.cumsum(theta[first[:, None] + np.arange(self.sizes[j])], axis=1)[:, :-1]
            X[:, j] = (rng.random((rows, 1)) >= below).sum(axis=1)
        return X


def pairs(features: int) -> tuple[Integers, Integers]:
    """Return both ends of every possible edge, the earlier feature first, (edge) each."""
    return np.triu_indices(features, 1)


def directed(present: Array, features: int) -> tuple[Integers, Integers]:
    """Return trees or forests with each component directed away from its first feature.

    `present`: Whether each of `pairs` is an edge, 0 or 1, (…, edge).

    Returns: Parent of each feature, −1 for a root, (…, feature); and the features in an order in which parents come
    first.
    """
    from bayesclf.families import kernels

    flat = np.ascontiguousarray(present.reshape(int(np.prod(present.shape[:-1])), present.shape[-1]) > 0)
    parent, order = kernels.directed(flat, *pairs(features), features)
    shape = (*present.shape[:-1], features)
    return parent.reshape(shape), order.reshape(shape)
