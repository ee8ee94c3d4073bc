"""Held-out log loss of averages at a learned concentration α, against fixed α and the best of them with hindsight.

Three models whose averages depend on one α: counts of words (`MultinomialNB`), events (`BernoulliNB`) and categorical
columns of ten levels or more (`CategoricalNB`; numbers are cut into 12 classes of equal frequency). α is learned by
leave-one-out and by evidence (for categories one α per column); "best" is the fixed α of a grid with the smallest log
loss on the very rows that are scored. All see the same five stratified folds; 20 Newsgroups is split by date.

Run from the project's folder; further texts come from two packages, which are unpacked and not installed:

    apt-get download weka && dpkg-deb -x weka_*.deb FOLDER          # Reuters-21578, corn and grain
    pip download --no-deps --no-binary :all: vaderSentiment==2.5    # reviews: unpack the archives that it has
    .venv/bin/python benchmarks/learned_concentration.py [--texts FOLDER] [--json benchmarks/results/…]
"""

import argparse
import re
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from machine import kept, write
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import StratifiedKFold

import bayesclf as bc
from bayesclf.families import LearntAlpha
from bayesclf.tables import datasets

GRID = (0.01, 0.03, 0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)
RULES = ("bayes-optimal", "predictive")
FOLDS, DRAWS, BINS, LEVELS, MOST_ROWS = 5, 50, 12, 10, 6_000
MOST_PARAMETERS = 10**6
"""Parameters above which the Bayes-optimal rule, which draws them, is left out."""
LEAVE_ONE_OUT, EVIDENCE = LearntAlpha("leave-one-out"), LearntAlpha("evidence")
EVIDENCE_BY_COLUMN = LearntAlpha("evidence", "feature")
WAYS: dict[str, tuple[Any, ...]] = {
    "multinomial": (LEAVE_ONE_OUT, EVIDENCE),
    "bernoulli": (LEAVE_ONE_OUT, EVIDENCE),
    "categorical": (LEAVE_ONE_OUT, EVIDENCE, EVIDENCE_BY_COLUMN),
}
BINNED = ("adult", "boston", "breast_cancer", "bupa", "ionosphere", "pima", "sick", "sonar")
EVENTS = ("votes", "sick", "promoters", "optdigits", "ionosphere")


@dataclass(frozen=True)
class Problem:
    """Rows and labels of a model; the last `tested` rows are scored, or five folds where it is 0."""

    name: str
    model: str
    X: Any
    y: np.ndarray
    tested: int = 0

    def folds(self) -> Iterator[tuple[Any, np.ndarray, Any, np.ndarray]]:
        """Yield training rows and labels, and those that are scored."""
        rows = np.arange(len(self.y))
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(rows, self.y)
        for training, test in [(rows[: -self.tested], rows[-self.tested :])] if self.tested else folds:
            if isinstance(self.X, list):
                words = CountVectorizer(dtype=float)
                known = sparse.csr_array(words.fit_transform([self.X[i] for i in training]))
                new = sparse.csr_array(words.transform([self.X[i] for i in test]))
            elif isinstance(self.X, pd.DataFrame):
                known, new = self.X.iloc[training], self.X.iloc[test]
            else:
                known, new = self.X[training], self.X[test]
            yield known, self.y[training], new, self.y[test]


def texts(folder: Path | None) -> Iterator[tuple[str, list[str], np.ndarray, int]]:
    """Yield name, documents, labels and how many of the last are tested."""
    spam = datasets.load("sms_spam")
    yield "SMS spam", list(spam.X.iloc[:, 0]), spam.y.astype(str).to_numpy(), 0
    for name in ("Corn", "Grain") if folder else ():
        found: list[tuple[str, str]] = []
        for part in ("train", "test"):
            path = next(Path(folder).rglob(f"Reuters{name}-{part}.arff"))
            found += re.findall(r"'((?:[^'\\]|\\.)*)',\s*([01])", path.read_text("latin-1").split("@data")[1])
        yield f"Reuters, {name.lower()}", [t.replace("\\n", " ") for t, _ in found], np.array([k for _, k in found]), 0
    for name in ("movieReviewSnippets", "amazonReviewSnippets", "tweets") if folder else ():
        path = next(Path(folder).rglob(f"{name}_GroundTruth.txt"))
        lines = [line.split("\t") for line in path.read_text("latin-1").splitlines()]
        rated = [(line[2], "good" if float(line[1]) > 0 else "bad") for line in lines if float(line[1])]
        yield re.sub("([A-Z])", r" \1", name).lower(), [t for t, _ in rated], np.array([k for _, k in rated]), 0
    parts = ("newsgroups/train", "newsgroups/test")
    train, test = (datasets.load(part, target="group") for part in parts)
    documents = [*train.X["text"], *test.X["text"]]
    yield "20 Newsgroups, by date", documents, np.array([*train.y, *test.y]), len(test.y)


def problems(folder: Path | None, models: list[str]) -> Iterator[Problem]:
    """Yield the problems of some models."""
    for name, documents, y, tested in texts(folder) if {"multinomial", "bernoulli"} & set(models) else ():
        for model in [model for model in ("multinomial", "bernoulli") if model in models]:
            yield Problem(name, model, documents, y, tested)
    for name in EVENTS if "bernoulli" in models else ():
        X, y = table(name)
        numbers = X.select_dtypes("number")
        above = (numbers > numbers.mean()).astype(float).where(numbers.notna())
        words = pd.get_dummies(X.drop(columns=numbers), drop_first=False).astype(float)
        yield Problem(name, "bernoulli", pd.concat([above, words], axis=1).to_numpy(), y)
    for name in BINNED if "categorical" in models else ():
        X, y = table(name)
        cut = {c: pd.qcut(X[c], BINS, duplicates="drop", labels=False) for c in X.select_dtypes("number")}
        every = X.assign(**cut).astype(object)
        wide = every.loc[:, (every.nunique() >= LEVELS).to_numpy()]
        if wide.shape[1]:
            yield Problem(name, "categorical", wide.map(str, na_action="ignore"), y)


def table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return columns and labels of at most `MOST_ROWS` rows."""
    found = datasets.load(f"folder:{name}")
    some = np.sort(np.random.default_rng(0).permutation(len(found.y))[:MOST_ROWS])
    return found.X.iloc[some].reset_index(drop=True), found.y.astype(str).to_numpy()[some]


def classifier(model: str, alpha: Any) -> Any:
    """Return the classifier of a model with a given or learned α."""
    common: dict[str, Any] = {"inference": bc.engines.Exact(draws=DRAWS), "random_state": 1}
    if model == "multinomial":
        return bc.MultinomialNB(alpha, **common)
    if model == "bernoulli":
        return bc.BernoulliNB(alpha, None if isinstance(alpha, LearntAlpha) else alpha, **common)
    return bc.CategoricalNB(alpha, **common)


def name_of(alpha: Any) -> str:
    """Return how α was chosen."""
    if not isinstance(alpha, LearntAlpha):
        return f"{alpha:g}"
    return alpha.method + (", by column" if alpha.scope == "feature" else "")


def losses(problem: Problem) -> dict[str, dict[str, Any]]:
    """Return log losses by choice of α and rule, in the mean over folds, with α where it was learned, and seconds."""
    found: dict[str, dict[str, Any]] = {}
    for known, y, new, labels in problem.folds():
        for alpha in (*WAYS[problem.model], *GRID):
            line = found.setdefault(name_of(alpha), {rule: [] for rule in (*RULES, "alpha", "seconds")})
            start = time.process_time()
            clf = classifier(problem.model, alpha).fit(known, y)
            line["seconds"].append(time.process_time() - start)
            if isinstance(alpha, LearntAlpha) and alpha.scope == "block":
                line["alpha"].append(float(np.ravel(clf.model_.blocks[0].family.alpha)[0]))
            codes = np.searchsorted(clf.classes_, labels)
            for rule in RULES if len(clf.classes_) * new.shape[1] < MOST_PARAMETERS else RULES[1:]:
                line[rule].append(float(-clf.predict_log_proba(new, rule=rule)[np.arange(len(codes)), codes].mean()))
    return {name: {what: float(np.mean(v)) for what, v in line.items() if v} for name, line in found.items()}


def main(arguments: list[str]) -> None:
    """Measure every problem, or those whose model is named, and print or write the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=list(WAYS))
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    versions = {name: version(name) for name in ("bayesclf", "numpy", "scipy")}
    result: dict[str, Any] = {"folds": FOLDS, "draws": DRAWS, "versions": versions, "tables": {}}
    if options.json:
        result["tables"] = kept(options.json, result)
    for problem in problems(options.texts, options.models):
        name = f"{problem.model}: {problem.name}"
        if name in result["tables"]:
            continue
        found = losses(problem)
        shape = {"rows": len(problem.y), "classes": len(np.unique(problem.y))}
        result["tables"][name] = {**shape, "ways": found}
        print(problem.model, problem.name, *shape.values(), flush=True)
        for way, line in found.items():
            print("   ", way, {name: round(value, 4) for name, value in line.items()}, flush=True)
        if options.json:
            write(options.json, result)


if __name__ == "__main__":
    main(sys.argv[1:])
