"""The log posterior of weights with local scales, and its gradient, as machine code."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, override

import numba as nb
import numpy as np
from numba import types
from numpy.typing import NDArray

from bayesclf.models.logistic.density import CompiledDensity, row_blocks
from bayesclf.models.logistic.kernel import ROWS, compiled, inlined, log_likelihood, log_prior
from bayesclf.models.logistic.likelihood import Likelihood
from bayesclf.models.logistic.shaped_prior import HorseshoePrior, ShapedWeightPrior, StudentTPrior
from bayesclf.typing import Array


def shaped_log_density(size: Any, z: Any, gradient: Any, value: Any, data: Any) -> int:
    """Write log p(scales, θ, D), up to a constant, and its gradient, in the coordinates of a `ShapedDensity`.

    Parameters and answer are those of `bayesclf.models.logistic.kernel.log_density`; the pointers are to the arrays of
    a `ShapedDensity`.
    """
    vectors, columns, blocks = types.intp(data[0][0]), types.intp(data[0][1]), types.intp(data[0][2])
    symmetric, horseshoe, local = data[0][3] > 0, data[0][4] > 0, types.intp(data[0][5])
    mean, precision = nb.carray(data[1], (vectors, columns)), nb.carray(data[2], (vectors, columns))
    unit, shift = nb.carray(data[3], (vectors, columns)), nb.carray(data[4], columns)
    X = nb.carray(data[5], (blocks, columns, ROWS))
    y, weight = nb.carray(data[6], (blocks, ROWS)), nb.carray(data[7], (blocks, ROWS))
    own = nb.carray(data[8], columns)
    middle, spread, half_degrees, slab = data[9][0], data[9][1], data[9][2], data[9][3]
    point, slopes = nb.carray(z, size), nb.carray(gradient, size)
    start = 2 if horseshoe else 1
    first = start + local
    u, of_prior = np.empty((vectors, columns)), np.empty((vectors, columns))
    theta, slope = np.empty((vectors, columns)), np.zeros((vectors, columns))
    times, free = np.ones(columns), np.ones(columns)
    log_slab = 0.0
    if horseshoe:
        total = _log_half_cauchy(point, 0, slopes) + _log_inverse_gamma(point, 1, half_degrees, slopes)
        log_slab = slab + point[1]
    else:
        total = -0.5 * point[0] * point[0]
        slopes[0] = -point[0]
    for i in range(start, first):
        if horseshoe:
            total += _log_half_cauchy(point, i, slopes)
        else:
            total += _log_inverse_gamma(point, i, half_degrees, slopes)
    for j in range(columns):
        g = types.intp(own[j])
        if g >= 0:
            log_times = middle + spread * point[0] + point[start + g]
            if horseshoe:
                free[j] = _logistic(2 * (log_slab - log_times))
                if free[j] > 0.5:
                    log_times += 0.5 * math.log(free[j])
                else:
                    log_times = log_slab + 0.5 * math.log(1 - free[j])
            times[j] = math.exp(log_times)
    for k in range(vectors):
        entry = first + k * columns
        u[k, 0] = theta[k, 0] = unit[k, 0] * point[entry]
        for j in range(1, columns):
            u[k, j] = unit[k, j] * point[entry + j]
            theta[k, j] = times[j] * u[k, j]
            theta[k, 0] += shift[j] * theta[k, j]
    total += log_prior(u, mean, precision, np.zeros(columns), symmetric, of_prior)
    total += log_likelihood(theta, X, y, weight, slope)
    for k in range(vectors):
        entry = first + k * columns
        slopes[entry] = unit[k, 0] * (of_prior[k, 0] + slope[k, 0])
        for j in range(1, columns):
            down = slope[k, j] + shift[j] * slope[k, 0]
            slopes[entry + j] = unit[k, j] * (of_prior[k, j] + times[j] * down)
            g = types.intp(own[j])
            if g >= 0:
                turn = theta[k, j] * down
                slopes[0] += spread * free[j] * turn
                slopes[start + g] += free[j] * turn
                if horseshoe:
                    slopes[1] += (1 - free[j]) * turn
    value[0] = total
    return 0 if math.isfinite(total) else 1


@inlined
def _logistic(x: float) -> float:
    """Return 1/(1 + e^(−x)), which is exact at both ends."""
    if x > 0:
        return 1 / (1 + math.exp(-x))
    power = math.exp(x)
    return power / (1 + power)


@inlined
def _log_half_cauchy(point: Array, i: int, slopes: Array) -> float:
    """Return the log density of the logarithm of a half-Cauchy, entry i of a point, and set the slope there."""
    x = point[i]
    share = _logistic(2 * x)
    slopes[i] = 1 - 2 * share
    return float(x + math.log(1 - share) if x < 0 else math.log(share) - x)


@inlined
def _log_inverse_gamma(point: Array, i: int, half_degrees: float, slopes: Array) -> float:
    """Return the log density of ½ log of an InvGamma(ν/2, ν/2), entry i of a point, and set the slope there."""
    ratio = half_degrees * math.exp(-2 * point[i])
    slopes[i] = 2 * (ratio - half_degrees)
    return float(-ratio - 2 * half_degrees * point[i])


@dataclass(frozen=True, eq=False)
class ShapedDensity(CompiledDensity):
    """log p(scales, θ, D), up to a constant, and its gradient, of z; computed by machine code.

    z has log s = log median + spread z_0, or log(τ/τ₀) and log(c/a) of the horseshoe; then log λ_j; then, label by
    label, the intercept where the prior has it and the weights, in sds at scale 1. Under the prior these are
    independent, but for a column's weights of several labels, so that few rows leave no funnel between scales and
    weights.

    Attributes
    ----------
    likelihood
        Of the training rows; its first column is the intercept's.
    prior
        Of scales and weights.
    scale
        Sds of the columns (feature).
    """

    likelihood: Likelihood
    prior: ShapedWeightPrior
    scale: Array

    @property
    @override
    def size(self) -> int:
        """Number of coordinates."""
        return self._first + self.prior.unit.mean.size

    @property
    def _first(self) -> int:
        """Number of scales, which come before the weights."""
        return self._start + len(self.prior)

    @property
    def _start(self) -> int:
        """Number of scales that are not local."""
        return len(self.prior.dims) - 1

    @property
    @override
    def function(self) -> Any:
        """The machine code, `shaped_log_density`, with its ``address``."""
        return compiled(shaped_log_density)

    @property
    @override
    def _data(self) -> tuple[NDArray[Any], ...]:
        unit, learned = self.prior.unit, self.prior.learned
        vectors, columns = unit.mean.shape
        cells, y, weight = row_blocks(self.likelihood)
        horseshoe = isinstance(self.prior, HorseshoePrior)
        sizes = np.array([vectors, columns, len(cells), unit.symmetric, horseshoe, len(self.prior)])
        with np.errstate(divide="ignore"):
            of_prior = (unit.mean, 1 / unit.scale, self._unit, np.concatenate([[0.0], unit.shift]))
        own = np.where(learned, np.cumsum(learned) - 1, -1)
        return sizes, *of_prior, cells, y, weight, own, np.array(self._numbers)

    @property
    def _unit(self) -> Array:
        """Sds at scale 1, (outcome, 1 + column), 1 where the prior is flat."""
        return np.where(np.isinf(self.prior.unit.scale), 1.0, self.prior.unit.scale)

    @property
    def _numbers(self) -> tuple[float, float, float, float]:
        """Origin and unit of log s, half the degrees of freedom, and the logarithm of the slab's scale."""
        prior = self.prior
        if isinstance(prior, HorseshoePrior):
            return np.log(prior.global_scale), 1.0, prior.shape.slab_degrees / 2, np.log(prior.shape.slab_scale)
        assert isinstance(prior, StudentTPrior)
        return np.log(prior.settings.median), prior.settings.spread, prior.degrees / 2, 0.0

    def parameters(self, z: Array) -> dict[str, Array]:
        """Return the free variables of the PyMC model at z (..., coordinate)."""
        vectors, columns = self.prior.unit.mean.shape
        middle, spread, _, slab = self._numbers
        u = self._unit * z[..., self._first :].reshape(*z.shape[:-1], vectors, columns)
        local = z[..., self._start : self._first]
        found = {"prior_scale": np.exp(middle + spread * z[..., 0])}
        if isinstance(self.prior, HorseshoePrior):
            found |= {"local_scale": np.exp(local), "slab_variance": np.exp(2 * (slab + z[..., 1]))}
        else:
            found["local_variance"] = np.exp(2 * local)
        return {**found, "intercept": u[..., 0], "unscaled_weight": u[..., 1:] / self.scale}
