"""What the scores of `assumptions` say, and the boundaries that the classifiers draw."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.experiments.assumptions import CLASSIFIERS, LEAST, POINTS, SIZES, classifier
from bayesclf.experiments.experiment import Figure, Results, Section
from bayesclf.experiments.populations import POPULATIONS, GaussianClasses
from bayesclf.experiments.runner import seed_of
from bayesclf.wording import number, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

CLEAR = 2.0
"""Standard errors of a paired difference from which it is called clear."""

SAME = 1e-6
"""Log losses nearer to each other than this are equal."""

METRICS = ("error", "log_loss")

type Scores = Mapping[tuple[str, str], float]
"""Expected error or log loss of limits, by population and classifier."""

RULES = ("map", "bayes-optimal")

THEORY = (
    "Theory: as rows are added, all converge to the same classifier where both assumptions hold. Else the limit of "
    "logistic regression (LR) is never worse in expected log loss than that of naive Bayes with one variance a feature "
    "(GNB2), for both have logistic answers and LR picks the best of them. In error it may be worse. Naive Bayes with "
    "a variance a class (GNB) has quadratic answers, which are not among LR's."
)

CAUTIONS = (
    "Errors and log losses are integrals over the known population, not counts over test rows; training sets are all "
    "that is random.",
    "Curves are under map, with the default priors in the columns' own units; with few rows they differ from maximum "
    "likelihood's, which often does not exist there.",
)

PICTURES = (
    "Colours: the classes as bayes-optimal sees them, deeper where surer. Thin grey lines: single hypotheses of the "
    "posterior. Black dots: the boundary of the least error."
)


def results(settings: Any, records: pd.DataFrame, table: pd.DataFrame) -> Results:
    """Return the results page of the experiment."""
    limits = table[table["part"] == "limit"].set_index(["population", "classifier"])
    error, loss = (dict(zip(limits.index, limits[metric], strict=True)) for metric in METRICS)
    names = list(POPULATIONS)
    return Results(
        _headline(error),
        (
            THEORY,
            *(_limit_sentence(name, error, loss) for name in names),
            _points_sentence(error, loss),
            _loss_sentence(loss),
        ),
        CAUTIONS,
        (
            Section("Boundaries", (PICTURES,), tuple(_picture(settings, name) for name in names)),
            Section("On the way", tuple(_race(name, records) for name in names), _curve_figures(table)),
            Section("Limits", (_points_text(),), (), limits.reset_index()[["population", "classifier", *METRICS]]),
        ),
    )


def _headline(error: Scores) -> str:
    told = ", ".join(
        f"{'/'.join(percent(error[name, own]) for own in CLASSIFIERS)} where {words} (least: "
        f"{percent(error[name, LEAST])})"
        for name, words in zip(POPULATIONS, ("both hold", "only that of equal variances does", "neither"), strict=True)
    )
    return f"Errors of {'/'.join(CLASSIFIERS)} in the limit, by which of naive Bayes's assumptions hold: {told}."


def _limit_sentence(name: str, error: Scores, loss: Scores) -> str:
    """Say how far each classifier's limit is from the least error and log loss."""
    told = ", ".join(
        f"{own} {number(error[name, own] - error[name, LEAST])} and {number(loss[name, own] - loss[name, LEAST])}"
        for own in CLASSIFIERS
    )
    return f"{POPULATIONS[name].title.capitalize()}: limits lie above the least error and log loss by {told}."


def _points_sentence(error: Scores, loss: Scores) -> str:
    logistic, naive = (POINTS, "LR"), (POINTS, "GNB2")
    worse = "the larger" if error[logistic] > error[naive] else "not the larger"
    return (
        f"Three points on which LR's limit has {worse} error: {number(error[logistic])} against GNB2's "
        f"{number(error[naive])}, with log losses {number(loss[logistic], 4)} and {number(loss[naive], 4)}."
    )


def _loss_sentence(loss: Scores) -> str:
    names = (*POPULATIONS, POINTS)
    # Where both assumptions hold the limits are the same classifier, but for where the optimiser stopped.
    worse = sum(loss[name, "LR"] > loss[name, "GNB2"] + SAME for name in names)
    seen = "as theory has it" if worse == 0 else "against theory"
    return f"LR's limit has a larger log loss than GNB2's in {worse} of {len(names)} populations, {seen}."


def _points_text() -> str:
    return (
        "Limits are maximum likelihood fits to the population itself, its values of x weighted by their probabilities. "
        "The three points are x = −.94, −.87, 1.21 with p(x, 0) = .358, .003, .236 and p(x, 1) = .031, .349, .024."
    )


def _race(name: str, records: pd.DataFrame) -> str:
    """Say who has the smaller error with few rows and with many, and whether the difference is clear."""
    own = records[(records["part"] == "curve") & (records["population"] == name)]
    told = []
    for size in (SIZES[0], SIZES[-1]):
        wide = own[own["m"] == size].pivot(index="set", columns="classifier", values="error")
        errors = {which: float(wide[which].mean()) for which in CLASSIFIERS}
        first, second, _ = sorted(errors, key=lambda which: errors[which])
        gap = wide[second].to_numpy() - wide[first].to_numpy()
        clear = gap.mean() > CLEAR * gap.std(ddof=1) / np.sqrt(len(gap))
        told.append(
            f"with {size:,} rows {first} {'is clearly ahead' if clear else 'is level with'}"
            f"{' of ' if clear else ' '}{second} ({percent(errors[first])} and {percent(errors[second])})"
        )
    return f"{POPULATIONS[name].title.capitalize()}: {', '.join(told)}."


def _curve_figures(table: pd.DataFrame) -> tuple[Figure, ...]:
    """Return one figure a metric, with one panel a population."""
    return tuple(
        Figure(
            f"curve-{metric}",
            f"Expected {metric.replace('_', ' ')} against training rows",
            "One panel a population, training rows on a log axis, one curve a classifier.",
            partial(_curves, table, metric),
            "Bands are one standard error over training sets; the line is the least there is, and marks at the right "
            "edge are what the classifiers converge to. With few rows curves leave the scale.",
        )
        for metric in METRICS
    )


def _curves(table: pd.DataFrame, metric: str) -> MatplotlibFigure:
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator

    from bayesclf.plots import learning_curve, style

    figure, axes = plt.subplots(1, len(POPULATIONS), figsize=(10.4, 3.6), layout="constrained", sharey=True)
    plt.close(figure)
    label = metric.replace("_", " ") + (" (nats)" if metric == "log_loss" else "")
    for ax, (name, population) in zip(axes, POPULATIONS.items(), strict=True):
        own = table[table["population"] == name]
        curves = own[own["part"] == "curve"].assign(
            model=lambda lines: lines["classifier"],
            rule="map",
            mean=lambda lines: lines[metric],
            se=lambda lines: lines[f"{metric}_se"],
        )
        learning_curve(curves, ylabel=label if ax is axes[0] else "", labels=False, ax=ax)
        limits = own[own["part"] == "limit"].set_index("classifier")[metric]
        ax.axhline(limits[LEAST], linewidth=1, color="#8c8c8c", zorder=1)
        for place, which in enumerate(CLASSIFIERS):
            ax.scatter(1.6 * SIZES[-1], limits[which], s=26, color=style.class_color(place), zorder=3)
        ax.xaxis.set_major_locator(LogLocator())
        ax.set_title(_wrapped(population.title), loc="left", fontsize="medium")
    # With few rows log losses are too large for a common scale to show the rest.
    ceiling = 1.2 * table.loc[(table["part"] == "curve") & (table["m"] == SIZES[2]), metric].max()
    floor = 0.8 * table.loc[(table["classifier"] == LEAST) & table["population"].isin(list(POPULATIONS)), metric].min()
    axes[0].set_ylim(floor, ceiling)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=len(labels), frameon=False)
    return figure


def _wrapped(title: str) -> str:
    import textwrap

    return textwrap.fill(title, 38)


def _picture(settings: Any, name: str) -> Figure:
    return Figure(
        f"boundaries-{name.replace(' ', '-')}",
        f"Boundaries on {POPULATIONS[name].title}",
        "One panel a classifier: the plane of the two columns, training rows, and boundaries under two rules.",
        partial(_boundaries, settings, name),
        f"{POPULATIONS[name].title.capitalize()}, {settings.picture_rows} training rows.",
    )


def _boundaries(settings: Any, name: str) -> MatplotlibFigure:
    """Draw the three classifiers' boundaries on one training set."""
    import matplotlib.pyplot as plt

    from bayesclf import plots

    population = POPULATIONS[name]
    rng = np.random.default_rng(seed_of(settings.seed, ("picture", name)))
    X, y = population.draw(settings.picture_rows, rng)
    figure, axes = plt.subplots(1, len(CLASSIFIERS), figsize=(10.4, 3.9), layout="constrained", sharey=True)
    plt.close(figure)
    for ax, own in zip(axes, CLASSIFIERS, strict=True):
        fit = classifier(own, random_state=settings.seed, **({"inference": "laplace"} if own == "LR" else {})).fit(X, y)
        plots.decision_boundary(fit, X, y, rules=RULES, ax=ax)
        _best_boundary(ax, population)
        handles, labels = ax.get_legend_handles_labels()
        ax.get_legend().remove()
        ax.set_title(own, loc="left")
        ax.set(xlabel="first column", ylabel="second column" if ax is axes[0] else "")
    figure.legend(handles, labels, loc="outside upper left", ncols=len(labels), frameon=False)
    return figure


def _best_boundary(ax: Axes, population: GaussianClasses) -> None:
    """Draw where both classes are as probable in the population."""
    x, y = (np.linspace(*limits, 151) for limits in (ax.get_xlim(), ax.get_ylim()))
    log_joint = population.log_density(np.stack(np.meshgrid(x, y), axis=-1))
    ax.contour(x, y, log_joint[..., 1] - log_joint[..., 0], levels=[0.0], colors="black", linestyles=":", zorder=6)
    ax.plot([], [], color="black", linestyle=":", label="least error")
