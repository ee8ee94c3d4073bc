"""Hypothesis strategies for what a user may hand over: tables, labels, settings, engines and command lines.

A table is drawn as a recipe, a kind for each column and a seed for its cells, so that examples are quick to draw and
shrink to few columns of few rows.
"""

import datetime
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from scipy import sparse

import bayesclf as bc
from bayesclf.classifiers import CLASSIFIERS

LARGEST, SMALLEST = 1e99, 1e-99
"""Magnitudes of the numbers: a column that is larger or smaller by a factor of 10 or more can be refused."""


def _numbers(rng, n):
    return rng.normal(size=n)


def _words(rng, n, count=3):
    return np.array([f"w{i}" for i in range(count)], dtype=object)[rng.integers(count, size=n)]


def _holes(values, rng, hole=np.nan):
    return [hole if rng.random() < 0.3 else value for value in values]


COLUMNS = {
    "numbers": _numbers,
    "large": lambda rng, n: rng.normal(size=n) * 1e9 + 1e12,
    "huge": lambda rng, n: rng.normal(size=n) * LARGEST,
    "tiny": lambda rng, n: rng.normal(size=n) * SMALLEST,
    "ragged": lambda rng, n: rng.normal(size=n) * 10.0 ** rng.integers(-300, 300, size=n),
    "constant": lambda rng, n: np.full(n, 3.5),
    "zeros": lambda rng, n: np.zeros(n),
    "whole": lambda rng, n: rng.integers(-5, 5, size=n),
    "unsigned": lambda rng, n: rng.integers(0, 255, size=n, dtype=np.uint8),
    "long": lambda rng, n: rng.integers(-(2**62), 2**62, size=n),
    "counts": lambda rng, n: rng.poisson(2.0, size=n).astype(float),
    "halves": lambda rng, n: rng.normal(size=n).astype(np.float16),
    "singles": lambda rng, n: rng.normal(size=n).astype(np.float32),
    "truths": lambda rng, n: rng.random(n) < 0.5,
    "with gaps": lambda rng, n: _holes(rng.normal(size=n), rng),
    "gaps only": lambda rng, n: np.full(n, np.nan),
    "infinite": lambda rng, n: _holes(rng.normal(size=n), rng, math.inf),
    "words": _words,
    "many words": lambda rng, n: _words(rng, n, 40),
    "words with gaps": lambda rng, n: pd.Series(_holes(_words(rng, n), rng, None), dtype=object),
    "strings": lambda rng, n: pd.Series(_words(rng, n), dtype="string"),
    "levels": lambda rng, n: pd.Categorical(_words(rng, n), categories=["w0", "w1", "w2", "never"]),
    "ordered": lambda rng, n: pd.Categorical(rng.integers(3, size=n), categories=[2, 1, 0], ordered=True),
    "Int64": lambda rng, n: pd.Series(_holes(rng.integers(5, size=n).tolist(), rng, pd.NA), dtype="Int64"),
    "Float64": lambda rng, n: pd.Series(_holes(rng.normal(size=n).tolist(), rng, pd.NA), dtype="Float64"),
    "boolean": lambda rng, n: pd.Series(_holes((rng.random(n) < 0.5).tolist(), rng, pd.NA), dtype="boolean"),
    "sparse": lambda rng, n: pd.arrays.SparseArray(rng.poisson(0.4, size=n).astype(float)),
    "mixed": lambda rng, n: pd.Series([(1, "one", 2.5, True)[i] for i in rng.integers(4, size=n)], dtype=object),
    "fractions": lambda rng, n: pd.Series([Fraction(int(i), 3) for i in rng.integers(9, size=n)], dtype=object),
    "empty words": lambda rng, n: pd.Series(["", " ", "a"] * n, dtype=object)[:n].to_numpy(),
    "controls": lambda rng, n: pd.Series(["\x1b[31m", "a\nb", "<b>", "=1+1"] * n, dtype=object)[:n].to_numpy(),
    "dates": lambda rng, n: pd.date_range("2026-01-01", periods=n),
    "periods": lambda rng, n: pd.period_range("2026-01", periods=n, freq="M"),
    "date cells": lambda rng, n: pd.Series([datetime.date(2026, 1, 1 + i % 28) for i in range(n)], dtype=object),
    "lists": lambda rng, n: pd.Series([[i] for i in range(n)], dtype=object),
    "complex": lambda rng, n: rng.normal(size=n) + 1j,
    "texts": lambda rng, n: [" ".join(_words(rng, 6, 9)) for _ in range(n)],
}
"""Cells of a column by their kind, from a generator and a number of rows."""
STRANGE = ("dates", "periods", "date cells", "lists", "complex", "infinite", "gaps only")
"""Columns that no classifier takes, or few; the others are drawn more often."""
USUAL = {
    "nb": tuple(kind for kind in COLUMNS if kind not in STRANGE),
    "categorical": ("words", "words with gaps", "levels", "strings", "truths", "whole", "mixed", "many words"),
    "bernoulli": ("truths", "counts", "boolean", "numbers", "zeros"),
    "multinomial": ("counts", "unsigned", "zeros", "whole"),
    "text": ("texts",),
    "gnb": (
        "numbers",
        "large",
        "huge",
        "tiny",
        "constant",
        "whole",
        "with gaps",
        "Float64",
        "halves",
        "ragged",
        "long",
    ),
}
USUAL |= {"lr": USUAL["nb"], "gda": USUAL["gnb"]}
"""Columns that a classifier takes; those that are not named take those of "categorical"."""

LABELS = {
    "words": lambda codes: np.array([f"c{i}" for i in range(codes.max() + 1)])[codes],
    "numbers": lambda codes: codes,
    "truths": lambda codes: codes % 2 == 0,
    "halves": lambda codes: codes / 2,
    "objects": lambda codes: np.array([f"c{i}" for i in codes], dtype=object),
    "series": lambda codes: pd.Series([f"c{i}" for i in codes], index=np.arange(len(codes)) + 7),
    "categorical": lambda codes: pd.Categorical([f"c{i}" for i in codes], categories=["never", *_names(codes)]),
    "list": lambda codes: [f"c{i}" for i in codes],
    "column": lambda codes: codes[:, None],
    "mixed": lambda codes: [("one", 2, 3.5)[i % 3] for i in codes],
    "bytes": lambda codes: [b"%d" % i for i in codes],
    "with gaps": lambda codes: [None if i == 0 else f"c{i}" for i in codes],
    "infinite": lambda codes: np.where(codes == 0, np.inf, codes),
    "text": lambda codes: "y",
    "none": lambda codes: None,
    "tuples": lambda codes: [(int(i), "a") for i in codes],
    "dates": lambda codes: pd.Timestamp("2026-01-01") + pd.to_timedelta(codes, unit="D"),
    "two columns": lambda codes: np.stack([codes, codes], axis=1),
    "short": lambda codes: codes[:-1],
}
USUAL_LABELS = ("words", "numbers", "truths", "objects", "series", "categorical", "list", "column")


def _names(codes):
    return sorted({f"c{i}" for i in codes})


@dataclass(frozen=True)
class Recipe:
    """A table and its labels, in few words."""

    columns: tuple[str, ...]
    rows: int
    classes: int
    labels: str
    form: str
    seed: int

    def table(self, rows: int | None = None, seed: int = 0) -> Any:
        """Return the table, or another with these columns; unseen levels turn up by themselves."""
        rng = np.random.default_rng([self.seed, seed])
        n = self.rows if rows is None else rows
        frame = pd.DataFrame({f"x{j}": pd.Series(COLUMNS[kind](rng, n)) for j, kind in enumerate(self.columns)})
        return FORMS[self.form](frame)

    def y(self, rows: int | None = None, seed: int = 1) -> Any:
        """Return the labels, or those of another table: all classes occur where there are rows enough."""
        rng = np.random.default_rng([self.seed, seed])
        n = self.rows if rows is None else rows
        codes = rng.integers(self.classes, size=n)
        codes[: self.classes] = np.arange(self.classes)[:n]
        return LABELS[self.labels](rng.permutation(codes))


FORMS = {
    "frame": lambda frame: frame,
    "array": lambda frame: frame.to_numpy(),
    "list": lambda frame: frame.to_numpy().tolist(),
    "index": lambda frame: frame.set_axis(np.arange(len(frame)) * 3 + 1),
    "names": lambda frame: frame.set_axis([(j, "ü") for j in range(frame.shape[1])], axis=1),
    "long names": lambda frame: frame.set_axis(["n" * 10_000 + str(j) for j in range(frame.shape[1])], axis=1),
    "same names": lambda frame: frame.set_axis(["a"] * frame.shape[1], axis=1),
    "dictionary": lambda frame: frame.to_dict("list"),
    "three axes": lambda frame: frame.to_numpy()[None],
    "one column": lambda frame: frame.iloc[:, 0],
    "no columns": lambda frame: frame.iloc[:, :0],
    "no rows": lambda frame: frame.iloc[:0],
    "sparse": lambda frame: _sparse(frame),
    "masked": lambda frame: np.ma.masked_array(frame.to_numpy(), np.arange(frame.size).reshape(frame.shape) % 7 == 0),
    "records": lambda frame: frame.to_records(index=False),
    "text": lambda frame: "table",
    "none": lambda frame: None,
}
USUAL_FORMS = ("frame", "array", "list", "index", "names")


def _sparse(frame):
    numbers = frame.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    return sparse.csr_array(np.where(np.isfinite(numbers), numbers, 0.0))


def mostly(usual: Any, others: Any, of: int = 12) -> st.SearchStrategy[Any]:
    """Return one of the usual values, and in about one of `of` examples one of the others."""
    return seldom(of).flatmap(lambda strange: st.sampled_from(others if strange else usual))


def seldom(of: int) -> st.SearchStrategy[bool]:
    """Return True in about one of `of` examples; by a number in the middle, as Hypothesis prefers the ends."""
    return st.integers(0, of - 1).map(lambda n: n == of // 2 + 1)


def recipes(model: str) -> st.SearchStrategy[Recipe]:
    """Return tables for a classifier: most of its own columns, some of others, few or many rows and classes."""
    columns = st.lists(
        mostly(USUAL.get(model, USUAL["categorical"]), tuple(COLUMNS), of=20), min_size=1, max_size=5
    ).map(tuple)
    return st.builds(
        Recipe,
        columns=columns.map(lambda kinds: kinds[:1]) if model == "text" else columns,
        rows=st.one_of(st.integers(2, 40), st.integers(1, 6)),
        classes=mostly((2, 3), (1, 4, 12, 40)),
        labels=mostly(USUAL_LABELS, tuple(LABELS)),
        form=mostly(USUAL_FORMS, tuple(FORMS)),
        seed=st.integers(0, 2**31),
    )


VALUES = (
    None, True, 0, 1, -1, 3, 2.5, 0.5, 1e-12, 1e12, -0.5, math.nan, math.inf, "x", "", "exact", (), [0.5, 0.5], {},
    {"x0": 1.0}, {"c0": 0.4, "c1": 0.6}, np.array([1.0, 2.0]), np.eye(2), np.float32(0.5), np.int64(3), 1 + 2j, b"x",
    object(), float,
)  # fmt: skip
"""What a parameter may be set to; few fit."""
GOOD = {
    "class_prior": ("empirical", "uniform", [0.5, 0.5], 0.5, 3.0),
    "missing": ("ignore", "level", "impute", "error", "augment"),
    "alpha": (1.0, 0.5, 1),
    "variance": ("feature", "class", "shared"),
    "covariance": ("class", "shared"),
    "rule": ("map", "mean", "gibbs", "predictive"),
    "prior_scale": (0.1, 30.0),
    "prior_form": ("reference", "symmetric"),
    "standardize": (False,),
    "random_state": (0, 7),
    "structure": ("tan", [], [("x0", "x1")]),
    "event_model": ("bernoulli",),
}
"""Values that most parameters take."""
ENGINES = (
    *("mle", "map", "exact", "laplace", bc.engines.MLE(), bc.engines.MAP(), bc.engines.Exact(draws=3, chains=1)),
    *(bc.engines.Exact(draws=20, chains=2), bc.engines.Laplace(draws=50, chains=2)),
)
"""Engines without a Markov chain, which takes seconds."""
OWN_ENGINES = {name: ("map", "exact", "mle", bc.engines.Exact(draws=20, chains=2)) for name in CLASSIFIERS} | {
    "lr": ("map", "laplace", bc.engines.Laplace(draws=50, chains=2))
}


@st.composite
def classifiers(draw: Any, model: str) -> tuple[type, dict[str, Any]]:
    """Return a classifier's class and settings: an engine, and now and then other parameters, good or not."""
    kind = CLASSIFIERS[model]
    settings = {"inference": draw(mostly(OWN_ENGINES[model], ENGINES)), "random_state": 1}
    names = sorted(set(kind().get_params()) - {"inference"})
    for name in draw(st.lists(st.sampled_from(names), max_size=2)):
        settings[name] = draw(mostly(GOOD.get(name, VALUES), VALUES, of=3))
    return kind, settings


PREDICTIONS = {
    "the same rows": lambda recipe: recipe.table(),
    "other rows": lambda recipe: recipe.table(7, seed=2),
    "one row": lambda recipe: recipe.table(1, seed=3),
    "other columns": lambda recipe: Recipe(recipe.columns[::-1], 5, 2, "words", "frame", 5).table(),
    "words": lambda recipe: pd.DataFrame({f"x{j}": ["new", None, "w1"] for j in range(len(recipe.columns))}),
    "numbers": lambda recipe: np.array([[1e100, 0.0, -1.0, np.nan, 1e-300][: len(recipe.columns)]] * 2),
    "infinite": lambda recipe: np.full((2, len(recipe.columns)), np.inf),
    "a column less": lambda recipe: pd.DataFrame(np.zeros((3, len(recipe.columns) - 1))),
    "a column more": lambda recipe: np.zeros((3, len(recipe.columns) + 1)),
    "no rows": lambda recipe: recipe.table()[:0] if recipe.form == "sparse" else pd.DataFrame(recipe.table())[:0],
    "nothing": lambda recipe: None,
    "one axis": lambda recipe: np.zeros(len(recipe.columns)),
}
"""Tables to be predicted."""
OPTIONS = (
    {}, {}, {"rule": "map"}, {"rule": "mle"}, {"rule": "mean"}, {"rule": "gibbs"}, {"rule": "predictive"},
    {"rule": "bayes-optimal"}, {"rule": "guess"}, {"rule": 3}, {"class_prior": [0.5, 0.5]}, {"class_prior": [2, -1]},
    {"class_prior": "uniform"}, {"class_prior": math.nan},
)  # fmt: skip
METHODS = ("predict", "predict_proba", "predict_log_proba", "uncertainty", "predict_interval")
