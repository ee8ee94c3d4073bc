"""Comparing models on the command line: what is printed, written and refused."""

import json
import math
import re
import shlex
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.commands import GOOD, QUICK, command, table
from helpers.pages import Page

import bayesclf as bc
from bayesclf.evaluation import comparison
from bayesclf.evaluation.score_table import BASELINE, mean
from bayesclf.rules import RULES
from bayesclf.tables import datasets

pytestmark = pytest.mark.usefixtures("own_folder")
FEW_FITS = ("--cv", "2", "--repeats", "1", "--no-peers")


def test_compare_shows_columns_scores_and_verdict():
    said = command("compare", "play_tennis", *QUICK, "--rules", "all", "--repeats", "1")
    assert said.err.startswith("bayesclf: nb: done, 6 of 12 fits\nbayesclf: lr: done, 12 of 12 fits\n")
    assert said.sentences == ""
    lines = said.out.splitlines()
    assert lines[0] == "play_tennis: 14 rows, 4 features; label 'play', 2 classes (yes 9, no 5)"
    assert sum(line[2:].startswith("nb ") for line in lines) == len(RULES) - 1  # mean and predictive are equal here
    assert not any(line.startswith("> ") for line in lines)  # none is clearly better than the class shares
    assert not any(line.startswith("To fit") for line in lines)
    assert re.search(r"^  nb        mle +\S+ ± \S+% +∞ \(\d rows\), else 0\.\d+ ", said.out, re.MULTILINE)
    words = " ".join(said.out.split())
    assert "Logistic regression (lr) has no answer under mle: the classes are separable" in words
    assert "predictive, tempered and gibbs: a fit by MAP has no posterior" in words
    assert "What not to trust here: - The labels are" in words
    assert "No model is clearly better than always predicting the class shares" in words
    assert re.search(r"its log loss is larger by \S+ ± \S+\.", words)
    assert "± is one cautious standard error. Clear differences hold with 95% confidence" in words
    assert re.search(r" s in all; 5 folds(, \d times)?, seed 0; a fold took ", words)


def test_the_last_line_is_a_command_that_fits_the_model_to_use():
    table("odd.csv", "x;z;my label\n" + "".join(f"{i % 7 - 3 * (i % 2)};{i};{i % 2}\n" for i in range(60)))
    options = ("--target", "my label", "--drop", "z", "--separator", ";", "--inference", "nb=map")
    asked = ("--models", "nb", "--rules", "map", "--cv", "3", "--report", "odd.json")
    last = command("compare", "odd.csv", *asked, *options).out.splitlines()[-1]
    name, _, line = last.partition(": ")
    assert name == "To fit nb"
    assert json.dumps(f"Next: {line}") in Path("odd.json").read_text()
    assert "nb fitted by map" in command(*shlex.split(line)[1:]).out
    assert [column.name for column in bc.load("nb.nc").columns_] == ["x"]


def test_rows_of_a_group_stay_in_one_fold_as_the_remedy_for_repeated_rows_says():
    rows = [f"{i % 37 + 40 * (i % 2)},{i * 7 % 29},{i % 2},u{i}\n" for i in range(40)]
    table("units.csv", "x,z,y,unit\n" + "".join(rows * 3))
    asked = ("compare", "units.csv", "--target", "y", "--models", "nb", *FEW_FITS)
    told = " ".join(command(*asked, "--drop", "unit").out.split())
    assert "all rows of a unit in one fold: --group COL" in told
    said = command(*asked, "--group", "unit", "--drop", "unit").out
    assert "equal a training row" not in " ".join(said.split())
    assert said.splitlines()[-1].count("--drop unit") == 1
    two = ("--models", "nb,gnb", "--group", "unit", "--report", "units.md")
    command("compare", "units.csv", "--target", "y", *FEW_FITS, *two)
    assert Path("units.md").read_text().count("ows of a group stay in one fold") == 1


def test_texts_beside_other_columns_are_compared_and_fitted_by_what_is_printed(refused):
    rows = [f"{'good' if i % 2 else 'bad'} day {i},{i % 3},{i % 2}\n" for i in range(40)]
    table("notes.csv", "note,x,y\n" + "".join(rows))
    asked = ("compare", "notes.csv", "--target", "y", "--rules", "map", *FEW_FITS, "--report", "notes.json")
    assert "(--text note fits a text model to 'note' alone)" in " ".join(command(*asked, "--models", "nb").out.split())
    for way in ("--models text", "--kind note=text", "--text note --models nb,lr"):
        assert "say --models text --text note, " in refused(*asked, *way.split())
    line = command(*asked, "--text", "note").out.splitlines()[-1].partition(": ")[2]
    assert "comparison.fits" not in Path("notes.json").read_text()
    assert "text fitted by exact" in command(*shlex.split(line)[1:]).out
    assert list(bc.load("text.nc").feature_names_in_) == ["note"]
    table("alone.csv", "note,y\n" + "".join(row.replace(f",{i % 3},", ",") for i, row in enumerate(rows)))
    assert "alone.csv: no column is left" in (said := refused("compare", "alone.csv", "--target", "y"))
    assert "; --text note fits a text model" in said
    Path("parts").mkdir()
    Path("notes.csv").rename("parts/notes.csv")
    assert "40 rows" in command("fit", "parts", *shlex.split(line)[3:], "--kind", "x=number", "--drop", "x").out
    assert "no column is left" in refused("fit", "parts", *shlex.split(line)[3:], "--drop", "note")
    again = shlex.split(line.replace("--model text", "--model nb"))[3:]
    assert "say --model text --text note, or" in refused("fit", "parts", *again)


def test_the_command_to_use_reads_the_table_as_it_was_read():
    rows = "".join(f"{'uw'[i % 2]},{'vz'[i % 3 % 2]},{'pq'[i % 2]}\n" for i in range(59))
    table("-odd.csv", f"a,b,p\n{rows}")  # whose first row would be taken for names
    options = ("--models", "nb", "--rules", "map", "--cv", "3", "--inference", "nb=map", "--target", "3", "--no-header")
    line = command("compare", *options, "--", "-odd.csv").out.splitlines()[-1].partition(": ")[2]
    assert "60 rows, 2 features" in command(*shlex.split(line)[1:]).out


def test_the_rule_of_the_model_to_use_is_named_where_predict_would_take_another():
    table("plain.csv", "x,y\n" + "".join(f"{i % 7 - 3 * (i % 2)},{i % 2}\n" for i in range(60)))
    named = "To predict as in this comparison, use bayesclf predict with --rule map."
    base = ("compare", "plain.csv", "--target", "y", "--models", "nb", "--cv", "3")
    assert named in command(*base, "--rules", "map", "--report", "plain.json").out
    written = Path("plain.json").read_text()
    assert "  # to predict as in this comparison, use bayesclf predict with --rule map" in written
    assert "Predict with" not in command(*base, "--rules", "map,tempered").out


def test_columns_that_name_the_rows_are_told_in_the_terminal_too():
    rows = [f"r{i:03d},{i % 7},{'yes' if i * i % 7 > 2 else 'no'}" for i in range(120)]
    table("named.csv", "\n".join(["id,x,y", *rows]) + "\n")
    base = ["compare", "named.csv", "--target", "y", "--models", "nb", "--rules", "map", *FEW_FITS]
    words = " ".join(command(*base).out.split())
    assert words.startswith("read: column 'id' has a different value in almost every row and is left out (--keep id")
    assert "M08" not in words
    assert "What not to trust here: - Column 'id' has a different value" in words
    base += ["--keep", "id"]
    words = " ".join(command(*base).out.split())
    assert "- nb, identifiers among the columns: 'id' looks like the name or number of a row" in words
    (found,) = (one for one in json.loads(command(*base, "--json", "-").out)["checks"] if one["code"] == "M08")
    assert (found["code"], found["title"], found["models"]) == ("M08", "Identifiers among the columns", ["nb"])
    assert found["reason"].startswith("'id' looks like the name or number of a row")
    assert found["next_step"]
    said = command(*base[:-2], "--drop", "id").out
    assert "M08" not in said
    assert "'id'" not in said


def test_what_is_odd_in_a_column_is_told_once_and_on_the_page_by_the_rows_of_the_file():
    rows = [
        f"{'fehlt' if i in (5, 20) else f'{i % 9},5'};{'' if i == 2 else 'yes' if i % 3 else 'no'}" for i in range(40)
    ]
    table("odd.csv", "\n".join(["wet;y", *rows]) + "\n")
    note = "column 'wet' is read as categories because of 'fehlt' (rows 6, 21); leave those cells empty"
    base = ("odd.csv", "--target", "y")
    compared = command("compare", *base, "--models", "nb", "--rules", "map", *FEW_FITS, "--report", "page.html").out
    assert " ".join(compared.split()).count(note) == 1
    words = " ".join("".join(Page(Path("page.html").read_text(encoding="utf-8")).text).split())
    assert "bayesclf compare odd.csv --target y" in words
    assert words.index("What not to trust here") < words.index(f"{note[:1].upper()}{note[1:]}")
    fitted = command("fit", *base, "--model", "nb", "--output", "m.nc").out
    assert " ".join(fitted.split()).count(note) == 1


def test_models_beyond_the_time_limit_are_named(monkeypatch):
    base = ["compare", "play_tennis", "--models", "nb,tan", "--rules", "map", "--cv", "3"]
    assert "left out" not in command(*base, "--max-minutes", "5").out
    ticks = count()
    monkeypatch.setattr(comparison, "time", SimpleNamespace(perf_counter=lambda: 60.0 * next(ticks)))
    said = " ".join(command(*base, "--max-minutes", "6").out.split())
    assert "Tan was left out: the time limit of 6 minutes was reached" in said
    too_short = command(*base, "--max-minutes", "0.0001", status=2).err
    assert "nb under map: the time limit of 0.0001 minutes was reached" in too_short
    assert "--max-minutes must be a number above 0, not 0" in command(*base, "--max-minutes", "0", status=2).err


def test_json_holds_the_numbers_of_compare():
    settings = ["--rules", "all", "--cv", "3", "--repeats", "2", "--seed", "4", "--json", "-"]
    found = json.loads(command("compare", "play_tennis", *QUICK, *settings).out, parse_constant=pytest.fail)
    tennis = datasets.load("play_tennis")
    models = {"nb": bc.NaiveBayes(), "lr": bc.LogisticRegression(inference="map")}
    expected = bc.compare(models, tennis.X, tennis.y, "all", cv=3, repeats=2, random_state=4, boosting=True)
    assert f"of 3 models, up to {len(RULES)} rules each, on 14 rows" in " ".join(str(expected).split())
    assert (found["best"]["model"], found["best"]["rule"]) == expected.best
    assert found["notes"] == {model: list(notes) for model, notes in expected.notes.items()}
    assert found["engines"] == {"nb": "exact", "lr": "map"}
    assert found["folds"] == {"cv": 3, "repeats": 2, "seed": 4}
    assert 0 < found["best"]["auc_se"] < found["best"]["auc"] <= 1
    assert found["baseline"]["log_loss"] == mean(expected, BASELINE, "log_loss")
    assert found["labels"] == [{"label": "no", "rows": 5}, {"label": "yes", "rows": 9}]
    records = expected.table.to_dict("records")
    assert len(found["table"]) == len(records) == 2 * len(RULES) + 1
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


def test_compare_says_what_decisions_cost():
    table("cost.csv", "true,virginica,setosa,versicolor\nsetosa,1,0,1\nversicolor,1,1,0\nvirginica,0,1,5\n")
    base = ["compare", "iris", "--models", "gnb", "--cv", "3", "--no-peers"]
    said = command(*base, "--cost", "cost.csv", "--reject", "0.2", "--json", "-").out
    found = json.loads(said, parse_constant=pytest.fail)
    matrix = [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 5.0, 0.0]]
    iris = datasets.load("iris")
    expected = bc.compare({"gnb": bc.GaussianNB()}, iris.X, iris.y, cv=3, cost=matrix, reject=0.2).table
    for name in ("cost", "cost_se", "rejected", "cost_diff"):
        assert [line[name] for line in found["table"]] == expected[name].tolist()
    plain = json.loads(command(*base, "--json", "-").out)
    assert "cost" not in plain["table"][0]


def test_drop_and_kind_change_the_columns():
    table("t.csv", GOOD)
    base = ["compare", "t.csv", "--target", "class", "--models", "nb", "--rules", "map", "--cv", "3", "--json", "-"]
    found = json.loads(command(*base, "--drop", "b", "--kind", "a=category").out)
    assert [(own["column"], own["kind"]) for own in found["columns"]] == [("a", "category"), ("class", "label")]


@pytest.mark.parametrize(
    ("text", "target", "said"),
    [
        (GOOD, "--target clas", "no column 'clas' (did you mean 'class'?)"),
        (GOOD, "", "--target COL"),
        ("t,class\n,x\n,y\n", "--target class", "no column is left, as 't' has no values; --keep t"),
        ("t,class\n,x\n,y\n", "--target class --keep t", "leave it out with --drop t"),
        (GOOD, "--target class --models lr --inference lr=exact", "use lr=laplace, lr=slice or lr=map"),
        ("id,class\n" + "".join(f"{i},{'xy'[i % 2]}\n" for i in range(30)), "--target id", "choose another --target"),
        ("a,class\n" + "".join(f"{i % 9},{i}\n" for i in range(60)), "--target class", "choose another --target"),
        ("a,n\n" + "".join(f"{i % 9},{i // 2}\n" for i in range(80)), "--target n", "give --kind n=category"),
        ("a,class\n1,\n2,\n", "--target class", "no value in any row"),
        ("a,class\n1,x\n2,x\n3,x\n", "--target class", "the label column 'class' has one class only, 'x'"),
        (GOOD, "--target class --kind a=categry", "did you mean 'category'?"),
        ("", "--target class", "is empty"),
    ],
)
def test_tables_without_labels_or_features_are_refused(refused, text, target, said):
    table("t.csv", text)
    assert said in refused("compare", "t.csv", *target.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--cv 13", "cv"),
        ("--cv 1", "value for '--cv'"),
        ("--seed -1", "value for '--seed'"),
        ("--jobs 0", "n_jobs must be a whole number of at least 1"),
        ("--models nb,lri", "no 'lri' (did you mean 'lr'?); it takes nb, gnb"),
        ("--models ,", "--models names nothing"),
        ("--models gnb", "column 'b' holds categories, and gnb takes numbers"),
        ("--kind b=text", "column 'b' holds texts"),
        ("--rules best", "it takes mle, map, mean, bayes-optimal"),
        ("--inference vi", "it takes auto, mle, map, exact, augmentation, nuts, slice, laplace"),
        ("--inference gnb=map", "it takes nb, lr"),
        ("--inference map,mle", "names map and mle"),
        ("--inference map --rules gibbs", "no model can answer"),
        ("--kind a", "--kind a=category"),
        ("--kind a=date", "number, category, text"),
        ("--kind b=number", "'x', 'y'"),
        ("--kind a=number --kind a=text", "say it once"),
        ("--drop c", "no column 'c'"),
        ("--drop class", "label column"),
        ("--drop a --drop b", "keep at least one"),
        ("--frobnicate", "--frobnicate"),
        ("--json no/such/x.json", "there is no folder"),
        ("--json /dev/null", "not an ordinary file"),
        ("--json t.csv", "also t.csv"),
        ("--report x.html --json x.html", "choose another name"),
        ("--report -", "--report -"),
        ("--report out.txt", "--report out.txt must end in .html, .htm, .md or .json"),
        ("--reject nan", "--reject"),
        ("--cost gone.csv", "--cost gone.csv does not exist"),
        ("--cost t.csv", "--cost t.csv: the header has b, class, but the labels are"),
        ("--cost t.csv --json t.csv", "in use"),
    ],
)
def test_compare_refuses_in_one_sentence(refused, arguments, said):
    table("t.csv", GOOD)
    assert said in refused("compare", "t.csv", "--target", "class", *arguments.split())


def test_a_note_of_several_models_is_shown_once(monkeypatch):
    compare = comparison.compare

    def with_notes(*arguments, **settings):
        found = compare(*arguments, **settings)
        found.notes.update(nb=("a note", "another"), lr=("a note",))
        return found

    monkeypatch.setattr(comparison, "compare", with_notes)
    said = command("compare", "play_tennis", *QUICK, "--rules", "map", *FEW_FITS).out
    assert "\nnb, lr: a note\nnb: another\n" in said
