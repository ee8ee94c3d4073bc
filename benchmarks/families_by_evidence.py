"""Held-out log loss of naive Bayes with families by evidence, against Gaussian ones and binned columns.

All see the same five folds. Naive Bayes with Gaussian columns, and with the family of largest evidence for each
(``families="auto"``), answers by three rules: MAP, the exact predictive, which has no Monte Carlo error, and the
default, Bayes-optimal. scikit-learn's peers are `GaussianNB` after one-hot coding, and `CategoricalNB` after cutting
numbers at ten quantiles, which people do by hand. Log losses are in nats per row and unclipped; the seconds of
processor time are those of `fit` by ``inference="map"``, the pass over the rows and what follows from it. Results that
are there already are kept. Further tables, whose last column is the class, can follow as files.

Run from the project's folder: .venv/bin/python benchmarks/families_by_evidence.py [TABLE | FILE.csv …]
"""

import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from learned_scale import FOLDS, TABLES, some
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, OrdinalEncoder

import bayesclf as bc
from bayesclf.tables import datasets

RESULTS = Path(__file__).parent / "results" / "families_by_evidence.json"
MOST_ROWS = 3_000
FEW = {
    **{"adult": (100, 1_000), "sick": (300,), "pima": (100,), "ionosphere": (70,), "breast cancer (Wisconsin)": (60,)},
    "digits": (500,),
}
"""Rows of further problems that are small parts of larger tables."""
BINS = 10

FAMILIES = {"Gaussian": "gaussian", "auto": "auto"}
"""What columns of numbers have, and the setting of naive Bayes."""
RULES = ("map", "predictive", "bayes-optimal")
SKLEARN, BINNED = PEERS = ("GaussianNB", "CategoricalNB")


def problems(files: Sequence[Path]) -> Iterator[tuple[str, pd.DataFrame, np.ndarray]]:
    """Yield name, columns and labels of each problem that has a column of numbers, then of tables in files."""
    for name, source in {**TABLES, "digits": "sklearn:digits", "optdigits": "folder:optdigits"}.items():
        table = datasets.load(source)
        X, y = table.X.reset_index(drop=True), table.y.astype(str).to_numpy()
        if X.select_dtypes("number").shape[1] == 0:
            continue
        yield name, *some(X, y, MOST_ROWS)
        for rows in FEW.get(name, ()):
            yield f"{name}, {rows} rows", *some(X, y, rows)
    for path in files:
        frame = pd.read_csv(path)
        yield (
            path.stem.replace("_", " "),
            *some(frame.iloc[:, :-1], frame.iloc[:, -1].astype(str).to_numpy(), MOST_ROWS),
        )


def peers(X: pd.DataFrame) -> dict[str, Any]:
    """Return scikit-learn's pipelines for a table."""
    numbers = [name for name in X.select_dtypes("number").columns if X[name].nunique() > 1]
    words = list(X.columns.difference(X.select_dtypes("number").columns))
    coded = make_column_transformer(
        (SimpleImputer(), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), words),
    )
    quantiles = KBinsDiscretizer(BINS, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf")
    levels = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1)
    shifted = make_pipeline(levels, FunctionTransformer(_plus_one))
    binned = make_column_transformer((make_pipeline(SimpleImputer(), quantiles), numbers), (shifted, words))
    most = max([BINS, *(X[name].nunique() + 1 for name in words)])
    return {
        SKLEARN: make_pipeline(coded, GaussianNB()),
        BINNED: make_pipeline(binned, CategoricalNB(min_categories=most)),
    }


def _plus_one(codes: Any) -> Any:
    """Shift codes so that unknown ones, −1, become a category of their own, 0."""
    return np.asarray(codes) + 1


def scores(X: pd.DataFrame, y: np.ndarray) -> dict[str, Any]:
    """Return log losses by fold and way, what was chosen, and the processor time of fits."""
    classes, codes = np.unique(y, return_inverse=True)
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y))
    of_row: dict[str, np.ndarray] = {}
    seconds: dict[str, list[float]] = {setting: [] for setting in FAMILIES.values()}
    chosen: Counter[str] = Counter()

    def score(way: str, model: Any, test: np.ndarray, **rule: str) -> None:
        """Keep the log loss of each row of a fold."""
        every = np.full((len(test), len(classes)), -np.inf)
        every[:, np.searchsorted(classes, model.classes_)] = model.predict_log_proba(X.iloc[test], **rule)
        of_row.setdefault(way, np.full(len(y), np.nan))[test] = -every[np.arange(len(test)), codes[test]]

    for training, test in folds:
        rows, labels = X.iloc[training], y[training]
        for name, setting in FAMILIES.items():
            start = time.process_time()
            bc.NaiveBayes(families=setting, inference="map").fit(rows, labels)
            seconds[setting].append(time.process_time() - start)
            model = bc.NaiveBayes(families=setting, random_state=1).fit(rows, labels)
            for rule in RULES:
                score(f"{name}, {rule}", model, test, rule=rule)
            if setting == "auto":
                chosen.update(model.families_.dropna().idxmax(axis=1))
        for name, peer in peers(rows).items():
            score(name, peer.fit(rows, labels), test)
    loss = {way: [float(values[test].mean()) for _, test in folds] for way, values in of_row.items()}
    return {"log_loss": loss, "seconds": seconds, "chosen": dict(chosen.most_common())}


def main(chosen: list[str]) -> None:
    """Write the results of the problems whose name begins with one of `chosen`, or of all that have none yet."""
    files = [Path(word) for word in chosen if word.endswith(".csv")]
    chosen = [word for word in chosen if not word.endswith(".csv")]
    warnings.simplefilter("ignore")
    result: dict[str, Any] = {"tables": {}}
    if RESULTS.exists():
        result = json.loads(RESULTS.read_text(encoding="utf-8"))
    result["folds"] = FOLDS
    result["versions"] = {name: version(name) for name in ("bayesclf", "numpy", "scikit-learn")}
    for name, X, y in problems(files):
        if not name.startswith(tuple(chosen)) if chosen else name in result["tables"]:
            continue
        numbers = X.select_dtypes("number").shape[1]
        shape = {"rows": len(X), "columns": X.shape[1], "numbers": numbers, "classes": len(np.unique(y))}
        found = result["tables"][name] = {**shape, **scores(X, y)}
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        losses = {way: f"{np.mean(line):.3f}" for way, line in found["log_loss"].items()}
        seconds = {families: f"{np.median(took):.3f}" for families, took in found["seconds"].items()}
        print(name, *shape.values(), losses, seconds, found["chosen"], flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
