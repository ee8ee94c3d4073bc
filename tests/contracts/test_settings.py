"""Settings of everything public: what cannot be is refused by one sentence before any work; NumPy's scalars are fine.

Each parameter is given values of all kinds. The case fails where another library's error comes out, or where a value
that is not the parameter's kind is taken without a word.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.suites import SLOW

import bayesclf as bc
from bayesclf.classifiers import CLASSIFIERS
from bayesclf.engines.inference import require_room
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.experiments.sample_size import examples_needed
from bayesclf.tables.reading import read_table

LABELS = np.array(["a", "b"] * 10)
NUMBERS = pd.DataFrame({"u": np.arange(20) % 7 / 7, "v": np.arange(20) % 3 / 3})
COUNTS = pd.DataFrame({"u": np.arange(20) % 4, "v": np.arange(20) % 3})
WORDS = COUNTS.astype(str)
TEXTS = [f"word{row % 4} word{row % 3}" for row in range(20)]
TABLES: dict[Any, Any] = {
    bc.TextNB: TEXTS,
    bc.CategoricalNB: WORDS,
    bc.BayesNetClassifier: WORDS,
    bc.JointBayes: WORDS,
    bc.MultinomialNB: COUNTS,
    bc.BernoulliNB: COUNTS,
}

NO_NUMBERS = ["x", b"x", np.nan, [], {}, {1, 2}, object(), ["x", "y"], [np.nan, 1.0], 1j, True, -np.inf]
"""What no number, no array of numbers and no choice can be."""

NO_COUNTS = [*NO_NUMBERS, 2.5, np.float32(1.5), np.inf, 0, -1, 1e300]
NO_FLAGS = ["x", np.nan, 2.5, [], {}, object(), 0, 1, None]
"""What no whole number of at least 1, and no truth value, can be."""

TAKES_ALSO: dict[str, Callable[[Any], bool]] = {
    "random_state": lambda value: value == 0,
    "structure": lambda value: value == [],  # a network without edges
    "class_free": lambda value: value == [],
    "blocks": lambda value: value == {},
    "vectorizer": lambda value: value == {},
    "prior_mean": lambda value: value == {},
    "prior_scale": lambda value: value == {},
    "batch": lambda value: value is None,
}
"""Values of `NO_NUMBERS` and `NO_FLAGS` that are meant all the same, by parameter."""

FLAGS = ("unbiased", "select", "standardize")


def refuses(name, call, value):
    """Check that a value is answered by one sentence of our own."""
    if name in TAKES_ALSO and isinstance(value, list | dict | int | type(None)) and TAKES_ALSO[name](value):
        return
    with pytest.raises((InputError, Refused, DoesNotExist)) as refusal:
        call(**{name: value})
    assert "\n" not in str(refusal.value)


def parameters(*classes):
    """Return classes with each of their parameters; one that an earlier class has too, where it is slow to fit."""
    first = {name: kind for kind in reversed(classes) for name in names(kind)}
    return [
        pytest.param(kind, name, id=f"{kind.__name__}-{name}", marks=() if first[name] is kind else SLOW)
        for kind in classes
        for name in names(kind)
    ]


def names(kind):
    return list(inspect.signature(kind).parameters)


@pytest.mark.parametrize(("kind", "name"), parameters(*CLASSIFIERS.values()))
def test_parameters_of_classifiers(kind, name):
    def fit(**options):
        kind(**{"inference": "map", **options}).fit(TABLES.get(kind, NUMBERS), LABELS)

    for value in NO_FLAGS if name in FLAGS else NO_NUMBERS:
        refuses(name, fit, value)


ENGINES = (bc.engines.Exact, bc.engines.NUTS, bc.engines.Laplace, bc.engines.Auto, bc.engines.MAP, bc.engines.MLE)
OPTIMIZERS = (bc.engines.GradientAscent, bc.engines.ConjugateGradient, bc.engines.LBFGS, bc.engines.Newton)
NUMERIC = ("limit", "target_accept", "step", "decay", "tolerance")


@pytest.mark.parametrize(("kind", "name"), parameters(*ENGINES, *OPTIMIZERS))
def test_settings_of_engines(kind, name):
    for value in NO_NUMBERS if name in (*NUMERIC, "progress") else NO_COUNTS:
        if not (name == "progress" and value is True):
            refuses(name, kind, value)


@pytest.mark.parametrize("kind", [bc.engines.Exact, bc.engines.NUTS, bc.engines.Laplace])
def test_scalars_of_numpy_are_numbers(kind, tmp_path):
    engine = kind(draws=np.int64(5), chains=np.int32(2))
    assert engine == kind(draws=5, chains=2)
    if kind is bc.engines.Exact:
        clf = bc.GaussianNB(kappa=np.float32(2), inference=engine, random_state=np.int64(1)).fit(NUMBERS, LABELS)
        clf.save(tmp_path / "model.nc")
        again = bc.load(tmp_path / "model.nc")
        np.testing.assert_array_equal(again.predict_proba(NUMBERS), clf.predict_proba(NUMBERS))


FIT = bc.GaussianNB(random_state=1).fit(NUMBERS, LABELS)
MODELS = {"nb": bc.GaussianNB(inference="map")}
QUICK = {"rules": ["map"], "cv": 2}
FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, list[Any]]]] = {
    "compare": (
        lambda **given: bc.compare(**{"models": MODELS, "X": NUMBERS, "y": LABELS, **QUICK, **given}),
        {
            "models": [*NO_NUMBERS, None],
            "X": [*NO_NUMBERS, None],
            "y": [*NO_NUMBERS, None],
            "rules": NO_NUMBERS,
            "cv": NO_COUNTS,
            "repeats": [value for value in NO_COUNTS if value is not None],
            "random_state": [value for value in NO_COUNTS if value != 0 or value is False],
            "n_jobs": [value for value in NO_COUNTS if not (isinstance(value, int) and value == -1)],
            "progress": ["x", 0, 2.5, []],
            "cost": NO_NUMBERS,
            "reject": NO_NUMBERS,
        },
    ),
    "learning_curve": (
        lambda **given: bc.learning_curve(**{"models": MODELS, "X": NUMBERS, "y": LABELS, **QUICK, **given}),
        {"sizes": [*NO_NUMBERS, [0], [1e9]], "repeats": NO_COUNTS, "n_jobs": [0, 2.5, "x", True], "rules": [[]]},
    ),
    "loo": (lambda **given: FIT.loo(NUMBERS, LABELS, **given), {"rule": NO_NUMBERS, "method": NO_NUMBERS}),
    "diagnose": (
        lambda **given: FIT.diagnose(**{"X": NUMBERS, "y": LABELS, **given}),
        {"X": NO_NUMBERS, "y": NO_NUMBERS, "checks": ["x", 1, ["x"]], "new": NO_NUMBERS},
    ),
    "fit": (
        lambda **given: bc.GaussianNB().fit(**{"X": NUMBERS, "y": LABELS, **given}),
        {"X": [*NO_NUMBERS, None], "y": [*NO_NUMBERS, None], "sample_weight": [*NO_NUMBERS[:-2], np.zeros(20)]},
    ),
    "predict": (
        lambda **given: FIT.predict(**{"X": NUMBERS, **given}),
        {"rule": NO_NUMBERS, "cost": NO_NUMBERS, "reject": NO_NUMBERS, "class_prior": NO_NUMBERS},
    ),
    "predict_interval": (lambda **given: FIT.predict_interval(NUMBERS, **given), {"ci_prob": [*NO_NUMBERS, 0, 1]}),
    "predict_set": (lambda **given: FIT.predict_set(NUMBERS, **given), {"level": [*NO_NUMBERS, 0, 1]}),
    "predict_frame": (lambda **given: FIT.predict_frame(NUMBERS, **given), {"uncertainty": NO_FLAGS}),
    "explain": (lambda **given: FIT.explain(NUMBERS, **given), {"ci_prob": NO_NUMBERS, "outcome": NO_NUMBERS}),
    "summary": (lambda **given: FIT.summary(**given), {"ci_prob": NO_NUMBERS, "of": NO_NUMBERS}),
    "sample": (
        lambda **given: FIT.sample(**{"n": 3, **given}),
        {"n": NO_COUNTS, "random_state": [value for value in NO_NUMBERS if value is not None]},
    ),
    "predictive_check": (
        lambda **given: FIT.predictive_check(NUMBERS, LABELS, **given),
        {"draws": NO_COUNTS, "prior": NO_FLAGS},
    ),
    "to_datatree": (lambda **given: FIT.to_datatree(NUMBERS, LABELS, **given), {"draws": NO_COUNTS}),
    "to_logistic": (lambda **given: FIT.to_logistic(**given), {"intercept_at": NO_NUMBERS}),
    "hypotheses": (lambda **given: FIT.hypotheses(**given), {"source": NO_NUMBERS}),
    "with_posterior": (
        lambda **given: FIT.with_posterior(**{"idata": FIT.posterior_, **given}),
        {"idata": [*NO_NUMBERS, None], "point": NO_NUMBERS},
    ),
    "SplitConformal": (
        lambda **given: bc.SplitConformal(**{"classifier": MODELS["nb"], **given}).fit(NUMBERS, LABELS),
        {
            "classifier": NO_NUMBERS,
            "level": [*NO_NUMBERS, 0, 1],
            "share": [*NO_NUMBERS, 0, 1],
            "nonconformity": NO_NUMBERS,
            "by_class": NO_FLAGS,
            "rule": NO_NUMBERS,
            "random_state": NO_NUMBERS,
        },
    ),
    "StackedClassifier": (
        lambda **given: bc.StackedClassifier(**{"models": MODELS, **given}).fit(NUMBERS, LABELS),
        {
            "models": NO_NUMBERS,
            "rule": [value for value in NO_NUMBERS if not isinstance(value, dict)],  # {} leaves all models their own
            "cv": NO_COUNTS,
            "random_state": NO_NUMBERS,
        },
    ),
    "load": (bc.load, {"path": [*NO_NUMBERS, None, 0]}),
    "datasets.load": (
        lambda **given: bc.datasets.load(**{"name_or_path": "play_tennis", **given}),
        {
            "name_or_path": [*NO_NUMBERS, None, 0],
            "target": NO_NUMBERS,
            "dtypes": [value for value in NO_NUMBERS if not isinstance(value, dict)],
            "missing": [value for value in NO_NUMBERS if not isinstance(value, dict | list)],
        },
    ),
    "read_table": (read_table, {"path": [*NO_NUMBERS, None, 0]}),
    "Gibbs": (bc.rules.Gibbs, {"draw": NO_NUMBERS, "given": NO_NUMBERS}),
    "set_progress": (bc.set_progress, {"progress": ["x", 0, 2.5, []]}),
    "examples_needed": (examples_needed, {"p": NO_NUMBERS, "level": NO_NUMBERS, "method": NO_NUMBERS}),
}


@pytest.mark.parametrize(
    ("function", "name"), [(function, name) for function, (_, given) in FUNCTIONS.items() for name in given]
)
def test_parameters_of_functions(function, name):
    call, values = FUNCTIONS[function]
    for value in values[name]:
        refuses("", lambda value=value, **_: call(**{name: value}), value)


@pytest.mark.parametrize("name", bc.experiments.EXPERIMENTS)
def test_settings_of_experiments_are_of_the_kind_of_their_defaults(name, tmp_path):
    experiment = bc.experiments.find(name)
    for option in names(experiment.Settings):
        for value in (1j, [], None, np.nan, -np.inf):
            settings = experiment.Settings(**{option: value})
            with pytest.raises(InputError, match=f"{option} must be"):
                bc.experiments.run(experiment, settings, tmp_path / name)
    assert not list(tmp_path.iterdir())


BILLION = 10**9
ROOM = {
    "exact": bc.GaussianNB(inference=bc.engines.Exact(draws=BILLION)),
    "laplace": bc.LogisticRegression(prior_scale=2.5, inference=bc.engines.Laplace(draws=BILLION)),
    "nuts": bc.LogisticRegression(prior_scale=2.5, inference=bc.engines.NUTS(draws=BILLION)),
    "tuning": bc.LogisticRegression(prior_scale=2.5, inference=bc.engines.NUTS(tune=BILLION)),
    "auto": bc.LogisticRegression(
        prior_scale=2.5, inference=bc.engines.Auto(bc.engines.Laplace(draws=BILLION), bc.engines.NUTS(draws=BILLION))
    ),
}


@pytest.mark.parametrize("case", ROOM)
def test_a_billion_draws_are_refused_before_they_are_made(case):
    with pytest.raises(Refused, match=r"=1,000,000,000 would take about .* GiB of memory .*; at most [\d,]+ fit"):
        ROOM[case].fit(NUMBERS, LABELS)


@pytest.mark.parametrize(
    "call",
    [
        lambda: FIT.sample(BILLION),
        lambda: FIT.predictive_check(NUMBERS, LABELS, draws=BILLION),
    ],
)
def test_a_billion_of_anything_is_refused(call):
    with pytest.raises(InputError, match=r"=1,000,000,000 would take about .* GiB of memory .*; at most [\d,]+ fit"):
        call()


@pytest.mark.parametrize("kind", [bc.engines.Exact, bc.engines.Laplace, bc.engines.NUTS])
def test_the_number_in_the_sentence_is_the_most_that_is_taken(kind):
    model = (
        FIT
        if kind is bc.engines.Exact
        else bc.LogisticRegression(prior_scale=2.5, inference="map").fit(NUMBERS, LABELS)
    ).model_
    with pytest.raises(Refused) as refusal:
        require_room(model, kind(draws=BILLION))
    most = int(str(refusal.value).partition("at most ")[2].split()[0].replace(",", ""))
    require_room(model, kind(draws=most))
    with pytest.raises(Refused):
        require_room(model, kind(draws=most + 1))
