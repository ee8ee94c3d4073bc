"""Families with one parameter that has no conjugate prior: its logarithm t on an even grid, the others given it.

Densities of t are analytic and vanish at both ends, so that the trapezoidal rule converges faster than any power of the
step: some hundred nodes give ten digits and more of every integral.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self, override

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from bayesclf.errors import InputError
from bayesclf.families.base import Family, Statistics
from bayesclf.typing import Array, Integers

BOUNDS = (-25.0, 30.0)
"""Range of t in which its density is searched for."""

WITHIN = 7.0
"""Prior standard deviations of t on both sides of its median that must lie within the bounds."""

NODES, DEPTH = 224, 200.0
"""Nodes of the grid of integrals, and how far below its maximum, in nats, the log density is at both ends.

A normal density of t reaches to ±20 standard deviations, so that leaving out a row stays on the grid.
"""

DRAWN_NODES, DRAWN_DEPTH = 2048, 45.0
"""The same of the grid of draws, on which the distribution function is interpolated, to about one in a million."""

NEGLIGIBLE = 30.0
"""Nats below the maximum at which the ends of a grid add nothing to an integral."""

SCANNED = 65
"""Nodes of each look for the part of the range that matters."""

BISECTIONS = 70
BLOCK = 8192
"""About how many distinct cells have their densities at all nodes held at a time."""

SMALL = 10.0
"""Arguments from which Stirling's series has all digits."""

STIRLING = (-691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
"""Coefficients of the series of z times its correction in powers of 1/z², the highest first."""


@dataclass(frozen=True, eq=False)
class Grid:
    """A distribution of t for each class and feature.

    Attributes
    ----------
    nodes
        t, evenly spaced, (node, outcome, feature).
    log_weight
        Log probability of each node, (node, outcome, feature).
    log_total
        Log of the integral of the unnormalized density, (outcome, feature).
    """

    nodes: Array
    log_weight: Array
    log_total: Array

    @classmethod
    def of(
        cls,
        log_density: Callable[[Array], Array],
        shape: tuple[int, ...],
        bounds: tuple[float, float],
        nodes: int,
        depth: float,
    ) -> Self:
        """Return the grid of a density of t with one maximum, as a function of (node, outcome, feature)."""
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
        return cls(t, values - log_sum, log_sum + np.log((high - low) / (nodes - 1)))

    def expectation(self, values: Array) -> Array:
        """Return E of values (node, outcome, feature), (outcome, feature)."""
        return np.asarray((np.exp(self.log_weight) * values).sum(axis=0))

    def draw(self, rng: np.random.Generator, draws: int) -> Array:
        """Draw t (draw, outcome, feature), its distribution function interpolated between the nodes."""
        weight = np.exp(self.log_weight)
        cumulative = np.cumsum(np.vstack([np.zeros_like(weight[:1]), (weight[1:] + weight[:-1]) / 2]), axis=0)
        out = np.empty((draws, *weight.shape[1:]))
        for cell in np.ndindex(weight.shape[1:]):
            of_cell = (slice(None), *cell)
            u = rng.random(draws) * cumulative[of_cell][-1]
            out[of_cell] = np.interp(u, cumulative[of_cell], self.nodes[of_cell])
        return out


class QuadratureFamily[S: Statistics](Family[S]):
    """A family of cells that are independent given t and parameters that are conjugate given t.

    Attributes
    ----------
    median, spread
        Of the prior of e^t, log-normal.
    bounds
        Range of t.
    """

    bounds: ClassVar[tuple[float, float]] = BOUNDS
    _nodes: ClassVar[int] = NODES
    _depth: ClassVar[float] = DEPTH

    @abstractmethod
    def log_marginal(self, t: Array) -> Array:
        """Return the log density of t, the other parameters integrated out, (node, outcome, feature).

        Under a prior it integrates to 1; under a posterior to the likelihood of the rows, up to `log_base`.
        """

    @abstractmethod
    def log_cells(self, values: Array, outcome: int, feature: int, left_out: bool) -> Array:
        """Return log p(x | t, D) of cells (row) at the nodes of `grid`, (row, node).

        Parameters
        ----------
        values
            Cells of one feature, without missing ones.
        outcome, feature
            The class and the feature.
        left_out
            Whether each cell is among the rows D and is left out of them.
        """

    @property
    @abstractmethod
    def cells_shape(self) -> tuple[int, ...]:
        """Number of classes and of features."""

    @cached_property
    def grid(self) -> Grid:
        """The distribution of t under these hyperparameters."""
        return Grid.of(self.log_marginal, self.cells_shape, self.bounds, self._nodes, self._depth)

    def draw_t(self, rng: np.random.Generator, draws: int) -> Array:
        """Draw t, (draw, outcome, feature)."""
        return np.asarray(self._drawn.draw(rng, draws))

    @cached_property
    def _drawn(self) -> Grid:
        return Grid.of(self.log_marginal, self.cells_shape, self.bounds, DRAWN_NODES, DRAWN_DEPTH)

    def log_predictive(self, X: Array) -> Array:
        """Return log Σ_t P(t | D) p(x | t, D), summed over the observed cells, (row, outcome)."""
        outcomes, features = self.cells_shape
        out = np.zeros((len(X), outcomes))
        for j in range(features):
            rows, values, place = _distinct(X[:, j], ~np.isnan(X[:, j]))
            for k in range(outcomes):
                found = [
                    logsumexp(self.grid.log_weight[:, k, j] + self.log_cells(block, k, j, left_out=False), axis=1)
                    for block in values
                ]
                out[rows, k] += np.concatenate(found)[place]
        return out

    @override
    def log_predictive_without(self, X: Array, y: Integers) -> Array:
        """−log Σ_t P(t | D)/p(x | t, D without x) for the own class; NaN where the grid of D does not reach."""
        outcomes, features = self.cells_shape
        own = np.zeros(len(X))
        for j in range(features):
            for k in range(outcomes):
                rows, values, place = _distinct(X[:, j], ~np.isnan(X[:, j]) & (y == k))
                own[rows] += np.concatenate([self._without(block, k, j) for block in values])[place]
        out: Array = self._with_own(X, y, own)
        out[np.isnan(own)] = np.nan
        return out

    def _without(self, values: Array, outcome: int, feature: int) -> Array:
        """Return log p(x | D without x) of cells (row) of a class and feature."""
        log_cells = self.log_cells(values, outcome, feature, left_out=True)
        remaining = self.grid.log_weight[:, outcome, feature] - log_cells
        ends = np.maximum(remaining[:, 0], remaining[:, -1])
        reached = ends < remaining.max(axis=1) - NEGLIGIBLE
        return np.where(reached, -logsumexp(remaining, axis=1), np.nan)

    def log_normalizer(self) -> Array:
        """The integral over t."""
        return np.asarray(self.grid.log_total)


def require_within(bounds: tuple[float, float], median: Array, spread: Array) -> None:
    """Raise `InputError` where a log-normal prior (outcome, feature) gives weight to what is out of bounds of t."""
    low, high = np.log(median) - WITHIN * spread, np.log(median) + WITHIN * spread
    if not ((low >= bounds[0]) & (high <= bounds[1])).all():
        raise InputError(
            f"median and spread give numbers below e^{bounds[0]:g} or above e^{bounds[1]:g} a prior probability; take "
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


def log_rising(z: Array, k: Array) -> Array:
    """Return log Γ(z + k)/Γ(z), which loses no digits where z is large."""
    large = np.maximum(z, SMALL)
    difference = (large - 0.5) * np.log1p(k / large) + k * (np.log(large + k) - 1)
    by_series = difference + stirling(large + k) - stirling(large)
    return np.asarray(np.where(z >= SMALL, by_series, gammaln(z + k) - gammaln(z)))


def stirling(z: Array) -> Array:
    """Return log Γ(z) − (z − ½) log z + z − ½ log 2π, Stirling's correction, without cancellation."""
    large = np.maximum(z, SMALL)
    inverse = 1 / large
    square = inverse**2
    series = inverse * np.polyval(STIRLING, square)
    direct = gammaln(z) - (z - 0.5) * np.log(z) + z - 0.5 * np.log(2 * np.pi)
    return np.asarray(np.where(z >= SMALL, series, direct))


def _distinct(column: Array, chosen: NDArray[np.bool_]) -> tuple[Integers, list[Array], Integers]:
    """Return the chosen rows, their distinct cells in parts of bounded length, and each row's place among these."""
    rows = np.flatnonzero(chosen)
    values, place = np.unique(column[rows], return_inverse=True)
    return rows, np.array_split(values, len(values) // BLOCK + 1), place
