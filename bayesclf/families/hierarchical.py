"""The concentration α of Dirichlet priors, learned from the training rows.

α is the number that best predicts each row's label from all other rows, or the number of largest evidence, or it has a
posterior: θ is integrated out, then drawn given α.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Self, override

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from bayesclf.arrays import Array, Parameters
from bayesclf.constraints import Whole, require
from bayesclf.errors import InputError, Refused
from bayesclf.families import dirichlet
from bayesclf.families.base import require_choice, require_positive
from bayesclf.families.dirichlet import CollapsedLikelihood, Tables
from bayesclf.families.prior_lines import PriorLine
from bayesclf.families.wrapper import Wrapper, plain

LOWEST, HIGHEST = 1e-3, 1e3
"""Range of α. The evidence can increase without bound, toward tables that are all equal (Minka 2000)."""
GRID = 121
"""Number of values of log α in the first, coarse search: the sum over tables can have several maxima."""
UNDETERMINED = 1.0
"""α where the rows are uninformative, as when no table has more than one count: Laplace's rule, for MAP and mean."""
TEXTBOOK = 2.0
"""α that is not learned: Laplace's rule for the mode in θ, which adds α − 1 to every count."""
FLAT = 1e-9
"""The evidence counts as flat where it varies by less than this."""

LEAVE_ONE_OUT = "leave-one-out"
METHODS = ("evidence", "posterior", LEAVE_ONE_OUT)

REASON = "the concentration α is learned, and its hyperprior is not conjugate to the Dirichlet-multinomial"


@dataclass(frozen=True)
class LearntAlpha:
    """A concentration that is learned: θ_jk ~ Dirichlet(α, …, α), one α for a block or for each feature.

    By evidence or with a posterior, it is learned through the collapsed likelihood, θ integrated out: the
    Dirichlet-multinomial of all tables n_jk,

    .. math:: p(n | α) = \\prod_{jk} \\frac{Γ(Jα)}{Γ(Jα + N_{jk})} \\prod_l \\frac{Γ(α + n_{jkl})}{Γ(α)}.

    That says how well α explains the cells x given the labels. By leave-one-out, α maximizes how well each row's label
    is predicted from its cells and all other rows,

    .. math:: \\sum_i w_i \\log P(y_i | x_i, D_{-i}, α) + \\log p(\\log α),

    in closed form, each row subtracted from the counts of its class. This is a choice of α, not a posterior; the weak
    hyperprior matters where rows are few.

    **MAP and averages need different α.** The mode in θ adds α − 1 to every count, the posterior mean and every average
    over the posterior add α. With one α for both, Laplace's rule for the mode (α = 2) adds two to each count in an
    average, which over a large vocabulary outweighs the counts themselves; and an α below 1, which suits averages of
    sparse counts, has no mode in θ. Where α is learned, MAP is therefore taken in the softmax basis,
    (n + α)/(N + Σα): it always exists, adds the same α, and equals the posterior mean.

    Parameters
    ----------
    method : {"evidence", "posterior", "leave-one-out"}
        ``"evidence"``: empirical Bayes, α maximizes p(n | α) and is then taken as given, so that the posterior is
        exact but does not know that α is uncertain. ``"posterior"``: α has a posterior, by NUTS.
        ``"leave-one-out"``: α maximizes the log probability of the labels, and is taken as given. Only `fit` can do
        that, as it needs all rows; `partial_fit` keeps the α of an earlier `fit`, or `median`. Rows of weight below
        1 are not left out.
    scope : {"block", "feature"}
        ``"block"``: one α for all features of the block; ``"feature"``: one for each, not by leave-one-out.
    median, spread
        Of the hyperprior log α ~ Normal(log m, s²), with m the `median` and s the `spread`, not used by
        ``"evidence"``: by default 95 % of it lies between 0.05 and 19.
    least_levels : int
        Features with fewer levels keep α = 2 and their own basis; not for ``"posterior"``.
    value : float or None
        The α found by leave-one-out, set by `fit`.

    References
    ----------
    Minka (2000), Estimating a Dirichlet distribution; CS4780 and Mitchell (the number of hallucinated examples);
    Geisser & Eddy (1979), A predictive approach to model selection (leave-one-out log predictive probabilities).

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [["a"], ["a"], ["a"], ["b"], ["b"], ["b"]], [0, 0, 0, 1, 1, 1]
    >>> clf = bc.CategoricalNB(bc.families.LearntAlpha(), random_state=1).fit(X, y)
    >>> round(float(clf.model_.blocks[0].family.alpha[0, 0]), 9)  # one level per class: the less smoothing the better
    0.001
    """

    method: str = "evidence"
    scope: str = "block"
    median: float = 1.0
    spread: float = 1.5
    least_levels: int = 1
    value: float | None = None

    def __post_init__(self) -> None:
        require_choice("method", self.method, METHODS)
        require_choice("scope", self.scope, ("block", "feature"))
        require_positive(median=self.median, spread=self.spread, value=self.value)
        require(Whole(1), least_levels=self.least_levels)
        if self.method == LEAVE_ONE_OUT and self.scope == "feature":
            raise InputError("leave-one-out learns one α for all features; take scope='block', or method='evidence'")
        if self.method == "posterior" and self.least_levels > 1:
            raise InputError("an α with a posterior is one for features of any number of levels; take least_levels=1")

    def resolve(self, family: Any, statistics: Any) -> Any:
        """Return a family of counts with its α learned, or to be learned by NUTS, from its statistics."""
        tables = family.tables(statistics)
        if self.scope == "feature" and len(tables.sizes) != len(statistics.axes.features):
            raise InputError(f"the family {family.name!r} has one table for all features; take scope='block'")
        if self.method == "posterior":
            start = family.with_alpha(np.full(sum(tables.sizes), self.median))
            start = replace(start, basis="softmax")
            return Smoothed(start.resolve_prior(statistics), self, tables.counts, tables.sizes)
        learned = self.learned(tables)
        if not learned.any():
            return family.with_alpha(np.full(sum(tables.sizes), TEXTBOOK)).resolve_prior(statistics)
        if self.method == LEAVE_ONE_OUT:
            alpha = np.array([self.median if self.value is None else self.value])
        else:
            alpha = most_probable(tables.select(learned), self.scope)
        return self.fixed(family, tables, alpha).resolve_prior(statistics)

    def learned(self, tables: Tables) -> NDArray[np.bool_]:
        """Return whether the α of each table is learned."""
        return np.asarray(tables.sizes) >= self.least_levels

    def fixed(self, family: Any, tables: Tables, alpha: Array) -> Any:
        """Return the family with given α (group) in the tables whose α is learned, and the textbook's in others."""
        learned = self.learned(tables)
        every = np.full(len(tables.sizes), TEXTBOOK)
        every[learned] = alpha
        filled = family.with_alpha(np.repeat(every, tables.sizes))
        basis = "softmax" if learned.all() else tuple("softmax" if one else filled.basis for one in learned)
        return replace(filled, basis=basis)

    def log_prior(self, alpha: Array) -> Array:
        """Return the log density of log α under the hyperprior, up to a constant."""
        return np.asarray(-0.5 * (np.log(alpha / self.median) / self.spread) ** 2)

    def slope(self, alpha: Array) -> Array:
        """Return the derivative of `log_prior` by log α."""
        return np.asarray(-np.log(alpha / self.median) / self.spread**2)


@dataclass(frozen=True, repr=False)
class Smoothed(Wrapper):
    """θ_jk ~ Dirichlet(α, …, α) with log α ~ Normal(log median, spread²): α and θ have a joint posterior.

    ========= ======= ============================= =====================================
    parameter support prior                         posterior
    ========= ======= ============================= =====================================
    α         above 0 LogNormal(log median, spread) ∝ prior · Dirichlet-multinomial(n | α)
    θ_jk | α  simplex Dirichlet(α, …, α)            Dirichlet(α + n_jk)
    ========= ======= ============================= =====================================

    NUTS samples only α, so that its dimension does not grow with levels and classes; θ is then drawn independently
    given each α. MLE: the frequencies, and the α of largest evidence. MAP: the mode of θ given the mode of log α under
    its own posterior; the joint density of (α, θ) has no useful maximum.

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

    family: Any  # a family of simplexes
    settings: LearntAlpha
    counts: Array
    sizes: tuple[int, ...]

    def resolve_prior(self, statistics: Any) -> Self:
        """Return the same hyperprior with other counts."""
        return replace(self, counts=self.family.tables(statistics).counts)

    def mle(self, statistics: Any) -> Parameters:
        """Return the frequencies and the α of largest evidence."""
        alpha = most_probable(self.family.tables(statistics), self.settings.scope)
        return {**self.family.mle(statistics), "alpha": self._named(alpha[None])}

    def map(self, statistics: Any) -> Parameters:
        """Return the mode of log α and that of θ given it."""
        alpha = most_probable(self.family.tables(statistics), self.settings.scope, self.settings)
        mode = self.family.with_alpha(_cells(alpha, self.sizes)).resolve_prior(statistics).map(statistics)
        return {**mode, "alpha": self._named(alpha[None])}

    @override
    def not_conjugate(self, statistics: Any) -> str:
        """Return why: α is learned from the rows too."""
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

    @override
    def pymc(self, statistics: Any, suffix: str) -> None:
        """Add α, observing the counts with θ integrated out."""
        from bayesclf.families.pymc import observe_collapsed

        tables = self.family.tables(statistics)
        observe_collapsed(self._pymc_alpha(suffix), tables.counts, tables.sizes, suffix)

    @override
    def page(self, X: Any, row: Any, suffix: str) -> None:
        """Add α and θ given α, observing the cells of rows: unlike in `pymc`, θ is not integrated out."""
        import pytensor.tensor as pt

        from bayesclf import pymc_models

        by_feature = self.settings.scope == "feature"
        dims = (f"feature{suffix}",) if by_feature else ()
        alpha = pymc_models.concentration(self.settings.median, self.settings.spread, dims, suffix)
        alpha = alpha[np.repeat(np.arange(len(self.sizes)), self.sizes)] if by_feature else alpha
        theta = self.family.page_theta(pt.broadcast_to(alpha, self.counts.shape), suffix)
        self.family.page_cells(X, row, theta, suffix)

    @override
    def of_page(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Return θ and α."""
        return {**self.family.of_page(draws, suffix), "alpha": draws[f"alpha{suffix}"]}

    def _pymc_alpha(self, suffix: str) -> Any:
        """Add α to the open PyMC model; return it for each cell where it differs between features."""
        import pymc as pm

        median = pm.Data(f"alpha_log_median{suffix}", np.log(self.settings.median))
        spread = pm.Data(f"alpha_spread{suffix}", float(self.settings.spread))
        if self.settings.scope != "feature":
            return pm.LogNormal(f"alpha{suffix}", median, spread)
        alpha = pm.LogNormal(f"alpha{suffix}", median, spread, dims=(f"feature{suffix}",))
        return alpha[pm.Data(f"alpha_of_cell{suffix}", np.repeat(np.arange(len(self.sizes)), self.sizes))]

    @override
    def from_pymc(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Return α, and θ drawn given each α, by a generator that the draws of α seed: the same α, the same θ."""
        alpha = np.ascontiguousarray(draws[f"alpha{suffix}"], dtype=float)
        alpha = alpha.reshape(len(alpha), -1)
        return self._with_theta(alpha, self.counts, np.random.default_rng(alpha.view(np.uint32).ravel()))

    @override
    def priors(self) -> list[PriorLine]:
        """Return the log-normal prior of α, and the Dirichlet prior of θ given it."""
        numbers = {"median": float(self.settings.median), "spread": float(self.settings.spread)}
        alpha = PriorLine("alpha", "", "", "LogNormal(log {median}, {spread})", numbers)
        return [alpha, PriorLine("theta", "", "", "Dirichlet(alpha in each cell)")]

    def log_predictive(self, X: Any) -> NoReturn:
        """Refuse: there is no closed form."""
        self.posterior(None)

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the wrapped family's axis words, and α's: one for the block, or (feature)."""
        return {**super().dims(), "alpha": ("feature",) if self.settings.scope == "feature" else ()}

    def _with_theta(self, alpha: Array, counts: Array, rng: np.random.Generator) -> Parameters:
        """Return α (draw, group) and θ drawn from Dirichlet(α + counts) for each."""
        concentration = _cells(alpha, self.sizes)[:, None] + counts
        theta = dirichlet.draw(concentration, self.sizes, rng, 1)[0]
        return {"theta": self.family.of_cells(theta), "alpha": self._named(alpha)}

    def _named(self, alpha: Array) -> Array:
        """Return α (draw, group) in the shape that `dims` promises."""
        return alpha if self.settings.scope == "feature" else alpha[:, 0]


def learned_by(family: Any) -> LearntAlpha | None:
    """Return how the α of a family as the user gave it is learned; None where it is not."""
    alpha = getattr(plain(family), "alpha", None)
    return alpha if isinstance(alpha, LearntAlpha) else None


def most_probable(tables: Tables, scope: str, hyperprior: LearntAlpha | None = None) -> Array:
    """Return the α that maximizes the evidence, (group), within [`LOWEST`, `HIGHEST`].

    Parameters
    ----------
    tables
        Counts.
    scope
        ``"block"`` or ``"feature"``: which tables share one α.
    hyperprior
        Its density of log α multiplies the evidence; None for the evidence alone.
    """
    return np.array([_maximum(group.likelihood(), hyperprior) for group in tables.groups(scope)])


def _maximum(likelihood: CollapsedLikelihood, hyperprior: LearntAlpha | None) -> float:
    """Return the highest point of a grid, refined to slope 0 unless it is at an end of the range."""
    parts: list[CollapsedLikelihood | LearntAlpha] = [likelihood, hyperprior] if hyperprior else [likelihood]
    grid = np.linspace(np.log(LOWEST), np.log(HIGHEST), GRID)
    values = likelihood.log_density(np.exp(grid))
    if hyperprior is not None:
        values = values + hyperprior.log_prior(np.exp(grid))
    if np.ptp(values) < FLAT:
        return UNDETERMINED

    def slope(log_alpha: float) -> float:
        """Return the derivative of the log density in log α."""
        return float(sum(part.slope(np.exp(log_alpha)) for part in parts))

    best = int(values.argmax())
    left, right = grid[max(best - 1, 0)], grid[min(best + 1, GRID - 1)]
    if slope(left) <= 0 or slope(right) >= 0:
        return float(np.exp(grid[best]))
    return float(np.exp(optimize.brentq(slope, left, right, xtol=1e-14)))


def _cells(alpha: Array, sizes: tuple[int, ...]) -> Array:
    """Return α (..., group) for every cell, (..., cell)."""
    if alpha.shape[-1] == len(sizes):
        return np.repeat(alpha, sizes, axis=-1)
    return np.broadcast_to(alpha, (*alpha.shape[:-1], sum(sizes)))
