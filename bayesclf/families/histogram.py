"""Histograms of real features: piecewise constant densities, averaged over where the bins are cut."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import compress, pairwise
from typing import Any, ClassVar, Self, override

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import Whole, require
from bayesclf.families import dirichlet
from bayesclf.families.base import Statistics
from bayesclf.families.cells import REAL, ValueCounts
from bayesclf.families.cuts import CutFamily, Segments, require_concentrations
from bayesclf.families.prior_lines import PriorLine, listing

ROWS_PER_CELL = 5
"""Least number of pooled rows between quantiles that are neighbors."""

HEAVY_ROWS = 10
"""Least number of pooled rows with one value that may have a cell of its own, as wide as the step."""

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
    def of(cls, statistics: ValueCounts, feature: int, quantiles: int) -> Self:
        """Return cells between pooled quantiles of a feature, at most so many, and their shares in the prior."""
        (values, counts), step = statistics.column(feature), statistics.step(feature)
        weight = counts.sum(axis=0)
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
        in_cell = np.bincount(np.searchsorted(borders, values, side="right"), weight, len(widths))
        return cls(borders, widths, (in_cell + 1) / (n + len(widths)), float(statistics.decimals[feature]))

    def codes(self, values: Array) -> Integers:
        """Return the number of the cell of each value (value); −1 for NaN."""
        return np.where(np.isnan(values), -1, np.searchsorted(self.borders, values, side="right"))

    def log_shape(self, values: Array) -> Array:
        """Return the log density of values (value) relative to that of their cell: below 0 in open cells."""
        with np.errstate(invalid="ignore"):
            out: Array = -2 * np.log1p(np.fmax(self.borders[0] - values, 0.0) / self.widths[0])
            out -= 2 * np.log1p(np.fmax(values - self.borders[-1], 0.0) / self.widths[-1])
        return out

    def sample(self, code: Integers, rng: np.random.Generator) -> Array:
        """Draw a value in each cell (value), in the decimals of the feature."""
        borders, widths, u = self.borders, self.widths, rng.random(len(code))
        inside = np.concatenate(([borders[0]], borders))[code] + u * widths[code]
        beyond = u / (1 - u)
        x = np.where(code == 0, borders[0] - beyond * widths[0], inside)
        x = np.where(code == len(widths) - 1, borders[-1] + beyond * widths[-1], x)
        return np.round(x, max(int(self.decimals), 0)) if self.decimals < REAL else x


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
    layout : tuple of Cells
        The cells of each feature, set by `resolve_prior`.

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
    layout: tuple[Cells, ...] = field(default=(), repr=False)
    name: ClassVar[str] = "histogram"
    kind: ClassVar[str] = "number"
    likelihood: ClassVar[str] = "constant in each bin, theta"
    statistics_type: ClassVar[type[Statistics]] = ValueCounts

    def __post_init__(self) -> None:
        require_concentrations(a=self.a)
        require(Whole(1), quantiles=self.quantiles)

    def resolve_prior(self, statistics: ValueCounts) -> Self:
        """Return the prior with the cells that the pooled rows give, and the most probable cuts given these rows."""
        layout = tuple(Cells.of(statistics, j, self.quantiles) for j in range(len(statistics.sizes)))
        grid = tuple(float(value) for value in np.ravel(self.a))
        prior = replace(self, a=grid, axes=statistics.axes, layout=layout)
        known = prior.binned(statistics)
        return replace(prior, known=known, counts=np.zeros_like(known))

    @override
    def select(self, features: NDArray[np.bool_]) -> Self:
        """Return the histograms of some of the features, with their cells and counts."""
        own, layout = np.repeat(features, self.sizes), tuple(compress(self.layout, features))
        axes = self.axes.select(features)
        return replace(self, axes=axes, layout=layout, counts=self.counts[:, own], known=self.known[:, own])

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
        if self.counts.any():
            form += "; both given the rows of an earlier fit"
        return [PriorLine("theta", "", name, form, numbers) for name in self.axes.features]

    def _log_base(self, statistics: ValueCounts) -> Array:
        """Return the log density of numbers in open cells relative to that at the border."""
        out = np.zeros((1, len(statistics.sizes)))
        for j, own in enumerate(self.layout):
            values, counts = statistics.column(j)
            out[0, j] = counts.sum(axis=0) @ own.log_shape(values)
        return out

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw the cell of each number, then the number in it, in the decimals of the column."""
        codes = dirichlet.drawn_codes(parameters["theta"][0], self.sizes, y, rng)
        return np.stack([own.sample(code, rng) for own, code in zip(self.layout, codes.T, strict=True)], axis=1)

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of θ, the probability of each bin."""
        return {"theta": ("outcome", "bin")}

    @override
    def coords(self) -> dict[str, Any]:
        """Return the cells, "feature [from, to)", also in the feature and the numbers; those of open ones are ∞."""
        names, features, lows, highs = [], [], [], []
        for name, own in zip(self.axes.features, self.layout, strict=True):
            for low, high in pairwise([-np.inf, *own.borders.tolist(), np.inf]):
                names.append(f"{name} [{low:.15g}, {high:.15g})")
                features.append(name)
                lows.append(low)
                highs.append(high)
        parts = {"bin_feature": features, "bin_low": lows, "bin_high": highs}
        return {"bin": names} | {key: ("bin", values) for key, values in parts.items()}

    @override
    def binned(self, statistics: ValueCounts) -> Array:
        """Return how often the values of each class are in each cell, (outcome, cell)."""
        parts = [np.zeros((len(statistics.counts), 0))]
        for j, own in enumerate(self.layout):
            values, counts = statistics.column(j)
            codes = own.codes(values)
            parts.append(np.stack([np.bincount(codes, weight, len(own.widths)) for weight in counts]))
        return np.concatenate(parts, axis=1)

    @property
    @override
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each feature."""
        return tuple(len(own.widths) for own in self.layout)

    @property
    @override
    def widths(self) -> Array:
        """Width of each cell."""
        return np.concatenate([np.empty(0), *(own.widths for own in self.layout)])

    @override
    def codes(self, X: Array) -> Integers:
        """Return the cell of each number within those of its feature, (row, feature); −1 where it is missing."""
        columns = [own.codes(values) for own, values in zip(self.layout, X.T, strict=True)]
        return np.array(columns, dtype=np.intp).reshape(X.shape[::-1]).T

    @override
    def segments_of(self, feature: int, counts: Array) -> Segments:
        """Return the bins of a feature under each a."""
        own = self.layout[feature]
        return Segments(counts, np.multiply.outer(np.ravel(self.a), own.shares), own.widths)

    @override
    def _log_shape(self, X: Array) -> Array:
        """Return the sum of the log densities of values relative to their cells, (row)."""
        columns = [own.log_shape(values) for own, values in zip(self.layout, X.T, strict=True)]
        return np.asarray(np.reshape(columns, X.shape[::-1]).sum(axis=0))
