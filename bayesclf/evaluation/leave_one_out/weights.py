"""Stacking: the mixture of models whose predictions of left-out rows score best."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from bayesclf.errors import InputError
from bayesclf.typing import Array

PRECISION = 1e-15
"""Change in mean log score at which to stop: the score is flat near its optimum, where weights settle late."""

NEGLIGIBLE = 1e-8
"""Weights below this are rounding errors of the solver, which only approaches the bound 0."""


def stacking_weights(log_score: Array, sample_weight: Array | None = None) -> Array:
    """Return the weights w ≥ 0, Σ w = 1, that maximize Σ_i log Σ_m w_m P_m(y_i | x_i, all rows but i), (model).

    The problem is concave: SLSQP finds its global optimum from equal weights.

    Parameters
    ----------
    log_score
        log P_m(y_i | x_i, all rows but i), (row, model); −∞ where a model gives 0, but not for all models of a row.
    sample_weight
        How often each row counts (row), at least 0; once by default.

    Raises
    ------
    InputError
        For a row to which every model gives probability 0.

    References
    ----------
    Yao, Vehtari, Simpson & Gelman (2018), *Using stacking to average Bayesian predictive distributions*, Bayesian
    Analysis 13, doi:10.1214/17-BA1091.

    Examples
    --------
    >>> stacking_weights(np.log([[0.9, 0.5], [0.2, 0.5], [0.9, 0.5]])).round(3)
    array([0.694, 0.306])
    """
    if sample_weight is not None:
        log_score, sample_weight = log_score[sample_weight > 0], sample_weight[sample_weight > 0]
    largest = log_score.max(axis=1, keepdims=True)
    if not np.isfinite(largest).all():
        row = int(np.flatnonzero(~np.isfinite(largest))[0])
        raise InputError(f"row {row + 1} has probability 0 under every model, so that no mixture of them is best")
    likelihood = np.exp(log_score - largest)
    ones = np.ones(log_score.shape[1])

    def loss(weights: Array) -> tuple[float, Array]:
        """Return the negative mean log score of the mixture, and its gradient in the weights."""
        mixed = likelihood @ weights
        slope = np.average(likelihood / mixed[:, None], axis=0, weights=sample_weight)
        return -float(np.average(np.log(mixed), weights=sample_weight)), -slope

    with np.errstate(divide="ignore", invalid="ignore"):  # a step may end where a row has probability 0
        solve: Any = minimize  # its type stubs do not fit the constraint given as functions
        found = solve(
            loss,
            ones / ones.size,
            jac=True,
            method="SLSQP",
            bounds=[(0, 1)] * ones.size,
            constraints={"type": "eq", "fun": lambda weights: weights.sum() - 1, "jac": lambda _: ones},
            options={"ftol": PRECISION, "maxiter": 1000},
        )
    weights = np.where(found.x > NEGLIGIBLE, found.x, 0.0)
    return np.asarray(weights / weights.sum())
