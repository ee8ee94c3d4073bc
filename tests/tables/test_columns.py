"""Tables of every kind that users have: taken as they are meant, or refused in one sentence of our own."""

import datetime
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone

import bayesclf as bc
from bayesclf.classifiers.inputs import checked_labels
from bayesclf.errors import CellTypeError, InputError, PredictionWarning
from bayesclf.tables import columns
from bayesclf.tables.columns import to_sparse_table
from bayesclf.tables.reading import read_table

N = 20
NUMBERS = pd.DataFrame({"u": np.arange(N) / N})
DAYS = [datetime.date(2020, 1, day + 1) for day in range(N)]


def cells_of(frame):
    """Read all cells in the two ways in which models do."""
    for name in frame:
        if columns.kind_of(frame[name]) == "number":
            columns.numbers(frame, (name,))
        else:
            columns.codes(frame, (name,), (columns.levels_of(frame[name], "ignore"),))


@pytest.mark.parametrize(
    ("cells", "match"),
    [
        (np.arange(N) + 1j, "column 'c' holds complex numbers"),
        ([1 + 2j] * N, "column 'c' holds complex numbers"),
        (["a", 1 + 2j] * (N // 2), r"column 'c' holds \(1\+2j\) \(row 2\)"),
        (pd.date_range("2020", periods=N), "column 'c' holds dates or times"),
        (pd.period_range("2020-01", periods=N, freq="M"), "column 'c' holds dates or times"),
        (pd.to_timedelta(range(N)), "column 'c' holds dates or times"),
        (DAYS, r"column 'c' holds datetime\.date\(2020, 1, 1\) \(row 1\)"),
        (["x"] * (N - 1) + [[1, 2]], r"column 'c' holds \[1, 2\] \(row 20\)"),
        ([{"a": 1}] * N, r"column 'c' holds {'a': 1} \(row 1\)"),
        (pd.interval_range(0, N, N), "column 'c' holds intervals"),
        (pd.Categorical(pd.date_range("2020", periods=N)), "column 'c' holds dates or times"),
        (pd.Categorical(DAYS), r"column 'c' holds datetime\.date\(2020, 1, 1\)"),
        (pd.Categorical([1j, 2j] * (N // 2)), "column 'c' holds complex numbers"),
        ([b"a", b"b"] * (N // 2), r"column 'c' holds b'a' \(row 1\)"),
        ([(1, 2), (2, 3)] * (N // 2), r"column 'c' holds \(1, 2\) \(row 1\)"),
        ([frozenset({1})] * N, r"column 'c' holds frozenset\(.1.\) \(row 1\)"),
        ([["long"] * 1000] * N, r"column 'c' holds \['long.{1,50} \(row 1\)"),
    ],
)
def test_cells_that_no_model_takes(cells, match):
    with pytest.raises(CellTypeError, match=match) as refusal:
        cells_of(columns.to_frame(NUMBERS.assign(c=cells)))
    rule = "of the table given as argument must be a string or a number; convert it, or"
    assert f"{rule} leave it out with X.drop(columns=['c'])" in str(refusal.value)


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (None, "X must be a table, .* not of type NoneType"),
        ("text", "X must be a table, .* not of type str"),
        (NUMBERS.iloc[:, 0], r"a single column, .* X\.to_frame\(\)"),
        (pl.LazyFrame({"a": [1.0, 2.0]}), r"a lazy table of type .*; collect"),
        ({"a": [1, 2]}, r"not a mapping; .*pandas\.DataFrame\(X\) if it has columns"),
        (3, "X must be a table of shape .* scalar array"),
        (np.arange(3), "X must be a table of shape .* 1D array instead; Reshape your data"),
        (np.zeros((2, 2, 2)), "X must be a table of shape .* dim 3"),
        (np.zeros(3, dtype=[("a", "f8")]), r"structured array; pandas\.DataFrame\(X\)"),
        (np.zeros((3, 0)), r"X has 0 feature\(s\)"),
        (pd.DataFrame(index=range(3)), r"X has 0 feature\(s\)"),
        (np.zeros((0, 2)), "X has no rows"),
        (NUMBERS.iloc[:0], "X has no rows"),
        (np.ones((2, 2)) * 1j, "Complex data not supported"),
    ],
)
def test_what_is_not_a_table(X, match):
    with pytest.raises(InputError, match=match) as refusal:
        columns.to_frame(X)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("depth", [70, 2_000, 50_000])
def test_values_of_any_depth_are_refused_in_one_short_sentence(tmp_path, depth):
    """Arrow's recursion would end the process at 20,000 brackets, and Python's repr has a limit of its own."""
    deep = 1
    for _ in range(depth):
        deep = [deep]
    path = tmp_path / "deep.jsonl"
    path.write_text(f'{{"a": {"[" * depth}1{"]" * depth}, "y": "p"}}\n{{"a": 1, "y": "q"}}\n', encoding="utf-8")
    fine, y = pd.DataFrame({"a": [1.0, 2.0]}), ["p", "q"]
    for call in (
        lambda: read_table(path),
        lambda: bc.NaiveBayes().fit_stream(path, "y"),
        lambda: bc.NaiveBayes().fit(pd.DataFrame({"a": [deep, deep]}), y),
        lambda: bc.NaiveBayes().fit(fine, [deep, deep]),
        lambda: bc.NaiveBayes(missing=deep).fit(fine, y),
    ):
        with pytest.raises(InputError) as refusal:
            call()
        assert len(str(refusal.value).replace(str(path), "")) < 300


@pytest.mark.parametrize("make", [bc.LogisticRegression, bc.MultinomialNB, bc.BernoulliNB])
def test_sparse_tables_hold_real_numbers(make):
    with pytest.raises(InputError, match=r"^Complex data not supported: the sparse table holds complex128; give real"):
        make().fit(sparse.csr_array(np.ones((4, 2)) + 1j), [0, 1, 0, 1])


@pytest.mark.parametrize("weight", [1.7e308, 1e101 / N, 1e-101], ids=str)
def test_weights_whose_sums_would_vanish_or_overflow(weight):
    """One check, wherever weights enter."""
    X, y, weights = NUMBERS, np.arange(N) % 2, np.full(N, weight)
    clf, rows = bc.GaussianNB(random_state=1), X.assign(y=y, w=weights)
    for call in (
        lambda: clf.fit(X, y, weights),
        lambda: clone(clf).partial_fit(X, y, sample_weight=weights),
        lambda: clf.fit_stream(rows, "y", weight="w"),
        lambda: bc.LogisticRegression(inference="map").fit_stream(rows, "y", weight="w"),
        lambda: clone(clf).fit(X, y).score(X, y, weights),
        lambda: bc.StackedClassifier({"nb": clf}, cv=2).fit(X, y, weights),
    ):
        with pytest.raises(InputError, match=r"positive weights and their sum must be between 1e-100 and 1e\+100, so"):
            call()
    assert np.isfinite(clf.fit(X, y, np.full(N, 1e98 if weight > 1 else 1e-99)).predict_proba(X)).all()


@pytest.mark.parametrize(
    "labels",
    [
        [b"a", b"b"] * (N // 2),
        [(1, 2), (2, 3)] * (N // 2),
        [{1}, {2}] * (N // 2),
        np.arange(N) / 7,
        np.arange(N) * 1j,
        DAYS,
        np.ones((N, 2)),
        [1, "a"] * (N // 2),
        pd.period_range("2020", periods=N),
        pd.interval_range(0, N, N),
        [Decimal(1), Decimal(2)] * (N // 2),
    ],
)
def test_labels_that_cannot_be(labels):
    with pytest.raises(InputError, match="y must hold") as refusal:
        checked_labels(labels, N)
    assert "\n" not in str(refusal.value)


def test_bins_of_pandas_are_words_and_can_be_saved(tmp_path):
    ages = np.append(np.arange(N - 1.0), np.nan)
    X = pd.DataFrame({"age": pd.cut(ages, [-1, 5, 10, N])})
    clf = bc.CategoricalNB(random_state=1).fit(X, np.arange(N) % 2)
    assert clf.columns_[0].levels == ("(-1, 5]", "(5, 10]", "(10, 20]")
    clf.save(tmp_path / "bins.nc")
    expected = clf.predict_proba(X)
    np.testing.assert_array_equal(bc.load(tmp_path / "bins.nc").predict_proba(X), expected)
    words = X.assign(age=X["age"].cat.rename_categories(str).astype(object))
    np.testing.assert_array_equal(clf.predict_proba(words), expected)


@pytest.mark.slow
def test_eight_thousand_columns(tmp_path):
    """Reading, fitting and predicting take time in proportion to the columns, up to 1.75 times."""
    seconds = {number: np.full(3, np.inf) for number in (1000, 8000)}
    for number in (1000, 8000) * 3:  # the least time is of no other work beside
        path, cells = tmp_path / "wide.csv", ",".join(["0.5", "2"] * (number // 2))
        lines = [",".join([*(f"c{j}" for j in range(number)), "y"]), *(f"{cells},{'ab'[i % 2]}" for i in range(4))]
        path.write_text("\n".join(lines))
        times = [time.process_time()]
        frame = read_table(path)
        times.append(time.process_time())
        y = frame.pop("y")
        clf = bc.NaiveBayes(inference="map").fit(frame, y)
        times.append(time.process_time())
        assert clf.predict_proba(frame).shape == (4, 2)
        seconds[number] = np.minimum(seconds[number], np.diff([*times, time.process_time()]))
    assert (seconds[8000] < 14 * seconds[1000]).all()
    with pytest.raises(InputError, match=r"the table lacks column 'c10', .*'c14', …, which") as refusal:
        clf.predict(frame.iloc[:, :10])
    assert len(str(refusal.value)) < 200
    twice = pd.concat([frame, frame], axis=1)
    with pytest.raises(InputError, match=r"column names must differ; rename columns called 'c0', .*, …") as refusal:
        bc.NaiveBayes().fit(twice, y)
    assert len(str(refusal.value)) < 200


@pytest.mark.parametrize("make", [bc.NaiveBayes, bc.LogisticRegression, bc.GaussianDiscriminantAnalysis])
def test_names_that_are_whole_numbers(make):
    """They count as their words: another table may have either, and 1 and "1" are one name twice."""
    frame = pd.DataFrame({0: NUMBERS["u"], 1: np.arange(N) % 3})
    y = np.arange(N) % 2
    clf = make(inference="map").fit(frame, y)
    expected = clf.predict_proba(frame)
    with pytest.warns(UserWarning, match="X has feature names"):
        np.testing.assert_array_equal(clf.predict_proba(frame.set_axis(["0", "1"], axis=1)), expected)
    named = make(inference="map").fit(frame.set_axis(["0", "1"], axis=1), y)
    np.testing.assert_array_equal(named.predict_proba(frame), expected)
    with pytest.raises(InputError, match="column names must differ; rename columns called '1'"):
        make(inference="map").fit(frame.set_axis([1, "1"], axis=1), y)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_sparse_tables_without_rows_or_columns_are_refused_as_dense_ones_are(shape):
    found = []
    for make in (lambda X: to_sparse_table(sparse.csr_array(X)), columns.to_frame):
        with pytest.raises(InputError) as caught:
            make(np.zeros(shape))
        found.append(str(caught.value))
    assert found[0] == found[1]


EXACT = {
    "decimals": [Decimal("1.5"), None, Decimal(2)] * 6,
    "fractions": [Fraction(3, 2), None, Fraction(2)] * 6,
    "mixed": [Fraction(3, 2), None, 2] * 6,
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_decimals_and_fractions_are_numbers(name, library):
    table = pd.DataFrame({"x": pd.Series(EXACT[name], dtype=object), "z": range(18)})
    if library != "pandas":
        if name != "decimals":
            return
        module = pytest.importorskip(library)
        table = module.DataFrame({"x": EXACT[name], "z": range(18)}) if library == "polars" else module.table(table)
    frame = columns.to_frame(table)
    np.testing.assert_array_equal(frame["x"], [1.5, np.nan, 2.0] * 6)
    labels = ["a", "b", "b"] * 6
    expected = bc.NaiveBayes(random_state=0).fit(frame, labels).predict_proba(frame)
    np.testing.assert_array_equal(bc.NaiveBayes(random_state=0).fit(table, labels).predict_proba(table), expected)


@pytest.mark.parametrize("clf", [bc.NaiveBayes(random_state=0), bc.LogisticRegression(inference="map")])
def test_numbers_as_words_are_told_with_a_call_that_works(clf):
    words = pd.DataFrame({"x": [f"{place}.5" for place in range(30)], "code": [f"{place:03}" for place in range(30)]})
    X, labels = words.assign(kind=["1", "2"] * 15), ["a", "b", "b"] * 10
    (note,) = [note for note in clf.fit(X, labels).notes_ if "as words" in note]
    assert "'code'" not in note
    assert "'kind'" not in note
    X = eval(note.partition("; ")[2].partition(" reads")[0])
    assert not any("as words" in note for note in clf.fit(X, labels).notes_)
    assert clf.columns_[0].kind == "number"


def test_the_same_rows_in_another_order_are_warned_of_once():
    X = pd.DataFrame({"x": np.arange(8.0)}, index=list("abcdefgh"))
    y = pd.Series(["p", "q"] * 4, index=list("hgfedcba"), name="y")
    weight = pd.Series(1.0, index=X.index)
    matched = y.loc[X.index]
    clf = bc.GaussianNB(random_state=0).fit(X, matched, sample_weight=weight)
    clf.score(X, matched)
    for call in (
        lambda: bc.GaussianNB(random_state=0).fit(X, y),
        lambda: bc.GaussianNB(random_state=0).fit(X, matched, sample_weight=weight[::-1]),
        lambda: clf.score(X, y),
        lambda: bc.compare([bc.GaussianNB(inference="map")], X, y, ["map"], cv=2),
        lambda: clf.diagnose(X, matched[::-1], checks=["Y02"]),
    ):
        with pytest.warns(PredictionWarning, match=r"loc\[X.index\] to match them by their labels") as told:
            call()
        assert len(told) == 1


def test_rare_levels_share_a_weight_of_logistic_regression(tmp_path):
    rng = np.random.default_rng(0)
    codes = np.minimum(rng.geometric(0.01, 600), 400)
    X = pd.DataFrame({"c": [f"w{code:03d}" for code in codes], "x": rng.normal(size=600)})
    y = np.where(rng.random(600) < 0.3 + 0.4 * (codes < 30), "a", "b")
    clf = bc.LogisticRegression(inference="map", random_state=0).fit(X, y)
    (own,) = [column for column in clf.columns_ if column.name == "c"]
    counts = X["c"].value_counts()
    assert 90 < len(own.levels) <= 101
    assert set(own.levels[:-1]) <= set(counts.index[counts > 1])
    assert (
        counts[[level for level in counts.index if level not in own.levels]].max() <= counts[[*own.levels[:-1]]].min()
    )
    assert any("levels, of which the" in note for note in clf.notes_)
    rare = counts.index[-1]
    asked = pd.DataFrame({"c": [rare, "never seen"], "x": 0.0})
    first, second = clf.predict_proba(asked)
    np.testing.assert_array_equal(first, second)
    clf.save(tmp_path / "m.nc")
    np.testing.assert_array_equal(bc.load(tmp_path / "m.nc").predict_proba(asked)[0], first)
    joined = X.assign(c=X["c"].where(X["c"].isin(own.levels), "other"))
    few = bc.LogisticRegression(inference="map", random_state=0).fit(joined, y)
    np.testing.assert_allclose(few.predict_proba(joined), clf.predict_proba(X), rtol=1e-6)
