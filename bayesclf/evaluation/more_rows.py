"""How much more rows would help: learning curves continued beyond the table, tried out on a quarter of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bayesclf.attached import MoreRowsMethods, with_methods
from bayesclf.classifiers.predictor import CI_PROB
from bayesclf.display import Display, Displayed
from bayesclf.errors import InputError
from bayesclf.evaluation.learning import LearningCurve, learning_curve
from bayesclf.progress import Progress
from bayesclf.typing import Array
from bayesclf.wording import first_upper

FACTORS = (2, 4)
"""How many times as many rows are asked about."""

MOST_TIMES = 1_000
"""Most times as many rows that can be asked about: a curve over a factor of 8 says nothing of what is far beyond it."""

HALVINGS = 5
"""How often the training rows are halved for the sizes of the curve."""

WINDOW = 8
"""A power law is fitted to the sizes from an eighth of the largest on: smaller ones follow the prior."""

QUARTER = 4
"""The extrapolation is tried from the sizes up to a quarter of the rows to all of them."""

LEAST_SIZE = 8
"""Least training rows of a size."""

LEAST_POINTS = 3
"""Least sizes that an extrapolation starts from, two where it is tried out."""

EXPONENT_SD = 0.5
"""Prior sd of log c around c = 1, the exponent of every regular parametric model."""

EXPONENTS, DRAWS = 121, 4_000
"""Exponents that are averaged over, and draws of the curves."""


@with_methods
@dataclass(frozen=True, eq=False, repr=False)
class MoreRows(Displayed, MoreRowsMethods):
    """What log loss more rows would give.

    Attributes
    ----------
    table
        One row per model, rule and number of `rows`, from all of the table on: `log_loss`, and `gain`, by how much it
        is lower than with all rows, each with its 89 % interval (`_low`, `_high`). `reason`: why a line has none.
    trial
        The same from a quarter of the training rows, where the answer is known, one row per model and rule: largest
        size that it knows of (`known`), the size that it is about (`rows`), what it expects to be observed there
        (`expected`, with its interval `low`, `high`), what was `observed`, and whether that is `inside`. A rule without
        a line here has too few rows for the trial.
    curve
        The learning curve that is continued.
    """

    table: pd.DataFrame
    trial: pd.DataFrame
    curve: LearningCurve

    @property
    def best(self) -> tuple[str, str]:
        """The model and rule of the smallest log loss with all rows."""
        known = self.table[self.table["log_loss"].notna()]
        if known.empty:
            raise InputError(f"no curve could be continued: {self.table['reason'].iloc[0]}")
        line = known[known["rows"] == known["rows"].min()].sort_values("log_loss", kind="stable").iloc[0]
        return str(line["model"]), str(line["rule"])

    def of(self, model: str | None = None, rule: str | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the lines of one model and rule in `table` and in `trial`; the best ones where neither is named."""
        if model is None and rule is None:
            model, rule = self.best
        found = []
        for table in (self.table, self.trial):
            own = table[(table["model"] == model) & (table["rule"] == rule)]
            found.append(own.reset_index(drop=True))
        if found[0].empty:
            lines = self.table[["model", "rule"]].drop_duplicates().itertuples(index=False, name=None)
            raise InputError(f"there is no curve of {model} {rule}; there are {', '.join(map(' '.join, lines))}")
        return found[0], found[1]

    def _display(self) -> Display:
        header = ("model", "rule", "rows", "log loss", f"lower by, {100 * CI_PROB:.0f} % interval")
        lines = [
            (line.model, line.rule, f"{line.rows:,}", f"{line.log_loss:.3f}", interval)
            for line in self.table[self.table["reason"] == ""].itertuples()
            for interval in [f"{line.gain_low:.3f} to {line.gain_high:.3f}"]
        ]
        return Display("What more rows would give", header, lines, sentences=(f"{first_upper(self.sentence())}.",))

    def sentence(self, model: str | None = None, rule: str | None = None) -> str:
        """Return what more rows would give under one model and rule, in words; the best ones where none is named."""
        table, trial = self.of(model, rule)
        if table["reason"].iloc[0]:
            return f"what more rows would give cannot be said: {table['reason'].iloc[0]}"
        lines = table.to_dict("records")
        now, parts = lines[0], []
        for line in lines[1:]:
            interval = f"lower by {line['gain_low']:.3f} to {line['gain_high']:.3f}, {100 * CI_PROB:.0f} % interval"
            parts.append(f"with {line['rows']:,} rows {line['log_loss']:.3f} ({interval})")
        says = f"log loss with all {now['rows']:,} rows {now['log_loss']:.3f}; {'; '.join(parts)}"
        if trial.empty:
            return f"{says}; there are too few rows to try this out on a quarter of them"
        one = trial.iloc[0]
        tried = f"from {one['known']:,} rows it expects {one['low']:.3f} to {one['high']:.3f} at {one['rows']:,}"
        verdict = "" if one["inside"] else ": do not rely on it"
        return f"{says}; tried out, {tried}, where {one['observed']:.3f} is observed{verdict}"


def more_rows(
    models: Mapping[str, Any] | Sequence[Any] | Any,
    X: Any,
    y: Any,
    rules: Sequence[str] = ("bayes-optimal",),
    factors: Sequence[float] = FACTORS,
    cv: Any = 5,
    repeats: int = 1,
    random_state: Any = 0,
    n_jobs: int = 1,
    progress: Progress = None,
) -> MoreRows:
    """Say what log loss twice and four times as many rows would give, with an interval.

    Each model is learned from N, N/2, … N/32 training rows, N the training rows of a split. To the sizes from N/8 on a
    power law is fitted, L(m) = a + b((m/N)⁻ᶜ − 1) with b ≥ 0, averaged over b, the level a, and the exponent c, with
    log c ~ Normal(0, ½²): c = 1 for every regular parametric model, whether it is true or not. The errors of the sizes
    belong together, as `bayesclf.evaluation.curve_errors.covariance` says, so that the curve is known better than its
    level. Where the curve does not fall beyond its error, the least gain is 0.

    Noisy curves give small exponents more weight than that prior does, as b has a flat one: with errors of half the
    gain, the median gain was 1.4 times the true one in a simulation, and intervals held the true one.

    The interval is that of the expected log loss on new rows from the same population. It rests on the power law: a
    model that changes with the number of rows, such as one that chooses columns or levels by them, may leave it. So the
    same is done from the sizes up to N/4, where the answer at N is known: see `MoreRows.trial`.

    Parameters
    ----------
    models, X, y, cv, repeats, random_state, n_jobs, progress
        As in `bayesclf.compare`.
    rules : sequence of str
        Names of rules, of `bayesclf.rules.RULES`.
    factors : sequence of float
        How many times as many rows to ask about, each above 1 and at most 1,000. Those that give the same number of
        rows share a line.

    Returns
    -------
    MoreRows
        The curve, and the log loss expected with more rows, by model and rule.

    Raises
    ------
    InputError
        For classifiers, a table or options that cannot be used.

    References
    ----------
    Cortes, Jackel, Solla, Vapnik & Denker, *Learning curves: asymptotic values and rate of convergence*, NIPS 1993.
    Viering & Loog, *The shape of learning curves: a review*, IEEE TPAMI 45 (2023).

    Examples
    --------
    >>> import bayesclf as bc
    >>> iris = bc.datasets.load("iris")
    >>> found = bc.more_rows(bc.GaussianNB(), iris.X, iris.y, rules=["predictive"])
    >>> found.table[["model", "rule", "rows"]]
      model        rule  rows
    0   gnb  predictive   150
    1   gnb  predictive   300
    2   gnb  predictive   600
    """
    try:
        asked = sorted({float(factor) for factor in factors})
    except (TypeError, ValueError):
        asked = []
    if not asked or not all(1 < factor <= MOST_TIMES for factor in asked):
        raise InputError(f"factors are numbers above 1 and at most {MOST_TIMES:,}, such as [2, 4], not {factors!r}")
    shares = [share for share in 0.5 ** np.arange(HALVINGS + 1) if share == 1 or share * len(y) >= LEAST_SIZE]
    curve = learning_curve(models, X, y, rules, shares, cv, repeats, random_state, n_jobs, progress)
    table, trial = [], []
    rows = list(dict.fromkeys(round(len(y) * factor) for factor in (1.0, *asked)))
    if len(rows) == 1:
        raise InputError(f"factors={factors!r} of {len(y):,} rows add no row; ask about more rows")
    for (model, rule), points in curve.table.groupby(["model", "rule"], sort=False):
        key = {"model": model, "rule": rule}
        points = points[points["m"] >= LEAST_SIZE]
        reason = _obstacle(points)
        if reason:
            table += [key | {"rows": m, "reason": reason} for m in rows]
            continue
        errors = curve.covariances[str(model), str(rule)][-len(points) :, -len(points) :]
        m, mean = points["m"].to_numpy(float), points["log_loss"].to_numpy()
        table += [key | line for line in _continued(m, mean, errors, rows, curve.seed)]
        trial += [key | line for line in _tried(m, mean, errors, curve.seed)]
    names = ("rows", "log_loss", "log_loss_low", "log_loss_high", "gain", "gain_low", "gain_high", "reason")
    tried = ("known", "rows", "expected", "low", "high", "observed", "inside")
    return MoreRows(
        pd.DataFrame(table, columns=["model", "rule", *names]),
        pd.DataFrame(trial, columns=["model", "rule", *tried]),
        curve,
    )


def _obstacle(points: pd.DataFrame) -> str:
    """Return why a curve cannot be continued, empty if it can."""
    reasons = points["reason"][points["reason"] != ""]
    if len(reasons):
        return str(reasons.iloc[0])
    if len(points) < LEAST_POINTS:
        return f"at least {LEAST_SIZE * 2 ** (LEAST_POINTS - 1)} training rows in a split are needed"
    if not np.isfinite(points["log_loss"]).all():
        return "some rows have an infinite log loss; take a rule with smoothing, such as 'predictive'"
    return ""


@dataclass(frozen=True, eq=False)
class PowerLaws:
    """Draws of L(m) = a + b((m/N)⁻ᶜ − 1), all (draw).

    Attributes
    ----------
    level, fall, exponent
        a = L(N), b and c.
    largest
        N, the largest size that they were fitted to.
    """

    level: Array
    fall: Array
    exponent: Array
    largest: float

    def at(self, m: Array) -> Array:
        """Return the mean losses at some sizes, (draw, m)."""
        share = (np.asarray(m, dtype=float) / self.largest) ** -self.exponent[:, None]
        return np.asarray(self.level[:, None] + self.fall[:, None] * (share - 1))


def power_laws(m: Array, mean: Array, errors: Array, seed: int) -> PowerLaws:
    """Draw power laws from their posterior given mean losses (m) at some sizes and the covariance of their errors.

    Given c it is a normal one of a and b, of which b below 0 counts as 0.
    """
    largest = m[-1]
    exponents = np.exp(np.linspace(-2.5, 2.5, EXPONENTS) * EXPONENT_SD)
    fits, log_weight = [], -0.5 * np.linspace(-2.5, 2.5, EXPONENTS) ** 2
    inverse = np.linalg.inv(errors)
    for place, c in enumerate(exponents):
        design = np.column_stack([np.ones(len(m)), (m / largest) ** -c - 1])
        spread = np.linalg.inv(design.T @ inverse @ design)
        center = spread @ design.T @ inverse @ mean
        off = mean - design @ center
        log_weight[place] += 0.5 * (np.linalg.slogdet(spread)[1] - off @ inverse @ off)
        fits.append((center, np.linalg.cholesky(spread)))
    weight = np.exp(log_weight - log_weight.max())
    rng = np.random.default_rng(seed)
    chosen = rng.choice(EXPONENTS, size=DRAWS, p=weight / weight.sum())
    centers, factors = (np.array([fit[part] for fit in fits])[chosen] for part in (0, 1))
    drawn = centers + np.einsum("dij,dj->di", factors, rng.standard_normal((DRAWS, 2)))
    return PowerLaws(drawn[:, 0], np.maximum(drawn[:, 1], 0.0), exponents[chosen], largest)


def _continued(m: Array, mean: Array, errors: Array, rows: list[int], seed: int) -> list[dict[str, Any]]:
    """Return the lines of `MoreRows.table` for one curve."""
    own = m >= m[-1] / WINDOW * 0.95
    drawn = power_laws(m[own], mean[own], errors[np.ix_(own, own)], seed).at(np.array(rows))
    drawn = np.maximum(drawn, 0.0)
    lines = []
    for place, count in enumerate(rows):
        line: dict[str, Any] = {"rows": count, "reason": ""}
        for name, values in (("log_loss", drawn[:, place]), ("gain", drawn[:, 0] - drawn[:, place])):
            line[name], line[f"{name}_low"], line[f"{name}_high"] = _interval(values)
        lines.append(line)
    return lines


def _tried(m: Array, mean: Array, errors: Array, seed: int) -> list[dict[str, Any]]:
    """Return the line of `MoreRows.trial`, or none where a quarter of the rows are too few.

    What is observed at N has an error of its own, which goes with those at the other sizes as the same rows test all.
    """
    known = (m <= m[-1] / QUARTER * 1.05) & (m >= m[-1] / QUARTER / WINDOW * 0.95)
    if known.sum() < LEAST_POINTS - 1:
        return []
    of_known, across = errors[np.ix_(known, known)], errors[-1, known]
    drawn = power_laws(m[known], mean[known], of_known, seed)
    gain = np.linalg.solve(of_known, across)
    rest = np.sqrt(max(errors[-1, -1] - across @ gain, 0.0))
    noise = (mean[known] - drawn.at(m[known])) @ gain + rest * np.random.default_rng([seed, 1]).standard_normal(DRAWS)
    expected, low, high = _interval(np.maximum(drawn.at(m[-1:])[:, 0] + noise, 0.0))
    line = {"known": int(m[known][-1]), "rows": int(m[-1]), "expected": expected, "low": low, "high": high}
    return [line | {"observed": mean[-1], "inside": bool(low <= mean[-1] <= high)}]


def _interval(values: Array) -> tuple[float, float, float]:
    """Return the median of draws, and the ends of their interval."""
    low, middle, high = np.quantile(values, [(1 - CI_PROB) / 2, 0.5, (1 + CI_PROB) / 2])
    return float(middle), float(low), float(high)
