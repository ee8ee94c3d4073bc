"""What several benchmarks share: tables and their peer, processor time, results, and tables in Markdown."""

import json
import os
import platform
import resource
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bayesclf.errors import InputError
from bayesclf.tables import datasets

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
TABLES = {
    "iris": "sklearn:iris",
    "wine": "sklearn:wine",
    "breast cancer (Wisconsin)": "sklearn:breast_cancer",
    "lenses": "lenses",
    "promoters": "promoters",
    "lymphography": "lymphography",
    "breast cancer (Ljubljana)": "breast_cancer_ljubljana",
    "bupa": "bupa",
    "pima": "folder:pima",
    "sonar": "sonar",
    "ionosphere": "ionosphere",
    "boston": "folder:boston",
    "votes": "votes",
    "sick": "sick",
    "adult": "adult",
}
"""Where `bayesclf.tables.datasets.load` finds each table; those of a folder need `BAYESCLF_DATA`."""
PARTS = {"adult": 100, "sick": 300, "pima": 60, "boston": 50, "ionosphere": 70, "votes": 40, "bupa": 60}
"""Rows of further problems that are small parts of larger tables."""
PAIRS = ((0, 1), (2, 3), (3, 8), (4, 9), (1, 7))
"""Pairs of digits that are problems of their own."""
MOST_ROWS = 4_000

type Problem = tuple[str, pd.DataFrame, np.ndarray]
"""Name, columns and labels."""


def loaded(source: str) -> tuple[pd.DataFrame, np.ndarray] | None:
    """Return columns and labels of a table; None, and a sentence, where the table is not there."""
    try:
        table = datasets.load(source)
    except InputError as reason:
        print(f"{source} is left out: {reason}", flush=True)
        return None
    return table.X.reset_index(drop=True), table.y.astype(str).to_numpy()


def some(X: pd.DataFrame, y: np.ndarray, most: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return at most so many rows, drawn by a fixed seed, without classes that are then too rare for the folds."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(y))[:most])
    X, y = X.iloc[chosen], y[chosen]
    labels, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, labels[counts >= 2])
    return X[kept].reset_index(drop=True), y[kept]


def problems(
    most: int = MOST_ROWS, parts: dict[str, Any] = PARTS, more: dict[str, str] | None = None
) -> Iterator[Problem]:
    """Yield the tables, at most so many rows of each, and small parts of some."""
    for name, source in {**TABLES, **(more or {})}.items():
        if (table := loaded(source)) is None:
            continue
        yield name, *some(*table, most)
        for rows in np.atleast_1d(parts.get(name, ())):
            yield f"{name}, {int(rows)} rows", *some(*table, int(rows))


def pairs_of_digits() -> Iterator[Problem]:
    """Yield pairs of digits."""
    table = datasets.load("sklearn:digits")
    labels = table.y.astype(int).to_numpy()
    for pair in PAIRS:
        chosen = np.isin(labels, pair)
        yield f"digits {pair[0]} and {pair[1]}", table.X[chosen].reset_index(drop=True), labels[chosen].astype(str)


def tuned(X: pd.DataFrame, y: np.ndarray) -> Any:
    """Return the pipeline that people build: a 0/1 column per level, standardized numbers, C tuned by log loss."""
    numbers = X.select_dtypes("number").columns
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), list(numbers)),
        (OneHotEncoder(handle_unknown="ignore"), list(X.columns.difference(numbers))),
    )
    folds = StratifiedKFold(max(2, min(5, int(np.unique(y, return_counts=True)[1].min()))))
    scored = {"Cs": 10, "scoring": "neg_log_loss", "max_iter": 5_000}
    return make_pipeline(columns, LogisticRegressionCV(cv=folds, **scored))


def cpu() -> float:
    """Return the processor seconds so far of this process, its threads, and the processes of its that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def timed(run: Callable[[], object], clock: Callable[[], float] = cpu, times: int = 1) -> float:
    """Return the seconds of one run, as the mean of some."""
    start = clock()
    for _ in range(times):
        run()
    return (clock() - start) / times


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of Python and of those packages that are installed."""
    found = {"Python": platform.python_version()}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def measured_with(found: dict[str, str]) -> str:
    """Return versions, and the number of cores, in words."""
    return f"{os.cpu_count()} cores; " + ", ".join(f"{name} {number}" for name, number in found.items())


def read(path: Path) -> dict[str, Any]:
    """Return the content of a JSON file, empty if there is none."""
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def write(path: Path, result: dict[str, Any]) -> None:
    """Write a JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def markdown(head: list[str], lines: Iterable[list[str]]) -> str:
    """Return a table; a first cell that repeats the one above it is left empty."""
    rows, above = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)], None
    for first, *rest in lines:
        rows.append("| " + " | ".join(["" if first == above else first, *rest]) + " |")
        above = first
    return "\n".join(rows)


def rounded(value: float) -> str:
    """Return two digits, or all before the point."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
