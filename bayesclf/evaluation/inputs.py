"""What a comparison is given, checked: its table, its rules, and how its rows are split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from bayesclf import rules
from bayesclf.arrays import Integers
from bayesclf.classifiers.labels import about_unlabeled_rows, labeled_rows, only_labeled, warn_of_order
from bayesclf.classifiers.text import NAME
from bayesclf.constraints import Whole, require
from bayesclf.errors import InputError
from bayesclf.evaluation import cross_validation
from bayesclf.evaluation.cross_validation import Split
from bayesclf.rules import RULES
from bayesclf.tables import columns

ALL = "all"
"""What is given for every rule."""


@dataclass(frozen=True)
class Folds:
    """How the rows are split, as `Comparison` has it, and what is to be remarked on it."""

    splits: tuple[Split, ...]
    cv: int
    repeats: int
    remarks: tuple[str, ...] = ()
    splitter: str = ""


def folds_of(cv: Any, repeats: int, frame: pd.DataFrame, labels: NDArray[Any], codes: Integers, seed: int) -> Folds:
    """Return stratified folds, or the splits that were given."""
    require(Whole(1), repeats=repeats)
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        splits, remarks = cross_validation.split(codes, int(cv), repeats, seed)
        return Folds(splits, int(cv), repeats, remarks)
    if repeats != 1:
        raise InputError(f"repeats={repeats} goes with a number of folds; a splitter itself says how often it repeats")
    if codes.max(initial=0) < 1:
        raise InputError("the label column has one class only; a comparison needs rows of at least two classes")
    splits = cross_validation.given_splits(cv, frame, labels)
    times = cross_validation.repeats_of(splits)
    words = " ".join(str(cv).split()) if hasattr(cv, "split") else "given row by row"
    return Folds(splits, len(splits) // times, times, (), words)


def as_table(X: Any) -> pd.DataFrame:
    """Return the table as a DataFrame, texts without columns as one column; refuse sparse ones and infinite numbers."""
    if sparse.issparse(X):
        raise InputError(
            "a comparison needs a dense table, not a sparse one; give X.toarray(), or the texts themselves"
        )
    if (
        pd.api.types.is_list_like(X)
        and getattr(X, "ndim", 1) == 1
        and pd.api.types.infer_dtype(X, skipna=True) == "string"
    ):
        X = pd.DataFrame({NAME: pd.Series(list(X), dtype=object)})
    frame = columns.to_frame(X)
    frame.attrs = {columns.NOTES: ()}  # what was done to read it is said once, not of each fit
    columns.numbers(frame, tuple(name for name, kind in columns.kinds_of(frame).items() if kind == "number"))
    return frame


def labeled_table(X: Any, y: Any, cv: Any) -> tuple[pd.DataFrame, Any, tuple[str, ...]]:
    """Return the rows that have a label as a DataFrame, their labels, and a sentence about rows that have none.

    Raises
    ------
    InputError
        For rows without a label where `cv` is a list of folds, whose numbers are of all rows.
    """
    warn_of_order(X, y=y)
    frame, found = as_table(X), labeled_rows(y)
    if found is not None and len(found[0]) == len(frame) and isinstance(cv, Sequence):
        raise InputError(f"{about_unlabeled_rows(found[0])}; leave them out, and renumber the folds of cv")
    return only_labeled(frame, y)


def checked_rules(given: Any) -> tuple[str, ...] | None:
    """Return the names of the rules, checked; None if each classifier answers under the rules of `peers.rules_of`."""
    if given is None:
        return None
    if isinstance(given, str) and given == ALL:
        return tuple(RULES)
    if isinstance(given, str):
        raise InputError(f"rules must be a list of names, such as [{given!r}], or {ALL!r}")
    if not isinstance(given, Sequence) or not given:
        raise InputError(f"rules must be a list of names, such as {list(RULES)[:2]}, not {given!r}")
    for rule in given:
        if not isinstance(rule, str) or rule not in RULES:
            raise rules.unknown(rule)
    return tuple(given)
