"""Do answers stay what they were? P(y | x) of every classifier under every rule on small tables, with fixed seeds.

``python benchmarks/seeded_answers.py --save before.npz`` at one commit, then ``--against before.npz`` at another prints
the largest difference of each classifier, and ends with status 1 where one is above ``--within``.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bayesclf as bc
from bayesclf.families import Ordinal

NUMBERS, WORDS, EVENTS, COUNTS = ["age", "dose"], ["ward", "smoker"], ["fever", "cough"], ["visits", "calls"]
ROWS = 12
"""Rows that are answered, each of which is also a training row."""


def small_table() -> tuple[pd.DataFrame, np.ndarray]:
    """Return 90 rows of numbers, words, events and counts in three classes that no column separates."""
    rng = np.random.default_rng(8)
    codes = rng.permutation(np.repeat(np.arange(3), 30))
    ward = np.where(rng.random(90) < 0.5, rng.integers(3, size=90), codes)
    X = pd.DataFrame(
        {
            "age": 30 + 5 * codes + rng.normal(0, 8, 90),
            "dose": np.exp(rng.normal(0.3 * codes, 0.8)),
            "ward": np.array(["east", "north", "west"], dtype=object)[ward],
            "smoker": np.array(["no", "yes"], dtype=object)[(rng.random(90) < 0.3 + 0.2 * codes).astype(int)],
            "fever": (rng.random(90) < 0.3 + 0.2 * codes).astype(float),
            "cough": (rng.random(90) < 0.6 - 0.2 * codes).astype(float),
            "visits": rng.poisson(1 + codes).astype(float),
            "calls": rng.poisson(3 - codes).astype(float),
        }
    )
    return X, np.array(["ill", "mild", "well"])[codes]


def with_gaps(X: pd.DataFrame) -> pd.DataFrame:
    """Return a table with an eighth of its cells missing."""
    return X.mask(np.random.default_rng(9).random(X.shape) < 0.125)


def cases() -> Iterator[tuple[str, Callable[[], tuple[Any, Any, Any]]]]:
    """Yield the name of each case, and a function that returns a classifier, its rows and their labels."""
    X, y = small_table()
    gaps = with_gaps(X)
    columns, seed = NUMBERS + WORDS, {"random_state": 3}
    exact = {"inference": bc.engines.Exact(draws=200), **seed}

    def case(classifier: Any, rows: pd.DataFrame, labels: Any = y) -> Callable[[], tuple[Any, Any, Any]]:
        return lambda: (classifier, rows, labels)

    yield "nb", case(bc.NaiveBayes(**exact), gaps[columns])
    yield "nb gaussian", case(bc.NaiveBayes(families="gaussian", **exact), gaps[columns])
    for families in ("auto", "histogram"):
        yield f"nb {families}", case(bc.NaiveBayes(families=families, **exact), gaps[columns])
    yield "nb select", case(bc.NaiveBayes(select=True, **exact), X[columns])
    yield "nb ordinal", case(bc.NaiveBayes({"ward": Ordinal(["north", "west", "east"])}, **exact), gaps[columns])
    yield "nb missing level", case(bc.NaiveBayes(missing="level", **exact), gaps[columns])
    block = {("ward", "age"): "conditional-gaussian"}
    yield "nb block", case(bc.NaiveBayes(block, **exact), X[columns])
    yield "categorical", case(bc.CategoricalNB(**exact), gaps[WORDS])
    yield "bernoulli", case(bc.BernoulliNB(**exact), gaps[EVENTS])
    yield "multinomial", case(bc.MultinomialNB(**exact), X[COUNTS])
    for variance in ("class-feature", "feature", "class", "shared"):
        yield f"gnb {variance}", case(bc.GaussianNB(variance=variance, **exact), gaps[NUMBERS])
    for covariance in ("shared", "class"):
        yield f"gda {covariance}", case(bc.GaussianDiscriminantAnalysis(covariance=covariance, **exact), X[NUMBERS])
    gap_engine = {"inference": bc.engines.Augmentation(draws=50, chains=2), **seed}
    yield "gda with gaps", case(bc.GaussianDiscriminantAnalysis(**gap_engine), gaps[NUMBERS])
    yield "joint", case(bc.JointBayes(**exact), X[WORDS])
    yield "tan", case(bc.BayesNetClassifier(**exact), X[columns])
    yield "tan with gaps", case(bc.BayesNetClassifier(**gap_engine), gaps[WORDS])
    for structure in ("all-trees", "all-forests"):
        yield structure, case(bc.BayesNetClassifier(structure, **exact), X[WORDS])
    yield "aode", case(bc.AODE(inference="map", **seed), X[WORDS])
    words = np.array(["spam", "money", "meeting", "lunch", "now", "report"])
    rng = np.random.default_rng(4)
    documents = [" ".join(rng.choice(words, 8, p=np.roll([0.4, 0.2, 0.1, 0.1, 0.1, 0.1], 2 * (k == "ill")))) for k in y]
    yield "text", case(bc.TextNB(**exact), pd.Series(documents))
    laplace = {"inference": bc.engines.Laplace(draws=300), **seed}
    yield "lr", case(bc.LogisticRegression(**seed), gaps[columns])
    yield "lr laplace", case(bc.LogisticRegression(**laplace), X[columns])
    yield "lr given scale", case(bc.LogisticRegression(prior_scale=2.5, **laplace), gaps[columns])
    yield "lr scales", case(bc.LogisticRegression(prior_scale={"age": 1.0, "dose": 2.0}, **laplace), X[NUMBERS])
    yield "lr reference", case(bc.LogisticRegression(prior_form="reference", prior_scale=1.0, **laplace), X[NUMBERS])
    for name in ("iris", "wine", "breast_cancer"):
        table = bc.datasets.load(f"sklearn:{name}")
        yield f"nb {name}", case(bc.NaiveBayes(**exact), table.X, table.y)
        yield f"nb auto {name}", case(bc.NaiveBayes(families="auto", **exact), table.X, table.y)
        yield f"lr map {name}", case(bc.LogisticRegression(inference="map", **seed), table.X, table.y)


def answers() -> dict[str, np.ndarray]:
    """Return P(y | x) (row, outcome) by "case, rule"; a rule that the classifier lacks has the name of its error."""
    found: dict[str, np.ndarray] = {}
    for name, made in cases():
        clf, X, y = made()
        clf.fit(X, y)
        rows = X.iloc[:ROWS]
        for rule in bc.rules.RULES:
            try:
                found[f"{name}, {rule}"] = clf.predict_proba(rows, rule=rule)
            except ValueError as error:
                found[f"{name}, {rule}"] = np.array(type(error).__name__)
    return found


def difference(one: np.ndarray, other: np.ndarray) -> float:
    """Return the largest difference of two answers; infinite where only one of them is an error."""
    if one.dtype.kind == "U" or other.dtype.kind == "U":
        return 0.0 if str(one) == str(other) else np.inf
    return float(np.abs(one - other).max()) if one.shape == other.shape else np.inf


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--save", type=Path, metavar="FILE")
    what.add_argument("--against", type=Path, metavar="FILE")
    parser.add_argument("--within", type=float, default=0.0, help="the largest difference that is allowed")
    chosen = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        now = answers()
    if chosen.save:
        np.savez_compressed(chosen.save, **now)
        print(f"{len(now)} answers are in {chosen.save}")
        return 0
    before = dict(np.load(chosen.against))
    differences = {key: difference(before[key], now[key]) for key in before.keys() & now.keys()}
    for key in sorted(before.keys() ^ now.keys()):
        print(f"only {'before' if key in before else 'now'}: {key}")
    for key, size in sorted(differences.items(), key=lambda item: -item[1]):
        if size > chosen.within:
            print(f"{size:9.2g}  {key}")
    worst = max(differences.values(), default=np.inf)
    print(f"{len(differences)} answers compared; the largest difference is {worst:.2g}")
    return int(not worst <= chosen.within or before.keys() != now.keys())


if __name__ == "__main__":
    sys.exit(main())
