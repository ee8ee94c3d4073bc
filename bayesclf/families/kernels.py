"""Sums over the rows of large tables as machine code, which Numba compiles when first needed and keeps on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numba as nb
from numba import types

CELLS = types.Array(types.float64, 2, "C", readonly=True)
SUMS = types.float64[:, ::1]
CODES = types.Array(types.intp, 1, "C", readonly=True)
WEIGHTS = types.Array(types.float64, 1, "C", readonly=True)


def _compiled[F: Callable[..., Any]](signature: Any) -> Callable[[F], F]:
    options: Any = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz"}}

    def compiled(function: F) -> F:
        """Return the function compiled, and kept on disk where that is possible."""
        try:
            return cast(F, nb.njit(signature, cache=True, **options)(function))
        except RuntimeError:  # no folder to keep it in can be written to
            return cast(F, nb.njit(signature, **options)(function))

    return compiled


@_compiled(types.void(CELLS, CODES, WEIGHTS, CELLS, SUMS, SUMS, SUMS))
def add_moments(X: Any, y: Any, weight: Any, origin: Any, n: Any, first: Any, second: Any) -> None:
    """Add Σ w, Σ w d and Σ w d² of each class's observed cells to sums (outcome, feature), d = x − origin.

    Parameters
    ----------
    X
        Cells (row, feature), NaN where missing.
    y, weight
        Label codes and weights (row).
    origin
        What deviations are taken from, (outcome, feature).
    n, first, second
        The sums.
    """
    for i in range(len(X)):
        k, w = y[i], weight[i]
        cells, center, weights, sums, squares = X[i], origin[k], n[k], first[k], second[k]
        for j in range(X.shape[1]):
            seen = cells[j] == cells[j]
            share = w if seen else 0.0
            deviation = cells[j] - center[j] if seen else 0.0
            weights[j] += share
            sums[j] += share * deviation
            squares[j] += share * deviation * deviation
