"""What each classifier converges to, and how fast, where its assumptions hold and where they do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.errors import InputError
from bayesclf.experiments.experiment import Record, Results, Unit, option
from bayesclf.experiments.populations import POPULATIONS, THREE_POINTS, Cells

if TYPE_CHECKING:
    import pandas as pd

    from bayesclf.classifiers.base import BayesClassifier

NAME = "assumptions"
QUESTION = "Which boundary does each classifier draw when its assumptions hold, and when not?"

CLASSIFIERS = ("GNB", "GNB2", "LR")
"""Gaussian naive Bayes, the same with one variance a feature for both classes, and logistic regression."""

SIZES = (8, 16, 32, 64, 128, 256, 512, 1024, 2048)
"""Training sizes."""

POINTS = "three points"
LEAST = "least"
"""Stands for the classifier that knows the population."""


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    sets: int = option(100, "Training sets for each population.")
    picture_rows: int = option(60, "Training rows of the pictures.")
    seed: int = option(0, "Seed of everything.")


def classifier(name: str, **options: Any) -> BayesClassifier:
    """Return a new classifier by its name here."""
    import bayesclf as bc

    if name == "LR":
        return bc.LogisticRegression(**options)
    return bc.GaussianNB(variance="feature" if name == "GNB2" else "class-feature", **options)


def units(settings: Settings) -> Sequence[Unit]:
    """Return ("limit", population) and ("curve", population, training set)."""
    if settings.sets < 2:
        raise InputError(f"there must be at least 2 training sets, not {settings.sets}")
    if settings.picture_rows < 2:
        raise InputError(f"the pictures need at least 2 rows, not {settings.picture_rows}")
    curves = [("curve", name, index) for index in range(settings.sets) for name in POPULATIONS]
    return [*(("limit", name) for name in (*POPULATIONS, POINTS)), *curves]


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return the scores of what classifiers converge to, or of their fits to parts of one training set."""
    name = str(unit[1])
    return _limits(name) if unit[0] == "limit" else _curve(name, int(unit[2]), np.random.default_rng(seed))


def _limits(name: str) -> list[Record]:
    """Return expected error and log loss of each classifier's limit, and the least there are."""
    cells = THREE_POINTS if name == POINTS else POPULATIONS[name].cells()
    least = cells.scores(_log(cells.joint)) if name == POINTS else POPULATIONS[name].least()
    found = {LEAST: least} | {own: limit_scores(own, cells) for own in CLASSIFIERS}
    return [
        {"part": "limit", "population": name, "classifier": own, "error": error, "log_loss": loss}
        for own, (error, loss) in found.items()
    ]


def _log(joint: np.ndarray) -> np.ndarray:
    return np.asarray(np.log(joint) - np.log(joint.sum(axis=1, keepdims=True)))


def limit_scores(name: str, cells: Cells) -> tuple[float, float]:
    """Return error and log loss of what a classifier converges to: its maximum likelihood fit to the population."""
    X, y, weight = cells.as_rows()
    fit = classifier(name, inference="mle").fit(X, y, sample_weight=weight)
    return cells.scores(fit.predict_log_proba(cells.x, rule="mle"))


def _curve(name: str, index: int, rng: np.random.Generator) -> list[Record]:
    """Return error and log loss of each classifier after the first rows of one training set, at each size."""
    cells = POPULATIONS[name].cells()
    X, y = POPULATIONS[name].draw(SIZES[-1], rng)
    records = []
    for size in SIZES:
        for own in CLASSIFIERS:
            fit = classifier(own, inference="map").fit(X[:size], y[:size])
            error, loss = cells.scores(fit.predict_log_proba(cells.x, rule="map"))
            about = {"part": "curve", "population": name, "set": index, "classifier": own, "m": size}
            records.append({**about, "error": error, "log_loss": loss})
    return records


def summarise(settings: Settings, records: pd.DataFrame) -> pd.DataFrame:
    """Return expected error and log loss by population, classifier and m, with standard errors over training sets.

    What classifiers converge to has m = ∞, as has the classifier "least", which knows the population.
    """
    import pandas as pd

    keys = ["part", "population", "classifier", "m"]
    curves = records[records["part"] == "curve"]
    means = curves.groupby(keys, sort=False).agg(
        error=("error", "mean"),
        error_se=("error", "sem"),
        log_loss=("log_loss", "mean"),
        log_loss_se=("log_loss", "sem"),
    )
    limits = records[records["part"] == "limit"][["part", "population", "classifier", "error", "log_loss"]]
    table = pd.concat([means.reset_index(), limits.assign(m=np.inf)], ignore_index=True)
    order = [*POPULATIONS, POINTS]
    return table.sort_values("population", key=lambda names: names.map(order.index), kind="stable", ignore_index=True)


def present(settings: Settings, records: pd.DataFrame, table: pd.DataFrame) -> Results:
    """Say what each classifier converges to and who is ahead on the way, and draw the boundaries."""
    from bayesclf.experiments.assumptions_results import results

    return results(settings, records, table)
