"""Ctrl-C at any moment: one line on stderr, the usual exit status, and every file as it was."""

import os
from pathlib import Path

import pytest
from helpers.commands import process

pytestmark = pytest.mark.usefixtures("own_folder")

PROGRAM = """
import runpy, signal, sys

moment, name, *arguments = sys.argv[1:]

def watch(event, details):
    if event == moment and str(details[0]).startswith(name):
        signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job of a script inherits ignored
sys.addaudithook(watch)
sys.argv = ["bayesclf", *arguments]
runpy.run_module("bayesclf", run_name="__main__", alter_sys=True)
"""
"""The program, which interrupts itself at an event of the interpreter, such as an import or the move of a file."""


FIT = ("fit", "play_tennis", "--model", "nb", "--output", "old.nc")


@pytest.mark.parametrize(
    ("moment", "name"),
    [
        ("import", "typer"),
        ("import", "bayesclf.cli.commands"),
        *(pytest.param("import", late, marks=pytest.mark.slow) for late in ("pandas", "scipy", "sklearn", "xarray")),
        pytest.param("os.rename", "", marks=pytest.mark.slow),
    ],
)
def test_an_interruption_is_one_line(moment, name):
    Path("old.nc").write_text("old")
    assert process(moment, name, *FIT, program=PROGRAM, status=130).err == "bayesclf: interrupted\n"
    assert Path("old.nc").read_text() == "old"
    assert os.listdir() == ["old.nc"]
