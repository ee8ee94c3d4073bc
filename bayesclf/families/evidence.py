"""Evidence p(D) = ∫ p(D | θ) p(θ) dθ of conjugate blocks: the ratio of the posterior's normaliser to the prior's."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from scipy.special import betaln, gammaln, multigammaln, xlogy

from bayesclf.errors import Refused
from bayesclf.families import dirichlet
from bayesclf.families.base import Family
from bayesclf.families.bernoulli import Bernoulli, BernoulliStatistics
from bayesclf.families.categorical import Categorical, CategoricalStatistics
from bayesclf.families.class_prior import ClassPrior, KnownClassPrior
from bayesclf.families.conditional_tables import ConditionalTables
from bayesclf.families.gaussian import Gaussian
from bayesclf.families.moments import Moments
from bayesclf.families.multinomial import Multinomial, MultinomialStatistics
from bayesclf.families.multivariate_gaussian import MultivariateGaussian
from bayesclf.families.row_counts import RowCounts
from bayesclf.families.scatters import Scatters
from bayesclf.typing import Array


@singledispatch
def log_evidence(family: Family[Any], statistics: Any) -> Array:
    """Return log ∫ Π_rows p(x | y, θ) p(θ) dθ, one value for each part of the block that has parameters of its own.

    Parameters
    ----------
    family
        The block's family with its prior resolved. Evidence of models is comparable where the priors are explicit
        and proper; one that was set from the same rows has seen them twice.
    statistics
        Sufficient statistics of the rows.

    Returns
    -------
    ndarray
        (feature), or (1) where features share parameters; the block's evidence is the sum.

    Raises
    ------
    Refused
        For a family without a closed form.
    """
    raise Refused(f"the evidence of the family {family.name!r} has no closed form here")


@log_evidence.register
def _(family: Categorical, statistics: CategoricalStatistics) -> Array:
    """Σ_k log B(α_jk + n_jk) − log B(α_jk), the Dirichlet-multinomial of the rows in their order."""
    alpha, sizes = np.asarray(family.alpha), statistics.axes.sizes
    both = dirichlet.log_beta(alpha + statistics.counts, sizes) - dirichlet.log_beta(alpha, sizes)
    return np.asarray(both.sum(axis=0))


@log_evidence.register
def _(family: Gaussian, statistics: Moments) -> Array:
    """Γ(a_n)/Γ(a) · b^a/b_n^a_n · Π √(κ/κ_n) · (2π)^(−n/2), the product over the means that share the variance.

    References
    ----------
    Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, eq 95.
    """
    posterior = family.posterior(statistics)
    (kappa, a, b), (kappa_n, a_n, b_n) = (
        (np.asarray(f.kappa), np.asarray(f.a), np.asarray(f.b)) for f in (family, posterior)
    )
    of_means = 0.5 * np.log(kappa / kappa_n) - 0.5 * statistics.n * np.log(2 * np.pi)
    of_variances = gammaln(a_n) - gammaln(a) + a * np.log(b) - a_n * np.log(b_n)
    if family.variance in ("class", "shared"):
        return np.asarray(of_means.sum() + of_variances.sum())[None]
    return np.asarray(of_means.sum(axis=0) + of_variances.sum(axis=0))


@log_evidence.register
def _(family: ConditionalTables, statistics: RowCounts) -> Array:
    """log B(α + n) − log B(α), summed over all simplexes: which edges there are concerns the whole block.

    References
    ----------
    Cooper and Herskovits (1992), A Bayesian method for the induction of probabilistic networks, eq 8.
    """
    simplexes = family.layout(family.axes).simplexes
    alpha, posterior = np.asarray(family.alpha), np.asarray(family.posterior(statistics).alpha)
    return np.asarray((dirichlet.log_beta(posterior, simplexes) - dirichlet.log_beta(alpha, simplexes)).sum())[None]


@log_evidence.register
def _(family: Bernoulli, statistics: BernoulliStatistics) -> Array:
    """Σ_k log B(α + s, β + n − s) − log B(α, β), the Beta-Bernoulli of the rows in their order."""
    posterior = family.posterior(statistics)
    return np.asarray((_log_beta(posterior) - _log_beta(family)).sum(axis=0))


@log_evidence.register
def _(family: Multinomial, statistics: MultinomialStatistics) -> Array:
    """Σ_k log B(α + n) − log B(α): Pólya's density of all words of a class, without the multinomial coefficients."""
    alpha, sizes = np.asarray(family.alpha), (len(family.axes.features),)
    both = dirichlet.log_beta(alpha + statistics.counts, sizes) - dirichlet.log_beta(alpha, sizes)
    return np.asarray(both.sum())[None]


@log_evidence.register
def _(family: MultivariateGaussian, statistics: Scatters) -> Array:
    """Γ_d(ν_n/2)/Γ_d(ν/2) · |Ψ|^(ν/2)/|Ψ_n|^(ν_n/2) · Π (κ/κ_n)^(d/2) · π^(−nd/2), the product over the means.

    References
    ----------
    Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, eq 266.
    """
    posterior, d = family.posterior(statistics), len(statistics.axes.features)
    (kappa, nu, psi), (kappa_n, nu_n, psi_n) = (
        (np.asarray(f.kappa), np.asarray(f.nu), np.asarray(f.psi)) for f in (family, posterior)
    )
    of_means = 0.5 * d * (np.log(kappa / kappa_n).sum() - np.log(np.pi) * statistics.n.sum())
    of_covariances = multigammaln(nu_n / 2, d) - multigammaln(nu / 2, d)
    of_covariances += 0.5 * (nu * np.linalg.slogdet(psi)[1] - nu_n * np.linalg.slogdet(psi_n)[1])
    return np.asarray(of_means + of_covariances.sum())[None]


def _log_beta(family: Bernoulli) -> Array:
    return np.asarray(betaln(np.asarray(family.alpha), np.asarray(family.beta)))


def log_evidence_of_labels(prior: ClassPrior, counts: Array) -> float:
    """Return log p(y) of the rows in their order: log B(α + n) − log B(α), or Σ n log π for a known π."""
    if isinstance(prior, KnownClassPrior):
        return float(xlogy(counts, prior.pi).sum())
    sizes = (counts.size,)
    return float((dirichlet.log_beta(prior.alpha + counts, sizes) - dirichlet.log_beta(prior.alpha, sizes)).item())
