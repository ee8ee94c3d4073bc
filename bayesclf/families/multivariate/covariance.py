"""Covariances: linear algebra for many hypotheses, estimates, inverse Wishart priors, and missing cells.

Σ | ν ~ InvWishart(ν, (ν − d − 1) diag(s)). With c = ν − d − 1, E[Σ] = diag(s) at every c, also for each block of
columns: c is how many rows that guess is worth. Given c the model is conjugate, and the rows add the same n and P to ν
and Ψ at every c. So the posterior is a mixture over c, of which one spectrum gives all determinants and squares:

    V' P V = diag(e) and V' diag(s) V = I, so that V' (P + c diag(s)) V = diag(e + c).

The missing cells of the rows of one class with the same cells missing are not drawn themselves, but their completed
mean and scatter: a step costs the same for a thousand rows and for a million.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import compress
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, multigammaln

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import require
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.families.base import VARIANCE, Axes, broadcast, require_each
from bayesclf.families.cells import Booleans, by_pattern
from bayesclf.families.dirichlet import log_rising
from bayesclf.families.multivariate.groups import GroupedMoments
from bayesclf.families.quadrature import Grid, log_normal_density, zero_of

RANK_TOLERANCE = 1e-13
"""Smallest eigenvalue of a correlation matrix, per column, that cannot be a rounding error of zero."""

SINGULAR = float(np.finfo(float).eps)
"""Smallest eigenvalue likewise of a matrix whose inverse still has digits."""

FEW_ROWS, COORDINATES = 8, 16
"""Up to so many rows, so many coordinates are whitened at a time: reading the factors takes longer than computing."""

COLLINEAR = (
    "a covariance is numerically singular: columns are nearly collinear, or a given m is far from the rows; "
    "drop columns, or change m or psi"
)


TOLERANCE = 1e-11
"""Largest change of an estimate in one step, in standard deviations, that counts as convergence."""

STEPS = 20_000


@dataclass(frozen=True)
class Whitening:
    """Inverse Cholesky factors of the covariances of many hypotheses, and where these put their means.

    `factor`: (outcome, other_feature, feature, draw), lower triangular; a single outcome where the classes share it.
    `log_det`: log|Σ|, (outcome, draw). `center`: c, the median of a class's draws of μ, (outcome, feature). `shift`: μ
    − c, whitened, (outcome, feature, draw).
    """

    factor: Array
    log_det: Array
    center: Array
    shift: Array

    @classmethod
    def of(cls, Sigma: Array, mu: Array) -> Whitening:
        """Return that of covariances (draw, outcome, feature, other_feature) and means (draw, outcome, feature)."""
        factor = cholesky(Sigma)
        log_det = 2 * np.log(np.diagonal(factor, axis1=2, axis2=3)).sum(axis=2).T
        inverse, center = np.linalg.inv(factor.mT).mT, np.median(mu, axis=0)
        shift = (np.broadcast_to(inverse, (*mu.shape, mu.shape[2])) @ (mu - center)[..., None])[..., 0]
        factor, shift = (np.ascontiguousarray(np.moveaxis(values, 0, -1)) for values in (inverse.mT, shift))
        return cls(factor, log_det, center, shift)

    def squares(self, X: Array) -> Array:
        """Return (x − μ)ᵀ Σ⁻¹ (x − μ) of complete rows (row, feature), (row, outcome, draw).

        x is whitened by the inverse Cholesky factor of each draw, some coordinates at a time, around c: as μ − c is
        small nothing cancels, whatever the origin of x.
        """
        labels, features, draws = self.shift.shape
        out = np.zeros((len(X), labels, draws))
        step = 1 if len(X) > FEW_ROWS else COORDINATES
        for k in range(labels):
            W, moved = self.factor[min(k, len(self.factor) - 1)], X - self.center[k]
            for start in range(0, features, step):
                end = min(start + step, features)
                z = moved[:, :end] @ W[:end, start:end].reshape(end, -1)
                z -= self.shift[k, start:end].ravel()
                out[:, k] += np.square(z, out=z).reshape(len(X), end - start, draws).sum(axis=1)
        return out


def cholesky(Sigma: Array) -> Array:
    """Return lower triangular factors of covariances (…, feature, other_feature).

    Raises `Refused` if one is singular to rounding.
    """
    try:
        return np.linalg.cholesky(Sigma)
    except np.linalg.LinAlgError:
        raise Refused(COLLINEAR) from None


def collinear(scatter: Array, zero: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which columns are involved in a linear dependence of a scatter (feature, other_feature).

    `zero`: Columns known to be constant, (feature).
    """
    if zero.any():
        return zero
    scale = np.sqrt(np.diagonal(scatter))
    values, vectors = np.linalg.eigh(scatter / np.outer(scale, scale))
    null = vectors[:, values <= RANK_TOLERANCE * len(scale)]
    return np.asarray(np.abs(null).max(axis=1, initial=0.0) > np.sqrt(RANK_TOLERANCE))


def submatrix(matrices: Array, seen: NDArray[np.bool_]) -> Array:
    """Return the observed rows and columns of (..., feature, other_feature)."""
    return matrices[..., seen, :][..., seen]


def inverse_wishart_factors(nu: Array, psi: Array, rng: np.random.Generator, draws: int) -> Array:
    """Draw lower Cholesky factors of Σ ~ InvWishart(ν, Ψ), (draw, group, feature, other_feature).

    With Ψ = LLᵀ, Σ⁻¹ = L⁻ᵀ U Uᵀ L⁻¹ is Wishart where U is upper triangular with independent entries (Bartlett's
    decomposition): squares of its diagonal, from the last to the first, are χ² with ν, ν − 1, … degrees of freedom; the
    others are standard normal. Then LU⁻ᵀ is a lower triangular factor of Σ.

    `nu`: Degrees of freedom (group) or (draw, group), each above the number of features less one. `psi`: Scale (group,
    feature, other_feature), or with the draw as first axis.
    """
    groups, size = psi.shape[-3:-1]
    U = np.triu(rng.standard_normal((draws, groups, size, size)), 1)
    freedom = nu[..., None] - np.arange(size)[::-1]
    diagonal = np.sqrt(rng.chisquare(freedom, size=(draws, groups, size)))
    U[..., np.arange(size), np.arange(size)] = diagonal
    transposed = np.linalg.solve(U, cholesky(psi).swapaxes(-1, -2))
    return np.asarray(np.tril(transposed.swapaxes(2, 3)))


def outer(factors: Array) -> Array:
    """Return CCᵀ, exactly symmetric."""
    return np.asarray(np.einsum("...ij,...kj->...ik", factors, factors))


def shared_scatter(values: Array, shared: bool, axis: int = 0) -> Array:
    """Return (group, ...) of (outcome, ...): the sum where the classes share a covariance."""
    return np.asarray(values.sum(axis=axis, keepdims=True)) if shared else values


def maximum_likelihood(statistics: GroupedMoments, shared: bool) -> Parameters:
    """Return x̄ and S/n from complete rows (Abu-El-Haija 2.1); raises `DoesNotExist` where S is singular."""
    n, mean, scatter = statistics.complete()
    n, scatter = (shared_scatter(values, shared) for values in (n, scatter))
    zero = shared_scatter(statistics.cells().without_rounding(), shared) == 0
    for group in range(len(n)):
        columns = collinear(scatter[group], zero[group])
        if columns.any():
            raise DoesNotExist(_singular(statistics.axes, n[group], group, shared, columns))
    Sigma = scatter / n[:, None, None]
    return {"mu": mean[None], "Sigma": Sigma if shared else Sigma[None]}


def _singular(axes: Axes, n: float, group: int, shared: bool, columns: NDArray[np.bool_]) -> str:
    names = axes.features
    subject = "the classes together have" if shared else f"class {axes.labels[group]!r} has"
    what = f"{subject} too few different values for a covariance of {len(names)} columns by maximum likelihood: "
    if n <= len(names):
        return what + f"no more rows than features ({n:g} rows)"
    return what + f"collinear or constant columns ({', '.join(map(repr, compress(names, columns)))})"


def require_estimable(statistics: GroupedMoments, shared: bool) -> None:
    """Raise where a class has no cell of a column, or no row has two columns that need a covariance."""
    labels, names = statistics.axes.labels, statistics.axes.features
    require_each(statistics.cells().n > 0, statistics.axes, "has no value", ", so no mean by maximum likelihood")
    of_label = statistics.labels == np.arange(len(labels))[:, None]
    seen = statistics.seen.astype(float)
    together = shared_scatter(np.einsum("kg,g,gi,gj->kij", of_label, statistics.n, seen, seen, optimize=True), shared)
    apart = np.argwhere(together == 0)
    if apart.size:
        group, one, other = apart[0]
        subject = "no row" if shared else f"class {labels[group]!r} has no row that"
        both_columns = f"both columns {names[one]!r} and {names[other]!r}"
        raise DoesNotExist(f"{subject} has {both_columns}, so no covariance by maximum likelihood")


def observed(statistics: GroupedMoments) -> tuple[Array, Array]:
    """Return means (outcome, feature) and pooled variances (feature) of the observed cells; 1 where all are equal."""
    cells = statistics.cells()
    pooled = cells.pooled()
    s2 = pooled.scatter[0] / np.maximum(pooled.n[0], 1)
    return np.where(cells.n > 0, cells.mean, pooled.mean), np.where(s2 > 0, s2, 1.0)


def given_scale(psi: float | Array, shape: tuple[int, int, int]) -> Array:
    """Return Ψ (group, feature, other_feature) from one matrix, one per class, or a diagonal."""
    given = np.asarray(psi, dtype=float)
    if given.ndim < 2:
        given = np.diag(broadcast("psi", given, shape[1:2], "feature"))
    matrices = broadcast("psi", given, shape)
    if not (np.isfinite(matrices).all() and np.allclose(matrices, matrices.swapaxes(1, 2), rtol=1e-10, atol=0)):
        raise InputError("psi must be finite and symmetric; give the scale matrix of a covariance, or its diagonal")
    try:
        np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        raise InputError("psi must be positive definite; its columns are collinear or a diagonal entry is 0") from None
    require(VARIANCE, psi=np.diagonal(matrices, axis1=1, axis2=2))
    return matrices


def estimate(
    statistics: GroupedMoments, maximization: Callable[[GroupedMoments], Parameters], shared: bool
) -> Parameters:
    """Return the estimate: directly from complete rows, otherwise by expectation and maximization.

    That starts from means and variances of the observed cells. No step lowers the observed-data likelihood (times
    prior).

    Raises `DoesNotExist` where it does not converge.

    See Dempster, Laird and Rubin (1977); Little and Rubin, *Statistical Analysis with Missing Data*, §11.2.
    """
    if not statistics.incomplete():
        return maximization(statistics)
    mu, s2 = observed(statistics)
    Sigma = np.diag(s2)
    after: Parameters = {"mu": mu[None], "Sigma": Sigma[None] if shared else np.tile(Sigma, (1, len(mu), 1, 1))}
    for _ in range(STEPS):
        now, after = after, maximization(expectation(statistics, after))
        if _change(now, after) < TOLERANCE:
            return after
    reason = f"EM has not converged after {STEPS} steps, perhaps because too few rows have values in the same columns"
    raise DoesNotExist(f"{reason}; use inference='augmentation', or drop columns")


def expectation(statistics: GroupedMoments, parameters: Parameters) -> GroupedMoments:
    """Return the expected moments of the complete rows, given the observed cells and the parameters.

    Given the observed cells s, the missing cells u have mean μ_u + B(x_s − μ_s) and covariance Σ_uu − BΣ_su,
    B = Σ_us Σ_ss⁻¹.
    """
    mean, scatter = statistics.mean.copy(), statistics.scatter.copy()
    for s, groups in by_pattern(~statistics.seen):
        if s.all():
            continue
        mu, Sigma = (values[statistics.labels[groups]] for values in (parameters["mu"][0], _of_label(parameters)))
        B = np.linalg.solve(submatrix(Sigma, s), Sigma[:, s][:, :, ~s]).swapaxes(1, 2)
        T = np.zeros((len(groups), len(s), int(s.sum())))
        T[:, s], T[:, ~s] = np.eye(int(s.sum())), B
        inside = np.zeros_like(Sigma)
        inside[:, *np.ix_(~s, ~s)] = submatrix(Sigma, ~s) - B @ Sigma[:, s][:, :, ~s]
        mean[groups] = mu + np.einsum("gfs,gs->gf", T, (mean[groups] - mu)[:, s])
        within = T @ submatrix(scatter[groups], s) @ T.swapaxes(1, 2)
        scatter[groups] = within + statistics.n[groups, None, None] * inside
    return statistics.completed(mean, scatter)


def _of_label(parameters: Parameters) -> Array:
    mu, Sigma = parameters["mu"][0], parameters["Sigma"][0]
    return np.broadcast_to(Sigma, (len(mu), *Sigma.shape[-2:]))


def _change(before: Parameters, after: Parameters) -> float:
    """Return the largest change in units of the standard deviations."""
    Sigma = _of_label(after)
    sd = np.sqrt(np.diagonal(Sigma, axis1=1, axis2=2))
    of_mean = np.abs(after["mu"][0] - before["mu"][0]) / sd
    of_covariance = np.abs(Sigma - _of_label(before)) / (sd[:, :, None] * sd[:, None, :])
    return float(max(of_mean.max(), of_covariance.max()))


SPREAD = 1.0
"""Of the prior log c ~ Normal(log d, SPREAD²): 95% of it are between a seventh and sevenfold of d."""

REACH = 12.0
"""Standard deviations of that prior that the range of log c extends to either side."""

NODES, DEPTH = 96, 100.0
"""Nodes of the grid of log c, and nats below its maximum of the log density at both ends: ±14 standard deviations."""

DRAWN_NODES, DRAWN_DEPTH = 256, 40.0
"""The same for draws. The distribution function is linear between nodes, which makes the sd .04% larger."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """V and e of matrices P + c diag(s).

    `vectors`: V (…, feature, direction). `values`: e (…, direction). `log_scale`: Σ log s, (…).
    """

    vectors: Array
    values: Array
    log_scale: Array

    @classmethod
    def of(cls, matrix: Array, scale: Array) -> Self:
        """Return the spectrum of P (…, feature, other_feature) and s (…, feature)."""
        sd = np.sqrt(scale)
        values, vectors = np.linalg.eigh(matrix / (sd[..., :, None] * sd[..., None, :]))
        return cls(vectors / sd[..., :, None], values, np.log(scale).sum(axis=-1))

    def mixtures(self, c: Array, freedom: Array, log_weight: Array) -> list[StudentMixture]:
        """Return, for each group, Student's t's of freedom (node, group) over the nodes of c, of these weights.

        Raises `Refused` if a matrix is singular to rounding.
        """
        values = c[..., None] + self.values
        if not (values[..., 0] > SINGULAR * values.shape[-1] * values[..., -1]).all():
            raise Refused(COLLINEAR)
        log_det = np.log(values).sum(axis=-1) + self.log_scale
        return [
            StudentMixture(vectors, 1 / values[:, g], log_det[:, g], freedom[:, g], log_weight[:, g])
            for g, vectors in enumerate(self.vectors)
        ]


@dataclass(frozen=True, eq=False)
class StudentMixture:
    """Multivariate t's whose scales are proportional to matrices of one spectrum.

    `vectors`: V (feature, direction). `precisions`: 1/(c + e), (node, direction). `log_det`: Log determinants of the
    matrices (node). `freedom`: Degrees of freedom (node). `log_weight`: (node).
    """

    vectors: Array
    precisions: Array
    log_det: Array
    freedom: Array
    log_weight: Array

    def coordinates(self, deviation: Array) -> Array:
        """Return deviations (row, feature) along the directions, (row, direction)."""
        return np.asarray(deviation @ self.vectors)

    def products(self, z: Array, other: Array) -> Array:
        """Return x'Ψ⁻¹w of two deviations in coordinates, (row, node)."""
        return np.asarray((z * other) @ self.precisions.T)

    def log_t(self, squares: Array, spread: float, fewer: float = 0.0, left: Array | float = 1.0) -> Array:
        """Return the log density (row, node) of t's of f degrees of freedom and scale Ψ·spread/f.

        `squares`: x'Ψ⁻¹x of deviations (row, node). `spread`: Above 1 by the variance of the mean. `fewer`: Degrees of
        freedom that are left out. `left`: What is left of the determinant, as a factor.
        """
        freedom, size = self.freedom - fewer, self.vectors.shape[1]
        constant = gammaln((freedom + size) / 2) - gammaln(freedom / 2) - 0.5 * size * np.log(np.pi * spread)
        scale = self.log_det + np.log(left)
        return np.asarray(constant - 0.5 * scale - 0.5 * (freedom + size) * np.log1p(squares / spread))


@dataclass(frozen=True, eq=False)
class Freedom:
    """The distribution of t = log c given rows, μ and Σ integrated out.

    `n`: What rows have added to ν, (…). `spectrum`: Of what they have added to Ψ.
    """

    n: Array
    spectrum: Spectrum

    @property
    def _size(self) -> int:
        return int(self.spectrum.values.shape[-1])

    @property
    def bounds(self) -> tuple[float, float]:
        """The range of t."""
        return np.log(self._size) - REACH * SPREAD, np.log(self._size) + REACH * SPREAD

    def log_prior(self, t: Array) -> Array:
        """Return the log density of t before any row."""
        return log_normal_density(t, np.asarray(float(self._size)), np.asarray(SPREAD))

    def log_density(self, t: Array) -> Array:
        """Return the log of prior times evidence at t (node, …).

        The evidence is Z_n(t)/Z_0(t), Z the integral of |Σ|^(−(ν + d + 1)/2) exp(−tr(ΨΣ⁻¹)/2) over Σ.
        """
        c, e, d, n = np.exp(t), self.spectrum.values, self._size, self.n
        i = np.arange(d)
        rising = log_rising((c[..., None] + d + 1 - i) / 2, np.broadcast_to(n[..., None] / 2, (*n.shape, d)))
        ratio = -0.5 * (c + d + 1) * np.log1p(np.maximum(e, 0.0) / c[..., None]).sum(axis=-1)
        added = np.log(c[..., None] + np.maximum(e, 0.0)).sum(axis=-1) + self.spectrum.log_scale - d * np.log(2)
        return np.asarray(self.log_prior(t) + rising.sum(axis=-1) + ratio - 0.5 * n * added)

    def log_joint(self, c: Array) -> Array:
        """Return the log density of t before any row less log Z_0, (draw, …): what the kernel of Σ is multiplied by."""
        d, nu = self._size, c + self._size + 1
        of_scale = 0.5 * nu * (d * np.log(c / 2) + self.spectrum.log_scale)
        return np.asarray(self.log_prior(np.log(c)) + of_scale - multigammaln(nu / 2, d))

    @cached_property
    def grid(self) -> Grid:
        """The distribution of t for integrals."""
        return Grid.of(self.log_density, self.n.shape, self.bounds, NODES, DEPTH)

    def draw(self, rng: np.random.Generator, draws: int) -> Array:
        """Draw c, (draw, …)."""
        return np.exp(self._drawn.draw(rng, draws))

    @cached_property
    def _drawn(self) -> Grid:
        return Grid.of(self.log_density, self.n.shape, self.bounds, DRAWN_NODES, DRAWN_DEPTH)

    def mode(self) -> Array:
        """Return the c where the density of log c is largest, (…).

        That is the lower end of its range where rows repeat each other and columns are many: then Σ is singular.
        """
        e, d, n = np.maximum(self.spectrum.values, 0.0), self._size, self.n[..., None]

        def slope(t: Array) -> Array:
            """Return the derivative of `log_density`."""
            c = np.exp(t)[..., None]
            half = (c + d + 1 - np.arange(d)) / 2
            rising = 0.5 * (digamma(half + n / 2) - digamma(half))
            rest = 0.5 * (-np.log1p(e / c) + (c + d + 1) * e / (c * (c + e)) - n / (c + e))
            return np.asarray((c * (rising + rest)).sum(axis=-1) - (t - np.log(d)) / SPREAD**2)

        return np.exp(zero_of(slope, self.n.shape, self.bounds))


WORK_BYTES = 2**22
"""Size of one array of all chains; rows with missing cells are treated in blocks that fit."""


@dataclass(frozen=True)
class NormalInverseWishart:
    """μ_k | Σ ~ Normal(m_k, Σ/κ_k) and Σ ~ InvWishart(ν, Ψ), for one covariance or one of each class.

    Arrays may have chains as first axis.

    `m`, `kappa`: (outcome, feature) and (outcome). `nu`, `psi`: (group) and (group, feature, other_feature). `shared`:
    Whether there is one covariance. `scale`: s (group, feature) where ν is learned: then ν and Ψ are less by c and c
    diag(s); see `Freedom`.
    """

    m: Array
    kappa: Array
    nu: Array
    psi: Array
    shared: bool
    scale: Array | None = None

    def updated(self, n: Array, mean: Array, scatter: Array) -> Self:
        """Return the posterior given weight (outcome), and means and scatters (…, outcome, …) of rows."""
        kappa, deviation = self.kappa + n, mean - self.m
        shrunk = (self.kappa * n / kappa)[:, None, None] * deviation[..., :, None] * deviation[..., None, :]
        return replace(
            self,
            m=self.m + (n / kappa)[:, None] * deviation,
            kappa=kappa,
            nu=self.nu + shared_scatter(n, self.shared),
            psi=self.psi + shared_scatter(scatter + shrunk, self.shared, -3),
        )

    @property
    def freedom(self) -> Freedom:
        """The distribution of ν where it is learned."""
        scale = np.broadcast_to(np.asarray(self.scale), self.psi.shape[:-1])
        nu = np.broadcast_to(self.nu, self.psi.shape[:-2])
        return Freedom(nu - self.psi.shape[-1] - 1, Spectrum.of(self.psi, scale))

    def draw(self, rng: np.random.Generator, draws: int) -> tuple[Array, Array, Array]:
        """Draw μ (draw, outcome, feature), Σ (draw, group, feature, other_feature) and ν (draw, group); one a chain."""
        nu, psi, least = np.broadcast_to(self.nu, (draws, len(self.nu))), self.psi, self.psi.shape[-1] + 1
        drawn = nu
        if self.scale is not None:
            c = self.freedom.draw(rng, 1)[0] if psi.ndim > 3 else self.freedom.draw(rng, draws)
            drawn, nu, psi = c + least, nu + c, psi + (c[..., None] * self.scale)[..., None] * np.eye(least - 1)
        factors = inverse_wishart_factors(nu, psi, rng, draws)
        noise = rng.standard_normal((draws, *self.m.shape[-2:], 1)) / np.sqrt(self.kappa)[:, None, None]
        return self.m + (factors @ noise)[..., 0], outer(factors), drawn


@dataclass(frozen=True)
class IncompleteMoments:
    """Moments of rows with missing cells, by class and pattern: a group has the same of both.

    `seen`: Observed cells, (pattern, feature). `pattern`, `label`: Those of a group, (group), in the order of the
    patterns. `n`, `mean`: Number of rows (group) and their mean, 0 where nothing is observed. `root`: R with RᵀR their
    scatter, (group, rank, feature), its last rows 0. `rank`: Number of R's rows that are not 0, r (group).
    """

    seen: Booleans
    pattern: Integers
    label: Integers
    n: Array
    mean: Array
    root: Array
    rank: Integers

    @classmethod
    def of(cls, statistics: GroupedMoments) -> Self:
        """Return the moments of the rows with missing cells among those of all rows."""
        own = statistics.where(~statistics.seen.all(axis=1))
        absent, which = np.unique(~own.seen, axis=0, return_inverse=True)
        order = np.lexsort((own.labels, which.ravel()))
        pattern, label = which.ravel()[order], own.labels[order]
        n, mean, scatter = (values[order] for values in (own.n, own.mean, own.scatter))
        # Of correlations, because what is a rounding error must not depend on the units of other columns.
        sd = np.sqrt(np.diagonal(scatter, axis1=1, axis2=2))
        sd = np.where(sd > 0, sd, 1.0)
        values, vectors = np.linalg.eigh(scatter / (sd[:, :, None] * sd[:, None, :]))
        size = values.shape[1]
        positive = values > RANK_TOLERANCE * size * values[:, -1:]
        rank = np.minimum(positive.sum(axis=1), n - 1).astype(np.intp)
        # The largest eigenvalues come last; more of them than n rows can have are rounding errors.
        kept = np.arange(size)[::-1] < rank[:, None]
        root = np.sqrt(np.where(kept, values, 0.0))[..., None] * vectors.swapaxes(1, 2) * sd[:, None, :]
        return cls(~absent, pattern, label, n, mean, root[:, ::-1], rank)

    def __len__(self) -> int:
        return len(self.n)

    def __getitem__(self, some: slice) -> Self:
        groups = {field.name: getattr(self, field.name)[some] for field in fields(self) if field.name != "seen"}
        return replace(self, **groups)


@dataclass(frozen=True)
class CompletedScatters:
    """Alternation between completed scatters given (μ, Σ), and (μ, Σ) given these.

    Rows with observed cells s and missing cells u have x_u = μ_u + B(x_s − μ_s) + ε, B = Σ_us Σ_ss⁻¹. The covariance of
    ε is C = Σ_uu − BΣ_su = LLᵀ. With n such rows, and x̄_s, S_ss of rank r the moments of the observed cells,

    - the mean of x_u is μ_u + B(x̄_s − μ_s) + Lz/√n;
    - their scatter is QᵀQ where r rows of Q are (R, RBᵀ + ZLᵀ), RᵀR = S_ss, and the others (0, AᵀLᵀ);

    z and Z are standard normal, and AAᵀ ~ Wishart(I, n − 1 − r).

    `prior`: Of μ and Σ. `complete`: Weight (outcome), mean and scatter of complete rows. `incomplete`: Moments of the
    other rows. `center`, `spread`: Mean (outcome, feature) and variance (feature) of the observed cells, near which the
    chains start.
    """

    prior: NormalInverseWishart
    chains: int
    complete: tuple[Array, Array, Array]
    incomplete: IncompleteMoments
    center: Array
    spread: Array

    @classmethod
    def of(cls, prior: NormalInverseWishart, statistics: GroupedMoments, chains: int) -> Self:
        """Return the alternation of rows with these scatters; the prior is in numbers."""
        return cls(prior, chains, statistics.complete(), IncompleteMoments.of(statistics), *observed(statistics))

    def start(self, rng: np.random.Generator) -> Parameters:
        """Draw μ and Σ around the moments of the observed cells, with the spread that one row leaves."""
        shape = (self.chains, *self.prior.psi.shape)
        scale = np.broadcast_to(np.diag(self.spread), shape).reshape(-1, *shape[2:])
        factors = inverse_wishart_factors(np.full(len(scale), shape[-1] + 2.0), scale, rng, 1).reshape(shape)
        mu = self.center + (factors @ rng.standard_normal((self.chains, *self.center.shape, 1)))[..., 0]
        return {"mu": mu, "Sigma": outer(factors), "nu": np.tile(self.prior.nu, (self.chains, 1))}

    def step(self, state: Parameters, rng: np.random.Generator) -> Parameters:
        """Draw completed moments, and μ, Σ and ν given them."""
        moments = self.completed(state["mu"], state["Sigma"], rng)
        mu, Sigma, nu = self.prior.updated(*moments).draw(rng, self.chains)
        return {"mu": mu, "Sigma": Sigma, "nu": nu}

    def parameters(self, states: Parameters) -> Parameters:
        """Return μ (draw, outcome, feature), Σ (draw, …, feature, other_feature) and, where it is learned, ν."""
        group = 0 if self.prior.shared else slice(None)
        found = {"mu": states["mu"], "Sigma": states["Sigma"][:, group]}
        return found if self.prior.scale is None else {**found, "nu": states["nu"][:, group]}

    def completed(self, mu: Array, Sigma: Array, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Draw the moments of all rows.

        `mu`, `Sigma`: (chain, outcome, feature) and (chain, group, feature, other_feature).

        Returns: Number of rows (outcome), their means (chain, outcome, feature) and scatters.
        """
        n, mean, scatter = self.complete
        total = n + np.bincount(self.incomplete.label, self.incomplete.n, minlength=len(n))
        away = mean - self.center
        first = np.tile(n[:, None] * away, (self.chains, 1, 1))
        second = np.tile(scatter + n[:, None, None] * away[:, :, None] * away[:, None, :], (self.chains, 1, 1, 1))
        step = max(1, WORK_BYTES // (second.nbytes // len(n)))
        for begin in range(0, len(self.incomplete), step):
            some = self.incomplete[begin : begin + step]
            means, moments = _drawn(some, mu, Sigma, rng)
            means -= self.center[some.label]
            weighted = some.n[:, None] * means
            moments += weighted[..., :, None] * means[..., None, :]
            of_label = (some.label == np.arange(len(n))[:, None]).astype(float)
            first += of_label @ weighted
            second += (of_label @ moments.reshape(*moments.shape[:2], -1)).reshape(second.shape)
        shift = first / np.maximum(total, 1)[:, None]
        return total, self.center + shift, second - first[..., :, None] * shift[..., None, :]


def _drawn(rows: IncompleteMoments, mu: Array, Sigma: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw means (chain, group, feature) and scatters (chain, group, feature, other_feature) of completed rows."""
    B, L = _regressions(rows, Sigma)
    seen, own = rows.seen[rows.pattern], mu[:, rows.label]
    deviation = np.where(seen, rows.mean - own, 0.0)
    noise = rng.standard_normal(own.shape) / np.sqrt(rows.n)[:, None]
    mean = own + (B @ deviation[..., None] + L @ noise[..., None])[..., 0]
    mean = np.where(seen, rows.mean, mean)
    scatter = np.zeros_like(L)
    several = np.flatnonzero(rows.n > 1)
    if several.size:
        L, full, rank = L[:, several], B[:, several] + np.eye(mu.shape[2]) * seen[several, None], rows.rank[several]
        Z = np.where(np.arange(L.shape[3]) < rank[:, None, None], rng.standard_normal(L.shape), 0.0)
        W = _wishart_factors(rows.n[several] - 1 - rank, L.shape, rng)
        root = np.concatenate([full @ rows.root[several].mT + L @ Z, L @ W], axis=-1)
        scatter[:, several] = root @ root.mT
    return mean, scatter


def _regressions(rows: IncompleteMoments, Sigma: Array) -> tuple[Array, Array]:
    """Return B and L of each group, (chain, group, feature, other_feature), 0 but where they are defined."""
    patterns, place = np.unique(rows.pattern, return_inverse=True)
    observed = rows.seen[patterns, None, :, None]  # (pattern, 1, feature, 1)
    to_observed, unit = observed.swapaxes(-1, -2), np.eye(Sigma.shape[-1])
    sd = np.sqrt(np.diagonal(Sigma, axis1=-2, axis2=-1))[:, None, ..., None]
    wide = Sigma[:, None] / (sd * sd.swapaxes(-1, -2))
    across = np.where(observed & ~to_observed, wide, 0.0)
    inside = np.where(observed & to_observed, wide, unit * ~to_observed)
    B = np.linalg.solve(inside, across).swapaxes(-1, -2)
    hidden = ~observed & ~to_observed
    L = np.where(hidden, cholesky(np.where(hidden, wide - B @ across, unit * to_observed)), 0.0)
    group = np.minimum(rows.label, Sigma.shape[1] - 1)
    return (B * sd / sd.swapaxes(-1, -2))[:, place, group], (L * sd)[:, place, group]


def _wishart_factors(freedom: Array, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Draw lower triangular A with AAᵀ ~ Wishart(I, f) for whole f (group), by Bartlett's decomposition.

    Columns from the f-th on are 0, so that the rank is f where there are fewer degrees of freedom than features. A is
    (chain, group, feature, other_feature).
    """
    d = shape[-1]
    left = np.maximum(freedom[:, None] - np.arange(d), 0.0)  # (group, column)
    A = np.tril(rng.standard_normal(shape), -1)
    A[..., np.arange(d), np.arange(d)] = np.sqrt(2 * rng.standard_gamma(left / 2, size=shape[:-1]))
    return np.where(left[:, None] > 0, A, 0.0)
