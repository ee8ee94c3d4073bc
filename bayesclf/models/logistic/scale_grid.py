"""The posterior of a learned scale on a grid: nodes of log s with the evidence of the weights' prior at each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.special import expit, logsumexp

from bayesclf.models.logistic.components import Cell
from bayesclf.models.logistic.scale_node import Node
from bayesclf.typing import Array

END_MASS = 1e-3
"""The grid is extended until each end holds less than this share of the posterior."""
FIRST_STEP = 2 / 3
"""First spacing of the nodes, in sds of the prior of log s."""
SPACING = 0.5
"""Largest spacing, in posterior sds of log s ..."""
REFINED_MASS = 0.01
"""... between nodes that hold at least this share of the posterior."""
LEAST_STEP = 1e-4
"""Smallest spacing, where rounding would make differences of evidences."""
MODE_STEPS = (0.1, 0.02)
"""Distances from the mode, in posterior sds of log s or at most 1, of the points that parabolas go through."""


type MakeNodes = Callable[[Sequence[tuple[float, Array]]], list[Node[float]]]
"""From values of log s, and a θ to start from for each, to their nodes, which may share their looks at the rows."""


@dataclass(frozen=True, eq=False)
class ScaleGrid:
    """Nodes in increasing order.

    Attributes
    ----------
    nodes
        At least three.
    elsewhere
        Log of the mass of the posterior that other grids, of other priors, hold.
    """

    nodes: tuple[Node[float], ...]
    elsewhere: float = -np.inf

    @cached_property
    def log_scales(self) -> Array:
        """log s of the nodes (node)."""
        return np.array([node.log_scale for node in self.nodes])

    @cached_property
    def log_densities(self) -> Array:
        """log p(D, log s) of the nodes (node)."""
        return np.array([node.log_density for node in self.nodes])

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """What each node stands for: up to the middle between it and the next, as in the trapezoidal rule."""
        t = self.log_scales
        middle = (t[1:] + t[:-1]) / 2
        ends = zip(t, np.append(t[0], middle), np.append(middle, t[-1]), strict=True)
        return tuple(Cell(float(center), float(low), float(high)) for center, low, high in ends)

    @cached_property
    def log_evidence(self) -> float:
        """log ∫ p(D | s) p(log s) d log s."""
        return float(logsumexp(self.log_masses))

    @cached_property
    def weights(self) -> Array:
        """The posterior of the nodes (node), adding up to 1."""
        return np.asarray(np.exp(self.log_masses - self.log_evidence))

    @property
    def share(self) -> float:
        """Share of the grid's posterior in that of all grids."""
        return float(expit(self.log_evidence - self.elsewhere))

    @property
    def sd(self) -> float:
        """Posterior sd of log s."""
        t, weights = self.log_scales, self.weights
        return float(np.sqrt(weights @ (t - weights @ t) ** 2))

    @property
    def best(self) -> int:
        """Position of the node of largest density, not one of the ends."""
        return int(np.clip(self.log_densities.argmax(), 1, len(self.nodes) - 2))

    @cached_property
    def log_masses(self) -> Array:
        """log p(D, log s) of the nodes times their stretches, (node)."""
        return self.log_densities + np.log([cell.width for cell in self.cells])

    def thinned(self, spacing: float) -> ScaleGrid:
        """Return the grid without nodes between neighbors that are at most `spacing` apart; both ends stay."""
        kept = [self.nodes[0]]
        for node, after in pairwise(self.nodes[1:]):
            if after.log_scale - kept[-1].log_scale > spacing:
                kept.append(node)
        return replace(self, nodes=(*kept, self.nodes[-1]))

    def with_nodes(self, *nodes: Node[float]) -> ScaleGrid:
        """Return the grid with more nodes."""
        return replace(self, nodes=tuple(sorted((*self.nodes, *nodes), key=lambda node: node.log_scale)))


def explore(make: MakeNodes, first: Node[float], spread: float, elsewhere: float = -np.inf) -> ScaleGrid:
    """Return a grid that holds all but a trifle of the posterior and is fine where its mass is.

    It starts with steps of `FIRST_STEP` prior sds, each mode started from the one beside it, and is extended until each
    end holds less than `END_MASS` and the density falls toward it. Then gaps with a share of the mass are halved until
    none is wider than `SPACING` posterior sds. All masses are shares of the posterior with what is elsewhere, so that a
    prior of which the rows are unlikely costs a few nodes.

    Parameters
    ----------
    make
        Makes nodes.
    first
        A node, at the median of the prior.
    spread
        Sd of the prior of log s.
    elsewhere
        Log of the mass that other grids hold.
    """
    step = FIRST_STEP * spread
    beside = make([(first.log_scale + sign * step, first.theta) for sign in (-1, 1)])
    grid = _extended(make, ScaleGrid((first,), elsewhere).with_nodes(*beside), step)
    while True:
        halved = _halved(make, grid)
        if halved is grid:
            extended = _extended(make, grid, step)
            if extended is grid:
                return grid
            halved = extended
        grid = halved


def _extended(make: MakeNodes, grid: ScaleGrid, step: float) -> ScaleGrid:
    """Add nodes at the ends until these hold little."""
    for end, sign in ((0, -1), (-1, 1)):
        while grid.weights[end] * grid.share >= END_MASS or grid.log_densities[end] == grid.log_densities.max():
            last = grid.nodes[end]
            grid = grid.with_nodes(*make([(last.log_scale + sign * step, last.theta)]))
    return grid


def _halved(make: MakeNodes, grid: ScaleGrid) -> ScaleGrid:
    """Halve the gaps that are too wide for the mass that they hold; return the grid itself where there are none."""
    density = np.exp(grid.log_densities - grid.log_evidence) * grid.share
    gaps = np.diff(grid.log_scales)
    mass = gaps * (density[1:] + density[:-1]) / 2
    wide = np.flatnonzero((gaps > max(SPACING * grid.sd, LEAST_STEP)) & (mass >= REFINED_MASS))
    if not wide.size:
        return grid
    pairs = [(grid.nodes[i], grid.nodes[i + 1]) for i in wide]
    return grid.with_nodes(
        *make([((left.log_scale + right.log_scale) / 2, (left.theta + right.theta) / 2) for left, right in pairs])
    )


def mode(make: MakeNodes, grid: ScaleGrid) -> Node[float]:
    """Return the node of largest density, refined beyond the grid.

    Parabolas through three nodes, first of the grid and then ever closer to the maximum, lead there.
    """
    left, middle, right = grid.nodes[grid.best - 1 : grid.best + 2]
    step = min(grid.sd, 1.0)
    for distance in MODE_STEPS:
        (middle,) = make([(_top(left, middle, right), middle.theta)])
        left, right = make([(middle.log_scale + sign * distance * step, middle.theta) for sign in (-1, 1)])
    (top,) = make([(_top(left, middle, right), middle.theta)])
    return top


def _top(left: Node[float], middle: Node[float], right: Node[float]) -> float:
    """Return where the parabola through three nodes is largest, not beyond them."""
    return float(np.clip(_vertex(left, middle, right), left.log_scale, right.log_scale))


def _vertex(left: Node[float], middle: Node[float], right: Node[float]) -> float:
    """Return where the parabola through three nodes is largest; the middle where it has no maximum."""
    before, after = middle.log_scale - left.log_scale, right.log_scale - middle.log_scale
    down, up = middle.log_density - left.log_density, right.log_density - middle.log_density
    curvature = down / before - up / after
    if not curvature > 0:
        return middle.log_scale
    return middle.log_scale + 0.5 * (down * after / before + up * before / after) / curvature
