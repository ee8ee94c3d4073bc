"""Expectation propagation: the normal whose moments agree with those of the posterior, one row at a time.

Where rows are separable, the posterior of the weights is a normal that is cut off by walls, far from its mode. The
curvature at the mode sees no wall; moments do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg
from scipy.special import logsumexp, ndtri
from scipy.stats import qmc

from bayesclf.arrays import Array
from bayesclf.models.logistic.density import POINTS, compiled_averages
from bayesclf.models.logistic.likelihood import Likelihood, log_normalizer
from bayesclf.models.logistic.prior import WeightPrior

REACH = 7.0
"""How many sds the points at which the likelihood of a row is averaged along one axis reach from the mean."""
SWEEPS, STEP, SETTLED = 8, 0.7, 0.05
"""Most sweeps over the rows, the share of the way to its new site that each goes, and the change that ends them:
the norm over the rows of the change of the mean in sds and of the log variance."""
LEAST = 1e-6
"""Share of the precision of a row's scores that the other rows keep at least."""


type Sites = tuple[Array, Array]
"""τ (row, contrast, contrast) and ν (row, contrast)."""


@dataclass(frozen=True, eq=False)
class Propagation:
    """Normals with about the moments of the posterior; as `Normals` of a `Lattice`.

    `likelihood`: Of dense rows along the directions of γ. `prior`: Of γ, s and ρ. The scores of a row are M φ, with φ =
    γ x.
    """

    likelihood: Likelihood
    prior: WeightPrior

    @property
    def contrast(self) -> Array:
        """M, (vector, contrast)."""
        return self.prior.contrast

    def found(self, at: Array, starts: list[Any], rough: bool) -> tuple[Array, Array, Array, list[Any]]:
        """Return what a lattice asks for; searches start from the sites of rows."""
        values, means, precisions, sites = zip(*map(self.normal, at, starts), strict=True)
        return np.array(values), np.array(means), np.array(precisions), list(sites)

    @cached_property
    def points(self) -> tuple[Array, Array]:
        """Points (point, contrast) and log weights (point) that stand for a standard normal.

        Raises `LinAlgError` for more contrasts than half of the points.
        """
        size = self.contrast.shape[1]
        if 2 * size > POINTS:
            raise np.linalg.LinAlgError("too few points for so many contrasts")
        if size == 1:
            axis = np.linspace(-REACH, REACH, POINTS)
            return axis[:, None], -0.5 * axis**2 - logsumexp(-0.5 * axis**2)
        half = ndtri(qmc.Sobol(size, rng=0).random(POINTS // 2))
        u = np.concatenate([half, -half])
        root = np.linalg.cholesky(u.T @ u / len(u))  # of covariance I to the last digit
        return np.asarray(linalg.solve_triangular(root, u.T, lower=True).T), np.full(len(u), -np.log(len(u)))

    def normal(self, at: Array, start: Sites) -> tuple[float, Array, Array, Sites]:
        """Return a value that makes log p(D) of the normal Laplace's, its mean and precision, and its sites.

        Each row's likelihood has a site, a factor exp(ν·φ − ½ φᵀτφ). The normal with that likelihood in place of the
        site has the mean and covariance of φ that it has with all sites.

        `at`: (log s, logit ρ). `start`: Sites to start from.

        Raises `FloatingPointError` or `LinAlgError` where a number overflows or a precision is not positive.

        See Minka (2001), *Expectation propagation for approximate Bayesian inference*, UAI. Kuss and Rasmussen (2005),
        *Assessing approximate inference for binary Gaussian process classification*, JMLR 6.
        """
        X, prior, (tau, nu) = np.asarray(self.likelihood.X), self.prior.along(*at), start
        shape = prior.mean.shape
        of_prior, pull = prior.precision(), prior.gradient(np.zeros(shape)).ravel()
        for _ in range(SWEEPS):
            lower = np.linalg.cholesky(self._precision(tau) + of_prior)
            gamma = linalg.cho_solve((lower, True), (nu.T @ X).ravel() + pull).reshape(shape)
            inverse = linalg.solve_triangular(lower, np.eye(len(lower)), lower=True).reshape(-1, *shape)
            spread = (inverse @ X.T).T  # (row, contrast, parameter)
            mean, root = X @ gamma.T, np.linalg.cholesky(spread @ spread.swapaxes(1, 2))
            log_site, changed, new_tau, new_nu = self._matched(mean, root, tau, nu)
            tau, nu = tau + STEP * (new_tau - tau), nu + STEP * (new_nu - nu)
            if np.linalg.norm(changed) < SETTLED:
                break
        value = float(prior.log_density(gamma) + log_site.sum())
        if not np.isfinite(value):
            raise FloatingPointError
        return value, gamma, lower @ lower.T, (tau, nu)

    def _matched(self, mean: Array, root: Array, tau: Array, nu: Array) -> tuple[Array, Array, Array, Array]:
        """Return what each row's likelihood makes of the normal of its φ = m + R u.

        `mean`, `root`: m (row, contrast) and R (row, contrast, contrast). `tau`, `nu`: The site that it holds.

        Returns: log of the site at m, scaled as the likelihood; how far the likelihood moves the mean of u, plus the
        change of the log determinant of its covariance; new τ; new ν. Each is (row, …).
        """
        across = root.swapaxes(1, 2)
        # the normal of u without the site: precision Q diag(p) Qᵀ = (C Cᵀ)⁻¹, mean c
        linear = _times(across, nu - _times(tau, mean))
        p, turn = np.linalg.eigh(np.eye(nu.shape[1]) - across @ tau @ root)
        p = np.maximum(p, LEAST)
        C = turn / np.sqrt(p)[:, None, :]
        half = _times(C.swapaxes(1, 2), linear)
        c = -_times(C, half)
        log_total, a, V = self._with_likelihood(mean + _times(root, c), root @ C)
        # the site with which u has mean c + C a and covariance C V Cᵀ; V is at most I but for rounding and few points
        own, axes = np.linalg.eigh(V)
        own = np.clip(own, LEAST, 1.0)
        moved, outward = c + _times(C, a), turn * np.sqrt(p)[:, None, :]
        axes = outward @ axes
        new = (axes * (1 / own - 1)[:, None, :]) @ axes.swapaxes(1, 2)
        back = np.linalg.inv(root)
        new_tau = back.swapaxes(1, 2) @ new @ back
        new_nu = _times(back.swapaxes(1, 2), _times(outward, a) + _times(new, moved)) + _times(new_tau, mean)
        log_p = np.log(p).sum(axis=1)
        log_site = log_total + 0.5 * (np.sum(half**2, axis=1) - log_p)
        return log_site, np.linalg.norm(moved, axis=1) + np.abs(np.log(own).sum(axis=1) - log_p), new_tau, new_nu

    def start(self, gamma: Array) -> Sites:
        """Return the sites τ and ν that have the value, slope and curvature of the likelihoods at γ."""
        phi, y, weight = self.likelihood.X @ gamma.T, self.likelihood.y, self.likelihood.weight
        scores = phi @ self.contrast.T
        P = np.exp(scores - log_normalizer(scores)[:, None])
        curvature = P[:, :, None] * (np.eye(P.shape[1]) - P[:, None, :])
        tau = weight[:, None, None] * (self.contrast.T @ curvature @ self.contrast)
        residual = (y[:, None] == np.arange(P.shape[1])) - P
        return tau, _times(tau, phi) + weight[:, None] * (residual @ self.contrast)

    def _precision(self, tau: Array) -> Array:
        """Return Σ τ ⊗ x xᵀ, (contrast · column, contrast · column)."""
        X, contrasts = np.asarray(self.likelihood.X), tau.shape[1]
        out = np.empty((contrasts, X.shape[1], contrasts, X.shape[1]))
        for a in range(contrasts):
            for b in range(a + 1):
                out[a, :, b] = out[b, :, a] = (X.T * tau[:, a, b]) @ X
        return out.reshape(contrasts * X.shape[1], -1)

    def _with_likelihood(self, mean: Array, root: Array) -> tuple[Array, Array, Array]:
        """Return the log mass (row), mean a and covariance V of v, standard normal times the likelihood of a row.

        `mean`, `root`: The row's φ is mean + root v, (row, contrast) and (row, contrast, contrast).
        """
        points, log_weight = self.points
        size, rows = points.shape[1], self.likelihood
        out = np.empty((len(mean), 1 + size + size**2))
        given = mean, root, rows.y, rows.weight, self.contrast, points.T, log_weight, out
        compiled_averages()(*map(np.ascontiguousarray, given))
        center = out[:, 1 : 1 + size]
        return out[:, 0], center, out[:, 1 + size :].reshape(-1, size, size) - center[:, :, None] * center[:, None, :]


def _times(matrices: Array, vectors: Array) -> Array:
    """Return the product of each row's matrix and vector."""
    return np.asarray((matrices @ vectors[..., None])[..., 0])
