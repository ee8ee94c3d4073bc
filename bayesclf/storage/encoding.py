"""Values as JSON, their arrays of numbers set aside, and back.

An object of one key, such as ``{"tuple": [1, 2]}``, stands for what JSON lacks.
"""

from __future__ import annotations

import json
import math
from dataclasses import fields
from hashlib import sha256
from typing import Any, override

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayesclf.errors import DoesNotExist, InputError
from bayesclf.storage import allowed
from bayesclf.storage.allowed import classes
from bayesclf.storage.container import Content

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
        import xarray as xr

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
        if isinstance(value, xr.Dataset):
            items = value.variables.items()
            return {"dataset": [[str(key), list(own.dims), self.encode(own.values, where)] for key, own in items]}
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
            case "dataset", list() as content:
                return self._dataset(content)
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

    def _dataset(self, variables: list[tuple[str, list[str], Any]]) -> Any:
        import xarray as xr

        return xr.Dataset({name: (dims, self.decode(values)) for name, dims, values in variables})

    def _objects(self, dtype: str, shape: list[int], items: list[Any]) -> NDArray[Any]:
        known = _known_dtype(dtype, "OU")
        if known.itemsize * len(items) > MOST_TEXT:
            raise ValueError(f"it has an array of {len(items)} texts of {known}, more than a model may have")
        array = np.empty(len(items), known)
        for index, item in enumerate(items):
            array[index] = self.decode(item)
        return array.reshape(shape)

    def _object(self, name: str, values: dict[str, Any]) -> Any:
        cls = self._classes.get(name)
        if cls is None:
            raise ValueError(f"it names the class {name!r}, which a model file cannot contain")
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
        raise ValueError(f"it has an array of {name!r}, which no model has")
    return dtype


def fingerprint(value: Any) -> str:
    """Return a SHA-256 of a value that a model file can hold, the same for equal values wherever they are in memory."""
    encoded = _Digests().encode(value, "value")
    return sha256(json.dumps(encoded, allow_nan=False).encode()).hexdigest()


class _Digests(Encoder):
    """Encodes arrays of numbers as their digests."""

    @override
    def _array(self, array: NDArray[Any], where: str) -> Any:
        if array.dtype.kind in "OU":
            return super()._array(array, where)
        values = np.where(np.isnan(array), np.nan, array) if array.dtype.kind == "f" else np.ascontiguousarray(array)
        return {"array": [array.dtype.str, list(array.shape), sha256(values.tobytes()).hexdigest()]}
