"""The posterior: a set of hypotheses as an `xarray.DataTree`, which ArviZ reads as it is.

Groups: `posterior` holds equally weighted draws; `mle` and `map` hold one hypothesis each (chain = draw = 1), so that
a rule treats them alike; `sample_stats` holds what a sampler says of its draws.
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
        variables[name] = (("chain", "draw", *axes), values.reshape(chains, -1, *values.shape[1:]))
    draws = len(next(iter(parameters.values()))) // chains if variables else 0
    used = {axis for axes in dims.values() for axis in axes}
    kept = {
        name: values for name, values in coords.items() if (values[0] if isinstance(values, tuple) else name) in used
    }
    return xr.Dataset(variables, coords={"chain": np.arange(chains), "draw": np.arange(draws), **kept})


def to_parameters(dataset: xr.Dataset) -> dict[str, NDArray[np.float64]]:
    """Return the variables as arrays (draw, ...), the draws of all chains one after the other."""
    parameters = {}
    for name, variable in dataset.data_vars.items():
        values = variable.transpose("chain", "draw", ...).values
        parameters[str(name)] = values.reshape(-1, *values.shape[2:])
    return parameters
