"""Data sets on the command line, and output that would overwrite one."""

import re
from pathlib import Path

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
