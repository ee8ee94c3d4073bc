"""The posterior of logistic regression as a normal, to be the prior of the next fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayesclf.errors import Refused
from bayesclf.inference.laplace import pareto_khat
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.models.logistic.prior import NormalPrior
from bayesclf.tables.columns import Column
from bayesclf.typing import Array, Parameters

LARGEST_POWER = 1_000
"""Power of two above which the square of a standard deviation, or its reciprocal, could not be multiplied further."""

LEAST_DRAWS = 10
"""Draws per parameter from which a covariance is estimated; its inverse is then too large by a tenth at most."""


def normal_prior(model: LogisticModel, draws: Parameters, columns: tuple[Column, ...]) -> NormalPrior:
    """Return the normal with the mean and the covariance of the posterior's draws.

    Among normals q it has the smallest divergence E_p[log p/q] from the posterior p. How near it is, k̂ says: the shape
    of the tail of the ratios p(θ | D)/q(θ). They are taken at the draws of the posterior, which reach the long side of
    a skewed posterior where those of a normal hardly would; the shape k there is k/(1 + k) in terms of draws from q,
    for which the usual limit of 0.7 is meant: E_p[f(r)] = E_q[r f(r)] takes a tail r^(−1/κ) to r^(1 − 1/κ).

    Parameters
    ----------
    model
        With its data.
    draws
        From its posterior, (draw, ...).
    columns
        The training columns.

    Raises
    ------
    Refused
        For too few draws for a covariance, or a column in a unit in which its weight has no finite variance.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao, Gabry, *Pareto smoothed importance sampling*, JMLR 25 (2024). Opper, *A Bayesian
    approach to on-line learning*, in On-line Learning in Neural Networks (1998).
    """
    values = np.concatenate([draws["intercept"][:, :, None], draws["weight"]], axis=2)
    number, (vectors, width) = len(values), values.shape[1:]
    if number < LEAST_DRAWS * vectors * width:
        raise Refused(
            f"{number} draws are too few for the covariance of {vectors * width} parameters; fit with at least "
            f"{LEAST_DRAWS * vectors * width} draws, as in inference=NUTS(draws=…)"
        )
    squared = np.abs(np.log2(model.design.scale)) * 2
    if (squared > LARGEST_POWER).any():
        name, scale = model.design.names[squared.argmax()], model.design.scale[squared.argmax()]
        raise Refused(
            f"column {name!r} has a standard deviation of {scale:.1e}, with which the variance of its weight is beyond "
            "the floating-point numbers; multiply the column by a constant"
        )
    flat = values.reshape(number, -1)
    covariance = np.atleast_2d(np.cov(flat, rowvar=False))
    unseen = model.unseen_prior_of_all(draws)
    prior = NormalPrior(model.labels, columns, model.design, values.mean(axis=0), covariance, 0.0, unseen)
    theta = values * np.concatenate([[1.0], model.design.scale])
    log_normal = prior.resolve(model.design, vectors).log_density(theta)
    jacobian = vectors * np.log(model.design.scale).sum()
    log_ratio = model.log_posterior(draws["intercept"], draws["weight"]) - (log_normal + jacobian)
    return replace(prior, khat=khat_at_draws(log_ratio))


def khat_at_draws(log_ratio: Array) -> float:
    """Return k̂ of the ratios p/q in terms of draws from q, of their logs (draw) at draws from p, up to a constant."""
    khat = pareto_khat(log_ratio)
    return khat / (1 + khat) if khat > 0 else khat
