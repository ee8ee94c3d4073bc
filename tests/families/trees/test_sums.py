"""Sums over all trees, probabilities of edges and drawn trees, against enumeration."""

import numpy as np
import pytest
from helpers.trees import enumerated, every_tree, log_products, symmetric_weights
from scipy import stats
from scipy.special import logsumexp

from bayesclf.families.trees.spanning import MaximumTree

SPREADS = (0.0, 1.0, 30.0, 3000.0)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("spread", SPREADS)
def test_the_sum_and_the_probabilities_of_edges_equal_enumeration(size, spread, rng):
    log_weights = symmetric_weights(rng, size, spread)
    log_sum, probabilities = enumerated(log_weights)
    found = MaximumTree.of(log_weights)
    np.testing.assert_allclose(found.log_sum, log_sum, rtol=1e-13, atol=1e-12)
    np.testing.assert_allclose(found.probabilities, probabilities, rtol=1e-9, atol=1e-13)


def test_the_maximum_tree_is_the_heaviest(rng):
    for spread in (1.0, 500.0):
        log_weights = symmetric_weights(rng, 6, spread)
        tree = MaximumTree.of(log_weights)
        assert log_products(log_weights, tree.edges[None])[0] == pytest.approx(
            log_products(log_weights, every_tree(6)).max()
        )
        # Bottlenecks by brute force: the best path's lightest edge is what Floyd and Warshall's recursion gives.
        best = log_weights.copy()
        for k in range(6):
            best = np.maximum(best, np.minimum(best[:, [k]], best[[k]]))
        placed = best[np.ix_(tree.order, tree.order)]
        off = ~np.eye(6, dtype=bool)
        np.testing.assert_allclose(tree.bottleneck[off], placed[off])


def named(trees):
    """Return each tree as a sorted tuple of its edges."""
    return [tuple(sorted(tuple(sorted(map(int, edge))) for edge in tree)) for tree in trees]


@pytest.mark.parametrize("spread", [0.0, 1.0, 3.0])
def test_drawn_trees_follow_their_weights(spread, rng):
    log_weights = symmetric_weights(rng, 5, spread)
    trees = every_tree(5)
    products = log_products(log_weights, trees)
    expected = dict(zip(named(trees), np.exp(products - logsumexp(products)), strict=True))
    draws = 20_000
    drawn = named(MaximumTree.of(log_weights).draw(rng, draws))
    counts = dict.fromkeys(expected, 0)
    for tree in drawn:
        counts[tree] += 1
    ordered = sorted(expected, key=expected.get)
    # Trees too rare for the χ² approximation are counted together.
    share = np.array([expected[tree] for tree in ordered])
    observed = np.array([counts[tree] for tree in ordered])
    group = np.minimum(np.cumsum(share * draws) // 10, 10**9).astype(int)
    _, group = np.unique(group, return_inverse=True)
    share, observed = np.bincount(group, share), np.bincount(group, observed)
    assert stats.chisquare(observed, share / share.sum() * draws).pvalue > 1e-4
