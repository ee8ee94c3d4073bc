"""The command line as a program: help, what it imports, errors, interruption."""

import inspect

import pytest
from helpers.commands import command

import bayesclf as bc
from bayesclf import cli
from bayesclf.cli import options
from bayesclf.cli.options import named_models
from bayesclf.engines.inference import ENGINES
from bayesclf.evaluation import comparison
from bayesclf.rules import RULES

pytestmark = pytest.mark.usefixtures("own_folder")


def test_version_and_help():
    assert command("--version").out == f"bayesclf {bc.__version__}\n"
    for arguments in ([], ["--help"]):
        assert "compare" in command(*arguments).out


def test_help_shows_the_names_and_defaults_there_are():
    known = {"models": list(named_models()), "rules": list(RULES), "engines": ["auto", *ENGINES]}
    assert {what: names.split(", ") for what, names in options.NAMES.items()} == known
    assert all(names in " ".join(command("--help").out.split()) for names in options.NAMES.values())
    mine, theirs = inspect.signature(cli.commands.compare).parameters, inspect.signature(comparison.compare).parameters
    for own, other in (("cv", "cv"), ("repeats", "repeats"), ("seed", "random_state"), ("jobs", "n_jobs")):
        assert mine[own].default == theirs[other].default
    for name in ("compare", "fit", "predict"):
        said = command(name, "--help").out
        assert name in said
        assert ("--output" in said) == (name != "compare")


def test_all_help_together_has_at_most_so_many_words():
    commands = ("", "compare", "fit", "predict", "report", "datasets", "experiment")
    words = [name.split() for name in (*commands, *(f"datasets {name}" for name in ("list", "show", "export")))]
    assert sum(len(command(*own, "--help").out.split()) for own in words) <= 900


def test_an_unexpected_error_keeps_its_traceback(monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(comparison, "compare", fail)
    with pytest.raises(ZeroDivisionError):
        command("compare", "iris")
