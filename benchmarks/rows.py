"""The rows of `all.py`: what is measured against what, and the goals.

A row is a function that yields pairs of ours and theirs, after whatever they need is there, under `@row`. Theirs is
left out where ours has nothing to compare with, and the unit then says what the value is.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import samplers
from common import pairs_of_digits, problems, tuned
from samplers import NotHere
from sklearn import linear_model, naive_bayes
from sklearn.datasets import load_digits, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from streams import Generated, scan, workers

import bayesclf as bc
from bayesclf.engines.inference import draw
from bayesclf.errors import InputError
from bayesclf.experiments.newsgroups import by_date


@dataclass(frozen=True)
class Pair:
    """Calls to compare, of a table; without `warm`, the first call of each counts. At most so many rounds."""

    ours: Callable[[], Any]
    theirs: Callable[[], Any] | None = None
    of: str = ""
    warm: bool = True
    rounds: int = 9


type Pairs = Iterator[Pair]


@dataclass(frozen=True)
class Row:
    """What is measured.

    Attributes
    ----------
    work, sizes, pairs
        Its name, in which `{n}` is the size; its size, and the quick one; and the pairs of a size, whose median counts.
    goal, more, largest
        The largest value that is wanted, or with `more` the smallest; and the goal of the largest pair.
    unit, number
        Of the value; with `number`, calls return it, and are not timed.
    by_the_clock
        Whether times are by the clock, for work that other processes do.
    """

    work: str
    pairs: Callable[[int], Pairs]
    goal: float | None = None
    sizes: tuple[int, int] = (0, 0)
    more: bool = False
    largest: float | None = None
    unit: str = "×"
    number: bool = False
    by_the_clock: bool = False


ROWS: list[Row] = []
MOST, MANY, STREAMED = (1_000_000,) * 2, (1_000_000, 200_000), (10_000_000, 2_000_000)
"""Rows of tables in memory, always of the largest or not, and in files."""


def row(work: str, goal: float | None = None, **how: Any) -> Callable[[Callable[[int], Pairs]], Any]:
    """Enter a function as a row."""

    def entered(pairs: Callable[[int], Pairs]) -> Callable[[int], Pairs]:
        """Add the row."""
        ROWS.append(Row(work, pairs, goal, **how))
        return pairs

    return entered


def normal(rows: int, columns: int, classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return columns of numbers that depend on the label a little."""
    rng = np.random.default_rng(0)
    y = rng.integers(classes, size=rows)
    X = rng.standard_normal((rows, columns))
    X += 0.1 * y[:, None]
    return X, y


def logistic(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns of numbers, and labels of two classes given them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns))
    return X, (X @ rng.normal(scale=0.5, size=columns) + rng.logistic(size=rows) > 0).astype(int)


def frame(X: np.ndarray) -> pd.DataFrame:
    """Return a table with named columns."""
    return pd.DataFrame(X).rename(columns="x{}".format)


def floor(scores: int, features: int) -> Callable[[], None]:
    """Return what averages cannot do without: products at the rate of large matrices, and exponentials in the cache."""
    rng = np.random.default_rng(1)
    matrix, cached = rng.standard_normal((1500, 1500)), rng.standard_normal(2**14)
    out, of_cached = np.empty_like(matrix), np.empty_like(cached)

    def run() -> None:
        """Do the products and the exponentials."""
        for _ in range(max(1, round(scores * features / len(matrix) ** 3))):
            np.matmul(matrix, matrix, out=out)
        for _ in range(max(1, round(scores / len(cached)))):
            np.exp(cached, out=of_cached)

    return run


# Logistic regression


@row("mode of logistic regression, {n} × 30, against scikit-learn's lbfgs at tol=1e-6", 0.8, sizes=MOST)
def mode(n: int) -> Pairs:
    """Compare the time of the mode with scikit-learn."""
    X, y = logistic(n, 30)
    ours = bc.LogisticRegression(prior_scale=2.5, inference="map")
    theirs = linear_model.LogisticRegression(C=2.5**2, tol=1e-6, max_iter=1000)
    yield Pair(lambda: ours.fit(X, y).hypotheses("map"), lambda: theirs.fit(X, y))


def against_tuned(X: pd.DataFrame, y: np.ndarray, **how: Any) -> Pair:
    """Return fit and P(y | x) of default logistic regression, and of `LogisticRegressionCV`, 10 Cs and five folds."""
    ours, theirs = bc.LogisticRegression(random_state=1), tuned(X, y)
    return Pair(lambda: ours.fit(X, y).predict_proba(X), lambda: theirs.fit(X, y).predict_proba(X), **how)


@row("default logistic regression against tuned LogisticRegressionCV, 25 small tables", 1.0, largest=5.0, sizes=(5, 1))
def small_tables(n: int) -> Pairs:
    """Compare the defaults on small tables."""
    against_tuned(*load_iris(return_X_y=True, as_frame=True)).ours()  # compiles
    for name, X, y in sorted([*problems(), *pairs_of_digits()], key=lambda problem: problem[1].size)[:25]:
        yield against_tuned(X, y, of=name, warm=False, rounds=n)


@row("default logistic regression against tuned LogisticRegressionCV, {n} × 30", 2.0, sizes=(100_000, 100_000))
def many_rows(n: int) -> Pairs:
    """Compare the defaults on many rows."""
    X, y = logistic(n, 30)
    yield against_tuned(frame(X), y)


def refit(peer: str, goal: float | None = None) -> None:
    """Enter a row of the smallest ESS a second, each after a first fit, which compiles."""

    def speed(name: str, problem: samplers.Problem) -> float:
        """Return the smallest ESS a second of a second fit."""
        samplers.sampled(name, problem, 0)
        draws, took = samplers.sampled(name, problem, 1)
        return samplers.effective_draws(draws) / took

    @row(f"ESS/s of NUTS, refit to breast cancer, against {peer}", goal, more=True, number=True)
    def pairs(n: int) -> Pairs:
        """Compare NUTS with the peer."""
        samplers.require(peer)
        problem = samplers.load("breast_cancer")
        yield Pair(partial(speed, "bayesclf", problem), partial(speed, peer, problem))


refit("rstanarm", 10.0)
for peer in ("bambi", "numpyro", "pymc"):
    refit(peer)


# Where a person waits


def process(code: str, **environment: str) -> Callable[[], Any]:
    """Return Python code as a process of its own, which keeps bytecode as an installed package does."""
    command = [sys.executable, "-c", code]
    kept = {"PYTHONDONTWRITEBYTECODE": ""}
    return lambda: subprocess.run(command, check=True, env=os.environ | kept | environment, capture_output=True)


IRIS = """from sklearn.datasets import load_iris
import bayesclf as bc
X, y = load_iris(return_X_y=True)
bc.{}(random_state=0).fit(X, y).predict(X)
"""
COMMAND = "import runpy, sys; sys.argv[1:] = {}; runpy.run_module('bayesclf', run_name='__main__')"


@row("new process: import, default logistic regression of iris, predict", 2.5, unit="s")
def cold_logistic(n: int) -> Pairs:
    """Time a process that fits logistic regression."""
    yield Pair(process(IRIS.format("LogisticRegression")))


@row("new process: the same without compiled code in the cache", unit="s")
def cold_empty(n: int) -> Pairs:
    """Time a process that compiles first."""
    with tempfile.TemporaryDirectory() as folder:
        yield Pair(process(IRIS.format("LogisticRegression"), NUMBA_CACHE_DIR=folder), warm=False)


@row("new process: import, naive Bayes of iris, predict", 1.0, unit="s")
def cold_naive_bayes(n: int) -> Pairs:
    """Time a process that fits naive Bayes."""
    yield Pair(process(IRIS.format("NaiveBayes")))


@row("new process: the same against scikit-learn's GaussianNB")
def cold_against_sklearn(n: int) -> Pairs:
    """Compare a process that fits naive Bayes with one of scikit-learn, most of whose time is its import."""
    theirs = IRIS.replace("bayesclf as bc", "sklearn.naive_bayes as bc").format("GaussianNB")
    yield Pair(process(IRIS.format("NaiveBayes")), process(theirs.replace("random_state=0", "")))


@row("new process: `bayesclf compare` of breast cancer", 8.0, unit="s")
def compare(n: int) -> Pairs:
    """Time the command `compare`."""
    yield Pair(process(COMMAND.format(["compare", "breast_cancer"])))


def a_report(model: Any) -> None:
    """Enter rows of the diagnosis and the report of a classifier of 16 columns of numbers and 4 of words."""

    def fitted() -> tuple[Any, pd.DataFrame, np.ndarray]:
        """Return a fit, its rows and their labels."""
        X, y = normal(5000, 16, 2)
        rng = np.random.default_rng(1)
        words = {f"w{j}": np.array(list("abcdef"), dtype=object)[rng.integers(2 + j, size=len(y))] for j in range(4)}
        rows = frame(X).assign(**words)
        return model(random_state=0).fit(rows, y), rows, y

    @row(f"diagnose of {model.__name__}, 5,000 × 20", 5.0, unit="s")
    def diagnose(n: int) -> Pairs:
        """Time the diagnosis."""
        clf, X, y = fitted()
        yield Pair(lambda: clf.diagnose(X, y, progress=False))

    @row(f"report of {model.__name__}, 5,000 × 20", 8.0, unit="s")
    def report(n: int) -> Pairs:
        """Time the report."""
        clf, X, y = fitted()
        with tempfile.TemporaryDirectory() as folder:
            yield Pair(lambda: clf.report(Path(folder, "report.html"), X, y, progress=False))


a_report(bc.NaiveBayes)
a_report(bc.LogisticRegression)


# Naive Bayes and discriminant analysis


def gaussian(work: str, goal: float | None, kind: Any = np.asarray, families: str = "gaussian") -> None:
    """Enter a row of fits to many rows, as an array or a table of some kind."""
    sizes = MANY if families == "gaussian" else MOST

    @row(f"{work}, {{n}} × 50, against scikit-learn's GaussianNB", goal, sizes=sizes)
    def pairs(n: int) -> Pairs:
        """Compare fits."""
        X, y = normal(n, 50)
        of_kind, theirs = kind(X), naive_bayes.GaussianNB()
        ours = bc.GaussianNB() if families == "gaussian" else bc.NaiveBayes(families=families)
        yield Pair(lambda: ours.fit(of_kind, y), lambda: theirs.fit(of_kind, y))


gaussian("GaussianNB fit, array", 0.5)
gaussian("GaussianNB fit, DataFrame", 1.0, frame)
gaussian("GaussianNB fit, float32", 1.0, np.float32)
gaussian("naive Bayes with families by evidence, fit", 2.0, families="auto")


def answers(rule: str, data: Callable[[int], Any], shape: str, goal: float) -> None:
    """Enter a row of answers under a rule."""

    @row(f"GaussianNB predict_proba, {rule}, {shape}, against scikit-learn's", goal, sizes=MANY)
    def pairs(n: int) -> Pairs:
        """Compare answers."""
        X, y = data(n)
        ours, theirs = bc.GaussianNB(random_state=0).fit(X, y), naive_bayes.GaussianNB().fit(X, y)
        yield Pair(lambda: ours.predict_proba(X, rule=rule), lambda: theirs.predict_proba(X))


answers("bayes-optimal", lambda n: load_iris(return_X_y=True), "150 × 4", 8.0)
answers("map", lambda n: load_iris(return_X_y=True), "150 × 4", 3.0)
answers("map", lambda n: normal(n, 50), "{n} × 50", 0.5)
answers("predictive", lambda n: normal(n, 50), "{n} × 50", 1.0)


@row("GaussianNB, 1,000 draws × {n} rows × 50, over products and exponentials", 2.0, sizes=(100_000, 10_000))
def average(n: int) -> Pairs:
    """Compare averages over draws with their least work."""
    engine = bc.engines.Exact(draws=250, chains=4)
    clf = bc.GaussianNB(random_state=0, inference=engine).fit(*normal(20_000, 50))
    X = np.random.default_rng(3).standard_normal((n, 50))
    yield Pair(lambda: clf.predict_proba(X, rule="bayes-optimal"), floor(n * 3 * 1000, 2 * 50))


@row("CategoricalNB fit, {n} × 20 words, against OrdinalEncoder and CategoricalNB", 1.0, sizes=MANY)
def words(n: int) -> Pairs:
    """Compare fits of categories."""
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=n)
    levels = [np.array([f"level {i}" for i in range(4 + j)], dtype=object) for j in range(20)]
    X = pd.DataFrame({f"x{j}": own[rng.integers(len(own), size=n)] for j, own in enumerate(levels)})
    theirs = make_pipeline(OrdinalEncoder(), naive_bayes.CategoricalNB())
    yield Pair(lambda: bc.CategoricalNB(random_state=0).fit(X, y), lambda: theirs.fit(X, y))


def multinomial(alpha: dict[str, float], said: str, goal: float) -> None:
    """Enter a row of fit and predictive answers."""

    @row(f"MultinomialNB, {said}, 20 Newsgroups by date, against scikit-learn's", goal)
    def pairs(n: int) -> Pairs:
        """Compare fits and answers together."""
        try:
            train, test = by_date()
        except InputError as reason:
            raise NotHere("20 Newsgroups are not here") from reason
        X, y, new = train.counts, train.y, test.counts
        ours, theirs = bc.MultinomialNB(**alpha, random_state=0), naive_bayes.MultinomialNB()
        rule = "predictive"
        yield Pair(lambda: ours.fit(X, y).predict_proba(new, rule=rule), lambda: theirs.fit(X, y).predict_proba(new))


multinomial({}, "α learned", 5.0)
multinomial({"alpha": 2.0}, "α given", 2.0)


@row("GDA by class, digits, predict one row", 0.01, unit="s")
def one_row(n: int) -> Pairs:
    """Time the answer to one row."""
    X, y = load_digits(return_X_y=True)
    clf = bc.GaussianDiscriminantAnalysis("class", random_state=1).fit(X, y)
    yield Pair(lambda: clf.predict(X[:1]))


@row("NUTS of GaussianNB after the pass over the rows, 1,000,000 rows against 1,000", 1.3)
def nuts_rows(n: int) -> Pairs:
    """Compare NUTS on many rows with NUTS on few."""
    few, many = (bc.GaussianNB(inference="map").fit(*normal(rows, 10)).model_ for rows in (1_000, 1_000_000))
    yield Pair(lambda: draw(many, bc.engines.NUTS(), seed=0), lambda: draw(few, bc.engines.NUTS(), seed=0))


# Files that are read batch by batch

NUMBERS, WORDS = [f"x{j}" for j in range(16)], [f"w{j}" for j in range(4)]


@contextmanager
def files(n: int, **changed: Any) -> Iterator[Path]:
    """Yield a folder of Parquet files with so many rows in all."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "table")
        folder.mkdir()
        Generated(**{"files": 4, "classes": 3, "numbers": 16, "levels": [4, 8, 12, 16]} | changed).write(folder, n)
        yield folder


def stream(work: str, clf: Any, drop: list[str], goal: float | None = None) -> None:
    """Enter a row of fits to files, without some columns."""

    @row(f"{work} fit to Parquet, {{n}} rows, against PyArrow's scan", goal, sizes=STREAMED)
    def pairs(n: int) -> Pairs:
        """Compare a fit with a scan."""
        kept = [name for name in (*NUMBERS, *WORDS, "y") if name not in drop]
        with files(n) as folder:
            yield Pair(lambda: clf.fit_stream(folder, "y", drop=drop, progress=False), scan(folder, kept))


stream("NaiveBayes, Gaussian, 20 columns,", bc.NaiveBayes(families="gaussian", inference="exact"), [], 1.2)
stream("NaiveBayes, families by evidence, 20 columns,", bc.NaiveBayes(inference="exact"), [])
stream("GaussianNB, 16 columns,", bc.GaussianNB(inference="exact"), WORDS)
stream("CategoricalNB, 4 columns,", bc.CategoricalNB(inference="exact"), NUMBERS)


@row("GaussianNB answers (map) from Parquet to Parquet, {n} × 16 numbers, against PyArrow's scan", sizes=STREAMED)
def streamed_answers(n: int) -> Pairs:
    """Compare answers from file to file with a scan."""
    with files(n) as folder:
        clf = bc.GaussianNB(inference="map").fit_stream(folder / "0.parquet", "y", drop=WORDS, progress=False)
        out = folder.with_name("answers.parquet")
        yield Pair(lambda: clf.predict_stream(folder, out, rule="map", progress=False), scan(folder, NUMBERS))


@row("two Dask workers against one, by the clock, {n} × 30", 0.57, sizes=(10_000_000, 300_000), by_the_clock=True)
def two_workers(n: int) -> Pairs:
    """Compare two Dask workers with one."""

    def fit(clf: Any, client: Any) -> None:
        """Fit a classifier to the files by a client's workers."""
        clf.fit_stream(folder, "y", client=client, progress=False)

    models = bc.NaiveBayes(inference="map"), bc.LogisticRegression(prior_scale=2.5, inference="map")
    how = {"files": 8, "classes": 2, "numbers": 20, "levels": [6] * 10}
    with files(n, **how) as folder, workers(2) as two, workers(1) as one:
        for clf in models:
            yield Pair(partial(fit, clf, two), partial(fit, clf, one), of=type(clf).__name__, rounds=3)
