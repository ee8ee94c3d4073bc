"""Patterns of missing cells: rows with the same cells missing are treated together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bayesclf.typing import Integers

type Booleans = NDArray[np.bool_]


def by_pattern(missing: Booleans) -> Iterator[tuple[Booleans, Integers]]:
    """Yield each set of observed cells (feature) with the positions of the rows that have exactly these.

    Rows without an observed cell are left out.

    Parameters
    ----------
    missing
        Whether a cell is missing, (row, feature).
    """
    if not missing.any():
        if len(missing):
            yield np.ones(missing.shape[1], dtype=bool), np.arange(len(missing))
        return
    patterns, of_row = np.unique(missing, axis=0, return_inverse=True)
    order = np.argsort(of_row, kind="stable")
    ends = np.cumsum(np.bincount(of_row, minlength=len(patterns)))
    for absent, rows in zip(patterns, np.split(order, ends[:-1]), strict=True):
        if not absent.all():
            yield ~absent, rows
