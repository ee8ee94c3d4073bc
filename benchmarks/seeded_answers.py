"""Do answers stay what they were? P(y | x) of every classifier under every rule on small tables, with fixed seeds.

``python benchmarks/seeded_answers.py --save before.npz`` at one commit, then ``--against before.npz`` at another prints
the largest difference of each classifier, and ends with status 1 where one is above ``--within``.
"""

import argparse
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bayesclf as bc

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


def cases() -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield the name of each case, a classifier, its rows and their labels."""
    X, y = small_table()
    gaps = X.mask(np.random.default_rng(9).random(X.shape) < 0.125)
    columns, seed = NUMBERS + WORDS, {"random_state": 3}
    exact = {"inference": bc.engines.Exact(draws=200), **seed}
    gap_engine = {"inference": bc.engines.Augmentation(draws=50, chains=2), **seed}
    laplace = {"inference": bc.engines.Laplace(draws=300), **seed}
    yield "nb", bc.NaiveBayes(**exact), gaps[columns], y
    yield "nb gaussian", bc.NaiveBayes(families="gaussian", **exact), gaps[columns], y
    for families in ("auto", "histogram"):
        yield f"nb {families}", bc.NaiveBayes(families=families, **exact), gaps[columns], y
    yield "nb missing level", bc.NaiveBayes(missing="level", **exact), gaps[columns], y
    yield "nb block", bc.NaiveBayes({("ward", "age"): "conditional-gaussian"}, **exact), X[columns], y
    yield "categorical", bc.CategoricalNB(**exact), gaps[WORDS], y
    yield "bernoulli", bc.BernoulliNB(**exact), gaps[EVENTS], y
    yield "multinomial", bc.MultinomialNB(**exact), X[COUNTS], y
    for variance in ("class-feature", "feature", "class", "shared"):
        yield f"gnb {variance}", bc.GaussianNB(variance=variance, **exact), gaps[NUMBERS], y
    for covariance in ("shared", "class"):
        yield f"gda {covariance}", bc.GaussianDiscriminantAnalysis(covariance=covariance, **exact), X[NUMBERS], y
    yield "gda with gaps", bc.GaussianDiscriminantAnalysis(**gap_engine), gaps[NUMBERS], y
    yield "joint", bc.JointBayes(**exact), X[WORDS], y
    yield "tan", bc.BayesNetClassifier(**exact), X[columns], y
    yield "tan with gaps", bc.BayesNetClassifier(**gap_engine), gaps[WORDS], y
    for structure in ("all-trees", "all-forests"):
        yield structure, bc.BayesNetClassifier(structure, **exact), X[WORDS], y
    words = np.array(["spam", "money", "meeting", "lunch", "now", "report"])
    rng = np.random.default_rng(4)
    documents = [" ".join(rng.choice(words, 8, p=np.roll([0.4, 0.2, 0.1, 0.1, 0.1, 0.1], 2 * (k == "ill")))) for k in y]
    yield "text", bc.TextNB(**exact), pd.Series(documents), y
    yield "lr", bc.LogisticRegression(**seed), gaps[columns], y
    yield "lr laplace", bc.LogisticRegression(**laplace), X[columns], y
    yield "lr given scale", bc.LogisticRegression(prior_scale=2.5, **laplace), gaps[columns], y
    yield "lr scales", bc.LogisticRegression(prior_scale={"age": 1.0, "dose": 2.0}, **laplace), X[NUMBERS], y
    yield "lr reference", bc.LogisticRegression(prior_form="reference", prior_scale=1.0, **laplace), X[NUMBERS], y
    for name in ("iris", "wine", "breast_cancer"):
        table = bc.datasets.load(f"sklearn:{name}")
        yield f"nb {name}", bc.NaiveBayes(**exact), table.X, table.y
        yield f"nb auto {name}", bc.NaiveBayes(families="auto", **exact), table.X, table.y
        yield f"lr map {name}", bc.LogisticRegression(inference="map", **seed), table.X, table.y


def answers() -> dict[str, np.ndarray]:
    """Return P(y | x) (row, outcome) by "case, rule"; a rule that the classifier lacks has the name of its error."""
    found: dict[str, np.ndarray] = {}
    for name, clf, X, y in cases():
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
    """Save the answers, or compare them with saved ones."""
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
