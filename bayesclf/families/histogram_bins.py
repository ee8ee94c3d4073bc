"""Bins of a histogram: runs of neighboring cells, all of one feature at once, or those of given cuts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, softmax

from bayesclf.families import dirichlet
from bayesclf.families.cut_sets import CutSets
from bayesclf.typing import Array, Integers

NEGLIGIBLE = 1e-13
"""Posterior probability below which an a is left out of averages."""


@dataclass(frozen=True, eq=False)
class Segments:
    """All bins i, …, j − 1 of the m cells of a feature: sums over their cells, [i, j].

    Attributes
    ----------
    counts
        Weight of the rows of each class in each cell, (outcome, cell).
    prior
        a q of each cell, (cell).
    widths
        (cell).
    """

    counts: Array
    prior: Array
    widths: Array

    @cached_property
    def _sums(self) -> tuple[Array, Array, Array]:
        """Return a q_b (i, j), n_b (outcome, i, j) and width_b (i, j); 1 where there is no bin.

        Each bin is summed by itself: a difference of sums from the left would lose the small ones.
        """
        none = np.tril(np.ones((len(self.prior) + 1,) * 2, dtype=bool))
        return tuple(np.where(none, 1.0, run_sums(values)) for values in (self.prior, self.counts, self.widths))  # type: ignore[return-value]

    @cached_property
    def cuts(self) -> CutSets:
        """The posterior of the set of cuts."""
        prior, counts, widths = self._sums
        gains = (gammaln(prior + counts) - gammaln(prior)).sum(axis=0)
        return CutSets(gains - counts.sum(axis=0) * np.log(widths))

    def log_evidence(self) -> float:
        """Return the log density of the rows in their order, θ and cuts integrated out."""
        if not self.counts.any():
            return 0.0
        return self.cuts.log_sum() + self._log_totals

    def most_probable(self) -> tuple[NDArray[np.bool_], float]:
        """Return which cells begin a bin of the most probable cuts, (cell), and the log density with these cuts."""
        begins, log_joint = self.cuts.most_probable()
        return begins, log_joint + self._log_totals

    @property
    def _log_totals(self) -> float:
        """Return Σ_k log Γ(a)/Γ(a + n_k)."""
        a, n = self.prior.sum(), self.counts.sum(axis=1)
        return float((gammaln(a) - gammaln(a + n)).sum())

    def with_counts(self, counts: Array) -> Self:
        """Return the same with other counts."""
        return replace(self, counts=counts)

    def mean(self) -> Array:
        """Return the expected probability of each cell, (outcome, cell)."""
        prior, counts, widths = self._sums
        theta = (prior + counts) / (self.prior.sum() + self.counts.sum(axis=1))[:, None, None]
        density = self.cuts.probabilities() * theta / widths
        # Of all bins that hold a cell: those that begin at it or before, and end after it.
        within = np.cumsum(np.cumsum(density[:, :, ::-1], axis=2)[:, :, ::-1], axis=1)
        cell = np.arange(len(self.prior))
        return np.asarray(within[:, cell, cell + 1] * self.widths)

    def draw(self, rng: np.random.Generator, draws: int) -> Array:
        """Draw cuts, then θ: the cells' probabilities, (draw, outcome, cell)."""
        begins = self.cuts.draw(rng, draws)

        def theta(alpha: Array, sizes: tuple[int, ...]) -> Array:
            """Draw θ of the bins given where they begin."""
            with np.errstate(divide="ignore"):  # a cell that begins no bin has α = 0, and no share
                return np.asarray(dirichlet.draw(alpha, sizes, rng, 1)[0])

        return self.given(begins, theta, self._drawn_shares(begins, rng))

    def _drawn_shares(self, begins: NDArray[np.bool_], rng: np.random.Generator) -> Array | None:
        """Draw the share of each cell in its bin, (draw, cell); None where it follows from the widths."""
        return None

    def given(
        self,
        begins: NDArray[np.bool_],
        theta_of: Callable[[Array, tuple[int, ...]], Array],
        shares: Array | None = None,
    ) -> Array:
        """Return the probabilities of the cells (draw, outcome, cell) given sets of cuts.

        Parameters
        ----------
        begins
            Which cells begin a bin, (draw, cell).
        theta_of
            θ from the concentration of the bins, both in the cell that begins each, and 0 in others.
        shares
            Of each cell in its bin, (draw, cell); by default in proportion to the widths.
        """
        prior, counts, widths = self._sums
        cell = np.arange(begins.shape[1])
        first = np.maximum.accumulate(np.where(begins, cell, 0), axis=1)
        later = np.where(begins, cell, len(cell))
        after = np.concatenate([later[:, 1:], np.full((len(begins), 1), len(cell))], axis=1)
        end = np.minimum.accumulate(after[:, ::-1], axis=1)[:, ::-1]
        alpha = np.moveaxis(prior[first, end] + counts[:, first, end], 0, 1)
        theta = theta_of(np.where(begins[:, None], alpha, 0.0), (len(cell),))
        of_bin = np.take_along_axis(theta, np.broadcast_to(first[:, None], theta.shape), axis=2)
        if shares is None:
            shares = self.widths / widths[first, end]
        return of_bin * shares[:, None]


@dataclass(frozen=True, eq=False)
class Smoothings:
    """The bins of a feature under several a, each as probable a priori.

    Attributes
    ----------
    each
        The bins under each.
    """

    each: tuple[Segments, ...]

    @classmethod
    def of(cls, a: tuple[float, ...], counts: Array, shares: Array, widths: Array) -> Smoothings:
        """Return the bins under each a; other arguments as in `Segments`, q being the shares."""
        return cls(tuple(Segments(counts, value * shares, widths) for value in a))

    def with_counts(self, counts: Array) -> Smoothings:
        """Return the same with other counts."""
        return Smoothings(tuple(segments.with_counts(counts) for segments in self.each))

    @cached_property
    def _log_evidences(self) -> Array:
        return np.array([segments.log_evidence() for segments in self.each])

    @cached_property
    def weights(self) -> Array:
        """P(a | the counts)."""
        return np.asarray(softmax(self._log_evidences))

    def log_evidence(self) -> float:
        """Return the log density of the rows in their order, a, cuts and θ integrated out."""
        return float(np.logaddexp.reduce(self._log_evidences) - np.log(len(self.each)))

    def mean(self) -> Array:
        """Return the expected probability of each cell, (outcome, cell)."""
        pairs = zip(self.weights, self.each, strict=True)
        return np.sum([weight * segments.mean() for weight, segments in pairs if weight > NEGLIGIBLE], axis=0)

    @cached_property
    def most_probable(self) -> tuple[Segments, NDArray[np.bool_]]:
        """The bins under the most probable pair of a and cuts, and which cells begin one, (cell)."""
        found = [segments.most_probable() for segments in self.each]
        best = int(np.argmax([log_joint for _, log_joint in found]))
        return self.each[best], found[best][0]

    def map(self) -> Array:
        """Return the cells' probabilities (1, outcome, cell) given that pair, θ at its mode in the softmax basis."""
        segments, begins = self.most_probable
        return segments.given(begins[None], dirichlet.normalize)

    def draw(self, rng: np.random.Generator, draws: int) -> Array:
        """Draw a, cuts, then θ: the cells' probabilities, (draw, outcome, cell)."""
        of_a = rng.choice(len(self.each), size=draws, p=self.weights)
        out = np.empty((draws, *self.each[0].counts.shape))
        for place, segments in enumerate(self.each):
            own = of_a == place
            if own.any():
                out[own] = segments.draw(rng, int(own.sum()))
        return out


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of one set of cuts of each feature.

    Attributes
    ----------
    sizes
        Number of bins of each feature.
    of_cell
        The bin of each cell, counted within its feature, (cell).
    cell
        The bin of each cell among those of all features, (cell).
    widths
        Width of each cell.
    """

    sizes: tuple[int, ...]
    of_cell: Integers
    cell: Integers
    widths: Array

    @classmethod
    def of(cls, begins: NDArray[np.bool_], cells: tuple[int, ...], widths: Array) -> Bins:
        """Return bins from the cells that begin one, and the number of cells of each feature."""
        cell = np.cumsum(begins) - 1
        sizes = np.add.reduceat(begins.astype(np.intp), dirichlet.starts(cells))
        of_cell = cell - np.repeat(np.cumsum(sizes) - sizes, cells)
        return cls(tuple(sizes.tolist()), of_cell, cell, widths)

    def sums(self, values: Array) -> Array:
        """Return the sums over the cells of each bin, (…, bin), of values (…, cell)."""
        return np.asarray(np.add.reduceat(values, np.flatnonzero(np.diff(self.cell, prepend=-1)), axis=-1))

    def spread(self, theta: Array) -> Array:
        """Return the probabilities of cells (…, cell), by their widths, from those of bins (…, bin)."""
        return np.asarray(theta[..., self.cell] * self.widths / self.sums(self.widths)[self.cell])


def run_sums(values: Array) -> Array:
    """Return the sum of the values i, …, j − 1, (…, i, j), of values (…, cell)."""
    size = values.shape[-1]
    upper = np.triu(np.broadcast_to(values[..., None, :], (*values.shape[:-1], size, size)))
    out = np.zeros((*values.shape[:-1], size + 1, size + 1))
    np.cumsum(upper, axis=-1, out=out[..., :-1, 1:])
    return out
