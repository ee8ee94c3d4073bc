"""The posterior over trees: one sum over all of them for each equivalent number of rows and each class."""

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
    """P(T): uniform over all trees, or over all rooted forests weighted by λ for each component.

    A star vertex, the last, is tied to each feature with weight λ: trees of that graph are forests of the features in
    which each component has a root, the feature that is tied to the star.

    Attributes
    ----------
    features
        Number of features.
    root_weight
        λ; None for trees.
    """

    features: int
    root_weight: float | None = None

    @property
    def log_count(self) -> float:
        """Log of the sum of all unnormalized prior weights: d^(d−2) trees, or λ(d + λ)^(d−1)."""
        d, weight = self.features, self.root_weight
        if weight is None:
            return (d - 2) * np.log(d) if d > 1 else 0.0
        return float(np.log(weight) + (d - 1) * np.log(d + weight))

    def graph(self, log_weights: Array) -> Array:
        """Return the log weights of all edges, (vertex, vertex), from those of pairs of features."""
        if self.root_weight is None:
            return log_weights
        graph = np.full((self.features + 1, self.features + 1), np.log(self.root_weight))
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

    Attributes
    ----------
    tables
        The Dirichlets.
    prior
        P(T).
    shared
        Whether all classes have the same tree.
    """

    tables: PairTables
    prior: TreePrior
    shared: bool

    @cached_property
    def graphs(self) -> Array:
        """Log weights of the edges of each tree that is not yet known, (tree, vertex, vertex)."""
        weights = self.tables.log_weights
        weights = weights.sum(axis=0, keepdims=True) if self.shared else weights
        return np.stack([self.prior.graph(each) for each in weights])

    @cached_property
    def sums(self) -> tuple[TreeSum, ...]:
        """The sum over all trees, for all classes or for each."""
        return tuple(TreeSum.of(graph) for graph in self.graphs)

    @cached_property
    def eliminations(self) -> tuple[Elimination, ...]:
        """What sums the same trees for many rows."""
        return tuple(Elimination(each.tree) for each in self.sums)

    @property
    def log_evidence(self) -> float:
        """log Σ_T P(T) P(D | T) of all rows."""
        of_trees = sum(each.log_sum - self.prior.log_count for each in self.sums)
        return float(self.tables.log_columns.sum() + of_trees)

    @property
    def edge_probabilities(self) -> Array:
        """P((i, j) ∈ T | D), (tree, feature, feature)."""
        d = self.prior.features
        return np.stack([each.probabilities[:d, :d] for each in self.sums])

    def most_probable(self) -> Array:
        """Return the edges of the most probable tree or rooted forest, (tree, pair)."""
        return np.stack([self.prior.present(each.tree.edges) for each in self.sums])

    def draw(self, rng: np.random.Generator, draws: int) -> Array:
        """Draw the edges of trees, (draw, tree, pair)."""
        drawn = (self.prior.present(each.draw(rng, draws)) for each in self.eliminations)
        return np.stack(list(drawn), axis=1)

    def log_predictive(self, X: Integers) -> Array:
        """Return log p(x | y, D) of complete rows of level codes (row, feature), (row, outcome).

        It is Σ_i log P̄(x_i | y) + log det L(W ∘ ρ_y(x)) − log det L(W), with ρ_ij the ratio of the posterior mean of
        two values together to the product of their posterior means.
        """
        cells = self._cells(X)
        out = self._log_independent(X)
        for k in range(out.shape[1]):
            out[:, k] += self._log_sums(k, cells, self._ratios(k)) - self._log_sum(k)
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
            without = self._log_sums(own, cells[rows], left)
            for k in range(out.shape[1]):
                if k == own:
                    out[rows, k] += self._log_sum(k) - without
                elif self.shared:
                    out[rows, k] += self._log_sums(k, cells[rows], left * self._ratios(k)) - without
                else:
                    out[rows, k] += self._log_sums(k, cells[rows], self._ratios(k)) - self._log_sum(k)
        return out

    def _cells(self, X: Integers) -> Integers:
        """Return the cell of `_ratios` at each vertex of the graph of each row; the star has one of its own."""
        cells = X + starts(self.tables.sizes)
        if self.prior.root_weight is None:
            return np.asarray(cells, dtype=np.intp)
        return np.column_stack([cells, np.full(len(X), sum(self.tables.sizes))])

    def _ratios(self, outcome: int, less: int = 0) -> Array:
        ratios = self.tables.ratios(outcome, less)
        return ratios if self.prior.root_weight is None else np.pad(ratios, (0, 1), constant_values=1.0)

    def _log_independent(self, X: Integers, less: int = 0) -> Array:
        """Return Σ_i log P̄(x_i | y), (row, outcome)."""
        cells = X + starts(self.tables.sizes)
        return np.stack([of[cells].sum(axis=1) for of in self.tables.log_single(less)], axis=1)

    def _log_sums(self, outcome: int, cells: Integers, ratios: Array) -> Array:
        return self.eliminations[0 if self.shared else outcome].log_sums(cells, ratios)

    def _log_sum(self, outcome: int) -> float:
        """Return the sum over all trees on the scale of `_log_sums`."""
        none = np.zeros((1, len(self.graphs[0])), dtype=np.intp)
        return float(self._log_sums(outcome, none, np.ones((1, 1)))[0])
