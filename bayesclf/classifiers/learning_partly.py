"""Learning from rows of which some have no label."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self, override

import numpy as np

from bayesclf.classifiers.labels import labeled_rows
from bayesclf.classifiers.training import about_numbers, weighted
from bayesclf.classifiers.unlabeled import UNLABELED, about_impossible, about_unlabeled
from bayesclf.classifiers.updating import Updating
from bayesclf.errors import InputError
from bayesclf.inference import found_point, infer_partly
from bayesclf.models.base import Model
from bayesclf.models.partly_labeled import PartlyLabeled
from bayesclf.typing import Array, Integers, Parameters


class LearningPartly(Updating):
    """A generative classifier whose training rows may lack their label."""

    _partly: PartlyLabeled | None

    def fit(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Self:
        """Condition the model on training rows and infer its parameters.

        Rows may lack their label: they then say what the columns of some class look like. That helps where the model
        is about right, and can do harm where it is not: compare both on held-out rows with labels. Estimates are found
        by EM, and the posterior is sampled by data augmentation, which draws the labels and the parameters in turn;
        `notes_` says what these rows changed. Default priors, an α that is learned, trees and families that are chosen
        are those of the labeled rows; where a column of numbers has one value only among these, default priors are
        those of all rows. Estimates that were not requested are found when a rule, `posterior_` or `save` first needs
        them; until then the rows without a label are kept. What fits again, such as checks of `diagnose` that hold
        rows out, learns from labeled rows only, and `partial_fit`, ``+`` and `as_prior` refuse.

        Parameters
        ----------
        X : table or array of shape (row, feature)
            Table (row, feature); a DataFrame, or an array.
        y : array of shape (row,)
            Labels (row), at least two different ones; None, NaN or `pandas.NA` where there is none.
        sample_weight : array of shape (row,) or None
            Weights (row), at least 0: how often each row counts.
        classes : sequence of labels or None
            All labels that can occur, where the training rows may lack some; these must have no others.

        Returns
        -------
        GenerativeClassifier
            Itself.

        Raises
        ------
        InputError
            For labels or cells that cannot be used.
        Refused
            Where the engine cannot infer this model.

        References
        ----------
        Nigam, McCallum, Thrun, Mitchell (2000), *Text classification from labeled and unlabeled documents using EM*,
        Machine Learning 39, doi:10.1023/A:1007692713085.
        """
        found = labeled_rows(y)
        if found is None:
            return super().fit(X, y, sample_weight, classes)
        with self._rollback_on_error():
            frame = self._validated(X, reset=True)
            there, labels = found
            if len(there) != len(frame):
                raise InputError(
                    f"X has {len(frame)} rows but y has inconsistent length {len(there)}; give one label per row, None "
                    "where it is not known"
                )
            codes = np.full(len(there), UNLABELED)
            codes[there] = self._label_codes(labels, int(there.sum()), classes)
            name = getattr(y, "name", None)
            self.target_name_ = None if name is None else str(name)
            frame, codes, weight = weighted(frame, codes, sample_weight)
            if (codes == UNLABELED).all():
                raise InputError("all rows with a label have weight zero; give some of them a weight above 0")
            if (codes != UNLABELED).all():
                self._infer(self._make_model(frame, codes, weight))
            else:
                self._infer_partly(self._partly_labeled(frame, codes, weight))
        return self

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

    def _infer_partly(self, partly: PartlyLabeled) -> None:
        """Set the fitted state that depends on labeled and other rows, engine and seed."""
        self._renew(replace(partly.model, unlabeled=len(partly.rows)))
        found = infer_partly(partly, self._requested_engine(), self.seed_)
        self.points_, self.draws_, self.inference_ = found.points, found.draws, found.engine
        self.convergence_problems_ = found.problems
        self.notes_ += about_unlabeled(partly, found, self.classes_)
        self._partly = partly

    @override
    def _renew(self, model: Model) -> None:
        super()._renew(model)
        self._partly = None

    @override
    def _point(self, name: str) -> Parameters:
        """Return the estimate ``"mle"`` or ``"map"``; rows without a label are kept until EM has found both."""
        if self._partly is not None and name not in self.points_:
            self.points_[name], _ = found_point(self._partly, name)
        if {"mle", "map"} <= self.points_.keys():
            self._partly = None
        return super()._point(name)
