"""Large tables in memory: what fits and answers take next to scikit-learn, and to what the hardware needs.

Run from the project's folder: .venv/bin/python benchmarks/in_memory.py [--share S] [--rounds R] [--json FILE]

1,000,000 rows × 50 numbers in three classes, as an array and as tables of columns in double and in single precision;
1,000,000 rows × 20 columns of words; 200,000 sparse documents; and the Bayes-optimal rule with 1,000 draws for 100,000
rows × 50 numbers. `--share 0.2` takes a fifth of the rows. Each round runs ours and then the peer; the result has
medians by the clock and by processor time, which suffers less from other programs, and their ratios. Floors: one pass
over the table (a product of its cells with themselves) for the fit and the point, and the product of rows and draws,
plus one exponential per row, class and draw, for the average. One thread each: run it with OMP_NUM_THREADS=1.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import machine
import numpy as np
import pandas as pd
import sklearn
from prediction import EXPONENTIALS, SIDE
from scipy import sparse
from sklearn import naive_bayes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import bayesclf as bc

ROWS, FEATURES, CLASSES = 1_000_000, 50, 3
WORD_COLUMNS = 20
DOCUMENTS, VOCABULARY, WORDS = 200_000, 20_000, 50
AVERAGED_ROWS, DRAWS = 100_000, 1000

type Run = Callable[[], Any]


def numbers(share: float) -> dict[str, tuple[Run, Run, float]]:
    """Return what is measured on columns of numbers: ours, the peer, and the goal of their ratio."""
    rng = np.random.default_rng(0)
    y = rng.integers(CLASSES, size=int(ROWS * share))
    X = rng.standard_normal((len(y), FEATURES)) + 0.1 * y[:, None]
    by_column = pd.DataFrame({f"x{j}": X[:, j] for j in range(FEATURES)})
    single = X.astype(np.float32)
    ours, peer = bc.GaussianNB(random_state=0).fit(X, y), naive_bayes.GaussianNB().fit(X, y)

    def fits(table: Any) -> tuple[Run, Run]:
        return lambda: bc.GaussianNB(random_state=0).fit(table, y), lambda: naive_bayes.GaussianNB().fit(table, y)

    def answers(rule: str) -> tuple[Run, Run]:
        return lambda: ours.predict_proba(X, rule=rule), lambda: peer.predict_proba(X)

    return {
        "GaussianNB fit, array": (*fits(X), 0.5),
        "GaussianNB fit, DataFrame": (*fits(by_column), 1.0),
        "GaussianNB fit, array of float32": (*fits(single), 1.0),
        "GaussianNB predict_proba, map": (*answers("map"), 0.5),
        "GaussianNB predict_proba, predictive": (*answers("predictive"), 1.0),
        "GaussianNB fit over one reading": (lambda: bc.GaussianNB(random_state=0).fit(X, y), reading(X), np.inf),
        "predict_proba, map, over one reading": (lambda: ours.predict_proba(X, rule="map"), reading(X), np.inf),
    }


def reading(X: np.ndarray) -> Run:
    """Return one pass over a table."""
    cells = X.ravel()
    return lambda: cells @ cells


def words(share: float) -> dict[str, tuple[Run, Run, float]]:
    """Return the same for columns of words, α fixed, as it is for the peer."""
    rng = np.random.default_rng(1)
    y = rng.integers(CLASSES, size=int(ROWS * share))
    levels = [np.array([f"level {i}" for i in range(4 + j)], dtype=object) for j in range(WORD_COLUMNS)]
    table = pd.DataFrame({f"x{j}": own[rng.integers(len(own), size=len(y))] for j, own in enumerate(levels)})
    peer = make_pipeline(OrdinalEncoder(), naive_bayes.CategoricalNB())
    fixed, learned = bc.CategoricalNB(alpha=2.0, random_state=0), bc.CategoricalNB(random_state=0)

    def fit_peer() -> Any:
        return peer.fit(table, y)

    return {
        f"CategoricalNB fit, DataFrame of {WORD_COLUMNS} columns of words": (
            lambda: fixed.fit(table, y),
            fit_peer,
            1.0,
        ),
        "the same, α learned": (lambda: learned.fit(table, y), fit_peer, 1.0),
    }


def documents(share: float) -> dict[str, tuple[Run, Run, float]]:
    """Return the same for sparse counts of words."""
    rng = np.random.default_rng(2)
    rows = int(DOCUMENTS * share)
    ends = np.arange(0, rows * WORDS + 1, WORDS)
    found = (VOCABULARY * rng.random(rows * WORDS) ** 3).astype(np.int32)
    X = sparse.csr_array((np.ones(rows * WORDS), found, ends), shape=(rows, VOCABULARY))
    X.sum_duplicates()
    y = rng.integers(CLASSES, size=rows)
    ours, peer = bc.MultinomialNB(alpha=2.0, inference="map").fit(X, y), naive_bayes.MultinomialNB().fit(X, y)
    return {
        "MultinomialNB fit, sparse": (
            lambda: bc.MultinomialNB(alpha=2.0, inference="map").fit(X, y),
            lambda: naive_bayes.MultinomialNB().fit(X, y),
            np.inf,
        ),
        "MultinomialNB predict_proba, sparse": (lambda: ours.predict_proba(X), lambda: peer.predict_proba(X), np.inf),
    }


def average(share: float) -> dict[str, tuple[Run, Run, float]]:
    """Return the Bayes-optimal rule, and as its peer the product and the exponentials that it cannot do without."""
    rng = np.random.default_rng(3)
    y = rng.integers(CLASSES, size=20_000)
    X = rng.standard_normal((len(y), FEATURES)) + 0.1 * y[:, None]
    ours = bc.GaussianNB(random_state=0, inference=bc.engines.Exact(draws=DRAWS // 4, chains=4)).fit(X, y)
    new = rng.standard_normal((int(AVERAGED_ROWS * share), FEATURES))
    wanted = len(new) * CLASSES * DRAWS
    matrix, cached = rng.standard_normal((SIDE, SIDE)), rng.standard_normal(EXPONENTIALS)
    out, of_cached = np.empty_like(matrix), np.empty_like(cached)

    def floor() -> None:
        for _ in range(max(1, round(wanted * 2 * FEATURES / SIDE**3))):
            np.matmul(matrix, matrix, out=out)
        for _ in range(max(1, round(wanted / EXPONENTIALS))):
            np.exp(cached, out=of_cached)

    return {f"Bayes-optimal, {DRAWS:,} draws, over its floor": (lambda: ours.predict_proba(new), floor, 2.0)}


def measured(run: Run) -> tuple[float, float]:
    """Return the seconds of one run by the clock and by processor time."""
    clock, processor = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - clock, time.process_time() - processor


def compared(ours: Run, peer: Run, goal: float, rounds: int) -> dict[str, Any]:
    """Return medians of both, one after the other, and their ratios; a first run of each is left out."""
    ours(), peer()
    pairs = [(measured(ours), measured(peer)) for _ in range(rounds)]
    by = {}
    for place, name in enumerate(("clock", "processor")):
        own, others = ([pair[who][place] for pair in pairs] for who in (0, 1))
        ratio = statistics.median(one / other for one, other in zip(own, others, strict=True))
        by[name] = {"ours": statistics.median(own), "peer": statistics.median(others), "ratio": ratio}
    return {**by, "goal": goal if np.isfinite(goal) else None}


def main() -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--share", type=float, default=1.0, help="share of the rows")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each")
    parser.add_argument("--json", type=Path, help="file to write")
    given = parser.parse_args()
    found: dict[str, Any] = {}
    for group in (numbers, words, documents, average):
        for name, (ours, peer, goal) in group(given.share).items():
            found[name] = compared(ours, peer, goal, given.rounds)
            took = found[name]["processor"]
            about = "" if found[name]["goal"] is None else f" (goal: at most {goal})"
            print(f"{name}: {took['ours']:.3f} s, {took['peer']:.3f} s, ratio {took['ratio']:.2f}{about}", flush=True)
    if given.json:
        versions = machine.description({"parts": {"NumPy": np.__version__, "scikit-learn": sklearn.__version__}})
        machine.write(given.json, {**versions, "share": given.share, "rounds": given.rounds, "lines": found})


if __name__ == "__main__":
    main()
