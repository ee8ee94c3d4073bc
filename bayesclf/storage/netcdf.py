"""The netCDF file of a model: read without trusting it, and written atomically."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.errors import InputError
from bayesclf.files import regular, write_whole
from bayesclf.storage import hdf5
from bayesclf.storage.encoding import GROUP, is_number

if TYPE_CHECKING:
    import xarray as xr

COMPRESS_ABOVE = 1024
"""Bytes above which an array is compressed."""

MAX_BYTES = 2**32
"""Default of the largest model that is read, in bytes of its file and of its arrays."""

GROUPS = {
    GROUP: frozenset({"format", "format_version", "libraries", "state", "checksum"}),
    "posterior": frozenset({"not_held"}),
    "sample_stats": frozenset[str](),
    "map": frozenset({"does_not_exist"}),
    "mle": frozenset({"does_not_exist"}),
    "constant_data": frozenset[str](),
}
"""The groups of a model file, each with the attributes that it may have."""


def read(path: Path, max_bytes: int = MAX_BYTES) -> dict[str, xr.Dataset]:
    """Return the numbers in the groups of a file, in memory; text arrays, which no model reads back, are left out."""
    import xarray as xr

    content = _content(path, max_bytes)
    if not content.startswith(hdf5.SIGNATURE):
        raise InputError(f"{path} is {'not a model' if content else 'empty'}; give a file that save wrote")
    try:
        groups = hdf5.read(content, GROUPS, max_bytes)
        return {name: xr.Dataset(group.variables, attrs=group.attributes) for name, group in groups.items()}
    except Exception as error:  # headers of a damaged file can fail anywhere, in pyfive's code or xarray's, in any way
        reason = f"({error}) " if isinstance(error, hdf5.DamagedFile) else ""
        raise InputError(
            f"{path} is not a model, or it is cut off or damaged {reason}"
            "and cannot be read; give a file that save wrote, copy it again, or save the model again"
        ) from None


def _content(path: Path, max_bytes: int) -> bytes:
    """Return the bytes of an ordinary file that is not too large."""
    with regular(path, "a model") as file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            raise InputError(f"{path} has {size:,} bytes; to read more than {max_bytes:,}, give max_bytes")
        return file.read(max_bytes)


def checksum(groups: Mapping[str, xr.Dataset], state: str) -> str:
    """Return the SHA-256 of a model's state and numbers; it detects damage, not forgery, as anyone can compute it."""
    digest = sha256(state.encode())
    for group in sorted(groups):
        for name, variable in sorted(groups[group].variables.items(), key=lambda item: str(item[0])):
            if is_number(variable.dtype):
                values = np.ascontiguousarray(variable.values)
                if values.dtype.kind == "f":
                    values = np.where(np.isnan(values), np.nan, values)  # files need not keep the other bits of a NaN
                digest.update(f"{group}/{name} {values.dtype.str} {values.shape}".encode())
                digest.update(values.tobytes())
    return digest.hexdigest()


def target_of(path: str | os.PathLike[str]) -> Path:
    """Return the file to write, links followed, so that a link to it stays one."""
    target = Path(os.path.realpath(path))
    if os.path.isdir(target):
        raise InputError(f"{path} is a folder; name a file in it")
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {target.parent} to save in; create it, or check the path")
    return target


def write(target: Path, tree: xr.DataTree) -> None:
    """Write groups to a file, which replaces an existing one only when it is complete."""
    # In memory first: on a full disk, libhdf5 crashes when it closes a file.
    write_whole(
        target,
        lambda part: part.write_bytes(tree.to_netcdf(engine="h5netcdf", encoding=compression(tree))),
        (OSError, RuntimeError, TypeError, ValueError),
    )


def compression(tree: xr.DataTree) -> dict[str, dict[str, Any]]:
    """Return xarray's encoding; it replaces what a variable brings along from elsewhere."""
    return {
        node.path: {
            str(name): {"zlib": True, "complevel": 1}
            for name, variable in node.to_dataset(inherit=False).variables.items()
            if variable.ndim and variable.nbytes > COMPRESS_ABOVE and is_number(variable.dtype)
        }
        for node in tree.subtree
    }
