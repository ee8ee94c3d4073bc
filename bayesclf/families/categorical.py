"""Categorical features: a Dirichlet over the levels for each feature and class."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, override

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes, Statistics
from bayesclf.families.learned_alpha import LearntAlpha
from bayesclf.families.page_tables import PageTable, observe_counts, page_tables, theta_of
from bayesclf.families.simplexes import SimplexFamily, require_alpha, require_basis
from bayesclf.families.terms import LinearDesign, LinearTerms
from bayesclf.tables.numbers import BLOCK_CELLS, blocks_of


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
            cells = X[rows] + (starts + n_levels * y[rows, None])
            weight = None if sample_weight is None else np.broadcast_to(sample_weight[rows, None], cells.shape)
            seen = X[rows] >= 0
            if not seen.all():
                cells, weight = cells[seen], None if weight is None else weight[seen]
            counts += np.bincount(cells.ravel(), None if weight is None else weight.ravel(), minlength=counts.size)
        return cls(axes, counts.reshape(n_labels, n_levels))

    @override
    def select(self, features: NDArray[np.bool_]) -> Self:
        """Return the counts of the levels of some of the features."""
        return type(self)(self.axes.select(features), self.counts[:, np.repeat(features, self.axes.sizes)])

    @override
    def reindex(self, axes: Axes) -> Self:
        """Return the counts on axes with additional labels or levels, which have none."""
        counts = np.zeros((len(axes.labels), sum(axes.sizes)))
        columns: list[int] = []
        for start, own, wider in zip(dirichlet.starts(axes.sizes), self.axes.levels, axes.levels, strict=True):
            place = {level: position for position, level in enumerate(wider, start=int(start))}
            columns += [place[level] for level in own]
        counts[np.ix_(self.axes.labels_in(axes), columns)] = self.counts
        return type(self)(axes, counts)

    @override
    def level_counts(self) -> list[tuple[str, tuple[Hashable, ...], Array]]:
        """Return the name, the levels and the weight of the rows of each level (level), of each column."""
        counts = np.split(self.counts.sum(axis=0), np.cumsum(self.axes.sizes)[:-1])
        return list(zip(self.axes.features, self.axes.levels, counts, strict=True))

    @property
    def observed(self) -> NDArray[np.bool_]:
        """Whether any cell of a feature is observed, (feature)."""
        # A column that is empty in all rows so far has no level, which reduceat cannot express.
        ends = np.cumsum(self.axes.sizes)
        seen = np.concatenate(([0.0], np.cumsum(self.counts.sum(axis=0))))
        return np.asarray(seen[ends] > seen[ends - self.axes.sizes])


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
        return statistics.observed

    @override
    def sizes(self, axes: Axes) -> tuple[int, ...]:
        """Return the number of levels of each feature."""
        return axes.sizes

    @override
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

    @override
    def from_pymc(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Return θ from that of each number of levels, or of each column."""
        tables = self._grouped(suffix)
        if not all(own.name in draws for own in tables):
            tables = self._page_tables(suffix)
        return {"theta": theta_of(tables, draws, len(self.axes.labels))}

    @override
    def page(self, X: Integers, row: Any, suffix: str) -> None:
        """Add θ of each feature, or of many with the same number of levels, observing x_j ~ Categorical(θ_yj)."""
        for own in self._page_tables(suffix):
            own.observe(own.add(np.asarray(self.alpha)), X, row)

    @override
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

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of θ."""
        return {"theta": ("outcome", "level")}
