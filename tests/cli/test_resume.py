"""Runs that are killed at any moment go on, and end with what a run that was not killed has."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesclf as bc
from bayesclf.cli import run
from bayesclf.errors import InputError
from bayesclf.interpretation import prediction_parts
from bayesclf.tables import batches

pytestmark = [
    pytest.mark.usefixtures("own_folder"),
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no such signal"),
]

KILLED = """
import os, signal, sys
from bayesclf import cli
from bayesclf.interpretation import prediction_parts
from bayesclf.tables import batches

left = int(sys.argv[1])

def watch(event, details):
    global left
    if event == "os.rename":
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

batches.BATCH_ROWS, prediction_parts.PART_ROWS = 7, 20
sys.addaudithook(watch)
sys.exit(cli.run(sys.argv[2:]))
"""
"""The program, which is killed when it is about to put its n-th file in place; its batches and parts are small."""

ROWS = 150


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(batches, "BATCH_ROWS", 7)
    monkeypatch.setattr(prediction_parts, "PART_ROWS", 20)


@pytest.fixture
def table():
    """Write a table as three files in a folder; return it."""
    rng = np.random.default_rng(0)
    label = rng.choice(["no", "yes"], ROWS)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=ROWS) + (label == "yes"),
            "word": rng.choice(["a", "b", None], ROWS),
            "street": rng.choice(list("abcdefghijklmnop"), ROWS),
            "label": label,
        }
    )
    Path("big").mkdir()
    for number, start in enumerate(range(0, ROWS, 50)):
        frame[start : start + 50].to_parquet(f"big/{number}.parquet", row_group_size=11)
    return frame


@pytest.fixture
def model(table):
    """Save a model of that table."""
    bc.NaiveBayes(random_state=1).fit(table.drop(columns="label"), table["label"]).save("m.nc")
    return "m.nc"


PREDICT = ("predict", "m.nc", "big", "--rule", "bayes-optimal", "--reject", "0.3", "--interval", "0.8", "--output")


def killed(moment, *arguments):
    """Run a command that is killed at a moment."""
    ended = subprocess.run([sys.executable, "-c", KILLED, str(moment), *arguments], capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


@pytest.mark.parametrize("moment", [1, 2, 5])
def test_killed_predictions_go_on_to_the_same_bits(table, model, moment, capsys):
    assert run([*PREDICT, "whole/"]) == 0
    killed(moment, *PREDICT, "answers/")
    done = len(list(Path("answers").glob("part-*")))
    assert done == max(0, moment - 2)
    assert len(list(Path("answers").glob(".bayesclf-*"))) == 1
    capsys.readouterr()
    assert run([*PREDICT, "answers/", "--resume"]) == 0
    assert contents("answers") == contents("whole")
    undecided = pd.read_parquet("whole")["predicted"].isna().sum()
    assert f"150 rows predicted, {undecided} of them left undecided, written to answers" in capsys.readouterr().out


def test_answers_in_parts_are_those_in_one_file(table, model):
    assert run([*PREDICT, "answers/"]) == 0
    assert run([*PREDICT, "answers.parquet"]) == 0
    found = pd.read_parquet("answers")  # a manifest does not disturb readers of folders
    pd.testing.assert_frame_equal(found, pd.read_parquet("answers.parquet"))
    assert found["row"].tolist() == list(range(1, ROWS + 1))
    assert len(list(Path("answers").glob("part-*"))) > 3


def test_a_finished_run_has_nothing_to_do(table, model, capsys):
    assert run([*PREDICT, "answers/", "--resume"]) == 0
    before = {path: path.stat().st_mtime_ns for path in Path("answers").iterdir()}
    capsys.readouterr()
    assert run([*PREDICT, "answers/", "--resume"]) == 0
    assert "150 rows predicted" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in Path("answers").iterdir()} == before


@pytest.mark.parametrize("harm", ["cut off", "empty", "of other rows", "gone"])
def test_a_part_that_is_not_whole_is_written_again(table, model, harm):
    assert run([*PREDICT, "answers/"]) == 0
    expected = contents("answers")
    part = Path("answers", "part-000001.parquet")
    if harm == "gone":
        part.unlink()
    else:
        other = Path("answers", "part-000002.parquet").read_bytes()
        part.write_bytes({"cut off": expected[part.name][:-50], "empty": b"", "of other rows": other}[harm])
    assert run([*PREDICT, "answers/", "--resume"]) == 0
    assert contents("answers") == expected


def test_what_differs_from_the_run_that_was_begun_is_said(table, model, refused):
    assert run([*PREDICT, "answers/"]) == 0
    again = (*PREDICT, "answers/", "--resume")
    assert "answers is not empty; go on with answers that were begun there (--resume" in refused(*again[:-1])
    said = "answers has answers of another run: it was begun with other "
    assert said + "rule; choose another folder" in refused(*again[:3], "--rule", "map", *again[5:])
    assert said + "costs, limit of undecided rows" in refused(*PREDICT[:5], *PREDICT[7:], "answers/", "--resume")
    assert said + "intervals, sets" in refused(*PREDICT[:7], "--output", "answers/", "--resume")
    assert "big/0.parquet was among the files" in refused("predict", "m.nc", "big/[12].parquet", *again[3:])
    bc.NaiveBayes(random_state=2).fit(table.drop(columns="label"), table["label"]).save("other.nc")
    assert said + "model" in refused("predict", "other.nc", *again[2:])
    os.utime("big/1.parquet", (1, 1))
    assert "big/1.parquet has changed since it was begun" in refused(*again)


@pytest.mark.parametrize("text", ["", '{"origin": ', "[]", "{}", '{"origin": {}, "finished": true}', '{"origin": 3}'])
def test_a_damaged_manifest_is_said(table, model, refused, text):
    assert run([*PREDICT, "answers/"]) == 0
    Path("answers", "_manifest.json").write_text(text)
    assert "_manifest.json is damaged, so that nobody knows" in refused(*PREDICT, "answers/", "--resume")


def test_a_manifest_of_another_version_is_refused(table, model, refused):
    assert run([*PREDICT, "answers/"]) == 0
    path = Path("answers", "_manifest.json")
    manifest = json.loads(path.read_text())
    manifest["origin"]["bayesclf"] = "0.0"
    path.write_text(json.dumps(manifest))
    assert "it was begun by bayesclf 0.0, and this is" in refused(*PREDICT, "answers/", "--resume")


def test_what_cannot_be_resumed_is_refused(table, model, refused):
    Path("papers").mkdir()
    Path("papers", "letter.txt").write_text("dear")
    assert "no _manifest.json of answers" in refused(*PREDICT, "papers", "--resume")
    assert "papers is not empty" in refused(*PREDICT, "papers")
    said = refused(*PREDICT, "a.parquet", "--resume")
    assert "only answers in a folder of parts can be resumed, and a.parquet is no folder" in said
    assert "the folder no/where cannot be made" in refused(*PREDICT, "no/where/")
    assert "which is read" in refused(*PREDICT, "big/")
    with pytest.raises(InputError, match=r"answers in parts are those of files.*the table is none"):
        bc.load("m.nc").predict_stream(table, "answers/")


def test_parts_are_written_from_python(table, model):
    clf = bc.load("m.nc")
    assert clf.predict_stream("big", "answers/", rule="map") == ROWS
    before = contents("answers")
    Path("answers", "part-000003.parquet").unlink()
    assert clf.predict_stream("big", "answers/", rule="map", resume=True, progress=False) == ROWS
    assert contents("answers") == before
