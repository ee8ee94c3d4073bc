"""The concentration α of Dirichlet priors, learned from the training rows.

α is the number that best predicts each row's label from all other rows, or the number of largest evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from bayesclf.arrays import Array
from bayesclf.constraints import Whole, require
from bayesclf.families.base import require_choice, require_positive
from bayesclf.families.dirichlet import Tables
from bayesclf.families.selected import plain

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
METHODS = ("evidence", LEAVE_ONE_OUT)


@dataclass(frozen=True)
class LearntAlpha:
    """A concentration that is learned: θ_jk ~ Dirichlet(α, …, α), one α for a block.

    By evidence, α maximizes the collapsed likelihood, θ integrated out: the Dirichlet-multinomial of all tables n_jk,

    .. math:: p(n | α) = \\prod_{jk} \\frac{Γ(Jα)}{Γ(Jα + N_{jk})} \\prod_l \\frac{Γ(α + n_{jkl})}{Γ(α)}.

    It says how well α explains the cells x given the labels. By leave-one-out, α maximizes how well each row's label
    is predicted from its cells and all other rows,

    .. math:: \\sum_i w_i \\log P(y_i | x_i, D_{-i}, α) + \\log p(\\log α),

    in closed form, each row subtracted from the counts of its class. This is a choice of α, not a posterior; the weak
    hyperprior matters where rows are few.

    **MAP and averages need different α.** The mode in θ adds α − 1 to every count, the posterior mean and every average
    over the posterior add α. With α = 2, Laplace's rule for the mode, an average adds two to each count, which over a
    large vocabulary outweighs the counts themselves. An α below 1, which suits averages of sparse counts, has no mode
    in θ. Where α is learned, MAP is therefore taken in the softmax basis, (n + α)/(N + Σα): it always exists, adds the
    same α, and equals the posterior mean.

    Parameters
    ----------
    method : {"evidence", "leave-one-out"}
        ``"evidence"``: α maximizes p(n | α). ``"leave-one-out"``: α maximizes the log probability of the labels. Both
        are then taken as given, so that the posterior is exact but does not know that α is uncertain. Only `fit` can
        leave out rows; `partial_fit` keeps the α of an earlier `fit`, or `median`. Rows of weight below 1 are not left
        out.
    median, spread
        Of the hyperprior log α ~ Normal(log m, s²) of ``"leave-one-out"``, with m the `median` and s the `spread`: by
        default 95 % of it lies between 0.05 and 19.
    least_levels : int
        Features with fewer levels keep α = 2 and their own basis.
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
    median: float = 1.0
    spread: float = 1.5
    least_levels: int = 1
    value: float | None = None

    def __post_init__(self) -> None:
        require_choice("method", self.method, METHODS)
        require_positive(median=self.median, spread=self.spread, value=self.value)
        require(Whole(1), least_levels=self.least_levels)

    def resolve(self, family: Any, statistics: Any) -> Any:
        """Return a family of counts with its α learned from its statistics."""
        tables = family.tables(statistics)
        learned = self.learned(tables)
        if not learned.any():
            return family.with_alpha(np.full(sum(tables.sizes), TEXTBOOK)).resolve_prior(statistics)
        if self.method == LEAVE_ONE_OUT:
            alpha = self.median if self.value is None else self.value
        else:
            alpha = of_largest_evidence(tables.select(learned))
        return self.fixed(family, tables, alpha).resolve_prior(statistics)

    def learned(self, tables: Tables) -> NDArray[np.bool_]:
        """Return whether the α of each table is learned."""
        return np.asarray(tables.sizes) >= self.least_levels

    def fixed(self, family: Any, tables: Tables, alpha: float) -> Any:
        """Return the family with a given α in the tables whose α is learned, and the textbook's in others."""
        learned = self.learned(tables)
        every = np.where(learned, alpha, TEXTBOOK)
        filled = family.with_alpha(np.repeat(every, tables.sizes))
        basis = "softmax" if learned.all() else tuple("softmax" if one else filled.basis for one in learned)
        return replace(filled, basis=basis)

    def log_prior(self, alpha: Array) -> Array:
        """Return the log density of log α under the hyperprior, up to a constant."""
        return np.asarray(-0.5 * (np.log(alpha / self.median) / self.spread) ** 2)


def learned_by(family: Any) -> LearntAlpha | None:
    """Return how the α of a family as the user gave it is learned; None where it is not."""
    alpha = getattr(plain(family), "alpha", None)
    return alpha if isinstance(alpha, LearntAlpha) else None


def of_largest_evidence(tables: Tables) -> float:
    """Return the α that maximizes the evidence, within [`LOWEST`, `HIGHEST`].

    It is the highest point of a grid, refined to slope 0 unless it is at an end of the range.
    """
    likelihood, grid = tables.likelihood(), np.linspace(np.log(LOWEST), np.log(HIGHEST), GRID)
    values = likelihood.log_density(np.exp(grid))
    if np.ptp(values) < FLAT:
        return UNDETERMINED

    def slope(log_alpha: float) -> float:
        """Return the derivative of the log density in log α."""
        return float(likelihood.slope(np.exp(log_alpha)))

    best = int(values.argmax())
    left, right = grid[max(best - 1, 0)], grid[min(best + 1, GRID - 1)]
    if slope(left) <= 0 or slope(right) >= 0:
        return float(np.exp(grid[best]))
    return float(np.exp(optimize.brentq(slope, left, right, xtol=1e-14)))
