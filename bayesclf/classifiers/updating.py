"""Learning in parts: further rows, tables read batch by batch, what others learned from other rows.

Statistics add, so that the posterior is that of all rows. The functions are the work of methods of
`bayesclf.classifiers.generative.GenerativeClassifier`, which is their first argument.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.labels import UNLABELED, checked_labels, possible_labels, require_same_labels
from bayesclf.classifiers.on_dask import Found, learned, parts_of
from bayesclf.classifiers.stream_rows import (
    Reading,
    decided,
    kinds_of_part,
    labeled_rows,
    no_rows,
    opened,
    require_classes,
    told_where,
)
from bayesclf.classifiers.streaming import Gathering, LeftOutRows, learns_by_leaving_out
from bayesclf.classifiers.training import NO_WORD, Learnt, block_cells, kept_rows, weighted
from bayesclf.constraints import Choice, require
from bayesclf.errors import InputError, Refused
from bayesclf.families.hierarchical import learned_by
from bayesclf.families.moments import part_of_more
from bayesclf.families.selected import Selected
from bayesclf.progress import Progress, shown
from bayesclf.tables.streams import NoRows
from bayesclf.wording import LISTED_NAMES, listed

OF_ANSWERS = ("inference", "random_state", "rule")
"""Options that do not matter to what was learned: those of the first classifier are kept."""


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
    require_same_labels(one.classes_, other.classes_)


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


def learn_stream(self: Any, source: Any, how: Reading, client: Any, progress: Progress) -> None:
    """Condition the model on a table that is read batch by batch; see `GenerativeClassifier.fit_stream`."""
    source, how, notes = decided(source, how, client, self._takes_text)
    if client is None:
        found = _learned_from(self, source, how, progress)
    else:
        with shown("fitting on Dask", progress=progress):
            learn, kinds_of = partial(_learned_part, clone(self), how), partial(kinds_of_part, how)
            found = learned(parts_of(source), learn, kinds_of, client)
    if found is None:
        raise no_rows(how)
    named, learnt, left_out = found
    self.n_features_in_, self.feature_names_in_ = named.n_features_in_, named.feature_names_in_
    self.target_name_ = how.target
    self.classes_ = learnt.classes
    require_classes(self.classes_, how.target)
    if not any(block.names for block in learnt.blocks):
        raise InputError(NO_WORD)
    rows = left_out.rows()
    if rows is None:
        model = self._model_of(learnt)
    else:
        frame, labels, weight = rows
        codes = np.asarray(np.searchsorted(self.classes_, labels))
        model = self._model_of(_with_concentrations(self, learnt, frame, codes, weight), frame, codes, weight)
    self._infer(model)
    self.notes_ = [*notes, *self.notes_]


def _learned_from(
    self: Any,
    source: Any,
    how: Reading,
    progress: Progress,
    part: int | None = None,
    expected: Mapping[str, str] | None = None,
) -> Found:
    """Return the classifier, the statistics of a stream, and the rows that α is learned by; None without rows."""
    self._check_options()
    self._require_words_in_parts("a table that is read in parts")
    known = how.classes if self.prior is None or how.classes is not None else self.prior.learnt.classes
    stream, features = opened(source, how, expected)
    total = None if how.weight is not None or part is not None else stream.rows
    samples = [LeftOutRows(total, part or 0)]
    if total is not None and how.unlabeled == "drop":
        samples.append(LeftOutRows(None))  # where some rows turn out to have no label
    so_far, start = Gathering(tuple(samples)), time.perf_counter()
    with shown(f"reading {stream.where}", stream.rows or 0, progress) as tell:
        for batch in stream.batches():
            with told_where(batch, so_far.done, stream):
                frame = self._validated(batch.table[features], reset=not so_far.done)
                found = labeled_rows(frame, batch, how, known, stream.written)
                if found is not None:
                    self.classes_, rows = found
                    _learn_batch(self, so_far, *rows, len(features))
            so_far.done += len(batch.table)
            speed = so_far.done / max(time.perf_counter() - start, 1e-9)
            tell(f"{stream.where}, {speed:,.0f} rows a second", so_far.done, stream.rows or so_far.done)
    learnt = so_far.learnt
    return None if learnt is None else (self, learnt, so_far.left_out)


def _learn_batch(
    self: Any, so_far: Gathering, frame: pd.DataFrame, codes: Integers, weight: Array | None, columns: int
) -> None:
    """Add what the rows of a batch teach."""
    first = so_far.first
    if first is not None:
        require_same_labels(first.classes, self.classes_)
    with part_of_more(so_far.done * columns):
        added = self._learn(frame, codes, weight, self._blocks_of_batch(first), every_row=False)
    so_far.add(added)
    if self._may_temper or any(map(learns_by_leaving_out, added.blocks)):
        for rows in so_far.samples:
            rows.add(frame, self.classes_[codes], weight)


def _learned_part(
    self: Any, how: Reading, part: Any, number: int = 0, expected: Mapping[str, str] | None = None
) -> Found:
    """Return what an unfitted copy learns from a part of a table, and its number; None of a part without rows."""
    if isinstance(part, pd.DataFrame) and not len(part):
        return None
    try:
        return _learned_from(clone(self), part, how, False, number, expected)
    except NoRows:
        return None


def _with_concentrations(
    self: Any, learnt: Learnt, frame: pd.DataFrame, codes: Integers, weight: Array | None
) -> Learnt:
    """Return what was learned from a stream with the α that the rows to be left out teach."""
    if self.prior is not None:
        return learnt
    table = self._table_of(frame, learnt)
    cells = [block_cells(learnt, table, block) if learns_by_leaving_out(block) else None for block in learnt.blocks]
    return learnt.learned_from_rows(cells, codes, weight, self._class_prior(learnt.counts).posterior(learnt.counts))
