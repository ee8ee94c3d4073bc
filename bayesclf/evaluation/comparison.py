"""Comparing classifiers and rules over repeated stratified cross-validation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from bayesclf import decisions
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.text import NAME
from bayesclf.classifiers.training import checked_labels, seed_of
from bayesclf.constraints import Whole, require
from bayesclf.decisions import Costs
from bayesclf.display import Display, Displayed
from bayesclf.errors import InputError, Refused
from bayesclf.evaluation import cross_validation, peers, scores, selective
from bayesclf.evaluation.cross_validation import Answers, Evaluation, Question, Split
from bayesclf.evaluation.scores import RowScores
from bayesclf.progress import Progress, shown
from bayesclf.rules import RULES
from bayesclf.tables import columns
from bayesclf.typing import Array, Integers
from bayesclf.workers import require_jobs

type Key = tuple[str, str]
"""A model and a rule."""


@dataclass(frozen=True, repr=False)
class Comparison(Displayed):
    """Classifiers × rules on one table.

    Attributes
    ----------
    answers
        Scores by (model, rule); the rule of a classifier of scikit-learn, which has none, is "—".
    fits
        Each classifier fitted on all rows, for its posterior; one that cannot be fitted is left out.
    X, y, classes
        The table (row, feature), label codes (row) and labels (outcome).
    splits
        Training and test rows, one pair per fold, the folds of a repeat together.
    cv, repeats, seed
        How the rows were split: folds, repeats, and the seed of everything.
    seconds
        Mean time of a fold, by model.
    notes
        What the user should know about the fits, each sentence once, by model.
    costs
        What decisions cost, and the limit beyond which rows are rejected; None if neither was given.
    peers
        Classifiers of scikit-learn fitted on all rows, like `fits`.
    splitter
        The splitter in words, where it was not a number of folds.
    """

    answers: dict[tuple[str, str], Answers]
    fits: dict[str, BayesClassifier]
    X: pd.DataFrame
    y: Integers
    classes: NDArray[Any]
    splits: tuple[Split, ...]
    cv: int
    repeats: int
    seed: int
    seconds: dict[str, float]
    notes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    costs: Costs | None = None
    peers: dict[str, Any] = field(default_factory=dict)
    splitter: str = ""

    @cached_property
    def tested(self) -> tuple[Integers, ...]:
        """The numbers of the rows that each entry of `Answers.scores` is about; all rows, if cv was a number."""
        return cross_validation.tested(self.splits, self.runs)

    @cached_property
    def runs(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the splits that make up each entry of `Answers.scores`: the folds of one repeat."""
        return cross_validation.runs(self.splits)

    @property
    def table(self) -> pd.DataFrame:
        """One row per model and rule, in the order given.

        Columns: `accuracy`, `log_loss`, `brier`, each with its Nadeau–Bengio standard error (`_se`); for `gibbs` they
        are expectations over the posterior. `log_loss_infinite`: rows whose true class had probability 0 in some
        repeat, and `log_loss_finite`, the mean over the others. `calibration_error` with a bootstrap interval.
        `error_ratio`: the expected Gibbs error over the Bayes-optimal error, NaN where that is 0. `disagreement`: share
        of the rows that are decided differently from Bayes-optimal. `…_diff`, `…_diff_se`: the
        difference from the row with the best log loss, paired by fold.

        With `cost` or `reject`: `cost`, the mean cost of the decisions, a rejected row costing `reject`, which is the
        price for which Chow's rule is optimal; and `rejected`, the share of rows without a class. For `gibbs` both are
        expectations over the drawn hypothesis, which decides by its own probabilities. The other columns
        describe the probabilities and the most probable class, whatever the costs.
        """
        return score_table(self)

    @property
    def best(self) -> tuple[str, str]:
        """The model and rule with the smallest mean log loss, the first of those that tie."""
        found = {key: mean(self, key, "log_loss") for key, answer in self.answers.items() if not answer.reason}
        if not found:
            raise Refused("no rule could answer under any model; the column `reason` of `table` says why")
        return min(found, key=lambda key: found[key])

    @property
    def predictions(self) -> pd.DataFrame:
        """One line per model, rule, repeat and row: true label, most probable label and P(k | x) of each label.

        With `cost` or `reject` also `decided`: the label of the smallest expected cost, missing where it is too large.
        """
        frames = []
        for (model, rule), answer in self.answers.items():
            for repeat, part in enumerate(answer.scores):
                proba = pd.DataFrame(np.exp(part.log_proba), columns=[f"P({label})" for label in self.classes])
                predicted = self.classes[part.log_proba.argmax(axis=1)]
                rows = self.tested[repeat]
                frame = pd.DataFrame({"model": model, "rule": rule, "repeat": repeat, "row": rows})
                frame = frame.assign(label=self.classes[self.y[rows]], predicted=predicted)
                if self.costs is not None:
                    frame["decided"] = decisions.named(self.costs.decide(part.log_proba), self.classes)
                frames.append(pd.concat([frame, proba], axis=1))
        return pd.concat(frames, ignore_index=True)

    @property
    def disagreements(self) -> pd.DataFrame:
        """The rows, of the first repeat, on which the rules of one model decide differently: one column per rule."""
        frames = []
        for model in self.models:
            decided = {
                rule: self.answers[model, rule].scores[0].log_proba.argmax(axis=1) for rule in self.rules_of(model)
            }
            if len(decided) < 2:
                continue
            codes = np.column_stack(list(decided.values()))
            differ = np.flatnonzero((codes != codes[:, :1]).any(axis=1))
            rows = self.tested[0][differ]
            frame = pd.DataFrame({"model": model, "row": rows, "label": self.classes[self.y[rows]]})
            frames.append(frame.assign(**{rule: self.classes[code[differ]] for rule, code in decided.items()}))
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=["model", "row", "label"])

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models, in the order given."""
        return tuple(dict.fromkeys(model for model, _ in self.answers))

    def rules_of(self, model: str) -> tuple[str, ...]:
        """Return the rules under which this model could answer."""
        return tuple(rule for (name, rule), answer in self.answers.items() if name == model and not answer.reason)

    def stacked(self, model: str, rule: str) -> tuple[Array, Integers]:
        """Return log P(k | x) of all repeats, concatenated, (row, outcome), and the label codes (row)."""
        parts = self.answers[model, rule].scores
        return np.concatenate([part.log_proba for part in parts]), self.y[np.concatenate(self.tested)]

    def coverage_curve(self, model: str, rule: str, cost: Any = None) -> pd.DataFrame:
        """Return how good the remaining decisions are when those of large expected cost are rejected.

        Parameters
        ----------
        model, rule
            A row of the table. For `gibbs` it is the curve of the drawn hypotheses, one per row.
        cost
            Costs ``cost[true, predicted]``, (outcome, outcome); by default those of the comparison, or 0-1 loss.

        Returns
        -------
        DataFrame
            One row per threshold on the expected cost: `coverage`, the share of rows kept, and for these `accuracy` and
            mean `cost`, each with its Nadeau–Bengio standard error over the folds, such as `coverage_se`. The area
            under the curve is that of `bayesclf.evaluation.selective.coverage_curve`, given `stacked`.

        Raises
        ------
        InputError
            For a model and rule that the comparison does not have, or a cost matrix that cannot be used.
        Refused
            For a rule that could not answer; the message says why.
        """
        answer = self.answers.get((model, rule))
        if answer is None:
            lines = ", ".join(" ".join(key) for key in self.answers)
            raise InputError(f"the comparison has no row {model} {rule}; its rows are {lines}")
        if answer.reason:
            raise Refused(f"{model} has no answers under the rule {rule}: {answer.reason}")
        if cost is None and self.costs is not None:
            cost = self.costs.matrix
        folds = [(part.log_proba[places], self.y[test]) for part, places, test in _tested(self, (model, rule))]
        train = int(np.mean([len(train) for train, _ in self.splits]))
        return selective.cross_validated_curve(folds, train, cost)

    def report(self, path: Any, progress: Progress = None) -> None:
        """Write the self-contained HTML report; `progress` is that of `compare`."""
        from bayesclf.report import write_comparison

        write_comparison(self, path, progress=progress)

    def _display(self) -> Display:
        from bayesclf.report.overview import overview

        return overview(self)

    def plot_reliability(self, model: str, **arguments: Any) -> Any:
        """Plot reliability curves of a model, one per rule; returns a matplotlib figure."""
        from bayesclf.plots import reliability

        return reliability(self, model, **arguments)

    def plot_scores(self, metric: str = "log_loss", **arguments: Any) -> Any:
        """Plot a score of every model under every rule; see `bayesclf.plots.rule_scores`."""
        from bayesclf.plots import rule_scores

        return rule_scores(self, metric, **arguments)

    def plot_confusion(self, model: str, **arguments: Any) -> Any:
        """Plot confusion matrices of a model, one per rule; see `bayesclf.plots.confusion`."""
        from bayesclf.plots import confusion

        return confusion(self, model, **arguments)

    def plot_coverage(self, model: str, **arguments: Any) -> Any:
        """Plot accuracy against the share of rows kept; see `bayesclf.plots.coverage_curve`."""
        from bayesclf.plots import coverage_curve

        return coverage_curve(self, model, **arguments)

    def plot_disagreement(self, model: str, **arguments: Any) -> Any:
        """Plot how often two rules of a model decide differently; see `bayesclf.plots.disagreement`."""
        from bayesclf.plots import disagreement

        return disagreement(self, model, **arguments)


def compare(
    models: Mapping[str, Any] | Sequence[Any] | Any,
    X: Any,
    y: Any,
    rules: Sequence[str] = tuple(RULES),
    cv: Any = 5,
    repeats: int = 1,
    random_state: Any = 0,
    n_jobs: int = 1,
    progress: Progress = None,
    cost: Any = None,
    reject: float | None = None,
) -> Comparison:
    """Compare classifiers and rules on the same rows and folds.

    Parameters
    ----------
    models
        Unfitted classifiers by name; or a list of them, or one alone, named after their classes. Classifiers and
        pipelines of scikit-learn, or of other libraries that follow it, take part as they are, without rules, if
        they have `predict_proba`: each is one line, whose rule is "—".
    X
        Table (row, feature), dense; or texts (row), as a list, array or Series.
    y
        Labels (row).
    rules
        Names of rules, of `bayesclf.rules.RULES`.
    cv
        Folds, stratified by label; or a splitter of scikit-learn; or pairs of training and test rows, each as row
        numbers from 0 or truth values (row).
    repeats
        How often the cross-validation is repeated with other folds, if `cv` is a number.
    random_state
        Seed of everything; the numbers do not depend on `n_jobs`. None draws one, which `Comparison.seed` tells.
    n_jobs
        Number of parallel processes.
    progress
        Whether to show progress; or a function that is called with a model's name, units done and units in all, after
        each unit. None shows it in a notebook, and where stderr is a terminal.
    cost
        Costs ``cost[true, predicted]``, (outcome, outcome), in the order of the sorted labels; 0-1 loss by default.
    reject
        Largest acceptable expected cost: rows beyond it are rejected. With either of `cost` and `reject`, the table
        also says what the decisions cost.

    Returns
    -------
    Comparison
        Scores, predictions and fits.

    Raises
    ------
    InputError
        For classifiers, a table or options that cannot be used.

    Examples
    --------
    >>> import bayesclf as bc
    >>> from sklearn.dummy import DummyClassifier
    >>> X, y = [[0.1], [0.4], [0.5], [0.9], [1.1], [1.6]], [0, 0, 0, 1, 1, 1]
    >>> found = bc.compare([bc.GaussianNB(), DummyClassifier()], X, y, rules=["predictive"], cv=3)
    >>> found.table[["model", "rule", "accuracy"]].round(2)
                 model        rule  accuracy
    0              gnb  predictive      0.83
    1  DummyClassifier           —      0.50
    """
    models = peers.named(models)
    check_rules(rules)
    seed = seed_of(random_state)
    require_jobs(n_jobs=n_jobs)
    frame = as_table(X)
    labels = checked_labels(y, len(frame))
    classes, codes = np.unique(labels, return_inverse=True)
    costs = None if cost is None and reject is None else Costs.checked(len(classes), cost, reject)
    folds = folds_of(cv, repeats, frame, labels, codes, seed)
    units = [(name, index) for name in models for index in range(len(folds.splits))] + [(name, -1) for name in models]
    finished: dict[tuple[str, int], Any] = {}
    table = (frame, codes, classes)
    question = Question(tuple(rules), costs)
    with shown(units[0][0], len(units), progress) as tell:
        results = cross_validation.run(models, table, folds.splits, question, units, seed, n_jobs)
        for done, (unit, result) in enumerate(results, 1):
            finished[unit] = result
            tell(unit[0], done, len(units))
    answers, notes, seconds = {}, {}, {}
    runs = cross_validation.runs(folds.splits)
    for name in models:
        parts: list[Evaluation] = [finished[name, index] for index in range(len(folds.splits))]
        for rule in peers.rules_of(models[name], question.rules):
            answers[name, rule] = cross_validation.pooled([part.scores[rule] for part in parts], folds.splits, runs)
        sentences = [*folds.remarks, *finished[name, -1][1], *(note for part in parts for note in part.notes)]
        notes[name] = (*dict.fromkeys(sentences), *cross_validation.distrust([part.problems for part in parts]))
        seconds[name] = float(np.mean([part.seconds for part in parts]))
    fitted = {name: finished[name, -1][0] for name in models if finished[name, -1][0] is not None}
    fits = {name: fit for name, fit in fitted.items() if isinstance(fit, BayesClassifier)}
    others = {name: fit for name, fit in fitted.items() if name not in fits}
    return Comparison(
        answers,
        fits,
        *table,
        folds.splits,
        folds.cv,
        folds.repeats,
        seed,
        seconds,
        notes,
        costs,
        others,
        folds.splitter,
    )


@dataclass(frozen=True)
class Folds:
    """How the rows are split, as `Comparison` has it, and what is to be remarked on it."""

    splits: tuple[Split, ...]
    cv: int
    repeats: int
    remarks: tuple[str, ...] = ()
    splitter: str = ""


def folds_of(cv: Any, repeats: int, frame: pd.DataFrame, labels: NDArray[Any], codes: Integers, seed: int) -> Folds:
    """Return stratified folds, or the splits that were given."""
    require(Whole(1), repeats=repeats)
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        splits, remarks = cross_validation.split(codes, int(cv), repeats, seed)
        return Folds(splits, int(cv), repeats, remarks)
    if repeats != 1:
        raise InputError(f"repeats={repeats} goes with a number of folds; a splitter itself says how often it repeats")
    if codes.max(initial=0) < 1:
        raise InputError("the label column has one class only; a comparison needs rows of at least two classes")
    splits = cross_validation.given_splits(cv, frame, labels)
    times = cross_validation.repeats_of(splits)
    words = " ".join(str(cv).split()) if hasattr(cv, "split") else "given row by row"
    return Folds(splits, len(splits) // times, times, (), words)


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
    columns.numbers(frame, tuple(str(name) for name in frame if columns.kind_of(frame[name]) == "number"))
    return frame


def check_rules(rules: Any) -> None:
    """Raise for rules that are not names of rules."""
    if isinstance(rules, str):
        raise InputError(f"rules must be a list of names, such as [{rules!r}]")
    if not isinstance(rules, Sequence) or not rules:
        raise InputError(f"rules must be a list of names, such as {list(RULES)[:2]}, not {rules!r}")
    unknown = [rule for rule in rules if rule not in RULES]
    if unknown:
        raise InputError(f"unknown rule {unknown[0]!r}; the rules are {', '.join(RULES)}")


def score_table(comparison: Comparison, calibration: bool = True) -> pd.DataFrame:
    """Return the table that `Comparison.table` describes, without the calibration, which takes longest, if desired."""
    table = pd.DataFrame([_line(comparison, *key, calibration) for key in comparison.answers])
    return table.assign(**_differences(comparison, table)) if "log_loss" in table else table


def mean(comparison: Comparison, key: Key, metric: str) -> float:
    """Return a metric's mean over rows and repeats; the metrics are fields of `RowScores`."""
    return float(np.concatenate([getattr(part, metric) for part in comparison.answers[key].scores]).mean())


def _tested(comparison: Comparison, key: Key) -> Iterator[tuple[RowScores, Integers, Integers]]:
    """Yield, for each fold, the scores of its repeat, the places of its test rows in them, and their numbers."""
    for part, rows, run in zip(comparison.answers[key].scores, comparison.tested, comparison.runs, strict=True):
        for number in run:
            test = comparison.splits[number][1]
            yield part, np.searchsorted(rows, test), test


def fold_means(comparison: Comparison, key: Key, metric: str) -> Array:
    """Return a metric's mean over the test rows of each fold, (fold)."""
    return np.array([getattr(part, metric)[places].mean() for part, places, _ in _tested(comparison, key)])


def standard_error(comparison: Comparison, values: Array) -> float:
    """Return the Nadeau–Bengio standard error of the mean of values (fold)."""
    train, test = (float(np.mean([len(split[side]) for split in comparison.splits])) for side in (0, 1))
    return scores.resampled_standard_error(values, int(train), int(test))


def _with_error(comparison: Comparison, key: Key, metric: str) -> dict[str, float]:
    """Return a metric's mean and its standard error, under its name."""
    error = standard_error(comparison, fold_means(comparison, key, metric))
    return {metric: mean(comparison, key, metric), f"{metric}_se": error}


def _line(comparison: Comparison, model: str, rule: str, calibrated: bool) -> dict[str, Any]:
    """Return one row of the table."""
    key = (model, rule)
    line: dict[str, Any] = {"model": model, "rule": rule}
    if reason := comparison.answers[key].reason:
        return line | {"reason": reason}
    log_proba, y = comparison.stacked(model, rule)
    log_losses = [part.log_loss for part in comparison.answers[key].scores]
    losses = np.concatenate(log_losses)
    log_loss = scores.mean_log_loss(losses)
    error = _with_error(comparison, key, "error")
    line |= {
        "accuracy": 1 - error["error"],
        "accuracy_se": error["error_se"],
        "log_loss": log_loss.mean,
        "log_loss_se": standard_error(comparison, fold_means(comparison, key, "log_loss")),
        "log_loss_finite": log_loss.finite_mean,
        "log_loss_infinite": np.unique(np.concatenate(comparison.tested)[np.isinf(losses)]).size,
        **_with_error(comparison, key, "brier"),
    }
    if calibrated:
        calibration = scores.calibration_error(log_proba, y, comparison.seed, comparison.repeats)
        line |= {f"calibration_{name}": getattr(calibration, name) for name in ("error", "low", "high")}
    if comparison.costs is not None:
        line |= _with_error(comparison, key, "cost") | {"rejected": mean(comparison, key, "rejected")}
    return line | _against_bayes_optimal(comparison, key, log_proba)


def _against_bayes_optimal(comparison: Comparison, key: Key, log_proba: Array) -> dict[str, float]:
    """Compare the decisions and errors of a rule with those of the same model's Bayes-optimal rule."""
    optimal = (key[0], "bayes-optimal")
    if optimal not in comparison.answers or comparison.answers[optimal].reason:
        return {}
    best, _ = comparison.stacked(*optimal)
    found = {"disagreement": float((best.argmax(axis=1) != log_proba.argmax(axis=1)).mean())}
    if key[1] == "gibbs":
        error = mean(comparison, optimal, "error")
        found["error_ratio"] = mean(comparison, key, "error") / error if error > 0 else float("nan")
    return found


def _differences(comparison: Comparison, table: pd.DataFrame) -> dict[str, list[float]]:
    """Return paired differences from the best model and rule, and their standard errors."""
    result: dict[str, list[float]] = {}
    for metric in ("error", "log_loss", "brier", *(["cost"] if comparison.costs is not None else [])):
        best = fold_means(comparison, comparison.best, metric)
        differences = []
        for key in zip(table["model"], table["rule"], strict=True):
            reason = comparison.answers[key].reason
            with np.errstate(invalid="ignore"):
                differences.append(np.full(1, np.nan) if reason else fold_means(comparison, key, metric) - best)
        name, sign = ("accuracy", -1) if metric == "error" else (metric, 1)
        result[f"{name}_diff"] = [float(sign * values.mean()) for values in differences]
        result[f"{name}_diff_se"] = [standard_error(comparison, values) for values in differences]
    return result
