"""What logistic regression needs of a table that is read in batches: columns and labels first, then sums over rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayesclf.arrays import Array
from bayesclf.classifiers.labels import joined_labels
from bayesclf.classifiers.passes import Counted, StreamedTable, added
from bayesclf.families.moments import Moments
from bayesclf.models.logistic.design import (
    LogisticDesign,
    WeightedRows,
    encoded,
    gaps_of,
    levels_of,
    moments_of,
    names_of,
    training_columns,
)
from bayesclf.models.logistic.likelihood import Likelihood, with_ones
from bayesclf.tables import columns
from bayesclf.tables.columns import Column

KEPT_CELLS = 2**25
"""Cells of rows that are kept in memory, so that small streams are encoded once only."""
SPARSE_LEVELS = 4
"""How many levels there are for each number where rows are stored as sparse ones."""


@dataclass(frozen=True, eq=False)
class Survey:
    """What the first pass finds, which adds: labels and weights, columns with levels, moments of the numbers."""

    classes: NDArray[Any]
    counts: Array
    columns: tuple[Column, ...]
    numbers: Moments
    gaps: NDArray[np.bool_]
    batches: int = 1

    def __add__(self, other: Survey) -> Survey:
        """Return what both found."""
        classes = joined_labels(self.classes, other.classes)
        counts = np.zeros(len(classes))
        for part in (self, other):
            counts[np.searchsorted(classes, part.classes.astype(classes.dtype))] += part.counts
        pairs = zip(self.columns, other.columns, strict=True)
        both = tuple(mine.union(theirs) for mine, theirs in pairs)
        numbers, gaps = self.numbers + other.numbers, self.gaps | other.gaps
        return Survey(classes, counts, both, numbers, gaps, self.batches + other.batches)

    @cached_property
    def design(self) -> LogisticDesign:
        """The columns of the design matrix."""
        numbers, categories = (names_of(self.columns, kind) for kind in ("number", "category"))
        return LogisticDesign.of_moments(self.numbers, self.gaps, numbers, categories, levels_of(self.columns))


def surveyed(self: Any, so_far: Survey | None, rows: Counted) -> Survey:
    """Return what was found so far and in further rows."""
    found = training_columns(rows.frame)
    numbers = names_of(found, "number")
    counts = np.bincount(rows.y, rows.weights, minlength=len(rows.classes))
    cells = columns.read_numbers(rows.frame, numbers)
    columns.require_not_tiny(cells, numbers)
    own = Survey(rows.classes, counts, found, moments_of(cells, rows.weights, numbers), gaps_of(cells))
    return own if so_far is None else so_far + own


def likelihood(survey: Survey, missing: str, rows: Counted) -> Likelihood:
    """Return the likelihood of the rows of a batch, duplicate ones merged."""
    design, others = survey.design, len(survey.classes) - 1
    y = rows.y - 1 if others == 1 else np.where(rows.y == others, -1, rows.y)  # −1 is the reference
    merged = WeightedRows(encoded(survey.columns, rows.frame, missing), y, rows.weights).merged()
    X: Any = with_ones(design.matrix(merged.rows))
    if sum(design.sizes) > SPARSE_LEVELS * len(design.varying):
        X = sparse.csr_array(X)
    return Likelihood(X, merged.y, merged.weight, others)


class EncodedTable:
    """The rows of a table, after a first pass that finds what its columns are.

    They are encoded anew for each sum, unless they are few and on this machine.
    """

    def __init__(self, table: StreamedTable, clf: Any) -> None:
        self.table, self.clf = table, clf
        self.found = table.passed(clf, surveyed)
        self.survey: Survey = self.found.value
        table.how = replace(table.how, classes=self.survey.classes)
        self._kept: list[Likelihood] = []

    def summed[S](self, work: Callable[[Likelihood], S]) -> S:
        """Return what a function returns for each part of the rows, added up."""
        if len(self._kept) == self.survey.batches:
            return reduce(add, map(work, self._kept))
        self._kept = []
        kept = self._kept if self.table.client is None else None
        found: S = self.table.passed(self.clf, partial(_with_sum, self.survey, work, kept)).value
        return found


def _with_sum(
    survey: Survey,
    work: Callable[[Likelihood], Any],
    kept: list[Likelihood] | None,
    self: Any,
    so_far: Any,
    rows: Counted,
) -> Any:
    """Return the sum so far and that of further rows, which are kept as long as they are few."""
    part = likelihood(survey, self.missing, rows)
    if kept is not None and sum(len(one.y) for one in [*kept, part]) * part.X.shape[1] <= KEPT_CELLS:
        kept.append(part)
    return added(so_far, work(part))
