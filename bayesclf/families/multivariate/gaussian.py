"""Gaussian features that depend on each other: the class-conditional density of Gaussian discriminant analysis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self
from weakref import finalize

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, multigammaln

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import Number, OrNone, require
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.families.base import (
    LOCATION,
    LOST,
    Axes,
    Family,
    Statistics,
    broadcast,
    joined,
    require_choice,
    require_positive,
)
from bayesclf.families.cells import by_pattern
from bayesclf.families.multivariate import covariance as covariances
from bayesclf.families.multivariate.covariance import (
    SPREAD,
    CompletedScatters,
    Freedom,
    NormalInverseWishart,
    Spectrum,
    StudentMixture,
    Whitening,
    cholesky,
    outer,
    shared_scatter,
    submatrix,
)
from bayesclf.families.multivariate.groups import GroupedMoments
from bayesclf.families.networks.tables import NO_PYMC, require_conjugate, require_whole
from bayesclf.families.page_tables import PageVariable
from bayesclf.families.prior_lines import MOST_VALUES, Hyperparameter, PriorLine, by_outcome, listing, prior_lines, span
from bayesclf.families.terms import Density, LinearDesign, LinearTerms
from bayesclf.wording import listed

COVARIANCE_DIMS = {"shared": ("feature", "other_feature"), "class": ("outcome", "feature", "other_feature")}
"""Covariance structures, and the axes of Σ."""

WEIGHT = 2.0
"""Rows that the pooled variance counts for beside those within the classes, so that no expected variance is 0."""

INTERVAL_DRAWS = 4000
"""Draws of which an interval of ν in words is made."""

UPDATED = (
    "a covariance prior from an earlier fit has no PyMC model if its degrees of freedom were learned; fit all rows "
    "together, or give nu"
)

CACHE_BYTES = 2**28
"""Largest total size of the whitenings of draws that are kept between blocks of rows."""

KEPT: dict[tuple[int, int, bytes], Whitening] = {}
"""Whitenings by the identity of the arrays of Σ and μ, and the observed columns."""


@dataclass(frozen=True, repr=False)
class MultivariateGaussian(Family[GroupedMoments]):
    """x | y = k ~ Normal(μ_k, Σ) over d features, with a normal-inverse-Wishart prior.

    ========= ================= ================== =========================================
    parameter support           prior              posterior
    ========= ================= ================== =========================================
    ν         above d + 1       d + 1 + LogNormal  mixture, by quadrature
    Σ         positive definite InvWishart(ν, Ψ)   InvWishart(ν + n, Ψ + S + κn/(κ+n) δδᵀ)
    μ_k | Σ   real              Normal(m_k, Σ/κ)   Normal((κm + n x̄)/(κ + n), Σ/(κ + n))
    ========= ================= ================== =========================================

    n, x̄, S are weight, mean and scatter matrix of a class's rows, δ = x̄ − m; where the classes share Σ its n, S and
    δδᵀ are sums over them. MLE: x̄ and S/n (Abu-El-Haija 2.1). MAP: the joint mode in (μ, Σ), Ψ_n/(ν_n + d + 1 + M),
    M the number of means that share Σ. The predictive is the multivariate Student's t with ν_n − d + 1 degrees of
    freedom, location m_n and scale Ψ_n (κ_n + 1)/(κ_n (ν_n − d + 1)). With one feature all of it is `Gaussian`, with
    a = ν/2 and b = Ψ/2; with more the prior is not a product of normal-inverse-gammas.

    A row with missing cells contributes the marginal density of its observed cells. Then the prior is not conjugate:
    MLE and MAP are found by expectation and maximization, and data augmentation samples the posterior.

    Parameters
    ----------
    covariance : {"class", "shared"}
        ``"shared"``, one Σ for all classes (the boundaries are linear), or ``"class"``, Σ_k (quadratic).
    m, kappa, nu, psi
        Hyperparameters: m (in units of the columns) broadcasts to (outcome, feature), κ to (outcome), ν to one
        number per covariance, above d − 1; Ψ is a matrix (feature, other_feature), one per class (outcome, feature,
        other_feature), or a diagonal: a number or (feature). Where None, m are the columns' means and κ is 1. Without
        ν and Ψ, ν is learned, one for each covariance: log(ν − d − 1) ~ Normal(log d, 1). So a priori Σ is worth about
        as many rows as there are columns. Without Ψ it is (ν − d − 1) diag(s), so that E[Σ] = diag(s): features are
        independent a priori, and fewer rows than features are enough. With Ψ alone, ν is d + 2.
    axes : Axes
        Set by `resolve_prior`.
    scale : float, array or None
        s, (feature) or (group, feature); where None the variances within the classes, or within the own class, with
        n − 1 degrees of freedom a class. The variances of the pooled rows count for two more. As the rows set s, the
        evidence of one column grows with ν without end: hence the prior of ν.

    References
    ----------
    Abu-El-Haija 2.1 (estimates); Murphy (2007), *Conjugate Bayesian analysis of the Gaussian distribution*, §9.
    """

    covariance: str = "shared"
    m: float | Array | None = None
    kappa: float | Array | None = None
    nu: float | Array | None = None
    psi: float | Array | None = None
    axes: Axes = field(default=Axes((), ()), repr=False)
    scale: float | Array | None = None
    name: ClassVar[str] = "multivariate-gaussian"
    kind: ClassVar[str] = "number"
    likelihood: ClassVar[str] = "Normal(mu, Sigma)"
    statistics_type: ClassVar[type[Statistics]] = GroupedMoments

    def __post_init__(self) -> None:
        require_choice("covariance", self.covariance, COVARIANCE_DIMS)
        require(OrNone(Number(array=True)), m=self.m, psi=self.psi)
        require_positive(kappa=self.kappa, nu=self.nu, scale=self.scale)
        if not self.axes.features:
            require(LOCATION, m=self.m)

    def resolve_prior(self, statistics: GroupedMoments) -> Self:
        """Return the prior with all hyperparameters as arrays."""
        labels, d = len(statistics.axes.labels), len(statistics.axes.features)
        pooled = statistics.cells().pooled()
        s2 = (pooled.scatter / np.maximum(pooled.n, 1))[0]
        m = broadcast("m", pooled.mean if self.m is None else self.m, (labels, d))
        groups = 1 if self._shared else labels
        scale, learned = self._expected_variances(statistics, s2), self.nu is None and self.psi is None
        nu = broadcast("nu", d + (1.0 if learned else 2.0) if self.nu is None else self.nu, (groups,))
        if not (nu > d - 1).all():
            raise InputError(f"nu is {nu.min():g}, but {d} features need one above {d - 1}")
        if self.psi is None and not learned and not (nu > d + 1).all():
            raise InputError(f"nu is {nu.min():g}, at which Σ has no prior mean; give psi too, or a nu above {d + 1}")
        psi = (nu - d - 1)[:, None, None] * scale[:, None] * np.eye(d)
        if self.psi is not None:
            psi = covariances.given_scale(self.psi, (groups, d, d))
        return replace(
            self,
            m=m,
            kappa=broadcast("kappa", 1.0 if self.kappa is None else self.kappa, (labels,)),
            nu=nu,
            psi=psi,
            axes=statistics.axes,
            scale=scale if learned else None,
        )

    def _expected_variances(self, statistics: GroupedMoments, pooled: Array) -> Array:
        """Return s (group, feature), the expectation of Σ's diagonal, given the variances of the pooled rows."""
        cells = statistics.cells()
        freedom, scatter = (
            shared_scatter(values, self._shared) for values in (np.maximum(cells.n - 1, 0), cells.scatter)
        )
        within = (WEIGHT * pooled + scatter) / (WEIGHT + freedom)
        return within if self.scale is None else broadcast("scale", self.scale, within.shape)

    def informative(self, statistics: GroupedMoments) -> NDArray[np.bool_]:
        """Return False for constant and empty columns, unless location and covariance have priors of their own."""
        if self.m is not None and self.psi is not None:
            return np.ones(len(statistics.axes.features), dtype=bool)
        return ~statistics.cells().constant()

    def priors(self) -> list[PriorLine]:
        """Return the normal priors of μ given Σ, and those of Σ, of ν too where it is learned."""
        m, kappa, nu, psi = self._hyperparameters()
        lines = prior_lines("mu", "Normal({m}, Sigma/{kappa})", self.axes, m=m, kappa=kappa[:, None])
        if not self.learned:
            matrices = [_inverse_wishart(float(own), scale) for own, scale in zip(nu, psi, strict=True)]
            return [*lines, *by_outcome("Sigma", "", self.axes.labels, matrices)]
        least: dict[str, Hyperparameter] = {"least": m.shape[1] + 1}
        numbers = {**least, "d": m.shape[1], "spread": SPREAD}
        lines.append(PriorLine("nu", "", "", "{least} + LogNormal(log {d}, {spread})", numbers))
        more, matrices = "; both given the rows of an earlier fit" if psi.any() else "", []
        for own in np.asarray(self.scale):
            diagonal, of_scale = listing("s", own, MOST_VALUES)
            matrices.append((f"InvWishart(nu, (nu - {{least}}) diag({diagonal})){more}", {**of_scale, **least}))
        return [*lines, *by_outcome("Sigma", "", self.axes.labels, matrices)]

    def remarks(self, statistics: GroupedMoments) -> list[str]:
        """Return between which numbers ν lies."""
        if not self.learned:
            return []
        what = "the degrees of freedom of the covariance's prior are learned"
        if self.not_conjugate(statistics):
            return [f"{what} together with it: nu in posterior_, as cells are missing"]
        drawn = self.posterior(statistics).freedom.draw(np.random.default_rng(0), INTERVAL_DRAWS)
        ends = np.quantile(drawn, [0.025, 0.975], axis=0).T + len(self.axes.features) + 1
        labels = [""] if self._shared else [f" in class {label!r}" for label in self.axes.labels]
        found = [f"nu is {span([tuple(own)])}{label}" for own, label in zip(ends.tolist(), labels, strict=True)]
        rows = f"worth nu − {len(self.axes.features) + 1} rows"
        return [f"{what}: {listed(found, MOST_VALUES)} (95% interval); the prior is {rows}"]

    @property
    def learned(self) -> bool:
        """Whether ν has a prior: then `nu` and `psi` are ν and Ψ less c and c·diag(`scale`), at c = ν − d − 1."""
        return self.scale is not None

    @cached_property
    def freedom(self) -> Freedom:
        """The distribution of ν under these hyperparameters."""
        return self._conjugate.freedom

    def mle(self, statistics: GroupedMoments) -> Parameters:
        """Return means and covariances by maximum likelihood; raises `DoesNotExist` where one is singular.

        The likelihood says nothing of ν, which is as in `map`.
        """
        covariances.require_estimable(statistics, self._shared)
        of_complete = partial(covariances.maximum_likelihood, shared=self._shared)
        found = covariances.estimate(statistics, of_complete, self._shared)
        if not self.learned:
            return found
        return {**found, "nu": self._mode(covariances.expectation(statistics, found))["nu"]}

    def map(self, statistics: GroupedMoments) -> Parameters:
        """Return the joint posterior mode of means and covariances.

        A learned ν is at the mode of log(ν − d − 1), with means and covariances integrated out. These are at their mode
        given ν. With missing cells ν is the one for the moments that are expected at these.
        """
        return covariances.estimate(statistics, self._mode, self._shared)

    def not_conjugate(self, statistics: GroupedMoments) -> str:
        """Return which cells are missing."""
        missing = statistics.incomplete()
        if not missing:
            return ""
        columns = f"column{'s' * (len(missing) > 1)} {', '.join(map(repr, missing))}"
        return f"training rows lack cells of {columns}, on which the other columns depend in this model"

    def alternation(self, statistics: GroupedMoments, chains: int) -> CompletedScatters:
        """Return that between completed scatters, and μ and Σ; raises `Refused` for fractions of rows."""
        require_whole(statistics.n[~statistics.seen.all(axis=1)])
        return CompletedScatters.of(self._conjugate, statistics, chains)

    def posterior(self, statistics: GroupedMoments) -> Self:
        """Return the normal-inverse-Wishart posterior; raises `Refused` where there is none."""
        require_conjugate(self.not_conjugate(statistics))
        return self._updated(statistics)

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw Σ and μ | Σ."""
        mu, Sigma, nu = self._conjugate.draw(rng, draws)
        of_nu = {"nu": self._squeeze(nu)} if self.learned else {}
        return {"mu": mu, "Sigma": self._squeeze(Sigma), **of_nu}

    def mean(self) -> Parameters:
        """Return E[μ] = m, E[Σ] = E[Ψ/(ν − d − 1)] and E[ν]; raises `DoesNotExist` where a given ν ≤ d + 1."""
        m, _, nu, psi = self._hyperparameters()
        freedom = nu - m.shape[1] - 1
        if self.learned:
            grid, c = self.freedom.grid, np.exp(self.freedom.grid.nodes)
            shares = [grid.expectation(share)[:, None, None] for share in (1 / (freedom + c), c / (freedom + c))]
            Sigma = shares[0] * psi + shares[1] * self._target()
            return {
                "mu": m[None],
                "Sigma": self._squeeze(Sigma[None]),
                "nu": self._squeeze(grid.expectation(c)[None]) + m.shape[1] + 1,
            }
        if np.any(freedom <= 0):
            raise DoesNotExist("the posterior mean of a covariance is infinite (ν ≤ d + 1); give a larger nu")
        return {"mu": m[None], "Sigma": self._squeeze((psi / freedom[:, None, None])[None])}

    def pymc(self, statistics: GroupedMoments, suffix: str) -> None:
        """Add the variables of `page`, means in units of their prior, and the density of means and scatters given Σ.

        What an earlier posterior adds to ν and Ψ counts as scatters. With TTᵀ = Σ⁻¹, x'Σ⁻¹x is |T'x|², and tr(PΣ⁻¹) is
        the sum of T ∘ PT.
        """
        import pymc as pm
        import pytensor.tensor as pt

        from bayesclf import pymc_models

        require_conjugate(self.not_conjugate(statistics), NO_PYMC)

        def held(name: str, values: Array) -> Any:
            """Return values that the compiled model takes as data."""
            return pm.Data(f"x_{name}{suffix}", values)

        m, kappa, nu, psi = self._hyperparameters()
        n, mean, scatter = statistics.complete()
        d, earlier = m.shape[1], 1.0 if self.learned else 0.0
        rows = shared_scatter(n + 1, self._shared) + earlier * (nu - d - 1)
        total = shared_scatter(scatter, self._shared) + earlier * psi
        c, freedom = self._page_freedom(suffix, held)
        squares, A = pymc_models.bartlett(freedom, c, d, () if self._shared else ("outcome",), suffix)
        T = held("whiten", np.linalg.inv(self._root).mT) @ A
        offset = held("unit", self._unit) * pm.Flat(f"mu_z{suffix}", dims=("outcome", f"feature{suffix}"))
        of_rows, of_prior = (
            held(name, weight) * ((T.mT @ deviation[..., None]) ** 2).sum(axis=(-2, -1))
            for name, weight, deviation in (("n", n, held("mean", mean - m) - offset), ("kappa", kappa, offset))
        )
        of_scatters = (T * (held("scatter", self._one(total)) @ T)).sum()
        log_precision = (held("rows", self._one(rows)) * pt.log(squares).sum(axis=-1)).sum()
        log_root = np.linalg.slogdet(self._root)[1] * self._one(rows)
        constant = d * (np.log(kappa) - (n + 1) * np.log(2 * np.pi)).sum() - 2 * log_root.sum()
        constant = held("constant", constant + 2 * np.log(self._unit).sum())
        pm.Potential(f"x{suffix}", 0.5 * (constant + log_precision - of_scatters - (of_rows + of_prior).sum()))

    def page(self, X: Array, row: Any, suffix: str) -> None:
        """Add μ and Σ, observing x ~ Normal(μ_y, Σ_y)."""
        import pymc as pm

        from bayesclf import pymc_models

        (m, kappa, nu, _), d = self._hyperparameters(), len(self.axes.features)
        if self.learned and (nu != d + 1).any():
            raise Refused(UPDATED)
        c, freedom = self._page_freedom(suffix, lambda name, values: values)
        chol = pymc_models.covariance(freedom, c, self._root, () if self._shared else ("outcome",), suffix)
        both = ("outcome", f"feature{suffix}")
        mu = pm.MvNormal(f"mu{suffix}", m, chol=chol / np.sqrt(kappa)[:, None, None], dims=both)
        pymc_models.multivariate_normals(mu, chol, X, row, suffix)

    def _page_freedom(self, suffix: str, held: Callable[[str, Array], Any]) -> tuple[Any, Any]:
        """Add c = ν − d − 1 where it is learned; return c, 1 where it is not, and ν."""
        import pymc as pm

        d, of_class = len(self.axes.features), () if self._shared else ("outcome",)
        if not self.learned:
            return np.ones(()), held("nu", self._one(np.asarray(self.nu)))
        c = pm.LogNormal(f"c{suffix}", np.log(d), SPREAD, dims=of_class)
        return c, pm.Deterministic(f"nu{suffix}", c + d + 1, dims=of_class)

    def page_variables(self, suffix: str) -> list[PageVariable]:
        """Return c = ν − d − 1 where it is learned, and the parts of Bartlett's factor."""
        of_class, d = () if self._shared else ("outcome",), len(self.axes.features)
        upper, axis = np.triu_indices(d, 1), f"pair{suffix}"
        coords = {axis: [f"{i}, {j}" for i, j in zip(*upper, strict=True)]}

        def factor(parameters: Parameters) -> Array:
            """Return Bartlett's factor of Σ, (draw, …, feature, feature)."""
            return np.linalg.inv(np.linalg.solve(self._root, np.linalg.cholesky(parameters["Sigma"]))).mT

        def squares(parameters: Parameters) -> Array:
            """Return the squares of its diagonal."""
            return np.diagonal(factor(parameters), axis1=-2, axis2=-1) ** 2

        def above(parameters: Parameters) -> Array:
            """Return what is above it."""
            return factor(parameters)[..., *upper]

        of_nu = PageVariable(f"c{suffix}", of_class, {}, lambda parameters: parameters["nu"] - d - 1)
        return [
            *([of_nu] if self.learned else []),
            PageVariable(f"squares{suffix}", (*of_class, f"feature{suffix}"), {}, squares),
            PageVariable(f"above{suffix}", (*of_class, axis), coords, above),
        ]

    def from_pymc(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Return μ, Σ, and ν where it is learned; from its factor where Σ itself is not there."""
        d, z = len(self.axes.features), draws.get(f"mu_z{suffix}")
        found = {"mu": draws[f"mu{suffix}"] if z is None else np.asarray(self.m) + self._unit * z}
        if self.learned:
            found["nu"] = draws[f"c{suffix}"] + d + 1
        if f"Sigma{suffix}" in draws:
            return {**found, "Sigma": draws[f"Sigma{suffix}"]}
        A = np.sqrt(draws[f"squares{suffix}"])[..., None] * np.eye(d)
        A[..., *np.triu_indices(d, 1)] = draws[f"above{suffix}"]
        return {**found, "Sigma": outer(self._root @ np.linalg.inv(A).mT)}

    @cached_property
    def _root(self) -> Array:
        """A factor of Ψ, or of Ψ/c where ν is learned, of one covariance or (group, feature, other_feature)."""
        return np.linalg.cholesky(self._one(self._target() if self.learned else np.asarray(self.psi)))

    @property
    def _unit(self) -> Array:
        """The sd of a mean under its prior, about (outcome, feature)."""
        _, kappa, nu, psi = self._hyperparameters()
        matrix = self._target() if self.learned else psi / nu[:, None, None]
        return np.sqrt(np.diagonal(matrix, axis1=1, axis2=2) / kappa[:, None])

    def log_density(self, X: Array, parameters: Parameters) -> Array:
        """Return log Normal(x; μ_k, Σ_k) of the observed cells, shape (draw, row, outcome)."""
        draws, labels = parameters["mu"].shape[:2]
        out = np.zeros((len(X), labels, draws))
        for seen, rows in by_pattern(np.isnan(X)):
            whitening = self._whitening(parameters["Sigma"], parameters["mu"], seen)
            squares = whitening.squares(X[rows][:, seen])
            squares += whitening.log_det + seen.sum() * np.log(2 * np.pi)
            squares *= -0.5
            out[rows] = squares
        return np.moveaxis(out, 2, 0)

    def _whitening(self, Sigma: Array, mu: Array, seen: NDArray[np.bool_]) -> Whitening:
        """Return the factors of the observed columns; they are kept as long as the arrays, which never change."""
        key = id(Sigma), id(mu), seen.tobytes()
        found = KEPT.get(key)
        if found is None:
            if sum(own.factor.nbytes for own in tuple(KEPT.values())) > CACHE_BYTES:  # entries can go at any time
                KEPT.clear()
            found = KEPT[key] = Whitening.of(submatrix(self._expand(Sigma), seen), mu[:, :, seen])
            for array in (Sigma, mu):
                finalize(array, KEPT.pop, key, None)
        return found

    def log_predictive(self, X: Array) -> Array:
        """Return the log density of the multivariate Student's t over the observed cells, (row, outcome)."""
        m, kappa, _, _ = self._hyperparameters()
        out = np.zeros((len(X), len(m)))
        for seen, rows in by_pattern(np.isnan(X)):
            for k, own in enumerate(self._mixtures(seen)):
                z = own.coordinates(X[rows][:, seen] - m[k, seen])
                out[rows, k] = logsumexp(own.log_weight + own.log_t(own.products(z, z), 1 + 1 / kappa[k]), axis=1)
        return out

    def log_predictive_without(self, X: Array, y: Integers) -> Array:
        """Multivariate t with ν − 1 and Ψ − c uuᵀ, u = x − m and c = κ/(κ − 1) of the own class (Sherman–Morrison)."""
        # The only rows with a missing cell, in a conjugate model, are those without any cell.
        out = np.zeros((len(X), len(self.axes.labels)))
        seen = np.flatnonzero(~np.isnan(X).any(axis=1))
        out[seen] = self._log_t_without(X[seen], y[seen])
        return out

    def _log_normalizer(self) -> Array:
        """log 2^(νd/2) Γ_d(ν/2) |Ψ|^(−ν/2) Π κ^(−d/2), the product over the means that share the covariance.

        Where ν is learned, each term is relative to that before any row, and integrated over ν.

        References
        ----------
        Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, eq 266.
        """
        _, kappa, nu, psi = self._hyperparameters()
        d = len(self.axes.features)
        of_means = shared_scatter(0.5 * d * np.log(kappa), self._shared)
        if self.learned:
            return np.asarray(self.freedom.grid.log_total - of_means)[:, None]
        of_covariance = multigammaln(nu / 2, d) - 0.5 * nu * np.linalg.slogdet(psi)[1] + 0.5 * nu * d * np.log(2)
        return np.asarray(of_covariance - of_means)[:, None]

    def _log_base(self, statistics: GroupedMoments) -> Array:
        """log (2π)^(−nd/2)."""
        n = shared_scatter(statistics.complete()[0], self._shared)
        return np.asarray(-0.5 * np.log(2 * np.pi) * len(self.axes.features) * n)[:, None]

    def log_prior(self, parameters: Parameters) -> Density:
        """μ_k | Σ ~ Normal(m_k, Σ/κ), Σ | ν ~ InvWishart(ν, Ψ) and ν; one part if Σ is shared, else one per class."""
        mu, Sigma = parameters["mu"], self._expand(parameters["Sigma"])
        m, kappa, nu, psi = self._hyperparameters()
        labels, d = m.shape
        log_det, inverse = np.linalg.slogdet(Sigma)[1], np.linalg.inv(Sigma)
        deviation = mu - m
        square = np.einsum("ski,skij,skj->sk", deviation, np.broadcast_to(inverse, (*mu.shape, d)), deviation)
        of_means = -0.5 * (kappa * square + log_det)
        of_covariance, scaled = -0.5 * (nu * log_det + np.einsum("gij,sgji->sg", psi, inverse)), None
        if self.learned:
            c = self._expand(parameters["nu"]) - d - 1
            squares = np.einsum("gi,sgii->sg", np.asarray(self.scale), inverse)
            of_covariance += self.freedom.log_joint(c) - 0.5 * c * (log_det + squares)
            scaled = self.freedom.log_prior(np.log(c))
        densities = of_covariance + (of_means.sum(axis=1, keepdims=True) if self._shared else of_means)
        part = np.zeros(labels, dtype=np.intp) if self._shared else np.arange(labels)
        of_mu = np.broadcast_to(part[:, None], (labels, d))
        of_Sigma = np.broadcast_to(part[:, None, None], (labels, d, d))
        of_nu = {"nu": np.zeros((), dtype=np.intp) if self._shared else part} if self.learned else {}
        part_of = {"mu": of_mu, "Sigma": of_Sigma[0] if self._shared else of_Sigma, **of_nu}
        return Density(densities, part_of, scaled)

    def linear_terms(self, parameters: Parameters, design: LinearDesign) -> LinearTerms:
        """−½ zᵀΣ⁻¹z + zᵀΣ⁻¹d − ½ dᵀΣ⁻¹d with z = x − center and d = μ_k − center (Abu-El-Haija 2.3)."""
        if not self._shared:
            raise Refused(f"{design} has a covariance for each class; only covariance='shared' has linear log-odds")
        distance = parameters["mu"] - design.centre
        weight = np.linalg.solve(parameters["Sigma"], distance.transpose(0, 2, 1)).transpose(0, 2, 1)
        return LinearTerms(weight, -0.5 * distance * weight)

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the first column with each other one: all depend on each other."""
        return joined(self.axes.features)

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw x (row, feature)."""
        mu = parameters["mu"][0]
        factors = cholesky(self._expand(parameters["Sigma"])[0])
        factors = np.broadcast_to(factors, (len(mu), *factors.shape[1:]))
        return np.asarray(mu[y] + np.einsum("rij,rj->ri", factors[y], rng.standard_normal((len(y), mu.shape[1]))))

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return μ: (outcome, feature); Σ: (feature, other_feature), with the outcome first if not shared, as ν is."""
        of_nu: dict[str, tuple[str, ...]] = {"nu": () if self._shared else ("outcome",)} if self.learned else {}
        return {"mu": ("outcome", "feature"), "Sigma": COVARIANCE_DIMS[self.covariance], **of_nu}

    @property
    def _conjugate(self) -> NormalInverseWishart:
        """The distribution of μ, Σ and, where it is learned, ν."""
        scale = np.asarray(self.scale) if self.learned else None
        return NormalInverseWishart(*self._hyperparameters(), self._shared, scale)

    def _updated(self, complete: GroupedMoments) -> Self:
        own = self._conjugate.updated(*complete.complete())
        return replace(self, m=own.m, kappa=own.kappa, nu=own.nu, psi=own.psi)

    def _mode(self, complete: GroupedMoments) -> Parameters:
        posterior = self._updated(complete)
        m, _, nu, psi = posterior._hyperparameters()  # noqa: SLF001
        of_nu: Parameters = {}
        if self.learned:
            c = posterior.freedom.mode()
            of_nu = {"nu": self._squeeze(c[None]) + m.shape[1] + 1}
            nu, psi = nu + c, psi + c[:, None, None] * self._target()
        Sigma = psi / (nu + m.shape[1] + 1 + (len(m) if self._shared else 1))[:, None, None]
        return {"mu": m[None], "Sigma": self._squeeze(Sigma[None]), **of_nu}

    def _log_t_without(self, X: Array, y: Integers) -> Array:
        """Return the predictive without each row itself, for complete rows.

        Without the row its ν is one less and its Ψ less c uu', u = x − m and c = κ/(κ − 1) of its class. The components
        of the mixture have the same priors with and without the row, which changes their weights only by 1/p(x).
        """
        m, kappa, _, _ = self._hyperparameters()
        out = self.log_predictive(X) if not self._shared else np.empty((len(X), len(m)))
        for label, own in enumerate(self._mixtures(np.ones(X.shape[1], dtype=bool))):
            rows = np.flatnonzero(y == label)
            if not rows.size:
                continue
            z, c = own.coordinates(X[rows] - m[label]), kappa[label] / (kappa[label] - 1)
            squares = own.products(z, z)
            left = 1 - c * squares
            kept = (left > LOST).all(axis=1)
            left = np.where(kept[:, None], left, 1.0)
            log_weight = own.log_weight - own.log_t(c**2 * squares / left, c, 1, left)
            total = logsumexp(log_weight, axis=1)
            for k in range(len(m)) if self._shared else ():
                other = own.coordinates(X[rows] - m[k])
                crossed = own.products(other, other) + c * own.products(z, other) ** 2 / left
                log_t = own.log_t(crossed, 1 + 1 / kappa[k], 1, left)
                out[rows, k] = logsumexp(log_weight + log_t, axis=1) - total
            out[rows, label] = -total
            out[rows[~kept]] = np.nan
        return out

    def _mixtures(self, seen: NDArray[np.bool_]) -> list[StudentMixture]:
        """Return the predictive of each class over some columns: a mixture over ν, or one t where ν is given."""
        return self._mixtures_of_all if seen.all() else self._mixtures_of(seen)

    @cached_property
    def _mixtures_of_all(self) -> list[StudentMixture]:
        return self._mixtures_of(np.ones(len(self.axes.features), dtype=bool))

    def _mixtures_of(self, seen: NDArray[np.bool_]) -> list[StudentMixture]:
        m, _, nu, psi = self._hyperparameters()
        matrix = submatrix(psi, seen)
        if self.learned:
            spectrum = Spectrum.of(matrix, np.asarray(self.scale)[:, seen])
            log_weight, c = self.freedom.grid.log_weight, np.exp(self.freedom.grid.nodes)
        else:
            spectrum = Spectrum.of(matrix, np.diagonal(matrix, axis1=1, axis2=2))
            log_weight = c = np.zeros((1, len(nu)))
        of_groups = spectrum.mixtures(c, nu + c - m.shape[1] + 1, log_weight)
        return of_groups * len(m) if self._shared else of_groups

    def _target(self) -> Array:
        """Return diag(s), (group, feature, other_feature)."""
        return np.asarray(self.scale)[:, :, None] * np.eye(len(self.axes.features))

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
