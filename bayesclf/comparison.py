"""Comparing classifiers and rules over repeated stratified cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesclf import columns, evaluation, scores
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.training import checked_labels
from bayesclf.errors import InputError, Refused
from bayesclf.evaluation import Evaluation
from bayesclf.families.base import Array, Integers
from bayesclf.rules import RULES
from bayesclf.scores import RowScores

if TYPE_CHECKING:
    import pandas as pd

type Split = tuple[Integers, Integers]


@dataclass(frozen=True)
class Answers:
    """One classifier under one rule: its scores of every row in every repeat.

    Attributes
    ----------
    scores
        Scores of the rows, one entry a repeat, rows in the order of the table.
    reason
        Why the rule cannot answer; then there are no scores.
    """

    scores: tuple[RowScores, ...]
    reason: str = ""


@dataclass(frozen=True)
class Comparison:
    """Classifiers × rules on one table.

    Attributes
    ----------
    answers
        Scores by (model, rule).
    fits
        Each classifier fitted on all rows, for its posterior; one that cannot be fitted is left out.
    X, y, classes
        The table (row, feature), label codes (row) and labels (outcome).
    splits
        Training and test rows, one pair a fold, repeats one after the other.
    cv, repeats, seed
        How the rows were split.
    seconds
        Mean time of a fold by model.
    notes
        What to know of the fits, each sentence once, by model.
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

    @property
    def table(self) -> pd.DataFrame:
        """One line a model and rule, in the order given.

        Columns: `accuracy`, `log_loss`, `brier`, each with its Nadeau–Bengio standard error (`_se`); for `gibbs` they
        are expectations over the posterior. `log_loss_infinite`: rows whose true class had probability 0 in some
        repeat, and `log_loss_finite`, the mean over the others. `calibration_error` with a bootstrap interval.
        `error_ratio`: the expected Gibbs error over the Bayes-optimal error, NaN where that is 0. `disagreement`: share
        of the rows decided unlike Bayes-optimal. `…_diff`, `…_diff_se`: the difference from the line
        with the best log loss, paired on the same folds.
        """
        import pandas as pd

        lines = [self._line(*key) for key in self.answers]
        table = pd.DataFrame(lines)
        return table.assign(**self._differences(table)) if "log_loss" in table else table

    @property
    def best(self) -> tuple[str, str]:
        """The model and rule of the smallest mean log loss, the first of equals."""
        finite = {key: self._mean(key, "log_loss") for key, answer in self.answers.items() if not answer.reason}
        if not finite:
            raise Refused("no rule could answer under any model; `table` has the reasons")
        return min(finite, key=lambda key: (finite[key], list(finite).index(key)))

    @property
    def predictions(self) -> pd.DataFrame:
        """One line a model, rule, repeat and row: true label, predicted label and P(k | x) of each label."""
        import pandas as pd

        frames = []
        for (model, rule), answer in self.answers.items():
            for repeat, part in enumerate(answer.scores):
                proba = pd.DataFrame(np.exp(part.log_proba), columns=[f"P({label})" for label in self.classes])
                predicted = self.classes[part.log_proba.argmax(axis=1)]
                frame = pd.DataFrame({"model": model, "rule": rule, "repeat": repeat, "row": np.arange(len(self.y))})
                frames.append(pd.concat([frame.assign(label=self.classes[self.y], predicted=predicted), proba], axis=1))
        return pd.concat(frames, ignore_index=True)

    @property
    def disagreements(self) -> pd.DataFrame:
        """The rows on which the rules of one model decide differently: one line a model and row, one column a rule."""
        import pandas as pd

        frames = []
        for model in self.models:
            decided = {
                rule: self.answers[model, rule].scores[0].log_proba.argmax(axis=1) for rule in self.rules_of(model)
            }
            if len(decided) < 2:
                continue
            codes = np.column_stack(list(decided.values()))
            rows = np.flatnonzero((codes != codes[:, :1]).any(axis=1))
            frame = pd.DataFrame({"model": model, "row": rows, "label": self.classes[self.y[rows]]})
            frames.append(frame.assign(**{rule: self.classes[code[rows]] for rule, code in decided.items()}))
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=["model", "row", "label"])

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models, in the order given."""
        return tuple(dict.fromkeys(model for model, _ in self.answers))

    def rules_of(self, model: str) -> tuple[str, ...]:
        """Return the rules that this model could answer under."""
        return tuple(rule for (name, rule), answer in self.answers.items() if name == model and not answer.reason)

    def stacked(self, model: str, rule: str) -> tuple[Array, Integers]:
        """Return log P(k | x) of all repeats one after the other, (row, outcome), and the label codes (row)."""
        parts = self.answers[model, rule].scores
        return np.concatenate([part.log_proba for part in parts]), np.tile(self.y, len(parts))

    def report(self, path: Any) -> None:
        """Write the self-contained HTML report."""
        from bayesclf.report import write_comparison

        write_comparison(self, path)

    def plot_reliability(self, model: str, **arguments: Any) -> Any:
        """Plot reliability curves of a model, one a rule; returns a matplotlib figure."""
        from bayesclf.plots import reliability

        return reliability(self, model, **arguments)

    def _fold_means(self, key: tuple[str, str], metric: str) -> Array:
        """Return a metric's mean over the test rows of each fold, (fold)."""
        parts = self.answers[key].scores
        per_repeat = len(self.splits) // self.repeats
        return np.array(
            [getattr(parts[index // per_repeat], metric)[test].mean() for index, (_, test) in enumerate(self.splits)]
        )

    def _mean(self, key: tuple[str, str], metric: str) -> float:
        return float(np.mean([getattr(part, metric).mean() for part in self.answers[key].scores]))

    def _standard_error(self, values: Array) -> float:
        train, test = (float(np.mean([len(split[side]) for split in self.splits])) for side in (0, 1))
        return scores.resampled_standard_error(values, int(train), int(test))

    def _line(self, model: str, rule: str) -> dict[str, Any]:
        """Return one line of the table."""
        key = (model, rule)
        line: dict[str, Any] = {"model": model, "rule": rule}
        if self.answers[key].reason:
            return line | {"reason": self.answers[key].reason}
        log_proba, y = self.stacked(model, rule)
        log_loss = scores.mean_log_loss(np.concatenate([part.log_loss for part in self.answers[key].scores]))
        calibration = scores.calibration_error(log_proba, y, self.seed, self.repeats)
        infinite = np.any([np.isinf(part.log_loss) for part in self.answers[key].scores], axis=0)
        line |= {
            "accuracy": 1 - self._mean(key, "error"),
            "accuracy_se": self._standard_error(self._fold_means(key, "error")),
            "log_loss": log_loss.mean,
            "log_loss_se": self._standard_error(self._fold_means(key, "log_loss")),
            "log_loss_finite": log_loss.finite_mean,
            "log_loss_infinite": int(infinite.sum()),
            "brier": self._mean(key, "brier"),
            "brier_se": self._standard_error(self._fold_means(key, "brier")),
            "calibration_error": calibration.error,
            "calibration_low": calibration.low,
            "calibration_high": calibration.high,
        }
        optimal = (model, "bayes-optimal")
        if optimal in self.answers and not self.answers[optimal].reason:
            best, _ = self.stacked(*optimal)
            line["disagreement"] = float((best.argmax(axis=1) != log_proba.argmax(axis=1)).mean())
            if rule == "gibbs":
                error = self._mean(optimal, "error")
                line["error_ratio"] = self._mean(key, "error") / error if error > 0 else float("nan")
        return line

    def _differences(self, table: pd.DataFrame) -> dict[str, list[float]]:
        """Return paired differences from the best line, and their standard errors."""
        result: dict[str, list[float]] = {}
        for metric in ("error", "log_loss", "brier"):
            best = self._fold_means(self.best, metric)
            differences = []
            for key in zip(table["model"], table["rule"], strict=True):
                reason = self.answers[key].reason
                with np.errstate(invalid="ignore"):
                    differences.append(np.full(1, np.nan) if reason else self._fold_means(key, metric) - best)
            name, sign = ("accuracy", -1) if metric == "error" else (metric, 1)
            result[f"{name}_diff"] = [float(sign * values.mean()) for values in differences]
            result[f"{name}_diff_se"] = [self._standard_error(values) for values in differences]
        return result


def compare(
    models: Mapping[str, BayesClassifier],
    X: Any,
    y: Any,
    rules: Sequence[str] = tuple(RULES),
    cv: int = 5,
    repeats: int = 1,
    random_state: int = 0,
    n_jobs: int = 1,
    progress: Callable[[str, int, int], None] | None = None,
) -> Comparison:
    """Compare classifiers and rules on the same rows and folds.

    Parameters
    ----------
    models
        Unfitted classifiers by name.
    X
        Table (row, feature).
    y
        Labels (row).
    rules
        Names of rules, of `bayesclf.rules.RULES`.
    cv
        Folds, stratified by label.
    repeats
        How often the rows are split anew.
    random_state
        Seed of everything; the numbers do not depend on `n_jobs`.
    n_jobs
        Processes at work.
    progress
        Called with a model's name, units done and units in all, after each unit.

    Returns
    -------
    Comparison
        Scores, predictions and fits.

    Raises
    ------
    InputError
        For a table or options that cannot be used.
    """
    _check_options(models, rules, cv, random_state)
    frame = columns.to_frame(X)
    columns.numbers(frame, tuple(str(name) for name in frame if columns.kind_of(frame[name]) == "number"))
    labels = checked_labels(y, len(frame))
    classes, codes = np.unique(labels, return_inverse=True)
    splits, remarks = _split(codes, cv, repeats, random_state)
    units = [(name, index) for name in models for index in range(len(splits))] + [(name, -1) for name in models]
    finished: dict[tuple[str, int], Any] = {}
    table = (frame, codes, classes)
    for done, (unit, result) in enumerate(_run(models, table, splits, tuple(rules), units, random_state, n_jobs), 1):
        finished[unit] = result
        if progress is not None:
            progress(unit[0], done, len(units))
    return _collected(models, table, splits, rules, finished, (cv, repeats, random_state), remarks)


def _check_options(models: Any, rules: Any, cv: Any, seed: Any) -> None:
    """Raise for arguments of the wrong kind."""
    if (
        not isinstance(models, Mapping)
        or not models
        or not all(isinstance(m, BayesClassifier) for m in models.values())
    ):
        raise InputError("models must be a mapping from names to classifiers of bayesclf, such as {'nb': NaiveBayes()}")
    if isinstance(rules, str):
        raise InputError(f"rules must be a list of names, such as [{rules!r}]")
    unknown = [rule for rule in rules if rule not in RULES]
    if unknown:
        raise InputError(f"unknown rule {unknown[0]!r}; the rules are {', '.join(RULES)}")
    if not isinstance(cv, int) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"cv and random_state must be whole numbers of at least 0, not {cv!r} and {seed!r}")


def _split(y: Integers, cv: int, repeats: int, seed: int) -> tuple[tuple[Split, ...], tuple[str, ...]]:
    """Return stratified folds, and a remark where a class is too small for them."""
    from sklearn.model_selection import RepeatedStratifiedKFold

    counts = np.bincount(y)
    if cv < 2 or cv > len(y) or repeats < 1:
        raise InputError(f"cv must lie between 2 and the number of rows, {len(y)}, and repeats be at least 1")
    if len(counts) < 2:
        raise InputError("the label column has one class only; a comparison needs rows of at least two classes")
    if counts.max() < cv:
        raise InputError(f"cv={cv} needs a class with at least {cv} rows, but the largest has {counts.max()}")
    remarks: tuple[str, ...] = ()
    if counts.min() < cv:
        remarks = (f"a class has {counts.min()} rows, fewer than the {cv} folds: some folds test or train without it",)
    folds = RepeatedStratifiedKFold(n_splits=cv, n_repeats=repeats, random_state=seed)
    with warnings.catch_warnings():
        # The remark above says it once, in terms of the user's table.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        return tuple(folds.split(np.zeros(len(y)), y)), remarks


def _run(
    models: Mapping[str, BayesClassifier],
    table: tuple[Any, Integers, Any],
    splits: tuple[Split, ...],
    rules: tuple[str, ...],
    units: list[tuple[str, int]],
    seed: int,
    n_jobs: int,
) -> Iterator[tuple[tuple[str, int], Any]]:
    """Yield each unit with its evaluation, or with the fit on all rows for number −1."""
    from joblib import Parallel, delayed

    order = {name: index for index, name in enumerate(models)}
    tasks = (
        delayed(_unit)(
            models[name], table, splits[index] if index >= 0 else None, rules, _seed(seed, order[name], index)
        )
        for name, index in units
    )
    return zip(units, Parallel(n_jobs=n_jobs, return_as="generator")(tasks), strict=True)


def _seed(seed: int, model: int, index: int) -> int:
    """Return the seed of one unit, whoever runs it and when."""
    return int(np.random.SeedSequence([seed, model, index + 1]).generate_state(1)[0] >> 1)


def _unit(
    classifier: BayesClassifier,
    table: tuple[Any, Integers, Any],
    split: Split | None,
    rules: tuple[str, ...],
    seed: int,
) -> Any:
    if split is not None:
        return evaluation.run(classifier, table, split, rules, seed)
    X, y, classes = table
    try:
        return evaluation.fit(classifier, X, np.asarray(classes)[y], classes, seed)
    except Refused:
        return None, []  # the folds have the reason


def _collected(
    models: Mapping[str, BayesClassifier],
    table: tuple[Any, Integers, Any],
    splits: tuple[Split, ...],
    rules: Sequence[str],
    finished: dict[tuple[str, int], Any],
    settings: tuple[int, int, int],
    remarks: tuple[str, ...],
) -> Comparison:
    """Put the folds' scores back in the order of the rows."""
    X, y, classes = table
    cv, repeats, seed = settings
    answers, notes, seconds, fits = {}, {}, {}, {}
    for name in models:
        parts: list[Evaluation] = [finished[name, index] for index in range(len(splits))]
        for rule in rules:
            answers[name, rule] = _joined([part.scores[rule] for part in parts], splits, repeats, len(y))
        fitted, own = finished[name, -1]
        if fitted is not None:
            fits[name] = fitted
        sentences = [*remarks, *own, *(note for part in parts for note in part.notes)]
        notes[name] = (*dict.fromkeys(sentences), *_distrust([part.problems for part in parts]))
        seconds[name] = float(np.mean([part.seconds for part in parts]))
    return Comparison(answers, fits, X, y, classes, splits, cv, repeats, seed, seconds, notes)


def _distrust(problems: list[tuple[str, ...]]) -> Iterator[str]:
    """Say once in how many folds the draws cannot be trusted, with the first reason as an example."""
    wrong = [reasons for reasons in problems if reasons]
    if wrong:
        yield f"in {len(wrong)} of {len(problems)} folds the draws cannot be trusted yet: {wrong[0][0]}"


def _joined(parts: list[RowScores | str], splits: tuple[Split, ...], repeats: int, rows: int) -> Answers:
    """Return the scores of all rows, one entry a repeat; a rule that failed in any fold is not scored at all."""
    reasons = [part for part in parts if isinstance(part, str)]
    if reasons:
        return Answers((), f"{reasons[0]} (in {len(reasons)} of {len(parts)} folds)")
    scored = [part for part in parts if isinstance(part, RowScores)]
    per_repeat = len(splits) // repeats
    joined = []
    for repeat in range(repeats):
        chosen = slice(repeat * per_repeat, (repeat + 1) * per_repeat)
        order = np.argsort(np.concatenate([test for _, test in splits[chosen]]))
        fields = ("log_proba", "error", "log_loss", "brier")
        joined.append(
            RowScores(*(np.concatenate([getattr(part, name) for part in scored[chosen]])[order] for name in fields))
        )
    return Answers(tuple(joined))
