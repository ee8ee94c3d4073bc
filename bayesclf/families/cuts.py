"""Sets of cuts between cells in a row: their posterior, and the bins between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, softmax

from bayesclf.arrays import Array, Integers
from bayesclf.families import dirichlet


@dataclass(frozen=True, eq=False)
class CutSets:
    """Distributions of the sets of cuts between m cells in a row, a set of B − 1 cuts making B bins.

    .. math:: P(C) ∝ p(B) \\binom{m − 1}{B − 1}^{−1} \\prod_{b} e^{s_b}, p(B) = 1/m,

    where bin b is the cells i, …, j − 1 and has the score s_ij. Sums over all 2^(m − 1) sets are recursions from one
    cut to the next (Barry & Hartigan 1992). Scores are measured from those of the best path, so that sums neither
    overflow nor underflow, whatever the number of rows.

    `score`: s_ij of each distribution, (a, m + 1, m + 1); entries with j ≤ i are not used.

    See Barry & Hartigan (1992), *Product partition models for change point problems*, Annals of Statistics 20. Knuth
    (2019), *Optimal data-based binning for histograms and histogram-based probability density models*.
    """

    score: Array

    @property
    def cells(self) -> int:
        """Number m of cells."""
        return len(self.score[0]) - 1

    @cached_property
    def log_prior(self) -> Array:
        """Log probability of one set of cuts by its number of bins less 1, (m)."""
        m, cuts = self.cells, np.arange(self.cells)
        return np.asarray(-np.log(m) - gammaln(m) + gammaln(cuts + 1) + gammaln(m - cuts))

    @cached_property
    def _potential(self) -> Array:
        """Return the largest sum of scores of the cells before each cut, (a, m + 1)."""
        best = np.zeros(self.score.shape[:2])
        for j in range(1, self.cells + 1):
            best[:, j] = (best[:, :j] + self.score[:, :j, j]).max(axis=1)
        return best

    @cached_property
    def _upper(self) -> Array:
        """Return the scores, −∞ where j ≤ i."""
        return np.where(np.triu(np.ones(self.score.shape[1:], dtype=bool), 1), self.score, -np.inf)

    @cached_property
    def _weight(self) -> Array:
        """Return e^s of each bin, measured from the best path, (a, m + 1, m + 1); at most 1, and 0 where j ≤ i."""
        return np.exp(self._upper + self._potential[:, :, None] - self._potential[:, None])

    @cached_property
    def _before(self) -> Array:
        """Return the sum over all ways to cut the cells before a cut into b bins, (b, a, cut), b = 0, …, m."""
        out = np.zeros((self.cells + 1, *self.score.shape[:2]))
        out[0, :, 0] = 1.0
        for b in range(self.cells):
            out[b + 1] = (out[b, :, None] @ self._weight)[:, 0]
        return out

    @cached_property
    def _after(self) -> Array:
        """Return the same of the cells after each cut."""
        out = np.zeros_like(self._before)
        out[0, :, -1] = 1.0
        for b in range(self.cells):
            out[b + 1] = (self._weight @ out[b, :, :, None])[..., 0]
        return out

    @cached_property
    def _bins(self) -> Array:
        """Return the sum over all sets with each number of bins less 1 under the prior, (a, m)."""
        return np.asarray(self._before[1:, :, -1].T * np.exp(self.log_prior))

    def log_sum(self) -> Array:
        """Return log Σ_C p(C) Π_b e^(s_b), (a)."""
        return np.asarray(self._potential[:, -1] + np.log(self._bins.sum(axis=1)))

    def probabilities(self) -> Array:
        """Return the probability that the cells i, …, j − 1 are a bin, (a, m + 1, m + 1)."""
        m = self.cells
        total = np.add.outer(np.arange(m), np.arange(m))  # bins before and after, the number of bins less 1
        prior = np.where(total < m, np.exp(self.log_prior[np.minimum(total, m - 1)]), 0.0)
        both = np.moveaxis(self._before[:m], 0, 2) @ prior @ np.moveaxis(self._after[:m], 0, 1)
        return np.asarray(self._weight * both / self._bins.sum(axis=1)[:, None, None])

    def most_probable(self, log_weight: Array) -> tuple[int, NDArray[np.bool_]]:
        """Return the distribution and the set, as which cells begin a bin, (m), of largest joint probability.

        The distributions have log weights (a).
        """
        m, every = self.cells, np.arange(len(self.score))[:, None]
        best, came = np.full((m + 1, *self.score.shape[:2]), -np.inf), np.zeros((m + 1, *self.score.shape[:2]), np.intp)
        best[0, :, 0] = 0.0
        for b in range(m):
            paths = best[b][:, :, None] + self._upper
            came[b + 1] = paths.argmax(axis=1)
            best[b + 1] = paths[every, came[b + 1], np.arange(m + 1)]
        log_joint = best[1:, :, m].T + self.log_prior + log_weight[:, None]
        place, bins = divmod(int(log_joint.argmax()), m)
        begins, cut = np.zeros(m, dtype=bool), m
        for b in range(bins + 1, 0, -1):
            cut = came[b, place, cut]
            begins[cut] = True
        return place, begins

    def draw(self, place: int, rng: np.random.Generator, draws: int) -> NDArray[np.bool_]:
        """Draw sets of one of the distributions: which cells begin a bin, (draw, m)."""
        bins = 1 + _choices(np.broadcast_to(self._bins[place], (draws, self.cells)), rng)
        begins = np.zeros((draws, self.cells), dtype=bool)
        cut = np.full(draws, self.cells)
        going = np.arange(draws)
        while len(going):
            bins[going] -= 1
            cut[going] = _choices(self._before[bins[going], place] * self._weight[place][:, cut[going]].T, rng)
            begins[going, cut[going]] = True
            going = going[bins[going] > 0]
        return begins


def _choices(weights: Array, rng: np.random.Generator) -> Integers:
    """Draw a position for each row of weights (row, position)."""
    below = np.cumsum(weights, axis=1)
    return np.asarray((rng.random(len(weights)) * below[:, -1])[:, None] >= below).sum(axis=1)


@dataclass(frozen=True, eq=False)
class Segments:
    """All bins i, …, j − 1 of the m cells of a feature, under several a, each as probable a priori.

    The cells of a bin share its probability in proportion to given widths: the density within the bin is constant.
    Without widths the shares are φ ~ Dirichlet(α + n), n the counts of all classes; α + n takes the widths' place.

    `counts`: Weight of the rows of each class in each cell, (outcome, cell). `prior`: α = a q of each cell, (a, cell).
    `given`: Widths, (cell); None where the shares within bins are learned.
    """

    counts: Array
    prior: Array
    given: Array | None = None

    @cached_property
    def widths(self) -> Array:
        """What the cells of a bin share its probability in proportion to, (a, cell)."""
        learned = self.prior + self.counts.sum(axis=0)
        return learned if self.given is None else np.broadcast_to(self.given, learned.shape)

    @cached_property
    def _sums(self) -> tuple[Array, Array, Array]:
        """Return α_b (a, i, j), n_b (outcome, i, j) and width_b (a, i, j); 1 where there is no bin.

        Each bin is summed by itself: a difference of sums from the left would lose the small ones.
        """
        none = np.tril(np.ones((self.prior.shape[1] + 1,) * 2, dtype=bool))
        return tuple(np.where(none, 1.0, run_sums(values)) for values in (self.prior, self.counts, self.widths))  # type: ignore[return-value]

    @cached_property
    def cuts(self) -> CutSets:
        """The posteriors of the set of cuts."""
        prior, counts, widths = self._sums
        gains = (gammaln(prior[:, None] + counts) - gammaln(prior[:, None])).sum(axis=1)
        if self.given is not None:
            return CutSets(gains - counts.sum(axis=0) * np.log(widths))
        of_shares = run_sums(gammaln(self.widths) - gammaln(self.prior))
        return CutSets(gains + of_shares - (gammaln(widths) - gammaln(prior)))

    @cached_property
    def _log_totals(self) -> Array:
        """Return Σ_k log Γ(a)/Γ(a + n_k), (a)."""
        a = self.prior.sum(axis=1, keepdims=True)
        return np.asarray((gammaln(a) - gammaln(a + self.counts.sum(axis=1))).sum(axis=1))

    @cached_property
    def log_evidences(self) -> Array:
        """The log density of the rows in their order under each a, θ, φ and cuts integrated out, (a)."""
        return self.cuts.log_sum() + self._log_totals if self.counts.any() else np.zeros(len(self.prior))

    @cached_property
    def weights(self) -> Array:
        """P(a | the counts)."""
        return np.asarray(softmax(self.log_evidences))

    def log_evidence(self) -> float:
        """Return the log density of the rows, a integrated out too."""
        return float(np.logaddexp.reduce(self.log_evidences) - np.log(len(self.prior)))

    @cached_property
    def _theta(self) -> Array:
        """Return the expected probability of each bin, (a, outcome, i, j)."""
        prior, counts, _ = self._sums
        return np.asarray((prior[:, None] + counts) / np.add.outer(self.prior.sum(axis=1), self._rows)[..., None, None])

    @property
    def _rows(self) -> Array:
        return np.asarray(self.counts.sum(axis=1))

    def mean(self) -> Array:
        """Return the expected probability of each cell, (outcome, cell)."""
        density = self.cuts.probabilities()[:, None] * self._theta / self._sums[2][:, None]
        return np.tensordot(self.weights, _of_cells(density) * self.widths[:, None], 1)

    def mean_without(self, label: int) -> Array:
        """Return the expected probability of each cell without one of its rows of a class, (outcome, cell).

        With p_k without the row and p = p_label, it is E[p_k/p]/E[1/p] given all rows: P(C | D without x) is
        proportional to P(C | D)/p(x | C, D without x), which averages p_k over the cuts.
        """
        prior, counts, widths = self._sums
        # Bins without a row of the class have no cell that could lose one.
        there, theta = counts[label] >= 1, self._theta.copy()
        less = np.where(there, prior + counts[label] - 1, 1.0)
        less /= (self.prior.sum(axis=1) + max(self._rows[label] - 1, 0.0))[:, None, None]
        theta[:, label] = less
        of_bins, lost = self.cuts.probabilities() / less, float(self.given is None)
        width = np.where(self.counts[label] >= 1, self.widths - lost, 1.0)
        inverse = self.weights @ (_of_cells(of_bins * (widths - lost)) / width)
        return np.asarray(np.tensordot(self.weights, _of_cells(of_bins[:, None] * theta), 1) / inverse)

    @cached_property
    def most_probable(self) -> tuple[int, NDArray[np.bool_]]:
        """The most probable a, by its position, and cuts, as which cells begin a bin, (cell)."""
        return self.cuts.most_probable(self._log_totals)

    def map(self) -> Array:
        """Return the cells' probabilities (1, outcome, cell) given these, θ at its mode in the softmax basis."""
        place, begins = self.most_probable
        return self.cells(place, begins[None])

    def draw(self, rng: np.random.Generator, draws: int) -> Array:
        """Draw a, cuts, then θ and φ: the cells' probabilities, (draw, outcome, cell)."""
        of_a = rng.choice(len(self.prior), size=draws, p=self.weights)
        out = np.empty((draws, *self.counts.shape))
        for place in np.unique(of_a):
            own = of_a == place
            out[own] = self.cells(place, self.cuts.draw(place, rng, int(own.sum())), rng)
        return out

    def cells(self, place: int, begins: NDArray[np.bool_], rng: np.random.Generator | None = None) -> Array:
        """Return the probabilities of cells (draw, outcome, cell) given a and which cells begin a bin, (draw, cell).

        θ and φ are drawn, or without a generator are at their means.
        """
        # The bins of all draws in a row: those of a draw are a simplex, and so are the cells of a bin.
        starts, draws = np.flatnonzero(begins), len(begins)
        sizes = np.diff(np.append(starts, begins.size))
        widths, lengths = np.tile(self.widths[place], draws), tuple(sizes.tolist())
        drawn = rng is not None and self.given is None
        shares = dirichlet.draw(widths, lengths, rng, 1)[0] if drawn else dirichlet.normalize(widths, lengths)  # type: ignore[arg-type]
        alpha = np.zeros((draws, *self.counts.shape))
        of_bins = np.add.reduceat(np.tile(self.prior[place] + self.counts, draws), starts, axis=1)
        np.moveaxis(alpha, 1, 0)[:, begins] = of_bins
        with np.errstate(divide="ignore"):  # a cell that begins no bin has α = 0, and no share
            size = (begins.shape[1],)
            theta = dirichlet.normalize(alpha, size) if rng is None else dirichlet.draw(alpha, size, rng, 1)[0]
        flat = np.repeat(np.moveaxis(theta, 1, 0)[:, begins], sizes, axis=1) * shares
        return np.moveaxis(flat.reshape(len(flat), *begins.shape), 0, 1)


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of one set of cuts of each feature, whose probabilities are variables of PyMC.

    `begins`: Which cells begin a bin, (cell). `cells`: Number of cells of each feature. `widths`: What the cells of a
    bin share its probability in proportion to, (cell).
    """

    begins: NDArray[np.bool_]
    cells: tuple[int, ...]
    widths: Array

    @cached_property
    def of_cell(self) -> Integers:
        """The bin of each cell among those of all features, (cell)."""
        return np.asarray(np.cumsum(self.begins) - 1)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of bins of each feature."""
        return tuple(np.add.reduceat(self.begins.astype(np.intp), dirichlet.starts(self.cells)).tolist())

    def sums(self, values: Array) -> Array:
        """Return the sums over the cells of each bin, (…, bin), of values (…, cell)."""
        return np.asarray(np.add.reduceat(values, np.flatnonzero(self.begins), axis=-1))

    def split(self, of_bins: Array) -> Array:
        """Return the probabilities of cells, (…, cell), from those of bins."""
        return np.asarray(of_bins[..., self.of_cell] * self.widths / self.sums(self.widths)[self.of_cell])

    def codes(self, cells: Integers) -> Integers:
        """Return the bin of each cell (row, feature) within its feature, −1 where there is no cell."""
        return np.where(cells >= 0, self.of_cell[cells] - dirichlet.starts(self.sizes), -1)


def _of_cells(values: Array) -> Array:
    """Return the sum over all bins that hold a cell, (…, cell), of values (…, i, j) of bins."""
    # They begin at it or before, and end after it.
    within = np.cumsum(np.cumsum(values[..., ::-1], axis=-1)[..., ::-1], axis=-2)
    cell = np.arange(values.shape[-1] - 1)
    return np.asarray(within[..., cell, cell + 1])


def run_sums(values: Array) -> Array:
    """Return the sum of the values i, …, j − 1, (…, i, j), of values (…, cell)."""
    size = values.shape[-1]
    upper = np.triu(np.broadcast_to(values[..., None, :], (*values.shape[:-1], size, size)))
    out = np.zeros((*values.shape[:-1], size + 1, size + 1))
    np.cumsum(upper, axis=-1, out=out[..., :-1, 1:])
    return out
