"""PyMC variables μ and Σ of a multivariate Gaussian, and the observed scatters.

Σ is sampled in the coordinates v of a reference factor R that is near its posterior: Σ = RGGᵀRᵀ, G lower triangular
with logarithms of its diagonal, everything in units of the posterior's width; μ likewise. So the target of NUTS is
nearly standard normal whatever the units, the correlations and the number of rows. The density is that of Σ and μ
themselves; the choice of reference changes no answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.transforms import Interval
from pymc.logprob.transforms import Transform
from pytensor.compile.builders import OpFromGraph
from pytensor.tensor import TensorVariable

from bayesclf.arrays import Array
from bayesclf.families.multivariate.covariance import LKJ
from bayesclf.families.multivariate.freedom import SPREAD, Freedom
from bayesclf.families.multivariate.scatters import Scatters


@dataclass(frozen=True)
class Reference:
    """Approximate location and width of the posterior.

    Attributes
    ----------
    mu
        (outcome, feature).
    Sigma
        (feature, other_feature), or (outcome, feature, other_feature).
    rows, rows_of_covariance
        Numbers of rows that inform μ (outcome) and Σ, the prior's weight in rows included.
    """

    mu: Array
    Sigma: Array
    rows: Array
    rows_of_covariance: Array


class _Covariance(Transform):  # type: ignore[misc]
    """Unconstrained coordinates (..., entry) of covariance matrices (..., feature, other_feature).

    The reference factor R and the width w are the third and fourth parameter of the variable.
    """

    name = "covariance"

    def __init__(self, size: int) -> None:
        self._rows, self._columns = np.tril_indices(size)
        self._diagonal = (self._rows == self._columns).astype(float)
        self._entry = np.zeros((size, size), dtype=int)
        self._entry[self._rows, self._columns] = np.arange(len(self._rows))
        self._size = size

    def forward(self, value: TensorVariable, *inputs: Any) -> Any:
        """Return v of Σ."""
        factor, width = _reference(inputs)
        whiten = _inverse(factor)
        G = pt.linalg.cholesky(_product(_product(whiten, value), whiten.mT))
        entries = G[..., self._rows, self._columns]
        logs = pt.log(pt.switch(self._diagonal > 0, entries, 1.0))
        return pt.switch(self._diagonal > 0, logs, entries) / width[..., None]

    def backward(self, value: TensorVariable, *inputs: Any) -> Any:
        """Return Σ of v; the exponential is taken of the diagonal alone, as that of the others could overflow."""
        factor, width = _reference(inputs)
        scaled = value * width[..., None]
        entries = pt.switch(self._diagonal > 0, pt.exp(scaled * self._diagonal), scaled)
        C = _product(factor, self._lower(entries))
        return _product(C, C.mT)

    def log_jac_det(self, value: TensorVariable, *inputs: Any) -> Any:
        """Return log|dΣ/dv|, the sum over i from 0 of log(2 C_ii^(d−i) R_ii^(i+1) G_ii w^(i+1)), C = RG."""
        factor, width = _reference(inputs)
        i = np.arange(self._size)
        log_diagonal = (value * width[..., None])[..., np.diag(self._entry)]
        log_factor = pt.log(_diagonal(factor))
        constant = self._size * np.log(2.0) + self._size * (self._size + 1) / 2 * pt.log(width)
        per_column = (self._size - i) * (log_factor + log_diagonal) + (i + 1) * log_factor + log_diagonal
        return constant + per_column.sum(axis=-1)

    def _lower(self, entries: TensorVariable) -> TensorVariable:
        """Return the lower triangular matrices of entries (..., entry)."""
        return entries[..., self._entry] * np.tri(self._size)


class _Location(Transform):  # type: ignore[misc]
    """Coordinates w of means (outcome, feature): μ = center + factor w, the last two of its four parameters."""

    name = "location"

    def forward(self, value: TensorVariable, *inputs: Any) -> Any:
        """Return w of μ."""
        center, factor = _reference(inputs)
        return _product(_inverse(factor), (value - center)[..., None])[..., 0]

    def backward(self, value: TensorVariable, *inputs: Any) -> Any:
        """Return μ of w."""
        center, factor = _reference(inputs)
        return center + _product(factor, value[..., None])[..., 0]

    def log_jac_det(self, value: TensorVariable, *inputs: Any) -> Any:
        """Return log|factor| of each class."""
        _, factor = _reference(inputs)
        return pt.log(_diagonal(factor)).sum(axis=-1)


def _reference(inputs: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return the last two of a variable's four parameters: its inputs are the size, these, and generators."""
    return inputs[3], inputs[4]


def _batch(value: TensorVariable, core: int) -> list[Any]:
    """Return the lengths of the axes before the last `core`."""
    return [value.shape[axis] for axis in range(value.ndim - core)]


def add_freedom(freedom: Freedom, shared: bool, suffix: str) -> Any:
    """Add ν of one covariance, or of each class, with log(ν − d − 1) ~ Normal(log d, 1) before any row; return c."""
    spectrum = freedom.spectrum
    n, values, total = (
        array[0] if shared else array for array in (freedom.n, np.maximum(spectrum.values, 0.0), freedom.grid.log_total)
    )
    d = values.shape[-1]
    nu = pm.CustomDist(
        f"nu{suffix}",
        pm.Data(f"nu_n{suffix}", n),
        pm.Data(f"nu_values{suffix}", values),
        pm.Data(f"nu_total{suffix}", total + 0.5 * n * (spectrum.log_scale[0] if shared else spectrum.log_scale)),
        logp=_freedom_logp,
        dist=lambda n, values, total, size: 2.0 * values.shape[-1] + 1 + 0 * n,  # where NUTS starts
        signature="(),(d),()->()",
        transform=Interval(d + 1.0, None),
        dims=() if shared else ("outcome",),
    )
    return nu - d - 1


def add_inverse_wishart(
    hyperparameters: tuple[Array, Array, Array, Array, Array | None], c: Any, reference: Reference, suffix: str
) -> tuple[Any, Any]:
    """Add Σ ~ InvWishart(ν, Ψ) and μ_k ~ Normal(m_k, Σ/κ_k); return them.

    Parameters
    ----------
    hyperparameters
        m (outcome, feature), κ (outcome), and ν and Ψ of one covariance, or with the outcome as first axis; and by
        which matrix times c Ψ is larger, as ν is by c.
    c
        A variable, of one covariance or (outcome); None without it.
    """
    m, kappa, nu, psi, target = hyperparameters
    parameters = pm.Data(f"Sigma_nu{suffix}", nu), pm.Data(f"Sigma_psi{suffix}", psi)
    if target is not None:
        own = c[..., None, None] * pm.Data(f"Sigma_target{suffix}", target)
        parameters = parameters[0] + c, parameters[1] + own
    functions = {"logp": _inverse_wishart_logp}
    Sigma = _add_covariance(parameters, functions, "(),(d,d)", reference, suffix)
    spread = (Sigma if psi.ndim == 3 else Sigma[None]) / pm.Data(f"mu_kappa{suffix}", kappa)[:, None, None]
    return _add_means(m, spread, reference, suffix), Sigma


def add_lkj(prior: LKJ, m: Array, reference: Reference, suffix: str) -> tuple[Any, Any]:
    """Add Σ = diag(τ) R diag(τ), R ~ LKJ(η), τ ~ HalfNormal(s), and μ_k ~ Normal(m_k, t²); return them."""
    sd_scale = np.array(np.broadcast_to(np.asarray(prior.sd_scale), reference.Sigma.shape[:-1]))
    eta = np.full(sd_scale.shape[:-1], float(prior.eta))
    parameters = pm.Data(f"Sigma_eta{suffix}", eta), pm.Data(f"Sigma_sd_scale{suffix}", sd_scale)
    functions = {"logp": _lkj_logp}
    Sigma = _add_covariance(parameters, functions, "(),(d)", reference, suffix)
    variance = np.diag(np.asarray(prior.mean_scale) ** 2)
    spread = pm.Data(f"mu_covariance{suffix}", np.tile(variance, (len(m), 1, 1)))
    return _add_means(m, spread, reference, suffix), Sigma


def observe_scatters(suffix: str, mu: TensorVariable, Sigma: TensorVariable, statistics: Scatters) -> None:
    """Add the log likelihood of (n, x̄, S) of rows that are Normal(μ_k, Σ_k), for each pattern of missing cells.

    −(n/2) log|2πΣ| − ½ tr Σ⁻¹(S + n(x̄ − μ)(x̄ − μ)ᵀ) of the observed columns, for any real n ≥ 0 and S ⪰ 0. A missing
    column enters as a standard normal coordinate of its own, which adds nothing.
    """
    covariance = Sigma[None] if Sigma.ndim == 3 else Sigma[None, None]
    cells = np.array(np.broadcast_to(statistics.seen[:, None].astype(float), statistics.mean.shape))
    given = {"n": statistics.n, "mean": statistics.mean, "scatter": statistics.scatter, "seen": cells}
    n, mean, scatter, seen = (pm.Data(f"x_{name}{suffix}", values) for name, values in given.items())
    of_seen = _of_observed(covariance, seen[..., :, None] * seen[..., None, :])
    deviation = (mean - mu[None]) * seen
    moment = scatter + n[..., None, None] * deviation[..., :, None] * deviation[..., None, :]
    squares = (_inverse(of_seen) * moment).sum(axis=(-2, -1))
    log_det = np.log(2 * np.pi) * seen.sum(axis=-1) + _log_det(of_seen)
    pm.Potential(f"x{suffix}", (-0.5 * n * log_det - 0.5 * squares).sum())


def _add_covariance(
    parameters: tuple[Any, Any], functions: dict[str, Any], signature: str, reference: Reference, suffix: str
) -> Any:
    """Add Σ with a density of two parameters, and return it; sampled around the reference."""
    outcome = ("outcome",) if reference.Sigma.ndim == 3 else ()
    return pm.CustomDist(
        f"Sigma{suffix}",
        *parameters,
        pm.Data(f"Sigma_factor{suffix}", np.linalg.cholesky(reference.Sigma)),
        pm.Data(f"Sigma_width{suffix}", 1 / np.sqrt(reference.rows_of_covariance)),
        **functions,
        dist=lambda first, second, factor, width, size: _product(factor, factor.mT),  # for its shape: NUTS draws none
        support_point=lambda rv, size, first, second, factor, width: _product(factor, factor.mT),
        signature=f"{signature},(d,d),()->(d,d)",
        transform=_Covariance(reference.Sigma.shape[-1]),
        dims=(*outcome, f"feature{suffix}", f"other_feature{suffix}"),
    )


def _add_means(m: Array, spread: TensorVariable, reference: Reference, suffix: str) -> Any:
    """Add μ_k ~ Normal(m_k, spread_k), and return it; unlike `pm.MvNormal` it is sampled around the reference."""
    factor = np.linalg.cholesky(reference.Sigma) / np.sqrt(reference.rows)[:, None, None]
    return pm.CustomDist(
        f"mu{suffix}",
        pm.Data(f"mu_m{suffix}", m),
        spread,
        pm.Data(f"mu_centre{suffix}", reference.mu),
        pm.Data(f"mu_factor{suffix}", factor),
        logp=_normal_logp,
        dist=lambda m, spread, center, factor, size: center,  # for its shape, likewise
        support_point=lambda rv, size, m, spread, center, factor: center,
        signature="(d),(d,d),(d),(d,d)->(d)",
        transform=_Location(),
        dims=("outcome", f"feature{suffix}"),
    )


def _normal_logp(mu: Any, m: Any, spread: Any, *reference: Any) -> Any:
    deviation = mu - m
    square = (deviation[..., :, None] * _inverse(spread) * deviation[..., None, :]).sum(axis=(-2, -1))
    return -0.5 * (mu.shape[-1] * np.log(2 * np.pi) + _log_det(spread) + square)


def _product(left: Any, right: Any) -> Any:
    """Return left @ right of (..., i, j) and (..., j, k).

    Numba takes seconds to compile each layout of the operands of `pt.matmul`, more than a whole fit takes to run.
    """
    return (left[..., :, :, None] * right[..., None, :, :]).sum(axis=-2)


def _inverse(matrix: Any) -> Any:
    """Return the inverses of (..., feature, other_feature); their gradient is made of `_product`."""
    variable = pt.as_tensor_variable(matrix)
    inside = variable.type()
    return OpFromGraph([inside], [pt.linalg.inv(inside)], inline=True, pullback=_inverse_pullback)(variable)


def _inverse_pullback(inputs: list[Any], outputs: list[Any], gradients: list[Any]) -> list[Any]:
    transposed = outputs[0].mT
    # Of many patterns of missing cells, all products of entries at once would take too much memory.
    product = _product if transposed.ndim <= 3 else pt.matmul
    return [-product(product(transposed, gradients[0]), transposed)]


def _log_det(matrix: Any) -> Any:
    """Return log|matrix| of (..., feature, other_feature), whose gradient is the inverse.

    PyTensor's own gradient of a Cholesky factor is not compiled by Numba for many matrices, and a determinant outside
    the logarithm overflows.
    """
    variable = pt.as_tensor_variable(matrix)
    inside = variable.type()
    value = 2 * pt.log(_diagonal(pt.linalg.cholesky(inside))).sum(axis=-1)
    return OpFromGraph([inside], [value], inline=True, pullback=_log_det_pullback)(variable)


def _log_det_pullback(inputs: list[Any], outputs: list[Any], gradients: list[Any]) -> list[Any]:
    return [gradients[0][..., None, None] * _inverse(inputs[0]).mT]


def _diagonal(matrix: Any) -> Any:
    """Return the diagonals of (..., feature, other_feature); the gradient of `pt.diagonal` is not compiled either."""
    return (matrix * pt.eye(matrix.shape[-1])).sum(axis=-1)


def _inverse_wishart_logp(Sigma: Any, nu: Any, psi: Any, *reference: Any) -> Any:
    d = psi.shape[-1]
    i = pt.arange(d)
    log_gamma = d * (d - 1) / 4 * np.log(np.pi) + pt.gammaln((nu[..., None] - i) / 2).sum(axis=-1)
    trace = (psi * _inverse(Sigma)).sum(axis=(-2, -1))
    constant = nu / 2 * (_log_det(psi) - d * np.log(2.0)) - log_gamma
    return constant - (nu + d + 1) / 2 * _log_det(Sigma) - trace / 2


def _freedom_logp(nu: Any, n: Any, values: Any, total: Any) -> Any:
    """Return the log density of ν, that of `Freedom.log_density`."""
    d = values.shape[-1]
    c, half = nu - d - 1, (nu[..., None] - pt.arange(d)) / 2
    rising = (pt.gammaln(half + n[..., None] / 2) - pt.gammaln(half)).sum(axis=-1) + 0.5 * n * d * np.log(2)
    ratio = -0.5 * nu * pt.log1p(values / c[..., None]).sum(axis=-1)
    added = pt.log(c[..., None] + values).sum(axis=-1)
    prior = -0.5 * ((pt.log(c) - pt.log(d)) / SPREAD) ** 2 - np.log(SPREAD) - 0.5 * np.log(2 * np.pi) - pt.log(c)
    return prior + rising + ratio - 0.5 * n * added - total


def _lkj_logp(Sigma: Any, eta: Any, sd_scale: Any, *reference: Any) -> Any:
    """Return log p(τ) + log p(R) − log|dΣ/d(τ, R)|, the last being Σ_i log 2τ_i^d."""
    d = sd_scale.shape[-1]
    variance = _diagonal(Sigma)
    log_sd = 0.5 * pt.log(variance)
    of_sd = (0.5 * np.log(2 / np.pi) - pt.log(sd_scale) - 0.5 * variance / sd_scale**2).sum(axis=-1)
    of_correlation = (eta - 1) * (_log_det(Sigma) - 2 * log_sd.sum(axis=-1)) - _lkj_constant(eta, d)
    return of_sd + of_correlation - d * np.log(2.0) - d * log_sd.sum(axis=-1)


def _lkj_constant(eta: Any, d: Any) -> Any:
    """Return the log integral of |R|^(η − 1): of row i of its factor π^(i/2) Γ(η + (d−1−i)/2)/Γ(η + (d−1)/2)."""
    i = pt.arange(1, d)
    rows = i / 2 * np.log(np.pi) + pt.gammaln(eta[..., None] + (d - 1 - i) / 2)
    return (rows - pt.gammaln(eta[..., None] + (d - 1) / 2)).sum(axis=-1)


def _of_observed(Sigma: Any, both: Any) -> Any:
    """Return Σ where both columns are observed, and a standard normal coordinate for each column that is not.

    Of Σ·both + I·(1 − both) PyTensor makes I + (Σ − I)·both, which loses the digits of a small variance.
    """
    return pt.switch(pt.gt(both, 0), Sigma, pt.eye(Sigma.shape[-1]))
