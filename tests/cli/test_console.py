"""The command line as a program: help, what it imports, errors, interruption."""

import inspect
import os
from pathlib import Path

import pytest
from helpers.commands import table

import bayesclf as bc
from bayesclf import cli
from bayesclf.cli import options, run
from bayesclf.cli.options import named_models
from bayesclf.evaluation import comparison
from bayesclf.inference import ENGINES
from bayesclf.rules import RULES

pytestmark = pytest.mark.usefixtures("own_folder")


def test_version_and_help(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"bayesclf {bc.__version__}\n"
    for arguments in ([], ["--help"]):
        assert run(arguments) == 0
        assert "compare" in capsys.readouterr().out


def test_help_shows_the_names_and_defaults_there_are(capsys):
    assert options.MODEL_NAMES.split(", ") == list(named_models())
    assert options.RULE_NAMES.split(", ") == list(RULES)
    assert options.ENGINE_NAMES.split(", ") == ["auto", *ENGINES]
    mine, theirs = inspect.signature(cli.compare.compare).parameters, inspect.signature(comparison.compare).parameters
    for own, other in (("cv", "cv"), ("repeats", "repeats"), ("seed", "random_state"), ("jobs", "n_jobs")):
        assert mine[own].default == theirs[other].default
    for command in ("compare", "fit", "predict"):
        assert run([command, "--help"]) == 0
        assert "--output" in (said := capsys.readouterr().out) or command == "compare"
        assert command in said


def test_an_unexpected_error_keeps_its_traceback(monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(comparison, "compare", fail)
    with pytest.raises(ZeroDivisionError):
        run(["compare", "iris"])


def test_an_interruption_leaves_nothing(monkeypatch, capfd):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison, "compare", stop)
    table("old.json", "{}")
    assert run(["compare", "iris", "--json", "old.json"]) == 130
    assert capfd.readouterr().err == "bayesclf: interrupted\n"
    assert Path("old.json").read_text() == "{}"
    assert os.listdir() == ["old.json"]
