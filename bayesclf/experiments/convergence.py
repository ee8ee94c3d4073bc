"""How many rows does each classifier need to approach its limit, as columns are added?

Ng and Jordan (On discriminative vs. generative classifiers, NIPS 14, 2002) proved how many rows a classifier needs to
come near its own limit. With d columns, the number grows like log d for naive Bayes, and like d for logistic
regression. Here rows are simulated from two normal distributions for which the assumptions of both hold, so both have
the same limit. Rows are counted until the mean excess error, beyond the smallest possible one, stays below 0.02.
Columns are added in two ways: each tells as much as any other, or all together tell as much whatever their number.

The assumptions of both classifiers hold here: normal columns, independent given the class, with equal variances. Where
many columns tell as much each, the smallest possible error is near 0, and few rows are enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from bayesclf.arrays import Array
from bayesclf.errors import InputError
from bayesclf.experiments.ng_jordan import LEARNERS, MODELS, Encoded
from bayesclf.experiments.runner import Each, Figure, Record, Unit, curves, labels_of_two, last_crossing, option
from bayesclf.models.generative import GenerativeModel
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.tables.columns import Rows

EACH, TOGETHER = "each column tells as much", "all columns together tell as much"

REGIMES = {EACH: 0.4, TOGETHER: 2.5}
"""The difference of the means in each column, or the distance of the means whatever the number of columns."""

NEAR = 0.02
"""Excess error that counts as near the limit."""

COLUMNS = (4, 8, 16, 32, 64)
"""Numbers of columns."""

SIZES = (8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512, 724, 1024, 1448)
"""Training sizes."""

BLOCK = 20
"""Training sets in one unit of work."""

LABELS = ("training rows", "excess error")
"""Of the axes."""

type Line = tuple[float, Array]
"""Intercept at x = 0 and weights (feature) of log-odds."""


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    sets: int = option(200, f"Training sets for each number of columns, in steps of {BLOCK}.")
    seed: int = option(0, "Random seed.")


def tabulate(settings: Settings, each: Each) -> pd.DataFrame:
    """Return mean excess errors with standard errors by setting, columns, m and model."""
    if settings.sets < 2 * BLOCK or settings.sets % BLOCK:
        raise InputError(f"training sets come by {BLOCK}, at least {2 * BLOCK} of them, not {settings.sets}")
    blocks = range(0, settings.sets, BLOCK)
    records = each([("growth", regime, d, first) for first in blocks for d in reversed(COLUMNS) for regime in REGIMES])
    keys = ["setting", "columns", "m", "model"]
    growth = records.melt([*keys[:-1], "block"], list(MODELS), "model", "value")
    return growth.groupby(keys, sort=False)["value"].agg(value="mean", se="sem").reset_index()


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return mean excess errors of both models over a block of training sets, at each size."""
    regime, columns, first = str(unit[1]), int(unit[2]), int(unit[3])
    rng = np.random.default_rng(seed)
    pair = GaussianPair(np.full(columns, REGIMES[regime] / (1 if regime == EACH else np.sqrt(columns))))
    excess = {size: dict.fromkeys(MODELS, 0.0) for size in SIZES}
    for _ in range(BLOCK):
        encoded = pair.draw(SIZES[-1], rng)
        for size in SIZES:
            rows = np.arange(size)
            for model, line in LINES.items():
                excess[size][model] += pair.error(*line(LEARNERS[model](encoded, rows)[0])) - pair.least_error
    about = {"setting": regime, "columns": columns, "block": first}
    return [{**about, "m": size} | {name: total / BLOCK for name, total in own.items()} for size, own in excess.items()]


def answer(settings: Settings, table: pd.DataFrame) -> tuple[str, ...]:
    """Say how rows grow with columns in each regime."""
    needed = summary(settings, table)
    said = []
    for regime, own in needed.groupby("setting", sort=False):
        powers = {model: growth_exponent(own["columns"], own[name]) for model, name in MODELS.items()}
        said.append(
            f"Where {regime}, the rows needed grow like the number of columns to the power {powers['nb']:.2f} for "
            f"naive Bayes and {powers['lr']:.2f} for logistic regression."
        )
    log = growth_exponent(needed["columns"], np.log(needed["columns"]))
    said[0] += f" The statement of Ng and Jordan, log d rows (a power of {log:.2f} here) against d, is about this case."
    return tuple(said)


def summary(settings: Settings, table: pd.DataFrame) -> pd.DataFrame:
    """Return from which size on each mean excess error stays below `NEAR`: infinite where no size is large enough."""
    rows = {
        key: last_crossing(own["m"].to_numpy(dtype=float), NEAR - own["value"].to_numpy())
        for key, own in table.groupby(["setting", "columns", "model"])
    }
    wide = pd.Series(rows).unstack().rename(columns=MODELS).loc[list(REGIMES), list(MODELS.values())]
    return wide.rename_axis(["setting", "columns"]).reset_index()


def figure(settings: Settings, table: pd.DataFrame) -> Figure:
    """Return one panel per way of adding columns and model, with one curve per number of columns."""
    growth = table.assign(panel=table["setting"] + ", " + table["model"].map(MODELS), value_se=table["se"])
    caption = "Darker curves have more columns; bands are one standard error."
    draw = partial(curves, growth, "panel", "columns", "value", labels=LABELS)
    return Figure("Excess error against rows, by how columns are added", caption, draw)


@dataclass(frozen=True)
class GaussianPair:
    """x | y ~ N(±δ/2, I), both classes as probable: plus for the second.

    Attributes
    ----------
    delta
        Difference of the means (feature).
    """

    delta: Array

    @property
    def least_error(self) -> float:
        """Φ(−Δ/2), the error of the best rule; Δ = |δ| is the Mahalanobis distance of the means."""
        return float(ndtr(-np.linalg.norm(self.delta) / 2))

    def draw(self, rows: int, rng: np.random.Generator) -> Encoded:
        """Draw rows, as a problem; the first two are of different classes."""
        y = labels_of_two(rows, rng)
        X = rng.standard_normal((rows, len(self.delta))) + (y[:, None] - 0.5) * self.delta
        names = tuple(f"x{j}" for j in range(len(self.delta)))
        return Encoded("number", X, y, ("0", "1"), names)

    def error(self, intercept: float, weight: Array) -> float:
        """Return the error of predicting the second class where intercept + weight·x > 0, exactly."""
        size = float(np.linalg.norm(weight))
        if size == 0:
            return 0.5
        half = float(weight @ self.delta) / 2
        return float(0.5 * (ndtr((-half + intercept) / size) + ndtr((-half - intercept) / size)))


def naive_bayes_line(model: GenerativeModel) -> Line:
    """Return the log-odds of naive Bayes with one variance per feature, by maximum likelihood.

    References
    ----------
    Mitchell, eqs 21 and 22.
    """
    found = model.mle()
    mu, sigma2, pi = (found[name][0] for name in ("mu", "sigma2", "pi"))
    weight = (mu[1] - mu[0]) / sigma2
    return float(np.log(pi[1] / pi[0]) - 0.5 * ((mu[1] ** 2 - mu[0] ** 2) / sigma2).sum()), weight


def logistic_line(model: LogisticModel) -> Line:
    """Return the log-odds of logistic regression under ``"map"``."""
    found = model.map()
    zero = Rows((np.zeros((1, len(model.design.number_names))), np.empty((1, 0), dtype=np.intp)), 1)
    intercept = float(model.log_scores(zero, found)[0, 0] @ np.array([-1.0, 1.0]))
    weight = np.zeros(len(model.design.number_names))
    weight[model.design.varying] = found["weight"][0, 0]
    return intercept, weight


LINES: dict[str, Callable[[Any], Line]] = {"nb": naive_bayes_line, "lr": logistic_line}


def growth_exponent(columns: pd.Series, rows: pd.Series) -> float:
    """Return the slope of log rows against log columns, where rows are finite; NaN with fewer than two."""
    finite = np.isfinite(rows)
    if finite.sum() < 2:
        return float("nan")
    return float(np.polyfit(np.log(columns[finite]), np.log(rows[finite]), 1)[0])
