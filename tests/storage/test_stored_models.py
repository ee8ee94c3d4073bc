"""Files that earlier versions wrote are read, and answer as they did; `fixtures/make_models.py` wrote them."""

import json
import warnings
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
from helpers.suites import mainly

import bayesclf as bc
from bayesclf import storage
from bayesclf.classifiers import CLASSIFIERS
from bayesclf.errors import DoesNotExist, PredictionWarning, Refused
from bayesclf.rules import RULES

FOLDERS = sorted((Path(__file__).parent.parent / "fixtures" / "models").iterdir())
RECORDS = {folder.name: json.loads((folder / "answers.json").read_text(encoding="utf-8")) for folder in FOLDERS}
FILES = [path for folder in FOLDERS for path in sorted(folder.glob("*.nc"))]

QUESTIONS = {
    **{rule: lambda clf, X, rule=rule: clf.predict_log_proba(X, rule=rule) for rule in RULES},
    "gibbs given x": lambda clf, X: clf.predict_log_proba(X, rule=bc.Gibbs(given="data and x")),
    "own rule": lambda clf, X: clf.predict(X),
    "interval": lambda clf, X: clf.predict_interval(X),
    "epistemic": lambda clf, X: clf.uncertainty(X).epistemic,
}


def name_of(path):
    return f"{path.parent.name}-{path.stem}"


def record_of(path):
    return RECORDS[path.parent.name]["models"][path.stem]


def rows_of(path):
    rows = record_of(path)["rows"]
    return pd.DataFrame(rows["data"], columns=rows["columns"])


def answered(question, clf, X):
    """Return an answer as lists; of a refusal, the name of its class."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PredictionWarning)
            return QUESTIONS[question](clf, X).tolist()
    except (DoesNotExist, Refused) as reason:
        return type(reason).__name__


def classes_in(node):
    """Yield the names of the classes in the JSON of a file."""
    for item in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from classes_in(item)
    if isinstance(node, dict) and {*node} == {"class"}:
        yield node["class"]["name"]


def state_of(path):
    with h5py.File(path) as file:
        return json.loads(file[storage.GROUP].attrs["state"])


MAIN_SUITE = (
    "gaussian",
    "naive_bayes",
    "network_edges",
    "text",
    "multinomial",
    "logistic_laplace",
    "logistic_nuts",
)
"""Files of the main suite, one of each kind of state."""


@pytest.fixture(scope="module", params=mainly(FILES, *(path for path in FILES if path.stem in MAIN_SUITE)), ids=name_of)
def path(request):
    return request.param


@pytest.fixture(scope="module")
def loaded(path):
    return bc.load(path)


def test_it_is_of_the_same_class(loaded, path):
    assert type(loaded).__name__ == record_of(path)["classifier"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_are_those_before(question, loaded, path):
    expected, answer = record_of(path)["answers"][question], answered(question, loaded, rows_of(path))
    if isinstance(expected, str) or question == "own rule":
        assert answer == expected
    else:
        np.testing.assert_allclose(answer, expected, rtol=1e-12, atol=1e-12)


def test_a_loaded_classifier_can_be_saved_in_the_present_format(loaded, path, tmp_path):
    loaded.save(tmp_path / "again.nc")
    again, X = bc.load(tmp_path / "again.nc"), rows_of(path)
    np.testing.assert_array_equal(again.predict_log_proba(X), loaded.predict_log_proba(X))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_files_hold_every_class_of_their_format(folder):
    found = {name for path in folder.glob("*.nc") for name in classes_in(state_of(path))}
    assert found == {*RECORDS[folder.name]["classes"]}


ADDED_SINCE = {"format_1": {"AODE"}}
"""Classifiers that a format did not have."""


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_there_is_a_file_of_every_classifier(folder):
    written = {state_of(path)["classifier"] for path in folder.glob("*.nc")}
    assert written == {record["classifier"] for record in RECORDS[folder.name]["models"].values()}
    assert written == {cls.__name__ for cls in CLASSIFIERS.values()} - ADDED_SINCE[folder.name]


def test_there_is_a_folder_for_the_first_format():
    assert "format_1" in RECORDS
