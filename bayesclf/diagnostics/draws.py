"""The draws of a posterior as single numbers with names, which checks go through one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.check import Skipped
from bayesclf.typing import Array

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


@dataclass(frozen=True, eq=False)
class Scalars:
    """Single parameters that vary.

    Attributes
    ----------
    names
        Such as "weight[yes, age]".
    draws
        (scalar, chain, draw).
    of
        How many parameters there are in all, those included that do not vary.
    not_finite
        Names of parameters with draws that are not finite.
    """

    names: tuple[str, ...]
    draws: Array
    of: int
    not_finite: tuple[str, ...] = ()

    @property
    def scope(self) -> str:
        """How many were looked at, in words."""
        checked = len(self.names)
        return f"{checked:,} parameters" if checked == self.of else f"{checked:,} of {self.of:,} parameters"


def scalars(posterior: xr.Dataset) -> Scalars:
    """Return the single parameters of a posterior (chain, draw, …), `MAX_SCALARS` of them at most.

    Constant ones are left out: the last probability of a table with one level does not vary, and is none the worse.
    """
    names: list[str] = []
    parts = []
    sizes = posterior.sizes["chain"], posterior.sizes["draw"]
    for name, variable in posterior.items():
        values = variable.transpose(..., "chain", "draw")
        names += names_of(str(name), values)
        parts.append(values.values.reshape(-1, *sizes))
    every = np.concatenate([np.empty((0, *sizes)), *parts])
    step = -(-len(every) // thresholds.MAX_SCALARS)
    some = every[:: max(step, 1)]
    shown = names[:: max(step, 1)]
    finite = np.isfinite(some).all(axis=(1, 2))
    kept = np.flatnonzero(finite & (np.ptp(some, axis=(1, 2)) > 0))
    wrong = tuple(shown[i] for i in np.flatnonzero(~finite))
    return Scalars(tuple(shown[i] for i in kept), some[kept], len(every), wrong)


def checkable(posterior: xr.Dataset) -> Scalars:
    """Return the same, or raise `Skipped` where there are too few draws to say anything."""
    if posterior.sizes["draw"] < thresholds.MIN_DRAWS:
        raise Skipped(f"{posterior.sizes['draw']} draws a chain are too few to check; draw longer")
    found = scalars(posterior)
    if not found.names:
        raise Skipped("no parameter varies")
    return found


def worst(found: Scalars, **columns: Array) -> pd.DataFrame:
    """Return a table of the parameters, the worst first by the first column's badness, `SHOWN` lines at most.

    Parameters
    ----------
    found
        The parameters.
    columns
        Numbers (scalar); the first one orders, its greatest value first.
    """
    import pandas as pd

    order = np.argsort(-np.nan_to_num(next(iter(columns.values())), nan=np.inf), kind="stable")[: thresholds.SHOWN]
    return pd.DataFrame(
        {"parameter": [found.names[i] for i in order], **{name: values[order] for name, values in columns.items()}}
    )


def names_of(name: str, variable: xr.DataArray) -> list[str]:
    """Return the names of a variable's numbers in their order, with their coordinates."""
    one = variable.isel(chain=0, draw=0, drop=True)
    labels = [[str(label) for label in one[dim].values] for dim in one.dims]
    places = np.ndindex(*one.shape)
    return [
        f"{name}[{', '.join(axis[i] for axis, i in zip(labels, place, strict=True))}]" if place else name
        for place in places
    ]
