"""Draws of a learned prior scale and its weights: NUTS at each of several scales, joined by bridges.

Where the weights separate the classes of the rows, the likelihood is a wall, the harder the larger the scale, and a
sampler's step size that suits one scale does not suit another. Given the scale, NUTS is fast whatever it is. What is
then missing, the posterior of the scale, follows from how much the posteriors given neighboring scales overlap. Where
there are several priors of the weights, λ, each has scales, and overlaps tell their posterior too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import xarray as xr
from scipy.optimize import brentq
from scipy.special import expit, logsumexp

from bayesclf.inference.nuts import NUTS, Sample, acceptance_of, sample_standardized
from bayesclf.models.logistic.learned_model import LearnedScaleModel
from bayesclf.models.logistic.likelihood import LaplaceApproximation
from bayesclf.models.logistic.scale_grid import END_MASS, Node, ScaleGrid
from bayesclf.progress import shown
from bayesclf.typing import Array

SPACING = 1.0
"""Largest distance of neighboring scales where the grid has closer nodes, in posterior sds of log s."""
LEAST_DRAWS, MOST_TUNE = 50, 100
"""Draws that each chain keeps at a scale however little its mass is, as bridges need some; most draws before them."""
ATTEMPTS, CLOSER = 3, 4
"""How often draws at a scale are made until none diverges, and by how much rejections are made fewer each time."""
ROUNDS = 6
"""How often draws and scales are added where the masses turn out to be others than those of Laplace's evidences."""
REPEATED = 0.05
"""Share of a chain's draws at a scale that may be used twice."""
OPEN_END = 0.01
"""Mass of the last scale above which another follows."""
FARTHEST = 40.0
"""A log ratio of evidences is at most this far outside of the log ratios of densities that it is an average of."""


@dataclass(frozen=True, eq=False)
class Rung:
    """One scale, and draws of the weights given it.

    Attributes
    ----------
    model
        The model, with the λ of the rung where there are several.
    node
        The scale, and the mode of the weights given it.
    approximation
        The normal approximation there: weights are center + factor z.
    z
        The draws (chain, draw, parameter).
    stats
        Their sample statistics (chain, draw).
    """

    model: LearnedScaleModel
    node: Node
    approximation: LaplaceApproximation
    z: Array
    stats: xr.Dataset

    @classmethod
    def drawn(cls, model: LearnedScaleModel, node: Node, settings: NUTS, seed: int) -> Rung:
        """Sample the weights given a node's scale, with smaller steps where some of the draws diverge.

        A wall of the likelihood looks like a divergence to steps that would suit all else.
        """
        density = model.density_at(node)
        for _ in range(ATTEMPTS):
            z, stats = sample_standardized(density, settings, seed)
            if not stats["diverging"].any():
                break
            settings = replace(settings, target_accept=1 - (1 - acceptance_of(settings)) / CLOSER)
        return cls(model, node, model.approximation(node), z, stats)

    @property
    def draws(self) -> int:
        """Draws of a chain."""
        return int(self.z.shape[1])

    def with_draws(self, more: Rung) -> Rung:
        """Return the rung with more draws behind its own."""
        stats = xr.concat([self.stats, more.stats], "draw")
        return replace(self, z=np.concatenate([self.z, more.z], axis=1), stats=stats)

    def values(self, z: Array) -> Array:
        """Return the parameters (…, parameter) at z (…, parameter)."""
        return np.asarray(self.approximation.center + z @ self.approximation.factor.T)

    def log_density(self, z: Array) -> Array:
        """Return log p(θ, log s, D | λ) as a density of z (chain, draw, parameter), shape (chain, draw)."""
        parameters = self.model.unravel(self.values(z.reshape(-1, z.shape[-1])))
        scale = np.full(len(parameters["intercept"]), np.exp(self.node.log_scale))
        log_factor = np.log(np.diag(self.approximation.factor)).sum()
        return np.asarray(self.model.log_posterior(**parameters, prior_scale=scale) + log_factor).reshape(z.shape[:-1])


type Ladder = list[Rung]
"""The rungs of one λ, by increasing scale."""


def sample(model: LearnedScaleModel, settings: NUTS, seed: int) -> Sample:
    """Draw from the posterior of scale and weights, and of λ where there are several.

    Each chain has draws at every scale s_m of a ladder and estimates by them, on its own, the evidences p(D | s_m): two
    neighbors' ratio is that by which their whitened densities, f_m(z) = p(D, s_m, m(s_m) + L(s_m) z) |L(s_m)|, are best
    told apart, draw by draw (Bennett's acceptance ratio, or a warp bridge). So chains that disagree about the scale, or
    about the weights, are seen as with any chains. A draw is one of those at a scale, which comes up by its mass, moved
    to a log s within its cell: along the line, in s, between the weights of the same z at that scale and at the next.

    Each λ has a ladder, unless Laplace's evidences leave each of its scales less than `END_MASS` of the posterior. The
    bridge between two ladders is that between their scales of largest mass, whose whitened densities are alike too.

    Parameters
    ----------
    model
        What is sampled.
    settings
        How much.
    seed
        The same seed gives the same draws.

    References
    ----------
    Meng and Schilling, *Warp bridge sampling*, Journal of Computational and Graphical Statistics 11 (2002),
    doi:10.1198/106186002457. Bennett, *Efficient estimation of free energy differences from Monte Carlo data*, Journal
    of Computational Physics 22 (1976), doi:10.1016/0021-9991(76)90078-4.
    """
    rng = np.random.default_rng(seed)
    each = replace(settings, tune=min(settings.tune or MOST_TUNE, MOST_TUNE), progress=None)

    def drawn(member: LearnedScaleModel, node: Node, share: float) -> Rung:
        """Return the draws at one node, as many as its share of all."""
        draws = max(int(np.ceil(share * settings.draws)), min(LEAST_DRAWS, settings.draws))
        return Rung.drawn(member, node, replace(each, draws=draws), int(rng.integers(2**32)))

    planned = _planned(model)
    number = sum(len(grid.nodes) for _, grid, _ in planned)
    ladders: list[Ladder] = []
    with shown("sampling", number, settings.progress) as tell:
        for member, grid, share in planned:
            ladders.append([])
            for node, weight in zip(grid.nodes, grid.weights, strict=True):
                ladders[-1].append(drawn(member, node, share * weight))
                tell("sampling", sum(map(len, ladders)), number)
        for _ in range(ROUNDS):
            added = 0
            for ladder, masses in zip(ladders, _masses(ladders), strict=True):
                lacking = masses.max(axis=0) - [rung.draws / settings.draws for rung in ladder]
                few = np.flatnonzero(lacking > REPEATED * masses.max(axis=0))
                for i in few:
                    ladder[i] = ladder[i].with_draws(drawn(ladder[i].model, ladder[i].node, lacking[i]))
                beyond = [_beyond(*pair) for pair, mass in _ends(ladder, masses) if mass > OPEN_END]
                ladder += [drawn(ladder[0].model, node, 0.0) for node in beyond]
                ladder.sort(key=lambda rung: rung.node.log_scale)
                added += len(few) + len(beyond)
            if not added:
                break
    return _mixture(model, ladders, _masses(ladders), settings.draws, rng)


def _planned(model: LearnedScaleModel) -> list[tuple[LearnedScaleModel, ScaleGrid, float]]:
    """Return the models of each λ with the scales of their ladders and their shares of the posterior."""
    every = model.grids
    total = logsumexp([grid.log_evidence for _, grid in every])
    planned = []
    for member, grid in every:
        share = float(np.exp(grid.log_evidence - total))
        held = np.flatnonzero(grid.weights * share >= END_MASS)
        if held.size:
            first = min(held[0], len(grid.nodes) - 2)
            last = max(held[-1], first + 1)
            rungs = ScaleGrid(grid.nodes[first : last + 1]).thinned(SPACING * grid.sd)
            planned.append((member, rungs, share))
    return planned


def _ends(ladder: Ladder, masses: Array) -> tuple[tuple[tuple[Rung, Rung], float], ...]:
    """Return, at both ends, the last two rungs, the last one first, and the mass of the last."""
    low, high = masses.mean(axis=0)[[0, -1]]
    return ((ladder[0], ladder[1]), float(low)), ((ladder[-1], ladder[-2]), float(high))


def _beyond(last: Rung, before: Rung) -> Node:
    """Return a node as far beyond the last as this is beyond the one before it."""
    return last.model.node(2 * last.node.log_scale - before.node.log_scale, last.node.theta)


def _masses(ladders: Sequence[Ladder]) -> list[Array]:
    """Return the posterior of the scales of each ladder by each chain's bridges, (chain, rung), adding up to 1."""
    log_masses, before = [], None
    for ladder in ladders:
        steps = [_log_ratios(low, high) for low, high in pairwise(ladder)]
        log_evidence = np.cumsum([np.zeros(len(ladder[0].z)), *steps], axis=0).T
        best = max(range(len(ladder)), key=lambda i: ladder[i].node.log_density)
        if before is not None:
            rung, level = before
            log_evidence += (level + _log_ratios(rung, ladder[best]) - log_evidence[:, best])[:, None]
        before = ladder[best], log_evidence[:, best]
        widths = [cell.width for cell in ScaleGrid(tuple(rung.node for rung in ladder)).cells]
        log_masses.append(log_evidence + np.log(widths))
    total = logsumexp(np.concatenate(log_masses, axis=1), axis=1, keepdims=True)
    return [np.exp(log_mass - total) for log_mass in log_masses]


def _log_ratios(low: Rung, high: Rung) -> Array:
    """Return the log ratio of the evidence of one rung to that of another, by each chain, (chain)."""
    ratios = [high.log_density(rung.z) - low.log_density(rung.z) for rung in (low, high)]
    return np.array([log_evidence_ratio(*pair) for pair in zip(*ratios, strict=True)])


def log_evidence_ratio(low: Array, high: Array) -> float:
    """Return log ∫ g − log ∫ f from log g − log f at draws of f and at draws of g.

    The ratio is the intercept of a logistic regression of which density a draw is from: the best estimate from both.
    """
    both, offset = np.concatenate([low, high]), np.log(len(high) / len(low))

    def excess(ratio: float) -> float:
        """Return the bridge equation's left side less its right side."""
        return float(expit(both - ratio + offset).sum() - len(high))

    return float(brentq(excess, both.min() - FARTHEST, both.max() + FARTHEST))


def _mixture(
    model: LearnedScaleModel, ladders: Sequence[Ladder], masses: Sequence[Array], draws: int, rng: np.random.Generator
) -> Sample:
    """Return draws of the mixture by masses (chain, rung) of each ladder, each rung's in their order."""
    every = [(ladder, i) for ladder in ladders for i in range(len(ladder))]
    cells = [cell for ladder in ladders for cell in ScaleGrid(tuple(rung.node for rung in ladder)).cells]
    first = ladders[0][0]
    chains, size = len(first.z), first.z.shape[-1]
    values, log_scale, power = np.empty((chains, draws, size)), np.empty((chains, draws)), np.empty((chains, draws))
    stats = {name: np.empty((chains, draws), dtype=array.dtype) for name, array in first.stats.data_vars.items()}
    for chain, mass in enumerate(np.concatenate(masses, axis=1)):
        ends = np.floor(np.cumsum(mass) * draws + rng.random()).astype(int)
        ends[-1] = draws
        which = rng.permutation(np.searchsorted(ends, np.arange(draws), side="right"))
        for j, ((ladder, i), cell) in enumerate(zip(every, cells, strict=True)):
            rung, places = ladder[i], np.flatnonzero(which == j)
            chosen = np.arange(len(places)) % rung.draws
            at = rng.uniform(cell.low, cell.high, len(places))
            values[chain, places] = _moved(ladder, i, rung.z[chain, chosen], at)
            log_scale[chain, places], power[chain, places] = at, rung.model.power
            for name, array in rung.stats.data_vars.items():
                stats[name][chain, places] = array.values[chain, chosen]
    parameters = model.unravel(values.reshape(-1, size))
    drawn = {name: array.reshape(chains, draws, *array.shape[1:]) for name, array in parameters.items()}
    drawn["prior_scale"] = np.exp(log_scale)
    if len(model.members) > 1:
        drawn["prior_power"] = power
    variables = {name: (("chain", "draw"), array) for name, array in stats.items()}
    coords = {"chain": np.arange(chains), "draw": np.arange(draws)}
    return Sample(drawn, xr.Dataset(variables, coords))


def _moved(ladder: Ladder, i: int, z: Array, log_scale: Array) -> Array:
    """Return the parameters (draw, parameter) of draws z of a rung, moved to scales (draw) near its own."""
    rung = ladder[i]
    own, center = rung.values(z), rung.node.log_scale
    for other in ladder[max(i - 1, 0) : i + 2]:
        apart = other.node.log_scale - center
        toward = (log_scale - center) * apart > 0
        share = np.expm1(log_scale[toward] - center) / np.expm1(apart)
        own[toward] += share[:, None] * (other.values(z[toward]) - own[toward])
    return own
