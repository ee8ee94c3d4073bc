"""What a classifier's error and log loss are made of: noise, bias and variance over training samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from bayesclf import rules
from bayesclf.errors import DoesNotExist, InputError
from bayesclf.experiments import nested, problems
from bayesclf.experiments.curves import METRIC_NAMES, capital, grid, in_order
from bayesclf.experiments.experiment import Drawing, Figure, Record, Results, Section, Unit, option
from bayesclf.experiments.populations import POPULATIONS
from bayesclf.experiments.problems import Encoded, Problem
from bayesclf.experiments.runner import seed_of
from bayesclf.models.logistic.model import LogisticPrior
from bayesclf.plots import style
from bayesclf.typing import Array, Integers
from bayesclf.wording import number, percent

NAME = "bias-variance"

QUESTION = (
    "How much of a classifier's error would remain however many training sets it were averaged over (bias), and how "
    "much comes from the one training set that it happened to get (variance)?"
)

BACKGROUND = (
    "A classifier that is fitted to another training set gives other answers. Its expected loss therefore has three "
    "parts: noise, which the best possible predictions have too; bias, by which the typical answer is worse than "
    "that; and variance, which comes from answering by one training set. The textbooks argue that naive Bayes, with "
    "its wrong assumptions, has more bias and less variance than logistic regression (Mitchell, draft chapter of "
    "2010, section 5; Wehbe's lecture on it).",
    "For squared error the parts are standard. For error and log loss they are defined here as by Domingos (2000), "
    "James (2003) and Heskes (1998).",
    "Training sets are drawn from three known populations of two normal columns, and from tables. “Both hold” means "
    "that both assumptions of naive Bayes with shared variances hold: columns that are independent given the class, "
    "with equal variances in both classes. In “variance holds” only the second one does, in “neither holds” neither. "
    "The rule “map” answers by the most probable parameters, “bayes-optimal” by the average over the posterior, and "
    "“gibbs” by the parameters of one random draw from the posterior.",
)

SIZES = (8, 16, 32, 64, 128, 256)
"""Training sizes."""

MODELS = {"gnb": "naive Bayes", "gnb2": "naive Bayes, shared variances", "lr": "logistic regression"}
"""Classifiers; on categories the first two are the same, and only the first is fitted."""

RULES = {"gnb": tuple(rules.RULES), "gnb2": tuple(rules.RULES), "lr": ("map", "mean", "bayes-optimal", "gibbs")}
"""Rules of each; logistic regression has no other "predictive", and often no maximum likelihood estimate."""

LOSSES = ("error", "log_loss")

PARTS = ("noise", "bias", "variance")

POINTS = 1024
"""Points of a population at which predictions are compared."""

MOST_TEST = 300
"""Test rows of a table."""

SHOWN = ("map", "bayes-optimal", "gibbs")
"""Rules that are drawn."""


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    sets: int = option(40, "Training sets of each size.")
    problems: str = option("votes,breast-cancer,ionosphere,sonar", "Tables, comma-separated; those of ng-jordan.")
    largest: int = option(256, "Largest training size.")
    seed: int = option(0, "Random seed.")


@dataclass(frozen=True)
class Parts:
    """The parts of an expected loss; they add up to it.

    Attributes
    ----------
    noise
        Of the best predictions; NaN where the population is not known, and bias then holds it too.
    bias
        What the main prediction, which all training sets have in common, loses more.
    variance
        What the prediction after one training set loses more than the main prediction, on average.
    """

    noise: float
    bias: float
    variance: float


def decompose(loss: str, log_proba: Array, target: Array, weight: Array, known: bool) -> Parts:
    """Split an expected loss over training sets and test points.

    For both losses, with prediction q_D after the training set D, main prediction q̄ and best prediction q*,

        E L(y, q_D) = E L(y, q*) + [E L(y, q̄) − E L(y, q*)] + [E L(y, q_D) − E L(y, q̄)].

    Error: the main prediction is the most frequent class, and the last two parts are James's systematic and variance
    effects. Where q̄ is not the best class, variance lowers the error: Domingos's "biased" variance, which counts
    negatively. Log loss: the main prediction is the normalized geometric mean q̄ ∝ exp E log q_D, bias is KL(P, q̄),
    and variance is E KL(q̄, q_D), never negative, whatever the target.

    Parameters
    ----------
    loss
        ``"error"`` or ``"log_loss"``.
    log_proba
        Predictions (set, point, outcome).
    target
        P(y | x), (point, outcome).
    weight
        Of the points, adding up to 1, (point).
    known
        Whether `target` is the population's rather than labels.

    References
    ----------
    Domingos (2000), *A unified bias-variance decomposition*, ICML; James (2003), *Variance and bias for general loss
    functions*, Machine Learning 51; Heskes (1998), *Bias/variance decompositions for likelihood-based estimators*,
    Neural Computation 10.

    Examples
    --------
    >>> import numpy as np
    >>> log_proba = np.log([[[0.9, 0.1]], [[0.8, 0.2]], [[0.3, 0.7]]])  # two of three training sets say the first class
    >>> parts = decompose("error", log_proba, np.array([[0.7, 0.3]]), np.ones(1), known=True)
    >>> print(*(round(part, 4) for part in (parts.noise, parts.bias, parts.variance)))
    0.3 0.0 0.1333
    """
    outcomes = log_proba.shape[2]
    if loss == "error":
        chosen = np.eye(outcomes)[log_proba.argmax(axis=2)].mean(axis=0)
        average = float(weight @ (target * (1 - chosen)).sum(axis=1))
        main = float(weight @ (1 - target[np.arange(len(target)), chosen.argmax(axis=1)]))
        noise = float(weight @ (1 - target.max(axis=1)))
    else:
        mean = log_proba.mean(axis=0)
        shrinkage = logsumexp(mean, axis=1)  # −E KL(q̄, q_D)
        average = float(-weight @ np.where(target > 0, target * mean, 0.0).sum(axis=1))
        main = average + float(weight @ shrinkage)
        noise = float(-weight @ np.where(target > 0, target * np.log(np.maximum(target, 1e-300)), 0.0).sum(axis=1))
    if not known:
        return Parts(np.nan, main, average - main)
    return Parts(noise, main - noise, average - main)


def units(settings: Settings) -> Sequence[Unit]:
    """Return (source, model, m) of populations and tables, the largest sizes first."""
    if settings.sets < 2 or settings.largest < SIZES[0]:
        raise InputError(f"there must be at least 2 training sets, and a largest size of at least {SIZES[0]} rows")
    found: list[Unit] = []
    for source in (*POPULATIONS, *problems.at_hand(settings.problems, problems.ALL_PROBLEMS)):
        categories = source not in POPULATIONS and problems.load(source).problem.kind == "category"
        models = [model for model in MODELS if not (categories and model == "gnb2")]
        # Training sets are drawn from two thirds of a table: at half of these, two sets share half of their rows.
        most = settings.largest if source in POPULATIONS else min(settings.largest, len(problems.load(source)) // 3)
        found += [(source, model, size) for size in SIZES if size <= most for model in models]
    return sorted(found, key=lambda unit: -int(unit[2]))


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return the parts of the expected losses of one model at one size, by rule."""
    source, model, size = str(unit[0]), str(unit[1]), int(unit[2])
    # The test points and the training sets are the same for all models, so that their parts are comparable.
    shared = np.random.default_rng(seed_of(settings.seed, (source, size)))
    encoded, test, target, weight, train = _rows(settings, source, size, shared)
    found: dict[str, list[Array]] = {rule: [] for rule in RULES[model]}
    lacking: dict[str, int] = dict.fromkeys(RULES[model], 0)
    seeds = (seed.generate_state(len(train)) % 2**31).tolist()
    for rows, fit_seed in zip(train, seeds, strict=True):
        learner: nested.Learner
        if model == "lr":
            learner = nested.Logistic(encoded, LogisticPrior())
        else:
            learner = nested.NaiveBayes(encoded, "feature" if model == "gnb2" else "class-feature")
        learner.extend(rows)
        made, encode = learner.model()
        hypotheses = nested.Sources(made, fit_seed)
        for rule in RULES[model]:
            try:
                own = hypotheses(rules.resolve(rule)[0].source)
                found[rule].append(rules.log_proba(rule, own, encode(test), fit_seed))
            except DoesNotExist:
                lacking[rule] += 1
    about = {"source": source, "known": source in POPULATIONS, "m": size, "model": model}
    records: list[Record] = []
    for rule, answers in found.items():
        for loss in LOSSES if rule != "mle" else LOSSES[:1]:
            if len(answers) < 2:
                continue
            parts = decompose(loss, np.array(answers), target, weight, source in POPULATIONS)
            values = {name: None if np.isnan(value) else value for name, value in vars(parts).items()}
            if not np.isfinite([value for value in values.values() if value is not None]).all():
                continue  # an answer of probability 0, which has no geometric mean
            records.append({**about, "rule": rule, "loss": loss, **values, "without": lacking[rule]})
    return records


def _rows(
    settings: Settings, source: str, size: int, rng: np.random.Generator
) -> tuple[Encoded, Integers, Array, Array, list[Integers]]:
    """Return rows, which of them are test points, P(y | x) and weight of these, and the rows of each training set."""
    if source in POPULATIONS:
        cells = POPULATIONS[source].cells()
        half = len(cells.x) // 2  # the points of one class, then those of the other, each a Sobol' sequence
        some = np.r_[: POINTS // 2, half : half + POINTS // 2]
        drawn = [POPULATIONS[source].draw(size, rng) for _ in range(settings.sets)]
        X = np.concatenate([cells.x[some], *(x for x, _ in drawn)])
        y = np.concatenate([np.zeros(len(some), dtype=np.intp), *(labels for _, labels in drawn)])
        encoded = Encoded(Problem(source, source, "number"), X, y, ("0", "1"), ("a", "b"), ())
        target = cells.joint[some] / cells.joint[some].sum(axis=1, keepdims=True)
        starts = len(some) + size * np.arange(settings.sets)
        train = [np.arange(start, start + size) for start in starts]
        return encoded, np.arange(len(some)), target, np.full(len(some), 1 / len(some)), train
    encoded = problems.load(source)
    order = np.random.default_rng(seed_of(settings.seed, (source,))).permutation(len(encoded))
    count = min(len(encoded) // 3, MOST_TEST)
    test, pool = order[:count], order[count:]
    train = [_of_each_class(encoded, rng.permutation(pool), size) for _ in range(settings.sets)]
    target = np.eye(len(encoded.labels))[encoded.y[test]]
    return encoded, test, target, np.full(count, 1 / count), train


def _of_each_class(encoded: Encoded, order: Integers, size: int) -> Integers:
    """Return the first rows of an order, moved so that the first ones are of different classes."""
    first = [int(order[np.argmax(encoded.y[order] == k)]) for k in np.unique(encoded.y[order])]
    rest = order[~np.isin(order, first)]
    return np.concatenate([first, rest])[:size].astype(np.intp)


def summarise(settings: Settings, records: pd.DataFrame) -> pd.DataFrame:
    """Return the parts of each expected loss by source, model, rule and m, with their sum."""
    table = records.astype(dict.fromkeys(PARTS, float))
    table["expected"] = table[list(PARTS)].sum(axis=1)
    order = ["source", "loss", "model", "rule", "m"]
    sources = (*POPULATIONS, *problems.named(settings.problems, problems.ALL_PROBLEMS))
    return in_order(table, order, source=sources, model=MODELS, rule=rules.RULES, loss=LOSSES)


def present(settings: Settings, records: pd.DataFrame, table: pd.DataFrame) -> Results:
    """Say what averaging takes, and what the assumptions leave."""
    drawn = tuple(_figure(table, loss, model) for loss in LOSSES for model in MODELS)
    tables = table[table["m"] == table.groupby("source")["m"].transform("min")]
    heads = ["source", "model", "rule", "m", "loss", *PARTS, "expected"]
    shown = tables[heads].assign(model=tables["model"].map(MODELS))
    sections = (
        Section("What the words mean", MEANING),
        Section("Parts by training size", (), drawn),
        Section("The smallest size, in numbers", (), (), shown.round(4)),
    )
    findings = [_averaging(table, model) for model in MODELS]
    findings += [_assumptions(table), _asked(table)]
    left = problems.left_out(settings.problems, problems.ALL_PROBLEMS, tuple(dict.fromkeys(table["source"])))
    return Results(_headline(table), (*findings, *left), CAUTIONS, sections)


MEANING = (
    "Many training sets of the same size are drawn, and a classifier is fitted to each. Noise is the loss of the best "
    "possible predictions. Bias is what the main prediction loses more than that: for error the most frequent answer, "
    "for log loss the normalized geometric mean of the probabilities. Variance is what the answer after one training "
    "set loses more than the main prediction. The three add up to the expected loss.",
    "The variance part of error can be negative: where the main prediction is wrong, an answer that differs from it "
    "may be right.",
    "On tables the population is not known, so that bias and noise are one part, drawn as bias.",
    "In theory, averaging over a posterior should reduce variance, because one training set leaves many parameters "
    "possible and all of them are averaged. Wrong assumptions should show as bias that remains with many rows.",
)

CAUTIONS = (
    "The main prediction is estimated from the same training sets: of D sets, bias is overstated and variance "
    "understated, for log loss by about the variance divided by D.",
    "Training sets of a table are drawn from two thirds of its rows and share rows, so that variance is understated, "
    "the more so the larger they are.",
    "Maximum likelihood has no log loss here: one probability 0 makes the geometric mean 0. Sets for which it has no "
    "estimate are left out of its error, and counted in the column “without”.",
    "A Gibbs classifier draws a hypothesis for each answer; its variance includes that draw.",
)


def _headline(table: pd.DataFrame) -> str:
    """Say what averaging does to variance and to bias of log loss, at the smallest size."""
    lines = _few(table[table["loss"] == "log_loss"])
    wide = lines.pivot_table(index=["source", "model"], columns="rule", values=["bias", "variance"])
    less = wide["variance", "map"] - wide["variance", "bayes-optimal"]
    gained = wide["bias", "map"] - wide["bias", "bayes-optimal"]
    return (
        "From the most probable parameters (map) to the average over the posterior (bayes-optimal), with the fewest "
        f"rows, the variance of log loss falls in {(less > 0).sum()} of {len(less)} pairs of a population or table and "
        f"a classifier (median change {number(-less.median())} nats), and the bias falls in {(gained > 0).sum()} "
        f"(median change {number(-gained.median())} nats)."
    )


def _few(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["m"] == table.groupby("source")["m"].transform("min")]


def _averaging(table: pd.DataFrame, model: str) -> str:
    """Return the parts of the log loss of map and Bayes-optimal at the smallest size, as means over the sources."""
    lines = _few(table[(table["loss"] == "log_loss") & (table["model"] == model)])
    mean = {name: lines.groupby("rule")[name].mean() for name in ("bias", "variance")}
    said = ", ".join(f"{number(mean['bias'][rule])} + {number(mean['variance'][rule])} under {rule}" for rule in SHOWN)
    return (
        f"{capital(MODELS[model])}: bias + variance of log loss with the fewest rows, as means over populations and "
        f"tables, are {said}."
    )


def _assumptions(table: pd.DataFrame) -> str:
    """Return the bias of each model with many rows where assumptions hold and where not."""
    lines = table[table["known"] & (table["rule"] == "bayes-optimal") & (table["loss"] == "error")]
    lines = lines[lines["m"] == lines["m"].max()].set_index(["source", "model"])["bias"]
    told = {source: ", ".join(f"{own} {percent(lines[source, own])}" for own in MODELS) for source in POPULATIONS}
    said = "; ".join(f"{source}: {words}" for source, words in told.items())
    return f"Bias of error with the most rows under bayes-optimal, by which of naive Bayes's assumptions hold: {said}."


def _asked(table: pd.DataFrame) -> str:
    """Say where variance lowers the error."""
    lines = table[table["loss"] == "error"]
    return (
        f"The variance part of error is negative in {(lines['variance'] < 0).sum()} of {len(lines)} lines of table.csv."
    )


def _figure(table: pd.DataFrame, loss: str, model: str) -> Figure:
    own = table[(table["loss"] == loss) & (table["model"] == model)]
    return Figure(
        f"{loss}-{model}",
        f"Bias and variance of {METRIC_NAMES[loss]}: {MODELS[model]}",
        "One panel per source, training rows on a log axis, for each rule a line for bias and one for variance.",
        partial(_curves, own, loss),
        f"{capital(MODELS[model])}. Solid: variance. Dashed: bias, which on tables includes the noise.",
    )


def _curves(table: pd.DataFrame, loss: str) -> Drawing:
    sources = list(dict.fromkeys(table["source"]))
    figure, axes = grid(len(sources), 3, (9.6, 2.35 * -(-len(sources) // 3) + 0.5))
    for ax, source in zip(axes, sources, strict=True):
        for rule in SHOWN:
            own = table[(table["source"] == source) & (table["rule"] == rule)].sort_values("m")
            color = style.look_of(rule).color
            ax.plot(own["m"], own["variance"], color=color, marker="o", markersize=3, label=f"variance, {rule}")
            ax.plot(own["m"], own["bias"], color=color, linestyle="--", label=f"bias, {rule}")
        ax.set_xscale("log", base=2)
        ax.xaxis.set_major_formatter("{x:g}")
        ax.set_title(source, loc="left", fontsize="medium")
        ax.set_xlabel("training rows", fontsize="small")
        style.quiet(ax)
    axes[0].set_ylabel(METRIC_NAMES[loss])
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=len(SHOWN), frameon=False, fontsize="small")
    return figure
