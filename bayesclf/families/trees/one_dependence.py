"""Averaged one-dependence estimators: every feature takes its turn as the parent of all others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NoReturn, Self, override

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import Number, require
from bayesclf.errors import DoesNotExist, Refused
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes, Family, Statistics, WithoutPyMC, joined, require_each
from bayesclf.families.prior_lines import PriorLine
from bayesclf.families.trees.pairs import PairCounts

NO_POSTERIOR = (
    "averaged one-dependence estimators weight their parents equally, whatever the data say, so that there is no "
    "posterior to average over; take the rule 'predictive', 'map' or 'mle'"
)


@dataclass(frozen=True, repr=False)
class OneDependence(WithoutPyMC, Family[PairCounts]):
    """P(x | y = k) = (1/d) Σ_i P(x_i | y = k) Π_{j ≠ i} P(x_j | x_i, y = k): the average of d networks.

    In network i all features depend on feature i. The weights 1/d are fixed: no data make one network more probable
    than another, and p(x | y) is not the likelihood of any hypothesis whose parameters these estimates are. So there is
    no posterior, only a plug-in: of relative frequencies (`mle`), or of posterior means under Dirichlet(m/r_j) for each
    feature given its parent's value (`map`), where m rows are added to each. As each network uses each of its
    probabilities once, the average of the networks' predictives is that same number.

    Parameters
    ----------
    equivalent_rows : float
        m, the weight of the prior of each conditional distribution in rows, above 0.
    axes : Axes
        Set by `resolve_prior`.

    References
    ----------
    Webb, Boughton and Wang (2005), *Not so naive Bayes: aggregating one-dependence estimators*, Machine Learning 58.
    """

    equivalent_rows: float = 1.0
    axes: Axes = field(default=Axes((), ()), repr=False)
    name: ClassVar[str] = "one-dependence"
    likelihood: ClassVar[str] = "Categorical(given) of each column given one other, averaged over that other"
    kind: ClassVar[str] = "category"
    statistics_type: ClassVar[type[Statistics]] = PairCounts
    _no_pymc: ClassVar[str] = NO_POSTERIOR

    def __post_init__(self) -> None:
        require(Number(above=0), equivalent_rows=self.equivalent_rows)

    def resolve_prior(self, statistics: PairCounts) -> Self:
        """Return the prior on the axes of the rows."""
        return replace(self, axes=statistics.axes)

    @override
    def priors(self) -> list[PriorLine]:
        """Return the Dirichlet priors of both tables."""
        cells = "Dirichlet(worth {rows} in rows in all, the same in each cell)"
        return [PriorLine(name, "", "", cells, {"rows": float(self.equivalent_rows)}) for name in self.dims()]

    def informative(self, statistics: PairCounts) -> NDArray[np.bool_]:
        """Return False for a feature without an observed cell."""
        return statistics.occurring()

    def mle(self, statistics: PairCounts) -> Parameters:
        """Return the relative frequencies; raises `DoesNotExist` where a class lacks rows, or a column."""
        empty = statistics.counts.sum(axis=(1, 2)) == 0
        if empty.any():
            raise DoesNotExist(f"class {statistics.axes.labels[int(empty.argmax())]!r} has no row")
        values = np.add.reduceat(statistics.single, dirichlet.starts(statistics.axes.sizes), axis=1)
        require_each(values > 0, statistics.axes, "has no value")
        return self._means(statistics, 0.0)

    def map(self, statistics: PairCounts) -> Parameters:
        """Return the posterior mean of each conditional distribution, its mode in the softmax basis."""
        return self._means(statistics, self.equivalent_rows)

    def _means(self, statistics: PairCounts, rows: float) -> Parameters:
        """Return P(x_i = a | y), (outcome, level), and P(x_j = b | x_i = a, y), (outcome, parent, level)."""
        sizes = statistics.axes.sizes
        prior = rows * self._shares(sizes)
        given = dirichlet.normalize(statistics.counts + prior, sizes)
        # A value that does not occur has probability 0 itself, so that anything may follow it.
        given = np.where(np.isnan(given), self._shares(sizes), given)
        return {"theta": dirichlet.normalize(statistics.single + prior, sizes)[None], "given": given[None]}

    @staticmethod
    def _shares(sizes: tuple[int, ...]) -> Array:
        """Return 1/r of the feature of each level, (level)."""
        return np.repeat(1 / np.array(sizes, dtype=float), sizes)

    @override
    def not_conjugate(self, statistics: PairCounts) -> str:
        """Return why: the weights of the estimators are fixed, not learned."""
        return "averaged one-dependence estimators have fixed weights"

    def posterior(self, statistics: PairCounts) -> NoReturn:
        """Refuse: there is none."""
        raise Refused(NO_POSTERIOR)

    def draw(self, rng: np.random.Generator, draws: int) -> NoReturn:
        """Refuse: there is no posterior."""
        raise Refused(NO_POSTERIOR)

    def mean(self) -> NoReturn:
        """Refuse: there is no posterior."""
        raise Refused(NO_POSTERIOR)

    @cached_property
    def _starts(self) -> Integers:
        return dirichlet.starts(self.axes.sizes)

    def log_density(self, X: Integers, parameters: Parameters) -> Array:
        """Return log (1/d) Σ_i θ_i Π_j θ_{j | i} (draw, row, outcome).

        A missing feature is left out of each product, and is no parent.
        """
        (theta,), (given,) = dirichlet.logs(parameters["theta"]), dirichlet.logs(parameters["given"])
        out = np.zeros((1, len(X), theta.shape[0]))
        cells, seen = np.where(X >= 0, X + self._starts, 0), X >= 0
        for k in range(out.shape[2]):
            of_parent = np.full(X.shape, -np.inf)
            for i in range(X.shape[1]):
                own = given[k, cells[:, i]]
                others = np.where(seen, np.take_along_axis(own, cells, axis=1), 0.0)
                others[:, i] = theta[k, cells[:, i]]
                of_parent[:, i] = others.sum(axis=1)
            number = seen.sum(axis=1)
            total = logsumexp(np.where(seen, of_parent, -np.inf), axis=1) - np.log(np.maximum(number, 1))
            out[0, :, k] = np.where(number > 0, total, 0.0)
        return out

    def log_predictive(self, X: Integers) -> NoReturn:
        """Refuse: a prior has no counts; `map` has the plug-in that is the predictive."""
        raise Refused(NO_POSTERIOR)

    @override
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the first column with each other one: all depend on each other."""
        return joined(self.axes.features)

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Integers:
        """Draw level codes (row, feature): a parent first, then all others given its value."""
        (theta,), (given,) = parameters["theta"], parameters["given"]
        features = len(self.axes.sizes)
        X = np.empty((len(y), features), dtype=np.intp)
        parent = rng.integers(features, size=len(y))
        for i in range(features):
            rows = np.flatnonzero(parent == i)
            X[rows, i] = self._drawn(theta[y[rows]], i, rng)
            of_value = given[y[rows], self._starts[i] + X[rows, i]]
            for j in range(features):
                if j != i:
                    X[rows, j] = self._drawn(of_value, j, rng)
        return X

    def _drawn(self, probabilities: Array, feature: int, rng: np.random.Generator) -> Integers:
        first = self._starts[feature]
        below = np.cumsum(probabilities[:, first : first + self.axes.sizes[feature]], axis=1)[:, :-1]
        return np.asarray((rng.random((len(probabilities), 1)) >= below).sum(axis=1))

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of P(x_i | y) and of P(x_i | x_j, y)."""
        return {"theta": ("outcome", "level"), "given": ("outcome", "parent", "level")}

    @override
    def coords(self) -> dict[str, Any]:
        """Return the names along each axis; parents are named like levels."""
        coords = super().coords()
        return coords | {"parent": coords["level"]}
