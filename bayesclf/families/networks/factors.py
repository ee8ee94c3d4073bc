"""Tables of conditional probabilities along one axis: which cell of which table a row uses.

P(x | y) = Π_f P(x_of | x_given, y), one factor f after the other, each feature the `of` of exactly one. Its table
holds a simplex over the values of `of` for each configuration of `given`; all cells stand along one axis, the last
feature of a factor fastest. A joint table is one factor of all features; a Bayesian network has one factor per feature.
A factor need not depend on y: arrays (outcome, cell) then have the same values for all classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, product
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bayesclf.families import dirichlet
from bayesclf.families.base import Axes
from bayesclf.typing import Array, Integers


@dataclass(frozen=True)
class Factor:
    """P(of | given, y), features as positions.

    Attributes
    ----------
    of
        Features that it is the distribution of.
    given
        Features on which it depends.
    class_free
        Whether its table is that of all classes.
    """

    of: tuple[int, ...]
    given: tuple[int, ...] = ()
    class_free: bool = False

    @property
    def scope(self) -> tuple[int, ...]:
        """All features of its table, in the order of the cells."""
        return self.given + self.of


@dataclass(frozen=True)
class Hidden:
    """Missing features that must be summed over together, and the factors in the product.

    Attributes
    ----------
    factors
        Positions of the factors.
    features
        The missing features among their scopes.
    """

    factors: tuple[int, ...]
    features: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """How to compute the density of rows with the same missing cells.

    Attributes
    ----------
    seen
        Factors (factor) whose features are all observed: each contributes one cell.
    hidden
        Sums over missing features, independent of each other given the observed ones.
    """

    seen: NDArray[np.bool_]
    hidden: tuple[Hidden, ...]


@dataclass(frozen=True)
class Layout:
    """The cells of all factors along one axis.

    Attributes
    ----------
    axes
        Features and levels.
    factors
        Each comes after the factors of the features that it depends on.
    """

    axes: Axes
    factors: tuple[Factor, ...]

    @property
    def features(self) -> int:
        """Number of features."""
        return len(self.axes.features)

    def count(self, features: tuple[int, ...]) -> int:
        """Return the number of combinations of features' values."""
        return prod(self.axes.sizes[j] for j in features)

    @cached_property
    def simplexes(self) -> tuple[int, ...]:
        """Number of cells of each simplex, along the axis of cells."""
        return tuple(size for factor in self.factors for size in [self.count(factor.of)] * self.count(factor.given))

    @cached_property
    def starts(self) -> Integers:
        """First cell of each factor."""
        return dirichlet.starts(tuple(self.count(factor.scope) for factor in self.factors))

    @property
    def cells(self) -> int:
        """Number of cells."""
        return sum(self.count(factor.scope) for factor in self.factors)

    @cached_property
    def class_free(self) -> NDArray[np.bool_]:
        """Whether a cell is that of all classes, (cell)."""
        return np.repeat([f.class_free for f in self.factors], [self.count(f.scope) for f in self.factors])

    @cached_property
    def class_free_simplexes(self) -> NDArray[np.bool_]:
        """The same of each simplex, (simplex)."""
        return np.repeat([f.class_free for f in self.factors], [self.count(f.given) for f in self.factors])

    def by_classes(self) -> Iterator[tuple[str, NDArray[np.bool_], tuple[int, ...], list[str]]]:
        """Yield the tables of each class and then those of all, where there are any.

        A suffix of their PyMC variables, whether a cell is in them (cell), the sizes and the names of their simplexes.
        """
        for suffix, of_all in (("", False), ("_shared", True)):
            chosen = self.class_free_simplexes == of_all
            if chosen.any():
                yield (
                    suffix,
                    self.class_free == of_all,
                    tuple(compress(self.simplexes, chosen)),
                    list(compress(self.simplex_names(), chosen)),
                )

    def pooled(self, counts: Array) -> Array:
        """Return counts (outcome, cell) with those of all classes in each, where the cell is that of all."""
        if not self.class_free.any():
            return counts
        return np.where(self.class_free, counts.sum(axis=0), counts)

    def tied[A: NDArray[Any]](self, values: A) -> A:
        """Return values (…, outcome, cell) of which the first class has those of all, in a cell of all."""
        if not self.class_free.any():
            return values
        return cast("A", np.where(self.class_free, values[..., :1, :], values))

    def cells_of(self, X: Integers) -> Integers:
        """Return the cell (row, factor) of codes (row, feature); −1 where a feature of the factor is missing."""
        cells = np.empty((len(X), len(self.factors)), dtype=np.intp)
        for f, factor in enumerate(self.factors):
            codes = X[:, factor.scope]
            offset = codes @ self.strides(factor)
            cells[:, f] = np.where((codes >= 0).all(axis=1), self.starts[f] + offset, -1)
        return cells

    def strides(self, factor: Factor) -> Integers:
        """Return how many cells apart two values of each feature of a factor are, (scope)."""
        sizes = [self.axes.sizes[j] for j in factor.scope]
        return np.array([prod(sizes[i + 1 :]) for i in range(len(sizes))], dtype=np.intp)

    def plan(self, seen: NDArray[np.bool_]) -> Plan:
        """Return how to sum out missing cells, `seen` (feature) false where missing.

        A factor whose features are missing, and on which no observed feature depends, sums to 1 and drops out.
        """
        relevant, needed = np.zeros(len(self.factors), dtype=bool), seen.copy()
        for f in reversed(range(len(self.factors))):
            factor = self.factors[f]
            relevant[f] = needed[list(factor.of)].any()
            if relevant[f]:
                needed[list(factor.given)] = True
        groups: list[tuple[set[int], set[int]]] = []
        closed = relevant.copy()
        for f in np.flatnonzero(relevant).tolist():
            missing = {j for j in self.factors[f].scope if not seen[j]}
            if not missing:
                continue
            closed[f] = False
            factors = {f}
            for group in [group for group in groups if group[1] & missing]:
                groups.remove(group)
                factors |= group[0]
                missing |= group[1]
            groups.append((factors, missing))
        return Plan(closed, tuple(Hidden(tuple(sorted(fs)), tuple(sorted(js))) for fs, js in groups))

    def names(self) -> list[str]:
        """Return the name of each cell: its values and, after a bar, those that they are conditional on."""
        names = []
        for factor in self.factors:
            given = self._combinations(factor.given)
            of = self._combinations(factor.of)
            names += [f"{value} | {condition}" if condition else value for condition in given for value in of]
        return names

    def simplex_names(self) -> list[str]:
        """Return the name of each simplex: its features and, after a bar, the values that it is conditional on."""
        names = []
        for factor in self.factors:
            of = ", ".join(self.axes.features[j] for j in factor.of)
            names += [f"{of} | {given}" if given else of for given in self._combinations(factor.given)]
        return names

    def _combinations(self, features: tuple[int, ...]) -> list[str]:
        """Return "outlook=sunny, wind=weak", …, for all values of features, the last one fastest."""
        own = ([f"{self.axes.features[j]}={level}" for level in self.axes.levels[j]] for j in features)
        return [", ".join(values) for values in product(*own)]
