"""Sums over all trees, probabilities of edges and drawn trees, against enumeration; evidence at a million rows."""

import numpy as np
import pytest
from helpers.trees import enumerated, every_tree, log_products, symmetric_weights
from scipy import stats
from scipy.special import logsumexp

from bayesclf.families.networks.trees import MaximumTree, PairTables

SPREADS = (0.0, 1.0, 30.0, 3000.0)
LONG = np.longdouble


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


def log_rising(count, alpha):
    """Return log Γ(α + n)/Γ(α) as a sum of n logarithms of more digits than a float has."""
    return np.log(alpha + np.arange(int(count)).astype(LONG)).sum()


def log_marginal(counts, alpha):
    """Return the Dirichlet-multinomial evidence of counts."""
    counts = np.ravel(counts)
    return sum(log_rising(n, alpha) for n in counts) - log_rising(counts.sum(), alpha * counts.size)


def counts_of(table):
    """Return the counts (outcome, level, level) of two columns with the values of a table."""
    a, b = table.shape
    counts = np.zeros((1, a + b, a + b))
    counts[0, :a, a:], counts[0, a:, :a] = table, table.T
    counts[0, :a, :a], counts[0, a:, a:] = np.diag(table.sum(axis=1)), np.diag(table.sum(axis=0))
    return counts


@pytest.mark.skipif(np.finfo(LONG).eps == np.finfo(float).eps, reason="the reference needs more digits than a float")
@pytest.mark.parametrize("n", [0, 20, 1000, 10**6])
@pytest.mark.parametrize("rows", [0.5, 2.0, 32.0])
def test_weights_are_ratios_of_evidences(n, rows, rng):
    table = rng.multinomial(n, np.outer([0.3, 0.7], [0.2, 0.3, 0.5]).ravel()).reshape(2, 3).astype(float)
    tables = PairTables(counts_of(table), (2, 3), rows)
    one, other = log_marginal(table.sum(axis=1), LONG(rows) / 2), log_marginal(table.sum(axis=0), LONG(rows) / 3)
    expected = log_marginal(table, LONG(rows) / 6) - one - other
    np.testing.assert_allclose(tables.log_weights[0, 0, 1], float(expected), rtol=0, atol=2e-10)
    np.testing.assert_allclose(tables.log_columns[0], [float(one), float(other)], rtol=1e-13, atol=1e-12)
