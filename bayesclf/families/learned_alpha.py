"""The concentration α of Dirichlet priors that best predicts the label of each training row from all other rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse
from scipy.special import logsumexp

from bayesclf.arrays import Array, Integers
from bayesclf.constraints import Whole, require
from bayesclf.families import dirichlet
from bayesclf.families.base import Statistics, require_positive
from bayesclf.families.class_prior import ClassPrior

LOWEST, HIGHEST = 1e-3, 1e3
"""Range of α."""
TEXTBOOK = 2.0
"""α that is not learned: Laplace's rule for the mode in θ, which adds α − 1 to every count."""
GRID = 10
"""Number of values of log α in the first search: the criterion can have several maxima."""
TOLERANCE = 1e-4
"""Error of log α, below the digits that notes show."""
PARABOLAS, SHORTEST = 8, 0.005
"""Parabolas that are tried, and the least distance in log α of a score from the best of those before it."""
FEW_ROWS = 500
"""Rows by which the first search is made."""
NEAR = 0.2
"""How far from the log α of these rows that of all is looked for at first."""
LARGE = 1e8
"""Counts from which a row may be too large to be left out, as no digits of the smallest α are left beside it."""
NUMBERS = 2**22
"""Numbers (row × outcome, or entries of cells) that are kept in memory at once."""


@dataclass(frozen=True)
class LearntAlpha:
    """A concentration that is learned: θ_jk ~ Dirichlet(α, …, α), one α for a block.

    α maximizes how well each row's label is predicted from its cells and all other rows,

    .. math:: \\sum_i w_i \\log P(y_i | x_i, D_{-i}, α) + \\log p(\\log α),

    in closed form, each row subtracted from the counts of its class. This is a choice of α, not a posterior: the
    posterior does not know that α is uncertain. The weak hyperprior matters where rows are few. `fit` and `fit_stream`
    leave out rows; `partial_fit` keeps the α of an earlier fit, or `median`. Rows of weight below 1 are not left out.

    **MAP and averages need different α.** The mode in θ adds α − 1 to every count. The posterior mean and every average
    over the posterior add α. With α = 2, Laplace's rule for the mode, an average adds two to each count. Over a large
    vocabulary this outweighs the counts themselves. An α below 1, which suits averages of sparse counts, has no mode in
    θ. Where α is learned, MAP is therefore taken in the softmax basis, (n + α)/(N + Σα): it always exists, adds the
    same α, and equals the posterior mean.

    Parameters
    ----------
    median, spread
        Of the hyperprior log α ~ Normal(log m, s²), with m the `median` and s the `spread`: by default 95% of it lies
        between 0.05 and 19.
    least_levels : int
        Features with fewer levels keep α = 2 and their own basis.
    value : float or None
        The α that was found, set by `fit`.

    References
    ----------
    Geisser & Eddy (1979), A predictive approach to model selection (leave-one-out log predictive probabilities);
    CS4780 and Mitchell (the number of hallucinated examples).

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [["a"], ["a"], ["a"], ["b"], ["b"], ["b"]], [0, 0, 0, 1, 1, 1]
    >>> clf = bc.CategoricalNB(bc.families.LearntAlpha(), random_state=1).fit(X, y)
    >>> round(float(clf.model_.blocks[0].family.alpha[0, 0]), 2)
    0.27
    """

    median: float = 1.0
    spread: float = 1.5
    least_levels: int = 1
    value: float | None = None

    def __post_init__(self) -> None:
        require_positive(median=self.median, spread=self.spread, value=self.value)
        require(Whole(1), least_levels=self.least_levels)

    def resolve(self, family: Any, statistics: Any) -> Any:
        """Return a family of counts with the α that was found, or its median."""
        alpha = self.median if self.value is None else self.value
        return self.fixed(family, family.sizes(statistics.axes), alpha).resolve_prior(statistics)

    def learned(self, sizes: tuple[int, ...]) -> NDArray[np.bool_]:
        """Return whether α is learned of each simplex of these numbers of cells."""
        return np.asarray(sizes) >= self.least_levels

    def fixed(self, family: Any, sizes: tuple[int, ...], alpha: float) -> Any:
        """Return the family with a given α in the simplexes whose α is learned, and the textbook's in others."""
        learned = self.learned(sizes)
        filled = family.with_alpha(np.repeat(np.where(learned, alpha, TEXTBOOK), sizes))
        basis = "softmax" if learned.all() else tuple("softmax" if one else filled.basis for one in learned)
        return replace(filled, basis=basis)

    def log_prior(self, alpha: Array) -> Array:
        """Return the log density of log α under the hyperprior, up to a constant."""
        return np.asarray(-0.5 * (np.log(alpha / self.median) / self.spread) ** 2)


def learned_from_rows(
    family: Any, statistics: Statistics, X: Any, y: Integers, weight: Array | None, class_prior: ClassPrior
) -> Any:
    """Return a family whose α is a `LearntAlpha` with the α that is learned by leave-one-out.

    `family`: With its prior as the user gave it. `X`: The rows to leave out in the family's encoding, (row, feature).
    `y`: Their label codes (row). `weight`: How often each row counts, (row); None for once. `class_prior`: The
    posterior of π given all rows.
    """
    kept = family.informative(statistics)
    if not kept.all():
        statistics, X = statistics.select(kept), X[:, kept]
    settings, sizes = family.alpha, family.sizes(statistics.axes)
    if not len(y) or not settings.learned(sizes).any():
        return family
    posterior = settings.fixed(family, sizes, LOWEST).resolve_prior(statistics).posterior(statistics)
    score = coarse = criterion(settings, posterior, X, y, weight, class_prior)
    if len(y) > FEW_ROWS:
        few = np.linspace(0, len(y) - 1, FEW_ROWS).astype(np.intp)
        times = len(y) / FEW_ROWS * (np.ones(FEW_ROWS) if weight is None else weight[few])
        coarse = criterion(settings, posterior, X[few], y[few], times, class_prior)
    return replace(family, alpha=replace(settings, value=maximum(score, coarse)))


def criterion(
    settings: LearntAlpha,
    posterior: Any,
    X: Any,
    y: Integers,
    weight: Array | None,
    class_prior: ClassPrior,
) -> Callable[[float], float]:
    """Return α ↦ Σ_i w_i log P(y_i | x_i, all rows but i, α) + log p(log α).

    Each value takes one pass over the rows. `posterior` is that of the family given all rows, with α = `LOWEST`. `X`,
    `y` and `weight` are those of the rows to leave out, and `class_prior` as in `learned_from_rows`. Rows of counts so
    large that they cannot be left out at the smallest α are not counted at any.
    """
    sizes = posterior.sizes(posterior.axes)
    log_prior = class_prior.log_mean_without(y)
    if sparse.issparse(X):
        X = dirichlet.canonical(X)
    width = X.shape[1] if isinstance(X, np.ndarray) else X.nnz // max(len(y), 1)
    stretch = max(1, NUMBERS // max(log_prior.shape[1], width))
    some_rows = [slice(start, start + stretch) for start in range(0, len(y), stretch)]
    without = [posterior.without_each(X[some], y[some]) for some in some_rows]
    learned = np.repeat(settings.learned(sizes), sizes)

    def scores(alpha: float) -> Array:
        """Return log P(y_i | x_i, the other rows, α), (row)."""
        found = np.empty(len(y))
        for some, of_more in zip(some_rows, without, strict=True):
            joint = of_more(np.where(learned, alpha - LOWEST, 0.0)) + log_prior[some]
            found[some] = joint[np.arange(len(joint)), y[some]] - logsumexp(joint, axis=1)
        return found

    times = np.ones(len(y)) if weight is None else weight
    cells: Any = cast("Any", X).data if sparse.issparse(X) else X
    if np.max(cells, initial=0) >= LARGE:
        times = np.where(np.isnan(scores(LOWEST)), 0.0, times)

    def score(alpha: float) -> float:
        """Return the sum over rows of log P(y_i | x_i, the other rows, α), plus the log prior of α."""
        total = np.where(times > 0, scores(alpha), 0.0) @ times
        return float(total + settings.log_prior(np.array(alpha)))

    return score


def maximum(score: Callable[[float], float], coarse: Callable[[float], float]) -> float:
    """Return the α of the largest score: near the largest `coarse` one, which is that near the best of a grid."""
    grid = np.linspace(np.log(LOWEST), np.log(HIGHEST), GRID).tolist()
    values = [coarse(float(np.exp(log_alpha))) for log_alpha in grid]
    best = int(np.argmax(values))
    found = optimize.minimize_scalar(
        lambda log_alpha: -coarse(float(np.exp(log_alpha))),
        bounds=(grid[max(best - 1, 0)], grid[min(best + 1, GRID - 1)]),
        method="bounded",
        options={"xatol": TOLERANCE if coarse is score else NEAR / 4},
    )
    start = float(found.x) if -found.fun >= values[best] else grid[best]
    if coarse is score:
        return float(np.exp(start))

    def loss(log_alpha: float) -> float:
        """Return minus the score of the nearest α in the range."""
        return -score(float(np.exp(np.clip(log_alpha, grid[0], grid[-1]))))

    known = {log_alpha: loss(log_alpha) for log_alpha in (start - NEAR, start, start + NEAR)}
    for _ in range(PARABOLAS):
        x, y = np.array(sorted(known.items(), key=itemgetter(1))[:3]).T
        curvature, slope, _ = np.polyfit(x - x[0], y - y[0], 2)
        vertex = x[0] - slope / (2 * curvature) if curvature > 0 else np.nan
        if not grid[0] < vertex < grid[-1]:
            break
        a, b, c = np.abs(vertex - x)
        if a * b + a * c + b * c < TOLERANCE:  # the error is this, times a fraction
            return float(np.exp(vertex))
        ahead = float(vertex if a > SHORTEST else x[0] - np.copysign(SHORTEST, x[1] - x[0]))
        known[ahead] = loss(ahead)
    near = optimize.minimize_scalar(loss, (start - NEAR, start + NEAR), method="brent", options={"xtol": TOLERANCE})
    return float(np.exp(np.clip(near.x, grid[0], grid[-1])))
