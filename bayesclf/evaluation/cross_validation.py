"""Repeated stratified cross-validation: its arguments, the split rows, each fold a unit of work, the answers together.

A unit is a classifier fitted on some rows and scored on others, under every rule.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import chain, takewhile
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from bayesclf import rules, workers
from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.inputs import about_unlabeled_rows, labeled_rows, only_labeled, warn_of_order
from bayesclf.classifiers.text import NAME
from bayesclf.constraints import Whole, require
from bayesclf.decisions import Costs, DecisionCosts, decision_costs, gibbs_decision_costs
from bayesclf.display import Sized
from bayesclf.engines import MAP
from bayesclf.errors import ConvergenceWarning, DoesNotExist, InputError, PredictionWarning, Refused
from bayesclf.evaluation import peers, scores
from bayesclf.evaluation.scores import RowScores
from bayesclf.posterior import averaging
from bayesclf.posterior.hypotheses import HypothesisSet, TemperedHypotheses
from bayesclf.progress import Progress, shown
from bayesclf.rules import RULES, Gibbs
from bayesclf.tables import columns
from bayesclf.tables.columns import Rows
from bayesclf.wording import counted, flagged_rows, without_numbers

type Split = tuple[Integers, Integers]
"""Numbers of the training rows and of the test rows."""

GROUPED = (
    "rows of a group stay in one fold; ± assumes independent rows and is too small if rows within a group are similar"
)
"""What is to be remarked on a comparison by groups."""

ALL = "all"
"""What is given for every rule."""

TESTED_ROWS, MOST_REPEATS = 500, 4
"""Rows that all repeats test together, at least, and the most repeats, where their number is not given."""


@dataclass(frozen=True, repr=False)
class Answers(Sized):
    """One classifier under one rule: its scores of every row in every repeat.

    Attributes
    ----------
    scores
        Scores of the rows, one entry per repeat, rows in the order of the table; see `rows_tested`.
    reason
        Why the rule cannot answer; then there are no scores.
    """

    scores: tuple[RowScores, ...]
    reason: str = ""


@dataclass(frozen=True)
class Evaluation:
    """The answers of one classifier to the test rows of one split.

    Attributes
    ----------
    scores
        Scores by rule; for a rule that cannot answer, the reason why.
    seconds
        Time of fitting and of all predictions.
    notes
        What the user should know about this fit, one sentence each.
    problems
        Why the draws of this fit cannot be trusted yet.
    """

    scores: dict[str, RowScores | str]
    seconds: float
    notes: tuple[str, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """What each fit is evaluated for: the rules, None for those of `peers.rules_of`, and what decisions cost."""

    rules: tuple[str, ...] | None
    costs: Costs | None


@dataclass(frozen=True)
class Folds:
    """How the rows are split, as `Comparison` has it, and what is to be remarked on it."""

    splits: tuple[Split, ...]
    cv: int
    repeats: int
    remarks: tuple[str, ...] = ()
    splitter: str = ""

    def first(self, repeats: int) -> Folds:
        """Return the folds of the first repeats."""
        if repeats == self.repeats:
            return self
        return replace(self, splits=self.splits[: repeats * self.cv], repeats=repeats)


def as_table(X: Any) -> pd.DataFrame:
    """Return the table as a DataFrame, texts without columns as one column; refuse sparse ones and infinite numbers."""
    if sparse.issparse(X):
        raise InputError(
            "a comparison needs a dense table, not a sparse one; give X.toarray(), or the texts themselves"
        )
    if (
        pd.api.types.is_list_like(X)
        and getattr(X, "ndim", 1) == 1
        and pd.api.types.infer_dtype(X, skipna=True) == "string"
    ):
        X = pd.DataFrame({NAME: pd.Series(list(X), dtype=object)})
    frame = columns.to_frame(X)
    frame.attrs |= {columns.NOTES: ()}  # what was done to read it is said once, not of each fit
    columns.numbers(frame, tuple(name for name, kind in columns.kinds_of(frame).items() if kind == "number"))
    return frame


def labeled_table(X: Any, y: Any, cv: Any) -> tuple[pd.DataFrame, Any, tuple[str, ...]]:
    """Return the rows that have a label as a DataFrame, their labels, and a sentence about rows that have none.

    Raises
    ------
    InputError
        For rows without a label where `cv` is a list of folds, whose numbers are of all rows.
    """
    warn_of_order(X, y=y)
    frame, found = as_table(X), labeled_rows(y)
    if found is not None and len(found[0]) == len(frame) and isinstance(cv, Sequence):
        raise InputError(f"{about_unlabeled_rows(found[0])}; leave them out, and renumber the folds of cv")
    return only_labeled(frame, y)


def group_codes(groups: Any, y: Any) -> Integers:
    """Return the number of the group of each row that has a label, (row); `y`: Labels of all rows, checked."""
    values, found = np.asarray(groups, dtype=object), labeled_rows(y)
    if values.shape != np.shape(y)[:1]:
        raise InputError(f"groups must have one value for each of {counted(np.shape(y)[0], 'row')}")
    if (missing := pd.isna(values)).any():
        raise InputError(f"groups must name the group of each row, and has none in {flagged_rows(missing)}")
    return np.asarray(pd.factorize(values if found is None else values[found[0]])[0])


def checked_rules(given: Any) -> tuple[str, ...] | None:
    """Return the names of the rules, checked; None if each classifier answers under the rules of `peers.rules_of`."""
    if given is None:
        return None
    if isinstance(given, str) and given == ALL:
        return tuple(RULES)
    if isinstance(given, str):
        raise InputError(f"rules must be a list of names, such as [{given!r}], or {ALL!r}")
    if not isinstance(given, Sequence) or not given:
        raise InputError(f"rules must be a list of names, such as {list(RULES)[:2]}, not {given!r}")
    for rule in given:
        if isinstance(rule, Gibbs):
            raise InputError(f"rules must be names, not {rule!r}; 'gibbs' has the expectation over all its draws")
        if not isinstance(rule, str) or rule not in RULES:
            raise rules.unknown(rule)
    return tuple(given)


def folds_of(
    cv: Any, repeats: int, frame: pd.DataFrame, labels: NDArray[Any], codes: Integers, seed: int, groups: Any = None
) -> Folds:
    """Return stratified folds, in which rows of one group stay together, or the splits that were given."""
    require(Whole(1), repeats=repeats)
    if codes.max(initial=0) < 1:
        raise InputError("the label column has one class only; a comparison needs rows of at least two classes")
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        if groups is not None and len(np.unique(groups)) == cv:  # there are no other folds
            repeats = 1
        splits, remarks = split(codes, int(cv), repeats, seed, groups)
        return Folds(splits, int(cv), repeats, remarks)
    if groups is not None:
        raise InputError("groups go with a number of folds; give cv=5, or splits that keep the groups together")
    if repeats != 1:
        raise InputError(f"repeats={repeats} goes with a number of folds; a splitter itself says how often it repeats")
    splits = given_splits(cv, frame, labels)
    times = repeats_of(splits)
    words = " ".join(str(cv).split()) if hasattr(cv, "split") else "given row by row"
    return Folds(splits, len(splits) // times, times, (), words)


def repeats_for(rows: int) -> int:
    """Return how often folds of so many rows are repeated, where that is not given: the same on all pages of a table.

    Then the choice of the folds adds at most about a quarter of the standard error to a difference between naive Bayes,
    logistic regression and the class shares: on 13 tables of 14 to 768 rows .04 to .26, on sonar up to .54.
    """
    return min(ceil(TESTED_ROWS / rows), MOST_REPEATS)


def split(
    y: Integers, cv: int, repeats: int, seed: int, groups: Any = None
) -> tuple[tuple[Split, ...], tuple[str, ...]]:
    """Return stratified folds, and a remark where a class is too small for them."""
    from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedGroupKFold

    counts = np.bincount(y)
    if cv < 2 or cv > len(y) or repeats < 1:
        raise InputError(f"cv must lie between 2 and the number of rows, {len(y)}, and repeats be at least 1")
    if counts.max() < cv:
        raise InputError(f"cv={cv} needs a class with at least {cv} rows, but the largest has {counts.max()}")
    units, rng = np.arange(len(y)) if groups is None else groups, check_random_state(seed)
    few = min(len(np.unique(units[y == code])) for code in range(len(counts)))
    remarks = () if groups is None else (GROUPED,)
    if few < cv:
        own = counted(few, "row" if groups is None else "group")
        remarks = (f"a class has {own}, fewer than the {cv} folds, so some folds test or train without it", *remarks)
    with warnings.catch_warnings():
        # The remark above says it once, in terms of the user's table.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        if groups is None:
            stratified = RepeatedStratifiedKFold(n_splits=cv, n_repeats=repeats, random_state=seed)
            return tuple(stratified.split(np.zeros(len(y)), y)), remarks
        known, folds = len(np.unique(groups)), StratifiedGroupKFold(cv, shuffle=True, random_state=rng)
        splits = tuple(pair for _ in range(repeats) for pair in folds.split(y, y, groups)) if known >= cv else ()
    if not splits or not all(len(test) for _, test in splits):  # one large group can leave a fold empty
        fewer = min(known, cv - 1)
        remedy = f"use fewer, cv={fewer} (--cv {fewer})" if fewer > 1 else "give groups of at least two values"
        raise InputError(f"the rows of {counted(known, 'group')} do not fill {cv} folds; {remedy}")
    return splits, remarks


def given_splits(cv: Any, X: Any, y: Any) -> tuple[Split, ...]:
    """Return the splits of a scikit-learn splitter, or of an iterable of training and test rows, checked."""
    if isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        raise InputError(f"cv must be a number of folds, a splitter or pairs of training and test rows, not {cv!r}")
    try:
        pairs = cv.split(X, y) if hasattr(cv, "split") else cv
        splits = tuple((_row_numbers(train, len(y)), _row_numbers(test, len(y))) for train, test in pairs)
    except (ValueError, TypeError, IndexError) as reason:
        raise InputError(
            f"cv={cv!r} does not split these rows ({reason}); a splitter that needs more than rows and labels can be "
            "given as its splits, list(splitter.split(X, y, groups))"
        ) from None
    if not splits:
        raise InputError("cv has no splits; give at least one pair of training and test rows")
    for number, (train, test) in enumerate(splits, 1):
        if not train.size or not test.size:
            raise InputError(f"split {number} of cv has no {'test' if train.size else 'training'} rows")
        if np.intersect1d(train, test).size or np.unique(test).size < test.size:
            raise InputError(f"split {number} of cv tests on training rows, or twice on one row; give each row once")
    return splits


def _row_numbers(chosen: Any, rows: int) -> Integers:
    """Return numbers of rows, which may be given as truth values (row)."""
    chosen = np.asarray(chosen)
    return np.asarray(np.arange(rows)[chosen] if chosen.size else [], dtype=np.intp)


def in_turns(codes: Integers, rng: np.random.Generator) -> Integers:
    """Return a random order of rows in which every beginning has the classes nearly in their proportions.

    The i-th of the n rows of a class, in random order, comes at (i + ½)/n of the way.
    """
    shuffled = rng.permutation(len(codes))
    own = codes[shuffled]
    by_class = np.argsort(own, kind="stable")
    counts = np.bincount(own)
    start = np.cumsum(counts) - counts
    place = np.empty(len(own))
    place[by_class] = (np.arange(len(own)) - start[own[by_class]] + 0.5) / counts[own[by_class]]
    return np.asarray(shuffled[np.lexsort((rng.random(len(own)), place))])


def runs(splits: Sequence[Split]) -> tuple[tuple[int, ...], ...]:
    """Return the numbers of the splits in runs that test no row twice: those of one repeat, for folds."""
    found: list[list[int]] = []
    seen = np.empty(0, dtype=np.intp)
    for number, (_, test) in enumerate(splits):
        if not found or np.intersect1d(seen, test).size:
            found.append([])
            seen = np.empty(0, dtype=np.intp)
        found[-1].append(number)
        seen = np.concatenate([seen, test])
    return tuple(map(tuple, found))


def rows_tested(splits: Sequence[Split], runs: Sequence[Sequence[int]]) -> tuple[Integers, ...]:
    """Return the numbers of the rows that each of the `runs` tests, in increasing order."""
    return tuple(np.sort(np.concatenate([splits[number][1] for number in run])) for run in runs)


def repeats_of(splits: Sequence[Split]) -> int:
    """Return how often the splits test the same rows; 1 where they do not test the same rows each time."""
    first, *others = rows_tested(splits, runs(splits))
    return 1 + len(others) if all(np.array_equal(first, other) for other in others) else 1


@dataclass(frozen=True, eq=False)
class Study:
    """Classifiers that are fitted to parts of a table, what each fit is evaluated for, and the fits that are finished.

    Attributes
    ----------
    models
        Unfitted classifiers by name.
    table
        Rows (row, feature), label codes (row) and labels (outcome).
    question, seed, n_jobs, progress
        As of `compare`.
    finished
        Evaluations by model and number of the split; the number −1 has the fit on all rows.
    """

    models: dict[str, Any]
    table: tuple[pd.DataFrame, Integers, NDArray[Any]]
    question: Question
    seed: int
    n_jobs: int = 1
    progress: Progress = None
    finished: dict[tuple[str, int], Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for model in self.models.values():
            peers.rules_of(model, self.question.rules)  # raises for a rule that has no name

    def finish(self, splits: Sequence[Split], late: Callable[[], bool] = bool, whole: bool = True) -> bool:
        """Make the fits that are not finished, until it is late, and return whether all are finished.

        Fits are counted on from those before, so that the progress of further repeats does not begin anew.

        Parameters
        ----------
        splits
            Training and test rows.
        late
            Is asked after each fit; never by default.
        whole
            Whether a fit on all rows is wanted, too.
        """
        numbers = [*range(len(splits)), *([-1] if whole else [])]
        units = [(name, number) for name in self.models for number in numbers if (name, number) not in self.finished]
        tasks = (
            (
                self.models[name],
                self.table,
                splits[number] if number >= 0 else None,
                self.question,
                unit_seed(self.seed, number),
            )
            for name, number in units
        )
        before, total = len(self.finished), len(self.finished) + len(units)
        made = workers.each(unit, tasks, workers.processes(self.n_jobs, len(units)))
        with shown(units[0][0], total, self.progress) as tell, closing(made) as results:
            for done, (own, result) in enumerate(zip(units, results, strict=True), 1):
                self.finished[own] = result
                tell(units[min(done, len(units) - 1)][0], before + done, total)  # the model that runs now
                if late():
                    break
        return len(self.finished) == total


def unit_seed(seed: int, split: int) -> int:
    """Return the seed of the fits of a split, so that neither order nor number of workers changes a number.

    A fit on all rows (−1) has the seed itself, as a fit without a comparison has.
    """
    return seed if split < 0 else int(np.random.SeedSequence([seed, split + 1]).generate_state(1)[0] >> 1)


def unit(
    classifier: Any,
    table: tuple[Any, Integers, Any],
    split: Split | None,
    question: Question,
    seed: int,
) -> Evaluation | tuple[Any, list[str]]:
    """Fit on the training rows of a split and score on its test rows; without a split, fit on all rows."""
    X, y, classes = table
    rows = slice(None) if split is None else split[0]
    names, own = peers.rules_of(classifier, question.rules), isinstance(classifier, BayesClassifier)
    start = time.perf_counter()
    try:
        if own:
            fitted, notes = fit(classifier, X.iloc[rows], classes[y[rows]], classes, seed)
        else:
            fitted, notes = peers.fit(classifier, X.iloc[rows], classes[y[rows]], seed)
        if split is None:
            return fitted, notes
        asked, codes = X.iloc[split[1]], y[split[1]]
        if own:
            answers = evaluate(fitted, asked, codes, names, question.costs)
        else:
            answers = {peers.NO_RULE: scored(peers.log_proba(fitted, asked, classes), codes, question.costs)}
    except Refused as reason:
        if split is None:
            return None, []  # the folds have the reason
        return Evaluation(dict.fromkeys(names, str(reason)), time.perf_counter() - start, (), ())
    problems = fitted.convergence_problems_ if own else ()
    if own:  # how a fold drew tells nothing that its problems do not
        notes = [note for note in notes if note not in fitted._notes_of_draws]  # noqa: SLF001
    return Evaluation(answers, time.perf_counter() - start, tuple(notes), problems)


def scored(log_proba: Array, y: Integers, costs: Costs | None) -> RowScores:
    """Score log P(k | x), (row, outcome), against label codes `y` (row), with costs of the decisions if there are."""
    found = scores.score(log_proba, y)
    return found if costs is None else _with(decision_costs(log_proba, y, costs), found)


def fit(classifier: BayesClassifier, X: Any, y: Any, classes: Any, seed: int) -> tuple[BayesClassifier, list[str]]:
    """Fit a clone; where the engine refuses, find its mode and note it."""
    fitted = clone(classifier).set_params(random_state=seed)
    notes: list[str] = []
    with warnings.catch_warnings():
        # The sentences are in `convergence_problems_`.
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            fitted.fit(X, y, classes=classes)
        except Refused as reason:
            # The point estimate has no posterior, but the other rules still answer.
            fitted.set_params(inference=MAP()).fit(X, y, classes=classes)
            notes.append(f"there is no posterior ({reason}); only plug-in rules are available")
    return fitted, [*notes, *fitted.notes_]


def evaluate(
    classifier: BayesClassifier, X: Any, y: Integers, names: Sequence[str], costs: Costs | None = None
) -> dict[str, RowScores | str]:
    """Score a fitted classifier's answers to rows `X` with label codes `y`, under each rule."""
    return score_rules(classifier.hypotheses, classifier.seed_, classifier.rows(X), y, names, costs)


def score_rules(
    hypotheses: Callable[[str], HypothesisSet],
    seed: int,
    rows: Rows,
    y: Integers,
    names: Sequence[str],
    costs: Costs | None = None,
) -> dict[str, RowScores | str]:
    """Score the answers of one model under each rule; for a rule that cannot answer, return the reason why.

    The average over the posterior is computed once for all rules that need it; costs of `gibbs` need a second pass.

    Parameters
    ----------
    hypotheses
        Returns the hypotheses of a source, ``"mle"``, ``"map"``, ``"mean"`` or ``"posterior"``, or raises
        `DoesNotExist` or `Refused`.
    seed
        Of the Gibbs classifier.
    rows, y
        Encoded rows and their label codes (row).
    names
        Rules.
    costs
        What decisions cost, and the limit beyond which rows are rejected; None to leave these scores out.
    """

    @cache
    def averages() -> averaging.Averages:
        """Return the averages over the posterior, which several rules share."""
        return averaging.average(hypotheses("posterior"), rows)

    def scores_of(name: str) -> RowScores:
        """Return the scores of one rule, row by row."""
        source = hypotheses(RULES[name].source)
        if name == "gibbs":
            found = scores.score_gibbs(rules.log_proba(name, source, rows, seed), averages(), y)
            return found if costs is None else _with(gibbs_decision_costs(source, rows, y, costs), found)
        same = name in ("predictive", "tempered") and not source.generative
        averaged = name == "bayes-optimal" or (same and not isinstance(source, TemperedHypotheses))
        return scored(averages().log_proba if averaged else rules.log_proba(name, source, rows), y, costs)

    answers: dict[str, RowScores | str] = {}
    for name in names:
        try:
            with warnings.catch_warnings():
                # Rows that are impossible under every class show in the scores of their rule.
                warnings.simplefilter("ignore", PredictionWarning)
                answers[name] = scores_of(name)
        except (DoesNotExist, Refused) as reason:
            answers[name] = str(reason)
    return answers


def _with(costs: DecisionCosts, scored: RowScores) -> RowScores:
    """Return the scores with those of the decisions."""
    return replace(scored, cost=costs.cost, rejected=costs.rejected)


def gathered(known: Sequence[str], of_folds: Sequence[Sequence[str]]) -> list[str]:
    """Return the notes of the fit on all rows, then those that only folds have, and how many of them.

    Two notes say the same if they are equal up to the first colon, apart from numbers.

    Examples
    --------
    >>> gathered(["worth: 0.3"], [["worth: 0.4", "column 'a' is constant"], ["worth: 0.2"]])
    ['worth: 0.3', "in 1 of 2 folds, column 'a' is constant"]
    """
    own = list(dict.fromkeys(known))
    first: dict[str, str] = {}
    for note in chain.from_iterable(of_folds):
        first.setdefault(_what(note), note)
    folds = Counter(what for fold in of_folds for what in {_what(note) for note in fold})
    news = {what: note for what, note in first.items() if what not in set(map(_what, own))}
    return [*own, *(f"in {folds[what]} of {len(of_folds)} folds, {note}" for what, note in news.items())]


def _what(note: str) -> str:
    return without_numbers(note.partition(":")[0])


def distrust(problems: list[tuple[str, ...]]) -> str:
    """Return in how many folds the draws cannot be trusted, with the first reason as an example; empty for none."""
    wrong = [reasons for reasons in problems if reasons]
    of = f"in {len(wrong)} of {len(problems)} folds"
    return f"the draws cannot be trusted yet {of}: {wrong[0][0]}" if wrong else ""


def pooled(parts: list[RowScores | str], splits: tuple[Split, ...], runs: Sequence[Sequence[int]]) -> Answers:
    """Return the scores of all rows, one entry per run; a rule that failed in any fold is not scored at all.

    Reasons may differ between folds, as in the columns that they name: what they have in common is told.
    """
    reasons = [part for part in parts if isinstance(part, str)]
    if reasons:
        clauses = zip(*(part.split(": ") for part in reasons), strict=False)
        reason = ": ".join(own[0] for own in takewhile(lambda own: len(set(own)) == 1, clauses)) or reasons[0]
        some = f"in {len(reasons)} of {len(parts)} folds, " if len(reasons) < len(parts) else ""
        return Answers((), f"{some}{reason}")
    scored = [part for part in parts if isinstance(part, RowScores)]
    names = [field.name for field in fields(RowScores) if getattr(scored[0], field.name) is not None]
    repeated = []
    for chosen in runs:
        order = np.argsort(np.concatenate([splits[number][1] for number in chosen]))
        columns = {name: np.concatenate([getattr(scored[i], name) for i in chosen])[order] for name in names}
        repeated.append(RowScores(**columns))
    return Answers(tuple(repeated))
