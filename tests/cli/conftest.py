"""A folder of its own for each command, and commands that must be refused."""

import pytest
from helpers.commands import command

from bayesclf.tables import datasets


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """Run the test in an empty folder, and without the user's tables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)


@pytest.fixture
def refused(tmp_path):
    """Return a function that runs a command that must be refused, and returns its sentence."""

    def contents():
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def check(*words):
        before = contents()
        said = command(*words, status=2).sentences
        assert said.startswith("bayesclf: ")
        assert said.count("\n") == 1
        assert "Traceback" not in said
        assert contents() == before
        return said

    return check
