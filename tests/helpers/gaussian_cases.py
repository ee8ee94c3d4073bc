"""A second, naive way to every density of numbers, by SciPy."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from helpers.case import MISSING_SHARE, Case, CellCase, gaps, tangent_grid
from scipy import special, stats

from bayesclf.families.gaussian import SHARED_OVER


@dataclass(frozen=True, eq=False)
class GaussianCase(CellCase):
    """Real cells; a point is (μ, σ²)."""

    @property
    def shape(self):
        """Return the shape of the variances on (outcome, feature), axes that are shared of length 1."""
        return tuple(1 if axis in SHARED_OVER[self.family.variance] else 3 for axis in (0, 1))

    def rows(self, rng, y, missing=MISSING_SHARE):
        location = np.array([[0.0, 2.0, -1.0], [1.0, 0.0, 1.0], [-1.0, 1.0, 0.5]])
        X = location[y] + rng.normal(size=(len(y), 3)) * (0.7 + 0.4 * y[:, None])
        return gaps(rng, X, missing)

    @property
    def spaces(self):
        return {"mu": ("real", (1, 3, 3)), "sigma2": ("log", (1, *(size for size in self.shape if size > 1)))}

    def by_cell(self, parameters):
        sigma2 = np.broadcast_to(parameters["sigma2"].reshape(self.shape), (3, 3))
        return {"mu": parameters["mu"][0], "sigma2": sigma2}

    def cells(self, mu, sigma2):
        return stats.norm(mu, np.sqrt(sigma2))

    def cell_grid(self, feature):
        return tangent_grid()

    def named(self, mu, sigma2):
        return {"mu": mu[None], "sigma2": sigma2.reshape(1, *(size for size in self.shape if size > 1))}

    def log_prior(self, family, parameters):
        mu, sigma2 = parameters["mu"][0], parameters["sigma2"].reshape(self.shape)
        of_variance = stats.invgamma.logpdf(sigma2, family.a, scale=family.b).sum()
        return of_variance + stats.norm.logpdf(mu, family.m, np.sqrt(sigma2 / family.kappa)).sum()

    def marginals(self, family):
        """Return the distribution of each parameter: an inverse gamma, and Student's t for a mean."""
        named = self.named(family.m, family.a), self.named(family.m, family.b)
        a, b = (part["sigma2"][0] for part in named)
        scale = np.sqrt(family.b / (family.a * family.kappa))
        t = stats.t(np.broadcast_to(2 * family.a, (3, 3)), loc=family.m, scale=scale)
        return {"mu": t, "sigma2": stats.invgamma(a, scale=b)}

    def naive_mle(self, X, y):
        """Return Mitchell's eqs 13 to 15: sums over the cells of each variance, one at a time."""
        mu = np.array([[np.nanmean(X[y == k, i]) for i in range(3)] for k in range(3)])
        sigma2 = np.empty(self.shape)
        for group in np.ndindex(self.shape):
            members = [
                (k, i)
                for k, i in np.ndindex(3, 3)
                if (self.shape[0] == 1 or k == group[0]) and (self.shape[1] == 1 or i == group[1])
            ]
            squares = sum(np.nansum((X[y == k, i] - mu[k, i]) ** 2) for k, i in members)
            cells = sum(np.sum(~np.isnan(X[y == k, i])) for k, i in members)
            sigma2[group] = squares / (cells - len(members) if self.family.unbiased else cells)
        return self.named(mu, sigma2)


@dataclass(frozen=True, eq=False)
class MultivariateGaussianCase(Case):
    """Real rows without missing cells, which alone are conjugate; a point is (μ, Σ), and ν where it is learned."""

    @property
    def learned(self):
        return self.family.nu is None

    @property
    def marginal_modes(self):
        """Return the parameters whose `map` is the mode of their own distribution, the others integrated out."""
        return ("nu",) if self.learned else ()

    @property
    def groups(self):
        """Return the number of covariances."""
        return 1 if self.family.covariance == "shared" else 3

    def rows(self, rng, y, missing=0.0):
        location = np.array([[0.0, 2.0, -1.0], [1.0, 0.0, 1.0], [-1.0, 1.0, 0.5]])
        return location[y] + rng.normal(size=(len(y), 3)) @ [[1.0, 0.6, 0.0], [0.0, 0.8, -0.5], [0.0, 0.0, 0.7]]

    def point(self, rng):
        factor = rng.normal(size=(self.groups, 3, 3)) / 2 + np.eye(3)
        found = self.named(rng.normal(size=(3, 3)), factor @ factor.swapaxes(1, 2) + 0.1 * np.eye(3))
        nu = 4 + np.exp(1 + rng.normal(size=(1, self.groups)) / 2) if self.learned else None
        return found if nu is None else {**found, "nu": nu[:, 0] if self.groups == 1 else nu}

    def named(self, mu, Sigma):
        return {"mu": mu[None], "Sigma": Sigma[:1] if self.groups == 1 else Sigma[None]}

    def by_class(self, parameters):
        return np.broadcast_to(parameters["Sigma"][0], (3, 3, 3))

    def row_log_density(self, X, y, parameters):
        normals = [
            stats.multivariate_normal(mu, Sigma)
            for mu, Sigma in zip(parameters["mu"][0], self.by_class(parameters), strict=True)
        ]
        return np.array([normals[k].logpdf(x) for x, k in zip(X, y, strict=True)], dtype=float)

    def log_prior(self, family, parameters):
        Sigma, (of_nu, nu, psi) = self.by_class(parameters), self.given_nu(family, parameters)
        covariances = zip(Sigma[: self.groups], nu, psi, strict=True)
        total = of_nu + sum(stats.invwishart.logpdf(own, nu, psi) for own, nu, psi in covariances)
        means = zip(parameters["mu"][0], family.m, Sigma, family.kappa, strict=True)
        return total + sum(stats.multivariate_normal.logpdf(mu, m, own / kappa) for mu, m, own, kappa in means)

    def marginals(self, family):
        """Return the distribution of each parameter: Student's t for a mean, and that of an entry of Σ."""
        if not self.learned:
            return self.marginals_given(family)
        t = np.linspace(np.log(3) - 9, np.log(3) + 9, 721)
        weight = special.softmax(freedom_log_density(family, t[:, None]), axis=0)
        of_nu = FreedomMarginals(np.exp(t) + 4, weight[:, 0] if self.groups == 1 else weight)
        c, weight = np.exp(t[::10]), weight[::10] / weight[::10].sum(axis=0)
        kept = np.flatnonzero((weight > 1e-14).any(axis=1))
        at = [replace(family, nu=family.nu + own, psi=psi_at(family, own), scale=None) for own in c[kept]]
        parts = [self.marginals_given(own) for own in at]
        return {
            "mu": Mixed([part["mu"] for part in parts], weight[kept].reshape(-1, self.groups, 1)),
            "Sigma": Mixed(
                [part["Sigma"] for part in parts],
                weight[kept, 0] if self.groups == 1 else weight[kept].reshape(-1, self.groups, 1, 1),
            ),
            "nu": of_nu,
        }

    def given_nu(self, family, parameters):
        """Return the log density of ν, and ν and Ψ of Σ's distribution given it."""
        if not self.learned:
            return 0.0, family.nu, family.psi
        c = parameters["nu"].reshape(-1) - 4
        t = np.linspace(-8, 10, 145)[:, None]
        total = special.logsumexp(freedom_log_density(family, t), axis=0) + np.log(t[1] - t[0])
        of_nu = freedom_log_density(family, np.log(c)[None])[0] - np.log(c) - total
        return of_nu.sum(), family.nu + c, psi_at(family, c)

    def marginals_given(self, family):
        freedom = family.nu - 2
        scale = np.diagonal(family.psi, axis1=1, axis2=2) / freedom[:, None] / family.kappa[:, None]
        t = stats.t(np.broadcast_to(freedom[:, None], (3, 3)), loc=family.m, scale=np.sqrt(scale))
        return {"mu": t, "Sigma": CovarianceMarginals(family.nu, family.psi)}

    def pymc_factors(self, parameters):
        """Return R of the prior, the sds of the means, and A with Σ = R A⁻ᵀA⁻¹Rᵀ, upper triangular."""
        prior = self.prior
        scale = prior.scale[:, :, None] * np.eye(3) if self.learned else prior.psi
        variance = np.diagonal(scale, axis1=1, axis2=2) / (1.0 if self.learned else prior.nu[:, None])
        root = np.linalg.cholesky(scale)
        below = np.linalg.solve(root, np.linalg.cholesky(parameters["Sigma"].reshape(-1, self.groups, 3, 3)))
        return root, np.sqrt(variance / prior.kappa[:, None]), np.linalg.inv(below).swapaxes(-1, -2)

    def to_pymc(self, parameters):
        _, unit, A = self.pymc_factors(parameters)
        found = {
            "mu_z": (parameters["mu"] - self.prior.m) / unit,
            "squares": np.diagonal(A, axis1=2, axis2=3) ** 2,
            "above": A[..., *np.triu_indices(3, 1)],
        }
        if self.groups == 1:
            found = {name: values if name == "mu_z" else values[:, 0] for name, values in found.items()}
        return {**found, **({"c": parameters["nu"] - 4} if self.learned else {})}

    def pymc_log_jacobian(self, parameters):
        """Return Σ log sd + Σ 4 log|Σ|/|R| + Σ_i i log A_ii, i from 0."""
        root, unit, A = self.pymc_factors(parameters)
        Sigma = parameters["Sigma"].reshape(-1, 3, 3)
        of_factors = 4 * (np.linalg.slogdet(Sigma)[1] - np.linalg.slogdet(root)[1]).sum()
        return np.log(unit).sum() + of_factors + (np.arange(3) * np.log(np.diagonal(A, axis1=2, axis2=3))).sum()

    cell_grid = GaussianCase.cell_grid

    def log_measure(self, parameters):
        of_nu = np.log(parameters["nu"] - 4).sum() if self.learned else 0.0
        return of_nu + 2 * np.linalg.slogdet(parameters["Sigma"])[1].sum()

    def unconstrained(self, parameters):
        factor = np.linalg.cholesky(self.by_class(parameters)[: self.groups])
        rows, columns = np.tril_indices(3, -1)
        diagonal = np.log(np.diagonal(factor, axis1=1, axis2=2))
        return np.concatenate([parameters["mu"].ravel(), diagonal.ravel(), factor[:, rows, columns].ravel()])

    def constrained(self, vector):
        factor = np.zeros((self.groups, 3, 3))
        rows, columns = np.tril_indices(3, -1)
        factor[:, rows, columns] = vector[9 + 3 * self.groups :].reshape(self.groups, 3)
        factor[:, range(3), range(3)] = np.exp(vector[9 : 9 + 3 * self.groups]).reshape(self.groups, 3)
        return self.named(vector[:9].reshape(3, 3), factor @ factor.swapaxes(1, 2))

    def naive_mle(self, X, y):
        """Return Abu-El-Haija's estimates: sums of outer products over the rows, one at a time."""
        mu = np.array([X[y == k].mean(axis=0) for k in range(3)])
        Sigma = np.zeros((self.groups, 3, 3))
        for x, k in zip(X, y, strict=True):
            n = len(y) if self.groups == 1 else np.sum(y == k)
            Sigma[k if self.groups > 1 else 0] += np.outer(x - mu[k], x - mu[k]) / n
        return self.named(mu, Sigma)


def psi_at(family, c):
    """Return Ψ (group, feature, other_feature) at c (group), or one c."""
    return family.psi + np.reshape(c, (-1, 1, 1)) * family.scale[:, :, None] * np.eye(family.scale.shape[1])


def freedom_log_density(family, t):
    """Return the log density of t = log(ν − d − 1) times the evidence of the rows, (node, group), up to a constant."""
    d, c = family.scale.shape[1], np.exp(t)
    before, after = c + d + 1, c + family.nu
    psi = family.psi + (c[..., None] * family.scale)[..., None] * np.eye(d)
    of_rows = special.multigammaln(after / 2, d) - special.multigammaln(before / 2, d)
    of_rows = of_rows + (after - before) * d / 2 * np.log(2) - after / 2 * np.linalg.slogdet(psi)[1]
    of_rows += before / 2 * np.log(c[..., None] * family.scale).sum(axis=-1)
    return of_rows + stats.norm.logpdf(t, np.log(d))


@dataclass(frozen=True, eq=False)
class Mixed:
    """A mixture of distributions of one shape, weights (node, …)."""

    parts: Any
    weight: Any

    def mean(self):
        return sum(w * part.mean() for w, part in zip(self.weight, self.parts, strict=True))

    def cdf(self, x):
        """Return it exactly at a few hundred quantiles of many draws, and between these by interpolation."""
        knots = np.quantile(x, np.linspace(0, 1, 301), axis=0) if len(x) > 301 else np.asarray(x)
        exact = sum(w * part.cdf(knots) for w, part in zip(self.weight, self.parts, strict=True))
        if len(x) <= 301:
            return exact
        columns = (np.reshape(values, (len(values), -1)).T for values in (x, knots, exact))
        return np.stack([np.interp(*column) for column in zip(*columns, strict=True)], axis=-1).reshape(x.shape)


@dataclass(frozen=True, eq=False)
class FreedomMarginals:
    """ν on a grid with weights (node) or (node, outcome), its logarithm even."""

    nu: Any
    weight: Any

    def mean(self):
        return self.nu @ self.weight

    def cdf(self, x):
        """Return the sum of the weights below, half of a node's own with it, in the logarithm of ν − d − 1."""
        weight = self.weight.reshape(len(self.nu), -1)
        cumulative = np.cumsum(weight, axis=0) - weight / 2
        columns = np.asarray(x).reshape(-1, weight.shape[1]).T
        found = [
            np.interp(np.log(own - 4), np.log(self.nu - 4), below)
            for own, below in zip(columns, cumulative.T, strict=True)
        ]
        return np.stack(found, axis=-1).reshape(np.shape(x))


@dataclass(frozen=True, eq=False)
class CovarianceMarginals:
    """Each entry of Σ ~ InvWishart(ν, Ψ): Σ_ii is inverse gamma; Σ_ij is Σ_ii times an independent Student's t."""

    nu: Any
    psi: Any

    def mean(self):
        return self._squeezed(self.psi / (self.nu - 4)[:, None, None])

    def cdf(self, x):
        x = np.asarray(x, dtype=float)
        return np.stack(
            [
                self._entry(x[..., g, i, j] if len(self.nu) > 1 else x[..., i, j], g, i, j)
                for g, i, j in self._entries()
            ],
            axis=-1,
        ).reshape(x.shape)

    def _entries(self):
        return np.ndindex(len(self.nu), 3, 3)

    def _squeezed(self, values):
        return values[0] if len(self.nu) == 1 else values

    def _entry(self, x, g, i, j):
        nu, psi = self.nu[g] - 1, self.psi[g]  # of a block of two of the three columns
        variance = stats.invgamma((nu - 1) / 2, scale=psi[i, i] / 2)
        if i == j:
            return variance.cdf(x)
        residual = psi[j, j] - psi[i, j] ** 2 / psi[i, i]
        location, scale = psi[i, j] / psi[i, i], np.sqrt(residual / psi[i, i] / nu)
        # Averaged over the variance's quantiles: 40 Gauss points leave about 1e-4, as 200 even ones do.
        points, weights = np.polynomial.legendre.leggauss(40)
        values = variance.ppf((points + 1) / 2)
        slopes = (special.stdtr(nu, (x / value - location) / scale) for value in values)  # as stats.t, without checks
        return sum(w / 2 * slope for slope, w in zip(slopes, weights, strict=True))
