"""How many rows a classifier needs to approach its limit, as columns are added, and the relative efficiency.

Rows are those of two Gaussian classes, on which the error of a linear rule is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from scipy import integrate, stats
from scipy.special import expit, ndtr

from bayesclf.errors import InputError
from bayesclf.experiments.curves import GREY, MODELS, grid, last_crossing, shade
from bayesclf.experiments.experiment import Drawing, Figure, Record, Results, Section, Unit, option
from bayesclf.experiments.gibbs_bound import ratio_of_means
from bayesclf.experiments.nested import Logistic, NaiveBayes, growing
from bayesclf.experiments.problems import Encoded, Problem
from bayesclf.families import MultivariateGaussian
from bayesclf.families.base import Axes
from bayesclf.models.base import Rows
from bayesclf.models.logistic.model import LogisticPrior
from bayesclf.plots import style
from bayesclf.typing import Array, Integers

NAME = "convergence"

EACH, TOGETHER = "each column tells as much", "all columns together tell as much"

REGIMES = {EACH: 0.4, TOGETHER: 2.5}
"""The difference of the means in each column, or the distance of the means whatever the number of columns."""

NEAR = 0.02
"""Excess error that counts as near the limit."""

QUESTION = "How many rows does each classifier need to approach its limit, as columns are added?"

BACKGROUND = (
    "Ng and Jordan (On discriminative vs. generative classifiers, NIPS 14, 2002) proved that naive Bayes needs a "
    "number of rows that grows like the logarithm of the number of columns d to come near its own limit, and "
    "logistic regression one that grows like d. Efron (1975) had shown how much better the generative classifier is "
    "where its assumptions hold, as a ratio of excess errors with many rows.",
    "Excess error is the expected error less that of the classifier's own limit, which it approaches as rows are "
    "added without end. Here the assumptions of both classifiers hold, so that both have the same limit, the smallest "
    "possible error. Rows are simulated from two normal distributions, one for each class, and counted until the mean "
    f"excess error stays below {NEAR}.",
    "Columns are added in two ways. Either each column tells as much as any other: the means of the classes differ "
    f"by {REGIMES[EACH]} standard deviations in every column, so that more columns separate the classes better. Or all "
    "columns together tell as much, whatever their number: the differences become smaller with the number of columns, "
    f"so that the distance of the means stays {REGIMES[TOGETHER]}.",
)

COLUMNS = (4, 8, 16, 32, 64)
"""Numbers of columns."""

LOG_POWER = float(np.polyfit(np.log(COLUMNS), np.log(np.log(COLUMNS)), 1)[0])
"""Slope of log log d against log d over these numbers of columns d."""

SIZES = (8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512, 724, 1024, 1448)
"""Training sizes."""

SEPARATIONS = (1.0, 2.0, 3.0)
"""Distances Δ of the means for the efficiency."""

EFFICIENCY_ROWS, EFFICIENCY_COLUMNS = 1600, 3
"""Rows and columns of its simulation: enough rows for terms beyond the asymptotic one to be small."""

BLOCK = 20
"""Training sets in one unit of work."""

type Line = tuple[float, Array]
"""Intercept at x = 0 and weights (feature) of log-odds."""


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    sets: int = option(200, f"Training sets for each number of columns, in steps of {BLOCK}.")
    efficiency_sets: int = option(4000, f"Training sets for each separation, in steps of {BLOCK}.")
    prior_scale: float = option(5.0, "Prior sd of a logistic weight per sd of its column, while columns are added.")
    seed: int = option(0, "Random seed.")


def units(settings: Settings) -> Sequence[Unit]:
    """Return (part, regime or separation, columns, first set) by blocks of training sets."""
    sets = (settings.sets, settings.efficiency_sets)
    if min(sets) < 2 * BLOCK or any(count % BLOCK for count in sets):
        raise InputError(f"training sets of each kind come by {BLOCK}, at least {2 * BLOCK} of them, not {sets}")
    growth = [
        ("growth", regime, columns, first)
        for first in range(0, settings.sets, BLOCK)
        for columns in reversed(COLUMNS)
        for regime in REGIMES
    ]
    efficiency = [
        ("efficiency", separation, EFFICIENCY_COLUMNS, first)
        for first in range(0, settings.efficiency_sets, BLOCK)
        for separation in SEPARATIONS
    ]
    return [*growth, *efficiency]


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return mean excess errors over a block of training sets."""
    part, setting, columns, first = unit[0], unit[1], int(unit[2]), int(unit[3])
    rng = np.random.default_rng(seed)
    if part == "growth":
        return _growth(settings, str(setting), columns, first, rng)
    return _efficiency(settings, float(setting), first, rng)


def _growth(settings: Settings, regime: str, columns: int, first: int, rng: np.random.Generator) -> list[Record]:
    difference = REGIMES[regime] if regime == EACH else REGIMES[regime] / np.sqrt(columns)
    pair = GaussianPair(np.full(columns, difference))
    prior = LogisticPrior(prior_scale=settings.prior_scale, intercept_scale=2 * settings.prior_scale)
    excess = {size: dict.fromkeys(MODELS, 0.0) for size in SIZES}
    for _ in range(BLOCK):
        encoded = pair.draw(SIZES[-1], rng)
        naive, logistic = NaiveBayes(encoded), Logistic(encoded, prior)
        for size, model, _ in growing({"nb": naive, "lr": logistic}, np.arange(SIZES[-1]), SIZES):
            line = naive_bayes_line(naive) if model == "nb" else logistic_line(logistic, "map")
            excess[size][model] += pair.excess(line)
    about = {"part": "growth", "setting": regime, "columns": columns, "block": first, "sets": BLOCK}
    return [{**about, "m": size} | {name: total / BLOCK for name, total in own.items()} for size, own in excess.items()]


def _efficiency(settings: Settings, separation: float, first: int, rng: np.random.Generator) -> list[Record]:
    pair = GaussianPair(separation * np.eye(EFFICIENCY_COLUMNS)[0])
    rows = np.arange(EFFICIENCY_ROWS)
    excess = {"nb": 0.0, "gda": 0.0, "lr": 0.0}
    for _ in range(BLOCK):
        encoded = pair.draw(EFFICIENCY_ROWS, rng)
        naive, logistic = NaiveBayes(encoded), Logistic(encoded, LogisticPrior())
        naive.extend(rows)
        logistic.extend(rows)
        excess["nb"] += pair.excess(naive_bayes_line(naive))
        excess["gda"] += pair.excess(discriminant_line(encoded, rows))
        excess["lr"] += pair.excess(logistic_line(logistic, "mle"))
    about = {"part": "efficiency", "setting": separation, "columns": EFFICIENCY_COLUMNS, "block": first}
    means = {name: total / BLOCK for name, total in excess.items()}
    return [{**about, "sets": BLOCK, "m": EFFICIENCY_ROWS, **means}]


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
        y = rng.integers(2, size=rows)
        y[:2] = rng.permutation(2)
        X = rng.standard_normal((rows, len(self.delta))) + (y[:, None] - 0.5) * self.delta
        names = tuple(f"x{j}" for j in range(len(self.delta)))
        return Encoded(Problem("gaussian-pair", "", "number"), X, y.astype(np.intp), ("0", "1"), names, ())

    def excess(self, line: Line) -> float:
        """Return by how much the error of a line exceeds the least error."""
        return self.error(*line) - self.least_error

    def error(self, intercept: float, weight: Array) -> float:
        """Return the error of predicting the second class where intercept + weight·x > 0, exactly."""
        size = float(np.linalg.norm(weight))
        if size == 0:
            return 0.5
        half = float(weight @ self.delta) / 2
        return float(0.5 * (ndtr((-half + intercept) / size) + ndtr((-half - intercept) / size)))


def naive_bayes_line(learner: NaiveBayes) -> Line:
    """Return the log-odds of naive Bayes with one variance per feature, by maximum likelihood.

    References
    ----------
    Mitchell, eqs 21 and 22.
    """
    model, _ = learner.model()
    found = model.mle()
    mu, sigma2, pi = (found[name][0] for name in ("mu", "sigma2", "pi"))
    weight = (mu[1] - mu[0]) / sigma2
    return float(np.log(pi[1] / pi[0]) - 0.5 * ((mu[1] ** 2 - mu[0] ** 2) / sigma2).sum()), weight


def discriminant_line(encoded: Encoded, rows: Integers) -> Line:
    """Return the log-odds of discriminant analysis with a shared covariance, by maximum likelihood.

    References
    ----------
    Abu-El-Haija 2.1.
    """
    family = MultivariateGaussian("shared")
    X, y = encoded.numbers[rows], encoded.y[rows]
    found = family.mle(family.statistics(X, y, Axes(encoded.labels, encoded.features)))
    mu, precision = found["mu"][0], np.linalg.inv(found["Sigma"][0])
    weight = precision @ (mu[1] - mu[0])
    share = y.mean()
    return float(np.log(share / (1 - share)) - 0.5 * weight @ (mu[1] + mu[0])), weight


def logistic_line(learner: Logistic, estimate: str) -> Line:
    """Return the log-odds of logistic regression under ``"mle"`` or ``"map"``."""
    model, _ = learner.model()
    found = model.mle() if estimate == "mle" else model.map()
    zero = Rows((np.zeros((1, len(model.design.number_names))), np.empty((1, 0), dtype=np.intp)), 1)
    intercept = float(model.log_scores(zero, found)[0, 0] @ np.array([-1.0, 1.0]))
    weight = np.zeros(len(model.design.number_names))
    weight[model.design.varying] = found["weight"][0, 0]
    return intercept, weight


def efficiency(separation: float, columns: int, independent: bool) -> float:
    """Return the asymptotic relative efficiency of logistic regression: the ratio of excess errors, generative first.

    With n rows the excess error of a linear rule is φ(Δ/2)/(4Δn) (V₀₀ + Σ_{j≥2} V_jj), V the asymptotic covariance of
    √n times its coefficients, the means differing along the first axis. For logistic regression V₀₀ = V_jj =
    1/E[p(1 − p)]; for discriminant analysis with a shared covariance V₀₀ = V_jj = 4 + Δ²; for naive Bayes, which knows
    that columns are independent, V₀₀ = 4 + Δ² and V_jj = 4.

    Parameters
    ----------
    separation
        Δ, above 0.
    columns
        Number of features.
    independent
        Whether against naive Bayes, rather than discriminant analysis.

    References
    ----------
    Efron, *The Efficiency of Logistic Regression Compared to Normal Discriminant Analysis*, JASA 70 (1975),
    doi:10.1080/01621459.1975.10480319.

    Examples
    --------
    >>> [round(efficiency(delta, 2, independent=False), 3) for delta in (1, 2, 3, 4)]
    [0.995, 0.899, 0.641, 0.343]
    """

    def weighted(x: float) -> float:
        """Return the density of x along the first axis times p(1 − p)."""
        density = 0.5 * (stats.norm.pdf(x - separation / 2) + stats.norm.pdf(x + separation / 2))
        return float(density * expit(separation * x) * expit(-separation * x))

    information, _ = integrate.quad(weighted, -np.inf, np.inf)
    intercept = 4 + separation**2
    others = 4.0 if independent else intercept
    return float((intercept + (columns - 1) * others) * information / columns)


def summarise(settings: Settings, records: pd.DataFrame) -> pd.DataFrame:
    """Return mean excess errors with standard errors, and the efficiencies with their asymptotic values.

    A row of the part "growth" has a setting, columns, m, model, and its excess error; one of "efficiency" a
    separation, the generative model, the simulated ratio `value` with its standard error `se`, and the quadrature's
    `expected`.
    """
    keys = ["part", "setting", "columns", "m", "model"]
    growth = records[records["part"] == "growth"].melt([*keys[:-1], "block"], ["nb", "lr"], "model", "value")
    lines = growth.groupby(keys, sort=False)["value"].agg(value="mean", se="sem").reset_index()
    ratios = []
    for separation in SEPARATIONS:
        own = records[(records["part"] == "efficiency") & (records["setting"] == separation)]
        weight = own["sets"].to_numpy(dtype=float)
        for model in ("gda", "nb"):
            ratio, error = ratio_of_means(own[model].to_numpy(), own["lr"].to_numpy(), weight)
            expected = efficiency(separation, EFFICIENCY_COLUMNS, model == "nb")
            about = ("efficiency", separation, EFFICIENCY_COLUMNS, EFFICIENCY_ROWS, model)
            ratios.append({**dict(zip(keys, about, strict=True)), "value": ratio, "se": error, "expected": expected})
    return pd.concat([lines, pd.DataFrame(ratios)], ignore_index=True)


def rows_needed(table: pd.DataFrame) -> pd.DataFrame:
    """Return, by setting, model and columns, from which size on the mean excess error stays below `NEAR`.

    It is infinite where no size is large enough, and interpolated in log m otherwise.
    """
    keys = ["setting", "model", "columns"]
    lines = [
        (*about, last_crossing(own["m"].to_numpy(dtype=float), NEAR - own["value"].to_numpy()))
        for about, own in table[table["part"] == "growth"].groupby(keys, sort=False)
    ]
    return pd.DataFrame(lines, columns=[*keys, "rows"])


def growth_exponent(needed: pd.DataFrame) -> float:
    """Return the slope of log rows against log columns, where rows are finite; NaN with fewer than two."""
    finite = needed[np.isfinite(needed["rows"])]
    if len(finite) < 2:
        return float("nan")
    return float(np.polyfit(np.log(finite["columns"]), np.log(finite["rows"]), 1)[0])


def present(settings: Settings, records: pd.DataFrame, table: pd.DataFrame) -> Results:
    """Say how rows grow with columns in each regime, and whether simulation and quadrature agree."""
    needed = rows_needed(table)
    ratios = table[table["part"] == "efficiency"]
    z = (ratios["value"] - ratios["expected"]) / ratios["se"]
    sentences = []
    for regime in REGIMES:
        own = needed[needed["setting"] == regime]
        naive, logistic = (growth_exponent(own[own["model"] == model]) for model in ("nb", "lr"))
        missing = int(np.isinf(own["rows"]).sum())
        without = (
            f", without {missing} numbers of columns at which no training size is near the limit" if missing else ""
        )
        powers = f"{naive:.2f} for naive Bayes and {logistic:.2f} for logistic regression"
        sentences.append(
            f"Where {regime}, the rows needed grow like the number of columns to the power {powers}{without}."
        )
    headline = f"{sentences[0]} The statement of Ng and Jordan, log d rows against d rows, is about this case."
    agreement = (
        f"The simulated efficiencies of logistic regression at {EFFICIENCY_ROWS:,} rows, against discriminant analysis "
        f"and naive Bayes, lie within {np.abs(z).max():.1f} standard errors of the quadrature's."
    )
    sections = (
        Section("Excess error as rows are added", (), _growth_figures(table)),
        Section("Rows needed", NEEDED_TEXT, (), needed),
        Section("Efficiency", EFFICIENCY_TEXT, (), ratios.drop(columns=["part"])),
    )
    return Results(headline, (sentences[1], agreement), CAUTIONS, sections)


CAUTIONS = (
    "The assumptions of both classifiers hold: normal columns, independent given the class, with equal variances.",
    "Where many columns are equally informative, the smallest possible error is near 0, and few rows are enough to "
    f"come within {NEAR} of it.",
)

NEEDED_TEXT = (
    f"The table has the training rows from which on the mean excess error stays below {NEAR}, interpolated between the "
    "training sizes.",
    "The power is the slope of a straight line through log rows against log columns. Growth in proportion to the "
    "number of columns d has the power 1. Growth like log d is no power, and the line through it has the slope "
    f"{LOG_POWER:.2f} on these numbers of columns.",
)

EFFICIENCY_TEXT = (
    "The efficiency of logistic regression is the ratio of excess errors, that of a generative classifier over that of "
    "logistic regression. The number of rows that logistic regression needs, times this ratio, is enough for the "
    "generative classifier. The generative classifier is discriminant analysis with one covariance matrix (gda), which "
    "has the efficiency that Efron derived, the same for any number of columns; or naive Bayes (nb), which does not "
    "estimate correlations and in theory needs even fewer rows.",
    "The column “setting” is the distance of the means, “value” the simulated ratio with its standard error, and "
    "“expected” the ratio in the limit of many rows, by quadrature.",
)


def _growth_figures(table: pd.DataFrame) -> tuple[Figure, ...]:
    """Return one figure per regime, with one panel per model and one curve per number of columns."""
    return tuple(
        Figure(
            f"growth-{index}",
            f"Excess error against rows where {regime}",
            "Two panels, naive Bayes and logistic regression; one curve per number of columns.",
            partial(_panels, table[table["setting"] == regime]),
            f"Where {regime}. Darker curves have more columns; bands are one standard error. The horizontal line is at "
            f"an excess error of {NEAR}.",
        )
        for index, regime in enumerate(REGIMES, 1)
    )


def _panels(table: pd.DataFrame) -> Drawing:
    figure, axes = grid(len(MODELS), len(MODELS), (9.2, 3.4), sharey=True)
    for ax, (model, name) in zip(axes, MODELS.items(), strict=True):
        for index, columns in enumerate(COLUMNS):
            own = table[(table["model"] == model) & (table["columns"] == columns)]
            color = shade(index / (len(COLUMNS) - 1))
            ax.plot(own["m"], own["value"], color=color, linewidth=1.8)
            ax.fill_between(own["m"], own["value"] - own["se"], own["value"] + own["se"], color=color, alpha=0.15)
            ax.annotate(f"{columns}", (own["m"].iloc[0], own["value"].iloc[0]), color=color, ha="right", va="center")
        ax.axhline(NEAR, linewidth=1, color=GREY)
        ax.set_title(f"{name}, by number of columns", loc="left")
        ax.set(xscale="log", xlabel="training rows")
        style.quiet(ax, "y")
    axes[0].set_ylabel("excess error")
    return figure
