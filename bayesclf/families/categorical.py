"""Categories, and what families share whose parameter θ is made of simplexes, each with a Dirichlet prior."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.errors import DoesNotExist
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes, Family, Statistics, broadcast, require_choice, require_positive
from bayesclf.families.learned_alpha import LearntAlpha
from bayesclf.families.page_tables import PageTable, PageVariable, observe_counts, page_tables, theta_of
from bayesclf.families.prior_lines import PriorLine, dirichlet_lines
from bayesclf.families.terms import Density, LinearDesign, LinearTerms
from bayesclf.tables.numbers import BLOCK_CELLS, blocks_of


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

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw θ ~ Dirichlet(α), each simplex by itself."""
        return {"theta": self.of_cells(dirichlet.draw(*self.simplexes(), rng, draws))}

    def mean(self) -> Parameters:
        """Return α/Σα."""
        return {"theta": self.of_cells(dirichlet.normalize(*self.simplexes()))[None]}

    def _page_tables(self, suffix: str) -> list[PageTable]:
        """Return the tables of categories that are variables of `page`."""
        return []

    def page_variables(self, suffix: str) -> list[PageVariable]:
        """Return θ of each table."""
        return [own.variable() for own in self._page_tables(suffix)]

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

    def _log_normalizer(self) -> Array:
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


@dataclass(frozen=True)
class CategoricalStatistics(Statistics):
    """Counts n (outcome, level), the levels of all features concatenated."""

    axes: Axes
    counts: Array

    @classmethod
    def of(cls, X: Integers, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Self:
        """Count the levels; `X` holds codes (row, feature), −1 where a cell is missing."""
        n_labels, n_levels = len(axes.labels), sum(axes.sizes)
        starts, counts = dirichlet.starts(axes.sizes), np.zeros(n_labels * n_levels)
        for rows in blocks_of(len(X), X.shape[1], max(BLOCK_CELLS, counts.size)):
            own = np.ascontiguousarray(X[rows].T)  # whose rows are long, and NumPy takes long for each
            cells = own + (starts[:, None] + n_levels * y[rows])
            weight = None if sample_weight is None else np.broadcast_to(sample_weight[rows], cells.shape)
            seen = own >= 0
            if not seen.all():
                cells, weight = cells[seen], None if weight is None else weight[seen]
            counts += np.bincount(cells.ravel(), None if weight is None else weight.ravel(), minlength=counts.size)
        return cls(axes, counts.reshape(n_labels, n_levels))

    def level_counts(self) -> list[tuple[str, tuple[Hashable, ...], Array]]:
        """Return the name, the levels and the weight of the rows of each level (level), of each column."""
        counts = np.split(self.counts.sum(axis=0), np.cumsum(self.axes.sizes)[:-1])
        return list(zip(self.axes.features, self.axes.levels, counts, strict=True))


@dataclass(frozen=True, repr=False)
class Categorical(SimplexFamily[CategoricalStatistics]):
    """P(x_j = l | y = k) = θ_jkl with θ_jk ~ Dirichlet(α_jk), independent over features j and classes k.

    ========== ============================ ==================== =====================
    parameter  support                      prior                posterior
    ========== ============================ ==================== =====================
    θ_jk       simplex over the levels of j Dirichlet(α_jk)      Dirichlet(α_jk + n_jk)
    ========== ============================ ==================== =====================

    MLE n_jkl/n_jk (Mitchell eq 6); MAP (n_jkl + α − 1)/(n_jk + Σα − J) (eq 7 with l = α − 1; α = 2 is Laplace's
    rule; the m-estimate (n_jkl + m p)/(n_jk + m) is α_jl = 1 + m p_jl). A missing cell (code −1) is integrated
    out: it contributes to no count and to no density.

    Parameters
    ----------
    alpha : float, array or LearntAlpha
        Concentration, above 0: a number, or an array that broadcasts to (outcome, level), the levels of all
        features concatenated; or a `LearntAlpha`.
    basis : str or tuple of str
        Where the density is maximized for MAP: ``"simplex"``, in θ itself, or ``"softmax"``, in log-odds, where
        the mode (n + α)/(N + Σα) always exists and equals the posterior mean; or one of them for each feature.
        Where α is learned, ``"softmax"``.
    axes : Axes
        Set by `resolve_prior`.

    References
    ----------
    Mitchell, eqs 6 and 7; CS4780, categorical naive Bayes.
    """

    alpha: float | Array | LearntAlpha = 2.0
    basis: str | tuple[str, ...] = "simplex"
    axes: Axes = field(default=Axes((), ()), repr=False)
    name: ClassVar[str] = "categorical"
    kind: ClassVar[str] = "category"
    likelihood: ClassVar[str] = "Categorical(theta)"
    statistics_type: ClassVar[type[Statistics]] = CategoricalStatistics

    def __post_init__(self) -> None:
        require_alpha(alpha=self.alpha)
        require_basis(self.basis)

    def informative(self, statistics: CategoricalStatistics) -> NDArray[np.bool_]:
        """Return False for a feature without an observed cell."""
        return statistics.axes.occurring(statistics.counts.sum(axis=0))

    def sizes(self, axes: Axes) -> tuple[int, ...]:
        """Return the number of levels of each feature."""
        return axes.sizes

    def pymc(self, statistics: CategoricalStatistics, suffix: str) -> None:
        """Add θ, grouped by number of levels (one variable per feature and class would take too long to compile)."""
        import pymc as pm

        from bayesclf import pymc_models

        for own in self._grouped(suffix):
            alpha, counts = (own.of(values[None])[0] for values in (np.asarray(self.alpha), statistics.counts))
            held = pm.Data(f"alpha_{own.name}", alpha)
            theta = pymc_models.wide_categories(own.columns, own.shape[-1], held, suffix)
            observe_counts(f"counts_{own.name}", theta, counts)

    def _grouped(self, suffix: str) -> list[PageTable]:
        """Return a table for each number of levels."""
        return page_tables(self.axes.features, self.axes.levels, suffix, most_columns=0)

    def from_pymc(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Return θ from that of each number of levels, or of each column."""
        tables = self._grouped(suffix)
        if not all(own.name in draws for own in tables):
            tables = self._page_tables(suffix)
        return {"theta": theta_of(tables, draws, len(self.axes.labels))}

    def page(self, X: Integers, row: Any, suffix: str) -> None:
        """Add θ of each feature, or of many with the same number of levels, observing x_j ~ Categorical(θ_yj)."""
        for own in self._page_tables(suffix):
            own.observe(own.add(np.asarray(self.alpha)), X, row)

    def _page_tables(self, suffix: str) -> list[PageTable]:
        """Return a table for each feature, or for those with the same number of levels."""
        return page_tables(self.axes.features, self.axes.levels, suffix)

    def log_density(self, X: Integers, parameters: Parameters) -> Array:
        """Return Σ_j log θ_{j, k, x_j} (draw, row, outcome)."""
        theta = parameters["theta"]
        cells = dirichlet.cells_of(X, self.axes.sizes)
        return dirichlet.weighted_logs(dirichlet.indicators(cells, theta.shape[2]), theta)

    def log_predictive_without(self, X: Integers, y: Integers) -> Array:
        """Own class: Π_j (α_jl − 1)/(Σα_j − 1) over the observed cells, α of the posterior."""
        cells = dirichlet.cells_of(X, self.axes.sizes)
        return self._with_own(X, y, dirichlet.log_mean_without(*self.simplexes(), cells, y))

    def linear_terms(self, parameters: Parameters, design: LinearDesign) -> LinearTerms:
        """Σ_j log θ_{k, j, x_j}: one weight per level, log θ_kjl (CS4780)."""
        return LinearTerms.of_logs(parameters["theta"])

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Integers:
        """Draw level codes (row, feature)."""
        return dirichlet.drawn_codes(parameters["theta"][0], self.axes.sizes, y, rng)

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of θ."""
        return {"theta": ("outcome", "level")}
