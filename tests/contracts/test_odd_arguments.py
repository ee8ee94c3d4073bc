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
from helpers.odd import NO_COUNTS, NO_FLAGS, NO_NUMBERS
from helpers.suites import mainly

import bayesclf as bc
from bayesclf.engines import MAP, Exact, GradientAscent, Laplace
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.experiments.sample_size import examples_needed
from bayesclf.tables.reading import read_table

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
    "SplitConformal": (lambda: lambda **given: bc.SplitConformal(**given).fit(X, Y), {"classifier": naive()}),
    "StackedClassifier": (lambda: lambda **given: bc.StackedClassifier(**given).fit(X, Y), {"models": ONE["models"]}),
    "read_table": (lambda: read_table, {"path": "none"}),
    "Gibbs": (lambda: bc.rules.Gibbs, {}),
    "examples_needed": (lambda: examples_needed, {}),
}
TABLE, NO_NONE = [*NO_NUMBERS, None], [value for value in NO_NUMBERS if value is not None]
NO_LEVEL, NO_JOBS = [*NO_NUMBERS, 0, 1], [0, 2.5, "x", True]
NO_MAPPING = [value for value in NO_NUMBERS if not isinstance(value, dict)]
REFUSED: dict[str, dict[str, list[Any]]] = {
    "compare": {
        **{"models": TABLE, "X": TABLE, "y": TABLE, "rules": NO_NUMBERS, "cv": NO_COUNTS, "repeats": NO_COUNTS},
        **{"n_jobs": NO_JOBS, "progress": ["x", 0, 2.5, []], "cost": NO_NUMBERS, "reject": NO_NUMBERS},
        "random_state": [value for value in NO_COUNTS if value != 0 or value is False],
    },
    "learning_curve": {"sizes": [*NO_NUMBERS, [0], [1e9]], "repeats": NO_COUNTS, "n_jobs": NO_JOBS, "rules": [[]]},
    "loo": {"rule": NO_NUMBERS, "method": NO_NUMBERS},
    "diagnose": {"X": NO_NUMBERS, "y": NO_NUMBERS, "checks": ["x", 1, ["x"]], "new": NO_NUMBERS},
    "fit": {"X": TABLE, "y": TABLE, "sample_weight": [*NO_NUMBERS[:-2], np.zeros(20)]},
    "predict": dict.fromkeys(("rule", "cost", "reject", "class_prior"), NO_NUMBERS),
    "predict_interval": {"ci_prob": NO_LEVEL},
    "predict_set": {"level": NO_LEVEL},
    "predict_frame": {"uncertainty": NO_FLAGS},
    "explain": {"ci_prob": NO_NUMBERS, "outcome": NO_NUMBERS},
    "summary": {"ci_prob": NO_NUMBERS, "of": NO_NUMBERS},
    "sample": {"n": NO_COUNTS, "random_state": NO_NONE},
    "predictive_check": {"draws": NO_COUNTS, "prior": NO_FLAGS},
    "to_datatree": {"draws": NO_COUNTS},
    "to_logistic": {"intercept_at": NO_NUMBERS},
    "hypotheses": {"source": NO_NUMBERS},
    "with_posterior": {"idata": TABLE, "point": NO_NUMBERS},
    "SplitConformal": {
        **dict.fromkeys(("classifier", "nonconformity", "rule", "random_state"), NO_NUMBERS),
        **{"level": NO_LEVEL, "share": NO_LEVEL, "by_class": NO_FLAGS},
    },
    "StackedClassifier": {"models": NO_NUMBERS, "rule": NO_MAPPING, "cv": NO_COUNTS, "random_state": NO_NUMBERS},
    "load": {"path": [*TABLE, 0]},
    "datasets.load": {
        **{"name_or_path": [*TABLE, 0], "target": NO_NUMBERS, "dtypes": NO_MAPPING, "max_bytes": NO_COUNTS},
        "missing": [value for value in NO_MAPPING if not isinstance(value, list)],
    },
    "read_table": {"path": [*TABLE, 0]},
    "Gibbs": {"draw": NO_NUMBERS, "given": NO_NUMBERS},
    "set_progress": {"progress": ["x", 0, 2.5, []]},
    "examples_needed": dict.fromkeys(("p", "level", "method"), NO_NUMBERS),
}
"""Values that must be refused, by function and argument: none of the argument's kind."""
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


@pytest.mark.parametrize(
    ("name", "argument"), [(name, argument) for name, given in REFUSED.items() for argument in given]
)
def test_values_of_another_kind_are_refused(name, argument):
    call, good = CALLS[name]
    if name == "with_posterior":
        good = {"idata": made()["clf"].posterior_}
    for value in REFUSED[name][argument]:
        with pytest.raises((InputError, Refused, DoesNotExist)) as refusal:
            call()(**{**good, argument: value})
        assert "\n" not in str(refusal.value)


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
