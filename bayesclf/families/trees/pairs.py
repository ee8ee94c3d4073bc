"""Counts of pairs of values within each class, and the evidence of columns and pairs, from which that of trees follows.

The evidence of any tree, and its posterior, need only how often each two values of two features occur together. BDeu
takes N'/r_i for each value of column i, and N'/(r_i r_j) for each cell of a pair. The evidence of a tree then does not
depend on which feature is its root,

    log P(D | T) = Σ_i log ML_i + Σ_{(i, j) ∈ T} log W_ij,  W_ij = ML_ij/(ML_i ML_j),

ML_i and ML_ij the Dirichlet-multinomial evidence of a column, and of a pair taken as one variable.

References
----------
Heckerman, Geiger and Chickering (1995), *Learning Bayesian networks*, Machine Learning 20 (BDeu); Meilă & Jaakkola
(2006), *Tractable Bayesian learning of tree belief networks*.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from bayesclf.arrays import Array, Integers
from bayesclf.errors import Refused
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes, Statistics
from bayesclf.families.dirichlet import stirling

EQUIVALENT_ROWS = tuple(2.0**power for power in range(-1, 6))
"""Rows of each class that the prior of tables is worth, averaged over with equal weights."""

LARGEST_COUNTS = 2**25
"""Numbers (outcome × level × level) above which tables of pairs are refused."""

BLOCK_CELLS = 2**22
"""Indicators (row × level) that are multiplied at once."""


@dataclass(frozen=True)
class PairCounts(Statistics):
    """Counts n (outcome, level, level) of rows with both values, the levels of all features concatenated.

    The diagonal has the counts of single values.
    """

    axes: Axes
    counts: Array

    @classmethod
    def of(cls, X: Integers, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Self:
        """Count the pairs of values in rows `X` (row, feature) of level codes with label codes `y` (row).

        A pair of which one cell is missing, a negative code, is left out.

        Raises `Refused` for more pairs of values than can be kept in memory.
        """
        n_labels, n_levels = len(axes.labels), sum(axes.sizes)
        if n_labels * n_levels**2 > LARGEST_COUNTS:
            size = f"{n_labels} × {n_levels:,}² numbers (limit {LARGEST_COUNTS:,})"
            raise Refused(
                f"the pairs of values of {len(axes.features)} columns need {size}; take fewer columns, or naive Bayes"
            )
        counts = np.zeros((n_labels, n_levels, n_levels))
        cells, step = dirichlet.cells_of(X, axes.sizes), max(1, BLOCK_CELLS // max(n_levels, 1))
        for label, of_label in enumerate(counts):
            rows = np.flatnonzero(y == label)
            for part in np.split(rows, range(step, len(rows), step)):
                present = np.zeros((len(part), n_levels + 1))
                present[np.arange(len(part))[:, None], cells[part]] = 1.0  # the last one of missing cells
                weighted = present if sample_weight is None else present * sample_weight[part, None]
                of_label += (weighted.T @ present)[:-1, :-1]
        return cls(axes, counts)

    def select(self, features: NDArray[np.bool_]) -> Self:
        """Return the counts of pairs of levels of some of the features."""
        kept = np.repeat(features, self.axes.sizes)
        return type(self)(self.axes.select(features), self.counts[:, kept][:, :, kept])

    def reindex(self, axes: Axes) -> Self:
        """Return the counts on axes with additional labels, features or levels, which have none."""
        to, n_levels = self.axes.levels_in(axes), sum(axes.sizes)
        counts = np.zeros((len(axes.labels), n_levels, n_levels))
        counts[np.ix_(self.axes.labels_in(axes), to, to)] = self.counts
        return type(self)(axes, counts)

    @property
    def single(self) -> Array:
        """Counts of single values, (outcome, level)."""
        return np.asarray(np.diagonal(self.counts, axis1=1, axis2=2))


@dataclass(frozen=True)
class PairTables:
    """The Dirichlets of all columns and pairs of columns at one equivalent number of rows.

    `counts`: Counts (outcome, level, level), as in `PairCounts`. `sizes`: Number of levels of each feature.
    `equivalent_rows`: N', the weight of the prior in rows of each class.
    """

    counts: Array
    sizes: tuple[int, ...]
    equivalent_rows: float

    @property
    def _shares(self) -> Array:
        """1/r of the feature of each level, (level)."""
        return np.repeat(1 / np.array(self.sizes, dtype=float), self.sizes)

    @cached_property
    def single_prior(self) -> Array:
        """Concentration of each value under the prior, (level)."""
        return self.equivalent_rows * self._shares

    @cached_property
    def pair_prior(self) -> Array:
        """Concentration of each cell of a pair under the prior, (level, level)."""
        return self.equivalent_rows * np.outer(self._shares, self._shares)

    @cached_property
    def rows(self) -> Array:
        """Number of rows of each class, (outcome)."""
        return np.asarray(np.diagonal(self.counts, axis1=1, axis2=2)[:, : self.sizes[0]].sum(axis=1))

    @cached_property
    def single(self) -> Array:
        """Concentration of each value given the rows, (outcome, level)."""
        return np.asarray(np.diagonal(self.counts, axis1=1, axis2=2) + self.single_prior)

    @cached_property
    def pair(self) -> Array:
        """Concentration of each cell of a pair given the rows, (outcome, level, level)."""
        return self.counts + self.pair_prior

    @cached_property
    def log_columns(self) -> Array:
        """Log evidence of each column, (outcome, feature)."""
        of_values = gammaln(self.single) - gammaln(self.single_prior)
        return np.add.reduceat(of_values, dirichlet.starts(self.sizes), axis=1) - self._log_total[:, None]

    @cached_property
    def log_weights(self) -> Array:
        """log W of each pair, (outcome, feature, feature), 0 on the diagonal."""
        total = self._total(0)
        weights = self._log_ratios(self.pair, self.single, total)
        prior = self._log_ratios(self.pair_prior[None], self.single_prior[None], np.array([self.equivalent_rows]))
        return np.asarray((weights - prior) * (1 - np.eye(len(self.sizes))))

    def _log_ratios(self, pair: Array, single: Array, total: Array) -> Array:
        """Return log B(pair) − log B(one column) − log B(the other), (outcome, feature, feature).

        Terms x log x, as large as the number of rows, are combined in each cell before they are added up. So what
        remains of them is not lost.
        """
        first = dirichlet.starts(self.sizes)
        expected = single[:, :, None] * single[:, None] / total[:, None, None]
        of_cells = pair * np.log(pair / expected) + _remainder(pair)
        of_pairs = np.add.reduceat(np.add.reduceat(of_cells, first, axis=1), first, axis=2)
        of_columns = np.add.reduceat(_remainder(single), first, axis=1)
        ratios = of_pairs - of_columns[:, :, None] - of_columns[:, None] + _remainder(total)[:, None, None]
        return np.asarray(ratios)

    @property
    def _log_total(self) -> Array:
        return np.asarray(gammaln(self.rows + self.equivalent_rows) - gammaln(self.equivalent_rows))

    def log_single(self, less: int = 0) -> Array:
        """Return the log posterior mean of each value, (outcome, level), `less` rows with that value left out."""
        return dirichlet.logs(self._left(self.single, less) / self._total(less)[:, None])

    def ratios(self, outcome: int, less: int = 0) -> Array:
        """Return P̄(a, b)/(P̄(a) P̄(b)) of the posterior means in one class, (level, level), 1 within a feature.

        With `less` = 1, one row is left out that has both values.
        """
        single, total = self._left(self.single[outcome], less), self._total(less)[outcome]
        values = self._left(self.pair[outcome], less) * total / np.outer(single, single)
        feature = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return np.where(feature[:, None] == feature, 1.0, values)

    def _total(self, less: int) -> Array:
        return np.asarray(self.rows + self.equivalent_rows - less)

    @staticmethod
    def _left(alpha: Array, less: int) -> Array:
        """Return concentrations without a row; cells that no row can have used keep a positive number."""
        return np.where(alpha > less, alpha - less, alpha) if less else alpha


def _remainder(x: Array) -> Array:
    """Return log Γ(x) − x log x + x, of numbers above 0."""
    return stirling(x) + 0.5 * np.log(2 * np.pi / x)


def log_likelihood_gains(counts: Array, sizes: tuple[int, ...]) -> tuple[Array, Array]:
    """Return what an edge adds to the largest log likelihood, n I(X_i; X_j), and n, (outcome, feature, feature)."""
    first = dirichlet.starts(sizes)
    margin = np.add.reduceat(counts, first, axis=2)  # of rows that have both columns
    n = np.add.reduceat(margin, first, axis=1)
    terms = np.add.reduceat(np.add.reduceat(xlogy(counts, counts), first, axis=1), first, axis=2)
    columns = np.add.reduceat(xlogy(margin, margin), first, axis=1)
    gains = terms - columns - columns.swapaxes(1, 2) + xlogy(n, n)
    return gains * (1 - np.eye(len(sizes))), n
