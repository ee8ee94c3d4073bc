"""Families of cells in a row that are cut into bins, averaged over all sets of cuts."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from bayesclf.errors import InputError
from bayesclf.families import dirichlet
from bayesclf.families.base import Family, Statistics, require_each, require_positive
from bayesclf.families.histogram_bins import Bins, Segments, Smoothings
from bayesclf.families.terms import Contributions, Pair, each
from bayesclf.typing import Array, Integers, Parameters


def require_concentrations(**given: object) -> None:
    """Raise `InputError` for a concentration, or one of several that are averaged over, that is not above 0."""
    require_positive(**given)
    for name, value in given.items():
        if not np.size(cast("Any", value)):
            raise InputError(f"{name} must be a number or several of them, not an empty list")


class CutFamily[S: Statistics](Family[S]):
    """A family whose parameter `theta` has the probability of each cell, averaged over concentrations and sets of cuts.

    Attributes
    ----------
    counts, known
        Counts (outcome, cell) of the rows that a prior has seen already, and of those that it was set by.
    """

    @property
    @abstractmethod
    def counts(self) -> Array | None:
        """Counts (outcome, cell) of the rows that the hyperparameters know of; None before `resolve_prior`."""

    @property
    @abstractmethod
    def known(self) -> Array | None:
        """Counts (outcome, cell) of the rows that the prior was set by; None before `resolve_prior`."""

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each feature."""

    @property
    def widths(self) -> Array:
        """What the probability of each cell is divided by to be a density, (cell)."""
        return np.ones(sum(self.sizes))

    @abstractmethod
    def binned(self, statistics: S) -> Array:
        """Return how often the rows of each class are in each cell, (outcome, cell)."""

    @abstractmethod
    def codes(self, X: Any) -> Integers:
        """Return the cell of each value within those of its feature, (row, feature); negative where it has none."""

    @abstractmethod
    def smoothings_of(self, feature: int, counts: Array) -> Smoothings:
        """Return the bins of a feature under each concentration, given counts (outcome, cell) of its cells."""

    def mle(self, statistics: S) -> Parameters:
        """Return the share of each cell; raises `DoesNotExist` where a class has no value in a column."""
        counts = self.binned(statistics)
        totals = np.add.reduceat(counts, dirichlet.starts(self.sizes), axis=1)
        require_each(totals > 0, statistics.axes, "has no value")
        return {"theta": dirichlet.normalize(counts, self.sizes)[None]}

    def map(self, statistics: S) -> Parameters:
        """Return the mode of θ in the softmax basis given the most probable concentration and cuts."""
        every = [smoothings.map() for smoothings in self.posterior(statistics).smoothings]
        return {"theta": np.concatenate(every, axis=2)}

    def posterior(self, statistics: S) -> Self:
        """Return the posterior: sets of cuts weighted by their evidence, and Dirichlets given each."""
        return replace(cast("Any", self), counts=self._counts + self.binned(statistics))  # type: ignore[no-any-return]

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw concentrations and sets of cuts, then θ given them."""
        return {"theta": np.concatenate([own.draw(rng, draws) for own in self.smoothings], axis=2)}

    def mean(self) -> Parameters:
        """Return the average of the cells' probabilities over sets of cuts and θ."""
        return {"theta": self._mean[None]}

    def _log_shape(self, X: Any) -> Array:
        """Return the sum of the log densities of values relative to their cells, (row)."""
        return np.zeros(len(X))

    def log_density(self, X: Any, parameters: Parameters) -> Array:
        """Return Σ_j log θ_jc − log width_c of the cells c of the observed values, (draw, row, outcome)."""
        inside = dirichlet.indicators(self._cells(X), sum(self.sizes))
        density = dirichlet.weighted_logs(inside, parameters["theta"] / self.widths)
        return density + self._log_shape(X)[:, None]

    def log_predictive(self, X: Any) -> Array:
        """Return the log density averaged over sets of cuts and θ, (row, outcome)."""
        return np.asarray(self.log_density(X, self.mean())[0])

    def log_predictive_without(self, X: Any, y: Integers) -> Array:
        """Average over sets of cuts and θ given the counts less one, for each class and cell that has a row."""
        codes, labels, cells = self.codes(X), len(self.axes.labels), self._slices
        out = np.repeat(self._log_shape(X)[:, None], labels, axis=1)
        for j, own in enumerate(cells):
            seen = np.flatnonzero(codes[:, j] >= 0)
            pairs, of_row = np.unique(codes[seen, j] * labels + y[seen], return_inverse=True)
            table = np.empty((len(pairs), labels))
            for number, (code, label) in enumerate(zip(*np.divmod(pairs, labels), strict=True)):
                counts = self._counts[:, own].copy()
                counts[label, code] -= 1
                mean = self.smoothings[j].with_counts(counts).mean()[:, code]
                table[number] = np.log(mean / self.widths[own][code])
            out[seen] += table[of_row]
        return out

    def log_normalizer(self) -> Array:
        """Return the log of the sum over sets of cuts of what θ and its shares within bins integrate to, (1, feature).

        The factor Γ(A)/Γ(A + n_k) of each class, A the sum of the concentrations, is in it too.
        """
        return np.array([[own.log_evidence() for own in self.smoothings]])

    def contributions(self, X: Any, parameters: Parameters, pair: Pair) -> Contributions:
        """log θ_kc/θ_k′c of the cell of each value."""
        cells, row = self._cells(X), np.arange(len(X))[:, None]
        ratios = pair.log_ratios_of_cells(parameters["theta"], row, np.maximum(cells, 0))
        return Contributions.of_rows(each(self.axes.features), np.where(cells >= 0, ratios, 0.0))

    def _drawn_codes(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Integers:
        """Draw cells (row, feature), each within those of its feature, of one hypothesis."""
        theta = parameters["theta"][0]
        codes = np.empty((len(y), len(self.sizes)), dtype=np.intp)
        for j, cells in enumerate(self._slices):
            below = np.cumsum(theta[:, cells], axis=1)[:, :-1]
            codes[:, j] = (rng.random((len(y), 1)) >= below[y]).sum(axis=1)
        return codes

    @property
    def _counts(self) -> Array:
        return cast("Array", self.counts)

    @property
    def _slices(self) -> tuple[slice, ...]:
        """The cells of each feature."""
        pairs = zip(dirichlet.starts(self.sizes), self.sizes, strict=True)
        return tuple(slice(start, start + size) for start, size in pairs)

    @cached_property
    def smoothings(self) -> tuple[Smoothings, ...]:
        """The bins of each feature under each concentration, with all that is known of them."""
        return tuple(self.smoothings_of(j, self._counts[:, own]) for j, own in enumerate(self._slices))

    @cached_property
    def _modes(self) -> tuple[tuple[Segments, NDArray[np.bool_]], ...]:
        """Return the most probable concentration and cuts of each feature given the rows that set the prior."""
        known = cast("Array", self.known)
        return tuple(self.smoothings_of(j, known[:, own]).most_probable for j, own in enumerate(self._slices))

    @cached_property
    def _begins(self) -> NDArray[np.bool_]:
        """Which cells begin a bin of the most probable cuts, (cell)."""
        return np.concatenate([begins for _, begins in self._modes])

    @cached_property
    def _bins(self) -> Bins:
        """Return the bins of the most probable cuts."""
        return Bins.of(self._begins, self.sizes, self.widths)

    @cached_property
    def _prior_of_cells(self) -> Array:
        """Return the most probable concentration of each cell, (cell)."""
        return np.concatenate([segments.prior for segments, _ in self._modes])

    @cached_property
    def _mean(self) -> Array:
        """Return the expected probability of each cell, (outcome, cell)."""
        empty = np.empty((len(self.axes.labels), 0))
        return np.concatenate([empty, *(own.mean() for own in self.smoothings)], axis=1)

    def _cells(self, X: Any) -> Integers:
        """Return the cell of each value (row, feature) among those of all features, −1 where it has none."""
        return dirichlet.cells_of(self.codes(X), self.sizes)
