"""Expected error of the Gibbs classifier over that of the Bayes-optimal one, for targets drawn from the prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.errors import InputError
from bayesclf.experiments.experiment import Figure, Record, Results, Section, Unit, option
from bayesclf.experiments.gibbs_cases import BAYES, CASES, GIBBS, PREDICTIVE, Case

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as MatplotlibFigure

NAME = "gibbs-bound"
QUESTION = "Is the expected error of the Gibbs classifier at most twice that of the best rule?"

BLOCK = 50
"""Targets in one unit of work."""

CLEAR = 3.0
"""Standard errors above 2 from which a ratio is called clearly above it."""

CAUTIONS = (
    "All this is for targets drawn from the prior. On real data, whose target is not, the ratio obeys no bound.",
    "Errors are expectations over the label of each new row given data and row, so that no noise of labels is in them; "
    "the standard errors are those of the draws of target, data and rows.",
)


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    targets: int = option(6000, "Targets drawn from the prior, in each case.")
    seed: int = option(0, "Seed of everything.")


def units(settings: Settings) -> Sequence[Unit]:
    """Return (case, first target) by blocks of targets."""
    if settings.targets < 2 * BLOCK:
        raise InputError(f"there must be at least {2 * BLOCK} targets, not {settings.targets}")
    return [(case, start) for start in range(0, settings.targets, BLOCK) for case in CASES]


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return the mean error of each rule over a block of targets."""
    case, first = CASES[str(unit[0])], int(unit[1])
    targets = min(BLOCK, settings.targets - first)
    rng = np.random.default_rng(seed)
    errors = np.mean([case.errors(rng) for _ in range(targets)], axis=0)
    means = {rule: float(error) for rule, error in zip((BAYES, PREDICTIVE, *GIBBS), errors, strict=True)}
    return [{"case": case.name, "block": first, "targets": targets, **means}]


def summarise(settings: Settings, records: pd.DataFrame) -> pd.DataFrame:
    """Return, for each case, Gibbs classifier and reference, the ratio of expected errors with its standard error."""
    import pandas as pd

    lines = []
    for name, case in CASES.items():
        own = records[records["case"] == name]
        weight = own["targets"].to_numpy(dtype=float)
        for gibbs, reference in case.compared:
            ratio, error = ratio_of_means(own[gibbs].to_numpy(), own[reference].to_numpy(), weight)
            lines.append(
                {
                    "case": name,
                    "gibbs": gibbs,
                    "reference": reference,
                    "gibbs_error": float(np.average(own[gibbs], weights=weight)),
                    "reference_error": float(np.average(own[reference], weights=weight)),
                    "ratio": ratio,
                    "ratio_se": error,
                    "promised": gibbs in case.holds,
                }
            )
    return pd.DataFrame(lines)


def ratio_of_means(above: np.ndarray, below: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Return a ratio of weighted means over independent blocks, and its standard error by the delta method."""
    mean = float(np.average(below, weights=weight))
    ratio = float(np.average(above, weights=weight)) / mean
    residual = (above - ratio * below) * weight / weight.mean()
    return ratio, float(residual.std(ddof=1) / np.sqrt(len(residual)) / mean)


def present(settings: Settings, records: pd.DataFrame, table: pd.DataFrame) -> Results:
    """Say where the bound held, and by how much it is broken where it is not promised."""
    promised, others = table[table["promised"]], table[~table["promised"]]
    broken = promised[promised["ratio"] > 2 + CLEAR * promised["ratio_se"]]
    over = others[others["ratio"] > 2 + CLEAR * others["ratio_se"]]
    headline = (
        f"Where theory promises at most 2, the largest of {len(promised)} ratios is {_pair(_largest(promised))}"
        + ("." if broken.empty else f", and {len(broken)} are clearly above it.")
    )
    findings = [_finding(case, table[table["case"] == name]) for name, case in CASES.items()]
    findings.append(f"Without a promise, {len(over)} of {len(others)} ratios are clearly above 2.")
    figure = Figure(
        "ratios",
        "Ratio of expected errors by case",
        "One dot a case, Gibbs classifier and reference, with the line of the bound at 2.",
        lambda: _figure(table),
        "Filled: the bound is promised. Open: it is not. Bars are two standard errors; the axis is logarithmic.",
    )
    evidence = Section("Ratios", (), (figure,), table)
    return Results(headline, tuple(findings), CAUTIONS, (evidence,))


def _finding(case: Case, table: pd.DataFrame) -> str:
    """Return what theory says of a case, and the largest ratios with and without a promise."""
    shown = [
        f"{words} at most {_pair(line)} ({line['gibbs']} to {line['reference']})"
        for words, part in (("promised:", table[table["promised"]]), ("not promised:", table[~table["promised"]]))
        if not part.empty
        for line in (_largest(part),)
    ]
    return f"{case.title}: {case.says}; {', '.join(shown)}."


def _largest(table: pd.DataFrame) -> dict[Any, Any]:
    """Return the line of the largest ratio."""
    return max(table.to_dict("records"), key=lambda line: line["ratio"])


def _pair(line: dict[Any, Any]) -> str:
    from bayesclf.wording import pair

    return pair(line["ratio"], line["ratio_se"] if line["ratio_se"] > 0 else float("nan"))


def _figure(table: pd.DataFrame) -> MatplotlibFigure:
    from bayesclf.plots import style

    names = list(dict.fromkeys(table["case"]))
    figure, ax = style.axes(None, (8.2, 1.0 + 0.85 * len(names)))
    offsets = {pair: index for index, pair in enumerate((g, r) for g in GIBBS for r in (BAYES, PREDICTIVE))}
    for (gibbs, reference), offset in offsets.items():
        own = table[(table["gibbs"] == gibbs) & (table["reference"] == reference)]
        places = np.array([names.index(name) for name in own["case"]]) + (offset - 3.5) * 0.1
        color = style.class_color(GIBBS.index(gibbs))
        ax.errorbar(own["ratio"], places, xerr=2 * own["ratio_se"], fmt="none", ecolor=color, linewidth=1)
        for promised in (True, False):
            part = (own["promised"] == promised).to_numpy()
            ax.scatter(
                own["ratio"][part],
                places[part],
                s=34,
                marker="o" if reference == BAYES else "D",
                facecolors=color if promised else "none",
                edgecolors=color,
            )
        if not own.empty:
            marker = "o" if reference == BAYES else "D"
            ax.scatter([], [], s=34, marker=marker, color=color, label=f"{gibbs} to {reference}")
    ax.axvline(2, linewidth=1, color="#8c8c8c")
    ax.set(xscale="log", xlabel="ratio of expected errors", yticks=range(len(names)), yticklabels=names)
    ax.invert_yaxis()
    style.quiet(ax, "x")
    figure.legend(loc="outside upper left", ncols=2, frameon=False)
    return figure
