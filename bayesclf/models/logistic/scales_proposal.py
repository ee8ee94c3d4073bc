"""Proposals of several prior scales and of the weights given them, with their importance ratios."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy import linalg
from scipy.interpolate import PchipInterpolator
from scipy.special import gammaln, logsumexp

from bayesclf.models.logistic.likelihood import LogPosterior, blocks
from bayesclf.models.logistic.scale_node import Node
from bayesclf.models.logistic.scales_evidence import ScalesEvidence
from bayesclf.typing import Array

DISTANCES = (0.5, 1.2, 2.0)
"""First distances from the mode, in conditional sds, at which the evidence is looked at; steps of 1 follow ..."""
NEGLIGIBLE, MOST_LOOKS = 12.0, 20
"""... until it is this many nats below its maximum, in at most so many looks to each side."""
CELLS = 400
"""Cells of equal width in which the density of a slice is constant."""
LEAST_RATE = 0.1
"""The tails beyond the last look fall by at least this many nats a conditional sd."""
WIDEST = 1.5
"""Conditional sds are at most this many times that of the prior."""
LEAST_DEGREES = 10
"""Degrees of freedom of the proposals of the weights, or the number of weights where that is more."""
BLOCK = 256
"""Proposals whose log likelihood is computed at once."""


@dataclass(frozen=True, eq=False)
class Slice:
    """A density on the line, constant in cells of equal width, with exponential tails.

    Attributes
    ----------
    edges
        Of the cells, (cell + 1).
    log_mass
        (cell + 2), those of the tails first and last.
    rates
        Of both tails.
    """

    edges: Array
    log_mass: Array
    rates: tuple[float, float]

    @classmethod
    def through(cls, points: Array, log_density: Array) -> Self:
        """Return the one that goes through values of an unnormalized log density, at least two to each side of 0."""
        edges = np.linspace(points[0], points[-1], CELLS + 1)
        inner = PchipInterpolator(points, log_density)((edges[1:] + edges[:-1]) / 2) + np.log(edges[1] - edges[0])
        slopes = np.diff(log_density)[[0, -1]] / np.diff(points)[[0, -1]] * [1, -1]
        low, high = (max(float(slope), LEAST_RATE) for slope in slopes)
        log_mass = np.concatenate([[log_density[0] - np.log(low)], inner, [log_density[-1] - np.log(high)]])
        return cls(edges, log_mass - logsumexp(log_mass), (low, high))

    def draw(self, rng: np.random.Generator, number: int) -> tuple[Array, Array]:
        """Return draws and their log densities, (draw)."""
        width = self.edges[1] - self.edges[0]
        cell = rng.choice(len(self.log_mass), size=number, p=np.exp(self.log_mass))
        uniform = rng.random(number)
        inside = np.clip(cell - 1, 0, CELLS - 1)
        at, log_density = self.edges[inside] + width * uniform, self.log_mass[cell] - np.log(width)
        for tail, end, sign, rate in zip((0, CELLS + 1), self.edges[[0, -1]], (-1, 1), self.rates, strict=True):
            there = cell == tail
            beyond = -np.log1p(-uniform[there]) / rate
            at[there] = end + sign * beyond
            log_density[there] = self.log_mass[tail] + np.log(rate) - rate * beyond
        return at, log_density


@dataclass(frozen=True, eq=False)
class ScalesProposal:
    """q(log s) q(θ | s), from which draws are proposed.

    log s = mode + L x with L Lᵀ the inverse of minus the Hessian of Laplace's evidence f at its maximum, and x_g drawn
    independently from e^f along the g-th column of L: like a normal, but as skewed as f is. Given s, θ has a
    multivariate t distribution: the posterior if the log likelihood were the parabola that fits it at the mode, with
    tails of as many degrees of freedom as there are weights.

    Attributes
    ----------
    evidence
        Of the scales.
    mode
        Its maximum.
    lower
        L, (group, group).
    slices
        The densities of x_g.

    References
    ----------
    Geweke, *Bayesian inference in econometric models using Monte Carlo integration*, Econometrica 57 (1989),
    doi:10.2307/1913710, whose split normals have two sds in each direction in place of a slice.
    """

    evidence: ScalesEvidence
    mode: Node[Array]
    lower: Array
    slices: tuple[Slice, ...]

    @classmethod
    def around(cls, evidence: ScalesEvidence, mode: Node[Array]) -> Self:
        """Look at the evidence around its maximum."""
        values, vectors = np.linalg.eigh(evidence.curvature(mode))
        sds = 1 / np.sqrt(np.maximum(values, (WIDEST * evidence.prior.settings.spread) ** -2))
        lower = np.linalg.cholesky((vectors * sds**2) @ vectors.T)
        return cls(evidence, mode, lower, tuple(_slice(evidence, mode, direction) for direction in lower.T))

    def draw(self, number: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Return log s (draw, group), θ (draw, outcome, 1 + column) and log p(θ, log s, D) − log q, (draw)."""
        prior, start = self.evidence.prior, self.mode.theta
        size = start.size
        x, log_q = zip(*(one.draw(rng, number) for one in self.slices), strict=True)
        log_scale = self.mode.log_scale + np.column_stack(x) @ self.lower.T
        log_ratio = np.log(np.diag(self.lower)).sum() - np.sum(log_q, axis=0)
        degrees = max(LEAST_DEGREES, size)
        z = rng.standard_normal((number, size))
        z /= np.sqrt(rng.chisquare(degrees, number) / degrees)[:, None]
        theta, flat = np.empty((number, *start.shape)), start.ravel()
        slope, fixed, own = self._parabola
        times = 1 / np.tile(prior.of_columns(np.exp(log_scale)), len(start))
        for i, factor in enumerate(times):
            precision = own * factor * factor[:, None]
            root, _ = linalg.lapack.dpotrf((fixed + precision).T, lower=1, overwrite_a=1)
            # center + root⁻ᵀ z, and the center is one step of Newton's method from the mode
            half, _ = linalg.lapack.dtrtrs(root, slope - precision @ flat, lower=1)
            step, _ = linalg.lapack.dtrtrs(root, half + z[i], lower=1, trans=1)
            theta[i] = start + step.reshape(start.shape)
            log_ratio[i] -= np.log(root.diagonal()).sum()
        log_ratio += 0.5 * (degrees + size) * np.log1p(np.sum(z**2, axis=1) / degrees)
        log_ratio += gammaln(degrees / 2) - gammaln((degrees + size) / 2) + 0.5 * size * np.log(np.pi * degrees)
        for some in blocks(number, BLOCK):
            log_ratio[some] += self.evidence.likelihood.values(theta[some])
        log_ratio += prior.log_density(theta, np.exp(log_scale)) + prior.log_density_of_scales(log_scale)
        return log_scale, theta, log_ratio

    @cached_property
    def _parabola(self) -> tuple[Array, Array, Array]:
        """The parabola of the log posterior at the mode without the prior of the weights whose scale is learned.

        Its gradient and minus its Hessian; and the precision of these weights where all scales are 1.
        """
        prior = self.evidence.prior
        without = prior.at(np.full(len(prior), np.inf))
        posterior = LogPosterior(self.evidence.likelihood, without)
        _, slope, curvature = posterior.derivatives(self.mode.theta)
        return slope.ravel(), curvature, prior.unit.precision() - without.precision()


def _slice(evidence: ScalesEvidence, mode: Node[Array], direction: Array) -> Slice:
    """Return the density e^f along a line through the mode."""
    found = {0.0: 0.0}
    for sign in (-1.0, 1.0):
        distance, theta = 0.0, mode.theta
        for look in range(MOST_LOOKS):
            distance = DISTANCES[look] if look < len(DISTANCES) else distance + 1.0
            node = evidence.node(mode.log_scale + sign * distance * direction, theta)
            theta = node.theta
            found[sign * distance] = node.log_density - mode.log_density
            if look >= 1 and found[sign * distance] < -NEGLIGIBLE:
                break
    points = np.array(sorted(found))
    return Slice.through(points, np.array([found[point] for point in points]))
