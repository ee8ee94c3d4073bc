"""Learning curves on the command line."""

import io

import pandas as pd
import pytest
from helpers.commands import GOOD, command, table

import bayesclf as bc
from bayesclf.cli.learning_curve import METRIC_NAMES
from bayesclf.evaluation.learning import METRICS

COMMAND = ["learning-curve", "t.csv", "--target", "class", "--models", "nb,lr", "--inference", "lr=map", "--cv", "2"]


@pytest.fixture(autouse=True)
def own_table(own_folder):
    table("t.csv", GOOD)


def test_the_numbers_are_those_of_python():
    options = ["--rules", "mean,map", "--sizes", "4,0.9", "--seed", "3"]
    found = pd.read_csv(io.StringIO(command(*COMMAND, *options, "--csv", "-").out), keep_default_na=True)
    dataset = bc.datasets.load("t.csv", "class")
    models = {"nb": bc.NaiveBayes(), "lr": bc.LogisticRegression(inference="map")}
    python = bc.learning_curve(models, dataset.X, dataset.y, ["mean", "map"], sizes=[4, 0.9], cv=2, random_state=3)
    expected = python.table.assign(reason=python.table["reason"].replace("", None))
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_scores_reasons_and_figure():
    said = command(*COMMAND, "--sizes", "4,6", "--metric", "brier", "--figure", "curve.svg", "--csv", "c.csv").out
    assert "brier, rows:" in said
    assert "nb bayes-optimal" in said
    assert "n/a, lr bayes-optimal: a fit by MAP leaves no posterior" in said
    assert "written to" in said
    with open("curve.svg", encoding="utf-8") as file:
        assert "test Brier score" in file.read()
    assert len(pd.read_csv("c.csv")) == 2 * (3 + 2)  # the rule of nb is tempered


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--sizes", "ten"], "--sizes ten must be numbers with commas"),
        (["--sizes", "100"], "training sizes must lie between 2 and 6"),
        (["--metric", "accuracy"], "--metric has no 'accuracy'"),
        (["--figure", "curve.txt"], "must end in .svg, .png or .pdf"),
        (["--models", "lr", "--rules", "gibbs"], "no model can answer under these rules: a fit by MAP"),
    ],
)
def test_what_is_refused(options, said, refused):
    assert said in refused(*COMMAND, *options)


def test_the_help_names_the_metrics():
    assert sorted(METRIC_NAMES.split(", ")) == sorted(METRICS)
