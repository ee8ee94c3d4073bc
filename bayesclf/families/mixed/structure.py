"""The tree of greatest evidence over categories and numbers, in which no number is the parent of a category."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from bayesclf.families.mixed.groups import GroupedMoments, are_categories
from bayesclf.families.networks.structure import Edge
from bayesclf.typing import Array

type Evidence = Callable[[GroupedMoments, tuple[Edge, ...]], float]

DIGITS = 9
"""Decimals, in nats, to which gains are rounded: sums differ in the last bits."""


def best_tree(statistics: GroupedMoments, evidence: Evidence) -> tuple[Edge, ...]:
    """Return the edges of the forest of greatest evidence: each column has at most one parent.

    The gain of an edge is the log evidence of the child given class and parent, less that given the class alone, on the
    rows in which both are observed. As every column also has the class as a parent, the evidence of a forest is that of
    naive Bayes times the gains of its edges; one whose gain is not positive is left out. No category has a number as a
    parent, so that the edges have directions, and the forest of largest total gain is a maximum spanning arborescence,
    found by the algorithm of Chu and Liu, and Edmonds. A column with missing cells is no parent, as the parameters
    would not be conjugate.

    Parameters
    ----------
    statistics
        Of all training rows.
    evidence
        The log evidence of two columns with the edges given.

    References
    ----------
    Friedman, Geiger and Goldszmidt (1997), *Bayesian network classifiers*, Machine Learning 29, §4; Edmonds (1967),
    *Optimum branchings*, Journal of Research of the National Bureau of Standards 71B.
    """
    features = statistics.axes.features
    parents = arborescence(gains(statistics, evidence))
    return tuple((features[parent], features[child]) for child, parent in enumerate(parents) if parent is not None)


def gains(statistics: GroupedMoments, evidence: Evidence) -> Array:
    """Return the gain of each edge, (parent, child), −∞ where there can be none."""
    names, category = statistics.axes.features, are_categories(statistics.axes)
    complete = statistics.seen.all(axis=0)
    out = np.full((len(names), len(names)), -np.inf)
    for i, j in combinations(range(len(names)), 2):
        both = statistics.of_pair(i, j)
        apart = evidence(both, ())
        for parent, child in ((i, j), (j, i)):
            if complete[parent] and (category[parent] or not category[child]):
                out[parent, child] = np.round(evidence(both, ((names[parent], names[child]),)) - apart, DIGITS)
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
