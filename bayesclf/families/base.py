"""What every family and every model provides.

A *family* is the class-conditional density P(x_block | y) of one block of features; one frozen object is both its
prior and, after `posterior`, its posterior. A *model* composes families (`generative.py`) or is P(y | x) itself
(`logistic.py`). Parameters are plain arrays with a leading draw axis, so that a point estimate is a posterior of one
hypothesis and every rule treats both alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pymc as pm

type Array = NDArray[np.float64]
type Integers = NDArray[np.intp]
type Parameters = Mapping[str, Array]
"""Values of a model's parameters, by name; every array has the draw as its first axis."""


MISSING, UNSEEN = -1, -2
"""Codes of a categorical cell that is empty, and of one whose value is not among the levels."""


@dataclass(frozen=True)
class Axes:
    """The coordinates of a block's arrays, in the axis words.

    Attributes
    ----------
    labels
        Names of the classes.
    features
        Names of the block's features.
    levels
        For discrete families, the values of each feature, one tuple a feature.
    """

    labels: tuple[str, ...]
    features: tuple[str, ...]
    levels: tuple[tuple[Hashable, ...], ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each feature."""
        return tuple(len(values) for values in self.levels)


class Statistics(Protocol):
    """Sufficient statistics of a block: those of two data sets add up to those of both."""

    axes: Axes

    def __add__(self, other: Self) -> Self: ...

    def pooled(self) -> Self:
        """Return the statistics of all rows, whatever their label: one label, weights added."""

    def select(self, features: NDArray[np.bool_]) -> Self:
        """Return the statistics of some of the features."""

    def reindex(self, axes: Axes) -> Self:
        """Return the same statistics on axes with further labels, or levels, that no row had."""

    def arrays(self) -> dict[str, Array]:
        """Return the numbers by name, for comparing and looking."""


class Family[S: Statistics](Protocol):
    """A class-conditional family, P(x_block | y = k); `self` holds the hyperparameters.

    Attributes
    ----------
    name
        Its name in `bayesclf.families.FAMILIES`.
    kind
        What its columns hold: ``"number"``, floats with NaN where missing, or ``"category"``, level codes with a
        negative one where missing or unseen.

    A family of the registry also has ``statistics_class``, the class of its statistics, which saved models may hold.
    """

    @property
    def name(self) -> str:
        """Its name in the registry."""

    @property
    def kind(self) -> str:
        """What its columns hold."""

    def statistics(self, X: NDArray[Any], y: Integers, axes: Axes, sample_weight: Array | None = None) -> S:
        """Return the sufficient statistics of rows `X` (row, feature) with label codes `y` (row)."""

    def resolve_prior(self, statistics: S) -> Self:
        """Return the prior in numbers: what was given, the rest from the pooled statistics."""

    def informative(self, statistics: S) -> NDArray[np.bool_]:
        """Return, for each feature, whether it can tell anything about the label at all."""

    def mle(self, statistics: S) -> Parameters:
        """Return the maximum likelihood estimate, or raise `DoesNotExist`."""

    def map(self, statistics: S) -> Parameters:
        """Return the mode of the posterior in the user's own parameters, or raise `DoesNotExist`."""

    def not_conjugate(self, statistics: S) -> str:
        """Return why the posterior has no closed form, as a clause; empty where it has one."""

    def posterior(self, statistics: S) -> Self:
        """Return the exact posterior: the same family with updated hyperparameters."""

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw independent parameters from these hyperparameters."""

    def mean(self) -> Parameters:
        """Return the expectation of the parameters under these hyperparameters."""

    def pymc(self, statistics: S, suffix: str) -> None:
        """Add the block's random variables to the open PyMC model; they observe the statistics."""

    def from_pymc(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Return the parameters from draws (draw, ...) of the block's PyMC variables."""

    def log_density(self, X: NDArray[Any], parameters: Parameters) -> Array:
        """Return log p(x | y, θ), shape (draw, row, outcome); missing cells are integrated out."""

    def log_predictive(self, X: NDArray[Any]) -> Array:
        """Return log ∫ p(x | y, θ) p(θ) dθ under these hyperparameters, shape (row, outcome)."""

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> NDArray[Any]:
        """Draw rows x given labels `y` (row) from one hypothesis (draw axis of length 1)."""

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of each parameter, the draw axis left out."""


@runtime_checkable
class OwnAxes(Protocol):
    """A family whose parameters have other axes than features and levels."""

    def coords(self) -> dict[str, list[str]]:
        """Return the names along each of its axes."""


@dataclass(frozen=True)
class Rows:
    """Rows encoded for a model: one array a block (generative models), or numbers and codes (logistic regression).

    Indexing by a slice or an array of row numbers gives some of the rows.
    """

    parts: tuple[NDArray[Any], ...]
    length: int

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, rows: slice | Integers) -> Rows:
        length = len(range(*rows.indices(self.length))) if isinstance(rows, slice) else len(rows)
        return Rows(tuple(part[rows] for part in self.parts), length)


class Model(Protocol):
    """A classifier's model with the statistics, or the data, that it was conditioned on.

    Attributes
    ----------
    generative
        Whether it has a p(x | y), so that a new x is itself evidence about θ.
    """

    generative: ClassVar[bool]

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the label axis."""

    def mle(self) -> Parameters:
        """Return the maximum likelihood estimate (draw axis of length 1), or raise `DoesNotExist`."""

    def map(self) -> Parameters:
        """Return the posterior mode (draw axis of length 1), or raise `DoesNotExist`."""

    def pymc(self) -> pm.Model:
        """Return the PyMC model whose posterior NUTS samples."""

    def from_pymc(self, draws: Mapping[str, Array]) -> Parameters:
        """Return the parameters from draws (draw, ...) of the PyMC model's free variables."""

    def signature(self) -> Hashable:
        """Return what fixes the compiled form of the PyMC model; equal signatures share compiled code."""

    def log_scores(self, rows: Rows, parameters: Parameters) -> Array:
        """Return (draw, row, outcome) whose normalisation over the labels is log P(y | x, θ).

        For a generative model it is log p(x, y | θ) itself.
        """

    def not_conjugate(self) -> str:
        """Return why the posterior has no closed form, as a clause; empty where it has one."""

    def log_class_prior(self, parameters: Parameters) -> Array:
        """Return log P(y | θ), shape (draw, outcome): the answer where x is impossible under every class."""

    def log_predictive(self, rows: Rows) -> Array | None:
        """Return log p(x, y | D), shape (row, outcome), in closed form; None where there is none."""

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of each parameter, the draw axis left out."""

    def coords(self) -> dict[str, Any]:
        """Return the coordinates of the axes in `dims`."""
