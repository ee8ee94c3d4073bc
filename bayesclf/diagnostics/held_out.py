"""Training rows, and a classifier's answers to rows that it was not fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bayesclf import rules
from bayesclf.arrays import Integers, Statistics
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.given import is_given
from bayesclf.diagnostics import thresholds
from bayesclf.engines import MAP, NUTS, Slice
from bayesclf.engines.inference import Engine
from bayesclf.errors import InputError, Refused
from bayesclf.evaluation import cross_validation, score_table
from bayesclf.evaluation.cross_validation import Answers, Split
from bayesclf.evaluation.score_table import Key
from bayesclf.evaluation.scores import RowScores
from bayesclf.tables.columns import Rows, SparseTable, Table
from bayesclf.wording import counted

NO_ROWS = "give the training rows, clf.diagnose(X, y) (--table TABLE)"
"""Message of checks that need the training rows and do not have them."""


class NotApplicable(Exception):
    """The question does not arise for this model or posterior; the message says why."""


class Undecided(Exception):
    """The question cannot be answered because something is missing; the message says what."""


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """A table and its encoding."""

    table: Table
    rows: Rows

    def __len__(self) -> int:
        return len(self.table)


@dataclass(frozen=True, eq=False)
class Labelled(EncodedTable):
    """Training rows with their labels."""

    y: Integers
    classes: NDArray[Any]

    def __getitem__(self, some: Integers) -> Labelled:
        if isinstance(self.table, SparseTable):
            table: Table = SparseTable(self.table.cells[some], self.table.columns)
        else:
            table = self.table.iloc[some]
        return Labelled(table, self.rows[some], self.y[some], self.classes)

    @property
    def labels(self) -> NDArray[Any]:
        """The labels themselves (row)."""
        return np.asarray(self.classes[self.y])

    @property
    def X(self) -> Any:  # noqa: N802
        """What a classifier takes: the table, or the cells of a sparse one."""
        return self.table.cells if isinstance(self.table, SparseTable) else self.table


COMPARED = ("map", "mean", "bayes-optimal", "predictive", "tempered")
"""Rules that are compared, in addition to the classifier's own."""


@dataclass(frozen=True, eq=False)
class HeldOut(score_table.HeldOut):
    """A classifier's answers to rows that were held out of its fits, as a comparison has those of several.

    Attributes
    ----------
    own
        Name of the rule that the classifier answers by.
    answers
        Scores of the rows by rule, as of a model without a name.
    y
        Label codes of all rows (row).
    splits
        Training and test rows, one pair per fit.
    seed
        Of simulated labels.
    setting
        The numbers of training and held-out rows, in words.
    repeats
        How often the folds were repeated.
    """

    own: str
    answers: dict[Key, Answers]
    y: Integers
    splits: tuple[Split, ...]
    seed: int
    setting: str
    repeats: int = 1
    costs: None = None

    @property
    def best(self) -> Key:
        """The entry of the classifier's own rule, or of the first that could answer."""
        return "", self.own if self.own in self.answered else next(iter(self.answered), self.own)

    @property
    def labels(self) -> Integers:
        """Label codes of the rows that were held out in the first repeat, (row)."""
        return self.y[self.tested[0]]

    def require_own(self) -> None:
        """Raise `Undecided` with the reason where the classifier's own rule could not answer."""
        if reason := self.answers["", self.own].reason:
            raise Undecided(f"the rule {self.own!r} could not answer: {reason}")

    @property
    def answered(self) -> dict[str, RowScores]:
        """The scores, of the first repeat, of the rules that could answer."""
        return {rule: self.answers["", rule].scores[0] for rule in self.rules_of("")}


def splits(training: Labelled, seed: int) -> list[Split]:
    """Return the folds of a comparison under the same seed, or of a large table one part to fit on and one to test."""
    counts = np.bincount(training.y)
    per_row = sum(part.size for part in training.rows.parts) / len(training) * len(training.classes)
    if len(training) * per_row > thresholds.CELLS:
        order = np.random.default_rng(seed).permutation(len(training))
        tested = min(thresholds.TEST_ROWS, len(order) // thresholds.FOLDS)
        fitted = max(tested, int(thresholds.CELLS // per_row))
        return [(np.sort(order[tested:][:fitted]), np.sort(order[:tested]))]
    if counts.max() < 2:
        raise Undecided("no class has two rows, so none can be held out; more rows are needed")
    cv = min(thresholds.FOLDS, int(counts.max()))
    return list(cross_validation.split(training.y, cv, cross_validation.repeats_for(len(training)), seed)[0])


def held_out(
    classifier: BayesClassifier, training: Labelled, splits: list[Split]
) -> tuple[HeldOut, list[BayesClassifier]]:
    """For each split, fit a classifier on one part of the rows and score its answers to the others; return both.

    Folds are not repeated where a fit takes long: by NUTS, or by chains of slices that had to be shortened.
    """
    own, seed = rules.resolve(classifier.requested_rule(None))[0].name, classifier.seed_
    names = tuple(dict.fromkeys((*COMPARED, own)))
    fits: list[BayesClassifier] = []
    scored: list[dict[str, RowScores | str]] = []
    once = len(cross_validation.runs(splits)[0])
    for number, (train, test) in enumerate(splits):
        if number == once and _takes_long(fits[0].inference_):
            splits = splits[:once]
            break
        fits.append(_fitted(classifier, training[train], cross_validation.unit_seed(seed, number)))
        scored.append(_answers(fits[-1], training[test], names))
    runs = cross_validation.runs(splits)
    answers = {
        ("", name): cross_validation.pooled([one[name] for one in scored], tuple(splits), runs) for name in names
    }
    setting = _setting(splits, len(runs), len(training)) + _labeled_only(classifier) + _own_prior(classifier)
    return HeldOut(own, answers, training.y, tuple(splits), seed, setting, len(runs)), fits


def _takes_long(engine: Engine) -> bool:
    return isinstance(engine, NUTS) or (isinstance(engine, Slice) and engine.draws < Slice.draws)


def _fitted(classifier: BayesClassifier, training: Labelled, seed: int) -> BayesClassifier:
    """Fit a clone as a comparison does."""
    asked = clone(classifier).set_params(inference="auto")
    try:
        return cross_validation.fit(asked, training.X, training.labels, training.classes, seed)[0]
    except (Refused, InputError) as error:  # also of a setting per column, where a part of the rows lacks the column
        raise Undecided(f"the model cannot be fitted on a part of the rows: {error}") from None


def _answers(fitted: BayesClassifier, test: Labelled, names: tuple[str, ...]) -> dict[str, RowScores | str]:
    """Score the rules; draws too large to keep in memory are not averaged over, but the closed form is."""
    asked = list(names)
    reasons: dict[str, RowScores | str] = {}
    if not isinstance(fitted.inference_, MAP) and fitted.hypotheses("posterior").in_parts:
        asked = [name for name in names if name not in ("bayes-optimal", "gibbs")]
        reasons = dict.fromkeys(names, "the draws of this posterior are too large to keep in memory and to average")
    return {**reasons, **cross_validation.evaluate(fitted, test.X, test.y, asked)}


def recorded_statistics(classifier: BayesClassifier) -> Statistics | None:
    """Return what the engine recorded about its draws; None for a point estimate and for plain independent draws."""
    return None if classifier.draws_ is None else classifier.draws_.stats


def _setting(splits: list[Split], repeats: int, rows: int) -> str:
    if len(splits) > 1:
        times = f"{repeats} times" if repeats > 1 else "one"
        return f"{times} {len(splits) // repeats}-fold cross-validation of {rows:,} rows"
    train, test = splits[0]
    return f"fitted on {len(train):,} and held out {len(test):,} of {rows:,} rows"


def _labeled_only(classifier: BayesClassifier) -> str:
    """Say that rows without a label, which a fit does not keep, took no part."""
    count = getattr(getattr(classifier, "model_", None), "unlabeled", 0)
    return f", by fits that did not learn from the {counted(count, 'row')} without a label" if count else ""


def _own_prior(classifier: BayesClassifier) -> str:
    """Say that the fits are not by whatever gave the draws of a posterior."""
    return ", by fits under the classifier's own prior rather than by the given draws" if is_given(classifier) else ""
