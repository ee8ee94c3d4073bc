"""The file of a model: netCDF for ArviZ, and after its end what `load` reads, a compressed part of its own.

HDF5, on which netCDF is built, lets a file point at other files, at itself, and at missing storage. Its library
follows such pointers. So `load` does not parse it. The own part is JSON, which says at which byte of the file each
array of numbers begins. In JSON, an object of one key, such as ``{"tuple": [1, 2]}``, stands for what JSON lacks.
"""

from __future__ import annotations

import json
import math
import os
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayesclf.errors import DoesNotExist, InputError
from bayesclf.files import regular, write_whole
from bayesclf.storage import allowed
from bayesclf.storage.allowed import classes

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
            raise DamagedFile("the file lacks values of an array")
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
            f"{path} is not a model file, or it is damaged{reason}; give a file that save wrote, copy it again, or "
            "save the model again"
        ) from None


def _content(content: memoryview, max_bytes: int) -> Content:
    packed, length, checksum, signature = END.unpack(content[-END.size :])
    body = content[: -END.size]
    if signature != SIGNATURE:
        raise DamagedFile("the file has no end of a model file")
    if sha256(body).digest() != checksum:
        raise DamagedFile("its checksum differs")
    if packed > len(body):
        raise DamagedFile("the file is shorter than its own part")
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


MOST_TEXT = 2**28
"""Bytes of an array of text, which its dtype can make large whatever it holds."""


class Encoder:
    """Turns values into JSON, and sets arrays of numbers aside."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._numbers: dict[int, int] = {}
        self._classes = classes()

    def encode(self, value: Any, where: str) -> Any:
        """Return the JSON of a value; `where` names it in messages."""
        # Subclasses are other types: a NumPy float is a float, too, but not the one that JSON would give back.
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is list:
            return self._items(value, where)
        if kind is tuple:
            return {"tuple": self._items(value, where)}
        if kind is dict:
            return {"dict": [[self.encode(k, where), self.encode(v, f"{where}.{k}")] for k, v in value.items()]}
        if kind is np.ndarray:
            return self._array(value, where)
        if isinstance(value, sparse.csr_array):
            arrays = (value.data, value.indices, value.indptr)
            return {"sparse": [[self._array(array, where) for array in arrays], list(value.shape)]}
        if isinstance(value, np.generic) and (is_number(value.dtype) or value.dtype.kind == "U"):
            return {"scalar": [value.dtype.str, self.encode(value.item(), where)]}
        if kind is DoesNotExist:
            return {"does_not_exist": str(value)}
        if self._classes.get(kind.__name__) is kind:
            values = {name: self.encode(_saved(value, name), f"{where}.{name}") for name in field_names(kind)}
            return {"class": {"name": kind.__name__, "values": values}}
        raise InputError(
            f"{where!r} holds an object of type {kind.__name__}, which a model file cannot hold; fit with text, "
            "numbers, truth values, arrays or bayesclf's own objects instead"
        )

    def _items(self, values: Any, where: str) -> list[Any]:
        return [self.encode(value, f"{where}.{index}") for index, value in enumerate(values)]

    def _array(self, array: NDArray[Any], where: str) -> Any:
        """Set numbers aside; text stays in the JSON."""
        dtype, shape = array.dtype.str, list(array.shape)
        if array.dtype.kind in "OU":
            return {"items": {"dtype": dtype, "shape": shape, "items": self._items(array.ravel().tolist(), where)}}
        if not is_number(array.dtype):
            raise InputError(
                f"{where!r} is an array of {array.dtype}, which a model file cannot hold; give it as floats"
            )
        if id(array) not in self._numbers:
            self._numbers[id(array)] = len(self.arrays)
            self.arrays.append(array)
        # Sums over axes depend, in their last bits, on which axis is the innermost in memory.
        order = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
        return {"array": {"number": self._numbers[id(array)], "dtype": dtype, "shape": shape, "order": order}}


class Decoder:
    """Turns JSON back into values; nothing is looked up by a name that a file gives but in the tables of `allowed`."""

    def __init__(self, content: Content) -> None:
        """Take a file, whose head has the `places` of its arrays."""
        self._content = content
        self._places = content.head["arrays"]
        self._bytes = content.most_bytes
        self._classes = classes()

    def decode(self, node: Any) -> Any:
        """Return the value of a JSON node."""
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict):
            return node
        match next(iter(node.items())) if len(node) == 1 else ("", None):
            case "float", content:
                return float(content)
            case "tuple", content:
                return tuple(self.decode(item) for item in content)
            case "dict", content:
                return {self.decode(key): self.decode(value) for key, value in content}
            case "scalar", (str() as dtype, value):
                return _known_dtype(dtype, "biufU").type(self.decode(value))
            case "array", dict() as content:
                return self._array(**content)
            case "sparse", (list() as arrays, list() as shape):
                cells = sparse.csr_array(tuple(self.decode(arrays)), shape=tuple(shape))
                cells.check_format()
                return cells
            case "items", dict() as content:
                return self._objects(**content)
            case "does_not_exist", content:
                return DoesNotExist(str(content))
            case "class", dict() as content:
                return self._object(**content)
            case _:
                raise ValueError(f"its state has an entry of no known kind, {sorted(node)}")

    def _array(self, number: int, dtype: str, shape: list[int], order: list[int]) -> NDArray[Any]:
        values = self._content.array(self._places[number], shape, _known_dtype(dtype, "biuf"))
        self._bytes -= values.nbytes
        if self._bytes < 0:
            raise ValueError("its arrays are larger than a model may be; give max_bytes, if you trust the file")
        return values.transpose(order).copy(order="C").transpose(np.argsort(order).astype(int))

    def _objects(self, dtype: str, shape: list[int], items: list[Any]) -> NDArray[Any]:
        known = _known_dtype(dtype, "OU")
        if known.itemsize * len(items) > MOST_TEXT:
            raise ValueError(f"the file has an array of {len(items)} texts of {known}, more than a model may have")
        array = np.empty(len(items), known)
        for index, item in enumerate(items):
            array[index] = self.decode(item)
        return array.reshape(shape)

    def _object(self, name: str, values: dict[str, Any]) -> Any:
        cls = self._classes.get(name)
        if cls is None:
            raise ValueError(f"the file names the class {name!r}, which a model file cannot contain")
        members = {member: self.decode(value) for member, value in values.items()}
        check_names(f"the {name}", set(members), set(field_names(cls)))
        made = cls(**members)
        allowed.check(made, members)
        return made


def _saved(instance: Any, name: str) -> Any:
    """Return the value of a field, or its default where it is not part of the model, as who is told of progress."""
    own = instance.__dataclass_fields__[name]
    return getattr(instance, name) if own.metadata.get("saved", True) else own.default


def check_names(what: str, found: set[str], expected: set[str]) -> None:
    """Raise where a part of a file lacks a name, or has one too many."""
    if found != expected:
        problems = [f"lacks {name!r}" for name in sorted(expected - found)]
        problems += [f"has an unknown {name!r}" for name in sorted(found - expected)]
        raise ValueError(f"{what} in it {' and '.join(problems)}")


def field_names(cls: Any) -> list[str]:
    """Return the fields of a dataclass that its constructor takes."""
    return [field.name for field in fields(cls) if field.init]


def is_number(dtype: np.dtype[Any]) -> bool:
    """Return whether values of a dtype are real numbers or truth values that HDF5 holds to the last bit."""
    return dtype.kind in "biu" or (dtype.kind == "f" and dtype.itemsize <= 8)


def _known_dtype(name: str, kinds: str) -> np.dtype[Any]:
    """Return the dtype of a name; plain ones of some kinds only."""
    dtype = np.dtype(str(name))
    if dtype.kind not in kinds or not (is_number(dtype) or dtype.kind in "OU"):
        raise ValueError(f"the file has an array of {name!r}, which no model has")
    return dtype


def fingerprint(value: Any) -> str:
    """Return a SHA-256 of a value that a model file can hold, the same for equal values wherever they are in memory."""
    encoded = _Digests().encode(value, "value")
    return sha256(json.dumps(encoded, allow_nan=False).encode()).hexdigest()


class _Digests(Encoder):
    """Encodes arrays of numbers as their digests."""

    def _array(self, array: NDArray[Any], where: str) -> Any:
        if array.dtype.kind in "OU":
            return super()._array(array, where)
        values = np.where(np.isnan(array), np.nan, array) if array.dtype.kind == "f" else np.ascontiguousarray(array)
        return {"array": [array.dtype.str, list(array.shape), sha256(values.tobytes()).hexdigest()]}
