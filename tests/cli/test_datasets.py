"""Data sets on the command line, and output that would overwrite one."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.commands import GOOD, table

from bayesclf.cli import run
from bayesclf.tables import datasets

pytestmark = pytest.mark.usefixtures("own_folder")


def test_output_onto_a_data_set_of_the_folder(refused, monkeypatch, tmp_path):
    Path("own").mkdir()
    table("own/mine.csv", GOOD)
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path / "own"))
    assert "in use" in refused("compare", "mine", "--json", "own/mine.csv")
    assert "in use" in refused("datasets", "export", "mine", "--output", "own/mine.csv")
    assert "in use" in refused("fit", "mine", "--model", "nb", "--output", "own/mine.csv")


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


def test_a_spike_at_zero_is_noted_and_emptied_on_request(capfd, refused):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"bmi": rng.gamma(22, 1.45, 200).round(1), "y": ["a", "b"] * 100})
    frame.loc[::20, "bmi"] = 0
    frame.to_csv("t.csv", index=False)
    fit = ["fit", "t.csv", "--target", "y", "--model", "gnb", "--output", "m.nc"]
    assert run(fit) == 0
    assert "note: column 'bmi' is 0 in 10 cells" in " ".join(capfd.readouterr().out.split())
    assert run([*fit, "--missing", "bmi=0"]) == 0
    said = capfd.readouterr().out
    assert "note: column 'bmi'" not in said
    assert "10 missing cells" in said
    frame[["bmi"]].head(3).to_csv("new.csv", index=False)
    answers = {}
    for more in ((), ("--missing", "bmi=0")):
        assert run(["predict", "m.nc", "new.csv", "--output", "-", *more]) == 0
        answers[more] = capfd.readouterr().out.splitlines()
    before, after = answers.values()
    assert before[1] != after[1]  # the first row holds a 0
    assert before[2:] == after[2:]
    assert "write --missing COL=VALUE" in refused(*fit, "--missing", "bmi")
    assert "no cell of column 'bmi' is -1" in refused(*fit, "--missing", "bmi=-1")
