"""Evidence that two columns depend on each other given the class: one block for both, against one for each.

In both cases independence is under the joint prior's own marginals, so that the two hypotheses say the same about each
column alone, and differ in nothing but the dependence. The evidence is a product over classes.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, logsumexp

from bayesclf.typing import Array

EQUIVALENT_ROWS = tuple(2.0**power for power in range(-1, 6))
"""Rows of each class that the prior of a table is worth, averaged over with equal weights."""

FREEDOM = 3.0
"""Degrees of freedom of the inverse Wishart: with 3, two columns' correlation is uniform on (−1, 1)."""


def log_evidence_of_table(counts: Array, equivalent_rows: tuple[float, ...] = EQUIVALENT_ROWS) -> float:
    """Return log P(D | dependent) − log P(D | independent) of two categorical columns.

    A class's cells have θ ~ Dirichlet(N'/(rs)) if dependent; if not, the two columns have Dirichlet(N'/r) and
    Dirichlet(N'/s), the marginals of the former. N' is averaged over. A class in which a column has one value only
    tells nothing of dependence and is left out: there the prior would prefer the concentrated table for itself, and
    the more so the more such classes there are.

    Parameters
    ----------
    counts
        Rows of each class with each pair of values, (outcome, level, level).
    equivalent_rows
        Values of N', each as probable.

    References
    ----------
    Good (1965), *The Estimation of Probabilities*, MIT Press, §5 (contingency tables); Heckerman, Geiger & Chickering
    (1995), Machine Learning 20, eq 28 (BDeu).

    Examples
    --------
    >>> import numpy as np
    >>> round(log_evidence_of_table(np.array([[[5.0, 0.0], [0.0, 5.0]]]), (4.0,)), 3)  # the log of 55.6
    4.018
    """
    varied = ((counts.sum(axis=2) > 0).sum(axis=1) > 1) & ((counts.sum(axis=1) > 0).sum(axis=1) > 1)
    if not varied.any():
        return 0.0
    counts, joint, apart = counts[varied], [], []
    for rows in equivalent_rows:
        pair = _log_dirichlet(counts.reshape(len(counts), -1), rows)
        joint.append(pair)
        apart.append(_log_dirichlet(counts.sum(axis=2), rows) + _log_dirichlet(counts.sum(axis=1), rows))
    return float(logsumexp(joint) - logsumexp(apart))


def _log_dirichlet(counts: Array, rows: float) -> float:
    """Return the log evidence of counts (outcome, cell) under Dirichlets with `rows` spread over their cells."""
    alpha, n = rows / counts.shape[1], counts.sum(axis=1)
    of_cells = (gammaln(counts + alpha) - gammaln(alpha)).sum(axis=1)
    return float((of_cells + gammaln(rows) - gammaln(rows + n)).sum())


def log_evidence_of_scatter(n: Array, first: Array, second: Array, cross: Array) -> Array:
    """Return log P(D | dependent) − log P(D | independent) of pairs of numbers, (…).

    In each class the columns are jointly normal with Σ ~ inverse Wishart(3, I) if dependent; if not, each is normal
    with σ² ~ inverse gamma(1, 1/2), the marginal of the former. The evidence is that of a class's deviations from its
    means, n − 1 independent contrasts, so that the means need no prior. With Λ(ν, Ψ) the normalizer of the inverse
    Wishart, each class adds the log of

        Λ₂(3 + n − 1, I + S)/Λ₂(3, I) · Π_j Λ₁(2, 1)/Λ₁(2 + n − 1, 1 + S_jj).

    Parameters
    ----------
    n
        Rows of each class, (outcome, …).
    first, second, cross
        Sums of squares and of products of the deviations in each class, (outcome, …), in units in which a column's
        variance within the classes is about 1.

    References
    ----------
    Geiger & Heckerman (2002), *Parameter priors for directed acyclic graphical models and the characterization of
    several probability distributions*, Annals of Statistics 30; Murphy (2007), *Conjugate Bayesian analysis of the
    Gaussian distribution*, §8 (inverse Wishart).

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones(1)
    >>> print(log_evidence_of_scatter(50 * one, 49 * one, 49 * one, 0 * one).round(2))  # no correlation
    -2.18
    >>> print(log_evidence_of_scatter(one, 0 * one, 0 * one, 0 * one))  # one row has no deviation
    0.0
    """
    contrasts = np.maximum(n - 1, 0.0)
    nu = FREEDOM + contrasts
    a, b = 1 + first, 1 + second
    # log det(I + S), relative to the product of its diagonal, which the marginals share
    log_remaining = np.log1p(-np.minimum(cross**2 / (a * b), 1 - np.finfo(float).eps))
    of_joint = _log_gamma_2(nu) - nu / 2 * (np.log(a) + np.log(b) + log_remaining)
    of_columns = 2 * gammaln((nu - 1) / 2) - (nu - 1) / 2 * (np.log(a) + np.log(b))
    constant = _log_gamma_2(np.asarray(FREEDOM)) - 2 * gammaln((FREEDOM - 1) / 2)
    return np.asarray((of_joint - of_columns - constant).sum(axis=0))


def _log_gamma_2(nu: Array) -> Array:
    """Return log Γ(ν/2) Γ((ν − 1)/2), the bivariate gamma function up to a constant."""
    return np.asarray(gammaln(nu / 2) + gammaln((nu - 1) / 2))
