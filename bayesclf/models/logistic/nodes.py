"""The posterior of a learned scale and correlation on a lattice: mode and curvature of the weights at each node.

Between the nodes mode and curvature are interpolated. So any posterior draw has coordinates (log s, logit ρ, z) in
which the posterior is nearly a product, z being nearly standard normal: what samplers and importance weights need. A
prior whose scales are given has one node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.special import logsumexp

from bayesclf.arrays import Array, Integers
from bayesclf.models.logistic.prior import LOG_2_PI, WeightPrior
from bayesclf.tables.numbers import blocks_of

STEPS = 0.7, 1.5
"""Distances of the nodes in log s and logit ρ."""
OUTERMOST = 3
"""Nodes of logit ρ on either side of 0: ρ from .011 to .989. Beyond, modes hardly change."""
DEPTH = 9.0
"""A node whose log density is this far below the largest one has no neighbors beyond."""
AT_ONCE = 2**24
"""Numbers in the Hessians of nodes that are made at once."""
LARGEST_LATTICE = 2**26
"""Numbers in the factors of all nodes, above which one node, at the mode, has to do."""
FINE, REACH = 16, 12.0
"""Cells between two nodes of the density that proposals are drawn from, and how far from 0 its logit ρ reaches."""
PRIOR_SHARE = 0.1
"""Share of the proposals of log s and logit ρ that are drawn from their prior."""
MODE_STEPS = 0.3, 0.05
"""Distances of the points that parabolas through the largest density go through."""

type Place = tuple[int, int]


class Normals(Protocol):
    """Normals near the posterior of γ (contrast, 1 + direction), given (log s, logit ρ)."""

    def start(self, gamma: Array, /) -> Any:
        """Return what a search needs to know of γ to start from there."""

    def found(self, at: Array, starts: list[Any], rough: bool, /) -> tuple[Array, Array, Array, list[Any]]:
        """Return the normals at each (log s, logit ρ) (place, 2), by searches that start as given.

        With `rough`, a search that would hardly move need not look at the rows.

        Returns: log p(D, γ) at their modes, (place); modes, (place, contrast, 1 + direction); minus the Hessians of γ
        raveled, (place, γ, γ); and how searches start from each.
        """


@dataclass(frozen=True, eq=False)
class Node:
    """One (log s, logit ρ).

    `at`: (log s, logit ρ). `gamma`: The mode of γ given both, (contrast, 1 + direction). `root`: Lower triangular root
    of the inverse of minus the Hessian of γ raveled, its rows in units of the prior's scales. `log_evidence`: log p(D |
    s, ρ) by Laplace's approximation.
    """

    at: Array
    gamma: Array
    root: Array
    log_evidence: float


@dataclass(frozen=True, eq=False)
class Lattice:
    """Nodes on a lattice of (log s, logit ρ), those that hold all but a trifle of the posterior.

    `prior`: Of s, ρ and the weights. `normals`: Near the posterior, given s and ρ. `nodes`: By place; (0, 0) is log s
    at its prior median and ρ = ½. `from_top`: How searches start from the most probable one.
    """

    prior: WeightPrior
    normals: Normals
    nodes: Mapping[Place, Node]
    from_top: Any = None

    @classmethod
    def explored(cls, prior: WeightPrior, normals: Normals, start: Array) -> Lattice:
        """Explore from the prior median in rounds, each of which adds the neighbors of nodes that are not hopeless.

        `start`: γ (contrast, 1 + direction) from which the first mode is searched for.
        """
        lattice, top = cls(prior, normals, {}), -np.inf
        ahead: dict[Place, Any] = {(0, 0): normals.start(start)}
        while ahead:
            at = np.array([lattice.position(place) for place in ahead])
            made, after = lattice.made(at, list(ahead.values()), rough=True)
            densities = [lattice.log_density(node) for node in made]
            highest = int(np.argmax(densities))
            from_top = after[highest] if densities[highest] > top else lattice.from_top
            lattice = cls(prior, normals, {**lattice.nodes, **dict(zip(ahead, made, strict=True))}, from_top)
            top = max(top, densities[highest])
            ahead = {
                neighbor: start_there
                for place, node, start_there in sorted(zip(ahead, made, after, strict=True), key=itemgetter(0))
                if lattice.log_density(node) > top - DEPTH
                for neighbor in lattice.neighbors(place)
                if neighbor not in lattice.nodes
            }
        return lattice

    def made(self, at: Array, starts: list[Any], rough: bool = False) -> tuple[list[Node], list[Any]]:
        """Return the nodes of several (log s, logit ρ) (place, 2), as of `Normals.found`, and how searches start."""
        made, after = list[Node](), list[Any]()
        size = len(self.prior.mean) * (1 + self.prior.seen)
        for some in blocks_of(len(at), size**2, AT_ONCE):
            values, gamma, curvature, starts_there = self.normals.found(at[some], starts[some], rough)
            upper = np.linalg.cholesky(curvature[:, ::-1, ::-1])[:, ::-1, ::-1]  # H = U Uᵀ
            scales = np.tile(self.prior.scales(*at[some].T)[:, : 1 + self.prior.seen], len(self.prior.mean))
            roots = np.linalg.inv(upper).swapaxes(1, 2) / scales[:, :, None]
            values = values + 0.5 * size * LOG_2_PI + self.prior.log_volume
            evidence = values - np.log(np.diagonal(upper, axis1=1, axis2=2)).sum(axis=1)
            made += [Node(*each) for each in zip(at[some], gamma, roots, evidence.tolist(), strict=True)]
            after += starts_there
        return made, after

    def position(self, place: Place) -> Array:
        """Return (log s, logit ρ) of a place."""
        middle = self.prior.settings.log_median if self.prior.settings else 0.0
        return np.array([middle + STEPS[0] * place[0], STEPS[1] * place[1]])

    def neighbors(self, place: Place) -> Iterable[Place]:
        """Return the places beside one; none where all scales are given."""
        i, j = place
        if self.prior.settings:
            yield from ((i - 1, j), (i + 1, j))
        if self.prior.correlation is None:
            yield from ((i, other) for other in (j - 1, j + 1) if abs(other) <= OUTERMOST)

    def log_density(self, node: Node) -> float:
        """Return log p(D, log s, logit ρ)."""
        return node.log_evidence + float(self.prior.log_density_of_scales(*node.at))

    @cached_property
    def axes(self) -> tuple[Integers, Integers]:
        """Places along log s and along logit ρ, all between the first and the last."""
        rows, columns = zip(*self.nodes, strict=True)
        return np.arange(min(rows), max(rows) + 1), np.arange(min(columns), max(columns) + 1)

    @cached_property
    def first(self) -> Array:
        """(log s, logit ρ) of the first place."""
        return self.position((self.axes[0][0], self.axes[1][0]))

    @cached_property
    def filled(self) -> list[list[Node]]:
        """The node of each place, or the one that is nearest."""
        known, every = np.array(list(self.nodes)), list(self.nodes.values())
        return [[every[int(np.abs(known - (i, j)).sum(axis=1).argmin())] for j in self.axes[1]] for i in self.axes[0]]

    @cached_property
    def best(self) -> Node:
        """The mode of (log s, logit ρ) given D, by parabolas through nodes ever closer to it."""
        top = max(self.nodes.values(), key=self.log_density)
        if len(self.nodes) == 1:
            return top
        axes, start = [0] if self.prior.correlation is not None else [0, 1], self.from_top
        for distance in (1.0, *MODE_STEPS):
            shifts = [np.zeros(2)]
            for axis in axes:
                shifts += [sign * np.eye(2)[axis] for sign in (-1.0, 1.0)]
            if len(axes) > 1:
                shifts.append(np.ones(2))
            size = distance * np.array(STEPS)
            around, after = self.made(top.at + np.array(shifts) * size, [start] * len(shifts))
            values = [self.log_density(node) for node in around]
            step = np.zeros(2)
            step[axes] = np.clip(np.nan_to_num(_vertex(np.array(values))), -2, 2)
            ahead, beyond = self.made((top.at + step * size)[None], after[:1])
            made = zip([*around, *ahead], [*after, *beyond], strict=True)
            top, start = max(made, key=lambda each: self.log_density(each[0]))
        return top

    @cached_property
    def single(self) -> bool:
        """Whether one node has to do."""
        places = len(self.axes[0]) * len(self.axes[1])
        return places * self.filled[0][0].root.size > LARGEST_LATTICE

    @cached_property
    def affine(self) -> Array:
        """γ of all places raveled, and beside it the roots, (log s, logit ρ, parameter, 1 + parameter)."""
        used = [[self.best]] if self.single else self.filled
        return np.array([[np.column_stack([node.gamma.ravel(), node.root]) for node in row] for row in used])

    @property
    def modes(self) -> Array:
        """γ of all places raveled, (log s, logit ρ, parameter)."""
        return self.affine[..., 0]

    @property
    def roots(self) -> Array:
        """Roots of all places, (log s, logit ρ, parameter, parameter)."""
        return self.affine[..., 1:]

    def moved(self, at: Array, z: Array) -> tuple[Array, Array]:
        """Return γ (draw, contrast, 1 + direction) of (log s, logit ρ) (draw, 2) and z (draw, parameter).

        γ = m + D R z, where m and R are interpolated and D are the scales of the prior; and log |D R| (draw).
        """
        scales = self.prior.scales(at[:, 0], at[:, 1])[:, : 1 + self.prior.seen]
        scales = np.tile(scales, len(self.prior.mean))
        sizes, size = np.array(self.affine.shape[:2]), z.shape[1]
        place = np.clip((at - self.first) / STEPS, 0, sizes - 1)
        below = np.minimum(place.astype(int), np.maximum(sizes - 2, 0))
        shares = np.stack([1 - (place - below), place - below])  # of the nodes below and above, along each axis
        cells = below @ [sizes[1], 1]
        gamma, diagonal = np.empty_like(z), np.empty_like(z)
        for cell in np.unique(cells):
            rows = np.flatnonzero(cells == cell)
            i, j = divmod(int(cell), int(sizes[1]))
            near = self.affine[i : i + 2, j : j + 2]
            share = np.einsum("ad,bd->dab", *(shares[:, rows, axis][: near.shape[axis]] for axis in (0, 1)))
            share = share.reshape(len(rows), -1)
            modes, roots = near[..., 0].reshape(-1, size), near[..., 1:].reshape(-1, size, size)
            of_nodes = (share[:, :, None] * z[rows, None]).reshape(len(rows), -1)
            gamma[rows] = share @ modes + scales[rows] * (of_nodes @ roots.swapaxes(1, 2).reshape(-1, size))
            diagonal[rows] = share @ roots.diagonal(axis1=1, axis2=2)
        log_determinant = np.log(scales * diagonal).sum(axis=1)
        return gamma.reshape(len(z), len(self.prior.mean), -1), log_determinant

    @cached_property
    def density(self) -> Density:
        """The density of (log s, logit ρ) given D, by the nodes' evidences."""
        evidence = np.array([[node.log_evidence for node in row] for row in self.filled])
        for i, j in np.ndindex(evidence.shape):
            if (int(self.axes[0][i]), int(self.axes[1][j])) not in self.nodes:
                evidence[i, j] -= DEPTH
        learns = self.prior.correlation is None
        t = _middles(self.first[0] - STEPS[0], self.first[0] + STEPS[0] * len(evidence), STEPS[0] / FINE)
        u = _middles(-REACH, REACH, STEPS[1] / FINE) if learns else np.zeros(1)
        own = _interpolated(evidence, (t - self.first[0]) / STEPS[0])
        own = _interpolated(own.T, (u - self.first[1]) / STEPS[1]).T if learns else own
        own = own + self.prior.log_density_of_scales(*np.meshgrid(t, u, indexing="ij"))
        return Density(t, u, STEPS[0] / FINE, STEPS[1] / FINE if learns else 1.0, own, self.prior)


@dataclass(frozen=True, eq=False)
class Density:
    """A density of (log s, logit ρ) that is constant in cells.

    `t`, `u`: Centers of the cells, (cell of log s) and (cell of logit ρ). `log_density`: log p(D, log s, logit ρ) at
    the centers, (cell of log s, cell of logit ρ). `prior`: Of s and ρ.
    """

    t: Array
    u: Array
    width_t: float
    width_u: float
    log_density: Array
    prior: WeightPrior

    @cached_property
    def log_evidence(self) -> float:
        """log p(D), the integral of the density."""
        return float(logsumexp(self.log_density) + np.log(self.width_t * self.width_u))

    @cached_property
    def moments(self) -> tuple[Array, Array]:
        """Means and sds of (log s, logit ρ)."""
        of_t, of_u = self._mass.sum(axis=1), self._mass.sum(axis=0)
        means = np.array([of_t @ self.t, of_u @ self.u])
        squares = np.array([of_t @ self.t**2, of_u @ self.u**2])
        return means, np.sqrt(np.maximum(squares - means**2, 1e-6))

    @cached_property
    def _mass(self) -> Array:
        """Probability of each cell, (cell of log s, cell of logit ρ)."""
        return np.asarray(np.exp(self.log_density - logsumexp(self.log_density)))

    @cached_property
    def _cumulative(self) -> Array:
        """Probability of all cells up to each, (cell)."""
        total = self._mass.ravel().cumsum()
        return np.asarray(total / total[-1])

    def draw(self, rng: np.random.Generator, draws: int) -> tuple[Array, Array]:
        """Draw (log s, logit ρ) (draw, 2), some of them from the prior; and return log q of each (draw)."""
        i, j = np.divmod(self._cumulative.searchsorted(rng.random(draws), side="right"), len(self.u))
        learns = self.prior.correlation is None
        at = np.column_stack(
            [
                self.t[i] + self.width_t * (rng.random(draws) - 0.5),
                (self.u[j] + self.width_u * (rng.random(draws) - 0.5)) if learns else np.zeros(draws),
            ]
        )
        free = rng.random(draws) < PRIOR_SHARE
        settings = self.prior.settings
        assert settings is not None
        at[free, 0] = settings.log_median + settings.spread * rng.standard_normal(free.sum())
        if learns:
            at[free, 1] = rng.logistic(size=free.sum())
        i = np.floor((at[:, 0] - self.t[0]) / self.width_t + 0.5).astype(int)
        j = np.floor((at[:, 1] - self.u[0]) / self.width_u + 0.5).astype(int)
        inside = (i >= 0) & (i < len(self.t)) & (j >= 0) & (j < len(self.u))
        own = np.full(len(at), -np.inf)
        own[inside] = np.log(1 - PRIOR_SHARE) + self.log_density[i[inside], j[inside]] - self.log_evidence
        return at, np.logaddexp(own, np.log(PRIOR_SHARE) + self.prior.log_density_of_scales(at[:, 0], at[:, 1]))


def _middles(first: float, last: float, width: float) -> Array:
    return np.asarray(first + width * (np.arange(round((last - first) / width)) + 0.5))


def _interpolated(values: Array, at: Array) -> Array:
    """Return values (node, …) by splines at places between nodes, and those of the ends beyond."""
    spline: Any = make_interp_spline(np.arange(len(values)), values, k=min(3, len(values) - 1))
    return np.asarray(spline(np.clip(at, 0, len(values) - 1)))


def _vertex(values: Array) -> Array:
    """Return where the parabola through a center, its neighbors and a corner is largest, in units of the distance.

    Values are of the center, below and above it along each axis, and with two axes of (1, 1). NaN without a maximum.
    """
    axes = (len(values) - 1) // 2
    slope = np.array([(values[2 + 2 * a] - values[1 + 2 * a]) / 2 for a in range(axes)])
    H = np.diag([values[2 + 2 * a] + values[1 + 2 * a] - 2 * values[0] for a in range(axes)])
    if axes == 2:
        H[0, 1] = H[1, 0] = values[5] - values[0] - slope.sum() - 0.5 * np.trace(H)
    if not (np.linalg.eigvalsh(H) < 0).all():
        return np.full(axes, np.nan)
    return np.asarray(-np.linalg.solve(H, slope))
