"""Families of counts whose concentration has a posterior of its own: θ is integrated out, then drawn given α."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from bayesclf.errors import InputError, Refused
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes
from bayesclf.families.bernoulli import Bernoulli, BernoulliStatistics
from bayesclf.families.categorical import Categorical, CategoricalStatistics
from bayesclf.families.concentration import LearntAlpha, Tables, most_probable
from bayesclf.families.linear import LinearDesign, LinearTerms, linear_design, linear_terms
from bayesclf.families.multinomial import Multinomial, MultinomialStatistics
from bayesclf.typing import Array, Integers, Parameters

if TYPE_CHECKING:
    from pytensor.tensor import TensorVariable

REASON = "the concentration α is learnt, and its hyperprior is not conjugate to the Dirichlet-multinomial"


@singledispatch
def tables_of(family: Any, statistics: Any) -> Tables:
    """Return the counts of a family as tables with a Dirichlet each."""
    raise Refused(f"the family {family.name!r} has no concentration to learn")


@tables_of.register
def _(family: Categorical, statistics: CategoricalStatistics) -> Tables:
    """One table a feature, its levels."""
    return Tables(statistics.counts, statistics.axes.sizes)


@tables_of.register
def _(family: Bernoulli, statistics: BernoulliStatistics) -> Tables:
    """One table a feature, absent and present: Beta(α, α) is Dirichlet(α, α)."""
    cells = np.stack([statistics.n - statistics.successes, statistics.successes], axis=-1)
    return Tables(cells.reshape(len(cells), -1), (2,) * cells.shape[1])


@tables_of.register
def _(family: Multinomial, statistics: MultinomialStatistics) -> Tables:
    """One table, the vocabulary."""
    return Tables(statistics.counts, (statistics.counts.shape[1],))


def resolve(settings: LearntAlpha, family: Any, statistics: Any) -> Any:
    """Return a family with its α learnt from the statistics, or with the means to learn it by NUTS."""
    tables = tables_of(family, statistics)
    if settings.scope == "feature" and len(tables.sizes) != len(statistics.axes.features):
        raise InputError(f"the family {family.name!r} has one table for all features; take scope='block'")
    if settings.method == "evidence":
        return _given(family, most_probable(tables, settings.scope), tables.sizes).resolve_prior(statistics)
    start = _given(family, np.full(len(tables.groups(settings.scope)), settings.median), tables.sizes)
    return Smoothed(start.resolve_prior(statistics), settings, tables.counts, tables.sizes)


@dataclass(frozen=True)
class Smoothed:
    """θ_jk ~ Dirichlet(α, …, α) with log α ~ Normal(log median, spread²): α and θ have a joint posterior.

    ========= ======= ============================= =====================================
    parameter support prior                         posterior
    ========= ======= ============================= =====================================
    α         above 0 LogNormal(log median, spread) ∝ prior · Dirichlet-multinomial(n | α)
    θ_jk | α  simplex Dirichlet(α, …, α)            Dirichlet(α + n_jk)
    ========= ======= ============================= =====================================

    NUTS samples α alone, whose number does not grow with levels and classes; θ is then drawn independently given
    each α. MLE: the frequencies, and the α of largest evidence. MAP: the mode of θ given the mode of log α under its
    own posterior; the joint density of (α, θ) has no useful maximum.

    Parameters
    ----------
    family
        The family of θ, its prior resolved on the block's axes.
    settings
        Hyperprior and scope.
    counts
        Counts (outcome, cell) that θ is drawn given, set by `LearntAlpha.resolve` with the statistics.
    sizes
        Number of cells of each table.

    References
    ----------
    Minka (2000), Estimating a Dirichlet distribution, eq 53 (the collapsed likelihood).
    """

    family: Any
    settings: LearntAlpha
    counts: Array
    sizes: tuple[int, ...]

    @property
    def name(self) -> str:
        """The wrapped family's."""
        return str(self.family.name)

    @property
    def kind(self) -> str:
        """The wrapped family's."""
        return str(self.family.kind)

    def statistics(self, X: NDArray[Any], y: Integers, axes: Axes, sample_weight: Array | None = None) -> Any:
        """Return the wrapped family's statistics."""
        return self.family.statistics(X, y, axes, sample_weight)

    def resolve_prior(self, statistics: Any) -> Self:
        """Return the same hyperprior with other counts."""
        return replace(self, counts=tables_of(self.family, statistics).counts)

    def informative(self, statistics: Any) -> NDArray[np.bool_]:
        """Return what the wrapped family says."""
        return np.asarray(self.family.informative(statistics))

    def mle(self, statistics: Any) -> Parameters:
        """Return the frequencies and the α of largest evidence."""
        alpha = most_probable(tables_of(self.family, statistics), self.settings.scope)
        return {**self.family.mle(statistics), "alpha": self._named(alpha[None])}

    def map(self, statistics: Any) -> Parameters:
        """Return the mode of log α and that of θ given it."""
        tables = tables_of(self.family, statistics)
        alpha = most_probable(tables, self.settings.scope, self.settings)
        mode = _given(self.family, alpha, self.sizes).resolve_prior(statistics).map(statistics)
        return {**mode, "alpha": self._named(alpha[None])}

    def not_conjugate(self, statistics: Any) -> str:
        """Return that α has no conjugate prior."""
        return REASON

    def posterior(self, statistics: Any) -> NoReturn:
        """Refuse: there is no closed form."""
        raise Refused(f"this posterior has no closed form: {REASON}")

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw α and θ from the prior."""
        groups = len(Tables(self.counts, self.sizes).groups(self.settings.scope))
        alpha = self.settings.median * np.exp(self.settings.spread * rng.standard_normal((draws, groups)))
        return self._with_theta(alpha, np.zeros_like(self.counts), rng)

    def mean(self) -> NoReturn:
        """Refuse: there is no closed form."""
        self.posterior(None)

    def pymc(self, statistics: Any, suffix: str) -> None:
        """Add α, observing the counts with θ integrated out."""
        import pymc as pm

        tables = tables_of(self.family, statistics)
        groups = len(tables.groups(self.settings.scope))
        alpha = pm.LogNormal(
            f"alpha{suffix}",
            pm.Data(f"alpha_log_median{suffix}", np.full(groups, np.log(self.settings.median))),
            pm.Data(f"alpha_spread{suffix}", np.full(groups, self.settings.spread)),
        )
        sizes = pm.Data(f"alpha_sizes{suffix}", np.repeat(tables.sizes, tables.sizes).astype(float))
        totals = pm.Data(f"alpha_totals{suffix}", dirichlet.totals(tables.counts, tables.sizes))
        cells = alpha[0]
        if self.settings.scope == "feature":
            cells = alpha[pm.Data(f"alpha_of_cell{suffix}", np.repeat(np.arange(groups), tables.sizes))]
        observed = pm.Data(f"alpha_counts_data{suffix}", tables.counts)
        pm.CustomDist(f"alpha_counts{suffix}", cells, sizes, totals, logp=_collapsed_logp, observed=observed)

    def from_pymc(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Return α, and θ drawn given each α, by a generator that the draws of α seed: the same α, the same θ."""
        alpha = np.ascontiguousarray(draws[f"alpha{suffix}"], dtype=float)
        return self._with_theta(alpha, self.counts, np.random.default_rng(alpha.view(np.uint32).ravel()))

    def log_density(self, X: NDArray[Any], parameters: Parameters) -> Array:
        """Return the wrapped family's density given θ, (draw, row, outcome)."""
        return np.asarray(self.family.log_density(X, parameters))

    def log_predictive(self, X: NDArray[Any]) -> NoReturn:
        """Refuse: there is no closed form."""
        self.posterior(None)

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> NDArray[Any]:
        """Draw rows from the wrapped family."""
        return np.asarray(self.family.sample(parameters, y, rng))

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the wrapped family's axis words, and α's: one for the block, or (feature)."""
        return {**self.family.dims(), "alpha": ("feature",) if self.settings.scope == "feature" else ()}

    def _with_theta(self, alpha: Array, counts: Array, rng: np.random.Generator) -> Parameters:
        """Return α (draw, group) and θ drawn from Dirichlet(α + counts) for each."""
        concentration = _cells(alpha, self.sizes)[:, None] + counts
        theta = dirichlet.draw(concentration, self.sizes, rng, 1)[0]
        theta = theta[..., 1::2] if isinstance(self.family, Bernoulli) else theta
        return {"theta": theta, "alpha": self._named(alpha)}

    def _named(self, alpha: Array) -> Array:
        """Return α (draw, group) in the shape that `dims` promises."""
        return alpha if self.settings.scope == "feature" else alpha[:, 0]


@linear_design.register
def _(family: Smoothed, statistics: Any, at_means: bool) -> LinearDesign:
    """The wrapped family's."""
    return linear_design(family.family, statistics, at_means)


@linear_terms.register
def _(family: Smoothed, parameters: Parameters, design: LinearDesign) -> LinearTerms:
    """The wrapped family's, given θ."""
    return linear_terms(family.family, parameters, design)


def _cells(alpha: Array, sizes: tuple[int, ...]) -> Array:
    """Return α (..., group) for every cell, (..., cell)."""
    if alpha.shape[-1] == len(sizes):
        return np.repeat(alpha, sizes, axis=-1)
    return np.broadcast_to(alpha, (*alpha.shape[:-1], sum(sizes)))


def _given(family: Any, alpha: Array, sizes: tuple[int, ...]) -> Any:
    """Return a family of counts with α (group) for every cell of a group's tables."""
    if isinstance(family, Bernoulli):
        own = np.broadcast_to(alpha, len(sizes))
        return replace(family, alpha=own, beta=own)
    return replace(family, alpha=_cells(alpha, sizes))


def _collapsed_logp(
    counts: TensorVariable, alpha: TensorVariable, sizes: TensorVariable, totals: TensorVariable
) -> Any:
    """Return log p(n | α) by cell, (outcome, cell): each has its share, 1/size, of its table's normaliser."""
    import pytensor.tensor as pt

    total_alpha = sizes * alpha
    normaliser = pt.gammaln(total_alpha) - pt.gammaln(total_alpha + totals)
    return pt.gammaln(alpha + counts) - pt.gammaln(alpha) + normaliser / sizes
