"""Held-out log loss of a learned prior scale, against 2.5 and against scikit-learn's tuned logistic regression.

All see the same five folds. The posterior is averaged over; beside the default, of which the mode is shown too, are
weights that are independent given their scale, and weights that are as correlated as their columns.
scikit-learn's is the pipeline that people build: one 0/1 column per level, numbers imputed by their mean and
standardized, and `LogisticRegressionCV` with ten C chosen by log loss. Log losses are in nats per row; fitting and
predicting is timed together. Results that are there already are kept; the small tables come first.

Run from the project's folder: .venv/bin/python benchmarks/learned_scale.py [TABLE …]
"""

import json
import sys
import time
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import bayesclf as bc
from bayesclf.tables import datasets

FOLDS = 5
MOST_ROWS = 4_000
"""Rows that are drawn from a larger table."""
RESULTS = Path(__file__).parent / "results" / "learned_scale.json"
LEVEL_NATS, LEVEL_SHARE = 0.01, 0.01
"""A log loss counts as level with the peer's up to this difference, or up to this share of the peer's."""

TABLES = {
    "iris": "sklearn:iris",
    "wine": "sklearn:wine",
    "breast cancer (Wisconsin)": "sklearn:breast_cancer",
    "lenses": "folder:lenses",
    "promoters": "folder:promoters",
    "lymphography": "folder:lymphography",
    "breast cancer (Ljubljana)": "folder:breast_cancer",
    "bupa": "folder:bupa",
    "pima": "folder:pima",
    "sonar": "folder:sonar",
    "ionosphere": "folder:ionosphere",
    "boston": "folder:boston",
    "votes": "folder:votes",
    "sick": "folder:sick",
    "adult": "folder:adult",
}
"""Where `bayesclf.tables.datasets.load` finds each table."""
PAIRS = ((0, 1), (2, 3), (3, 8), (4, 9), (1, 7))
"""Pairs of digits that are problems of their own."""
FEW = {"adult": 100, "sick": 300, "pima": 60, "boston": 50, "ionosphere": 70, "votes": 40, "bupa": 60}
"""Rows of further problems that are small parts of larger tables."""

WAYS = DEFAULT, MODE, INDEPENDENT, AS_COLUMNS, FIXED, PEER = (
    *("default", "default, map", "independent", "as columns", "2.5", "scikit-learn"),
)


def problems() -> Iterator[tuple[str, pd.DataFrame, np.ndarray]]:
    """Yield name, columns and labels of each problem."""
    for name, source in TABLES.items():
        table = datasets.load(source)
        X, y = table.X.reset_index(drop=True), table.y.astype(str).to_numpy()
        yield name, *some(X, y, MOST_ROWS)
        if name in FEW:
            yield f"{name}, {FEW[name]} rows", *some(X, y, FEW[name])
    digits = datasets.load("sklearn:digits")
    labels = digits.y.astype(int).to_numpy()
    for pair in PAIRS:
        chosen = np.isin(labels, pair)
        yield f"digits {pair[0]} and {pair[1]}", digits.X[chosen].reset_index(drop=True), labels[chosen].astype(str)


def some(X: pd.DataFrame, y: np.ndarray, most: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return at most so many rows, drawn by a fixed seed, without classes that are then too rare for the folds."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(y))[:most])
    X, y = X.iloc[chosen], y[chosen]
    labels, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, labels[counts >= 2])
    return X[kept].reset_index(drop=True), y[kept]


def peer(X: pd.DataFrame, y: np.ndarray) -> Any:
    """Return scikit-learn's pipeline for a table."""
    numbers = X.select_dtypes("number").columns
    words = X.columns.difference(numbers)
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), list(numbers)),
        (OneHotEncoder(handle_unknown="ignore"), list(words)),
    )
    inner = min(5, int(np.unique(y, return_counts=True)[1].min()))
    scored = {"Cs": 10, "scoring": "neg_log_loss", "max_iter": 5_000}
    return make_pipeline(columns, LogisticRegressionCV(cv=StratifiedKFold(max(inner, 2)), **scored))


def scores(X: pd.DataFrame, y: np.ndarray, ways: list[str], seed: int = 0) -> dict[str, dict[str, Any]]:
    """Return log losses by fold and seconds of some ways."""
    classes = np.unique(y)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    found: dict[str, dict[str, Any]] = {name: {"log_loss": [], "seconds": 0.0} for name in ways}
    for training, test in folds.split(X, y):
        rows, labels = X.iloc[training], y[training]
        models = {
            MODE: bc.LogisticRegression(inference="map"),
            INDEPENDENT: bc.LogisticRegression(prior_scale=bc.LearnedScale(correlation=0), random_state=1),
            AS_COLUMNS: bc.LogisticRegression(prior_scale=bc.LearnedScale(correlation=1), random_state=1),
            FIXED: bc.LogisticRegression(prior_scale=2.5, random_state=1),
            DEFAULT: bc.LogisticRegression(random_state=1),
            PEER: peer(rows, labels),
        }
        for name in ways:
            start, model = time.perf_counter(), models[name]
            proba = model.fit(rows, labels).predict_proba(X.iloc[test])
            found[name]["seconds"] += time.perf_counter() - start
            every = np.zeros((len(test), len(classes)))
            every[:, np.searchsorted(classes, model.classes_)] = proba
            found[name]["log_loss"].append(float(log_loss(y[test], every, labels=classes)))
            if name != PEER:
                found[name].setdefault("engines", []).append(type(model.inference_).__name__)
                found[name].setdefault("problems", []).append(len(model.convergence_problems_))
    return found


def main(chosen: list[str]) -> None:
    """Write the results of the problems whose name begins with one of `chosen`, or of all."""
    warnings.simplefilter("ignore")
    result: dict[str, Any] = {"tables": {}}
    if RESULTS.exists():
        result = json.loads(RESULTS.read_text(encoding="utf-8"))
    result["folds"] = FOLDS
    result["versions"] = {name: version(name) for name in ("bayesclf", "numpy", "scikit-learn")}
    few_first = sorted(problems(), key=lambda problem: problem[1].size)
    for way in WAYS:
        for name, X, y in few_first:
            shape = {"rows": len(X), "columns": X.shape[1], "classes": len(np.unique(y))}
            known = result["tables"].get(name, {}).get("scores", {})
            if way in known or (chosen and not name.startswith(tuple(chosen))):
                continue
            known |= scores(X, y, [way])
            result["tables"][name] = {**shape, "scores": {way: known[way] for way in WAYS if way in known}}
            RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
            line = known[way]
            print(name, *shape.values(), way, f"{np.mean(line['log_loss']):.4f} ({line['seconds']:.1f} s)", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
