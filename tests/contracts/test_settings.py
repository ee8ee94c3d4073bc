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
from helpers.odd import LABELS, NO_COUNTS, NO_FLAGS, NO_NUMBERS, NUMBERS
from helpers.suites import SLOW

import bayesclf as bc
from bayesclf.classifiers import CLASSIFIERS
from bayesclf.engines.inference import require_room
from bayesclf.errors import DoesNotExist, InputError, Refused

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

FLAGS = ("unbiased", "standardize")


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


@pytest.mark.parametrize(
    ("name", "word"), [("class_prior", "uniform"), ("inference", "map"), ("missing", "level"), ("temper", "column")]
)
def test_words_in_capitals_are_told(name, word):
    with pytest.raises(InputError, match=f"did you mean '{word}'"):
        bc.NaiveBayes(**{name: word.upper()}).fit(NUMBERS, LABELS)
    assert list(FIT.predict(NUMBERS, rule="MAP")) == list(FIT.predict(NUMBERS, rule="map"))


ENGINES = tuple(
    getattr(bc.engines, name) for name in ("Exact", "NUTS", "Slice", "Laplace", "Augmentation", "Auto", "MAP", "MLE")
)
OPTIMIZERS = (bc.engines.GradientAscent, bc.engines.ConjugateGradient, bc.engines.Newton)
NUMERIC = ("limit", "target_accept", "step", "decay", "tolerance")


@pytest.mark.parametrize(("kind", "name"), parameters(*ENGINES, *OPTIMIZERS))
def test_settings_of_engines(kind, name):
    for value in NO_NUMBERS if name in (*NUMERIC, "progress") else NO_COUNTS:
        untuned = name == "tune" and kind is not bc.engines.NUTS and value == 0  # chains that keep all draws
        if not (name == "progress" and value is True) and not untuned:
            refuses(name, kind, value)


FIT = bc.GaussianNB(random_state=1).fit(NUMBERS, LABELS)


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
LAPLACE, SAMPLED = bc.engines.Laplace(draws=BILLION), bc.engines.NUTS(draws=BILLION)
ROOM = {
    "exact": lambda: bc.GaussianNB(inference=bc.engines.Exact(draws=BILLION)).fit(NUMBERS, LABELS),
    **{
        name: lambda engine=engine: bc.LogisticRegression(2.5, inference=engine).fit(NUMBERS, LABELS)
        for name, engine in {
            "laplace": LAPLACE,
            "nuts": SAMPLED,
            "tuning": bc.engines.NUTS(tune=BILLION),
            "auto": bc.engines.Auto(LAPLACE, SAMPLED),
        }.items()
    },
    "rows": lambda: FIT.sample(BILLION),
    "data sets": lambda: FIT.predictive_check(NUMBERS, LABELS, draws=BILLION),
}


@pytest.mark.parametrize("case", ROOM)
def test_a_billion_of_anything_is_refused_before_it_is_made(case):
    sentence = r"=1,000,000,000 would take about .* GiB of memory .*; at most [\d,]+ fit"
    with pytest.raises((Refused, InputError), match=sentence):
        ROOM[case]()


@pytest.mark.parametrize("kind", [bc.engines.Exact, bc.engines.Laplace, bc.engines.NUTS])
def test_the_number_in_the_sentence_is_the_most_that_is_taken(kind):
    logistic = bc.LogisticRegression(2.5, inference="map")
    model = (FIT if kind is bc.engines.Exact else logistic.fit(NUMBERS, LABELS)).model_
    with pytest.raises(Refused, match="GiB of memory") as refusal:
        require_room(model, kind(draws=BILLION))
    most = int(str(refusal.value).partition("at most ")[2].split()[0].replace(",", ""))
    require_room(model, kind(draws=most))
    with pytest.raises(Refused, match="GiB of memory"):
        require_room(model, kind(draws=most + 1))
