"""Gaussian features, independent given the class, with four ways to share their variances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.families.base import Array, Axes, Integers, Parameters
from bayesclf.families.half_normal import HalfNormal
from bayesclf.families.moments import Moments

SHARED_OVER: dict[str, tuple[int, ...]] = {
    "class-feature": (),
    "feature": (0,),
    "class": (1,),
    "shared": (0, 1),
}
"""Variance structures, and the axes of (outcome, feature) over which one variance is shared."""

VARIANCE_DIMS = {
    "class-feature": ("outcome", "feature"),
    "feature": ("feature",),
    "class": ("outcome",),
    "shared": (),
}


@dataclass(frozen=True)
class Gaussian:
    """x_i | y = k ~ Normal(μ_ik, σ²), independent over features i, with a normal-inverse-gamma prior.

    ========= ======== =================== ===========================================
    parameter support  prior               posterior
    ========= ======== =================== ===========================================
    σ²        above 0  InvGamma(a, b)      InvGamma(a + n/2, b + ½S + ½ κn/(κ+n)(x̄−m)²)
    μ_ik | σ² real     Normal(m_i, σ²/κ)   Normal((κm + n x̄)/(κ + n), σ²/(κ + n))
    ========= ======== =================== ===========================================

    n, x̄, S are weight, mean and scatter of a class's seen cells of a feature; a variance's n, S and deviations
    are sums over the classes and features that share it. MLE: Mitchell eqs 13, 14, or with `unbiased` the
    minimum variance unbiased estimate (eq 15), which divides by the sum of n_ik − 1 over the means that share the
    variance. MAP: the joint mode in (μ, σ²), σ² = b_n/(a_n + 1 + M/2), M the number of means that share σ².
    The predictive is Student's t with 2a_n degrees of freedom, joint over features that share a variance.

    Parameters
    ----------
    variance
        ``"class-feature"`` σ_ik, ``"feature"`` σ_i (logistic in x), ``"class"`` σ_k or ``"shared"`` σ. The last
        two compare columns with each other and so presume common units.
    m, kappa, a, b
        Hyperparameters: m (in units of the column) and κ broadcast to (outcome, feature), a and b (squared units)
        to the shape of the variances. Where None they are unit information from the pooled rows: m the column's
        mean, κ = 1, a = 3/2, b = (a − 1)s² with s² the column's variance (or, for one σ over columns, the
        mean of their variances), so that E[σ²] = s².
    unbiased
        Whether the MLE's variance is the unbiased one.
    scale_prior
        A `HalfNormal` prior of σ in the place of the inverse gamma of σ², which is not conjugate; a and b are then
        not used.
    axes
        Set by `resolve_prior`.

    References
    ----------
    Mitchell, eqs 13 to 15; Wehbe (variance structures).
    """

    variance: str = "class-feature"
    m: float | Array | None = None
    kappa: float | Array | None = None
    a: float | Array | None = None
    b: float | Array | None = None
    unbiased: bool = False
    scale_prior: HalfNormal | None = None
    axes: Axes = field(default=Axes((), ()), repr=False)
    name: ClassVar[str] = "gaussian"
    kind: ClassVar[str] = "number"
    statistics_class: ClassVar[type[Moments]] = Moments

    def __post_init__(self) -> None:
        if self.variance not in SHARED_OVER:
            raise InputError(f"variance must be one of {', '.join(map(repr, SHARED_OVER))}, not {self.variance!r}")
        for name in ("kappa", "a", "b"):
            value = getattr(self, name)
            if value is not None and not (np.all(np.asarray(value) > 0) and np.all(np.isfinite(value))):
                raise InputError(f"{name} must be above 0 and finite, not {value}")

    def statistics(self, X: Array, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Moments:
        """Return weights, means and scatters; `X` is (row, feature), NaN where a cell is missing."""
        return Moments.of(X, y, axes, sample_weight)

    def resolve_prior(self, statistics: Moments) -> Self:
        """Return the prior with all hyperparameters as arrays, in units of the columns."""
        pooled = statistics.pooled()
        s2 = pooled.scatter / np.maximum(pooled.n, 1)
        if 1 in self._shared:
            s2 = s2.mean(axis=1, keepdims=True)
        cells = statistics.n.shape
        groups = self._group(np.ones(cells)).shape
        a = 1.5 if self.a is None else self.a
        if self.b is None and not np.all(np.asarray(a) > 1):
            raise InputError("a is at most 1, where σ² has no prior mean to set b by; give b too, or a above 1")
        b = (np.asarray(a) - 1) * s2 if self.b is None else self.b
        if self.scale_prior is not None:
            b = 1.0  # stands for nothing: σ has a prior of its own
        return replace(
            self,
            scale_prior=None if self.scale_prior is None else self.scale_prior.resolve(s2, groups),
            m=broadcast_to_shape("m", pooled.mean if self.m is None else self.m, cells),
            kappa=broadcast_to_shape("kappa", 1.0 if self.kappa is None else self.kappa, cells),
            a=broadcast_to_shape("a", a, groups),
            b=broadcast_to_shape("b", b, groups),
            axes=statistics.axes,
        )

    def informative(self, statistics: Moments) -> NDArray[np.bool_]:
        """Return False for constant and empty columns, unless location and variance have priors of their own."""
        scale = self.b if self.scale_prior is None else self.scale_prior.scale
        if self.m is not None and scale is not None:
            return np.ones(statistics.n.shape[1], dtype=bool)
        return ~statistics.constant()

    def mle(self, statistics: Moments) -> Parameters:
        """Return means and variances by maximum likelihood; raises `DoesNotExist` for an empty or constant group."""
        n, scatter = statistics.n, statistics.without_rounding()
        weight = np.maximum(n - 1, 0) if self.unbiased else n
        with np.errstate(invalid="ignore", divide="ignore"):
            sigma2 = self._group(scatter) / self._group(weight)
        undefined = (n == 0) | ~(np.isfinite(sigma2) & (sigma2 > 0))
        if undefined.any():
            label, feature = np.argwhere(undefined)[0]
            raise DoesNotExist(
                f"class {statistics.axes.labels[label]!r} has too few different values in column "
                f"{statistics.axes.features[feature]!r} for a variance by maximum likelihood"
            )
        return {"mu": statistics.mean[None], "sigma2": self._squeeze(sigma2)[None]}

    def map(self, statistics: Moments) -> Parameters:
        """Return the joint posterior mode of means and variances."""
        m, _, a, b = self._posterior(statistics)._hyperparameters()
        sharing = self._group(np.ones(m.shape))
        if self.scale_prior is not None:
            return {"mu": m[None], "sigma2": self._half_normal_mode(statistics, sharing)[None]}
        return {"mu": m[None], "sigma2": self._squeeze(b / (a + 1 + sharing / 2))[None]}

    def not_conjugate(self, statistics: Moments) -> str:
        """Return that the prior of σ is half-normal, if it is."""
        return "" if self.scale_prior is None else "a half-normal prior of a standard deviation is not conjugate"

    def posterior(self, statistics: Moments) -> Self:
        """Return the normal-inverse-gamma posterior; raises `Refused` under a half-normal prior."""
        if reason := self.not_conjugate(statistics):
            raise Refused(f"the posterior is not of the prior's family: {reason}")
        return self._posterior(statistics)

    def _posterior(self, statistics: Moments) -> Self:
        m, kappa, a, b = self._hyperparameters()
        n, mean, scatter = statistics.n, statistics.mean, statistics.scatter
        shrunk = kappa * n / (kappa + n) * (mean - m) ** 2
        return replace(
            self,
            m=m + n / (kappa + n) * (mean - m),
            kappa=kappa + n,
            a=a + self._group(n) / 2,
            b=b + self._group(scatter + shrunk) / 2,
        )

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw σ² and μ | σ²."""
        m, kappa, a, b = self._hyperparameters()
        if self.scale_prior is None:
            sigma2 = b / rng.standard_gamma(a, size=(draws, *a.shape))
        else:
            sigma2 = self.scale_prior.draw(rng, draws)
        mu = m + np.sqrt(sigma2 / kappa) * rng.standard_normal((draws, *m.shape))
        return {"mu": mu, "sigma2": self._squeeze(sigma2)}

    def mean(self) -> Parameters:
        """Return E[μ] = m and E[σ²] = b/(a − 1); raises `DoesNotExist` where a ≤ 1."""
        m, _, a, b = self._hyperparameters()
        if np.any(a <= 1):
            raise DoesNotExist("the posterior mean of a variance is infinite (a ≤ 1); give a prior with a above 1")
        return {"mu": m[None], "sigma2": self._squeeze(b / (a - 1))[None]}

    def pymc(self, statistics: Moments, suffix: str) -> None:
        """Add μ and σ², observing the moments."""
        import pymc as pm

        from bayesclf.families.pymc_statistics import observe_moments

        m, kappa, a, b = self._hyperparameters()
        dims = tuple(_suffixed(dim, suffix) for dim in VARIANCE_DIMS[self.variance])
        if self.scale_prior is None:
            shape, rate = (
                pm.Data(f"sigma2_{name}{suffix}", self._squeeze(value)) for name, value in (("a", a), ("b", b))
            )
            sigma2 = pm.InverseGamma(f"sigma2{suffix}", shape, rate, dims=dims)
        else:
            sigma2 = self.scale_prior.pymc(f"sigma{suffix}", self._squeeze(np.asarray(self.scale_prior.scale)), dims)
        spread = self._expand(sigma2)
        scale = (spread / pm.Data(f"mu_kappa{suffix}", kappa)) ** 0.5
        mu = pm.Normal(
            f"mu{suffix}", pm.Data(f"mu_m{suffix}", m), scale, dims=("outcome", _suffixed("feature", suffix))
        )
        observe_moments(f"x{suffix}", mu, spread, statistics.n, statistics.mean, statistics.scatter)

    def from_pymc(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Return μ and σ²."""
        sigma2 = draws[f"sigma2{suffix}"] if self.scale_prior is None else draws[f"sigma{suffix}"] ** 2
        return {"mu": draws[f"mu{suffix}"], "sigma2": sigma2}

    def log_density(self, X: Array, parameters: Parameters) -> Array:
        """Return Σ_i log Normal(x_i; μ_ik, σ²) over the seen cells, shape (draw, row, outcome).

        The square is expanded around c, the middle of a class's draws, as (x−c)² − 2(x−c)(μ−c) + (μ−c)²: then all
        draws are one matrix product, and as μ−c is small nothing cancels, wherever the origin of x lies.
        """
        mu = parameters["mu"]
        draws, labels, _ = mu.shape
        sigma2 = parameters["sigma2"]
        sigma2 = np.broadcast_to(self._expand(sigma2, offset=1), mu.shape)
        missing = np.isnan(X)
        out = np.empty((len(X), labels, draws))
        for k in range(labels):
            centre = mu[:, k].mean(axis=0)
            z = np.where(missing, 0.0, X - centre)
            shift, precision = (mu[:, k] - centre).T, 1 / sigma2[:, k].T
            constant = -0.5 * (np.log(2 * np.pi / precision) + precision * shift**2)
            np.matmul(np.hstack([z**2, z]), np.vstack([-0.5 * precision, precision * shift]), out=out[:, k])
            out[:, k] += (~missing).astype(float) @ constant if missing.any() else constant.sum(axis=0)
        return np.moveaxis(out, 2, 0)

    def log_predictive(self, X: Array) -> Array:
        """Return the log density of Student's t, (row, outcome); features that share a variance are jointly t."""
        m, kappa, a, b = self._hyperparameters()
        seen = ~np.isnan(X)
        out = np.zeros((len(X), len(m)))
        jointly = 1 in self._shared
        for k in range(len(m)):
            a_k, b_k = a[min(k, len(a) - 1)], b[min(k, len(b) - 1)]
            scale = np.broadcast_to(b_k / a_k * (kappa[k] + 1) / kappa[k], m[k].shape)
            distance = np.where(seen, X - m[k], 0.0) ** 2 / scale
            log_scale = np.where(seen, np.log(scale), 0.0)
            cells = seen.astype(float)
            if jointly:
                distance, log_scale, cells = (v.sum(axis=1, keepdims=True) for v in (distance, log_scale, cells))
            out[:, k] = log_student_t(distance, 2 * a_k, cells, log_scale).sum(axis=1)
        return out

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw x (row, feature)."""
        mu = parameters["mu"][0]
        sigma2 = parameters["sigma2"][0]
        sd = np.sqrt(np.broadcast_to(self._expand(sigma2), mu.shape))
        return np.asarray(mu[y] + sd[y] * rng.standard_normal((len(y), mu.shape[1])))

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return μ: (outcome, feature); σ²: those of the variance structure."""
        return {"mu": ("outcome", "feature"), "sigma2": VARIANCE_DIMS[self.variance]}

    @property
    def variant(self) -> str:
        """What, beside `dims`, fixes the compiled form of the PyMC block."""
        return "inverse-gamma" if self.scale_prior is None else "half-normal"

    def _half_normal_mode(self, statistics: Moments, sharing: Array) -> Array:
        """Return the mode of σ² under a half-normal prior of σ; raises `DoesNotExist` where it is at 0."""
        assert self.scale_prior is not None
        m, kappa, _, _ = self._hyperparameters()
        n = statistics.n
        shrunk = kappa * n / (kappa + n) * (statistics.mean - m) ** 2
        scatter = self._group(statistics.without_rounding() + shrunk)
        if not (scatter > 0).all():
            raise DoesNotExist(
                "under a half-normal prior the most probable σ of a class without different values is 0, where the "
                "density has no maximum; take the rule 'mean' or 'bayes-optimal', or the inverse-gamma prior"
            )
        return self._squeeze(self.scale_prior.mode((self._group(n) + sharing) / 2, scatter))

    @property
    def _shared(self) -> tuple[int, ...]:
        return SHARED_OVER[self.variance]

    def _group(self, cells: Array) -> Array:
        """Sum (outcome, feature) over what shares a variance, keeping both axes."""
        return np.asarray(cells.sum(axis=self._shared, keepdims=True)) if self._shared else cells

    def _squeeze(self, values: Array) -> Array:
        """Drop the shared axes of (..., outcome, feature)."""
        return np.asarray(np.squeeze(values, tuple(axis - 2 for axis in self._shared)))

    def _expand(self, values: Any, offset: int = 0) -> Any:
        """Put the shared axes back: the inverse of `_squeeze`, for NumPy and PyTensor alike."""
        kept = [slice(None)] * offset
        return values[*kept, *(None if axis in self._shared else slice(None) for axis in (0, 1))]

    def _hyperparameters(self) -> tuple[Array, Array, Array, Array]:
        return (np.asarray(self.m), np.asarray(self.kappa), np.asarray(self.a), np.asarray(self.b))


def broadcast_to_shape(name: str, value: float | Array, shape: tuple[int, ...]) -> Array:
    """Return a hyperparameter as an array of this shape, or raise `InputError` that names it."""
    try:
        return np.array(np.broadcast_to(np.asarray(value, dtype=float), shape))
    except ValueError:
        raise InputError(f"{name} has shape {np.shape(value)}, which does not broadcast to {shape}") from None


def _suffixed(dim: str, suffix: str) -> str:
    """Return the PyMC dim: blocks have features of their own, labels are common."""
    return dim if dim == "outcome" else f"{dim}{suffix}"


def log_student_t(distance: Array, nu: Array, cells: Array | float, log_scale: Array) -> Array:
    """Return the log density of a t over `cells` coordinates: squared distance (x−m)ᵀS⁻¹(x−m), log|S|."""
    return np.asarray(
        gammaln((nu + cells) / 2)
        - gammaln(nu / 2)
        - 0.5 * (cells * np.log(nu * np.pi) + log_scale)
        - 0.5 * (nu + cells) * np.log1p(distance / nu)
    )
