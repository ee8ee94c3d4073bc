"""Features that are present or absent: a Beta for each feature and class (the multivariate event model)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import Number, require
from bayesclf.errors import InputError
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes, Statistics, Support, in_numbers
from bayesclf.families.categorical import SimplexFamily, require_alpha, require_basis
from bayesclf.families.cells import dense
from bayesclf.families.learned_alpha import TEXTBOOK, LearntAlpha
from bayesclf.families.page_tables import observe_counts
from bayesclf.families.prior_lines import PriorLine, prior_lines
from bayesclf.families.terms import Contributions, Density, LinearDesign, LinearTerms, Pair, difference, each

ABSENT = "(all that is absent)"
"""Stands for all features that are absent from a row of a sparse table."""


@dataclass(frozen=True)
class BernoulliStatistics(Statistics):
    """Weight n of the rows in which a feature is observed, and of those in which it is present, (outcome, feature)."""

    axes: Axes
    n: Array
    successes: Array

    @classmethod
    def of(cls, X: Any, y: Integers, axes: Axes, sample_weight: Array | None = None, seen: Array | None = None) -> Self:
        """Count presences `X` (row, feature), 0 or 1, of cells that are observed where `seen` is 1, by default all."""
        labels = len(axes.labels)
        n = np.bincount(y, sample_weight, minlength=labels).astype(float)[:, None]
        known = np.tile(n, len(axes.features)) if seen is None else dirichlet.class_sums(seen, y, labels, sample_weight)
        return cls(axes, known, dirichlet.class_sums(X, y, labels, sample_weight))

    def widened(self, axes: Axes, rows: Array) -> Self:
        """Return the statistics on wider axes; a new feature, as a new word, was absent from all rows so far."""
        moved = self.reindex(axes)
        new = ~np.isin(axes.features, self.axes.features)
        moved.n[np.ix_(self.axes.labels_in(axes), new)] = rows[:, None]
        return moved

    def centre(self) -> Array:
        """Return the share of rows in which each feature is present."""
        return np.asarray(self.successes.sum(axis=0) / np.maximum(self.n.sum(axis=0), 1))

    @property
    def counts(self) -> Array:
        """Weight of the rows without a feature and of those with it, (outcome, absent and present of each feature)."""
        return _in_turn(self.n - self.successes, self.successes)

    def constant_features(self) -> list[str]:
        """Return the columns of events that all rows have, or none."""
        present, n = self.successes.sum(axis=0), self.n.sum(axis=0)
        return list(np.array(self.axes.features, dtype=object)[(present == 0) | (present == n)])


@dataclass(frozen=True, repr=False)
class Bernoulli(SimplexFamily[BernoulliStatistics]):
    """P(x_i = 1 | y = k) = θ_ik with θ_ik ~ Beta(α_ik, β_ik), independent over features i and classes k.

    ========= ======= ================ =====================================
    parameter support prior            posterior
    ========= ======= ================ =====================================
    θ_ik      (0, 1)  Beta(α_ik, β_ik) Beta(α_ik + s_ik, β_ik + n_ik − s_ik)
    ========= ======= ================ =====================================

    A feature is present (1) where its cell is above `threshold`. All features contribute, the absent ones too:

    .. math:: \\log P(x | y = k) = \\sum_i \\log(1 − θ_{ik}) + \\sum_{i: x_i = 1} [\\log θ_{ik} − \\log(1 − θ_{ik})]

    so that a sparse row costs only its present features. MLE s/n, the fraction of the class's documents with the
    word; MAP (s + α − 1)/(n + α + β − 2). The predictive of a row is the density at the posterior mean. It is the
    categorical family with two levels. A missing cell (NaN, dense tables only) is integrated out.

    Parameters
    ----------
    alpha, beta
        Shapes, positive: numbers, or arrays that broadcast to (outcome, feature). α = β = 2 is Laplace's rule for MAP.
        α may be a `LearntAlpha`; β is then equal to α.
    threshold : float
        Cells above it are present.
    basis : str or tuple of str
        Where the density is maximized for MAP: ``"simplex"``, in θ itself, or ``"softmax"``, in log-odds, where the
        mode always exists and equals the posterior mean. Where α is learned, ``"softmax"``.
    axes : Axes
        Set by `resolve_prior`.

    References
    ----------
    Abu-El-Haija 3.2.2 (multivariate Bernoulli event model); Mitchell, eqs 6 and 7.
    """

    alpha: float | Array | LearntAlpha = 2.0
    beta: float | Array | LearntAlpha = 2.0
    threshold: float = 0.0
    basis: str | tuple[str, ...] = "simplex"
    axes: Axes = field(default=Axes((), ()), repr=False)
    name: ClassVar[str] = "bernoulli"
    kind: ClassVar[str] = "number"
    support: ClassVar[Support] = Support(whole=True)
    likelihood: ClassVar[str] = "Bernoulli(theta)"
    statistics_type: ClassVar[type[Statistics]] = BernoulliStatistics

    def __post_init__(self) -> None:
        require_alpha(alpha=self.alpha, beta=self.beta)
        require(Number(), threshold=self.threshold)
        require_basis(self.basis)

    def statistics(self, X: Any, y: Integers, axes: Axes, sample_weight: Array | None = None) -> BernoulliStatistics:
        """Count rows and presences; `X` is (row, feature), dense with NaN where a cell is missing, or sparse."""
        present, seen = self._events(X)
        return BernoulliStatistics.of(present, y, axes, sample_weight, seen)

    def resolve_prior(self, statistics: BernoulliStatistics) -> Self:
        """Return the prior with α and β as arrays (outcome, feature) or, where α is learned, the family for it."""
        if isinstance(self.alpha, LearntAlpha):
            return cast("Self", self.alpha.resolve(self, statistics))
        numbers = in_numbers(self, statistics.n.shape, alpha=TEXTBOOK, beta=TEXTBOOK)
        return replace(self, **numbers, axes=statistics.axes)

    def priors(self) -> list[PriorLine]:
        """Return the beta priors of θ."""
        alpha, beta = np.asarray(self.alpha), np.asarray(self.beta)
        return prior_lines("theta", "Beta({alpha}, {beta})", self.axes, alpha=alpha, beta=beta)

    def informative(self, statistics: BernoulliStatistics) -> NDArray[np.bool_]:
        """Return False for a feature without an observed cell."""
        return np.asarray(statistics.n.sum(axis=0) > 0)

    def pymc(self, statistics: BernoulliStatistics, suffix: str) -> None:
        """Add θ, observing presences and absences."""
        import pymc as pm

        from bayesclf import pymc_models

        given = zip(("alpha", "beta"), (self.alpha, self.beta), strict=True)
        alpha, beta = (pm.Data(f"theta_{name}{suffix}", value) for name, value in given)
        theta = pymc_models.events(alpha, beta, suffix)
        observe_counts(f"present{suffix}", theta, statistics.successes)
        observe_counts(f"absent{suffix}", 1 - theta, statistics.n - statistics.successes)

    def page(self, X: Any, row: Any, suffix: str, variable: str = "x") -> None:
        """Add θ, observing whether x_i exceeds the threshold, Bernoulli(θ_yi), under a name."""
        import pymc as pm

        from bayesclf import pymc_models

        cells = dense(X)
        present = np.where(np.isnan(cells), np.nan, self.threshold < cells)
        theta = pymc_models.events(self.alpha, self.beta, suffix)
        pymc_models.cells(pm.Bernoulli, present, row, theta, name=suffix, variable=variable)

    def log_density(self, X: Any, parameters: Parameters) -> Array:
        """Return log P(x | y, θ), (draw, row, outcome)."""
        present, seen = self._events(X)
        theta = parameters["theta"]
        draws, labels, features = theta.shape
        flat = theta.transpose(2, 1, 0).reshape(features, labels * draws)
        with np.errstate(divide="ignore"):
            log_present, log_absent = (dirichlet.countable(values) for values in (np.log(flat), np.log1p(-flat)))
        density = present @ (log_present - log_absent)
        density += log_absent.sum(axis=0) if seen is None else seen @ log_absent
        density = dirichlet.summed(density)
        return np.asarray(np.moveaxis(density.reshape(X.shape[0], labels, draws), 2, 0))

    def log_predictive_without(self, X: Any, y: Integers) -> Array:
        """Own class: (α − 1)/(α + β − 1) for a feature that is present, (β − 1)/(α + β − 1) for one that is not."""
        present, seen = self._events(X)
        alpha, beta = np.asarray(self.alpha), np.asarray(self.beta)
        with np.errstate(divide="ignore", invalid="ignore"):
            # A concentration of at most 1 has not counted any row, so no row is left out of it.
            total = alpha + beta - 1
            log_present, log_absent = (np.where(v > 1, np.log((v - 1) / total), 0.0) for v in (alpha, beta))
        own = np.empty(len(y))
        for k in np.unique(y):
            rows = np.flatnonzero(y == k)
            absent = log_absent[k].sum() if seen is None else seen[rows] @ log_absent[k]
            own[rows] = absent + present[rows] @ (log_present[k] - log_absent[k])
        return self._with_own(X, y, own)

    def log_prior(self, parameters: Parameters) -> Density:
        """θ_ik ~ Beta(α_ik, β_ik)."""
        theta = parameters["theta"]
        return Density.of_cells("theta", dirichlet.log_density(_in_turn(1 - theta, theta), *self.simplexes()))

    def linear_terms(self, parameters: Parameters, design: LinearDesign) -> LinearTerms:
        """Σ_i log(1 − θ_ik) + x_i log θ_ik/(1 − θ_ik) (Mitchell, exercise 3)."""
        theta = parameters["theta"]
        with np.errstate(divide="ignore"):
            absent = np.log1p(-theta)
            weight = np.log(theta) - absent
        with np.errstate(invalid="ignore"):
            return LinearTerms(weight, absent + weight * design.centre)

    def contributions(self, X: Any, parameters: Parameters, pair: Pair) -> Contributions:
        """log θ_k/θ_k′ of a present feature, log (1 − θ_k)/(1 − θ_k′) of an absent one.

        A row of a sparse table has a term for each present feature and one for all absent features together.
        """
        if not sparse.issparse(X):
            return super().contributions(X, parameters, pair)
        theta = parameters["theta"]
        events = dirichlet.canonical(X).tocoo()
        kept = events.data > self.threshold
        row, word = events.row[kept].astype(np.intp), events.col[kept].astype(np.intp)
        rows, features = np.arange(len(pair.outcome)), len(self.axes.features)
        absent = difference(*(_log_absent(theta, row, word, codes) for codes in pair))
        return Contributions(
            (*each(self.axes.features), (ABSENT,)),
            np.concatenate([row, rows]),
            np.concatenate([word, np.full(len(rows), features)]),
            np.concatenate([pair.log_ratios_of_cells(theta, row, word), absent], axis=1),
            np.concatenate([np.ones(len(row)), np.full(len(rows), np.nan)]),
        )

    def with_alpha(self, alpha: Array) -> Self:
        """Return the prior with α (cell): first no event, then the event, of each feature."""
        return replace(self, alpha=alpha[..., 1::2], beta=alpha[..., ::2])

    def of_cells(self, cells: Array) -> Array:
        """Return θ, the probability of an event: every second cell."""
        return cells[..., 1::2]

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw cells (row, feature): the whole number next above the threshold where present, elsewhere 0 or below."""
        theta, below = parameters["theta"][0][y], np.floor(self.threshold)
        above = max(below + 1, np.nextafter(self.threshold, np.inf))  # the same but for numbers of 16 digits
        return np.asarray(np.where(rng.random(theta.shape) < theta, above, min(0.0, below)))

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of θ."""
        return {"theta": ("outcome", "feature")}

    def sizes(self, axes: Axes) -> tuple[int, ...]:
        """Return 2 for each feature: Beta(α, β) is a Dirichlet over its absence and its presence."""
        return (2,) * len(axes.features)

    def simplexes(self) -> tuple[Array, tuple[int, ...]]:
        """Return β and α as cells (outcome, absent and present of each feature), and the sizes of the simplexes."""
        return _in_turn(np.asarray(self.beta), np.asarray(self.alpha)), self.sizes(self.axes)

    def _events(self, X: Any) -> tuple[Any, Array | None]:
        """Return presences (row, feature), 0 or 1, and where cells are observed, None if everywhere."""
        if not sparse.issparse(X):
            missing = np.isnan(X)
            return (self.threshold < X).astype(float), (~missing).astype(float) if missing.any() else None
        if self.threshold < 0:
            raise InputError(f"threshold {self.threshold} makes empty cells of a sparse table present; use at least 0")
        cells = dirichlet.canonical(X)
        present = (self.threshold < cells.data).astype(float)
        return sparse.csr_array((present, cells.indices, cells.indptr), shape=cells.shape), None


def _in_turn(absent: Array, present: Array) -> Array:
    """Return the two values of each feature next to each other, (…, 2 × feature)."""
    return np.stack([absent, present], axis=-1).reshape(*absent.shape[:-1], -1)


def _log_absent(theta: Array, row: Integers, word: Integers, codes: Integers) -> Array:
    """Return Σ log (1 − θ) over the absent features of a row, (draw, row); −∞ where one of them has θ = 1."""
    with np.errstate(divide="ignore"):
        logs = dirichlet.countable(np.log1p(-theta))
    there = sparse.csr_array((np.ones(len(row)), (row, np.arange(len(row)))), shape=(len(codes), len(row)))
    return dirichlet.summed(logs.sum(axis=2)[:, codes] - (there @ logs[:, codes[row], word].T).T)
