"""How far the data that were seen lie from those that the model makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


def p_values(replicated: xr.Dataset, observed: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Return P(T(replicated) > T(observed)) + ½P(=), and the same two-sided, adjusted for how many there are.

    A statistic's deviation is |T − mean|/sd over the replicated data sets; the adjusted p-value is the share of data
    sets, the observed one included, whose largest deviation over all statistics is at least as large.
    """
    p_value, largest, deviations = {}, [], {}
    for name, values in observed.items():
        made = replicated[name].isel(chain=0)
        p_value[name] = ((made > values) + 0.5 * (made == values)).mean("draw").where(values.notnull())
        sd = made.std("draw")
        scaled = abs(made - made.mean("draw")) / sd.where(sd > 0)
        largest.append(scaled.fillna(0.0).max([dim for dim in scaled.dims if dim != "draw"]))
        off = abs(values - made.mean("draw"))
        deviations[name] = (off / sd).where(sd > 0, np.where(off > 0, np.inf, 0.0)).where(values.notnull())
    of_draw = np.max([part.values for part in largest], axis=0)
    adjusted = {
        name: values.copy(data=(1 + (of_draw >= values.values[..., None]).sum(axis=-1)) / (1 + len(of_draw))).where(
            values.notnull()
        )
        for name, values in deviations.items()
    }
    import xarray as xr

    return xr.Dataset(p_value), xr.Dataset(adjusted)


def p_value_table(tree: xr.DataTree) -> pd.DataFrame:
    """Return one line a statistic: observed, mean and sd of the replicated ones, p-values; the most extreme first.

    Parameters
    ----------
    tree
        What `predictive_check` returned.
    """
    import pandas as pd

    lines = []
    replicated, observed = (tree[f"{name}_statistics"].to_dataset() for name in ("posterior", "observed"))
    for name, values in observed.items():
        mean, sd = (getattr(replicated[name], of)(("chain", "draw")).values for of in ("mean", "std"))
        p_value, adjusted = (tree[group].to_dataset()[name].values for group in ("p_value", "adjusted_p_value"))
        coordinates = [[str(label) for label in values[dim].values] for dim in values.dims]
        for place in np.ndindex(*values.shape):
            names = [axis[i] for axis, i in zip(coordinates, place, strict=True)]
            numbers = (array[place] for array in (values.values, mean, sd, p_value, adjusted))
            lines.append((name, names[0], names[1] if len(names) > 1 else "", *map(float, numbers)))
    columns = ["statistic", "outcome", "column", "observed", "replicated", "sd", "p_value", "adjusted_p_value"]
    table = pd.DataFrame(lines, columns=columns)
    deviation = ((table["observed"] - table["replicated"]).abs() / table["sd"]).fillna(0.0)
    order = np.lexsort((-deviation, table["adjusted_p_value"].fillna(1.0)))
    return table.iloc[order].reset_index(drop=True)
