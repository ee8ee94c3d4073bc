"""What joint tables and Bayesian networks share: a Dirichlet for each simplex of their tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import log10
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.families import completions, dirichlet, elimination
from bayesclf.families.base import Array, Axes, Integers, Parameters
from bayesclf.families.layout import Layout
from bayesclf.families.row_counts import RowCounts

LARGEST_THETA = 2**15
"""Probabilities (outcome × cell) of one hypothesis above which a table is refused."""


@dataclass(frozen=True)
class ConditionalTables(ABC):
    """P(x | y = k) = Π_f θ_{k, cell_f(x)}; subclasses say which tables there are."""

    alpha: float | Array = 2.0
    basis: str = "simplex"
    axes: Axes = field(default=Axes((), ()), repr=False)
    name: ClassVar[str]
    kind: ClassVar[str] = "category"
    statistics_class: ClassVar[type[RowCounts]] = RowCounts

    def __post_init__(self) -> None:
        if not np.all(np.asarray(self.alpha) > 0) or not np.all(np.isfinite(self.alpha)):
            raise InputError(f"alpha must be above 0 and finite, not {self.alpha}")
        if self.basis not in ("simplex", "softmax"):
            raise InputError(f"basis must be 'simplex' or 'softmax', not {self.basis!r}")

    @property
    def variant(self) -> str:
        """What fixes the compiled form beside the number of classes: how many simplexes of each size there are."""
        return str(Counter(self._simplexes))

    @abstractmethod
    def layout(self, axes: Axes) -> Layout:
        """Return the tables on these features and levels."""

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: a simplex of J cells has J − 1."""
        layout = self.layout(self.axes)
        return len(self.axes.labels) * (layout.cells - len(layout.simplexes))

    def statistics(self, X: Integers, y: Integers, axes: Axes, sample_weight: Array | None = None) -> RowCounts:
        """Count the different rows; `X` holds codes (row, feature), negative where a cell is missing."""
        return RowCounts.of(X, y, axes, sample_weight)

    def resolve_prior(self, statistics: RowCounts) -> Self:
        """Return the prior with α as an array (outcome, cell).

        Raises
        ------
        Refused
            Where the tables are too large to hold.
        """
        layout = self.layout(statistics.axes)
        shape = (len(statistics.axes.labels), layout.cells)
        if shape[0] * shape[1] > LARGEST_THETA:
            raise Refused(
                f"{self._what(layout)} has {shape[0]} × {_count(shape[1])} probabilities "
                f"({_size(8 * shape[0] * shape[1])} a hypothesis, {_size(8000 * shape[0] * shape[1])} for 1,000 draws; "
                f"limit {LARGEST_THETA:,} probabilities); take fewer columns, or naive Bayes"
            )
        try:
            alpha = np.broadcast_to(np.asarray(self.alpha, dtype=float), shape)
        except ValueError:
            raise InputError(
                f"alpha has shape {np.shape(self.alpha)}, which does not broadcast to (outcome, cell) = {shape}"
            ) from None
        return replace(self, alpha=alpha, axes=statistics.axes)

    def informative(self, statistics: RowCounts) -> NDArray[np.bool_]:
        """Return False for a feature without a single seen cell."""
        return np.asarray((statistics.rows >= 0).any(axis=0))

    def mle(self, statistics: RowCounts) -> Parameters:
        """Return the relative frequencies, by EM where cells are missing.

        A simplex of a configuration that no row has is arbitrary where the configuration itself has probability zero,
        and uniform here; where it has not, or where a class has no row, the estimate does not exist.

        Raises
        ------
        DoesNotExist
            Naming the class and what its rows lack.
        """
        _require_seen(statistics)
        layout = self.layout(statistics.axes)
        counts, sums = completions.split(layout, statistics)
        if len(sums):
            theta = completions.expectation_maximisation(counts, sums, np.zeros_like(counts), layout.simplexes)
        else:
            theta = dirichlet.normalise(counts, layout.simplexes)
        undefined = np.isnan(theta)
        filled = np.where(undefined, 1 / np.repeat(layout.simplexes, layout.simplexes), theta)[None]
        _require_irrelevant(layout, undefined, filled)
        return {"theta": filled}

    def map(self, statistics: RowCounts) -> Parameters:
        """Return the mode in the chosen basis, by EM where cells are missing; raises `DoesNotExist` without one."""
        layout = self.layout(self.axes)
        counts, sums = completions.split(layout, statistics)
        alpha = np.asarray(self.alpha)
        if not len(sums):
            posterior = replace(self, alpha=alpha + counts)
            theta = (
                posterior.mean()["theta"][0]
                if self.basis == "softmax"
                else dirichlet.mode(np.asarray(posterior.alpha), layout.simplexes)
            )
        else:
            less = 0.0 if self.basis == "softmax" else 1.0
            theta = completions.expectation_maximisation(counts, sums, alpha - less, layout.simplexes)
            bounded = np.minimum.reduceat(counts + alpha - less, dirichlet.starts(layout.simplexes), axis=1) >= 0
            theta = np.where(np.repeat(bounded, layout.simplexes, axis=1), theta, np.nan)
        if np.isnan(theta).any():
            label, cell = np.argwhere(np.isnan(theta))[0]
            raise DoesNotExist(
                f"class {self.axes.labels[label]!r} has no single most probable θ for {layout.names()[cell]!r} "
                "(some count + α is below 1, or all are 1)"
            )
        return {"theta": theta[None]}

    def not_conjugate(self, statistics: RowCounts) -> str:
        """Return the first column whose missing training cells couple the tables."""
        layout = self.layout(statistics.axes)
        for seen in np.unique(statistics.rows >= 0, axis=0):
            for hidden in layout.plan(seen).hidden:
                name = statistics.axes.features[hidden.features[0]]
                return f"column {name!r} has missing cells that others depend on; with missing='level' there is one"
        return ""

    def posterior(self, statistics: RowCounts) -> Self:
        """Return Dirichlet(α + n), for rows without missing cells that matter."""
        if reason := self.not_conjugate(statistics):
            raise Refused(f"this posterior has no closed form ({reason})")
        counts, _ = completions.split(self.layout(self.axes), statistics)
        return replace(self, alpha=np.asarray(self.alpha) + counts)

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw θ (draw, outcome, cell)."""
        return {"theta": dirichlet.draw(np.asarray(self.alpha), self._simplexes, rng, draws)}

    def mean(self) -> Parameters:
        """Return α/Σα."""
        return {"theta": dirichlet.mean(np.asarray(self.alpha), self._simplexes)[None]}

    def pymc(self, statistics: RowCounts, suffix: str) -> None:
        """Add θ, simplexes of one size together; it observes counts, and sums over what is missing."""
        import pymc as pm
        import pytensor.tensor as pt

        from bayesclf.families.pymc_statistics import observe_counts

        counts, sums = completions.split(self.layout(self.axes), statistics)
        groups, parts = self._groups(), []
        for size, cells in groups.items():
            shape = (len(self.axes.labels), -1, size)
            alpha = np.asarray(self.alpha)[:, cells].reshape(shape)
            theta = pm.Dirichlet(f"theta_{size}{suffix}", pm.Data(f"theta_{size}_alpha{suffix}", alpha))
            observe_counts(f"counts_{size}{suffix}", theta, counts[:, cells].reshape(shape))
            parts.append(theta.reshape((shape[0], len(cells))))
        if len(sums):
            back = pm.Data(f"cell_order{suffix}", np.argsort(np.concatenate(list(groups.values()))))
            completions.observe_sums(f"sums{suffix}", pt.concatenate(parts, axis=1)[:, back], sums)

    def from_pymc(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Flatten the groups back to θ (draw, outcome, cell)."""
        groups = self._groups()
        first = draws[f"theta_{next(iter(groups))}{suffix}"]
        theta = np.empty((len(first), len(self.axes.labels), sum(self._simplexes)))
        for size, cells in groups.items():
            group = draws[f"theta_{size}{suffix}"]
            theta[:, :, cells] = group.reshape(*group.shape[:2], -1)
        return {"theta": theta}

    def log_density(self, X: Integers, parameters: Parameters) -> Array:
        """Return Σ_f log θ (draw, row, outcome), missing cells summed out."""
        return elimination.log_density(self.layout(self.axes), X, parameters["theta"])

    def log_predictive(self, X: Integers) -> Array:
        """Return the log density under E[θ] (row, outcome).

        It is the average for one row, missing cells or not: each of its completions multiplies different simplexes,
        which are independent.
        """
        return np.asarray(self.log_density(X, self.mean())[0])

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Integers:
        """Draw level codes (row, feature), one factor after the other."""
        layout, theta = self.layout(self.axes), parameters["theta"][0]
        X = np.zeros((len(y), layout.features), dtype=np.intp)
        for f, factor in enumerate(layout.factors):
            sizes = tuple(self.axes.sizes[j] for j in factor.of)
            X[:, factor.of] = 0
            first = layout.cells_of(X)[:, f]
            below = np.cumsum(theta[y[:, None], first[:, None] + np.arange(np.prod(sizes))], axis=1)[:, :-1]
            drawn = (rng.random((len(y), 1)) >= below).sum(axis=1)
            X[:, factor.of] = np.column_stack(np.unravel_index(drawn, sizes))
        return X

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return θ: (outcome, cell)."""
        return {"theta": ("outcome", "cell")}

    def coords(self) -> dict[str, list[str]]:
        """Return the cells' names, such as "wind=weak | outlook=sunny"."""
        return {"cell": self.layout(self.axes).names()}

    @abstractmethod
    def _what(self, layout: Layout) -> str:
        """Name the tables in a message."""

    @property
    def _simplexes(self) -> tuple[int, ...]:
        return self.layout(self.axes).simplexes

    def _groups(self) -> dict[int, Integers]:
        """Return the cells of all simplexes of the same size, by that size."""
        sizes = np.asarray(self._simplexes)
        per_cell = np.repeat(sizes, sizes)
        return {int(size): np.flatnonzero(per_cell == size) for size in np.unique(sizes)}


def _require_seen(statistics: RowCounts) -> None:
    """Raise for the first class and feature without a single seen cell."""
    seen = statistics.counts @ (statistics.rows >= 0)
    for label, feature in np.argwhere(seen == 0):
        axes = statistics.axes
        raise DoesNotExist(f"class {axes.labels[label]!r} has no value in column {axes.features[feature]!r}")


def _require_irrelevant(layout: Layout, undefined: NDArray[np.bool_], theta: Array) -> None:
    """Raise for the first simplex without counts whose configuration has a probability above zero."""
    simplex = 0
    for factor in layout.factors:
        width = layout.count(factor.of)
        configurations = layout.count(factor.given)
        start = dirichlet.starts(layout.simplexes)[simplex]
        simplex += configurations
        lacking = undefined[:, start : start + width * configurations : width]
        for number in np.flatnonzero(lacking.any(axis=0)):
            X = np.full((1, layout.features), -1)
            X[0, factor.given] = np.unravel_index(number, [layout.axes.sizes[j] for j in factor.given])
            possible = elimination.log_density(layout, X, theta)[0, 0] > -np.inf
            for label in np.flatnonzero(possible & lacking[:, number]):
                names = " and ".join(repr(layout.axes.features[j]) for j in factor.of)
                cell = layout.names()[start + number * width].partition(" | ")[2]
                where = f" where {cell}" if cell else ""
                raise DoesNotExist(f"class {layout.axes.labels[label]!r} has no value in column {names}{where}")


def _size(size: float) -> str:
    """Return a number of bytes in a readable unit."""
    power = min(int(log10(size)) // 3, 5)
    return f"{_count(round(size / 1000**power))} {('bytes', 'kB', 'MB', 'GB', 'TB', 'PB')[power]}"


def _count(number: int) -> str:
    """Return a number with its thousands marked; one that nobody can read by its size."""
    return f"{number:,}" if number < 10**12 else f"{number:.0e}"
