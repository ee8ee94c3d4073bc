"""Log densities of priors at draws, part by part: a part has parameters of its own, independent of all others.

Where a block is conjugate its posterior is of the same family, so that the same function gives log p(θ | D), and the
log likelihood is the difference of the two, up to a constant. Constants are left out everywhere.

A density is per what it is a density of, and its power depends on that: here variances are per log σ² and covariances
per |Σ|^(−(d + 1)/2) dΣ, the measures that units do not change, so that the power α of InvGamma(a, b) is InvGamma(αa,
αb), a prior worth α times as many rows; all other parameters are per themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from bayesclf.diagnostics.check import NotApplicable
from bayesclf.families import dirichlet
from bayesclf.families.bernoulli import Bernoulli
from bayesclf.families.categorical import Categorical
from bayesclf.families.class_prior import LearntClassPrior
from bayesclf.families.conditional_tables import ConditionalTables
from bayesclf.families.gaussian import SHARED_OVER, Gaussian
from bayesclf.families.moments import Moments
from bayesclf.families.multinomial import Multinomial
from bayesclf.families.multivariate_gaussian import MultivariateGaussian
from bayesclf.typing import Array, Integers, Parameters

SMALLEST = np.finfo(float).tiny
"""Probabilities that underflow count as this."""


@dataclass(frozen=True, eq=False)
class Density:
    """Log densities of parts, and which numbers of the parameters belong to which.

    Attributes
    ----------
    log_density
        (draw, part), up to a constant.
    part_of
        For each parameter the number of the part of each of its values, in the shape of its axes without the draw.
    """

    log_density: Array
    part_of: Mapping[str, Integers]


@singledispatch
def prior_density(family: Any, parameters: Parameters) -> Density:
    """Return the log density of draws under the hyperparameters of a family.

    Parameters
    ----------
    family
        With its prior, or its posterior, in numbers.
    parameters
        Draws under the family's own names, (draw, …).

    Raises
    ------
    NotApplicable
        For a family whose prior has no density here.
    """
    raise NotApplicable(f"the prior of a block of {type(family).__name__} has discrete or learnt parts")


def _dirichlets(name: str, theta: Array, alpha: Array, sizes: tuple[int, ...]) -> Density:
    """Return Σ (α − 1) log θ of tables side by side, one part a class and table."""
    terms = (alpha - 1) * np.log(np.maximum(theta, SMALLEST))
    densities = np.add.reduceat(terms, dirichlet.starts(sizes), axis=-1)
    table = np.repeat(np.arange(len(sizes)), sizes)
    part_of = np.arange(alpha.shape[0])[:, None] * len(sizes) + table if alpha.ndim == 2 else table
    return Density(densities.reshape(len(theta), -1), {name: part_of})


@prior_density.register
def _(family: LearntClassPrior, parameters: Parameters) -> Density:
    """π ~ Dirichlet(α)."""
    return _dirichlets("pi", parameters["pi"], family.alpha, (family.alpha.size,))


@prior_density.register
def _(family: Categorical, parameters: Parameters) -> Density:
    """θ_jk ~ Dirichlet(α_jk)."""
    return _dirichlets("theta", parameters["theta"], np.asarray(family.alpha), family.axes.sizes)


@prior_density.register
def _(family: ConditionalTables, parameters: Parameters) -> Density:
    """A Dirichlet for each simplex of the tables."""
    simplexes = family.layout(family.axes).simplexes
    return _dirichlets("theta", parameters["theta"], np.asarray(family.alpha), simplexes)


@prior_density.register
def _(family: Multinomial, parameters: Parameters) -> Density:
    """θ_k ~ Dirichlet(α_k) over the vocabulary."""
    return _dirichlets("theta", parameters["theta"], np.asarray(family.alpha), (len(family.axes.features),))


@prior_density.register
def _(family: Bernoulli, parameters: Parameters) -> Density:
    """θ_ik ~ Beta(α_ik, β_ik)."""
    theta = np.clip(parameters["theta"], SMALLEST, None)
    absent = np.log(np.maximum(1 - theta, SMALLEST))
    densities = (np.asarray(family.alpha) - 1) * np.log(theta) + (np.asarray(family.beta) - 1) * absent
    return Density(densities.reshape(len(theta), -1), {"theta": np.arange(theta[0].size).reshape(theta.shape[1:])})


@prior_density.register
def _(family: Gaussian, parameters: Parameters) -> Density:
    """μ | σ² ~ Normal(m, σ²/κ) and σ² ~ InvGamma(a, b), or σ ~ HalfNormal(s); a part is what shares a variance."""
    sigma2 = _spread(family, parameters["sigma2"])
    kappa = np.asarray(family.kappa)
    cells = -0.5 * np.log(sigma2) - 0.5 * kappa * (parameters["mu"] - np.asarray(family.m)) ** 2 / sigma2
    if family.scale_prior is None:
        of_variance = -np.asarray(family.a) * np.log(sigma2) - np.asarray(family.b) / sigma2
    else:
        of_variance = 0.5 * np.log(sigma2) - 0.5 * sigma2 / np.asarray(family.scale_prior.scale) ** 2
    return _grouped(family, _sums(family, cells) + of_variance)


@prior_density.register
def _(family: MultivariateGaussian, parameters: Parameters) -> Density:
    """μ_k | Σ ~ Normal(m_k, Σ/κ) and Σ ~ InvWishart(ν, Ψ); one part where the classes share Σ, else one a class."""
    if family.covariance_prior is not None:
        raise NotApplicable("the density of an LKJ prior is not at hand")
    mu, Sigma = parameters["mu"], parameters["Sigma"]
    shared = family.covariance == "shared"
    Sigma = Sigma[:, None] if shared else Sigma
    m, kappa, nu, psi = (np.asarray(getattr(family, name)) for name in ("m", "kappa", "nu", "psi"))
    d = mu.shape[2]
    log_det = np.linalg.slogdet(Sigma)[1]
    inverse = np.linalg.inv(Sigma)
    deviation = mu - m
    square = np.einsum("ski,skij,skj->sk", deviation, np.broadcast_to(inverse, (*mu.shape, d)), deviation)
    of_means = -0.5 * (kappa * square + log_det)
    of_covariance = -0.5 * (nu * log_det + np.einsum("gij,sgji->sg", psi, inverse))
    densities = of_covariance + (of_means.sum(axis=1, keepdims=True) if shared else of_means)
    labels = np.zeros(len(m), dtype=np.intp) if shared else np.arange(len(m))
    part_of_mu = np.broadcast_to(labels[:, None], (len(m), d))
    part_of_covariance = np.broadcast_to(labels[:, None, None], (len(m), d, d))
    return Density(densities, {"mu": part_of_mu, "Sigma": part_of_covariance[0] if shared else part_of_covariance})


def gaussian_likelihood(family: Gaussian, statistics: Moments, parameters: Parameters) -> Density:
    """Return −(n/2) log σ² − (S + n(x̄ − μ)²)/2σ² by what shares a variance, whatever the prior."""
    sigma2 = _spread(family, parameters["sigma2"])
    squares = statistics.scatter + statistics.n * (statistics.mean - parameters["mu"]) ** 2
    cells = -0.5 * statistics.n * np.log(sigma2) - 0.5 * squares / sigma2
    return _grouped(family, _sums(family, cells))


def _spread(family: Gaussian, sigma2: Array) -> Array:
    """Return variances (draw, …) with the axes that share one kept as axes of length 1."""
    return np.expand_dims(sigma2, tuple(axis + 1 for axis in SHARED_OVER[family.variance]))


def _sums(family: Gaussian, cells: Array) -> Array:
    """Sum (draw, outcome, feature) over what shares a variance, keeping the axes."""
    axes = tuple(axis + 1 for axis in SHARED_OVER[family.variance])
    return np.asarray(cells.sum(axis=axes, keepdims=True)) if axes else cells


def _grouped(family: Gaussian, densities: Array) -> Density:
    """Return densities (draw, group of labels, group of features) as parts."""
    shape = densities.shape[1:]
    part = np.arange(shape[0] * shape[1]).reshape(shape)
    of_sigma2 = part.squeeze(SHARED_OVER[family.variance])
    return Density(
        densities.reshape(len(densities), -1),
        {"mu": np.broadcast_to(part, np.asarray(family.m).shape), "sigma2": of_sigma2},
    )
