"""A classifier's answers to rows that it was not fitted on, under every rule."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from bayesclf import evaluation, rules
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.logistic import LogisticRegression
from bayesclf.columns import SparseTable, kind_of
from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.check import Skipped
from bayesclf.diagnostics.labelled import Labelled
from bayesclf.errors import ConvergenceWarning, InputError, Refused
from bayesclf.inference import MAP, NUTS, Engine, Exact, Laplace
from bayesclf.scores import RowScores
from bayesclf.typing import Array, Integers

type Split = tuple[Integers, Integers]

BY_CHAINS: tuple[Engine, ...] = (Exact(draws=125), Laplace(draws=250), NUTS(draws=250, tune=250, chains=2), MAP())
"""Engines of the fits, the first that does not refuse: 500 draws put a probability's error at 1/22 of its sd."""

WITHOUT_CHAINS: tuple[Engine, ...] = (Exact(draws=125), Laplace(draws=250, limit=np.inf), MAP())
"""The same where chains would take long: normal approximations whatever their k̂, which is said if above its limit."""

COMPARED = ("map", "mean", "bayes-optimal", "predictive")
"""Rules that are asked, beside the classifier's own."""

TOO_FEW = "no class has two rows, so that none can be held out; more rows are needed"


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of rows that were held out of the fits.

    Attributes
    ----------
    own
        Name of the rule that the classifier answers by.
    scores
        Scores of the rows by rule; a rule that cannot answer has its reason instead.
    y
        Label codes (row).
    numbers
        Which rows of the table they are, (row).
    frequencies
        The labels' shares in each row's training rows, (row, outcome).
    fits
        The fitted classifiers and the rows that each was asked, as positions in `y`.
    setting
        How many rows were fitted and held out, in words.
    """

    own: str
    scores: dict[str, RowScores | str]
    y: Integers
    numbers: Integers
    frequencies: Array
    fits: tuple[tuple[BayesClassifier, Integers], ...]
    setting: str

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


def splits(classifier: BayesClassifier, training: Labelled, seed: int) -> list[Split]:
    """Return stratified folds, or for a large table one part of it to fit on and another, held out, to predict.

    Parameters
    ----------
    classifier
        Whose fit the work is about.
    training
        All rows.
    seed
        Of the shuffle.
    """
    from sklearn.model_selection import StratifiedKFold

    counts = np.bincount(training.y)
    per_row = _cells_of_a_row(training) * len(classifier.classes_)
    if len(training) * per_row > thresholds.CELLS:
        order = np.random.default_rng(seed).permutation(len(training))
        tested = min(thresholds.TEST_ROWS, len(order) // thresholds.FOLDS)
        fitted = max(tested, int(thresholds.CELLS // per_row))
        return [(np.sort(order[tested:][:fitted]), np.sort(order[:tested]))]
    if counts.max() < 2:
        raise Skipped(TOO_FEW)
    folds = StratifiedKFold(min(thresholds.FOLDS, int(counts.max())), shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # A class with fewer rows than folds is a finding of its own.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        return list(folds.split(np.zeros(len(training)), training.y))


def _cells_of_a_row(training: Labelled) -> float:
    """Return about how many numbers the model of one row needs: its numbers, the levels of its words, its words."""
    table = training.table
    if isinstance(table, SparseTable):
        return float(table.cells.nnz) / max(len(table), 1)
    if not training.rows.parts or any(not isinstance(part, np.ndarray) for part in training.rows.parts):
        return float(np.mean([len(str(text).split()) for text in table.iloc[:, 0]]))
    return float(sum(1 if kind_of(table[name]) == "number" else table[name].nunique() for name in table))


def held_out(
    classifier: BayesClassifier,
    training: Labelled,
    parts: list[Split],
    seed: int,
    by_chains: bool = True,
) -> HeldOut:
    """Fit a classifier on a part of the rows and ask it the others, for each split.

    Parameters
    ----------
    classifier
        Fitted or not; its settings count, but for the engine: the posterior is the same by whatever engine.
    training
        Rows.
    parts
        Row numbers to fit on and to predict.
    seed
        Of the fits.
    by_chains
        Whether NUTS may be used, within `NUTS_CELLS`.
    """
    own = rules.resolve(_own_rule(classifier))[0].name
    names = tuple(dict.fromkeys((*COMPARED, own)))
    answers: list[dict[str, RowScores | str]] = []
    fits, frequencies, start = [], [], 0
    for index, (train, test) in enumerate(parts):
        fitted = _fitted(classifier, training[train], by_chains, seed + index)
        answers.append(_answers(fitted, training[test], names))
        fits.append((fitted, np.arange(start, start + len(test))))
        start += len(test)
        counts = np.bincount(training.y[train], minlength=len(training.classes))
        frequencies.append(np.broadcast_to(counts / counts.sum(), (len(test), len(counts))))
    numbers = np.concatenate([test for _, test in parts])
    return HeldOut(
        own,
        {name: _joined([answer[name] for answer in answers]) for name in names},
        training.y[numbers],
        numbers,
        np.concatenate(frequencies),
        tuple(fits),
        _setting(parts, len(training)) + _approximation([fit for fit, _ in fits]),
    )


def _own_rule(classifier: BayesClassifier) -> Any:
    """Return the rule that a fitted classifier answers by, or an unfitted one would."""
    if hasattr(classifier, "classes_"):
        return classifier._rule(None)
    return classifier.rule if classifier.rule is not None else "bayes-optimal"


def _fitted(classifier: BayesClassifier, training: Labelled, by_chains: bool, seed: int) -> BayesClassifier:
    """Fit a clone by the first engine that does not refuse."""
    reason = ""
    work = classifier.work(training.X, len(training.classes)) if isinstance(classifier, LogisticRegression) else 0
    engines = BY_CHAINS if by_chains and work <= thresholds.NUTS_CELLS else WITHOUT_CHAINS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of draws that only serve predictions
        for engine in engines:
            fitted: BayesClassifier = clone(classifier).set_params(inference=engine, random_state=seed)
            try:
                fitted.fit(training.X, training.labels, classes=training.classes)
            except Refused as error:
                reason = str(error)
                continue
            except InputError as error:  # a setting by column, where a part of the rows lacks one
                reason = str(error)
                break
            return fitted
    raise Skipped(f"the model cannot be fitted on a part of the rows: {reason}")


def _answers(fitted: BayesClassifier, test: Labelled, names: tuple[str, ...]) -> dict[str, RowScores | str]:
    """Score the rules; draws too large to hold are not averaged over, but the closed form is."""
    asked = list(names)
    reasons: dict[str, RowScores | str] = {}
    if not isinstance(fitted.inference_, MAP) and fitted.hypotheses("posterior").in_parts:
        asked = [name for name in names if name not in ("bayes-optimal", "gibbs")]
        reasons = dict.fromkeys(names, "the draws of this posterior are too large to hold, and to average over here")
    return {**reasons, **evaluation.evaluate(fitted, test.X, test.y, asked)}


def _joined(parts: list[RowScores | str]) -> RowScores | str:
    """Return the scores of all rows; a rule that failed in any part is not scored at all."""
    scored = [part for part in parts if isinstance(part, RowScores)]
    if len(scored) < len(parts):
        return next(part for part in parts if isinstance(part, str))
    fields = ("log_proba", "error", "log_loss", "brier")
    return RowScores(*(np.concatenate([getattr(part, name) for part in scored]) for name in fields))


def _approximation(fits: list[BayesClassifier]) -> str:
    """Say how far normal approximations were taken beyond their limit."""
    drawn = [fit._draws for fit in fits if isinstance(fit.inference_, Laplace)]
    approximate = [draws.stats for draws in drawn if draws is not None and draws.stats is not None]
    worst = max((float(stats["pareto_k"]) for stats in approximate), default=-np.inf)
    return f", by a normal approximation with k̂ up to {worst:.2f}" if worst > thresholds.MAX_KHAT else ""


def _setting(parts: list[Split], rows: int) -> str:
    if len(parts) > 1:
        return f"{len(parts)}-fold cross-validation of {rows:,} rows"
    train, test = parts[0]
    return f"fitted on {len(train):,} and held out {len(test):,} of {rows:,} rows"
