"""The grid of a learned scale: on densities whose integral, spread and mode are known."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

from bayesclf.models.logistic.scale_grid import END_MASS, SPACING, Node, ScaleGrid, explore, mode
from bayesclf.typing import Array


def skewed(t: Array | float, width: float, center: float) -> Array:
    """Log density of a log-gamma variable of unit mean, stretched and moved: its left tail is the longer one."""
    z = (np.asarray(t) - center) / width
    return np.asarray(2 * z - np.exp(z))


CASES = [(1.0, 0.0), (0.03, 2.345), (0.3, -7.1), (4.0, 1.0)]
"""Width and place, far from where the search starts and narrower than its first step among them."""


def grid_of(width: float, center: float) -> tuple[ScaleGrid, list[float]]:
    """Return the grid, and at which points the density was evaluated."""
    visited: list[float] = []

    def make(t: float, start: Array) -> Node:
        visited.append(t)
        np.testing.assert_equal(start.shape, (1,))
        return Node(t, np.array([t]), float(skewed(t, width, center)))

    (grid,) = explore(lambda asked: [[make(*one) for one in asked[0]]], [make(0.0, np.zeros(1))], spread=1.5)
    return grid, visited


@pytest.mark.parametrize(("width", "center"), CASES)
def test_it_holds_the_mass_and_resolves_it(width: float, center: float) -> None:
    grid, visited = grid_of(width, center)
    peak = float(skewed(center + width * np.log(2), width, center))
    around = [center + width * z for z in (-12, -2, 0, 2, 4)]
    exact = integrate.quad(
        lambda t: np.exp(skewed(t, width, center) - peak), around[0], around[-1], points=around[1:-1]
    )
    assert grid.log_evidence == pytest.approx(np.log(exact[0]) + peak, abs=0.02)
    t, weights = grid.log_scales, grid.weights
    assert weights[[0, -1]].max() < END_MASS
    assert grid.sd == pytest.approx(width * 0.8031, rel=0.04)  # √ψ′(2), of a log-gamma variable of shape 2
    near = np.abs(t - center - width * np.log(2)) < width
    assert np.diff(t[near]).max() <= SPACING * grid.sd
    assert len(visited) == len(set(visited)) == len(grid.nodes) < 60
    cells = grid.cells
    assert [cell.center for cell in cells] == list(t)
    assert all(a.high == b.low for a, b in pairwise(cells))
    assert sum(cell.width for cell in cells) == pytest.approx(t[-1] - t[0])


@pytest.mark.parametrize(("width", "center"), CASES)
def test_the_mode_is_refined_beyond_the_grid(width: float, center: float) -> None:
    grid, _ = grid_of(width, center)
    best = mode(lambda some: [Node(t, start, float(skewed(t, width, center))) for t, start in some], grid)
    assert best.log_scale == pytest.approx(center + width * np.log(2), abs=1e-4 * width)


def test_two_modes_are_both_found() -> None:
    """Their masses come out though the second is narrow and lies in the flank of the first."""

    def log_density(t: float) -> float:
        return float(np.logaddexp(-0.5 * (t + 2) ** 2, np.log(0.5 / 0.2) - 0.5 * ((t - 1.7) / 0.2) ** 2))

    def make(t: float, start: Array) -> Node:
        return Node(t, start, log_density(t))

    (grid,) = explore(lambda asked: [[make(*one) for one in asked[0]]], [make(0.0, np.zeros(1))], spread=1.5)
    assert grid.log_evidence == pytest.approx(0.5 * np.log(2 * np.pi) + np.log(1.5), abs=0.03)


def test_grids_of_several_priors_look_at_the_rows_together() -> None:
    """Masses are shares of all, so that a hopeless prior has few nodes, and no look is made for one grid alone."""
    places, levels, looks = (0.3, 2.0, 0.0), (0.0, -1.0, -30.0), []

    def log_density(which: int, t: float) -> float:
        return levels[which] + float(skewed(t, 0.3, places[which]))

    def make(asked: Sequence[Sequence[tuple[float, Array]]]) -> list[list[Node]]:
        looks.append([len(own) for own in asked])
        return [[Node(t, start, log_density(i, t)) for t, start in own] for i, own in enumerate(asked)]

    firsts = [Node(0.0, np.zeros(1), log_density(i, 0.0)) for i in range(3)]
    grids = explore(make, firsts, spread=1.5)
    for grid, level in zip(grids, levels, strict=True):
        assert grid.log_evidence == pytest.approx(level + np.log(0.3), abs=0.05 if level > -30 else 1.0)
    assert len(grids[2].nodes) < 8 < min(len(grids[0].nodes), len(grids[1].nodes))
    assert grids[1].share == pytest.approx(np.exp(-1) / (1 + np.exp(-1)), abs=0.02)
    assert [sum(own) for own in zip(*looks, strict=True)] == [len(grid.nodes) - 1 for grid in grids]
    assert len(looks) < sum(len(grid.nodes) for grid in grids) / 2
