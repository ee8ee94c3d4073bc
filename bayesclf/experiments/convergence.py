"""How many rows does each classifier need to approach its limit, as columns are added?

Ng and Jordan (On discriminative vs. generative classifiers, NIPS 14, 2002) proved that naive Bayes needs a number of
rows that grows like the logarithm of the number of columns d to come near its own limit, and logistic regression one
that grows like d. Here rows are simulated from two normal distributions for which the assumptions of both hold, so that
both have the same limit, and counted until the mean excess error, beyond the smallest possible one, stays below 0.02.
Columns are added in two ways: each tells as much as any other, or all together tell as much whatever their number.
Efron (1975) derived the efficiency of logistic regression, the ratio of the excess errors of a generative classifier
and of logistic regression with many rows, which is simulated too.

The assumptions of both classifiers hold here: normal columns, independent given the class, with equal variances. Where
many columns tell as much each, the smallest possible error is near 0, and few rows are enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from scipy import integrate, stats
from scipy.special import expit, ndtr

from bayesclf.arrays import Array, Integers
from bayesclf.errors import InputError
from bayesclf.experiments.gibbs_bound import ratio_of_means
from bayesclf.experiments.ng_jordan import MODELS, Encoded, Logistic, NaiveBayes, growing
from bayesclf.experiments.runner import Each, Figure, Record, Unit, curves, last_crossing, option
from bayesclf.families import MultivariateGaussian
from bayesclf.families.base import Axes
from bayesclf.models.base import Rows
from bayesclf.models.logistic.model import LogisticPrior

EACH, TOGETHER = "each column tells as much", "all columns together tell as much"

REGIMES = {EACH: 0.4, TOGETHER: 2.5}
"""The difference of the means in each column, or the distance of the means whatever the number of columns."""

NEAR = 0.02
"""Excess error that counts as near the limit."""

COLUMNS = (4, 8, 16, 32, 64)
"""Numbers of columns."""

SIZES = (8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512, 724, 1024, 1448)
"""Training sizes."""

SEPARATIONS = (1.0, 2.0, 3.0)
"""Distances Δ of the means for the efficiency."""

EFFICIENCY_ROWS, EFFICIENCY_COLUMNS = 1600, 3
"""Rows and columns of its simulation: enough rows for terms beyond the asymptotic one to be small."""

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
    efficiency_sets: int = option(4000, f"Training sets for each separation, in steps of {BLOCK}.")
    prior_scale: float = option(5.0, "Prior sd of a logistic weight per sd of its column, while columns are added.")
    seed: int = option(0, "Random seed.")


def tabulate(settings: Settings, each: Each) -> pd.DataFrame:
    """Return mean excess errors with standard errors, and the efficiencies with their asymptotic values.

    A row of the part "growth" has a setting, columns, m, model, and its excess error; one of "efficiency" a
    separation, the generative model, the simulated ratio `value` with its standard error `se`, and the quadrature's
    `expected`.
    """
    sets = (settings.sets, settings.efficiency_sets)
    if min(sets) < 2 * BLOCK or any(count % BLOCK for count in sets):
        raise InputError(f"training sets of each kind come by {BLOCK}, at least {2 * BLOCK} of them, not {sets}")
    blocks, simulated = (range(0, count, BLOCK) for count in sets)
    units: list[Unit] = [
        ("growth", regime, d, first) for first in blocks for d in reversed(COLUMNS) for regime in REGIMES
    ]
    units += [("efficiency", delta, EFFICIENCY_COLUMNS, first) for first in simulated for delta in SEPARATIONS]
    records = each(units)
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


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return mean excess errors over a block of training sets."""
    part, setting, columns, first = unit[0], unit[1], int(unit[2]), int(unit[3])
    rng = np.random.default_rng(seed)
    about = {"part": part, "setting": setting, "columns": columns, "block": first, "sets": BLOCK}
    excess = _growth(settings, str(setting), columns, rng) if part == "growth" else _efficiency(float(setting), rng)
    return [{**about, "m": size} | {name: total / BLOCK for name, total in own.items()} for size, own in excess.items()]


def answer(settings: Settings, table: pd.DataFrame) -> tuple[str, ...]:
    """Say how rows grow with columns in each regime, and whether simulation and quadrature agree."""
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
    ratios = table[table["part"] == "efficiency"]
    z = ((ratios["value"] - ratios["expected"]) / ratios["se"]).abs().max()
    agreement = (
        f"The simulated efficiencies of logistic regression at {EFFICIENCY_ROWS:,} rows, against discriminant analysis "
        f"and naive Bayes, lie within {z:.1f} standard errors of the quadrature's."
    )
    return *said, agreement


def summary(settings: Settings, table: pd.DataFrame) -> pd.DataFrame:
    """Return from which size on each mean excess error stays below `NEAR`: infinite where no size is large enough."""
    growth = table[table["part"] == "growth"]
    rows = {
        key: last_crossing(own["m"].to_numpy(dtype=float), NEAR - own["value"].to_numpy())
        for key, own in growth.groupby(["setting", "columns", "model"])
    }
    wide = pd.Series(rows).unstack().rename(columns=MODELS).loc[list(REGIMES), list(MODELS.values())]
    return wide.rename_axis(["setting", "columns"]).reset_index()


def figures(settings: Settings, table: pd.DataFrame) -> tuple[Figure, ...]:
    """Return one figure per regime, with one panel per model and one curve per number of columns."""
    growth = table.assign(model=table["model"].map(MODELS), value_se=table["se"])
    caption = "Darker curves have more columns; bands are one standard error."
    return tuple(
        Figure(
            f"growth-{index}",
            f"Excess error against rows where {regime}",
            caption,
            partial(curves, growth[growth["setting"] == regime], *("model", "columns", "value"), labels=LABELS),
        )
        for index, regime in enumerate(REGIMES, 1)
    )


def _growth(settings: Settings, regime: str, columns: int, rng: np.random.Generator) -> dict[int, dict[str, float]]:
    """Return summed excess errors of both models at each size."""
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
    return excess


def _efficiency(separation: float, rng: np.random.Generator) -> dict[int, dict[str, float]]:
    """Return summed excess errors of three models with many rows."""
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
    return {EFFICIENCY_ROWS: excess}


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
        return Encoded("number", X, y.astype(np.intp), ("0", "1"), names)

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
    X, y = encoded.X[rows], encoded.y[rows]
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


def growth_exponent(columns: pd.Series, rows: pd.Series) -> float:
    """Return the slope of log rows against log columns, where rows are finite; NaN with fewer than two."""
    finite = np.isfinite(rows)
    if finite.sum() < 2:
        return float("nan")
    return float(np.polyfit(np.log(columns[finite]), np.log(rows[finite]), 1)[0])
