"""From the most probable hypothesis to the posterior predictive, step by step, with few and with many training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bayesclf.errors import InputError
from bayesclf.evaluation.scores import RowScores
from bayesclf.experiments import nested, problems
from bayesclf.experiments.curves import METRIC_NAMES, MODELS, SHARED_ROWS, capital, every_rule, in_order, means
from bayesclf.experiments.experiment import Axes, Drawing, Figure, Record, Results, Section, Unit, option
from bayesclf.experiments.problems import ALL_PROBLEMS, Encoded
from bayesclf.models.logistic.model import LogisticPrior
from bayesclf.plots import style
from bayesclf.wording import counted, joined, number, pair, percent

NAME = "small-data"

QUESTION = "Where does smoothing help, and where does averaging?"

BACKGROUND = (
    "With few rows a count of zero makes an estimated probability of zero, which one more row could have prevented. "
    "The textbooks' remedy is smoothing: Laplace's rule adds one to each count, which gives a mode of the posterior "
    "(Mitchell, draft chapter Generative and Discriminative Classifiers, 2010, eqs 6 to 9). A posterior allows two "
    "further steps: to average over all parameters that the rows leave possible, instead of taking one of them, and to "
    "take the new row itself as evidence about the parameters.",
    "The steps begin at that mode, the rule “map”. The rule “mean” takes the mean of the parameters under the "
    "posterior; this step is called smoothing here, because for counts it adds two instead of one. The rule "
    "“bayes-optimal” averages the class probabilities over the posterior, which is the step of averaging. The rule "
    "“predictive” averages over the posterior given the new row too, which is the step of evidence. What does each "
    "step gain, on tables of two and more classes, with few training rows and with many?",
)

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

LEAST_SPAN = 2.0
"""Ratio of the largest to the smallest training size from which a data set has curves."""


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    splits: int = option(100, "Random splits into training and test rows, for naive Bayes.")
    logistic_splits: int = option(20, "How many of these splits logistic regression gets.")
    problems: str = option(",".join(ALL_PROBLEMS), "Problems, comma-separated.")
    largest: int = option(256, "Largest training size.")
    most_weights: int = option(300, "Logistic regression with more weights than this is skipped.")
    variance: str = option("feature", "Variance structure of naive Bayes on numbers.")
    seed: int = option(0, "Random seed.")


def units(settings: Settings) -> Sequence[Unit]:
    """Return (problem, first split) by blocks of splits; those with logistic regression take longest and are first."""
    names = problems.at_hand(settings.problems, ALL_PROBLEMS)
    if settings.splits < 2 or settings.largest < SIZES[0]:
        raise InputError(f"there must be at least 2 splits, and a largest size of at least {SIZES[0]} rows")
    return [(problem, start) for start in range(0, settings.splits, BLOCK) for problem in names]


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return the scores of each split of a block, size, model and rule."""
    problem, first = str(unit[0]), int(unit[1])
    encoded = problems.load(problem)
    allowed = [size for size in SIZES if len(encoded.labels) <= size <= settings.largest]
    sizes = nested.sizes_of(encoded, allowed, MOST_TEST)
    block = range(first, min(first + BLOCK, settings.splits))
    records: list[Record] = []
    for split, own in zip(block, seed.spawn(len(block)), strict=True):
        rng = np.random.default_rng(own)
        train, test = nested.split(encoded, rng, MOST_TEST)
        for size, model, learner in nested.growing(_learners(settings, encoded, split), train, sizes):
            scored = nested.answers(learner, encoded, test, STEPPED[model], int(rng.integers(2**31)))
            about = {"kind": encoded.problem.kind, "classes": len(encoded.labels), "columns": len(encoded.features)}
            about = {"problem": problem, **about, "split": split, "m": size, "model": model}
            records += [{**about, "rule": rule, **_scores(answer)} for rule, answer in scored.items()]
    return records


def _learners(settings: Settings, encoded: Encoded, split: int) -> dict[str, nested.Learner]:
    """Return the models of a split."""
    learners: dict[str, nested.Learner] = {"nb": nested.NaiveBayes(encoded, settings.variance)}
    if split < settings.logistic_splits and weights(encoded) <= settings.most_weights:
        learners["lr"] = nested.Logistic(encoded, LogisticPrior())
    return learners


def weights(encoded: Encoded) -> int:
    """Return the number of weights of logistic regression, without intercepts."""
    columns = sum(map(len, encoded.levels)) if encoded.levels else len(encoded.features)
    return columns * (len(encoded.labels) - 1)


def _scores(answer: RowScores | str) -> Record:
    """Return the metrics; None for an infinite log loss. All rules have an answer here, as all priors are proper."""
    if isinstance(answer, str):
        raise InputError(f"a rule has no answer: {answer}")
    found = nested.metrics(answer)
    return {name: float(f"{found[name]:.10g}") if np.isfinite(found[name]) else None for name in METRICS}


def summarise(settings: Settings, records: pd.DataFrame) -> pd.DataFrame:
    """Return, by problem, size, model and rule, the metrics and what the step to this rule gained.

    Means over the splits with standard errors; gains are paired by split, and positive where the step helps. `infinite`
    is the share of splits whose log loss is infinite, as a class of the test rows has probability 0: means and gains
    of log loss are over the others.
    """
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


def present(settings: Settings, records: pd.DataFrame, table: pd.DataFrame) -> Results:
    """Say where each step helps, and show it."""
    names = [str(problem) for problem in dict.fromkeys(table["problem"])]
    models = [model for model in MODELS if model in set(table["model"])]
    findings = [*problems.left_out(settings.problems, ALL_PROBLEMS, names)]
    findings += [_by_classes(table, model) for model in models]
    findings += [_overconfidence(table, model) for model in models]
    without = [problem for problem in names if "lr" not in set(table.loc[table["problem"] == problem, "model"])]
    if "lr" in models and without:
        findings.append(f"Logistic regression is left out in {joined(without)}: over {settings.most_weights} weights.")
    curves = tuple(figure for metric in METRICS for model in models for figure in _curves(table, names, model, metric))
    gain_figures = tuple(_gain_figure(table, model, metric) for metric in GAINS for model in models)
    counts = tallies(table)
    sections = (
        Section("How often each step helps", (COUNTS_TEXT,), (), counts),
        Section("What each step gains", (*STEPS_TEXT, *TABLE_TEXT), (), gains_table(table)),
        Section("Gains with few rows and with many", (), gain_figures),
        Section("Every rule against training rows", ("Bands are one standard error over splits.",), curves),
    )
    said = "; ".join(_falls(counts[counts["model"] == MODELS[model]]) for model in models)
    headline = f"At the smallest training size, log loss falls clearly by {said}."
    return Results(headline, tuple(findings), CAUTIONS, sections)


CAUTIONS = (
    SHARED_ROWS,
    "Clear means at least two standard errors. Of steps that change nothing, about one in twenty is called clear.",
    "What the steps gain depends on the priors: Dirichlet(2) for categories, for which map is Laplace's rule, the "
    "unit-information prior for numbers, and the default prior of logistic regression.",
    "In theory, averaging reduces over-confidence that comes from few rows as far as the prior is right, and does not "
    "repair that which comes from features that depend on each other. The two are not measured apart here.",
)

STEPS_TEXT = (
    "Smoothing is the step from map to mean, averaging that from mean to bayes-optimal, and evidence that from "
    "bayes-optimal to predictive, where the new row itself is evidence about the parameters θ.",
    "For logistic regression the last step does not exist, as it has no model of the rows. For naive Bayes on "
    "categories it cancels the effect of averaging: predictive equals mean, exactly, because the features of a row "
    "are independent given θ, and the blocks of θ are independent given the data.",
    "The step from map to mean does not always smooth: the posterior of logistic weights is skewed away from zero "
    "where the classes are nearly separable, so that their mean is more extreme than their mode.",
)

COUNTS_TEXT = (
    "On how many data sets a step clearly lowers (falls) or raises (rises) the metric, at the smallest and at the "
    "largest training size."
)

TABLE_TEXT = (
    "Gains in log loss in nats per row, with standard errors over splits, at the smallest and at the largest training "
    "size: positive where the step helps. “∞ in 10 %”: in this share of the splits the step makes an infinite log loss "
    "finite, as where map gives probability 0 to a class without training rows. The number beside it is over the "
    "other splits.",
)


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


def tallies(table: pd.DataFrame) -> pd.DataFrame:
    """Return on how many data sets each step clearly lowers or raises each metric, at both ends."""
    made = []
    for metric in GAINS:
        lines = judged(table, metric)
        for (model, step), own in lines.groupby(["model", "step"], sort=False):
            line = {"model": MODELS[str(model)], "step": step, "metric": METRIC_NAMES[metric]}
            line["data sets"] = own["problem"].nunique()
            for size, part in zip(("smallest", "largest"), ends(own), strict=True):
                line |= {f"falls, {size}": (part["verdict"] == "gain").sum()}
                line |= {f"rises, {size}": (part["verdict"] == "loss").sum()}
            made.append(line)
    return pd.DataFrame(made)


def _falls(counts: pd.DataFrame) -> str:
    """Return on how many data sets each step of one model lowers log loss, at the smallest size."""
    lines = counts[counts["metric"] == METRIC_NAMES["log_loss"]]
    falls = lines["falls, smallest"].tolist()
    said = [f"{step} on {fallen}" for step, fallen in zip(lines["step"], falls, strict=True)]
    said[0] += f" of {counted(int(lines['data sets'].iloc[0]), 'data set')}"
    return f"{joined(said)} with {lines['model'].iloc[0]}"


def _by_classes(table: pd.DataFrame, model: str) -> str:
    """Return the median gains in log loss at the smallest size, for two classes and for more."""
    smallest = ends(table)[0]
    smallest = smallest[(smallest["model"] == model) & smallest["step"].notna()]
    said = []
    for name, own in (("two classes", smallest["classes"] == 2), ("more classes", smallest["classes"] > 2)):
        part = smallest[own]
        if part.empty:
            continue
        medians = part.groupby("step", sort=False)["log_loss_gain"].median()
        words = ", ".join(f"{number(value)} by {step}" for step, value in medians.items())
        said.append(f"{words} ({name}, {counted(part['problem'].nunique(), 'data set')})")
    return f"{capital(MODELS[model])}, median gain in log loss at the smallest size: {'; '.join(said)}."


def _overconfidence(table: pd.DataFrame, model: str) -> str:
    """Return the mean over-confidence of each rule at both ends."""
    few, many = (part[part["model"] == model].groupby("rule")["overconfidence"].mean() for part in ends(table))
    said = [f"{rule} {percent(few.get(rule, np.nan))} and {percent(many.get(rule, np.nan))}" for rule in STEPPED[model]]
    return f"{capital(MODELS[model])}, mean over-confidence at the smallest and the largest size: {', '.join(said)}."


def gains_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per data set and model: the gain in log loss of each step at its smallest and largest size."""
    lines = judged(table, "log_loss")
    parts = ends(lines)
    made = []
    for (problem, model), own in lines.groupby(["problem", "model"], sort=False):
        line: dict[str, Any] = {"data set": problem, "classes": own["classes"].iloc[0], "model": MODELS[str(model)]}
        for name, part in zip(("smallest", "largest"), parts, strict=True):
            at = part[(part["problem"] == problem) & (part["model"] == model)]
            line[f"{name} m"] = at["m"].iloc[0]
            cells = {str(step["step"]): _gain(step) for step in at.to_dict("records")}
            line |= {f"{step}, {name}": cells.get(step, "") for step in STEPS.values()}
        made.append(line)
    return pd.DataFrame(made)


def _gain(line: dict[Any, Any]) -> str:
    """Return a gain in log loss as text for the table."""
    removed = line["before"] - line["infinite"]
    words = [f"∞ in {percent(removed)}"] if removed > 0 else []
    if np.isfinite(line["log_loss_gain"]):
        words.insert(0, pair(line["log_loss_gain"], line["log_loss_gain_se"]))
    return "; ".join(words)


def _gain_figure(table: pd.DataFrame, model: str, metric: str) -> Figure:
    name = METRIC_NAMES[metric]
    return Figure(
        f"gain-{metric}-{model}",
        f"Gain in {name} of each step with {MODELS[model]}",
        "One panel per step, one row per data set, with marks for its smallest and its largest training size.",
        partial(gains, table[table["model"] == model], metric),
        f"{capital(MODELS[model])}: to the right of the line the step lowers {name}. Open: the smallest training "
        "size; filled: the largest; bars are two standard errors. In brackets the number of classes."
        + (f" The axis is linear up to ±{TICKS[4]:g} and logarithmic beyond." if metric == "log_loss" else ""),
    )


def gains(table: pd.DataFrame, metric: str) -> Drawing:
    """Return one panel per step of one model, with two marks per data set."""
    from matplotlib.ticker import FixedLocator

    names = list(dict.fromkeys(table["problem"]))
    classes = table.groupby("problem")["classes"].first()
    rules = [rule for rule in STEPS if rule in set(table["rule"])]
    figure, axes = style.panels(len(rules), (2.9, 0.5 + 0.24 * len(names)), left=1.4)
    for ax, rule in zip(axes, rules, strict=True):
        for part, shift, filled in zip(ends(table), (-0.17, 0.17), (False, True), strict=True):
            _gain_marks(ax, part[part["rule"] == rule], names, metric, shift, filled)
        ax.axvline(0, color=style.ink(), linewidth=0.9)
        if metric == "log_loss":
            ax.set_xscale("symlog", linthresh=TICKS[4])
            ax.xaxis.set_major_locator(FixedLocator(TICKS))
            ax.xaxis.set_major_formatter("{x:g}")
        ax.set_title(STEPS[rule], loc="left", fontsize="small")
        ax.tick_params(labelsize="small")
        style.quiet(ax, "both")
    axes[0].set_yticks(range(len(names)), [f"{name} ({classes[name]})" for name in names])
    axes[0].set_ylim(len(names) - 0.4, -0.6)
    figure.supxlabel(f"gain in {METRIC_NAMES[metric]}", fontsize="small")
    return figure


def _gain_marks(ax: Axes, lines: pd.DataFrame, names: list[str], metric: str, shift: float, filled: bool) -> None:
    """Draw the gain of one step on each data set, with bars of two standard errors."""
    color = style.class_color(int(filled))
    ax.errorbar(
        lines[f"{metric}_gain"],
        [names.index(name) + shift for name in lines["problem"]],
        xerr=2 * lines[f"{metric}_gain_se"],
        fmt="o",
        markersize=4.5,
        color=color,
        markerfacecolor=color if filled else "none",
        elinewidth=1,
    )


def _curves(table: pd.DataFrame, names: list[str], model: str, metric: str) -> tuple[Figure, ...]:
    """Return one metric of a model under every rule, one panel per problem that it was measured on."""
    own = table[table["model"] == model]
    spans = own.groupby("problem")["m"].agg(lambda sizes: sizes.max() / sizes.min())
    held = [problem for problem in names if spans.get(problem, 0.0) >= LEAST_SPAN]
    caption = f"{capital(MODELS[model])} under every rule, where the largest size is at least twice the smallest."
    return (every_rule(own, held, model, metric, caption),) if held else ()
