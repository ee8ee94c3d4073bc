"""Held-out log loss of Student-t weights and of the horseshoe, against normal weights of one learned scale.

Simulated tables of 200 rows and 40 independent normal columns: in the sparse ones 5 weights are ±(1 to 2.5) and the
others 0, in the dense ones all are normal of the same total variance. Both shapes have their default settings, so that
the horseshoe expects 4 nonzero weights. Log losses are of 5,000 other rows; seconds are of one core, fitting alone.
Results that are there already are kept.

Run from the project's folder: .venv/bin/python benchmarks/weight_shapes.py [SEEDS]
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

import bayesclf as bc

RESULTS = Path(__file__).parent / "results" / "weight_shapes.json"
ROWS, TEST_ROWS, COLUMNS, NONZERO = 200, 5_000, 40, 5
SEEDS = 12
SHAPES = ("normal", "student-t", "horseshoe")


def table(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and labels of training rows, then of test rows."""
    rng = np.random.default_rng(seed)
    weight = np.zeros(COLUMNS)
    weight[:NONZERO] = rng.choice([-1, 1], NONZERO) * rng.uniform(1, 2.5, NONZERO)
    if kind == "dense":
        weight = np.linalg.norm(weight) * rng.normal(size=COLUMNS) / np.sqrt(COLUMNS)
    X = rng.normal(size=(ROWS + TEST_ROWS, COLUMNS))
    return X, (X @ weight + rng.logistic(size=len(X)) > 0).astype(int)


def score(kind: str, seed: int, shape: str) -> dict[str, Any]:
    """Return log loss, seconds, and problems of convergence."""
    X, y = table(kind, seed)
    settings = bc.LearnedScale(shape=shape)
    start = time.process_time()
    clf = bc.LogisticRegression(prior_scale=settings, random_state=1).fit(X[:ROWS], y[:ROWS])
    seconds = time.process_time() - start
    loss = log_loss(y[ROWS:], clf.predict_proba(X[ROWS:]))
    return {"log_loss": loss, "seconds": seconds, "problems": list(clf.convergence_problems_)}


def main() -> None:
    """Fill the table of results, and print it."""
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS):
        for kind in ("sparse", "dense"):
            for shape in SHAPES:
                key = f"{kind}, seed {seed}, {shape}"
                if key not in found:
                    found[key] = score(kind, seed, shape)
                    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
                    print(key, found[key], flush=True)
    for kind in ("sparse", "dense"):
        losses = {
            shape: np.array([one["log_loss"] for key, one in found.items() if kind in key and shape in key])
            for shape in SHAPES
        }
        for shape in SHAPES[1:]:
            gain = losses["normal"] - losses[shape]
            print(kind, shape, gain.round(4), f"mean {gain.mean():.4f} better on {(gain > 0).sum()} of {len(gain)}")


if __name__ == "__main__":
    main()
