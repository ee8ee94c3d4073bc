"""The degrees of freedom ν of an inverse Wishart prior, learned: Σ | ν ~ InvWishart(ν, (ν − d − 1) diag(s)).

With c = ν − d − 1, E[Σ] = diag(s) at every c, also for each block of columns: c is how many rows that guess is worth.
Given c the model is conjugate, and the rows add the same n and P to ν and Ψ at every c. So the posterior is a mixture
over c, of which one spectrum gives all determinants and squares:

    V' P V = diag(e) and V' diag(s) V = I, so that V' (P + c diag(s)) V = diag(e + c).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy import optimize
from scipy.special import digamma, gammaln, multigammaln

from bayesclf.arrays import Array
from bayesclf.errors import Refused
from bayesclf.families.multivariate.covariance import COLLINEAR, SINGULAR
from bayesclf.families.quadrature import Grid, log_normal_density
from bayesclf.families.template import log_rising

SPREAD = 1.0
"""Of the prior log c ~ Normal(log d, SPREAD²): 95% of it are between a seventh and sevenfold of d."""

REACH = 12.0
"""Standard deviations of that prior that the range of log c extends to either side."""

NODES, DEPTH = 96, 100.0
"""Nodes of the grid of log c, and nats below its maximum of the log density at both ends: ±14 standard deviations."""

DRAWN_NODES, DRAWN_DEPTH = 256, 40.0
"""The same for draws. The distribution function is linear between nodes, which makes the sd .04% larger."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """V and e of matrices P + c diag(s).

    `vectors`: V (…, feature, direction). `values`: e (…, direction). `log_scale`: Σ log s, (…).
    """

    vectors: Array
    values: Array
    log_scale: Array

    @classmethod
    def of(cls, matrix: Array, scale: Array) -> Self:
        """Return the spectrum of P (…, feature, other_feature) and s (…, feature)."""
        sd = np.sqrt(scale)
        values, vectors = np.linalg.eigh(matrix / (sd[..., :, None] * sd[..., None, :]))
        return cls(vectors / sd[..., :, None], values, np.log(scale).sum(axis=-1))

    def mixtures(self, c: Array, freedom: Array, log_weight: Array) -> list[StudentMixture]:
        """Return, for each group, Student's t's of freedom (node, group) over the nodes of c, of these weights.

        Raises `Refused` if a matrix is singular to rounding.
        """
        values = c[..., None] + self.values
        if not (values[..., 0] > SINGULAR * values.shape[-1] * values[..., -1]).all():
            raise Refused(COLLINEAR)
        log_det = np.log(values).sum(axis=-1) + self.log_scale
        return [
            StudentMixture(vectors, 1 / values[:, g], log_det[:, g], freedom[:, g], log_weight[:, g])
            for g, vectors in enumerate(self.vectors)
        ]


@dataclass(frozen=True, eq=False)
class StudentMixture:
    """Multivariate t's whose scales are proportional to matrices of one spectrum.

    `vectors`: V (feature, direction). `precisions`: 1/(c + e), (node, direction). `log_det`: Log determinants of the
    matrices (node). `freedom`: Degrees of freedom (node). `log_weight`: (node).
    """

    vectors: Array
    precisions: Array
    log_det: Array
    freedom: Array
    log_weight: Array

    def coordinates(self, deviation: Array) -> Array:
        """Return deviations (row, feature) along the directions, (row, direction)."""
        return np.asarray(deviation @ self.vectors)

    def products(self, z: Array, other: Array) -> Array:
        """Return x'Ψ⁻¹w of two deviations in coordinates, (row, node)."""
        return np.asarray((z * other) @ self.precisions.T)

    def log_t(self, squares: Array, spread: float, fewer: float = 0.0, left: Array | float = 1.0) -> Array:
        """Return the log density (row, node) of t's of f degrees of freedom and scale Ψ·spread/f.

        `squares`: x'Ψ⁻¹x of deviations (row, node). `spread`: Above 1 by the variance of the mean. `fewer`: Degrees of
        freedom that are left out. `left`: What is left of the determinant, as a factor.
        """
        freedom, size = self.freedom - fewer, self.vectors.shape[1]
        constant = gammaln((freedom + size) / 2) - gammaln(freedom / 2) - 0.5 * size * np.log(np.pi * spread)
        scale = self.log_det + np.log(left)
        return np.asarray(constant - 0.5 * scale - 0.5 * (freedom + size) * np.log1p(squares / spread))


@dataclass(frozen=True, eq=False)
class Freedom:
    """The distribution of t = log c given rows, μ and Σ integrated out.

    `n`: What rows have added to ν, (…). `spectrum`: Of what they have added to Ψ.
    """

    n: Array
    spectrum: Spectrum

    @property
    def _size(self) -> int:
        return int(self.spectrum.values.shape[-1])

    @property
    def bounds(self) -> tuple[float, float]:
        """The range of t."""
        return np.log(self._size) - REACH * SPREAD, np.log(self._size) + REACH * SPREAD

    def log_prior(self, t: Array) -> Array:
        """Return the log density of t before any row."""
        return log_normal_density(t, np.asarray(float(self._size)), np.asarray(SPREAD))

    def log_gain(self, t: Array) -> Array:
        """Return log Z_n(t)/Z_0(t), Z the integral of |Σ|^(−(ν + d + 1)/2) exp(−tr(ΨΣ⁻¹)/2) over Σ, at t (node, …)."""
        c, e, d, n = np.exp(t), self.spectrum.values, self._size, self.n
        i = np.arange(d)
        rising = log_rising((c[..., None] + d + 1 - i) / 2, np.broadcast_to(n[..., None] / 2, (*n.shape, d)))
        ratio = -0.5 * (c + d + 1) * np.log1p(np.maximum(e, 0.0) / c[..., None]).sum(axis=-1)
        added = np.log(c[..., None] + np.maximum(e, 0.0)).sum(axis=-1) + self.spectrum.log_scale - d * np.log(2)
        return np.asarray(rising.sum(axis=-1) + ratio - 0.5 * n * added)

    def log_joint(self, c: Array) -> Array:
        """Return the log density of t before any row less log Z_0, (draw, …): what the kernel of Σ is multiplied by."""
        d, nu = self._size, c + self._size + 1
        of_scale = 0.5 * nu * (d * np.log(c / 2) + self.spectrum.log_scale)
        return np.asarray(self.log_prior(np.log(c)) + of_scale - multigammaln(nu / 2, d))

    def log_density(self, t: Array) -> Array:
        """Return the log of prior times evidence at t (node, …)."""
        return self.log_prior(t) + self.log_gain(t)

    def _slope(self, t: float, place: tuple[int, ...]) -> float:
        """Return the derivative of `log_density` at one of its places."""
        c, e, d, n = np.exp(t), np.maximum(self.spectrum.values[place], 0.0), self._size, self.n[place]
        half = (c + d + 1 - np.arange(d)) / 2
        rising = 0.5 * (digamma(half + n / 2) - digamma(half)).sum()
        rest = 0.5 * (-np.log1p(e / c) + (c + d + 1) * e / (c * (c + e)) - n / (c + e)).sum()
        return float(c * (rising + rest) - (t - np.log(d)) / SPREAD**2)

    @cached_property
    def grid(self) -> Grid:
        """The distribution of t for integrals."""
        return Grid.of(self.log_density, self.n.shape, self.bounds, NODES, DEPTH)

    def draw(self, rng: np.random.Generator, draws: int) -> Array:
        """Draw c, (draw, …)."""
        return np.exp(self._drawn.draw(rng, draws))

    @cached_property
    def _drawn(self) -> Grid:
        return Grid.of(self.log_density, self.n.shape, self.bounds, DRAWN_NODES, DRAWN_DEPTH)

    def mode(self) -> Array:
        """Return the c where the density of log c is largest, (…).

        That is the lower end of its range where rows repeat each other and columns are many: then Σ is singular.
        """
        grid, out = self.grid, np.full(self.n.shape, np.exp(self.bounds[0]))
        for place in np.ndindex(*self.n.shape):
            if grid.cut[place]:
                continue
            best = int(grid.log_weight[:, *place].argmax())
            low, high = (float(grid.nodes[at, *place]) for at in (best - 1, best + 1))
            out[place] = np.exp(optimize.brentq(self._slope, low, high, args=(place,), xtol=1e-14))
        return out
