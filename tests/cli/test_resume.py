"""Predictions that are killed at any moment go on, and end with what a run that was not killed has."""

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
from bayesclf.interpretation import predictions
from bayesclf.tables import streams as batches

pytestmark = [
    pytest.mark.usefixtures("own_folder"),
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no such signal"),
]

SERVER = """
import json, os, signal, sys
from importlib import import_module
from bayesclf import cli
from bayesclf.interpretation import predictions
from bayesclf.tables import streams as batches

for late in ("bayesclf.cli.inputs", "bayesclf.cli.results", "bayesclf.classifiers"):
    import_module(late)

def watch(event, details):
    global left
    if event == "os.rename":
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

batches.BATCH_ROWS, predictions.PART_ROWS = 20, 20
for line in sys.stdin:
    folder, left, arguments = json.loads(line)
    process = os.fork()
    if not process:
        os.chdir(folder)
        os.dup2(2, 1)
        sys.addaudithook(watch)
        os._exit(cli.run(arguments))
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""
"""Runs the program in a process each time, which is killed when it is about to put its n-th file in place.

Its batches and parts are small. What starts these processes has the imports, which take seconds, and no thread.
"""

ROWS = 150


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(batches, "BATCH_ROWS", 20)
    monkeypatch.setattr(predictions, "PART_ROWS", 20)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    label = rng.choice(["no", "yes"], ROWS)
    return pd.DataFrame(
        {
            "x": rng.normal(size=ROWS) + (label == "yes"),
            "word": rng.choice(["a", "b", None], ROWS),
            "street": rng.choice(list("abcdefghijklmnop"), ROWS),
            "label": label,
        }
    )


@pytest.fixture(scope="module")
def saved(frame, tmp_path_factory):
    """Return the file of a model of the table."""
    path = tmp_path_factory.mktemp("model") / "m.nc"
    bc.NaiveBayes(random_state=1).fit(frame.drop(columns="label"), frame["label"]).save(path)
    return path.read_bytes()


@pytest.fixture
def table(frame):
    """Write a table as three files in a folder; return it."""
    Path("big").mkdir()
    for number, start in enumerate(range(0, ROWS, 50)):
        frame[start : start + 50].to_parquet(f"big/{number}.parquet", row_group_size=19)
    return frame


@pytest.fixture
def model(table, saved):
    """Write the model of that table."""
    Path("m.nc").write_bytes(saved)
    return "m.nc"


PREDICT = ("predict", "m.nc", "big", "--rule", "bayes-optimal", "--reject", "0.3", "--output")


@pytest.fixture(scope="module")
def server():
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as own:
        yield own
        own.stdin.close()


@pytest.fixture
def killed(server):
    """Return a function that runs a command in this folder, which is killed at a moment."""

    def run_until(moment, *arguments):
        print(json.dumps([os.getcwd(), moment, arguments]), file=server.stdin, flush=True)
        assert int(server.stdout.readline()) == -signal.SIGKILL

    return run_until


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def test_killed_predictions_go_on_to_the_same_bits(table, model, killed, capsys):
    assert run([*PREDICT, "whole/"]) == 0
    undecided = pd.read_parquet("whole")["predicted"].isna().sum()
    for moment in (1, 4):  # at the manifest, and at a later part
        answers = f"answers{moment}"
        killed(moment, *PREDICT, f"{answers}/")
        done = len(list(Path(answers).glob("part-*")))
        assert done == max(moment - 2, 0)
        assert len(list(Path(answers).glob(".bayesclf-*"))) == 1
        capsys.readouterr()
        assert run([*PREDICT, f"{answers}/"]) == 0
        assert contents(answers) == contents("whole")
        said = f"150 rows predicted, {undecided} of them left undecided, written to {answers}"
        assert said in capsys.readouterr().out


def test_answers_in_parts_are_those_in_one_file(table, model):
    assert run([*PREDICT, "answers/"]) == 0
    assert run([*PREDICT, "answers.parquet"]) == 0
    found = pd.read_parquet("answers")  # a manifest does not disturb readers of folders
    pd.testing.assert_frame_equal(found, pd.read_parquet("answers.parquet"))
    assert found["row"].tolist() == list(range(1, ROWS + 1))
    assert len(list(Path("answers").glob("part-*"))) > 3


def test_a_part_that_is_not_whole_is_written_again(table, model):
    assert run([*PREDICT, "answers/"]) == 0
    expected = contents("answers")
    part, other = Path("answers", "part-000001.parquet"), expected["part-000002.parquet"]
    harms = {
        "cut off": lambda: part.write_bytes(expected[part.name][:-50]),
        "empty": lambda: part.write_bytes(b""),
        "of other rows": lambda: part.write_bytes(other),
        "gone": part.unlink,
    }
    for harm, do in harms.items():
        do()
        assert run([*PREDICT, "answers/"]) == 0
        assert contents("answers") == expected, harm


def test_what_differs_from_the_run_that_was_begun_is_said(table, model, refused):
    assert run([*PREDICT, "answers/"]) == 0
    again = (*PREDICT, "answers/")
    with pytest.raises(InputError, match=r"answers is not empty; choose another folder, or resume .*resume=True"):
        bc.load("m.nc").predict_stream("big", "answers/")
    said = "answers has predictions of another run, with other "
    assert said + "rule; choose another folder" in refused(*again[:3], "--rule", "map", *again[5:])
    assert said + "limit of undecided rows" in refused(*PREDICT[:5], *PREDICT[7:], "answers/")
    assert said + "files" in refused("predict", "m.nc", "big/[12].parquet", *again[3:])
    bc.NaiveBayes(random_state=2).fit(table.drop(columns="label"), table["label"]).save("other.nc")
    assert said + "model" in refused("predict", "other.nc", *again[2:])
    os.utime("big/1.parquet", (1, 1))
    assert said + "files" in refused(*again)
    for damaged in ("", "[]", "{}", "3"):
        Path("answers", "_manifest.json").write_text(damaged)
        assert said + "files, model" in refused(*again)


def test_what_cannot_be_resumed_is_refused(table, model, refused):
    Path("papers").mkdir()
    Path("papers", "letter.txt").write_text("dear")
    assert "but no _manifest.json" in refused(*PREDICT, "papers")
    with pytest.raises(InputError, match=r"only predictions in a folder can be resumed, and a\.parquet is no folder"):
        bc.load("m.nc").predict_stream("big", "a.parquet", resume=True)
    assert "the folder no/where cannot be made" in refused(*PREDICT, "no/where/")
    assert "which is read" in refused(*PREDICT, "big/")
    with pytest.raises(InputError, match=r"a folder of predictions needs files.*the table is no file"):
        bc.load("m.nc").predict_stream(table, "answers/")
