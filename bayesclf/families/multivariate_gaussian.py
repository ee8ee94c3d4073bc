"""Gaussian features that depend on each other: the class-conditional density of Gaussian discriminant analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.families import multivariate_estimates as estimates
from bayesclf.families.base import Array, Axes, Integers, Parameters
from bayesclf.families.covariance import Whitening, Whitenings, quadratic_forms, submatrix
from bayesclf.families.expectation_maximization import estimate, maximise
from bayesclf.families.gaussian import broadcast_to_shape, log_student_t
from bayesclf.families.inverse_wishart import draw_factors, outer
from bayesclf.families.lkj import LKJ, NO_MODE, require_lkj
from bayesclf.families.scatters import Scatters, by_pattern

if TYPE_CHECKING:
    from bayesclf.families.covariance_pymc import Reference

COVARIANCE_DIMS = {
    "shared": ("feature", "other_feature"),
    "class": ("outcome", "feature", "other_feature"),
}
"""Covariance structures, and the axes of Σ."""

WHITENINGS = Whitenings()


@dataclass(frozen=True)
class MultivariateGaussian:
    """x | y = k ~ Normal(μ_k, Σ) over d features, with a normal-inverse-Wishart prior.

    ========= ================= ================== =========================================
    parameter support           prior              posterior
    ========= ================= ================== =========================================
    Σ         positive definite InvWishart(ν, Ψ)   InvWishart(ν + n, Ψ + S + κn/(κ+n) δδᵀ)
    μ_k | Σ   real              Normal(m_k, Σ/κ)   Normal((κm + n x̄)/(κ + n), Σ/(κ + n))
    ========= ================= ================== =========================================

    n, x̄, S are weight, mean and scatter matrix of a class's rows, δ = x̄ − m; where the classes share Σ its n, S and
    δδᵀ are sums over them. MLE: x̄ and S/n (Abu-El-Haija 2.1). MAP: the joint mode in (μ, Σ), Ψ_n/(ν_n + d + 1 + M),
    M the number of means that share Σ. The predictive is the multivariate Student's t with ν_n − d + 1 degrees of
    freedom, location m_n and scale Ψ_n (κ_n + 1)/(κ_n (ν_n − d + 1)). With one feature all of it is `Gaussian`, with
    a = ν/2 and b = Ψ/2; with more the prior is not a product of normal-inverse-gammas.

    A row with missing cells contributes the marginal density of its seen cells. Then the prior is not conjugate:
    MLE and MAP are found by expectation and maximisation, the posterior by NUTS.

    Parameters
    ----------
    covariance
        ``"shared"``, one Σ for all classes (the boundaries are linear), or ``"class"``, Σ_k (quadratic).
    m, kappa, nu, psi
        Hyperparameters: m (in units of the columns) broadcasts to (outcome, feature), κ to (outcome), ν to one
        number a covariance, above d − 1; Ψ is a matrix (feature, other_feature), one a class (outcome, feature,
        other_feature), or a diagonal: a number or (feature). Where None they are unit information from the pooled
        rows: m the columns' means, κ = 1, ν = d + 2, Ψ = (ν − d − 1) diag(s²) with s² the columns' variances, so
        that E[Σ] = diag(s²): features are independent until the rows say otherwise, and fewer rows than features
        are enough.
    covariance_prior
        A `bayesclf.families.LKJ` in place of the normal-inverse-Wishart's κ, ν and Ψ.
    axes
        Set by `resolve_prior`.

    References
    ----------
    Abu-El-Haija 2.1 (estimates); Murphy (2007), *Conjugate Bayesian analysis of the Gaussian distribution*, §9.
    """

    covariance: str = "shared"
    m: float | Array | None = None
    kappa: float | Array | None = None
    nu: float | Array | None = None
    psi: float | Array | None = None
    covariance_prior: LKJ | None = None
    axes: Axes = field(default=Axes((), ()), repr=False)
    name: ClassVar[str] = "multivariate-gaussian"
    kind: ClassVar[str] = "number"
    statistics_class: ClassVar[type[Scatters]] = Scatters

    def __post_init__(self) -> None:
        if self.covariance not in COVARIANCE_DIMS:
            names = ", ".join(map(repr, COVARIANCE_DIMS))
            raise InputError(f"covariance must be one of {names}, not {self.covariance!r}")
        for name in ("kappa", "nu"):
            value = getattr(self, name)
            if value is not None and not (np.all(np.asarray(value) > 0) and np.all(np.isfinite(value))):
                raise InputError(f"{name} must be above 0 and finite, not {value}")
        if self.covariance_prior is not None:
            require_lkj(self.covariance_prior, {"kappa": self.kappa, "nu": self.nu, "psi": self.psi})

    def statistics(self, X: Array, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Scatters:
        """Return weights, means and scatter matrices; `X` is (row, feature), NaN where a cell is missing."""
        return Scatters.of(X, y, axes, sample_weight)

    def resolve_prior(self, statistics: Scatters) -> Self:
        """Return the prior with all hyperparameters as arrays, in units of the columns."""
        labels, d = statistics.mean.shape[1:]
        pooled = statistics.cells().pooled()
        s2 = (pooled.scatter / np.maximum(pooled.n, 1))[0]
        m = broadcast_to_shape("m", pooled.mean if self.m is None else self.m, (labels, d))
        if self.covariance_prior is not None:
            prior = self.covariance_prior.resolve(np.sqrt(s2))
            return replace(self, m=m, covariance_prior=prior, axes=statistics.axes)
        groups = 1 if self._shared else labels
        nu = broadcast_to_shape("nu", d + 2.0 if self.nu is None else self.nu, (groups,))
        if not (nu > d - 1).all():
            raise InputError(f"nu is {nu.min():g}, but {d} features need one above {d - 1}")
        if self.psi is None and not (nu > d + 1).all():
            raise InputError(
                f"nu is {nu.min():g}, at most {d + 1}, where Σ has no prior mean to set psi by; give psi too, or a "
                "larger nu"
            )
        unit_information = (nu - d - 1)[:, None, None] * np.diag(s2)
        return replace(
            self,
            m=m,
            kappa=broadcast_to_shape("kappa", 1.0 if self.kappa is None else self.kappa, (labels,)),
            nu=nu,
            psi=unit_information if self.psi is None else estimates.given_scale(self.psi, (groups, d, d)),
            axes=statistics.axes,
        )

    def informative(self, statistics: Scatters) -> NDArray[np.bool_]:
        """Return False for constant and empty columns, unless location and covariance have priors of their own."""
        lkj = self.covariance_prior
        given = self.psi is not None or (lkj is not None and lkj.sd_scale is not None and lkj.mean_scale is not None)
        if self.m is not None and given:
            return np.ones(len(statistics.axes.features), dtype=bool)
        return ~statistics.cells().constant()

    def mle(self, statistics: Scatters) -> Parameters:
        """Return means and covariances by maximum likelihood; raises `DoesNotExist` where one is singular."""
        estimates.require_estimable(statistics, self._shared)
        of_complete = partial(estimates.maximum_likelihood, shared=self._shared)
        return estimate(statistics, of_complete, partial(estimates.start, statistics, self._shared))

    def map(self, statistics: Scatters) -> Parameters:
        """Return the joint posterior mode of means and covariances; raises `DoesNotExist` under an LKJ prior."""
        if self.covariance_prior is not None:
            raise DoesNotExist(NO_MODE)
        return estimate(statistics, self._mode, partial(estimates.start, statistics, self._shared))

    def not_conjugate(self, statistics: Scatters) -> str:
        """Return that the prior is an LKJ, or that cells are missing."""
        if self.covariance_prior is not None:
            return "an LKJ prior of a covariance is not conjugate"
        missing = statistics.missing()
        if not missing:
            return ""
        columns = f"column{'s' * (len(missing) > 1)} {', '.join(map(repr, missing))}"
        return f"training rows lack cells of {columns}, on which the other columns depend in this model"

    def posterior(self, statistics: Scatters) -> Self:
        """Return the normal-inverse-Wishart posterior; raises `Refused` where there is none."""
        if reason := self.not_conjugate(statistics):
            raise Refused(f"the posterior is not of the prior's family: {reason}")
        return self._posterior(statistics)

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw Σ and μ | Σ."""
        if self.covariance_prior is not None:
            m = np.asarray(self.m)
            Sigma = self.covariance_prior.draw(rng, draws, 1 if self._shared else len(m))
            mu = m + np.asarray(self.covariance_prior.mean_scale) * rng.standard_normal((draws, *m.shape))
            return {"mu": mu, "Sigma": self._squeeze(Sigma)}
        m, kappa, nu, psi = self._hyperparameters()
        factors = draw_factors(nu, psi, rng, draws)
        noise = rng.standard_normal((draws, *m.shape, 1)) / np.sqrt(kappa)[:, None, None]
        return {"mu": m + (factors @ noise)[..., 0], "Sigma": self._squeeze(outer(factors))}

    def mean(self) -> Parameters:
        """Return E[μ] = m and E[Σ] = Ψ/(ν − d − 1); raises `DoesNotExist` where ν ≤ d + 1."""
        if self.covariance_prior is not None:
            m = np.asarray(self.m)
            Sigma = np.broadcast_to(self.covariance_prior.mean(), (1, 1 if self._shared else len(m), *m.shape[1:] * 2))
            return {"mu": m[None], "Sigma": self._squeeze(Sigma)}
        m, _, nu, psi = self._hyperparameters()
        freedom = nu - m.shape[1] - 1
        if np.any(freedom <= 0):
            raise DoesNotExist(
                "the posterior mean of a covariance is infinite (ν ≤ d + 1); give a prior with larger nu"
            )
        return {"mu": m[None], "Sigma": self._squeeze((psi / freedom[:, None, None])[None])}

    def pymc(self, statistics: Scatters, suffix: str) -> None:
        """Add μ and Σ, observing the scatters."""
        from bayesclf.families.covariance_pymc import add_inverse_wishart, add_lkj, observe_scatters

        lkj, conjugate = self.covariance_prior, self
        if lkj is not None:
            unit_information = (np.asarray(self.m), 1.0, len(self.axes.features) + 2.0, lkj.mean())
            conjugate = type(self)(self.covariance, *unit_information).resolve_prior(statistics)
        reference = conjugate._reference(statistics)
        m, kappa, nu, psi = conjugate._hyperparameters()
        if lkj is not None:
            mu, Sigma = add_lkj(lkj, m, reference, suffix)
        else:
            mu, Sigma = add_inverse_wishart((m, kappa, self._one(nu), self._one(psi)), reference, suffix)
        observe_scatters(f"x{suffix}", mu, Sigma, statistics)

    def from_pymc(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Return μ and Σ."""
        return {"mu": draws[f"mu{suffix}"], "Sigma": draws[f"Sigma{suffix}"]}

    def log_density(self, X: Array, parameters: Parameters) -> Array:
        """Return log Normal(x; μ_k, Σ_k) of the seen cells, shape (draw, row, outcome)."""
        mu, Sigma = parameters["mu"], self._expand(parameters["Sigma"])
        out = np.zeros((len(X), mu.shape[1], len(mu)))
        for seen, rows in by_pattern(X):
            whitening = WHITENINGS.of(parameters["Sigma"], Sigma, seen)
            squares = quadratic_forms(X[rows][:, seen], mu[:, :, seen], whitening)
            squares += whitening.log_det + seen.sum() * np.log(2 * np.pi)
            squares *= -0.5
            out[rows] = squares
        return np.moveaxis(out, 2, 0)

    def log_predictive(self, X: Array) -> Array:
        """Return the log density of the multivariate Student's t over the seen cells, (row, outcome)."""
        if self.covariance_prior is not None:
            raise Refused("there is no closed-form predictive under an LKJ prior; use the rule 'bayes-optimal'")
        m, kappa, nu, psi = self._hyperparameters()
        freedom = np.broadcast_to(nu - m.shape[1] + 1, (len(m),))
        scale = psi * ((kappa + 1) / (kappa * freedom))[:, None, None]
        out = np.zeros((len(X), len(m)))
        for seen, rows in by_pattern(X):
            whitening = Whitening.of(submatrix(scale, seen)[None])
            distance = quadratic_forms(X[rows][:, seen], m[None, :, seen], whitening)[..., 0]
            out[rows] = log_student_t(distance, freedom, float(seen.sum()), whitening.log_det[:, 0])
        return out

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw x (row, feature)."""
        mu = parameters["mu"][0]
        factors = np.linalg.cholesky(self._expand(parameters["Sigma"])[0])
        factors = np.broadcast_to(factors, (len(mu), *factors.shape[1:]))
        return np.asarray(mu[y] + np.einsum("rij,rj->ri", factors[y], rng.standard_normal((len(y), mu.shape[1]))))

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return μ: (outcome, feature); Σ: (feature, other_feature), with the outcome first for one a class."""
        return {"mu": ("outcome", "feature"), "Sigma": COVARIANCE_DIMS[self.covariance]}

    @property
    def variant(self) -> str:
        """What, beside `dims`, fixes the compiled form of the PyMC block."""
        return "inverse-wishart" if self.covariance_prior is None else "lkj"

    def _posterior(self, statistics: Scatters) -> Self:
        """Return the posterior given complete rows, the first pattern."""
        m, kappa, nu, psi = self._hyperparameters()
        n, deviation = statistics.n[0], statistics.mean[0] - m
        shrunk = (kappa * n / (kappa + n))[:, None, None] * deviation[:, :, None] * deviation[:, None, :]
        return replace(
            self,
            m=m + (n / (kappa + n))[:, None] * deviation,
            kappa=kappa + n,
            nu=nu + estimates.shared_scatter(n, self._shared),
            psi=psi + estimates.shared_scatter(statistics.scatter[0] + shrunk, self._shared),
        )

    def _mode(self, complete: Scatters) -> Parameters:
        m, _, nu, psi = self._posterior(complete)._hyperparameters()
        Sigma = psi / (nu + m.shape[1] + 1 + (len(m) if self._shared else 1))[:, None, None]
        return {"mu": m[None], "Sigma": self._squeeze(Sigma[None])}

    def _reference(self, statistics: Scatters) -> Reference:
        """Return about where the posterior is and how wide, for NUTS to start at; it needs no digits."""
        from bayesclf.families.covariance_pymc import Reference

        m, kappa, nu, psi = self._hyperparameters()
        guess: Parameters = {"mu": m[None], "Sigma": self._squeeze(psi[None] / nu[:, None, None])}
        point = maximise(statistics, self._mode, guess, steps=100).parameters
        n = statistics.n.sum(axis=0)
        return Reference(
            point["mu"][0], point["Sigma"][0], kappa + n, self._one(nu + estimates.shared_scatter(n, self._shared))
        )

    @property
    def _shared(self) -> bool:
        return self.covariance == "shared"

    def _squeeze(self, values: Array) -> Array:
        """Drop the group axis of (draw, group, feature, other_feature) where there is one covariance."""
        return np.asarray(values[:, 0] if self._shared else values)

    def _expand(self, values: Array) -> Array:
        """Put it back: the inverse of `_squeeze`."""
        return np.asarray(values[:, None] if self._shared else values)

    def _one(self, values: Array) -> Array:
        """Drop the group axis of (group, ...) where there is one covariance."""
        return np.asarray(values[0] if self._shared else values)

    def _hyperparameters(self) -> tuple[Array, Array, Array, Array]:
        return (np.asarray(self.m), np.asarray(self.kappa), np.asarray(self.nu), np.asarray(self.psi))
