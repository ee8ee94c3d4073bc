"""Families with one parameter that has no conjugate prior: its logarithm t on an even grid, the others given it.

Densities of t are analytic and vanish at both ends, so that the trapezoidal rule converges faster than any power of the
step: some hundred nodes give ten digits and more of every integral. A density that the end of t's range cuts off is
integrated over a variable in which it vanishes there too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bayesclf.arrays import Array, Integers
from bayesclf.constraints import Number, require
from bayesclf.errors import InputError, Refused
from bayesclf.families.base import LOST, Axes, require_positive
from bayesclf.families.template import CellFamily, CellSums

BOUNDS = (-25.0, 30.0)
"""Range of t. The prior is cut off at both ends, where it has next to no weight; rows can put theirs at an end."""

WITHIN = 7.0
"""Prior standard deviations of t on both sides of its median that must lie within the bounds."""

NODES, DEPTH = 224, 200.0
"""Nodes of the grid of integrals, and how far below its maximum, in nats, the log density is at both ends.

A normal density of t reaches to ±20 standard deviations, so that leaving out a row stays on the grid.
"""

DRAWN_NODES, DRAWN_DEPTH = 2048, 45.0
"""The same of the grid of draws, on which the distribution function is interpolated, to about one in a million."""

NEGLIGIBLE = 24.0
"""Nats below the maximum at which the ends of a grid add nothing to an integral: fewer than priors have at `WITHIN`."""

TAIL, SHARPNESS = 37.0, 30.0
"""Of the variable w in which a cut density vanishes, from −TAIL to SHARPNESS: e^−TAIL of the integral is left out."""

ANEW_DEPTH = 60.0
"""Depth of the grids of cells whose integrand leaves the grid of t."""

SCANNED = 65
"""Nodes of each look for the part of the range that matters."""

BISECTIONS = 70
BLOCK = 8192
"""About how many distinct cells have their densities at all nodes held at a time."""


@dataclass(frozen=True, eq=False)
class Grid:
    """A distribution of t for each class and feature.

    `nodes`: t, (node, outcome, feature), evenly spaced unless the density is cut off at an end. `log_weight`: Log
    probability of each node, (node, outcome, feature). `log_total`: Log of the integral of the unnormalized density,
    (outcome, feature). `cut`: Whether the density is cut off at an end, (outcome, feature).
    """

    nodes: Array
    log_weight: Array
    log_total: Array
    cut: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        log_density: Callable[[Array], Array],
        shape: tuple[int, ...],
        bounds: tuple[float, float],
        nodes: int,
        depth: float,
    ) -> Self:
        """Return the grid of a density of t with one maximum, as a function of (node, outcome, feature).

        Where the density does not vanish at a bound b, t is b ∓ c·log(1 + e^w) on an even grid of w: linear in w away
        from b, and b itself only in the limit, so that density · |dt/dw| vanishes at both ends.
        """
        low, high = (np.full(shape, bound) for bound in bounds)
        while True:
            t = np.linspace(low, high, SCANNED)
            values = log_density(t)
            inside = values >= values.max(axis=0) - depth
            first = np.maximum(inside.argmax(axis=0) - 1, 0)
            last = np.minimum(SCANNED - inside[::-1].argmax(axis=0), SCANNED - 1)
            width = high - low
            low, high = (np.take_along_axis(t, ends[None], axis=0)[0] for ends in (first, last))
            if (high - low > 0.8 * width).all():
                break
        t = np.linspace(low, high, nodes)
        values = log_density(t)
        log_sum = logsumexp(values, axis=0)
        cut = np.maximum(values[0], values[-1]) > values.max(axis=0) - NEGLIGIBLE
        found = cls(t, values - log_sum, log_sum + np.log((high - low) / (nodes - 1)), cut)
        if not cut.any():
            return found
        w = np.linspace(SHARPNESS, -TAIL, nodes).reshape(-1, *np.ones(len(shape), dtype=int))
        away, scale = np.logaddexp(0.0, w), (high - low) / SHARPNESS
        t = np.where(values[0] > values[-1], low + scale * away, high - scale * away)
        values = log_density(t) + w - away
        log_sum = logsumexp(values, axis=0)
        of_cut = cls(t, values - log_sum, log_sum + np.log(scale * (TAIL + SHARPNESS) / (nodes - 1)), cut)
        pairs = zip(vars(of_cut).values(), vars(found).values(), strict=True)
        return cls(*(np.where(cut, ours, theirs) for ours, theirs in pairs))

    def expectation(self, values: Array) -> Array:
        """Return E of values (node, outcome, feature), (outcome, feature)."""
        return np.asarray((np.exp(self.log_weight) * values).sum(axis=0))

    def draw(self, rng: np.random.Generator, draws: int) -> Array:
        """Draw t (draw, outcome, feature), its distribution function interpolated between the nodes."""
        out = np.empty((draws, *self.nodes.shape[1:]))
        for cell in np.ndindex(out.shape[1:]):
            of_cell = (slice(None), *cell)
            u = rng.random(draws) * self.cumulative[of_cell][-1]
            out[of_cell] = np.interp(u, self.cumulative[of_cell], self.nodes[of_cell])
        return out

    @cached_property
    def cumulative(self) -> Array:
        """The distribution function at the nodes, (node, outcome, feature), up to a factor next to 1."""
        weight = np.exp(self.log_weight)
        return np.cumsum(np.vstack([np.zeros_like(weight[:1]), (weight[1:] + weight[:-1]) / 2]), axis=0)


@dataclass(frozen=True, repr=False)
class QuadratureFamily(CellFamily):
    """A family of two parameters: the first, e^t, is log-normal, and the second has a conjugate prior given t.

    `state`, `after` and `gain` are those of the second given t, which follows the other parts of the state of `gain`.

    `median`, `spread`: Of the prior of e^t. `kappa`, `m`: Rows that the prior of the second parameter is worth, and the
    mean that it expects. `n`, `sums`: Set by `posterior`: weight of the rows, (outcome, feature), and Σ T(x), (sum,
    outcome, feature).
    """

    median: float | Array | None = None
    spread: float | Array | None = None
    kappa: float | Array | None = None
    m: float | Array | None = None
    n: float | Array = 0.0
    sums: float | Array = 0.0
    axes: Axes = field(default=Axes((), ()), repr=False)
    bounds: ClassVar[tuple[float, float]] = BOUNDS

    def __post_init__(self) -> None:
        require_positive(median=self.median, spread=self.spread, kappa=self.kappa, m=self.m)
        require(Number(array=True), n=self.n, sums=self.sums)

    def resolved(self, statistics: CellSums, **default: Any) -> Self:
        """Return the prior in numbers, (outcome, feature) each, without rows, given defaults for median and spread."""
        default |= {"kappa": 1.0, "m": np.maximum(statistics.mean(), self.least_mean)}
        prior, shape = super().resolved(statistics, **default), statistics.n.shape
        require_within(self.bounds, *prior.hyperparameters()[:2])
        return replace(prior, n=np.zeros(shape), sums=np.zeros((statistics.sums.shape[-1], *shape)))

    least_mean: ClassVar[float] = 0.0
    """Least mean that the prior of the second parameter expects where m is not given."""

    def posterior(self, statistics: CellSums) -> Self:
        """Return the same prior with the sums of more rows."""
        n, *sums = statistics.rows()
        return replace(self, n=self.n + n, sums=self.sums + np.stack(sums))

    def hyperparameters(self) -> tuple[Array, Array, Array, Array]:
        """Return median, spread, κ and m, (outcome, feature) each."""
        median, spread, kappa, m = map(np.asarray, (self.median, self.spread, self.kappa, self.m))
        return median, spread, kappa, m

    def rows(self) -> tuple[Array, ...]:
        """Return n and each of the sums, (outcome, feature)."""
        return np.asarray(self.n), *np.asarray(self.sums)

    def prior_state(self) -> tuple[Array, Array]:
        """Return κ and κm, what the prior of the second parameter is worth."""
        _, _, kappa, m = self.hyperparameters()
        return kappa, kappa * m

    def state(self) -> tuple[Array, Array]:
        """Return κ + n and κm + Σx."""
        return self.after(self.prior_state(), *self.rows())

    def after(self, state: tuple[Array, ...], n: Any, *sums: Array) -> tuple[Array, Array]:
        """Return the state after sums over n cells."""
        return state[0] + n, state[1] + sums[0]

    def log_prior_of_t(self, t: Array) -> Array:
        """Return the log density of t ~ Normal(log median, spread²)."""
        median, spread, *_ = self.hyperparameters()
        return log_normal_density(t, median, spread)

    def log_marginal(self, t: Array) -> Array:
        """Return the log density of t, the other parameter integrated out, (node, outcome, feature).

        Under a prior it integrates to 1; under a posterior to the likelihood of the rows, up to `log_base`.
        """
        return np.asarray(self.log_prior_of_t(t) + self.gain((*self.prior_state(), t), *self.rows()))

    def log_cell(self, state: tuple[Array, ...], x: Array) -> Array:
        """Return log p(x | state), t being the last part of the state."""
        return np.asarray(self.gain(state, 1.0, *self.terms(x)) + self.log_h(x))

    def log_cells(self, values: Array, t: Array, outcome: int, feature: int, left_out: bool) -> Array:
        """Return log p(x | t, D) of cells x and nodes t, in the shape of both together.

        `values`, `t`: Cells of one feature, without missing ones, and nodes. `left_out`: Whether each cell is among the
        rows D and is left out of them.
        """
        weight, total = (part[outcome, feature] for part in self.state())
        if left_out:
            # Of numbers only; a sum of whole numbers keeps its digits.
            kept = self.support.whole | (total - values > LOST * total)
            weight, total = weight - 1, np.where(kept, total - values, np.nan)
        return self.log_cell((weight, total, t), values)

    def prior_numbers(self) -> tuple[Array, ...]:
        """Return median, spread, κ and m; raises `Refused` where rows are in this prior.

        The density of t is then not log-normal, which is what PyMC's model has.
        """
        if np.any(np.asarray(self.n) > 0):
            raise Refused(
                f"the prior of the family {self.name!r} is the posterior of other rows, which has no PyMC model; fit "
                "all rows together, or use inference='exact'"
            )
        return self.hyperparameters()

    @cached_property
    def grid(self) -> Grid:
        """The distribution of t under these hyperparameters."""
        return Grid.of(self.log_marginal, np.shape(self.n), self.bounds, NODES, DEPTH)

    @cached_property
    def drawn(self) -> Grid:
        """The same for draws, on a finer grid."""
        return Grid.of(self.log_marginal, np.shape(self.n), self.bounds, DRAWN_NODES, DRAWN_DEPTH)

    def log_predictive(self, X: Array) -> Array:
        """Return log Σ_t P(t | D) p(x | t, D), summed over the observed cells, (row, outcome)."""
        outcomes, features = np.shape(self.n)
        out = np.zeros((len(X), outcomes))
        for j in range(features):
            rows, values, place = _distinct(X[:, j], ~np.isnan(X[:, j]))
            for k in range(outcomes):
                found = [self._integral(block, k, j, left_out=False) for block in values]
                out[rows, k] += np.concatenate(found)[place]
        return out

    def log_predictive_without(self, X: Array, y: Integers) -> Array:
        """−log Σ_t P(t | D)/p(x | t, D without x) for the own class; NaN where sums of D have no digits without x."""
        outcomes, features = np.shape(self.n)
        own = np.zeros(len(X))
        for j in range(features):
            for k in range(outcomes):
                rows, values, place = _distinct(X[:, j], ~np.isnan(X[:, j]) & (y == k))
                found = [self._integral(block, k, j, left_out=True) for block in values]
                own[rows] -= np.concatenate(found)[place]
        out: Array = self._with_own(X, y, own)
        out[np.isnan(own)] = np.nan
        return out

    def _integral(self, values: Array, outcome: int, feature: int, left_out: bool) -> Array:
        """Return log ∫ P(t | D) p(x | t, D) dt of sorted cells (row), with 1/p(x | t, D without x) where left out.

        A cell far from the others may have an integrand whose maximum is outside of the grid of P(t | D). Where P(t |
        D) is cut off at an end, its grid is wide, while the integrand of such a cell may be narrow.
        """
        cell, sign = (outcome, feature), -1 if left_out else 1
        of_cells = self.log_cells(values[:, None], self.grid.nodes[:, *cell], *cell, left_out)
        integrand = self.grid.log_weight[:, *cell] + sign * of_cells
        out = np.asarray(logsumexp(integrand, axis=1))
        left = np.flatnonzero((~_vanishes(integrand) | self.grid.cut[cell]) & ~np.isnan(out))
        if left.size:
            out[left] = self._anew(values[left], outcome, feature, left_out) - self.grid.log_total[cell]
        return out

    def _anew(self, values: Array, outcome: int, feature: int, left_out: bool) -> Array:
        """Return the log integrals of sorted cells (row) by grids around the maxima of their integrands."""
        own, sign = self._of_one(outcome, feature), -1 if left_out else 1

        def log_integrand(x: Array, t: Array) -> Array:
            """Return it times the evidence of D, (node, row, 1), of cells (row, 1) at t (node, row or 1, 1)."""
            return own.log_marginal(t) + sign * self.log_cells(x, t, outcome, feature, left_out)

        out = np.empty(len(values))
        for some in np.array_split(np.arange(len(values)), len(values) // BLOCK + 1):
            x = values[some, None]
            found = Grid.of(partial(log_integrand, x), x.shape, self.bounds, NODES, ANEW_DEPTH)
            out[some] = found.log_total[:, 0]
        return out

    def _of_one(self, outcome: int, feature: int) -> Self:
        """Return the family of one class and feature, whose arrays end with axes (outcome, feature) of length 1."""
        one = np.s_[..., outcome : outcome + 1, feature : feature + 1]
        own: Any = self
        values = {part.name: getattr(own, part.name) for part in fields(own)}
        arrays = {name: value[one] for name, value in values.items() if isinstance(value, np.ndarray)}
        return cast("Self", replace(own, **arrays))

    def log_evidence(self, statistics: CellSums) -> Array:
        """Return how much the rows add to the log of the integral over t, (feature)."""
        gained = self.posterior(statistics).grid.log_total - self.grid.log_total
        return np.asarray((gained + statistics.log_base).sum(axis=0))


def require_within(bounds: tuple[float, float], median: Array, spread: Array) -> None:
    """Raise `InputError` where a log-normal prior (outcome, feature) gives weight to what is out of bounds of t."""
    low, high = np.log(median) - WITHIN * spread, np.log(median) + WITHIN * spread
    if not ((low >= bounds[0]) & (high <= bounds[1])).all():
        raise InputError(
            f"median and spread give numbers below e^{bounds[0]:g} or above e^{bounds[1]:g} a prior probability; use "
            "a smaller spread, or a median nearer to 1"
        )


def zero_of(slope: Callable[[Array], Array], shape: tuple[int, ...], bounds: tuple[float, float] = BOUNDS) -> Array:
    """Return t (outcome, feature) where a slope changes its sign from above to below 0, by bisection."""
    low, high = (np.full(shape, bound) for bound in bounds)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        rising = slope(middle) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return np.asarray((low + high) / 2)


def log_normal_density(t: Array, median: Array, spread: Array) -> Array:
    """Return the log density of t = log θ ~ Normal(log median, spread²), per t."""
    return np.asarray(-0.5 * ((t - np.log(median)) / spread) ** 2 - np.log(spread) - 0.5 * np.log(2 * np.pi))


def _vanishes(integrand: Array) -> NDArray[np.bool_]:
    """Return where an integrand (row, node) is negligible at both ends, (row)."""
    ends = np.maximum(integrand[:, 0], integrand[:, -1])
    return np.asarray(ends < integrand.max(axis=1) - NEGLIGIBLE)


def _distinct(column: Array, chosen: NDArray[np.bool_]) -> tuple[Integers, list[Array], Integers]:
    """Return the chosen rows, their distinct cells in parts of bounded length, and each row's place among these."""
    rows = np.flatnonzero(chosen)
    values, place = np.unique(column[rows], return_inverse=True)
    return rows, np.array_split(values, len(values) // BLOCK + 1), place
