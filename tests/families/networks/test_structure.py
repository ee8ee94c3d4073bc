"""Trees learned from counts, against all trees."""

import itertools
from math import log

import numpy as np
import pytest
from helpers.trees import every_tree

from bayesclf.families import Axes
from bayesclf.families.multivariate.groups import GroupedMoments
from bayesclf.families.networks.structure import conditional_information, in_order, tan


def simulated(rng, features, labels=2, n=80, missing=0.0):
    """Return counts of rows in which each feature repeats an earlier one now and then."""
    sizes = rng.integers(2, 4, features)
    y = rng.integers(labels, size=n)
    X = np.stack([rng.integers(size, size=n) for size in sizes], axis=1)
    for j in range(1, features):
        copied = rng.random(n) < rng.random()
        X[copied, j] = np.minimum(X[copied, rng.integers(j)] ^ (y[copied] & 1), sizes[j] - 1)
    X[rng.random(X.shape) < missing] = -1
    axes = Axes(
        tuple(map(str, range(labels))), tuple(f"x{j}" for j in range(features)), tuple(tuple(range(s)) for s in sizes)
    )
    return X, y, GroupedMoments.of(X, y, axes)


def naive_information(X, y, i, j):
    """Return Σ P(a, b, k) log P(a, b | k)/(P(a | k) P(b | k)), over the rows that have both features."""
    both = (X[:, i] >= 0) & (X[:, j] >= 0)
    a, b, k = X[both, i], X[both, j], y[both]
    total = 0.0
    for value in set(zip(a.tolist(), b.tolist(), k.tolist(), strict=True)):
        own = k == value[2]
        joint = np.mean(own & (a == value[0]) & (b == value[1]))
        ratio = joint * np.mean(own) / (np.mean(own & (a == value[0])) * np.mean(own & (b == value[1])))
        total += joint * log(ratio)
    return total


def chow_liu(statistics):
    """Return the tree of greatest Σ I(X_i; X_j), whatever the class (Chow and Liu 1968)."""
    return tan(statistics.pooled())


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_information_is_that_of_its_definition(rng, missing):
    X, y, statistics = simulated(rng, 4, labels=3, missing=missing)
    found = conditional_information(statistics)
    for i, j in itertools.combinations(range(4), 2):
        np.testing.assert_allclose([found[i, j], found[j, i]], naive_information(X, y, i, j), atol=1e-12)


@pytest.mark.parametrize("features", [4, 5])
@pytest.mark.parametrize("learn", [chow_liu, tan])
@pytest.mark.parametrize("seed", range(6))
def test_the_tree_is_the_best_of_all_trees(features, learn, seed):
    X, y, statistics = simulated(np.random.default_rng(seed), features)
    labels = y if learn is tan else np.zeros_like(y)
    information = {
        frozenset(pair): naive_information(X, labels, *pair) for pair in itertools.combinations(range(features), 2)
    }
    totals = [sum(information[frozenset(edge)] for edge in tree.tolist()) for tree in every_tree(features)]
    assert len(totals) == features ** (features - 2)
    found = learn(statistics)
    position = {name: j for j, name in enumerate(statistics.axes.features)}
    pairs = [tuple(position[name] for name in edge) for edge in found]
    own = [information[frozenset(pair)] for pair in pairs]
    counted = conditional_information(statistics if learn is tan else statistics.pooled())
    np.testing.assert_allclose([counted[pair] for pair in pairs], own, atol=1e-11)
    np.testing.assert_allclose(sum(own), max(totals), atol=1e-10)


def test_ties_go_to_the_earlier_feature():
    X = np.repeat(np.arange(2)[:, None], 4, axis=1)
    statistics = GroupedMoments.of(X, np.zeros(2, dtype=int), Axes(("k",), ("d", "c", "b", "a"), ((0, 1),) * 4))
    assert chow_liu(statistics) == (("d", "c"), ("d", "b"), ("d", "a"))


def test_a_copy_within_classes_needs_an_edge_and_a_copy_of_the_class_does_not(rng):
    """Chow and Liu join features that share the class's information; conditional information does not."""
    y = rng.integers(2, size=400)
    noise = rng.integers(2, size=400)
    X = np.stack([y, y, noise, noise], axis=1)
    statistics = GroupedMoments.of(X, y, Axes(("no", "yes"), ("p", "q", "r", "s"), ((0, 1),) * 4))
    assert tan(statistics) == (("r", "s"),)
    assert ("p", "q") in chow_liu(statistics)


def test_parents_come_first():
    edges = (("c", "a"), ("d", "a"), ("d", "c"))
    assert in_order(edges, ("a", "b", "c", "d")) == (("b", ()), ("d", ()), ("c", ("d",)), ("a", ("c", "d")))
