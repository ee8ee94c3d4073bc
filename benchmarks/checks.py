"""False alarms and power of every check of `diagnose`, by simulation.

Run from the project's folder; an interrupted run resumes where it was:

    .venv/bin/python benchmarks/checks.py --simulations 500 --results FILE.jsonl --table docs/checks/false_alarms.md

Each simulation draws a table, fits a classifier and runs all checks. Well-specified tables are drawn from the model
that is fitted; for each check there is also one fault that it is there to find. All run in one process, by exact
inference or Laplace's approximation, as chains would take days: checks of chains are given chains that are drawn
without a model. A check passes if its rate of false alarms is at most 5% and two standard errors.
"""

import argparse
import json
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import optimize, signal

import bayesclf as bc
from bayesclf.diagnostics import CHECKS
from bayesclf.engines import convergence

SIZES = (30, 100, 1000)
FAULT_SHARE = 5
"""Simulations of a well-specified table for each of a table with a fault, whose rate need not be as exact."""
ANSWERS = ("issue", "tip", "passed")
NEW_ROWS = 50
LEVEL, ANY_LEVEL = 0.05, 0.20
LAPLACE = bc.engines.Laplace(draws=500, limit=np.inf)
OF_CHAINS = ("P01",)
TOGETHER = "all kinds together"
NOT_SIMULATED = {
    "P08": "k̂ of one approximation, against ArviZ's limit",
}

type Table = tuple[pd.DataFrame, np.ndarray]
type Key = tuple[str, str, int, bool]
type Case = tuple[bc.classifiers.base.BayesClassifier, pd.DataFrame, np.ndarray, pd.DataFrame]


def labels(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Return as many labels of each of two classes, in random order."""
    return rng.permutation(np.arange(rows) % 2)


def numbers(rng: np.random.Generator, rows: int) -> Table:
    """Return normal columns, two of three of which bear on the class."""
    y = labels(rng, rows)
    return pd.DataFrame(rng.normal(size=(rows, 3)) + np.outer(y, [1.2, 0.8, 0.0]), columns=["a", "b", "c"]), y


def categories(rng: np.random.Generator, rows: int) -> Table:
    """Return columns of two and three levels, independent within the classes."""
    y = labels(rng, rows)
    shares = {"d": ([0.7, 0.3], [0.3, 0.7]), "e": ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]), "f": ([0.4, 0.3, 0.3],) * 2}
    levels = np.array(["low", "mid", "top"], dtype=object)
    return pd.DataFrame({j: levels[[rng.choice(len(own[k]), p=own[k]) for k in y]] for j, own in shares.items()}), y


def mixed(rng: np.random.Generator, rows: int, missing: float = 0.0) -> Table:
    """Return numbers and categories of one class each row, of which some cells are missing at random."""
    X, y = numbers(rng, rows)
    other, codes = categories(rng, rows)
    order = np.argsort(y, kind="stable")
    other = other.iloc[np.argsort(codes, kind="stable")].set_index(order).sort_index()
    table = pd.concat([X, other], axis=1)
    return table.mask(rng.random(table.shape) < missing), y


def words(rng: np.random.Generator, rows: int) -> Table:
    """Return categories and numbers without missing cells."""
    X, y = mixed(rng, rows)
    return X[["a", "b", "c", "e"]], y


WELL: dict[str, tuple[Callable[[np.random.Generator, int], Table], Callable[[int], Any]]] = {
    "numbers": (numbers, lambda seed: bc.GaussianNB(random_state=seed)),
    "categories": (categories, lambda seed: bc.CategoricalNB(random_state=seed)),
    "mixed, missing cells": (
        lambda rng, rows: mixed(rng, rows, 0.2),
        lambda seed: bc.NaiveBayes(families="gaussian", random_state=seed),
    ),
    "weights": (numbers, lambda seed: bc.GaussianNB(random_state=seed)),
    "logistic": (words, lambda seed: bc.LogisticRegression(inference=LAPLACE, random_state=seed)),
}
"""Tables from the model that is fitted, and their classifiers."""


def well_specified(kind: str, rows: int, seed: int) -> Case:
    """Return a fit of a model that is true, its rows, and new rows from the same model."""
    rng = np.random.default_rng([seed, rows, list(WELL).index(kind)])
    draw, classifier = WELL[kind]
    (X, y), (new, _) = draw(rng, rows), draw(rng, NEW_ROWS)
    weight = rng.integers(1, 4, size=rows).astype(float) if kind == "weights" else None
    return classifier(seed).fit(X, y, sample_weight=weight), X, y, new


def fitted(clf: Any, X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame | None = None) -> Case:
    """Return the fitted classifier with its rows and the new rows."""
    return clf.fit(X, y), X, y, X if new is None else new


def gaussian(X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame | None = None) -> Case:
    """Fit naive Bayes to numbers or categories."""
    return fitted(bc.NaiveBayes(families="gaussian", random_state=1), X, y, new)


def logistic(X: pd.DataFrame, y: np.ndarray, **settings: Any) -> Case:
    """Fit logistic regression."""
    return fitted(bc.LogisticRegression(**{"inference": LAPLACE, "random_state": 1} | settings), X, y)


def of_numbers(fault: Callable[[np.random.Generator, pd.DataFrame, np.ndarray], Case]) -> Callable[..., Case]:
    """Return a fault of a table of numbers."""
    return lambda rng, rows: fault(rng, *numbers(rng, rows))


def with_column(column: Callable[[np.random.Generator, pd.DataFrame], Any]) -> Callable[..., Case]:
    """Return a fault that is one column more."""
    return of_numbers(lambda rng, X, y: gaussian(X.assign(new=column(rng, X)), y))


def with_cells(cells: Callable[[np.random.Generator, pd.Series, np.ndarray], Any]) -> Callable[..., Case]:
    """Return a fault of the cells of one column."""
    return of_numbers(lambda rng, X, y: gaussian(X.assign(a=cells(rng, X["a"], y)), y))


def repeated(rng: np.random.Generator, X: pd.DataFrame, y: np.ndarray) -> Case:
    """Return six columns that say the same up to a little noise, under a rule that believes each of them."""
    X = pd.DataFrame(X[["a"]].to_numpy() + rng.normal(0, 0.05, size=(len(X), 6)), columns=list("abcdef"))
    return fitted(bc.NaiveBayes(families="gaussian", rule="bayes-optimal", random_state=1), X, y)


def rare_levels(rng: np.random.Generator, rows: int) -> Case:
    """Fit columns whose levels have five rows on average: modes at α = 1 are 0 where means are not."""
    y, levels = labels(rng, rows), max(rows // 5, 2)
    X = pd.DataFrame({name: rng.integers(levels, size=rows) for name in "abcd"}).astype(str).astype(object)
    return fitted(bc.CategoricalNB(alpha=1.0, random_state=1), X, y)


def narrow_prior(rng: np.random.Generator, X: pd.DataFrame, y: np.ndarray) -> Case:
    """Fit with a prior that is too narrow."""
    family = bc.families.Gaussian(m=0.0, kappa=1.0, a=400.0, b=8.0)
    return fitted(bc.NaiveBayes(blocks=dict.fromkeys(X, family), random_state=1), X, y)


def noise(rng: np.random.Generator, rows: int) -> Case:
    """Fit columns that say nothing about the label."""
    return gaussian(pd.DataFrame(rng.normal(size=(rows, 3))), labels(rng, rows))


def spiked(rng: np.random.Generator, X: pd.DataFrame) -> pd.Series:
    """Return a column in which some cells are 0 and the others near 70."""
    return (70 + 10 * X["c"]).mask(rng.permutation(len(X)) < max(1, len(X) // 20), 0.0)


def row_numbers(rng: np.random.Generator, X: pd.DataFrame) -> np.ndarray:
    """Return the numbers of rows that a random split has left."""
    return rng.permutation(1000 + np.arange(int(len(X) / 0.7)))[: len(X)]


FAULTS: dict[str, tuple[str, Callable[[np.random.Generator, int], Case]]] = {
    "M01": ("classes 10 sds apart", of_numbers(lambda _, X, y: logistic(X + 10.0 * y[:, None], y, inference="map"))),
    "M02": (
        "a column that is the sum of two",
        of_numbers(lambda _, X, y: logistic(X.assign(both=X["a"] + X["b"]), y, inference="map")),
    ),
    "M03": ("prior variances of .02, worth 800 rows", of_numbers(narrow_prior)),
    "M05": (
        "a level with two rows",
        with_column(lambda _, X: np.where(np.arange(len(X)) < 2, "x", "z").astype(object)),
    ),
    "M06": ("a constant column", with_column(lambda _, X: 1.0)),
    "M07": ("a column in other units", with_column(lambda _, X: 32 + 1.8 * X["a"])),
    "M08": ("row numbers after a split of 70%", with_column(row_numbers)),
    "M09": ("5% of the cells 0, others near 70", with_column(spiked)),
    "Y01": ("columns of noise", noise),
    "Y02": ("six columns that say the same", of_numbers(repeated)),
    "Y04": (
        "cells missing in 50% and 10%",
        with_cells(lambda rng, a, y: a.mask(rng.random(len(a)) < np.where(y == 1, 0.5, 0.1))),
    ),
    "Y05": ("levels of five rows, α = 1", rare_levels),
    "Y06": ("new rows 4 sds away", of_numbers(lambda rng, X, y: gaussian(X, y, numbers(rng, NEW_ROWS)[0] + 4.0))),
    "Y07": (
        "a column with peaks at −3 and 3",
        with_cells(lambda rng, a, y: a + np.where(rng.random(len(a)) < 0.5, -3.0, 3.0)),
    ),
}
"""Faults by the check that is there to find them."""


def chains(seed: int, fault: str = "") -> dict[str, bool]:
    """Return whether P01 reports 4 × 1,000 draws of 20 parameters, drawn without a model; a fault moves one chain."""
    rng = np.random.default_rng(seed)
    rho = 0.3
    noise = rng.normal(size=(20, 4, 1100)) * np.sqrt(1 - rho**2)
    draws = signal.lfilter([1.0], [1.0, -rho], noise, axis=-1)[..., 100:]
    if fault:
        draws[0, 0] += 0.5
    posterior = xr.Dataset({f"x{j}": (("chain", "draw"), draws[j]) for j in range(20)})
    stats = xr.Dataset({"energy": (("chain", "draw"), rng.normal(size=(4, 1000)))})
    return {"P01": any(one.problem for one in convergence.measures(convergence.scalars(posterior), stats, 0))}


@dataclass(frozen=True)
class Cell:
    """One kind of table of one size: well specified, or with the fault of a check."""

    kind: str
    rows: int
    check: str = ""

    def simulate(self, seed: int, checks: list[str] | None = None) -> dict[str, bool]:
        """Return whether each check reported something, where it could answer; of all checks, or of some."""
        if self.kind == "chains":
            return chains(seed, self.check)
        with warnings.catch_warnings(action="ignore"):
            if self.check:
                checks, rng = [self.check], np.random.default_rng([seed, self.rows])
                clf, X, y, new = FAULTS[self.check][1](rng, self.rows)
            else:
                clf, X, y, new = well_specified(self.kind, self.rows, seed)
            found = clf.diagnose(X, y, new=new, checks=checks, progress=False).findings
        answered = (finding for finding in found if finding.section in ANSWERS or len(finding.evidence))
        answers = {finding.code: finding.section in ("issue", "tip") for finding in answered}
        if answers.get("M01") and not self.check and separable(X, y):
            del answers["M01"]  # a true report of the table, however it came about
        return answers


def separable(X: pd.DataFrame, y: np.ndarray) -> bool:
    """Return whether a hyperplane has all rows of each of two classes on its own side, by linear programming."""
    rows = np.column_stack([np.ones(len(X)), pd.get_dummies(X).to_numpy(dtype=float)])
    signed = np.where(y == 1, 1, -1)[:, None] * rows
    best = optimize.linprog(-signed.sum(axis=0), -signed, np.zeros(len(X)), bounds=(-1, 1))
    return bool(-best.fun > 1e-7)


def cells(sizes: tuple[int, ...]) -> Iterator[Cell]:
    """Yield every kind of table, sizes within it."""
    yield Cell("chains", 0)
    yield from (Cell("chains", 0, code) for code in OF_CHAINS)
    for rows in sizes:
        yield from (Cell(kind, rows) for kind in WELL)
        yield from (Cell("fault", rows, code) for code in FAULTS)


def again(codes: list[str], results: Path) -> None:
    """Replace what some checks reported in the stored simulations, after they have been changed."""
    lines = read(results)
    for line in lines:
        cell = Cell(line["kind"], line["rows"], line["check"])
        if cell.kind != "chains" and (chosen := [code for code in codes if cell.check in ("", code)]):
            kept = {code: fired for code, fired in line["found"].items() if code not in codes}
            line["found"] = kept | cell.simulate(line["seed"], chosen)
    results.write_text("".join(json.dumps(line) + "\n" for line in lines))


def run(simulations: int, sizes: tuple[int, ...], results: Path) -> None:
    """Append the simulations that are not yet there, one line each, a simulation of every cell in turn."""
    done = {(line["kind"], line["rows"], line["check"], line["seed"]) for line in read(results)}
    results.parent.mkdir(parents=True, exist_ok=True)
    with results.open("a") as file:
        for seed in range(simulations):
            for cell in cells(sizes):
                if (cell.kind, cell.rows, cell.check, seed) in done or (cell.check and seed % FAULT_SHARE):
                    continue
                line = {"kind": cell.kind, "rows": cell.rows, "check": cell.check, "seed": seed}
                file.write(json.dumps(line | {"found": cell.simulate(seed)}) + "\n")
                file.flush()


def read(results: Path) -> list[dict[str, Any]]:
    """Return the simulations of a file; none if there is no file, and not a last line that was cut off."""
    if not results.exists():
        return []
    lines = results.read_text().split("\n")
    return [json.loads(line) for line in lines if line.endswith("}")]


def rates(lines: list[dict[str, Any]]) -> dict[Key, tuple[int, int]]:
    """Return how often each check reported something and how often it answered, by (code, kind, rows, fault or not).

    The code "any" is that of at least one report of a well-specified table, the kind `TOGETHER` that of all kinds.
    """
    counts: dict[Any, Counter[bool]] = defaultdict(Counter)
    for line in lines:
        for code, fired in line["found"].items():
            if not line["check"] or code == line["check"]:
                counts[code, line["kind"], line["rows"], bool(line["check"])][fired] += 1
            if line["kind"] in WELL:
                counts[code, TOGETHER, line["rows"], False][fired] += 1
        if line["kind"] in WELL:
            for kind in (line["kind"], TOGETHER):
                counts["any", kind, line["rows"], False][any(line["found"].values())] += 1
    return {key: (count[True], count.total()) for key, count in counts.items()}


def passes(fired: int, of: int, level: float = LEVEL) -> bool:
    """Return whether a rate is at most the level and two standard errors."""
    return fired / of <= level + 2 * np.sqrt(level * (1 - level) / of)


def table(lines: list[dict[str, Any]], sizes: tuple[int, ...]) -> str:
    """Return the page of the documentation."""
    found = rates(lines)
    numbers_of = [of for (code, kind, *_), (_, of) in found.items() if code == "any" and kind in WELL]
    least, most = min(numbers_of, default=0), max(numbers_of, default=0)
    said = f"{least}" if least == most else f"{least} to {most}"
    above = missed(found)
    named = [f"{code} on {kind}" + (f", {rows:,} rows" if rows else "") for code, kind, rows, _ in sorted(above)]
    least = max(least, 1)
    limit = LEVEL + 2 * np.sqrt(LEVEL * (1 - LEVEL) / least)
    parts = [
        f"""# False alarms and power of the checks

`benchmarks/checks.py` draws tables from the model that is fitted, where every report is a false alarm. It also draws \
tables with one fault, which one check is there to find. There are {said} simulations of each kind of well-specified \
table, and a fifth as many of each fault. Shares are in percent. Rates above 5% and two standard errors (20% for \
*any*, a report by at least one check) are marked with an asterisk. \
{"Marked: " + "; ".join(named) + "." if named else "No rate is marked."} All kinds, 500 times with 30, 100 and 1,000 \
rows, take about 100 minutes of one core; an interrupted run resumes. Of {least} simulations one report is \
{100 / least:.1f}%, and a rate is marked above {100 * limit:.0f}%. The limits of M05, Y01 and Y05 were chosen after \
the first 28 simulations of each kind, so that only later ones can confirm them.

## Well-specified tables

Columns: rows. A dash: the check does not apply to this model, or lacks what it needs. M01 counts where it is wrong: \
not in samples of 30 rows that are separable."""
    ]

    def share(code: str, kind: str, rows: int, fault: bool = False) -> str:
        key = code, kind, rows, fault
        return f"{100 * found[key][0] / found[key][1]:.0f}{'*' * (key in above)}" if key in found else "–"

    titles = {code: f"{code} {check.title}" for code, check in CHECKS.items()} | {"any": "**any check**"}
    for kind in (*WELL, TOGETHER):
        shares = {code: [share(code, kind, rows) for rows in sizes] for code in titles}
        rows_of = [[titles[code], *own] for code, own in shares.items() if set(own) != {"–"}]
        parts += ["", f"### {kind.capitalize()}", "", *_table(["check", *(f"{rows:,}" for rows in sizes)], rows_of)]
    parts += ["", "### Chains", "", "Drawn without a model: 4 × 1,000 draws of 20 parameters.", ""]
    of_chains = [[titles[code], *(share(code, "chains", 0, fault) for fault in (False, True))] for code in OF_CHAINS]
    parts += [*_table(["check", "false alarms", "power"], of_chains), "", "## Faults", ""]
    faults = [
        [titles[code], fault, *(share(code, "fault", rows, True) for rows in sizes)]
        for code, (fault, _) in FAULTS.items()
    ]
    parts += _table(["check", "fault", *(f"{rows:,} rows" for rows in sizes)], faults, "|---|---|")
    parts += ["", "Not simulated:", ""]
    parts += [f"- {titles[code]}: {why}." for code, why in NOT_SIMULATED.items()]
    return "\n".join(parts) + "\n"


def _table(head: list[str], lines: Iterable[list[str]], rule: str = "|---|") -> Iterator[str]:
    """Yield a table whose numbers are on the right."""
    yield f"| {' | '.join(head)} |"
    yield rule + "---:|" * (len(head) - rule.count("---"))
    yield from (f"| {' | '.join(line)} |" for line in lines)


def missed(found: dict[Key, tuple[int, int]]) -> list[Key]:
    """Return the rates of false alarms that are above their level."""
    level = {"any": ANY_LEVEL}
    return [key for key, counts in found.items() if not key[3] and not passes(*counts, level.get(key[0], LEVEL))]


def main(words: list[str]) -> int:
    """Simulate, write the table, and return 1 if a check misses its rate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=500, help="of each cell, those that are stored included")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="rows")
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results/checks.jsonl"))
    parser.add_argument("--table", type=Path, help="file to write the table to")
    parser.add_argument("--again", nargs="+", default=[], metavar="CODE", help="checks to repeat in what is stored")
    given = parser.parse_args(words)
    if given.again:
        again(given.again, given.results)
    run(given.simulations, tuple(given.sizes), given.results)
    lines = read(given.results)
    text = table(lines, tuple(given.sizes))
    print(text)
    if given.table:
        given.table.write_text(text)
    return bool(missed(rates(lines)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
