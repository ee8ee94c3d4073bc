"""The netCDF file of a model: read at once, and written atomically."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesclf.errors import InputError
from bayesclf.files import write_whole
from bayesclf.storage.encoding import is_number

if TYPE_CHECKING:
    import xarray as xr

SIGNATURE = b"\x89HDF\r\n\x1a\n"
COMPRESS_ABOVE = 1024
"""Bytes above which an array is compressed."""


def read(path: Path) -> dict[str, xr.Dataset]:
    """Return the groups of a file, in memory."""
    import h5py
    import xarray as xr

    if os.path.isdir(path):
        raise InputError(f"{path} is a folder; give the file that save wrote")
    try:
        with path.open("rb") as file:
            start = file.read(len(SIGNATURE))
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; check the path") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path} cannot be read ({reason}); check the path and your rights") from None
    if start != SIGNATURE:
        raise InputError(f"{path} is {'not a model' if start else 'empty'}; give a file that save wrote")
    try:
        # First by itself, as h5netcdf prints a traceback of its own when it stops halfway.
        with h5py.File(path) as file:
            file.visititems(_visit)
        with xr.open_datatree(path, engine="h5netcdf") as tree:
            return {name: node.to_dataset(inherit=False).load().drop_encoding() for name, node in tree.children.items()}
    except Exception:  # a damaged file can fail anywhere in HDF5's, h5netcdf's and xarray's code, in any way
        raise InputError(f"{path} is cut off or damaged; copy it again, or save the model again") from None


def _visit(name: str, item: Any) -> None:
    """Read the attributes of a group or data set."""
    dict(item.attrs)


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
    write_whole(
        target,
        lambda part: tree.to_netcdf(part, engine="h5netcdf", encoding=compression(tree)),
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
