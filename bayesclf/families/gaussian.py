"""Features that are Gaussian, or whose logarithms are: independent given the class, four ways to share variances.

Their sufficient statistics are counts, means and scatters, `Moments`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import pairwise
from operator import add, itemgetter
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import Flag, Number, OrNone, require
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.families.base import (
    LOCATION,
    LOST,
    POSITIVE,
    VARIANCE,
    Axes,
    Family,
    Statistics,
    Support,
    in_numbers,
    require_choice,
    require_each,
    require_positive,
)
from bayesclf.families.cells import ColumnValues
from bayesclf.families.dirichlet import log_rising
from bayesclf.families.prior_lines import PriorLine, prior_lines
from bayesclf.families.terms import Density, LinearDesign, LinearTerms
from bayesclf.tables.numbers import Numbers, blocks_of

type State = tuple[Any, ...]
"""m, κ, a and b, or the moments n, x̄ and S of cells."""

SHARED_OVER: dict[str, tuple[int, ...]] = {"class-feature": (), "feature": (0,), "class": (1,), "shared": (0, 1)}
"""Variance structures, and the axes of (outcome, feature) over which one variance is shared."""

CACHED_CELLS = 2**15
"""Cells that several passes go over."""

LARGEST_LOG = 700.0
"""Logarithm of what a number may reach: a little below the largest one."""

FARTHEST = 100.0
"""Most sds between a class's mean and a center for all classes, around which squares then lose no digits."""

COMPILED_CELLS = 2**22
"""Cells from which on reading them once, by machine code, saves more time than loading that code takes."""

FEW_CELLS = 2**12
"""Cells below which that code, once loaded, saves no time."""

READ_CELLS = 2**16
"""Cells that are read together, few enough to stay in the cache."""

EQUAL = 1e-100
"""Scatter of the cells of a class, next to the mean square of the column, up to which they count as equal.

A variance thus has a reciprocal, and the square of a cell over it does not overflow.
"""


@dataclass(frozen=True)
class Moments(Statistics):
    """Weight n, mean x̄ and scatter S = Σ w (x − x̄)² of the observed cells, each (outcome, feature).

    Means are 0 where n is 0. Sums of squares are never formed around a distant origin; statistics are merged by
    the update of Chan, Golub & LeVeque (1983), so that adding 1e6 to a column costs no digits of its variance.
    """

    axes: Axes
    n: Array
    mean: Array
    scatter: Array

    @classmethod
    def of(cls, X: Array | Numbers, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Self:
        """Return the moments of rows `X` (row, feature), NaN where a cell is missing, with label codes `y`.

        Many rows are read once, by machine code.
        """
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        if X.size >= FEW_CELLS and X.size + _before.get() >= COMPILED_CELLS:
            y, weight = np.ascontiguousarray(y, dtype=np.intp), np.ascontiguousarray(weight, dtype=float)
            return cls._compiled(X, y, axes, weight)
        if isinstance(X, Numbers):
            X = X[:]
        seen = ~np.isnan(X) & (weight > 0)[:, None]
        by_label = sparse.csr_array((weight, (y, np.arange(len(y)))), shape=(len(axes.labels), len(y)))
        n = np.asarray(by_label @ seen.astype(float))
        origin = _first_cells(X, y, seen, len(axes.labels))
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(n > 0, origin + (by_label @ np.where(seen, X - origin[y], 0.0)) / n, 0.0)
        scatter = by_label @ np.where(seen, X - mean[y], 0.0) ** 2
        return cls(axes, n, mean, np.asarray(scatter))

    @classmethod
    def of_values(cls, axes: Axes, columns: Iterable[ColumnValues]) -> Self:
        """Return the moments of columns from how often each of their values occurs."""
        parts = [np.zeros((3, len(axes.labels), 0))]
        for values, counts in ((own.values, own.counts) for own in columns):
            n = counts.sum(axis=1)
            # The mean of equal cells is exact.
            origin = values[(counts > 0).argmax(axis=1)] if len(values) else np.zeros_like(n)
            mean = np.where(n > 0, origin + _ratio(np.vecdot(counts, values - origin[:, None]), n), 0.0)
            scatter = np.vecdot(counts, (values - mean[:, None]) ** 2)
            parts.append(np.stack([n, mean, scatter])[..., None])
        return cls(axes, *np.concatenate(parts, axis=2))

    def __add__(self, other: Self) -> Self:
        n = self.n + other.n
        share = _ratio(other.n, n)
        delta = other.mean - self.mean
        scatter = self.scatter + other.scatter + delta**2 * self.n * share
        # An empty side has mean 0 by convention, which must not enter the weighted mean even as 0 · x rounding.
        mean = np.where(self.n == 0, other.mean, self.mean + delta * share)
        return type(self)(self.axes, n, mean, scatter)

    def pooled(self) -> Self:
        """Return the moments of all rows under one label, means of classes combined by their weights."""
        labels = (slice(k, k + 1) for k in range(len(self.n)))
        return reduce(add, (self.mapped(self.axes.pooled(), itemgetter(label)) for label in labels))

    def centre(self) -> Array:
        """Return the pooled means."""
        return np.asarray(self.pooled().mean[0])

    @classmethod
    def _compiled(cls, X: Array | Numbers, y: Integers, axes: Axes, weight: Array) -> Self:
        """Return the moments by machine code, from sums of deviations from an origin: stored means are rounded.

        The origin of a class and feature is the mean of its cells in the first block of rows that has any.
        """
        from bayesclf.families.kernels import add_moments

        sums = np.zeros((3, len(axes.labels), len(axes.features)))
        origin = np.zeros_like(sums[0])
        for rows in blocks_of(len(X), X.shape[1], READ_CELLS):
            block = np.ascontiguousarray(X[rows]), y[rows], weight[rows]
            new = (sums[0] == 0) & (np.bincount(y[rows], minlength=len(origin)) > 0)[:, None]
            if new.any():
                seen = ~np.isnan(block[0]) & (weight[rows] > 0)[:, None]
                origin = np.where(new, _first_cells(*block[:2], seen, len(origin)), origin)
                of_block = np.zeros_like(sums)
                add_moments(*block, origin, *of_block)
                origin = np.where(new, origin + _ratio(of_block[1], of_block[0]), origin)
            add_moments(*block, origin, *sums)
        n, first, second = sums
        shift = _ratio(first, n)
        return cls(axes, n, np.where(n > 0, origin + shift, 0.0), np.maximum(second - first * shift, 0.0))

    def constant(self) -> NDArray[np.bool_]:
        """Return, for each feature, whether its observed cells are all equal, up to rounding, or it has none."""
        return np.asarray(self.pooled().without_rounding()[0] == 0)

    def without_rounding(self) -> Array:
        """Return the scatters, set to 0 where rounding errors of equal cells could be as large, see also `EQUAL`."""
        rounding = self.n * (8 * np.finfo(float).eps * np.abs(self.mean)) ** 2
        squares = (self.mean**2 + self.scatter / np.maximum(self.n, 1)).max(axis=0)
        return np.where(self.scatter <= np.maximum(rounding, EQUAL * squares), 0.0, self.scatter)


_before: ContextVar[int] = ContextVar("_before", default=0)


@contextmanager
def part_of_more(cells: int) -> Iterator[None]:
    """Let rows count as a part of a table of which so many cells were read before."""
    token = _before.set(cells)
    try:
        yield
    finally:
        _before.reset(token)


def _ratio(total: Array, n: Array) -> Array:
    return np.divide(total, n, out=np.zeros_like(n), where=n > 0)


def _first_cells(X: Array, y: Integers, seen: NDArray[np.bool_], labels: int) -> Array:
    """Return the first observed cell of each (outcome, feature), 0 where there is none.

    Used as the origin of a class's sums, it makes the mean of equal cells exact and their scatter 0.
    """
    first = np.zeros((labels, X.shape[1]))
    if X.shape[1] < labels:
        for j in range(X.shape[1]):
            rows = np.flatnonzero(seen[:, j])
            begins = rows[np.diff(y[rows], prepend=-1) != 0][::-1]
            first[y[begins], j] = X[begins, j]  # of the cells of a class the last one stays
        return first
    for k in np.unique(y):
        rows = np.flatnonzero(y == k)
        cells = X[rows[seen[rows].argmax(axis=0)], np.arange(X.shape[1])]
        first[k] = np.where(np.isnan(cells), 0.0, cells)
    return first


@dataclass(frozen=True, repr=False)
class Gaussian(Family[Moments]):
    """x_i | y = k ~ Normal(μ_ik, σ²), independent over features i, with a normal-inverse-gamma prior.

    ========= ======== =================== ===========================================
    parameter support  prior               posterior
    ========= ======== =================== ===========================================
    σ²        above 0  InvGamma(a, b)      InvGamma(a + n/2, b + ½S + ½ κn/(κ+n)(x̄−m)²)
    μ_ik | σ² real     Normal(m_i, σ²/κ)   Normal((κm + n x̄)/(κ + n), σ²/(κ + n))
    ========= ======== =================== ===========================================

    n, x̄, S are weight, mean and scatter of a class's observed cells of a feature; a variance's n, S and deviations
    are sums over the classes and features that share it. MLE: Mitchell eqs 13, 14, or with `unbiased` the minimum
    variance unbiased estimate (eq 15). It divides by the sum of n_ik − 1 over the means that share the variance. MAP:
    the joint mode in (μ, σ²), σ² = b_n/(a_n + 1 + M/2), M the number of means that share σ². The predictive is
    Student's t with 2a_n degrees of freedom, joint over features that share a variance.

    Parameters
    ----------
    variance : {"class-feature", "feature", "class", "shared"}
        ``"class-feature"`` σ_ik, ``"feature"`` σ_i (logistic in x), ``"class"`` σ_k or ``"shared"`` σ. The last
        two compare columns with each other and so require common units.
    m, kappa, a, b
        Hyperparameters: m (in units of the column) and κ broadcast to (outcome, feature), a and b (squared units) to
        the shape of the variances. Where None they are unit information from the pooled rows: m the column's mean, κ =
        1, a = 3/2, b = (a − 1)s², so that E[σ²] = s². Here s² is the column's variance or, for one σ over columns, the
        mean of their variances.
    unbiased : bool
        Whether the MLE's variance is the unbiased one.
    axes : Axes
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
    axes: Axes = field(default=Axes((), ()), repr=False)
    name: ClassVar[str] = "gaussian"
    kind: ClassVar[str] = "number"
    likelihood: ClassVar[str] = "Normal(mu, sigma2)"
    distribution: ClassVar[str] = "Normal"
    """Name of PyMC's distribution of a cell."""
    statistics_type: ClassVar[type[Statistics]] = Moments
    reads_numbers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_choice("variance", self.variance, SHARED_OVER)
        require(OrNone(Number(array=True)), m=self.m)
        require_positive(kappa=self.kappa, a=self.a, b=self.b)
        require(Flag(), unbiased=self.unbiased)
        if not self.axes.features:
            require(LOCATION, m=self.m)
            require(VARIANCE, b=self.b)

    def _changed(self, X: Any, axes: Axes) -> tuple[Any, Array | float]:
        """Return the numbers z (row, feature) that are normal, and Σ log |dz/dx|, (row, 1)."""
        return X, 0.0

    def statistics(self, X: Any, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Moments:
        """Return the moments of rows `X` (row, feature) with label codes `y` (row)."""
        return Moments.of(self._changed(X, axes)[0], y, axes, sample_weight)

    def resolve_prior(self, statistics: Moments) -> Self:
        """Return the prior with all hyperparameters as arrays."""
        pooled = statistics.pooled()
        s2 = pooled.scatter / np.maximum(pooled.n, 1)
        if 1 in self._shared:
            s2 = s2.mean(axis=1, keepdims=True)
        groups = self._group(statistics.n).shape
        a = in_numbers(self, groups, "", a=1.5)["a"]
        if self.b is None and not (a > 1).all():
            raise InputError("a is at most 1, where σ² has no prior mean to set b by; give b too, or a above 1")
        b = in_numbers(self, groups, "", b=(a - 1) * s2)["b"]
        of_means = in_numbers(self, statistics.n.shape, "", m=pooled.mean, kappa=1.0)
        return replace(self, **of_means, a=a, b=b, axes=statistics.axes)

    def informative(self, statistics: Moments) -> NDArray[np.bool_]:
        """Return False for constant and empty columns, unless location and variance have priors of their own."""
        if self.m is not None and self.b is not None:
            return np.ones(statistics.n.shape[1], dtype=bool)
        return ~statistics.constant()

    def priors(self) -> list[PriorLine]:
        """Return the normal priors of μ given σ², and those of σ²."""
        m, kappa, a, b = self.hyperparameters()
        means = prior_lines("mu", "Normal({m}, sigma2/{kappa})", self.axes, m=m, kappa=kappa)
        return [*means, *prior_lines("sigma2", "InvGamma({a}, {b})", self.axes, a=a, b=b)]

    def mle(self, statistics: Moments) -> Parameters:
        """Return means and variances by maximum likelihood; raises `DoesNotExist` for an empty or constant group."""
        n, scatter = statistics.n, statistics.without_rounding()
        weight = np.maximum(n - 1, 0) if self.unbiased else n
        with np.errstate(invalid="ignore", divide="ignore"):
            sigma2 = self._group(scatter) / self._group(weight)
        defined = (n > 0) & np.isfinite(sigma2) & (sigma2 > 0)
        why = " for a variance by maximum likelihood; use the rule 'map'"
        require_each(defined, statistics.axes, "has too few different values", why)
        return {"mu": statistics.mean[None], "sigma2": self._squeeze(sigma2)[None]}

    def map(self, statistics: Moments) -> Parameters:
        """Return the joint posterior mode of means and variances."""
        m, _, a, b = self.posterior(statistics).hyperparameters()
        sharing = self._group(np.ones(m.shape))
        return {"mu": m[None], "sigma2": self._squeeze(b / (a + 1 + sharing / 2))[None]}

    def posterior(self, statistics: Moments) -> Self:
        """Return the normal-inverse-gamma posterior."""
        moments = statistics.n, statistics.mean, statistics.scatter
        m, kappa, a, b = self.after(self.hyperparameters(), moments, self._shared)
        return replace(self, m=m, kappa=kappa, a=a, b=b)

    @staticmethod
    def _added(state: State, moments: State, shared: tuple[int, ...]) -> tuple[Array, Array]:
        """Return how many cells there are of each variance, and what they add to 2b."""
        (m, kappa, _, _), (n, mean, scatter) = state, moments
        squares = scatter + kappa * n / (kappa + n) * (mean - m) ** 2
        return n.sum(axis=shared, keepdims=True), squares.sum(axis=shared, keepdims=True)

    def after(self, state: State, moments: State, shared: tuple[int, ...]) -> tuple[Array, Array, Array, Array]:
        """Return m, κ, a and b after cells of given moments (n, x̄, S); of a cell that is taken away, n is negative.

        `shared`: The axes over which one variance is shared, those of the moments.
        """
        (m, kappa, a, b), (n, mean, _) = state, moments
        cells, squares = self._added(state, moments, shared)
        return m + n / (kappa + n) * (mean - m), kappa + n, a + cells / 2, b + squares / 2

    def gain(self, state: State, moments: State, shared: tuple[int, ...]) -> Array:
        """log Γ(a′)/Γ(a) b^a/b′^a′ Π (κ/κ′)^½ (2π)^(−n/2), primes after the cells, by variance; as in `after`.

        References
        ----------
        Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, eq 95.
        """
        (_, kappa, a, b), (n, _, _) = state, moments
        cells, squares = self._added(state, moments, shared)
        of_means = -0.5 * np.log1p(n / kappa).sum(axis=shared, keepdims=True)
        of_rates = a * np.log1p(squares / (2 * b)) + cells / 2 * np.log(2 * np.pi * (b + squares / 2))
        return np.asarray(log_rising(a, cells / 2) - of_rates + of_means)

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw σ² and μ | σ²."""
        m, kappa, a, b = self.hyperparameters()
        sigma2 = b / rng.standard_gamma(a, size=(draws, *a.shape))
        mu = m + np.sqrt(sigma2 / kappa) * rng.standard_normal((draws, *m.shape))
        return {"mu": mu, "sigma2": self._squeeze(sigma2)}

    def mean(self) -> Parameters:
        """Return E[μ] = m and E[σ²] = b/(a − 1); raises `DoesNotExist` where a ≤ 1."""
        m, _, a, b = self.hyperparameters()
        if np.any(a <= 1):
            raise DoesNotExist("the posterior mean of a variance is infinite (a ≤ 1); give a prior with a above 1")
        return {"mu": m[None], "sigma2": self._squeeze(b / (a - 1))[None]}

    def pymc(self, statistics: Moments, suffix: str) -> None:
        """Add μ and σ², observing the moments: the same density of the parameters, at a cost that no row adds to."""
        import pymc as pm
        import pytensor.tensor as pt

        mu, sigma = self._pymc_parameters(suffix, pm.Data)
        n, mean, scatter = (
            pm.Data(f"x_{name}{suffix}", getattr(statistics, name)) for name in ("n", "mean", "scatter")
        )
        squares, sigma2 = scatter + n * (pt.switch(n > 0, mean, 0.0) - mu) ** 2, sigma**2
        pm.Potential(f"x{suffix}", (-0.5 * n * pt.log(2 * np.pi * sigma2) - 0.5 * squares / sigma2).sum())

    def page(self, X: Array, row: Any, suffix: str) -> None:
        """Add μ and σ², observing x ~ Normal(μ_y, σ²_y)."""
        import pymc as pm

        from bayesclf import pymc_models

        own = self._pymc_parameters(suffix, lambda name, value: value)
        pymc_models.cells(getattr(pm, self.distribution), X, row, *own, name=suffix)

    def _pymc_parameters(self, suffix: str, held: Callable[[str, Array], Any]) -> tuple[Any, Any]:
        """Add μ and σ² to the open PyMC model, hyperparameters as they are `held`; return μ and σ."""
        from bayesclf import pymc_models

        m, kappa, a, b = self.hyperparameters()
        given = {"mu_m": m, "mu_kappa": kappa, "sigma2_a": self._squeeze(a), "sigma2_b": self._squeeze(b)}
        m, kappa, a, b = (held(f"{name}{suffix}", value) for name, value in given.items())
        dims = tuple(dim if dim == "outcome" else f"{dim}{suffix}" for dim in self.dims()["sigma2"])
        return pymc_models.normals(m, kappa, a, b, dims, suffix)

    def log_density(self, X: Array, parameters: Parameters) -> Array:
        """Return Σ_i log Normal(x_i; μ_ik, σ²) over the observed cells, shape (draw, row, outcome)."""
        return self.log_density_given(parameters)(X)

    def log_density_given(self, parameters: Parameters) -> Callable[[Array], Array]:
        """Return the function from rows to log p(x | y, μ, σ²) that computes the terms without x once."""
        scores = self._scores(parameters)

        def log_density(X: Array) -> Array:
            """Return it, (draw, row, outcome)."""
            z, log_slope = self._changed(X, self.axes)
            return scores(z) + log_slope if np.ndim(log_slope) else scores(z)

        return log_density

    def in_columns(self, parameters: Parameters) -> tuple[Callable[[Array], Array], Array] | None:
        """Return the squares, the numbers and the gaps of rows, and what they are multiplied by."""
        scores = self._scores(parameters)
        coefficient = scores.coefficient()
        return None if coefficient is None else (lambda X: scores.columns(self._changed(X, self.axes)[0]), coefficient)

    def _scores(self, parameters: Parameters) -> NormalScores:
        mu = parameters["mu"]
        return NormalScores(mu, np.broadcast_to(self._expand(parameters["sigma2"], offset=1), mu.shape))

    def log_predictive(self, X: Array) -> Array:
        """Return the log density of Student's t, (row, outcome); features that share a variance are jointly t."""
        z, log_slope = self._changed(X, self.axes)
        out = self._student(z)
        out += log_slope
        return out

    def _student(self, z: Array) -> Array:
        if 1 in self._shared:
            return np.stack([self._gain_of_rows(z, state) for state in self._states()], axis=1)
        m, kappa, a, b = map(np.array, zip(*self._states(), strict=True))
        return StudentScores(2 * a, m, (kappa + 1) / kappa * b / a)(z)

    def _states(self) -> list[State]:
        """Return m, κ, a and b of each class."""
        m, kappa, a, b = self.hyperparameters()
        a, b = (np.broadcast_to(values, (len(m), values.shape[1])) for values in (a, b))
        return list(zip(m, kappa, a, b, strict=True))

    def _gain_of_rows(self, z: Array, state: State) -> Array:
        """Return the gain of each row (row, feature), from one state or one for each row, (row)."""
        return self.gain(state, _of_cells(z), self._shared_in_row).sum(axis=1)

    def log_predictive_without(self, X: Array, y: Integers) -> Array:
        """Return the gain of each row after the others of its class; NaN where no digits of b are left without it."""
        z, log_slope = self._changed(X, self.axes)
        out, states = self._student(z), self._states()
        for k in np.unique(y):
            rows = np.flatnonzero(y == k)
            n, x, scatter = _of_cells(z[rows])
            taken = -n, x, scatter
            *_, a, b = self.after(states[k], taken, self._shared_in_row)
            with np.errstate(divide="ignore", invalid="ignore"):
                if 0 in self._shared:
                    of_classes = [self._gain_of_rows(z[rows], (*own[:2], a, b)) for own in states]
                    out[rows] = np.stack(of_classes, axis=1)
                out[rows, k] = -self.gain(states[k], taken, self._shared_in_row).sum(axis=1)
            out[rows[(b <= LOST * states[k][3]).any(axis=1)]] = np.nan
        out += log_slope
        return out

    def log_evidence(self, statistics: Moments) -> Array:
        """Return the gain of all rows, (part)."""
        moments = statistics.n, statistics.mean, statistics.scatter
        return self.gain(self.hyperparameters(), moments, self._shared).sum(axis=0)

    def log_prior(self, parameters: Parameters) -> Density:
        """μ | σ² ~ Normal(m, σ²/κ) and σ² ~ InvGamma(a, b); one part for each variance."""
        m, kappa, a, b = self.hyperparameters()
        sigma2 = self._expand(parameters["sigma2"], offset=1)
        cells = -0.5 * np.log(sigma2) - 0.5 * kappa * (parameters["mu"] - m) ** 2 / sigma2
        axes = tuple(axis + 1 for axis in self._shared)
        densities = cells.sum(axis=axes, keepdims=True) - a * np.log(sigma2) - b / sigma2
        part = np.arange(densities[0].size).reshape(densities.shape[1:])
        part_of = {"mu": np.broadcast_to(part, cells.shape[1:]), "sigma2": part.squeeze(self._shared)}
        return Density(densities.reshape(len(densities), -1), part_of)

    def linear_terms(self, parameters: Parameters, design: LinearDesign) -> LinearTerms:
        """−(x−μ_ik)²/2σ² = −z²/2σ² + z d/σ² − d²/2σ², z = x − center, d = μ_ik − center (Mitchell, eqs 17 to 19)."""
        if 0 not in self._shared:
            raise Refused(f"{design} has a variance for each class; only variance='feature' or 'shared' is linear")
        distance, sigma2 = parameters["mu"] - design.centre, self._expand(parameters["sigma2"], offset=1)
        return LinearTerms(distance / sigma2, -0.5 * distance**2 / sigma2)

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw x (row, feature)."""
        mu = parameters["mu"][0]
        sigma2 = parameters["sigma2"][0]
        sd = np.sqrt(np.broadcast_to(self._expand(sigma2), mu.shape))
        return np.asarray(mu[y] + sd[y] * rng.standard_normal((len(y), mu.shape[1])))

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return μ: (outcome, feature); σ²: those of the variance structure."""
        dims = ("outcome", "feature")
        return {"mu": dims, "sigma2": tuple(dims[axis] for axis in (0, 1) if axis not in self._shared)}

    def hyperparameters(self) -> tuple[Array, Array, Array, Array]:
        """Return m, κ, a and b."""
        return np.asarray(self.m), np.asarray(self.kappa), np.asarray(self.a), np.asarray(self.b)

    @property
    def _shared(self) -> tuple[int, ...]:
        return SHARED_OVER[self.variance]

    @property
    def _shared_in_row(self) -> tuple[int, ...]:
        return (1,) if 1 in self._shared else ()

    def _group(self, cells: Array) -> Array:
        """Sum (outcome, feature) over the cells that share a variance, keeping both axes."""
        return np.asarray(cells.sum(axis=self._shared, keepdims=True))

    def _squeeze(self, values: Array) -> Array:
        """Drop the shared axes of (..., outcome, feature)."""
        return np.asarray(np.squeeze(values, tuple(axis - 2 for axis in self._shared)))

    def _expand(self, values: Any, offset: int = 0) -> Any:
        """Put the shared axes back: the inverse of `_squeeze`, for both NumPy and PyTensor."""
        kept = [slice(None)] * offset
        return values[*kept, *(None if axis in self._shared else slice(None) for axis in (0, 1))]


@dataclass(frozen=True, repr=False)
class LogNormal(Gaussian):
    """log x_i | y = k ~ Normal(μ_ik, σ²), independent over features i, with the prior of `Gaussian`.

    ========= ======== =================== ===========================================
    parameter support  prior               posterior
    ========= ======== =================== ===========================================
    σ²        above 0  InvGamma(a, b)      InvGamma(a + n/2, b + ½S + ½ κn/(κ+n)(z̄−m)²)
    μ_ik | σ² real     Normal(m_i, σ²/κ)   Normal((κm + n z̄)/(κ + n), σ²/(κ + n))
    ========= ======== =================== ===========================================

    n, z̄, S are weight, mean and scatter of the logarithms z = log x of a class's observed cells of a feature. Every
    density is that of x itself,

    .. math:: p(x | k) = \\frac{1}{x} \\mathrm{Normal}(\\log x; μ_k, σ_k²),

    so that it can be compared with those of other families; the predictive is the log-t distribution. Cells are
    numbers above 0 (`Hurdle` takes columns with zeros); a missing cell (NaN) is integrated out. μ and σ² are those of
    log x in the column's own unit: another unit adds a constant to μ.

    Parameters
    ----------
    variance, m, kappa, a, b, unbiased
        Those of `Gaussian`, of log x.
    axes : Axes
        Set by `resolve_prior`.

    References
    ----------
    Mitchell, eqs 13 to 15, for the logarithms; Johnson, Kotz & Balakrishnan (1994), Continuous Univariate Distributions
    1, chapter 14.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[1.0], [2.0], [40.0], [90.0]], ["low", "low", "high", "high"]
    >>> clf = bc.NaiveBayes({"x0": "log-normal"}, random_state=1).fit(X, y)
    >>> print(clf.predict([[4.0], [20.0]]))
    ['low' 'high']
    """

    name: ClassVar[str] = "log-normal"
    likelihood: ClassVar[str] = "LogNormal(mu, sigma2)"
    distribution: ClassVar[str] = "LogNormal"
    support: ClassVar[Support] = POSITIVE
    reads_numbers: ClassVar[bool] = False

    def _changed(self, X: Array, axes: Axes) -> tuple[Array, Array]:
        """Return log x and −Σ log x."""
        observed, values = self.support.read(X, axes, self.name)
        logs = np.where(observed > 0, np.log(values), np.nan)
        return logs, -np.nansum(logs, axis=1, keepdims=True)

    def pymc(self, statistics: Moments, suffix: str) -> None:
        """Add μ and σ², observing the moments of log x, and the Jacobian Π 1/x."""
        import pymc as pm

        super().pymc(statistics, suffix)
        log_slopes = -statistics.n * statistics.mean
        pm.Potential(f"x_log_jacobian{suffix}", pm.Data(f"x_minus_logs{suffix}", log_slopes).sum())

    def log_evidence(self, statistics: Moments) -> Array:
        """Return the gain of the logarithms, and the Jacobian −Σ log x, (part)."""
        return super().log_evidence(statistics) - self._group(statistics.n * statistics.mean).sum(axis=0)

    def linear_terms(self, parameters: Parameters, design: LinearDesign) -> NoReturn:
        """Refuse: the log-odds are at best linear in log x."""
        raise Refused(
            f"{design} has the family {self.name!r}, whose log-odds are linear in log x only; use the logarithms and "
            "the family 'gaussian' with variance='feature'"
        )

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw x (row, feature), which neither overflows nor becomes 0."""
        return np.exp(np.clip(super().sample(parameters, y, rng), -LARGEST_LOG, LARGEST_LOG))


def _of_cells(z: Array) -> tuple[Array, Array, float]:
    """Return the moments of each cell: whether it is observed, its number, and no scatter; n of one row if all are."""
    missing = np.isnan(z)
    if not missing.any():
        return np.ones((1, z.shape[1])), z, 0.0
    return (~missing).astype(float), np.where(missing, 0.0, z), 0.0


def _few_rows(X: Array) -> Iterator[tuple[slice, Array, NDArray[np.bool_] | None]]:
    """Yield a few rows at a time: which, their cells, and which of these are missing, None where none is.

    Cells of a row are next to each other, so that sums over them do not depend on how the table lies in memory.
    """
    for rows in blocks_of(len(X), X.shape[1], CACHED_CELLS):
        cells = np.ascontiguousarray(X[rows])
        yield rows, cells, np.isnan(cells) if np.isnan(cells.sum()) else None


@dataclass(frozen=True, eq=False)
class NormalScores:
    """Σ_i log Normal(x_i; μ_ik, σ²_ik) over the observed cells, of draws of μ and σ².

    The square is expanded around c, the mean of a class's draws, as (x−c)² − 2(x−c)(μ−c) + (μ−c)²: then all draws are
    one matrix product, and as μ−c is small nothing cancels, whatever the origin of x. What does not depend on x is
    computed once.

    `mu`, `sigma2`: (draw, outcome, feature).
    """

    mu: Array
    sigma2: Array

    def __call__(self, X: Array) -> Array:
        """Return the log density of rows `X` (row, feature), NaN where a cell is missing, (draw, row, outcome)."""
        draws, labels, features = self.mu.shape
        out = np.empty((len(X), labels, draws))
        for rows, cells, missing in _few_rows(X):
            factors = self._of_complete if missing is None else self._of_incomplete
            seen = np.ones((len(cells), 1)) if missing is None else (~missing).astype(float)
            for k in range(labels):
                z = cells - self._center[k]
                if missing is not None:
                    z[missing] = 0.0
                if draws > 1:
                    np.matmul(np.hstack([z * z, z, seen]), factors[k], out=out[rows, k])
                    continue
                z *= z
                np.matmul(z, factors[k, :features], out=out[rows, k])
                out[rows, k] += factors[k, -1] if missing is None else seen @ factors[k, -features:]
        return np.moveaxis(out, 2, 0)

    @cached_property
    def _center(self) -> Array:
        return np.asarray(self.mu.mean(axis=0))

    @cached_property
    def _of_incomplete(self) -> Array:
        """What z², z, and whether a cell is observed are multiplied by, (outcome, column, draw)."""
        return np.ascontiguousarray(self._factors(self._center).transpose(1, 2, 0))

    def _factors(self, center: Array) -> Array:
        """Return these of z = x − center, (draw, outcome, column)."""
        shift, precision = self.mu - center, 1 / self.sigma2
        constants = -0.5 * (np.log(2 * np.pi * self.sigma2) + precision * shift**2)
        return np.concatenate([-0.5 * precision, precision * shift, constants], axis=2)

    @cached_property
    def _of_complete(self) -> Array:
        """The same of rows without missing cells, whose constants are added up."""
        squares, constants = np.split(self._of_incomplete, [2 * self.mu.shape[2]], axis=1)
        return np.concatenate([squares, constants.sum(axis=1, keepdims=True)], axis=1)

    @property
    def _shared_center(self) -> Array:
        return np.asarray(self._center.mean(axis=0))

    def columns(self, X: Array) -> Array:
        """Return 1, z², z and, where there are any, gaps of rows `X` (row, feature); z = x − c, c of all classes."""
        z = X[:] - self._shared_center
        missing = np.isnan(z)
        z[missing] = 0.0
        parts = [np.ones((len(z), 1)), z * z, z]
        return np.concatenate([*parts, missing] if missing.any() else parts, axis=1)

    def coefficient(self) -> Array | None:
        """Return what these are multiplied by, (column, outcome, draw); None where large squares would cancel."""
        if ((self.mu - self._shared_center) ** 2 > FARTHEST**2 * self.sigma2).any():
            return None
        factors = self._factors(self._shared_center).transpose(2, 1, 0)
        squares, constants = np.split(factors, [2 * self.mu.shape[2]])
        return np.concatenate([constants.sum(axis=0, keepdims=True), squares, -constants])


@dataclass(frozen=True, eq=False)
class StudentScores:
    """Σ_i log t(x_i; ν_ik, m_ik, s²_ik) over the observed cells, with ν degrees of freedom.

    Features of the same ν need one logarithm, that of the product of their 1 + z²/ν. Of each factor what exceeds 1 is
    kept, as beside the 1 it would keep few digits where ν is large.

    `nu`, `m`, `scale`: ν, location m and squared scale s², (outcome, feature).
    """

    nu: Array
    m: Array
    scale: Array

    def __call__(self, X: Array) -> Array:
        """Return the log density of rows `X` (row, feature), NaN where a cell is missing, (row, outcome)."""
        out = np.empty((len(X), len(self.m)))
        order, starts = self._groups
        m, rate, constant = self.m[:, order], (1 / (self.scale * self.nu))[:, order], self._constants[:, order]
        exponent = -0.5 * (np.broadcast_to(self.nu, m.shape)[:, order] + 1)
        for rows, cells, missing in _few_rows(X):
            columns = np.ascontiguousarray(cells.T[order])
            lacking = None if missing is None else missing.T[order]
            for k in range(len(m)):
                excess = columns - m[k, :, None]
                excess *= excess
                excess *= rate[k, :, None]
                if lacking is not None:
                    excess[lacking] = 0.0
                places, logs = _log_products(excess, starts)
                own = constant[k].sum() if lacking is None else constant[k] @ ~lacking
                out[rows, k] = exponent[k, places] @ logs + own
        return out

    @cached_property
    def _groups(self) -> tuple[Integers, Integers]:
        """The features in an order in which those of the same ν are neighbors, and where each ν starts."""
        _, group = np.unique(np.broadcast_to(self.nu, self.m.shape), axis=1, return_inverse=True)
        order = np.argsort(group, kind="stable")
        return order, np.flatnonzero(np.diff(group[order], prepend=-1))

    @cached_property
    def _constants(self) -> Array:
        """What does not depend on x, (outcome, feature)."""
        nu = self.nu
        log_scale = np.log(nu * np.pi) + np.log(self.scale)
        return np.asarray(gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * log_scale)


def _log_products(excess: Array, starts: Integers) -> tuple[list[int], Array]:
    """Return log Π (1 + e) of neighboring features, (group, row), and the first feature of each group.

    Groups end where another of the `starts` is, and before a product could be too large for a number.

    `excess`: e (feature, row), which is overwritten.
    """
    many = max(1, int(LARGEST_LOG / max(np.log1p(excess.max(initial=0.0)), 1.0)))
    ends = [*starts.tolist(), len(excess)]
    places = [place for start, end in pairwise(ends) for place in range(start, end, many)]
    products = [_product_less_one(excess[start:end]) for start, end in pairwise([*places, len(excess)])]
    return places, np.log1p(np.stack(products))


def _product_less_one(excess: Array) -> Array:
    """Return Π (1 + e) − 1, (row), of e (feature, row), which is overwritten: halves are multiplied with each other."""
    left = len(excess)
    while left > 1:
        half = left // 2
        one, other = excess[:half], excess[left - half : left]
        product = one * other
        one += other
        one += product
        left -= half
    return np.asarray(excess[0])


def log_student_t(distance: Array, nu: Array, cells: Array | float, log_scale: Array) -> Array:
    """Return the log density of a t over `cells` coordinates: squared distance (x−m)ᵀS⁻¹(x−m), log|S|."""
    return np.asarray(
        gammaln((nu + cells) / 2)
        - gammaln(nu / 2)
        - 0.5 * (cells * np.log(nu * np.pi) + log_scale)
        - 0.5 * (nu + cells) * np.log1p(distance / nu)
    )
