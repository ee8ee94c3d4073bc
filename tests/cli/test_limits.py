"""Commands neither wait for a table, nor unpack one that is larger than allowed."""

import gzip

import pytest
from helpers.commands import command, table
from helpers.odd_files import odd_files

from bayesclf.cli import options
from bayesclf.tables import stream_paths

pytestmark = pytest.mark.usefixtures("own_folder")

GOOD = "a,b,class\n" + "1.5,x,p\n2.5,y,q\n" * 6


def test_no_command_waits_for_one(tmp_path):
    table("good.csv", GOOD)
    command("fit", "good.csv", "--target", "class", "--model", "nb", "--output", "m.nc")
    for name, said in odd_files(tmp_path).items():
        compare = ["compare", "good.csv", "--target", "class"]
        for words in (
            ["compare", name, "--target", "class"],
            ["fit", name, "--target", "class", "--model", "nb", "--output", "other.nc"],
            ["predict", "m.nc", name, "--output", "-"],
            ["report", "m.nc", "--table", name, "--output", "r.html"],
            ["datasets", "show", name],
            [*compare, "--cost", name],
        ):
            sentence = command(*words, status=2).err
            assert said in sentence, words
            assert sentence.count("\n") == 1


def test_the_commands_allow_more_or_less(tmp_path, refused):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(GOOD.encode()))
    fit = ["fit", "t.csv.gz", "--target", "class", "--model", "nb", "--output", "m.nc", "--max-bytes"]
    assert "holds more than 50 bytes" in refused(*fit, "50")
    assert "must be a whole number of at least 1" in refused(*fit, "0")
    command(*fit, "1000")
    for words in (
        ["predict", "m.nc", "t.csv.gz", "--output", "p.csv"],
        ["compare", "t.csv.gz", "--target", "class"],
        ["report", "m.nc", "--table", "t.csv.gz", "--output", "r.html"],
        ["datasets", "show", "t.csv.gz"],
        ["datasets", "export", "t.csv.gz"],
    ):
        assert "holds more than 50 bytes" in refused(*words, "--max-bytes", "50")


def test_the_help_says_the_default():
    assert options.MAX_BYTES == stream_paths.MAX_BYTES
