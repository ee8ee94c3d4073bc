"""What a model file may hold: classes, types of members, and a classifier of parts that fit together and can answer.

A file of some kilobytes can declare a table over columns of thousands of levels each, or any number of draws from a
seed. Its names are counted here before any is written, and its draws before any is made.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass, replace
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

from bayesclf.arrays import Parameters
from bayesclf.errors import DoesNotExist, InputError
from bayesclf.wording import listed

if TYPE_CHECKING:
    import pandas as pd

    from bayesclf.classifiers import BayesClassifier
    from bayesclf.models.generative import Block
    from bayesclf.posterior.hypotheses import HypothesisSet
    from bayesclf.tables.columns import Column

VERSION = 1
"""Version that is written, and the only one that is read. It rises when what is stored changes after a release."""

CLASSES = {
    "classifiers.generating": ("DocumentLengths",),
    "classifiers.training": ("ColumnBlock", "FrozenPrior", "Learnt"),
    "engines": ("Auto", "Trace"),
    "engines.inference": ("Draws",),
    "engines.optimizers": ("Certificate",),
    "families": ("Axes", "KnownClassPrior", "LearntAlpha", "LearntClassPrior"),
    "families.by_evidence": ("ByEvidence", "Choices"),
    "families.cells": ("ColumnValues",),
    "families.histogram": ("Cells",),
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
    return get_type_hints(cls)


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


SPARE_NAMES = 2**16
"""Names that a model may have beyond the numbers in its file, of which there is at least one for each name."""

LARGEST_BLOCK = 2**30
"""Bytes of draws that a file may have made at a time, many times what a fit takes."""

BYTES_OF_A_DRAW = 2**12
"""Bytes that a draw counts for at least: small ones take time, too."""

DRAWN_AGAIN = 64
"""How many times the bytes that a file may have, the draws of each prediction may have that are made again."""

SMALLEST_BLOCK = 2**6
"""By how much a block of draws may be smaller than that of a fit: each block takes time of its own."""


class TooManyDraws(InputError):
    """The file may be sound, but asks for more work than the caller allows."""


def check_classifier(clf: BayesClassifier, numbers: int, max_bytes: int) -> None:
    """Raise ValueError where the parts of a loaded classifier cannot be those of a model."""
    _check_sizes(clf, numbers, max_bytes)
    _check_parameters(clf)
    _check_answers(clf)


def _check_sizes(clf: BayesClassifier, numbers: int, max_bytes: int) -> None:
    """Raise for more names than numbers, and for more draws than a file stands for."""
    from bayesclf.engines import inference

    for block in clf.model_.blocks:
        if (names := _names(block)) > numbers + SPARE_NAMES:
            raise ValueError(f"the file has {numbers} numbers for a model of {names:.3g} names")
    seeded = None if clf.draws_ is None else clf.draws_.seeded
    if clf.seed_ < 0 or (seeded is not None and seeded.seed < 0):
        raise ValueError("its seed is below 0")
    if seeded is None:
        return
    if seeded.draws < 1 or seeded.block < 1:
        raise ValueError(f"the file has {seeded.draws} draws in blocks of {seeded.block}")
    each = 8 * inference.parameter_count(clf.model_)
    if (needed := -(-max(each, BYTES_OF_A_DRAW) * seeded.draws // DRAWN_AGAIN)) > max_bytes:
        raise TooManyDraws(
            f"each prediction of this model draws {seeded.draws:,} × {each // 8:,} numbers, more than "
            f"max_bytes={max_bytes} allows; if you trust the file, load it with max_bytes={needed}"
        )
    if seeded.block > 1 and each * seeded.block > LARGEST_BLOCK:
        raise ValueError(f"a block of {seeded.block} draws would take more than {LARGEST_BLOCK} bytes")
    if seeded.draws > seeded.block and SMALLEST_BLOCK * each * seeded.block < inference.DRAW_BLOCK_BYTES - each:
        raise ValueError(f"its {seeded.draws:,} draws are in blocks of {seeded.block}")


def _names(block: Block) -> int:
    """Return how many features, levels and cells a block names, without naming any."""
    from bayesclf.families.mixed.network import ConditionalGaussian
    from bayesclf.families.networks.network import ConditionalTables

    axes = block.statistics.axes
    names = max(len(own.features) + sum(own.sizes) for own in (axes, block.family.axes))
    if isinstance(block.family, ConditionalTables):
        return names + block.family.layout(block.family.axes).cells
    if isinstance(block.family, ConditionalGaussian):
        tables = block.family.of_categories
        cells = 0 if tables is None else tables.layout(tables.axes).cells
        return names + cells + sum(own.count * (1 + own.width) for own in block.family.regressions)
    if hasattr(block.family, "trees"):
        sizes: tuple[int, ...] = block.family.trees.axes.sizes
        squares = sum(sizes) ** 2 - sum(size**2 for size in sizes) + len(sizes) ** 2
        return names + squares // 2
    return names


def _check_parameters(clf: BayesClassifier) -> None:
    """Raise for classes, names and shapes of parameters that contradict each other or the model."""
    classes, model = clf.classes_.tolist(), clf.model_
    if len(set(classes)) < len(classes) or tuple(map(str, classes)) != tuple(model.labels):
        raise ValueError("its classes repeat, or differ from the classes of its model")
    dims, coords = model.dims(), model.coords()
    held: list[tuple[Parameters, int]] = [
        (point, 1) for point in clf.points_.values() if not isinstance(point, DoesNotExist)
    ]
    complete = [parameters for parameters, _ in held]
    if (draws := clf.draws_) is not None:
        number = max(map(len, draws.parameters.values()), default=0)
        if draws.chains < 1 or number % draws.chains:
            raise ValueError(f"the file has {number} draws in {draws.chains} chains")
        by_chain = draws.chains, number // draws.chains
        if any(values.shape != by_chain[: values.ndim] for values in (draws.stats or {}).values()):
            raise ValueError("its sample statistics do not fit its draws")
        held.append((draws.parameters, number))
        complete += [] if draws.seeded else [draws.parameters]
    if lacking := [parameters for parameters in complete if dims.keys() - parameters.keys()]:
        raise ValueError(f"the file has the parameters {listed(lacking[0])} instead of {listed(dims)}")
    for parameters, number in held:
        for name in dims.keys() & parameters.keys():
            # a second axis of features has the coordinates of the first
            known = (dim if dim in coords else dim.replace("other_", "", 1) for dim in dims[name])
            expected = (number, *(len(coords[dim]) for dim in known))
            if parameters[name].shape != expected:
                raise ValueError(f"its {name!r} has shape {parameters[name].shape} instead of {expected}")
    for parameters in complete:
        model.shown(parameters)  # fails here rather than when `posterior_` is first read


def _check_answers(clf: BayesClassifier) -> None:
    """Raise where a hypothesis of each set cannot score a row, so a bad file fails here, not at a prediction."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for unknown, table in enumerate(_tables(clf)):
            try:
                rows = clf.rows(table)
                for hypotheses in _sets(clf):
                    scores = hypotheses.log_scores(rows)
                    if scores.shape != (1, len(rows), len(clf.classes_)) or np.isnan(scores).any():
                        raise ValueError("its scores are no numbers of a row and a class")
            except InputError:
                if not unknown:
                    raise ValueError("the model refuses a row of its own columns") from None
            except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
                raise ValueError(f"its parts do not fit together: {error}") from None


def _tables(clf: BayesClassifier) -> Iterator[Any]:
    """Yield a table of one row with all that the classifier knows, and, of dense columns, one with what it does not."""
    from scipy import sparse
    from sklearn.utils import get_tags

    columns = clf.columns_
    if get_tags(clf).input_tags.sparse and all(column.kind == "number" for column in columns):
        yield sparse.csr_array((1, len(columns)))
        return
    yield _table(columns, {c.name: c.levels[-1] for c in columns if c.levels})
    yield _table(columns, {c.name: "\N{REPLACEMENT CHARACTER}" for c in columns if c.levels})


def _table(columns: tuple[Column, ...], cells: dict[str, Any]) -> pd.DataFrame:
    """Return a row of ones, empty texts and the given cells."""
    import pandas as pd

    others = {"text": "", "category": None}
    words = {c.name: cells.get(c.name, others[c.kind]) for c in columns if c.kind in others}
    numbers = [c.name for c in columns if c.kind not in others]
    frame = pd.DataFrame(np.ones((1, len(numbers))), columns=numbers)
    frame = pd.concat([frame, pd.DataFrame([words], dtype=object)], axis=1) if words else frame
    return frame[[column.name for column in columns]]


def _sets(clf: BayesClassifier) -> Iterator[HypothesisSet]:
    """Yield one hypothesis of each set that the file holds, or has made again."""
    from bayesclf.posterior.hypotheses import SeededHypotheses

    names = [name for name, point in clf.points_.items() if not isinstance(point, DoesNotExist)]
    for name in [*names, *(["posterior"] if clf.draws_ is not None else [])]:
        found = clf.hypotheses(name)
        if isinstance(found, SeededHypotheses):
            found = replace(found, seeded=replace(found.seeded, draws=1, block=1), _last={})
        yield found.take(np.zeros(1, dtype=np.intp))
