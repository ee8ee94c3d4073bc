"""Averages over every tree and every forest, against naive Bayes, one tree (TAN) and AODE: held-out log loss.

Run from the project's folder; further tables, whose last column is the class, can follow as files:

    .venv/bin/python benchmarks/every_tree.py [TABLE.csv …] [--json benchmarks/results/every_tree.json]

All see the same five stratified folds. Categories, and numbers of at most ten values, are the columns; a missing cell
is a level. Tables of more than 6,000 rows are thinned to that number. All lines have their defaults.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import tables

import bayesclf as bc

SHIPPED = ("adult", "breast_cancer_ljubljana", "lenses", "lymphography", "promoters", "sick", "votes")
MOST_VALUES, MOST_ROWS, FOLDS = 10, 6000, 5
RULES = ("predictive", "bayes-optimal")
EXACT = bc.engines.Exact(draws=50)


def lines() -> dict[str, Any]:
    """Return the classifiers by name."""
    common: dict[str, Any] = {"missing": "level", "random_state": 0}
    drawn = {"inference": EXACT, **common}
    return {
        "nb": bc.CategoricalNB(**drawn),
        "tan": bc.BayesNetClassifier(**drawn),
        "trees": bc.BayesNetClassifier("all-trees", **drawn),
        "forests": bc.BayesNetClassifier("all-forests", **drawn),
        "a forest a class": bc.BayesNetClassifier("all-forests", tree="class", **drawn),
        "aode": bc.AODE(**common),
    }


def columns(X: pd.DataFrame, y: pd.Series) -> tuple[pd.DataFrame, pd.Series]:
    """Return categorical columns and labels, of classes with a row for each fold."""
    kept = y.groupby(y).transform("size") >= FOLDS
    X, y = X[kept], y[kept]
    if len(X) > MOST_ROWS:
        some = np.sort(np.random.default_rng(0).choice(len(X), MOST_ROWS, replace=False))
        X, y = X.iloc[some], y.iloc[some]
    numbers = {name for name in X if pd.api.types.is_numeric_dtype(X[name]) and X[name].nunique() > MOST_VALUES}
    names = [name for name in X if name not in numbers and X[name].nunique(dropna=False) > 1]
    words = X[names].astype(object).map(str, na_action="ignore")
    return words.reset_index(drop=True), y.reset_index(drop=True)


def measured(X: pd.DataFrame, y: pd.Series) -> dict[str, float | str]:
    """Return the log loss of each line and rule, or why there is none."""
    table = bc.compare(lines(), X, y, rules=RULES, cv=FOLDS, random_state=0, progress=False).table
    return {
        f"{line.model}, {line.rule}": line.reason if np.isnan(line.log_loss) else line.log_loss
        for line in table.itertuples()
    }


def main() -> int:
    """Measure all tables, print them, and write them as JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    results: dict[str, Any] = {}
    for name in (*SHIPPED, *given.tables):
        if isinstance(name, Path):
            frame = pd.read_csv(name)
            X, y = columns(frame.iloc[:, :-1], frame.iloc[:, -1].astype(str))
        else:
            table = bc.datasets.load(name)
            X, y = columns(table.X, pd.Series(table.y))
        title = name.stem if isinstance(name, Path) else name
        about = {"rows": len(X), "columns": X.shape[1], "classes": int(y.nunique())}
        results[title] = about | {"log_loss": measured(X, y)}
        print(title, results[title], file=sys.stderr, flush=True)
        if given.json:
            given.json.write_text(json.dumps({"tables": results}, indent=1) + "\n", encoding="utf-8")
    print(tables.every_tree({"tables": results}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
