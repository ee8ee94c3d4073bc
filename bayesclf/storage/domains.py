"""Whether what a model file holds can be a model: classes, shapes, probabilities, variances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.errors import DoesNotExist
from bayesclf.typing import Array, Parameters
from bayesclf.wording import listed

if TYPE_CHECKING:
    from bayesclf.classifiers import BayesClassifier

PROBABILITIES = ("pi", "theta")
POSITIVE = ("sigma2", "rate", "shape", "dispersion", "alpha", "prior_scale", "prior_power", "local_scale", "slab_scale")
"""Parameters by their names without a block's suffix."""

ROUNDING = 1e-6
"""Difference from 1 that a sum of probabilities may have."""


def check(clf: BayesClassifier) -> None:
    """Raise ValueError where the values of a loaded classifier contradict each other or lie outside their domains."""
    classes, model = clf.classes_.tolist(), clf.model_
    if len(set(classes)) < len(classes) or tuple(map(str, classes)) != tuple(model.labels):
        raise ValueError("its classes are not distinct, or not those of its model")
    dims, coords = model.dims(), model.coords()
    for group, point in clf.points_.items():
        if not isinstance(point, DoesNotExist) and point.keys() != dims.keys():
            raise ValueError(f"its {group!r} has the parameters {listed(point)} instead of {listed(dims)}")
    draws = clf.draws_
    if draws is not None and draws.seeded is None and dims.keys() - draws.parameters.keys():
        raise ValueError(f"its draws have the parameters {listed(draws.parameters)} instead of {listed(dims)}")
    for parameters in _sets(clf):
        for name in dims.keys() & parameters.keys():
            values = parameters[name]
            expected = tuple(len(coords[dim]) for dim in _lengths(dims[name], coords))
            if values.shape[1:] != expected:
                raise ValueError(f"its parameter {name!r} has shape {values.shape[1:]} instead of {expected}")
            _check_values(name, dims[name], values, coords)


def _sets(clf: BayesClassifier) -> Iterator[Parameters]:
    """Yield the draws and the points that a classifier holds."""
    if clf.draws_ is not None:
        yield clf.draws_.parameters
    yield from (point for point in clf.points_.values() if not isinstance(point, DoesNotExist))


def _lengths(dims: tuple[str, ...], coords: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the dims by which coordinates are found; a second axis of features has those of the first."""
    return tuple(dim if dim in coords else dim.replace("other_", "", 1) for dim in dims)


def _check_values(name: str, dims: tuple[str, ...], values: Array, coords: Mapping[str, Any]) -> None:
    """Raise for values that a parameter of that name cannot have."""
    kind = name.split("_")[0]
    if np.isnan(values).any():
        raise ValueError(f"its parameter {name!r} has values that are not numbers")
    if {kind, name} & set(POSITIVE) and (values < 0).any():
        raise ValueError(f"its parameter {name!r} has values below 0")
    if kind in PROBABILITIES:
        if values.size and not (values.min() >= 0 and values.max() <= 1 + ROUNDING):
            raise ValueError(f"its parameter {name!r} has values that are not probabilities")
        for total in _totals(dims[-1], values, coords):
            if (np.abs(total - 1) > ROUNDING).any():
                raise ValueError(f"probabilities of its parameter {name!r} do not sum to 1")
    if kind == "Sigma" and not (values.diagonal(axis1=-2, axis2=-1) > 0).all():
        raise ValueError(f"its parameter {name!r} has variances that are not above 0")


def _totals(dim: str, values: Array, coords: Mapping[str, Any]) -> Iterator[Array]:
    """Yield the sums of probabilities over the labels, the words, or the levels of each column."""
    if dim == "outcome" or dim.startswith("word"):
        yield values.sum(axis=-1)
    elif dim.startswith("level"):
        features = np.asarray(coords["level_feature" + dim.removeprefix("level")][1])
        for feature in np.unique(features):
            yield values[..., features == feature].sum(axis=-1)
