"""What a command was to write is written, wherever its words go."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.commands import GOOD, rows_of, table
from helpers.disks import full_after

import bayesclf as bc
from bayesclf import cli

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
    "learning-curve": ((*CROSS, "--csv", "made.csv"), "made.csv", lambda path: len(rows_of(path)) > 1),
    "experiment": (EXPERIMENT, "made/results.html", lambda path: "</html>" in path.read_text()),
}
"""Commands that say something and write a file, and how to see that it is whole."""

DRAWERS = ("report", "experiment")
"""Those that draw figures, which takes seconds."""


def program(descriptor, *arguments):
    """Run the program with its stdout at a file descriptor, None for none, and return its exit status."""
    handler = signal.getsignal(signal.SIGINT)
    stream = None if descriptor is None else os.fdopen(descriptor, "w", closefd=False)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdout", stream)
        patched.setattr(sys, "stderr", sys.stderr)  # which the program replaces
        patched.setattr(sys, "argv", ["bayesclf", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
    signal.signal(signal.SIGINT, handler)
    return end.value.code


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Return a file with a fitted model."""
    folder = tmp_path_factory.mktemp("model")
    path, rows = folder / "nb.nc", folder / "t.csv"
    rows.write_text(GOOD, encoding="utf-8")
    assert cli.run(["fit", str(rows), "--target", "class", "--model", "nb", "--output", str(path)]) == 0
    return path


@pytest.fixture
def own_table(own_folder, model):
    table("t.csv", GOOD)
    Path("nb.nc").write_bytes(model.read_bytes())


@contextlib.contextmanager
def place(name):
    """Yield a file descriptor that takes nothing: a pipe without a reader, or a full disk."""
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
    try:
        yield writer
    finally:
        os.close(writer)


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
    ("command", "where"),
    [
        *((command, "pipe") for command in WRITERS if command not in DRAWERS),
        *(pytest.param(command, "pipe", marks=pytest.mark.slow) for command in DRAWERS),
        ("fit", "full"),
        ("fit", "closed"),
    ],
)
def test_files_are_whole_where_words_are_lost(command, where, own_table, capfd):
    arguments, made, is_whole = WRITERS[command]
    with place(where) as descriptor:
        status = program(descriptor, command, *arguments)
    assert (status, capfd.readouterr().err) == SAID[where]
    assert is_whole(Path(made))
    assert [name for name in os.listdir() if name.startswith(".")] == []


@pytest.mark.parametrize(
    ("command", "more", "made"),
    [
        ("fit", (), "made.nc"),
        ("predict", (), "made.csv"),
        ("compare", (), "made.json"),
        ("learning-curve", (), "made.csv"),
        pytest.param("compare", ("--report", "made.html"), "made.json", marks=pytest.mark.slow),
        pytest.param("report", (), "made.html", marks=pytest.mark.slow),
        *(
            pytest.param("learning-curve", ("--figure", name, "--csv", "-"), name, marks=pytest.mark.slow)
            for name in ("made.svg", "made.png", "made.pdf")
        ),
    ],
)
def test_a_full_disk_keeps_the_old_file(command, more, made, own_table, capsys):
    Path(made).write_text("old")
    before = sorted(os.listdir())
    with full_after(50):
        assert cli.run([command, *WRITERS[command][0], *more]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"bayesclf: {Path(made).resolve()} cannot be written (File too large); what was there")
    assert said.count("\n") == 1
    assert Path(made).read_text() == "old"
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("arguments", [("datasets", "export", "play_tennis"), ("datasets",), ("--help",)], ids=" ".join)
def test_results_that_stdout_does_not_take(arguments, own_folder, capfd):
    for where in ("pipe", "full"):
        with place(where) as descriptor:
            assert program(descriptor, *arguments) == SAID[where][0]
        assert capfd.readouterr().err == SAID[where][1]


def test_results_on_a_closed_stdout_are_refused_before_the_work(own_table, capfd):
    for arguments in (("predict", "nb.nc", "t.csv", "--output", "-"), ("datasets", "export", "play_tennis")):
        assert program(None, *arguments) == 2
        assert "- is not possible, as stdout is closed; give the name of a file" in capfd.readouterr().err


def test_a_failure_keeps_its_status_and_its_sentence(own_folder, capfd):
    with place("full") as descriptor:
        assert program(descriptor, "fit", "nowhere.csv", "--model", "nb", "--output", "x.nc") == 2
    said = capfd.readouterr().err
    assert "nowhere.csv" in said
    assert "stdout" not in said


def test_a_sentence_without_a_stderr_does_not_go_to_stdout(own_folder, monkeypatch, capfd):
    reader, writer = os.pipe()
    monkeypatch.setattr(sys, "stderr", None)
    assert program(writer, "fit", "nowhere.csv", "--model", "nb", "--output", "x.nc") == 2
    os.close(writer)
    assert os.read(reader, 100) == b""
    os.close(reader)


def test_no_traceback_at_the_end_of_the_interpreter(own_folder):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "bayesclf", "--version"]
    ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, b"")
