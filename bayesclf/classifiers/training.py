"""What is learned from training rows: blocks of columns with their statistics, which can be added."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.generating import DocumentLengths
from bayesclf.classifiers.inputs import Training, joined_labels
from bayesclf.errors import InputError
from bayesclf.families import Axes, Categorical, EveryTreeOfCells
from bayesclf.families.base import Family, Statistics
from bayesclf.families.by_evidence import ByEvidence, Choices
from bayesclf.families.cells import ValueCounts
from bayesclf.families.class_prior import ClassPrior
from bayesclf.families.learned_alpha import LearntAlpha, learned_from_rows
from bayesclf.tables import columns
from bayesclf.tables.columns import Column, SparseTable, Table, row_numbers, sparse_numbers
from bayesclf.wording import AND_MORE, LISTED_NAMES, LISTED_ROWS, counted, listed, named

NO_WORD = "the training documents contain no words; check the column and the options of the vectorizer"
"""Why documents cannot be learned from."""

MISSING_SUFFIX = " is missing"
"""Suffix of the name of the indicator of a number's missing cells."""


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
    candidate
        Name in `bayesclf.families.by_evidence.CANDIDATES` of a family that was chosen by evidence: cells that it cannot
        have count as missing. Empty for any other.
    mixed
        Those of the columns that are categories, where the family takes categories and numbers.
    """

    family: Family[Any] | ByEvidence
    names: tuple[str, ...]
    indicator: bool = False
    candidate: str = ""
    mixed: tuple[str, ...] = ()

    @property
    def categories(self) -> tuple[str, ...]:
        """The columns that are categories."""
        return self.names if self.family.kind == "category" else self.mixed

    @property
    def learned_alpha(self) -> LearntAlpha | None:
        """How the α of the family is learned from rows that are left out; None where it is not."""
        alpha = getattr(self.family, "alpha", None)
        return alpha if isinstance(alpha, LearntAlpha) else None

    @property
    def plain(self) -> Family[Any]:
        """The family, where it is none to be chosen: in what `Learnt.decided` returns."""
        assert isinstance(self.family, Family)
        return self.family

    def union(self, other: ColumnBlock) -> ColumnBlock:
        """Return the block with the columns of both: a vocabulary can grow."""
        if self.names == other.names:
            return self
        return replace(self, names=tuple(sorted({*self.names, *other.names})))


@dataclass(frozen=True)
class Learnt:
    """All that was learned from training rows, which can be added: labels, levels and statistics.

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
        Sufficient statistics of each block.
    lengths
        How long the documents of each class were; None for what is not text, and where it is not known.
    unknown
        The columns with levels or words that the prior, a posterior of other rows, does not know.
    """

    classes: NDArray[Any]
    columns: dict[str, Column]
    blocks: tuple[ColumnBlock, ...]
    counts: Array
    statistics: tuple[Statistics, ...]
    lengths: DocumentLengths | None = None
    unknown: tuple[str, ...] = ()

    def axes(self, block: ColumnBlock) -> Axes:
        """Return the coordinates of a block."""
        labels = tuple(str(label) for label in self.classes)
        if block.indicator:
            return Axes(
                labels, tuple(name + MISSING_SUFFIX for name in block.names), ((False, True),) * len(block.names)
            )
        if block.family.kind == "category":
            return Axes(labels, block.names, tuple(self.columns[name].levels for name in block.names))
        levels = tuple(self.columns[name].levels for name in block.names) if block.mixed else ()
        return Axes(labels, block.names, levels)

    def decided(self) -> tuple[Learnt, tuple[Choices, ...]]:
        """Return the same with plain families for columns whose families are chosen by evidence, and the choices."""
        blocks: list[ColumnBlock] = []
        statistics: list[Statistics] = []
        choices: list[Choices] = []
        for block, own in zip(self.blocks, self.statistics, strict=True):
            if isinstance(block.family, ByEvidence):
                found, chosen = block.family.chosen(cast("ValueCounts", own))
                choices.append(found)
                for candidate, family, names, of_family in chosen:
                    blocks.append(ColumnBlock(family, names, candidate=candidate))
                    statistics.append(of_family)
            else:
                blocks.append(block)
                statistics.append(own)
        return replace(self, blocks=tuple(blocks), statistics=tuple(statistics)), tuple(choices)

    def learned_from_rows(self, cells: Sequence[Any], rows: Training, class_prior: ClassPrior) -> Learnt:
        """Return the same with the concentrations that are learned by leaving out rows, whose cells are given."""
        if not any(block.learned_alpha for block in self.blocks):
            return self
        out = rows.left_out()
        y, weight = rows.y[out], None if rows.weight is None else rows.weight[out]
        blocks = (
            replace(block, family=learned_from_rows(block.family, statistics, X[out], y, weight, class_prior))
            if block.learned_alpha
            else block
            for block, statistics, X in zip(self.blocks, self.statistics, cells, strict=True)
        )
        return replace(self, blocks=tuple(blocks))

    def widened(self, other: Learnt) -> Learnt:
        """Return the same over the columns and levels of what was learned from other rows too."""
        both = self + other
        parts = zip(map(both.axes, both.blocks), self.statistics, strict=True)
        statistics = tuple(_on(axes, own, self.counts) for axes, own in parts)
        return replace(both, counts=self.counts, statistics=statistics, lengths=self.lengths)

    def __add__(self, other: Learnt) -> Learnt:
        """Return what was learned from both, over the labels and levels of both."""
        classes = joined_labels(self.classes, other.classes)
        one, two = self._labeled(classes.dtype), other._labeled(classes.dtype)
        union = {name: column.union(two.columns[name]) for name, column in one.columns.items()}
        counts = np.zeros(len(classes))
        lengths = []
        for part in (one, two):
            places = np.searchsorted(classes, part.classes)
            counts[places] += part.counts
            if part.lengths is not None:
                lengths.append(part.lengths.moved(places, len(classes)))
        blocks = tuple(mine.union(theirs) for mine, theirs in zip(one.blocks, two.blocks, strict=True))
        unknown = tuple(dict.fromkeys(one.unknown + two.unknown))
        merged = replace(one, classes=classes, columns=union, blocks=blocks, counts=counts, unknown=unknown)
        parts = zip(map(merged.axes, blocks), one.statistics, two.statistics, strict=True)
        statistics = tuple(_on(axes, mine, one.counts) + _on(axes, theirs, two.counts) for axes, mine, theirs in parts)
        return replace(merged, statistics=statistics, lengths=lengths[0] + lengths[1] if len(lengths) == 2 else None)

    def _labeled(self, kind: np.dtype[Any]) -> Learnt:
        """Return the same with labels of another type of numbers, such as 1.0 for 1."""
        if self.classes.dtype.kind == kind.kind:
            return self
        classes = self.classes.astype(kind)
        labels = tuple(map(str, classes))
        return replace(self, classes=classes, statistics=tuple(own.labeled(labels) for own in self.statistics))


def _on(axes: Axes, statistics: Statistics, counts: Array) -> Statistics:
    """Return statistics of rows, whose weight of each label is given, on axes that may be wider than theirs."""
    return statistics if statistics.axes == axes else statistics.widened(axes, counts)


MOST_CODES = 20
"""Whole numbers that a column can have and still be taken for codes of categories without a remark."""


def about_numbers(learnt: Learnt) -> Iterator[str]:
    """Say which columns of numbers a categorical family took for categories, unless they look like codes."""
    taken = {
        name: f"{name!r} ({len(levels)} values)"
        for block in learnt.blocks
        if block.family.kind == "category" and not block.indicator
        for name in block.names
        if learnt.columns[name].of_numbers and not _are_codes(levels := learnt.columns[name].levels)
    }
    if taken:
        yield (
            f"each distinct number is an unordered category in column {listed(taken.values(), LISTED_NAMES, AND_MORE)};"
            f" use NaiveBayes, bin numbers with pandas.cut, or declare codes with --kind "
            f"{next(iter(taken))}=category (astype('category') in Python)"
        )


def varying(family: Family[Any], labeled: Statistics, every: Statistics) -> tuple[Statistics, list[str]]:
    """Return the statistics by which to set a default prior, and a remark if unlabeled rows are in them."""
    lacking = np.asarray(labeled.axes.features, dtype=object)[~family.informative(labeled)]
    if family.kind != "number" or not lacking.size:
        return labeled, []
    remark = (
        f"rows with a label have at most one value in column {listed(map(repr, lacking), LISTED_NAMES, AND_MORE)}; "
        "default priors of this family come from all rows"
    )
    return every, [remark]


def about_impossible(blocks: Iterable[ColumnBlock], frame: Any, unlabeled: Integers) -> Iterator[str]:
    """Say which cells of rows without a label the family that was chosen for their column by evidence cannot have."""
    for block in blocks:
        if block.candidate:
            X = columns.numbers(frame, block.names)[unlabeled]
            impossible = ~(block.plain.support.holds(X) | np.isnan(X))
            for j in np.flatnonzero(impossible.any(axis=0)):
                rows = unlabeled[impossible[:, j]]
                yield (
                    f"column {block.names[j]!r} has {counted(len(rows), 'cell')} without a label that its family "
                    f"{block.candidate!r}, chosen by the labeled rows, cannot have (rows "
                    f"{listed(row_numbers(frame, rows), LISTED_ROWS)}); there it counts as missing"
                )


def about_unknown(names: Sequence[str]) -> Iterator[str]:
    """Name the columns with levels or words that a prior does not know."""
    if names:
        yield (
            f"the prior lacks some levels or words of {listed(map(repr, names), LISTED_NAMES, AND_MORE)}, and the fit "
            "ignores these; fit all rows at once to learn them"
        )


def _are_codes(levels: Sequence[object]) -> bool:
    """Return whether the values of a column of numbers are few and whole."""
    values = [level for level in levels if isinstance(level, int | float)]
    return len(values) <= MOST_CODES and all(float(value).is_integer() for value in values)


@dataclass(frozen=True)
class FrozenPrior:
    """A posterior that serves as a prior, which `as_prior` passes to a new classifier.

    The statistics of `learnt` are empty, `families` have the posterior's hyperparameters, and `kept` says which
    features of each block are used.
    """

    learnt: Learnt
    families: tuple[Family[Any], ...]
    kept: tuple[NDArray[np.bool_], ...]
    class_prior: ClassPrior

    def __repr__(self) -> str:
        classes, features = len(self.learnt.classes), sum(map(len, self.kept))
        return f"FrozenPrior({counted(classes, 'class', 'classes')}, {counted(features, 'feature')})"


def indicators(blocks: tuple[ColumnBlock, ...]) -> tuple[ColumnBlock, ...]:
    """Return a block that says which numbers are missing: a Bernoulli for each and class."""
    own_cells = (block for block in blocks if not isinstance(block.family, EveryTreeOfCells))
    of_numbers = (block for block in own_cells if block.family.kind in ("number", "mixed"))
    names = tuple(name for block in of_numbers for name in block.names if name not in block.mixed)
    return (ColumnBlock(Categorical(), names, indicator=True),) if names else ()


def block_cells(learnt: Learnt, frame: Table, block: ColumnBlock) -> Any:
    """Return a block's cells (row, feature): numbers, level codes, or whether they are missing."""
    if block.family.kind == "count":
        return columns.counts(frame, block.names)
    if isinstance(frame, SparseTable):
        return sparse_numbers(frame, block.names)
    if block.indicator:
        return columns.is_missing(columns.numbers(frame, block.names))
    if block.family.kind == "mixed":
        return _mixed_cells(learnt, frame, block)
    if block.family.kind == "number":
        cells = columns.read_numbers(frame, block.names)
        if block.family.reads_numbers and not block.candidate:
            return cells
        X = cells.array()
        return np.where(block.plain.support.holds(X), X, np.nan) if block.candidate else X
    return columns.codes(frame, block.names, tuple(learnt.columns[name].levels for name in block.names))


def unknown_levels(block: ColumnBlock, X: Any, missing: str) -> tuple[str, ...]:
    """Return the categories of a block of which cells (row, feature) have a level that is not among those known."""
    if block.indicator or not block.categories:
        return ()
    codes = X[:, np.isin(block.names, block.categories)]
    new = (codes == columns.UNSEEN) | ((missing == "level") & (codes == columns.MISSING))
    return tuple(compress(block.categories, new.any(axis=0)))


def _mixed_cells(learnt: Learnt, frame: Any, block: ColumnBlock) -> Array:
    """Return codes of categories and numbers, (row, feature); NaN in a category that has no level yet."""
    X = np.empty((len(frame), len(block.names)))
    is_category = np.isin(block.names, block.mixed)
    numbers = tuple(name for name in block.names if name not in block.mixed)
    levels = tuple(learnt.columns[name].levels for name in block.mixed)
    X[:, ~is_category] = columns.numbers(frame, numbers)
    codes = columns.codes(frame, block.mixed, levels)
    X[:, is_category] = np.where([bool(own) for own in levels], codes, np.nan)
    return X


LEARNED = "learned"
"""`alpha` where it is learned from the rows."""

LEAST_LEVELS = 10
"""Levels of a categorical column from which its α is learned by default: below, α is little against the counts."""

type Concentration = float | Array | str | LearntAlpha


def concentration(alpha: Concentration, least_levels: int = 1) -> float | Array | LearntAlpha:
    """Return the α of a family from that of a classifier."""
    if not isinstance(alpha, str):
        return alpha
    if alpha != LEARNED:
        raise InputError(f"alpha must be a number above 0, {LEARNED!r} or a LearntAlpha, not {alpha!r}")
    return LearntAlpha(least_levels=least_levels)


def about_concentrations(block: ColumnBlock, resolved: Family[Any], statistics: Any) -> Iterator[str]:
    """Say which α was learned of a block, and how, given its family with the prior resolved."""
    settings, family = block.learned_alpha, cast("Any", resolved)
    if settings is None:
        return
    sizes = family.sizes(statistics.axes)
    first = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    alpha = np.where(settings.learned(sizes), family.simplexes()[0][0, first], np.nan)
    if np.isnan(alpha).all():
        return
    alpha = np.broadcast_to(alpha, len(statistics.axes.features))
    if settings.value is None:
        yield (
            f"the concentration is α = {alpha[0]:g}, because batches are not kept to leave out one row at a time; set "
            "alpha, or call fit"
        )
    else:
        yield _learned(alpha, statistics.axes)


def _learned(alpha: Array, axes: Axes) -> str:
    """Say which α (feature) were learned, of which columns unless all have the same; others are NaN."""
    known = ~np.isnan(alpha)
    values, names = alpha[known], [name for name, one in zip(axes.features, known, strict=True) if one]
    same = (values == values[0]).all()
    of = "" if same and known.all() else f" of column{'s' * (len(names) > 1)} {named(names)}"
    shown = listed([f"{value:.3g}" for value in (values[:1] if same else values)], LISTED_NAMES, AND_MORE)
    return f"the concentration{of} was learned by leaving out one row at a time: α = {shown}"
