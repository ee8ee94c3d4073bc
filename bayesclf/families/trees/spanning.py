"""The spanning tree of greatest weight, and how it scales all other weights.

Every edge of a weighted graph is at most as heavy as the lightest edge of the path that it closes in the maximum
spanning tree. That *bottleneck* is therefore a scale on which each weight is at most 1, however many orders of
magnitude the weights span: whatever underflows on it is negligible beside the tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayesclf.typing import Array, Integers


@dataclass(frozen=True)
class MaximumTree:
    """The maximum spanning tree of a graph, its vertices in the order in which Prim's algorithm reaches them.

    Attributes
    ----------
    order
        The vertices in that order (place); vertex 0 comes first. Each place but the first hangs on an earlier one, so
        that in reverse order each vertex is a leaf when its turn comes.
    parent
        The place on which each place hangs, (place), −1 for the first.
    log_weights
        Log weights of all edges, (place, place), in that order.
    """

    order: Integers
    parent: Integers
    log_weights: Array

    @classmethod
    def of(cls, log_weights: Array) -> MaximumTree:
        """Return the maximum tree of symmetric log weights (vertex, vertex), all finite; ties go to earlier edges."""
        size = len(log_weights)
        order, parent = np.zeros(size, dtype=np.intp), np.full(size, -1, dtype=np.intp)
        heaviest, nearest = log_weights[0].astype(float), np.zeros(size, dtype=np.intp)
        heaviest[0] = -np.inf
        for place in range(1, size):
            vertex = int(heaviest.argmax())
            order[place], parent[place] = vertex, nearest[vertex]
            heaviest[vertex] = -np.inf
            outside = ~np.isin(np.arange(size), order[: place + 1])
            closer = outside & (log_weights[vertex] > heaviest)
            heaviest[closer], nearest[closer] = log_weights[vertex, closer], place
        return cls(order, parent, log_weights[np.ix_(order, order)])

    @property
    def edges(self) -> Integers:
        """The edges of the tree, (edge, end), as vertices."""
        return np.column_stack([self.order[self.parent[1:]], self.order[1:]])

    @cached_property
    def edge_log_weights(self) -> Array:
        """Log weights of the edges of the tree, (edge), that of place p first seen at p − 1."""
        places = np.arange(1, len(self.order))
        return np.asarray(self.log_weights[places, self.parent[1:]])

    @cached_property
    def bottleneck(self) -> Array:
        """Log weight of the lightest edge of the tree between two places, (place, place); 0 on the diagonal."""
        size = len(self.order)
        scale = np.zeros((size, size))
        for place in range(1, size):
            above, own = self.parent[place], self.edge_log_weights[place - 1]
            row = np.minimum(scale[above, :place], own)
            row[above] = own
            scale[place, :place] = scale[:place, place] = row
        return scale
