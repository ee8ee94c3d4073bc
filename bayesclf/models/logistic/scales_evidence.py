"""Laplace's evidence of several prior scales, its gradient and its maximum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize

from bayesclf.models.logistic.likelihood import Likelihood, LogPosterior
from bayesclf.models.logistic.scale_groups import GroupedWeightPrior
from bayesclf.models.logistic.scale_node import Node, explored
from bayesclf.typing import Array

FARTHEST = 8.0
"""Scales are at most this many sds of their prior from its median, in logs."""
STEP = 0.02
"""Differences of gradients are taken over this many prior sds to each side."""
STEEPEST = 1e-5
"""The search for the maximum ends where no entry of the gradient is above it, in prior sds."""


@dataclass(frozen=True, eq=False)
class ScalesEvidence:
    """log p(D, log s) by Laplace's approximation, f = log p(D, θ̂ | s) + ½ d log 2π − ½ log |H| + log p(log s).

    θ̂ is the mode of the weights given s, and H = A + Λ minus the Hessian there, A of the log likelihood and Λ = Σ Λ_g
    the prior's precision. With N_g weights in a group, and r the gradient of log |A + Λ| in θ with Λ fixed,

    ∂f/∂log s_g = −N_g + θ̂ᵀ Λ_g θ̂ + tr(H⁻¹ Λ_g) − rᵀ H⁻¹ Λ_g θ̂ + ∂ log p(log s_g)/∂log s_g.

    Attributes
    ----------
    likelihood
        Of the training rows.
    prior
        Of scales and weights.

    References
    ----------
    MacKay (1992), The evidence framework applied to classification networks, doi:10.1162/neco.1992.4.5.720, without
    the last two terms of H, as his H is taken to be fixed.
    """

    likelihood: Likelihood
    prior: GroupedWeightPrior

    def objective(self, log_scale: Array) -> LogPosterior:
        """Return the log posterior of θ given log s (group)."""
        return LogPosterior(self.likelihood, self.prior.at(np.exp(log_scale)))

    def node(self, log_scale: Array, start: Array) -> Node[Array]:
        """Return the evidence of some scales, the weights' mode searched for from θ `start`."""
        return self._explored(log_scale, start)[0]

    def gradient(self, log_scale: Array, start: Array) -> tuple[Node[Array], Array]:
        """Return the same, and the gradient in log s (group)."""
        node, curvature = self._explored(log_scale, start)
        theta, prior = node.theta, self.prior
        vectors, columns = theta.shape
        lower = linalg.cholesky(curvature, lower=True)
        inverse = linalg.cho_solve((lower, True), np.eye(len(curvature)))
        given = prior.at(np.exp(log_scale))
        # Λ θ̂ and the diagonal blocks of Λ, of the weights alone, as if the prior's intercept were at the means
        z = (theta - given.mean) / given.scale
        down = 2 * (z - z.sum(axis=0) / (vectors + 1)) if given.symmetric else z
        slope = down / given.scale
        between = 2 * (np.eye(vectors) - 1 / (vectors + 1)) if given.symmetric else np.eye(vectors)
        blocks = inverse.reshape(vectors, columns, vectors, columns)
        traced = np.einsum("kl,kjlj,kj,lj->j", between, blocks, 1 / given.scale, 1 / given.scale)
        moved = (inverse @ self._log_determinant_slope(theta, blocks).ravel()).reshape(theta.shape)
        each = np.sum(z * down, axis=0) + traced - np.sum(moved * slope, axis=0)
        found = np.bincount(prior.group + 1, each, minlength=len(prior) + 1)[1:] - prior.sizes
        settings = prior.settings
        return node, found - (log_scale - np.log(settings.median)) / settings.spread**2

    def _explored(self, log_scale: Array, start: Array) -> tuple[Node[Array], Array]:
        log_prior = float(self.prior.log_density_of_scales(log_scale))
        return explored(self.objective(log_scale), log_scale, start, log_prior)

    def _log_determinant_slope(self, theta: Array, inverse: Array) -> Array:
        """Return tr(H⁻¹ ∂A/∂θ), (outcome, 1 + column), with H⁻¹ in blocks (outcome, column, outcome, column).

        A row adds Σ_kl M_kl w P_k (1[k = l] − P_l), M_kl = xᵀ (H⁻¹)_kl x, whose derivative in its log-odds η is
        w (diag P − P Pᵀ) (diag M − 2 M P).
        """
        X = np.asarray(self.likelihood.X)
        eta = self.likelihood.log_odds(theta)
        top = np.maximum(eta.max(axis=1, initial=0), 0)[:, None]
        odds = np.exp(eta - top)
        P = odds / (np.exp(-top) + odds.sum(axis=1, keepdims=True))
        vectors = len(theta)
        M = np.empty((len(X), vectors, vectors))
        for k in range(vectors):
            for other in range(vectors):
                M[:, k, other] = np.einsum("ij,ij->i", X @ inverse[k, :, other], X)
        g = np.einsum("ikk->ik", M) - 2 * np.einsum("ikl,il->ik", M, P)
        of_odds = P * (g - np.sum(P * g, axis=1, keepdims=True))
        return np.asarray((self.likelihood.weight[:, None] * of_odds).T @ X)

    def mode(self, start: Array) -> Node[Array]:
        """Return the maximum over log s, the search for its weights starting from θ `start`."""
        settings, latest = self.prior.settings, [start]
        middle = np.full(len(self.prior), np.log(settings.median))

        def negative(x: Array) -> tuple[float, Array]:
            """Return minus the log density of the scales and its gradient, x in sds of the prior of log s."""
            node, slope = self.gradient(middle + settings.spread * x, latest[0])
            latest[0] = node.theta
            return -node.log_density, -settings.spread * slope

        bounds = [(-FARTHEST, FARTHEST)] * len(middle)
        found = optimize.minimize(
            negative,
            np.zeros(len(middle)),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"gtol": STEEPEST, "ftol": 1e-12},
        )
        return self.node(middle + settings.spread * found.x, latest[0])

    def curvature(self, node: Node[Array]) -> Array:
        """Return minus the Hessian of the log density in log s at a node, (group, group): gradients' differences."""
        step, rows = STEP * self.prior.settings.spread, []
        for g in range(len(self.prior)):
            ends = []
            for sign in (-1, 1):
                log_scale = node.log_scale.copy()
                log_scale[g] += sign * step
                ends.append(self.gradient(log_scale, node.theta)[1])
            rows.append((ends[0] - ends[1]) / (2 * step))
        return (np.array(rows) + np.array(rows).T) / 2
