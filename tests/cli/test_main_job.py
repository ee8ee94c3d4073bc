"""The main job on real tables: classifiers × rules through the command line."""

import json

import pytest
from helpers.commands import command

from bayesclf.rules import RULES

TABLES = {"iris": (150, 0.90), "wine": (178, 0.93), "pima": (768, 0.70), "votes": (435, 0.85), "adult": (48842, 0.80)}
"""Rows, and an accuracy that both models reach under every averaging rule; the largest class has less."""

IN_FOLDER = {"pima"}
FOLDS = dict.fromkeys(("wine", "pima", "votes", "adult"), ("--cv", "2"))
"""Two folds have as much to show as the five that a user gets, as with iris here and in the README's demo."""


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_compare(name, request, tmp_path):
    if name in IN_FOLDER:
        request.getfixturevalue("data_folder")
    rows, accuracy = TABLES[name]
    report, result = tmp_path / "report.html", tmp_path / "result.json"
    arguments = ["compare", name, "--models", "nb,lr", "--rules", "all", "--report", str(report), "--json", str(result)]
    arguments += FOLDS.get(name, ())
    command(*arguments)
    found = json.loads(result.read_text(encoding="utf-8"))
    assert found["rows"] == rows
    answered = [line for line in found["table"] if line.get("accuracy") is not None]
    assert {line["rule"] for line in answered if line["model"] == "nb"} >= set(RULES) - {"mle"}
    assert {line["rule"] for line in answered if line["model"] == "lr"} >= set(RULES) - {"mle"}
    assert all(line["accuracy"] > accuracy for line in answered if line["rule"] not in ("gibbs", "mle"))
    assert report.stat().st_size > 50_000
