"""The mixture over all trees or forests, against going through them one by one."""

import itertools
from functools import cache

import numpy as np
import pytest
from helpers.trees import every_tree
from scipy.special import gammaln, logsumexp

from bayesclf.errors import Refused
from bayesclf.families import Axes, EveryTree
from bayesclf.families.networks import every_tree as module
from bayesclf.families.networks.every_tree import directed

SIZES = (2, 3, 2, 4)
LABELS = ("no", "yes")


def axes_of(sizes):
    return Axes(LABELS, tuple(f"x{j}" for j in range(len(sizes))), tuple(tuple(range(size)) for size in sizes))


def dependent_rows(rng, n, sizes=SIZES):
    """Return rows in which each feature repeats an earlier one now and then, and labels."""
    y = rng.integers(2, size=n)
    X = np.stack([rng.integers(size, size=n) for size in sizes], axis=1)
    for j in range(1, len(sizes)):
        copied = rng.random(n) < 0.3 + 0.3 * y
        X[copied, j] = X[copied, rng.integers(j)] % sizes[j]
    return X, y


def forests(d):
    """Return all forests as tuples of edges, with the number of components and the product of their sizes."""
    found = []
    edges = list(itertools.combinations(range(d), 2))
    for number in range(d):
        for chosen in itertools.combinations(edges, number):
            component = list(range(d))
            for i, j in chosen:
                if component[i] == component[j]:
                    break
                component = [component[i] if c == component[j] else c for c in component]
            else:
                sizes = np.bincount(component)
                found.append((chosen, int((sizes > 0).sum()), int(np.prod(sizes[sizes > 0]))))
    return found


def structures(d, forest):
    """Return the edges of all structures and log P(T) of each."""
    if not forest:
        trees = [tuple(map(tuple, tree)) for tree in every_tree(d)]
        return trees, np.full(len(trees), -np.log(len(trees)))
    chosen, components, sizes = zip(*forests(d), strict=True)
    log_prior = np.array(components) * np.log(d) + np.log(sizes)
    return list(chosen), log_prior - logsumexp(log_prior)


def parents(edges, d):
    """Return the parent of each feature, None for a root: each component away from its first feature."""
    neighbours = {j: {a + b - j for a, b in edges if j in (a, b)} for j in range(d)}
    parent, left = {}, set(range(d))
    while left:
        queue = [min(left)]
        parent[queue[0]] = None
        while queue:
            j = queue.pop()
            left.remove(j)
            parent |= dict.fromkeys(neighbours[j] & left, j)
            queue += neighbours[j] & left
    return parent


def log_evidence(X, weight, sizes, j, above, rows):
    """Return the log evidence of feature j given its parent, with a Dirichlet for each value of that."""
    total, values = 0.0, [None] if above is None else range(sizes[above])
    for value in values:
        own = np.ones(len(X), bool) if value is None else X[:, above] == value
        counts = np.bincount(X[own, j], weight[own], minlength=sizes[j])
        alpha = rows / (sizes[j] * len(values))
        total += (gammaln(counts + alpha) - gammaln(alpha)).sum()
        total -= gammaln(counts.sum() + alpha * sizes[j]) - gammaln(alpha * sizes[j])
    return total


class Enumerated:
    """All that the family says, by going through all structures of each N' (shared by the classes)."""

    def __init__(self, X, y, weight, sizes, grid, forest=False):
        self.X, self.y, self.weight, self.sizes, self.grid = X, y, weight, sizes, grid
        self.structures, self.log_prior = structures(len(sizes), forest)
        self.terms = self.joint(X, y, weight)

    def joint(self, X, y, weight):
        """Return log P(T) P(D | T, N') − log |grid|, (N', structure)."""

        @cache
        def of_feature(j, above, rows):
            own = (y == k for k in range(2))
            return sum(log_evidence(X[rows_of], weight[rows_of], self.sizes, j, above, rows) for rows_of in own)

        directed_edges = [parents(edges, len(self.sizes)) for edges in self.structures]
        found = [
            [sum(of_feature(j, above, rows) for j, above in parent.items()) for parent in directed_edges]
            for rows in self.grid
        ]
        return np.array(found) + self.log_prior - np.log(len(self.grid))

    @property
    def log_evidence(self):
        return logsumexp(self.terms)

    def edge_probabilities(self):
        weights = np.exp(self.terms - self.log_evidence).sum(axis=0)
        out = np.zeros((len(self.sizes),) * 2)
        for edges, weight in zip(self.structures, weights, strict=True):
            for i, j in edges:
                out[i, j] += weight
                out[j, i] += weight
        return out

    def log_predictive(self, x, k):
        more = self.joint(np.vstack([self.X, x]), np.append(self.y, k), np.append(self.weight, 1.0))
        return logsumexp(more) - self.log_evidence


CASES = {"trees": {}, "trees, one N'": {"equivalent_rows": 1.5}, "forests": {"forests": True}}


def fitted(X, y, weight, sizes, **options):
    family = EveryTree(**{"equivalent_rows": (1.0, 4.0)} | options)
    statistics = family.statistics(X, y, axes_of(sizes), weight)
    prior = family.resolve_prior(statistics)
    return prior, statistics, prior.posterior(statistics)


@pytest.mark.parametrize("times", [1.0, 1e6 / 30], ids=["30 rows", "a million"])
@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_everything_equals_going_through_all_structures(options, times, rng):
    X, y = dependent_rows(rng, 30)
    weight = np.full(30, times)
    prior, statistics, posterior = fitted(X, y, weight, SIZES, **options)
    grid = np.ravel(prior.equivalent_rows)
    slow = Enumerated(X, y, weight, SIZES, grid, options.get("forests", False))
    assert prior.log_evidence(statistics)[0] == pytest.approx(slow.log_evidence, rel=1e-12)
    np.testing.assert_allclose(posterior.edge_probabilities(), slow.edge_probabilities(), atol=1e-10)
    new = np.stack([rng.integers(size, size=4) for size in SIZES], axis=1)
    expected = [[slow.log_predictive(x, k) for k in range(2)] for x in new]
    # The enumeration subtracts two evidences, each of which has 16 digits.
    tolerance = 1e-10 if times == 1 else 1e-14 * abs(slow.log_evidence)
    np.testing.assert_allclose(posterior.log_predictive(new), expected, rtol=0, atol=tolerance)


def test_the_prior_expects_few_edges():
    family = EveryTree(2.0, forests=True)
    prior = family.resolve_prior(family.statistics(np.empty((0, 4), int), np.empty(0, int), axes_of(SIZES)))
    assert prior.edge_probabilities().sum() / 2 == pytest.approx(4 * 3 / (4 + 4))


def naive_density(X, present, theta):
    """Return p(x | y) as a sum over all completions of each row."""
    parent, _ = directed(present, len(SIZES))
    starts = np.cumsum([0, *SIZES])[:-1] * max(SIZES)
    out = np.zeros((len(X), 2))
    for row, x in enumerate(X):
        for full in itertools.product(*(range(size) if v < 0 else [v] for v, size in zip(x, SIZES, strict=True))):
            given = [full[p] if p >= 0 else 0 for p in parent[0]]
            cells = [starts[j] + given[j] * SIZES[j] + full[j] for j in range(len(SIZES))]
            out[row] += theta[0][:, cells].prod(axis=1)
    return np.log(out)


def test_missing_cells_are_summed_out(rng, monkeypatch):
    X, y = dependent_rows(rng, 40)
    _, _, posterior = fitted(X, y, None, SIZES)
    drawn = posterior.draw(rng, 1)
    gaps = np.where(rng.random((12, 4)) < 0.5, -1, X[:12])
    gaps[0] = -1
    expected = naive_density(gaps, drawn["tree"], drawn["theta"])
    np.testing.assert_allclose(posterior.log_density(gaps, drawn)[0], expected, rtol=1e-12, atol=1e-12)
    exact = posterior.log_predictive(gaps)
    np.testing.assert_array_equal(exact[0], [0.0, 0.0])
    monkeypatch.setattr(module, "EXACT_WORK", 0)
    np.testing.assert_allclose(posterior.log_predictive(gaps), exact, atol=0.02)


def test_one_column_and_one_level(rng):
    X, y = dependent_rows(rng, 10, (3,))
    for options in ({}, {"forests": True}):
        prior, statistics, posterior = fitted(X, y, None, (3,), equivalent_rows=3.0, **options)
        counts = statistics.single
        np.testing.assert_allclose(
            posterior.log_predictive(X), np.log((counts + 1) / (counts.sum(axis=1, keepdims=True) + 3))[:, X[:, 0]].T
        )
        assert posterior.mle(statistics)["tree"].shape[-1] == 0
        assert np.isfinite(prior.log_evidence(statistics)).all()
        assert np.isfinite(posterior.log_density(X, posterior.draw(rng, 3))).all()


def test_rows_with_gaps_are_refused_in_training():
    with pytest.raises(Refused, match="column 'x1' has 1 missing cell, and sums over all trees take complete"):
        EveryTree().statistics(np.array([[0, -1], [1, 1]]), np.array([0, 1]), axes_of((2, 2)))


def test_too_many_columns_are_refused():
    sizes = (1,) * (module.MOST_FEATURES + 1)
    family = EveryTree()
    statistics = family.statistics(np.zeros((2, len(sizes)), int), np.array([0, 1]), axes_of(sizes))
    with pytest.raises(Refused, match="sums over all trees of 257 columns are too large"):
        family.resolve_prior(statistics)
    statistics = family.statistics(np.zeros((2, 2), int), np.array([0, 1]), axes_of((300, 2)))
    with pytest.raises(Refused, match="column 'x0' has 300 values, and a tree through it up to 181,200 probabilities"):
        family.resolve_prior(statistics)
