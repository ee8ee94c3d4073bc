"""PyMC variables μ and Σ of a multivariate Gaussian, and the scatters that they are learnt from.

Σ is sampled in the coordinates v of a reference factor R that is near its posterior: Σ = RGGᵀRᵀ, G lower triangular
with logarithms of its diagonal, everything in units of the posterior's width; μ likewise. So NUTS meets nearly the
same standard normal whatever the units, the correlations and the number of rows. The density is that of Σ and μ
themselves; which reference is taken changes no answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.transforms import Transform
from pytensor.tensor import TensorVariable

from bayesclf.families.base import Array
from bayesclf.families.inverse_wishart import draw_factors, outer
from bayesclf.families.lkj import LKJ
from bayesclf.families.scatters import Scatters


@dataclass(frozen=True)
class Reference:
    """Where the posterior is thought to be, and how wide.

    Attributes
    ----------
    mu
        (outcome, feature).
    Sigma
        (feature, other_feature), or (outcome, feature, other_feature).
    rows
        Rows, those that the prior is worth included, that μ (outcome) and Σ are learnt from.
    """

    mu: Array
    Sigma: Array
    rows: Array
    rows_of_covariance: Array


class _Covariance(Transform):  # type: ignore[misc]
    """Unconstrained coordinates (..., entry) of covariance matrices (..., feature, other_feature)."""

    name = "covariance"

    def __init__(self, factor: TensorVariable, width: TensorVariable, size: int) -> None:
        self._factor, self._width, self._size = factor, width, size
        rows, columns = np.tril_indices(size)
        place = np.zeros((len(rows), size, size))
        place[np.arange(len(rows)), rows, columns] = 1.0
        self._place = place.reshape(len(rows), -1)
        self._diagonal = (rows == columns).astype(float)

    def forward(self, value: TensorVariable, *inputs: Any) -> Any:
        """Return v of Σ."""
        whiten = pt.linalg.inv(self._factor)
        G = pt.linalg.cholesky(pt.matmul(pt.matmul(whiten, value), whiten.mT))
        entries = pt.matmul(G.reshape((*_batch(value, 2), self._size**2)), self._place.T)
        logs = pt.log(pt.switch(self._diagonal > 0, entries, 1.0))
        return pt.switch(self._diagonal > 0, logs, entries) / self._width[..., None]

    def backward(self, value: TensorVariable, *inputs: Any) -> Any:
        """Return Σ of v."""
        C = pt.matmul(self._factor, self._lower(value))
        return pt.matmul(C, C.mT)

    def log_jac_det(self, value: TensorVariable, *inputs: Any) -> Any:
        """Return log|dΣ/dv| = Σ_i log(2 C_ii^(d−i) R_ii^(i+1) G_ii w^(i+1)), i from 0, w the width."""
        i = np.arange(self._size)
        log_diagonal = pt.matmul(value * self._width[..., None] * self._diagonal, self._place)
        log_diagonal = log_diagonal.reshape((*_batch(value, 1), self._size, self._size)).sum(axis=-1)
        log_factor = pt.log(pt.diagonal(self._factor, axis1=-2, axis2=-1))
        constant = self._size * np.log(2.0) + self._size * (self._size + 1) / 2 * pt.log(self._width)
        per_column = (self._size - i) * (log_factor + log_diagonal) + (i + 1) * log_factor + log_diagonal
        return constant + per_column.sum(axis=-1)

    def _lower(self, value: TensorVariable) -> Any:
        """Return G; the exponential is taken of the diagonal alone, as that of the others could overflow."""
        scaled = value * self._width[..., None]
        entries = pt.switch(self._diagonal > 0, pt.exp(scaled * self._diagonal), scaled)
        return pt.matmul(entries, self._place).reshape((*_batch(value, 1), self._size, self._size))


class _Location(Transform):  # type: ignore[misc]
    """Coordinates w of means (outcome, feature): μ = centre + factor w."""

    name = "location"

    def __init__(self, centre: TensorVariable, factor: TensorVariable) -> None:
        self._centre, self._factor = centre, factor

    def forward(self, value: TensorVariable, *inputs: Any) -> Any:
        """Return w of μ."""
        return pt.matmul(pt.linalg.inv(self._factor), (value - self._centre)[..., None])[..., 0]

    def backward(self, value: TensorVariable, *inputs: Any) -> Any:
        """Return μ of w."""
        return self._centre + pt.matmul(self._factor, value[..., None])[..., 0]

    def log_jac_det(self, value: TensorVariable, *inputs: Any) -> Any:
        """Return log|factor| of each class."""
        return pt.log(pt.diagonal(self._factor, axis1=-2, axis2=-1)).sum(axis=-1)


def _batch(value: TensorVariable, core: int) -> list[Any]:
    """Return the lengths of the axes before the last `core`."""
    return [value.shape[axis] for axis in range(value.ndim - core)]


def add_inverse_wishart(
    hyperparameters: tuple[Array, Array, Array, Array], reference: Reference, suffix: str
) -> tuple[Any, Any]:
    """Add Σ ~ InvWishart(ν, Ψ) and μ_k ~ Normal(m_k, Σ/κ_k); return them.

    Parameters
    ----------
    hyperparameters
        m (outcome, feature), κ (outcome), and ν and Ψ of one covariance, or with the outcome as first axis.
    """
    m, kappa, nu, psi = hyperparameters
    Sigma = pm.CustomDist(
        f"Sigma{suffix}",
        pm.Data(f"Sigma_nu{suffix}", nu),
        pm.Data(f"Sigma_psi{suffix}", psi),
        logp=_inverse_wishart_logp,
        random=_inverse_wishart_random,
        signature="(),(d,d)->(d,d)",
        **_covariance_options(reference, suffix),
    )
    scale = pt.linalg.cholesky(Sigma)
    scale = (scale if psi.ndim == 3 else scale[None]) / pm.Data(f"mu_kappa{suffix}", kappa)[:, None, None] ** 0.5
    mu = pm.MvNormal(f"mu{suffix}", pm.Data(f"mu_m{suffix}", m), chol=scale, **_mean_options(reference, suffix))
    return mu, Sigma


def add_lkj(prior: LKJ, m: Array, reference: Reference, suffix: str) -> tuple[Any, Any]:
    """Add Σ = diag(τ) R diag(τ), R ~ LKJ(η), τ ~ HalfNormal(s), and μ_k ~ Normal(m_k, t²); return them."""
    sd_scale = np.broadcast_to(np.asarray(prior.sd_scale), reference.Sigma.shape[:-1])
    Sigma = pm.CustomDist(
        f"Sigma{suffix}",
        pm.Data(f"Sigma_eta{suffix}", np.full(sd_scale.shape[:-1], float(prior.eta))),
        pm.Data(f"Sigma_sd_scale{suffix}", np.array(sd_scale)),
        logp=_lkj_logp,
        random=_lkj_random,
        signature="(),(d)->(d,d)",
        **_covariance_options(reference, suffix),
    )
    mean_scale = np.broadcast_to(np.asarray(prior.mean_scale)[:, None] * np.eye(m.shape[1]), (*m.shape, m.shape[1]))
    scale = pm.Data(f"mu_scale{suffix}", np.array(mean_scale))
    mu = pm.MvNormal(f"mu{suffix}", pm.Data(f"mu_m{suffix}", m), chol=scale, **_mean_options(reference, suffix))
    return mu, Sigma


def observe_scatters(name: str, mu: TensorVariable, Sigma: TensorVariable, statistics: Scatters) -> None:
    """Observe (n, x̄, S) of rows that are Normal(μ_k, Σ_k), a set for each pattern of missing cells.

    Log likelihood −(n/2) log|2πΣ| − ½ tr Σ⁻¹(S + n(x̄ − μ)(x̄ − μ)ᵀ) of the seen columns, for any real n ≥ 0 and
    S ⪰ 0. A missing column enters as a standard normal coordinate of its own, which adds nothing.
    """
    seen = np.broadcast_to(statistics.seen[:, None].astype(float), statistics.mean.shape)
    pm.CustomDist(
        f"{name}_mean",
        mu[None],
        Sigma[None] if Sigma.ndim == 3 else Sigma[None, None],
        pm.Data(f"{name}_n", statistics.n),
        pm.Data(f"{name}_scatter", statistics.scatter),
        pm.Data(f"{name}_seen", np.array(seen)),
        logp=_scatters_logp,
        signature="(d),(d,d),(),(d,d),(d)->(d)",
        observed=pm.Data(f"{name}_data", statistics.mean),
    )


def _covariance_options(reference: Reference, suffix: str) -> dict[str, Any]:
    factor = pm.Data(f"Sigma_factor{suffix}", np.linalg.cholesky(reference.Sigma))
    width = pm.Data(f"Sigma_width{suffix}", 1 / np.sqrt(reference.rows_of_covariance))
    outcome = ("outcome",) if reference.Sigma.ndim == 3 else ()
    return {
        "transform": _Covariance(factor, width, reference.Sigma.shape[-1]),
        "initval": reference.Sigma,
        "dims": (*outcome, f"feature{suffix}", f"other_feature{suffix}"),
    }


def _mean_options(reference: Reference, suffix: str) -> dict[str, Any]:
    factor = np.linalg.cholesky(reference.Sigma) / np.sqrt(reference.rows)[:, None, None]
    centre = pm.Data(f"mu_centre{suffix}", reference.mu)
    return {
        "transform": _Location(centre, pm.Data(f"mu_factor{suffix}", factor)),
        "initval": reference.mu,
        "dims": ("outcome", f"feature{suffix}"),
    }


def _log_det(matrix: Any) -> Any:
    return 2 * pt.log(pt.diagonal(pt.linalg.cholesky(matrix), axis1=-2, axis2=-1)).sum(axis=-1)


def _inverse_wishart_logp(Sigma: Any, nu: Any, psi: Any) -> Any:
    d = psi.shape[-1]
    i = pt.arange(d)
    log_gamma = d * (d - 1) / 4 * np.log(np.pi) + pt.gammaln((nu[..., None] - i) / 2).sum(axis=-1)
    trace = pt.diagonal(pt.matmul(psi, pt.linalg.inv(Sigma)), axis1=-2, axis2=-1).sum(axis=-1)
    constant = nu / 2 * (_log_det(psi) - d * np.log(2.0)) - log_gamma
    return constant - (nu + d + 1) / 2 * _log_det(Sigma) - trace / 2


def _lkj_logp(Sigma: Any, eta: Any, sd_scale: Any) -> Any:
    """Return log p(τ) + log p(R) − log|dΣ/d(τ, R)|, the last being Σ_i log 2τ_i^d."""
    d = sd_scale.shape[-1]
    variance = pt.diagonal(Sigma, axis1=-2, axis2=-1)
    log_sd = 0.5 * pt.log(variance)
    of_sd = (0.5 * np.log(2 / np.pi) - pt.log(sd_scale) - 0.5 * variance / sd_scale**2).sum(axis=-1)
    of_correlation = (eta - 1) * (_log_det(Sigma) - 2 * log_sd.sum(axis=-1)) - _lkj_constant(eta, d)
    return of_sd + of_correlation - d * np.log(2.0) - d * log_sd.sum(axis=-1)


def _lkj_constant(eta: Any, d: Any) -> Any:
    """Return the log integral of |R|^(η − 1): of row i of its factor π^(i/2) Γ(η + (d−1−i)/2)/Γ(η + (d−1)/2)."""
    i = pt.arange(1, d)
    rows = i / 2 * np.log(np.pi) + pt.gammaln(eta[..., None] + (d - 1 - i) / 2)
    return (rows - pt.gammaln(eta[..., None] + (d - 1) / 2)).sum(axis=-1)


def _scatters_logp(mean: Any, mu: Any, Sigma: Any, n: Any, scatter: Any, seen: Any) -> Any:
    both = seen[..., :, None] * seen[..., None, :]
    covariance = Sigma * both + pt.eye(mean.shape[-1]) * (1 - both)
    deviation = (mean - mu) * seen
    moment = scatter + n[..., None, None] * deviation[..., :, None] * deviation[..., None, :]
    squares = (pt.linalg.inv(covariance) * moment).sum(axis=(-2, -1))
    return -0.5 * n * (np.log(2 * np.pi) * seen.sum(axis=-1) + _log_det(covariance)) - 0.5 * squares


def _inverse_wishart_random(nu: Any, psi: Any, rng: np.random.Generator, size: Any = None) -> Array:
    batch = tuple(size) if size is not None else np.shape(nu)
    groups = int(np.prod(batch, dtype=int))
    d = psi.shape[-1]
    nus = np.broadcast_to(nu, batch).reshape(groups)
    psis = np.broadcast_to(psi, (*batch, d, d)).reshape(groups, d, d)
    return outer(draw_factors(nus, psis, rng, 1)[0]).reshape(*batch, d, d)


def _lkj_random(eta: Any, sd_scale: Any, rng: np.random.Generator, size: Any = None) -> Array:
    batch = tuple(size) if size is not None else np.shape(eta)
    groups = int(np.prod(batch, dtype=int))
    first = sd_scale.reshape(-1, sd_scale.shape[-1])[0]
    return LKJ(float(np.ravel(eta)[0]), first).draw(rng, 1, groups)[0].reshape(*batch, len(first), len(first))
