"""Collinear columns of a design: those whose weights the likelihood of logistic regression does not determine."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from bayesclf.families.column_space import RANK_TOLERANCE
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.likelihood import BLOCK_ROWS, blocks
from bayesclf.models.logistic.newton import DENSE_PARAMETERS
from bayesclf.typing import Array

SUSPECT = 1e-12
"""A column is looked at closely where the others leave less than this share of its variance, by their products."""
TAKES_PART = 1e-7
"""Smallest weight, in sds, by which a column takes part in a weighted sum of columns that is constant."""


def collinear_features(design: LogisticDesign, X: Array, weight: Array) -> tuple[str, ...]:
    """Return the features of which some weighted sum is the same for all rows.

    Other weights on them, with another intercept, give every row the same probabilities. That the levels of one
    category always add up to 1, and that a level occurs in no row, is not counted. Designs of more than
    `DENSE_PARAMETERS` columns are not looked at.

    Parameters
    ----------
    design
        What the columns are.
    X
        Rows as `design.matrix` returns them, (row, column).
    weight
        (row), above 0.

    Returns
    -------
    tuple of str
        Names of numbers, of "… is missing" and of categories, in the design's order.
    """
    if not len(X) or not 0 < len(design) <= DENSE_PARAMETERS:
        return ()
    share = weight / weight.sum()
    mean = share @ X
    contrasts = _contrasts(design, X, mean)
    covariance = _covariance(X, share, mean)
    between = contrasts.T @ covariance @ contrasts
    sd = np.sqrt(np.diag(between))
    sums = contrasts @ (_constant_sums(between / np.outer(sd, sd)) / sd[:, None])
    if not sums.shape[1]:
        return ()
    constant = share @ (X @ sums - mean @ sums) ** 2 < RANK_TOLERANCE**2
    weights = sums[:, constant] * np.sqrt(np.diag(covariance))[:, None]
    involved = np.abs(weights).max(axis=1, initial=0.0) > TAKES_PART
    return tuple(dict.fromkeys(name for name, part in zip(design.features, involved, strict=True) if part))


def _contrasts(design: LogisticDesign, X: Array, mean: Array) -> Array:
    """Return combinations (column, contrast) that span all but what is constant by construction.

    They are the columns themselves, but for a category that every row has, orthonormal contrasts of its levels.
    """
    own = len(design) - sum(design.sizes)
    parts = [np.eye(own)]
    start = own
    for size in design.sizes:
        levels = np.flatnonzero(mean[start : start + size] > 0)
        block = np.eye(size)[:, levels]
        if len(levels) and X[:, start : start + size].any(axis=1).all():
            block = block @ linalg.helmert(len(levels)).T
        parts.append(block)
        start += size
    return np.asarray(linalg.block_diag(*parts))


def _covariance(X: Array, share: Array, mean: Array) -> Array:
    total = np.zeros((X.shape[1], X.shape[1]))
    for rows in blocks(len(X), BLOCK_ROWS):
        R = np.sqrt(share[rows])[:, None] * (X[rows] - mean)
        total += R.T @ R
    return total


def _constant_sums(correlation: Array) -> Array:
    """Return weights (column, sum) of the sums that a pivoted Cholesky factor finds all but constant.

    Each is one column less what it is of the columns that were chosen before.
    """
    if not len(correlation):
        return np.zeros((0, 0))
    factor, pivots, rank, _ = linalg.lapack.dpstrf(correlation, tol=SUSPECT)
    out = np.zeros((len(correlation), len(correlation) - rank))
    order = pivots - 1
    out[order[:rank]] = -linalg.solve_triangular(factor[:rank, :rank], factor[:rank, rank:])
    out[order[rank:], np.arange(out.shape[1])] = 1.0
    return out
