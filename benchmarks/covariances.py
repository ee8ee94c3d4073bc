"""Held-out log loss and time of Gaussian discriminant analysis, against scikit-learn's shrunk covariances.

Simulated tables have 60 rows of two classes as probable, and independent standard normal columns, of which the first
five are one sd apart between the classes; log losses are of 2,000 other rows. Tables of data are by five folds, three
times. All ways see the same rows, and answer by `predictive`: the degrees of freedom ν of Σ's prior learned, which is
the default, and given, ν = d + 2, which is a prior worth one row. The peer is
``LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")``. Times are medians of calls for one row of digits, by
covariances of the classes, after the first call.

Run from the project's folder: .venv/bin/python benchmarks/covariances.py [SEEDS]
"""

import statistics
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

import bayesclf as bc
from bayesclf.tables import datasets

ROWS, TEST_ROWS, INFORMATIVE = 60, 2_000, 5
COLUMNS = (15, 30, 45)
TABLES = ("sklearn:wine", "sklearn:breast_cancer", "folder:sonar", "folder:ionosphere")
SEEDS, FOLDS, REPEATS, CALLS = 40, 5, 3, 30

type Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def simulated(columns: int, seed: int) -> Split:
    """Return columns and labels of training rows, then of test rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=ROWS + TEST_ROWS)
    X = rng.normal(size=(len(y), columns))
    X[:, :INFORMATIVE] += y[:, None]
    return X[:ROWS], y[:ROWS], X[ROWS:], y[ROWS:]


def folds(source: str) -> Iterator[Split]:
    """Yield the training and test rows of each fold."""
    table = datasets.load(source)
    X, y = table.X.to_numpy(float), table.y.astype(str).to_numpy()
    X = X[:, np.ptp(X, axis=0) > 0]
    for seed in range(REPEATS):
        for training, test in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y):
            yield X[training], y[training], X[test], y[test]


def losses(split: Split) -> list[float]:
    """Return the log losses of the ways, and the mean of the learned ν over the number of columns."""
    X, y, X_test, y_test = split
    learned = bc.GaussianDiscriminantAnalysis(inference="exact", random_state=1).fit(X, y)
    given = bc.GaussianDiscriminantAnalysis(nu=X.shape[1] + 2.0, inference="exact", random_state=1).fit(X, y)
    peer = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(X, y)
    answers = [peer.predict_proba(X_test), *(clf.predict_proba(X_test, rule="predictive") for clf in (given, learned))]
    nu = float(learned.model_.posterior().mean()["nu"][0])
    return [*(log_loss(y_test, proba, labels=peer.classes_) for proba in answers), nu]


def seconds(rule: str, clf: Any, X: np.ndarray) -> float:
    """Return the median time of an answer to one row, after the first."""
    clf.predict_proba(X[:1], rule=rule)
    taken = []
    for row in range(CALLS):
        start = time.perf_counter()
        clf.predict_proba(X[row : row + 1], rule=rule)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def main(seeds: int) -> None:
    """Print all figures."""
    warnings.simplefilter("ignore")
    print(f"{'':24} peer   given  learned  nu")
    for columns in COLUMNS:
        found = np.mean([losses(simulated(columns, seed)) for seed in range(seeds)], axis=0)
        print(f"{columns:2} columns, 60 rows      ", *found.round(3), flush=True)
    for source in TABLES:
        print(f"{source:24}", *np.mean([losses(split) for split in folds(source)], axis=0).round(3), flush=True)
    X, y = load_digits(return_X_y=True)
    clf = bc.GaussianDiscriminantAnalysis("class", random_state=1).fit(X, y)
    taken = {rule: seconds(rule, clf, X) for rule in ("predictive", "bayes-optimal")}
    print("one row of digits:", {rule: f"{1e3 * value:.1f} ms" for rule, value in taken.items()})


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
