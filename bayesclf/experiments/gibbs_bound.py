"""Is the expected error of the Gibbs classifier at most twice that of the Bayes-optimal classifier?

The Gibbs classifier draws one hypothesis from the posterior and does what it says; the Bayes-optimal classifier lets
all hypotheses vote. Haussler, Kearns and Schapire (1994) proved that Gibbs errs, in expectation, at most twice as often
(Mitchell, Machine Learning, 1997, section 6.8). They assume a hypothesis that is drawn from the prior and labels the
rows without noise. Here targets always come from the prior, but in some cases hypotheses have probabilities
P(y | x, h), or are generative and also have a p(x | h). There, “gibbs” predicts the most probable class of its
hypothesis and “gibbs label” draws the label from it; “given x” means that the hypothesis is drawn given the data and
the new row. The references are “bayes-optimal”, which averages over the posterior given the data, and “predictive”,
given the data and x. No rule has a smaller expected error than “predictive”.

For the target of real data, which is not drawn from the prior, the ratio has no bound. Errors are expectations over the
labels of new rows; standard errors are over draws of target, data and rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bayesclf import rules
from bayesclf.arrays import Array
from bayesclf.errors import InputError
from bayesclf.experiments.runner import GREY, Each, Figure, Record, Unit, option
from bayesclf.families import Gaussian
from bayesclf.families.base import Axes
from bayesclf.families.class_prior import KnownClassPrior
from bayesclf.finite import FiniteSpace
from bayesclf.models.generative import Block, GenerativeModel
from bayesclf.plots import style
from bayesclf.plots.style import Figure as Drawing
from bayesclf.posterior import averaging
from bayesclf.posterior.hypotheses import Hypotheses, HypothesisSet
from bayesclf.tables.columns import Rows
from bayesclf.wording import pair

RULES = ("bayes-optimal", "predictive", "gibbs", "gibbs label", "gibbs given x", "gibbs label given x")
"""What is compared: a Gibbs classifier predicts its hypothesis's most probable class, or draws a label from it; the
hypothesis is drawn given the data, or given data and x."""

BAYES, PREDICTIVE, *GIBBS = RULES

# Where p(x | h) is the same for all h, x says nothing about h: predictive equals Bayes-optimal, and a hypothesis drawn
# given x is one drawn given the data.
DISCRIMINATIVE = (("gibbs", BAYES), ("gibbs label", BAYES))

GENERATIVE = tuple((gibbs, reference) for gibbs in GIBBS for reference in (BAYES, PREDICTIVE))

# Draws cannot be weighted by p(x | θ) in ten dimensions, so one classifier is missing.
GAUSSIAN = tuple(pair for pair in GENERATIVE if pair[0] != "gibbs given x")

GIVEN_X = ("gibbs given x", "gibbs label given x")
"""Gibbs classifiers for which the bound holds if there is a p(x | h)."""

POINTS = 8
"""Values of x in a finite space."""

PRECISE = 1e6
"""Shape of the inverse gamma that holds σ² at 1, to one part in a thousand."""

BLOCK = 50
"""Targets in one unit of work."""

CLEAR = 3.0
"""Standard errors above 2 from which on a ratio is called clearly above it."""

type Errors = Array
"""Expected error of each rule, in the order of `RULES`."""


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    targets: int = option(6000, "Targets drawn from the prior, in each case.")
    seed: int = option(0, "Random seed.")


def tabulate(settings: Settings, each: Each) -> pd.DataFrame:
    """Return, for each case, Gibbs classifier and reference, the ratio of expected errors with its standard error.

    `promised` says whether theory bounds the ratio by 2.
    """
    if settings.targets < 2 * BLOCK:
        raise InputError(f"there must be at least {2 * BLOCK} targets, not {settings.targets}")
    records = each([(case, start) for start in range(0, settings.targets, BLOCK) for case in CASES])
    lines = []
    for name, case in CASES.items():
        own = records[records["case"] == name]
        weight = own["targets"].to_numpy(dtype=float)
        for gibbs, reference in case.compared:
            ratio, error = ratio_of_means(own[gibbs].to_numpy(), own[reference].to_numpy(), weight)
            line: Record = {"case": name, "gibbs": gibbs, "reference": reference}
            for label, rule in (("gibbs_error", gibbs), ("reference_error", reference)):
                line[label] = float(np.average(own[rule], weights=weight))
            lines.append(line | {"ratio": ratio, "ratio_se": error, "promised": gibbs in case.holds})
    return pd.DataFrame(lines)


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return the mean error of each rule over a block of targets."""
    case, first = str(unit[0]), int(unit[1])
    targets = min(BLOCK, settings.targets - first)
    rng = np.random.default_rng(seed)
    errors = np.mean([CASES[case].errors(rng) for _ in range(targets)], axis=0)
    return [{"case": case, "block": first, "targets": targets, **dict(zip(RULES, errors.tolist(), strict=True))}]


def answer(settings: Settings, table: pd.DataFrame) -> tuple[str, ...]:
    """Say how large the ratios are where theory promises a bound, and where it does not."""
    said = []
    for words, own in (("at most 2", table[table["promised"]]), ("nothing", table[~table["promised"]])):
        line: Any = own.sort_values("ratio", ascending=False, kind="stable").iloc[0]
        largest = pair(line["ratio"], line["ratio_se"] if line["ratio_se"] > 0 else float("nan"))
        over = (own["ratio"] > 2 + CLEAR * own["ratio_se"]).sum()
        said.append(
            f"Where theory promises {words}, the largest of {len(own)} ratios is {largest} ({line['case']}, "
            f"{line['gibbs']} to {line['reference']}). {over} are above 2 by more than {CLEAR:g} standard errors."
        )
    return tuple(said)


def summary(settings: Settings, table: pd.DataFrame) -> pd.DataFrame:
    """Return the ratios, with the description of their cases."""
    return table.assign(case=table["case"].map({name: f"{name}: {case.title}" for name, case in CASES.items()}))


def figure(settings: Settings, table: pd.DataFrame) -> Figure:
    """Return the ratios by case."""
    caption = "Filled: theory promises a ratio of at most 2. Open: it does not. Bars are two standard errors."
    return Figure("Ratio of expected errors by case", caption, partial(_ratios, table))


@dataclass(frozen=True)
class Case:
    """One setting.

    Attributes
    ----------
    compared
        Gibbs classifiers and references whose ratios can differ.
    holds
        Gibbs classifiers whose ratios theory bounds by 2.
    errors
        Draws a target from the prior, data and new rows, and returns the rules' expected errors.
    title
        Its description.
    """

    compared: tuple[tuple[str, str], ...]
    holds: tuple[str, ...]
    errors: Callable[[np.random.Generator], Errors]
    title: str


def expected_errors(hypotheses: HypothesisSet, rows: Rows, given_x: bool = True) -> Errors:
    """Return each rule's expected error over the labels of rows, whose probabilities are the predictive's.

    A rule that answers k with probability a_k errs with probability Σ_k P(k | x, D)(1 − a_k). Without `given_x` no
    hypotheses are drawn given x. The error of the rule that asks one of them is then undefined, and the rule that draws
    a label has the predictive probabilities.
    """
    truth = np.exp(rules.predictive(hypotheses, rows))
    plain = averaging.average(hypotheses, rows)
    given = averaging.average(hypotheses, rows, given_x=True) if given_x else None
    certain = np.eye(truth.shape[1])
    answers = (
        certain[plain.log_proba.argmax(axis=1)],
        certain[truth.argmax(axis=1)],
        plain.votes,
        np.exp(plain.log_proba),
        given.votes if given else np.full_like(truth, np.nan),
        np.exp(given.log_proba) if given else truth,
    )
    return np.array([(truth * (1 - answer)).sum(axis=1).mean() for answer in answers])


def _space(prior: Array, table: Array, generative: bool = False) -> FiniteSpace:
    names = tuple(f"h{index}" for index in range(len(prior)))
    return FiniteSpace(names, tuple("+-"), prior, table, generative)


def _conditioned(space: FiniteSpace, rng: np.random.Generator, rows: int) -> FiniteSpace:
    """Draw a target from the prior and rows from it; return the posterior."""
    table = np.asarray(space.table)
    target = table[rng.choice(len(space), p=np.asarray(space.prior))]
    joint = target if space.generative else target / len(target)
    drawn = rng.choice(joint.size, size=rows, p=joint.ravel() / joint.sum())
    return space.update(x=drawn // 2, y=drawn % 2)


def _weighted_by_x(space: FiniteSpace, rng: np.random.Generator) -> Rows:
    """Draw new rows x given the data; all values of x where there is no P(x)."""
    if not space.generative:
        return space.rows(np.arange(POINTS))
    x = np.exp(space.log_weights) @ np.asarray(space.table).sum(axis=2)
    return space.rows(rng.choice(POINTS, size=4 * POINTS, p=x / x.sum()))


def _finite(deterministic: bool, generative: bool) -> Callable[[np.random.Generator], Errors]:
    """Return a draw from random spaces of six hypotheses on `POINTS` values of x, after three rows."""

    def errors(rng: np.random.Generator) -> Errors:
        """Return the errors of the rules in one random space."""
        plus = rng.random((6, POINTS))
        plus = np.round(plus) if deterministic else plus
        table = np.stack([plus, 1 - plus], axis=2)
        if generative:
            table = table * rng.dirichlet(np.full(POINTS, 0.3), size=6)[..., None]
        space = _conditioned(_space(rng.dirichlet(np.ones(6)), table, generative), rng, 3)
        return expected_errors(space, _weighted_by_x(space, rng))

    return errors


def _doubtful(rng: np.random.Generator) -> Errors:
    """h1 of weight .1 has P(+) just under ½, h2 of weight .9 has P(+) = 1."""
    space = _space(np.array([0.1, 0.9]), np.array([[[0.5 - 1e-12, 0.5 + 1e-12]], [[1.0, 0.0]]]))
    return expected_errors(space, space.rows(0))


def _telling(rng: np.random.Generator) -> Errors:
    """Two hypotheses, one says +, the other −; P(x = 0 | h) is .99 under the one and .01 under the other."""
    table = np.array([[[0.99, 0], [0.01, 0]], [[0, 0.01], [0, 0.99]]])
    space = _space(np.array([0.51, 0.49]), table, generative=True)
    # Both values of x are enumerated: each error counts by the probability of its x.
    weight = np.exp(space.log_weights) @ table.sum(axis=2)
    return np.asarray(weight @ np.stack([expected_errors(space, space.rows(x)) for x in (0, 1)]))


def _gaussian(tau: float, counts: tuple[int, int]) -> Callable[[np.random.Generator], Errors]:
    """Return a draw from two classes of equal probability, x_i | y = k ~ N(μ_ik, 1), μ_ik ~ N(0, τ²), d = 10."""

    def errors(rng: np.random.Generator) -> Errors:
        """Return the errors of the rules after one random table of rows."""
        mu = tau * rng.standard_normal((2, 10))
        y = np.repeat([0, 1], counts)
        axes = Axes(("0", "1"), tuple(map(str, range(10))))
        family = Gaussian("shared", 0.0, tau**-2, PRECISE, PRECISE)
        statistics: Any = family.statistics(mu[y] + rng.standard_normal((len(y), 10)), y, axes)
        block = Block(family.resolve_prior(statistics), statistics)
        model = GenerativeModel(("0", "1"), KnownClassPrior(np.full(2, 0.5)), np.array(counts, dtype=float), (block,))
        new = Rows((mu[rng.integers(2, size=10)] + rng.standard_normal((10, 10)),), 10)
        return expected_errors(Hypotheses(model, model.draw(rng, 300)), new, given_x=False)

    return errors


CASES = {
    "deterministic": Case(
        *(DISCRIMINATIVE, ("gibbs", "gibbs label"), _finite(True, False)),
        "hypotheses that label with certainty, the same p(x) under all",
    ),
    "probabilistic": Case(
        *(DISCRIMINATIVE, ("gibbs label",), _finite(False, False)),
        "hypotheses with probabilities, the same p(x) under all",
    ),
    "generative": Case(
        *(GENERATIVE, GIVEN_X, _finite(True, True)), "hypotheses with a p(x | h) that label with certainty"
    ),
    "doubtful": Case(
        *(DISCRIMINATIVE, ("gibbs label",), _doubtful), "one hypothesis nearly undecided, the other certain"
    ),
    "telling": Case(GENERATIVE, GIVEN_X, _telling, "two hypotheses that x distinguishes"),
    "gaussian-2": Case(
        *(GAUSSIAN, GIVEN_X, _gaussian(2.0, (1, 1))), "Gaussian naive Bayes, ten columns, two rows, sd 2 of class means"
    ),
    "gaussian-1": Case(
        *(GAUSSIAN, GIVEN_X, _gaussian(3.0, (1, 0))), "Gaussian naive Bayes, ten columns, one row, sd 3 of class means"
    ),
}
"""The settings by name."""


def ratio_of_means(above: np.ndarray, below: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Return a ratio of weighted means over independent blocks, and its standard error by the delta method."""
    mean = float(np.average(below, weights=weight))
    ratio = float(np.average(above, weights=weight)) / mean
    residual = (above - ratio * below) * weight / weight.mean()
    return ratio, float(residual.std(ddof=1) / np.sqrt(len(residual)) / mean)


def _ratios(table: pd.DataFrame) -> Drawing:
    names = list(dict.fromkeys(table["case"]))
    figure, ax = style.axes(None, (8.2, 1.0 + 0.85 * len(names)))
    for index, (gibbs, reference) in enumerate(GENERATIVE):
        own = table[(table["gibbs"] == gibbs) & (table["reference"] == reference)]
        places = np.array([names.index(name) for name in own["case"]]) + (index - 3.5) * 0.1
        color, marker = style.class_color(GIBBS.index(gibbs)), "o" if reference == BAYES else "D"
        ax.errorbar(own["ratio"], places, xerr=2 * own["ratio_se"], fmt="none", ecolor=color, linewidth=1)
        for promised in (True, False):
            part = (own["promised"] == promised).to_numpy()
            look: Any = {"marker": marker, "facecolors": color if promised else "none", "edgecolors": color}
            ax.scatter(own["ratio"][part], places[part], s=34, **look)
        if not own.empty:
            ax.scatter([], [], s=34, marker=marker, color=color, label=f"{gibbs} to {reference}")
    ax.axvline(2, linewidth=1, color=GREY)
    ax.set(xscale="log", xlabel="ratio of expected errors", yticks=range(len(names)), yticklabels=names)
    ax.invert_yaxis()
    style.quiet(ax, "x")
    figure.legend(loc="outside upper left", ncols=2, frameon=False)
    return figure
