"""Ng & Jordan's Figure 1: test error of naive Bayes and logistic regression against the number of training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayesclf.errors import InputError
from bayesclf.experiments.crossing import Crossing, crossing
from bayesclf.experiments.experiment import Record, Results, Unit, option
from bayesclf.experiments.problems import PROBLEMS

if TYPE_CHECKING:
    import pandas as pd

    from bayesclf.scores import RowScores

NAME = "ng-jordan"
QUESTION = "From how many training rows on is logistic regression better than naive Bayes, under each rule?"

SIZES = (4, 6, 9, 13, 20, 30, 45, 70, 100, 150, 225, 350, 500, 750, 1000)
"""Training sizes, as far as a problem has rows; rules that need a posterior take every other one, and the largest."""

BLOCK = 10
"""Splits in one unit of work."""

MOST_TEST = 1000
"""Test rows of a split."""

METRICS = ("error", "log_loss", "brier", "overconfidence")
"""What is averaged over the test rows: over-confidence is mean P(predicted class) minus accuracy."""


@dataclass(frozen=True)
class Settings:
    """Options of the experiment.

    Logistic regression has normal weights of sd `prior_scale` per sd of a column, and an intercept of sd twice that.
    """

    splits: int = option(1000, f"Random splits, for the rules mle and map, in steps of {BLOCK}.")
    posterior_splits: int = option(100, f"The first so many of them for all rules, in steps of {BLOCK}.")
    problems: str = option(",".join(PROBLEMS), "Problems, with commas.")
    largest: int = option(SIZES[-1], "Largest training size.")
    prior_scale: float = option(5.0, "Prior sd of a logistic weight per sd of its column.")
    variance: str = option("feature", "Variance structure of naive Bayes on numbers.")
    seed: int = option(0, "Seed of everything.")


def units(settings: Settings) -> Sequence[Unit]:
    """Return (problem, first split) by blocks of splits; those that need a posterior take longest and come first."""
    names = [name.strip() for name in settings.problems.split(",")]
    unknown = [name for name in names if name not in PROBLEMS]
    if unknown:
        raise InputError(f"unknown problem {unknown[0]!r}; they are {', '.join(PROBLEMS)}")
    if settings.splits < 2 * BLOCK or settings.splits % BLOCK or settings.posterior_splits % BLOCK:
        raise InputError(
            f"splits come by {BLOCK}, at least {2 * BLOCK} of them, posterior splits too, not {settings.splits} and "
            f"{settings.posterior_splits}"
        )
    if settings.largest < SIZES[0]:
        raise InputError(f"the largest size must be at least {SIZES[0]} rows, not {settings.largest}")
    starts = range(0, settings.splits, BLOCK)
    return [(problem, start) for start in starts for problem in names]


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return, for each size, model and rule, sums over the splits of a block."""
    from bayesclf.experiments import nested, problems
    from bayesclf.families.logistic import LogisticPrior

    problem, first = str(unit[0]), int(unit[1])
    encoded = problems.load(problem)
    sizes = nested.sizes_of(encoded, [size for size in SIZES if size <= settings.largest], MOST_TEST)
    prior = LogisticPrior(prior_scale=settings.prior_scale, intercept_scale=2 * settings.prior_scale)
    sums: dict[tuple[int, str, str], Sum] = {}
    block = range(first, first + BLOCK)
    for number, own in zip(block, seed.spawn(len(block)), strict=True):
        rng = np.random.default_rng(own)
        train, test = nested.split(encoded, rng, MOST_TEST)
        averages = number < settings.posterior_splits
        learners: dict[str, nested.Learner] = {
            "nb": nested.NaiveBayes(encoded, settings.variance),
            "lr": nested.Logistic(encoded, prior),
        }
        known = 0
        for place, size in enumerate(sizes):
            rules = nested.PLUG_IN + (nested.AVERAGED if averages and (place % 2 == 0 or size == sizes[-1]) else ())
            for model, learner in learners.items():
                learner.extend(train[known:size])
                scored = nested.answers(learner, encoded, test, rules, int(rng.integers(2**31)))
                for rule, answer in scored.items():
                    sums.setdefault((size, model, rule), Sum()).add(answer)
            known = size
    return [
        {"problem": problem, "block": first, "m": size, "model": model, "rule": rule, **total.record()}
        for (size, model, rule), total in sums.items()
    ]


def summarise(settings: Settings, records: pd.DataFrame) -> pd.DataFrame:
    """Return the metrics' means over the splits, with standard errors, by problem, size, model and rule.

    `undefined` is the share of splits in which the rule had no answer: for logistic regression under mle, those whose
    training rows are separable. `infinite` is the share of the others whose log loss is infinite, which its mean leaves
    out.
    """
    keys = ["problem", "m", "model", "rule"]
    sums = records.drop(columns="block").groupby(keys, sort=False).sum().reset_index()
    table = sums[[*keys, "splits"]].copy()
    answered = sums["answered"]
    table["undefined"] = 1 - answered / sums["splits"]
    table["infinite"] = sums["infinite"] / answered
    for metric in METRICS:
        count = answered - sums["infinite"] if metric == "log_loss" else answered
        mean = sums[metric] / count
        variance = (sums[f"{metric}_2"] / count - mean**2).clip(lower=0) * count / (count - 1)
        table[metric], table[f"{metric}_se"] = mean, np.sqrt(variance / count)
    order = {problem: index for index, problem in enumerate(PROBLEMS)}
    return table.sort_values(["problem", "m"], key=lambda c: c.map(order) if c.name == "problem" else c, kind="stable")


def present(settings: Settings, records: pd.DataFrame, table: pd.DataFrame) -> Results:
    """Say which problems agree with the paper's claims, and show the curves."""
    from bayesclf.experiments.ng_jordan_results import results

    return results(settings, records, table)


def crossings(records: pd.DataFrame, seed: int) -> dict[tuple[str, str], Crossing]:
    """Return, by problem and rule, from which size on the error of logistic regression stays below naive Bayes'."""
    found = {}
    for (problem, rule), own in records.groupby(["problem", "rule"], sort=False):
        wide = block_means(own)
        if not {"nb", "lr"} <= set(wide.columns.get_level_values("model")):
            continue
        sizes = wide["nb"].columns.to_numpy(dtype=float)
        difference = wide["nb"].to_numpy() - wide["lr"].to_numpy()
        answered = ~np.isnan(difference).any(axis=0)
        if answered.any():
            rng = np.random.default_rng(seed)
            found[str(problem), str(rule)] = crossing(sizes[answered], difference[:, answered], rng)
    return found


def block_means(records: pd.DataFrame, metric: str = "error") -> pd.DataFrame:
    """Return the mean of a metric over the splits of each block: a line a block, columns (model, m)."""
    means = records.assign(mean=records[metric] / records["answered"].where(records["answered"] > 0))
    return means.pivot_table(index="block", columns=["model", "m"], values="mean", dropna=False)


class Sum:
    """Sums over splits of the metrics' means over test rows."""

    def __init__(self) -> None:
        self._splits = self._answered = self._infinite = 0
        self._sums = np.zeros(len(METRICS))
        self._squares = np.zeros(len(METRICS))

    def add(self, answer: RowScores | str) -> None:
        """Add a split; a rule that could not answer counts as a split without answer."""
        self._splits += 1
        if isinstance(answer, str):
            return
        confidence = float(np.exp(answer.log_proba.max(axis=1)).mean())
        error, log_loss = float(answer.error.mean()), float(answer.log_loss.mean())
        self._infinite += not np.isfinite(log_loss)
        values = np.array([error, log_loss, float(answer.brier.mean()), confidence - (1 - error)])
        self._answered += 1
        self._sums += np.where(np.isfinite(values), values, 0.0)
        self._squares += np.where(np.isfinite(values), values**2, 0.0)

    def record(self) -> Record:
        """Return the sums by name; `infinite` counts the splits whose log loss is, which its sums leave out."""
        sums = {metric: float(value) for metric, value in zip(METRICS, self._sums, strict=True)}
        squares = {f"{metric}_2": float(value) for metric, value in zip(METRICS, self._squares, strict=True)}
        return {
            "splits": self._splits,
            "answered": self._answered,
            "infinite": self._infinite,
            **{name: float(f"{value:.10g}") for name, value in (sums | squares).items()},
        }
