"""The tree of greatest evidence over categories and numbers, in which no number is the parent of a category."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesclf.families.mixed.groups import GroupedMoments, are_categories
from bayesclf.families.networks.structure import Edge
from bayesclf.typing import Array

if TYPE_CHECKING:
    from bayesclf.families.mixed.network import ConditionalGaussian

DIGITS = 9
"""Decimals, in nats, to which gains are rounded: sums differ in the last bits."""


def best_tree(statistics: GroupedMoments, family: ConditionalGaussian) -> tuple[Edge, ...]:
    """Return the edges, parents first, of the forest of greatest evidence: each column has at most one parent.

    The gain of an edge is the log evidence of the child given class and parent, less that given the class alone, both
    on the rows in which the two are observed and under the prior of `family`. With the class as parent of all columns
    the evidence of a forest is that of naive Bayes times the gains of its edges; one whose gain is not positive is left
    out. No category has a number for a parent, so that the forest of largest total gain is a maximum spanning
    arborescence, found by the algorithm of Chu and Liu, and Edmonds.

    Parameters
    ----------
    statistics
        Of all training rows.
    family
        With the prior's options.

    References
    ----------
    Friedman, Geiger and Goldszmidt (1997), *Bayesian network classifiers*, Machine Learning 29, §4; Edmonds (1967),
    *Optimum branchings*.
    """
    features = statistics.axes.features
    parents = arborescence(gains(statistics, family))
    return tuple((features[parent], features[child]) for child, parent in enumerate(parents) if parent is not None)


def gains(statistics: GroupedMoments, family: ConditionalGaussian) -> Array:
    """Return the gain of each edge, (parent, child), −∞ from a number to a category and from a column to itself."""
    from dataclasses import replace

    axes, category, seen = statistics.axes, are_categories(statistics.axes), statistics.seen
    out = np.full((len(axes.features), len(axes.features)), -np.inf)
    for i, j in np.ndindex(out.shape):
        if i == j or (category[j] and not category[i]):
            continue
        two = np.isin(np.arange(len(axes.features)), (i, j))
        there = seen[:, i] & seen[:, j]
        both = replace(
            statistics,
            groups=statistics.groups[there],
            n=statistics.n[there],
            mean=statistics.mean[there],
            scatter=statistics.scatter[there],
        ).select(two)
        evidence = [
            float(replace(family, edges=edges).resolve_prior(both).log_evidence(both).sum())
            for edges in (((axes.features[i], axes.features[j]),), ())
        ]
        out[i, j] = np.round(evidence[0] - evidence[1], DIGITS)
    return out


def arborescence(weight: Array) -> list[int | None]:
    """Return the parent of each node, None for a root, of the forest of largest total weight; ties to the first.

    Parameters
    ----------
    weight
        Of the edge from parent to child, (parent, child); edges of weight 0 or less are not used.

    Examples
    --------
    >>> arborescence(np.array([[0.0, 3.0, 1.0], [4.0, 0.0, 2.0], [0.0, 0.0, 0.0]]))
    [1, None, 1]
    """
    count = len(weight)
    # A root above all nodes, at weight 0, makes the forest a tree.
    whole = np.full((count + 1, count + 1), -np.inf)
    whole[:count, :count] = weight
    np.fill_diagonal(whole, -np.inf)
    whole[count, :count] = 0.0
    found = _maximum(whole, count)
    return [None if found[child] == count else found[child] for child in range(count)]


def _maximum(weight: Array, root: int) -> dict[int, int]:
    """Return the parent of each node but the root in the spanning arborescence of largest weight."""
    count = len(weight)
    best = {child: int(np.argmax(_root_first(weight[:, child], root))) for child in range(count) if child != root}
    best = {child: (root if parent == 0 else parent - (parent <= root)) for child, parent in best.items()}
    cycle = _cycle(best, root)
    if not cycle:
        return best
    outside = [node for node in range(count) if node not in cycle]
    merged = len(outside)
    smaller = np.full((merged + 1, merged + 1), -np.inf)
    smaller[:merged, :merged] = weight[np.ix_(outside, outside)]
    into = weight[np.ix_(outside, cycle)] - np.array([weight[best[node], node] for node in cycle])
    smaller[:merged, merged] = into.max(axis=1)
    out_of = weight[np.ix_(cycle, outside)]
    smaller[merged, :merged] = out_of.max(axis=0)
    found = _maximum(smaller, outside.index(root))
    parents = {node: best[node] for node in cycle}
    for child, parent in found.items():
        if child == merged:
            entered = cycle[int(into[parent].argmax())]
            parents[entered] = outside[parent]
        else:
            at = cycle[int(out_of[:, child].argmax())] if parent == merged else outside[parent]
            parents[outside[child]] = at
    return parents


def _root_first(column: Array, root: int) -> Array:
    """Return weights with that of the root first, so that a tie is the root's."""
    return np.concatenate([[column[root]], np.delete(column, root)])


def _cycle(parent: dict[int, int], root: int) -> list[int]:
    """Return the nodes of a cycle, in order; empty where all paths lead to the root."""
    for start in sorted(parent):
        path = [start]
        while path[-1] != root and parent[path[-1]] not in path:
            path.append(parent[path[-1]])
        if path[-1] != root:
            return sorted(path[path.index(parent[path[-1]]) :])
    return []
