"""Histograms of real features: piecewise constant densities, averaged over where the bins are cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, override

import numpy as np
from numpy.typing import NDArray

from bayesclf.constraints import Whole, require
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes, Statistics
from bayesclf.families.categorical import observe_codes
from bayesclf.families.cut_family import CutFamily, require_concentrations
from bayesclf.families.histogram_bins import Smoothings
from bayesclf.families.histogram_cells import CellLayout, layout_of
from bayesclf.families.prior_lines import PriorLine, listing
from bayesclf.families.value_counts import ValueCounts
from bayesclf.typing import Array, Integers, Parameters

if TYPE_CHECKING:
    from bayesclf.families.pymc_rows import LabeledRows


GRID = (1.0, 4.0, 16.0, 64.0, 256.0)
"""Values of a that are averaged over by default."""


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
    and leave-one-out are sums over all 2^(m − 1) sets of cuts, by dynamic programming (`families.cut_sets`). MLE cuts
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
        from bayesclf.families.pymc_statistics import observe_simplexes

        bins = self._bins
        observe_simplexes(self._pymc_theta(suffix), bins.sums(self.binned(statistics)), bins.sizes, suffix)

    @override
    def pymc_rows(self, X: Array, rows: LabeledRows, statistics: ValueCounts, suffix: str) -> None:
        """Add θ of the bins of the most probable cuts, observing the bin of each cell."""
        bins = self._bins
        codes = np.where(np.isnan(X), -1, bins.of_cell[self._cells(X)])
        observe_codes(codes, rows, self._pymc_theta(suffix), bins.sizes, suffix)

    def _pymc_theta(self, suffix: str) -> dict[int, Any]:
        """Add θ of the features with the same number of bins, by that number, (outcome, simplex, value)."""
        from bayesclf.families.pymc_statistics import add_simplexes

        bins = self._bins
        return add_simplexes(bins.sums(self._prior_of_cells + self._counts), bins.sizes, self.axes.features, suffix)

    @override
    def from_pymc(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Return the cells' probabilities from those of the bins."""
        bins = self._bins
        return {"theta": bins.spread(dirichlet.simplexes_of(draws, bins.sizes, suffix))}

    def log_base(self, statistics: ValueCounts) -> Array:
        """Return the log density of numbers in open cells relative to that at the border."""
        out = np.zeros((1, len(statistics.sizes)))
        for j in range(len(statistics.sizes)):
            values, counts = statistics.column(j)
            out[0, j] = counts.sum(axis=0) @ self.layout.log_shape_of(j, values)
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
        for j, start in enumerate(self.layout.starts):
            values, counts = statistics.column(j)
            codes = np.searchsorted(self.layout.borders_of(j), values, side="right")
            np.add.at(out.T, start + codes, counts.T)
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
