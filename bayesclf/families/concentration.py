"""What concentration α a Dirichlet should have, learnt from its counts: "what β should we choose?"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize
from scipy.special import digamma, gammaln

from bayesclf.errors import InputError
from bayesclf.families import dirichlet
from bayesclf.typing import Array

METHODS = ("evidence", "posterior")
SCOPES = ("block", "feature")
LOWEST, HIGHEST = 1e-3, 1e3
"""Where α is looked for. The evidence can grow without end, towards tables that are all alike (Minka 2000)."""
GRID = 121
"""Number of values of log α at which a maximum is first looked for: the sum over tables can have more than one."""
UNDETERMINED = 2.0
"""α where the counts say nothing, as they do when no table has more than one: Laplace's rule."""
FLAT = 1e-9
"""The evidence says nothing where it varies by less than this."""


@dataclass(frozen=True)
class LearntAlpha:
    """A concentration that is learnt: θ_jk ~ Dirichlet(α, …, α), one α for a block or for each feature.

    It is learnt through the collapsed likelihood, θ integrated out: the Dirichlet-multinomial of all tables n_jk,

    .. math:: p(n | α) = \\prod_{jk} \\frac{Γ(Jα)}{Γ(Jα + N_{jk})} \\prod_l \\frac{Γ(α + n_{jkl})}{Γ(α)}.

    Parameters
    ----------
    method
        ``"evidence"``: empirical Bayes, α maximises p(n | α) and is then taken as given, so that the posterior is
        exact but does not know that α is uncertain. ``"posterior"``: log α ~ Normal(log `median`, `spread`²), by NUTS.
    scope
        ``"block"``: one α for all features of the block; ``"feature"``: one for each.
    median, spread
        Of the hyperprior, used by ``"posterior"``: by default 95 % of it lies between 0.05 and 19.

    References
    ----------
    Minka (2000), Estimating a Dirichlet distribution; CS4780 and Mitchell (the number of hallucinated examples).

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [["a"], ["a"], ["a"], ["b"], ["b"], ["b"]], [0, 0, 0, 1, 1, 1]
    >>> clf = bc.CategoricalNB(bc.families.LearntAlpha(), random_state=1).fit(X, y)
    >>> round(float(clf.model_.blocks[0].family.alpha[0, 0]), 9)  # one level a class: the less smoothing the better
    0.001
    """

    method: str = "evidence"
    scope: str = "block"
    median: float = 1.0
    spread: float = 1.5

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(f"method must be one of {', '.join(map(repr, METHODS))}, not {self.method!r}")
        if self.scope not in SCOPES:
            raise InputError(f"scope must be one of {', '.join(map(repr, SCOPES))}, not {self.scope!r}")
        for name in ("median", "spread"):
            if not 0 < getattr(self, name) < np.inf:
                raise InputError(f"{name} must be above 0 and finite, not {getattr(self, name)}")

    def resolve(self, family: Any, statistics: Any) -> Any:
        """Return a family of counts with its α learnt, or to be learnt by NUTS, from its statistics."""
        from bayesclf.families.smoothing import resolve

        return resolve(self, family, statistics)

    def log_prior(self, alpha: Array) -> Array:
        """Return the log density of log α under the hyperprior, up to a constant."""
        return np.asarray(-0.5 * (np.log(alpha / self.median) / self.spread) ** 2)

    def slope(self, alpha: Array) -> Array:
        """Return the derivative of `log_prior` by log α."""
        return np.asarray(-np.log(alpha / self.median) / self.spread**2)


@dataclass(frozen=True)
class CollapsedLikelihood:
    """α ↦ log p(n | α), equal counts taken together, so that long vocabularies are quick.

    Attributes
    ----------
    counts, cells
        Different counts above 0, and how many cells have each.
    sizes, totals, tables
        Different sizes and sums of tables, and how many tables have each pair.
    """

    counts: Array
    cells: Array
    sizes: Array
    totals: Array
    tables: Array

    def log_density(self, alpha: Array) -> Array:
        """Return log p(n | α), the shape of `alpha`."""
        a = np.asarray(alpha, dtype=float)[..., None]
        of_tables = gammaln(self.sizes * a) - gammaln(self.sizes * a + self.totals)
        return np.asarray((gammaln(a + self.counts) - gammaln(a)) @ self.cells + of_tables @ self.tables)

    def slope(self, alpha: Array) -> Array:
        """Return its derivative by log α."""
        a = np.asarray(alpha, dtype=float)[..., None]
        of_tables = self.sizes * (digamma(self.sizes * a) - digamma(self.sizes * a + self.totals))
        return np.asarray(a[..., 0] * ((digamma(a + self.counts) - digamma(a)) @ self.cells + of_tables @ self.tables))


@dataclass(frozen=True)
class Tables:
    """Counts of tables side by side.

    Attributes
    ----------
    counts
        (outcome, cell).
    sizes
        Number of cells of each table.
    """

    counts: Array
    sizes: tuple[int, ...]

    def groups(self, scope: str) -> list[Tables]:
        """Return the tables that share one α: all of them, or those of each feature."""
        if scope == "block":
            return [self]
        ends = np.cumsum(self.sizes)
        return [Tables(self.counts[:, end - size : end], (size,)) for end, size in zip(ends, self.sizes, strict=True)]

    def likelihood(self) -> CollapsedLikelihood:
        """Return the likelihood of one α for all of the tables."""
        sizes = np.asarray(self.sizes, dtype=float)
        totals = np.add.reduceat(self.counts, dirichlet.starts(self.sizes), axis=1)
        counts, cells = np.unique(self.counts[self.counts > 0], return_counts=True)
        pairs = np.stack([np.broadcast_to(sizes, totals.shape).ravel(), totals.ravel()])
        (sizes, totals), tables = np.unique(pairs, axis=1, return_counts=True)
        return CollapsedLikelihood(counts, cells.astype(float), sizes, totals, tables.astype(float))


def require_concentration(name: str, value: float | Array | LearntAlpha) -> None:
    """Raise for a concentration that is neither learnt nor above 0 and finite."""
    if isinstance(value, LearntAlpha):
        return
    if not np.all(np.asarray(value) > 0) or not np.all(np.isfinite(value)):
        raise InputError(f"{name} must be above 0 and finite, not {value}")


def most_probable(tables: Tables, scope: str, hyperprior: LearntAlpha | None = None) -> Array:
    """Return the α that maximises the evidence, (group), within [`LOWEST`, `HIGHEST`].

    Parameters
    ----------
    tables
        Counts.
    scope
        Which tables share one α.
    hyperprior
        Its density of log α multiplies the evidence; none for the evidence alone.
    """
    return np.array([_maximum(group.likelihood(), hyperprior) for group in tables.groups(scope)])


def _maximum(likelihood: CollapsedLikelihood, hyperprior: LearntAlpha | None) -> float:
    """Return the highest point of a grid, refined to where the slope is 0, or the end of the range it is at."""
    parts: list[CollapsedLikelihood | LearntAlpha] = [likelihood, hyperprior] if hyperprior else [likelihood]
    grid = np.linspace(np.log(LOWEST), np.log(HIGHEST), GRID)
    values = likelihood.log_density(np.exp(grid))
    if hyperprior is not None:
        values = values + hyperprior.log_prior(np.exp(grid))
    if np.ptp(values) < FLAT:
        return UNDETERMINED

    def slope(log_alpha: float) -> float:
        return float(sum(part.slope(np.exp(log_alpha)) for part in parts))

    best = int(values.argmax())
    left, right = grid[max(best - 1, 0)], grid[min(best + 1, GRID - 1)]
    if slope(left) <= 0 or slope(right) >= 0:
        return float(np.exp(grid[best]))
    return float(np.exp(optimize.brentq(slope, left, right, xtol=1e-14)))
