"""Atomic file writes, and names of output files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bayesclf.errors import InputError
from bayesclf.files import PREFIX, output_file, remove_unfinished, write_text, write_whole


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("error", "raised"),
    [(OSError(28, "No space left on device"), InputError), (KeyboardInterrupt("No space left"), KeyboardInterrupt)],
)
def test_a_write_that_fails_leaves_the_old_file(error, raised):
    Path("old.txt").write_text("old")

    def fail(part):
        part.write_text("half")
        raise error

    with pytest.raises(raised, match="No space left"):
        write_whole(Path("old.txt"), fail)
    assert Path("old.txt").read_text() == "old"
    assert os.listdir() == ["old.txt"]


def test_what_a_killed_process_left_is_removed_by_the_next_write():
    script = "from pathlib import Path; import os; from bayesclf.files import write_whole\n"
    script += "write_whole(Path('new.txt'), lambda part: part.write_text('half') and os.kill(os.getpid(), 9))"
    subprocess.run([sys.executable, "-c", script], check=False)
    (left,) = os.listdir()
    assert left.startswith(PREFIX)
    write_whole(Path("new.txt"), lambda part: part.write_text("new"))
    assert os.listdir() == ["new.txt"]


def test_what_another_process_is_writing_stays():
    def write_another(part):
        write_whole(Path("other.txt"), lambda other: other.write_text("other"))
        assert part.exists()
        part.write_text("new")

    write_whole(Path("new.txt"), write_another)
    assert sorted(os.listdir()) == ["new.txt", "other.txt"]
    assert Path("new.txt").read_text() == "new"


def test_links_stay_links():
    Path("real.txt").write_text("old")
    Path("link.txt").symlink_to("real.txt")
    write_whole(output_file("link.txt", "--output"), lambda part: part.write_text("new"))
    assert Path("link.txt").is_symlink()
    assert Path("real.txt").read_text() == "new"
    with pytest.raises(InputError, match="in use"):
        output_file("link.txt", "--output", ["real.txt"])
    Path("hard.txt").hardlink_to("real.txt")
    with pytest.raises(InputError, match="in use"):
        output_file("hard.txt", "--output", ["real.txt"])
    Path("other.txt").write_text("old")
    assert output_file("other.txt", "--output", ["real.txt"]).name == "other.txt"


def test_a_disk_that_proves_full_late_leaves_the_old_file(monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    Path("old.txt").write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        write_text(Path("old.txt"), "new")
    assert Path("old.txt").read_text() == "old"
    assert os.listdir() == ["old.txt"]


def test_what_is_half_written_can_be_removed():
    def stop(part):
        part.write_text("half")
        remove_unfinished()
        assert os.listdir() == []
        raise OSError

    with pytest.raises(InputError, match=r"new\.txt cannot be written"):
        write_whole(Path("new.txt"), stop)
    Path("new.txt").write_text("whole")
    remove_unfinished()
    assert os.listdir() == ["new.txt"]
