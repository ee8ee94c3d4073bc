"""Missing values that a table holds as numbers: an isolated spike at 0, −1, 999, …, and cells that the user empties."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd

from bayesclf.arrays import Array
from bayesclf.errors import InputError
from bayesclf.tables.columns import column_kind
from bayesclf.tables.kinds import as_words, require_column
from bayesclf.wording import counted

NEGATIVE_CODES = (-1.0, -9.0, -99.0, -999.0, -9999.0)
LARGE_CODES = (99.0, 999.0, 9999.0, 99999.0, 999999.0)
"""Numbers that stand for "missing" in many tables, besides 0."""

MIN_SPIKE, MAX_SHARE = 3, 0.5
"""The fewest cells at the spike, and the largest share of them; a value of most cells is the usual case, not a gap."""

MIN_OTHERS, MIN_DISTINCT = 20, 10
"""The fewest other cells, and different values among them: of ranks and grades any may be far from the others."""

MIN_RANGES = 2
"""How many ranges of the others a code must be away where there are fewer different values: 99 among 1 to 5 is."""

MIN_GAP = 0.5
"""The least distance of the spike from the other cells, in their standard deviations."""

MIN_RATIO = 3
"""How many times the cells at the spike outnumber those of the nearest value; a natural tail has fewer."""

MIN_STEPS, MIN_DISPERSION = 5, 1.5
"""For whole numbers: the least distance, and the least variance over mean of the others. Counts, in which 0 is natural,
come close to 0, or are about as variable as Poisson's, whose ratio is 1."""

NO_ZERO, FAR = 30, 5
"""The mean, and the distance from 0 in standard deviations, from which on 0 is natural for no count: Poisson's with
that mean has it once in 10¹³ cells."""


@dataclass(frozen=True)
class Spike:
    """A value that probably stands for "missing"."""

    value: float
    cells: int
    nearest: float

    def sentence(self, name: object) -> str:
        """Say what was found, where, and what to do."""
        return (
            f"column {name!r} is {self.value:g} in {counted(self.cells, 'cell')}, far from the nearest other value "
            f"({self.nearest:g}); if that means missing, read the table with "
            f'--missing {quote(f"{name}={self.value:g}")} (missing={{"{name}": [{self.value:g}]}} in Python)'
        )


def spike(column: pd.Series[Any]) -> Spike | None:
    """Return an isolated spike of a column of numbers at a value that often stands for "missing".

    The value is a large code above all others, or 0 or a negative code below others that are positive (for a code, not
    negative). At least `MIN_SPIKE` cells have it, at most a share of `MAX_SHARE`, and `MIN_RATIO` times as many as the
    nearest value. Except for negative codes, it is further from that value than `MIN_GAP` standard deviations of the
    others. Zeros among whole numbers must not look like zeros of a count. Among few different values, such as answers
    from 1 to 5, the spike is a code other than 0, `MIN_RANGES` ranges away.

    Examples
    --------
    >>> weight = pd.Series([0.0] * 5 + [48.0 + 0.7 * k for k in range(60)])
    >>> spike(weight)
    Spike(value=0.0, cells=5, nearest=48.0)
    >>> spike(pd.Series([0, 0, 0, 0, 1, 1, 2, 3, 5, 8] * 10)) is None
    True
    """
    if len(column) < MIN_OTHERS + MIN_SPIKE or column_kind(column, text=False) != "number":
        return None
    cells = column.to_numpy(dtype=float, na_value=np.nan)
    cells = cells[np.isfinite(cells)]
    if len(cells) < MIN_OTHERS + MIN_SPIKE:
        return None
    low, high = cells.min(), cells.max()
    if low == 0 or low in NEGATIVE_CODES:
        found = _isolated(cells, low)
        if found:
            return found
    return _isolated(cells, high) if high in LARGE_CODES else None


def _isolated(cells: Array, value: float) -> Spike | None:
    """Return the spike at the smallest or largest value of a column, if it is isolated."""
    others = cells[cells != value]
    size = len(cells) - len(others)
    if size < MIN_SPIKE or size > MAX_SHARE * len(cells) or len(others) < MIN_OTHERS:
        return None
    values, counts = np.unique(others, return_counts=True)
    end = 0 if value < values[0] else -1
    nearest = float(values[end])
    if len(values) < MIN_DISTINCT:
        far = value != 0 and 0 < MIN_RANGES * np.ptp(values) < abs(nearest - value)
        return Spike(float(value), size, nearest) if far else None
    if size < MIN_RATIO * counts[end]:
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # numbers too large to be squared have no spike
        sd = float(others.std())
    alone = nearest >= 0 if value < 0 else abs(nearest - value) >= MIN_GAP * sd
    whole = bool((values == np.round(values)).all())
    if alone and value == 0 and whole:
        mean = float(others.mean())
        of_no_count = sd * (sd / mean) >= MIN_DISPERSION or (mean >= NO_ZERO and nearest >= FAR * sd)
        alone = nearest >= MIN_STEPS and of_no_count
    return Spike(float(value), size, nearest) if alone else None


def emptied(
    frame: pd.DataFrame, missing: Mapping[str, Sequence[object]], where: str, required: Collection[str] = ()
) -> pd.DataFrame:
    """Return a table in which the cells with some values are empty; a `required` column must hold one of its values.

    Examples
    --------
    >>> emptied(pd.DataFrame({"weight": [61.5, 0.0]}), {"weight": [0]}, "the example")["weight"].tolist()
    [61.5, nan]
    """
    columns = {}
    for name, values in missing.items():
        require_column(name, list(frame.columns), where)
        column = frame[name]
        if column_kind(column, text=False) == "number":
            wanted = pd.to_numeric(pd.Series([str(value) for value in values]), errors="coerce")
            flags = column.isin(wanted.dropna())
        else:
            flags = as_words(column.astype(object)).isin([str(value) for value in values])
        if name in required and not flags.any():
            said = " or ".join(map(str, values)) or "no value"
            raise InputError(f"{where}: no cell of column {name!r} is {said}, which is to be missing; check the value")
        if not flags.any():
            continue
        emptied_column = column.mask(flags)
        if isinstance(column.dtype, pd.CategoricalDtype):
            # what stands for "missing" is no level
            gone = column.cat.categories[np.unique(column.cat.codes[flags & column.notna()])]
            emptied_column = emptied_column.cat.remove_categories(gone)
        columns[name] = emptied_column
    return frame.assign(**columns) if columns else frame
