"""What a model file may hold: the version of its format, the classifiers, the classes of objects, and their members."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from numbers import Real
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    Protocol,
    TypeAliasType,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

if TYPE_CHECKING:
    from bayesclf.classifiers import BayesClassifier

VERSION = 1
"""Version that is written, and the only one that is read. It rises when what is stored changes after a release."""

CLASSES = {
    "classifiers.training": ("ColumnBlock", "DocumentLengths", "FrozenPrior", "Learnt"),
    "engines": ("Auto", "Trace"),
    "engines.inference": ("Draws",),
    "engines.optimizers": ("Certificate",),
    "families": ("Axes", "KnownClassPrior", "LearntAlpha", "LearntClassPrior", "Selected"),
    "families.by_evidence": ("ByEvidence", "Choices"),
    "families.cells": ("ColumnValues",),
    "families.cells_in_a_row": ("Cells", "Levels"),
    "families.mixed.regressions": ("NormalInverseGamma",),
    "models.generative": ("Block", "GenerativeModel"),
    "models.logistic.design": ("LogisticDesign",),
    "models.logistic.model": ("LogisticModel", "StreamedModel"),
    "models.logistic.prior": ("LearnedScale", "LogisticPrior"),
    "models.tempered": ("LeftOut",),
    "posterior.hypotheses": ("SeededDraws",),
    "rules": ("Gibbs",),
    "tables.columns": ("Column",),
}
"""Frozen dataclasses by the module of the package that has them, besides families, engines and optimizers."""

KINDS_OF_ARRAY: tuple[tuple[type[np.generic], str], ...] = ((np.bool, "b"), (np.integer, "iu"), (np.floating, "fiu"))
"""Kinds of dtype that an array annotated with a scalar type may have; other annotations allow any."""


def has_fitted_form(name: str) -> bool:
    """Return whether a name has the form of a fitted attribute's, as scikit-learn has it: `classes_`, or private."""
    return "_" in (name[0], name[-1])


def classifiers() -> dict[str, type[BayesClassifier]]:
    """Return the classifiers that can be saved, by name."""
    from bayesclf.classifiers import CLASSIFIERS

    return {cls.__name__: cls for cls in CLASSIFIERS.values()}


def classes() -> dict[str, type]:
    """Return the classes whose objects a file may hold, by name."""
    from bayesclf.engines.inference import ENGINES
    from bayesclf.engines.optimizers import OPTIMIZERS
    from bayesclf.families import FAMILIES

    listed: list[Any] = [*FAMILIES.values(), *ENGINES.values(), *OPTIMIZERS]
    listed += [family.statistics_type for family in FAMILIES.values()]
    for module, names in CLASSES.items():
        listed += [getattr(import_module(f"bayesclf.{module}"), name) for name in names]
    return {cls.__name__: cls for cls in listed}


def check(instance: Any, members: Mapping[str, Any]) -> None:
    """Raise ValueError for a member whose value is of another type than the class of `instance` annotates."""
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
    """Return whether a value is of an annotated type, the items of its containers too; NumPy numbers are numbers.

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
