"""Features that are present or absent: a Beta for each feature and class (the multivariate event model)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayesclf.errors import DoesNotExist, InputError
from bayesclf.families import dirichlet
from bayesclf.families.base import Array, Axes, Integers, Parameters
from bayesclf.families.cells import broadcast, canonical, class_sums, moved, selected
from bayesclf.families.concentration import LearntAlpha, require_concentration


@dataclass(frozen=True)
class BernoulliStatistics:
    """Weight n of the rows in which a feature is known, and of those in which it is present, (outcome, feature)."""

    axes: Axes
    n: Array
    successes: Array

    def __add__(self, other: BernoulliStatistics) -> BernoulliStatistics:
        return BernoulliStatistics(self.axes, self.n + other.n, self.successes + other.successes)

    def pooled(self) -> BernoulliStatistics:
        """Return the statistics over all labels."""
        sums = (values.sum(axis=0, keepdims=True) for values in (self.n, self.successes))
        return BernoulliStatistics(Axes(("all",), self.axes.features), *sums)

    def select(self, features: NDArray[np.bool_]) -> BernoulliStatistics:
        """Return the statistics of some features."""
        return BernoulliStatistics(selected(self.axes, features), self.n[:, features], self.successes[:, features])

    def reindex(self, axes: Axes) -> BernoulliStatistics:
        """Return the statistics on axes with further labels, zero there.

        A further feature was absent from all rows so far: a document lacks the words that only others have.
        """
        rows = self.n.max(axis=1, initial=0.0) if self.axes.features != axes.features else None
        n = moved(self.n, self.axes, axes)
        if rows is not None:
            new = ~np.isin(axes.features, self.axes.features)
            n[np.ix_([axes.labels.index(label) for label in self.axes.labels], new)] = rows[:, None]
        return BernoulliStatistics(axes, n, moved(self.successes, self.axes, axes))

    def arrays(self) -> dict[str, Array]:
        """Return n and the successes."""
        return {"n": self.n, "successes": self.successes}


@dataclass(frozen=True)
class Bernoulli:
    """P(x_i = 1 | y = k) = θ_ik with θ_ik ~ Beta(α_ik, β_ik), independent over features i and classes k.

    ========= ======= =============== ============================
    parameter support prior           posterior
    ========= ======= =============== ============================
    θ_ik      (0, 1)  Beta(α_ik, β_ik) Beta(α_ik + s_ik, β_ik + n_ik − s_ik)
    ========= ======= =============== ============================

    A feature is present (1) where its cell is above `threshold`. All features count, the absent ones too:

    .. math:: \\log P(x | y = k) = \\sum_i \\log(1 − θ_{ik}) + \\sum_{i: x_i = 1} [\\log θ_{ik} − \\log(1 − θ_{ik})]

    so that a sparse row costs its present features only. MLE s/n, the fraction of the class's documents with the
    word; MAP (s + α − 1)/(n + α + β − 2). The predictive of a row is the density at the posterior mean. It is the
    categorical family with two levels. A missing cell (NaN, dense tables only) is integrated out.

    Parameters
    ----------
    alpha, beta
        Shapes, above 0: numbers, or arrays that broadcast to (outcome, feature). α = β = 2 is Laplace's rule for MAP.
        α may be a `LearntAlpha`; β is then the same.
    threshold
        Cells above it are present.
    axes
        Set by `resolve_prior`.

    References
    ----------
    Abu-El-Haija 3.2.2 (multivariate Bernoulli event model); Mitchell, eqs 6 and 7.
    """

    alpha: float | Array | LearntAlpha = 2.0
    beta: float | Array = 2.0
    threshold: float = 0.0
    axes: Axes = field(default=Axes((), ()), repr=False)
    name: ClassVar[str] = "bernoulli"
    kind: ClassVar[str] = "number"
    statistics_class: ClassVar[type[BernoulliStatistics]] = BernoulliStatistics

    def __post_init__(self) -> None:
        require_concentration("alpha", self.alpha)
        require_concentration("beta", self.beta)
        if not np.isfinite(self.threshold):
            raise InputError(f"threshold must be a finite number, not {self.threshold}")

    def statistics(self, X: Any, y: Integers, axes: Axes, sample_weight: Array | None = None) -> BernoulliStatistics:
        """Count rows and presences; `X` is (row, feature), dense with NaN where a cell is missing, or sparse."""
        present, seen = self._events(X)
        labels = len(axes.labels)
        n = np.bincount(y, sample_weight, minlength=labels).astype(float)[:, None]
        known = np.tile(n, len(axes.features)) if seen is None else class_sums(seen, y, labels, sample_weight)
        return BernoulliStatistics(axes, known, class_sums(present, y, labels, sample_weight))

    def resolve_prior(self, statistics: BernoulliStatistics) -> Self:
        """Return the prior with α and β as arrays (outcome, feature)."""
        if isinstance(self.alpha, LearntAlpha):
            learnt: Self = self.alpha.resolve(self, statistics)
            return learnt
        axes = statistics.axes
        alpha, beta = (broadcast(name, getattr(self, name), axes, "feature") for name in ("alpha", "beta"))
        return replace(self, alpha=alpha, beta=beta, axes=axes)

    def informative(self, statistics: BernoulliStatistics) -> NDArray[np.bool_]:
        """Return False for a feature without a single seen cell."""
        return np.asarray(statistics.n.sum(axis=0) > 0)

    def mle(self, statistics: BernoulliStatistics) -> Parameters:
        """Return the fractions s/n; raises `DoesNotExist` where a class has no cell of a feature."""
        with np.errstate(invalid="ignore", divide="ignore"):
            theta = statistics.successes / statistics.n
        _require_defined(theta, statistics.axes, "has no value")
        return {"theta": theta[None]}

    def map(self, statistics: BernoulliStatistics) -> Parameters:
        """Return the mode; raises `DoesNotExist` where it is not unique or the density unbounded."""
        theta = self.posterior(statistics)._of_present(dirichlet.mode)
        _require_defined(theta, self.axes, "has no single most probable θ (some count + α is below 1, or all are 1)")
        return {"theta": theta[None]}

    def not_conjugate(self, statistics: BernoulliStatistics) -> str:
        """Return nothing: the posterior is always in closed form."""
        return ""

    def posterior(self, statistics: BernoulliStatistics) -> Self:
        """Return Beta(α + s, β + n − s)."""
        failures = statistics.n - statistics.successes
        return replace(self, alpha=np.asarray(self.alpha) + statistics.successes, beta=self.beta + failures)

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw θ (draw, outcome, feature)."""
        return {"theta": self._of_present(lambda cells, sizes: dirichlet.draw(cells, sizes, rng, draws))}

    def mean(self) -> Parameters:
        """Return α/(α + β)."""
        return {"theta": self._of_present(dirichlet.mean)[None]}

    def pymc(self, statistics: BernoulliStatistics, suffix: str) -> None:
        """Add θ, observing presences and absences."""
        import pymc as pm

        from bayesclf.families.pymc_statistics import observe_counts

        dims = ("outcome", f"feature{suffix}")
        alpha = pm.Data(f"theta_present_alpha{suffix}", np.asarray(self.alpha))
        beta = pm.Data(f"theta_present_beta{suffix}", np.asarray(self.beta))
        theta = pm.Beta(f"theta_present{suffix}", alpha, beta, dims=dims)
        observe_counts(f"present{suffix}", theta, statistics.successes)
        observe_counts(f"absent{suffix}", 1 - theta, statistics.n - statistics.successes)

    def from_pymc(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Return θ (draw, outcome, feature)."""
        return {"theta": draws[f"theta_present{suffix}"]}

    def log_density(self, X: Any, parameters: Parameters) -> Array:
        """Return log P(x | y, θ), (draw, row, outcome)."""
        present, seen = self._events(X)
        theta = parameters["theta"]
        draws, labels, features = theta.shape
        flat = theta.transpose(2, 1, 0).reshape(features, labels * draws)
        never, always = flat == 0, flat == 1
        with np.errstate(divide="ignore"):
            log_absent = np.where(always, 0.0, np.log1p(-flat))
            log_odds = np.where(never, 0.0, np.log(flat)) - log_absent
        density = present @ log_odds
        density += log_absent.sum(axis=0) if seen is None else seen @ log_absent
        if never.any() or always.any():
            density[_contradicted(present, seen, never, always)] = -np.inf
        return np.asarray(np.moveaxis(density.reshape(X.shape[0], labels, draws), 2, 0))

    def log_predictive(self, X: Any) -> Array:
        """Return the log density at E[θ] (row, outcome): a feature occurs once in a row."""
        return np.asarray(self.log_density(X, self.mean())[0])

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw presences (row, feature), as 0 and 1 above and below the threshold 0."""
        theta = parameters["theta"][0][y]
        return np.asarray(rng.random(theta.shape) < theta, dtype=float)

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return θ: (outcome, feature)."""
        return {"theta": ("outcome", "feature")}

    def _of_present(self, function: Any) -> Array:
        """Apply a function of Dirichlets with cells (absent, present) and return what it says of `present`."""
        cells = np.stack([np.asarray(self.beta), np.asarray(self.alpha)], axis=-1)
        labels, features, _ = cells.shape
        values = function(cells.reshape(labels, 2 * features), (2,) * features)
        return np.asarray(values[..., 1::2])

    def _events(self, X: Any) -> tuple[Any, Array | None]:
        """Return presences (row, feature), 0 or 1, and where cells are known, None for everywhere."""
        if not sparse.issparse(X):
            missing = np.isnan(X)
            return (self.threshold < X).astype(float), (~missing).astype(float) if missing.any() else None
        if self.threshold < 0:
            raise InputError(
                f"threshold {self.threshold} makes the empty cells of a sparse table present; take one of at least 0"
            )
        return _present(X, self.threshold), None


def _present(X: Any, threshold: float) -> sparse.csr_array:
    """Return 0 or 1 for each stored cell of a sparse table."""
    cells = canonical(X)
    return sparse.csr_array(((threshold < cells.data).astype(float), cells.indices, cells.indptr), shape=cells.shape)


def _contradicted(present: Any, seen: Array | None, never: NDArray[np.bool_], always: NDArray[np.bool_]) -> Any:
    """Return where a row has a feature of θ = 0 or lacks one of θ = 1, (row, outcome × draw)."""
    certain = always.astype(float)
    lacking = (certain.sum(axis=0) if seen is None else seen @ certain) - present @ certain
    return (present @ never.astype(float) > 0) | (lacking > 0)


def _require_defined(theta: Array, axes: Axes, what: str) -> None:
    """Raise for the first (class, feature) whose θ is NaN."""
    undefined = np.argwhere(np.isnan(theta))
    if undefined.size:
        label, feature = undefined[0]
        raise DoesNotExist(f"class {axes.labels[label]!r} {what} in column {axes.features[feature]!r}")
