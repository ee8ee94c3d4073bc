"""The log posterior of several prior scales and of the weights, and its gradient, as machine code."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, override

import numba as nb
import numpy as np
from numba import types
from numpy.typing import NDArray

from bayesclf.models.logistic.compiled_density import CompiledDensity, compiled
from bayesclf.models.logistic.kernel import (
    ROWS,
    LogisticDensity,
    log_likelihood,
    log_prior,
    row_blocks,
    unwhiten,
    whiten,
)
from bayesclf.models.logistic.scale_groups import GroupedWeightPrior
from bayesclf.typing import Array


def scales_log_density(size: Any, z: Any, gradient: Any, value: Any, data: Any) -> int:
    """Write log p(log s, θ, D), up to a constant, and its gradient, in the coordinates of a `ScalesDensity`.

    Parameters and answer are those of `bayesclf.models.logistic.kernel.log_density`; the pointers are to the arrays of
    a `ScalesDensity`.
    """
    vectors, columns, blocks = types.intp(data[0][0]), types.intp(data[0][1]), types.intp(data[0][2])
    symmetric, groups = data[0][3] > 0, types.intp(data[0][4])
    weights = vectors * columns
    factor = nb.carray(data[2], (weights, weights))
    mean, unit = nb.carray(data[3], (vectors, columns)), nb.carray(data[4], (vectors, columns))
    shift = nb.carray(data[5], columns)
    X = nb.carray(data[6], (blocks, columns, ROWS))
    y, weight = nb.carray(data[7], (blocks, ROWS)), nb.carray(data[8], (blocks, ROWS))
    origin, root = nb.carray(data[9], groups), nb.carray(data[10], (groups, groups))
    group, information = nb.carray(data[11], columns), nb.carray(data[12], (vectors, columns))
    middle, spread = data[13][0], data[13][1]
    point, slopes = nb.carray(z, size), nb.carray(gradient, size)
    theta, slope = np.empty((vectors, columns)), np.empty((vectors, columns))
    precision, own = np.empty((vectors, columns)), np.empty((vectors, columns))
    times, share = np.ones((vectors, columns)), np.zeros((vectors, columns))
    log_scale, down = np.empty(groups), np.empty(groups)
    total = 0.0
    for g in range(groups):
        log_scale[g] = origin[g]
        for i in range(g + 1):
            log_scale[g] += root[g, i] * point[i]
        deviation = (log_scale[g] - middle) / spread
        total -= 0.5 * deviation * deviation
        down[g] = -deviation / spread
    unwhiten(point[groups:], nb.carray(data[1], weights), factor, theta)
    for k in range(vectors):
        for j in range(columns):
            g = types.intp(group[j])
            precision[k, j] = unit[k, j]
            if g >= 0:
                ratio = math.exp(-2 * (log_scale[g] - origin[g]))
                times[k, j] = math.sqrt((information[k, j] + 1) / (information[k, j] + ratio))
                share[k, j] = ratio / (information[k, j] + ratio)
                precision[k, j] *= math.exp(-log_scale[g])
                theta[k, j] *= times[k, j]
                total += math.log(times[k, j]) - log_scale[g]
    total += log_prior(theta, mean, precision, shift, symmetric, slope)
    for k in range(vectors):
        for j in range(columns):
            own[k, j] = slope[k, j] + shift[j] * slope[k, 0]
    total += log_likelihood(theta, X, y, weight, slope)
    for k in range(vectors):
        for j in range(columns):
            g = types.intp(group[j])
            if g >= 0:
                down[g] += share[k, j] * (1.0 + theta[k, j] * slope[k, j]) - 1.0 - theta[k, j] * own[k, j]
                slope[k, j] *= times[k, j]
    whiten(slope, factor, slopes[groups:])
    for i in range(groups):
        slopes[i] = 0.0
        for g in range(i, groups):
            slopes[i] += root[g, i] * down[g]
    value[0] = total
    return 0 if math.isfinite(total) else 1


@dataclass(frozen=True, eq=False)
class ScalesDensity(CompiledDensity):
    """log p(log s, θ, D), up to a constant, and its gradient, of z = (z_s, z_u); computed by machine code.

    log s = log s₀ + root z_s, and u = center + factor z_u raveled, with θ = u where s = s₀. Elsewhere a weight of group
    g is θ_kj = u_kj √((a_kj + 1)/(a_kj + s₀_g²/s_g²)), by which its posterior sd changes: a is the information of the
    rows about it, in units of the prior's at s₀, so that the sd is proportional to 1/√(a/s₀² + 1/s²). Where the rows
    tell nothing, θ = u s/s₀ (the non-centered form), and where they tell all, θ = u (the centered one); so u hardly
    depends on s, and the posterior in z is nearly standard normal.

    Attributes
    ----------
    given
        The density of the weights given s₀, with center and factor.
    prior
        Of scales and weights.
    log_origin
        log s₀ (group).
    root
        (group, group), lower triangular.
    information
        a (outcome, 1 + column).

    References
    ----------
    Papaspiliopoulos, Roberts and Sköld, *A general framework for the parametrization of hierarchical models*,
    Statistical Science 22 (2007), doi:10.1214/088342307000000014: forms between the centered and the non-centered one.
    """

    given: LogisticDensity
    prior: GroupedWeightPrior
    log_origin: Array
    root: Array
    information: Array

    @override
    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self.log_origin) + self.given.size

    @override
    @property
    def function(self) -> Any:
        """The machine code, with its ``address``."""
        return compiled(scales_log_density)

    @override
    @property
    def _data(self) -> tuple[NDArray[Any], ...]:
        unit, settings = self.prior.unit, self.prior.settings
        vectors, columns = unit.mean.shape
        cells, y, weight = row_blocks(self.given.likelihood)
        sizes = np.array([vectors, columns, len(cells), unit.symmetric, len(self.log_origin)])
        with np.errstate(divide="ignore"):
            precision = 1 / unit.scale
        of_weights = (self.given.center, self.given.factor, unit.mean, precision, np.concatenate([[0.0], unit.shift]))
        of_scales = (self.log_origin, self.root, self.prior.group, self.information)
        normal = np.array([np.log(settings.median), settings.spread])
        return sizes, *of_weights, cells, y, weight, *of_scales, normal

    def parameters(self, z: Array) -> dict[str, Array]:
        """Return prior_scale (..., scale_group), intercept and weight as the PyMC model has them, at z."""
        groups, vectors = len(self.log_origin), len(self.information)
        moved = z[..., :groups] @ self.root.T
        u = self.given.center + z[..., groups:] @ self.given.factor.T
        information = np.concatenate([self.information[:, 0], self.information[:, 1:].ravel()])
        group = np.concatenate([np.full(vectors, -1), np.tile(self.prior.group[1:], vectors)])
        ratio = np.where(group >= 0, np.exp(-2 * moved)[..., group], 1.0)
        theta = u * np.sqrt((information + 1) / (information + ratio))
        return {"prior_scale": np.exp(self.log_origin + moved), **self.given.of_theta(theta)}
