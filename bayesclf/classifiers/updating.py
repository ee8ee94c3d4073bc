"""Learning in parts: further rows, tables read batch by batch, what others learned from other rows.

Statistics add, so that the posterior is that of all rows. The functions are the work of methods of
`bayesclf.classifiers.generative.GenerativeClassifier`, which is their first argument.
"""
# ruff: noqa: SLF001 - some functions are methods of `BayesClassifier`

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bayesclf.arrays import Integers
from bayesclf.classifiers.passes import Counted, StreamedTable, settle
from bayesclf.classifiers.training import NO_WORD, ColumnBlock, Learnt, Training, block_cells
from bayesclf.errors import InputError, Refused
from bayesclf.families.learned_alpha import MOST_ROWS, learned_by
from bayesclf.families.moments import part_of_more
from bayesclf.families.selected import Selected
from bayesclf.tables.columns import Column
from bayesclf.wording import LISTED_NAMES, listed

OF_ANSWERS = ("inference", "random_state", "rule")
"""Options that do not matter to what was learned: those of the first classifier are kept."""

MOST_KEPT = 2 * MOST_ROWS
"""Rows that are kept where their number is not known beforehand; of more than `MOST_ROWS`, as many are left out."""

ROW_BITS = 40
"""Bits of a row's number within its part, in what its priority is a hash of."""


KEY, LABEL, WEIGHT = 0, 1, 2
"""Columns of what is kept of rows: their priorities, labels and weights. Names of a table's columns are words."""


@dataclass(frozen=True, eq=False)
class LeftOutRows:
    """The rows that α and T are learned by: all where they are few, else some, whatever the batches.

    With a known number of rows, `total`, they are at even distances, as in a fit in memory. Otherwise they are the
    `MOST_KEPT` with the lowest priorities: a hash of part and number, which gives all rows the same chance. `seen` is
    how many rows were looked at; `tables` have cells, priorities, labels and weights of rows of each batch.
    """

    total: int | None = None
    part: int = 0
    seen: int = 0
    tables: tuple[pd.DataFrame, ...] = ()

    def with_rows(self, rows: Counted) -> LeftOutRows:
        """Return the same after a look at further rows."""
        some = rows.kept(rows.weights >= 1)
        numbers = self.seen + np.arange(len(some.y))
        keys = _priorities(self.part, numbers)
        if self.total is not None:
            keys[np.isin(numbers, np.linspace(0, self.total - 1, MOST_ROWS).astype(np.intp))] = 0
        about = pd.DataFrame({KEY: keys, LABEL: rows.classes[some.y], WEIGHT: some.weights})
        table = _lowest(pd.concat([some.frame.reset_index(drop=True), about], axis=1))
        return replace(self, seen=self.seen + len(numbers), tables=_thinned((*self.tables, table)))

    def rows(self) -> pd.DataFrame | None:
        """Return the rows: cells, labels and weights; None without any."""
        if not any(map(len, self.tables)):
            return None
        table = _joined(self.tables)
        return (table[table[KEY] == 0] if self.total == self.seen else _lowest(table)).reset_index(drop=True)

    def __add__(self, other: LeftOutRows) -> LeftOutRows:
        """Return the rows of two parts with the lowest priorities."""
        tables = _thinned((*self.tables, *other.tables))
        return LeftOutRows(None, self.part, self.seen + other.seen, tables)


def _thinned(tables: tuple[pd.DataFrame, ...]) -> tuple[pd.DataFrame, ...]:
    """Return rows without those of high priorities, where there are many."""
    return tables if sum(map(len, tables)) <= 2 * MOST_KEPT else (_lowest(_joined(tables)),)


def _joined(tables: tuple[pd.DataFrame, ...]) -> pd.DataFrame:
    """Return the rows of all batches; columns whose levels differ from batch to batch hold these as objects."""
    coded = (table.select_dtypes("category").columns for table in tables)
    objects = (table.astype(dict.fromkeys(names, object)) for table, names in zip(tables, coded, strict=True))
    return pd.concat(objects, ignore_index=True)


def _priorities(part: int, numbers: Integers) -> NDArray[np.uint64]:
    """Return hashes of rows by SplitMix64 (Steele, Lea and Flood, 2014, https://doi.org/10.1145/2660193.2660195)."""
    keys = (np.uint64(part) << np.uint64(ROW_BITS)) ^ np.asarray(numbers, dtype=np.uint64)
    keys += np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        keys = (keys ^ (keys >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(keys ^ (keys >> np.uint64(31)))


def _lowest(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the `MOST_KEPT` lowest priorities, in their order."""
    return table if len(table) <= MOST_KEPT else table[table[KEY].rank(method="first") <= MOST_KEPT]


def learns_by_leaving_out(block: ColumnBlock) -> bool:
    """Return whether the α of a block is learned by leaving out rows."""
    return learned_by(block.family) is not None


@dataclass(frozen=True, eq=False)
class Taught:
    """What a generative classifier learns in a pass: statistics, and the rows that α and T are learned by.

    The words of documents grow with every batch: moving all counts each time would take quadratic time. Each part has
    more than twice as many columns as the next, so that all parts have at most twice the columns.
    """

    parts: tuple[Learnt, ...]
    left_out: LeftOutRows

    @property
    def columns(self) -> tuple[Column, ...]:
        """The training columns."""
        return tuple(self.parts[0].columns.values())

    @property
    def learnt(self) -> Learnt:
        """What was learned from all batches."""
        return reduce(operator.add, self.parts)

    def __add__(self, other: Taught) -> Taught:
        """Return what the rows of both teach."""
        return Taught(_merged(self.parts, other.parts), self.left_out + other.left_out)


def _merged(parts: tuple[Learnt, ...], more: tuple[Learnt, ...]) -> tuple[Learnt, ...]:
    """Return parts and further ones, with two added where the first is not more than twice as wide."""
    kept = list(parts)
    for one in more:
        kept.append(one)
        while len(kept) > 1 and _width(kept[-2]) <= 2 * _width(kept[-1]):
            kept[-2:] = [kept[-2] + kept[-1]]
    return tuple(kept)


def _width(learnt: Learnt) -> int:
    return sum(len(block.names) for block in learnt.blocks)


def taught(self: Any, so_far: Taught | None, rows: Counted) -> Taught:
    """Return what the rows so far and further ones teach a generative classifier."""
    self.classes_ = rows.classes
    before = so_far or Taught((), LeftOutRows(rows.total, rows.part))
    blocks = self._blocks_of_batch(before.parts[0] if so_far else None)
    with part_of_more(rows.before * rows.frame.shape[1]):
        learnt = self._learn(rows, blocks, every_row=False)
    left_out = before.left_out
    if self._may_temper or any(map(learns_by_leaving_out, learnt.blocks)):
        left_out = left_out.with_rows(rows)
    return Taught(_merged(before.parts, (learnt,)), left_out)


def learn_stream(self: Any, table: StreamedTable) -> None:
    """Condition the model on a table that is read batch by batch; see `passes.fit_stream`."""
    self._check_options()
    self._require_words_in_parts("a table that is read in parts")
    if table.how.classes is None and self.prior is not None:
        table.how = replace(table.how, classes=self.prior.learnt.classes)
    found = table.passed(self, taught)
    learnt, rows = found.value.learnt, found.value.left_out.rows()
    settle(self, found, learnt.classes, table.how.target)
    if not any(block.names for block in learnt.blocks):
        raise InputError(NO_WORD)
    if rows is None:
        model = self._model_of(learnt)
    else:
        codes = np.searchsorted(self.classes_, np.asarray(rows[LABEL], dtype=self.classes_.dtype))
        frame = rows.drop(columns=[KEY, LABEL, WEIGHT])
        some = Training(frame, np.asarray(codes), np.asarray(rows[WEIGHT], dtype=float))
        model = self._model_of(_with_concentrations(self, learnt, some), some)
    self._infer(model)


def _with_concentrations(self: Any, learnt: Learnt, rows: Training) -> Learnt:
    """Return what was learned from a stream with the α that the rows to be left out teach."""
    if self.prior is not None:
        return learnt
    table = self._table_of(rows.frame, learnt)
    cells = [block_cells(learnt, table, block) if learns_by_leaving_out(block) else None for block in learnt.blocks]
    class_prior = self._class_prior(learnt.counts).posterior(learnt.counts)
    return learnt.learned_from_rows(cells, rows.y, rows.weight, class_prior)


def partial_fit[C](
    self: C, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, unlabeled: str = "error"
) -> C:
    """Add rows to what was learned so far; over any split of the rows the result is that of `fit`.

    An α that is learned by leave-one-out needs all rows: it stays that of an earlier `fit`, or 1.

    Parameters
    ----------
    X, y, sample_weight
        As in `fit`.
    classes : sequence of labels or None
        All labels that can occur; needed at the first call unless these rows have them all, and the same
        ones, if any, at the others.
    unlabeled : {"error", "drop"}
        Whether rows without a label are refused or left out; to learn from them takes all rows at once, by `fit`.

    Raises
    ------
    InputError
        As `fit`; and for other classes than those of the first call.
    Refused
        If an option of the prior or of the blocks has changed since rows were learned, or rows had no label.
    """
    clf: Any = self
    with clf._rollback_on_error():
        first = not hasattr(clf, "_learnt")
        if not first:
            clf._require_continuable("updated")
        rows, remarks = clf._training(X, y, sample_weight, classes, unlabeled, in_parts=True)
        clf._require_words_in_parts("partial_fit")
        added = clf._learn(rows, None if first else clf._gathered.blocks, every_row=False)
        clf._infer(clf._model_of(added if first else clf._gathered + added))
        clf.notes_ += remarks
    return self


def add[C](self: C, other: Any) -> C:
    """Return the classifier that both together are: the posterior given the rows of both, which must be different.

    Both must have the same options and columns; classes and levels may differ. Priors that are set from the rows
    are set from all of them, given ones count once. An α that was learned by leaving out rows is 1, as those rows
    are gone, unless both have the same.

    Raises
    ------
    InputError
        If options or columns differ.
    Refused
        For a classifier of another kind, and for itself, as its rows would count twice.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[1.0], [1.2], [3.1], [2.9]], ["low", "low", "high", "high"]
    >>> one, other = (bc.GaussianNB(random_state=1).fit(X[i::2], y[i::2]) for i in (0, 1))
    >>> print((one + other).class_count_)
    [2. 2.]
    """
    clf: Any = self
    name = type(self).__name__
    if not hasattr(other, "get_params"):
        return NotImplemented  # type: ignore[no-any-return]
    if other is self:
        raise Refused(
            f"a {name} cannot be added to itself, as each row would count twice; add one that was fitted to other rows"
        )
    if type(other) is not type(clf):
        raise Refused(
            f"{name} and {type(other).__name__} cannot be added: only what one model learned from different rows can; "
            "to combine predictions of different models, see StackedClassifier"
        )
    for one in (clf, other):
        check_is_fitted(one, "classes_")
        one._require_continuable("added")
    _require_alike(clf, other)
    both: Any = clone(clf)
    for name in ("n_features_in_", "feature_names_in_", "target_name_"):
        if hasattr(clf, name):
            setattr(both, name, getattr(clf, name))
    learnt = _with_common_concentrations(clf._gathered, other._gathered)
    both.classes_ = learnt.classes
    both._infer(both._model_of(learnt))
    return both  # type: ignore[no-any-return]


def _require_alike(one: Any, other: Any) -> None:
    """Raise `InputError` for two fitted classifiers with other options, or with columns of other names or kinds."""
    mine, theirs = one.get_params(deep=False), other.get_params(deep=False)
    for name, value in mine.items():
        if name not in OF_ANSWERS and not same_setting(value, theirs[name]):
            raise InputError(
                f"both classifiers must have the same options, but {name} is {value!r} here and {theirs[name]!r} there"
            )
    columns, others = ([(column.name, column.kind) for column in clf.columns_] for clf in (one, other))
    if columns != others:
        here, there = (
            listed([f"{name!r} ({kind})" for name, kind in found], LISTED_NAMES) for found in (columns, others)
        )
        raise InputError(f"both must have learned from the same columns in the same order, not {here} and {there}")


def same_setting(value: Any, other: Any) -> bool:
    """Return whether two values of an option are the same, arrays and priors that hold arrays among them."""
    if value is other:
        return True
    if is_dataclass(value) and not isinstance(value, type):
        of_both = ((getattr(value, own.name), getattr(other, own.name)) for own in fields(value) if own.init)
        return type(value) is type(other) and all(same_setting(*pair) for pair in of_both)
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(same_setting(own, other[key]) for key, own in value.items())
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return len(value) == len(other) and all(map(same_setting, value, other))
    return np.array_equal(value, other, equal_nan=np.asarray(value).dtype.kind == "f")


def _with_common_concentrations(one: Learnt, other: Learnt) -> Learnt:
    """Return what both learned, with a learned α where it is the same in both, and one yet to be learned elsewhere."""
    blocks = []
    for mine, theirs in zip(one.blocks, other.blocks, strict=True):
        settings, others = learned_by(mine.family), learned_by(theirs.family)
        same = settings is None or others is None or settings.value == others.value
        blocks.append(mine if same else replace(mine, family=_unlearned(mine.family)))
    return replace(one, blocks=tuple(blocks)) + other


def _unlearned(family: Any) -> Any:
    """Return a family whose α is yet to be learned."""
    if isinstance(family, Selected):
        return replace(family, family=_unlearned(family.family))
    return replace(family, alpha=replace(family.alpha, value=None))
