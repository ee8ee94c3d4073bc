"""Every tree between categories and numbers at once: a number enters as the cell between quantiles that it is in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import Whole, require, require_bytes
from bayesclf.families.base import Axes, Family, Statistics
from bayesclf.families.cells import ValueCounts
from bayesclf.families.histogram import Cells
from bayesclf.families.multivariate.groups import are_categories, are_seen, level_counts
from bayesclf.families.networks.every_tree import NO_PYMC, EveryTree
from bayesclf.families.networks.trees import PairCounts
from bayesclf.families.prior_lines import PriorLine
from bayesclf.tables.columns import MISSING
from bayesclf.wording import AND_MORE, LISTED_NAMES, listed

COPIES = 4
"""Copies of the training rows that a fit holds at once, measured."""


@dataclass(frozen=True)
class MixedRows(Statistics):
    """Training rows as they are: the quantiles of a column need all of its values, and trees all pairs of cells.

    `y`: Label codes (row). `n`: Weights (row). `X`: Codes of categories, and numbers, (row, feature).
    """

    axes: Axes
    y: Integers
    n: Array
    X: Array

    @classmethod
    def of(cls, X: Array, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Self:
        """Keep the rows that count; raises `Refused` for more than can be kept in memory."""
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        kept = weight > 0
        return cls(axes, y[kept], weight[kept], X[kept]).in_memory()

    def in_memory(self) -> Self:
        """Return the rows, or raise `Refused` for more than memory may hold."""
        rows, columns = self.X.shape
        what = f"{rows:,} rows of {columns} columns, kept to bin numbers at quantiles,"
        require_bytes(COPIES * 8.0 * self.X.size, what, "use fewer rows, or structure='tan', which needs sums only")
        return self

    def __add__(self, other: Self) -> Self:
        y, n, X = (np.concatenate([getattr(own, of) for own in (self, other)]) for of in ("y", "n", "X"))
        return type(self)(self.axes, y, n, X).in_memory()

    def mapped(self, axes: Axes, function: Any) -> Self:
        """Return the rows on axes with other names of the classes, or, of fewer classes, with one label."""
        return replace(self, axes=axes, y=self.y if len(axes.labels) > 1 else np.zeros_like(self.y))

    def select(self, features: NDArray[np.bool_]) -> Self:
        """Return the rows with some of the features."""
        return replace(self, axes=self.axes.select(features), X=self.X[:, features])

    def reindex(self, axes: Axes) -> Self:
        """Return the rows on axes with additional labels or levels, codes by the new ones."""
        X = self.X.copy()
        for own, levels, wider in zip(X.T, self.axes.levels, axes.levels, strict=True):
            if levels:
                codes = np.array([wider.index(level) for level in levels], dtype=float)
                own[own >= 0] = codes[own[own >= 0].astype(np.intp)]
        return replace(self, axes=axes, y=np.array(self.axes.labels_in(axes), dtype=np.intp)[self.y], X=X)

    def level_counts(self) -> list[tuple[str, tuple[Any, ...], Array]]:
        """Return the name, the levels and the weight of the rows of each level (level), of each category."""
        codes = np.where(are_seen(self.X, self.axes) & are_categories(self.axes), self.X, MISSING).astype(np.intp)
        return level_counts(self.axes, codes, self.n)

    def arrays(self) -> dict[str, Array]:
        """Return the different rows in order, and the weight of each."""
        seen = are_seen(self.X, self.axes)
        cells = np.column_stack([self.y, seen, np.where(seen, self.X, 0.0)])
        rows, which = np.unique(cells, axis=0, return_inverse=True)
        return {"rows": rows, "n": np.bincount(which.ravel(), self.n, minlength=len(rows))}


@dataclass(frozen=True, repr=False)
class EveryTreeOfCells(Family[MixedRows]):
    """p(x | y = k) = P(c(x) | y = k) Π_j f_j(x_j | c_j): `EveryTree` over the categories and the cells of the numbers.

    The cells of a number are cut at quantiles of the pooled training rows, without labels; a value that many rows share
    has a cell of its own. The density f_j within a cell is constant, and the same in all classes: it says nothing of
    the class, but evidence and densities are comparable with those of other families. Beyond the least and the largest
    of n training values it falls as in `Histogram`, and has the share of one row.

    The training rows are kept, as quantiles need them. A posterior that serves as a prior keeps its cuts.

    Parameters
    ----------
    trees : EveryTree
        The mixture over trees or forests, with its prior.
    quantiles : int
        Largest number of cells between pooled quantiles, at least 1.
    gaps : bool
        Whether a missing number is a cell of its own where training rows have some. Otherwise training rows must be
        complete. Other missing cells are summed out, as in `EveryTree`.
    axes, layout
        Set by `resolve_prior`; `layout` has the cells of each number, the outer two of which belong to their neighbors.
    """

    trees: EveryTree = field(default_factory=EveryTree)
    quantiles: int = 5
    gaps: bool = False
    axes: Axes = field(default=Axes((), ()), repr=False)
    layout: tuple[Cells, ...] = field(default=(), repr=False)
    name: ClassVar[str] = "every-tree-of-cells"
    kind: ClassVar[str] = "mixed"
    likelihood: ClassVar[str] = f"{EveryTree.likelihood}; numbers enter as cells between quantiles"
    statistics_type: ClassVar[type[Statistics]] = MixedRows
    _no_pymc: ClassVar[str] = NO_PYMC

    def __post_init__(self) -> None:
        require(Whole(1), quantiles=self.quantiles)

    def resolve_prior(self, statistics: MixedRows) -> Self:
        """Return the prior with the cells that the pooled rows give; raises `Refused` as `EveryTree` does."""
        number = ~are_categories(statistics.axes)
        values = ValueCounts.of(statistics.X[:, number], statistics.y, statistics.axes.select(number), statistics.n)
        layout = tuple(Cells.of(column, self.quantiles) for column in values.columns)
        own = replace(self, axes=statistics.axes, layout=layout)
        gaps = np.isnan(statistics.X).any(axis=0) & self.gaps
        levels = list(statistics.axes.levels or [()] * len(number))
        for j, cells in own.numbers():
            borders = pairwise([-np.inf, *cells.borders[1:-1].tolist(), np.inf])
            names = [f"[{low:.15g}, {high:.15g})" for low, high in borders]
            levels[j] = tuple(names + ["missing"] * int(gaps[j]))
        own = replace(own, trees=replace(self.trees, axes=replace(statistics.axes, levels=tuple(levels))))
        return replace(own, trees=own.trees.resolve_prior(own.counted(statistics)))

    def numbers(self) -> Iterator[tuple[int, Cells]]:
        """Yield the place of each number, and its cells."""
        return zip(np.flatnonzero(~are_categories(self.axes)).tolist(), self.layout, strict=True)

    def unobserved(self) -> Array:
        """Return cells (feature) that are summed out: ∞ for a number of which a missing cell says something."""
        out = np.full(len(self.axes.features), np.nan)
        for j, cells in self.numbers():
            out[j] = np.inf if self._has_gaps(j, cells) else np.nan
        return out

    def _has_gaps(self, j: int, cells: Cells) -> bool:
        """Return whether a missing number is a cell of its own."""
        return bool(self.trees.axes.sizes[j] > len(cells.shares) - 2)

    def _coded(self, X: Array) -> tuple[Integers, Array]:
        """Return level codes (row, feature), negative where a cell is missing, and Σ_j log f_j(x_j | c_j), (row)."""
        codes = np.where(are_seen(X, self.axes) & are_categories(self.axes), X, MISSING).astype(np.intp)
        inside = np.zeros(len(X))
        for j, cells in self.numbers():
            seen, (bins, shares) = np.isfinite(X[:, j]), _bins(cells)
            x = X[seen, j]
            code = cells.codes(x)
            codes[seen, j] = bins[code]
            codes[np.isnan(X[:, j]), j] = bins[-1] + 1 if self._has_gaps(j, cells) else MISSING
            inside[seen] += cells.log_shape(x) + np.log(shares / cells.widths)[code]
        return codes, inside

    def counted(self, statistics: MixedRows) -> PairCounts:
        """Return the counts of pairs of cells."""
        codes, _ = self._coded(statistics.X)
        return self.trees.statistics(codes, statistics.y, self.trees.axes, statistics.n)

    def informative(self, statistics: MixedRows) -> NDArray[np.bool_]:
        """Return False for a number with one value, or none, and a category without an observed cell."""
        seen, X = are_seen(statistics.X, statistics.axes), statistics.X
        varies = X.max(axis=0, where=seen, initial=-np.inf) > X.min(axis=0, where=seen, initial=np.inf)
        return np.where(are_categories(statistics.axes), seen.any(axis=0), varies)

    def priors(self) -> list[PriorLine]:
        """Return those of trees and of the probabilities of cells given one."""
        return self.trees.priors()

    def remarks(self, statistics: MixedRows) -> list[str]:
        """Name the cuts, and the numbers without any."""
        cuts = [
            f"{self.axes.features[j]!r} at {listed((f'{cut:.4g}' for cut in own.borders[1:-1]), LISTED_NAMES)}"
            for j, own in self.numbers()
            if len(own.borders) > 2
        ]
        whole = [repr(self.axes.features[j]) for j, own in self.numbers() if len(own.borders) == 2]
        said = f"the trees bin numbers near quantiles: {listed(cuts, LISTED_NAMES, AND_MORE)}"
        few = f"too few rows to bin numbers, whose values are not used: {listed(whole, LISTED_NAMES, AND_MORE)}"
        return [said] * bool(cuts) + [few] * bool(whole)

    def mle(self, statistics: MixedRows) -> Parameters:
        """Return that of `EveryTree`."""
        return self.trees.mle(self.counted(statistics))

    def map(self, statistics: MixedRows) -> Parameters:
        """Return that of `EveryTree`."""
        return self.trees.map(self.counted(statistics))

    def posterior(self, statistics: MixedRows) -> Self:
        """Return the posterior over trees given the cells of the rows."""
        return replace(self, trees=self.trees.posterior(self.counted(statistics)))

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw trees and the probabilities of cells."""
        return self.trees.draw(rng, draws)

    def mean(self) -> Parameters:
        """Return that of `EveryTree`."""
        return self.trees.mean()

    def log_evidence(self, statistics: MixedRows) -> Array:
        """Return that of the cells under `EveryTree`, and the log density of the numbers within them, (1)."""
        inside = float(statistics.n @ self._coded(statistics.X)[1])
        return self.trees.log_evidence(self.counted(statistics)) + inside

    def log_density(self, X: Array, parameters: Parameters) -> Array:
        """Return log P(cells | y, tree, θ) and the log density within them, (draw, row, outcome)."""
        codes, inside = self._coded(X)
        return self.trees.log_density(codes, parameters) + inside[:, None]

    def log_predictive(self, X: Array) -> Array:
        """Return the same averaged over trees and θ, (row, outcome)."""
        codes, inside = self._coded(X)
        return self.trees.log_predictive(codes) + inside[:, None]

    def log_predictive_without(self, X: Array, y: Integers) -> Array:
        """Return the same of rows that are left out; the cuts are those of all rows."""
        codes, inside = self._coded(X)
        return self.trees.log_predictive_without(codes, y) + inside[:, None]

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the first column with each other one: all depend on each other."""
        return self.trees.pairs()

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw codes of categories and of cells, then the numbers in their cells, in the decimals of the column."""
        codes = self.trees.sample(parameters, y, rng)
        X = codes.astype(float)
        for j, cells in self.numbers():
            (bins, shares), u = _bins(cells), rng.random(len(y))
            code = np.minimum(codes[:, j], bins[-1]) + 1
            code = np.where((codes[:, j] == 0) & (u < shares[0]), 0, code)
            code = np.where((codes[:, j] == bins[-1]) & (u > 1 - shares[-1]), bins[-1] + 2, code)
            X[:, j] = np.where(codes[:, j] > bins[-1], np.nan, cells.sample(code, rng))
        return X

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return those of `EveryTree`."""
        return self.trees.dims()

    def coords(self) -> dict[str, Any]:
        """Return those of `EveryTree`."""
        return self.trees.coords()


def _bins(cells: Cells) -> tuple[Integers, Array]:
    """Return the cell between quantiles that each belongs to, the outer two to their neighbors, and its share of it."""
    bins = np.arange(len(cells.shares) - 2)
    bins = np.concatenate([bins[:1], bins, bins[-1:]])
    return bins, cells.shares / np.bincount(bins, cells.shares)[bins]
