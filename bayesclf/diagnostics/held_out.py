"""Training rows, and a classifier's answers to rows that it was not fitted on."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from bayesclf import rules
from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.given import is_given
from bayesclf.classifiers.logistic import LogisticRegression
from bayesclf.diagnostics import thresholds
from bayesclf.engines import MAP, NUTS, Augmentation, Exact, Laplace, Slice
from bayesclf.engines.inference import Engine
from bayesclf.errors import ConvergenceWarning, InputError, Refused
from bayesclf.evaluation import cross_validation
from bayesclf.evaluation.judgments import class_shares
from bayesclf.evaluation.scores import RowScores
from bayesclf.tables.columns import Rows, SparseTable, Table, kind_of
from bayesclf.wording import counted

if TYPE_CHECKING:
    import xarray as xr

NO_ROWS = "give the training rows, clf.diagnose(X, y) (--table TABLE)"
"""Message of checks that need the training rows and do not have them."""


class NotApplicable(Exception):
    """The question does not arise for this model or posterior; the message says why."""


class Skipped(Exception):
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


type Split = tuple[Integers, Integers]

EXACT_OR_AUGMENTED: tuple[Engine, ...] = (Exact(draws=125), Augmentation(draws=125))
BY_CHAINS: tuple[Engine, ...] = (
    *(*EXACT_OR_AUGMENTED, Laplace(draws=250)),
    *(Slice(draws=250, chains=2), NUTS(draws=250, tune=250, chains=2), MAP()),
)
"""Engines to try, up to the first that does not refuse: with 500 draws a probability's error is 1/22 of its sd."""

WITHOUT_CHAINS: tuple[Engine, ...] = (*EXACT_OR_AUGMENTED, Laplace(draws=250, limit=np.inf), MAP())
"""Engines to try where chains would take long: normal approximations at any k̂, which is reported if above its limit."""

WIDE = 500
"""Columns of logistic regression from which on a proposal of Laplace takes long."""

FEWER = Laplace(draws=25, limit=np.inf)
"""Laplace for so many columns: a probability's error is 1/10 of its sd, and only means over the rows are looked at."""

COMPARED = ("map", "mean", "bayes-optimal", "predictive", "tempered")
"""Rules that are compared, in addition to the classifier's own."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of rows that were held out of the fits.

    Attributes
    ----------
    own
        Name of the rule that the classifier answers by.
    scores
        Scores of the rows by rule; for a rule that cannot answer, the reason why.
    y
        Label codes (row).
    numbers
        Which rows of the table they are, (row).
    frequencies
        The labels' shares in each row's training rows, with one row more of each, (row, outcome).
    fits
        The fitted classifiers and the rows that each predicted, as positions in `y`.
    setting
        The numbers of training and held-out rows, in words.
    train
        Mean number of rows that the classifiers were fitted on.
    """

    own: str
    scores: dict[str, RowScores | str]
    y: Integers
    numbers: Integers
    frequencies: Array
    fits: tuple[tuple[BayesClassifier, Integers], ...]
    setting: str
    train: float

    def of(self, rule: str) -> RowScores:
        """Return the scores of a rule, or raise `Skipped` with the reason why it has none."""
        found = self.scores[rule]
        if isinstance(found, str):
            raise Skipped(f"the rule {rule!r} could not answer: {found}")
        return found

    @property
    def answered(self) -> dict[str, RowScores]:
        """The scores of the rules that could answer."""
        return {rule: found for rule, found in self.scores.items() if isinstance(found, RowScores)}


def splits(training: Labelled, seed: int = 0) -> list[Split]:
    """Return stratified folds, or for a large table one part to fit on and one held-out part to predict.

    The folds are the first ones of a comparison with the same seed, so that its page and a classifier's agree.
    """
    counts = np.bincount(training.y)
    per_row = _numbers_per_row(training) * len(training.classes)
    if len(training) * per_row > thresholds.CELLS:
        order = np.random.default_rng(seed).permutation(len(training))
        tested = min(thresholds.TEST_ROWS, len(order) // thresholds.FOLDS)
        fitted = max(tested, int(thresholds.CELLS // per_row))
        return [(np.sort(order[tested:][:fitted]), np.sort(order[:tested]))]
    if counts.max() < 2:
        raise Skipped("no class has two rows, so none can be held out; more rows are needed")
    folds = StratifiedKFold(min(thresholds.FOLDS, int(counts.max())), shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # A class with fewer rows than folds is a finding of its own.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        return list(folds.split(np.zeros(len(training)), training.y))


def _numbers_per_row(training: Labelled) -> float:
    """Return about how many numbers the model uses per row: its numbers, the levels of its categories, its words."""
    table = training.table
    if isinstance(table, SparseTable):
        return float(table.cells.nnz) / max(len(table), 1)
    if not training.rows.parts or any(not isinstance(part, np.ndarray) for part in training.rows.parts):
        return float(np.mean([len(str(text).split()) for text in table.iloc[:, 0]]))
    return float(sum(1 if kind_of(table[name]) == "number" else table[name].nunique() for name in table))


def held_out(classifier: BayesClassifier, training: Labelled, parts: list[Split], seed: int) -> HeldOut:
    """For each split, fit a classifier on one part of the rows and score its answers to the others."""
    own = rules.resolve(classifier.requested_rule(None))[0].name
    names = tuple(dict.fromkeys((*COMPARED, own)))
    fits = [_fitted(classifier, training[train], seed + index) for index, (train, _) in enumerate(parts)]
    answers = [_answers(fit, training[test], names) for fit, (_, test) in zip(fits, parts, strict=True)]
    shares = [class_shares(training.y[train], len(training.classes)) for train, _ in parts]
    sizes = [len(test) for _, test in parts]
    numbers = np.concatenate([test for _, test in parts])
    return HeldOut(
        own,
        {name: _joined([answer[name] for answer in answers]) for name in names},
        training.y[numbers],
        numbers,
        np.repeat(shares, sizes, axis=0),
        tuple(zip(fits, np.split(np.arange(len(numbers)), np.cumsum(sizes)[:-1]), strict=True)),
        _setting(parts, len(training)) + _labeled_only(classifier) + _own_prior(classifier) + _approximation(fits),
        float(np.mean([len(train) for train, _ in parts])),
    )


def _fitted(classifier: BayesClassifier, training: Labelled, seed: int) -> BayesClassifier:
    """Fit a clone by the first engine that does not refuse."""
    reason = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the draws are used only for predictions
        for engine in _engines(classifier, training):
            fitted: BayesClassifier = clone(classifier).set_params(inference=engine, random_state=seed)
            try:
                return fitted.fit(training.X, training.labels, classes=training.classes)
            except Refused as error:
                reason = str(error)
            except InputError as error:  # a setting per column, where a part of the rows lacks the column
                reason = str(error)
                break
    raise Skipped(f"the model cannot be fitted on a part of the rows: {reason}")


def _engines(classifier: BayesClassifier, training: Labelled) -> tuple[Engine, ...]:
    """Return the engines to try, by what they would take."""
    if not isinstance(classifier, LogisticRegression):
        return BY_CHAINS
    labels = len(training.classes)
    work = classifier.work(training.X, labels)
    chains = work <= thresholds.NUTS_CELLS
    wide = max(training.X.shape[1], work // (len(training) * max(labels - 1, 1))) >= WIDE
    if wide and not chains:
        return FEWER, MAP()
    engines = BY_CHAINS if chains else WITHOUT_CHAINS
    # The others would only prepare the rows and then refuse.
    return tuple(engine for engine in engines if not isinstance(engine, Exact | Augmentation))


def _answers(fitted: BayesClassifier, test: Labelled, names: tuple[str, ...]) -> dict[str, RowScores | str]:
    """Score the rules; draws too large to keep in memory are not averaged over, but the closed form is."""
    asked = list(names)
    reasons: dict[str, RowScores | str] = {}
    if not isinstance(fitted.inference_, MAP) and fitted.hypotheses("posterior").in_parts:
        asked = [name for name in names if name not in ("bayes-optimal", "gibbs")]
        reasons = dict.fromkeys(names, "the draws of this posterior are too large to keep in memory, and not averaged")
    return {**reasons, **cross_validation.evaluate(fitted, test.X, test.y, asked)}


def _joined(parts: list[RowScores | str]) -> RowScores | str:
    """Return the scores of all rows; a rule that failed in any part is not scored at all."""
    scored = [part for part in parts if isinstance(part, RowScores)]
    if len(scored) < len(parts):
        return next(part for part in parts if isinstance(part, str))
    names = ("log_proba", "error", "log_loss", "brier")
    return RowScores(*(np.concatenate([getattr(part, name) for part in scored]) for name in names))


def recorded_statistics(classifier: BayesClassifier) -> xr.Dataset | None:
    """Return what the engine recorded about its draws; None for a point estimate and for plain independent draws."""
    return None if classifier.draws_ is None else classifier.draws_.stats


def _approximation(fits: list[BayesClassifier]) -> str:
    """Return the worst k̂ of normal approximations beyond the limit, as a clause."""
    recorded = [recorded_statistics(fit) for fit in fits if isinstance(fit.inference_, Laplace)]
    worst = max((float(stats["pareto_k"]) for stats in recorded if stats is not None), default=-np.inf)
    return f", by a normal approximation with k̂ up to {worst:.2f}" if worst > thresholds.MAX_KHAT else ""


def _setting(parts: list[Split], rows: int) -> str:
    if len(parts) > 1:
        return f"{len(parts)}-fold cross-validation of {rows:,} rows"
    train, test = parts[0]
    return f"fitted on {len(train):,} and held out {len(test):,} of {rows:,} rows"


def _labeled_only(classifier: BayesClassifier) -> str:
    """Say that rows without a label, which a fit does not keep, took no part."""
    count = getattr(getattr(classifier, "model_", None), "unlabeled", 0)
    return f", by fits that did not learn from the {counted(count, 'row')} without a label" if count else ""


def _own_prior(classifier: BayesClassifier) -> str:
    """Say that the fits are not by whatever gave the draws of a posterior."""
    return ", by fits under the classifier's own prior rather than by the given draws" if is_given(classifier) else ""
