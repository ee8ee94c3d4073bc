"""How the errors of a learning curve's points belong together: the same rows test all sizes, and sizes are nested."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesclf.typing import Array, Integers

JITTER = 1e-9
"""Added to the variances, relative to the largest, so that equal scores at two sizes have an inverse."""


def covariance(losses: Array, rows: Integers, split: Integers, sizes: Integers) -> Array:
    """Return the covariance of the errors of mean losses at several training sizes, (m, m).

    It is the sum of two parts. Test rows: the covariance of the losses of one row at the sizes, over their number.
    Training rows: a classifier with d parameters loses d/2m above its limit, with variance d/2m², and sets of m < m'
    rows, of which the larger contains the smaller, have covariance v/m'² with v = d/2. Here v is the excess itself,
    or the variance between splits beyond that of their test rows, whichever is larger: it is where the model is wrong.
    Where it is true the errors are therefore overstated, 1.4 to 2.1 times in simulations.
    Splits share training rows, so that J of them count as J/(1 + (J − 1) m'/n).

    Parameters
    ----------
    losses
        Of each answer at each size, (answer, m).
    rows, split
        The row that each answer is to, and the number of the split whose training rows it comes from, (answer).
    sizes
        Training rows m, increasing, (m).
    """
    _, place, times = np.unique(rows, return_inverse=True, return_counts=True)
    by_row = _means(losses, place, len(times))
    of_rows = np.atleast_2d(np.cov(by_row.T)) / len(times)
    of_rows = of_rows + JITTER * (of_rows.diagonal().max() or 1.0) * np.eye(len(sizes))
    larger = np.maximum.outer(sizes, sizes).astype(float)
    splits = int(split.max()) + 1
    independent = splits / (1 + (splits - 1) * np.minimum(larger / len(times), 1.0))
    variance = max(_excess(losses.mean(axis=0), of_rows, sizes), _between(losses, split, sizes), 0.0)
    return np.asarray(of_rows + variance / larger**2 / independent)


def _means(values: Array, group: Integers, groups: int) -> Array:
    """Return the means of values (answer, m) by group, (group, m)."""
    sums = np.stack([np.bincount(group, column, groups) for column in values.T], axis=1)
    return np.asarray(sums / np.bincount(group, minlength=groups)[:, None])


def _excess(mean: Array, of_rows: Array, sizes: Integers) -> float:
    """Return d/2 where the mean losses (m) are a + (d/2)/m, by generalized least squares."""
    if len(sizes) < 2:
        return 0.0
    design = np.column_stack([np.ones(len(sizes)), 1 / sizes])
    weighed = np.linalg.solve(of_rows, design)
    return float(np.linalg.solve(design.T @ weighed, weighed.T @ mean)[1])


def _between(losses: Array, split: Integers, sizes: Integers) -> float:
    """Return the variance of the splits' mean losses beyond that of their test rows, times m², averaged over sizes."""
    splits = int(split.max()) + 1
    if splits < 2:
        return 0.0
    means, tested = _means(losses, split, splits), np.bincount(split, minlength=splits)
    within = (_means(np.square(losses - means[split]), split, splits) / tested[:, None]).mean(axis=0)
    return float(((means.var(axis=0, ddof=1) - within) * sizes.astype(float) ** 2).mean())


def joined(parts: Sequence[Array], tests: Sequence[Integers]) -> tuple[Array, Integers, Integers]:
    """Return the losses (answer, m) of all splits, each given as (m, row), their rows, and their splits, (answer)."""
    split = np.repeat(np.arange(len(tests)), [len(test) for test in tests])
    return np.concatenate([part.T for part in parts]), np.concatenate(tests), split
