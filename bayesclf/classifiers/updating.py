"""Learning in parts: further rows, tables read batch by batch, what others learned from other rows."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self, override

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.classifiers.attributes import GenerativeAttributes
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.labels import UNLABELED, checked_labels, possible_labels, require_same_labels
from bayesclf.classifiers.merging import require_alike, with_common_concentrations
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
from bayesclf.classifiers.training import (
    ColumnBlock,
    FrozenPrior,
    Learnt,
    about_numbers,
    block_cells,
    kept_rows,
    weighted,
)
from bayesclf.classifiers.unlabeled import about_impossible, about_unlabeled
from bayesclf.constraints import Choice, Number, OrNone, require
from bayesclf.engines.unlabeled import PartlyLabeled, found_point, infer_partly
from bayesclf.errors import InputError, Refused
from bayesclf.families.base import Statistics
from bayesclf.families.class_prior import ClassPrior
from bayesclf.families.moments import part_of_more
from bayesclf.models.base import Model
from bayesclf.models.generative import GenerativeModel
from bayesclf.models.tempered import LeftOut
from bayesclf.progress import Progress, shown
from bayesclf.tables.batches import NoRows
from bayesclf.tables.columns import ColumnKind


class Updating(GenerativeAttributes, BayesClassifier):
    """What generative classifiers learn in parts: statistics add, so that the posterior is that of all rows.

    They learn from rows without a label, too. EM finds the estimates, and data augmentation samples the posterior: it
    draws the labels and the parameters in turn. Default priors, a learned α, trees and chosen families are those of the
    labeled rows. Where a column of numbers has one value only among these, default priors are those of all rows.
    Estimates that were not requested are found when a rule, `posterior_` or `save` first needs them; until then the
    rows without a label are kept. What fits again, such as checks of `diagnose` that hold rows out, learns from labeled
    rows only, and `partial_fit`, ``+`` and `as_prior` refuse.

    References
    ----------
    Nigam, McCallum, Thrun, Mitchell (2000), *Text classification from labeled and unlabeled documents using EM*,
    Machine Learning 39, doi:10.1023/A:1007692713085.
    """

    _takes_text = False

    prior: FrozenPrior | None
    _learnt: Learnt
    left_out_: LeftOut | None
    _partly: PartlyLabeled | None

    @abstractmethod
    def _learn(
        self,
        frame: pd.DataFrame,
        y: Integers,
        weight: Array | None,
        blocks: tuple[ColumnBlock, ...] | None,
        every_row: bool,
    ) -> Learnt:
        """Return the statistics of rows, on blocks that may be given, and what only `every_row` together teaches."""

    @abstractmethod
    def _conditioned(self, of_all: tuple[Statistics, ...] | None = None) -> GenerativeModel:
        """Return the model of prior and statistics, without the uninformative features."""

    @abstractmethod
    def _leave_out(self, model: GenerativeModel, frame: Any, y: Integers, weight: Array | None) -> LeftOut | None:
        """Return what training rows say of T that are left out, one at a time; None where they cannot be."""

    @property
    @abstractmethod
    def _may_temper(self) -> bool:
        """Whether the rule of the constructor, or the default, is ``"tempered"`` if there are rows to learn T from."""

    @abstractmethod
    def _class_prior(self, counts: Array) -> ClassPrior:
        """Return the class prior in numbers, given the weight of each label (outcome)."""

    @abstractmethod
    def _gather(self, learnt: Learnt) -> None:
        """Keep what was learned from all rows so far."""

    @property
    @abstractmethod
    def _gathered(self) -> Learnt:
        """What was learned from all rows so far."""

    def _table_of(self, frame: pd.DataFrame, learnt: Learnt) -> Any:
        """Return training rows as the table that blocks take their cells from."""
        return frame

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        forget: float | None = None,
        unlabeled: str = "error",
    ) -> Self:
        """Add rows to what was learned so far; over any split of the rows the result is that of `fit`.

        An α that is learned by leave-one-out needs all rows: it stays that of an earlier `fit`, or 1.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : sequence of labels or None
            All labels that can occur; needed at the first call unless these rows have them all, and the same
            ones, if any, at the others.
        forget : float or None
            What the weight of each earlier row is multiplied by, above 0 and at most 1, where what rows say changes
            with time: a power prior. Of calls with 0.99 each row counts for 0.99 to the power of the calls since, and
            all rows together for those of the last 100 calls. The prior itself is not discounted.
        unlabeled : {"error", "drop"}
            Whether rows without a label are refused or left out; to learn from them takes all rows at once, by `fit`.

        Raises
        ------
        InputError
            As `fit`; and for other classes than those of the first call.
        Refused
            If an option of the prior or of the blocks has changed since rows were learned, or rows had no label.
        """
        require(OrNone(Number(above=0, most=1)), forget=forget)
        first = not hasattr(self, "_learnt")
        if not first:
            self._require_continuable("updated")
        with self._rollback_on_error():
            frame = self._validated(X, reset=first)
            require(Choice(("error", "drop")), unlabeled=unlabeled)
            codes_of = self._label_codes if first else self._codes_of_more
            codes, remarks = self._training_codes(y, len(frame), classes, unlabeled, codes_of)
            frame, codes, weight = weighted(frame, codes, sample_weight)
            rows = kept_rows(codes != UNLABELED, frame, codes, weight)
            added = self._learn(*rows, None if first else self._gathered.blocks, every_row=False)
            if not first:
                added = (self._gathered if forget is None else self._gathered.discounted(forget)) + added
            self._gather(added)
            model = self._conditioned()
            self.notes_ += about_numbers(self._learnt)
            self._infer(model)
            self.notes_ += remarks
        return self

    def _require_continuable(self, done: str) -> None:
        """Raise `Refused` for a fit to rows without labels, whose posterior is not a function of statistics."""
        if self.model_.unlabeled:
            raise Refused(
                f"a fit to rows without labels cannot be {done}, as what these rows say depends on all others; fit all "
                "rows at once"
            )

    def _codes_of_more(self, y: Any, rows: int, classes: Any) -> Integers:
        """Return the codes (row) of labels of further rows; `classes`, where given again, must be the same."""
        labels = checked_labels(y, rows)
        if classes is not None and not np.array_equal(possible_labels(labels, classes), self.classes_):
            raise InputError(
                f"classes={np.ravel(np.asarray(classes)).tolist()} is not the same as on the last call of partial_fit, "
                f"{self.classes_.tolist()}; name the same classes, or none after the first call"
            )
        try:
            return self.known_codes(labels)
        except InputError as error:
            reason = str(error).partition(";")[0]
            remedy = "name all that can occur at the first call, classes=[…], or fit these rows apart and add (+)"
            raise InputError(f"{reason}; {remedy}") from None

    def __add__(self, other: object) -> Self:
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
        if not isinstance(other, BayesClassifier):
            return NotImplemented
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
        check_is_fitted(self, "classes_")
        check_is_fitted(other, "classes_")
        for one in (self, other):
            one._require_continuable("added")
        require_alike(self, other)
        both: Self = clone(self)
        for name in ("n_features_in_", "feature_names_in_", "target_name_"):
            if hasattr(self, name):
                setattr(both, name, getattr(self, name))
        learnt = with_common_concentrations(self._gathered, other._gathered)
        both.classes_ = learnt.classes
        both._gather(learnt)
        model = both._conditioned()
        both.notes_ += about_numbers(both._learnt)
        both._infer(model)
        return both

    def fit_stream(
        self,
        source: Any,
        target: str,
        *,
        weight: str | None = None,
        classes: Any = None,
        drop: Sequence[str] = (),
        kinds: Mapping[str, ColumnKind] | None = None,
        missing: Mapping[str, Sequence[object]] | None = None,
        unlabeled: str = "error",
        reading: Mapping[str, Any] | None = None,
        client: Any = None,
        progress: Progress = None,
    ) -> Self:
        """Condition the model on a table that is read batch by batch, and need not fit into memory.

        The posterior is that of `fit` on all rows, whatever the batches and their order; classes and levels may appear
        late. What is learned by leaving out rows, α and T, is learned by at most 5,000: those that `fit` takes where
        the number of rows is known beforehand, else a random sample. Memory is that of a batch, of these rows, and of
        the statistics.

        Parameters
        ----------
        source : path, glob, table or iterable of tables
            A Parquet, csv or tsv file (all but Parquet also gzipped, and read twice), a folder of such files, or
            a glob such as ``"big/*.parquet"``; a pyarrow data set, table or reader; a polars LazyFrame, a DuckDB
            relation, a dask.dataframe; any table with Arrow's stream interface; a DataFrame; an iterable of tables; or
            a function without arguments that returns one.
        target : str
            The column of labels.
        weight : str or None
            A column that says how often each row counts.
        classes : sequence of labels or None
            All labels that can occur, where the rows may lack some.
        drop : sequence of str
            Columns that are left out.
        kinds : mapping from column to {"number", "category", "text"}, or None
            What columns hold, "number", "category" or "text", whatever they look like.
        missing : mapping from column to values, or None
            By column, values that stand for "missing".
        unlabeled : {"error", "drop"}
            Whether rows without a label, which cannot teach in batches, are refused, as one may be missing by mistake,
            or left out. Where some are, an α that is learned by leaving out rows is learned by a random sample.
        reading : mapping of str or None
            How files of text are read, where what is found is not right: ``{"separator": ";", "keep": ["id"]}``, with
            the options of `bayesclf.datasets.read`. Columns of files that say nothing about new rows, such as names of
            rows and dates, are left out, and `notes_` says so.
        client : dask.distributed.Client, str or None
            A client of Dask, or the address of a scheduler: each partition of a dask.dataframe, file or table of a list
            is one task, and only statistics, and rows that α is learned by, come back. All parts must have their
            columns in the same order. The scheduler repeats tasks of a worker that dies.
        progress : bool, callable or None
            As in `bayesclf.set_progress`.

        Raises
        ------
        InputError
            For rows that `fit` refuses, a batch that lacks a column, and a column that holds words in some batches and
            numbers in others.

        Examples
        --------
        >>> import bayesclf as bc, pandas as pd
        >>> parts = [pd.DataFrame({"x": [1.0, 1.2], "y": "low"}), pd.DataFrame({"x": [2.9, 3.1], "y": "high"})]
        >>> print(bc.GaussianNB(random_state=1).fit_stream(parts, "y").predict(pd.DataFrame({"x": [1.1, 3.0]})))
        ['low' 'high']
        """
        with self._rollback_on_error():
            how = Reading.of(target, weight, classes, drop, kinds, missing, unlabeled, reading)
            source, how, notes = decided(source, how, client, self._takes_text)
            if client is None:
                found = self._learn_stream(source, how, progress)
            else:
                with shown("fitting on Dask", progress=progress):
                    unfitted: Self = clone(self)
                    parts = parts_of(source)
                    learn, kinds_of = partial(unfitted._learn_part, how), partial(kinds_of_part, how)
                    found = learned(parts, learn, kinds_of, client)
            if found is None:
                raise no_rows(how)
            named, learnt, left_out = found
            self.n_features_in_, self.feature_names_in_ = named.n_features_in_, named.feature_names_in_
            self.target_name_ = target
            self.classes_ = learnt.classes
            require_classes(self.classes_, target)
            self._gather(self._with_concentrations(learnt, left_out))
            model = self._conditioned()
            self.notes_ += about_numbers(self._learnt)
            if (rows := left_out.rows()) is not None:
                frame, labels, weight_of = rows
                codes = np.asarray(np.searchsorted(self.classes_, labels))
                self.left_out_ = self._leave_out(model, frame, codes, weight_of)
            self._infer(model)
            self.notes_ = [*notes, *self.notes_]
        return self

    def _learn_stream(
        self,
        source: Any,
        how: Reading,
        progress: Progress,
        part: int | None = None,
        expected: Mapping[str, str] | None = None,
    ) -> Found:
        """Return itself, the statistics of a stream, and the rows that α is learned by; None where no row counts.

        `part` is the number of the part that the stream is, None where it is all there is; `expected` is what other
        parts found in columns of which this one may have no cell.
        """
        known = how.classes if self.prior is None or how.classes is not None else self.prior.learnt.classes
        stream, features = opened(source, how, expected, ahead=part is None)
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
                        self._learn_batch(so_far, *rows, len(features))
                so_far.done += len(batch.table)
                speed = so_far.done / max(time.perf_counter() - start, 1e-9)
                tell(f"{stream.where}, {speed:,.0f} rows a second", so_far.done, stream.rows or so_far.done)
        learnt = so_far.learnt
        return None if learnt is None else (self, learnt, so_far.left_out)

    def _blocks_of_batch(self, first: Learnt | None) -> tuple[ColumnBlock, ...] | None:
        """Return the blocks of a batch's columns, given what was learned from the first ones; None to find them."""
        return None if first is None else first.blocks

    def _learn_batch(
        self, so_far: Gathering, frame: pd.DataFrame, codes: Integers, weight: Array | None, columns: int
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

    def _learn_part(self, how: Reading, part: Any, number: int = 0, expected: Mapping[str, str] | None = None) -> Found:
        """Return what an unfitted copy learns from a part of a table, and its number; None of a part without rows."""
        if isinstance(part, pd.DataFrame) and not len(part):
            return None
        own: Self = clone(self)
        try:
            return own._learn_stream(part, how, False, number, expected)
        except NoRows:
            return None

    def _with_concentrations(self, learnt: Learnt, left_out: LeftOutRows) -> Learnt:
        """Return what was learned from a stream with the α that the rows to be left out teach."""
        found = left_out.rows()
        if self.prior is not None or found is None:
            return learnt
        frame, labels, weight = found
        table = self._table_of(frame, learnt)
        cells = [block_cells(learnt, table, block) if learns_by_leaving_out(block) else None for block in learnt.blocks]
        codes = np.asarray(np.searchsorted(learnt.classes, labels))
        return learnt.learned_from_rows(cells, codes, weight, self._class_prior(learnt.counts).posterior(learnt.counts))

    @property
    @override
    def _learns_unlabeled(self) -> bool:
        return True

    def _partly_labeled(self, frame: Any, codes: Integers, weight: Array | None) -> PartlyLabeled:
        """Return prior and rows, of which some have the code `UNLABELED`."""
        self._require_words_in_parts("rows without a label")
        known = codes != UNLABELED
        weight = np.ones(len(codes)) if weight is None else weight
        labeled, others = frame[known], frame[~known]
        y, own = codes[known], weight[known]
        # all rows first, so that what is wrong with a cell is told by its row of the table
        of_one_class = np.zeros(len(frame), dtype=np.intp)
        every = self._learn(frame, of_one_class, weight, None, every_row=False)
        learnt = self._learn(labeled, y, own, every.blocks, every_row=True)
        self._gather(learnt.widened(every))
        if any(block.candidate for block in self._learnt.blocks):
            every = self._learn(frame, of_one_class, weight, self._learnt.blocks, every_row=False)
        model = self._conditioned(every.widened(self._learnt).statistics)
        self.notes_ += about_numbers(self._learnt)
        self.notes_ += about_impossible(self._learnt.blocks, frame, np.flatnonzero(~known))
        return PartlyLabeled(model, self.encode(labeled), y, own, self.encode(others), weight[~known])

    def _require_words_in_parts(self, what: str) -> None:
        """Raise `Refused` where an option looks at all training rows at once; `what` is what it is not for."""

    @override
    def _infer_partly(self, frame: Any, codes: Integers, weight: Array | None) -> None:
        """Set the fitted state that depends on labeled and other rows, engine and seed."""
        partly = self._partly_labeled(frame, codes, weight)
        self._renew(replace(partly.model, unlabeled=len(partly.rows)))
        found = infer_partly(partly, self._requested_engine(), self.seed_)
        self.points_, self.draws_, self.inference_ = found.points, found.draws, found.engine
        self.convergence_problems_ = found.problems
        self.notes_ += about_unlabeled(partly, found, self.classes_)
        self._partly = partly

    @override
    def _renew(self, model: Model) -> None:
        super()._renew(model)
        self.__dict__.pop("_temper", None)
        self._partly = None

    @override
    def _point(self, name: str) -> Parameters:
        """Return the estimate ``"mle"`` or ``"map"``; rows without a label are kept until EM has found both."""
        if self._partly is not None and name not in self.points_:
            self.points_[name], _ = found_point(self._partly, name)
        if {"mle", "map"} <= self.points_.keys():
            self._partly = None
        return super()._point(name)
