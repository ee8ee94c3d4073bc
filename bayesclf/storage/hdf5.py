"""Reading the netCDF-4 files that `save` writes, and nothing else, without trusting them.

HDF5 lets a file point at other files, at itself, and at storage that it does not have. libhdf5 follows such pointers,
so that a stranger's file could hang it, fill the memory, or put values of other files into a model. Here pyfive, which
is pure Python and knows one file only, parses the headers of a copy in memory; each header is checked against the few
forms that `save` writes before any array is made.
"""

from __future__ import annotations

import io
import math
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pyfive.dataobjects import DataObjects

SIGNATURE = b"\x89HDF\r\n\x1a\n"

MESSAGES = frozenset({0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x08, 0x0A, 0x0B, 0x0C, 0x10, 0x15})
"""Kinds of header messages that `save` writes; external storage (0x07) is not one of them."""

ATTRIBUTES_OF_VARIABLES = frozenset(
    {"CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_FillValue", "dtype"}
)
"""Attributes of a variable: netCDF's own, and those by which xarray keeps truth values."""

CONTIGUOUS, CHUNKED = 1, 2
DEFLATE, SHUFFLE = 1, 2
"""HDF5's numbers of layouts and filters."""

UNDEFINED = 2**64 - 1
"""The address of what is not in the file."""

MOST_DEFLATED = 1040
"""Bytes that one compressed byte can become, a little above the 1032 of the format."""

NO_VALUES = b"This is a netCDF dimension but not a netCDF variable"
"""How netCDF names a dimension without values."""


class DamagedFile(ValueError):
    """A file is not one that `save` wrote: it is cut off, or someone altered it."""


@dataclass(frozen=True)
class Group:
    """A group of a file: its attributes, and dims and values of its variables of numbers."""

    attributes: dict[str, Any]
    variables: dict[str, tuple[tuple[str, ...], NDArray[Any]]] = field(default_factory=dict)


class Metered(io.BytesIO):
    """A file in memory that can be read about as often as its headers need: pointers in a circle end in an error."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        # each header is read once and indices up to twice; files of `save` stay below one time their size
        self._left = 4 * len(content) + 2**16

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes, at least one in the count so that empty reads end, too."""
        part = super().read(size)
        self._left -= max(len(part), 1)
        if self._left < 0:
            raise DamagedFile("its headers point in a circle")
        return part


def read(content: bytes, groups: Mapping[str, frozenset[str]], most_bytes: int) -> dict[str, Group]:
    """Return the groups of a netCDF-4 file.

    Parameters
    ----------
    content
        The bytes of the file.
    groups
        The groups that it may have, below the root, each with the attributes that it may have.
    most_bytes
        Largest sum of the sizes of its arrays.

    Raises
    ------
    DamagedFile
        For whatever differs from the form in which `save` writes.
    """
    reader = _Reader(content, most_bytes)
    root = reader.header(_root(content))
    _allow("attributes", root.get_attributes(), {"_NCProperties"})
    _allow("groups", root.get_links(), set(groups))
    return {name: reader.group(address, groups[name]) for name, address in root.get_links().items()}


def _root(content: bytes) -> int:
    """Return the address of the root group, after a check of the superblock, of version 0."""
    if len(content) < 96 or not content.startswith(SIGNATURE + b"\0"):
        raise DamagedFile("its first bytes are not those of a model file")
    base, _, end, driver = struct.unpack_from("<4Q", content, 24)
    if (base, driver, end) != (0, UNDEFINED, len(content)) or content[13:15] != b"\x08\x08":
        raise DamagedFile(f"it has {len(content)} bytes, but was written with {end}")
    return int(struct.unpack_from("<Q", content, 64)[0])


@cache
def _header_type() -> Any:
    """Return pyfive's header, with a bound on the length of attributes; pyfive is imported when a file is read."""
    from pyfive.dataobjects import DataObjects

    class Header(DataObjects):  # type: ignore[misc]
        """Header whose attributes cannot be longer than its bytes."""

        def _attr_value(self, ptype: Any, buf: bytes, count: int, offset: int) -> Any:
            # pyfive makes an array of as many items as a header says, before it looks for them
            if count > len(buf):
                raise DamagedFile("it has an attribute that is longer than its bytes")
            return super()._attr_value(ptype, buf, count, offset)

    return Header


class _Reader:
    """One pass over the objects of a file; each is read once, wherever links point."""

    def __init__(self, content: bytes, most_bytes: int) -> None:
        self._content = content
        self._file = Metered(content)
        self._heaps: dict[int, Any] = {}
        self._read: set[int] = set()
        self._left = most_bytes

    def header(self, address: object) -> DataObjects:
        """Return the header of a group or data set, whose messages are all of known kinds."""
        if not isinstance(address, int) or address in self._read:
            raise DamagedFile("it has a link other than the one to each object")
        self._read.add(address)
        header: DataObjects = _header_type()(self._file, address, decode_strings=True, global_heaps=self._heaps)
        strange = {message["type"] for message in header.msgs} - MESSAGES
        # Bit 1 of the flags says that the message lies elsewhere, perhaps in another file. A gap between messages
        # (type 0) has whatever flags lay there before.
        if strange or any(message["type"] and message["flags"] & 2 for message in header.msgs):
            raise DamagedFile("it has storage, links or types that no model file has")
        return header

    def group(self, address: object, attributes: frozenset[str]) -> Group:
        """Return a group below the root; it has variables, and no groups of its own."""
        header = self.header(address)
        if header.is_dataset:
            raise DamagedFile("it has an array where a group should be")
        group = Group({name: _plain(value) for name, value in header.get_attributes().items()})
        _allow("attributes", group.attributes, attributes)
        members = {name: (link, self.header(link)) for name, link in header.get_links().items()}
        names = {link: name for name, (link, _) in members.items()}
        for name, (_, member) in members.items():
            if not member.is_dataset:
                raise DamagedFile(f"its group has a group {name!r} in it")
            values = self._values(member)
            if values is not None:
                dims = _dims(name, member, names)
                if len(dims) != values.ndim:
                    raise DamagedFile(f"the dims of {name!r} are not those of its shape")
                group.variables[name] = dims, values
        return group

    def _values(self, header: DataObjects) -> NDArray[Any] | None:
        """Return the values of a variable of numbers; None for text and for a dimension without values."""
        from pyfive.p5t import P5FloatType, P5IntegerType, P5VlenStringType

        attributes = header.get_attributes()
        _allow("attributes", attributes, ATTRIBUTES_OF_VARIABLES)
        kind = header.ptype
        if isinstance(kind, P5VlenStringType):
            return None
        if not isinstance(kind, P5FloatType | P5IntegerType):
            raise DamagedFile("it has an array of a type that no model has")
        name = attributes.get("NAME", b"")
        if isinstance(name, bytes) and name.startswith(NO_VALUES):
            return None
        shape, dtype = tuple(header.shape), kind.dtype
        self._left -= math.prod(shape) * dtype.itemsize
        if self._left < 0:
            raise DamagedFile("its arrays are larger than a model may be; give max_bytes, if you trust the file")
        _, layout, start = header.get_id_storage_params()
        filters = tuple(step["filter_id"] for step in header.filter_pipeline or ())
        if layout == CONTIGUOUS and not filters:
            values = self._contiguous(shape, dtype, *struct.unpack_from("<QQ", header.msg_data, start))
        elif layout == CHUNKED and filters in ((), (DEFLATE,), (SHUFFLE, DEFLATE)):
            values = self._chunked(header, shape, dtype, filters)
        else:
            raise DamagedFile("it has an array in a form that no model file has")
        return values.astype(bool) if attributes.get("dtype") == "bool" else values

    def _contiguous(self, shape: tuple[int, ...], dtype: np.dtype[Any], address: int, size: int) -> NDArray[Any]:
        count = math.prod(shape)
        if count == 0:
            return np.empty(shape, dtype)
        if size != count * dtype.itemsize or address + size > len(self._content):
            raise DamagedFile("it lacks values of an array")
        return np.frombuffer(self._content, dtype, count, address).reshape(shape).astype(dtype.newbyteorder("="))

    def _chunked(
        self, header: DataObjects, shape: tuple[int, ...], dtype: np.dtype[Any], filters: tuple[int, ...]
    ) -> NDArray[Any]:
        from pyfive.h5d import DatasetID

        sizes = header.chunks
        if len(sizes) != len(shape) or 0 in sizes:
            raise DamagedFile("it has an array in parts of another shape")
        expected = math.prod(-(-length // size) for length, size in zip(shape, sizes, strict=True))
        # an index entry has more than 24 bytes, so that the count is bounded before the places are listed
        if expected * 24 > len(self._content):
            raise DamagedFile("it lacks values of an array")
        index = DatasetID(header).index if expected else {}
        starts = set(product(*(range(0, length, size) for length, size in zip(shape, sizes, strict=True))))
        stored = sum(chunk.size for chunk in index.values())
        if index.keys() != starts or math.prod(shape) * dtype.itemsize > MOST_DEFLATED * stored:
            raise DamagedFile("it lacks values of an array")
        values = np.empty(shape, dtype.newbyteorder("="))
        for start, chunk in index.items():
            if chunk.filter_mask or chunk.byte_offset + chunk.size > len(self._content):
                raise DamagedFile("it lacks values of an array")
            raw = self._content[chunk.byte_offset : chunk.byte_offset + chunk.size]
            part = np.frombuffer(_unfiltered(raw, math.prod(sizes), dtype.itemsize, filters), dtype).reshape(sizes)
            place = tuple(slice(at, at + size) for at, size in zip(start, sizes, strict=True))
            kept = values[place].shape
            values[place] = part[tuple(map(slice, kept))]
        return values


def _unfiltered(raw: bytes, count: int, itemsize: int, filters: tuple[int, ...]) -> bytes:
    """Return the bytes of a chunk as they were before compression; no more are made than it can have."""
    size = count * itemsize
    if DEFLATE in filters:
        if size > MOST_DEFLATED * len(raw):
            raise DamagedFile("it lacks values of an array")
        raw = zlib.decompressobj().decompress(raw, size + 1)
    if len(raw) != size:
        raise DamagedFile("it lacks values of an array")
    if SHUFFLE in filters:
        raw = np.frombuffer(raw, np.uint8).reshape(itemsize, count).T.tobytes()
    return raw


def _dims(name: str, header: DataObjects, names: Mapping[int, str]) -> tuple[str, ...]:
    """Return the dims of a variable: of one that is a dimension itself, or of those that its attribute refers to."""
    attributes = header.get_attributes()
    if "DIMENSION_LIST" in attributes:
        return tuple(names[reference.address_of_reference] for reference in _references(attributes["DIMENSION_LIST"]))
    return (name,) if attributes.get("CLASS") == b"DIMENSION_SCALE" else ()


def _references(listed: Any) -> Iterator[Any]:
    """Return the one reference of each dimension."""
    for references in np.asarray(listed, dtype=object).ravel():
        (reference,) = np.ravel(references)
        yield reference


def _plain(value: Any) -> Any:
    """Return the value of an attribute; netCDF keeps a number as an array of one."""
    return value.item() if isinstance(value, np.ndarray | np.generic) and value.size == 1 else value


def _allow(what: str, found: Mapping[str, object], allowed: set[str] | frozenset[str]) -> None:
    strange = sorted(map(str, found.keys() - allowed))
    if strange:
        raise DamagedFile(f"it has unknown {what}, {strange[0][:40]!r} first")
