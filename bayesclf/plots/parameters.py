"""Which parameters of a posterior a figure shows, when it cannot show all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.inference.convergence import MAX_RHAT, MIN_ESS_PER_CHAIN
from bayesclf.typing import Array

if TYPE_CHECKING:
    import xarray as xr

SAMPLE_DIMS = ("chain", "draw")


@dataclass(frozen=True)
class Quantity:
    """One quantity of the model, for example the mean of one feature, in all classes.

    Attributes
    ----------
    name
        Variable and place, such as ``mu[petal length]``.
    draws
        (chain, draw) or (chain, draw, class axis).
    spread
        What the quantity was chosen for: the range of the posterior means over the classes in posterior sds, −1 where
        classes share the quantity; or how badly its chains mix.
    """

    name: str
    draws: xr.DataArray
    spread: float

    @property
    def size(self) -> int:
        """Number of parameters."""
        return int(np.prod([self.draws.sizes[dim] for dim in self.draws.dims if dim not in SAMPLE_DIMS]))


def class_axis(dataset: xr.Dataset, labels: Iterable[object]) -> str | None:
    """Return the axis whose coordinates are classes, or None."""
    names = {str(label) for label in labels}
    for variable in dataset.data_vars.values():
        for dim in variable.dims:
            if dim not in SAMPLE_DIMS and dim in dataset.coords and {*map(str, dataset[dim].values)} <= names:
                return str(dim)
    return None


def parameter_count(dataset: xr.Dataset) -> int:
    """Return how many numbers one draw has."""
    draws = dataset.sizes["chain"] * dataset.sizes["draw"]
    return sum(variable.size for variable in dataset.data_vars.values()) // draws


def most_different(dataset: xr.Dataset, axis: str | None, classes: int, limit: int, panels: int) -> list[Quantity]:
    """Return the quantities that differ most between classes, most first; then those that classes share.

    Parameters
    ----------
    dataset
        A posterior.
    axis
        Its class axis.
    classes
        Number of classes. Where the axis has fewer, the one that it lacks is a reference at 0.
    limit
        Most parameters in all; one quantity is always returned.
    panels
        Most quantities.
    """
    found: list[tuple[float, str, dict[Any, int]]] = []
    for name, variable in dataset.data_vars.items():
        others = [dim for dim in variable.dims if dim not in SAMPLE_DIMS and dim != axis]
        spreads = _spreads(variable, axis, classes).transpose(*others).values
        places = product(*(range(variable.sizes[dim]) for dim in others))
        found += [(float(spreads[place]), str(name), dict(zip(others, place, strict=True))) for place in places]
    found.sort(key=lambda item: -item[0])
    chosen: list[Quantity] = []
    for spread, name, place in found[:panels]:
        draws = dataset[name].isel(place)
        quantity = Quantity(element_name(dataset, name, place), draws.reset_coords(drop=True), spread)
        if chosen and sum(other.size for other in chosen) + quantity.size > limit:
            break
        chosen.append(quantity)
    return chosen


def element_name(dataset: xr.Dataset, name: str, place: dict[Any, int]) -> str:
    """Return a variable's name with the coordinates of one place, such as ``mu[petal length]``."""
    parts = [str(dataset[dim].values[index]) if dim in dataset.coords else str(index) for dim, index in place.items()]
    return f"{name}[{', '.join(parts)}]" if parts else name


def _spreads(variable: xr.DataArray, axis: str | None, classes: int) -> xr.DataArray:
    """Return the range of the means over the class axis in posterior sds, over the variable's other axes."""
    mean = variable.mean(SAMPLE_DIMS)
    if axis is None or axis not in variable.dims:
        return mean * 0.0 - 1.0
    high, low = mean.max(axis), mean.min(axis)
    if variable.sizes[axis] < classes:
        high, low = high.clip(min=0.0), low.clip(max=0.0)
    sd = variable.var(SAMPLE_DIMS).mean(axis) ** 0.5
    return ((high - low) / sd.where(sd > 0)).fillna(0.0)


def least_mixed(dataset: xr.Dataset, limit: int) -> list[Quantity]:
    """Return the single parameters whose chains mix worst, worst first.

    What is measured against its limit is R-hat or the effective sample size, whichever is the worse; `spread` holds
    that ratio, −1 for a constant.
    """
    import arviz as az

    needed = MIN_ESS_PER_CHAIN * dataset.sizes["chain"]
    with np.errstate(all="ignore"):  # chains that never move divide by zero
        rhat = (az.rhat(dataset) - 1) / (MAX_RHAT - 1)
        shortage = [needed / az.ess(dataset, method=method) for method in ("bulk", "tail")]
    found: list[tuple[float, str, dict[Any, int]]] = []
    for name, variable in dataset.data_vars.items():
        others = [dim for dim in variable.dims if dim not in SAMPLE_DIMS]
        measures = [np.nan_to_num(part[name].transpose(*others).values, nan=-1.0) for part in (rhat, *shortage)]
        moving = dataset[name].std(SAMPLE_DIMS).transpose(*others).values > 0
        values: Array = np.where(moving, np.max(measures, axis=0), -1.0)
        places = product(*(range(size) for size in values.shape))
        found += [(float(values[place]), str(name), dict(zip(others, place, strict=True))) for place in places]
    found.sort(key=lambda item: -item[0])
    return [
        Quantity(element_name(dataset, name, place), dataset[name].isel(place).reset_coords(drop=True), value)
        for value, name, place in found[:limit]
    ]
