"""Numbers that are declared to be words, spelled alike in all batches of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

OF_WHOLE, OF_REAL = "category of whole numbers", "category of real numbers"
"""What a column holds that is declared to hold words, and has numbers."""


class Spelling:
    """Writes numbers of declared categories as the first batch has them, "0" or "0.0".

    pandas has floats where a cell is missing, so that a batch with gaps would spell them otherwise than one without.

    Parameters
    ----------
    declared
        Kinds of columns that are declared.
    expected
        What other parts of the table have in columns, which is `OF_WHOLE` or `OF_REAL` where that decides.
    """

    def __init__(self, declared: Mapping[str, str], expected: Mapping[str, str]) -> None:
        self._seen: set[str] = set()
        self._names = {name for name, kind in declared.items() if kind != "number"}
        self._whole = {name: kind == OF_WHOLE for name, kind in expected.items() if kind in (OF_WHOLE, OF_REAL)}

    @property
    def kinds(self) -> dict[str, str]:
        """What declared columns hold, as other parts are told: `OF_WHOLE` or `OF_REAL` where they hold numbers."""
        return {name: OF_WHOLE if whole else OF_REAL for name, whole in self._whole.items()}

    @property
    def settled(self) -> bool:
        """Whether each of the columns has had a cell, so that no further batch is a first one."""
        return self._seen == self._names

    def alike(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a batch whose declared columns have the type of those before, as far as their numbers can."""
        changed: dict[str, pd.Series] = {}
        for name in self._names:
            column = table[name]
            if name not in self._seen and column.notna().any():
                self._seen.add(name)
            if isinstance(column.dtype, pd.CategoricalDtype) and (kind := _kind(column.cat.categories.dtype)):
                gaps = kind == "whole" and column.isna().any()
                column = changed[name] = column.astype("Int64" if gaps else column.cat.categories.dtype)
            kind = _kind(column.dtype)
            if not kind or column.isna().all():
                continue
            whole = self._whole.setdefault(name, kind == "whole")
            if whole and kind == "real":
                changed[name] = _whole(column)
            elif not whole and kind == "whole":
                changed[name] = column.astype("Float64" if column.isna().any() else float)
        return table.assign(**changed) if changed else table


def unspelled(kinds: Mapping[str, str]) -> dict[str, str]:
    """Return what columns hold, without how numbers are spelled."""
    return {name: "category" if kind in (OF_WHOLE, OF_REAL) else kind for name, kind in kinds.items()}


def spelled_otherwise(levels: Iterable[object], others: Iterable[object]) -> bool:
    """Return whether a number is a word of both, spelled "0" in one and "0.0" in the other."""
    one, other = ({level for level in words if isinstance(level, str)} for words in (levels, others))
    return any(f"{word}.0" in other for word in one) or any(f"{word}.0" in one for word in other)


def _kind(dtype: Any) -> str:
    """Return whether a type is of whole numbers or of reals; empty where it is of neither."""
    types = pd.api.types
    return "whole" if types.is_integer_dtype(dtype) else "real" if types.is_float_dtype(dtype) else ""


def _whole(column: pd.Series) -> pd.Series:
    """Return a column of reals with those that are whole as integers."""
    numbers = column.to_numpy(dtype=float, na_value=np.nan)
    empty = np.isnan(numbers)
    if (numbers[~empty] % 1 != 0).any():
        mixed = [None if gap else int(x) if x % 1 == 0 else x for x, gap in zip(numbers.tolist(), empty, strict=True)]
        return pd.Series(mixed, index=column.index, name=column.name, dtype=object)
    cells = pd.arrays.IntegerArray(np.where(empty, 0, numbers).astype(np.int64), empty)
    return pd.Series(cells, index=column.index, name=column.name)
