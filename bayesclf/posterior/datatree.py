"""The posterior: a set of hypotheses as an `xarray.DataTree`, which ArviZ reads as it is.

Groups: `posterior` holds equally weighted draws; `mle` and `map` hold one hypothesis each (chain = draw = 1), so that
a rule treats them alike; `sample_stats` holds what a sampler says of its draws; `constant_data` says which feature and
value each level of a categorical block is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import xarray as xr


def to_dataset(
    parameters: Mapping[str, NDArray[np.float64]],
    dims: Mapping[str, tuple[str, ...]],
    coords: Mapping[str, Any],
    chains: int = 1,
) -> xr.Dataset:
    """Return parameters (draw, ...) as a data set (chain, draw, ...) with labelled axes.

    Parameters
    ----------
    parameters
        Arrays by name, draws along the first axis, those of one chain together.
    dims
        Axis words of each parameter, without chain and draw; parameters not in it are left out.
    coords
        Coordinates of the axes.
    chains
        Number of chains; divides the number of draws.
    """
    import xarray as xr

    variables = {}
    for name, axes in dims.items():
        values = np.asarray(parameters[name])
        variables[name] = (("chain", "draw", *axes), values.reshape(chains, len(values) // chains, *values.shape[1:]))
    draws = len(next(iter(parameters.values()))) // chains if variables else 0
    used = {axis for axes in dims.values() for axis in axes}
    kept = {name: values for name, values in coords.items() if name in used}
    return xr.Dataset(variables, coords={"chain": np.arange(chains), "draw": np.arange(draws), **kept})


def to_constants(coords: Mapping[str, Any]) -> xr.Dataset:
    """Return what is known of an axis beside its names, such as the feature that each level belongs to.

    It has a group of its own, because ArviZ's summary fails on a posterior whose variables do not all have it.
    """
    import xarray as xr

    about = {name: values for name, values in coords.items() if isinstance(values, tuple)}
    axes = {axis for axis, _ in about.values()}
    return xr.Dataset(about, coords={axis: coords[axis] for axis in axes})
