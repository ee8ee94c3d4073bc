"""From the most probable hypothesis to the posterior predictive, step by step, on few and on many training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayesclf.errors import InputError
from bayesclf.experiments.experiment import Record, Results, Unit, option
from bayesclf.experiments.problems import FURTHER_PROBLEMS, PROBLEMS

if TYPE_CHECKING:
    import pandas as pd

    from bayesclf.experiments.nested import Learner
    from bayesclf.experiments.problems import Encoded
    from bayesclf.scores import RowScores

NAME = "small-data"
QUESTION = "Where does smoothing pay, and where does averaging?"

SIZES = (4, 8, 16, 32, 64, 128, 256, 512)
"""Training sizes, as far as a problem has rows; none below its number of classes."""

BLOCK = 5
"""Splits in one unit of work."""

MOST_TEST = 500
"""Test rows of a split."""

STEPS = {"mean": "smoothing", "bayes-optimal": "averaging", "predictive": "evidence"}
"""The rules after `map`, in order, and what the step to each is: `evidence` is that of the new row about θ."""

STEPPED = {"nb": ("map", *STEPS), "lr": ("map", "mean", "bayes-optimal")}
"""Rules of each model, in order; for logistic regression the new row is no evidence."""

METRICS = ("log_loss", "error", "overconfidence")
"""Means over the test rows: over-confidence is mean P(predicted class) minus accuracy."""

GAINS = ("log_loss", "error")
"""Metrics of which a step can gain: smaller is better."""

KEYS = ["problem", "kind", "classes", "columns", "m", "model"]


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    splits: int = option(100, "Random splits into training and test rows, for naive Bayes.")
    logistic_splits: int = option(20, "The first so many of them also for logistic regression.")
    problems: str = option(",".join(PROBLEMS | FURTHER_PROBLEMS), "Problems, with commas.")
    largest: int = option(256, "Largest training size.")
    most_weights: int = option(300, "Logistic regression with more weights than this is left out.")
    variance: str = option("feature", "Variance structure of naive Bayes on numbers.")
    seed: int = option(0, "Seed of everything.")


def units(settings: Settings) -> Sequence[Unit]:
    """Return (problem, first split) by blocks of splits; those with logistic regression take longest and come first."""
    names = [name.strip() for name in settings.problems.split(",")]
    known = PROBLEMS | FURTHER_PROBLEMS
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(f"unknown problem {unknown[0]!r}; they are {', '.join(known)}")
    if settings.splits < 2 or settings.largest < SIZES[0]:
        raise InputError(f"there must be at least 2 splits, and a largest size of at least {SIZES[0]} rows")
    return [(problem, start) for start in range(0, settings.splits, BLOCK) for problem in names]


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return the scores of each split of a block, size, model and rule."""
    from bayesclf.experiments import nested, problems

    problem, first = str(unit[0]), int(unit[1])
    encoded = problems.load(problem)
    allowed = [size for size in SIZES if len(encoded.labels) <= size <= settings.largest]
    sizes = nested.sizes_of(encoded, allowed, MOST_TEST)
    block = range(first, min(first + BLOCK, settings.splits))
    records: list[Record] = []
    for split, own in zip(block, seed.spawn(len(block)), strict=True):
        rng = np.random.default_rng(own)
        train, test = nested.split(encoded, rng, MOST_TEST)
        learners = _learners(settings, encoded, split)
        known = 0
        for size in sizes:
            for model, learner in learners.items():
                learner.extend(train[known:size])
                scored = nested.answers(learner, encoded, test, STEPPED[model], int(rng.integers(2**31)))
                about = {"kind": encoded.problem.kind, "classes": len(encoded.labels), "columns": len(encoded.features)}
                about = {"problem": problem, **about, "split": split, "m": size, "model": model}
                records += [{**about, "rule": rule, **_scores(answer)} for rule, answer in scored.items()]
            known = size
    return records


def _learners(settings: Settings, encoded: Encoded, split: int) -> dict[str, Learner]:
    """Return the models of a split."""
    from bayesclf.experiments import nested
    from bayesclf.families.logistic import LogisticPrior

    learners: dict[str, Learner] = {"nb": nested.NaiveBayes(encoded, settings.variance)}
    if split < settings.logistic_splits and weights(encoded) <= settings.most_weights:
        learners["lr"] = nested.Logistic(encoded, LogisticPrior())
    return learners


def weights(encoded: Encoded) -> int:
    """Return the number of weights of logistic regression, intercepts apart: one a number or level and vector."""
    columns = sum(map(len, encoded.levels)) if encoded.levels else len(encoded.features)
    return columns * (len(encoded.labels) - 1)


def _scores(answer: RowScores | str) -> Record:
    """Return the metrics; None for an infinite log loss. All rules have an answer here, as all priors are proper."""
    if isinstance(answer, str):
        raise InputError(f"a rule has no answer: {answer}")
    error, log_loss = float(answer.error.mean()), float(answer.log_loss.mean())
    confidence = float(np.exp(answer.log_proba.max(axis=1)).mean())
    return {
        "log_loss": float(f"{log_loss:.10g}") if np.isfinite(log_loss) else None,
        "error": float(f"{error:.10g}"),
        "overconfidence": float(f"{confidence - (1 - error):.10g}"),
    }


def summarise(settings: Settings, records: pd.DataFrame) -> pd.DataFrame:
    """Return, by problem, size, model and rule, the metrics and what the step to this rule gained.

    Means over the splits with standard errors; gains are paired by split, and positive where the step helps. `infinite`
    is the share of splits whose log loss is infinite, as a class of the test rows has probability 0: means and gains
    of log loss are over the others.
    """
    import pandas as pd

    if records.empty:
        raise InputError("no problem has a size of at least its number of classes; take a larger --largest")
    wide = records.pivot(index=[*KEYS, "split"], columns="rule", values=list(METRICS)).astype(float)
    answered = records.assign(answered=1.0).pivot(index=[*KEYS, "split"], columns="rule", values="answered")
    parts = []
    before = None
    for rule in STEPPED["nb"]:
        has = answered[rule].notna()
        own = wide[has].xs(rule, axis=1, level="rule")
        columns = {"splits": own["error"].groupby(KEYS).count()}
        columns["infinite"] = own["log_loss"].isna().groupby(KEYS).mean()
        for metric in METRICS:
            columns |= _mean(metric, own[metric])
        if before is not None:
            for metric in GAINS:
                columns |= _mean(f"{metric}_gain", wide[metric][before][has] - own[metric])
        parts.append(pd.DataFrame(columns).reset_index().assign(rule=rule, step=STEPS.get(rule)))
        before = rule
    table = pd.concat(parts, ignore_index=True)
    orders = {
        name: {value: index for index, value in enumerate(values)}
        for name, values in (("problem", PROBLEMS | FURTHER_PROBLEMS), ("model", STEPPED), ("rule", STEPPED["nb"]))
    }
    table = table[[*KEYS, "rule", "step", *(name for name in table if name not in (*KEYS, "rule", "step"))]]
    return table.sort_values(
        ["problem", "m", "model", "rule"], key=lambda c: c.map(orders[c.name]) if c.name in orders else c
    ).reset_index(drop=True)


def _mean(name: str, values: pd.Series) -> dict[str, pd.Series]:
    """Return mean and standard error over splits, by name."""
    groups = values.groupby(KEYS)
    return {name: groups.mean(), f"{name}_se": groups.sem()}


def present(settings: Settings, records: pd.DataFrame, table: pd.DataFrame) -> Results:
    """Say where each step pays, and show it."""
    from bayesclf.experiments.small_data_results import results

    return results(settings, table)
