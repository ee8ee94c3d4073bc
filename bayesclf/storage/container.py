"""The file of a model: netCDF for ArviZ, and after its end what `load` reads, a compressed part of its own.

HDF5, on which netCDF is built, lets a file point at other files, at itself, and at missing storage. Its library
follows such pointers. So `load` does not parse it: the own part says at which byte of the file each array begins.
"""

from __future__ import annotations

import json
import math
import os
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesclf.errors import InputError
from bayesclf.files import regular, write_whole

if TYPE_CHECKING:
    import xarray as xr

MAX_BYTES = 2**32
"""Default of the largest model that is read, in bytes of its file and of its arrays."""

SHARED_ABOVE = 2**12
"""Bytes above which an array that the netCDF part has already is not written again."""

SIGNATURE = b"\nbayesclf model\n"
END = struct.Struct(f"<QQ32s{len(SIGNATURE)}s")
"""The last bytes of a file: lengths of the own part, packed, and of its JSON; SHA-256 of all before; signature."""


class DamagedFile(ValueError):
    """A file is not as it was written."""


@dataclass(frozen=True)
class Content:
    """What was read from a file."""

    head: dict[str, Any]
    numbers: tuple[memoryview, memoryview]
    most_bytes: int

    def __len__(self) -> int:
        return sum(map(len, self.numbers))

    def array(self, place: int, shape: Sequence[int], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return a view of the array at a place; it takes no memory."""
        at = place - len(self.numbers[0])
        buffer, start = (self.numbers[0], place) if at < 0 else (self.numbers[1], at)
        size = math.prod(shape) * dtype.itemsize
        if min((place, *shape)) < 0 or start + size > len(buffer):
            raise DamagedFile("it lacks values of an array")
        return np.ndarray(tuple(shape), dtype, buffer if size else bytes(dtype.itemsize), start if size else 0)


def read(path: Path, max_bytes: int = MAX_BYTES) -> Content:
    """Return the content of a file, whose checksum is right, in memory."""
    with regular(path, "a model") as file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            raise InputError(f"{path} has {size:,} bytes; to read more than {max_bytes:,}, give max_bytes")
        content = memoryview(file.read(max_bytes))
    if not content or bytes(content[:4]) != b"\x89HDF":
        raise InputError(f"{path} is {'not a model' if content else 'empty'}; give a file that save wrote")
    try:
        return _content(content, max_bytes)
    except (ValueError, RecursionError, zlib.error, struct.error) as error:
        reason = f" ({error})" if isinstance(error, DamagedFile) else ""
        raise InputError(
            f"{path} is not a model, or it is cut off or damaged{reason}; "
            "give a file that save wrote, copy it again, or save the model again"
        ) from None


def _content(content: memoryview, max_bytes: int) -> Content:
    packed, length, checksum, signature = END.unpack(content[-END.size :])
    body = content[: -END.size]
    if signature != SIGNATURE:
        raise DamagedFile("it has no end of a model file")
    if sha256(body).digest() != checksum:
        raise DamagedFile("its checksum differs")
    if packed > len(body):
        raise DamagedFile("it is shorter than its own part")
    start = len(body) - packed
    own = memoryview(zlib.decompressobj().decompress(body[start:], max_bytes + 1))  # at most 1,032 times as many
    if len(own) > max_bytes:
        raise DamagedFile("its arrays are larger than a model may be; give max_bytes, if you trust the file")
    if length > len(own):
        raise DamagedFile("its own part is shorter than its JSON")
    head = json.loads(bytes(own[len(own) - length :]))
    if not isinstance(head, dict):
        raise DamagedFile("its JSON is no object")
    return Content(head, (body[:start], own[: len(own) - length]), max_bytes)


def write(target: Path, tree: xr.DataTree, arrays: Sequence[NDArray[Any]], head: dict[str, Any]) -> None:
    """Write a file, which replaces an existing one only when it is complete."""

    def content() -> bytes:
        """Return the bytes of the file, made in memory: on a full disk, libhdf5 crashes when it closes a file."""
        # encodings that variables bring along from elsewhere could compress them
        plain: dict[str, dict[str, Any]] = {
            node.path: {str(name): {} for name in node.to_dataset(inherit=False).variables} for node in tree.subtree
        }
        groups = bytes(tree.to_netcdf(engine="h5netcdf", encoding=plain))
        own, places = bytearray(), []
        for array in arrays:
            values = array.tobytes()
            found = groups.find(values) if len(values) > SHARED_ABOVE else -1
            places.append(found if found >= 0 else len(groups) + len(own))
            own += b"" if found >= 0 else values
        return signed(groups, bytes(own), {**head, "arrays": places})

    write_whole(
        target, lambda part: part.write_bytes(content()), (OSError, RuntimeError, TypeError, ValueError, UnicodeError)
    )


def signed(groups: bytes, own: bytes, head: dict[str, Any] | str) -> bytes:
    """Return the bytes of a file; the checksum detects damage, not forgery, as anyone can compute it."""
    text = (head if isinstance(head, str) else json.dumps(head, allow_nan=False)).encode()
    packed = zlib.compress(own + text, level=1)
    return sealed(groups + packed, len(packed), len(text))


def sealed(body: bytes, packed: int, length: int) -> bytes:
    """Return the bytes of a file with its end, given the lengths of its packed part and of its JSON."""
    return body + END.pack(packed, length, sha256(body).digest(), SIGNATURE)
