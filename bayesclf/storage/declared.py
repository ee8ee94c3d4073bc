"""Whether the values of a loaded object are what the annotations of its class say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from numbers import Real
from types import NoneType, UnionType
from typing import Any, Literal, Protocol, TypeAliasType, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from bayesclf.storage.formats import has_fitted_form

KINDS_OF_ARRAY: tuple[tuple[type[np.generic], str], ...] = ((np.bool, "b"), (np.integer, "iu"), (np.floating, "fiu"))
"""Kinds of dtype that an array annotated with a scalar type may have; other annotations allow any."""


def check(instance: Any, members: Mapping[str, Any]) -> None:
    """Raise ValueError for a member whose value is of another type than the class of `instance` declares.

    Members without an annotation, and parameters that may be anything, are not looked at.
    """
    declared = hints(type(instance))  # type: ignore[arg-type]  # mypy takes type[Any] for unhashable
    for name, value in members.items():
        if name in declared and not fits(value, declared[name]):
            raise ValueError(f"its {type(instance).__name__} has an impossible {name!r}")


def fitted_names(cls: type) -> set[str]:
    """Return the attributes that a classifier declares and `fit` sets."""
    return {name for name in hints(cls) if has_fitted_form(name) and name.strip("_")}


@cache
def hints(cls: type) -> dict[str, Any]:
    """Return the annotations of a class and its bases."""
    import xarray as xr

    return get_type_hints(cls, localns={"xr": xr})


def fits(value: object, annotation: Any) -> bool:
    """Return whether a value is of an annotated type, the items of its containers too.

    As in annotations, a whole number is a real one; numbers of NumPy are like those of Python.

    Examples
    --------
    >>> fits((1, 2.5), tuple[float, ...]), fits("x", float | None), fits(np.zeros(2), np.ndarray)
    (True, False, True)
    """
    if isinstance(annotation, TypeAliasType):
        return fits(value, annotation.__value__)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(origin, TypeAliasType):
        return fits(value, origin.__value__)
    if annotation is Any or isinstance(annotation, TypeVar):
        return True
    if origin in (Union, UnionType):
        return any(fits(value, argument) for argument in arguments)
    if origin is Literal:
        return value in arguments
    if origin is np.ndarray:
        # a parameter may be given as a list, and stays one
        array = np.asarray(value) if isinstance(value, list | tuple) else value
        return isinstance(array, np.ndarray) and _has_dtype(array, arguments[-1])
    if origin in (tuple, list, dict):
        return isinstance(value, origin) and _items_fit(value, origin, arguments)
    if annotation is None or annotation is NoneType:
        return value is None
    if annotation is float:
        return isinstance(value, Real) and not isinstance(value, bool)
    if annotation is int:
        return isinstance(value, int | np.integer) and not isinstance(value, bool)
    if annotation is bool:
        return isinstance(value, bool | np.bool)
    kind = origin or annotation
    if Protocol in getattr(kind, "__bases__", ()):
        return is_dataclass(value)  # which of them it is, is found where its members are used
    return isinstance(value, kind)


def _items_fit(value: Any, origin: type, arguments: tuple[Any, ...]) -> bool:
    if origin is dict:
        key, item = arguments
        return all(fits(k, key) and fits(v, item) for k, v in value.items())
    if origin is list or arguments[-1] is Ellipsis:
        return all(fits(item, arguments[0]) for item in value)
    return len(value) == len(arguments) and all(map(fits, value, arguments))


def _has_dtype(array: np.ndarray[Any, Any], annotation: Any) -> bool:
    """Return whether an array has the kind of scalar that its annotation, ``numpy.dtype[...]``, names."""
    scalars = get_args(annotation)
    scalar = get_origin(scalars[0]) or scalars[0] if scalars else Any
    for kind, letters in KINDS_OF_ARRAY:
        if isinstance(scalar, type) and issubclass(scalar, kind):
            return array.dtype.kind in letters
    return True
