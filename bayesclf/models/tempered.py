"""How far the evidence of a generative model is to be believed: a temperature and a bias of each class.

A model that takes dependent columns for independent counts the same evidence several times. No average over its
parameters mends that. So the class of row i is modeled once more, given L_ik = log p(x_i | k, all rows but i), what the
model says of the left-out row:

.. math:: P(y_i = k) ∝ π_k e^{b_k + T L_{ik}}, \\log T ∼ Normal(0, 1), b ∼ ZeroSumNormal(1).

T is 1 if the model is right, and near 1/2 if each column is in the table twice. K classes have K parameters. For a new
row, log p(x | k, D) takes the place of L.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, helmert, solve_triangular
from scipy.special import log_softmax, softmax

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.display import Sized
from bayesclf.models.generative import GenerativeModel
from bayesclf.models.logistic.likelihood import Proposal
from bayesclf.tables.columns import Rows

if TYPE_CHECKING:
    import pymc as pm

LEAST_ROWS = 20
"""Rows below which T and b stay at their prior: they are to correct a fit, and so few rows say little of its errors."""

FARTHEST = 1e6
"""What a log density of −∞ is below the largest of its row, so that it can be multiplied by a probability of 0."""

START = np.linspace(-7.0, 2.0, 19)
"""Values of log T of which the best is where the search for the mode begins."""

STEPS, CONVERGED = 200, 1e-10
"""Most steps of the search, and the expected gain of a step at which it ends."""

BLOCK_NUMBERS = 2**20
"""Numbers (draw × row × outcome) that are in memory at once."""


@dataclass(frozen=True, eq=False, repr=False)
class LeftOut(Sized):
    """What training rows that were left out, one at a time, say of T and b.

    `log_density`: log p(x_i | k, all rows but i), (row, outcome), less the largest of each row. `y`: Label codes (row).
    `weight`: How often each row counts, (row). `log_prior`: log π: of the posterior mean given all rows, or of the
    known class prior, (outcome).
    """

    log_density: Array
    y: Integers
    weight: Array
    log_prior: Array

    @classmethod
    def of(cls, model: GenerativeModel, rows: Rows, y: Integers, weight: Array) -> Self | None:
        """Return what some training rows, of weight 1 or more, say; None where the model has no closed form for it.

        Rows that cannot be left out are not counted: those that are alone in their class, or impossible without
        themselves, or too large for digits to remain without them.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            L = model.log_density_without(rows, y)
            if L is None:
                return None
            L = L - L.max(axis=1, keepdims=True)
        log_prior = model.mean_log_class_prior()
        own = L[np.arange(len(y)), y] + log_prior[y]
        counted = np.isfinite(own) & ~np.isnan(L).any(axis=1) & (model.label_counts[y] > 1)
        return cls(np.maximum(L[counted], -FARTHEST), y[counted], weight[counted], log_prior)

    @property
    def learned(self) -> bool:
        """Whether there are enough rows to learn T and b from."""
        return bool(self.weight.sum() >= LEAST_ROWS)

    @cached_property
    def _basis(self) -> Array:
        """Orthonormal directions of b, which adds up to 0, (direction, outcome)."""
        return np.asarray(helmert(len(self.log_prior)))

    @cached_property
    def _of_each(self) -> dict[int, tuple[Array, Array]]:
        """Return, of the rows of each class k, log densities in the other classes less that in k, (outcome, row)."""
        rows = {int(k): np.flatnonzero(self.y == k) for k in np.unique(self.y)}
        L = {k: self.log_density[own].T for k, own in rows.items()}
        return {k: (np.delete(L[k], k, axis=0) - L[k][k], self.weight[own]) for k, own in rows.items()}

    def log_posterior(self, theta: Array) -> Array:
        """Return the log density (draw), up to a constant, of (log T, coordinates of b), (draw, coordinate)."""
        total = -0.5 * (theta**2).sum(axis=1)
        if not self.learned:
            return total
        T, b = np.exp(theta[:, 0]), self.log_prior + theta[:, 1:] @ self._basis
        step = max(1, BLOCK_NUMBERS // max(self.log_density.size, 1))
        for k, (L, weight) in self._of_each.items():
            bias = np.delete(b, k, axis=1) - b[:, [k]]
            for start in range(0, len(theta), step):
                some = slice(start, start + step)
                odds = T[some, None, None] * L
                odds += bias[some, :, None]
                with np.errstate(over="ignore"):
                    np.exp(odds, out=odds)
                total[some] -= np.log1p(odds.sum(axis=1)) @ weight
        return total

    def _step(self, theta: Array) -> tuple[Array, Array]:
        """Return gradient and expected curvature (Fisher's) of minus the log posterior at one point (coordinate)."""
        T, curvature = np.exp(theta[0]), np.eye(len(theta))
        if not self.learned:
            return theta, curvature
        scaled = T * self.log_density
        P = softmax(self.log_prior + theta[1:] @ self._basis + scaled, axis=1)
        weighted = self.weight[:, None] * P
        residual = weighted.copy()
        residual[np.arange(len(self.y)), self.y] -= self.weight
        gradient = theta + np.append((residual * scaled).sum(), self._basis @ residual.sum(axis=0))
        centered = scaled - (P * scaled).sum(axis=1, keepdims=True)
        of_b = np.diag(weighted.sum(axis=0)) - P.T @ weighted
        curvature[0, 0] += (weighted * centered**2).sum()
        curvature[0, 1:] += self._basis @ (weighted * centered).sum(axis=0)
        curvature[1:, 0] = curvature[0, 1:]
        curvature[1:, 1:] += self._basis @ of_b @ self._basis.T
        return gradient, curvature

    @cached_property
    def mode(self) -> tuple[Array, Array]:
        """The mode of (log T, coordinates of b), by scoring from the best of a grid of T, and the curvature there."""
        grid = np.zeros((len(START), len(self.log_prior)))
        grid[:, 0] = START
        values = self.log_posterior(grid)
        theta, value = grid[values.argmax()], values.max()
        for _ in range(STEPS):
            gradient, curvature = self._step(theta)
            step = -cho_solve(cho_factor(curvature), gradient)
            if -step @ gradient < CONVERGED:
                break
            tried = theta + step * 0.5 ** np.arange(30)[:, None] * min(1.0, 1.0 / max(abs(step[0]), 1e-300))
            found = next(((t, v) for t in tried if (v := self.log_posterior(t[None])[0]) > value), None)
            if found is None:
                break
            theta, value = found
        return theta, self._step(theta)[1]

    def propose(self, number: int, of_z: Proposal, rng: np.random.Generator) -> tuple[Parameters, Array, Array]:
        """Return proposals of T (draw) and b (draw, outcome), their log importance ratios (draw), and z.

        They are for `bayesclf.engines.laplace`; z are the coordinates of the curvature at the mode.
        """
        mode, curvature = self.mode
        z, log_t = of_z.draw(rng, number, len(mode))
        theta = mode + solve_triangular(np.linalg.cholesky(curvature).T, z.T).T
        parameters = {"T": np.exp(theta[:, 0]), "b": theta[:, 1:] @ self._basis}
        return parameters, self.log_posterior(theta) - log_t, z

    def page(self) -> pm.Model:
        """Return the model as `bayesclf.pymc_models.tempered` has it, of rows that count once."""
        from bayesclf import pymc_models

        return pymc_models.tempered(self.log_density, self.y, np.exp(self.log_prior))

    def log_proba(self, parameters: Parameters) -> Array:
        """Return log P(k) of each row under each T and b, (draw, row, outcome)."""
        return np.asarray(log_softmax(tempered(self.log_density, self.log_prior, parameters), axis=2))


def tempered(log_density: Array, log_prior: Array, parameters: Parameters) -> Array:
    """Return log π + b + T·L, (draw, row, outcome), of log densities L (row, outcome); draws are next to each other."""
    scores = log_density[:, :, None] * parameters["T"]
    scores += (log_prior + parameters["b"]).T
    return np.moveaxis(scores, 2, 0)
