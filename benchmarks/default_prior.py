"""Held-out log loss of logistic regression with every default, against scikit-learn's tuned one, on many tables.

The tables are those of `prior_tables.py`, with five folds, three times below 500 rows, and the peer is that of
`learned_scale.py`. What is fitted is `LogisticRegression(random_state=1)`, so that priors, engine and numbers of draws
are those that a user gets. Results that are there already are kept; the small tables come first, each split once before
any is split again.

Run from the project's folder: .venv/bin/python benchmarks/default_prior.py [--json FILE] [TABLE …]
"""

import json
import sys
from pathlib import Path

import learned_scale
import numpy as np
import prior_tables

RESULTS = Path(__file__).parent / "results" / "default_prior.json"
SEEDS, FEW_ROWS = 3, 500
"""How often tables below so many rows are split; others once."""


def main() -> None:
    """Measure the tables that are named, or all, without those that have results."""
    file, problems, result = prior_tables.asked(RESULTS)
    for times in range(1, SEEDS + 1):
        for name, group, X, y in problems:
            line = result["tables"].setdefault(
                name, {"group": group, "rows": len(X), "columns": X.shape[1], "classes": len(np.unique(y)), "times": 0}
            )
            most = SEEDS if len(X) < FEW_ROWS else 1
            if times > most or line["times"] >= times:
                continue
            found = learned_scale.scores(X, y, [learned_scale.DEFAULT, learned_scale.PEER], seed=times - 1)
            line["times"] = times
            for way, own in found.items():
                before = line.setdefault("scores", {}).setdefault(way, {"log_loss": [], "seconds": 0.0})
                before["log_loss"] += own["log_loss"]
                before["seconds"] += own["seconds"]
            file.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
            losses = {way: round(float(np.mean(own["log_loss"])), 4) for way, own in found.items()}
            seconds = {way: round(own["seconds"], 1) for way, own in found.items()}
            print(name, losses, seconds, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
