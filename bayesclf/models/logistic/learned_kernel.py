"""The log posterior of a learned prior scale and the weights, and its gradient, as machine code."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Self, override

import numba as nb
import numpy as np
from numba import types

from bayesclf.models.logistic.kernel import (
    OPTIONS,
    ROWS,
    LogisticDensity,
    inlined,
    log_likelihood,
    log_prior,
    unwhiten,
    whiten,
)
from bayesclf.models.logistic.scale_prior import ScaledWeightPrior
from bayesclf.typing import Array


@cache
def compiled() -> Any:
    """Return `learned_log_density` as Numba's ``CFunc``."""
    at = types.CPointer(types.double)
    signature = types.int32(types.uintp, at, at, at, types.CPointer(at))
    return nb.cfunc(signature, cache=True, **OPTIONS)(learned_log_density)


def learned_log_density(size: Any, z: Any, gradient: Any, value: Any, data: Any) -> int:
    """Write log p(θ, log s, D), up to a constant, and its gradient in z; parameters as of `kernel.log_density`.

    See `LearnedScaleDensity` for the coordinates z, of which the last is that of log s.
    """
    vectors, columns, blocks = types.intp(data[0][0]), types.intp(data[0][1]), types.intp(data[0][2])
    symmetric, last = data[0][3] > 0, types.intp(size - 1)
    factor, rotation = nb.carray(data[2], (last, last)), nb.carray(data[12], (last, last))
    mean, precision = nb.carray(data[3], (vectors, columns)), nb.carray(data[4], (vectors, columns))
    shift, learned = nb.carray(data[5], columns), nb.carray(data[9], columns)
    X = nb.carray(data[6], (blocks, columns, ROWS))
    y, weight = nb.carray(data[7], (blocks, ROWS)), nb.carray(data[8], (blocks, ROWS))
    share, mode = nb.carray(data[10], last), nb.carray(data[11], last)
    log_median, spread, log_scale, sd = data[13][0], data[13][1], data[13][2], data[13][3]
    move = sd * z[last]
    scale, shrinkage = math.exp(log_scale + move), math.exp(-2 * move)
    apart = (log_scale + move - log_median) / spread
    total, slope_of_scale = -0.5 * apart * apart, -apart / spread
    width, turned, center = np.empty(last), np.zeros(last), np.zeros(last)
    for i in range(last):
        width[i] = 1 / math.sqrt(1 - share[i] + share[i] * shrinkage)
        total += math.log(width[i])
        slope_of_scale += share[i] * shrinkage * width[i] * width[i]
        along = width[i] * (width[i] * mode[i] + z[i])
        for entry in range(last):
            turned[entry] += rotation[i, entry] * along
    inverse = np.empty((vectors, columns))
    for j in range(columns):
        for k in range(vectors):
            inverse[k, j] = precision[k, j] / scale if learned[j] > 0 else precision[k, j]
        if learned[j] > 0:
            total -= vectors * move
            slope_of_scale -= vectors
    theta, down = np.empty((vectors, columns)), np.empty((vectors, columns))
    unwhiten(turned, center, factor, theta)
    total += log_prior(theta, mean, inverse, shift, symmetric, down)
    total += log_likelihood(theta, X, y, weight, down)
    slope_of_scale += _square(theta, inverse, learned, symmetric)
    whiten(down, factor, turned)
    out = nb.carray(gradient, size)
    for i in range(last):
        along = 0.0
        for entry in range(last):
            along += rotation[i, entry] * turned[entry]
        out[i] = along * width[i]
        slope_of_width = share[i] * shrinkage * width[i] * width[i] * width[i]
        slope_of_scale += along * slope_of_width * (2 * width[i] * mode[i] + z[i])
    out[last] = sd * slope_of_scale
    value[0] = total
    return 0 if math.isfinite(total) else 1


@inlined
def _square(theta: Array, precision: Array, learned: Array, symmetric: bool) -> float:
    """Return uᵀC⁻¹u over the learned columns, u = θ precision, of mean 0, and C the labels' correlation."""
    vectors, columns = theta.shape
    total = 0.0
    for j in range(columns):
        if learned[j] > 0:
            common = 0.0
            for k in range(vectors):
                common += theta[k, j] * precision[k, j]
            common /= vectors + 1
            for k in range(vectors):
                u = theta[k, j] * precision[k, j]
                total += u * (2 * (u - common) if symmetric else u)
    return total


@dataclass(frozen=True, eq=False)
class LearnedScaleDensity(LogisticDensity):
    """log p(θ, log s, D), up to a constant, and its gradient, of z; computed by machine code.

    The last entry of z is (log s − t)/sd, with t the mode and sd the posterior sd of log s. The others are of the
    weights, whitened by their normal approximation given s: with H the curvature at t, and m = log s − t,

        θ = V (d² ∘ V⁻¹θ̂ + d ∘ z),  d_i = (1 − κ_i + κ_i e^(−2m))^(−1/2),

    where V diagonalizes both H (Vᵀ H V = I) and the part of H that the prior of scale s contributes, of which κ_i, from
    0 to 1, is the share. Were the likelihood normal, z would be standard normal and independent of s: a direction about
    which the rows say nothing (κ = 1) is in units of s, one which they determine (κ = 0) does not move with s. `prior`
    is that of θ at s = 1.

    Attributes
    ----------
    scale_prior
        The prior of s, and of θ given s.
    log_scale, sd
        Mode and posterior sd of log s.
    rotation
        Vᵀ = rotation factorᵀ, (parameter, parameter).
    share, mode
        κ and V⁻¹θ̂, (parameter).
    """

    scale_prior: ScaledWeightPrior
    log_scale: float
    sd: float
    rotation: Array
    share: Array
    mode: Array

    @classmethod
    def of(cls, given: LogisticDensity, scale_prior: ScaledWeightPrior, log_scale: float, sd: float) -> Self:
        """Make it from the density given s at its mode, whose center and factor are of the weights' modes there."""
        factor = given.factor
        by_prior = factor.T @ scale_prior.precision_of_learned() @ factor * np.exp(-2 * log_scale)
        share, directions = np.linalg.eigh(by_prior)
        mode = directions.T @ np.linalg.solve(factor, given.center)
        return cls(
            given.likelihood,
            given.prior,
            given.center,
            factor,
            given.scale,
            scale_prior=scale_prior,
            log_scale=log_scale,
            sd=sd,
            rotation=directions.T,
            share=np.clip(share, 0, 1),
            mode=mode,
        )

    @property
    @override
    def size(self) -> int:
        """Number of parameters, the scale among them."""
        return len(self.center) + 1

    @property
    @override
    def function(self) -> Any:
        """The machine code, `learned_log_density`, with its ``address``."""
        return compiled()

    @cached_property
    @override
    def _arrays(self) -> tuple[Array, ...]:
        settings = self.scale_prior.settings
        numbers = np.array([np.log(settings.median), settings.spread, self.log_scale, self.sd])
        more = (self.scale_prior.learned, self.share, self.mode, self.rotation, numbers)
        return (*super()._arrays, *(np.ascontiguousarray(array, dtype=np.float64) for array in more))

    @override
    def parameters(self, z: Array) -> dict[str, Array]:
        """Return intercept (..., outcome), weight (..., outcome, feature), per unit, and prior_scale (...)."""
        move = self.sd * z[..., -1:]
        width = (1 - self.share + self.share * np.exp(-2 * move)) ** -0.5
        along = width * (width * self.mode + z[..., :-1])
        theta = along @ self.rotation @ self.factor.T
        return {**self.of_theta(theta), "prior_scale": np.exp(self.log_scale + move[..., 0])}
