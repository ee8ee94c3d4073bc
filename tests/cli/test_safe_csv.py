"""Words that a spreadsheet would run as a formula: quoted by choice."""

import pytest
from helpers.commands import command, table

from bayesclf.tables import datasets

pytestmark = pytest.mark.usefixtures("own_folder")

FORMULAS = ("=1+1", "+1x", "-1x", "@x", "@\tx")


@pytest.fixture
def formulas(tmp_path, monkeypatch):
    """Return the name of a table with a number below zero in each row, and labels that are formulas."""
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path))
    rows = "".join(f'-{row}.5,"{FORMULAS[row % 5]}"\n' for row in range(20))
    table("formulas.csv", f"a,@class\n{rows}")
    return "formulas"


@pytest.mark.parametrize(("flags", "mark"), [([], ""), (["--safe-csv"], "'")])
def test_formulas_are_quoted_by_choice(formulas, flags, mark):
    command("fit", formulas, "--target", "@class", "--model", "nb", "--output", "m.nc")
    _, *lines = command("predict", "m.nc", formulas, "--output", "-", *flags).out.splitlines()
    assert {line.split(",")[1] for line in lines} <= {f"{mark}{formula}" for formula in FORMULAS}
    header, *lines = [line.split(",") for line in command("datasets", "export", formulas, *flags).out.splitlines()]
    assert header == ["a", f"{mark}@class"]
    assert [label for _, label in lines] == [f"{mark}{FORMULAS[row % 5]}" for row in range(20)]
    assert [float(number) for number, _ in lines] == [-row - 0.5 for row in range(20)]


@pytest.mark.parametrize("words", [["predict"], ["learning-curve"], ["datasets", "export"]])
def test_the_help_says_so(words):
    assert "--safe-csv" in command(*words, "--help").out
