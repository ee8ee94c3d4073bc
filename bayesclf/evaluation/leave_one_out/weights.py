"""Stacking: the mixture of models whose predictions of rows left out score best."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

from bayesclf.errors import InputError
from bayesclf.typing import Array

STEPS = 100
HALVINGS = 40
ROUNDING = 1e-14
"""Relative difference of two mean log scores that is rounding."""

OPTIMAL = 1e-10
"""Largest gain in mean log score that a better mixture could still bring, by the duality gap."""

RIDGE = 1e-10
"""Added to the curvature, relative to its largest entry, so that models with equal predictions are no obstacle."""


def stacking_weights(log_score: Array) -> Array:
    """Return the weights w ≥ 0, Σ w = 1, that maximise Σ_i log Σ_m w_m P_m(y_i | x_i, all rows but i), (model).

    The problem is concave, and solved to its Karush–Kuhn–Tucker conditions: with the gradient
    g_m = 1/n Σ_i P_m,i / Σ_l w_l P_l,i, at the optimum g_m = 1 where w_m > 0 and g_m ≤ 1 elsewhere. Each step solves
    the quadratic model under w ≥ 0; that Σ w = 1 follows from adding −Σ w to the objective.

    Parameters
    ----------
    log_score
        log P_m(y_i | x_i, all rows but i), (row, model); −∞ where a model gives 0, but not for all models of a row.

    Raises
    ------
    InputError
        For a row to which every model gives probability 0.

    References
    ----------
    Yao, Vehtari, Simpson & Gelman (2018), *Using stacking to average Bayesian predictive distributions*, Bayesian
    Analysis 13, doi:10.1214/17-BA1091; Kim, Carbonetto, Stephens & Anitescu (2020), *A fast algorithm for maximum
    likelihood estimation of mixture proportions using sequential quadratic programming*, Journal of Computational
    and Graphical Statistics 29, doi:10.1080/10618600.2019.1689985.

    Examples
    --------
    >>> stacking_weights(np.log([[0.9, 0.5], [0.2, 0.5], [0.9, 0.5]])).round(3)
    array([0.694, 0.306])
    """
    largest = log_score.max(axis=1, keepdims=True)
    if not np.isfinite(largest).all():
        row = int(np.flatnonzero(~np.isfinite(largest))[0])
        raise InputError(f"row {row + 1} has probability 0 under every model, so that no mixture of them is best")
    likelihood = np.exp(log_score - largest)
    models = log_score.shape[1]
    weights = np.full(models, 1 / models)
    for _ in range(STEPS):
        relative = likelihood / (likelihood @ weights)[:, None]
        gradient = relative.mean(axis=0)
        if gradient.max() - 1 <= OPTIMAL:
            break
        weights = _shortened(likelihood, weights, _step(relative, gradient, weights))
    return weights


def _step(relative: Array, gradient: Array, weights: Array) -> Array:
    """Return the maximum over v ≥ 0 of the quadratic model at `weights` w, where P_m/Σ w P = `relative` (row, model).

    The model is cᵀv − ½ vᵀHv with H = RᵀR/n and c = 2g − 1: a problem of non-negative least squares. A ridge on v − w
    leaves the optimum where it is.
    """
    curvature = relative.T @ relative / len(relative)
    ridge = RIDGE * curvature.max()
    factor = cholesky(curvature + ridge * np.eye(len(weights)), lower=True)
    linear = solve_triangular(factor, 2 * gradient - 1 + ridge * weights, lower=True)
    return np.asarray(nnls(factor.T, linear)[0])


def _shortened(likelihood: Array, weights: Array, target: Array) -> Array:
    """Return weights on the way to `target`, as far as the log score is no worse there; they add up to 1."""
    before = np.log(likelihood @ weights).mean()
    size = 1.0
    for _ in range(HALVINGS):
        new = weights + size * (target - weights)
        new = new / new.sum()
        with np.errstate(divide="ignore"):
            if np.log(likelihood @ new).mean() >= before - ROUNDING * (1 + abs(before)):
                return np.asarray(new)
        size /= 2
    return weights
