"""Atomic file writes, and names of output files."""

import os
from pathlib import Path

import pytest

from bayesclf.errors import InputError
from bayesclf.files import output_file, write_whole


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_write_that_fails_leaves_the_old_file():
    Path("old.txt").write_text("old")

    def fail(part):
        part.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match="No space left"):
        write_whole(Path("old.txt"), fail)
    assert Path("old.txt").read_text() == "old"
    assert os.listdir() == ["old.txt"]


def test_links_stay_links():
    Path("real.txt").write_text("old")
    Path("link.txt").symlink_to("real.txt")
    write_whole(output_file("link.txt", "--output"), lambda part: part.write_text("new"))
    assert Path("link.txt").is_symlink()
    assert Path("real.txt").read_text() == "new"
    with pytest.raises(InputError, match="in use"):
        output_file("link.txt", "--output", ["real.txt"])
