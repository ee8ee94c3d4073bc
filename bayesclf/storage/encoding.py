"""Values as JSON, their arrays of numbers set aside, and back.

An object of one key, such as ``{"tuple": [1, 2]}``, stands for what JSON lacks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesclf.errors import DoesNotExist, InputError
from bayesclf.storage import declared
from bayesclf.storage.formats import classes

if TYPE_CHECKING:
    import xarray as xr

GROUP = "bayesclf"
"""Group of the classifier's state."""

REPEATED_ABOVE = 100
"""Length above which a tuple of text is written once, and referred to where it occurs again."""

FREELY_REPEATED, MOST_REPEATED = 2**19, 2**26
"""Texts of tuples that are referred to, each time that they are: in any file, and in one of many numbers."""

REPEATED_FOR_A_NUMBER = 16
"""How often a name may be repeated for each number of the file; of each level a model has several numbers."""

MOST_TEXT = 2**28
"""Bytes of an array of text, which its dtype can make large whatever it holds."""


class Encoder:
    """Turns values into JSON, and sets arrays aside.

    Attributes
    ----------
    variables
        The arrays set aside, with their dims, by name.
    """

    def __init__(self, places: dict[int, str]) -> None:
        """Take, by identity, the objects that other groups hold already, as "group/variable" or group."""
        self.variables: dict[str, tuple[tuple[str, ...], NDArray[Any]]] = {}
        self._places = places
        self._classes = classes()
        self._repeated: dict[tuple[str, ...], int] = {}

    def encode(self, value: Any, where: str) -> Any:
        """Return the JSON of a value; `where` names it in variables and messages."""
        # Subclasses are other types: a NumPy float is a float, too, but not the one that JSON would give back.
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is list:
            return self._items(value, where)
        if kind is tuple:
            return self._tuple(value, where)
        if kind is dict:
            return {"dict": [[self.encode(k, where), self.encode(v, f"{where}.{k}")] for k, v in value.items()]}
        if kind is np.ndarray:
            return self._array(value, where)
        if isinstance(value, np.generic) and (is_number(value.dtype) or value.dtype.kind == "U"):
            return {"scalar": [value.dtype.str, self.encode(value.item(), where)]}
        if kind is DoesNotExist:
            return {"does_not_exist": str(value)}
        if self._classes.get(kind.__name__) is kind:
            values = {name: self.encode(_saved(value, name), f"{where}.{name}") for name in field_names(kind)}
            return {"class": {"name": kind.__name__, "values": values}}
        if id(value) in self._places:
            return {"group": self._places[id(value)]}
        raise InputError(
            f"{where!r} holds an object of type {kind.__name__}, which a model file cannot hold; fit with text, "
            "numbers, truth values, arrays or bayesclf's own objects instead"
        )

    def _items(self, values: Any, where: str) -> list[Any]:
        return [self.encode(value, f"{where}.{index}") for index, value in enumerate(values)]

    def _tuple(self, value: tuple[Any, ...], where: str) -> Any:
        """Write a long tuple of text once, however often it occurs: the names of a vocabulary are in many places."""
        if len(value) <= REPEATED_ABOVE or any(type(item) is not str for item in value):
            return {"tuple": self._items(value, where)}
        if value in self._repeated:
            return {"again": self._repeated[value]}
        self._repeated[value] = len(self._repeated)
        return {"texts": list(value)}

    def _array(self, array: NDArray[Any], where: str) -> Any:
        """Set numbers aside; text stays in the JSON, as HDF5's cannot hold every character."""
        dtype, shape = array.dtype.str, list(array.shape)
        if array.dtype.kind in "OU":
            return {"items": {"dtype": dtype, "shape": shape, "items": self._items(array.ravel().tolist(), where)}}
        if not is_number(array.dtype):
            raise InputError(
                f"{where!r} is an array of {array.dtype}, which a model file cannot hold; give it as floats"
            )
        if id(array) not in self._places:
            self._places[id(array)] = self._set_aside(array, where)
        # Sums over axes depend, in their last bits, on which axis is the innermost in memory.
        order = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
        return {"array": {"variable": self._places[id(array)], "dtype": dtype, "shape": shape, "order": order}}

    def _set_aside(self, array: NDArray[Any], where: str) -> str:
        """Keep an array as a variable; axes of one length share a dim, but no array has a dim twice."""
        base = name = re.sub(r"[^\w.]", "_", where)[:80]
        while name in self.variables:
            name = f"{base}.{len(self.variables)}"
        before = [array.shape[:axis].count(size) for axis, size in enumerate(array.shape)]
        dims = tuple(f"axis_{size}" + "_again" * n for size, n in zip(array.shape, before, strict=True))
        self.variables[name] = (dims, array)
        return f"{GROUP}/{name}"


class Decoder:
    """Turns JSON back into values; nothing is looked up by a name that a file gives but in the tables of `formats`.

    Attributes
    ----------
    used
        The variables that values were made of, as "group/variable".
    """

    def __init__(self, groups: Mapping[str, xr.Dataset]) -> None:
        self.used: set[str] = set()
        self._repeated: list[tuple[str, ...]] = []
        numbers = sum(values.size for group in groups.values() for values in group.variables.values())
        self._left = min(FREELY_REPEATED + REPEATED_FOR_A_NUMBER * numbers, MOST_REPEATED)
        self._groups = groups
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
            case "texts", content:
                self._repeated.append(tuple(map(str, content)))
                return self._repeated[-1]
            case "again", content:
                return self._again(content)
            case "tuple", content:
                return tuple(self.decode(item) for item in content)
            case "dict", content:
                return {self.decode(key): self.decode(value) for key, value in content}
            case "scalar", (str() as dtype, value):
                return _known_dtype(dtype, "biufU").type(self.decode(value))
            case "array", dict() as content:
                return self._array(**content)
            case "items", dict() as content:
                return self._objects(**content)
            case "group", content:
                return self._groups[content]
            case "does_not_exist", content:
                return DoesNotExist(str(content))
            case "class", dict() as content:
                return self._object(**content)
            case _:
                raise ValueError(f"its state has an entry of no known kind, {sorted(node)}")

    def _again(self, place: int) -> tuple[str, ...]:
        texts = self._repeated[place]
        self._left -= len(texts)
        if self._left < 0:
            raise ValueError("it repeats names more often than a model of its numbers does")
        return texts

    def _array(self, variable: str, dtype: str, shape: list[int], order: list[int]) -> NDArray[Any]:
        group, _, name = variable.partition("/")
        self.used.add(variable)
        values = self._groups[group][name].values.reshape(shape).astype(_known_dtype(dtype, "biuf"), copy=False)
        return np.asarray(values.transpose(order), order="C").transpose(np.argsort(order).astype(int))

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
        declared.check(made, members)
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
