"""How many rows a classifier needs to come near its limit, as columns are added, and what efficiency says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.errors import InputError
from bayesclf.experiments.experiment import Figure, Record, Results, Section, Unit, option

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as MatplotlibFigure

NAME = "convergence"
QUESTION = "How many rows does each classifier need to come near its limit, as columns are added?"

COLUMNS = (4, 8, 16, 32, 64)
"""Numbers of columns."""

SIZES = (8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512, 724, 1024, 1448)
"""Training sizes."""

REGIMES = {"each column tells as much": 0.4, "all columns together tell as much": 2.5}
"""The difference of the means in each column, or the distance of the means whatever the number of columns."""

NEAR = 0.02
"""Excess error that counts as near the limit."""

SEPARATIONS = (1.0, 2.0, 3.0)
"""Distances Δ of the means for the efficiency."""

EFFICIENCY_ROWS, EFFICIENCY_COLUMNS = 1600, 3
"""Rows and columns of its simulation: so many rows that terms beyond the asymptotic one are small."""

BLOCK = 20
"""Training sets in one unit of work."""


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    sets: int = option(200, f"Training sets for each number of columns, in steps of {BLOCK}.")
    efficiency_sets: int = option(4000, f"Training sets for each separation, in steps of {BLOCK}.")
    prior_scale: float = option(5.0, "Prior sd of a logistic weight per sd of its column, while columns are added.")
    seed: int = option(0, "Seed of everything.")


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
    from bayesclf.experiments import gaussian_pair as pairs
    from bayesclf.experiments.nested import Logistic, NaiveBayes
    from bayesclf.families.logistic import LogisticPrior

    difference = REGIMES[regime] if regime.startswith("each") else REGIMES[regime] / np.sqrt(columns)
    pair = pairs.GaussianPair(np.full(columns, difference))
    prior = LogisticPrior(prior_scale=settings.prior_scale, intercept_scale=2 * settings.prior_scale)
    excess = np.zeros((len(SIZES), 2))
    for _ in range(BLOCK):
        encoded = pair.draw(SIZES[-1], rng)
        naive, logistic = NaiveBayes(encoded), Logistic(encoded, prior)
        known = 0
        for place, size in enumerate(SIZES):
            rows = np.arange(known, size)
            naive.extend(rows)
            logistic.extend(rows)
            lines = (pairs.naive_bayes_line(naive), pairs.logistic_line(logistic, "map"))
            excess[place] += [pair.error(*line) - pair.least_error for line in lines]
            known = size
    return [
        {"part": "growth", "setting": regime, "columns": columns, "block": first, "sets": BLOCK, "m": size, **means}
        for size, line in zip(SIZES, excess / BLOCK, strict=True)
        for means in (dict(zip(("nb", "lr"), line.tolist(), strict=True)),)
    ]


def _efficiency(settings: Settings, separation: float, first: int, rng: np.random.Generator) -> list[Record]:
    from bayesclf.experiments import gaussian_pair as pairs
    from bayesclf.experiments.nested import Logistic, NaiveBayes
    from bayesclf.families.logistic import LogisticPrior

    pair = pairs.GaussianPair(separation * np.eye(EFFICIENCY_COLUMNS)[0])
    excess = np.zeros(3)
    for _ in range(BLOCK):
        encoded = pair.draw(EFFICIENCY_ROWS, rng)
        rows = np.arange(EFFICIENCY_ROWS)
        naive, logistic = NaiveBayes(encoded), Logistic(encoded, LogisticPrior())
        naive.extend(rows)
        logistic.extend(rows)
        lines = (
            pairs.naive_bayes_line(naive),
            pairs.discriminant_line(encoded, rows),
            pairs.logistic_line(logistic, "mle"),
        )
        excess += [pair.error(*line) - pair.least_error for line in lines]
    means = dict(zip(("nb", "gda", "lr"), (excess / BLOCK).tolist(), strict=True))
    about = {"part": "efficiency", "setting": separation, "columns": EFFICIENCY_COLUMNS, "block": first}
    return [{**about, "sets": BLOCK, "m": EFFICIENCY_ROWS, **means}]


def summarise(settings: Settings, records: pd.DataFrame) -> pd.DataFrame:
    """Return mean excess errors with standard errors, and the efficiencies beside their asymptotic values.

    A line of the part "growth" has a setting, columns, m, model, and its excess error; one of "efficiency" a
    separation, the generative model, the simulated ratio `value` with its standard error `se`, and the quadrature's
    `expected`.
    """
    import pandas as pd

    from bayesclf.experiments.gaussian_pair import efficiency
    from bayesclf.experiments.gibbs_bound import ratio_of_means

    growth = records[records["part"] == "growth"].melt(
        ["part", "setting", "columns", "m", "block"], ["nb", "lr"], "model", "value"
    )
    keys = ["part", "setting", "columns", "m", "model"]
    lines = growth.groupby(keys, sort=False)["value"].agg(value="mean", se="sem").reset_index()
    ratios = []
    for separation in SEPARATIONS:
        own = records[(records["part"] == "efficiency") & (records["setting"] == separation)]
        for model in ("gda", "nb"):
            ratio, error = ratio_of_means(
                own[model].to_numpy(), own["lr"].to_numpy(), own["sets"].to_numpy(dtype=float)
            )
            expected = efficiency(separation, EFFICIENCY_COLUMNS, model == "nb")
            about = ("efficiency", separation, EFFICIENCY_COLUMNS, EFFICIENCY_ROWS, model)
            ratios.append({**dict(zip(keys, about, strict=True)), "value": ratio, "se": error, "expected": expected})
    return pd.concat([lines, pd.DataFrame(ratios)], ignore_index=True)


def rows_needed(table: pd.DataFrame) -> pd.DataFrame:
    """Return, by setting, model and columns, from which size on the mean excess error stays below `NEAR`.

    It is infinite where it does not within the sizes there are, and interpolated in log m otherwise.
    """
    import pandas as pd

    from bayesclf.experiments.crossing import last_crossing

    lines = []
    for (setting, model, columns), own in table[table["part"] == "growth"].groupby(
        ["setting", "model", "columns"], sort=False
    ):
        needed = last_crossing(own["m"].to_numpy(dtype=float), NEAR - own["value"].to_numpy())
        lines.append({"setting": setting, "model": model, "columns": columns, "rows": needed})
    return pd.DataFrame(lines)


def growth_exponent(needed: pd.DataFrame) -> float:
    """Return the slope of log rows against log columns, where rows are finite; NaN with fewer than two."""
    finite = needed[np.isfinite(needed["rows"])]
    if len(finite) < 2:
        return float("nan")
    return float(np.polyfit(np.log(finite["columns"]), np.log(finite["rows"]), 1)[0])


def _unreached(needed: pd.DataFrame) -> str:
    """Say at how many numbers of columns no size came near enough to the limit to count."""
    missing = int(np.isinf(needed["rows"]).sum())
    return f", not counting {missing} numbers of columns at which no size is near the limit" if missing else ""


def present(settings: Settings, records: pd.DataFrame, table: pd.DataFrame) -> Results:
    """Say how rows grow with columns in each regime, and whether simulation and quadrature agree."""
    needed = rows_needed(table)
    ratios = table[table["part"] == "efficiency"]
    z = (ratios["value"] - ratios["expected"]) / ratios["se"]
    sentences = []
    for regime in REGIMES:
        exponents = {
            model: growth_exponent(needed[(needed["setting"] == regime) & (needed["model"] == model)])
            for model in ("nb", "lr")
        }
        sentences.append(
            f"Where {regime}: rows grow like columns to the power {exponents['nb']:.2f} for naive Bayes and "
            f"{exponents['lr']:.2f} for logistic regression{_unreached(needed[needed['setting'] == regime])}."
        )
    headline = f"{sentences[0]} The paper's log d against d is about that regime."
    agreement = (
        f"Simulated efficiencies of logistic regression at {EFFICIENCY_ROWS:,} rows lie within "
        f"{np.abs(z).max():.1f} standard errors of the quadrature's at {len(SEPARATIONS)} separations, against "
        "discriminant analysis and naive Bayes."
    )
    return Results(
        headline,
        (sentences[1], agreement),
        CAUTIONS,
        (
            Section("Excess error as rows are added", (), _growth_figures(table)),
            Section("Rows needed", (f"Rows from which the mean excess error stays below {NEAR}.",), (), needed),
            Section("Efficiency", EFFICIENCY_TEXT, (), ratios.drop(columns=["part"])),
        ),
    )


CAUTIONS = (
    "Both classifiers are given what they assume: normal columns, independent given the class, with equal variances.",
    "An excess error near 0 needs few rows where the least error is near 0 as well, which is what columns that each "
    "tell as much bring about.",
)

EFFICIENCY_TEXT = (
    "The ratio of excess errors, generative over discriminative: as many rows as logistic regression needs, times "
    "this, do for the generative classifier. Discriminant analysis has Efron's efficiency, the same for any number of "
    "columns; naive Bayes, which need not estimate correlations, is better still.",
)


def _growth_figures(table: pd.DataFrame) -> tuple[Figure, ...]:
    """Return one figure a regime, one panel a model, one curve a number of columns."""
    return tuple(
        Figure(
            f"growth-{index}",
            f"Excess error against rows where {regime}",
            "Two panels, naive Bayes and logistic regression; one curve a number of columns.",
            lambda regime=regime: _panels(table[table["setting"] == regime]),  # type: ignore[misc]
            f"Where {regime}; darker curves have more columns. The line is {NEAR}.",
        )
        for index, regime in enumerate(REGIMES, 1)
    )


def _panels(table: pd.DataFrame) -> MatplotlibFigure:
    import matplotlib.pyplot as plt

    from bayesclf.plots import style

    figure, axes = plt.subplots(1, 2, figsize=(9.2, 3.4), layout="constrained", sharey=True)
    plt.close(figure)
    shades: Any = plt.get_cmap("viridis_r")
    for ax, (model, name) in zip(axes, (("nb", "naive Bayes"), ("lr", "logistic regression")), strict=True):
        for index, columns in enumerate(COLUMNS):
            own = table[(table["model"] == model) & (table["columns"] == columns)]
            color = shades(0.2 + 0.8 * index / (len(COLUMNS) - 1))
            ax.plot(own["m"], own["value"], color=color, linewidth=1.8)
            ax.fill_between(own["m"], own["value"] - own["se"], own["value"] + own["se"], color=color, alpha=0.15)
            ax.annotate(f"{columns}", (own["m"].iloc[0], own["value"].iloc[0]), color=color, ha="right", va="center")
        ax.axhline(NEAR, linewidth=1, color="#8c8c8c")
        ax.set_title(f"{name}, by number of columns", loc="left")
        ax.set(xscale="log", xlabel="training rows")
        style.quiet(ax, "y")
    axes[0].set_ylabel("excess error")
    return figure
