"""The form of a check, and what checks look at: the classifier, the given rows, and what several checks share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from bayesclf.arrays import Statistics
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.given import GIVEN, is_given
from bayesclf.classifiers.inputs import checked_labels
from bayesclf.diagnostics.diagnosis import Answer, Finding
from bayesclf.diagnostics.held_out import (
    NO_ROWS,
    EncodedTable,
    HeldOut,
    Labelled,
    NotApplicable,
    Undecided,
    held_out,
    recorded_statistics,
    splits,
)
from bayesclf.engines import Exact, inference
from bayesclf.engines.convergence import PYMC
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.evaluation.cross_validation import Split, runs
from bayesclf.evaluation.judgments import TooGood, too_good
from bayesclf.tables.columns import SparseTable
from bayesclf.wording import counted

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, eq=False)
class Context:
    """A fitted classifier, with or without rows.

    Attributes
    ----------
    classifier
        Fitted.
    labelled
        Its training rows, or None.
    new
        Rows to be predicted, or None.
    X, y
        The training rows as they were given.
    """

    classifier: BayesClassifier
    labelled: Labelled | None
    new: EncodedTable | None
    X: Any
    y: Any

    @classmethod
    def of(cls, classifier: BayesClassifier, X: Any, y: Any, new: Any) -> Context:
        """Return the context of the arguments of `diagnose`, checked."""
        if (X is None) != (y is None):
            raise InputError("the training rows are a table and its labels; give both, clf.diagnose(X, y), or neither")
        labelled = None
        if X is not None:
            given = _encoded(classifier, X)
            codes = classifier.known_codes(checked_labels(y, len(given)))
            labelled = Labelled(given.table, given.rows, codes, classifier.classes_)
        return cls(classifier, labelled, None if new is None else _encoded(classifier, new), X, y)

    @property
    def training(self) -> Labelled:
        """The training rows; raises `Undecided` without them."""
        if self.labelled is None:
            raise Undecided(NO_ROWS)
        return self.labelled

    def require_all_labeled(self) -> None:
        """Raise `Undecided` where some training rows had no label: no statistics that a check could read have them."""
        if count := getattr(self.classifier.model_, "unlabeled", 0):
            which = counted(count, "training row has", "training rows have")
            raise Undecided(f"{which} no label, and the fit keeps none of them")

    def require_own_posterior(self) -> None:
        """Raise `Undecided` where draws were given: under which prior is not known."""
        if is_given(self.classifier):
            raise Undecided(f"{GIVEN}, under an unknown prior")

    @property
    def new_rows(self) -> EncodedTable:
        """The rows to be predicted; raises `NotApplicable` without them."""
        if self.new is None:
            raise NotApplicable("no rows to be predicted were given, as in clf.diagnose(X, y, new=X_new)")
        return self.new

    @property
    def frame(self) -> pd.DataFrame:
        """The training table, as single columns; raises `NotApplicable` for sparse tables and text."""
        table = self.training.table
        if isinstance(table, SparseTable):
            raise NotApplicable("the table is sparse: its columns are words or events, most of them absent")
        if self.classifier.columns_[0].kind == "text":
            raise NotApplicable("the table is one column of text")
        return table

    @cached_property
    def posterior(self) -> xr.Dataset:
        """The draws that are kept in memory, (chain, draw, …); raises `NotApplicable` for a point estimate.

        Unlike `posterior_`, it does not compute the point estimates, which may take long.
        """
        if self.classifier.draws_ is None:
            raise NotApplicable(f"a fit by {self.engine} is a point estimate and has no draws")
        return self.classifier.posterior_draws()

    @property
    def statistics(self) -> Statistics | None:
        """Statistics that the engine recorded about its draws, or None."""
        return recorded_statistics(self.classifier)

    @property
    def chains(self) -> tuple[xr.Dataset, Statistics | None]:
        """Draws and statistics of Markov chains; raises `NotApplicable` for draws that are independent."""
        posterior = self.posterior
        if isinstance(self.classifier.inference_, Exact):
            raise NotApplicable("independent draws from the closed-form posterior")
        if not isinstance(self.classifier.inference_, inference.MARKOV_CHAINS):
            raise NotApplicable("independent draws, resampled by their importance weights")
        return posterior, self.statistics

    @property
    def engine(self) -> str:
        """Name of the engine's class."""
        return type(self.classifier.inference_).__name__

    @property
    def sampler(self) -> str:
        """What drew the posterior: the engine, or `convergence.PYMC` where draws were given."""
        return PYMC if is_given(self.classifier) else self.engine

    @property
    def seed(self) -> int:
        """Seed of all random numbers: that of the fit, so that a diagnosis is reproducible."""
        return self.classifier.seed_

    @cached_property
    def _held_out(self) -> tuple[HeldOut, list[BayesClassifier]]:
        """The classifier's answers to held-out rows, and the fits that gave them."""
        return held_out(self.classifier, self.training, self.all_splits)

    @property
    def held_out(self) -> HeldOut:
        """The classifier's answers to held-out rows."""
        return self._held_out[0]

    @property
    def fits(self) -> list[BayesClassifier]:
        """The classifier fitted to the training rows of each split."""
        return self._held_out[1]

    @property
    def too_good(self) -> list[TooGood]:
        """What makes scores of held-out rows too good."""
        table = self.training.table
        return [] if isinstance(table, SparseTable) else too_good(table, self.training.y, self.splits)

    @property
    def held_out_if_made(self) -> HeldOut | None:
        """The answers to held-out rows, if a check needed them."""
        return self.held_out if "_held_out" in vars(self) else None

    @cached_property
    def all_splits(self) -> list[Split]:
        """Rows to fit on and rows to predict, of all repeats."""
        return splits(self.training, self.seed)

    @property
    def splits(self) -> list[Split]:
        """Those of the first repeat."""
        return [self.all_splits[number] for number in runs(self.all_splits)[0]]


def _encoded(classifier: BayesClassifier, X: Any) -> EncodedTable:
    """Check a table, and encode it."""
    return EncodedTable(classifier.frame(X), classifier.rows(X))


@dataclass(frozen=True, eq=False)
class Check:
    """One numbered question about a fitted classifier; its docstring is that of the function that answers it.

    Attributes
    ----------
    code
        Number, such as "M03".
    title
        What is checked.
    applies_to
        The models or posteriors for which the question arises, in words.
    answer
        Returns what was found, or raises `NotApplicable` or `Undecided`.
    """

    code: str
    title: str
    applies_to: str
    answer: Callable[[Context], Answer]

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.answer.__doc__)

    def __call__(self, context: Context) -> Finding:
        """Return what was found, or why there was nothing to look for."""
        try:
            return Finding(self.code, self.title, *self.answer(context))
        except NotApplicable as reason:
            return Finding(self.code, self.title, "not applicable", "none", str(reason))
        except (Undecided, Refused, DoesNotExist) as reason:
            return Finding(self.code, self.title, "undecided", "none", str(reason))


def check(code: str, title: str, applies_to: str) -> Callable[[Callable[[Context], Answer]], Check]:
    """Return the decorator that makes a function the check of this number and title.

    What several checks need is computed once, by the context.
    """
    return lambda answer: Check(code, title, applies_to, answer)
