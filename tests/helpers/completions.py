"""Posteriors of rows with missing cells, by summing over all of their completions."""

import itertools

import numpy as np
from scipy.special import logsumexp

from bayesclf.families.multivariate.groups import GroupedMoments


def completed(X, sizes):
    """Yield all completions of codes (row, feature), negative where missing."""
    gaps = np.argwhere(X < 0)
    for values in itertools.product(*(range(sizes[j]) for _, j in gaps)):
        Z = X.copy()
        Z[tuple(gaps.T)] = values
        yield Z


def posterior_moments(family, X, y, axes):
    """Return E[θ] and sd[θ], (outcome, cell), of a mixture of Dirichlets, one for each completion of the rows.

    A completion has the evidence of its counts as weight.
    """
    weights, means, squares = [], [], []
    for Z in completed(X, axes.sizes):
        statistics = GroupedMoments.of(Z, y, axes)
        posterior = family.posterior(statistics)
        weights.append(float(family.log_evidence(statistics).sum()))
        alpha, sizes = posterior.simplexes()
        mean = posterior.mean()["theta"][0]
        total = np.repeat(np.add.reduceat(alpha, np.cumsum([0, *sizes[:-1]]), axis=1), sizes, axis=1)
        means.append(mean)
        squares.append(mean * (alpha + 1) / (total + 1))
    weight = np.exp(np.array(weights) - logsumexp(weights))
    mean, square = np.tensordot(weight, means, 1), np.tensordot(weight, squares, 1)
    return mean, np.sqrt(square - mean**2)
