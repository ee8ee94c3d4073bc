"""Columns that are often 0: a probability of 0, and a family of positive numbers for all other cells."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import Constraint, require
from bayesclf.errors import InputError
from bayesclf.families.base import (
    NOT_NEGATIVE,
    POSITIVE,
    Axes,
    Family,
    Statistics,
    Support,
    in_numbers,
    require_positive,
)
from bayesclf.families.bernoulli import Bernoulli, BernoulliStatistics
from bayesclf.families.gaussian import LogNormal
from bayesclf.families.prior_lines import PriorLine
from bayesclf.families.terms import Density

OF_POSITIVE = Constraint(
    "a family of numbers above 0, such as LogNormal(), Gamma() or Exponential()",
    lambda own: isinstance(own, Family) and own.support in (POSITIVE, NOT_NEGATIVE) and not isinstance(own, Hurdle),
)
"""What the family of the cells above 0 can be."""


@dataclass(frozen=True)
class HurdleStatistics(Statistics):
    """How many cells are observed and how many are 0, and the statistics of all others.

    `zeros`: Counts of the cells that are observed (`n`), and of those that are 0 (`successes`). `others`: Statistics of
    the cells above 0, those of the wrapped family.
    """

    axes: Axes
    zeros: BernoulliStatistics
    others: Any

    def pooled(self) -> Self:
        """Return both parts' statistics of all rows under one label."""
        return type(self)(self.axes.pooled(), self.zeros.pooled(), self.others.pooled())

    def arrays(self) -> dict[str, Array]:
        """Return the arrays of both parts by name."""
        of_zeros = {f"zeros_{name}": values for name, values in self.zeros.arrays().items()}
        return {**of_zeros, **self.others.arrays()}


@dataclass(frozen=True, repr=False)
class Hurdle(Family[HurdleStatistics]):
    """x_i = 0 with probability θ_ik given y = k, otherwise a family of positive numbers: zero-inflated columns.

    ========= ======== ================ =====================================
    parameter support  prior            posterior
    ========= ======== ================ =====================================
    θ_ik      (0, 1)   Beta(α_ik, β_ik) Beta(α_ik + z_ik, β_ik + n_ik − z_ik)
    others    family's family's         family's, given the cells above 0
    ========= ======== ================ =====================================

    n and z are the number of a class's observed cells of a feature, and of those that are 0. With f the density of
    the family,

    .. math:: p(x | k) = θ_k^{[x = 0]} \\, [(1 − θ_k) f(x | k)]^{[x > 0]},

    which for densities, under which no cell is 0, is also the zero-inflated form. The two parts are independent a
    priori and a posteriori, so that evidence, predictive and leave-one-out are products. Cells are numbers of at least
    0; a missing cell (NaN) is integrated out.

    Parameters
    ----------
    family : Family
        The family of cells above 0, such as `LogNormal`, `Gamma` or `Exponential`.
    alpha, beta
        Shapes of θ's prior, above 0, which broadcast to (outcome, feature). Where None, unit information from the
        pooled rows: α = 1 + q and β = 2 − q with q the share of zeros. This prior is worth one row, and its mode is q.

    References
    ----------
    Cragg (1971), Some statistical models for limited dependent variables, doi:10.2307/1909582.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[0.0], [0.0], [3.0], [0.0], [900.0], [4000.0]], ["no", "no", "no", "yes", "yes", "yes"]
    >>> clf = bc.NaiveBayes({"x0": bc.families.Hurdle(bc.families.LogNormal())}, random_state=1).fit(X, y)
    >>> print(clf.predict([[0.0], [1500.0]]))
    ['no' 'yes']
    """

    family: Family[Any] = field(default_factory=LogNormal)
    alpha: float | Array | None = None
    beta: float | Array | None = None
    name: ClassVar[str] = "hurdle"
    kind: ClassVar[str] = "number"
    support: ClassVar[Support] = NOT_NEGATIVE
    statistics_type: ClassVar[type[Statistics]] = HurdleStatistics

    def __post_init__(self) -> None:
        require(OF_POSITIVE, family=self.family)
        require_positive(alpha=self.alpha, beta=self.beta)

    @property
    def axes(self) -> Axes:
        """Coordinates of the block, those of the family above 0."""
        return self.family.axes

    @property
    def of_zeros(self) -> Bernoulli:
        """The family of whether a cell is 0, under the same hyperparameters."""
        return Bernoulli(np.asarray(self.alpha), np.asarray(self.beta), axes=self.axes)

    def statistics(self, X: Array, y: Integers, axes: Axes, sample_weight: Array | None = None) -> HurdleStatistics:
        """Return the statistics of which cells are 0, and of the others' values."""
        zero, others = split(X)
        of_zeros = Bernoulli().statistics(zero, y, axes, sample_weight)
        return HurdleStatistics(axes, of_zeros, self.family.statistics(others, y, axes, sample_weight))

    def resolve_prior(self, statistics: HurdleStatistics) -> Self:
        """Return both priors in numbers.

        Raises
        ------
        InputError
            For a column whose cells above 0 say nothing of their distribution, as they are all equal.
        """
        known = self.family.informative(statistics.others)
        if not known.all():
            name = statistics.axes.features[int(np.argmin(known))]
            raise InputError(
                f"column {name!r} has only one value above 0, too few for the family {self.family.name!r}; use the "
                "family 'categorical' or 'bernoulli'"
            )
        pooled, shape = statistics.zeros.pooled(), statistics.zeros.n.shape
        share = pooled.successes / np.maximum(pooled.n, 1)
        numbers = in_numbers(self, shape, alpha=1 + share, beta=2 - share)
        return replace(self, family=self.family.resolve_prior(statistics.others), **numbers)

    def informative(self, statistics: HurdleStatistics) -> NDArray[np.bool_]:
        """Return False for a feature with one value only, or none."""
        pooled = statistics.zeros.pooled()
        varies = (pooled.successes[0] > 0) & (pooled.successes[0] < pooled.n[0])
        return np.asarray(varies | self.family.informative(statistics.others))

    @property
    def likelihood(self) -> str:
        """Whether a cell is 0, and the distribution of the others."""
        return f"0 with probability theta, else {self.family.likelihood}"

    def priors(self) -> list[PriorLine]:
        """Return the beta priors of θ, and the priors of the family above 0."""
        return [*self.of_zeros.priors(), *self.family.priors()]

    def mle(self, statistics: HurdleStatistics) -> Parameters:
        """Return the share of zeros and the family's estimate, where both exist."""
        return {**Bernoulli().mle(statistics.zeros), **self.family.mle(statistics.others)}

    def map(self, statistics: HurdleStatistics) -> Parameters:
        """Return the mode of θ, (α + z − 1)/(α + β + n − 2), and that of the family."""
        return {**self.of_zeros.map(statistics.zeros), **self.family.map(statistics.others)}

    def posterior(self, statistics: HurdleStatistics) -> Self:
        """Return both posteriors."""
        zeros: Any = self.of_zeros.posterior(statistics.zeros)
        family = self.family.posterior(statistics.others)
        return replace(self, family=family, alpha=zeros.alpha, beta=zeros.beta)

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw both parts' parameters, which are independent."""
        return {**self.of_zeros.draw(rng, draws), **self.family.draw(rng, draws)}

    def mean(self) -> Parameters:
        """Return α/(α + β), and the family's expectations."""
        return {**self.of_zeros.mean(), **self.family.mean()}

    def pymc(self, statistics: HurdleStatistics, suffix: str) -> None:
        """Add θ, observing how many cells are 0 and how many are not, and the family's variables."""
        self.of_zeros.pymc(statistics.zeros, suffix)
        self.family.pymc(statistics.others, suffix)

    def page(self, X: Array, row: Any, suffix: str) -> None:
        """Add θ, observing whether cells are 0, and the family's variables, observing the cells above 0."""
        zero, others = split(X)
        self.of_zeros.page(zero, row, suffix, variable="zero")
        self.family.page(others, row, suffix)

    def log_density(self, X: Array, parameters: Parameters) -> Array:
        """Return Σ_i log θ_ik for zeros, log (1 − θ_ik) f(x_i | k) for other cells, (draw, row, outcome)."""
        zero, others = split(X)
        return self.of_zeros.log_density(zero, parameters) + self.family.log_density(others, parameters)

    def log_predictive(self, X: Array) -> Array:
        """Return the log density at E[θ] times the family's predictive, (row, outcome)."""
        zero, others = split(X)
        return self.of_zeros.log_predictive(zero) + self.family.log_predictive(others)

    def log_predictive_without(self, X: Array, y: Integers) -> Array:
        """Return the sum of both parts' leave-one-out densities."""
        zero, others = split(X)
        return self.of_zeros.log_predictive_without(zero, y) + self.family.log_predictive_without(others, y)

    def log_evidence(self, statistics: HurdleStatistics) -> Array:
        """Return the sum of both log evidences, (part): the parts are those of the family."""
        of_zeros = self.of_zeros.log_evidence(statistics.zeros)
        of_others = self.family.log_evidence(statistics.others)
        return (of_zeros if of_others.shape == of_zeros.shape else of_zeros.sum()) + of_others

    def log_prior(self, parameters: Parameters) -> Density:
        """θ_ik ~ Beta(α_ik, β_ik), and the family's prior."""
        return Density.joined(self.of_zeros.log_prior(parameters), self.family.log_prior(parameters))

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw whether cells are 0, and the numbers of the others (row, feature)."""
        zero = self.of_zeros.sample(parameters, y, rng) > 0
        return np.where(zero, 0.0, self.family.sample(parameters, y, rng))

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of θ and of the parameters of the family above 0."""
        return {"theta": ("outcome", "feature"), **self.family.dims()}


def split(X: Array) -> tuple[Array, Array]:
    """Return whether cells (row, feature) are 0, NaN where they are missing, and the cells, NaN where they are 0."""
    zero = X == 0
    return np.where(np.isnan(X), np.nan, zero.astype(float)), np.where(zero, np.nan, X)
