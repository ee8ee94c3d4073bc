"""Where does smoothing help, and where does averaging?

With few rows a count of zero makes an estimated probability of zero, which one more row could have prevented. The
textbooks' remedy is smoothing: Laplace's rule adds one to each count, which gives a mode of the posterior (Mitchell,
draft chapter Generative and Discriminative Classifiers, 2010, eqs 6 to 9). The steps here begin at that mode, the rule
map. Smoothing is the step to mean, the mean of the parameters, which for counts adds two instead of one; averaging is
the step to bayes-optimal, the average of the class probabilities over the posterior; and evidence is the step to
predictive, in which the new row itself is evidence about the parameters. Logistic regression has no model of the rows,
and no last step. For naive Bayes on categories predictive equals mean, exactly.

Clear means at least two standard errors; of steps that change nothing, about one in twenty is called clear. Splits of
one data set share its rows, and what the steps gain depends on the priors: Dirichlet(2) for categories, the
unit-information prior for numbers, and the default prior of logistic regression.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bayesclf.errors import InputError
from bayesclf.evaluation.scores import RowScores
from bayesclf.experiments import ng_jordan
from bayesclf.experiments.ng_jordan import ALL_PROBLEMS, MODELS, Encoded, at_hand, left_out, load
from bayesclf.experiments.runner import Each, Figure, Record, Unit, in_order, means, option
from bayesclf.models.logistic.model import LogisticPrior
from bayesclf.plots import style
from bayesclf.plots.style import Axes
from bayesclf.plots.style import Figure as Drawing
from bayesclf.wording import counted, joined

SIZES = (4, 8, 16, 32, 64, 128, 256, 512)
"""Training sizes, as far as a problem has rows; none below its number of classes."""

BLOCK = 5
"""Splits in one unit of work."""

MOST_TEST = 500
"""Test rows of a split."""

STEPS = {"mean": "smoothing", "bayes-optimal": "averaging", "predictive": "evidence"}
"""The rules after `map`, in order, and what the step to each is: `evidence` is that of the new row about θ."""

STEPPED = {"nb": ("map", *STEPS), "lr": ("map", "mean", "bayes-optimal")}
"""Rules of each model, in order; for logistic regression the new row is not evidence."""

METRICS = ("log_loss", "error", "overconfidence")
"""Means over the test rows: over-confidence is mean P(predicted class) minus accuracy."""

GAINS = ("log_loss", "error")
"""Metrics that a step can improve: smaller is better."""

KEYS = ["problem", "kind", "classes", "columns", "m", "model"]

CLEAR = 2.0
"""Standard errors from which on a paired difference is called clear."""

TICKS = (-10.0, -1.0, -0.1, 0.0, 0.1, 1.0, 10.0)
"""Of the axis of gains in log loss, in nats: linear between the inner ones, logarithmic beyond."""


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    splits: int = option(100, "Random splits into training and test rows, for naive Bayes.")
    logistic_splits: int = option(20, "How many of these splits logistic regression gets.")
    problems: str = option("", "Problems, comma-separated; all by default.")
    largest: int = option(256, "Largest training size.")
    most_weights: int = option(300, "Logistic regression with more weights than this is skipped.")
    variance: str = option("feature", "Variance structure of naive Bayes on numbers.")
    seed: int = option(0, "Random seed.")


def tabulate(settings: Settings, each: Each) -> pd.DataFrame:
    """Return, by problem, size, model and rule, the metrics and what the step to this rule gained.

    Means over the splits with standard errors; gains are paired by split, and positive where the step helps. `infinite`
    is the share of splits whose log loss is infinite, as a class of the test rows has probability 0: means and gains
    of log loss are over the others.
    """
    names = at_hand(settings.problems, ALL_PROBLEMS)
    if settings.splits < 2 or settings.largest < SIZES[0]:
        raise InputError(f"there must be at least 2 splits, and a largest size of at least {SIZES[0]} rows")
    records = each([(problem, start) for start in range(0, settings.splits, BLOCK) for problem in names])
    if records.empty:
        raise InputError("no problem has a size of at least its number of classes; take a larger --largest")
    places = {rule: place for place, rule in enumerate(STEPPED["nb"])}
    lines = records.astype(dict.fromkeys(METRICS, float)).assign(place=records["rule"].map(places))
    lines = lines.sort_values([*KEYS, "split", "place"], ignore_index=True)
    before = lines.groupby([*KEYS, "split"])[list(GAINS)].shift()
    gains = [f"{metric}_gain" for metric in GAINS]
    lines[gains] = before - lines[list(GAINS)]
    groups = lines.assign(infinite=lines["log_loss"].isna()).groupby([*KEYS, "rule"], sort=False)
    table = means(groups, *METRICS, *gains)
    table.insert(len(KEYS) + 1, "step", table["rule"].map(STEPS))
    table.insert(len(KEYS) + 2, "splits", groups.size().to_numpy())
    table.insert(len(KEYS) + 3, "infinite", groups["infinite"].mean().to_numpy())
    by = ["problem", "m", "model", "rule"]
    return in_order(table, by, problem=ALL_PROBLEMS, model=STEPPED, rule=STEPPED["nb"])


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return the scores of each split of a block, size, model and rule."""
    problem, first = str(unit[0]), int(unit[1])
    encoded = load(problem)
    allowed = [size for size in SIZES if len(encoded.labels) <= size <= settings.largest]
    sizes = ng_jordan.sizes_of(encoded, allowed, MOST_TEST)
    block = range(first, min(first + BLOCK, settings.splits))
    records: list[Record] = []
    for split, own in zip(block, seed.spawn(len(block)), strict=True):
        rng = np.random.default_rng(own)
        train, test = ng_jordan.split_rows(encoded, rng, MOST_TEST)
        for size, model, learner in ng_jordan.growing(_learners(settings, encoded, split), train, sizes):
            scored = ng_jordan.score(learner, encoded, test, STEPPED[model], int(rng.integers(2**31)))
            about = {"kind": encoded.kind, "classes": len(encoded.labels), "columns": len(encoded.features)}
            about = {"problem": problem, **about, "split": split, "m": size, "model": model}
            records += [{**about, "rule": rule, **_scores(found)} for rule, found in scored.items()]
    return records


def answer(settings: Settings, table: pd.DataFrame) -> tuple[str, ...]:
    """Say on how many data sets each step clearly lowers the log loss, with the fewest rows."""
    counts = summary(settings, table)
    counts = counts[counts["metric"] == "log_loss"]
    said = []
    for model, own in counts.groupby("model", sort=False):
        steps = joined(f"{step} on {falls}" for step, falls in zip(own["step"], own["falls, smallest"], strict=True))
        said.append(f"{steps} of {counted(own['data sets'].iloc[0], 'data set')} with {model}")
    headline = f"At the smallest training size, log loss falls clearly by {'; '.join(said)}."
    with_both = table.groupby("problem")["model"].nunique() == 2
    skipped = (
        f"Logistic regression is left out in {joined(with_both.index[~with_both])}: over {settings.most_weights} "
        "weights, or no splits for it.",
    ) * bool((~with_both).any())
    return headline, *skipped, *left_out(settings.problems, ALL_PROBLEMS, table["problem"])


def summary(settings: Settings, table: pd.DataFrame) -> pd.DataFrame:
    """Return on how many data sets each step clearly lowers or raises a metric, at their smallest and largest size."""
    made = []
    for metric in GAINS:
        lines = judged(table, metric)
        for (model, step), own in lines.groupby(["model", "step"], sort=False):
            line: Record = {"model": MODELS[str(model)], "step": step, "metric": metric}
            line["data sets"] = own["problem"].nunique()
            for size, part in zip(("smallest", "largest"), ends(own), strict=True):
                line |= {f"falls, {size}": (part["verdict"] == "gain").sum()}
                line |= {f"rises, {size}": (part["verdict"] == "loss").sum()}
            made.append(line)
    return pd.DataFrame(made)


def figures(settings: Settings, table: pd.DataFrame) -> tuple[Figure, ...]:
    """Return what each step gains in log loss, by model."""
    caption = (
        "To the right of the line the step lowers the log loss. Open: the smallest training size; filled: the largest; "
        f"bars are two standard errors. In brackets the number of classes. Linear up to ±{TICKS[4]:g} nats, then "
        "logarithmic."
    )
    return tuple(
        Figure(
            f"gain-log_loss-{model}",
            f"Gain in log loss of each step with {name}",
            caption,
            partial(gains, table[table["model"] == model]),
        )
        for model, name in MODELS.items()
        if model in set(table["model"])
    )


def _learners(settings: Settings, encoded: Encoded, split: int) -> dict[str, ng_jordan.Learner]:
    """Return the models of a split."""
    learners: dict[str, ng_jordan.Learner] = {"nb": ng_jordan.NaiveBayes(encoded, settings.variance)}
    if split < settings.logistic_splits and weights(encoded) <= settings.most_weights:
        learners["lr"] = ng_jordan.Logistic(encoded, LogisticPrior())
    return learners


def weights(encoded: Encoded) -> int:
    """Return the number of weights of logistic regression, without intercepts."""
    columns = sum(map(len, encoded.levels)) if encoded.levels else len(encoded.features)
    return columns * (len(encoded.labels) - 1)


def _scores(found: RowScores | str) -> Record:
    """Return the metrics; None for an infinite log loss. All rules have an answer here, as all priors are proper."""
    if isinstance(found, str):
        raise InputError(f"a rule has no answer: {found}")
    values = ng_jordan.mean_scores(found)
    return {name: float(f"{values[name]:.10g}") if np.isfinite(values[name]) else None for name in METRICS}


def ends(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the records of the smallest and of the largest size of each problem."""
    sizes = table.groupby("problem")["m"]
    return table[table["m"] == sizes.transform("min")], table[table["m"] == sizes.transform("max")]


def verdict(line: Any, before: float, metric: str) -> str:
    """Return ``"gain"``, ``"loss"`` or ``"unclear"`` of a step.

    Parameters
    ----------
    line
        The record of the rule that the step leads to.
    before
        Share of splits whose log loss was infinite before the step.
    metric
        Log loss or error.
    """
    if metric == "log_loss" and line["infinite"] != before:
        return "gain" if line["infinite"] < before else "loss"
    gain, error = line[f"{metric}_gain"], line[f"{metric}_gain_se"]
    # where all splits agree to the last digits, a difference is a rounding error
    if not abs(gain) >= max(CLEAR * error, 1e-9):
        return "unclear"
    return "gain" if gain > 0 else "loss"


def judged(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the records that a step leads to, with the verdict on the step."""
    before = table.groupby(["problem", "m", "model"], sort=False)["infinite"].shift().fillna(0.0)
    lines = table.assign(before=before)[table["step"].notna()]
    return lines.assign(verdict=[verdict(line, line["before"], metric) for line in lines.to_dict("records")])


def gains(table: pd.DataFrame) -> Drawing:
    """Return one panel per step of one model, with two marks per data set."""
    from matplotlib.ticker import FixedLocator

    names = list(dict.fromkeys(table["problem"]))
    classes = table.groupby("problem")["classes"].first()
    rules = [rule for rule in STEPS if rule in set(table["rule"])]
    figure, axes = style.panels(len(rules), (2.9, 0.5 + 0.24 * len(names)))
    for ax, rule in zip(axes, rules, strict=True):
        for part, shift, filled in zip(ends(table), (-0.17, 0.17), (False, True), strict=True):
            _gain_marks(ax, part[part["rule"] == rule], names, shift, filled)
        ax.axvline(0, color=style.ink(), linewidth=0.9)
        ax.set_xscale("symlog", linthresh=TICKS[4])
        ax.xaxis.set_major_locator(FixedLocator(TICKS))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.set_title(STEPS[rule], loc="left", fontsize="small")
        ax.tick_params(labelsize="small")
        style.quiet(ax, "both")
    axes[0].set_yticks(range(len(names)), [f"{name} ({classes[name]})" for name in names])
    axes[0].set_ylim(len(names) - 0.4, -0.6)
    figure.supxlabel("gain in log loss", fontsize="small")
    return figure


def _gain_marks(ax: Axes, lines: pd.DataFrame, names: list[str], shift: float, filled: bool) -> None:
    """Draw the gain of one step on each data set, with bars of two standard errors."""
    color = style.class_color(int(filled))
    ax.errorbar(
        lines["log_loss_gain"],
        [names.index(name) + shift for name in lines["problem"]],
        xerr=2 * lines["log_loss_gain_se"],
        fmt="o",
        markersize=4.5,
        color=color,
        markerfacecolor=color if filled else "none",
        elinewidth=1,
    )
