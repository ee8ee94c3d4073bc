"""The posterior over trees: one sum over all of them for each equivalent number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayesclf.arrays import Array, Integers
from bayesclf.families.dirichlet import starts
from bayesclf.families.trees.pairs import PairTables
from bayesclf.families.trees.spanning import Elimination, TreeSum


@dataclass(frozen=True)
class TreePrior:
    """P(T): uniform over all trees, or over all rooted forests weighted by d for each component.

    A star vertex, the last, is tied to each of the d features with weight d: trees of that graph are forests of the
    features in which each component has a root, the feature that is tied to the star.

    `forests`: Whether it is over forests.
    """

    features: int
    forests: bool = False

    @property
    def log_count(self) -> float:
        """Log of the sum of all unnormalized prior weights: d^(d−2) trees, or d (2d)^(d−1)."""
        d = self.features
        if self.forests:
            return float(np.log(d) + (d - 1) * np.log(2 * d))
        return (d - 2) * np.log(d) if d > 1 else 0.0

    def graph(self, log_weights: Array) -> Array:
        """Return the log weights of all edges, (vertex, vertex), from those of pairs of features."""
        if not self.forests:
            return log_weights
        graph = np.full((self.features + 1, self.features + 1), np.log(self.features))
        graph[:-1, :-1] = log_weights
        np.fill_diagonal(graph, 0.0)
        return graph

    def present(self, edges: Integers) -> Array:
        """Return 1 for each pair of features that is among edges of the graph, (…, pair), from (…, edge, end)."""
        d = self.features
        low, high = edges.min(axis=-1), edges.max(axis=-1)
        place = low * d - low * (low + 1) // 2 + high - low - 1
        out = np.zeros((*edges.shape[:-2], d * (d - 1) // 2 + 1))
        np.put_along_axis(out, np.where(high < d, place, out.shape[-1] - 1), 1.0, axis=-1)
        return out[..., :-1]


@dataclass(frozen=True)
class Node:
    """The posterior over trees at one equivalent number of rows.

    `prior`: P(T).
    """

    tables: PairTables
    prior: TreePrior

    @cached_property
    def sum(self) -> TreeSum:
        """The sum over all trees."""
        return TreeSum.of(self.prior.graph(self.tables.log_weights.sum(axis=0)))

    @cached_property
    def elimination(self) -> Elimination:
        """What sums the same trees for many rows."""
        return Elimination(self.sum.tree)

    @property
    def log_evidence(self) -> float:
        """log Σ_T P(T) P(D | T) of all rows."""
        return float(self.tables.log_columns.sum() + self.sum.log_sum - self.prior.log_count)

    @property
    def edge_probabilities(self) -> Array:
        """P((i, j) ∈ T | D), (feature, feature)."""
        d = self.prior.features
        return self.sum.probabilities[:d, :d]

    def most_probable(self) -> Array:
        """Return the edges of the most probable tree or rooted forest, (pair)."""
        return self.prior.present(self.sum.tree.edges)

    def draw(self, rng: np.random.Generator, draws: int) -> Array:
        """Draw the edges of trees, (draw, pair)."""
        return self.prior.present(self.elimination.draw(rng, draws))

    def log_predictive(self, X: Integers) -> Array:
        """Return log p(x | y, D) of complete rows of level codes (row, feature), (row, outcome).

        It is Σ_i log P̄(x_i | y) + log det L(W ∘ ρ_y(x)) − log det L(W). ρ_ij is the posterior mean of two values
        together, over the product of their posterior means.
        """
        cells = self._cells(X)
        out = self._log_independent(X)
        for k in range(out.shape[1]):
            out[:, k] += self.elimination.log_sums(cells, self._ratios(k)) - self._log_sum
        return out

    def log_predictive_without(self, X: Integers, y: Integers) -> Array:
        """Return log p(x_i | k, all rows but i), (row, outcome), of complete training rows with label codes (row).

        Without row i the weights are W/ρ, ρ the ratios in its own class less that row.
        """
        cells, out = self._cells(X), self._log_independent(X)
        less = self._log_independent(X, 1)
        for own in np.unique(y):
            rows = np.flatnonzero(y == own)
            out[rows, own] = less[rows, own]
            left = 1 / self._ratios(own, 1)
            without = self.elimination.log_sums(cells[rows], left)
            for k in range(out.shape[1]):
                more = self._log_sum if k == own else self.elimination.log_sums(cells[rows], left * self._ratios(k))
                out[rows, k] += more - without
        return out

    def _cells(self, X: Integers) -> Integers:
        """Return the cell of `_ratios` at each vertex of the graph of each row; the star has one of its own."""
        cells = X + starts(self.tables.sizes)
        if not self.prior.forests:
            return np.asarray(cells, dtype=np.intp)
        return np.column_stack([cells, np.full(len(X), sum(self.tables.sizes))])

    def _ratios(self, outcome: int, less: int = 0) -> Array:
        ratios = self.tables.ratios(outcome, less)
        return np.pad(ratios, (0, 1), constant_values=1.0) if self.prior.forests else ratios

    def _log_independent(self, X: Integers, less: int = 0) -> Array:
        """Return Σ_i log P̄(x_i | y), (row, outcome)."""
        cells = X + starts(self.tables.sizes)
        return np.stack([of[cells].sum(axis=1) for of in self.tables.log_single(less)], axis=1)

    @cached_property
    def _log_sum(self) -> float:
        """The sum over all trees on the scale of `Elimination.log_sums`."""
        none = np.zeros((1, len(self.sum.tree.order)), dtype=np.intp)
        return float(self.elimination.log_sums(none, np.ones((1, 1)))[0])
