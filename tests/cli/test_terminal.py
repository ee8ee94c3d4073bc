"""Names and cells of a stranger's table on a terminal: shown, shortened, and never obeyed."""

import csv
import sys

import pytest
from helpers.commands import command

from bayesclf.cli.console import stdout
from bayesclf.files import STDOUT, write_text

pytestmark = pytest.mark.usefixtures("own_folder")

EVIL = "\x1b[31mred\x1b]0;title\x07\x9b2J\rnew\nline\u202e"
LONG = "name " * 2000


def hostile(name):
    """Write a table whose names, levels and labels have escapes or are long; return its file."""
    with open("t.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([name, "b", f"label {name}"])
        writer.writerows([f"{'xy'[row % 2]}{name}", row, f"{'pq'[row % 3 % 2]}{name}"] for row in range(12))
    return "t.csv"


def commands(name):
    target = ["t.csv", "--target", f"label {name}"]
    return {
        "compare": ["compare", *target, "--models", "nb", "--inference", "map", "--cv", "2"],
        "fit": ["fit", *target, "--model", "nb", "--output", "m.nc"],
        "predict": ["predict", "m.nc", "t.csv", "--output", "p.csv"],
        "unknown column": ["compare", "t.csv", "--target", f"other {name}"],
        "unknown file": ["compare", f"{name}.csv"],
        "unknown option": ["compare", f"--{name}"],
        "kind": ["compare", *target, "--kind", f"{name}=word"],
        "dropped": ["compare", *target, "--drop", target[-1]],
    }


@pytest.mark.parametrize("name", [EVIL, LONG], ids=["escapes", "long"])
def test_no_command_lets_a_name_through(name):
    hostile(name)
    for case, arguments in commands(name).items():
        ended = command(*arguments, status=0 if case in ("compare", "fit", "predict") else 2)
        said = ended.out + ended.err
        assert not [character for character in said if not character.isprintable() and character != "\n"], case
        assert len(said) < 10_000, case


def test_the_terminal_keeps_its_own_colors(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    stdout().print("a\x1b[0mb", style="bold")
    assert capsys.readouterr().out == "\x1b[1ma\\x1b[0mb\x1b[0m\n"


@pytest.mark.parametrize("terminal", [True, False])
def test_csv_keeps_its_cells_except_on_a_terminal(terminal, monkeypatch, capfdbinary):
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda stream: terminal)
    write_text(STDOUT, "a\x1b[2J,b\n")
    assert capfdbinary.readouterr().out == (b"a\\x1b[2J,b\n" if terminal else b"a\x1b[2J,b\n")
