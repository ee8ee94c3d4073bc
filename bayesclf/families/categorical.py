"""Categorical features: a Dirichlet over the levels for each feature and class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayesclf.errors import DoesNotExist, InputError
from bayesclf.families import dirichlet
from bayesclf.families.base import Array, Axes, Integers, Parameters
from bayesclf.families.concentration import LearntAlpha, require_concentration


@dataclass(frozen=True)
class CategoricalStatistics:
    """Counts n (outcome, level), the levels of all features side by side."""

    axes: Axes
    counts: Array

    def __add__(self, other: CategoricalStatistics) -> CategoricalStatistics:
        return CategoricalStatistics(self.axes, self.counts + other.counts)

    def pooled(self) -> CategoricalStatistics:
        """Return the counts over all labels."""
        return CategoricalStatistics(
            Axes(("all",), self.axes.features, self.axes.levels), self.counts.sum(axis=0, keepdims=True)
        )

    def select(self, features: NDArray[np.bool_]) -> CategoricalStatistics:
        """Return the counts of some features."""
        kept = np.repeat(features, self.axes.sizes)
        axes = Axes(
            self.axes.labels,
            tuple(name for name, keep in zip(self.axes.features, features, strict=True) if keep),
            tuple(levels for levels, keep in zip(self.axes.levels, features, strict=True) if keep),
        )
        return CategoricalStatistics(axes, self.counts[:, kept])

    def reindex(self, axes: Axes) -> CategoricalStatistics:
        """Return the counts on axes with further labels or levels, zero there."""
        counts = np.zeros((len(axes.labels), sum(axes.sizes)))
        rows = [axes.labels.index(label) for label in self.axes.labels]
        columns = [
            int(start) + axes.levels[j].index(level)
            for j, start in enumerate(dirichlet.starts(axes.sizes))
            for level in self.axes.levels[j]
        ]
        counts[np.ix_(rows, columns)] = self.counts
        return CategoricalStatistics(axes, counts)

    def arrays(self) -> dict[str, Array]:
        """Return the counts."""
        return {"counts": self.counts}


@dataclass(frozen=True)
class Categorical:
    """P(x_j = l | y = k) = θ_jkl with θ_jk ~ Dirichlet(α_jk), independent over features j and classes k.

    ========== ============================ ==================== =====================
    parameter  support                      prior                posterior
    ========== ============================ ==================== =====================
    θ_jk       simplex over the levels of j Dirichlet(α_jk)      Dirichlet(α_jk + n_jk)
    ========== ============================ ==================== =====================

    MLE n_jkl/n_jk (Mitchell eq 6); MAP (n_jkl + α − 1)/(n_jk + Σα − J) (eq 7 with l = α − 1; α = 2 is Laplace's
    rule; the m-estimate (n_jkl + m p)/(n_jk + m) is α_jl = 1 + m p_jl). A missing cell (code −1) is integrated
    out: it contributes to no count and to no density.

    Parameters
    ----------
    alpha
        Concentration, above 0: a number, or an array that broadcasts to (outcome, level), the levels of all
        features side by side; or a `LearntAlpha`.
    basis
        Where the density is maximised for MAP: ``"simplex"``, in θ itself, or ``"softmax"``, in log-odds, where
        the mode (n + α)/(N + Σα) always exists and equals the posterior mean.
    axes
        Set by `resolve_prior`.

    References
    ----------
    Mitchell, eqs 6 and 7; CS4780, categorical naive Bayes.
    """

    alpha: float | Array | LearntAlpha = 2.0
    basis: str = "simplex"
    axes: Axes = field(default=Axes((), ()), repr=False)
    name: ClassVar[str] = "categorical"
    kind: ClassVar[str] = "category"
    statistics_class: ClassVar[type[CategoricalStatistics]] = CategoricalStatistics

    def __post_init__(self) -> None:
        require_concentration("alpha", self.alpha)
        if self.basis not in ("simplex", "softmax"):
            raise InputError(f"basis must be 'simplex' or 'softmax', not {self.basis!r}")

    def statistics(
        self, X: Integers, y: Integers, axes: Axes, sample_weight: Array | None = None
    ) -> CategoricalStatistics:
        """Count the levels; `X` holds codes (row, feature), −1 where a cell is missing."""
        n_labels, n_levels = len(axes.labels), sum(axes.sizes)
        cells = X + dirichlet.starts(axes.sizes) + n_levels * y[:, None]
        seen = X >= 0
        weight = None if sample_weight is None else np.broadcast_to(sample_weight[:, None], X.shape)[seen]
        counts = np.bincount(cells[seen], weight, minlength=n_labels * n_levels)
        return CategoricalStatistics(axes, counts.astype(float).reshape(n_labels, n_levels))

    def resolve_prior(self, statistics: CategoricalStatistics) -> Self:
        """Return the prior with α as an array (outcome, level), or, if α is to be learnt, what learns it."""
        if isinstance(self.alpha, LearntAlpha):
            learnt: Self = self.alpha.resolve(self, statistics)
            return learnt
        try:
            alpha = np.broadcast_to(np.asarray(self.alpha, dtype=float), statistics.counts.shape)
        except ValueError:
            raise InputError(
                f"alpha has shape {np.shape(self.alpha)}, which does not broadcast to (outcome, level) = "
                f"{statistics.counts.shape}"
            ) from None
        return type(self)(alpha, self.basis, statistics.axes)

    def informative(self, statistics: CategoricalStatistics) -> NDArray[np.bool_]:
        """Return False for a feature without a single seen cell."""
        # A column that is empty in all rows so far has no level at all, which reduceat cannot express.
        ends = np.cumsum(statistics.axes.sizes)
        seen = np.concatenate(([0.0], np.cumsum(statistics.counts.sum(axis=0))))
        return np.asarray(seen[ends] > seen[ends - statistics.axes.sizes])

    def mle(self, statistics: CategoricalStatistics) -> Parameters:
        """Return the relative frequencies; raises `DoesNotExist` where a class has no cell of a feature."""
        theta = dirichlet.normalise(statistics.counts, statistics.axes.sizes)
        _require_defined(theta, statistics.axes, "has no value")
        return {"theta": theta[None]}

    def map(self, statistics: CategoricalStatistics) -> Parameters:
        """Return the mode in the chosen basis; raises `DoesNotExist` where it is not unique or unbounded."""
        posterior = self.posterior(statistics)
        if self.basis == "softmax":
            return posterior.mean()
        theta = dirichlet.mode(np.asarray(posterior.alpha), self.axes.sizes)
        _require_defined(theta, self.axes, "has no single most probable θ (some count + α is below 1, or all are 1)")
        return {"theta": theta[None]}

    def not_conjugate(self, statistics: CategoricalStatistics) -> str:
        """Return nothing: the posterior is always in closed form."""
        return ""

    def posterior(self, statistics: CategoricalStatistics) -> Self:
        """Return Dirichlet(α + n)."""
        return type(self)(np.asarray(self.alpha) + statistics.counts, self.basis, self.axes)

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw θ (draw, outcome, level)."""
        return {"theta": dirichlet.draw(np.asarray(self.alpha), self.axes.sizes, rng, draws)}

    def mean(self) -> Parameters:
        """Return α/Σα."""
        return {"theta": dirichlet.mean(np.asarray(self.alpha), self.axes.sizes)[None]}

    def pymc(self, statistics: CategoricalStatistics, suffix: str) -> None:
        """Add θ, grouped by number of levels (one variable a feature and class would not compile in time)."""
        import pymc as pm

        from bayesclf.families.pymc_statistics import observe_counts

        for size, cells in self._groups().items():
            shape = (len(self.axes.labels), -1, size)
            alpha = np.asarray(self.alpha)[:, cells].reshape(shape)
            counts = statistics.counts[:, cells].reshape(shape)
            theta = pm.Dirichlet(f"theta_{size}{suffix}", pm.Data(f"theta_{size}_alpha{suffix}", alpha))
            observe_counts(f"counts_{size}{suffix}", theta, counts)

    def from_pymc(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Flatten the groups back to θ (draw, outcome, level)."""
        groups = self._groups()
        first = draws[f"theta_{next(iter(groups))}{suffix}"]
        theta = np.empty((len(first), len(self.axes.labels), sum(self.axes.sizes)))
        for size, cells in groups.items():
            group = draws[f"theta_{size}{suffix}"]
            theta[:, :, cells] = group.reshape(*group.shape[:2], -1)
        return {"theta": theta}

    def log_density(self, X: Integers, parameters: Parameters) -> Array:
        """Return Σ_j log θ_{j, k, x_j} (draw, row, outcome)."""
        theta = parameters["theta"]
        draws, labels, levels = theta.shape
        with np.errstate(divide="ignore"):
            log_theta = np.log(theta).transpose(2, 1, 0).reshape(levels, labels * draws)
        log_density = np.asarray(_indicators(X, self.axes.sizes) @ log_theta)
        return np.asarray(np.moveaxis(log_density.reshape(len(X), labels, draws), 2, 0))

    def log_predictive(self, X: Integers) -> Array:
        """Return Σ_j log E[θ_{j, k, x_j}] (row, outcome): for one row the average is the mean's density."""
        return np.asarray(self.log_density(X, self.mean())[0])

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Integers:
        """Draw level codes (row, feature)."""
        theta = parameters["theta"][0][y]
        codes = np.empty((len(y), len(self.axes.sizes)), dtype=np.intp)
        for j, (start, size) in enumerate(zip(dirichlet.starts(self.axes.sizes), self.axes.sizes, strict=True)):
            below = np.cumsum(theta[:, start : start + size], axis=1)[:, :-1]
            codes[:, j] = (rng.random((len(y), 1)) >= below).sum(axis=1)
        return codes

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return θ: (outcome, level)."""
        return {"theta": ("outcome", "level")}

    def _groups(self) -> dict[int, Integers]:
        """Return the cells of all features that have the same number of levels, by that number."""
        sizes = np.asarray(self.axes.sizes)
        per_cell = np.repeat(sizes, sizes)
        return {int(size): np.flatnonzero(per_cell == size) for size in np.unique(sizes)}


def _indicators(X: Integers, sizes: tuple[int, ...]) -> sparse.csr_array:
    """Return 0/1 indicators (row, level); a missing cell has none.

    Sparse, because 0 · log 0 would be NaN in a dense product and an absent entry is not multiplied at all.
    """
    seen = X >= 0
    columns = (X + dirichlet.starts(sizes))[seen]
    ends = np.concatenate(([0], np.cumsum(seen.sum(axis=1))))
    return sparse.csr_array((np.ones(columns.size), columns, ends), shape=(len(X), sum(sizes)))


def _require_defined(theta: Array, axes: Axes, what: str) -> None:
    """Raise for the first (class, feature) whose θ is NaN."""
    undefined = np.argwhere(np.isnan(theta))
    if undefined.size:
        label, cell = undefined[0]
        feature = np.repeat(np.arange(len(axes.sizes)), axes.sizes)[cell]
        raise DoesNotExist(f"class {axes.labels[label]!r} {what} in column {axes.features[feature]!r}")
