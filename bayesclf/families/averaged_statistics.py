"""Statistics of several families of the same cells, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Self, override

import numpy as np
from numpy.typing import NDArray

from bayesclf.families.base import Axes, Family, Statistics
from bayesclf.typing import Array, Integers


@dataclass(frozen=True)
class AveragedStatistics(Statistics):
    """The statistics of several families of the same cells.

    Attributes
    ----------
    parts
        Those of each family.
    """

    parts: tuple[Statistics, ...]

    @property
    @override
    def axes(self) -> Axes:  # type: ignore[override]  # all parts have the same
        """Coordinates of all parts."""
        return self.parts[0].axes

    @classmethod
    def of(
        cls,
        X: Any,
        y: Integers,
        axes: Axes,
        sample_weight: Array | None = None,
        families: Iterable[Family[Any]] = (),
    ) -> Self:
        """Return the statistics that each family has of rows."""
        return cls(tuple(family.statistics(X, y, axes, sample_weight) for family in families))

    @override
    def __add__(self, other: Self) -> Self:
        return type(self)(tuple(one + another for one, another in zip(self.parts, other.parts, strict=True)))

    @override
    def discounted(self, factor: float) -> Self:
        """Return all parts with each row's weight times a factor."""
        return self._each(lambda part: part.discounted(factor))

    @override
    def pooled(self) -> Self:
        """Return all parts of all rows under one label."""
        return self._each(lambda part: part.pooled())

    @override
    def select(self, features: NDArray[np.bool_]) -> Self:
        """Return all parts of some of the features."""
        return self._each(lambda part: part.select(features))

    @override
    def reindex(self, axes: Axes) -> Self:
        """Return all parts on axes with additional labels."""
        return self._each(lambda part: part.reindex(axes))

    @override
    def labeled(self, labels: tuple[str, ...]) -> Self:
        """Return all parts with other names of the classes."""
        return self._each(lambda part: part.labeled(labels))

    @override
    def arrays(self) -> dict[str, Array]:
        """Return the arrays of all parts by number and name."""
        parts = enumerate(self.parts)
        return {f"{number}_{name}": values for number, part in parts for name, values in part.arrays().items()}

    def _each(self, function: Callable[[Statistics], Statistics]) -> Self:
        return type(self)(tuple(map(function, self.parts)))
