"""Edges between features: trees learned from counts, and edges that are given.

The tree of greatest information, Σ I(X_i; X_j) over its edges, is the most likely one (Chow and Liu); within classes
that information is conditional on the class (Friedman, Geiger and Goldszmidt: tree-augmented naive Bayes). With
numbers among the columns, the tree is the one of greatest evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import combinations

import numpy as np

from bayesclf.arrays import Array, Integers
from bayesclf.errors import InputError
from bayesclf.families.multivariate.groups import GroupedMoments, are_categories
from bayesclf.families.networks.trees import MaximumTree, PairCounts, log_likelihood_gains

type Edge = tuple[str, str]

type Evidence = Callable[[GroupedMoments, tuple[Edge, ...]], float]
"""The log evidence of two columns with the edges given."""

DIGITS, GAIN_DIGITS = 12, 9
"""Decimals, in nats, to which information and gains are rounded: sums differ in the last bits."""


def tan(statistics: GroupedMoments) -> tuple[Edge, ...]:
    """Return the edges of the tree of greatest Σ I(X_i; X_j | Y), directed away from the first feature.

    Ties go to the earlier child, and an edge without information is left out, so that the tree may be a forest.

    `statistics`: Counts by label; the information of a pair is that of the rows in which both are observed.

    See Friedman, Geiger and Goldszmidt (1997), *Bayesian network classifiers*, Machine Learning 29, §4.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesclf.families import Axes
    >>> axes = Axes(("no", "yes"), ("wind", "rain", "moon"), (("a", "b"),) * 3)
    >>> X = np.array([[0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]])
    >>> tan(GroupedMoments.of(X, np.array([0, 0, 1, 1]), axes))
    (('wind', 'rain'),)
    """
    information = np.round(conditional_information(statistics), DIGITS)
    names = statistics.axes.features
    edges = MaximumTree.of(information).edges.tolist()
    return tuple((names[i], names[j]) for i, j in edges if information[i, j] > 0)


def conditional_information(statistics: GroupedMoments) -> Array:
    """Return I(X_i; X_j | Y) in nats, (feature, feature), from the rows in which both are observed."""
    pairs = PairCounts.of(statistics.groups[:, 1:], statistics.labels, statistics.axes, statistics.n)
    gains, weight = log_likelihood_gains(pairs.counts, statistics.axes.sizes)
    total = weight.sum(axis=0)
    return np.divide(gains.sum(axis=0), total, out=np.zeros_like(total), where=total > 0)


def best_tree(statistics: GroupedMoments, evidence: Evidence) -> tuple[Edge, ...]:
    """Return the edges of the forest of greatest evidence: each column has at most one parent.

    The gain of an edge is the log evidence of the child given class and parent, less that given the class alone. It
    takes the rows in which both columns are observed. An edge whose gain is not positive is left out. No category has a
    number as a parent, so that the edges have directions. The forest of largest total gain is a maximum spanning
    arborescence, found by the algorithm of Chu and Liu, and Edmonds. A column with missing cells is no parent, as the
    parameters would not be conjugate.

    See Friedman, Geiger and Goldszmidt (1997), *Bayesian network classifiers*, Machine Learning 29, §4; Edmonds (1967),
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
        if both.cells().constant().any():  # in the rows that have both cells
            continue
        apart = evidence(both, ())
        for parent, child in ((i, j), (j, i)):
            if complete[parent] and (category[parent] or not category[child]):
                out[parent, child] = np.round(evidence(both, ((names[parent], names[child]),)) - apart, GAIN_DIGITS)
    return out


def arborescence(weight: Array) -> list[int | None]:
    """Return the parent of each node, None for a root, of the forest of largest total weight; ties to the first.

    `weight`: Of the edge from parent to child, (parent, child); edges of weight 0 or less are not used.

    Examples
    --------
    >>> arborescence(np.array([[0.0, 3.0, 1.0], [4.0, 0.0, 2.0], [0.0, 0.0, 0.0]]))
    [1, None, 1]
    """
    # A root above all nodes, at weight 0, makes the forest a tree.
    whole = np.pad(np.asarray(weight, dtype=float), ((1, 0), (1, 0)))
    np.fill_diagonal(whole, -np.inf)
    return [parent - 1 if parent else None for parent in _maximum(whole)[1:].tolist()]


def _maximum(weight: Array) -> Integers:
    """Return the parent of each node in the spanning arborescence of largest weight from node 0, its own parent."""
    parent = weight.argmax(axis=0)
    parent[0] = 0
    # After as many steps as there are nodes, a path is in a cycle, if only that of the root.
    at = np.arange(len(parent))
    for _ in parent:
        at = parent[at]
    if not at.any():
        return parent
    cycle = [int(at.max())]
    while (following := int(parent[cycle[-1]])) != cycle[0]:
        cycle.append(following)
    # The cycle is contracted to its first node, and the others hang on the root meanwhile.
    head, others = min(cycle), sorted(set(cycle) - {min(cycle)})
    into, out_of = weight[:, cycle] - weight[parent[cycle], cycle], weight[cycle]
    smaller = weight.copy()
    smaller[:, head], smaller[head] = into.max(axis=1), out_of.max(axis=0)
    smaller[others], smaller[:, others], smaller[head, head] = -np.inf, -np.inf, -np.inf
    smaller[0, others] = 0.0
    found = _maximum(smaller)
    out = np.where(found == head, np.array(cycle)[out_of.argmax(axis=0)], found)
    out[cycle] = parent[cycle]
    out[cycle[into[found[head]].argmax()]] = found[head]
    return out


def check_edges(edges: object) -> tuple[Edge, ...]:
    """Return the edges, or raise `InputError` for an invalid edge, a repeated edge, or a cycle."""
    if not isinstance(edges, tuple | list) or not all(
        isinstance(edge, tuple | list) and len(edge) == 2 and all(isinstance(end, str) for end in edge)
        for edge in edges
    ):
        raise InputError(f"edges must be pairs of column names, (parent, child), not {edges!r}")
    given = tuple((parent, child) for parent, child in edges)
    for number, edge in enumerate(given):
        if edge in given[:number]:
            raise InputError(f"the edge {edge} is given twice; give each edge once")
    try:
        TopologicalSorter(_parents(given)).prepare()
    except CycleError as error:
        cycle = " → ".join(map(repr, reversed(error.args[1])))
        raise InputError(f"the edges form a cycle, {cycle}; leave one of them out") from None
    return given


def check_graph(
    edges: object, class_free: object, named: tuple[str, ...]
) -> tuple[str | tuple[Edge, ...], tuple[str, ...]]:
    """Return edges, or one of the names of structures, and `class_free`; raises `InputError` for anything else."""
    if isinstance(edges, str) and edges not in named:
        choices = ", ".join(map(repr, named))
        raise InputError(f"edges must be {choices} or pairs of column names, (parent, child), not {edges!r}")
    free = check_names(class_free)
    if free and isinstance(edges, str):
        raise InputError(f"class_free is for edges that are given; give them, or leave it out with {edges!r}")
    return (edges if isinstance(edges, str) else check_edges(edges)), free


def check_columns(edges: str | tuple[Edge, ...], class_free: tuple[str, ...], features: Sequence[str]) -> None:
    """Raise `InputError` for the first edge, or name of `class_free`, of an unknown column."""
    known = ", ".join(map(repr, features))
    for edge in () if isinstance(edges, str) else edges:
        for name in edge:
            if name not in features:
                raise InputError(f"the edge {edge} names column {name!r}, but the table has {known}")
    for name in class_free:
        if name not in features:
            raise InputError(f"class_free names column {name!r}, but the table has {known}")


def check_names(names: object) -> tuple[str, ...]:
    """Return the names of columns that do not depend on the class, or raise `InputError` for anything else."""
    if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"class_free must be names of columns, such as ('age',), not {names!r}")
    if repeated := [name for place, name in enumerate(names) if name in names[:place]]:
        raise InputError(f"class_free names column {repeated[0]!r} twice; name each column once")
    return tuple(names)


def _parents(edges: tuple[Edge, ...]) -> dict[str, set[str]]:
    parents: dict[str, set[str]] = {}
    for parent, child in edges:
        parents.setdefault(child, set()).add(parent)
    return parents


def in_order(edges: tuple[Edge, ...], features: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each feature with its parents, parents first and otherwise in the order of the features."""
    parents = _parents(edges)
    ordered: list[tuple[str, tuple[str, ...]]] = []
    done: set[str] = set()
    while len(done) < len(features):
        name = next(name for name in features if name not in done and parents.get(name, set()) <= done)
        ordered.append((name, tuple(other for other in features if other in parents.get(name, set()))))
        done.add(name)
    return tuple(ordered)
