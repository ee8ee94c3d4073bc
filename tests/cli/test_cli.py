"""The command line, as its user meets it: what it prints, writes and refuses."""

import csv
import inspect
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesclf as bc
from bayesclf import cli
from bayesclf.classifiers import CLASSIFIERS
from bayesclf.cli import options, run
from bayesclf.errors import InputError
from bayesclf.evaluation import comparison
from bayesclf.files import output_file, write_whole
from bayesclf.inference import ENGINES
from bayesclf.rules import RULES
from bayesclf.tables import datasets

QUICK = ["--inference", "lr=map"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def refused(capfd, tmp_path):
    """Return a function that runs a command that must be refused, and returns its sentence."""

    def check(*arguments):
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        capfd.readouterr()
        assert run(list(map(str, arguments))) == 2
        said = capfd.readouterr().err
        assert said.startswith("bayesclf: ")
        assert said.count("\n") == 1
        assert "Traceback" not in said
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
        return said

    return check


def table(name, text):
    Path(name).write_text(text, encoding="utf-8")
    return name


GOOD = "a,b,class\n" + "".join(f"{i},{'xy'[i % 2]},{'pq'[i % 3 % 2]}\n" for i in range(12))


def test_importing_it_loads_nothing_heavy():
    program = "import sys, bayesclf.cli; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert {"pandas", "sklearn", "scipy", "pymc", "arviz", "numpy"}.isdisjoint(loaded)


def test_version_and_help(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"bayesclf {bc.__version__}\n"
    for arguments in ([], ["--help"]):
        assert run(arguments) == 0
        assert "compare" in capsys.readouterr().out


def test_help_shows_the_names_and_defaults_there_are(capsys):
    assert options.MODEL_NAMES.split(", ") == list(CLASSIFIERS)
    assert options.RULE_NAMES.split(", ") == list(RULES)
    assert options.ENGINE_NAMES.split(", ") == ["auto", *ENGINES]
    mine, theirs = inspect.signature(cli.compare.compare).parameters, inspect.signature(comparison.compare).parameters
    for own, other in (("cv", "cv"), ("repeats", "repeats"), ("seed", "random_state"), ("jobs", "n_jobs")):
        assert mine[own].default == theirs[other].default
    for command in ("compare", "fit", "predict"):
        assert run([command, "--help"]) == 0
        assert "--output" in (said := capsys.readouterr().out) or command == "compare"
        assert command in said


def test_compare_shows_columns_scores_and_verdict(capsys):
    assert run(["compare", "play_tennis", *QUICK]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    lines = said.out.splitlines()
    assert lines[0] == "play_tennis: 14 rows, 4 features; label 'play', 2 classes (yes 9, no 5)"
    assert sum(line[2:].split(" ")[0] in RULES for line in lines if line[:2] in ("  ", "★ ")) == 2 * len(RULES)
    assert sum(line.startswith("★ ") and "±" in line for line in lines) == 1
    assert re.search(r"^  mle +0\.643 ± 0\.206 +∞ \(3 rows\) 0\.390 ", said.out, re.MULTILINE)
    assert re.search(r"^  mle +n/a ¹ +no MLE *$", said.out, re.MULTILINE)
    assert "¹ n/a: the classes are completely separable" in said.out
    assert "² n/a: a fit by MAP leaves no posterior" in said.out
    assert "smallest log loss" in said.out
    assert re.search(r"difference \S+ ± \S+\)", said.out)
    assert re.search(r" s in all; 5 folds, seed 0; a fold took ", lines[-1])


def test_an_engine_that_a_model_lacks_is_said(capsys):
    assert run(["compare", "play_tennis", "--inference", "exact", "--rules", "map,bayes-optimal"]) == 0
    said = capsys.readouterr().out
    assert "\nlr: the posterior was refused (this posterior has no closed form" in said
    assert re.search(r"^  bayes-optimal +n/a ¹ +no posterior *$", said, re.MULTILINE)


def test_compare_fits_a_narrow_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["compare", "play_tennis", *QUICK, "--rules", "mle,bayes-optimal,gibbs"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_wide_tables_are_shown_by_kind(capsys):
    assert run(["compare", "breast_cancer", "--models", "gnb", "--rules", "map"]) == 0
    said = capsys.readouterr().out
    assert "  30 numbers: mean radius, " in said


def test_json_holds_the_numbers_of_compare(capfd):
    arguments = ["compare", "play_tennis", *QUICK, "--cv", "3", "--repeats", "2", "--seed", "4", "--json", "-"]
    assert run(arguments) == 0
    found = json.loads(capfd.readouterr().out, parse_constant=pytest.fail)
    tennis = datasets.load("play_tennis")
    models = {"nb": bc.NaiveBayes(), "lr": bc.LogisticRegression(inference="map")}
    expected = bc.compare(models, tennis.X, tennis.y, cv=3, repeats=2, random_state=4)
    assert (found["best"]["model"], found["best"]["rule"]) == expected.best
    assert found["notes"] == {model: list(notes) for model, notes in expected.notes.items()}
    assert found["engines"] == {"nb": "exact", "lr": "map"}
    assert found["settings"]["inference"] == {"nb": "auto", "lr": "map"}
    assert found["versions"]["bayesclf"] == bc.__version__
    assert found["data"]["labels"] == [{"label": "no", "rows": 5}, {"label": "yes", "rows": 9}]
    records = expected.table.to_dict("records")
    assert len(found["table"]) == len(records) == 12
    infinite = 0
    for line, record in zip(found["table"], records, strict=True):
        assert set(line) == set(record)
        for name, value in record.items():
            if isinstance(value, float) and math.isnan(value):
                assert line[name] is None
            elif isinstance(value, float) and math.isinf(value):
                infinite += 1
                assert line[name] == "inf"
            else:
                assert line[name] == value
    assert infinite > 0


def test_compare_says_what_decisions_cost(capfd):
    table("cost.csv", "true,virginica,setosa,versicolor\nsetosa,1,0,1\nversicolor,1,1,0\nvirginica,0,1,5\n")
    base = ["compare", "iris", "--models", "gnb", "--cv", "3"]
    assert run([*base, "--cost", "cost.csv", "--reject", "0.2", "--json", "-"]) == 0
    found = json.loads(capfd.readouterr().out, parse_constant=pytest.fail)
    matrix = [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 5.0, 0.0]]
    assert found["settings"]["cost"] == matrix
    assert found["settings"]["reject"] == 0.2
    iris = datasets.load("iris")
    expected = bc.compare({"gnb": bc.GaussianNB()}, iris.X, iris.y, cv=3, cost=matrix, reject=0.2).table
    for name in ("cost", "cost_se", "rejected", "cost_diff"):
        assert [line[name] for line in found["table"]] == expected[name].tolist()
    assert run([*base, "--json", "-"]) == 0
    plain = json.loads(capfd.readouterr().out)
    assert plain["settings"]["cost"] is plain["settings"]["reject"] is None
    assert "cost" not in plain["table"][0]


def test_costs_have_a_place_in_the_terminal(capsys, monkeypatch):
    table("cost.csv", "0,1,1\n1,0,1\n1,5,0\n")
    base = ["compare", "iris", "--models", "gnb", "--cv", "3", "--rules", "map,gibbs"]
    monkeypatch.setenv("COLUMNS", "80")
    for arguments, columns in (
        (["--reject", "0.2"], "accuracy       log loss           cost  rejected"),
        (["--cost", "cost.csv"], "accuracy       log loss           cost"),
    ):
        assert run([*base, *arguments]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 80
        assert any(line.endswith(columns) for line in lines)
        pairs, share = (3, r" +\d+\.\d %") if "rejected" in columns else (3, "")
        assert sum(bool(re.search(rf"( +\S+ ± \S+){{{pairs}}}{share}$", line)) for line in lines) == 2
    monkeypatch.setenv("COLUMNS", "126")
    assert run([*base, "--reject", "0.2"]) == 0
    assert "cost  rejected          Brier" in capsys.readouterr().out


def test_the_number_of_processes_changes_nothing():
    for jobs in ("1", "2"):
        assert run(["compare", "iris", *QUICK, "--cv", "3", "--jobs", jobs, "--json", f"{jobs}.json"]) == 0
    assert Path("1.json").read_bytes() == Path("2.json").read_bytes()
    assert sorted(os.listdir()) == ["1.json", "2.json"]


def test_report_names_the_command():
    arguments = ["compare", "play_tennis", "--models", "nb", "--rules", "map", "--cv", "3", "--report", "page.html"]
    assert run(arguments) == 0
    assert "bayesclf compare play_tennis --models nb" in Path("page.html").read_text(encoding="utf-8")


def test_drop_and_kind_change_the_columns(capfd):
    table("t.csv", GOOD)
    base = ["compare", "t.csv", "--target", "class", "--models", "nb", "--rules", "map", "--cv", "3", "--json", "-"]
    assert run([*base, "--drop", "b", "--kind", "a=category"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert [(column["column"], column["kind"]) for column in found["data"]["columns"]] == [
        ("a", "category"),
        ("class", "label"),
    ]
    assert found["settings"]["drop"] == ["b"]


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        (GOOD, ["--target", "clas"], "no column 'clas' (did you mean 'class'?)"),
        (GOOD, [], "--target COL"),
        ("a,class\n1,x\n2,x\n", ["--target", "class"], "one class only, 'x'"),
        ("a,class\n", ["--target", "class"], "no rows"),
        ("a,t,class\n1,,x\n2,,y\n", ["--target", "class"], "leave it out with --drop t"),
        ("a,class\n1,x\ninf,y\n", ["--target", "class"], "column 'a' has 1 infinite value"),
        ("a,a,class\n1,2,x\n2,3,y\n", ["--target", "class"], "both named 'a'"),
        ("a,class\n1,x\n2,\n", ["--target", "class"], "no value in row 2"),
        ("a,class\n1,0.5\n2,1.5\n", ["--target", "class"], "holds 0.5"),
        ("a\n1\n2\n", ["--target", "a"], "no column besides the label"),
        ("", ["--target", "class"], "is empty"),
        (GOOD, ["--target", "class", "--cv", "13"], "cv"),
        (GOOD, ["--target", "class", "--cv", "1"], "--cv must be at least 2"),
        (GOOD, ["--target", "class", "--cv", "many"], "--cv"),
        (GOOD, ["--target", "class", "--repeats", "0"], "--repeats must be at least 1"),
        (GOOD, ["--target", "class", "--seed", "-1"], "--seed must be between 0 and"),
        (GOOD, ["--target", "class", "--jobs", "0"], "--jobs must be at least 1"),
        (GOOD, ["--target", "class", "--models", "nb,lri"], "no 'lri' (did you mean 'lr'?); it takes nb, gnb"),
        (GOOD, ["--target", "class", "--models", ","], "--models names nothing"),
        (GOOD, ["--target", "class", "--models", "gnb"], "column 'b' holds categories, and gnb takes numbers"),
        (GOOD, ["--target", "class", "--kind", "b=text"], "column 'b' holds text"),
        (GOOD, ["--target", "class", "--rules", "best"], "it takes mle, map, mean, bayes-optimal"),
        (GOOD, ["--target", "class", "--inference", "vi"], "it takes auto, mle, map, exact, nuts, laplace"),
        (GOOD, ["--target", "class", "--inference", "gnb=map"], "it takes nb, lr"),
        (GOOD, ["--target", "class", "--inference", "map,mle"], "names map and mle"),
        (GOOD, ["--target", "class", "--inference", "map", "--rules", "gibbs"], "no model can answer"),
        (GOOD, ["--target", "class", "--kind", "a"], "--kind a=category"),
        (GOOD, ["--target", "class", "--kind", "a=date"], "number, category, text"),
        (GOOD, ["--target", "class", "--kind", "b=number"], "'x', 'y'"),
        (GOOD, ["--target", "class", "--kind", "z=number"], "no column 'z'"),
        (GOOD, ["--target", "class", "--kind", "a=number", "--kind", "a=text"], "say it once"),
        (GOOD, ["--target", "class", "--drop", "c"], "no column 'c'"),
        (GOOD, ["--target", "class", "--drop", "class"], "label column"),
        (GOOD, ["--target", "class", "--drop", "a", "--drop", "b"], "keep at least one"),
        (GOOD, ["--target", "class", "--frobnicate"], "--frobnicate"),
        (GOOD, ["--target", "class", "--json", "no/such/x.json"], "there is no folder"),
        (GOOD, ["--target", "class", "--json", "."], "is a folder"),
        (GOOD, ["--target", "class", "--json", "/dev/null"], "not an ordinary file"),
        (GOOD, ["--target", "class", "--json", "t.csv"], "also t.csv"),
        (GOOD, ["--target", "class", "--report", "x.html", "--json", "x.html"], "choose another name"),
        (GOOD, ["--target", "class", "--report", "-"], "--report -"),
        (GOOD, ["--target", "class", "--reject", "1.5"], "--reject must lie between 0 and 1"),
        (GOOD, ["--target", "class", "--cost", "gone.csv"], "--cost gone.csv cannot be read"),
        (GOOD, ["--target", "class", "--cost", "t.csv"], "--cost t.csv has 13 rows of 3 cells, but 2 labels need 2"),
        (GOOD, ["--target", "class", "--cost", "t.csv", "--json", "t.csv"], "in use"),
    ],
)
def test_compare_refuses_in_one_sentence(refused, text, arguments, said):
    table("t.csv", text)
    assert said in refused("compare", "t.csv", *arguments)


def test_files_that_cannot_be_read(refused, tmp_path):
    Path("latin.csv").write_bytes("größe,class\n1,x\n".encode("latin-1"))
    assert "not UTF-8" in refused("compare", "latin.csv", "--target", "class")
    assert "is a folder" in refused("compare", str(tmp_path), "--target", "class")
    assert "no file and no data set" in refused("compare", "irsi")
    assert "does not exist" in refused("compare", "gone.csv", "--target", "class")
    if os.geteuid() != 0:
        Path(table("mine.csv", GOOD)).chmod(0)
        assert "may not be read" in refused("compare", "mine.csv", "--target", "class")


def test_output_onto_a_data_set_of_the_folder(refused, monkeypatch, tmp_path):
    Path("own").mkdir()
    table("own/mine.csv", GOOD)
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path / "own"))
    assert "in use" in refused("compare", "mine", "--json", "own/mine.csv")
    assert "in use" in refused("datasets", "export", "mine", "--output", "own/mine.csv")
    assert "in use" in refused("fit", "mine", "--model", "nb", "--output", "own/mine.csv")


def test_numbers_as_labels(capfd):
    text = "a,class\n" + "".join(f"{i},{1 + i % 2}\n" for i in range(12))
    table("t.csv", text)
    assert run(["compare", "t.csv", "--target", "class", "--models", "nb", "--rules", "map", "--json", "-"]) == 0
    assert [label["label"] for label in json.loads(capfd.readouterr().out)["data"]["labels"]] == ["1", "2"]


@pytest.fixture
def fitted(capfd):
    """Return the file of a naive Bayes classifier of the tennis table, and that of the table."""
    assert run(["datasets", "export", "play_tennis", "--output", "tennis.csv"]) == 0
    assert run(["fit", "tennis.csv", "--target", "play", "--model", "nb", "--output", "m.nc", "--seed", "1"]) == 0
    assert "nb fitted by exact" in capfd.readouterr().out
    return "m.nc", "tennis.csv"


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_predict_gives_the_answers_of_the_classifier(fitted, capfd):
    model, path = fitted
    frame = pd.read_csv(path)
    clf = bc.load(model)
    for arguments, settings in (
        ([], {}),
        (["--rule", "map"], {"rule": "map"}),
        (["--rule", "gibbs"], {"rule": "gibbs"}),
        (["--class-prior", "yes=0.2,no=0.8"], {"class_prior": [0.8, 0.2]}),
        (["--class-prior", "0.8,0.2"], {"class_prior": [0.8, 0.2]}),
    ):
        assert run(["predict", model, path, "--output", "p.csv", *arguments]) == 0
        rows = rows_of("p.csv")
        assert list(rows[0]) == ["row", "predicted", "P(no)", "P(yes)"]
        assert [row["row"] for row in rows] == [str(number) for number in range(1, 15)]
        assert [row["predicted"] for row in rows] == clf.predict(frame, **settings).tolist()
        found = np.array([[float(row["P(no)"]), float(row["P(yes)"])] for row in rows])
        np.testing.assert_array_equal(found, clf.predict_proba(frame, **settings))
    capfd.readouterr()
    assert run(["predict", model, path, "--output", "-"]) == 0
    assert capfd.readouterr().out.startswith("row,predicted,P(no),P(yes)\n1,")


def test_costs_and_rejection(fitted, capfd):
    model, path = fitted
    clf, frame = bc.load(model), pd.read_csv(path)
    cost = np.array([[0.0, 5.0], [1.0, 0.0]])
    table("labels.csv", "true,yes,no\nyes,0,1\nno,5,0\n")
    table("plain.csv", "0,5\n1,0\n")
    for name in ("labels.csv", "plain.csv"):
        assert run(["predict", model, path, "--cost", name, "--reject", "0.4", "--output", "p.csv"]) == 0
        expected = clf.predict(frame, cost=cost, reject=0.4)
        assert [row["predicted"] for row in rows_of("p.csv")] == ["" if label is None else label for label in expected]
        assert f"{sum(label is None for label in expected)} of them left undecided" in capfd.readouterr().out
    assert None in expected


def test_sets_intervals_and_uncertainty_are_columns_of_their_own(fitted):
    model, path = fitted
    clf, frame = bc.load(model), pd.read_csv(path)
    prior = [0.7, 0.3]
    for rule in ("bayes-optimal", "predictive"):
        options = ["--rule", rule, "--class-prior", "0.7,0.3", "--sets", "0.8", "--interval", "0.5", "--uncertainty"]
        assert run(["predict", model, path, "--output", "p.csv", *options]) == 0
        found = pd.read_csv("p.csv")
        labels = [f"({label})" for label in clf.classes_]
        assert list(found) == [
            *("row", "predicted", "P(no)", "P(yes)", "in_set_0.8(no)", "in_set_0.8(yes)"),
            *("P_low_0.5(no)", "P_low_0.5(yes)", "P_high_0.5(no)", "P_high_0.5(yes)"),
            *("entropy_total_nats", "entropy_aleatoric_nats", "entropy_epistemic_nats"),
        ]
        sets = clf.predict_set(frame, 0.8, rule, prior)
        np.testing.assert_array_equal(found[[f"in_set_0.8{label}" for label in labels]], sets.member.astype(int))
        bounds = clf.predict_interval(frame, 0.5, rule, prior)
        for side, name in enumerate(("low", "high")):
            np.testing.assert_array_equal(found[[f"P_{name}_0.5{label}" for label in labels]], bounds[..., side])
        split = clf.uncertainty(frame, rule, prior)
        for name in ("total", "aleatoric", "epistemic"):
            np.testing.assert_array_equal(found[f"entropy_{name}_nats"], getattr(split, name))
    assert not np.allclose(bounds, clf.predict_interval(frame, 0.5, rule))


def test_a_point_estimate_has_no_intervals(refused, capfd):
    table("t.csv", GOOD)
    fit = ["fit", "t.csv", "--target", "class", "--model", "nb", "--inference", "map", "--output", "m.nc"]
    assert run(fit) == 0
    assert "leaves no posterior" in refused("predict", "m.nc", "t.csv", "--interval", "0.9", "--output", "p.csv")
    assert run(["predict", "m.nc", "t.csv", "--sets", "0.9", "--output", "-"]) == 0
    assert "in_set_0.9(p)" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sets", "1"], "--sets is a probability between 0 and 1"),
        (["--interval", "89"], "--interval is a probability between 0 and 1, such as 0.9, not 89"),
        (["--rule", "median"], "it takes mle, map"),
        (["--reject", "1.5"], "between 0 and 1"),
        (["--reject", "-0.1"], "between 0 and 1"),
        (["--reject", "nan"], "between 0 and 1"),
        (["--reject", "-1", "--cost", "good.csv"], "at least 0"),
        (["--cost", "gone.csv"], "cannot be read"),
        (["--cost", "wide.csv"], "2 rows of 3 cells"),
        (["--cost", "ragged.csv"], "2 rows of 1 or 2 cells"),
        (["--cost", "words.csv"], "'many' for no predicted as yes"),
        (["--cost", "labels.csv"], "the header has yes, maybe"),
        (["--cost", "empty.csv"], "0 rows of no cells"),
        (["--class-prior", "0.5"], "2 probabilities"),
        (["--class-prior", "yes=0.5,no=0.6"], "add up to 1"),
        (["--class-prior", "yes=1"], "no probability for 'no'"),
        (["--class-prior", "yes=0.5,maybe=0.5"], "it takes no, yes"),
        (["--class-prior", "half,half"], "not a number"),
        (["--output", "m.nc"], "in use"),
        (["--output", "tennis.csv"], "in use"),
        (["--cost", "good.csv", "--output", "good.csv"], "in use"),
        (["--output", "no/such.csv"], "there is no folder"),
    ],
)
def test_predict_refuses_in_one_sentence(fitted, refused, arguments, said):
    table("good.csv", "0,5\n1,0\n")
    table("wide.csv", "0,1,2\n1,0,2\n")
    table("ragged.csv", "0,1\n1\n")
    table("words.csv", "0,many\n1,0\n")
    table("labels.csv", ",yes,maybe\nyes,0,1\nmaybe,1,0\n")
    table("empty.csv", "")
    output = [] if "--output" in arguments else ["--output", "p.csv"]
    assert said in refused("predict", *fitted, *arguments, *output)


def test_models_and_tables_that_do_not_fit(fitted, refused, capfd):
    model, path = fitted
    whole = Path(model).read_bytes()
    Path("cut.nc").write_bytes(whole[: len(whole) // 2])
    table("text.nc", "not a model\n")
    assert "cut off or damaged" in refused("predict", "cut.nc", path, "--output", "p.csv")
    assert "not a model" in refused("predict", "text.nc", path, "--output", "p.csv")
    assert "no file gone.nc" in refused("predict", "gone.nc", path, "--output", "p.csv")
    table("few.csv", "outlook,wind\nsunny,weak\n")
    assert "lacks the columns 'temperature', 'humidity'" in refused("predict", model, "few.csv", "--output", "p.csv")
    table("new.csv", "wind,outlook,temperature,humidity,extra\nweak,fog,,high,1\n")
    assert run(["predict", model, "new.csv", "--output", "-"]) == 0
    said = capfd.readouterr()
    assert said.out.count("\n") == 2
    assert said.err == "bayesclf: note: column 'outlook' has levels that the training rows lack: 'fog'\n"


def test_fit_refuses_in_one_sentence(refused):
    table("t.csv", GOOD)
    base = ["fit", "t.csv", "--target", "class"]
    assert "--model has no 'svm'" in refused(*base, "--model", "svm", "--output", "m.nc")
    assert "--inference has no 'vi'" in refused(*base, "--model", "nb", "--inference", "vi", "--output", "m.nc")
    assert "no Laplace" in refused(*base, "--model", "nb", "--inference", "laplace", "--output", "m.nc")
    assert "--seed must be" in refused(*base, "--model", "nb", "--seed", str(2**32), "--output", "m.nc")
    assert "--output - is not possible" in refused(*base, "--model", "nb", "--output", "-")
    assert "missing option '--model'" in refused(*base, "--output", "m.nc")
    assert "column 'b' holds categories" in refused(*base, "--model", "gnb", "--output", "m.nc")


def test_words_that_look_like_numbers_stay_words(capfd):
    text = "code,class\n" + "".join(f"0{i % 3},{'pq'[i % 3 == 0]}\n" for i in range(30))
    table("t.csv", text)
    fit = ["fit", "t.csv", "--target", "class", "--kind", "code=category", "--model", "nb", "--output", "m.nc"]
    assert run(fit) == 0
    capfd.readouterr()
    assert run(["predict", "m.nc", "t.csv", "--output", "p.csv"]) == 0
    assert capfd.readouterr().err == ""
    assert [row["predicted"] for row in rows_of("p.csv")][:3] == ["q", "p", "p"]


def test_warnings_become_notes(capfd):
    table("t.csv", "a,class\n" + "x,p\ny,q\n" * 3)
    table("new.csv", "a\nx\n")
    assert run(["fit", "t.csv", "--target", "class", "--model", "nb", "--inference", "mle", "--output", "m.nc"]) == 0
    table("two.csv", "a,b,class\n" + "x,s,p\ny,t,q\n" * 3)
    table("odd.csv", "a,b\nx,t\n")
    assert run(["fit", "two.csv", "--target", "class", "--model", "nb", "--inference", "mle", "--output", "n.nc"]) == 0
    capfd.readouterr()
    assert run(["predict", "m.nc", "new.csv", "--output", "-"]) == 0
    assert capfd.readouterr().err == ""
    assert run(["predict", "n.nc", "odd.csv", "--output", "-"]) == 0
    assert capfd.readouterr().err.startswith("bayesclf: note: 1 of 1 rows have probability zero under every class")


def test_datasets(capfd, refused):
    for arguments in (["datasets"], ["datasets", "list"]):
        assert run(arguments) == 0
        assert re.search(r"^iris +150 +5 ", capfd.readouterr().out, re.MULTILINE)
    assert run(["datasets", "show", "play_tennis"]) == 0
    assert "Mitchell" in (said := capfd.readouterr().out)
    assert re.search(r"^outlook +category +3 +sunny 5", said, re.MULTILINE)
    assert run(["datasets", "export", "iris", "--output", "iris.csv"]) == 0
    pd.testing.assert_frame_equal(datasets.load("iris.csv", "target").frame, datasets.load("iris").frame)
    assert "did you mean 'iris'" in refused("datasets", "show", "irsi")


def test_an_unexpected_error_keeps_its_traceback(monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(comparison, "compare", fail)
    with pytest.raises(ZeroDivisionError):
        run(["compare", "iris"])


def test_an_interruption_leaves_nothing(monkeypatch, capfd):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison, "compare", stop)
    table("old.json", "{}")
    assert run(["compare", "iris", "--json", "old.json"]) == 130
    assert capfd.readouterr().err == "bayesclf: interrupted\n"
    assert Path("old.json").read_text() == "{}"
    assert os.listdir() == ["old.json"]


def test_ctrl_c_in_a_process_of_its_own():
    # a background job of a script inherits SIGINT ignored, and Python leaves it so; here it is as at a terminal
    program = "import signal, time, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    program += "from bayesclf import comparison, cli; print('ready', flush=True)\n"
    program += "comparison.compare = lambda *_, **__: print('asleep', flush=True) or time.sleep(60)\n"
    program += "sys.argv = ['bayesclf', 'compare', 'play_tennis', '--json', 'x.json']; cli.main()"
    with subprocess.Popen(
        [sys.executable, "-u", "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        while "asleep" not in process.stdout.readline():
            pass
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said == "bayesclf: interrupted\n"
    assert os.listdir() == []


def test_a_write_that_fails_leaves_the_old_file():
    table("old.txt", "old")

    def fail(part):
        part.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match="No space left"):
        write_whole(Path("old.txt"), fail)
    assert Path("old.txt").read_text() == "old"
    assert os.listdir() == ["old.txt"]


def test_links_stay_links():
    table("real.txt", "old")
    Path("link.txt").symlink_to("real.txt")
    write_whole(output_file("link.txt", "--output"), lambda part: part.write_text("new"))
    assert Path("link.txt").is_symlink()
    assert Path("real.txt").read_text() == "new"
    with pytest.raises(InputError, match="in use"):
        output_file("link.txt", "--output", ["real.txt"])


def test_notes_that_say_the_same_of_several_fits_are_shown_once(monkeypatch, capfd):
    compare = comparison.compare

    def with_notes(*arguments, **settings):
        found = compare(*arguments, **settings)
        found.notes["nb"] = ("the chains disagree: R-hat is 1.012", "the chains disagree: R-hat is 1.3", "a note")
        found.notes["lr"] = ("a note",)
        return found

    monkeypatch.setattr(comparison, "compare", with_notes)
    assert run(["compare", "play_tennis", *QUICK, "--rules", "map"]) == 0
    said = capfd.readouterr().out
    assert "\nnb: the chains disagree: R-hat is 1.012 (1 more like this; --json has all)" in said
    assert "R-hat is 1.3" not in said
    assert "\nnb, lr: a note" in said
