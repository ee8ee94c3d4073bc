"""Logistic regression on many rows: what do the posterior mode, Laplace's approximation and NUTS take on adult?

Run from the project's folder; without --nuts, which takes minutes, it is short:

    .venv/bin/python benchmarks/logistic_rows.py --nuts --json FILE

48,842 rows, 6 numbers and 8 categories with missing cells, the default prior; encoding the table is part of each time.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import machine
import numpy as np
import tables
from agreement import effective_draws

import bayesclf as bc


def main(words: list[str]) -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nuts", action="store_true", help="sample by NUTS, too")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="file for the results")
    options = parser.parse_args(words)
    engines: dict[str, tuple[bc.engines.MAP | bc.engines.Laplace | bc.engines.NUTS, int]] = {
        "MAP": (bc.engines.MAP(), options.repeats),
        "Laplace": (bc.engines.Laplace(limit=np.inf), options.repeats),
    }
    if options.nuts:
        engines["NUTS"] = bc.engines.NUTS(), 1
    table = bc.datasets.load("adult")
    found: dict[str, dict[str, Any]] = {}
    for name, (engine, repeats) in engines.items():
        seconds = []
        for seed in range(repeats):
            start = time.perf_counter()
            classifier = bc.LogisticRegression(prior_scale=2.5, inference=engine, random_state=seed).fit(
                table.X, table.y
            )
            if name == "MAP":
                classifier.hypotheses("map")  # computed on first use
            seconds.append(time.perf_counter() - start)
        found[name] = {"seconds": seconds, "note": note(classifier)}
        print(name, found[name], flush=True)
    result = {
        **machine.description(machine.versions(["bayesclf"])),
        "rows": len(table.X),
        "columns": classifier.hypotheses("map").parameters["weight"].shape[-1],
        "engines": found,
    }
    print(tables.logistic_rows(result))
    if options.json:
        machine.write(options.json, result)


def note(classifier: bc.LogisticRegression) -> str:
    """Return how good the draws are."""
    match classifier.inference_:
        case bc.engines.Laplace():
            stats = classifier.posterior_["sample_stats"]
            return f"k̂ {stats['pareto_k'].item():.2f}, {stats['importance_ess'].item():,.0f} effective draws"
        case bc.engines.NUTS():
            weight = np.asarray(classifier.posterior_["posterior"]["weight"])
            ess = effective_draws(weight.reshape(*weight.shape[:2], -1))
            return f"bulk ESS of the weights at least {ess.min():,.0f}"
        case _:
            return ""


if __name__ == "__main__":
    main(sys.argv[1:])
