"""What the cells of one block are compared by: moments of numbers, shares of levels and events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesclf.families.bernoulli import Bernoulli
from bayesclf.families.generative import Block
from bayesclf.typing import Array, Integers, Parameters

AXIS_OF = {"mean": "feature", "sd": "feature", "max": "feature", "share": "level"}
"""Second axis of each statistic, after the class."""


@dataclass(frozen=True, eq=False)
class Summary:
    """What is looked at in the cells of one block: numbers, or the levels of words, or events.

    Attributes
    ----------
    block
        Of the model.
    X
        The cells that were seen (row, feature).
    y
        Label codes (row).
    """

    block: Block
    X: NDArray[Any]
    y: Integers

    @property
    def axis(self) -> str:
        """Name of the axis beside the class."""
        return "feature" if self.block.family.kind == "number" and self._threshold is None else "level"

    @property
    def names(self) -> list[str]:
        """Names along it."""
        axes = self.block.statistics.axes
        if axes.levels:
            pairs = zip(axes.features, axes.levels, strict=True)
            return [f"{name}={value}" for name, values in pairs for value in values]
        return list(axes.features)

    def made(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> NDArray[Any]:
        """Return cells made by one hypothesis for the labels, missing where they were."""
        cells = self.block.family.sample(self.block.own(parameters), y, rng)
        missing = np.isnan(self.X) if self.X.dtype.kind == "f" else self.X < 0
        return np.where(missing, np.nan if self.X.dtype.kind == "f" else -1, cells)

    def of(self, X: NDArray[Any]) -> dict[str, Array]:
        """Return statistics by class of cells (row, feature)."""
        axes = self.block.statistics.axes
        if self.axis == "feature":
            return _moments(X, self.y, len(axes.labels))
        if axes.levels:
            events = np.hstack([X[:, [j]] == np.arange(size) for j, size in enumerate(axes.sizes)]).astype(float)
            known = np.repeat(X >= 0, axes.sizes, axis=1).astype(float)
        else:
            known = (~np.isnan(X)).astype(float)
            events = (self._threshold < X).astype(float)
        members = (self.y == np.arange(len(axes.labels))[:, None]).astype(float)
        with np.errstate(invalid="ignore"):
            return {"share": (members @ events) / (members @ known)}

    @property
    def _threshold(self) -> Any:
        """Value above which a cell is an event; None where cells are numbers or levels."""
        family: Any = self.block.family
        family = getattr(family, "family", family)  # what a family that selects or smooths wraps
        return family.threshold if isinstance(family, Bernoulli) else None


def _moments(X: Array, y: Integers, labels: int) -> dict[str, Array]:
    """Return mean, sd and maximum of the seen cells of each class, (outcome, feature); NaN where there are none."""
    found = {name: np.full((labels, X.shape[1]), np.nan) for name in ("mean", "sd", "max")}
    for k in range(labels):
        own = X[y == k]
        known = ~np.isnan(own)
        n = known.sum(axis=0)
        some = n > 0
        if not some.any():
            continue
        centre = np.where(known, own, -np.inf).max(axis=0)  # a cell of the column, so that no digits are lost
        deviation = np.where(known, own - np.where(some, centre, 0.0), 0.0)
        mean = deviation.sum(axis=0)[some] / n[some]
        found["max"][k, some] = centre[some]
        found["mean"][k, some] = centre[some] + mean
        square = np.where(known[:, some], deviation[:, some] - mean, 0.0) ** 2
        found["sd"][k, some] = np.sqrt(square.sum(axis=0) / n[some])
    return found


def joined(parts: list[dict[str, Array]]) -> dict[str, Array]:
    """Return the statistics of all blocks, columns side by side."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: np.hstack([part[name] for part in parts if name in part]) for name in names}
