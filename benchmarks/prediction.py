"""Averaging over a posterior of logistic regression: how near is it to what the hardware needs for the numbers alone?

Run from the project's folder: .venv/bin/python benchmarks/prediction.py [--json FILE]

4,000 draws × 100,000 rows × 30 features, two classes. Two floors: the product of rows and draws at the rate of large
matrix products, and one exponential per row and draw at the rate of `np.exp` on arrays that stay in the cache, both on
all cores. It alternates these with the Bayes-optimal rule on encoded rows, with `predict_proba` and with `predict`, and
prints medians and their ratios to the larger floor, by the clock and by the processor time of all threads: the second
does not suffer from other programs. Then the peak of the arrays that one `predict_proba` needs besides its table, and
what intervals and the six averages of a comparison take.
"""

import json
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

import bayesclf as bc
from bayesclf import rules
from bayesclf.posterior import answers, averaging

ROUNDS = 7
ROWS, FEATURES, DRAWS = 100_000, 30, 4000
FEW = 5000
"""Rows of what is slower."""
SIDE = 1500
"""Rows and columns of the large matrix product."""
EXPONENTIALS, REPEATS = 2**14, 400
"""Numbers of the array that stays in the cache, and how often their exponentials are taken."""
TASKS = 8
"""Large products, or repeated exponentials, that the cores share out."""


def fitted() -> bc.LogisticRegression:
    """Return logistic regression with draws of its posterior."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, FEATURES))
    y = X @ rng.normal(scale=0.5, size=FEATURES) + rng.logistic(size=2000) > 0
    return bc.LogisticRegression(
        prior_scale=2.5, inference=bc.engines.Laplace(draws=DRAWS // 4, chains=4), random_state=0
    ).fit(X, y)


def products() -> Callable[[int], Any]:
    """Return what multiplies two large matrices, in memory of the task's own."""
    matrix = np.random.default_rng(1).standard_normal((SIDE, SIDE))
    out = np.zeros((TASKS, SIDE, SIDE))
    return lambda task: np.matmul(matrix, matrix, out=out[task])


def exponentials() -> Callable[[int], None]:
    """Return what takes exponentials of numbers in the cache."""
    numbers = np.random.default_rng(2).standard_normal(EXPONENTIALS)

    def repeated(_: int) -> None:
        out = np.empty(EXPONENTIALS)
        for _ in range(REPEATS):
            np.exp(numbers, out=out)

    return repeated


def measured(runs: dict[str, Callable[[], Any]]) -> dict[str, dict[str, float]]:
    """Return the median seconds of each by the clock and by processor time; one run after the other, ROUNDS times."""
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for round_number in range(ROUNDS + 1):
        for name, run in runs.items():
            clock, processor = time.perf_counter(), time.process_time()
            run()
            if round_number:
                seconds[name].append((time.perf_counter() - clock, time.process_time() - processor))
    return {
        name: dict(zip(("clock", "processor"), map(statistics.median, zip(*values, strict=True)), strict=True))
        for name, values in seconds.items()
    }


def peak_of(run: Callable[[], Any]) -> int:
    """Return the peak of the memory that Python and NumPy hold while it runs, less what they held before, in bytes."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def near_the_floor(clf: bc.LogisticRegression, X: np.ndarray) -> dict[str, Any]:
    """Return floors, times and ratios of averaging over ROWS rows, and print them."""
    hypotheses, rows = clf.hypotheses("posterior"), clf.rows(X)
    multiply, exponentiate = products(), exponentials()
    seconds = measured(
        {
            "product": lambda: answers.each(multiply, range(TASKS), answers.LEAST_WORK),
            "exponentials": lambda: answers.each(exponentiate, range(TASKS), answers.LEAST_WORK),
            "bayes-optimal": lambda: rules.log_proba("bayes-optimal", hypotheses, rows),
            "predict_proba": lambda: clf.predict_proba(X),
            "predict": lambda: clf.predict(X),
        }
    )
    done = {"product": TASKS * SIDE**3, "exponentials": TASKS * EXPONENTIALS * REPEATS}
    wanted = {"product": ROWS * FEATURES * DRAWS, "exponentials": ROWS * DRAWS}
    floors = {name: {by: took * wanted[name] / done[name] for by, took in seconds.pop(name).items()} for name in wanted}
    floor = {by: max(took[by] for took in floors.values()) for by in ("clock", "processor")}
    ratios = {name: {by: took[by] / floor[by] for by in took} for name, took in seconds.items()}
    show(floors | seconds)
    for name, ratio in ratios.items():
        print(f"{name} over the larger floor: {ratio['clock']:.2f}, by processor time {ratio['processor']:.2f}")
    return {"floors": floors, "seconds": seconds, "ratios": ratios}


def show(seconds: dict[str, dict[str, float]]) -> None:
    """Print times."""
    for name, took in seconds.items():
        print(f"{name:>32}: {took['clock']:.3f} s, processor {took['processor']:.3f} s")


def main(words: list[str]) -> None:
    """Measure, print, and write JSON if asked."""
    clf = fitted()
    X = np.random.default_rng(3).standard_normal((ROWS, FEATURES))
    result = near_the_floor(clf, X)
    result["peak_mb"] = peak_of(lambda: clf.predict_proba(X)) / 1e6
    print(f"peak of predict_proba above its table: {result['peak_mb']:.0f} MB (goal: below 500)")
    hypotheses, few = clf.hypotheses("posterior"), clf.rows(X[:FEW])
    cancer, y = load_breast_cancer(return_X_y=True)
    naive_bayes = bc.GaussianNB(inference=bc.engines.Exact(draws=DRAWS // 4, chains=4), random_state=0).fit(cancer, y)
    result["others"] = measured(
        {
            f"six averages, {FEW} rows": lambda: averaging.average(hypotheses, few),
            f"predict_interval, {FEW} rows": lambda: clf.predict_interval(X[:FEW]),
            "GaussianNB, breast cancer": lambda: naive_bayes.predict_proba(cancer, rule="bayes-optimal"),
        }
    )
    show(result["others"])
    if words[:1] == ["--json"]:
        Path(words[1]).write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
