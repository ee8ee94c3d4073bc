"""Families that wrap another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, override

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.families.base import Axes, Family
from bayesclf.families.prior_lines import PriorLine
from bayesclf.families.terms import Contributions, LinearDesign, LinearTerms, Pair


@dataclass(frozen=True, repr=False)
class Wrapper(Family[Any]):
    """A family with the rows, statistics and density of another one, but a prior of its own.

    Parameters
    ----------
    family
        The wrapped family.
    """

    family: Family[Any]

    @property
    @override
    def name(self) -> str:
        """Name of the wrapped family."""
        return self.family.name

    @property
    @override
    def kind(self) -> str:
        """What the columns of the wrapped family hold."""
        return self.family.kind

    @property
    @override
    def axes(self) -> Axes:
        """Coordinates of the wrapped family."""
        return self.family.axes

    @override
    def statistics(self, X: Any, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Any:
        """Return the statistics of the wrapped family."""
        return self.family.statistics(X, y, axes, sample_weight)

    @override
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return pairs of columns that depend on each other in the wrapped family."""
        return self.family.pairs()

    @property
    @override
    def likelihood(self) -> str:
        """The distribution of the wrapped family's features."""
        return self.family.likelihood

    @override
    def priors(self) -> list[PriorLine]:
        """Return the wrapped family's priors."""
        return self.family.priors()

    @override
    def informative(self, statistics: Any) -> NDArray[np.bool_]:
        """Return, for each feature, whether it can be informative to the wrapped family."""
        return self.family.informative(statistics)

    @override
    def log_density(self, X: Any, parameters: Parameters) -> Array:
        """Return log p(x | y, θ) of the wrapped family."""
        return self.family.log_density(X, parameters)

    @override
    def linear_design(self, statistics: Any, at_means: bool) -> LinearDesign:
        """Return the columns of the wrapped family's block."""
        return self.family.linear_design(statistics, at_means)

    @override
    def linear_terms(self, parameters: Parameters, design: LinearDesign) -> LinearTerms:
        """Return the terms of the wrapped family's log density that depend on the class."""
        return self.family.linear_terms(parameters, design)

    @override
    def contributions(self, X: Any, parameters: Parameters, pair: Pair) -> Contributions:
        """Return the terms of the wrapped family's log-odds."""
        return self.family.contributions(X, parameters, pair)

    @override
    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> NDArray[Any]:
        """Draw rows from the wrapped family."""
        return self.family.sample(parameters, y, rng)

    @override
    def sample_like(self, X: Any, y: Integers, parameters: Parameters, rng: np.random.Generator) -> NDArray[Any]:
        """Draw rows like those of `X` from the wrapped family."""
        return self.family.sample_like(X, y, parameters, rng)

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of the wrapped family's parameters."""
        return self.family.dims()


def plain(family: Any) -> Any:
    """Return the family that others wrap, or the family itself."""
    while isinstance(family, Wrapper):
        family = family.family
    return family
