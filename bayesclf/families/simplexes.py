"""Families whose parameter θ is made of simplexes, each with a Dirichlet prior that its counts update."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, cast, override

import numpy as np

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.errors import DoesNotExist
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes, Family, Statistics, broadcast, require_choice, require_positive
from bayesclf.families.learned_alpha import LearntAlpha
from bayesclf.families.page_tables import PageTable, PageVariable, theta_of
from bayesclf.families.prior_lines import PriorLine, dirichlet_lines
from bayesclf.families.terms import Density


def require_alpha(**given: object) -> None:
    """Raise `InputError` for a concentration that is neither positive nor to be learned."""
    require_positive(**{name: value for name, value in given.items() if not isinstance(value, LearntAlpha)})


BASES = ("simplex", "softmax")
"""Coordinates in which a mode is taken: θ itself, or its logarithms."""


def require_basis(basis: str | tuple[str, ...]) -> None:
    """Raise `InputError` for a basis, or one of those of each simplex, that there is not."""
    for one in basis if isinstance(basis, tuple) else (basis,):
        require_choice("basis", one, BASES)


NO_MODE = "has no single most probable θ (some count + α is below 1, or all are 1)"


class SimplexFamily[S: Statistics](Family[S]):
    """A family with a Dirichlet for each simplex; their cells are concatenated in θ.

    `alpha`: Concentration: a number, an array in the shape of θ, or a `LearntAlpha`. `basis`: Where the density is
    maximized for MAP: ``"simplex"``, in θ itself, or ``"softmax"``, in log-odds, where the mode (n + α)/(N + Σα) always
    exists and equals the posterior mean; or one of them for each simplex.
    """

    _lacking: ClassVar[str] = "has no value"

    @property
    @abstractmethod
    def alpha(self) -> float | Array | LearntAlpha:
        """The concentration."""

    @property
    @abstractmethod
    def basis(self) -> str | tuple[str, ...]:
        """The coordinates of the mode."""

    @abstractmethod
    def sizes(self, axes: Axes) -> tuple[int, ...]:
        """Return the number of cells of each simplex of a block."""

    def simplexes(self) -> tuple[Array, tuple[int, ...]]:
        """Return the concentration of each cell (outcome, cell), and the number of cells of each simplex."""
        return np.asarray(self.alpha), self.sizes(self.axes)

    def resolve_prior(self, statistics: Any) -> Self:
        """Return the prior with α as an array in the shape of θ or, where α is learned, the family that learns it."""
        if isinstance(self.alpha, LearntAlpha):
            return cast("Self", self.alpha.resolve(self, statistics))
        alpha = broadcast("alpha", self.alpha, statistics.counts.shape, ", ".join(self.dims()["theta"]))
        return replace(self, alpha=alpha, axes=statistics.axes)  # type: ignore[type-var]

    @override
    def priors(self) -> list[PriorLine]:
        """Return the Dirichlet priors of θ."""
        alpha, sizes = self.simplexes()
        return dirichlet_lines("theta", self._simplex_names(), self.axes.labels, alpha, sizes)

    def _simplex_names(self) -> Sequence[str]:
        """Return what each simplex is of: a feature, unless there is one for the block."""
        return self.axes.features if len(self.simplexes()[1]) == len(self.axes.features) else ("",)

    def mle(self, statistics: Any) -> Parameters:
        """Return the relative frequencies; raises `DoesNotExist` where a class has no counts in a simplex."""
        sizes = self.sizes(statistics.axes)
        return self._defined(dirichlet.normalize(statistics.counts, sizes), sizes, statistics.axes, self._lacking)

    def map(self, statistics: Any) -> Parameters:
        """Return the mode in the chosen basis; raises `DoesNotExist` where it is not unique or unbounded."""
        posterior = self.posterior(statistics)
        if self.basis == "softmax":
            return posterior.mean()
        alpha, sizes = posterior.simplexes()
        theta = dirichlet.mode(alpha, sizes)
        if not isinstance(self.basis, str):
            softmax = np.repeat([basis == "softmax" for basis in self.basis], sizes)
            theta = np.where(softmax, dirichlet.normalize(alpha, sizes), theta)
        return self._defined(theta, sizes, self.axes, NO_MODE)

    def posterior(self, statistics: Any) -> Self:
        """Return Dirichlet(α + n), with the `counts` of the statistics (outcome, cell)."""
        return self.with_alpha(self.simplexes()[0] + statistics.counts)

    @override
    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw θ ~ Dirichlet(α), each simplex by itself."""
        return {"theta": self.of_cells(dirichlet.draw(*self.simplexes(), rng, draws))}

    def mean(self) -> Parameters:
        """Return α/Σα."""
        return {"theta": self.of_cells(dirichlet.normalize(*self.simplexes()))[None]}

    def _page_tables(self, suffix: str) -> list[PageTable]:
        """Return the tables of categories that are variables of `page`."""
        return []

    @override
    def page_variables(self, suffix: str) -> list[PageVariable]:
        """Return θ of each table."""
        return [own.variable() for own in self._page_tables(suffix)]

    @override
    def from_pymc(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Return θ from its own draws or from θ of each column."""
        tables = self._page_tables(suffix)
        return {"theta": theta_of(tables, draws, len(self.axes.labels)) if tables else draws[f"theta{suffix}"]}

    def log_predictive(self, X: Any) -> Array:
        """Return the log density at E[θ] (row, outcome): the average over θ where a row uses no cell twice."""
        return np.asarray(self.log_density(X, self.mean())[0])

    def without_each(self, X: Any, y: Integers) -> Callable[[Array], Array]:
        """Return the function from what is added to the concentration of each cell to `log_predictive_without`."""
        return lambda more: self.with_alpha(self.simplexes()[0] + more).log_predictive_without(X, y)

    def log_normalizer(self) -> Array:
        """log B(α): the evidence is the Dirichlet-multinomial of the rows in their order."""
        return dirichlet.log_beta(*self.simplexes())

    def log_prior(self, parameters: Parameters) -> Density:
        """A Dirichlet for each simplex."""
        return Density.of_simplexes("theta", parameters["theta"], *self.simplexes())

    def of_cells(self, cells: Array) -> Array:
        """Return θ from the probabilities of its cells (…, cell)."""
        return cells

    def with_alpha(self, alpha: Array) -> Self:
        """Return the prior with α (cell), the same for all classes."""
        return replace(self, alpha=alpha)  # type: ignore[type-var]

    def _defined(self, theta: Array, sizes: tuple[int, ...], axes: Axes, what: str) -> Parameters:
        """Return θ from its cells; raises `DoesNotExist` for the first class with a simplex of NaN."""
        undefined = np.argwhere(np.isnan(theta))
        if undefined.size:
            label, cell = undefined[0]
            of_feature = len(sizes) == len(axes.features)
            column = axes.features[np.repeat(np.arange(len(sizes)), sizes)[cell]]
            where = f" in column {column!r}" if of_feature else ""
            raise DoesNotExist(f"class {axes.labels[label]!r} {what}{where}")
        return {"theta": self.of_cells(theta)[None]}
