"""Trees over categories and numbers, against enumeration."""

import itertools

import numpy as np
import pandas as pd
import pytest

import bayesclf as bc
from bayesclf.families import Axes, ConditionalGaussian
from bayesclf.families.networks.structure import arborescence

AXES = Axes(("a", "b"), ("c", "u", "d", "v"), (("red", "blue"), (), (1, 2, 3), ()))


def forests(count):
    """Yield the parent of each node, −1 for a root, of all forests."""
    for parents in itertools.product(range(-1, count), repeat=count):
        for start in range(count):
            node, steps = start, 0
            while node >= 0 and steps <= count:
                node, steps = parents[node], steps + 1
            if steps > count:
                break
        else:
            yield parents


@pytest.mark.parametrize("seed", range(30))
def test_the_arborescence_is_the_best_of_all_forests(seed):
    rng = np.random.default_rng(seed)
    weight = rng.normal(0.5, 1.0, (5, 5))
    weight[rng.random((5, 5)) < 0.2] = -np.inf
    found = arborescence(weight)
    values = [sum(weight[p, c] for c, p in enumerate(f) if p >= 0) for f in forests(5)]
    np.testing.assert_allclose(sum(weight[p, c] for c, p in enumerate(found) if p is not None), max(values))


def test_the_tree_has_the_greatest_evidence_of_all_forests(rng):
    n = 150
    y, c = rng.integers(2, size=(2, n))
    d = np.where(rng.random(n) < 0.6, c, rng.integers(3, size=n))
    u = rng.normal(size=n) + 0.7 * (d == 1)
    X = np.column_stack([c, u, d, 0.8 * u + 0.5 * y + rng.normal(size=n)])
    family = ConditionalGaussian(edges="tan")
    statistics = family.statistics(X, y, AXES)
    names = AXES.features
    best = -np.inf
    for parents in forests(4):
        edges = tuple((names[p], names[c]) for c, p in enumerate(parents) if p >= 0)
        if any(p in "uv" and c in "cd" for p, c in edges):
            continue
        evidence = ConditionalGaussian(edges=edges).resolve_prior(statistics).log_evidence(statistics).sum()
        best = max(best, evidence)
    found = family.resolve_prior(statistics)
    assert {("c", "d"), ("d", "c")} & set(found.edges)
    np.testing.assert_allclose(found.log_evidence(statistics).sum(), best, rtol=1e-12)


def test_a_number_that_is_constant_where_another_column_is_seen_has_no_edge_to_it():
    X = pd.DataFrame({"u": [3.0, 3.0, 3.0, 3.0, 1.0, 2.0, 4.0, 0.0], "w": [*"abab", None, None, None, None]})
    clf = bc.BayesNetClassifier("tan", inference="map").fit(X, [0, 0, 1, 1, 0, 1, 0, 1])
    assert np.isfinite(clf.predict_proba(X)).all()
