"""What wrong decisions cost, as the user gives it: a file of costs, and a limit beyond which rows are rejected."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np

from bayesclf.errors import InputError
from bayesclf.typing import Array


def check_reject(reject: float | None, cost: str | None) -> None:
    """Raise for a limit that is no expected cost, or, without a file of costs, no share of errors."""
    if reject is None:
        return
    if cost is None and not 0 <= reject <= 1:
        raise InputError(f"--reject must lie between 0 and 1, the expected share of errors, not {reject}")
    if not (math.isfinite(reject) and reject >= 0):
        raise InputError(f"--reject is an expected cost and must be at least 0, not {reject}")


def read_cost(path: str, labels: list[str]) -> Array:
    """Read costs cost[true, predicted].

    Parameters
    ----------
    path
        A csv file of numbers, a row a true label and a column a predicted one: either with the labels as its header
        and first column, in any order, or the numbers alone in the order of `labels`.
    labels
        The labels of the model.

    Returns
    -------
    ndarray
        Costs (outcome, outcome).

    Raises
    ------
    InputError
        If the file cannot be read, has another shape or labels, or a cell is not a finite number.
    """
    cells = _cells(path)
    size = len(labels)
    shape = (len(cells), *sorted({len(line) for line in cells}))
    if shape == (size + 1, size + 1):
        predicted, true = cells[0][1:], [line[0] for line in cells[1:]]
        for place, found in (("header", predicted), ("first column", true)):
            if sorted(found) != sorted(labels):
                raise InputError(
                    f"--cost {path}: the {place} has {', '.join(found)}, but the labels are {', '.join(labels)}"
                )
        rows = [[cells[1 + true.index(t)][1 + predicted.index(p)] for p in labels] for t in labels]
    elif shape == (size, size):
        rows = cells
    else:
        widths = " or ".join(map(str, shape[1:])) or "no"
        raise InputError(
            f"--cost {path} has {len(cells)} rows of {widths} cells, but {size} labels need {size} rows of {size} "
            f"numbers, or these with the labels ({', '.join(labels)}) as header and first column"
        )
    return np.array(
        [
            [_cost(cell, f"{t} predicted as {p}", path) for p, cell in zip(labels, row, strict=True)]
            for t, row in zip(labels, rows, strict=True)
        ]
    )


def _cells(path: str) -> list[list[str]]:
    """Return the cells of a small csv file, without blank lines."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"--cost {path} is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise InputError(f"--cost {path} cannot be read ({error.strerror}); check the path") from None
    try:
        lines = [[cell.strip() for cell in line] for line in csv.reader(text.splitlines(), strict=True)]
    except csv.Error as error:
        raise InputError(f"--cost {path} is not csv ({error}); write numbers with commas between them") from None
    return [line for line in lines if any(line)]


def _cost(cell: str, what: str, path: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"--cost {path} has {cell!r} for {what}, which is not a finite number; write one")
    return value
