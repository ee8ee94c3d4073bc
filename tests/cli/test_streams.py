"""What a command was to write is written, wherever its words go."""

import contextlib
import json
import os
from pathlib import Path

import pytest
from helpers.commands import GOOD, command, full_after, process, rows_of, table

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
def nowhere():
    """Yield a stream to a pipe without a reader."""
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8") as stream:
        yield stream


@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("arguments", [("fit", *WRITERS["fit"][0]), ("datasets",), ("--help",)], ids=lambda a: a[0])
def test_a_full_disk_is_told_and_files_are_whole(arguments, own_table):
    with FULL.open("w", encoding="utf-8") as stream:
        said = command(*arguments, status=2, stdout=stream).err
    assert said.startswith("bayesclf: stdout cannot be written to (No space left on device); its text is cut off")
    if arguments[0] == "fit":
        assert bc.load("made.nc")


@pytest.mark.parametrize(
    "name", [*(n for n in WRITERS if n not in DRAWERS), *(pytest.param(n, marks=pytest.mark.slow) for n in DRAWERS)]
)
def test_files_are_whole_where_words_are_lost(name, own_table):
    arguments, made, is_whole = WRITERS[name]
    with nowhere() as stream:
        assert command(name, *arguments, stdout=stream).sentences == ""
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
    assert said.startswith(f"bayesclf: {Path(made).resolve()} cannot be written (File too large); an existing file")
    assert said.count("\n") == 1
    assert Path(made).read_text() == "old"
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("arguments", [("datasets", "export", "play_tennis"), ("--help",)], ids=" ".join)
def test_results_that_stdout_does_not_take(arguments, own_folder):
    with nowhere() as stream:
        assert process(*arguments, status=1, stdout=stream).err == ""


def test_closed_streams(own_table):
    command("fit", *WRITERS["fit"][0], stdout=None)
    assert bc.load("made.nc")
    for arguments in (("predict", "nb.nc", "t.csv", "--output", "-"), ("datasets", "export", "play_tennis")):
        said = command(*arguments, status=2, stdout=None).err
        assert "- is not possible, as stdout is closed; give the name of a file" in said
    assert command("fit", "nowhere.csv", "--model", "nb", "--output", "x.nc", status=2, stderr=None).out == ""
