"""What messages advise exists, and does what it is advised for."""

import inspect
import re
from operator import attrgetter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.documents import texts

import bayesclf as bc
from bayesclf.classifiers import CLASSIFIERS
from bayesclf.engines.inference import ENGINES
from bayesclf.errors import DoesNotExist, InputError, Refused

FOLDER = Path(bc.__file__).parent
PUBLIC = (*CLASSIFIERS.values(), *ENGINES.values(), bc.StackedClassifier, bc.SplitConformal, bc.rules.Gibbs, bc.compare)
Y = np.array(["p", "q"] * 15)
X = pd.DataFrame({"s": ["a", "b", "b"] * 10, "x": np.arange(30) % 7 / 7, "z": np.arange(30) % 11 / 11})


@pytest.fixture(scope="module")
def messages():
    """Return the texts of all modules."""
    return "\n".join(sorted({text for path in FOLDER.rglob("*.py") for text in texts(path)}))


def parameters():
    """Return the names of parameters of public classes, their methods, and functions."""
    calls = [one for kind in PUBLIC for one in (kind, *(getattr(kind, name) for name in dir(kind)))]
    return {name for call in calls if inspect.isroutine(call) or call in PUBLIC for name in _signature(call)}


def _signature(call):
    try:
        return inspect.signature(call).parameters
    except (ValueError, TypeError):
        return ()


def test_messages_have_no_idiom_of_their_own(messages):
    assert re.findall(r".*(?:\b(?:as where|the like|lies with|are those of)\b).*", messages) == []


def test_rules_engines_options_and_functions_in_messages_exist(messages):
    rules = set(re.findall(r"\brules? '([a-z-]+)'", messages))
    assert rules
    assert rules <= set(bc.rules.RULES)
    engines = set(re.findall(r"inference='([a-z]+)'", messages))
    assert engines
    assert engines <= {"auto", *ENGINES}
    functions = set(re.findall(r"\bbc\.([a-zA-Z_.]*[a-zA-Z_])", messages))
    assert len([attrgetter(name)(bc) for name in functions]) > 5
    keywords = set(re.findall(r"\b([a-z_]+)=(?:'[a-z]|\[…|True|False|None)", messages))
    assert len(keywords) > 10
    elsewhere = {"index", "ordered", "partitioning", "regex", "scope", "skip_rows"}  # pandas, PyArrow, HTML
    assert keywords - elsewhere <= parameters()
    flags = set(re.findall(r"(?<![\w(-])(--[a-z][a-z-]+)", messages))
    options = [text for path in (FOLDER / "cli").glob("*.py") for text in texts(path) if text.startswith("--")]
    declared = {flag for text in options for flag in text.split("/")}  # "--header/--no-header" are two
    assert len(flags) > 10
    others = {"--collections", "--largest", "--width", "--csv", "--batch"}  # of experiments, a style sheet, psql, mysql
    assert flags - others <= declared


def point():
    """Return a fit without a posterior."""
    return bc.NaiveBayes(inference="map").fit(X, Y)


ADVICE = {
    "a point's average": (
        lambda: point().predict_interval(X),
        "fit with inference='auto', or use the rule 'map'",
        lambda: (bc.NaiveBayes(inference="auto").fit(X, Y).predict_interval(X), point().predict_proba(X, rule="map")),
    ),
    "a class that comes late": (
        lambda: bc.NaiveBayes().partial_fit(X, Y).partial_fit(X[:1], ["r"]),
        r"name all that can occur at the first call, classes=\[…\]",
        lambda: bc.NaiveBayes().partial_fit(X, Y, classes=["p", "q", "r"]).partial_fit(X[:1], ["r"]),
    ),
    "rows without a label": (
        lambda: bc.NaiveBayes().fit(X, [None, *Y[1:]]),
        r"leave them out \(unlabeled='drop'\), or learn from them \(unlabeled='use'\)",
        lambda: [
            bc.NaiveBayes(inference="map").fit(X[["s"]], [None, *Y[1:]], unlabeled=how) for how in ("drop", "use")
        ],
    ),
    "one class": (
        lambda: bc.NaiveBayes().fit(X, ["p"] * 30),
        r"name all that can occur \(classes=\[…\]\)",
        lambda: bc.NaiveBayes().fit(X, ["p"] * 30, classes=["p", "q"]),
    ),
    "an engine that does not sum over labels": (
        lambda: bc.NaiveBayes(inference="exact").fit(X, [None, *Y[1:]], unlabeled="use"),
        "use inference='augmentation', 'map' or 'mle'",
        lambda: [
            bc.NaiveBayes(inference=how, random_state=1).fit(X[["s"]], [None, *Y[1:]], unlabeled="use")
            for how in ("augmentation", "map", "mle")
        ],
    ),
    "a Laplace approximation": (
        lambda: bc.NaiveBayes(inference="laplace").fit(X, Y),
        "use inference='auto'",
        lambda: bc.NaiveBayes(inference="auto").fit(X, Y),
    ),
}


@pytest.mark.parametrize("name", ADVICE)
def test_what_a_refusal_advises_can_be_done(name):
    refused, advice, advised = ADVICE[name]
    with pytest.raises((InputError, Refused, DoesNotExist), match=advice):
        refused()
    assert advised() is not None


def test_other_estimators_do_not_advise_options_of_fit_that_they_lack():
    one, gaps, models = ["p"] * 30, [None, *Y[1:]], {"nb": bc.NaiveBayes()}
    for call in (
        lambda: bc.StackedClassifier(models, cv=3).fit(X, one),
        lambda: bc.StackedClassifier(models, cv=3).fit(X, gaps),
        lambda: bc.SplitConformal(bc.NaiveBayes()).fit(X, gaps),
        lambda: bc.compare(models, X, one),
        lambda: bc.compare(models, X, gaps, cv=[(range(15), range(15, 30))]),
    ):
        with pytest.raises(InputError) as refusal:
            call()
        assert not re.search("unlabeled=|classes=", str(refusal.value))
