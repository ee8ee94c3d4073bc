"""Which boundary does each classifier draw when its assumptions hold, and when not?

Gaussian naive Bayes (GNB) assumes that columns are normal and independent given the class. If the classes share one
variance per column (GNB2), P(y | x) is a logistic regression, whose weights are functions of means and variances
(Mitchell, draft chapter Generative and Discriminative Classifiers, 2010, sections 3.1 and 5; Wehbe's lecture on it).
Logistic regression (LR) fits the same form without these assumptions. So both should end at the same boundary if these
hold. Otherwise the limit of LR never has the larger expected log loss, but may have the larger error. Rows come from
known populations in which both assumptions hold, only equal variances do, or neither does. The limit of a classifier is
its maximum likelihood fit to the population itself, and “least” is the classifier that knows the population. One
further population has three values of x.

Errors and log losses are integrals over the known population; only the training rows of the pictures are random.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy import special, stats

from bayesclf import plots
from bayesclf.arrays import Array, Integers
from bayesclf.classifiers import GaussianNB, LogisticRegression
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.errors import InputError
from bayesclf.experiments.runner import Each, Figure, Record, Unit, in_order, labels_of_two, name_above, option, seed_of
from bayesclf.plots import style
from bayesclf.plots.style import Axes, Figure as Drawing
from bayesclf.wording import number, percent

CLASSIFIERS = ("GNB", "GNB2", "LR")
"""Gaussian naive Bayes, the same with one variance per feature for both classes, and logistic regression."""

POINTS = "three points"

LEAST = "least"
"""Name of the classifier that knows the population."""

RULES = ("map", "bayes-optimal")

PRIOR_SCALE = 2.5
"""Prior sd of a logistic weight per sd of its column."""

SAME = 1e-6
"""Log losses that differ by less are equal."""

LOG_CELLS = 13
"""Base-2 logarithm of the number of cells of one class: errors of linear and quadratic rules are good to 1e-4."""

GRID, REACH = 801, 7.0
"""Points of a quadrature's grid along each axis, and how many standard deviations it reaches."""


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    picture_rows: int = option(60, "Training rows of the pictures.")
    seed: int = option(0, "Random seed.")


def tabulate(settings: Settings, each: Each) -> pd.DataFrame:
    """Return expected error and log loss of each classifier's limit, by population.

    The classifier "least" knows the population.
    """
    if settings.picture_rows < 2:
        raise InputError("there must be at least 2 rows of the pictures")
    populations = [*POPULATIONS, POINTS]
    return in_order(each([(name,) for name in populations]), ["population"], population=populations)


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return expected error and log loss of each classifier's limit, and the smallest possible ones."""
    name = str(unit[0])
    cells = THREE_POINTS if name == POINTS else POPULATIONS[name].cells()
    log_proba = np.log(cells.joint) - np.log(cells.joint.sum(axis=1, keepdims=True))
    least = cells.scores(log_proba) if name == POINTS else POPULATIONS[name].least()
    found = {LEAST: least} | {own: limit_scores(own, cells) for own in CLASSIFIERS}
    return [
        {"population": name, "classifier": own, "error": error, "log_loss": loss}
        for own, (error, loss) in found.items()
    ]


def answer(settings: Settings, table: pd.DataFrame) -> tuple[str, ...]:
    """Say what each classifier converges to."""
    limits = table.set_index(["population", "classifier"])
    error, loss = limits["error"], limits["log_loss"]
    told = ", ".join(
        f"{'/'.join(percent(error[name, own]) for own in (*CLASSIFIERS, LEAST))} where {words}"
        for name, words in zip(
            POPULATIONS, ("both hold", "only that of equal variances does", "neither does"), strict=True
        )
    )
    # Where both assumptions hold the limits are equal, up to the point where the optimizer stopped.
    worse = sum(loss[name, "LR"] > loss[name, "GNB2"] + SAME for name in (*POPULATIONS, POINTS))
    return (
        f"Errors in the limit of {'/'.join(CLASSIFIERS)}/smallest possible, by which assumptions hold: {told}.",
        f"On the three points the limit of LR has the error {number(error[POINTS, 'LR'])}, and GNB2's "
        f"{number(error[POINTS, 'GNB2'])}.",
        f"LR's limit has a larger log loss than GNB2's in {worse} of {len(POPULATIONS) + 1} populations.",
    )


def summary(settings: Settings, table: pd.DataFrame) -> pd.DataFrame:
    """Return the limits."""
    return table


def figure(settings: Settings, table: pd.DataFrame) -> Figure:
    """Return the boundaries on each population."""
    caption = (
        f"By rows {', '.join(population.title for population in POPULATIONS.values())}; {settings.picture_rows} "
        "training rows. Colors: bayes-optimal, deeper where more certain; thin gray: single hypotheses."
    )
    return Figure("Boundaries by population and classifier", caption, partial(_boundaries, settings))


def classifier(name: str, **options: Any) -> BayesClassifier:
    """Return a new classifier by its name here."""
    if name == "LR":
        return LogisticRegression(prior_scale=PRIOR_SCALE, **options)
    return GaussianNB(variance="feature" if name == "GNB2" else "class-feature", **options)


def limit_scores(name: str, cells: Cells) -> tuple[float, float]:
    """Return error and log loss of a classifier's limit: its maximum likelihood fit to the population."""
    X, y, weight = cells.as_rows()
    fit = classifier(name, inference="mle").fit(X, y, sample_weight=weight)
    return cells.scores(fit.predict_log_proba(cells.x, rule="mle"))


def _boundaries(settings: Settings) -> Drawing:
    """Draw the three classifiers' boundaries on one training set of each population."""
    figure, axes = style.panels(len(POPULATIONS) * len(CLASSIFIERS), (3.3, 3.2), common=False)
    for place, (ax, (name, own)) in enumerate(zip(axes, product(POPULATIONS, CLASSIFIERS), strict=True)):
        rng = np.random.default_rng(seed_of(settings.seed, ("picture", name)))
        X, y = POPULATIONS[name].draw(settings.picture_rows, rng)
        fit = classifier(own, random_state=settings.seed, **({"inference": "laplace"} if own == "LR" else {})).fit(X, y)
        plots.decision_boundary(fit, X, y, rules=RULES, ax=ax)
        _best_boundary(ax, POPULATIONS[name])
        legend = ax.get_legend()
        assert legend is not None
        legend.remove()
        ax.set_title(own, loc="left")
        ax.set(xlabel="first column", ylabel="" if place % len(CLASSIFIERS) else f"{name}: second column")
    name_above(figure, axes)
    return figure


def _best_boundary(ax: Axes, population: GaussianClasses) -> None:
    """Draw where both classes are equally probable in the population."""
    x, y = (np.linspace(*limits, 151) for limits in (ax.get_xlim(), ax.get_ylim()))
    log_joint = population.log_density(np.stack(np.meshgrid(x, y), axis=-1))
    ax.contour(x, y, log_joint[..., 1] - log_joint[..., 0], levels=[0.0], colors="black", linestyles=":", zorder=6)
    ax.plot([], [], color="black", linestyle=":", label="least error")


@dataclass(frozen=True, eq=False)
class Cells:
    """A population as values of x with their probabilities.

    Attributes
    ----------
    x
        Values of the features (cell, feature).
    joint
        P(x, y), adding up to 1, (cell, outcome).
    """

    x: Array
    joint: Array

    def scores(self, log_proba: Array) -> tuple[float, float]:
        """Return the expected error and log loss (nats) of predictions log P(y given x), (cell, outcome).

        Both are expectations over x and y: no test rows are drawn, so that the scores are free of sampling noise.
        """
        right = np.take_along_axis(self.joint, log_proba.argmax(axis=1)[:, None], axis=1).sum()
        possible = self.joint > 0
        return float(1 - right), float(-(self.joint[possible] * log_proba[possible]).sum())

    def as_rows(self) -> tuple[Array, Integers, Array]:
        """Return rows (row, feature), labels (row) and weights (row): each cell once per class.

        A classifier fitted to them by maximum likelihood is the limit of its fits as rows of the population are added.
        """
        cells, classes = self.joint.shape
        return np.tile(self.x, (classes, 1)), np.repeat(np.arange(classes), cells), self.joint.T.ravel()


@dataclass(frozen=True, eq=False)
class GaussianClasses:
    """x | y = k ~ N(μ_k, Σ_k) in two dimensions, both classes equally probable.

    Attributes
    ----------
    title
        Description.
    mu
        Means (label, feature).
    Sigma
        Covariances (label, feature, feature).
    """

    title: str
    mu: Array
    Sigma: Array

    def draw(self, rows: int, rng: np.random.Generator) -> tuple[Array, Integers]:
        """Draw rows (row, feature) and labels (row); the first two are of different classes."""
        y = labels_of_two(rows, rng)
        noise = np.einsum("rij,rj->ri", np.linalg.cholesky(self.Sigma)[y], rng.standard_normal((rows, 2)))
        return self.mu[y] + noise, y

    def log_density(self, x: Array) -> Array:
        """Return log p(x, y), (..., outcome), for x (..., feature)."""
        densities = [stats.multivariate_normal(mu, Sigma) for mu, Sigma in zip(self.mu, self.Sigma, strict=True)]
        return np.asarray(np.log(0.5) + np.stack([density.logpdf(x) for density in densities], axis=-1))

    @cache  # noqa: B019 - the populations are constants of a module
    def cells(self) -> Cells:
        """Return as many quasi-random values of x from each class, with P(y | x) as probabilities of the classes.

        References
        ----------
        Owen, *Scrambling Sobol' and Niederreiter-Xing points*, J. Complexity 14 (1998), doi:10.1006/jcom.1998.0487.
        """
        uniform = stats.qmc.Sobol(2, rng=0).random_base2(LOG_CELLS)
        normal = special.ndtri(uniform)
        x = np.concatenate([mu + normal @ np.linalg.cholesky(S).T for mu, S in zip(self.mu, self.Sigma, strict=True)])
        return Cells(x, special.softmax(self.log_density(x), axis=1) / len(x))

    def least(self) -> tuple[float, float]:
        """Return the least error, ∫ min_k p(x, k) dx, and the least log loss, H(y | x), by the trapezoidal rule."""
        spread = REACH * np.sqrt(np.diagonal(self.Sigma, axis1=1, axis2=2))
        axes = np.linspace((self.mu - spread).min(axis=0), (self.mu + spread).max(axis=0), GRID)
        log_joint = self.log_density(np.stack(np.meshgrid(*axes.T), axis=-1))
        area = float(np.prod(axes[1] - axes[0]))
        surprise = special.logsumexp(log_joint, axis=-1, keepdims=True) - log_joint
        error = area * np.exp(log_joint.min(axis=-1)).sum()
        return float(error), float(area * (np.exp(log_joint) * surprise).sum())


def _classes(title: str, difference: tuple[float, float], *Sigma: tuple[tuple[float, float], ...]) -> GaussianClasses:
    """Return classes with means ± half a difference."""
    half = np.array(difference) / 2
    return GaussianClasses(title, np.array([-half, half]), np.array(Sigma))


POPULATIONS = {
    "both hold": _classes(
        "independent columns of equal variance in both classes", (1.4, 1.0), *[((1.0, 0.0), (0.0, 1.0))] * 2
    ),
    "variance holds": _classes("equal covariances, but dependent columns", (1.6, 0.4), *[((1.0, 0.7), (0.7, 1.0))] * 2),
    "neither holds": _classes(
        "dependent columns whose variances differ between the classes",
        (1.5, 1.0),
        ((1.0, 0.6), (0.6, 1.0)),
        ((3.0, -0.8), (-0.8, 0.5)),
    ),
}
"""Populations, by which of the assumptions of naive Bayes with one variance per feature hold: independence, shared
variances."""

THREE_POINTS = Cells(
    np.array([[-0.94], [-0.87], [1.21]]), np.array([[0.358, 0.031], [0.003, 0.349], [0.236, 0.024]]) / 1.001
)
"""One feature with three values, on which the smaller log loss has the larger error; the numbers are rounded to three
decimals and add up to 1.001."""
