"""The plane of two features through a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesclf import columns
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.errors import InputError
from bayesclf.typing import Array

if TYPE_CHECKING:
    import pandas as pd

GRID = 121
"""Points of the plane along each axis at which probabilities are computed."""

MARGIN = 0.04
"""Room around the rows, as a share of their range."""


@dataclass(frozen=True)
class Plane:
    """The plane of two features through a table.

    Attributes
    ----------
    features
        The two columns, horizontal and vertical.
    rows
        The table's rows on it, (row, 2); NaN where a cell is missing.
    x, y
        Places along the axes, (place).
    points
        One row a point of the plane, y by y, as a table like that of the fit; the other columns at their mean or most
        frequent value.
    """

    features: tuple[str, str]
    rows: Array
    x: Array
    y: Array
    points: pd.DataFrame | NDArray[Any]

    def field(self, values: Array) -> Array:
        """Return values of the points (row, …) on the plane, (y, x, …)."""
        return values.reshape(len(self.y), len(self.x), *values.shape[1:])


def plane_of(clf: BayesClassifier, X: Any, features: tuple[str, str] | None) -> Plane:
    """Return the plane of two features through a table, in the form of table that the classifier was fitted with."""
    import pandas as pd

    frame = columns.to_frame(X)
    names = [column.name for column in clf.columns_]
    if not isinstance(X, pd.DataFrame) and frame.shape[1] == len(names):
        frame = frame.set_axis(names, axis=1)
    lacking = [name for name in names if name not in frame]
    if lacking:
        raise InputError(f"the table lacks column {lacking[0]!r}, which the model was fitted with; add it")
    first, second = _features(frame, names, features)
    rows = columns.numbers(frame, (first, second))
    x, y = (_places(values) for values in rows.T)
    points = pd.DataFrame({name: [_middle(frame[name])] * (len(x) * len(y)) for name in names})
    points[first], points[second] = np.tile(x, len(y)), np.repeat(y, len(x))
    table = points if hasattr(clf, "feature_names_in_") else points.to_numpy()
    return Plane((first, second), rows, x, y, table)


def _features(frame: pd.DataFrame, names: list[str], features: tuple[str, str] | None) -> tuple[str, str]:
    """Check the two features."""
    if features is None and len(names) != 2:
        raise InputError(f"the model has {len(names)} columns; name the two to draw, such as features={(*names[:2],)}")
    chosen = tuple(map(str, names if features is None else features))
    if len(set(chosen)) != 2 or len(chosen) != 2:
        raise InputError(f"features must be two different columns, not {features!r}")
    for name in chosen:
        if name not in names:
            raise InputError(f"there is no column {name!r}; the columns are {', '.join(map(repr, names))}")
        if columns.kind_of(frame[name]) != "number":
            raise InputError(f"column {name!r} holds words; a plane needs two columns of numbers")
    return chosen[0], chosen[1]


def _places(values: Array) -> Array:
    """Return evenly spaced places over the range of a column, and a little beyond."""
    seen = values[~np.isnan(values)]
    low, high = (seen.min(), seen.max()) if seen.size else (0.0, 1.0)
    room = MARGIN * (high - low) or 1.0
    return np.linspace(low - room, high + room, GRID)


def _middle(column: pd.Series) -> Any:
    """Return the mean of a column of numbers, or what is most frequent in one of words or of two numbers."""
    if columns.kind_of(column) == "number" and column.nunique() > 2:
        return float(column.mean())
    modes = column.mode()
    return modes.iloc[0] if len(modes) else np.nan
