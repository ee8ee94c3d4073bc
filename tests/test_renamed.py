"""Module paths of earlier versions import the same objects."""

import subprocess
import sys
from importlib import import_module

import pytest

import bayesclf as bc


@pytest.mark.parametrize(("old", "new"), bc._RENAMED.items())
def test_an_earlier_path_is_the_module_of_today(old, new):
    module = import_module(f"bayesclf.{old}")
    assert module is import_module(f"bayesclf.{new}")
    assert module.__spec__.name == module.__name__ == f"bayesclf.{new}"


@pytest.mark.slow
def test_names_can_be_imported_from_an_earlier_path_in_a_fresh_process():
    program = "from bayesclf.datasets import load; import bayesclf.scores as s; print(load.__module__, s.__name__)"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["bayesclf.tables.datasets", "bayesclf.evaluation.scores"]


def test_an_unknown_path_is_still_an_import_error():
    with pytest.raises(ModuleNotFoundError, match=r"bayesclf\.nowhere"):
        import_module("bayesclf.nowhere")


def test_names_in_american_spelling_are_the_same_objects():
    assert bc.LBFGSOptimizer is bc.LBFGSOptimiser
    assert bc.plots.optimizer_trace is bc.plots.optimiser_trace
