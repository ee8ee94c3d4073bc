"""Logistic regression as a PyMC model: intercept, weights in the columns' own units, one likelihood term."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesclf.arrays import Array, Integers
from bayesclf.models.logistic.centered import CenteredRows, Matrix
from bayesclf.models.logistic.prior import LOG_2_PI, NormalWeightPrior, WeightPrior

type PriorOfAll = WeightPrior | NormalWeightPrior


def build(
    X: Matrix,
    labels: Integers,
    sample_weight: Array,
    prior: PriorOfAll,
    scale: Array,
    coords: Mapping[str, Any],
) -> pm.Model:
    """Return the PyMC model.

    Parameters
    ----------
    X
        Columns in their own units, measured from their means (row, feature).
    labels
        Label codes (row); the reference is the first of two labels, or the last of more.
    sample_weight
        (row).
    prior
        The prior, of weights per sd of a column.
    scale
        The columns' sds (feature).
    coords
        Names of the labels (without the reference) and of the features.
    """
    with pm.Model(coords=coords) as model:
        if isinstance(prior, NormalWeightPrior):
            intercept, weight = _normal_coefficients(prior, scale, model)
        else:
            intercept, weight = _coefficients(prior, scale, model)
        row_weight = pm.Data("row_weight", sample_weight, dims="row")
        y = pm.Data("y_data", labels, dims="row")
        at_means = intercept
        if prior.shift.any() and weight is not None:
            at_means = intercept + weight @ pm.Data("centre", prior.shift * scale, dims="feature")
        eta = at_means + pt.zeros((row_weight.shape[0], 1))
        if weight is not None:
            eta = eta + (
                _sparse_product(X, weight, eta)
                if isinstance(X, CenteredRows)
                else pm.Data("X", X, dims=("row", "feature")) @ weight.T
            )
        dist: Callable[..., Any]
        logp: Callable[..., Any]
        if len(coords["outcome"]) == 1:
            scores, dist, logp, signature = eta[:, 0], _binary_dist, _binary_logp, "(),()->()"
        else:
            scores = pt.concatenate([eta, pt.zeros_like(eta[:, :1])], axis=1)
            dist, signature = _multinomial_dist, "(k),()->()"
            logp = partial(_multinomial_logp, np.arange(len(coords["outcome"]) + 1))
        pm.CustomDist("y", scores, row_weight, dist=dist, logp=logp, signature=signature, observed=y, dims="row")
    return model


def _sparse_product(X: CenteredRows, weight: TensorVariable, zero: TensorVariable) -> Any:
    """Return X wᵀ, (row, outcome), summed over the stored cells of each row, for PyTensor's every backend."""
    values, shift = pm.Data("X_values", X.data), pm.Data("X_shift", X.shift, dims="feature")
    row = pm.Data("X_row", np.repeat(np.arange(len(X)), np.diff(X.indptr)))
    column = pm.Data("X_column", X.indices.astype(np.intp))
    sums = pt.inc_subtensor(pt.zeros_like(zero + weight[:, 0])[row], values[:, None] * weight.T[column])
    return sums - weight @ shift


def _coefficients(
    prior: WeightPrior, scale: Array, model: pm.Model, name: str | None = "weight"
) -> tuple[TensorVariable, TensorVariable | None]:
    """Add intercept and weight, in this order, the latter under a name, or without one the intercept alone.

    Without a column there is no weight. The intercept is where the prior has it, at the means or at x = 0. The shapes
    of the means, and with them those of both variables, are fixed: JAX, and so NumPyro, needs static shapes.
    """
    weight = None
    if len(scale) and name:
        means = prior.mean[:, 1:] / scale
        mean = mean_of_weight = pm.Data("weight_mean", means, dims=("outcome", "feature"), shape=means.shape)
        sds = prior.scale[:, 1:] / scale
        if prior.flat_weights.any():
            weight = pm.Flat.dist(shape=means.shape)
        elif prior.symmetric:
            weight = _symmetric_normal(mean, pm.Data("weight_scale", sds[0], dims="feature"))
        else:
            weight = pm.Normal.dist(mean, pm.Data("weight_scale", sds, dims=("outcome", "feature")))
    if prior.flat_intercept:
        intercept = pm.Flat.dist(shape=(len(prior.mean),))
    else:
        mean = pm.Data("intercept_mean", prior.mean[:, 0], dims="outcome", shape=(len(prior.mean),))
        distribution = _symmetric_normal if prior.symmetric else pm.Normal.dist
        intercept = distribution(mean, pm.Data("intercept_scale", prior.scale[0, 0]))
    model.register_rv(intercept, "intercept", dims=("outcome",))
    if weight is not None and name:
        model.register_rv(weight, name, dims=("outcome", "feature"))
        if prior.flat_weights.any():
            pm.Potential("weight_prior", _proper_part(weight, mean_of_weight, sds, prior))
    return intercept, weight


def _proper_part(weight: TensorVariable, mean: TensorVariable, sds: Array, prior: WeightPrior) -> Any:
    """Return the log density of the weights whose prior is not flat."""
    if prior.symmetric:  # then a column is flat for all labels or for none
        proper = np.flatnonzero(~prior.flat_weights[0])
        return _symmetric_logp(weight[:, proper], mean[:, proper], pt.as_tensor(sds[0, proper]))
    labels, columns = np.nonzero(~prior.flat_weights)
    some = pm.Normal.dist(mean[labels, columns], sds[labels, columns])
    return pt.sum(pm.logp(some, weight[labels, columns]))


def _normal_coefficients(
    prior: NormalWeightPrior, scale: Array, model: pm.Model
) -> tuple[TensorVariable, TensorVariable | None]:
    """Add intercept and weight of a joint normal: the intercept's own, and the weight's given the intercept."""
    vectors, columns = prior.mean.shape
    unit = np.tile(np.concatenate([[1.0], scale]), vectors)
    covariance = prior.covariance / np.outer(unit, unit)
    mean = prior.mean / unit.reshape(vectors, columns)
    places = np.arange(mean.size).reshape(vectors, columns)
    first, rest = places[:, 0], places[:, 1:].ravel()
    own = covariance[np.ix_(first, first)]
    center = pm.Data("intercept_mean", mean[:, 0], dims="outcome", shape=(vectors,))
    intercept = pm.MvNormal.dist(center, cov=pm.Data("intercept_covariance", own, shape=own.shape))
    model.register_rv(intercept, "intercept", dims=("outcome",))
    if not len(scale):
        return intercept, None
    slope = np.linalg.solve(own, covariance[np.ix_(first, rest)]).T
    given = covariance[np.ix_(rest, rest)] - slope @ covariance[np.ix_(first, rest)]
    precision = np.linalg.inv(given)
    means = pm.Data("weight_mean", mean[:, 1:], dims=("outcome", "feature"), shape=(vectors, columns - 1))
    moved = pm.Data("weight_slope", slope, shape=slope.shape) @ (intercept - center)
    weight = pm.CustomDist.dist(
        means + moved.reshape((vectors, columns - 1)),
        pm.Data("weight_precision", (precision + precision.T) / 2, shape=precision.shape),
        dist=_joint_dist,
        logp=_joint_logp,
        signature="(k,p),(n,n)->(k,p)",
        class_name="JointNormal",
    )
    model.register_rv(weight, "weight", dims=("outcome", "feature"))
    return intercept, weight


def _joint_dist(mean: TensorVariable, precision: TensorVariable, size: TensorVariable) -> Any:
    return pm.MvNormal.dist(mean.ravel(), tau=precision).reshape(mean.shape)


def _joint_logp(value: TensorVariable, mean: TensorVariable, precision: TensorVariable) -> Any:
    u = (value - mean).ravel()
    log_determinant = 2 * pt.sum(pt.log(pt.diag(pt.linalg.cholesky(precision))))
    return 0.5 * (log_determinant - pt.dot(u, pt.dot(precision, u)) - u.shape[0] * LOG_2_PI)


def _symmetric_normal(mean: TensorVariable, scale: TensorVariable) -> TensorVariable:
    """Return a normal whose first axis, the labels, has covariance scale²·½(I + 11ᵀ)."""
    return pm.CustomDist.dist(
        mean,
        scale,
        dist=_symmetric_dist,
        logp=_symmetric_logp,
        signature="(k,p),(p)->(k,p)" if mean.ndim == 2 else "(k),()->(k)",
        class_name="SymmetricNormal",
    )


def _symmetric_dist(mean: TensorVariable, scale: TensorVariable, size: TensorVariable) -> Any:
    """Draw one vector per class, independently with variance scale²/2, and take differences from the reference."""
    reference = pm.Normal.dist(pt.zeros_like(mean[0]), scale / np.sqrt(2))
    return pm.Normal.dist(mean, scale / np.sqrt(2)) - reference


def _symmetric_logp(value: TensorVariable, mean: TensorVariable, scale: TensorVariable) -> Any:
    """Return the log density, from the precision 2(I − 11ᵀ/K) and its determinant 2^(K−1)/K."""
    z = (value - mean) / scale
    vectors = value.shape[0]
    square = 2 * (pt.sum(z**2, axis=0) - pt.sum(z, axis=0) ** 2 / (vectors + 1))
    log_determinant = vectors * np.log(2) - pt.log(vectors + 1)
    return pt.sum(-0.5 * square + 0.5 * log_determinant - vectors * (0.5 * LOG_2_PI + pt.log(scale)))


def _binary_dist(eta: TensorVariable, row_weight: TensorVariable, size: TensorVariable) -> Any:
    return pm.Bernoulli.dist(logit_p=eta)


def _binary_logp(y: TensorVariable, eta: TensorVariable, row_weight: TensorVariable) -> Any:
    # log P = −softplus(−η) for the second class, −softplus(η) for the first, the reference.
    return -row_weight * pt.softplus(pt.switch(y, -eta, eta))


def _multinomial_dist(scores: TensorVariable, row_weight: TensorVariable, size: TensorVariable) -> Any:
    return pm.Categorical.dist(logit_p=scores)


def _multinomial_logp(labels: Integers, y: TensorVariable, scores: TensorVariable, row_weight: TensorVariable) -> Any:
    """Return the log likelihood of each row; `labels` are 0, 1, …, because JAX needs static lengths."""
    own = pt.sum(pt.switch(pt.eq(y[:, None], labels), scores, 0.0), axis=1)
    return row_weight * (own - pt.logsumexp(scores, axis=1))
