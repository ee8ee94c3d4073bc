"""Families of numeric columns chosen by their evidence, column by column."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp

from bayesclf.arrays import Array, Integers
from bayesclf.display import Sized
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.families.base import NOT_NEGATIVE, Axes, Family, Statistics
from bayesclf.families.cells import PROBE, ValueCounts
from bayesclf.families.gamma import Gamma
from bayesclf.families.gaussian import Gaussian, LogNormal, Moments, part_of_more
from bayesclf.families.histogram import Histogram
from bayesclf.families.hurdle import Hurdle
from bayesclf.families.negative_binomial import NegativeBinomial
from bayesclf.families.rates import Exponential, Poisson


@dataclass(frozen=True)
class Candidate:
    """A family that a column can be of.

    Its prior must be worth about one pooled row and not look at the labels. Features must have parameters of their own.

    `family`: With its prior as columns of it get it. `has_zeros`: Whether it has a mass at 0 beside a density of other
    numbers. `of_cells`: Whether that density is constant in cells, and thus a probability of theirs whatever the step.
    `compared`: With the prior under which its evidence is compared; None for that of `family`.
    """

    family: Family[Any]
    has_zeros: bool = False
    of_cells: bool = False
    compared: Family[Any] | None = None

    def supports(self, values: Array) -> bool:
        """Return whether a column can be of it, given its different values, which increase."""
        support = self.family.support
        if len(values) < 2 or (self.has_zeros and (values[0] != 0 or len(values) == 2)):
            return False
        return bool(support.holds(values[:PROBE]).all() and support.holds(values).all())

    def log_evidence(self, own: Statistics) -> Array:
        """Return the log evidence of columns given their statistics, (feature); −∞ where the family has none.

        It is −∞ too where its prior cannot be set by the column: a gamma's, where rounding hides that the numbers
        differ.
        """
        family = self.family if self.compared is None else self.compared
        try:
            found = np.asarray(family.resolve_prior(own).log_evidence(own), dtype=float)
        except (InputError, DoesNotExist, Refused):
            each = np.arange(len(own.axes.features))
            if len(each) == 1:
                return np.array([-np.inf])
            return np.concatenate([self.log_evidence(own.select(each == j)) for j in each])
        return np.where(np.isnan(found) | ~family.informative(own), -np.inf, found)


CANDIDATES: dict[str, Candidate] = {
    "Gaussian": Candidate(Gaussian()),
    "log-normal": Candidate(LogNormal()),
    "gamma": Candidate(Gamma()),
    "exponential": Candidate(Exponential()),
    "Poisson": Candidate(Poisson()),
    "negative binomial": Candidate(NegativeBinomial()),
    "zero-inflated log-normal": Candidate(Hurdle(LogNormal()), has_zeros=True),
    "zero-inflated gamma": Candidate(Hurdle(Gamma()), has_zeros=True),
    "zero-inflated exponential": Candidate(Hurdle(Exponential()), has_zeros=True),
    "histogram": Candidate(Histogram(), of_cells=True, compared=Histogram(a=1.0)),
}
"""Families by what they are called; of equal evidence the first is taken."""

SMOOTH_STEPS = 1
"""Least standard deviation in steps at which a density times the step is a probability of cells.

Over all cells, those of a Gaussian add up to 1 but for 2 exp(−2π²σ²/step²) by Poisson's formula: 1 to 5e-9 at one step,
and up to 1.6 at a quarter of a step.
"""

CERTAIN = 0.995
"""Probability from which on it is not told, as it is 1 but for rounding."""

type Chosen = tuple[str, Family[Any], tuple[str, ...], Statistics]
"""The name of a candidate, its family, its columns, and their statistics."""


@dataclass(frozen=True, repr=False)
class Choices(Sized):
    """The evidence of families for columns, comparable as that of cells.

    `log_evidence`: Of the rows of each column under each family, (feature, family); −∞ for families that it cannot be
    of, and NaN for a column without two different values.
    """

    features: tuple[str, ...]
    families: tuple[str, ...]
    log_evidence: Array

    @property
    def probabilities(self) -> Array:
        """P(family | column) where all are equally probable a priori, (feature, family)."""
        return np.exp(self.log_evidence - logsumexp(self.log_evidence, axis=1, keepdims=True))

    @property
    def chosen(self) -> Integers:
        """The family of each column, (feature): the most probable one, the first for a column without evidence."""
        return np.where(np.isnan(self.log_evidence[:, 0]), 0, self.log_evidence.argmax(axis=1))

    def sentences(self) -> list[str]:
        """Return "capital_gain: zero-inflated log-normal (probability 0.98)" for each column that has a choice.

        A probability that is 1 but for rounding is left out.
        """
        rows = zip(self.features, self.chosen, self.probabilities, strict=True)
        return [
            f"{name}: {self.families[family]}"
            + ("" if probability[family] >= CERTAIN else f" (probability {probability[family]:.2f})")
            for name, family, probability in rows
            if not np.isnan(probability[family])
        ]


@dataclass(frozen=True)
class ByEvidence:
    """Numeric columns, each of the family with the largest evidence, probabilities of cells of the recorded step.

    It is not a family itself: from statistics that hold every value, `chosen` makes blocks of plain families, so that
    everything that a family can do works with the choice.

    `names`: Names of the candidates in `CANDIDATES`.

    See Kass & Raftery (1995), *Bayes factors*, Journal of the American Statistical Association 90.
    """

    names: tuple[str, ...] = tuple(CANDIDATES)
    name: ClassVar[str] = "by-evidence"
    kind: ClassVar[str] = "number"
    reads_numbers: ClassVar[bool] = True

    def statistics(self, X: Any, y: Integers, axes: Axes, sample_weight: Array | None = None) -> ValueCounts:
        """Return how often each value of rows `X` (row, feature) occurs in each class."""
        return ValueCounts.of(X, y, axes, sample_weight)

    def chosen(self, statistics: ValueCounts) -> tuple[Choices, list[Chosen]]:
        """Return the evidence of each family for each column, and the families of the largest, as blocks.

        A density, times the step of a column, is a probability of cells where it is smooth: where the sd of the
        numbers that have it is at least one step in each class. A histogram is constant in each cell. Under
        a family of numbers of at least 0, the cell of a 0 is half a step wide.
        """
        features, columns = statistics.axes.features, statistics.columns
        steps = np.array([own.step for own in columns])
        positive = statistics.without_zeros()
        of_all = Moments.of_values(statistics.axes, columns)
        none = (positive.sizes == statistics.sizes).all()
        moments = {False: of_all, True: of_all if none else Moments.of_values(statistics.axes, positive.columns)}
        smooth = {zeros: _smallest_sd(own) >= SMOOTH_STEPS * steps for zeros, own in moments.items()}
        log_steps = {zeros: own.n.sum(axis=0) * np.log(steps) for zeros, own in moments.items()}
        rounded_zeros = (of_all.n - moments[True].n).sum(axis=0)
        log_evidence = np.full((len(features), len(self.names)), -np.inf)
        of_family: dict[str, Statistics] = {"Gaussian": of_all}
        for place, name in enumerate(self.names):
            candidate = CANDIDATES[name]
            supported = np.array([candidate.supports(own.values) for own in columns])
            has_density = not candidate.family.support.whole
            if has_density and not candidate.of_cells:
                supported &= smooth[candidate.has_zeros]
            if supported.any():
                if name not in of_family:
                    of_family[name] = statistics_of(candidate.family, statistics.select(supported))
                own = of_family[name].select(np.isin(of_family[name].axes.features, np.array(features)[supported]))
                log_evidence[supported, place] = candidate.log_evidence(own)
            if has_density:
                log_evidence[:, place] += log_steps[candidate.has_zeros]
            if candidate.family.support == NOT_NEGATIVE and not candidate.has_zeros:
                log_evidence[:, place] -= rounded_zeros * np.log(2)
        log_evidence[statistics.sizes < 2] = np.nan
        choices = Choices(features, self.names, log_evidence)
        blocks: list[Chosen] = []
        for place, name in enumerate(self.names):
            names = tuple(compress(features, choices.chosen == place))
            if names:
                family = CANDIDATES[name].family
                own = of_family.get(name, statistics)
                if name not in of_family or not set(names).issubset(own.axes.features):
                    own = statistics_of(family, statistics)
                blocks.append((name, family, names, own.select(np.isin(own.axes.features, names))))
        return choices, blocks


def statistics_of(family: Family[Any], columns: ValueCounts) -> Statistics:
    """Return the statistics of a family from how often each value occurs.

    A row is a value with its weight in a class. Columns with the same labels and weights of rows are read together.
    """
    if family.statistics_type is ValueCounts:
        return columns
    axes = columns.axes
    alike: dict[tuple[bytes, bytes], tuple[Integers, Array, list[str], list[Array]]] = {}
    for name, own in zip(axes.features, columns.columns, strict=True):
        label, place = np.nonzero(own.counts)
        weight = own.counts[label, place]
        _, _, names, cells = alike.setdefault((label.tobytes(), weight.tobytes()), (label, weight, [], []))
        names.append(name)
        cells.append(own.values[place])
    with part_of_more(int(columns.sizes.sum())):
        parts = [
            family.statistics(np.column_stack(cells), label, Axes(axes.labels, tuple(names)), weight)
            for label, weight, names, cells in alike.values()
        ]
    in_groups = Axes(axes.labels, tuple(name for part in parts for name in part.axes.features))
    statistics: Statistics = type(parts[0]).beside(in_groups, parts)
    return statistics.reindex(axes)


def _smallest_sd(moments: Moments) -> Array:
    """Return the smallest standard deviation of any class, with one pooled row more in each, (feature)."""
    pooled = moments.pooled()
    variance = pooled.scatter / np.maximum(pooled.n, 1.0)
    return np.asarray(np.sqrt((moments.scatter + variance) / (moments.n + 1)).min(axis=0))
