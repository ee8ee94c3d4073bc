"""Held-out log loss of logistic regression with every default, against scikit-learn's tuned one, on many tables.

The tables are those of `prior_tables.py`, the folds and the peer those of `learned_scale.py`. What is fitted is
`LogisticRegression(random_state=1)`, so that priors, engine and numbers of draws are those that a user gets. Results
that are there already are kept; the small tables come first.

Run from the project's folder: .venv/bin/python benchmarks/default_prior.py [--json FILE] [TABLE …]
"""

import argparse
import json
import sys
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import learned_scale
import numpy as np
import prior_tables

RESULTS = Path(__file__).parent / "results" / "default_prior.json"


def main() -> None:
    """Measure the tables that are named, or all, without those that have results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path, default=RESULTS)
    parser.add_argument("tables", nargs="*")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    result: dict[str, Any] = {"tables": {}}
    if asked.json.exists():
        result = json.loads(asked.json.read_text(encoding="utf-8"))
    versions = {name: version(name) for name in ("bayesclf", "numpy", "scikit-learn")}
    result |= {"folds": learned_scale.FOLDS, "versions": versions}
    ways = [learned_scale.DEFAULT, learned_scale.PEER]
    for name, group, X, y in sorted(prior_tables.problems(), key=lambda problem: problem[2].size):
        if name in result["tables"] or (asked.tables and name not in asked.tables):
            continue
        shape = {"rows": len(X), "columns": X.shape[1], "classes": len(np.unique(y))}
        scores = learned_scale.scores(X, y, ways)
        result["tables"][name] = {"group": group, **shape, "scores": scores}
        asked.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        losses = {way: round(float(np.mean(line["log_loss"])), 4) for way, line in scores.items()}
        seconds = {way: round(line["seconds"], 1) for way, line in scores.items()}
        print(name, losses, seconds, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
