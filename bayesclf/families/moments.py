"""Counts, means and scatters of real features: the sufficient statistics of the Gaussian family."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayesclf.families.base import Axes
from bayesclf.typing import Array, Integers


@dataclass(frozen=True)
class Moments:
    """Weight n, mean x̄ and scatter S = Σ w (x − x̄)² of the seen cells, each (outcome, feature).

    Means are 0 where n is 0. Sums of squares are never formed around a distant origin: statistics are merged by
    the update of Chan, Golub & LeVeque (1983), so that adding 1e6 to a column costs no digits of its variance.
    """

    axes: Axes
    n: Array
    mean: Array
    scatter: Array

    @classmethod
    def of(cls, X: Array, y: Integers, axes: Axes, sample_weight: Array | None) -> Moments:
        """Return the moments of rows `X` (row, feature), NaN where a cell is missing, with label codes `y`."""
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        seen = ~np.isnan(X) & (weight > 0)[:, None]
        by_label = sparse.csr_array((weight, (y, np.arange(len(y)))), shape=(len(axes.labels), len(y)))
        n = np.asarray(by_label @ seen.astype(float))
        origin = _first_cells(X, y, seen, len(axes.labels))
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(n > 0, origin + (by_label @ np.where(seen, X - origin[y], 0.0)) / n, 0.0)
        scatter = by_label @ np.where(seen, X - mean[y], 0.0) ** 2
        return cls(axes, n, mean, np.asarray(scatter))

    def __add__(self, other: Moments) -> Moments:
        n = self.n + other.n
        share = np.divide(other.n, n, out=np.zeros_like(n), where=n > 0)
        delta = other.mean - self.mean
        scatter = self.scatter + other.scatter + delta**2 * self.n * share
        # An empty side has mean 0 by convention, which must not enter the weighted mean even as 0 · x rounding.
        mean = np.where(self.n == 0, other.mean, self.mean + delta * share)
        return Moments(self.axes, n, mean, scatter)

    def pooled(self) -> Moments:
        """Return the moments over all labels, as one label."""
        axes = Axes(("all",), self.axes.features)
        total = Moments(axes, self.n[:1], self.mean[:1], self.scatter[:1])
        for k in range(1, len(self.n)):
            total = total + Moments(axes, self.n[k : k + 1], self.mean[k : k + 1], self.scatter[k : k + 1])
        return total

    def select(self, features: NDArray[np.bool_]) -> Moments:
        """Return the moments of some features."""
        names = tuple(name for name, keep in zip(self.axes.features, features, strict=True) if keep)
        axes = Axes(self.axes.labels, names)
        return Moments(axes, self.n[:, features], self.mean[:, features], self.scatter[:, features])

    def reindex(self, axes: Axes) -> Moments:
        """Return the moments on axes with further labels, empty there."""
        rows = [axes.labels.index(label) for label in self.axes.labels]
        n, mean, scatter = (np.zeros((len(axes.labels), self.n.shape[1])) for _ in range(3))
        n[rows], mean[rows], scatter[rows] = self.n, self.mean, self.scatter
        return Moments(axes, n, mean, scatter)

    def arrays(self) -> dict[str, Array]:
        """Return the three arrays."""
        return {"n": self.n, "mean": self.mean, "scatter": self.scatter}

    def constant(self) -> NDArray[np.bool_]:
        """Return, for each feature, whether its seen cells are all equal, up to rounding, or none is seen."""
        return np.asarray(self.pooled().without_rounding()[0] == 0)

    def without_rounding(self) -> Array:
        """Return the scatters, 0 where they are no more than what rounding leaves of equal cells."""
        rounding = self.n * (8 * np.finfo(float).eps * np.abs(self.mean)) ** 2
        return np.where(self.scatter <= rounding, 0.0, self.scatter)


def _first_cells(X: Array, y: Integers, seen: NDArray[np.bool_], labels: int) -> Array:
    """Return the first seen cell of each (outcome, feature), 0 where there is none.

    As the origin of a class's sums it makes the mean of equal cells exact, and so their scatter 0.
    """
    first = np.zeros((labels, X.shape[1]))
    for k in np.unique(y):
        rows = np.flatnonzero(y == k)
        cells = X[rows[seen[rows].argmax(axis=0)], np.arange(X.shape[1])]
        first[k] = np.where(np.isnan(cells), 0.0, cells)
    return first
