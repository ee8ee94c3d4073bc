"""Data sets on the command line, and output that would overwrite one."""

import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.commands import GOOD, command, table

from bayesclf.tables import datasets
from bayesclf.tables.datasets import KNOWN

pytestmark = pytest.mark.usefixtures("own_folder")


def test_output_onto_a_data_set_of_the_folder(refused, monkeypatch, tmp_path):
    Path("own").mkdir()
    table("own/mine.csv", GOOD)
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path / "own"))
    assert "in use" in refused("compare", "mine", "--json", "own/mine.csv")
    assert "in use" in refused("datasets", "export", "mine", "--output", "own/mine.csv")
    assert "in use" in refused("fit", "mine", "--model", "nb", "--output", "own/mine.csv")


def test_datasets(refused):
    for arguments in (["datasets"], ["datasets", "list"]):
        assert re.search(r"^iris +150 +5 ", command(*arguments).out, re.MULTILINE)
    assert "Mitchell" in (said := command("datasets", "show", "play_tennis").out)
    assert re.search(r"^outlook +category +3 +sunny 5", said, re.MULTILINE)
    command("datasets", "export", "iris", "--output", "iris.csv")
    pd.testing.assert_frame_equal(datasets.load("iris.csv", "target").frame, datasets.load("iris").frame)
    assert "did you mean 'iris'" in refused("datasets", "show", "irsi")


def test_a_spike_at_zero_is_noted_and_emptied_on_request(refused):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"bmi": rng.gamma(22, 1.45, 200).round(1), "y": ["a", "b"] * 100})
    frame.loc[::20, "bmi"] = 0
    frame.to_csv("t.csv", index=False)
    fit = ["fit", "t.csv", "--target", "y", "--model", "gnb", "--output", "m.nc"]
    assert "read: column 'bmi' is 0 in 10 cells" in " ".join(command(*fit).out.split())
    said = command(*fit, "--missing", "bmi=0").out
    assert "read: column 'bmi'" not in said
    assert "10 missing cells" in said
    frame[["bmi"]].head(3).to_csv("new.csv", index=False)
    answer = ["predict", "m.nc", "new.csv", "--output", "-"]
    remembered = command(*answer).out.splitlines()
    assert remembered == command(*answer, "--missing", "bmi=0").out.splitlines()
    other = command(*answer, "--missing", "bmi=-1").out.splitlines()
    assert remembered[1] != other[1]  # the first row holds a 0
    assert remembered[2:] == other[2:]
    assert "write --missing COL=VALUE" in refused(*fit, "--missing", "bmi")
    assert "no cell of column 'bmi' is -1" in refused(*fit, "--missing", "bmi=-1")


WIDTHS = (80, 200)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_list_says_everything_without_breaking_words(width):
    said = command("datasets", columns=width).out
    assert max(map(len, said.splitlines())) <= width
    assert re.search(r"^breast_cancer_ljubljana +286 +10 +2 +recurrence", said, re.MULTILINE)
    found = {word.rstrip(";") for word in said.split()}
    for info in datasets.available():
        assert info.name in found
        assert {word.rstrip(";") for word in info.description.split()} <= found
        for size in (info.rows, info.columns, info.classes):
            assert str(size) in found


@pytest.mark.parametrize("width", WIDTHS)
def test_creators_and_columns_are_shown_at_any_width_without_breaking_words(width):
    said = command("datasets", "show", "breast_cancer_ljubljana", columns=width).out
    assert max(map(len, said.splitlines())) <= width
    flat = " ".join(said.split())
    table = KNOWN["own"]["breast_cancer_ljubljana"]
    for what in ("creators", "source", "license", "changes", "note"):
        assert f"{what}: {getattr(table, what)}" in flat
    for word in ("tumor_size", "category", "distinct", "30-34"):
        assert word in re.split(r"[\s:,]+", flat)


@pytest.mark.parametrize("width", WIDTHS)
def test_an_error_is_wrapped_by_words_in_a_terminal_and_one_line_elsewhere(width):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    line = command("datasets", "show", "irsi", status=2, columns=width).err
    assert line.count("\n") == 1
    command("datasets", "show", "irsi", status=2, columns=width, stderr=terminal)
    wrapped = terminal.getvalue()
    assert wrapped.split() == line.split()
    assert max(map(len, wrapped.splitlines())) <= width < len(line)


def test_columns_that_are_left_out_are_shown_as_such(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,unit,a\n" + "".join(f"{row},kg,{row % 7}\n" for row in range(40)))
    lines = command("datasets", "show", str(path)).out.splitlines()
    assert any(line.split() == ["id", "left", "out", "40", "numbers", "the", "rows"] for line in lines)
    assert any(line.split() == ["unit", "left", "out", "1", "has", "one", "value", "only"] for line in lines)
