"""The sum over all spanning trees of a weighted graph, and the probability of each edge, in logarithms.

By the matrix-tree theorem Σ_T Π_{e ∈ T} w_e is a cofactor of the graph Laplacian. Weights may span thousands of nats,
where the Laplacian itself loses everything. So the maximum tree T* is taken out: with u_e = ±√(w_e/w_f) on the edges f
of the path in T* that e closes, which are at most 1 in size,

    det L = Π_{f ∈ T*} w_f · det M,  M = I + Σ_{e ∉ T*} u_e u_eᵀ,

and under P(T) ∝ Π w_e the probability of an edge is (M⁻¹)_ff on T*, and u_eᵀ M⁻¹ u_e off it.

References
----------
Meilă & Jaakkola (2006), *Tractable Bayesian learning of tree belief networks*, Statistics and Computing 16.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from bayesclf.families.trees.spanning import MaximumTree
from bayesclf.typing import Array


@dataclass(frozen=True)
class TreeSum:
    """The sum over all trees of a graph.

    Attributes
    ----------
    tree
        The maximum tree.
    log_sum
        log Σ_T Π_{e ∈ T} w_e.
    probabilities
        Probability that an edge is in the tree, (vertex, vertex), where P(T) ∝ Π_{e ∈ T} w_e; 0 on the diagonal.
    """

    tree: MaximumTree
    log_sum: float
    probabilities: Array

    @classmethod
    def of(cls, log_weights: Array) -> TreeSum:
        """Return the sum over the spanning trees of symmetric log weights (vertex, vertex), all finite."""
        tree, size = MaximumTree.of(log_weights), len(log_weights)
        if size == 1:
            return cls(tree, 0.0, np.zeros((1, 1)))
        first, second = np.tril_indices(size, -1)
        off = tree.parent[first] != second
        first, second = first[off], second[off]
        # Row p says which edges of T* lie between the first place and place p; a path between two is the difference.
        path = np.eye(size, size - 1, k=-1)
        for place in range(1, size):
            path[place] += path[tree.parent[place]]
        closed = path[first] - path[second]
        exponent = (tree.log_weights[first, second][:, None] - tree.edge_log_weights) / 2
        u = closed * np.exp(np.where(closed == 0, 0.0, exponent))
        factor = cholesky(np.eye(size - 1) + u.T @ u, lower=True)
        on_tree = (solve_triangular(factor, np.eye(size - 1), lower=True) ** 2).sum(axis=0)
        off_tree = (solve_triangular(factor, u.T, lower=True) ** 2).sum(axis=0)
        placed = np.zeros((size, size))
        placed[np.arange(1, size), tree.parent[1:]] = on_tree
        placed[first, second] = off_tree
        probabilities = np.zeros((size, size))
        probabilities[np.ix_(tree.order, tree.order)] = placed + placed.T
        log_sum = float(tree.edge_log_weights.sum() + 2 * np.log(np.diag(factor)).sum())
        return cls(tree, log_sum, np.minimum(probabilities, 1.0))
