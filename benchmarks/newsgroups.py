"""Multinomial naive Bayes on 20 Newsgroups: what do exact inference and averaging over the posterior cost?

Run from the project's folder: BAYESCLF_DATA=FOLDER .venv/bin/python benchmarks/newsgroups.py [--json FILE]

On the by-date split, 130,107 words and 20 groups, it alternates scikit-learn's fit and predict_proba with our exact fit
and closed-form predictive, and prints the medians and their ratio; then it averages over 100 draws of θ, 20.8 MB each,
and prints the time and the peak memory of the process.
"""

import gzip
import json
import os
import resource
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

import bayesclf as bc

ROUNDS = 7
DRAWS = 100


def messages(part: str) -> tuple[list[str], np.ndarray]:
    """Return the texts and groups of one part of the collection."""
    path = Path(os.environ["BAYESCLF_DATA"]) / "newsgroups" / f"{part}.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        records = [json.loads(line) for line in file.read().split("\n") if line]
    return [record["text"] for record in records], np.array([record["group"] for record in records])


def main(words: list[str]) -> None:
    """Measure, print, and write JSON if asked."""
    (train, y), (test, y_test) = messages("train"), messages("test")
    vectorizer = CountVectorizer()
    X, X_test = vectorizer.fit_transform(train), vectorizer.transform(test)
    ours = bc.MultinomialNB(
        2.0, class_prior="empirical", inference=bc.engines.Exact(draws=DRAWS, chains=1), random_state=0
    )
    runs = {
        "scikit-learn": lambda: MultinomialNB().fit(X, y).predict_proba(X_test),
        "bayesclf": lambda: ours.fit(X, y).predict_proba(X_test, rule="predictive"),
    }
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    ratio = medians["bayesclf"] / medians["scikit-learn"]
    for name, median in medians.items():
        print(f"{name:>12}: fit and predict_proba in {median:.3f} s (median of {ROUNDS})")
    print(f"ratio: {ratio:.2f} (goal: at most 3)")
    rules = ("map", "mean", "predictive", "gibbs")
    accuracy = {rule: float((ours.predict(X_test, rule=rule) == y_test).mean()) for rule in rules}
    start = time.perf_counter()
    accuracy["bayes-optimal"] = float((ours.predict(X_test, rule="bayes-optimal") == y_test).mean())
    took = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform != "darwin" else 2**30)
    print("accuracy: " + ", ".join(f"{rule} {value!r}" for rule, value in accuracy.items()))
    print(f"bayes-optimal over {DRAWS} draws in {took:.1f} s; peak memory {peak:.2f} GiB (goal: below 2)")
    if words[:1] == ["--json"]:
        result = {
            "seconds": seconds,
            "ratio": ratio,
            "accuracy": accuracy,
            "draws": DRAWS,
            "average_seconds": took,
            "peak_gib": peak,
        }
        Path(words[1]).write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
