"""Adding what two classifiers learned: whether they can be, and the concentrations that both have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from bayesclf.classifiers.labels import require_same_labels
from bayesclf.classifiers.training import Learnt
from bayesclf.errors import InputError
from bayesclf.families.hierarchical import learned_by
from bayesclf.families.selected import Selected
from bayesclf.wording import LISTED_NAMES, listed

OF_ANSWERS = ("inference", "random_state", "rule", "unseen")
"""Options that do not matter to what was learned: those of the first classifier are kept."""


def require_alike(one: Any, other: Any) -> None:
    """Raise `InputError` for two fitted classifiers with other options, or with columns of other names or kinds."""
    mine, theirs = one.get_params(deep=False), other.get_params(deep=False)
    for name, value in mine.items():
        if name not in OF_ANSWERS and not same_setting(value, theirs[name]):
            raise InputError(
                f"both classifiers must have the same options, but {name} is {value!r} here and {theirs[name]!r} there"
            )
    columns, others = ([(column.name, column.kind) for column in clf.columns_] for clf in (one, other))
    if columns != others:
        here, there = (
            listed([f"{name!r} ({kind})" for name, kind in found], LISTED_NAMES) for found in (columns, others)
        )
        raise InputError(f"both must have learned from the same columns in the same order, not {here} and {there}")
    require_same_labels(one.classes_, other.classes_)


def same_setting(value: Any, other: Any) -> bool:
    """Return whether two values of an option are the same, arrays and priors that hold arrays among them."""
    if value is other:
        return True
    if isinstance(value, np.ndarray) or isinstance(other, np.ndarray):
        return _equal_arrays(value, other)
    if is_dataclass(value) and not isinstance(value, type):
        names = [own.name for own in fields(value)]
        of_both = ((getattr(value, name), getattr(other, name)) for name in names)
        return type(value) is type(other) and all(same_setting(*pair) for pair in of_both)
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(same_setting(own, other[key]) for key, own in value.items())
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return len(value) == len(other) and all(map(same_setting, value, other))
    try:
        return bool(value == other)
    except (TypeError, ValueError):
        return False


def _equal_arrays(value: Any, other: Any) -> bool:
    """Return whether two arrays, or an array and what can be made one, have the same numbers or words."""
    one, two = np.asarray(value), np.asarray(other)
    if one.shape != two.shape:
        return False
    if one.dtype.kind in "biufc" and two.dtype.kind in "biufc":
        return np.array_equal(one, two, equal_nan=True)
    return all(map(same_setting, one.ravel().tolist(), two.ravel().tolist()))


def with_common_concentrations(one: Learnt, other: Learnt) -> Learnt:
    """Return what both learned, with a learned α where it is the same in both, and one yet to be learned elsewhere."""
    blocks = []
    for mine, theirs in zip(one.blocks, other.blocks, strict=True):
        settings, others = learned_by(mine.family), learned_by(theirs.family)
        same = settings is None or others is None or settings.value == others.value
        blocks.append(mine if same else replace(mine, family=_unlearned(mine.family)))
    return replace(one, blocks=tuple(blocks)) + other


def _unlearned(family: Any) -> Any:
    """Return a family whose α is yet to be learned."""
    if isinstance(family, Selected):
        return replace(family, family=_unlearned(family.family))
    return replace(family, alpha=replace(family.alpha, value=None))
