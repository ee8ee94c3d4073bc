"""Odd arguments of public functions and methods: an answer, or one sentence of our own."""

import inspect
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from helpers.fuzz import answer
from helpers.suites import mainly

import bayesclf as bc
from bayesclf.engines import MAP, Exact, GradientAscent, Laplace

Y = np.array(["a", "b"] * 10)
X = pd.DataFrame({"u": np.arange(20) % 7 / 7, "v": np.arange(20) % 3 / 3})
ODD = [
    None, "", "x", -1, 0, 2.5, np.nan, True, 1j, object(), [], ["x"], [[]], [None], {}, {"x": 1}, pd.DataFrame(),
    np.eye(3), Y[:-1], X[:-1],
]  # fmt: skip
"""What an argument is replaced by: other types, and lengths."""


def naive(**options):
    return bc.GaussianNB(**{"inference": "map", "random_state": 1, **options})


@cache
def made():
    """Return by name what arguments are taken from: fitted classifiers, and results."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pymc  # noqa: F401  # which warns of its own imports
    watched = bc.LogisticRegression(2.5, inference=MAP(GradientAscent()), random_state=1).fit(X, Y)
    clf = naive(inference=Exact(draws=25)).fit(X, Y)
    return {
        "clf": clf,
        "lr": bc.LogisticRegression(2.5, inference=Laplace(draws=100), random_state=1).fit(X, Y),
        "comparison": bc.compare({"nb": naive(), "lr": watched}, X, Y, ["map", "predictive"], cv=2),
        "curves": bc.learning_curve({"nb": naive()}, X, Y, ["map"], cv=2),
        "stack": bc.StackedClassifier({"nb": naive()}, cv=2).fit(X, Y),
        "sets": bc.SplitConformal(naive(), share=0.5).fit(X, Y),
    }


def of(name: str, method: str, **good: Any) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return a method of what was made, and good arguments."""
    return lambda: getattr(made()[name], method), good


ROWS, LABELED = {"X": X}, {"X": X, "y": Y}
STREAM: dict[str, Any] = {"source": X.assign(y=Y), "target": "y"}
ONE = {"models": {"nb": naive()}, **LABELED, "rules": ["map"], "cv": 2}
PREDICTIONS = (
    "decision_function", "explain", "frame", "predict", "predict_frame", "predict_interval", "predict_joint_log_proba",
    "predict_log_proba", "predict_proba", "predict_set", "pymc_data", "uncertainty",
)  # fmt: skip
OF_ROWS = ("diagnose", "log_likelihood", "loo", "predictive_check", "score", "to_datatree", "to_pymc")
CALLS: dict[str, tuple[Callable[[], Callable[..., Any]], dict[str, Any]]] = {
    **{name: of("clf", name, **ROWS) for name in PREDICTIONS},
    **{name: of("clf", name, **LABELED) for name in OF_ROWS},
    "fit": (lambda: naive().fit, LABELED),
    "partial_fit": (lambda: naive().partial_fit, LABELED),
    "fit_stream": (lambda: naive().fit_stream, STREAM),
    "fit_stream of a regression": (lambda: bc.LogisticRegression(2.5, inference="map").fit_stream, STREAM),
    "known_codes": of("clf", "known_codes", y=Y),
    "hypotheses": of("clf", "hypotheses", source="map"),
    "requested_rule": of("clf", "requested_rule", rule="map"),
    "sample": of("clf", "sample", n=3),
    "summary": of("clf", "summary"),
    "summary of a regression": of("lr", "summary"),
    "to_logistic": of("clf", "to_logistic"),
    "save": of("clf", "save", path="m.nc"),
    "with_posterior": of("clf", "with_posterior", idata=None),
    "predict_stream": of("clf", "predict_stream", source=X, output="out.csv"),
    "compare": (lambda: bc.compare, ONE),
    "learning_curve": (lambda: bc.learning_curve, ONE),
    "dependent_pairs": (lambda: lambda **given: bc.dependent_pairs(made()["clf"], **given), LABELED),
    "load": (lambda: bc.load, {"path": "none"}),
    "datasets.load": (lambda: bc.datasets.load, {"name_or_path": "play_tennis"}),
    "set_progress": (lambda: bc.set_progress, {"progress": None}),
    "stack.fit": (lambda: bc.StackedClassifier({"nb": naive()}, cv=2).fit, LABELED),
    "stack.predict": of("stack", "predict", **ROWS),
    "stack.score": of("stack", "score", **LABELED),
    "sets.fit": (lambda: bc.SplitConformal(naive(), share=0.5).fit, LABELED),
    "sets.calibrate": (lambda: bc.SplitConformal(naive().fit(X, Y)).calibrate, LABELED),
    "sets.predict_set": of("sets", "predict_set", **ROWS),
    "sets.score": of("sets", "score", **LABELED),
    "sets.coverage_interval": of("sets", "coverage_interval"),
    "comparison.rules_of": of("comparison", "rules_of", model="nb"),
    "comparison.stack": of("comparison", "stack"),
    "comparison.stacked": of("comparison", "stacked", model="nb", rule="map"),
    "comparison.threshold_curve": of("comparison", "threshold_curve", model="nb", rule="map"),
    "curves.plot": of("curves", "plot"),
}
ARGUMENTS = {
    "comparison": lambda: made()["comparison"],
    "clf": lambda: made()["clf"],
    "found": lambda: made()["clf"].explain(X[:3]),
    "model": lambda: "nb",
    "table": lambda: made()["curves"].table,
    "X": lambda: X,
    "y": lambda: Y,
}
"""Good arguments of figures, by name."""
FIGURES = [name for name in bc.plots.__all__ if inspect.isfunction(getattr(bc.plots, name))]


def try_all(function, good):
    """Give each parameter each odd value, the others being good."""
    named = [one.name for one in inspect.signature(function).parameters.values() if one.kind is not one.VAR_KEYWORD]
    for name in dict.fromkeys([*named, *good]):
        for value in ODD:
            answer(lambda name=name, value=value: function(**{**good, name: value}))
            plt.close("all")


@pytest.mark.parametrize("name", mainly(list(CALLS), "predict", "score", "sets.score"))
def test_functions_and_methods(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, good = CALLS[name]
    try_all(call(), good)


@pytest.mark.parametrize("name", mainly(FIGURES, "reliability", "rule_scores"))
def test_figures(name):
    function = getattr(bc.plots, name)
    needed = [one.name for one in inspect.signature(function).parameters.values() if one.default is one.empty]
    try_all(function, {one: ARGUMENTS[one]() for one in needed})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["clf", "comparison"])
def test_reports(name, tmp_path):
    for value in ODD[:2] + ODD[3:]:  # a report under the name "x" draws figures
        answer(lambda value=value: made()[name].report(tmp_path / "r.md", command=value))
        answer(lambda value=value: made()[name].report(value))
