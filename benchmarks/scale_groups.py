"""Held-out log loss of a prior scale for each kind of column, against one for all, and against scikit-learn.

The tables are those that have categories, beside numbers or alone; rows, folds, peer and units are those of
`learned_scale.py`. ``"kinds"`` has a scale for all numbers and one for each category; one scale is the default. Both
are averaged over, with default settings. Seconds are of one core, fitting and predicting together. Results that are
there already are kept; the small tables come first.

Run from the project's folder: .venv/bin/python benchmarks/scale_groups.py [TABLE …]
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
from learned_scale import FOLDS, MOST_ROWS, TABLES, peer, some
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

import bayesclf as bc
from bayesclf.tables import datasets

RESULTS = Path(__file__).parent / "results" / "scale_groups.json"
CHOSEN = ("lenses", "promoters", "lymphography", "breast cancer (Ljubljana)", "votes", "sick", "adult")
FEW = {
    **{"votes": (40, 120), "breast cancer (Ljubljana)": (100,), "sick": (300,), "adult": (100, 400, 1_000)},
    "lymphography": (70,),
}
"""Rows of further problems that are small parts of larger tables."""
WAYS = ONE, KINDS, PEER = "one scale", "a scale for each kind", "scikit-learn"


def problems() -> Iterator[tuple[str, pd.DataFrame, np.ndarray]]:
    """Yield name, columns and labels of each problem."""
    for name in CHOSEN:
        table = datasets.load(TABLES[name])
        X, y = table.X.reset_index(drop=True), table.y.astype(str).to_numpy()
        yield name, *some(X, y, MOST_ROWS)
        for rows in FEW.get(name, ()):
            yield f"{name}, {rows} rows", *some(X, y, rows)


def scores(X: pd.DataFrame, y: np.ndarray, way: str) -> dict[str, Any]:
    """Return log losses by fold, seconds, and for ours engines, problems of convergence and numbers of scales."""
    classes = np.unique(y)
    found: dict[str, Any] = {"log_loss": [], "seconds": 0.0}
    for training, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        rows, labels = X.iloc[training], y[training]
        model: Any = peer(rows, labels)
        if way != PEER:
            settings = bc.LearnedScale(groups="kinds" if way == KINDS else None)
            model = bc.LogisticRegression(prior_scale=settings, random_state=1)
        start = time.process_time()
        proba = model.fit(rows, labels).predict_proba(X.iloc[test])
        found["seconds"] += time.process_time() - start
        every = np.zeros((len(test), len(classes)))
        every[:, np.searchsorted(classes, model.classes_)] = proba
        found["log_loss"].append(float(log_loss(y[test], every, labels=classes)))
        if way != PEER:
            found.setdefault("engines", []).append(type(model.inference_).__name__)
            found.setdefault("problems", []).append(len(model.convergence_problems_))
            found.setdefault("scales", []).append(int(model.draws_.parameters["prior_scale"][0].size))
    return found


def main(chosen: list[str]) -> None:
    """Write the results of the problems whose name begins with one of `chosen`, or of all."""
    warnings.simplefilter("ignore")
    bc.set_progress(False)
    result: dict[str, Any] = {"tables": {}}
    if RESULTS.exists():
        result = json.loads(RESULTS.read_text(encoding="utf-8"))
    result["folds"] = FOLDS
    result["versions"] = {name: version(name) for name in ("bayesclf", "numpy", "scikit-learn")}
    for name, X, y in sorted(problems(), key=lambda problem: problem[1].size):
        shape = {"rows": len(X), "columns": X.shape[1], "classes": len(np.unique(y))}
        known = result["tables"].get(name, {}).get("scores", {})
        for way in WAYS:
            if way in known or (chosen and not name.startswith(tuple(chosen))):
                continue
            known[way] = line = scores(X, y, way)
            result["tables"][name] = {**shape, "scores": {way: known[way] for way in WAYS if way in known}}
            RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
            print(name, *shape.values(), way, f"{np.mean(line['log_loss']):.4f} ({line['seconds']:.1f} s)", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
