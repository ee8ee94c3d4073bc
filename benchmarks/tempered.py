"""Held-out log loss of the rule "tempered", against Bayes-optimal and against calibration, on tables and simulations.

All see the same five folds. Naive Bayes with families by evidence, with Gaussian columns, and the tree-augmented
network answer by Bayes-optimal and tempered. Around the first, scikit-learn's `CalibratedClassifierCV` fits five times,
and learns a temperature or sigmoids from the rows left out of each. Logistic regression with a tuned C, histogram
gradient boosting and the class shares show what a table allows. Log losses are in nats per row and unclipped; the
calibration error is binned (ten bins); seconds of processor time are those of `fit`, of what the rule adds to it, and
of the calibrated fits. Networks are left out where they have more than 40 columns, or missing cells that others depend
on.

The simulations have two normal columns that tell of one of two classes: independent, or one column twice.

Run from the project's folder: .venv/bin/python benchmarks/tempered.py [TABLE … | --summary | --simulations]
"""

import json
import sys
import time
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from families_by_evidence import FEW
from learned_scale import FOLDS, TABLES, peer, some
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import bayesclf as bc
from bayesclf.errors import Refused
from bayesclf.evaluation.scores import calibration_error
from bayesclf.tables import datasets

RESULTS = Path(__file__).parent / "results" / "tempered.json"
MOST_ROWS, MOST_COLUMNS = 2_000, 40
MODELS = {
    "nb": lambda: bc.NaiveBayes(random_state=1, rule="bayes-optimal"),
    "nb, Gaussian": lambda: bc.NaiveBayes(families="gaussian", random_state=1),
    "network": lambda: bc.BayesNetClassifier(random_state=1),
}
RULES = ("bayes-optimal", "tempered")
CALIBRATED = {"temperature": "nb, temperature", "sigmoid": "nb, sigmoid"}
LR, BOOSTING, SHARES = "LogisticRegressionCV", "HistGradientBoosting", "class shares"
LEVEL, RIGHT, HALF = 0.01, 0.002, (0.4, 0.6)
"""Nats per row up to which log losses are level, those that tempering may cost where a model is right, and near ½."""
SIMULATED, TRAIN, TEST = 200, 400, 4_000


def problems() -> Iterator[tuple[str, pd.DataFrame, np.ndarray]]:
    """Yield name, columns and labels of each table, and of small parts of some."""
    more = {"play tennis": "play_tennis", "digits": "sklearn:digits", "optdigits": "folder:optdigits"}
    for name, source in {**TABLES, **more}.items():
        table = datasets.load(source)
        X, y = table.X.reset_index(drop=True), table.y.astype(str).to_numpy()
        for rows in (*FEW.get(name, ()), MOST_ROWS):
            yield name if rows == MOST_ROWS else f"{name}, {rows} rows", *some(X, y, rows)


def peers(X: pd.DataFrame, y: np.ndarray) -> dict[str, Any]:
    """Return scikit-learn's classifiers for a table."""
    words = list(X.columns.difference(X.select_dtypes("number").columns))
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1)
    coded = make_column_transformer((codes, words), remainder="passthrough")
    inner = max(2, min(FOLDS, int(np.unique(y, return_counts=True)[1].min())))
    calibrated = {
        way: CalibratedClassifierCV(MODELS["nb"](), method=method, cv=inner) for method, way in CALIBRATED.items()
    }
    boosting = make_pipeline(coded, HistGradientBoostingClassifier(random_state=1))
    return calibrated | {LR: peer(X, y), BOOSTING: boosting, SHARES: DummyClassifier(strategy="prior")}


def scores(X: pd.DataFrame, y: np.ndarray) -> dict[str, Any]:
    """Return log losses by fold, calibration errors, T, and processor seconds of each way."""
    classes, codes = np.unique(y, return_inverse=True)
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y))
    of_row: dict[str, np.ndarray] = {}
    seconds: dict[str, list[float]] = {}
    powers: dict[str, list[float]] = {}

    def score(way: str, log_proba: np.ndarray, known: np.ndarray, test: np.ndarray) -> None:
        """Keep log P(k | x) of the rows of a fold."""
        every = of_row.setdefault(way, np.full((len(y), len(classes)), -np.inf))
        every[np.ix_(test, np.searchsorted(classes, known))] = log_proba

    for training, test in folds:
        rows, labels = X.iloc[training], y[training]
        for name, make in MODELS.items():
            if name == "network" and X.shape[1] > MOST_COLUMNS:
                continue
            start = time.process_time()
            model = make().fit(rows, labels)
            if model.left_out_ is None:  # missing cells that others depend on
                continue
            seconds.setdefault(name, []).append(time.process_time() - start)
            start = time.process_time()
            # what fit does for the rule, once more, and then what is left for the first prediction
            model._leave_out(model.model_, model.frame(rows), model.known_codes(labels), None)
            temper = model.temper_
            seconds.setdefault(f"{name}, tempered", []).append(time.process_time() - start)
            powers.setdefault(name, []).append(float(temper["T"].mean()))
            for rule in RULES:
                score(f"{name}, {rule}", model.predict_log_proba(X.iloc[test], rule=rule), model.classes_, test)
        for name, classifier in peers(rows, labels).items():
            start = time.process_time()
            try:
                classifier.fit(rows, labels)
            except (Refused, ValueError):  # a class with too few rows for folds within the fold
                continue
            seconds.setdefault(name, []).append(time.process_time() - start)
            with np.errstate(divide="ignore"):
                score(name, np.log(classifier.predict_proba(X.iloc[test])), classifier.classes_, test)
    each = np.arange(len(y))
    return {
        "log_loss": {
            way: [float(-log_proba[each, codes][test].mean()) for _, test in folds] for way, log_proba in of_row.items()
        },
        "calibration": {way: calibration_error(log_proba, codes, 0).error for way, log_proba in of_row.items()},
        "T": powers,
        "seconds": {way: float(np.mean(took)) for way, took in seconds.items()},
    }


def simulated(copies: int, seed: int) -> dict[str, float]:
    """Return T, its 89 % interval and log losses, of independent columns or of one column so many times."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=TRAIN + TEST)
    X = rng.normal(size=(len(y), 4)) + 0.7 * y[:, None]
    X = np.repeat(X[:, :2], copies, axis=1) if copies > 1 else X
    model = bc.GaussianNB("feature", random_state=1).fit(X[:TRAIN], y[:TRAIN])
    T, rows = model.temper_["T"].to_numpy().ravel(), np.arange(TEST)
    low, high = np.quantile(T, [0.055, 0.945])
    loss = {rule: -model.predict_log_proba(X[TRAIN:], rule=rule)[rows, y[TRAIN:]].mean() for rule in RULES}
    return {"T": float(T.mean()), "low": float(low), "high": float(high)} | loss


def simulations() -> dict[str, Any]:
    """Return how T behaves where columns are independent, and where each is there twice."""
    alone, twice = ([simulated(copies, seed) for seed in range(SIMULATED)] for copies in (1, 2))
    differences = [found["tempered"] - found["bayes-optimal"] for found in alone]
    return {
        "independent: 1 in the interval": float(np.mean([found["low"] <= 1 <= found["high"] for found in alone])),
        "independent: T": float(np.mean([found["T"] for found in alone])),
        "independent: log loss less that of bayes-optimal": float(np.mean(differences)),
        "twice: T": float(np.mean([found["T"] for found in twice])),
        "twice: log loss less that of bayes-optimal": float(
            np.mean([found["tempered"] - found["bayes-optimal"] for found in twice])
        ),
    }


def summary(result: dict[str, Any]) -> Iterator[str]:
    """Yield what the results show, model by model."""
    tables = {
        name: {way: np.mean(fold) for way, fold in one["log_loss"].items()} for name, one in result["tables"].items()
    }
    for model in MODELS:
        own, others = f"{model}, tempered", [f"{model}, bayes-optimal", SHARES, LR, BOOSTING]
        for other in [*others, *(CALIBRATED.values() if model == "nb" else ())]:
            pairs = {name: means[own] - means[other] for name, means in tables.items() if {own, other} <= set(means)}
            gaps = np.array(list(pairs.values()))
            worse = {name: f"{gap:.3f}" for name, gap in pairs.items() if gap > LEVEL}
            mean, median = gaps[np.isfinite(gaps)].mean(), np.median(gaps)
            level = f"{np.sum(gaps <= LEVEL)} of {len(gaps)}"
            yield f"{own} − {other}: mean {mean:.3f}, median {median:.3f}, level or better on {level}; worse on {worse}"
        cost = [
            one["seconds"][own] / one["seconds"][model] for one in result["tables"].values() if own in one["seconds"]
        ]
        yield f"{model}: the rule takes {np.median(cost):.2f} of the fit that has it (median; at most {max(cost):.2f})"
        errors = [
            [one["calibration"][f"{model}, {rule}"] for rule in RULES]
            for one in result["tables"].values()
            if own in one["calibration"]
        ]
        yield f"{model}: calibration error {np.mean(errors, axis=0).round(3).tolist()} under {RULES}"


def lines(result: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a Markdown table of naive Bayes with families by evidence and its peers."""
    ways = {"nb, bayes-optimal": "Bayes-optimal", "nb, tempered": "tempered"}
    ways |= {way: method for method, way in CALIBRATED.items()} | {way: way for way in (LR, BOOSTING, SHARES)}
    yield f"| table | T | {' | '.join(ways.values())} |"
    yield "|---" * (2 + len(ways)) + "|"
    for name, one in result["tables"].items():
        cells = [f"{np.mean(one['log_loss'][way]):.3f}" if way in one["log_loss"] else "–" for way in ways]
        yield f"| {name} | {np.mean(one['T']['nb']):.2f} | {' | '.join(cells).replace('inf', '∞')} |"


def main(chosen: list[str]) -> None:
    """Write the results of the tables whose name begins with one of `chosen`, or of all that have none yet."""
    warnings.simplefilter("ignore")
    result: dict[str, Any] = {"tables": {}}
    if RESULTS.exists():
        result = json.loads(RESULTS.read_text(encoding="utf-8"))
    if chosen == ["--summary"]:
        print(*lines(result), *summary(result), *result.get("simulations", {}).items(), sep="\n")
        return
    result["folds"] = FOLDS
    result["versions"] = {name: version(name) for name in ("bayesclf", "numpy", "scikit-learn")}
    if chosen in ([], ["--simulations"]):
        result["simulations"] = simulations()
        print(result["simulations"], flush=True)
    for name, X, y in problems() if chosen != ["--simulations"] else ():
        if not name.startswith(tuple(chosen)) if chosen else name in result["tables"]:
            continue
        shape = {"rows": len(X), "columns": X.shape[1], "classes": len(np.unique(y))}
        found = result["tables"][name] = {**shape, **scores(X, y)}
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        losses = {way: f"{np.mean(line):.3f}" for way, line in found["log_loss"].items()}
        print(name, *shape.values(), losses, found["T"], flush=True)
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
