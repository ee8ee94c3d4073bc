"""The posterior of a learned scale on a grid: nodes of log s with the evidence of the weights' prior at each."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.special import expit, logsumexp

from bayesclf.models.logistic.likelihood import LaplaceApproximation, LogPosterior
from bayesclf.models.logistic.newton import maximize
from bayesclf.models.logistic.prior import LOG_2_PI
from bayesclf.typing import Array, Parameters


def evidence_at(objective: LogPosterior, mode: Array) -> float:
    """Return Laplace's approximation of log ∫ p(θ, D) dθ, log p(θ̂, D) + ½ d log 2π − ½ log |H|, at the mode θ̂."""
    value, _, curvature = objective.derivatives(mode)
    return evidence_from(value, curvature)


def evidence_from(value: float, curvature: Array) -> float:
    """Return the same, given log p(θ̂, D) and minus the Hessian H."""
    return value + 0.5 * len(curvature) * LOG_2_PI - float(np.log(np.diag(np.linalg.cholesky(curvature))).sum())


@dataclass(frozen=True)
class Cell:
    """The stretch of log s that a node of a grid stands for.

    Attributes
    ----------
    center
        log s of the node.
    low, high
        Ends of the stretch.
    power
        λ of the prior that has the scale, where several are averaged over.
    """

    center: float
    low: float
    high: float
    power: float | None = None

    @property
    def width(self) -> float:
        """The weight of the node in sums that stand for integrals over log s."""
        return self.high - self.low

    def node(self, draws: int) -> Parameters:
        """Return the node's scale, and its λ where there are several, for a number of draws."""
        scale = {"prior_scale": np.full(draws, np.exp(self.center))}
        return scale if self.power is None else {**scale, "prior_power": np.full(draws, self.power)}

    def spread(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw scales, their logarithms uniform between the ends."""
        return {"prior_scale": np.exp(rng.uniform(self.low, self.high, draws))}


@dataclass(frozen=True, eq=False)
class Component:
    """One normal of the mixture that approximates a posterior.

    Attributes
    ----------
    approximation
        The normal.
    share
        Share of the proposals that are drawn around it.
    cell
        The prior scale that it is given, and what that stands for; None where the prior is given.
    """

    approximation: LaplaceApproximation
    share: float = 1.0
    cell: Cell | None = None

    @property
    def log_measure(self) -> float:
        """What log p(θ, D) − log q(z) lacks to be a log importance ratio: log Δ − log share + log |factor|."""
        log_width = 0.0 if self.cell is None else np.log(self.cell.width)
        log_determinant = np.log(np.diag(self.approximation.factor)).sum()
        return float(log_width - np.log(self.share) + log_determinant)


NODE_CONVERGED = 1e-6
"""Length of the last step to the mode at a node, in posterior sds, after which evidences are right to about 1e-8."""


@dataclass(frozen=True, eq=False)
class Node:
    """One value of log s.

    Attributes
    ----------
    log_scale
        log s.
    theta
        The mode of the weights' posterior given s, (outcome, 1 + column).
    log_density
        log p(D | s) p(log s) by Laplace's approximation.
    """

    log_scale: float
    theta: Array
    log_density: float


def explored(objective: LogPosterior, log_scale: float, start: Array, log_prior: float) -> Node:
    """Return the node of log s.

    Parameters
    ----------
    objective
        The log posterior of θ given s.
    log_scale
        log s.
    start
        θ (outcome, 1 + column) from which the mode is searched for.
    log_prior
        log p(log s).
    """
    theta = maximize(objective, start, NODE_CONVERGED)
    value, _, curvature = objective.derivatives(theta)
    return Node(log_scale, theta, evidence_from(value, curvature) + log_prior)


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


type Starts = Sequence[tuple[float, Array]]
"""Values of log s, and a θ from which the search for the mode of each starts."""
type MakeNodes = Callable[[Starts], list[Node]]
"""From these to their nodes, which may share their looks at the rows."""
type MakeAllNodes = Callable[[Sequence[Starts]], Sequence[Sequence[Node]]]
"""The same for each of several priors."""


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

    nodes: tuple[Node, ...]
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

    def with_nodes(self, *nodes: Node) -> ScaleGrid:
        """Return the grid with more nodes."""
        return replace(self, nodes=tuple(sorted((*self.nodes, *nodes), key=lambda node: node.log_scale)))


def explore(make: MakeAllNodes, firsts: Sequence[Node], spread: float) -> tuple[ScaleGrid, ...]:
    """Return grids that together hold all but a trifle of the posterior and are fine where its mass is.

    There is one for each of several priors, all of which look at the rows together. A grid starts with steps of
    `FIRST_STEP` prior sds, each mode started from the one beside it, and is extended until each end holds less than
    `END_MASS` and the density falls toward it. Then gaps with a share of the mass are halved until none is wider than
    `SPACING` posterior sds. All masses are shares of the posterior with what the other grids hold so far, so that a
    prior of which the rows are unlikely costs a few nodes.

    Parameters
    ----------
    make
        Makes the nodes of each prior.
    firsts
        A node of each prior, at the median of log s.
    spread
        Sd of the prior of log s.
    """
    grids = [ScaleGrid((first,)) for first in firsts]
    searches = [_exploration(first, FIRST_STEP * spread) for first in firsts]
    asked: dict[int, Starts] = {place: next(search) for place, search in enumerate(searches)}
    while asked:
        made = make([asked.get(place, []) for place in range(len(grids))])
        grids = [grid.with_nodes(*nodes) for grid, nodes in zip(grids, made, strict=True)]
        evidences = [grid.log_evidence for grid in grids]
        ahead: dict[int, Starts] = {}
        for place in asked:
            others = [evidence for other, evidence in enumerate(evidences) if other != place]
            grids[place] = replace(grids[place], elsewhere=float(logsumexp(others)) if others else -np.inf)
            with suppress(StopIteration):
                ahead[place] = searches[place].send(grids[place])
        asked = ahead
    return tuple(grids)


def _exploration(first: Node, step: float) -> Generator[Starts, ScaleGrid]:
    """Yield the nodes that a grid needs next, and be sent the grid with them."""
    grid = yield [(first.log_scale + sign * step, first.theta) for sign in (-1, 1)]
    grid = yield from _extended(grid, step)
    while True:
        if between := _between(grid):
            grid = yield between
        elif (extended := (yield from _extended(grid, step))) is not grid:
            grid = extended
        else:
            return


def _extended(grid: ScaleGrid, step: float) -> Generator[Starts, ScaleGrid, ScaleGrid]:
    """Yield nodes beyond the ends until these hold little."""
    for end, sign in ((0, -1), (-1, 1)):
        while grid.weights[end] * grid.share >= END_MASS or grid.log_densities[end] == grid.log_densities.max():
            last = grid.nodes[end]
            grid = yield [(last.log_scale + sign * step, last.theta)]
    return grid


def _between(grid: ScaleGrid) -> Starts:
    """Return the middles of the gaps that are too wide for the mass that they hold."""
    density = np.exp(grid.log_densities - grid.log_evidence) * grid.share
    gaps = np.diff(grid.log_scales)
    mass = gaps * (density[1:] + density[:-1]) / 2
    wide = np.flatnonzero((gaps > max(SPACING * grid.sd, LEAST_STEP)) & (mass >= REFINED_MASS))
    pairs = [(grid.nodes[i], grid.nodes[i + 1]) for i in wide]
    return [((left.log_scale + right.log_scale) / 2, (left.theta + right.theta) / 2) for left, right in pairs]


def mode(make: MakeNodes, grid: ScaleGrid) -> Node:
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


def _top(left: Node, middle: Node, right: Node) -> float:
    """Return where the parabola through three nodes is largest, not beyond them."""
    return float(np.clip(_vertex(left, middle, right), left.log_scale, right.log_scale))


def _vertex(left: Node, middle: Node, right: Node) -> float:
    """Return where the parabola through three nodes is largest; the middle where it has no maximum."""
    before, after = middle.log_scale - left.log_scale, right.log_scale - middle.log_scale
    down, up = middle.log_density - left.log_density, right.log_density - middle.log_density
    curvature = down / before - up / after
    if not curvature > 0:
        return middle.log_scale
    return middle.log_scale + 0.5 * (down * after / before + up * before / after) / curvature
