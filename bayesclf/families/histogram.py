"""Histograms of real features: piecewise constant densities, averaged over where the bins are cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import compress, pairwise
from typing import Any, ClassVar, Self, cast, override

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import Whole, require
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes, Statistics
from bayesclf.families.cells import REAL, ValueCounts
from bayesclf.families.cuts import CutFamily, Smoothings, require_concentrations
from bayesclf.families.page_tables import PageTable, PageVariable, page_tables, theta_of
from bayesclf.families.prior_lines import PriorLine, listing

ROWS_PER_CELL = 5
"""Least number of pooled rows between quantiles that are neighbors."""

HEAVY_ROWS = 10
"""Least number of pooled rows with one value that may have a cell of its own, as wide as the step."""

GRID = (1.0, 4.0, 16.0, 64.0, 256.0)
"""Values of a that are averaged over by default."""


@dataclass(frozen=True)
class CellLayout:
    """The cells of each feature, concatenated: the open one on the left, those between borders, the open one.

    Attributes
    ----------
    sizes
        Number of cells of each feature, at least 3.
    borders
        Those of each feature in increasing order, one fewer than its cells.
    widths
        Width of each cell; that of an open one is the integral of its density relative to that at its border.
    shares
        q, the share of each cell in the prior; those of a feature add up to 1.
    decimals
        Number of decimals that the values of each feature are recorded with, as in `ValueCounts`, (feature).
    """

    sizes: tuple[int, ...] = ()
    borders: Array = field(default_factory=lambda: np.empty(0))
    widths: Array = field(default_factory=lambda: np.empty(0))
    shares: Array = field(default_factory=lambda: np.empty(0))
    decimals: Array = field(default_factory=lambda: np.empty(0))

    @property
    def starts(self) -> Integers:
        """The first cell of each feature."""
        return dirichlet.starts(self.sizes)

    def slices(self) -> tuple[slice, ...]:
        """Return the cells of each feature."""
        return self._slices

    @cached_property
    def _slices(self) -> tuple[slice, ...]:
        return tuple(slice(start, start + size) for start, size in zip(self.starts, self.sizes, strict=True))

    @cached_property
    def _borders(self) -> tuple[Array, ...]:
        ends = np.cumsum([0, *(size - 1 for size in self.sizes)])
        return tuple(self.borders[start:end] for start, end in pairwise(ends))

    def borders_of(self, feature: int) -> Array:
        """Return the borders of a feature, in increasing order."""
        return self._borders[feature]

    def codes(self, X: Array) -> Integers:
        """Return the number of the cell, within its feature, of each value (row, feature); −1 for NaN."""
        out = np.empty(X.shape, dtype=np.intp)
        for j, borders in enumerate(self._borders):
            out[:, j] = np.searchsorted(borders, X[:, j], side="right")
        out[np.isnan(X)] = -1
        return out

    def log_shape(self, X: Array) -> Array:
        """Return the log density of values (row, feature) relative to that of their cell: below 0 in open cells."""
        columns = [self.log_shape_of(j, X[:, j]) for j in range(len(self.sizes))]
        return np.stack(columns, axis=1) if columns else np.zeros(X.shape)

    def log_shape_of(self, feature: int, values: Array) -> Array:
        """Return the same of values (value) of one feature."""
        borders, (below, above) = self._borders[feature], self.widths[self.slices()[feature]][[0, -1]]
        with np.errstate(invalid="ignore"):
            out: Array = -2 * np.log1p(np.fmax(borders[0] - values, 0.0) / below)
            out -= 2 * np.log1p(np.fmax(values - borders[-1], 0.0) / above)
        return out

    def select(self, features: NDArray[np.bool_]) -> Self:
        """Return the cells of some of the features."""
        of_cell = np.repeat(features, self.sizes)
        of_border = np.repeat(features, np.asarray(self.sizes, dtype=np.intp) - 1)
        sizes = tuple(compress(self.sizes, features))
        kept = self.borders[of_border], self.widths[of_cell], self.shares[of_cell], self.decimals[features]
        return type(self)(sizes, *kept)

    def sample(self, codes: Integers, rng: np.random.Generator) -> Array:
        """Draw a value in each cell (row, feature), in the decimals of the feature."""
        out = np.empty(codes.shape)
        for j, (borders, cells) in enumerate(zip(self._borders, self.slices(), strict=True)):
            widths, code = self.widths[cells], codes[:, j]
            u = rng.random(len(code))
            inside = np.concatenate(([borders[0]], borders))[code] + u * widths[code]
            beyond = u / (1 - u)
            x = np.where(code == 0, borders[0] - beyond * widths[0], inside)
            x = np.where(code == len(widths) - 1, borders[-1] + beyond * widths[-1], x)
            decimals = self.decimals[j]
            out[:, j] = np.round(x, max(int(decimals), 0)) if decimals < REAL else x
        return out


def layout_of(statistics: ValueCounts, quantiles: int) -> CellLayout:
    """Return cells between pooled quantiles of each feature, at most so many, and their shares in the prior."""
    parts = []
    for j in range(len(statistics.sizes)):
        values, counts = statistics.column(j)
        parts.append(_cells(values, counts.sum(axis=0), statistics.step(j), quantiles))
    sizes = tuple(len(widths) for _, widths, _ in parts)
    borders, widths, shares = (np.concatenate([np.empty(0), *arrays]) for arrays in zip(*parts, strict=True))
    return CellLayout(sizes, borders, widths, shares, statistics.decimals)


def _cells(values: Array, weight: Array, step: float, quantiles: int) -> tuple[Array, Array, Array]:
    """Return borders, widths and shares of the cells of one feature, from its pooled values."""
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
    counts = np.bincount(np.searchsorted(borders, values, side="right"), weight, len(widths))
    return borders, widths, (counts + 1) / (n + len(widths))


def _borders(
    left: Array, right: Array, heavy_left: NDArray[np.bool_], heavy_right: NDArray[np.bool_], step: float
) -> Array:
    """Return borders between neighboring values: next to a heavy value where there is a gap, else in the middle."""
    gap = right - left > 1.5 * step
    after, before = gap & heavy_left, gap & heavy_right
    middle = left / 2 + right / 2
    return np.unique(np.concatenate([middle[~after & ~before], left[after] + step / 2, right[before] - step / 2]))


@dataclass(frozen=True, repr=False)
class Histogram(CutFamily[ValueCounts]):
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
    of pooled rows in bin b, one more for each cell. One more cell on either side is open, with the density
    s²/(s + distance)² instead of a constant, s = range/(n + 1), so that no number is impossible.

    The larger a, the nearer are the classes to each other, and to the shares of the pooled rows: it is learned, for
    each feature. Where families are compared a is 1, as larger ones know the pooled rows too well.

    A hypothesis is a set of cuts and θ; its parameter `theta` has the probability of each cell. Evidence, predictive
    and leave-one-out are sums over all 2^(m − 1) sets of cuts, by dynamic programming (`families.cuts`). MLE cuts
    at every border. MAP takes the most probable a and set of cuts, and the mode of θ in the softmax basis,
    (n + a q)/(N + a), which is its posterior mean: the mode on the simplex does not exist where a q_b is below 1 and a
    bin is empty. The mean is over a and the sets of cuts too. In PyMC these are the most probable ones, as NUTS has no
    discrete parameters.

    Parameters
    ----------
    a : float or tuple of float
        Rows that the prior of θ is worth in each class, above 0: a number, or several that are averaged over by their
        evidence.
    quantiles : int
        Largest number of cells between pooled quantiles, at least 1.
    axes, layout, counts, known
        Set by `resolve_prior`: the cells; counts (outcome, cell) of the rows that a prior has seen already; and those
        of the rows that it was set by, whose most probable a and cuts PyMC takes.

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
    axes: Axes = field(default=Axes((), ()), repr=False)
    layout: CellLayout = field(default_factory=CellLayout, repr=False)
    counts: Array | None = field(default=None, repr=False)
    known: Array | None = field(default=None, repr=False)
    name: ClassVar[str] = "histogram"
    kind: ClassVar[str] = "number"
    likelihood: ClassVar[str] = "constant in each bin, theta"
    statistics_type: ClassVar[type[Statistics]] = ValueCounts

    def __post_init__(self) -> None:
        require_concentrations(a=self.a)
        require(Whole(1), quantiles=self.quantiles)

    def resolve_prior(self, statistics: ValueCounts) -> Self:
        """Return the prior with the cells that the pooled rows give, and the most probable cuts given these rows."""
        layout = layout_of(statistics, self.quantiles)
        shape = len(statistics.axes.labels), sum(layout.sizes)
        grid = tuple(float(value) for value in np.ravel(self.a))
        prior = replace(self, a=grid, axes=statistics.axes, layout=layout, counts=np.zeros(shape))
        return replace(prior, known=prior.binned(statistics))

    @override
    def select(self, features: NDArray[np.bool_]) -> Self:
        """Return the histograms of some of the features, with their cells and counts."""
        own, known = np.repeat(features, self.layout.sizes), cast("Array", self.known)
        layout, counts = self.layout.select(features), self._counts[:, own]
        return replace(self, axes=self.axes.select(features), layout=layout, counts=counts, known=known[:, own])

    def informative(self, statistics: ValueCounts) -> NDArray[np.bool_]:
        """Return False for a feature with one value, or none."""
        return np.asarray(statistics.sizes > 1)

    @override
    def priors(self) -> list[PriorLine]:
        """Return the prior of cuts, and of the probabilities of bins given them."""
        values, numbers = listing("a", np.ravel(self.a))
        form = (
            "sets of cuts at quantiles of the column uniform given their number; Dirichlet(a · share of the column in "
            f"each bin), a {'=' if np.size(self.a) == 1 else 'uniform on'} {values}"
        )
        if self._counts.any():
            form += "; both given the rows of an earlier fit"
        return [PriorLine("theta", "", name, form, numbers) for name in self.axes.features]

    @override
    def pymc(self, statistics: ValueCounts, suffix: str) -> None:
        """Add θ of the bins of the most probable cuts, observing their counts."""
        from bayesclf.families.pymc import observe_simplexes

        bins = self._bins
        observe_simplexes(self._pymc_theta(suffix), bins.sums(self.binned(statistics)), bins.sizes, suffix)

    @override
    def page(self, X: Array, row: Any, suffix: str) -> None:
        """Add θ of the bins of the most probable cuts, observing the bin of each cell."""
        bins = self._bins
        codes = np.where(np.isnan(X), -1, bins.of_cell[self._cells(X)])
        alpha = bins.sums(self._prior_of_cells + self._counts)
        for own in self._page_tables(suffix):
            own.observe(own.add(alpha), codes, row)

    @override
    def _page_tables(self, suffix: str) -> list[PageTable]:
        """Return a table of the bins of each feature, or of many with as many bins."""
        return page_tables(self.axes.features, [range(size) for size in self._bins.sizes], suffix)

    @override
    def page_variables(self, suffix: str) -> list[PageVariable]:
        """Return θ of the bins of the most probable cuts."""

        def of(own: PageVariable, parameters: Parameters) -> Array:
            """Return the values of one from the parameters of cells."""
            return own.of({"theta": self._bins.sums(parameters["theta"])})

        return [own._replace(of=partial(of, own)) for own in super().page_variables(suffix)]

    @override
    def of_page(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Return the cells' probabilities from those of the bins."""
        return {"theta": self._bins.spread(theta_of(self._page_tables(suffix), draws, len(self.axes.labels)))}

    def _pymc_theta(self, suffix: str) -> dict[int, Any]:
        """Add θ of the features with the same number of bins, by that number, (outcome, simplex, value)."""
        from bayesclf.families.pymc import add_simplexes

        bins = self._bins
        return add_simplexes(bins.sums(self._prior_of_cells + self._counts), bins.sizes, self.axes.features, suffix)

    @override
    def from_pymc(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Return the cells' probabilities from those of the bins."""
        bins = self._bins
        return {"theta": bins.spread(dirichlet.simplexes_of(draws, bins.sizes, suffix))}

    def _log_base(self, statistics: ValueCounts) -> Array:
        """Return the log density of numbers in open cells relative to that at the border."""
        out = np.zeros((1, len(statistics.sizes)))
        for j in range(len(statistics.sizes)):
            values, counts = statistics.column(j)
            borders = self.layout.borders_of(j)
            beyond = (values < borders[0]) | (values > borders[-1])
            out[0, j] = counts[:, beyond].sum(axis=0) @ self.layout.log_shape_of(j, values[beyond])
        return out

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw the cell of each number, then the number in it, in the decimals of the column."""
        return self.layout.sample(self._drawn_codes(parameters, y, rng), rng)

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of θ, the probability of each bin."""
        return {"theta": ("outcome", "bin")}

    @override
    def coords(self) -> dict[str, Any]:
        """Return the cells, "feature [from, to)", also in the feature and the numbers; those of open ones are ∞."""
        names, features, lows, highs = [], [], [], []
        for j, name in enumerate(self.axes.features):
            borders = self.layout.borders_of(j)
            for low, high in zip([-np.inf, *borders], [*borders, np.inf], strict=True):
                names.append(f"{name} [{low:.15g}, {high:.15g})")
                features.append(name)
                lows.append(float(low))
                highs.append(float(high))
        parts = {"bin_feature": features, "bin_low": lows, "bin_high": highs}
        return {"bin": names} | {key: ("bin", values) for key, values in parts.items()}

    @property
    @override
    def variant(self) -> str:
        """Number of bins of each feature."""
        return f"bins: {self._bins.sizes}"

    @override
    def binned(self, statistics: ValueCounts) -> Array:
        """Return how often the values of each class are in each cell, (outcome, cell)."""
        out = np.zeros((len(statistics.counts), sum(self.layout.sizes)))
        for j, cells in enumerate(self.layout.slices()):
            values, counts = statistics.column(j)
            borders = np.searchsorted(values, self.layout.borders_of(j))  # the first value beyond each
            codes = np.repeat(np.arange(len(borders) + 1), np.diff([0, *borders, len(values)]))
            out[:, cells] = [np.bincount(codes, own, len(borders) + 1) for own in counts]
        return out

    @property
    @override
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each feature."""
        return self.layout.sizes

    @property
    @override
    def widths(self) -> Array:
        """Width of each cell."""
        return self.layout.widths

    @override
    def codes(self, X: Array) -> Integers:
        """Return the cell of each number within those of its feature, (row, feature); −1 where it is missing."""
        return self.layout.codes(X)

    @override
    def smoothings_of(self, feature: int, counts: Array) -> Smoothings:
        """Return the bins of a feature under each a."""
        own = self.layout.slices()[feature]
        return Smoothings.of(
            cast("tuple[float, ...]", self.a), counts, self.layout.shares[own], self.layout.widths[own]
        )

    @override
    def _log_shape(self, X: Array) -> Array:
        """Return the sum of the log densities of values relative to their cells, (row)."""
        return np.asarray(self.layout.log_shape(X).sum(axis=1))
