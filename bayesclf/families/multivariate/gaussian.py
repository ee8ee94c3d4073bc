"""Gaussian features that depend on each other: the class-conditional density of Gaussian discriminant analysis."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self, override

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import multigammaln

from bayesclf.constraints import Number, OrNone, require
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.families.base import (
    FRACTIONS,
    LOCATION,
    LOST,
    SCALE,
    Axes,
    Family,
    Statistics,
    broadcast,
    require_choice,
    require_positive,
)
from bayesclf.families.cells import by_pattern
from bayesclf.families.gaussian import log_student_t
from bayesclf.families.multivariate import scatters
from bayesclf.families.multivariate.augmentation import CompletedScatters, NormalInverseWishart
from bayesclf.families.multivariate.covariance import (
    LKJ,
    Whitening,
    Whitenings,
    cholesky,
    inverse_wishart_factors,
    outer,
    quadratic_forms,
    submatrix,
)
from bayesclf.families.multivariate.scatters import Scatters
from bayesclf.families.prior_lines import MOST_VALUES, Hyperparameter, PriorLine, listing, prior_lines
from bayesclf.families.terms import Density, LinearDesign, LinearTerms
from bayesclf.typing import Array, Integers, Parameters

if TYPE_CHECKING:
    from pytensor.tensor import TensorVariable

    from bayesclf.families.multivariate.pymc import Reference
    from bayesclf.families.pymc import LabeledRows

COVARIANCE_DIMS = {"shared": ("feature", "other_feature"), "class": ("outcome", "feature", "other_feature")}
"""Covariance structures, and the axes of Σ."""

WHITENINGS = Whitenings()


@dataclass(frozen=True, repr=False)
class MultivariateGaussian(Family[Scatters]):
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

    A row with missing cells contributes the marginal density of its observed cells. Then the prior is not conjugate:
    MLE and MAP are found by expectation and maximization, the posterior by data augmentation or NUTS.

    Parameters
    ----------
    covariance : {"class", "shared"}
        ``"shared"``, one Σ for all classes (the boundaries are linear), or ``"class"``, Σ_k (quadratic).
    m, kappa, nu, psi
        Hyperparameters: m (in units of the columns) broadcasts to (outcome, feature), κ to (outcome), ν to one
        number per covariance, above d − 1; Ψ is a matrix (feature, other_feature), one per class (outcome, feature,
        other_feature), or a diagonal: a number or (feature). Where None they are unit information from the pooled
        rows: m the columns' means, κ = 1, ν = d + 2, Ψ = (ν − d − 1) diag(s²) with s² the columns' variances, so
        that E[Σ] = diag(s²): features are independent a priori, and fewer rows than features are enough.
    covariance_prior : LKJ or None
        A `bayesclf.families.LKJ` in place of the normal-inverse-Wishart's κ, ν and Ψ.
    axes : Axes
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
    likelihood: ClassVar[str] = "Normal(mu, Sigma)"
    statistics_type: ClassVar[type[Statistics]] = Scatters

    def __post_init__(self) -> None:
        require_choice("covariance", self.covariance, COVARIANCE_DIMS)
        require(OrNone(Number(array=True)), m=self.m, psi=self.psi)
        require_positive(kappa=self.kappa, nu=self.nu)
        if not self.axes.features:
            require(LOCATION, m=self.m)
        if self.covariance_prior is None:
            return
        if not isinstance(self.covariance_prior, LKJ):
            raise InputError(f"covariance_prior must be a bayesclf.families.LKJ or None, not {self.covariance_prior!r}")
        for name in ("kappa", "nu", "psi"):
            if getattr(self, name) is not None:
                raise InputError(f"{name} belongs to the normal-inverse-Wishart prior; leave it out with an LKJ prior")
        if not self.axes.features:
            require(SCALE, sd_scale=self.covariance_prior.sd_scale, mean_scale=self.covariance_prior.mean_scale)

    def resolve_prior(self, statistics: Scatters) -> Self:
        """Return the prior with all hyperparameters as arrays."""
        labels, d = statistics.mean.shape[1:]
        pooled = statistics.cells().pooled()
        s2 = (pooled.scatter / np.maximum(pooled.n, 1))[0]
        m = broadcast("m", pooled.mean if self.m is None else self.m, (labels, d))
        if self.covariance_prior is not None:
            prior = self.covariance_prior.resolve(np.sqrt(s2))
            return replace(self, m=m, covariance_prior=prior, axes=statistics.axes)
        groups = 1 if self._shared else labels
        nu = broadcast("nu", d + 2.0 if self.nu is None else self.nu, (groups,))
        if not (nu > d - 1).all():
            raise InputError(f"nu is {nu.min():g}, but {d} features need one above {d - 1}")
        if self.psi is None and not (nu > d + 1).all():
            raise InputError(f"nu is {nu.min():g}, at which Σ has no prior mean; give psi too, or a nu above {d + 1}")
        psi = (nu - d - 1)[:, None, None] * np.diag(s2)
        if self.psi is not None:
            psi = scatters.given_scale(self.psi, (groups, d, d))
        return replace(
            self,
            m=m,
            kappa=broadcast("kappa", 1.0 if self.kappa is None else self.kappa, (labels,)),
            nu=nu,
            psi=psi,
            axes=statistics.axes,
        )

    def informative(self, statistics: Scatters) -> NDArray[np.bool_]:
        """Return False for constant and empty columns, unless location and covariance have priors of their own."""
        lkj = self.covariance_prior
        given = self.psi is not None or (lkj is not None and lkj.sd_scale is not None and lkj.mean_scale is not None)
        if self.m is not None and given:
            return np.ones(len(statistics.axes.features), dtype=bool)
        return ~statistics.cells().constant()

    @override
    def priors(self) -> list[PriorLine]:
        """Return the normal priors of μ given Σ, and those of Σ."""
        m, kappa, nu, psi = self._hyperparameters()
        if self.covariance_prior is not None:
            return self.covariance_prior.priors(self.axes, m)
        means = prior_lines("mu", "Normal({m}, Sigma/{kappa})", self.axes, m=m, kappa=kappa[:, None])
        labels = self.axes.labels if len(nu) > 1 else ("",)
        matrices = [
            PriorLine("Sigma", label, "", *_inverse_wishart(float(own), scale))
            for label, own, scale in zip(labels, nu, psi, strict=True)
        ]
        return [*means, *matrices]

    def mle(self, statistics: Scatters) -> Parameters:
        """Return means and covariances by maximum likelihood; raises `DoesNotExist` where one is singular."""
        scatters.require_estimable(statistics, self._shared)
        of_complete = partial(scatters.maximum_likelihood, shared=self._shared)
        return scatters.estimate(statistics, of_complete, scatters.start(statistics, self._shared))

    def map(self, statistics: Scatters) -> Parameters:
        """Return the joint posterior mode of means and covariances; raises `DoesNotExist` under an LKJ prior."""
        if self.covariance_prior is not None:
            raise DoesNotExist("the posterior mode under an LKJ prior has no closed form; take another rule than 'map'")
        return scatters.estimate(statistics, self._mode, scatters.start(statistics, self._shared))

    def not_conjugate(self, statistics: Scatters) -> str:
        """Return that the prior is an LKJ, or that cells are missing."""
        if self.covariance_prior is not None:
            return "an LKJ prior of a covariance is not conjugate"
        missing = statistics.missing()
        if not missing:
            return ""
        columns = f"column{'s' * (len(missing) > 1)} {', '.join(map(repr, missing))}"
        return f"training rows lack cells of {columns}, on which the other columns depend in this model"

    def not_augmentable(self, statistics: Scatters) -> str:
        """Return that the prior is an LKJ, or that rows with missing cells count a fraction."""
        if self.covariance_prior is not None:
            return self.not_conjugate(statistics)
        of_gaps = statistics.n[~statistics.seen.all(axis=1)]
        return FRACTIONS if np.any(of_gaps != np.floor(of_gaps)) else ""

    @override
    def alternation(self, statistics: Scatters, chains: int) -> CompletedScatters:
        """Return the alternation between completed scatters, and μ and Σ."""
        prior = NormalInverseWishart(*self._hyperparameters(), self._shared)
        return CompletedScatters.of(prior, statistics, chains)

    def posterior(self, statistics: Scatters) -> Self:
        """Return the normal-inverse-Wishart posterior; raises `Refused` where there is none."""
        if reason := self.not_conjugate(statistics):
            raise Refused(f"the posterior is not of the prior's family: {reason}")
        m, kappa, nu, psi = self._updated(statistics)
        return replace(self, m=m, kappa=kappa, nu=nu, psi=psi)

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw Σ and μ | Σ."""
        if self.covariance_prior is not None:
            m = np.asarray(self.m)
            Sigma = self.covariance_prior.draw(rng, draws, 1 if self._shared else len(m))
            mu = m + np.asarray(self.covariance_prior.mean_scale) * rng.standard_normal((draws, *m.shape))
            return {"mu": mu, "Sigma": self._squeeze(Sigma)}
        m, kappa, nu, psi = self._hyperparameters()
        factors = inverse_wishart_factors(nu, psi, rng, draws)
        noise = rng.standard_normal((draws, *m.shape, 1)) / np.sqrt(kappa)[:, None, None]
        return {"mu": m + (factors @ noise)[..., 0], "Sigma": self._squeeze(outer(factors))}

    def mean(self) -> Parameters:
        """Return E[μ] = m and E[Σ] = Ψ/(ν − d − 1); raises `DoesNotExist` where ν ≤ d + 1."""
        if self.covariance_prior is not None:
            m = np.asarray(self.m)
            Sigma = np.broadcast_to(self.covariance_prior.mean(), (1, len(m), *m.shape[1:] * 2))
            return {"mu": m[None], "Sigma": self._squeeze(Sigma)}
        m, _, nu, psi = self._hyperparameters()
        freedom = nu - m.shape[1] - 1
        if np.any(freedom <= 0):
            raise DoesNotExist("the posterior mean of a covariance is infinite (ν ≤ d + 1); give a larger nu")
        return {"mu": m[None], "Sigma": self._squeeze((psi / freedom[:, None, None])[None])}

    @override
    def pymc(self, statistics: Scatters, suffix: str) -> None:
        """Add μ and Σ, observing the scatters."""
        from bayesclf.families.multivariate.pymc import observe_scatters

        observe_scatters(suffix, *self._pymc_parameters(statistics, suffix), statistics)

    @override
    def pymc_rows(self, X: Array, rows: LabeledRows, statistics: Scatters, suffix: str) -> None:
        """Add μ and Σ, observing x ~ Normal(μ_y, Σ_y)."""
        from bayesclf.families.multivariate.pymc import observe_rows

        observe_rows(suffix, *self._pymc_parameters(statistics, suffix), X, rows, ("row", f"feature{suffix}"))

    def _pymc_parameters(self, statistics: Scatters, suffix: str) -> tuple[TensorVariable, TensorVariable]:
        """Add μ and Σ to the open PyMC model; return them."""
        from bayesclf.families.multivariate.pymc import add_inverse_wishart, add_lkj

        lkj, conjugate = self.covariance_prior, self
        if lkj is not None:
            labels, d = len(self.axes.labels), len(self.axes.features)
            groups = 1 if self._shared else labels
            unit_information = np.ones(labels), np.full(groups, d + 2.0), np.tile(lkj.mean(), (groups, 1, 1))
            conjugate = type(self)(self.covariance, self.m, *unit_information, axes=self.axes)
        reference, m = conjugate.reference(statistics), np.asarray(self.m)
        if lkj is not None:
            return add_lkj(lkj, m, reference, suffix)
        _, kappa, nu, psi = self._hyperparameters()
        return add_inverse_wishart((m, kappa, self._one(nu), self._one(psi)), reference, suffix)

    def log_density(self, X: Array, parameters: Parameters) -> Array:
        """Return log Normal(x; μ_k, Σ_k) of the observed cells, shape (draw, row, outcome)."""
        mu, Sigma = parameters["mu"], self._expand(parameters["Sigma"])
        out = np.zeros((len(X), mu.shape[1], len(mu)))
        for seen, rows in by_pattern(np.isnan(X)):
            whitening = WHITENINGS.of(parameters["Sigma"], Sigma, seen)
            squares = quadratic_forms(X[rows][:, seen], mu[:, :, seen], whitening)
            squares += whitening.log_det + seen.sum() * np.log(2 * np.pi)
            squares *= -0.5
            out[rows] = squares
        return np.moveaxis(out, 2, 0)

    def log_predictive(self, X: Array) -> Array:
        """Return the log density of the multivariate Student's t over the observed cells, (row, outcome)."""
        if self.covariance_prior is not None:
            raise Refused("there is no closed-form predictive under an LKJ prior; use the rule 'bayes-optimal'")
        m, kappa, nu, psi = self._hyperparameters()
        freedom = np.broadcast_to(nu - m.shape[1] + 1, (len(m),))
        scale = psi * ((kappa + 1) / (kappa * freedom))[:, None, None]
        out = np.zeros((len(X), len(m)))
        for seen, rows in by_pattern(np.isnan(X)):
            whitening = Whitening.of(submatrix(scale, seen)[None])
            distance = quadratic_forms(X[rows][:, seen], m[None, :, seen], whitening)[..., 0]
            out[rows] = log_student_t(distance, freedom, float(seen.sum()), whitening.log_det[:, 0])
        return out

    def log_predictive_without(self, X: Array, y: Integers) -> Array:
        """Multivariate t with ν − 1 and Ψ − c uuᵀ, u = x − m and c = κ/(κ − 1) of the own class (Sherman–Morrison)."""
        # The only rows with a missing cell, in a conjugate model, are those without any cell.
        out = np.zeros((len(X), len(self.axes.labels)))
        seen = np.flatnonzero(~np.isnan(X).any(axis=1))
        out[seen] = self._log_t_without(X[seen], y[seen])
        return out

    def log_normalizer(self) -> Array:
        """log 2^(νd/2) Γ_d(ν/2) |Ψ|^(−ν/2) Π κ^(−d/2), the product over the means that share the covariance.

        References
        ----------
        Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, eq 266.
        """
        _, kappa, nu, psi = self._hyperparameters()
        d = len(self.axes.features)
        of_means = scatters.shared_scatter(0.5 * d * np.log(kappa), self._shared)
        of_covariance = multigammaln(nu / 2, d) - 0.5 * nu * np.linalg.slogdet(psi)[1] + 0.5 * nu * d * np.log(2)
        return np.asarray(of_covariance - of_means)[:, None]

    def log_base(self, statistics: Scatters) -> Array:
        """log (2π)^(−nd/2)."""
        n = scatters.shared_scatter(statistics.n.sum(axis=0), self._shared)
        return np.asarray(-0.5 * np.log(2 * np.pi) * len(self.axes.features) * n)[:, None]

    def log_prior(self, parameters: Parameters) -> Density:
        """μ_k | Σ ~ Normal(m_k, Σ/κ) and Σ ~ InvWishart(ν, Ψ); one part if the classes share Σ, else one per class."""
        if self.covariance_prior is not None:
            raise Refused("the density of an LKJ prior is not available")
        mu, Sigma = parameters["mu"], self._expand(parameters["Sigma"])
        m, kappa, nu, psi = self._hyperparameters()
        labels, d = m.shape
        log_det, inverse = np.linalg.slogdet(Sigma)[1], np.linalg.inv(Sigma)
        deviation = mu - m
        square = np.einsum("ski,skij,skj->sk", deviation, np.broadcast_to(inverse, (*mu.shape, d)), deviation)
        of_means = -0.5 * (kappa * square + log_det)
        of_covariance = -0.5 * (nu * log_det + np.einsum("gij,sgji->sg", psi, inverse))
        densities = of_covariance + (of_means.sum(axis=1, keepdims=True) if self._shared else of_means)
        part = np.zeros(labels, dtype=np.intp) if self._shared else np.arange(labels)
        of_mu = np.broadcast_to(part[:, None], (labels, d))
        of_Sigma = np.broadcast_to(part[:, None, None], (labels, d, d))
        return Density(densities, {"mu": of_mu, "Sigma": of_Sigma[0] if self._shared else of_Sigma})

    def linear_design(self, statistics: Scatters, at_means: bool) -> LinearDesign:
        """Measure from the pooled means; the columns depend on each other."""
        mean = statistics.cells().pooled().mean[0]
        centre = mean if at_means else np.zeros_like(mean)
        return LinearDesign(statistics.axes.features, (), centre, complete=True)

    def linear_terms(self, parameters: Parameters, design: LinearDesign) -> LinearTerms:
        """−½ zᵀΣ⁻¹z + zᵀΣ⁻¹d − ½ dᵀΣ⁻¹d with z = x − center and d = μ_k − center (Abu-El-Haija 2.3)."""
        if not self._shared:
            raise Refused(f"{design} has a covariance for each class; only covariance='shared' has linear log-odds")
        distance = parameters["mu"] - design.centre
        weight = np.linalg.solve(parameters["Sigma"], distance.transpose(0, 2, 1)).transpose(0, 2, 1)
        return LinearTerms(weight, -0.5 * distance * weight)

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw x (row, feature)."""
        mu = parameters["mu"][0]
        factors = cholesky(self._expand(parameters["Sigma"])[0])
        factors = np.broadcast_to(factors, (len(mu), *factors.shape[1:]))
        return np.asarray(mu[y] + np.einsum("rij,rj->ri", factors[y], rng.standard_normal((len(y), mu.shape[1]))))

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return μ: (outcome, feature); Σ: (feature, other_feature), with the outcome first if not shared."""
        return {"mu": ("outcome", "feature"), "Sigma": COVARIANCE_DIMS[self.covariance]}

    @property
    @override
    def variant(self) -> str:
        """Name of the prior of the covariance."""
        return "inverse-wishart" if self.covariance_prior is None else "lkj"

    def reference(self, statistics: Scatters) -> Reference:
        """Return the approximate location and width of the posterior, for NUTS to start at; it need not be accurate."""
        from bayesclf.families.multivariate.pymc import Reference

        m, kappa, nu, psi = self._hyperparameters()
        guess: Parameters = {"mu": m[None], "Sigma": self._squeeze(psi[None] / nu[:, None, None])}
        point, _ = scatters.maximize(statistics, self._mode, guess, steps=100)
        n = statistics.n.sum(axis=0)
        return Reference(
            point["mu"][0], point["Sigma"][0], kappa + n, self._one(nu + scatters.shared_scatter(n, self._shared))
        )

    def _updated(self, complete: Scatters) -> tuple[Array, Array, Array, Array]:
        """Return m, κ, ν and Ψ of the posterior given complete rows, the first pattern."""
        m, kappa, nu, psi = self._hyperparameters()
        n, deviation = complete.n[0], complete.mean[0] - m
        shrunk = (kappa * n / (kappa + n))[:, None, None] * deviation[:, :, None] * deviation[:, None, :]
        return (
            m + (n / (kappa + n))[:, None] * deviation,
            kappa + n,
            nu + scatters.shared_scatter(n, self._shared),
            psi + scatters.shared_scatter(complete.scatter[0] + shrunk, self._shared),
        )

    def _mode(self, complete: Scatters) -> Parameters:
        """Return the joint posterior mode given complete rows."""
        m, _, nu, psi = self._updated(complete)
        Sigma = psi / (nu + m.shape[1] + 1 + (len(m) if self._shared else 1))[:, None, None]
        return {"mu": m[None], "Sigma": self._squeeze(Sigma[None])}

    def _log_t_without(self, X: Array, y: Integers) -> Array:
        """Return the predictive without each row itself, for complete rows."""
        m, kappa, nu, psi = self._hyperparameters()
        d = m.shape[1]
        group = np.zeros_like(y) if self._shared else y
        factors = cholesky(psi)
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
            """Return the log density of t from (x − m)ᵀ(Ψ − cuuᵀ)⁻¹(x − m), (row), scaled by `spread`/freedom."""
            scale = spread / freedom
            log_scale = log_det + np.log(remaining) + d * np.log(scale)
            return log_student_t(squares / scale, freedom, float(d), log_scale)

        out = self.log_predictive(X) if not self._shared else np.empty((len(X), len(m)))
        for k in range(len(m)) if self._shared else ():
            other = whitened(np.full_like(y, k))
            squares = (other**2).sum(axis=1) + c * (own * other).sum(axis=1) ** 2 / remaining
            out[:, k] = log_density(squares, (kappa[k] + 1) / kappa[k])
        out[np.arange(len(y)), y] = log_density(c**2 * (own**2).sum(axis=1) / remaining, c)
        out[~kept] = np.nan
        return out

    @property
    def _shared(self) -> bool:
        return self.covariance == "shared"

    def _squeeze(self, values: Array) -> Array:
        """Drop the group axis of (draw, group, feature, other_feature) where there is one covariance."""
        return np.asarray(values[:, 0] if self._shared else values)

    def _expand(self, values: Array) -> Array:
        """Put the group axis back: the inverse of `_squeeze`."""
        return np.asarray(values[:, None] if self._shared else values)

    def _one(self, values: Array) -> Array:
        """Drop the group axis of (group, ...) where there is one covariance."""
        return np.asarray(values[0] if self._shared else values)

    def _hyperparameters(self) -> tuple[Array, Array, Array, Array]:
        return (np.asarray(self.m), np.asarray(self.kappa), np.asarray(self.nu), np.asarray(self.psi))


def _inverse_wishart(nu: float, psi: Array) -> tuple[str, dict[str, Hyperparameter]]:
    """Return the form of an inverse Wishart and its numbers: ν, and of Ψ its diagonal and whether there is more."""
    diagonal, numbers = listing("psi", psi.diagonal(), MOST_VALUES)
    alone = not (psi - np.diag(psi.diagonal())).any()
    matrix = f"diag({diagonal})" if alone else f"a matrix of diagonal {diagonal}"
    return f"InvWishart({{nu}}, {matrix})", {"nu": nu, **numbers}
