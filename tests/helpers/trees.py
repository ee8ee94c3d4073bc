"""All trees on a few vertices, one by one."""

import itertools

import numpy as np
from scipy.special import logsumexp


def every_tree(size):
    """Return the edges of all trees, (tree, edge, end), from their Prüfer sequences."""
    return np.array([_tree(sequence, size) for sequence in itertools.product(range(size), repeat=size - 2)])


def _tree(sequence, size):
    degree = np.bincount(sequence, minlength=size) + 1
    edges = []
    for vertex in sequence:
        leaf = int(np.flatnonzero(degree == 1)[0])
        edges.append((leaf, vertex))
        degree[leaf] -= 1
        degree[vertex] -= 1
    edges.append(tuple(np.flatnonzero(degree == 1)))
    return edges


def log_products(log_weights, trees):
    """Return Σ_{e ∈ T} log w_e of each tree, (tree)."""
    return log_weights[trees[..., 0], trees[..., 1]].sum(axis=1)


def enumerated(log_weights):
    """Return log Σ_T Π w_e, and the probability of each edge, by going through all trees."""
    size = len(log_weights)
    trees = every_tree(size)
    products = log_products(log_weights, trees)
    log_sum = logsumexp(products)
    weights = np.exp(products - log_sum)
    probabilities = np.zeros((size, size))
    for a, b in ((0, 1), (1, 0)):
        np.add.at(probabilities, (trees[..., a], trees[..., b]), weights[:, None])
    return log_sum, probabilities


def symmetric_weights(rng, size, spread):
    """Return symmetric log weights (vertex, vertex)."""
    log_weights = np.tril(rng.normal(0, spread, (size, size)), -1)
    return log_weights + log_weights.T
