"""What a command was to write is written, wherever its words go."""

import contextlib
import json
import os
from pathlib import Path

import pytest
from helpers.commands import GOOD, command, process, rows_of, table
from helpers.disks import full_after

import bayesclf as bc

pytestmark = pytest.mark.usefixtures("own_folder")

FULL = Path("/dev/full")
"""The device on which every write fails as on a full disk."""

EXPERIMENT = ("ng-jordan", "--splits", "20", "--posterior-splits", "0", "--problems", "lenses", "--output", "made")
CROSS = ("t.csv", "--target", "class", "--models", "nb", "--cv", "2")
WRITERS = {
    "fit": (("t.csv", "--target", "class", "--model", "nb", "--output", "made.nc"), "made.nc", bc.load),
    "predict": (("nb.nc", "t.csv", "--output", "made.csv"), "made.csv", lambda path: len(rows_of(path)) == 12),
    "report": (("nb.nc", "--output", "made.html"), "made.html", lambda path: "</html>" in path.read_text()),
    "compare": ((*CROSS, "--json", "made.json"), "made.json", lambda path: json.loads(path.read_text())["best"]),
    "experiment": (EXPERIMENT, "made/results.html", lambda path: "</html>" in path.read_text()),
}
"""Commands that say something and write a file, and how to see that it is whole."""

DRAWERS = ("report", "experiment")
"""Those that draw figures, which takes seconds."""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Return a file with a fitted model."""
    folder = tmp_path_factory.mktemp("model")
    path, rows = folder / "nb.nc", folder / "t.csv"
    rows.write_text(GOOD, encoding="utf-8")
    command("fit", rows, "--target", "class", "--model", "nb", "--output", path)
    return path


@pytest.fixture
def own_table(own_folder, model):
    table("t.csv", GOOD)
    Path("nb.nc").write_bytes(model.read_bytes())


@contextlib.contextmanager
def place(name):
    """Yield a stream that takes nothing: a pipe without a reader, a full disk, or None for a closed one."""
    if name == "closed":
        yield None
        return
    if name == "pipe":
        reader, writer = os.pipe()
        os.close(reader)
    elif not FULL.exists():
        pytest.skip("this system has no device that is always full")
    else:
        writer = os.open(FULL, os.O_WRONLY)
    with open(writer, "w", encoding="utf-8") as stream:
        yield stream


SAID = {
    "pipe": (141, ""),
    "full": (
        2,
        "bayesclf: stdout cannot be written to (No space left on device); its text is cut off, and only files are "
        "complete\n",
    ),
    "closed": (0, ""),
}
"""Exit status and stderr by where stdout goes."""


@pytest.mark.parametrize(
    ("name", "where"),
    [
        *((name, "pipe") for name in WRITERS if name not in DRAWERS),
        *(pytest.param(name, "pipe", marks=pytest.mark.slow) for name in DRAWERS),
        ("fit", "full"),
        ("fit", "closed"),
    ],
)
def test_files_are_whole_where_words_are_lost(name, where, own_table):
    arguments, made, is_whole = WRITERS[name]
    status, said = SAID[where]
    with place(where) as stream:
        assert command(name, *arguments, status=status, stdout=stream).sentences == said
    assert is_whole(Path(made))
    assert [name for name in os.listdir() if name.startswith(".")] == []


@pytest.mark.parametrize(
    ("name", "more", "made"),
    [
        ("fit", (), "made.nc"),
        ("predict", (), "made.csv"),
        ("compare", (), "made.json"),
        pytest.param("compare", ("--report", "made.html"), "made.json", marks=pytest.mark.slow),
        pytest.param("report", (), "made.html", marks=pytest.mark.slow),
    ],
)
def test_a_full_disk_keeps_the_old_file(name, more, made, own_table):
    Path(made).write_text("old")
    before = sorted(os.listdir())
    with full_after(50):
        said = command(name, *WRITERS[name][0], *more, status=2).sentences
    assert said.startswith(f"bayesclf: {Path(made).resolve()} cannot be written (File too large); what was there")
    assert said.count("\n") == 1
    assert Path(made).read_text() == "old"
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("arguments", [("datasets", "export", "play_tennis"), ("datasets",), ("--help",)], ids=" ".join)
def test_results_that_stdout_does_not_take(arguments, own_folder):
    for where in ("pipe", "full"):
        status, said = SAID[where]
        with place(where) as stream:
            assert command(*arguments, status=status, stdout=stream).err == said


def test_results_on_a_closed_stdout_are_refused_before_the_work(own_table):
    for arguments in (("predict", "nb.nc", "t.csv", "--output", "-"), ("datasets", "export", "play_tennis")):
        said = command(*arguments, status=2, stdout=None).err
        assert "- is not possible, as stdout is closed; give the name of a file" in said


NOWHERE = ("fit", "nowhere.csv", "--model", "nb", "--output", "x.nc")


def test_a_failure_keeps_its_status_and_its_sentence(own_folder):
    with place("full") as stream:
        said = command(*NOWHERE, status=2, stdout=stream).err
    assert "nowhere.csv" in said
    assert "stdout" not in said


def test_a_sentence_without_a_stderr_does_not_go_to_stdout(own_folder):
    assert command(*NOWHERE, status=2, stderr=None).out == ""


def test_no_traceback_at_the_end_of_the_interpreter(own_folder):
    with place("pipe") as stream:
        assert process("--version", status=141, stdout=stream).err == ""
