"""The limit of each classifier, and how fast it is approached, where its assumptions hold and where they do not."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bayesclf import plots
from bayesclf.classifiers import GaussianNB, LogisticRegression
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.errors import InputError
from bayesclf.experiments.curves import GREY, METRIC_NAMES, grid, in_order, means, name_above
from bayesclf.experiments.experiment import Axes, Drawing, Figure, Record, Results, Section, Unit, option
from bayesclf.experiments.populations import POPULATIONS, THREE_POINTS, Cells, GaussianClasses
from bayesclf.experiments.runner import seed_of
from bayesclf.plots import style
from bayesclf.wording import number, percent

NAME = "assumptions"

QUESTION = "Which boundary does each classifier draw when its assumptions hold, and when not?"

BACKGROUND = (
    "Gaussian naive Bayes (GNB) assumes that columns are independent given the class and normally distributed. With "
    "one variance per column that the classes share (GNB2), its P(y | x) is that of a logistic regression, whose "
    "weights then are functions of means and variances (Mitchell, Generative and Discriminative Classifiers, draft "
    "chapter of 2010, section 3.1). Logistic regression (LR) fits the same form without these assumptions.",
    "So GNB2 and LR should end at the same boundary where the columns are independent given the class and have equal "
    "variances in both classes, and at different ones elsewhere (section 5 of that chapter; Wehbe's lecture on it). "
    "Here rows come from known populations of two normal columns in which both of these assumptions hold, only that "
    "of equal variances does, or neither does.",
    "The limit of a classifier is what its fits approach as rows are added without end. Errors are computed over "
    "the population, and are compared with the smallest possible ones, those of the classifier that knows it.",
)

CLASSIFIERS = ("GNB", "GNB2", "LR")
"""Gaussian naive Bayes, the same with one variance per feature for both classes, and logistic regression."""

SIZES = (8, 16, 32, 64, 128, 256, 512, 1024, 2048)
"""Training sizes."""

POINTS = "three points"

LEAST = "least"
"""Name of the classifier that knows the population."""

METRICS = ("error", "log_loss")

RULES = ("map", "bayes-optimal")

PRIOR_SCALE = 2.5
"""Prior sd of a logistic weight per sd of its column."""

CLEAR = 2.0
"""Standard errors from which on a paired difference is called clear."""

SAME = 1e-6
"""Log losses that differ by less are equal."""

type Scores = Mapping[tuple[str, str], float]
"""Expected error or log loss of limits, by population and classifier."""


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    sets: int = option(100, "Training sets for each population.")
    picture_rows: int = option(60, "Training rows of the pictures.")
    seed: int = option(0, "Random seed.")


def units(settings: Settings) -> Sequence[Unit]:
    """Return ("limit", population) and ("curve", population, training set)."""
    if settings.sets < 2:
        raise InputError(f"there must be at least 2 training sets, not {settings.sets}")
    if settings.picture_rows < 2:
        raise InputError(f"the pictures need at least 2 rows, not {settings.picture_rows}")
    curves = [("curve", name, index) for index in range(settings.sets) for name in POPULATIONS]
    return [*(("limit", name) for name in (*POPULATIONS, POINTS)), *curves]


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return the scores of the classifiers' limits, or of their fits to parts of one training set."""
    name = str(unit[1])
    return _limits(name) if unit[0] == "limit" else _curve(name, int(unit[2]), np.random.default_rng(seed))


def classifier(name: str, **options: Any) -> BayesClassifier:
    """Return a new classifier by its name here."""
    if name == "LR":
        return LogisticRegression(prior_scale=PRIOR_SCALE, **options)
    return GaussianNB(variance="feature" if name == "GNB2" else "class-feature", **options)


def _limits(name: str) -> list[Record]:
    """Return expected error and log loss of each classifier's limit, and the smallest possible ones."""
    cells = THREE_POINTS if name == POINTS else POPULATIONS[name].cells()
    log_proba = np.log(cells.joint) - np.log(cells.joint.sum(axis=1, keepdims=True))
    least = cells.scores(log_proba) if name == POINTS else POPULATIONS[name].least()
    found = {LEAST: least} | {own: limit_scores(own, cells) for own in CLASSIFIERS}
    return [
        {"part": "limit", "population": name, "classifier": own, "error": error, "log_loss": loss}
        for own, (error, loss) in found.items()
    ]


def limit_scores(name: str, cells: Cells) -> tuple[float, float]:
    """Return error and log loss of a classifier's limit: its maximum likelihood fit to the population."""
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

    Limits of classifiers have m = ∞, as has the classifier "least", which knows the population.
    """
    curves = records[records["part"] == "curve"].groupby(["part", "population", "classifier", "m"], sort=False)
    limits = records[records["part"] == "limit"][["part", "population", "classifier", *METRICS]]
    table = pd.concat([means(curves, *METRICS), limits.assign(m=np.inf)], ignore_index=True)
    return in_order(table, ["population"], population=[*POPULATIONS, POINTS])


def present(settings: Settings, records: pd.DataFrame, table: pd.DataFrame) -> Results:
    """Say what each classifier converges to and which is ahead at each size, and draw the boundaries."""
    limits = table[table["part"] == "limit"].set_index(["population", "classifier"])
    error, loss = (dict(zip(limits.index, limits[metric], strict=True)) for metric in METRICS)
    limit_sentences = [_limit_sentence(name, error, loss) for name in POPULATIONS]
    sections = (
        Section("Boundaries", (PICTURES,), tuple(_picture(settings, name) for name in POPULATIONS)),
        Section("Learning curves", tuple(_race(name, records) for name in POPULATIONS), _curve_figures(table)),
        Section("Limits", (LIMITS,), (), limits.reset_index()[["population", "classifier", *METRICS]]),
    )
    findings = (THEORY, *limit_sentences, _points_sentence(error, loss), _loss_sentence(loss))
    return Results(_headline(error), findings, CAUTIONS, sections)


CAUTIONS = (
    "Errors and log losses are integrals over the known population; only the training sets are random.",
    "Learning curves are under the rule map (the most probable parameters) with the default priors, because with few "
    "rows maximum likelihood often has no estimate.",
)

THEORY = (
    "Theory: as rows are added, all converge to the same classifier where both assumptions hold. Elsewhere the limit "
    "of logistic regression (LR) is never worse in expected log loss than that of naive Bayes with one variance per "
    "feature (GNB2), because the P(y | x) of both is a logistic function of x, and LR has the one with the smallest "
    "expected log loss. In error it may be worse. Naive Bayes with one variance per feature and class (GNB) has "
    "quadratic boundaries, which LR does not have."
)

PICTURES = (
    "Colors show the predictions of the average over the posterior (bayes-optimal), and are deeper where they are more "
    "certain. Thin gray lines are the boundaries of single hypotheses of the posterior. The dotted black line is the "
    "boundary of the smallest possible error."
)

LIMITS = (
    "Limits are maximum likelihood fits to the population itself: values of x, weighted by their probabilities. "
    "“Least” is the classifier that knows the population. The population “three points” has one column, with the "
    "values x = −0.94, −0.87 and 1.21. Up to rounding, their probabilities are p(x, y = 0) = 0.358, 0.003 and 0.236, "
    "and p(x, y = 1) = 0.031, 0.349 and 0.024."
)


def _headline(error: Scores) -> str:
    told = ", ".join(
        f"{'/'.join(percent(error[name, own]) for own in CLASSIFIERS)} where {words} (smallest possible: "
        f"{percent(error[name, LEAST])})"
        for name, words in zip(
            POPULATIONS, ("both hold", "only that of equal variances does", "neither does"), strict=True
        )
    )
    return f"Errors of {'/'.join(CLASSIFIERS)} in the limit, by which of naive Bayes's assumptions hold: {told}."


def _limit_sentence(name: str, error: Scores, loss: Scores) -> str:
    """Say how far each classifier's limit is from the least error and log loss."""
    told = ", ".join(
        f"by {number(error[name, own] - error[name, LEAST])} and {number(loss[name, own] - loss[name, LEAST])} "
        f"for {own}"
        for own in CLASSIFIERS
    )
    return f"{POPULATIONS[name].title.capitalize()}: the limits exceed the smallest possible error and log loss {told}."


def _points_sentence(error: Scores, loss: Scores) -> str:
    logistic, naive = (POINTS, "LR"), (POINTS, "GNB2")
    worse = "the larger" if error[logistic] > error[naive] else "not the larger"
    return (
        f"On a population of three points LR's limit has {worse} error: {number(error[logistic])} against GNB2's "
        f"{number(error[naive])}. Their log losses are {number(loss[logistic], 4)} and {number(loss[naive], 4)}."
    )


def _loss_sentence(loss: Scores) -> str:
    names = (*POPULATIONS, POINTS)
    # Where both assumptions hold the limits are equal, up to the point where the optimizer stopped.
    worse = sum(loss[name, "LR"] > loss[name, "GNB2"] + SAME for name in names)
    verdict = "in agreement with theory" if worse == 0 else "contrary to theory"
    return f"LR's limit has a larger log loss than GNB2's in {worse} of {len(names)} populations, {verdict}."


def _race(name: str, records: pd.DataFrame) -> str:
    """Say which classifier has the smallest error with few rows and with many, and whether the difference is clear."""
    own = records[(records["part"] == "curve") & (records["population"] == name)]
    told = []
    for size in (SIZES[0], SIZES[-1]):
        wide = own[own["m"] == size].pivot(index="set", columns="classifier", values="error")
        errors = {which: float(wide[which].mean()) for which in CLASSIFIERS}
        first, second, _ = sorted(errors, key=lambda which: errors[which])
        gap = wide[second].to_numpy() - wide[first].to_numpy()
        clear = gap.mean() > CLEAR * gap.std(ddof=1) / np.sqrt(len(gap))
        verb = "is clearly ahead of" if clear else "is level with"
        shares = f"{percent(errors[first])} and {percent(errors[second])}"
        told.append(f"with {size:,} rows {first} {verb} {second} ({shares})")
    return f"{POPULATIONS[name].title.capitalize()}: {', '.join(told)}."


def _curve_figures(table: pd.DataFrame) -> tuple[Figure, ...]:
    """Return one figure per metric, with one panel per population."""
    return tuple(
        Figure(
            f"curve-{metric}",
            f"Expected {METRIC_NAMES[metric]} against training rows",
            "One panel per population, training rows on a log axis, one curve per classifier.",
            partial(_curves, table, metric),
            "Bands are one standard error over training sets. The horizontal line is the smallest possible value, and "
            "marks at the right edge are the limits of the classifiers. With few rows curves exceed the scale.",
        )
        for metric in METRICS
    )


def _curves(table: pd.DataFrame, metric: str) -> Drawing:
    from matplotlib.ticker import LogLocator

    figure, axes = grid(len(POPULATIONS), len(POPULATIONS), (10.4, 3.6), sharey=True)
    label = METRIC_NAMES[metric] + (" (nats)" if metric == "log_loss" else "")
    for ax, (name, population) in zip(axes, POPULATIONS.items(), strict=True):
        own = table[table["population"] == name]
        curves = own[own["part"] == "curve"]
        curves = curves.assign(model=curves["classifier"], rule="map", mean=curves[metric], se=curves[f"{metric}_se"])
        plots.learning_curve(curves, ylabel=label if ax is axes[0] else "", labels=False, ax=ax)
        limits = own[own["part"] == "limit"].set_index("classifier")[metric]
        ax.axhline(limits[LEAST], linewidth=1, color=GREY, zorder=1)
        for place, which in enumerate(CLASSIFIERS):
            ax.scatter(1.6 * SIZES[-1], limits[which], s=26, color=style.class_color(place), zorder=3)
        ax.xaxis.set_major_locator(LogLocator())
        ax.set_title(textwrap.fill(population.title, 38), loc="left", fontsize="medium")
    # With few rows log losses are too large for a common scale to show the rest.
    ceiling = 1.2 * table.loc[(table["part"] == "curve") & (table["m"] == SIZES[2]), metric].max()
    floor = 0.8 * table.loc[(table["classifier"] == LEAST) & table["population"].isin(list(POPULATIONS)), metric].min()
    axes[0].set_ylim(floor, ceiling)
    name_above(figure, axes)
    return figure


def _picture(settings: Settings, name: str) -> Figure:
    return Figure(
        f"boundaries-{name.replace(' ', '-')}",
        f"Boundaries on {POPULATIONS[name].title}",
        "One panel per classifier: the plane of the two columns, training rows, and boundaries under two rules.",
        partial(_boundaries, settings, name),
        f"{POPULATIONS[name].title.capitalize()}, {settings.picture_rows} training rows.",
    )


def _boundaries(settings: Settings, name: str) -> Drawing:
    """Draw the three classifiers' boundaries on one training set."""
    population = POPULATIONS[name]
    rng = np.random.default_rng(seed_of(settings.seed, ("picture", name)))
    X, y = population.draw(settings.picture_rows, rng)
    figure, axes = grid(len(CLASSIFIERS), len(CLASSIFIERS), (10.4, 3.9), sharey=True)
    for ax, own in zip(axes, CLASSIFIERS, strict=True):
        fit = classifier(own, random_state=settings.seed, **({"inference": "laplace"} if own == "LR" else {})).fit(X, y)
        plots.decision_boundary(fit, X, y, rules=RULES, ax=ax)
        _best_boundary(ax, population)
        legend = ax.get_legend()
        assert legend is not None
        legend.remove()
        ax.set_title(own, loc="left")
        ax.set(xlabel="first column", ylabel="second column" if ax is axes[0] else "")
    name_above(figure, axes)
    return figure


def _best_boundary(ax: Axes, population: GaussianClasses) -> None:
    """Draw where both classes are equally probable in the population."""
    x, y = (np.linspace(*limits, 151) for limits in (ax.get_xlim(), ax.get_ylim()))
    log_joint = population.log_density(np.stack(np.meshgrid(x, y), axis=-1))
    ax.contour(x, y, log_joint[..., 1] - log_joint[..., 0], levels=[0.0], colors="black", linestyles=":", zorder=6)
    ax.plot([], [], color="black", linestyle=":", label="least error")
