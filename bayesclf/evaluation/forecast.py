"""What a comparison will take, from fits to few of its rows; models that would take too long are left out of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from bayesclf.classifiers.base import BayesClassifier
from bayesclf.evaluation import cross_validation
from bayesclf.evaluation.cross_validation import Evaluation, Question, Split
from bayesclf.progress import shown
from bayesclf.typing import Integers
from bayesclf.wording import duration, listed

FIRST_ROWS, FACTOR = 200, 4
"""Training rows of the first trial, two for each class at least, and how many times more each further trial has."""

LONG_ENOUGH = 0.5
"""Seconds of a trial, without what it takes once, from which more rows would say little more."""

LIMIT = 5.0
"""Seconds after which sampling is broken off in a trial, and the rest reckoned from its speed so far."""

NEGLIGIBLE = 2.0
"""Seconds of a model's folds, reckoned in proportion to the rows, below which one trial is enough."""

PROCESS_SECONDS = 4.0
"""What starting further processes takes."""

ORDER_STREAM = 8
"""Number of the random stream that chooses the rows of the trials."""


class OutOfTime(Exception):
    """Sampling in a trial has taken `LIMIT` seconds."""


@dataclass(frozen=True)
class Trial:
    """What one fit and its answers took.

    Attributes
    ----------
    rows
        Training rows.
    seconds
        Time, without `once`; of a fit that was broken off, what it would have been.
    once
        Time until sampling began, which is mostly compilation that later fits do not repeat.
    evaluation
        The answers; None of a fit that was broken off.
    """

    rows: int
    seconds: float
    once: float = 0.0
    evaluation: Evaluation | None = None


@dataclass(frozen=True)
class Forecast:
    """What a comparison is expected to take.

    Attributes
    ----------
    seconds
        By model that takes part, all its folds and its fit on all rows, on one processor.
    total
        Of all models together, by the clock.
    left_out
        Why a model does not take part, by model.
    """

    seconds: dict[str, float]
    total: float
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """What is said before the work starts; empty where all models are left out, as then there is none."""
        parts = listed(f"{name} {duration(seconds)}" for name, seconds in self.seconds.items())
        return f"about {duration(self.total)} in all ({parts})" if self.seconds else ""


type Measure = Callable[[str, Split], Trial]
"""Fits a model to the training rows of a split, answers to its test rows, and says what that took."""


@dataclass(frozen=True)
class Plan:
    """What a comparison has to do.

    Attributes
    ----------
    split
        Training and test rows of one fold, either in an order in which each beginning has all classes.
    units
        Fits of each model: its folds, and the one on all rows.
    processes
        How many work at the same time.
    max_seconds
        The time allowed, or None.
    first_rows
        Training rows of the first trial.
    """

    split: Split
    units: int
    processes: int = 1
    max_seconds: float | None = None
    first_rows: int = FIRST_ROWS


def forecast(measure: Measure, names: Sequence[str], plan: Plan) -> tuple[Forecast, dict[str, Evaluation]]:
    """Return what the folds of all models will take, and the answers that trials on all rows of a fold gave.

    Each model is fitted to `FIRST_ROWS` of the rows, then to `FACTOR` times as many, until that takes `LONG_ENOUGH`.
    A line through the last two trials, as the cost of most models is linear in the rows, leads to all rows. The most
    expensive models are left out until the others fit into the time that is allowed, less what the trials took unless
    one model is left.

    Parameters
    ----------
    measure
        What makes a trial.
    names
        The models.
    plan
        The work, and the time allowed.
    """
    start = time.perf_counter()
    trials = {name: _trials(measure, name, plan) for name in names}
    spent = time.perf_counter() - start
    rows, units = len(plan.split[0]), plan.units
    max_seconds = np.inf if plan.max_seconds is None else plan.max_seconds
    seconds = {name: units * _at(found, rows) + max(trial.once for trial in found) for name, found in trials.items()}
    of_trials = f", of which trials took {duration(spent)}" if spent >= 1 else ""
    kept, left_out = dict(seconds), {}
    for name in sorted(seconds, key=lambda name: -seconds[name]):
        left = max_seconds if len(kept) == 1 else max_seconds - spent  # the last is not left out for the trials' sake
        if _total(kept, plan) <= left:
            break
        left_out[name] = (
            f"it was left out, as it would take about {duration(kept.pop(name))} and {duration(max_seconds)} are "
            f"allowed in all{of_trials}; allow more, or take fewer folds, rules or rows"
        )
    ordered = {name: left_out[name] for name in names if name in left_out}
    answers = {name: found[-1].evaluation for name, found in trials.items() if found[-1].rows == rows}
    done = {name: answer for name, answer in answers.items() if answer is not None and name in kept}
    return Forecast(kept, _total(kept, plan), ordered), done


def _trials(measure: Measure, name: str, plan: Plan) -> list[Trial]:
    """Return trials of a model on more and more rows."""
    train, test = plan.split
    found: list[Trial] = []
    rows = min(plan.first_rows, len(train))
    while True:
        share = rows / len(train)
        trial = measure(name, (train[:rows], test[: max(1, round(share * len(test)))]))
        found.append(trial)
        negligible = trial.seconds * plan.units / share < NEGLIGIBLE
        if rows == len(train) or negligible or (len(found) > 1 and trial.seconds >= LONG_ENOUGH):
            return found
        rows = min(FACTOR * rows, len(train))


def _at(trials: Sequence[Trial], rows: int) -> float:
    """Return the seconds that a fit to so many rows takes, by the line through the last two trials."""
    *_, last = trials
    if len(trials) == 1:
        return last.seconds * rows / last.rows
    before = trials[-2]
    slope = (last.seconds - before.seconds) / (last.rows - before.rows)
    # more rows never take less time than fewer, and never more than in proportion
    return float(np.clip(last.seconds + slope * (rows - last.rows), last.seconds, last.seconds * rows / last.rows))


def _total(seconds: Mapping[str, float], plan: Plan) -> float:
    """Return the time by the clock where processes share the fits of all models."""
    if plan.processes == 1 or not seconds:
        return sum(seconds.values())
    return PROCESS_SECONDS + max(sum(seconds.values()) / plan.processes, max(seconds.values()) / plan.units)


@dataclass(frozen=True)
class Limits:
    """How many processes work at the same time, and the seconds allowed, or None."""

    processes: int
    max_seconds: float | None


def of_comparison(
    models: Mapping[str, Any],
    table: tuple[Any, Integers, Any],
    splits: Sequence[Split],
    question: Question,
    seed: int,
    limits: Limits,
) -> tuple[Forecast, dict[str, Evaluation]]:
    """Return what a comparison will take, and the answers to the first fold of models that were tried on all of it."""
    X, codes, classes = table
    train, test = splits[0]
    rng = np.random.default_rng([seed, ORDER_STREAM])
    ordered = train[cross_validation.in_turns(codes[train], rng)], test[cross_validation.in_turns(codes[test], rng)]
    order = {name: place for place, name in enumerate(models)}

    def measure(name: str, split: Split) -> Trial:
        """Fit and score one model on a small split; one of all training rows is a fold as it is."""
        own = cross_validation.unit_seed(seed, order[name], 0)
        if len(split[0]) == len(train):
            return timed(models[name], table, splits[0], question, own)
        return timed(_as_on_all_rows(models[name], X.iloc[train], len(classes)), table, split, question, own)

    plan = Plan(ordered, len(splits) + 1, limits.processes, limits.max_seconds, max(FIRST_ROWS, 2 * len(classes)))
    return forecast(measure, list(models), plan)


def _as_on_all_rows(model: Any, X: Any, classes: int) -> Any:
    """Return a model with the engine that it has on all training rows, whichever it would take on few."""
    if not isinstance(model, BayesClassifier):
        return model
    return clone(model).set_params(inference=cross_validation.engine_of(model, X, classes))


def timed(
    model: Any,
    table: tuple[Any, Integers, Any],
    split: Split,
    question: Question,
    seed: int,
    clock: Callable[[], float] = time.perf_counter,
) -> Trial:
    """Return what a fit and its answers take; sampling is broken off after `LIMIT` seconds."""
    start = clock()
    sampling: list[float] = []

    def watch(what: str, done: int, total: int, /) -> None:
        """Raise `OutOfTime` where sampling at the pace so far would take beyond the limit."""
        now = clock()
        sampling.append(now)
        if done and now - sampling[0] > LIMIT:
            raise OutOfTime((now - sampling[0]) * total / done)

    rows = len(split[0])
    try:
        with shown("trial", None, watch):
            evaluation = cross_validation.unit(model, table, split, question, seed)
    except OutOfTime as reason:
        return Trial(rows, float(reason.args[0]), sampling[0] - start)
    once = sampling[0] - start if sampling else 0.0
    assert isinstance(evaluation, Evaluation)
    return Trial(rows, clock() - start - once, once, evaluation)
