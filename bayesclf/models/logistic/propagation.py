"""Expectation propagation: the normal whose moments agree with those of the posterior, one row at a time.

Where rows are separable, the posterior of the weights is a normal that is cut off by walls, far from its mode. The
curvature at the mode sees no wall; moments do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import linalg
from scipy.special import logsumexp, ndtri
from scipy.stats import qmc

from bayesclf.arrays import Array
from bayesclf.models.logistic.likelihood import Likelihood, LogPosterior, log_normalizer
from bayesclf.models.logistic.nodes import Found

POINTS, REACH = 101, 7.0
"""Points at which the likelihood of a row is averaged along one axis, and how many sds they reach from the mean."""
POINTS_OF_MORE = 128
"""Points along several axes."""
SWEEPS, STEP, SETTLED = 12, 0.8, 0.02
"""Most sweeps over the rows, the share of the way to its new site that each goes, and the change of a row's mean in sds
and log variance that ends them."""
LEAST = 1e-6
"""Share of the precision of a row's scores that the other rows keep at least."""


@dataclass(frozen=True, eq=False)
class Normals:
    """A normal of φ = γ x for each row: means m (row, contrast), and roots R of covariances R Rᵀ (row, c, c)."""

    mean: Array
    root: Array

    @property
    def log_mass(self) -> Array:
        """½ mᵀ Σ⁻¹ m + ½ log |Σ|, (row): the log integral of its factor, up to a constant."""
        scaled = np.linalg.solve(self.root, self.mean[..., None])[..., 0]
        return np.asarray(0.5 * np.sum(scaled**2, axis=1) + np.linalg.slogdet(self.root)[1])

    def without(self, tau: Array, nu: Array) -> Normals:
        """Return the normals of the other rows: each without the row's own site exp(ν·φ − ½ φᵀτφ)."""
        turned = self.root.swapaxes(1, 2)
        own, turn = np.linalg.eigh(np.eye(nu.shape[1]) - turned @ tau @ self.root)
        root = (self.root @ turn) / np.sqrt(np.maximum(own, LEAST))[:, None, :]
        linear = np.linalg.solve(self.root @ turned, self.mean[..., None]) - nu[..., None]
        return Normals((root @ (root.swapaxes(1, 2) @ linear))[..., 0], root)


@dataclass(frozen=True, eq=False)
class Propagation:
    """Normals near the posterior under several priors, each found from the sites of one nearby.

    `likelihood`: Of dense rows. `contrast`: M, (vector, contrast): the scores of a row are M φ, with φ = γ x.
    """

    likelihood: Likelihood
    contrast: Array
    known: dict[bytes, tuple[Array, Array]] = field(default_factory=dict)

    @cached_property
    def points(self) -> tuple[Array, Array]:
        """Points (point, contrast) and log weights (point) that stand for a standard normal."""
        size = self.contrast.shape[1]
        if size == 1:
            axis = np.linspace(-REACH, REACH, POINTS)
            return axis[:, None], -0.5 * axis**2 - logsumexp(-0.5 * axis**2)
        u = ndtri(qmc.Sobol(size, rng=0).random(POINTS_OF_MORE))
        u -= u.mean(axis=0)
        root = np.linalg.cholesky(u.T @ u / len(u))  # of covariance I to the last digit
        return np.asarray(linalg.solve_triangular(root, u.T, lower=True).T), np.full(len(u), -np.log(len(u)))

    def normal(self, objective: LogPosterior, start: Array) -> Found:
        """Return mean (contrast, column) and precision of the normal, and a value that makes its log p(D) Laplace's.

        Each row's likelihood has a site, a factor exp(ν·φ − ½ φᵀτφ). The normal with that likelihood in place of the
        site has the mean and covariance of φ that it has with all sites.

        `objective`: Log posterior of γ. `start`: γ (contrast, column) near its mode, or a mean found before.

        Raises `FloatingPointError` or `LinAlgError` where a number overflows or a precision is not positive.

        See Minka (2001), *Expectation propagation for approximate Bayesian inference*, UAI. Kuss and Rasmussen (2005),
        *Assessing approximate inference for binary Gaussian process classification*, JMLR 6.
        """
        X, prior, shape = np.asarray(self.likelihood.X), objective.prior, start.shape
        of_prior, pull = prior.precision(), prior.gradient(np.zeros(shape)).ravel()
        tau, nu = self.known.get(start.tobytes()) or self._expansion(start)
        for sweep in range(SWEEPS):
            lower = np.linalg.cholesky(self._precision(tau) + of_prior)
            gamma = linalg.cho_solve((lower, True), (nu.T @ X).ravel() + pull).reshape(shape)
            inverse = linalg.solve_triangular(lower, np.eye(len(lower)), lower=True).reshape(-1, *shape)
            spread = (inverse @ X.T).T  # (row, contrast, parameter)
            own = Normals(X @ gamma.T, np.linalg.cholesky(spread @ spread.swapaxes(1, 2)))
            others = own.without(tau, nu)
            log_total, aimed = self._with_likelihood(others)
            log_sites = log_total + others.log_mass - own.log_mass
            moved = np.linalg.solve(own.root, (aimed.mean - own.mean)[..., None])
            wider = 2 * (np.linalg.slogdet(aimed.root)[1] - np.linalg.slogdet(own.root)[1])
            if sweep == SWEEPS - 1 or np.sqrt((moved**2).sum(axis=1)).max() + np.abs(wider).max() < SETTLED:
                break
            new_tau, new_nu = _sites(others, aimed)
            tau, nu = tau + STEP * (new_tau - tau), nu + STEP * (new_nu - nu)
        self.known[gamma.tobytes()] = tau, nu
        quadratic = np.einsum("na,nab,nb->", own.mean, tau, own.mean)
        value = float(prior.log_density(gamma[None])[0] + np.sum(nu * own.mean) - 0.5 * quadratic + log_sites.sum())
        if not np.isfinite(value):
            raise FloatingPointError
        return value, gamma, lower @ lower.T

    def _expansion(self, gamma: Array) -> tuple[Array, Array]:
        """Return the sites τ and ν that have the value, slope and curvature of the likelihoods at γ."""
        phi, y, weight = self.likelihood.X @ gamma.T, self.likelihood.y, self.likelihood.weight
        scores = phi @ self.contrast.T
        P = np.exp(scores - log_normalizer(scores)[:, None])
        curvature = P[:, :, None] * (np.eye(P.shape[1]) - P[:, None, :])
        tau = weight[:, None, None] * (self.contrast.T @ curvature @ self.contrast)
        residual = (y[:, None] == np.arange(P.shape[1])) - P
        return tau, (tau @ phi[..., None])[..., 0] + weight[:, None] * (residual @ self.contrast)

    def _precision(self, tau: Array) -> Array:
        """Return Σ τ ⊗ x xᵀ, (contrast · column, contrast · column)."""
        X, contrasts = np.asarray(self.likelihood.X), tau.shape[1]
        out = np.empty((contrasts, X.shape[1], contrasts, X.shape[1]))
        for a in range(contrasts):
            for b in range(a + 1):
                out[a, :, b] = out[b, :, a] = (X.T * tau[:, a, b]) @ X
        return out.reshape(contrasts * X.shape[1], -1)

    def _with_likelihood(self, others: Normals) -> tuple[Array, Normals]:
        """Return the log mass (row) and the moments of normals times the likelihood of their row."""
        points, log_weight = self.points
        size, y = points.shape[1], self.likelihood.y
        phi = others.mean.T[:, :, None] + others.root.swapaxes(0, 1) @ points.T
        scores = np.tensordot(self.contrast, phi, 1)
        log_share = np.where(y >= 0, scores[np.maximum(y, 0), np.arange(len(y))].T, 0.0).T
        log_share -= log_normalizer(scores, axis=0)
        log_share *= self.likelihood.weight[:, None]
        log_share += log_weight
        top = log_share.max(axis=1, keepdims=True)
        share = np.exp(log_share - top)
        total = share.sum(axis=1, keepdims=True)
        share /= total
        center = share @ points
        square = share @ (points[:, :, None] * points[:, None, :]).reshape(len(points), -1)
        covariance = square.reshape(-1, size, size) - center[:, :, None] * center[:, None, :]
        root = np.linalg.cholesky(covariance + LEAST * np.eye(size))
        mean = others.mean + (others.root @ center[..., None])[..., 0]
        return (np.log(total) + top)[:, 0], Normals(mean, others.root @ root)


def _sites(others: Normals, aimed: Normals) -> tuple[Array, Array]:
    """Return the sites τ and ν with which the normals of the other rows have the moments that are aimed at."""
    ours, theirs = np.linalg.inv(aimed.root), np.linalg.inv(others.root)
    precision = ours.swapaxes(1, 2) @ ours
    tau = precision - theirs.swapaxes(1, 2) @ theirs
    if tau.shape[1] > 1 or (tau < 0).any():  # never negative but for rounding and few points
        own, turn = np.linalg.eigh(tau)
        tau = (turn * np.maximum(own, 0.0)[:, None, :]) @ turn.swapaxes(1, 2)
    pull = precision @ (aimed.mean - others.mean)[..., None] + tau @ others.mean[..., None]
    return tau, pull[..., 0]
