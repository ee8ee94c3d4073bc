"""Predictive densities of training rows, each under the posterior of the other rows, in closed form.

The hyperparameters of a conjugate posterior are sums over rows, so that a row is left out by taking its term away from
them; only those of its own class change, and those that classes share. All rows are done at once.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.special import gammaln

from bayesclf.families import dirichlet
from bayesclf.families.base import Family, Rows
from bayesclf.families.bernoulli import Bernoulli
from bayesclf.families.categorical import Categorical
from bayesclf.families.cells import canonical
from bayesclf.families.class_prior import ClassPrior, LearntClassPrior
from bayesclf.families.conditional_tables import ConditionalTables
from bayesclf.families.gaussian import SHARED_OVER, Gaussian, log_student_t
from bayesclf.families.generative import GenerativeModel
from bayesclf.families.multinomial import Multinomial
from bayesclf.families.multivariate_gaussian import MultivariateGaussian
from bayesclf.typing import Array, Integers

LOST = 1e-6
"""Share of a scatter that has to remain without a row: below it the difference would lose six digits of sixteen."""


def log_joint_without(model: GenerativeModel, rows: Rows, y: Integers) -> Array:
    """Return log p(x_i, k | all rows but i), (row, outcome); NaN for rows that need another way.

    Parameters
    ----------
    model
        A conjugate model conditioned on the rows.
    rows
        The training rows, each of weight 1.
    y
        Their label codes (row).
    """
    posterior = model.posterior()
    total = _log_class_prior_without(posterior.class_prior, y)
    for block, part in zip(posterior.blocks, rows.parts, strict=True):
        total += log_predictive_without(block.family, part, y)
    return total


def _log_class_prior_without(posterior: ClassPrior, y: Integers) -> Array:
    """Return log E[π | all labels but y_i], (row, outcome)."""
    if not isinstance(posterior, LearntClassPrior):
        with np.errstate(divide="ignore"):
            return np.repeat(np.log(posterior.pi)[None], len(y), axis=0)
    own = np.arange(posterior.alpha.size) == y[:, None]
    return np.asarray(np.log(posterior.alpha - own) - np.log(posterior.alpha.sum() - 1))


@singledispatch
def log_predictive_without(posterior: Family[Any], X: Any, y: Integers) -> Array:
    """Return log p(x_i | k, all rows but i), (row, outcome); NaN for rows that need another way, or (row, 1) for all.

    Parameters
    ----------
    posterior
        The family with the hyperparameters of its posterior given all rows.
    X
        The training rows in the family's encoding (row, feature), each of weight 1.
    y
        Their label codes (row).
    """
    return np.full((len(y), 1), np.nan)


@log_predictive_without.register
def _(posterior: Categorical, X: Integers, y: Integers) -> Array:
    """Own class: Π_j (α_jl − 1)/(Σα_j − 1) over the seen cells, α of the posterior."""
    sizes = posterior.axes.sizes
    cells = np.where(X >= 0, X + dirichlet.starts(sizes), -1)
    return _with_own(posterior, X, y, _of_tables(np.asarray(posterior.alpha), cells, y, sizes))


@log_predictive_without.register
def _(posterior: ConditionalTables, X: Integers, y: Integers) -> Array:
    """Own class: Π_f (α_c − 1)/(Σα − 1) over the cells c that the row uses, α of the posterior."""
    layout = posterior.layout(posterior.axes)
    own = _of_tables(np.asarray(posterior.alpha), layout.cells_of(X), y, layout.simplexes)
    return _with_own(posterior, X, y, own)


@log_predictive_without.register
def _(posterior: Bernoulli, X: Any, y: Integers) -> Array:
    """Own class: (α − 1)/(α + β − 1) for a feature that is present, (β − 1)/(α + β − 1) for one that is not."""
    present, seen = posterior._events(X)
    alpha, beta = np.asarray(posterior.alpha), np.asarray(posterior.beta)
    with np.errstate(divide="ignore", invalid="ignore"):
        # A concentration of at most 1 has not counted a row, and so is none's own.
        log_present, log_absent = (np.where(v > 1, np.log((v - 1) / (alpha + beta - 1)), 0.0) for v in (alpha, beta))
    own = np.empty(len(y))
    for k in np.unique(y):
        rows = np.flatnonzero(y == k)
        absent = log_absent[k].sum() if seen is None else seen[rows] @ log_absent[k]
        own[rows] = absent + present[rows] @ (log_present[k] - log_absent[k])
    return _with_own(posterior, X, y, own)


@log_predictive_without.register
def _(posterior: Multinomial, X: Any, y: Integers) -> Array:
    """Own class: Pólya's Γ(A − N)/Γ(A) Π_j Γ(a_j)/Γ(a_j − x_j), with a of the posterior, A = Σa and N = Σx."""
    alpha, counts = np.asarray(posterior.alpha), canonical(sparse.csr_array(X))
    row = np.repeat(np.arange(len(y)), np.diff(counts.indptr))
    total, length = alpha.sum(axis=1)[y], np.asarray(counts.sum(axis=1), dtype=float)
    of_word = alpha[y[row], counts.indices]
    own = np.bincount(row, gammaln(of_word) - gammaln(of_word - counts.data), minlength=len(y))
    return _with_own(posterior, X, y, own - (gammaln(total) - gammaln(total - length)))


@log_predictive_without.register
def _(posterior: Gaussian, X: Array, y: Integers) -> Array:
    """Student's t with a − 1/2 and b − ½ κ/(κ − 1)(x − m)² for each cell taken away, own class (κm − x)/(κ − 1) too."""
    m, kappa, a, b = posterior._hyperparameters()
    shared = SHARED_OVER[posterior.variance]
    seen = ~np.isnan(X)
    over_classes, jointly = 0 in shared, 1 in shared
    group = np.zeros_like(y) if over_classes else y
    weight = np.where(seen, kappa[y] / np.where(seen, kappa[y] - 1, 1.0), 0.0)
    deviation = np.where(seen, X - m[y], 0.0)
    removed = weight * deviation**2
    cells = seen.astype(float)
    if jointly:
        removed, cells = removed.sum(axis=1, keepdims=True), cells.sum(axis=1, keepdims=True)
    shape, rate = a[group] - cells / 2, b[group] - removed / 2
    kept = (rate > LOST * b[group]).all(axis=1)
    rate = np.where(kept[:, None], rate, b[group])

    def log_density(squares: Array, spread: Array) -> Array:
        """Return the log density of t at (x − location)², (row, feature), with scale² `spread`·rate/shape."""
        distance = np.where(seen, squares * shape / (spread * rate), 0.0)
        log_scale = np.where(seen, np.log(spread * rate / shape), 0.0)
        if jointly:
            distance, log_scale = (v.sum(axis=1, keepdims=True) for v in (distance, log_scale))
        return log_student_t(distance, 2 * shape, cells, log_scale).sum(axis=1)

    own = log_density((weight * deviation) ** 2, np.where(seen, weight, 1.0))
    if over_classes:
        others = (log_density(np.where(seen, X - m[k], 0.0) ** 2, (kappa[k] + 1) / kappa[k]) for k in range(len(m)))
        out = np.stack(list(others), axis=1)
    else:
        out = posterior.log_predictive(X)
    out[np.arange(len(y)), y] = own
    out[~kept] = np.nan
    return out


@log_predictive_without.register
def _(posterior: MultivariateGaussian, X: Array, y: Integers) -> Array:
    """Multivariate t with ν − 1 and Ψ − c uuᵀ, u = x − m and c = κ/(κ − 1) of the own class (Sherman–Morrison)."""
    out = np.zeros((len(X), len(posterior.axes.labels)))
    seen = np.flatnonzero(~np.isnan(X).any(axis=1))
    out[seen] = _log_t_without(posterior, X[seen], y[seen])
    return out


def _log_t_without(posterior: MultivariateGaussian, X: Array, y: Integers) -> Array:
    """Return the same for rows without missing cells, the only ones with any cell in a conjugate model."""
    m, kappa, nu, psi = posterior._hyperparameters()
    d, shared = m.shape[1], posterior.covariance == "shared"
    group = np.zeros_like(y) if shared else y
    factors = np.linalg.cholesky(psi)
    log_det = 2 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)[group]

    def whitened(labels: Integers) -> Array:
        """Return L⁻¹(x − m_k), (row, feature), with Ψ = LLᵀ of the row's own group."""
        out, deviation = np.empty_like(X), X - m[labels]
        for g in np.unique(group):
            rows = group == g
            out[rows] = linalg.solve_triangular(factors[g], deviation[rows].T, lower=True).T
        return out

    own, c = whitened(y), kappa[y] / (kappa[y] - 1)
    remaining = 1 - c * (own**2).sum(axis=1)
    kept = remaining > LOST
    remaining = np.where(kept, remaining, 1.0)
    freedom = nu[group] - d

    def log_density(squares: Array, spread: Array) -> Array:
        """Return the log density of t from (x − m)ᵀ(Ψ − cuuᵀ)⁻¹(x − m), (row), with scale `spread`/freedom of it."""
        scale = spread / freedom
        return log_student_t(squares / scale, freedom, float(d), log_det + np.log(remaining) + d * np.log(scale))

    out = posterior.log_predictive(X) if not shared else np.empty((len(X), len(m)))
    for k in range(len(m)) if shared else ():
        other = whitened(np.full_like(y, k))
        squares = (other**2).sum(axis=1) + c * (own * other).sum(axis=1) ** 2 / remaining
        out[:, k] = log_density(squares, (kappa[k] + 1) / kappa[k])
    out[np.arange(len(y)), y] = log_density(c**2 * (own**2).sum(axis=1) / remaining, c)
    out[~kept] = np.nan
    return out


def _of_tables(alpha: Array, cells: Integers, y: Integers, simplexes: tuple[int, ...]) -> Array:
    """Return Σ log (α_c − 1)/(Σα − 1) over the cells (row, cell) of each row in its own class, −1 for none."""
    used, own = cells >= 0, y[:, None]
    total = dirichlet.totals(alpha, simplexes)
    shares = np.divide(alpha[own, cells] - 1, total[own, cells] - 1, out=np.ones(cells.shape), where=used)
    return np.asarray(np.log(shares).sum(axis=1))


def _with_own(posterior: Any, X: NDArray[Any], y: Integers, own: Array) -> Array:
    """Return the posterior's predictive (row, outcome), right for the other classes, with `own` for each row's."""
    out = np.array(posterior.log_predictive(X))
    out[np.arange(len(y)), y] = own
    return out
