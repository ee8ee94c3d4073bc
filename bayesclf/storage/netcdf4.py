"""Writing groups of variables as a netCDF-4 file: HDF5 with dimensions as netCDF marks them.

xarray writes such files, too, by h5netcdf, which looks each object up by its path many times: it takes several times as
long for many small arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.storage.encoding import is_number
from bayesclf.storage.hdf5 import NO_VALUES

if TYPE_CHECKING:
    import xarray as xr

COMPRESS_ABOVE = 1024
"""Bytes above which an array is compressed."""


def written(groups: Mapping[str, xr.Dataset]) -> bytes:
    """Return a netCDF-4 file of groups, in memory: on a full disk, libhdf5 crashes when it closes a file."""
    import h5py

    numbers = count()
    # netCDF's own library wants objects in the order in which they were made.
    with h5py.File("model", "w", driver="core", backing_store=False, track_order=True) as file:
        file.attrs["_NCProperties"] = np.bytes_(f"version=2,h5py={h5py.__version__},hdf5={h5py.version.hdf5_version}")
        for name, dataset in groups.items():
            _write_group(file.create_group(name, track_order=True), dataset, numbers)
        file.flush()
        content: bytes = file.id.get_file_image()
    return content


def _write_group(group: Any, dataset: xr.Dataset, numbers: Iterator[int]) -> None:
    """Write variables with their dimensions, each of which has a number of its own in the file."""
    from xarray.conventions import cf_encoder

    variables, attributes = cf_encoder(dict(dataset.variables), dict(dataset.attrs))
    for name, value in attributes.items():
        group.attrs[name] = value
    places, scales = {}, {}
    for dim, size in dataset.sizes.items():
        name, places[dim] = str(dim), np.int32(next(numbers))
        if name in variables:
            scale = _write_array(group, name, variables[name])
            scale.make_scale(name)
        else:
            scale = group.create_dataset(name, (size,), ">f4", track_order=True)
            scale.make_scale(NO_VALUES + b".%10d" % size)
        scale.attrs["_Netcdf4Dimid"] = places[dim]
        scales[name] = scale
    for name, variable in variables.items():
        if name in scales:
            continue
        array = _write_array(group, name, variable)
        if variable.dims:
            array.attrs["_Netcdf4Coordinates"] = np.array([places[dim] for dim in variable.dims])
            array.attrs["_Netcdf4Dimid"] = places[variable.dims[0]]
        for axis, dim in enumerate(variable.dims):
            array.dims[axis].attach_scale(scales[dim])


def _write_array(group: Any, name: str, variable: xr.Variable) -> Any:
    """Write values, those of many bytes compressed, and their attributes."""
    import h5py

    values, options = np.asarray(variable.values), {}
    if not is_number(values.dtype):
        values, options = values.astype(object), {"dtype": h5py.string_dtype()}
    elif values.ndim and values.nbytes > COMPRESS_ABOVE:
        options = {"compression": "gzip", "compression_opts": 1}
    array = group.create_dataset(name, data=values, track_order=True, **options)
    for key, value in variable.attrs.items():
        array.attrs[key] = np.atleast_1d(value) if key == "_FillValue" else value
    return array
