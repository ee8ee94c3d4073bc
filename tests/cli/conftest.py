"""A folder of its own for each command, and commands that must be refused."""

import pytest

from bayesclf.cli import run
from bayesclf.tables import datasets


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """Run the test in an empty folder, without the user's tables, and in a terminal of 120 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def refused(capfd, tmp_path):
    """Return a function that runs a command that must be refused, and returns its sentence."""

    def check(*arguments):
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        capfd.readouterr()
        assert run(list(map(str, arguments))) == 2
        said = capfd.readouterr().err
        assert said.startswith("bayesclf: ")
        assert said.count("\n") == 1
        assert "Traceback" not in said
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
        return said

    return check
