"""Expectation propagation: the normal whose moments agree with the posterior's, one row at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import linalg
from scipy.special import logsumexp, ndtri
from scipy.stats import qmc

from bayesclf.arrays import Array
from bayesclf.models.logistic.likelihood import Likelihood, LogPosterior, MappedLikelihood, log_normalizer
from bayesclf.models.logistic.nodes import Found

AXIS = ((7.0, 101),)
"""Half width and number of points along one axis and along two, at which the likelihood of a row is averaged."""
POINTS = 256
"""Points along more axes."""
SWEEPS, STEP, SETTLED = 12, 0.6, 0.1
"""Most sweeps over the rows, how far each goes, and the change of a row's mean and log sd that ends them, in sds."""
LEAST = 1e-6
"""Share of the precision of a row's scores that the other rows keep at least."""


_SITES = {}
_COUNT = []
@cache
def normal_points(size: int) -> tuple[Array, Array]:
    """Return points (point, size) and log weights (point) that stand for a standard normal, of covariance I."""
    if size <= len(AXIS):
        reach, number = AXIS[size - 1]
        axis = np.linspace(-reach, reach, number)
        points = np.stack(np.meshgrid(*[axis] * size, indexing="ij"), axis=-1).reshape(-1, size)
        log_weight = -0.5 * np.sum(points**2, axis=1)
        return points, log_weight - logsumexp(log_weight)
    points = ndtri(qmc.Sobol(size, rng=0).random(POINTS))
    points = points - points.mean(axis=0)
    points = linalg.solve_triangular(np.linalg.cholesky(points.T @ points / POINTS), points.T, lower=True).T
    return np.asarray(points), np.full(POINTS, -np.log(POINTS))


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a likelihood in the coordinates of the prior's contrasts.

    `likelihood`: Of dense rows. `contrast`: M, (vector, contrast): scores are M φ, with φ = γ x.
    """

    likelihood: Likelihood
    contrast: Array

    @classmethod
    def of(cls, likelihood: Likelihood | MappedLikelihood) -> Rows:
        """Return the rows of a likelihood that is searched."""
        if isinstance(likelihood, Likelihood):
            return cls(likelihood, np.eye(likelihood.vectors))
        own = likelihood.likelihood
        assert isinstance(own, Likelihood) and likelihood.columns is None
        return cls(own, np.eye(own.vectors) if likelihood.contrast is None else likelihood.contrast)

    def log_likelihood(self, phi: Array) -> Array:
        """Return w log P(y | φ) of φ (contrast, row, point), (row, point)."""
        scores, y = np.tensordot(self.contrast, phi, 1), self.likelihood.y
        own = np.where(y >= 0, scores[np.maximum(y, 0), np.arange(len(y))].T, 0.0).T
        own -= log_normalizer(scores, axis=0)
        return own * self.likelihood.weight[:, None]

    def expansion(self, gamma: Array) -> tuple[Array, Array]:
        """Return the sites whose value, slope and curvature are the likelihood's at γ: τ and ν."""
        phi = self.likelihood.X @ gamma.T
        scores = phi @ self.contrast.T
        P = np.exp(scores - log_normalizer(scores)[:, None])
        residual = -P
        members = np.flatnonzero(self.likelihood.y >= 0)
        residual[members, self.likelihood.y[members]] += 1
        weight = self.likelihood.weight
        curvature = P[:, :, None] * (np.eye(P.shape[1]) - P[:, None, :])
        tau = weight[:, None, None] * (self.contrast.T @ curvature @ self.contrast)
        return tau, np.einsum("nab,nb->na", tau, phi) + weight[:, None] * (residual @ self.contrast)

    def precision(self, tau: Array) -> Array:
        """Return Σ τ ⊗ x xᵀ, (contrast · column, contrast · column)."""
        X = self.likelihood.X
        columns, contrasts = X.shape[1], self.contrast.shape[1]
        out = np.empty((contrasts, columns, contrasts, columns))
        for a in range(contrasts):
            for b in range(a + 1):
                out[a, :, b] = out[b, :, a] = (X.T * tau[:, a, b]) @ X
        return out.reshape(contrasts * columns, -1)


def normal(objective: LogPosterior, start: Array) -> Found:
    """Return log p(D) in the form of a value at the mean, the mean (contrast, column), and the precision.

    Each row's likelihood has a site, a normal factor exp(ν·φ − ½ φᵀτφ), such that the normal with that row's likelihood
    in place of its site has the mean and covariance of the normal with all sites. Where rows are separable, the
    posterior is a normal cut off by walls, far from its mode: the curvature there sees no wall, and moments do.

    `objective`: Log posterior of dense rows. `start`: γ (contrast, column), near which the search starts.

    Raises `FloatingPointError` where a number overflows, or a precision is not positive.

    See Minka (2001), *Expectation propagation for approximate Bayesian inference*, UAI. Kuss and Rasmussen (2005),
    *Assessing approximate inference for binary Gaussian process classification*, JMLR 6.
    """
    rows = Rows.of(objective.likelihood)
    X, shape = rows.likelihood.X, start.shape
    of_prior = objective.prior.precision()
    pull = objective.prior.gradient(np.zeros(shape)).ravel()
    points, log_weight = normal_points(shape[0])
    pairs = (points[:, :, None] * points[:, None, :]).reshape(len(points), -1)
    known = _SITES.get(start.tobytes())
    tau, nu = known or rows.expansion(start)
    for sweep in range(SWEEPS):
        lower = np.linalg.cholesky(rows.precision(tau) + of_prior)
        gamma = linalg.cho_solve((lower, True), (nu.T @ X).ravel() + pull).reshape(shape)
        mean = X @ gamma.T
        inverse = linalg.solve_triangular(lower, np.eye(len(lower)), lower=True).reshape(-1, *shape)
        spread = np.einsum("pad,nd->nap", inverse, X, optimize=True)
        covariance = spread @ spread.swapaxes(1, 2)
        # the other rows: the normal without the site of this one, as a mean and a root of the covariance
        root = np.linalg.cholesky(covariance)
        own, turn = np.linalg.eigh(np.eye(shape[0]) - root.swapaxes(1, 2) @ tau @ root)
        root = (root @ turn) / np.sqrt(np.maximum(own, LEAST))[:, None, :]
        without = np.einsum("nab,ncb,nc->na", root, root, np.linalg.solve(covariance, mean[..., None])[..., 0] - nu)
        # its moments with the likelihood of the row, in units of that root
        log_likelihood = rows.log_likelihood(without.T[:, :, None] + root.swapaxes(0, 1) @ points.T) + log_weight
        top = log_likelihood.max(axis=1, keepdims=True)
        share = np.exp(log_likelihood - top)
        total = share.sum(axis=1)
        share /= share.sum(axis=1, keepdims=True)
        center = share @ points
        square = (share @ pairs).reshape(-1, shape[0], shape[0])
        square -= center[:, :, None] * center[:, None, :]
        log_total = np.log(total) + top[:, 0]
        log_site = log_total + _log_mass(without, root) - _log_mass(mean, np.linalg.cholesky(covariance))
        moved = without + np.einsum("nab,nb->na", root, center) - mean
        far = np.sqrt(np.einsum("na,nab,nb->n", moved, np.linalg.inv(covariance), moved)).max()
        wider = 2 * np.linalg.slogdet(root)[1] + np.linalg.slogdet(square)[1] - np.linalg.slogdet(covariance)[1]
        far += np.abs(wider).max()
        # the sites that have these moments
        own, turn = np.linalg.eigh(square)
        own = 1 / np.maximum(own, LEAST)
        out = np.linalg.inv(root).swapaxes(1, 2) @ turn
        new_tau = (out * np.maximum(own - 1, 0.0)[:, None, :]) @ out.swapaxes(1, 2)
        new_nu = np.einsum("nab,nb,ncb,nc->na", out, own, turn, center) + np.einsum("nab,nb->na", new_tau, without)
        if far < SETTLED or sweep == SWEEPS - 1:
            break
        tau, nu = tau + STEP * (new_tau - tau), nu + STEP * (new_nu - nu)
    _SITES[gamma.tobytes()] = tau, nu
    _COUNT.append(sweep)
    sites = np.sum(nu * mean) - 0.5 * np.einsum("na,nab,nb->", mean, tau, mean) + log_site.sum()
    value = float(objective.prior.log_density(gamma[None])[0] + sites)
    if not np.isfinite(value):
        raise FloatingPointError
    return value, gamma, lower @ lower.T


def _log_mass(mean: Array, root: Array) -> Array:
    """Return ½ mᵀ Σ⁻¹ m + ½ log |Σ| of means m (row, size) and roots of Σ (row, size, size), (row)."""
    scaled = np.linalg.solve(root, mean[..., None])[..., 0]
    return np.asarray(0.5 * np.sum(scaled**2, axis=1) + np.linalg.slogdet(root)[1])
