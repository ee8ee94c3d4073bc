"""Simulation-based calibration over trees: truths are drawn from the prior here, by NumPy alone.

The indicator of an edge is no rank, so that its posterior probability is tested to have the right mean; ranks are of
log p(x | y, T, θ) of the rows and of single probabilities, which depend on tree and θ.

References
----------
Talts, Betancourt, Simpson, Vehtari and Gelman (2018), arXiv:1804.06788.
"""

import numpy as np
import pytest
from helpers.suites import NIGHTLY, mainly
from helpers.trees import every_tree
from scipy import stats

from bayesclf.families import Axes, EveryTree
from bayesclf.families.trees.every_tree import pairs

pytestmark = pytest.mark.slow

SIZES, LABELS, ROWS = (2, 3, 2, 2), 2, 14
GRID = (0.7, 6.0)
AXES = Axes(("a", "b"), tuple("uvwx"), tuple(tuple(range(size)) for size in SIZES))
TREES = [[tuple(map(int, edge)) for edge in tree] for tree in every_tree(4)]
SIMULATIONS, DRAWS, BINS = 400, 99, 10
FALSE_ALARM = 1e-3


def structure(rng, kind):
    """Return the edges of a tree, or of a rooted forest: a tree with a fifth vertex, whose edges are dropped."""
    if kind == "trees":
        return TREES[rng.integers(len(TREES))]
    with_star = every_tree(5)
    stars = (with_star == 4).any(axis=2).sum(axis=1)
    share = 4.0**stars
    chosen = with_star[rng.choice(len(with_star), p=share / share.sum())]
    return [tuple(map(int, edge)) for edge in chosen if 4 not in edge]


def simulated(rng, kind):
    """Return the tree, rows, labels, and the function that returns log p(x | y, truth)."""
    rows = GRID[rng.integers(len(GRID))]
    edges, tables = structure(rng, kind), []
    for _ in range(LABELS):
        parent = {}
        while len(parent) < len(SIZES):
            root = min(set(range(len(SIZES))) - set(parent))
            parent[root] = None
            queue = [root]
            while queue:
                i = queue.pop()
                for a, b in edges:
                    j = a + b - i
                    if i in (a, b) and j not in parent:
                        parent[j] = i
                        queue.append(j)
        theta = {}
        for j, above in parent.items():
            width = 1 if above is None else SIZES[above]
            theta[j] = rng.dirichlet(np.full(SIZES[j], rows / SIZES[j] / width), width)
        tables.append((parent, theta))
    y = rng.integers(LABELS, size=ROWS)
    X = np.zeros((ROWS, len(SIZES)), dtype=int)
    for row, k in enumerate(y):
        for j, above in tables[k][0].items():
            own = tables[k][1][j][0 if above is None else X[row, above]]
            X[row, j] = min(int((rng.random() >= np.cumsum(own)).sum()), SIZES[j] - 1)

    def log_density(x, k):
        parent, theta = tables[k]
        return sum(np.log(theta[j][0 if above is None else x[above], x[j]]) for j, above in parent.items())

    return edges, X, y, log_density


@pytest.mark.parametrize("kind", mainly(["trees", "forests"], "forests", others=NIGHTLY))
def test_trees_and_probabilities_are_calibrated(kind):
    family = EveryTree(GRID, forests=kind == "forests")
    first, second = pairs(4)
    probe = np.array([[0, 0, 0, 0], [1, 2, 1, 0]])
    found, errors, variances = [], [], []
    for seed in range(SIMULATIONS):
        rng = np.random.default_rng([seed, 5])
        edges, X, y, log_density = simulated(rng, kind)
        statistics = family.statistics(X, y, AXES)
        posterior = family.resolve_prior(statistics).posterior(statistics)
        probabilities = posterior.edge_probabilities()[first, second]
        own = set(map(frozenset, edges))
        true = [frozenset((int(a), int(b))) in own for a, b in zip(first, second, strict=True)]
        errors.append(np.array(true) - probabilities)
        variances.append(probabilities * (1 - probabilities))
        drawn = posterior.draw(rng, DRAWS)
        of_rows = posterior.log_density(X, drawn)[:, np.arange(ROWS), y].sum(axis=1)
        of_probes = posterior.log_density(probe, drawn).reshape(DRAWS, -1)
        truth = [sum(map(log_density, X, y)), *(log_density(x, k) for x in probe for k in range(LABELS))]
        found.append((np.column_stack([of_rows, of_probes]) < truth).sum(axis=0))
    z = np.sum(errors, axis=0) / np.sqrt(np.sum(variances, axis=0))
    assert np.abs(z).max() < stats.norm.isf(FALSE_ALARM / 2 / z.size), z
    counts = [np.bincount(column * BINS // (DRAWS + 1), minlength=BINS) for column in np.transpose(found)]
    p = stats.chisquare(counts, axis=1).pvalue
    assert p.min() > FALSE_ALARM / len(p), p
