"""Labels of a file as classes: spellings that differ in case alone, and quantities, which are none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from bayesclf.errors import InputError
from bayesclf.tables.kinds import as_words
from bayesclf.tables.layout import ReadOptions
from bayesclf.wording import counted, flagged_rows

RARE = 0.05
"""The largest share, of a class's usual spelling, of one that is taken for a slip."""

MOST_WHOLE = 30
"""The most whole numbers that are taken for classes; more are a quantity."""


def alike(counts: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return pairs of words that differ in case and blanks alone, the usual spelling first.

    Examples
    --------
    >>> alike({"no": 60, "NO": 2, "yes": 30, "Yes": 20})
    [('no', 'NO'), ('yes', 'Yes')]
    """
    found: dict[str, list[str]] = defaultdict(list)
    for word in sorted(counts, key=lambda word: (-counts[word], word)):
        found[" ".join(word.casefold().split())].append(word)
    return [(usual, other) for usual, *others in found.values() for other in others]


def both(pair: tuple[str, str], counts: Mapping[str, int]) -> str:
    """Return two words with the number of rows of each."""
    return " and ".join(f"{word!r} ({counted(counts[word], 'row')})" for word in pair)


def as_classes(
    frame: pd.DataFrame, target: str, options: ReadOptions, from_file: bool
) -> tuple[pd.DataFrame, list[str]]:
    """Return a table whose labels are classes, and what was done."""
    y = frame[target]
    if options.classes:
        return frame.assign(**{target: cut(y, options.classes)}), []
    if not from_file or options.labels_as_written or y.dtype.kind in "iufb":
        return frame, []
    slips, notes = mended_labels(y)
    return (frame.assign(**{target: renamed(y, slips)}) if slips else frame), notes


def mended_labels(y: pd.Series[Any]) -> tuple[dict[str, str], list[str]]:
    """Return the usual spelling of each label that is a slip, and sentences about labels that differ in case."""
    counts = {str(label): int(count) for label, count in as_words(y.astype(object)).value_counts().items()}
    pairs = alike(counts)
    slips = {other: usual for usual, other in pairs if counts[other] <= RARE * counts[usual]}
    notes = [
        f"label {slip!r} ({counted(counts[slip], 'row')}) is taken for {usual!r} (--labels-as-written keeps both)"
        for slip, usual in slips.items()
    ]
    unsure = [both(pair, counts) for pair in pairs if pair[1] not in slips]
    notes += [f"labels {pair} are two classes that differ in case alone; write them one way if not" for pair in unsure]
    return slips, notes


def renamed(y: pd.Series[Any], names: Mapping[str, str]) -> pd.Series[Any]:
    """Return labels with other names."""
    words = y.astype(object).map(lambda label: names.get(label, label), na_action="ignore")
    return words.astype("category") if isinstance(y.dtype, pd.CategoricalDtype) else words.astype(y.dtype)


def cut(y: pd.Series[Any], bounds: Sequence[float]) -> pd.Series[Any]:
    """Return classes of a column of numbers: below the first bound, from each to the next, and from the last on.

    Examples
    --------
    >>> cut(pd.Series([17.0, 22.0, 31.0], name="bmi"), [18.5, 25]).tolist()
    ['below 18.5', '18.5 to 25', 'from 25']
    """
    edges = [float(bound) for bound in bounds]
    if edges != sorted(set(edges)):
        raise InputError(f"--classes must rise, as in 18.5,25,30, not {', '.join(map(str, bounds))}")
    if y.dtype.kind not in "iuf":
        raise InputError(f"--classes makes classes of numbers, but the label column {y.name!r} holds words")
    shown = [f"{edge:g}" for edge in edges]
    names = [f"below {shown[0]}", *(f"{a} to {b}" for a, b in pairwise(shown)), f"from {shown[-1]}"]
    codes = np.where(y.isna(), -1, np.digitize(y.to_numpy(dtype=float, na_value=np.nan), edges)).astype(np.intp)
    return pd.Series(pd.Categorical.from_codes(codes, pd.Index(names), ordered=True), y.index, name=y.name)


def require_classes(y: pd.Series[Any]) -> None:
    """Raise for labels that are a quantity: numbers with fractions, or many different whole ones."""
    if y.dtype.kind not in "iuf":
        return
    values = y.dropna()
    fractions = y.notna() & (~np.isfinite(y) | (y != y.round()))
    if fractions.any() or values.nunique() > MOST_WHOLE:
        what = (
            f"{y[fractions].iloc[0]} ({flagged_rows(fractions)})" if fractions.any() else f"{values.nunique()} numbers"
        )
        middle = f"{float(values[np.isfinite(values)].median()):g}"
        raise InputError(
            f"the label column {y.name!r} holds {what}: this is a quantity, not a class; make classes with "
            f"--classes {middle}, choose another --target, or give --kind {y.name}=category"
        )
