"""Ng & Jordan's Figure 1 by `bayesclf experiment ng-jordan` and by a plain loop over scikit-learn: time, and errors.

Run from the project's folder:

    BAYESCLF_DATA=FOLDER .venv/bin/python benchmarks/ng_jordan.py --json benchmarks/results/ng_jordan.json

Both take the same splits, problem by problem in turn, in one process on one core, and answer with the same four fits
per size: naive Bayes and logistic regression, each by maximum likelihood and by MAP. Settings match as far as
scikit-learn has them: naive Bayes on numbers has a variance for each class and column (`GaussianNB` has no other, and
no prior, so that it has one fit where bayesclf has two), the categories have a pseudo-count of 1, weights are N(0,
25) per sd. Where scikit-learn's maximum likelihood of categories has next to no smoothing, bayesclf's has none, so
that their errors are not compared. The loop is given encoded arrays, and scores error and log loss only.
"""

import argparse
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is loaded: one core for both

import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import machine
import numpy as np
import pandas as pd
import tables
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bayesclf.experiments import Workers, find, ng_jordan, run
from bayesclf.experiments.ng_jordan import PROBLEMS, Encoded

SCALE = 5.0
NO_SMOOTHING = 1e-10


def main(words: list[str]) -> int:
    """Measure, print, and write JSON if asked; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--blocks", type=int, default=3, help="blocks of ten splits")
    parser.add_argument("--workers", type=int, default=0, help="splits of a run by one process and then by two")
    parser.add_argument("--json", type=Path, help="file for the results")
    options = parser.parse_args(words)
    settings = ng_jordan.Settings(
        splits=options.blocks * ng_jordan.BLOCK, posterior_splits=0, prior_scale=SCALE, variance="class-feature"
    )
    measure(settings, options.problems[0], 0)  # a warm-up
    lines = {name: measure(settings, name, options.blocks) for name in options.problems}
    result = {**machine.description(machine.versions(["bayesclf_map", "sklearn"])), "splits": settings.splits}
    result["problems"] = lines
    if options.workers:
        result["workers"] = {"splits": options.workers, **workers(options.problems, options.workers)}
    print(tables.ng_jordan(result))
    if options.json:
        machine.write(options.json, result)
    return 0


def measure(settings: ng_jordan.Settings, problem: str, blocks: int) -> dict[str, Any]:
    """Return the seconds of each, and the differences of their errors in standard errors."""
    seconds: dict[str, list[float]] = {"bayesclf": [], "scikit-learn": []}
    records, answers = [], []
    for block in range(max(blocks, 1)):
        unit, first = (problem, block * ng_jordan.BLOCK), np.random.SeedSequence(block)
        start = time.perf_counter()
        records += ng_jordan.measure(settings, unit, np.random.SeedSequence(block))
        between = time.perf_counter()
        answers += plain(ng_jordan.load(problem), first.spawn(ng_jordan.BLOCK))
        seconds["bayesclf"].append(between - start)
        seconds["scikit-learn"].append(time.perf_counter() - between)
    return {"seconds": seconds, "errors": compare(pd.DataFrame(records), pd.DataFrame(answers))}


def workers(names: list[str], splits: int) -> dict[str, float]:
    """Return the seconds of the whole experiment, start of the processes included, by one and by two."""
    settings = ng_jordan.Settings(splits=splits, posterior_splits=0, problems=",".join(names))
    seconds = {}
    for jobs in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            run(find("ng-jordan"), settings, Path(folder) / "out", Workers(jobs))
            seconds[str(jobs)] = time.perf_counter() - start
    return seconds


def plain(encoded: Encoded, seeds: list[np.random.SeedSequence]) -> list[dict[str, Any]]:
    """Return, for each split, size and estimator, test error and log loss."""
    sizes = ng_jordan.sizes_of(encoded, ng_jordan.SIZES, ng_jordan.MOST_TEST)
    y = encoded.y
    X = with_levels(encoded) if encoded.problem.kind == "category" else encoded.X
    answers = []
    for seed in seeds:
        train, test = ng_jordan.split_rows(encoded, np.random.default_rng(seed), ng_jordan.MOST_TEST)
        for size in sizes:
            rows = train[:size]
            if len(np.unique(y[rows])) < len(encoded.labels):
                continue
            for model, rule, estimator in estimators(encoded):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of separable classes it says that it did not converge
                    estimator.fit(X[rows], y[rows])
                    log_proba = estimator.predict_log_proba(X[test])
                wrong = log_proba.argmax(axis=1) != y[test]
                log_loss = -log_proba[np.arange(len(test)), y[test]]
                found = {"error": wrong.mean(), "log_loss": log_loss.mean()}
                smoothed = isinstance(estimator, CategoricalNB)
                answers.append({"m": size, "model": model, "rule": rule, "smoothed": smoothed, **found})
    return answers


def with_levels(encoded: Encoded) -> Any:
    """Return the level codes with missing cells as a level of its own, as scikit-learn takes no gap."""
    sizes = [len(values) for values in encoded.levels]
    return np.where(encoded.X < 0, sizes, encoded.X)


def estimators(encoded: Encoded) -> Iterator[tuple[str, str, Any]]:
    """Return model, rule and scikit-learn's estimator of it."""
    if encoded.problem.kind == "number":
        yield "nb", "mle", GaussianNB()
        scale: Any = StandardScaler()
    else:
        levels = [len(values) + int((encoded.X[:, j] < 0).any()) for j, values in enumerate(encoded.levels)]
        yield "nb", "mle", CategoricalNB(alpha=NO_SMOOTHING, min_categories=levels)
        yield "nb", "map", CategoricalNB(alpha=1.0, min_categories=levels)
        codes = [np.arange(len(values)) for values in encoded.levels]
        scale = OneHotEncoder(categories=codes, handle_unknown="ignore", sparse_output=False)
    yield "lr", "mle", _logistic(scale, np.inf)
    yield "lr", "map", _logistic(scale, SCALE**2)


def _logistic(scale: Any, C: float) -> Pipeline:
    return make_pipeline(scale, LogisticRegression(C=C, max_iter=1000))


def compare(records: pd.DataFrame, answers: pd.DataFrame) -> dict[str, float]:
    """Return, by model and rule, the largest difference of mean errors over the sizes, in standard errors.

    Only where both have an estimate in every split: under maximum likelihood a variance may be 0 and classes may be
    separable, where scikit-learn answers all the same.
    """
    out = {}
    for (model, rule), own in answers.groupby(["model", "rule"]):
        if rule == "mle" and own["smoothed"].any():
            continue
        theirs = own.groupby("m")["error"].agg(["mean", "sem", "size"])
        ours = records[(records["model"] == model) & (records["rule"] == rule)].groupby("m").sum(numeric_only=True)
        both = (ours["answered"] == ours["splits"]) & (theirs["size"] == ours["splits"])
        difference = (ours["error"] / ours["answered"] - theirs["mean"]).abs() / theirs["sem"].clip(lower=1e-12)
        if both.any():
            out[f"{model}, {rule}"] = float(difference[both].max())
    return out


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
