"""Repeated stratified cross-validation: rows split, each fold a unit of work, and the answers put together again."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from bayesclf import evaluation
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.decisions import Costs
from bayesclf.errors import InputError, Refused
from bayesclf.scores import RowScores
from bayesclf.typing import Integers

type Split = tuple[Integers, Integers]
"""Numbers of the training rows and of the test rows."""


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
class Question:
    """What each fit is asked: the rules, and what decisions cost."""

    rules: tuple[str, ...]
    costs: Costs | None


def split(y: Integers, cv: int, repeats: int, seed: int) -> tuple[tuple[Split, ...], tuple[str, ...]]:
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


def run(
    models: Mapping[str, BayesClassifier],
    table: tuple[Any, Integers, Any],
    splits: tuple[Split, ...],
    question: Question,
    units: list[tuple[str, int]],
    seed: int,
    n_jobs: int,
) -> Iterator[tuple[tuple[str, int], Any]]:
    """Yield each unit with its evaluation, or with the fit on all rows for number −1."""
    from joblib import Parallel, delayed

    order = {name: index for index, name in enumerate(models)}
    tasks = (
        delayed(_unit)(
            models[name], table, splits[index] if index >= 0 else None, question, _seed(seed, order[name], index)
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
    question: Question,
    seed: int,
) -> Any:
    if split is not None:
        return evaluation.run(classifier, table, split, question.rules, seed, question.costs)
    X, y, classes = table
    try:
        return evaluation.fit(classifier, X, np.asarray(classes)[y], classes, seed)
    except Refused:
        return None, []  # the folds have the reason


def distrust(problems: list[tuple[str, ...]]) -> Iterator[str]:
    """Say once in how many folds the draws cannot be trusted, with the first reason as an example."""
    wrong = [reasons for reasons in problems if reasons]
    if wrong:
        yield f"in {len(wrong)} of {len(problems)} folds the draws cannot be trusted yet: {wrong[0][0]}"


def joined(parts: list[RowScores | str], splits: tuple[Split, ...], repeats: int) -> Answers:
    """Return the scores of all rows, one entry a repeat; a rule that failed in any fold is not scored at all."""
    reasons = [part for part in parts if isinstance(part, str)]
    if reasons:
        return Answers((), f"{reasons[0]} (in {len(reasons)} of {len(parts)} folds)")
    scored = [part for part in parts if isinstance(part, RowScores)]
    per_repeat = len(splits) // repeats
    names = [field.name for field in fields(RowScores) if getattr(scored[0], field.name) is not None]
    repeated = []
    for repeat in range(repeats):
        chosen = slice(repeat * per_repeat, (repeat + 1) * per_repeat)
        order = np.argsort(np.concatenate([test for _, test in splits[chosen]]))
        columns = {name: np.concatenate([getattr(part, name) for part in scored[chosen]])[order] for name in names}
        repeated.append(RowScores(**columns))
    return Answers(tuple(repeated))
