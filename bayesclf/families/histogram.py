"""Histograms: numbers in cells, which are cut into bins and averaged over where they are cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, partial
from itertools import compress, pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, softmax

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import Whole, require
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes, Family, Statistics, require_each, require_positive
from bayesclf.families.categorical import Categorical, CategoricalStatistics
from bayesclf.families.cells import REAL, ColumnValues, ValueCounts
from bayesclf.families.page_tables import PageVariable
from bayesclf.families.prior_lines import PriorLine, listing

ROWS_PER_CELL = 5
"""Least number of pooled rows between quantiles that are neighbors."""

HEAVY_ROWS = 10
"""Least number of pooled rows with one value that may have a cell of its own, as wide as the step."""

TOGETHER = 16
"""Features with as many cells whose evidence is computed together, as NumPy takes long for each small array."""

GRID = (1.0, 4.0, 16.0, 64.0, 256.0)
"""Values of a that are averaged over by default."""


@dataclass(frozen=True)
class Cells:
    """The cells of one feature: the open one on the left, those between borders, the open one on the right.

    `borders`: In increasing order, one fewer than cells. `widths`: Width of each cell; that of an open one is the
    integral of its density relative to that at its border. `shares`: q, the share of each cell in the prior, which add
    up to 1. `decimals`: Number of decimals that the values are recorded with, as in `ValueCounts`.
    """

    borders: Array
    widths: Array
    shares: Array
    decimals: float

    @classmethod
    def of(cls, column: ColumnValues, quantiles: int) -> Self:
        """Return cells between pooled quantiles of a column, at most so many, and their shares in the prior."""
        values, weight, step = column.values, column.weight, column.step
        if not len(values):
            values, weight = np.zeros(1), np.zeros(1)
        n = weight.sum()
        most = min(quantiles, max(1, int(n / ROWS_PER_CELL)))
        heavy = (weight >= max(HEAVY_ROWS, n / quantiles)) & (len(values) > 1)
        after = np.searchsorted(np.cumsum(weight), n * np.arange(1, most) / most * (1 - 1e-12))
        of_heavy = np.flatnonzero(heavy)
        after = np.unique(np.concatenate([after, of_heavy, of_heavy - 1]))
        after = after[(after >= 0) & (after < len(values) - 1)]
        inner = _borders(values[after], values[after + 1], heavy[after], heavy[after + 1], step)
        borders = np.concatenate(([values[0] - step / 2], inner, [values[-1] + step / 2]))
        open_width = max((values[-1] - values[0]) / (n + 1), step)
        widths = np.concatenate(([open_width], np.maximum(np.diff(borders), step / 2), [open_width]))
        in_cell = _in_cells(borders, values, weight)
        return cls(borders, widths, (in_cell + 1) / (n + len(widths)), column.decimals)

    def codes(self, values: Array) -> Integers:
        """Return the number of the cell of each value (value); −1 for NaN."""
        return np.where(np.isnan(values), -1, np.searchsorted(self.borders, values, side="right"))

    def log_shape(self, values: Array) -> Array:
        """Return the log density of values (value) relative to that of their cell: below 0 in open cells."""
        out = np.zeros(len(values))
        for beyond, width in ((self.borders[0] - values, self.widths[0]), (values - self.borders[-1], self.widths[-1])):
            is_open = beyond > 0
            out[is_open] = -2 * np.log1p(beyond[is_open] / width)
        return out

    def sample(self, code: Integers, rng: np.random.Generator) -> Array:
        """Draw a value in each cell (value), in the decimals of the feature."""
        borders, widths, u = self.borders, self.widths, rng.random(len(code))
        inside = np.concatenate(([borders[0]], borders))[code] + u * widths[code]
        beyond = u / (1 - u)
        x = np.where(code == 0, borders[0] - beyond * widths[0], inside)
        x = np.where(code == len(widths) - 1, borders[-1] + beyond * widths[-1], x)
        return np.round(x, max(int(self.decimals), 0)) if self.decimals < REAL else x


def _in_cells(borders: Array, values: Array, counts: Array) -> Array:
    """Return the counts in each cell, (…, cell), from those of values that increase, (…, value)."""
    starts = np.concatenate(([0], np.searchsorted(values, borders)))
    some = np.diff(starts, append=len(values)) > 0
    out = np.zeros((*counts.shape[:-1], len(starts)))
    out[..., some] = np.add.reduceat(counts, starts[some], axis=-1)
    return out


def _borders(
    left: Array, right: Array, heavy_left: NDArray[np.bool_], heavy_right: NDArray[np.bool_], step: float
) -> Array:
    """Return borders between neighboring values: next to a heavy value where there is a gap, else in the middle."""
    gap = right - left > 1.5 * step
    after, before = gap & heavy_left, gap & heavy_right
    middle = left / 2 + right / 2
    return np.unique(np.concatenate([middle[~after & ~before], left[after] + step / 2, right[before] - step / 2]))


@dataclass(frozen=True, repr=False)
class Histogram(Family[ValueCounts]):
    """p(x_j | y = k) is constant in each bin: θ_kb / width_b, the bins of a feature being those of all classes.

    ========== ============================= ======================================= ============================
    parameter  support                       prior                                   posterior
    ========== ============================= ======================================= ============================
    a          a grid                        uniform                                 ∝ the evidence
    cuts       subsets of the m − 1 borders  uniform over the number B of bins, then ∝ prior · Π_b width_b^(−n_b)
               of the m cells of a feature   over the sets of B − 1 cuts             · Π_k B(a q_b + n_kb)/B(a q_b)
    θ_k | cuts simplex over the bins         Dirichlet(a q_b)                        Dirichlet(a q_b + n_kb)
    ========== ============================= ======================================= ============================

    The cells are set without labels, by at most 64 quantiles of the pooled rows, at least five rows apart; a value
    that many rows share has a cell of its own, as wide as the step that the column is recorded with. q_b is the share
    of pooled rows in bin b, one more for each cell. One more cell on either side is open: its density is
    s²/(s + distance)² instead of a constant, s = range/(n + 1). So no number is impossible.

    A larger a pulls the classes together, and to the shares of the pooled rows: it is learned, for each feature. Where
    families are compared a is 1, as larger ones know the pooled rows too well.

    A hypothesis is a set of cuts and θ; its parameter `theta` has the probability of each cell. Evidence, predictive
    and leave-one-out are sums over all 2^(m − 1) sets of cuts, by dynamic programming (`CutSets`). MLE cuts
    at every border. MAP takes the most probable a and set of cuts, and the mode of θ in the softmax basis. This is its
    posterior mean, (n + a q)/(N + a): the mode on the simplex does not exist where a q_b is below 1 and a bin is empty.
    The mean is over a and the sets of cuts too. In PyMC these are the most probable ones, as NUTS has no discrete
    parameters.

    Parameters
    ----------
    a : float or tuple of float
        Rows that the prior of θ is worth in each class, above 0: a number, or several that are averaged over by their
        evidence.
    quantiles : int
        Largest number of cells between pooled quantiles, at least 1.
    layout, axes, counts, known
        Set by `resolve_prior`: the cells of each feature; counts (outcome, cell) of the rows that a prior has seen
        already; and those of the rows that set the prior, whose most probable a and cuts PyMC takes.

    References
    ----------
    Knuth (2019), *Optimal data-based binning for histograms and histogram-based probability density models*, Digital
    Signal Processing 95. Barry & Hartigan (1992), *Product partition models for change point problems*.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[x / 10] for x in range(40)], [abs(x - 20) < 10 for x in range(40)]
    >>> clf = bc.NaiveBayes({"x0": "histogram"}, random_state=1).fit(X, y)
    >>> clf.predict_proba([[0.2], [2.0], [3.8]], rule="predictive").round(2)
    array([[0.97, 0.03],
           [0.07, 0.93],
           [0.97, 0.03]])
    """

    a: float | tuple[float, ...] = GRID
    quantiles: int = 64
    _: KW_ONLY
    layout: tuple[Cells, ...] = field(default=(), repr=False)
    axes: Axes = field(default=Axes((), ()), repr=False)
    counts: Array = field(default_factory=lambda: np.empty(0), repr=False)
    known: Array = field(default_factory=lambda: np.empty(0), repr=False)
    name: ClassVar[str] = "histogram"
    kind: ClassVar[str] = "number"
    likelihood: ClassVar[str] = "constant in each bin, theta"
    statistics_type: ClassVar[type[Statistics]] = ValueCounts

    def __post_init__(self) -> None:
        require_positive(a=self.a)
        require(Whole(1), quantiles=self.quantiles)

    def resolve_prior(self, statistics: ValueCounts) -> Self:
        """Return the prior with the cells that the pooled rows give, and the most probable cuts given these rows."""
        layout = tuple(Cells.of(column, self.quantiles) for column in statistics.columns)
        prior = replace(self, axes=statistics.axes, layout=layout)
        known = prior.binned(statistics)
        return replace(prior, known=known, counts=np.zeros_like(known))

    def select(self, features: NDArray[np.bool_]) -> Self:
        """Return the family of some of the features, with their cells and counts."""
        return replace(super().select(features), layout=tuple(compress(self.layout, features)))

    def informative(self, statistics: ValueCounts) -> NDArray[np.bool_]:
        """Return False for a feature with one value, or none."""
        return np.asarray(statistics.sizes > 1)

    def priors(self) -> list[PriorLine]:
        """Return the prior of cuts, and of the probabilities of bins given them."""
        values, numbers = listing("a", np.ravel(self.a))
        form = (
            "sets of cuts at quantiles of the column uniform given their number; Dirichlet(a · share of the column in "
            f"each bin), a {'=' if len(numbers) == 1 else 'uniform on'} {values}"
            + ("; all given the rows of an earlier fit" if self.counts.any() else "")
        )
        return [PriorLine("theta", "", feature, form, numbers) for feature in self.axes.features]

    def mle(self, statistics: ValueCounts) -> Parameters:
        """Return the share of each cell; raises `DoesNotExist` where a class has no value in a column."""
        counts = self.binned(statistics)
        totals = np.add.reduceat(counts, dirichlet.starts(self._sizes), axis=1)
        require_each(totals > 0, statistics.axes, "has no value")
        return {"theta": dirichlet.normalize(counts, self._sizes)[None]}

    def map(self, statistics: ValueCounts) -> Parameters:
        """Return the mode of θ in the softmax basis given the most probable concentration and cuts."""
        found = ((own, *own.most_probable) for own in self.posterior(statistics).segments)
        return {"theta": np.concatenate([own.cells(place, begins[None]) for own, place, begins in found], axis=2)}

    def posterior(self, statistics: ValueCounts) -> Self:
        """Return the posterior: sets of cuts weighted by their evidence, and Dirichlets given each."""
        return replace(self, counts=self.counts + self.binned(statistics))

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw concentrations and sets of cuts, then θ given them."""
        return {"theta": np.concatenate([own.draw(rng, draws) for own in self.segments], axis=2)}

    def mean(self) -> Parameters:
        """Return the average of the cells' probabilities over sets of cuts and θ."""
        return {"theta": self._mean[None]}

    @cached_property
    def _mean(self) -> Array:
        """Return the expected probability of each cell, (outcome, cell)."""
        return np.concatenate([own.mean() for own in self.segments], axis=1)

    def pymc(self, statistics: ValueCounts, suffix: str) -> None:
        """Add θ of the bins of the most probable cuts, observing how many rows are in each."""
        own = self.most_probable
        own.family.pymc(CategoricalStatistics(own.family.axes, own.sums(self.binned(statistics))), suffix)

    def from_pymc(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Return the cells' probabilities from those of the bins."""
        own = self.most_probable
        return {"theta": own.family.from_pymc(draws, suffix)["theta"][..., own.of_cell] * own.shares}

    def page(self, X: Array, row: Any, suffix: str) -> None:
        """Add the same variables, observing the bin of each value."""
        own, cells = self.most_probable, self._cells(X)
        first = dirichlet.starts(own.family.axes.sizes)
        own.family.page(np.where(cells >= 0, own.of_cell[cells] - first, -1), row, suffix)

    def page_variables(self, suffix: str) -> list[PageVariable]:
        """Return θ of the bins of the most probable cuts."""

        def of(own: PageVariable, parameters: Parameters) -> Array:
            """Return the values of one from the parameters of cells."""
            return own.of({"theta": self.most_probable.sums(parameters["theta"])})

        return [own._replace(of=partial(of, own)) for own in self.most_probable.family.page_variables(suffix)]

    @cached_property
    def most_probable(self) -> Bins:
        """The bins of the most probable cuts given the rows that set the prior, which PyMC has."""
        found = [(own, *own.most_probable) for own in self.segments_of(self.known)]
        alpha = self.counts + np.concatenate([own.prior[place] for own, place, _ in found])
        begins = np.concatenate([begins for _, _, begins in found])
        first, of_cell = np.flatnonzero(begins), np.cumsum(begins) - 1
        axes = replace(self.axes, levels=tuple(tuple(range(own[2].sum())) for own in found))
        family = Categorical(np.add.reduceat(alpha, first, axis=1), axes=axes)
        return Bins(first, of_cell, self._widths / np.add.reduceat(self._widths, first)[of_cell], family)

    def log_density(self, X: Array, parameters: Parameters) -> Array:
        """Return Σ_j log θ_jc − log width_c of the cells c of the observed values, (draw, row, outcome)."""
        inside = dirichlet.indicators(self._cells(X), sum(self._sizes))
        density = dirichlet.weighted_logs(inside, parameters["theta"] / self._widths)
        return density + self._log_shape(X)[:, None]

    def log_predictive(self, X: Array) -> Array:
        """Return the log density averaged over sets of cuts and θ, (row, outcome)."""
        return np.asarray(self.log_density(X, self.mean())[0])

    def log_predictive_without(self, X: Array, y: Integers) -> Array:
        """Average over sets of cuts and θ given the counts less one, for all cells of a class at once."""
        codes, labels = self.codes(X), len(self.axes.labels)
        out = np.repeat(self._log_shape(X)[:, None], labels, axis=1)
        for own, code in zip(self.segments, codes.T, strict=True):
            for k in range(labels):
                rows = np.flatnonzero((code >= 0) & (y == k))
                if rows.size:
                    density = own.mean_without(k) / own.widths
                    out[rows] += np.log(density[:, code[rows]]).T
        return out

    def _log_normalizer(self) -> Array:
        """Return the log of the sum over sets of cuts of what θ and its shares within bins integrate to, (1, feature).

        The factor Γ(A)/Γ(A + n_k) of each class, A the sum of the concentrations, is in it too.
        """
        out, sizes = np.zeros((1, len(self.layout))), np.array(self._sizes)
        for size in np.unique(sizes) if self.counts.any() else ():
            alike = np.flatnonzero(sizes == size)
            for places in np.split(alike, range(TOGETHER, len(alike), TOGETHER)):
                some = [self.segments[j] for j in places]
                sums = CutSets(np.concatenate([own.cuts.score for own in some])).log_sum()
                log_sums = sums.reshape(len(some), -1)
                out[0, places] = [own.log_evidence(of_own) for own, of_own in zip(some, log_sums, strict=True)]
        return out

    def _log_base(self, statistics: ValueCounts) -> Array:
        """Return the log density of numbers in open cells relative to that at the border."""
        columns = zip(self.layout, statistics.columns, strict=True)
        return np.array([[column.weight @ own.log_shape(column.values) for own, column in columns]])

    def _log_shape(self, X: Array) -> Array:
        """Return the sum of the log densities of values relative to their cells, (row)."""
        return np.sum([own.log_shape(values) for own, values in zip(self.layout, X.T, strict=True)], axis=0)

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw the cell of each number, then the number in it, in the decimals of the column."""
        codes = dirichlet.drawn_codes(parameters["theta"][0], self._sizes, y, rng)
        return np.stack([own.sample(code, rng) for own, code in zip(self.layout, codes.T, strict=True)], axis=1)

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of θ, the probability of each bin."""
        return {"theta": ("outcome", "bin")}

    def coords(self) -> dict[str, Any]:
        """Return the cells, "feature [from, to)"; the ends of open ones are ∞."""
        return {
            "bin": [
                f"{name} [{low:.15g}, {high:.15g})"
                for name, own in zip(self.axes.features, self.layout, strict=True)
                for low, high in pairwise([-np.inf, *own.borders.tolist(), np.inf])
            ]
        }

    def binned(self, statistics: ValueCounts) -> Array:
        """Return how often the values of each class are in each cell, (outcome, cell)."""
        columns = zip(self.layout, statistics.columns, strict=True)
        return np.concatenate([_in_cells(own.borders, column.values, column.counts) for own, column in columns], axis=1)

    def codes(self, X: Array) -> Integers:
        """Return the cell of each number within those of its feature, (row, feature); −1 where it is missing."""
        return np.stack([own.codes(values) for own, values in zip(self.layout, X.T, strict=True)], axis=1)

    def _cells(self, X: Array) -> Integers:
        """Return the cell of each value (row, feature) among those of all features, −1 where it has none."""
        return dirichlet.cells_of(self.codes(X), self._sizes)

    @cached_property
    def segments(self) -> tuple[Segments, ...]:
        """The bins of each feature under each concentration, with all that is known of them."""
        return self.segments_of(self.counts)

    def segments_of(self, counts: Array) -> tuple[Segments, ...]:
        """Return the bins of each feature under each concentration, given counts (outcome, cell)."""
        a = np.ravel(self.a).astype(float)
        of_features = zip(self.layout, np.split(counts, self._ends, axis=1), strict=True)
        return tuple(Segments(own, np.multiply.outer(a, cells.shares), cells.widths) for cells, own in of_features)

    @property
    def _sizes(self) -> tuple[int, ...]:
        """Number of cells of each feature."""
        return tuple(len(own.shares) for own in self.layout)

    @property
    def _ends(self) -> Integers:
        """Where the cells of each feature but the last end among all cells."""
        return np.cumsum(self._sizes)[:-1]

    @property
    def _widths(self) -> Array:
        """What the probability of each cell is divided by to be a density, (cell)."""
        return np.concatenate([own.widths for own in self.layout])


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
            best[:, j] = np.maximum.reduce(best[:, :j] + self.score[:, :j, j], axis=1)
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
        bins = 1 + dirichlet.chosen(np.broadcast_to(self._bins[place], (draws, self.cells)), rng)
        begins = np.zeros((draws, self.cells), dtype=bool)
        cut = np.full(draws, self.cells)
        going = np.arange(draws)
        while len(going):
            bins[going] -= 1
            cut[going] = dirichlet.chosen(self._before[bins[going], place] * self._weight[place][:, cut[going]].T, rng)
            begins[going, cut[going]] = True
            going = going[bins[going] > 0]
        return begins


@dataclass(frozen=True, eq=False)
class Segments:
    """All bins i, …, j − 1 of the m cells of a feature, under several a, each as probable a priori.

    The cells of a bin share its probability in proportion to their widths: the density within the bin is constant.

    `counts`: Weight of the rows of each class in each cell, (outcome, cell). `prior`: α = a q of each cell, (a, cell).
    `widths`: (cell).
    """

    counts: Array
    prior: Array
    widths: Array

    @cached_property
    def _sums(self) -> tuple[Array, Array, Array]:
        """Return α_b (a, i, j), n_b (outcome, i, j) and width_b (1, i, j); 1 where there is no bin.

        Each bin is summed by itself: a difference of sums from the left would lose the small ones.
        """
        parts = self.prior, self.counts, self.widths[None]
        sums = run_sums(np.concatenate(parts))
        sums[:, np.tril(np.ones(sums.shape[1:], dtype=bool))] = 1.0
        return tuple(np.split(sums, np.cumsum([len(own) for own in parts[:-1]])))  # type: ignore[return-value]

    @cached_property
    def cuts(self) -> CutSets:
        """The posteriors of the set of cuts."""
        prior, counts, widths = self._sums
        gains = (gammaln(prior[:, None] + counts) - gammaln(prior[:, None])).sum(axis=1)
        return CutSets(gains - counts.sum(axis=0) * np.log(widths))

    @cached_property
    def _log_totals(self) -> Array:
        """Return Σ_k log Γ(a)/Γ(a + n_k), (a)."""
        a = self.prior.sum(axis=1, keepdims=True)
        return np.asarray((gammaln(a) - gammaln(a + self.counts.sum(axis=1))).sum(axis=1))

    @cached_property
    def log_evidences(self) -> Array:
        """The log density of the rows in their order under each a, θ and cuts integrated out, (a)."""
        return self.cuts.log_sum() + self._log_totals if self.counts.any() else np.zeros(len(self.prior))

    @cached_property
    def weights(self) -> Array:
        """P(a | the counts)."""
        return np.asarray(softmax(self.log_evidences))

    def log_evidence(self, log_sums: Array) -> float:
        """Return the log density of the rows, a integrated out too, given the sums over the sets of cuts, (a)."""
        found = log_sums + self._log_totals
        return float(np.logaddexp.reduce(found) - np.log(len(found))) if self.counts.any() else 0.0

    @cached_property
    def _theta(self) -> Array:
        """Return the expected probability of each bin, (a, outcome, i, j)."""
        prior, counts, _ = self._sums
        totals = np.add.outer(self.prior.sum(axis=1), self.counts.sum(axis=1))
        return np.asarray((prior[:, None] + counts) / totals[..., None, None])

    def mean(self) -> Array:
        """Return the expected probability of each cell, (outcome, cell)."""
        density = self.cuts.probabilities()[:, None] * self._theta / self._sums[2][:, None]
        return np.tensordot(self.weights, _of_cells(density) * self.widths, 1)

    def mean_without(self, label: int) -> Array:
        """Return the expected probability of each cell without one of its rows of a class, (outcome, cell).

        With p_k without the row and p = p_label, it is E[p_k/p]/E[1/p] given all rows: P(C | D without x) is
        proportional to P(C | D)/p(x | C, D without x), which averages p_k over the cuts.
        """
        prior, counts, widths = self._sums
        # Bins without a row of the class have no cell that could lose one.
        there, theta = counts[label] >= 1, self._theta.copy()
        less = np.where(there, prior + counts[label] - 1, 1.0)
        less /= (self.prior.sum(axis=1) + max(self.counts[label].sum() - 1, 0.0))[:, None, None]
        theta[:, label] = less
        of_bins = self.cuts.probabilities() / less
        inverse = self.weights @ (_of_cells(of_bins * widths) / self.widths)
        return np.asarray(np.tensordot(self.weights, _of_cells(of_bins[:, None] * theta), 1) / inverse)

    @cached_property
    def most_probable(self) -> tuple[int, NDArray[np.bool_]]:
        """The most probable a, by its position, and cuts, as which cells begin a bin, (cell)."""
        return self.cuts.most_probable(self._log_totals)

    def draw(self, rng: np.random.Generator, draws: int) -> Array:
        """Draw a, cuts, then θ: the cells' probabilities, (draw, outcome, cell)."""
        of_a = rng.choice(len(self.prior), size=draws, p=self.weights)
        out = np.empty((draws, *self.counts.shape))
        for place in np.unique(of_a):
            own = of_a == place
            out[own] = self.cells(place, self.cuts.draw(place, rng, int(own.sum())), rng)
        return out

    def cells(self, place: int, begins: NDArray[np.bool_], rng: np.random.Generator | None = None) -> Array:
        """Return the probabilities of cells (draw, outcome, cell) given a and which cells begin a bin, (draw, cell).

        θ is drawn, or without a generator is at its mean.
        """
        # The bins of all draws in a row: those of a draw are a simplex, and so are the cells of a bin.
        starts, draws = np.flatnonzero(begins), len(begins)
        sizes = np.diff(np.append(starts, begins.size))
        shares = dirichlet.normalize(np.tile(self.widths, draws), tuple(sizes.tolist()))
        alpha = np.zeros((draws, *self.counts.shape))
        of_bins = np.add.reduceat(np.tile(self.prior[place] + self.counts, draws), starts, axis=1)
        np.moveaxis(alpha, 1, 0)[:, begins] = of_bins
        with np.errstate(divide="ignore"):  # a cell that begins no bin has α = 0, and no share
            size = (begins.shape[1],)
            theta = dirichlet.normalize(alpha, size) if rng is None else dirichlet.draw(alpha, size, rng, 1)[0]
        flat = np.repeat(np.moveaxis(theta, 1, 0)[:, begins], sizes, axis=1) * shares
        return np.moveaxis(flat.reshape(len(flat), *begins.shape), 0, 1)


class Bins(NamedTuple):
    """The bins of one set of cuts of each feature, as categories.

    `first`: First cell of each bin, (bin). `of_cell`: Bin of each cell, (cell). `shares`: What each cell has of the
    probability of its bin, (cell). `family`: The distribution of θ of the bins.
    """

    first: Integers
    of_cell: Integers
    shares: Array
    family: Categorical

    def sums(self, values: Array) -> Array:
        """Return the sums over the cells of each bin, (…, bin), of values (…, cell)."""
        return np.asarray(np.add.reduceat(values, self.first, axis=-1))


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
