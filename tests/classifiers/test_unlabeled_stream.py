"""Rows without a label in tables that are read batch by batch: refused in a sentence, or left out as in memory."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bayesclf as bc
from bayesclf.errors import InputError

FEATURES = ["x", "word"]


@pytest.fixture(scope="module")
def partly():
    """A table in which every third label is missing, a whole batch has none, and a word occurs in such rows only."""
    rng = np.random.default_rng(0)
    rows = 120
    word = rng.choice(list("ab"), rows).astype(object)
    y = pd.Series(rng.choice(["no", "yes"], rows), dtype=object).where(np.arange(rows) % 3 > 0, None)
    y[:20] = y[60:80] = None
    word[3] = word[65] = "rare"
    return pd.DataFrame({"x": rng.normal(size=rows), "word": word, "w": rng.uniform(0.5, 2.0, rows), "y": y})


def batches(table):
    return [table[start : start + 20] for start in range(0, len(table), 20)]


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize(
    "clf", [bc.NaiveBayes(inference="map"), bc.LogisticRegression(inference="map")], ids=lambda clf: type(clf).__name__
)
def test_rows_without_a_label_are_left_out(clf, weight, partly, tmp_path):
    table = partly if weight else partly.drop(columns="w")
    labeled = table[table["y"].notna()]
    whole = clone(clf).fit(labeled[FEATURES], labeled["y"], sample_weight=labeled[weight] if weight else None)
    table.to_parquet(tmp_path / "t.parquet", row_group_size=20)
    for source in (batches(table), tmp_path / "t.parquet"):
        streamed = clone(clf).fit_stream(source, "y", weight=weight)  # as readers of files do
        assert streamed.notes_[0] == "66 rows of 120 without a label left out"
        assert list(streamed.classes_) == ["no", "yes"]
        np.testing.assert_allclose(
            streamed.predict_proba(table[FEATURES], "map"), whole.predict_proba(table[FEATURES], "map"), atol=1e-8
        )


def test_missing_labels_are_refused_with_their_rows(partly):
    for clf in (bc.NaiveBayes(), bc.LogisticRegression()):
        with pytest.raises(
            InputError, match=r"counting from row 1 .*column 'y' has no label in rows .*unlabeled='drop'"
        ):
            clf.fit_stream(batches(partly), "y", unlabeled="error")
        with pytest.raises(InputError, match=r"none has a label in column 'y'"):
            clf.fit_stream(batches(partly.assign(y=None)), "y", unlabeled="drop")
        with pytest.raises(InputError, match=r"unlabeled must be one of 'error', 'drop'"):
            clf.fit_stream(batches(partly), "y", unlabeled="use")


@pytest.mark.parametrize("kind", ["numbers", "truth values"])
@pytest.mark.parametrize("clf", [bc.NaiveBayes(inference="map"), bc.LogisticRegression(inference="map")])
def test_labels_are_what_they_were_before_missing_ones_made_others_of_them(clf, kind, partly, tmp_path):
    codes = partly["y"].map({"no": 0, "yes": 1} if kind == "numbers" else {"no": False, "yes": True})
    table = partly.drop(columns="w").assign(y=codes)
    labeled = table[table["y"].notna()]
    first = table["y"].notna().cumsum() <= 20  # a batch without a missing label, too
    parts = [labeled[first.loc[labeled.index]].infer_objects(), *batches(table[~first])]
    sources = [(parts, pd.concat(parts).dropna(subset="y").infer_objects())]
    if kind == "numbers":  # truth values are words in csv
        table.to_csv(tmp_path / "t.csv", index=False)
        sources.append((tmp_path / "t.csv", labeled.astype({"y": int})))
    for source, rows in sources:
        whole = clone(clf).fit(rows[FEATURES], rows["y"])
        streamed = clone(clf).fit_stream(source, "y", unlabeled="drop")
        assert streamed.classes_.dtype == whole.classes_.dtype
        assert streamed.predict(table[FEATURES]).dtype == whole.predict(table[FEATURES]).dtype
        assert list(streamed.classes_) == list(whole.classes_)
