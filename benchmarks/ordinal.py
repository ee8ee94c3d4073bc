"""Held-out log loss of categories in order, against levels in random order and against categories without one.

Each table's ordered columns are `Ordinal`, once in their order and once in a random one, which tells what the order is
worth, or `Categorical` as `NaiveBayes` has them by default; all other columns stay. Numbers of pima, boston and bupa
with many values are cut at their deciles.

Run from the project's folder; pima and boston come from the folder that BAYESCLF_DATA names:

    .venv/bin/python benchmarks/ordinal.py
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from sklearn.model_selection import RepeatedKFold

import bayesclf as bc

FOLDS, REPEATS, MANY_COLUMNS, MOST_VALUES, QUANTILES = 5, 4, 60, 17, 10
SCHOOL = (
    "Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th HS-grad Some-college Assoc-voc Assoc-acdm Bachelors Masters"
)
DEGREES = [*SCHOOL.split(), "Prof-school", "Doctorate"]


def tables() -> Iterator[tuple[str, pd.DataFrame, np.ndarray]]:
    """Yield name, rows with ordered categoricals, and labels."""
    rng = np.random.default_rng(0)
    breast = bc.datasets.load("breast_cancer_ljubljana")
    X = breast.X.copy()
    for name in ("age", "tumor_size", "inv_nodes"):
        X[name] = ordered(X[name], sorted(X[name].dropna().unique(), key=lambda band: int(band.split("-")[0])))
    yield "breast cancer (Ljubljana)", X.assign(deg_malig=ordered(X["deg_malig"])), breast.y
    nodes = bc.datasets.load("lymphography")
    yield "lymphography", nodes.X.apply(lambda column: column if kind(column) == "words" else ordered(column)), nodes.y
    adult = bc.datasets.load("adult")
    X = adult.X.drop(columns=["fnlwgt", "education_num", "capital_gain", "capital_loss", "age", "hours_per_week"])
    X["education"] = ordered(X["education"], DEGREES)
    X["age"] = ordered(pd.cut(adult.X["age"], [0, *range(20, 85, 5), 200], labels=False))
    X["hours"] = ordered(pd.cut(adult.X["hours_per_week"], [*range(0, 100, 10), 200], labels=False))
    for rows in (200, 1000, 5000):
        some = rng.permutation(len(X))[:rows]
        yield "adult, in bands", X.iloc[some], np.asarray(adult.y)[some]
    digits = bc.datasets.load("optdigits")
    some = rng.permutation(len(digits.X))[:400]
    yield "digits, 17 grays", digits.X.iloc[some].apply(ordered), np.asarray(digits.y)[some]
    names = {found.name for found in bc.datasets.available()}
    for name in ("bupa", "pima", "boston"):
        if name in names:
            found = bc.datasets.load(name)
            yield f"{name}, deciles", found.X.apply(binned), found.y


def kind(column: pd.Series) -> str:
    """Return what a column holds."""
    return "numbers" if pd.api.types.is_numeric_dtype(column) else "words"


def ordered(column: pd.Series, levels: list | None = None) -> pd.Series:
    """Return a column as an ordered categorical, of its sorted values unless levels are given."""
    return column.astype(
        pd.CategoricalDtype(sorted(column.dropna().unique()) if levels is None else levels, ordered=True)
    )


def binned(column: pd.Series) -> pd.Series:
    """Return numbers as an ordered categorical of their quantiles, or of their values where these are few."""
    few = column.nunique() <= MOST_VALUES
    return ordered(column if few else pd.qcut(column, QUANTILES, labels=False, duplicates="drop"))


def shuffled(X: pd.DataFrame, columns: tuple[str, ...]) -> pd.DataFrame:
    """Return the table with the levels of some columns in random order."""
    rng = np.random.default_rng(5)
    levels = {name: X[name].cat.categories for name in columns}
    return X.assign(**{name: ordered(X[name], list(rng.permutation(own))) for name, own in levels.items()})


def losses(X: pd.DataFrame, y: np.ndarray, blocks: dict | None, repeats: int) -> np.ndarray:
    """Return the mean log loss of each fold, without rows of a class that its training rows lack."""
    found = []
    for training, test in RepeatedKFold(n_splits=FOLDS, n_repeats=repeats, random_state=1).split(X):
        clf = bc.NaiveBayes(blocks, inference=bc.engines.Exact(draws=10), random_state=1).fit(
            X.iloc[training], y[training]
        )
        known = test[np.isin(y[test], clf.classes_)]
        log_proba = clf.predict_log_proba(X.iloc[known], rule="predictive")
        found.append(-log_proba[np.arange(len(known)), np.searchsorted(clf.classes_, y[known])].mean())
    return np.array(found)


def gain(one: np.ndarray, other: np.ndarray) -> str:
    """Return how much less the first is, with an error for folds that share rows (Nadeau & Bengio)."""
    difference = other - one
    error = np.sqrt((1 / len(one) + 1 / (FOLDS - 1)) * difference.var(ddof=1))
    return f"{difference.mean():.3f} ± {error:.3f}".replace("0.", ".").replace("-", "−")


def main() -> None:
    """Print a line for each table."""
    print("| table | rows | less than with levels in random order | less than the default, `Categorical` |")
    print("|---|---|---|---|")
    for name, X, labels in tables():
        y = np.asarray(labels).astype(str)
        columns = tuple(own for own in X if isinstance(X[own].dtype, pd.CategoricalDtype) and X[own].dtype.ordered)
        repeats = 1 if len(columns) > MANY_COLUMNS or len(X) > 2000 else REPEATS
        blocks = {columns: bc.families.Ordinal()}
        own = losses(X, y, blocks, repeats)
        against = losses(shuffled(X, columns), y, blocks, repeats), losses(X, y, None, repeats)
        print("|", name, "|", f"{len(X):,}", "|", " | ".join(gain(own, other) for other in against), "|", flush=True)


if __name__ == "__main__":
    main()
