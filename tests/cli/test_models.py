"""Fitting a model and predicting with it on the command line."""

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.commands import GOOD, command, rows_of, table

import bayesclf as bc
from bayesclf.cli.options import read_cost
from bayesclf.tables import datasets

pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return the files of a naive Bayes classifier of the tennis table and of the table, by name."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv(datasets.FOLDER_VARIABLE, raising=False)
        command("datasets", "export", "play_tennis", "--output", "tennis.csv")
        fit = ("fit", "tennis.csv", "--target", "play", "--model", "nb", "--output", "m.nc", "--seed", "1")
        assert "nb fitted by exact" in command(*fit).out
    return {name: (folder / name).read_bytes() for name in ("m.nc", "tennis.csv")}


@pytest.fixture
def fitted(made):
    """Return the file of a naive Bayes classifier of the tennis table, and that of the table."""
    for name, content in made.items():
        Path(name).write_bytes(content)
    return "m.nc", "tennis.csv"


def test_predict_gives_the_answers_of_the_classifier(fitted):
    model, path = fitted
    frame = pd.read_csv(path)
    clf = bc.load(model)
    for arguments, settings in (
        ([], {}),
        (["--rule", "map"], {"rule": "map"}),
        (["--rule", "gibbs"], {"rule": "gibbs"}),
    ):
        command("predict", model, path, "--output", "p.csv", *arguments)
        rows = rows_of("p.csv")
        assert list(rows[0]) == ["row", "predicted", "P(no)", "P(yes)"]
        assert [row["row"] for row in rows] == [str(number) for number in range(1, 15)]
        assert [row["predicted"] for row in rows] == clf.predict(frame, **settings).tolist()
        found = np.array([[float(row["P(no)"]), float(row["P(yes)"])] for row in rows])
        np.testing.assert_array_equal(found, clf.predict_proba(frame, **settings))
    assert command("predict", model, path, "--output", "-").out.startswith("row,predicted,P(no),P(yes)\n1,")


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_columns_that_name_the_rows_are_written_first(fitted, ending):
    frame = pd.read_csv(fitted[1]).assign(patient_id=[f"{7 * i:04d}" for i in range(14)], name=[*"abcdefghijklm", None])
    new = f"new.{ending}"
    {"csv": frame.to_csv, "json": partial(frame.to_json, orient="records"), "parquet": frame.to_parquet}[ending](new)
    ids, names = frame["patient_id"].tolist(), [*"abcdefghijklm", ""]
    command("predict", "m.nc", new, "--output", "p.csv")
    rows = rows_of("p.csv")
    assert list(rows[0]) == ["row", "patient_id", "predicted", "P(no)", "P(yes)"]
    assert "P_low_0.5(no)," in command("predict", "m.nc", new, "--interval", "0.5", "--output", "-").out
    assert [row["patient_id"] for row in rows] == ids
    for output in ("q.csv", "q.parquet", "parts/"):
        command("predict", "m.nc", new, "--copy", "name", "--copy", "wind", "--output", output)
    read = [pd.read_csv("q.csv", dtype=str), pd.read_parquet("q.parquet"), pd.read_parquet("parts/")]
    for found in read:
        assert found["patient_id"].tolist() == ids
        assert found["name"].fillna("").tolist() == names
        assert found["wind"].tolist() == frame["wind"].tolist()


def test_costs_and_rejection(fitted):
    model, path = fitted
    clf, frame = bc.load(model), pd.read_csv(path)
    cost = np.array([[0.0, 5.0], [1.0, 0.0]])
    table("labels.csv", "true,yes,no\nyes,0,1\nno,5,0\n")
    said = command("predict", model, path, "--cost", "labels.csv", "--reject", "0.4", "--output", "p.csv").out
    expected = clf.predict(frame, cost=cost, reject=0.4)
    assert [row["predicted"] for row in rows_of("p.csv")] == ["" if label is None else label for label in expected]
    assert f"{sum(label is None for label in expected)} of them left undecided" in said
    assert None in expected


@pytest.mark.parametrize("labels", [["NA", "né"], ["c1", "c2"], ["1.0", "2.0"]])
@pytest.mark.parametrize("text", ["true,{0},{1}\n{1},5,0\n{0},0,1.5\n", ";{0};{1}\n{1};5;0\n{0};0;1,5\n"])
def test_costs_are_read_as_tables_are(text, labels):
    Path("labels.csv").write_text(text.format(*labels), encoding="cp1252")
    np.testing.assert_array_equal(read_cost("labels.csv", labels), [[0.0, 1.5], [5.0, 0.0]])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--rule median", "it takes mle, map"),
        ("--reject -0.1", "value for '--reject'"),
        ("--reject nan", "reject"),
        ("--copy widn", "lacks column 'widn' (did you mean 'wind'?), which is needed"),
        ("--cost gone.csv", "does not exist"),
        ("--cost wide.csv", "the header has 1, 2, but the labels are no, yes"),
        ("--cost words.csv", "has no number for no predicted as yes"),
        ("--cost gap.csv", "has no number for no predicted as yes"),
        ("--cost labels.csv", "the header has yes, maybe"),
        ("--cost empty.csv", "--cost empty.csv is empty"),
        ("--output m.nc", "in use"),
        ("--output tennis.csv", "in use"),
        ("--cost good.csv --output good.csv", "in use"),
        ("--output no/such.csv", "there is no folder"),
    ],
)
def test_predict_refuses_in_one_sentence(fitted, refused, arguments, said):
    table("good.csv", ",no,yes\nno,0,5\nyes,1,0\n")
    table("wide.csv", "0,1,2\n1,0,2\n")
    table("words.csv", ",no,yes\nno,0,many\nyes,1,0\n")
    table("gap.csv", ",no,yes\nno,0,\nyes,1,0\n")
    table("labels.csv", ",yes,maybe\nyes,0,1\nmaybe,1,0\n")
    table("empty.csv", "")
    output = [] if "--output" in arguments else ["--output", "p.csv"]
    assert said in refused("predict", *fitted, *arguments.split(), *output)


def test_models_and_tables_that_do_not_fit(fitted, refused):
    model, path = fitted
    whole = Path(model).read_bytes()
    Path("cut.nc").write_bytes(whole[: len(whole) // 2])
    table("text.nc", "not a model\n")
    assert "or it is damaged" in refused("predict", "cut.nc", path, "--output", "p.csv")
    assert "not a model" in refused("predict", "text.nc", path, "--output", "p.csv")
    assert "gone.nc does not exist" in refused("predict", "gone.nc", path, "--output", "p.csv")
    table("few.csv", "outlook,wind\nsunny,weak\n")
    assert "lacks column 'temperature', 'humidity', which is needed" in refused(
        "predict", model, "few.csv", "--output", "p.csv"
    )
    table("new.csv", "wind,outlook,temperature,humidity,extra\nweak,fog,,high,1\nweak,Sunny,,high,1\n")
    said = command("predict", model, "new.csv", "--output", "-")
    assert said.out.count("\n") == 3
    lacking = "levels that the training rows lack: 'Sunny', 'fog'"
    assert said.err.count(f"bayesclf: note: column 'outlook' has {lacking}\n") == 1
    assert "'outlook' has 'Sunny', which the training rows lack; did you mean 'sunny'?" in said.err


def test_fit_refuses_in_one_sentence(refused):
    table("t.csv", GOOD)
    base = ["fit", "t.csv", "--target", "class"]
    assert "--model has no 'svm'" in refused(*base, "--model", "svm", "--output", "m.nc")
    assert "--inference has no 'vi'" in refused(*base, "--model", "nb", "--inference", "vi", "--output", "m.nc")
    assert "no Laplace" in refused(*base, "--model", "nb", "--inference", "laplace", "--output", "m.nc")
    assert "value for '--seed'" in refused(*base, "--model", "nb", "--seed", "-1", "--output", "m.nc")
    assert "--output - is not possible" in refused(*base, "--model", "nb", "--output", "-")
    assert "missing option '--model'" in refused(*base, "--output", "m.nc")
    said = refused(*base, "--model", "gnb", "--output", "m.nc")
    assert "column 'b' holds categories" in said
    assert said.rstrip().endswith("or choose another --model")


@pytest.fixture
def codes():
    """Write a table of a column of codes and one that looks like numbers but for a cell."""
    code = [1.5 * (row % 24) for row in range(120)]
    age = [str(row % 40) for row in range(119)] + ["old"]
    pd.DataFrame({"code": code, "age": age, "y": ["no", "yes", "yes"] * 40}).to_csv("codes.csv", index=False)
    return "fit", "codes.csv", "--target", "y", "--seed", "1", "--output", "m.nc", "--model"


def test_that_numbers_are_categories_is_said_by_an_option(codes, refused):
    """Each sentence that asks for it names the option, which then is enough."""
    option = "--kind code=category"
    assert option in refused(*codes, "joint")
    assert option not in command(*codes, "joint", *option.split()).out
    said = " ".join(command(*codes, "categorical").out.split())
    assert option in said
    assert "--kind age=category" in said
    said = " ".join(command(*codes, "categorical", *option.split(), "--kind", "age=category").out.split())
    assert option not in said
    assert "--kind age=category" not in said


@pytest.mark.usefixtures("unwritten_figures")
def test_a_model_file_without_the_labels_name_asks_for_it(refused):
    table("t.csv", GOOD)
    command("fit", "t.csv", "--target", "class", "--model", "nb", "--output", "m.nc")
    clf = bc.load("m.nc")
    assert clf.target_name_ == "class"
    clf.target_name_ = None  # as after a fit of labels without a name
    clf.save("old.nc")
    assert "name it with --target COL" in refused("report", "old.nc", "--table", "t.csv", "--output", "r.html")


@pytest.fixture
def partly(own_folder):
    """Return a file whose labels are whole numbers, of which a third is missing, and its table."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60).round(3), "word": rng.choice(list("ab"), 60)})
    labels = pd.Series(rng.integers(2, size=60), dtype="Int64").where(np.arange(60) % 3 > 0)
    frame["y"] = labels
    frame.to_csv("partly.csv", index=False)
    return "partly.csv", frame


def test_rows_without_a_label_are_refused_or_dropped(partly, refused):
    path, frame = partly
    fit = ["fit", path, "--target", "y", "--model", "nb", "--inference", "map", "--output", "m.nc"]
    said = refused(*fit, "--unlabeled", "error")
    assert "the label column 'y' has no value in rows 1, 4, 7" in said
    assert "--unlabeled drop" in said
    X = frame[["x", "word"]]
    assert "40 rows, 2 features; label 'y', 2 classes" in (shown := command(*fit).out)
    assert "read: 20 rows of 60 without a label left out (rows 1, 4, 7" in shown
    there = frame["y"].notna()
    dropped = bc.NaiveBayes(inference="map").fit(X[there], frame["y"][there].astype(int))
    np.testing.assert_array_equal(bc.load("m.nc").predict_proba(X), dropped.predict_proba(X))
    frame.assign(x=frame["x"].where(np.arange(60) % 4 > 0, 999)).to_csv(path, index=False)
    assert command(*fit).out.count("column 'x' is 999 in") == 1  # in 15 cells of the file, and 10 of rows with a label


def test_rows_without_a_label_that_cannot_be_used(partly, refused):
    path, frame = partly
    fit = ["--target", "y", "--model", "nb", "--output", "m.nc", "--unlabeled"]
    said = refused("fit", "part*.csv", *fit, "error")
    assert "column 'y' has no label in rows 1, 4, 7" in said
    assert "--unlabeled drop" in said
    assert "--unlabeled has no 'keep'; it takes drop, error" in refused("fit", path, *fit, "keep")
    frame.assign(y=None).to_csv(path, index=False)
    assert "the label column 'y' has no value in any row" in refused("fit", path, *fit, "drop")


def test_a_rule_that_is_bayes_optimal_for_the_model_is_told_of():
    table("t.csv", "\n".join(["a,y", *(f"{i % 7},{'yes' if i % 9 > 3 else 'no'}" for i in range(40))]) + "\n")
    command("fit", "t.csv", "--target", "y", "--model", "lr", "--output", "m.nc")
    told = command("predict", "m.nc", "t.csv", "--rule", "tempered", "--output", "p.csv").err
    assert "so the rule tempered is bayes-optimal" in told


@pytest.mark.parametrize("model", ["nb", "lr"])
def test_numbers_far_outside_the_training_rows_are_told_of_however_the_table_was_read(model):
    rows = [f"{1.5 + i % 9 / 10},{i % 7},{'yes' if i % 9 > 3 else 'no'}" for i in range(90)]
    table("people.csv", "\n".join(["height,steps,y", *rows]) + "\n")
    table("others.csv", "height,steps\n1.9,3\n178,3\n1.6,9\n181,2\n")
    table("alike.csv", "height,steps\n1.9,3\n2.4,8\n")
    said = "column 'height' has numbers far outside the range of the training rows, such as 178 (1.5 to 2.3)"
    command("fit", "people.csv", "--target", "y", "--model", model, "--inference", "map", "--output", "m.nc")
    told = command("predict", "m.nc", "others.csv", "--output", "out.csv").err
    assert told.startswith(f"bayesclf: note: {said}")
    assert told.count("\n") == 1
    assert command("predict", "m.nc", "alike.csv", "--output", "out.csv").err == ""
