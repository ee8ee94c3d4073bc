"""Draws of a learned prior scale and its weights: NUTS at each of several scales, joined by bridges.

Where the weights separate the classes of the rows, the likelihood is a wall, the harder the larger the scale, and a
sampler's step size that suits one scale does not suit another. Given the scale, NUTS is fast whatever it is. What is
then missing, the posterior of the scale, follows from how much the posteriors given neighboring scales overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import xarray as xr
from scipy.optimize import brentq
from scipy.special import expit, logsumexp

from bayesclf.inference.nuts import NUTS, Sample, sample_standardized
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
    node
        The scale, and the mode of the weights given it.
    approximation
        The normal approximation there: weights are center + factor z.
    z
        The draws (chain, draw, parameter).
    stats
        Their sample statistics (chain, draw).
    """

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
            settings = replace(settings, target_accept=1 - (1 - settings.target_accept) / CLOSER)
        return cls(node, model.approximation(node), z, stats)

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

    def log_density(self, model: LearnedScaleModel, z: Array) -> Array:
        """Return log p(θ, log s, D) as a density of z (chain, draw, parameter), shape (chain, draw)."""
        parameters = model.unravel(self.values(z.reshape(-1, z.shape[-1])))
        scale = np.full(len(parameters["intercept"]), np.exp(self.node.log_scale))
        log_factor = np.log(np.diag(self.approximation.factor)).sum()
        return np.asarray(model.log_posterior(**parameters, prior_scale=scale) + log_factor).reshape(z.shape[:-1])


def sample(model: LearnedScaleModel, settings: NUTS, seed: int) -> Sample:
    """Draw from the posterior of scale and weights.

    Each chain has draws at every scale s_m of a ladder and estimates by them, on its own, the evidences p(D | s_m): two
    neighbors' ratio is that by which their whitened densities, f_m(z) = p(D, s_m, m(s_m) + L(s_m) z) |L(s_m)|, are best
    told apart, draw by draw (Bennett's acceptance ratio, or a warp bridge). So chains that disagree about the scale, or
    about the weights, are seen as with any chains. A draw is one of those at a scale, which comes up by its mass, moved
    to a log s within its cell: along the line, in s, between the weights of the same z at that scale and at the next.

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
    rng, grid = np.random.default_rng(seed), model.scale_grid
    first, last = np.flatnonzero(grid.weights >= END_MASS)[[0, -1]]
    rungs = ScaleGrid(grid.nodes[first : last + 1]).thinned(SPACING * grid.sd)
    each = replace(settings, tune=min(settings.tune or MOST_TUNE, MOST_TUNE), progress=None)

    def drawn(node: Node, share: float) -> Rung:
        """Return the draws at one node, as many as its share of all."""
        draws = max(int(np.ceil(share * settings.draws)), min(LEAST_DRAWS, settings.draws))
        return Rung.drawn(model, node, replace(each, draws=draws), int(rng.integers(2**32)))

    ladder: list[Rung] = []
    with shown("sampling", len(rungs.nodes), settings.progress) as tell:
        for node, share in zip(rungs.nodes, rungs.weights, strict=True):
            ladder.append(drawn(node, share))
            tell("sampling", len(ladder), len(rungs.nodes))
        for _ in range(ROUNDS):
            masses = _masses(model, ladder)
            lacking = masses.max(axis=0) - [rung.draws / settings.draws for rung in ladder]
            few = np.flatnonzero(lacking > REPEATED * masses.max(axis=0))
            for i in few:
                ladder[i] = ladder[i].with_draws(drawn(ladder[i].node, lacking[i]))
            beyond = [_beyond(model, pair) for pair, mass in _ends(ladder, masses) if mass > OPEN_END]
            if not few.size and not beyond:
                break
            ladder = sorted([*ladder, *(drawn(node, 0.0) for node in beyond)], key=lambda rung: rung.node.log_scale)
    return _mixture(model, ladder, _masses(model, ladder), settings.draws, rng)


def _ends(ladder: Sequence[Rung], masses: Array) -> tuple[tuple[tuple[Rung, Rung], float], ...]:
    """Return, at both ends, the last two rungs, the last one first, and the mass of the last."""
    low, high = masses.mean(axis=0)[[0, -1]]
    return ((ladder[0], ladder[1]), float(low)), ((ladder[-1], ladder[-2]), float(high))


def _beyond(model: LearnedScaleModel, pair: tuple[Rung, Rung]) -> Node:
    """Return a node as far beyond the last as this is beyond the one before it."""
    last, before = (rung.node for rung in pair)
    return model.node(2 * last.log_scale - before.log_scale, last.theta)


def _masses(model: LearnedScaleModel, ladder: Sequence[Rung]) -> Array:
    """Return the posterior of the scales by each chain's bridges, (chain, rung), adding up to 1."""
    chains = len(ladder[0].z)
    log_evidence = np.zeros((chains, len(ladder)))
    for i, (low, high) in enumerate(pairwise(ladder)):
        ratios = [high.log_density(model, rung.z) - low.log_density(model, rung.z) for rung in (low, high)]
        steps = [log_evidence_ratio(*pair) for pair in zip(*ratios, strict=True)]
        log_evidence[:, i + 1] = log_evidence[:, i] + steps
    widths = [cell.width for cell in ScaleGrid(tuple(rung.node for rung in ladder)).cells]
    log_mass = log_evidence + np.log(widths)
    return np.asarray(np.exp(log_mass - logsumexp(log_mass, axis=1, keepdims=True)))


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
    model: LearnedScaleModel, ladder: Sequence[Rung], masses: Array, draws: int, rng: np.random.Generator
) -> Sample:
    """Return draws of the mixture by masses (chain, rung), each rung's in their order."""
    chains, size = len(masses), ladder[0].z.shape[-1]
    cells = ScaleGrid(tuple(rung.node for rung in ladder)).cells
    values, log_scale = np.empty((chains, draws, size)), np.empty((chains, draws))
    stats = {name: np.empty((chains, draws), dtype=array.dtype) for name, array in ladder[0].stats.data_vars.items()}
    for chain, mass in enumerate(masses):
        ends = np.floor(np.cumsum(mass) * draws + rng.random()).astype(int)
        ends[-1] = draws
        which = rng.permutation(np.searchsorted(ends, np.arange(draws), side="right"))
        for i, (rung, cell) in enumerate(zip(ladder, cells, strict=True)):
            places = np.flatnonzero(which == i)
            chosen = np.arange(len(places)) % rung.draws
            z, at = rung.z[chain, chosen], rng.uniform(cell.low, cell.high, len(places))
            own = rung.values(z)
            for other in ladder[max(i - 1, 0) : i + 2]:
                apart = other.node.log_scale - cell.center
                toward = (at - cell.center) * apart > 0
                share = np.expm1(at[toward] - cell.center) / np.expm1(apart)
                own[toward] += share[:, None] * (other.values(z[toward]) - own[toward])
            values[chain, places], log_scale[chain, places] = own, at
            for name, array in rung.stats.data_vars.items():
                stats[name][chain, places] = array.values[chain, chosen]
    parameters = model.unravel(values.reshape(-1, size))
    drawn = {name: array.reshape(chains, draws, *array.shape[1:]) for name, array in parameters.items()}
    variables = {name: (("chain", "draw"), array) for name, array in stats.items()}
    coords = {"chain": np.arange(chains), "draw": np.arange(draws)}
    return Sample({**drawn, "prior_scale": np.exp(log_scale)}, xr.Dataset(variables, coords))
