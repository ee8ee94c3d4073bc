"""Fitting and predicting tables that are read batch by batch, on the command line and by `predict_stream`."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.commands import command
from helpers.suites import mainly
from pyarrow.dataset import dataset

import bayesclf as bc
from bayesclf.cli import commands
from bayesclf.errors import InputError
from bayesclf.tables import streams as batches

pytestmark = pytest.mark.usefixtures("own_folder")
ROWS = 60


@pytest.fixture
def parts():
    """Write a table as two parquet files in a folder, and whole as csv; return it."""
    rng = np.random.default_rng(0)
    label = rng.choice(["no", "yes"], ROWS)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=ROWS) + (label == "yes"),
            "word": rng.choice(["01", "02", "=3"], ROWS),
            "flag": rng.random(ROWS) < 0.4,
            "row": np.arange(ROWS),
            "label": label,
        }
    )
    frame.loc[::7, "word"] = None
    Path("big").mkdir()
    frame[:25].to_parquet("big/1.parquet")
    frame[25:][frame.columns[::-1]].to_parquet("big/2.parquet")
    frame.to_csv("t.csv", index=False)
    return frame


FIT = ("--target", "label", "--drop", "row", "--model", "nb", "--seed", "1", "--output", "m.nc")


def test_a_folder_is_fitted_and_predicted_in_batches_as_in_memory(parts, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_ROWS", 11)
    command("fit", "t.csv", *FIT[:-1], "whole.nc")
    whole = bc.load("whole.nc")
    for source in ("big", "big/*.parquet"):
        assert "60 rows with a label in 2 classes were read in batches" in command("fit", source, *FIT).out
        clf = bc.load("m.nc")
        assert clf.columns_ == whole.columns_
        words = parts.assign(flag=parts["flag"].astype(str))
        np.testing.assert_allclose(clf.predict_proba(words), whole.predict_proba(words), atol=1e-12)
        said = command("predict", "m.nc", source, "--output", "a.parquet", "--reject", "0.2").out
        answers = pd.read_parquet("a.parquet")
        assert answers["row"].tolist() == list(range(1, ROWS + 1))
        np.testing.assert_allclose(answers[["P(no)", "P(yes)"]], clf.predict_proba(words), atol=1e-12)
        expected = clf.predict(words, reject=0.2)
        assert [None if pd.isna(label) else label for label in answers["predicted"]] == expected.tolist()
        assert f"{expected.tolist().count(None)} of them left undecided" in said


def test_csv_in_batches_gives_the_same_file(parts, monkeypatch):
    command("fit", "[t].csv", *FIT)
    command("predict", "m.nc", "t.csv", "--output", "whole.csv")
    monkeypatch.setattr(batches, "BATCH_ROWS", 11)
    command("predict", "m.nc", "[t].csv", "--output", "p.csv")
    whole, streamed = pd.read_csv("whole.csv"), pd.read_csv("p.csv")
    pd.testing.assert_frame_equal(whole, streamed, rtol=1e-12)
    monkeypatch.setattr(commands, "STREAMED_BYTES", 10)
    assert command("predict", "m.nc", "t.csv", "--output", "-").out == Path("p.csv").read_text()


def test_an_unseen_level_is_told_once(parts, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_ROWS", 11)
    command("fit", "big", *FIT)
    parts.assign(word="new").to_csv("new.csv", index=False)
    said = command("predict", "m.nc", "[n]ew.csv", "--output", "p.csv").err
    assert said.count("column 'word' has levels that the training rows lack: 'new'") == 1


def test_a_cell_that_cannot_be_used_leaves_what_was_there(parts, refused):
    command("fit", "big", *FIT)
    command("predict", "m.nc", "big", "--output", "a.parquet")
    parts.assign(x=np.where(np.arange(ROWS) == 55, np.inf, 0.0)).to_parquet("bad.parquet", row_group_size=20)
    said = refused("predict", "m.nc", "[b]ad.parquet", "--output", "a.parquet")
    assert "counting from row 41 of the stream: column 'x' has 1 infinite value" in said
    assert not list(Path().glob(".bayesclf*"))


def test_what_is_refused_of_streams(parts, refused):
    assert "no file matches" in refused("fit", "big/*.csv", *FIT)
    assert "--target" in refused("fit", "big", *FIT[2:])
    assert "inference='nuts' needs all rows at once" in refused(
        "fit", "big", *FIT[:4], "--model", "lr", "--inference", "nuts", *FIT[6:]
    )
    assert "has no column 'lable'" in refused("fit", "big", "--target", "lable", *FIT[2:])
    command("fit", "big", *FIT)
    parts.drop(columns="x").to_parquet("less.parquet")
    assert "lacks column 'x', which is needed" in refused("predict", "m.nc", "less.parquet", "--output", "a.parquet")


def test_predict_stream_of_any_classifier(parts):
    X, y = parts[["x", "word"]], parts["label"]
    clf = bc.LogisticRegression(random_state=1, inference="map").fit(X, y)
    assert clf.predict_stream([parts[:10], parts[10:]], "p.csv", progress=False) == ROWS
    np.testing.assert_allclose(pd.read_csv("p.csv")["P(yes)"], clf.predict_proba(X)[:, 1], rtol=1e-12)
    told = []
    clf.predict_stream(parts, "p.parquet", progress=lambda *news: told.append(news))
    assert told[-1][1:] == (ROWS, ROWS)
    assert "rows a second" in told[-1][0]
    with pytest.raises(
        InputError, match=r"end in \.parquet, \.csv, or to a folder whose name ends in /, not to p\.txt"
    ):
        clf.predict_stream(parts, "p.txt")


def test_predictions_never_replace_what_is_read(parts, refused):
    command("fit", "big", *FIT)
    clf = bc.load("m.nc")
    before = {path: path.read_bytes() for path in Path("big").iterdir()}
    for source, output in (
        ("big/1.parquet", "big/1.parquet"),
        ("big", "big/2.parquet"),
        ("big", "big/new.csv"),
        ("big/*.parquet", "big/2.parquet"),
        ("big/*.parquet", "big/3.parquet"),
    ):
        said = refused("predict", "m.nc", source, "--output", output)
        assert any(words in said for words in ("which is read", "which is in use"))
        with pytest.raises(InputError, match="which is read; choose another"):
            clf.predict_stream(source, output)
    with pytest.raises(InputError, match="which is read; choose another"):
        clf.predict_stream(dataset("big"), "big/1.parquet")
    assert "which is read" in refused("fit", "big", *FIT[:-1], "big/1.parquet")
    assert {path: path.read_bytes() for path in Path("big").iterdir()} == before
    assert clf.predict_stream("big/*.parquet", "big/3.csv") == ROWS


def test_a_stream_of_no_rows_leaves_what_was_there(parts):
    clf = bc.GaussianNB(inference="map").fit(parts[["x"]], parts["label"])
    for name in ("p.csv", "p.parquet"):
        Path(name).write_text("old")
        with pytest.raises(InputError, match="the iterable has no rows to predict"):
            clf.predict_stream([parts[:0]], name)
        assert Path(name).read_text() == "old"


@pytest.mark.parametrize("rule", ["gibbs", bc.rules.Gibbs("label"), bc.rules.Gibbs(given="data and x")])
@pytest.mark.parametrize("rows", mainly([7, 1000], 7))
def test_gibbs_draws_by_the_number_of_a_row_whatever_the_batches(parts, monkeypatch, rule, rows):
    monkeypatch.setattr(batches, "BATCH_ROWS", rows)
    X = parts[["x", "word"]]
    given = {"interval": 0.8} if rule == "gibbs" else {}
    for clf in (
        bc.NaiveBayes(random_state=1),
        bc.LogisticRegression(random_state=1, inference=bc.engines.Laplace(draws=50)),
    ):
        if isinstance(clf, bc.LogisticRegression) and isinstance(rule, bc.rules.Gibbs) and rule.given != "data":
            continue
        clf.fit(X, parts["label"])
        expected = clf.predict_proba(X, rule=rule)
        assert len(np.unique(expected.round(6))) > ROWS / 2  # rows have hypotheses of their own
        for source, output in (("big", f"{type(clf).__name__}/"), (parts, "a.parquet")):
            assert clf.predict_stream(source, output, rule=rule, **given) == ROWS
            answers = pd.read_parquet(output)
            np.testing.assert_allclose(answers[["P(no)", "P(yes)"]], expected, rtol=1e-9)
            assert answers["predicted"].tolist() == clf.predict(X, rule=rule).tolist()


def test_a_large_file_is_fitted_in_memory_where_a_model_has_no_statistics(parts, monkeypatch):
    monkeypatch.setattr(commands, "STREAMED_BYTES", 10)
    command("fit", "t.csv", *FIT[:4], "--model", "lr", "--inference", "map", "--output", "m.nc")
    assert len(bc.load("m.nc").model_.y)


def test_predict_stream_reads_files_as_told():
    X = pd.DataFrame({"a": np.arange(40) % 7, "b": np.tile(["u", "v"], 20)})
    X.to_csv("odd.csv", sep="~", index=False)
    clf = bc.NaiveBayes(random_state=1).fit(X, np.arange(40) % 2)
    assert clf.predict_stream("odd.csv", "answers.csv", reading={"separator": "~"}) == 40
    np.testing.assert_array_equal(pd.read_csv("answers.csv")["P(1)"], clf.predict_proba(X)[:, 1])
