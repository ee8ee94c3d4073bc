"""Runs of neighboring levels: bins within which the levels' shares are learned, the same for all classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self, override

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from bayesclf.families import dirichlet
from bayesclf.families.cut_sets import CutSets
from bayesclf.families.histogram_bins import Segments, run_sums
from bayesclf.typing import Array


@dataclass(frozen=True, eq=False)
class LevelRuns(Segments):
    """All runs i, …, j − 1 of the m levels of a feature; made by `of`.

    The shares of the levels of a run are φ ~ Dirichlet(α + n), n the counts of all classes: they are expected in
    proportion to α + n, which thereby takes the place of the widths of a histogram's cells.
    """

    @classmethod
    def of(cls, counts: Array, prior: Array) -> Self:
        """Return the runs of levels with such counts (outcome, level) and α (level)."""
        return cls(counts, prior, prior + counts.sum(axis=0))

    @override
    def with_counts(self, counts: Array) -> Self:
        """Return the same with other counts."""
        return self.of(counts, self.prior)

    @cached_property
    @override
    def cuts(self) -> CutSets:
        """The posterior of the set of cuts."""
        prior, counts, alpha = self._sums
        of_runs = (gammaln(prior + counts) - gammaln(prior)).sum(axis=0)
        of_levels = run_sums(gammaln(self.widths) - gammaln(self.prior))
        return CutSets(of_runs + of_levels - (gammaln(alpha) - gammaln(prior)))

    @override
    def _drawn_shares(self, begins: NDArray[np.bool_], rng: np.random.Generator) -> Array:
        """Draw φ of the runs, which one after another are the simplexes of all draws in a row."""
        sizes = np.diff(np.append(np.flatnonzero(begins), begins.size))
        alpha = np.tile(self.widths, len(begins))
        return dirichlet.draw(alpha, tuple(sizes.tolist()), rng, 1).reshape(begins.shape)
