"""Sums over all ways to cut a row of cells into bins, by dynamic programming."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from bayesclf.typing import Array, Integers


@dataclass(frozen=True, eq=False)
class CutSets:
    """A distribution of the sets of cuts between m cells in a row, a set of B − 1 cuts making B bins.

    .. math:: P(C) ∝ p(B) \\binom{m − 1}{B − 1}^{−1} \\prod_{b} e^{s_b}, p(B) = 1/m,

    where bin b is the cells i, …, j − 1 and has the score s_ij. Sums over all 2^(m − 1) sets are recursions from one
    cut to the next (Barry & Hartigan 1992). Scores are measured from those of the best path, so that sums neither
    overflow nor underflow, whatever the number of rows.

    Attributes
    ----------
    score
        s_ij, (m + 1, m + 1); entries with j ≤ i are not used.

    References
    ----------
    Barry & Hartigan (1992), *Product partition models for change point problems*, Annals of Statistics 20.
    Knuth (2019), *Optimal data-based binning for histograms and histogram-based probability density models*.
    """

    score: Array

    @property
    def cells(self) -> int:
        """Number m of cells."""
        return len(self.score) - 1

    @cached_property
    def log_prior(self) -> Array:
        """Log probability of one set of cuts by its number of bins less 1, (m)."""
        m, cuts = self.cells, np.arange(self.cells)
        return np.asarray(-np.log(m) - gammaln(m) + gammaln(cuts + 1) + gammaln(m - cuts))

    @cached_property
    def _potential(self) -> Array:
        """Return the largest sum of scores of the cells before each cut, (m + 1)."""
        best = np.zeros(self.cells + 1)
        for j in range(1, self.cells + 1):
            best[j] = (best[:j] + self.score[:j, j]).max()
        return best

    @cached_property
    def _weight(self) -> Array:
        """Return e^s of each bin, measured from the best path, (m + 1, m + 1); at most 1, and 0 where j ≤ i."""
        best = self._potential
        upper = np.triu(np.ones(self.score.shape, dtype=bool), 1)
        return np.exp(np.where(upper, self.score + best[:, None] - best, -np.inf))

    @cached_property
    def _before(self) -> Array:
        """Return the sum over all ways to cut the cells before a cut into b bins, (b, cut), b = 0, …, m."""
        out = np.zeros((self.cells + 1, self.cells + 1))
        out[0, 0] = 1.0
        for b in range(self.cells):
            out[b + 1] = out[b] @ self._weight
        return out

    @cached_property
    def _after(self) -> Array:
        """Return the same of the cells after each cut."""
        out = np.zeros((self.cells + 1, self.cells + 1))
        out[0, -1] = 1.0
        for b in range(self.cells):
            out[b + 1] = self._weight @ out[b]
        return out

    @cached_property
    def _bins(self) -> Array:
        """Return the sum over all sets with each number of bins less 1 under the prior, (m)."""
        return np.asarray(self._before[1:, -1] * np.exp(self.log_prior))

    def log_sum(self) -> float:
        """Return log Σ_C p(C) Π_b e^(s_b)."""
        return float(self._potential[-1] + np.log(self._bins.sum()))

    def probabilities(self) -> Array:
        """Return the probability that the cells i, …, j − 1 are a bin, (m + 1, m + 1)."""
        m = self.cells
        total = np.add.outer(np.arange(m), np.arange(m))  # bins before and after, the number of bins less 1
        prior = np.where(total < m, np.exp(self.log_prior[np.minimum(total, m - 1)]), 0.0)
        return np.asarray(self._weight * (self._before[:m].T @ prior @ self._after[:m]) / self._bins.sum())

    def most_probable(self) -> tuple[NDArray[np.bool_], float]:
        """Return which cells begin a bin of the most probable set, (m), and log P(C) + Σ_b s_b of that set."""
        m = self.cells
        upper = np.triu(np.ones(self.score.shape, dtype=bool), 1)
        score = np.where(upper, self.score, -np.inf)
        best, came = np.full((m + 1, m + 1), -np.inf), np.zeros((m + 1, m + 1), dtype=np.intp)
        best[0, 0] = 0.0
        for b in range(m):
            paths = best[b][:, None] + score
            came[b + 1] = paths.argmax(axis=0)
            best[b + 1] = paths[came[b + 1], np.arange(m + 1)]
        log_joint = best[1:, m] + self.log_prior
        bins, cut = int(log_joint.argmax()) + 1, m
        begins = np.zeros(m, dtype=bool)
        for b in range(bins, 0, -1):
            cut = came[b, cut]
            begins[cut] = True
        return begins, float(log_joint.max())

    def draw(self, rng: np.random.Generator, draws: int) -> NDArray[np.bool_]:
        """Draw sets: which cells begin a bin, (draw, m)."""
        bins = 1 + _choices(np.broadcast_to(self._bins, (draws, self.cells)), rng)
        begins = np.zeros((draws, self.cells), dtype=bool)
        cut = np.full(draws, self.cells)
        going = np.arange(draws)
        while len(going):
            bins[going] -= 1
            cut[going] = _choices(self._before[bins[going]] * self._weight[:, cut[going]].T, rng)
            begins[going, cut[going]] = True
            going = going[bins[going] > 0]
        return begins


def _choices(weights: Array, rng: np.random.Generator) -> Integers:
    """Draw a position for each row of weights (row, position)."""
    below = np.cumsum(weights, axis=1)
    return np.asarray((rng.random(len(weights)) * below[:, -1])[:, None] >= below).sum(axis=1)
