"""Odd arguments of public functions and methods: an answer, or one sentence of our own."""

import inspect
import json
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from helpers.fuzz import answer
from helpers.odd import LABELS as Y, NO_COUNTS, NO_FLAGS, NO_NUMBERS, NUMBERS as X
from helpers.suites import mainly

import bayesclf as bc
from bayesclf.classifiers import CLASSIFIERS
from bayesclf.engines import MAP, Exact, GradientAscent, Laplace
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.evaluation.predictive_checks import predictive_check
from bayesclf.experiments import sample_size
from bayesclf.finite import FiniteSpace, extended_with_bayes_optimal
from bayesclf.tables import read_table

ODD = [
    None, "", "x", -1, 0, 2.5, np.nan, True, 1j, object(), [], ["x"], [[]], [None], {}, {"x": 1}, pd.DataFrame(),
    np.eye(3), Y[:-1], X[:-1],
]  # fmt: skip
"""What an argument is replaced by: other types, and lengths."""


SPACE = FiniteSpace(("h1", "h2"), ("+", "-"), (0.6, 0.4), [[[0.6, 0.4]], [[0.1, 0.9]]])


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
        "Comparison": bc.compare({"nb": naive(), "lr": watched}, X, Y, ["map", "predictive"], cv=2),
        "LearningCurve": bc.learning_curve({"nb": naive()}, X, Y, ["map"], cv=2),
        "StackedClassifier": bc.StackedClassifier({"nb": naive()}, cv=2).fit(X, Y),
        "SplitConformal": bc.SplitConformal(naive(), share=0.5).fit(X, Y),
        "FiniteSpace": SPACE,
    }


def of(name: str, method: str, **good: Any) -> dict[str, Any]:
    """Return a method of what was made by its name, with good arguments."""
    return {f"{name}.{method}": (lambda: getattr(made()[name], method), good)}


ROWS, LABELED = {"X": X}, {"X": X, "y": Y}
STREAM: dict[str, Any] = {"source": X.assign(y=Y), "target": "y"}
ONE = {"models": {"nb": naive()}, **LABELED, "rules": ["map"], "cv": 2}
LINE = {"model": "nb", "rule": "map"}
SHARE = {"n": 20, "p": 0.3}
OF_ROWS = (
    "decision_function", "explain", "frame", "predict", "predict_frame", "predict_interval", "predict_joint_log_proba",
    "predict_log_proba", "predict_proba", "predict_set", "pymc_data", "rows", "uncertainty",
)  # fmt: skip
OF_LABELED = (
    "diagnose", "loo", "plot_reliability", "predictive_check", "score", "to_datatree", "to_pymc",
)  # fmt: skip
INNER = {
    *("clf.encode", "Gibbs.after", "Gibbs.decide", "Gibbs.log_proba", "LearnedScale.log_density"),
    *("dependence.log_evidence_of_scatter", "dependence.log_evidence_of_table", "dependence.may_help"),
    *(f"FiniteSpace.{name}" for name in ("log_predictive", "log_scores", "take")),
    *("rules.bayes_optimal", "rules.log_proba", "rules.predictive", "Rule", "predictive_checks.p_value_table"),
    *("leave_one_out.scored", "leave_one_out.stacking_weights", "experiments.write_page"),
    *("StackedClassifier.get_params", "StackedClassifier.set_params"),
    *(f"Experiment.{name}" for name in ("answer", "figure", "measure", "summary", "tabulate")),
    *("Axes", "CellFamily", "Family", "KnownClassPrior", "LearntClassPrior", "Trace"),
}
"""Public names of what parts of the package hand to each other: coded rows, hypotheses, draws, other families."""
METHODS = (
    *(of("clf", name, **ROWS) for name in OF_ROWS),
    *(of("clf", name, **LABELED) for name in OF_LABELED),
    of("clf", "effects", **ROWS, column="u"),
    *(of("clf", name, rule="predictive") for name in ("interval_rule", "requested_rule", "spread")),
    of("clf", "known_codes", y=Y),
    of("clf", "hypotheses", source="map"),
    of("clf", "sample", n=3),
    *(of(name, "summary") for name in ("clf", "lr")),
    of("clf", "to_logistic"),
    of("clf", "save", path="m.nc"),
    of("clf", "with_posterior", idata=None),
    of("clf", "predict_stream", source=X, output="out.csv"),
    *(of("StackedClassifier", name, **ROWS) for name in ("predict", "predict_log_proba", "predict_proba")),
    *(of("SplitConformal", name, **ROWS) for name in ("predict", "predict_proba", "predict_set")),
    *(of(name, "score", **LABELED) for name in ("StackedClassifier", "SplitConformal")),
    of("SplitConformal", "coverage_interval"),
    *(of("Comparison", name, model="nb") for name in ("leader", "plot_reliability", "plot_thresholds", "rules_of")),
    *(of("Comparison", name, **LINE) for name in ("stacked", "threshold_curve")),
    of("Comparison", "plot_scores"),
    of("LearningCurve", "of"),
    of("LearningCurve", "plot"),
    *(of("FiniteSpace", name, rule="map", x=0) for name in ("answers", "proba")),
    of("FiniteSpace", "rows", x=0),
    of("FiniteSpace", "update", likelihood=[0.1, 0.2]),
    of("FiniteSpace", "version_space", consistent=[True, False]),
)
CALLS: dict[str, tuple[Callable[[], Callable[..., Any]], dict[str, Any]]] = {
    **{name: call for found in METHODS for name, call in found.items()},
    "clf.fit": (lambda: naive().fit, LABELED),
    "clf.partial_fit": (lambda: naive().partial_fit, LABELED),
    "clf.fit_stream": (lambda: naive().fit_stream, STREAM),
    "lr.fit_stream": (lambda: bc.LogisticRegression(2.5, inference="map").fit_stream, STREAM),
    "StackedClassifier.fit": (lambda: bc.StackedClassifier({"nb": naive()}, cv=2).fit, LABELED),
    "SplitConformal.fit": (lambda: bc.SplitConformal(naive(), share=0.5).fit, LABELED),
    "SplitConformal.calibrate": (lambda: bc.SplitConformal(naive().fit(X, Y)).calibrate, LABELED),
    "bayesclf.compare": (lambda: bc.compare, ONE),
    "bayesclf.learning_curve": (lambda: bc.learning_curve, ONE),
    "bayesclf.loo": (lambda: bc.loo, {"clf": naive().fit(X, Y), **LABELED}),
    "bayesclf.dependent_pairs": (lambda: bc.dependent_pairs, {"classifier": naive().fit(X, Y), **LABELED}),
    "bayesclf.load": (lambda: bc.load, {"path": "none"}),
    "bayesclf.set_progress": (lambda: bc.set_progress, {"progress": None}),
    "diagnostics.diagnose": (lambda: bc.diagnostics.diagnose, {"classifier": naive().fit(X, Y)}),
    "predictive_checks.predictive_check": (lambda: predictive_check, {"classifier": naive().fit(X, Y), **LABELED}),
    "datasets.load": (lambda: bc.datasets.load, {"name_or_path": "play_tennis"}),
    "datasets.read": (lambda: bc.datasets.read, {"path": "none"}),
    "tables.read_table": (lambda: read_table, {"path": "none"}),
    "rules.resolve": (lambda: bc.rules.resolve, {"rule": "map"}),
    "experiments.find": (lambda: bc.experiments.find, {"name": "ng-jordan"}),
    "experiments.run": (
        lambda: bc.experiments.run,
        {"experiment": sample_size, "settings": sample_size.Settings(), "folder": "results"},
    ),
    "finite.extended_with_bayes_optimal": (lambda: extended_with_bayes_optimal, {"space": SPACE, "prior_of_new": 0.2}),
    "sample_size.examples_needed": (lambda: sample_size.examples_needed, {}),
    "sample_size.coverage": (lambda: sample_size.coverage, {"method": "beta", **SHARE, "level": 0.9}),
    "sample_size.interval": (lambda: sample_size.interval, {"method": "beta", "k": 3, "n": 20, "level": 0.9}),
    "sample_size.within": (lambda: sample_size.within, {**SHARE, "half_width": 0.1}),
    "SplitConformal": (lambda: lambda **given: bc.SplitConformal(**given).fit(X, Y), {"classifier": naive()}),
    "StackedClassifier": (lambda: lambda **given: bc.StackedClassifier(**given).fit(X, Y), {"models": ONE["models"]}),
    "FiniteSpace": (
        lambda: FiniteSpace,
        {name: getattr(SPACE, name) for name in ("names", "labels", "prior", "table")},
    ),
    "Gibbs": (lambda: bc.rules.Gibbs, {}),
    "LearnedScale": (lambda: bc.LearnedScale, {}),
    **{
        f"{module.__name__.rpartition('.')[2]}.{name}": (lambda kind=kind: kind, {})
        for module in (bc.engines, bc.families)
        for name in module.__all__
        if inspect.isclass(kind := getattr(module, name)) and name not in INNER
    },
}
TABLE, NO_NONE = [*NO_NUMBERS, None], [value for value in NO_NUMBERS if value is not None]
NO_LEVEL, NO_JOBS = [*NO_NUMBERS, 0, 1], [0, 2.5, "x", True]
NO_MAPPING = [value for value in NO_NUMBERS if not isinstance(value, dict)]
REFUSED: dict[str, dict[str, list[Any]]] = {
    "bayesclf.compare": {
        **{"models": TABLE, "X": TABLE, "y": TABLE, "rules": NO_NUMBERS, "cv": NO_COUNTS, "repeats": NO_COUNTS},
        **{"n_jobs": NO_JOBS, "progress": ["x", 0, 2.5, []], "cost": NO_NUMBERS, "reject": NO_NUMBERS},
        "random_state": [value for value in NO_COUNTS if value != 0 or value is False],
    },
    "bayesclf.learning_curve": {
        "sizes": [*NO_NUMBERS, [0], [1e9]],
        "repeats": NO_COUNTS,
        "n_jobs": NO_JOBS,
        "rules": [[]],
    },
    "clf.loo": {"rule": NO_NUMBERS, "method": NO_NUMBERS},
    "clf.diagnose": {"X": NO_NUMBERS, "y": NO_NUMBERS, "checks": ["x", 1, ["x"]], "new": NO_NUMBERS},
    "clf.fit": {"X": TABLE, "y": TABLE, "sample_weight": [*NO_NUMBERS[:-2], np.zeros(20)]},
    "clf.predict": dict.fromkeys(("rule", "cost", "reject", "class_prior"), NO_NUMBERS),
    "clf.predict_interval": {"ci_prob": NO_LEVEL},
    "clf.predict_set": {"level": NO_LEVEL},
    "clf.predict_frame": {"uncertainty": NO_FLAGS},
    "clf.explain": {"ci_prob": NO_NUMBERS, "outcome": NO_NUMBERS},
    "clf.summary": {"ci_prob": NO_NUMBERS, "of": NO_NUMBERS},
    "clf.sample": {"n": NO_COUNTS, "random_state": NO_NONE},
    "clf.predictive_check": {"draws": NO_COUNTS, "prior": NO_FLAGS},
    "clf.to_datatree": {"draws": NO_COUNTS},
    "clf.to_logistic": {"intercept_at": NO_NUMBERS},
    "clf.hypotheses": {"source": NO_NUMBERS},
    "clf.with_posterior": {"idata": TABLE, "point": NO_NUMBERS},
    "SplitConformal": {
        **dict.fromkeys(("classifier", "nonconformity", "rule", "random_state"), NO_NUMBERS),
        **{"level": NO_LEVEL, "share": NO_LEVEL, "by_class": NO_FLAGS},
    },
    "StackedClassifier": {"models": NO_NUMBERS, "rule": NO_MAPPING, "cv": NO_COUNTS, "random_state": NO_NUMBERS},
    "bayesclf.load": {"path": [*TABLE, 0]},
    "datasets.load": {
        **{"name_or_path": [*TABLE, 0], "target": NO_NUMBERS, "kinds": NO_MAPPING},
        "missing": [value for value in NO_MAPPING if not isinstance(value, list)],
    },
    "tables.read_table": {"path": [*TABLE, 0]},
    "Gibbs": {"draw": NO_NUMBERS, "given": NO_NUMBERS},
    "bayesclf.set_progress": {"progress": ["x", 0, 2.5, []]},
    "sample_size.examples_needed": dict.fromkeys(("p", "level", "method"), NO_NUMBERS),
}
"""Values that must be refused, by function and argument: none of the argument's kind."""
ARGUMENTS = {
    "comparison": lambda: made()["Comparison"],
    "clf": lambda: made()["clf"],
    "found": lambda: made()["clf"].explain(X[:3]),
    "model": lambda: "nb",
    "curve": lambda: made()["LearningCurve"],
    "X": lambda: X,
    "y": lambda: Y,
}
"""Good arguments of figures, by name."""
FIGURES = [name for name in bc.plots.__all__ if inspect.isfunction(getattr(bc.plots, name))]


HANDED = ("posterior.averaging", "evaluation.scores", "conformal", "stacking", "pymc_models", "engines", "families")
"""Modules whose functions and methods take what the package has made, or are pages of PyMC to be copied."""


def public():
    """Yield the recorded names of what a user calls with arguments: functions, constructors and methods."""
    record = json.loads((Path(__file__).parents[1] / "public_api.json").read_text(encoding="utf-8"))
    kinds, top = {kind.__name__ for kind in CLASSIFIERS.values()}, record["bayesclf"]
    for module, names in record.items():
        if module == "command line" or module.removeprefix("bayesclf.") in HANDED:
            continue
        for name, about in names.items():
            if isinstance(about, dict):
                owner = "clf" if name in kinds else name
                yield from (
                    [name] if module in ("bayesclf", "bayesclf.finite", "bayesclf.rules") and owner == name else []
                )
                yield from (f"{owner}.{own}" for own, text in about.items() if text.startswith("method(self, "))
            elif about.startswith("function(") and about != "function()" and (names is top or top.get(name) != about):
                yield f"{module.rpartition('.')[2]}.{name}"


def test_every_public_name_is_tried():
    assert (
        not set(public()) - INNER - {*CALLS, *(f"plots.{name}" for name in FIGURES), "clf.report", "Comparison.report"}
    )
    assert INNER.isdisjoint(CALLS)


def try_all(function, good):
    """Give each parameter each odd value, the others being good."""
    named = [one.name for one in inspect.signature(function).parameters.values() if one.kind is not one.VAR_KEYWORD]
    named = [name for name in named if name != "axes"]  # of families, which the package sets
    for name in dict.fromkeys([*named, *good]):
        for value in ODD:
            answer(lambda name=name, value=value: function(**{**good, name: value}))
            plt.close("all")


@pytest.mark.parametrize("name", mainly(list(CALLS), "clf.predict", "clf.score", "SplitConformal.score"))
def test_functions_and_methods(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, good = CALLS[name]
    try_all(call(), good)


@pytest.mark.parametrize(
    ("name", "argument"), [(name, argument) for name, given in REFUSED.items() for argument in given]
)
def test_values_of_another_kind_are_refused(name, argument):
    call, good = CALLS[name]
    if name == "clf.with_posterior":
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
