"""Comparing classifiers and rules over repeated stratified cross-validation."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date as day
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesclf import decisions
from bayesclf.arrays import Integers
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.given import is_given
from bayesclf.classifiers.inputs import checked_labels, seed_of
from bayesclf.constraints import Flag, Number, OrNone, require
from bayesclf.decisions import Costs
from bayesclf.display import Displayed
from bayesclf.errors import InputError, Refused
from bayesclf.evaluation import cross_validation, peers
from bayesclf.evaluation.cross_validation import (
    Answers,
    Evaluation,
    Folds,
    Question,
    Split,
    Study,
    checked_rules,
    folds_of,
    group_codes,
    labeled_table,
    repeats_for,
)
from bayesclf.evaluation.judgments import TooGood, too_good
from bayesclf.evaluation.score_table import HeldOut, Key, mean, score_table, standings
from bayesclf.evaluation.scores import code_of, threshold_curve
from bayesclf.methods import ComparisonMethods, with_methods
from bayesclf.progress import Progress
from bayesclf.rules import resolve
from bayesclf.tables.columns import is_described, notes_of
from bayesclf.tables.levels import class_order
from bayesclf.tables.remarks import about_columns
from bayesclf.workers import JOBS

__all__ = ["Comparison", "compare"]

BOOSTING_SECONDS = 10.0
"""Time that gradient boosting may take, even where it takes longer than the models."""

LONGER = (
    "it takes longer than the other models and than 10 s; bc.compare has no such limit for a scikit-learn classifier "
    "among its models"
)
"""Why there is no line of gradient boosting."""

OWN_PRIOR = "folds are fitted under the classifier's own prior; the given draws are of all rows and are not used"
"""What a comparison says of a classifier with a given posterior."""


@with_methods
@dataclass(frozen=True, repr=False)
class Comparison(Displayed, HeldOut, ComparisonMethods):
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
        Mean time of a fold, by model; of none that was left out.
    notes
        What the user should know about the fit on all rows, and of the folds what differs in more than numbers, by
        model.
    costs
        What decisions cost, and the limit beyond which rows are rejected; None if neither was given.
    peers
        Classifiers of scikit-learn fitted on all rows, like `fits`.
    splitter
        The splitter in words, where it was not a number of folds.
    target, data
        Names of what is predicted and of the table, empty if unknown; a report shows them.
    date
        Day of the comparison, as in 2026-01-31.
    left_out
        Names of the models that the time limit left no time for.
    order
        Codes of the classes as tables and pages show them: sorted, or in the order of an ordered categorical.
    read
        What was done to read the table, in sentences, where `bayesclf.datasets` read it from a file.
    problems
        Why draws of some folds cannot be trusted, by model; only of models that have such folds.
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
    target: str = ""
    data: str = ""
    date: str = ""
    left_out: tuple[str, ...] = ()
    order: tuple[int, ...] = ()
    read: tuple[str, ...] = ()
    problems: dict[str, str] = field(default_factory=dict)

    @property
    def table(self) -> pd.DataFrame:
        """One row per model and rule, in the order given.

        Columns: `accuracy`, `log_loss`, `brier`, `calibration_error`, each with its standard error (`_se`).
        `log_loss_infinite`: rows whose true class had probability 0 in some repeat, and `log_loss_finite`, the mean
        over the others. `calibration_expected`: the calibration error that calibrated probabilities would show.
        `disagreement`: share of the rows that are decided differently from Bayes-optimal. `…_diff`, `…_diff_se`: the
        difference from `best`, and its standard error. All numbers of `gibbs` are expectations over the posterior, so
        that it has no calibration.

        Standard errors are over the rows, with Nadeau and Bengio's allowance for training rows that folds share; see
        `bayesclf.evaluation.score_table.standings`.

        With `cost` or `reject`: `cost`, the mean cost of the decisions, a rejected row costing `reject`, which is the
        price for which Chow's rule is optimal; and `rejected`, the share of rows without a class. A hypothesis that
        `gibbs` draws decides by its own probabilities. The other columns describe the probabilities and the most
        probable class, whatever the costs.
        """
        return self._score_table.copy()

    @cached_property
    def _score_table(self) -> pd.DataFrame:  # simulations of calibrated labels take seconds for many rows
        return score_table(self)

    @cached_property
    def checked(self) -> dict[str, Any]:
        """What `bayesclf.report.verdict.checks_of_fits` found, by model."""
        return {}

    @cached_property
    def advice(self) -> dict[bool, str]:
        """What may help the models, where `bayesclf.report.verdict` looked for it: by whether boosting is better."""
        return {}

    @cached_property
    def best(self) -> tuple[str, str]:
        """The model and rule to use: of the models, each at its `leader`, the one with the smallest mean log loss."""
        leaders = self.leaders
        if not leaders:
            raise Refused("no rule could answer under any model; the column `reason` of `table` says why")
        return min(leaders, key=lambda key: mean(self, key, "log_loss"))

    @property
    def leaders(self) -> list[tuple[str, str]]:
        """Each model that has answers and can be the one to use, which gradient boosting cannot, at its `leader`."""
        return [self.leader(model) for model in self.models if model != peers.BOOSTING and self.rules_of(model)]

    def leader(self, model: str) -> tuple[str, str]:
        """Return a model and the rule to use: its own, unless another has a clearly smaller log loss.

        Its own rule is that of `predict`. Where that is not one of the rules compared, or is clearly behind, it is the
        rule with the smallest log loss.
        """
        entries = [(model, rule) for rule in self.rules_of(model)]
        if not entries:
            raise InputError(f"no rule answered for a model {model!r}; the models are {', '.join(self.models)}")
        found = standings(self, entries)
        fit = self.fits.get(model)
        own = None if fit is None else resolve(fit.requested_rule(None))[0].name
        if any(one.rule == own and one.kind != "behind" for one in found):
            return model, str(own)
        return model, found[0].rule

    @cached_property
    def too_good(self) -> list[TooGood]:
        """What makes all scores too good: columns that give the label away, and rows that folds repeat."""
        return too_good(self.X, self.y, [self.splits[number] for number in self.runs[0]])

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
        """The rows, of the first repeat, on which the rules of one model decide differently.

        Columns: `model`; `row`, the place in `X` from 0; `label`; `gap`, the largest difference between two rules in
        the probability of a class; by rule the predicted label, and `P(…)`, the probability of the true label; then the
        cells. The largest gap comes first. `gibbs`, which draws a hypothesis for each row, is shown, but its
        disagreement does not count.
        """
        answers = pd.concat([self._disagreements_of(model) for model in self.models], ignore_index=True)
        return pd.concat([answers, self.X.iloc[answers["row"].to_numpy(dtype=np.intp)].reset_index(drop=True)], axis=1)

    def _disagreements_of(self, model: str) -> pd.DataFrame:
        """Return the lines of a model, without cells."""
        rules, rows = self.rules_of(model), self.tested[0]
        label = self.y[rows]
        proba = np.array([np.exp(self.answers[model, rule].scores[0].log_proba) for rule in rules])  # (rule, row, …)
        steady = [rule != "gibbs" for rule in rules]
        if sum(steady) < 2:
            return pd.DataFrame({"model": [], "row": rows[:0], "label": self.classes[label[:0]], "gap": []})
        decided = proba.argmax(axis=2)
        gap = np.ptp(proba[steady], axis=0).max(axis=1)
        differ = np.flatnonzero(np.ptp(decided[steady], axis=0))
        differ = differ[np.argsort(-gap[differ], kind="stable")]
        found = {"model": model, "row": rows[differ], "label": self.classes[label[differ]], "gap": gap[differ]}
        found |= {rule: self.classes[code[differ]] for rule, code in zip(rules, decided, strict=True)}
        found |= {f"P({rule})": one[differ, label[differ]] for rule, one in zip(rules, proba, strict=True)}
        return pd.DataFrame(found)

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models, in the order given."""
        return tuple(dict.fromkeys(model for model, _ in self.answers))

    def threshold_curve(
        self, model: str, rule: str, outcome: Any = None, cost: Any = None, thresholds: Any = None
    ) -> pd.DataFrame:
        """Return how good the answers are that pass a threshold, and what acting on them is worth.

        With an `outcome`, one acts on the rows whose risk of this class is at least the threshold. The net benefit is
        then defined as in decision curve analysis. Without an `outcome`, one decides the rows whose expected cost is at
        most the threshold: the argument `reject` of `predict`, under 0-1 loss 1 − max P(k | x).

        Parameters
        ----------
        model, rule
            A row of the table. For `gibbs` it is the curve of the drawn hypotheses, one per row.
        outcome : label or None
            Label of the class of interest.
        cost : array, DataFrame, dict or None
            Costs ``cost[true, predicted]``, (outcome, outcome); by default those of the comparison, or 0-1 loss. An
            outcome of interest has no costs: its threshold says how bad a needless act is.
        thresholds : array or None
            Risks in (0, 1), by default 1% to 99%; or expected costs, by default their quantiles.

        Returns
        -------
        DataFrame
            One row per threshold: `coverage`, the share of rows that pass it, their `accuracy` and mean `cost`, and
            `net_benefit`. Each has its standard error over the rows, such as `coverage_se`. `net_benefit_all` is the
            net benefit if every row passes. See `bayesclf.evaluation.scores.threshold_curve`. In one repeat, let tp
            rows acted on have the class, and fp not. Acting is worth more than nothing with probability
            ``scipy.stats.beta.sf(threshold, tp + 1/4, fp + 1/4)``.

        Raises
        ------
        InputError
            For a model and rule that the comparison does not have, or a class, costs or thresholds that cannot be used.
        Refused
            For a rule that could not answer; the message says why.
        """
        self._require_answers(model, rule)
        if outcome is not None and cost is not None:
            raise InputError("give an outcome or a cost, not both: the thresholds of an outcome imply the costs")
        if cost is None and self.costs is not None:
            cost = self.costs.matrix
        code = None if outcome is None else code_of(self.classes, outcome)
        rows = np.concatenate(self.tested)
        return threshold_curve(*self.stacked(model, rule), self.train_size, code, cost, thresholds, rows)


def compare(
    models: Mapping[str, Any] | Sequence[Any] | Any,
    X: Any,
    y: Any,
    rules: Sequence[str] | str | None = None,
    cv: Any = 5,
    repeats: int | None = None,
    random_state: Any = 0,
    n_jobs: int = 1,
    progress: Progress = None,
    cost: Any = None,
    reject: float | None = None,
    boosting: bool = False,
    data: str = "",
    max_seconds: float | None = None,
    groups: Any = None,
) -> Comparison:
    """Compare classifiers and rules on the same rows and folds.

    Parameters
    ----------
    models : mapping from str to classifier, sequence of classifiers or classifier
        Unfitted classifiers by name; or a list of them, or one alone, named after their classes. Classifiers and
        pipelines of scikit-learn, or of other libraries that follow it, take part as they are, without rules, if
        they have `predict_proba`: each is one line, whose rule is "—".
    X : table or array of shape (row, feature)
        Table (row, feature), dense; or texts (row), as a list, array or Series.
    y : array of shape (row,)
        Labels (row). The name of a Series is what the report says is predicted.
    rules : sequence of str, "all" or None
        Names of rules, of `bayesclf.rules.RULES`, or all of them. None is map, bayes-optimal, and the rule of each
        classifier itself.
    cv : int, splitter or iterable
        Folds, stratified by label; or a splitter of scikit-learn; or pairs of training and test rows, each as row
        numbers from 0 or truth values (row).
    repeats : int or None
        How often the cross-validation is repeated with other folds, if `cv` is a number. None repeats it until 500
        rows are tested, at most 4 times, as a classifier's own page does.
    random_state : int, Generator or None
        Seed of everything; the numbers do not depend on `n_jobs`. None draws one, which `Comparison.seed` tells.
    n_jobs : int
        Number of parallel processes.
    progress : bool, callable or None
        Whether to show progress; or a function that is called with a model's name, units done and units in all, after
        each unit. None shows it in a notebook, and where stderr is a terminal.
    cost : array, DataFrame, dict or None
        Costs ``cost[true, predicted]``, (outcome, outcome), in the order of the sorted labels; 0-1 loss by default.
    reject : float or None
        Largest acceptable expected cost: rows beyond it are rejected. With either of `cost` and `reject`, the table
        also says what the decisions cost.
    boosting : bool
        Whether to add the line ``"boosting"``: scikit-learn's gradient boosting on the same folds, which shows what a
        black box would gain. It is never the model to use, and is left out for texts, and where it takes longer than
        the models and than ten seconds.
    data : str
        Name of the table, for the report.
    max_seconds : float or None
        Time limit, looked at after each fit; None for none. The models are fitted in the order given. Once the limit
        is over, a model with fits that remain is left out, with the reason. Where `repeats` is None, the first repeat
        of all models comes before the others. So the result may depend on the machine, as it does not otherwise.
    groups : array of shape (row,) or None
        Units that have several rows, such as patients: all rows of a unit stay in one fold.

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
    >>> found = bc.compare([bc.GaussianNB(), DummyClassifier()], X, y, rules=["predictive"], cv=3, random_state=0)
    >>> found.table[["model", "rule", "accuracy"]].round(2)
                 model        rule  accuracy
    0              gnb  predictive      0.96
    1  DummyClassifier           —      0.50
    """
    models = peers.named(models)
    require(Flag(), boosting=boosting)
    require(OrNone(Number(above=0)), max_seconds=max_seconds)
    if boosting and peers.BOOSTING in models:
        raise InputError(f"a model is named {peers.BOOSTING!r}, as a line of the comparison is; give it another name")
    asked = checked_rules(rules)
    require(JOBS, n_jobs=n_jobs)
    seed, every = seed_of(random_state), y
    frame, y, remarks = labeled_table(X, y, cv)
    labels = checked_labels(y, len(frame))
    units = groups if groups is None else group_codes(groups, every)
    classes, codes = np.unique(labels, return_inverse=True)
    costs = None if cost is None and reject is None else Costs.checked(len(classes), cost, reject)
    several = repeats is None and isinstance(cv, int | np.integer)
    times = repeats_for(len(codes)) if several else 1 if repeats is None else repeats
    folds = folds_of(cv, times, frame, labels, codes, seed, units)
    folds = replace(folds, remarks=(*remarks, *folds.remarks))
    study = Study(models, (frame, codes, classes), Question(asked, costs), seed, n_jobs, progress)
    start = time.perf_counter()
    end = start + (np.inf if max_seconds is None else max_seconds)

    def late() -> bool:
        """Return whether the time is over."""
        return time.perf_counter() > end

    first = folds.first(1) if several and max_seconds is not None else folds
    study.finish(first.splits, late)
    if first is not folds and (late() or not study.finish(folds.splits, late)):
        folds = first
    comparison = _comparison(study, folds, max_seconds)
    if boosting and comparison.leaders and not comparison.left_out and isinstance(peers.rows(frame), pd.DataFrame):
        study = replace(study, models={**models, peers.BOOSTING: peers.boosting(frame)})
        now = time.perf_counter()
        limit = min(end, now + max(now - start, BOOSTING_SECONDS))
        study.finish(folds.splits, lambda: time.perf_counter() > limit)
        comparison = _comparison(study, folds, max_seconds)
    return replace(
        comparison,
        target=str(getattr(y, "name", None) or ""),
        data=data,
        date=day.today().isoformat(),
        order=class_order(y, classes),
        read=notes_of(X) if is_described(X, frame) else tuple(about_columns(frame)),
    )


def _comparison(study: Study, folds: Folds, max_seconds: float | None) -> Comparison:
    """Return the comparison of the fits that are finished; a model that lacks one is left out."""
    models, finished = study.models, study.finished
    answers: dict[Key, Answers] = {}
    notes, problems, seconds, left_out = {}, dict[str, str](), {}, []
    runs = cross_validation.runs(folds.splits)
    for name in models:
        own = peers.rules_of(models[name], study.question.rules)
        if any((name, index) not in finished for index in (*range(len(folds.splits)), -1)):
            left_out.append(name)
            reason = LONGER if name == peers.BOOSTING else _over(max_seconds)
            answers |= {(name, rule): Answers((), reason) for rule in own}
            continue
        parts: list[Evaluation] = [finished[name, index] for index in range(len(folds.splits))]
        for rule in own:
            answers[name, rule] = cross_validation.pooled([part.scores[rule] for part in parts], folds.splits, runs)
        said = [*folds.remarks, *finished[name, -1][1]]
        sentences = cross_validation.gathered(said, [part.notes for part in parts])
        own_prior = (OWN_PRIOR,) * is_given(models[name])
        notes[name] = (*own_prior, *sentences)
        if problem := cross_validation.distrust([part.problems for part in parts]):
            problems[name] = problem
        seconds[name] = float(np.mean([part.seconds for part in parts]))
    fitted = {name: finished[name, -1][0] for name in models if name not in left_out}
    return Comparison(
        answers,
        {name: fit for name, fit in fitted.items() if isinstance(fit, BayesClassifier)},
        *study.table,
        folds.splits,
        folds.cv,
        folds.repeats,
        study.seed,
        seconds,
        notes,
        study.question.costs,
        peers={name: fit for name, fit in fitted.items() if fit is not None and not isinstance(fit, BayesClassifier)},
        splitter=folds.splitter,
        left_out=tuple(left_out),
        problems=problems,
    )


def _over(max_seconds: float | None) -> str:
    """Return why a model was left out."""
    minutes = f"{(max_seconds or 0.0) / 60:.3g}"
    return f"the time limit of {minutes} minute{'s' * (minutes != '1')} was reached"
