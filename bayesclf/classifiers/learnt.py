"""What training rows have taught a generative classifier, and what an earlier posterior hands on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesclf import columns
from bayesclf.columns import Column, SparseTable, Table
from bayesclf.families import Axes
from bayesclf.families.base import Family, Statistics
from bayesclf.families.class_prior import ClassPrior
from bayesclf.typing import Array

if TYPE_CHECKING:
    pass

MISSING_SUFFIX = " is missing"
"""What names the indicator of a number's missing cells."""


@dataclass(frozen=True)
class ColumnBlock:
    """Columns that one family describes, before any data.

    Attributes
    ----------
    family
        With its prior as the user gave it.
    names
        The columns.
    indicator
        Whether the block is about cells being missing rather than about their values.
    """

    family: Family[Any]
    names: tuple[str, ...]
    indicator: bool = False

    def union(self, other: ColumnBlock) -> ColumnBlock:
        """Return the block with the columns of both: a vocabulary can grow."""
        if self.names == other.names:
            return self
        return replace(self, names=tuple(sorted({*self.names, *other.names})))


@dataclass(frozen=True)
class Learnt:
    """All that training rows have taught, which adds: labels, levels and statistics.

    Attributes
    ----------
    classes
        Labels in order.
    columns
        The training columns by name, with their levels.
    blocks
        The partition of the columns.
    counts
        Weight of each label (outcome).
    statistics
        Sufficient statistics, one a block.
    """

    classes: NDArray[Any]
    columns: dict[str, Column]
    blocks: tuple[ColumnBlock, ...]
    counts: Array
    statistics: tuple[Statistics, ...]

    def axes(self, block: ColumnBlock) -> Axes:
        """Return the coordinates of a block."""
        labels = tuple(str(label) for label in self.classes)
        if block.indicator:
            return Axes(
                labels, tuple(name + MISSING_SUFFIX for name in block.names), ((False, True),) * len(block.names)
            )
        levels = tuple(self.columns[name].levels for name in block.names) if block.family.kind == "category" else ()
        return Axes(labels, block.names, levels)

    def encode(self, frame: Table, block: ColumnBlock) -> Any:
        """Return a block's cells (row, feature): numbers, level codes, or whether they are missing."""
        if block.family.kind == "count":
            return columns.counts(frame, block.names)
        if isinstance(frame, SparseTable):
            return columns.sparse_numbers(frame, block.names)
        if block.indicator:
            return columns.is_missing(columns.numbers(frame, block.names))
        if block.family.kind == "number":
            return columns.numbers(frame, block.names)
        return columns.codes(frame, block.names, tuple(self.columns[name].levels for name in block.names))

    def __add__(self, other: Learnt) -> Learnt:
        """Return what both have taught, over the labels and levels of both."""
        classes = np.union1d(self.classes, other.classes)
        union = {name: column.union(other.columns[name]) for name, column in self.columns.items()}
        counts = np.zeros(len(classes))
        for part in (self, other):
            counts[np.searchsorted(classes, part.classes)] += part.counts
        blocks = tuple(mine.union(theirs) for mine, theirs in zip(self.blocks, other.blocks, strict=True))
        merged = replace(self, classes=classes, columns=union, blocks=blocks, counts=counts)
        statistics = tuple(
            mine.reindex(merged.axes(block)) + theirs.reindex(merged.axes(block))
            for block, mine, theirs in zip(blocks, self.statistics, other.statistics, strict=True)
        )
        return replace(merged, statistics=statistics)


@dataclass(frozen=True)
class FrozenPrior:
    """A posterior that has become a prior: what `as_prior` hands to a new classifier.

    Attributes
    ----------
    learnt
        Labels, columns and levels; its statistics are empty.
    families
        Each block's family with the hyperparameters of the posterior.
    kept
        Which of a block's features are used, (feature), one array a block.
    class_prior
        The class prior, likewise.
    """

    learnt: Learnt
    families: tuple[Family[Any], ...]
    kept: tuple[NDArray[np.bool_], ...]
    class_prior: ClassPrior
