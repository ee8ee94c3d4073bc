"""Linear regressions of numbers on numbers, one for each class and configuration of categories.

The arrays of all regressions stand along flat axes: one of regressions, one of terms (the intercept and a slope for
each parent among the numbers), and one of the entries of precision matrices. A `Regression` is the part of these axes
that belongs to one number: it has as many regressions as its parents among the categories have configurations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from bayesclf.families.base import Axes
from bayesclf.families.mixed.groups import are_categories
from bayesclf.typing import Array, Integers


@dataclass(frozen=True)
class Regression:
    """x_of = β0 + Σ_i β_i x_on,i + ε with ε ~ Normal(0, σ²): β and σ² for each class and configuration of `given`.

    Attributes
    ----------
    of
        Position of the number among the features.
    given, on
        Positions of its parents: categories, and numbers.
    class_free
        Whether the regressions are those of all classes.
    sizes
        Number of levels of each of `given`.
    first
        Its first regression, term and entry on the flat axes.
    """

    of: int
    given: tuple[int, ...]
    on: tuple[int, ...]
    class_free: bool
    sizes: tuple[int, ...]
    first: tuple[int, int, int]

    @property
    def count(self) -> int:
        """Number of regressions of each class."""
        return prod(self.sizes)

    @property
    def width(self) -> int:
        """Number of terms of a regression, the intercept included."""
        return 1 + len(self.on)

    @property
    def parents(self) -> tuple[int, ...]:
        """All parents."""
        return self.given + self.on

    @property
    def ends(self) -> tuple[int, int, int]:
        """What follows on the flat axes."""
        regression, term, entry = self.first
        return regression + self.count, term + self.count * self.width, entry + self.count * self.width**2

    def of_regressions(self, values: Array) -> Array:
        """Return values (…, regression) of its own regressions, (…, configuration)."""
        return values[..., self.first[0] : self.ends[0]]

    def of_terms(self, values: Array) -> Array:
        """Return values (…, term) of its own terms, (…, configuration, term)."""
        own = values[..., self.first[1] : self.ends[1]]
        return own.reshape(*values.shape[:-1], self.count, self.width)

    def of_entries(self, values: Array) -> Array:
        """Return values (…, entry) as its own matrices, (…, configuration, term, other term)."""
        own = values[..., self.first[2] : self.ends[2]]
        return own.reshape(*values.shape[:-1], self.count, self.width, self.width)

    def configuration(self, codes: Array | Integers) -> Integers:
        """Return the configuration of `given` in rows of codes (row, feature), its last feature fastest."""
        number = np.zeros(len(codes), dtype=np.intp)
        for j, size in zip(self.given, self.sizes, strict=True):
            number = number * size + codes[:, j].astype(np.intp)
        return number


def in_order(axes: Axes, parents: dict[int, tuple[int, ...]], class_free: Sequence[str]) -> tuple[Regression, ...]:
    """Return the regressions of numbers on their parents, features as positions, parents first."""
    category, ordered, first = are_categories(axes), [], (0, 0, 0)
    left = [j for j in range(len(axes.features)) if not category[j]]
    while left:
        j = next(j for j in left if not set(parents.get(j, ())) & set(left))
        left.remove(j)
        given = tuple(sorted(i for i in parents.get(j, ()) if category[i]))
        on = tuple(sorted(i for i in parents.get(j, ()) if not category[i]))
        free = axes.features[j] in class_free
        ordered.append(Regression(j, given, on, free, tuple(axes.sizes[i] for i in given), first))
        first = ordered[-1].ends
    return tuple(ordered)


def names(axes: Axes, regressions: Sequence[Regression]) -> tuple[list[str], list[str]]:
    """Return the names of terms and of regressions, such as "weight on height | color=red"."""
    of_terms, of_regressions = [], []
    for own in regressions:
        levels = [[f"{axes.features[i]}={level}" for level in axes.levels[i]] for i in own.given]
        for values in product(*levels):
            where = f" | {', '.join(values)}" if values else ""
            name = axes.features[own.of]
            of_regressions.append(name + where)
            of_terms += [name + where, *(f"{name} on {axes.features[i]}{where}" for i in own.on)]
    return of_terms, of_regressions


def once(own: Regression, values: Array) -> Array:
    """Return values (…, outcome, configuration), those of all classes for the first one only."""
    if not own.class_free:
        return values
    return np.where(np.arange(values.shape[-2])[:, None] == 0, values, 0.0)
