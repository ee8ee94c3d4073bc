"""NUTS of naive Bayes samples sufficient statistics: does its cost grow with the rows?

Run from the project's folder: .venv/bin/python benchmarks/nuts_rows.py [--json FILE]

Fits Gaussian naive Bayes by NUTS to 1,000 and to 1,000,000 rows, alternating, and prints the medians of the time after
the pass over the rows, and their ratio.
"""

import json
import statistics
import sys
import time

import numpy as np

import bayesclf as bc
from bayesclf.engines.inference import draw

SIZES = (1_000, 1_000_000)
ROUNDS = 5
FEATURES = 10


def main(words: list[str]) -> None:
    """Measure, print, and write JSON if asked."""
    rng = np.random.default_rng(0)
    models = {}
    passes = {}
    for rows in SIZES:
        y = rng.integers(3, size=rows)
        X = rng.normal(size=(rows, FEATURES)) + y[:, None]
        start = time.perf_counter()
        models[rows] = bc.GaussianNB(inference="map", random_state=0).fit(X, y).model_
        passes[rows] = time.perf_counter() - start
    draw(models[SIZES[0]], bc.engines.NUTS(), seed=0)  # compiles
    seconds: dict[int, list[float]] = {rows: [] for rows in SIZES}
    for seed in range(ROUNDS):
        for rows in SIZES:
            start = time.perf_counter()
            draw(models[rows], bc.engines.NUTS(), seed=seed)
            seconds[rows].append(time.perf_counter() - start)
    medians = {rows: statistics.median(values) for rows, values in seconds.items()}
    for rows in SIZES:
        print(f"{rows:>9,} rows: statistics in {passes[rows]:.2f} s, then NUTS in {medians[rows]:.2f} s")
    ratio = medians[SIZES[1]] / medians[SIZES[0]]
    print(f"ratio of NUTS times: {ratio:.2f} (goal: at most 1.3)")
    if words[:1] == ["--json"]:
        with open(words[1], "w", encoding="utf-8") as file:
            json.dump({"statistics": passes, "nuts": seconds, "ratio": ratio}, file, indent=1)


if __name__ == "__main__":
    main(sys.argv[1:])
