"""Truth values and numbers that are categories are the same levels in a table in memory and in a file."""

import numpy as np
import pandas as pd
import pytest

import bayesclf as bc
from bayesclf.errors import InputError

RNG = np.random.default_rng(4)
TABLE = pd.DataFrame(
    {"member": RNG.random(60) < 0.5, "visits": RNG.integers(3, size=60), "share": RNG.integers(2, size=60) + 0.5}
)
TABLE["label"] = np.where(RNG.random(60) < 0.8, TABLE["member"] & (TABLE["visits"] > 0), TABLE["share"] > 1).astype(str)
X, Y = TABLE.drop(columns="label"), TABLE["label"]
CATEGORIES = {"visits": "category", "share": "category"}
IN_MEMORY = X.assign(**{name: X[name].astype("category") for name in CATEGORIES})
CLASSIFIERS = [bc.NaiveBayes(random_state=1), bc.BayesNetClassifier(random_state=1)]


@pytest.fixture(params=["csv", "parquet"])
def file(request, tmp_path):
    """Return a file of the table."""
    path = tmp_path / f"t.{request.param}"
    {"csv": TABLE.to_csv, "parquet": TABLE.to_parquet}[request.param](path, index=False)
    return path


@pytest.mark.parametrize("clf", CLASSIFIERS, ids=lambda clf: type(clf).__name__)
def test_a_model_of_a_file_answers_for_the_table_in_memory(clf, file):
    of_file = clf.__sklearn_clone__().fit_stream(file, "label", kinds=CATEGORIES)
    of_table = clf.__sklearn_clone__().fit(IN_MEMORY, Y)
    expected = of_table.predict_log_proba(IN_MEMORY, rule="map")
    assert np.ptp(expected[:, 0]) > 1
    for rows in (IN_MEMORY, X, X.astype({"visits": float}), X.astype(object)):
        np.testing.assert_allclose(of_file.predict_log_proba(rows, rule="map"), expected, rtol=1e-12)


@pytest.mark.parametrize("clf", CLASSIFIERS, ids=lambda clf: type(clf).__name__)
def test_a_model_of_a_table_in_memory_answers_for_the_file(clf, file, tmp_path):
    of_table = clf.__sklearn_clone__().fit(IN_MEMORY, Y)
    of_table.predict_stream(file, tmp_path / "answers.csv", rule="map")
    found = pd.read_csv(tmp_path / "answers.csv")
    expected = of_table.predict_proba(IN_MEMORY, rule="map")
    read = bc.datasets.load(str(file), target="label").X
    np.testing.assert_array_equal(of_table.predict_proba(read, rule="map"), expected)
    np.testing.assert_allclose(found[[f"P({label})" for label in of_table.classes_]], expected, rtol=1e-9)


def test_two_ways_of_writing_are_not_added(file):
    of_file = bc.NaiveBayes(random_state=1).fit_stream(file, "label", kinds=CATEGORIES)
    with pytest.raises(InputError, match=r"column 'member' holds both .* and .*, which .* give all rows"):
        of_file.partial_fit(IN_MEMORY, Y)


def test_a_column_of_a_number_and_its_word_keeps_both():
    both = pd.DataFrame({"x": [1, "1", 2, "2"] * 5})
    clf = bc.CategoricalNB(2.0).fit(both, ["one", "word", "one", "word"] * 5)
    assert clf.columns_[0].levels == (1, 2, "1", "2")
    answers = clf.predict_proba(pd.DataFrame({"x": [1, "1"]}), rule="map")
    assert answers[0, 0] > 0.7 > 0.3 > answers[1, 0]
    columns = clf.columns_
    assert clf.partial_fit(both, ["one", "word", "one", "word"] * 5).columns_ == columns


def test_labels_of_another_type_are_named(file, tmp_path):
    clf = bc.NaiveBayes(random_state=1).fit_stream(file, "label")
    truths = Y == "True"
    for use in (clf.score, clf.diagnose, lambda X, y: clf.report(tmp_path / "report.html", X, y)):
        with pytest.raises(
            InputError, match=r"y holds truth values, but the classes of the fit are words .*astype\(str\)"
        ):
            use(X, truths)
    numbered = bc.NaiveBayes(random_state=1).fit(X, truths.astype(int))
    with pytest.raises(InputError, match=r"y holds words, .* are numbers \(0, 1\); give labels of that type$"):
        numbered.score(X, Y)
    for column in (Y.to_frame(), Y.to_numpy(dtype=object)[:, None]):
        with pytest.raises(InputError, match="y holds words"):
            numbered.score(X, column)
    assert numbered.score(X, truths) == numbered.score(X, truths.astype(float))


WHOLE_OR_GAPS = ("whole.csv", "gaps.csv", "whole.parquet", "gaps.parquet")


@pytest.mark.parametrize("of_fit", WHOLE_OR_GAPS)
def test_whole_numbers_with_gaps_are_the_levels_without(of_fit, tmp_path):
    """Pandas writes 1.0 and 2.0 where a cell is missing."""
    whole = pd.DataFrame({"n": [1, 2] * 10, "label": ["a", "b"] * 10})
    gaps = whole.assign(n=whole["n"].where(whole.index > 0))
    for name, table in {"whole": whole, "gaps": gaps}.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
        table.to_parquet(tmp_path / f"{name}.parquet")
    clf = bc.CategoricalNB(2.0, inference="map").fit_stream(tmp_path / of_fit, "label", kinds={"n": "category"})
    expected = clf.predict_proba(whole.astype(str), rule="map")
    assert expected[0, 0] > 0.8 > 0.2 > expected[1, 0]
    for X in (whole, whole.astype({"n": float}), gaps, *(each.astype({"n": "category"}) for each in (whole, gaps))):
        np.testing.assert_array_equal(clf.predict_proba(X, rule="map")[1:], expected[1:])
    for file in WHOLE_OR_GAPS:
        clf.predict_stream(tmp_path / file, tmp_path / "answers.csv", rule="map")
        found = pd.read_csv(tmp_path / "answers.csv")[["P(a)", "P(b)"]]
        np.testing.assert_array_equal(found[1:], expected[1:])
