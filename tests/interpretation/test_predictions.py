"""Predictions as a table on the rows' own index, of the library that the rows came in."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import bayesclf as bc
from bayesclf.engines import Exact, Laplace

COLUMNS = ["age", "ward"]


@pytest.fixture(scope="module")
def fitted(mixed_table):
    X, y = mixed_table
    X = X[COLUMNS].set_axis([f"patient {i}" for i in range(len(X))])
    return bc.NaiveBayes(inference=Exact(draws=50), random_state=2).fit(X, y), X


def test_the_columns_are_those_of_the_methods(fitted):
    clf, X = fitted
    table = clf.predict_frame(X, rule="predictive", interval=0.5, sets=0.8)
    assert table.index is X.index or table.index.equals(X.index)
    assert table["predicted"].tolist() == clf.predict(X, "predictive").tolist()
    proba = clf.predict_proba(X, "predictive")
    bounds = clf.predict_interval(X, 0.5, "predictive")
    sets = clf.predict_set(X, 0.8, "predictive").labels
    for k, label in enumerate(clf.classes_):
        np.testing.assert_array_equal(table[f"P({label})"], proba[:, k])
        limits = table.columns.get_loc(f"P_low_0.5({label})")
        np.testing.assert_array_equal(table.iloc[:, limits : limits + 2], bounds[:, k])
        assert table[f"in_set_0.8({label})"].tolist() == [label in one for one in sets]
    split = clf.uncertainty(X, "predictive")
    np.testing.assert_array_equal(table["entropy_epistemic_nats"], split.epistemic)
    np.testing.assert_array_equal(table["entropy_total_nats"], split.total)


@pytest.mark.parametrize("left_out", [None, False])
def test_parts_can_be_left_out(fitted, left_out):
    clf, X = fitted
    table = clf.predict_frame(X, interval=left_out, sets=left_out, uncertainty=False)
    assert table.columns.tolist() == ["predicted", "P(ill)", "P(mild)", "P(well)"]


def test_a_point_fit_says_what_it_lacks(mixed_table):
    X, y = mixed_table
    clf = bc.LogisticRegression(prior_scale=2.5, inference="map").fit(X[COLUMNS], y)
    table = clf.predict_frame(X[COLUMNS])
    assert "in_set_0.9(ill)" in table
    assert not any("low" in name or "entropy" in name for name in table)
    assert "MAP" in table.attrs["left_out"]


def test_labels_keep_their_type_and_a_drawn_label_is_that_of_predict(mixed_table):
    X, y = mixed_table
    clf = bc.NaiveBayes(inference=Exact(draws=50), random_state=2).fit(X[COLUMNS], (y == "ill").astype(int))
    rule = bc.rules.Gibbs(draw="label")
    table = clf.predict_frame(X[COLUMNS], rule=rule)
    assert table["predicted"].tolist() == clf.predict(X[COLUMNS], rule).tolist()
    assert {"P(0)", "P(1)"} <= set(table)


@pytest.mark.parametrize("rows", [["buy now", "see you"], pd.Series(["buy now", "see you"], index=["a", "b"])])
def test_texts(rows):
    clf = bc.TextNB(random_state=1).fit(["buy now", "see you", "buy it", "you too"], ["spam", "ham", "spam", "ham"])
    table = clf.predict_frame(rows)
    assert table["predicted"].tolist() == ["spam", "ham"]
    assert table.index.tolist() == (["a", "b"] if isinstance(rows, pd.Series) else [0, 1])


def arrow(X):
    return pa.Table.from_pandas(X, preserve_index=False)


def polars(X):
    return pytest.importorskip("polars").from_pandas(X.reset_index(drop=True))


@pytest.mark.parametrize("convert", [arrow, polars])
@pytest.mark.parametrize(
    "clf",
    [
        bc.NaiveBayes(inference=Exact(draws=50), random_state=2),
        bc.LogisticRegression(prior_scale=2.5, inference=Laplace(draws=50)),
    ],
    ids=["nb", "lr"],
)
def test_a_table_of_another_library_gives_one_of_that_library(clf, convert, mixed_table):
    X, y = mixed_table
    X = X[COLUMNS]
    clf = clf.set_params(random_state=2).fit(X, y)
    expected = clf.predict_frame(X)
    table = clf.predict_frame(convert(X))
    assert type(table) is type(convert(X))
    pd.testing.assert_frame_equal(table.to_pandas(), expected, check_dtype=False)
    assert list(clf.fit(convert(X), y).feature_names_in_) == COLUMNS
    np.testing.assert_array_equal(clf.predict_proba(X), expected.filter(regex=r"^P\("))
