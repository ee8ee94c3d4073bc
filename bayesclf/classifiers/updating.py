"""Learning in parts: further rows, tables read batch by batch, what others learned from other rows.

Statistics add, so that the posterior is that of all rows. The functions are the work of methods of
`bayesclf.classifiers.generative.GenerativeClassifier`, which is their first argument.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.labels import UNLABELED, checked_labels, possible_labels
from bayesclf.classifiers.passes import Counted, Reading, StreamedTable, decided, settle
from bayesclf.classifiers.training import NO_WORD, ColumnBlock, Learnt, block_cells, kept_rows, weighted
from bayesclf.constraints import Choice, require
from bayesclf.errors import InputError, Refused
from bayesclf.families.learned_alpha import MOST_ROWS, learned_by
from bayesclf.families.moments import part_of_more
from bayesclf.families.selected import Selected
from bayesclf.progress import Progress, shown
from bayesclf.tables.columns import Column
from bayesclf.wording import LISTED_NAMES, listed

OF_ANSWERS = ("inference", "random_state", "rule")
"""Options that do not matter to what was learned: those of the first classifier are kept."""

MOST_KEPT = 2 * MOST_ROWS
"""Rows that are kept where their number is not known beforehand; of more than `MOST_ROWS`, as many are left out."""

ROW_BITS = 40
"""Bits of a row's number within its part, in what its priority is a hash of."""


@dataclass(frozen=True, eq=False)
class LeftOutRows:
    """The rows that α and T are learned by: all where they are few, else some, whatever the batches.

    With a known number of rows, `total`, they are at even distances, as in a fit in memory. Otherwise they are the
    `MOST_KEPT` with the lowest priorities: a hash of part and number, which gives all rows the same chance. `seen` is
    how many rows were looked at; `kept` has priorities, cells, labels and weights of the rows of each batch.
    """

    total: int | None = None
    part: int = 0
    seen: int = 0
    kept: tuple[tuple[NDArray[np.uint64], pd.DataFrame, NDArray[Any], Array | None], ...] = ()

    def with_rows(self, table: pd.DataFrame, y: NDArray[Any], weight: Array | None) -> LeftOutRows:
        """Return the same after a look at further rows: cells (row, feature), labels and weights (row)."""
        rows = np.arange(len(y)) if weight is None else np.flatnonzero(weight >= 1)
        numbers = self.seen + np.arange(len(rows))
        keys = _priorities(self.part, numbers)
        if self.total is not None:
            keys[np.isin(numbers, np.linspace(0, self.total - 1, MOST_ROWS).astype(np.intp))] = 0
        kept = _lowest(keys)
        own = rows[kept]
        more = keys[kept], table.iloc[own], y[own], None if weight is None else weight[own]
        return _thinned(replace(self, seen=self.seen + len(rows), kept=(*self.kept, more)))

    def rows(self) -> tuple[pd.DataFrame, NDArray[Any], Array | None] | None:
        """Return the rows, cells (row, feature), labels and weights (row); None without any."""
        if not any(len(part[0]) for part in self.kept):
            return None
        keys, table, labels, weight = _joined(self)
        kept = keys == 0 if self.total == self.seen else _lowest(keys)
        return table[kept].reset_index(drop=True), labels[kept], None if weight is None else weight[kept]

    def __add__(self, other: LeftOutRows) -> LeftOutRows:
        """Return the rows of two parts with the lowest priorities."""
        return _thinned(LeftOutRows(None, self.part, self.seen + other.seen, (*self.kept, *other.kept)))


def _thinned(rows: LeftOutRows) -> LeftOutRows:
    """Return the same without rows of high priorities, where there are many."""
    if sum(len(part[0]) for part in rows.kept) <= 2 * MOST_KEPT:
        return rows
    keys, table, labels, weight = _joined(rows)
    low = _lowest(keys)
    return replace(rows, kept=((keys[low], table[low], labels[low], None if weight is None else weight[low]),))


def _joined(rows: LeftOutRows) -> tuple[NDArray[np.uint64], pd.DataFrame, NDArray[Any], Array | None]:
    """Return the rows of all batches; columns whose levels differ from batch to batch hold these as objects."""
    keys, tables, labels, weights = zip(*rows.kept, strict=True)
    coded = (table.select_dtypes("category").columns for table in tables)
    objects = [table.astype(dict.fromkeys(names, object)) for table, names in zip(tables, coded, strict=True)]
    table = pd.concat(objects, ignore_index=True)
    weight = None if weights[0] is None else np.concatenate(weights)
    return np.concatenate(keys), table, np.concatenate(labels), weight


def _priorities(part: int, numbers: Integers) -> NDArray[np.uint64]:
    """Return hashes of rows by SplitMix64 (Steele, Lea and Flood, 2014, https://doi.org/10.1145/2660193.2660195)."""
    keys = (np.uint64(part) << np.uint64(ROW_BITS)) ^ np.asarray(numbers, dtype=np.uint64)
    keys += np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        keys = (keys ^ (keys >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(keys ^ (keys >> np.uint64(31)))


def _lowest(keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return which rows have the `MOST_KEPT` lowest priorities (row)."""
    kept = np.ones(len(keys), dtype=bool)
    if len(keys) > MOST_KEPT:
        kept[np.argpartition(keys, MOST_KEPT - 1)[MOST_KEPT:]] = False
    return kept


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
        learnt = self._learn(rows.frame, rows.y, rows.weight, blocks, every_row=False)
    left_out = before.left_out
    if self._may_temper or any(map(learns_by_leaving_out, learnt.blocks)):
        left_out = left_out.with_rows(rows.frame, rows.classes[rows.y], rows.weight)
    return Taught(_merged(before.parts, (learnt,)), left_out)


def learn_stream(self: Any, source: Any, how: Reading, client: Any, progress: Progress) -> None:
    """Condition the model on a table that is read batch by batch; see `GenerativeClassifier.fit_stream`."""
    source, how, notes = decided(source, how, client, self._takes_text)
    self._check_options()
    self._require_words_in_parts("a table that is read in parts")
    if how.classes is None and self.prior is not None:
        how = replace(how, classes=self.prior.learnt.classes)
    with shown("fitting in batches", 0, progress) as tell:
        found = StreamedTable(source, how, client, tell).passed(self, taught)
    learnt, rows = found.value.learnt, found.value.left_out.rows()
    settle(self, found, learnt.classes, how.target)
    if not any(block.names for block in learnt.blocks):
        raise InputError(NO_WORD)
    if rows is None:
        model = self._model_of(learnt)
    else:
        frame, labels, weight = rows
        codes = np.asarray(np.searchsorted(self.classes_, labels))
        model = self._model_of(_with_concentrations(self, learnt, frame, codes, weight), frame, codes, weight)
    self._infer(model)
    self.notes_ = [*notes, *self.notes_]


def _with_concentrations(
    self: Any, learnt: Learnt, frame: pd.DataFrame, codes: Integers, weight: Array | None
) -> Learnt:
    """Return what was learned from a stream with the α that the rows to be left out teach."""
    if self.prior is not None:
        return learnt
    table = self._table_of(frame, learnt)
    cells = [block_cells(learnt, table, block) if learns_by_leaving_out(block) else None for block in learnt.blocks]
    return learnt.learned_from_rows(cells, codes, weight, self._class_prior(learnt.counts).posterior(learnt.counts))


def learn_more(self: Any, X: Any, y: Any, classes: Any, sample_weight: Any, unlabeled: str) -> None:
    """Add rows to what was learned so far; see `GenerativeClassifier.partial_fit`."""
    first = not hasattr(self, "_learnt")
    if not first:
        self._require_continuable("updated")
    frame = self._validated(X, reset=first)
    self._require_words_in_parts("partial_fit")
    require(Choice(("error", "drop")), unlabeled=unlabeled)
    codes_of = self._label_codes if first else partial(_codes_of_more, self)
    codes, remarks = self._training_codes(y, len(frame), classes, unlabeled, codes_of)
    frame, codes, weight = weighted(frame, codes, sample_weight)
    rows = kept_rows(codes != UNLABELED, frame, codes, weight)
    added = self._learn(*rows, None if first else self._gathered.blocks, every_row=False)
    self._infer(self._model_of(added if first else self._gathered + added))
    self.notes_ += remarks


def _codes_of_more(self: Any, y: Any, rows: int, classes: Any) -> Integers:
    """Return the codes (row) of labels of further rows; `classes`, where given again, must be the same."""
    labels = checked_labels(y, rows)
    if classes is not None and not np.array_equal(possible_labels(labels, classes), self.classes_):
        raise InputError(
            f"classes={np.ravel(np.asarray(classes)).tolist()} is not the same as on the last call of partial_fit, "
            f"{self.classes_.tolist()}; name the same classes, or none after the first call"
        )
    try:
        codes: Integers = self.known_codes(labels)
        return codes
    except InputError as error:
        reason = str(error).partition(";")[0]
        remedy = "name all that can occur at the first call, classes=[…], or fit these rows apart and add (+)"
        raise InputError(f"{reason}; {remedy}") from None


def add(self: Any, other: Any) -> Any:
    """Return the classifier that two together are; see `GenerativeClassifier.__add__`."""
    if other is self:
        raise Refused(
            f"a {type(self).__name__} cannot be added to itself, as each row would count twice; add one that was "
            "fitted to other rows"
        )
    if type(other) is not type(self):
        raise Refused(
            f"{type(self).__name__} and {type(other).__name__} cannot be added: only what one model learned from "
            "different rows can; to combine predictions of different models, see StackedClassifier"
        )
    for one in (self, other):
        check_is_fitted(one, "classes_")
        one._require_continuable("added")  # noqa: SLF001 - of the same class
    _require_alike(self, other)
    both = clone(self)
    for name in ("n_features_in_", "feature_names_in_", "target_name_"):
        if hasattr(self, name):
            setattr(both, name, getattr(self, name))
    learnt = _with_common_concentrations(self._gathered, other._gathered)  # noqa: SLF001
    both.classes_ = learnt.classes
    both._infer(both._model_of(learnt))  # noqa: SLF001
    return both


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
