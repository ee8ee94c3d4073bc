"""Model files whose parts do not fit together are refused when they are read, not at a prediction."""

import resource
import time

import pytest
from helpers.stored import MIXED, NUMBERS, WORDS, Y, tamper
from helpers.strangers import with_columns, with_levels

import bayesclf as bc
from bayesclf.engines import inference
from bayesclf.errors import InputError

STRANGE = "was written by another version of bayesclf, or was altered"


def values(state, name):
    """Return the fields of the first object of a class in a state."""
    if isinstance(state, dict):
        own = state.get("class")
        if isinstance(own, dict) and own.get("name") == name:
            return own["values"]
        state = list(state.values())
    found = (values(inner, name) for inner in state) if isinstance(state, list) else ()
    return next((each for each in found if each is not None), None)


@pytest.fixture(scope="module")
def logistic():
    return bc.LogisticRegression(inference="map", random_state=1).fit(MIXED, Y)


@pytest.mark.parametrize("size", [7, 10**12, 2**70, -(10**6)])
def test_numbers_of_levels_are_those_of_the_columns(size, logistic, tmp_path):
    def change(state):
        values(state, "LogisticDesign")["sizes"] = {"tuple": [size, 3]}

    logistic.save(tmp_path / "model.nc")
    tamper(tmp_path / "model.nc", change)
    with pytest.raises(InputError, match=STRANGE):
        bc.load(tmp_path / "model.nc")


def test_columns_are_those_of_the_model(logistic, tmp_path):
    logistic.save(tmp_path / "model.nc")
    tamper(tmp_path / "model.nc", lambda state: state["fitted"]["_columns"]["tuple"].pop())
    with pytest.raises(InputError, match=STRANGE):
        bc.load(tmp_path / "model.nc")


def test_names_of_columns_are_words(tmp_path):
    clf = bc.BayesNetClassifier(inference="map").fit(WORDS, Y)
    clf.save(tmp_path / "model.nc")
    tamper(tmp_path / "model.nc", lambda state: state["fitted"].update(feature_names_in_=3))
    with pytest.raises(InputError, match=STRANGE):
        bc.load(tmp_path / "model.nc")


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("draws", 0, "0 draws"),
        ("block", 0, "blocks of 0"),
        ("block", 10**9, "would take more than"),
        ("block", 1, "10 draws are in blocks of 1"),
        ("seed", -1, "below 0"),
    ],
)
def test_draws_that_are_made_again_are_bounded(field, value, reason, tmp_path, monkeypatch):
    monkeypatch.setattr(inference, "POSTERIOR_BYTES", 0)
    clf = bc.GaussianNB(inference=bc.engines.Exact(draws=5, chains=2), random_state=1).fit(NUMBERS, Y)
    clf.save(tmp_path / "model.nc")
    assert bc.load(tmp_path / "model.nc").predict(NUMBERS).shape == Y.shape
    tamper(tmp_path / "model.nc", lambda state: values(state, "SeededDraws").update({field: value}))
    with pytest.raises(InputError, match=f"{STRANGE}.*{reason}"):
        bc.load(tmp_path / "model.nc")


def test_more_draws_from_a_seed_than_allowed_are_no_damage(tmp_path, monkeypatch):
    monkeypatch.setattr(inference, "POSTERIOR_BYTES", 0)
    clf = bc.GaussianNB(inference=bc.engines.Exact(draws=5, chains=2), random_state=1).fit(NUMBERS, Y)
    clf.save(tmp_path / "model.nc")
    tamper(tmp_path / "model.nc", lambda state: values(state, "SeededDraws").update(draws=2**27))
    with pytest.raises(InputError, match=f"draws 134,217,728 × .* load it with max_bytes={2**33}") as refusal:
        bc.load(tmp_path / "model.nc")
    assert STRANGE not in str(refusal.value)


def test_more_draws_are_made_again_of_a_file_that_is_trusted(tmp_path, monkeypatch):
    monkeypatch.setattr(inference, "POSTERIOR_BYTES", 0)
    bc.GaussianNB(inference=bc.engines.Exact(draws=5, chains=2), random_state=1).fit(NUMBERS, Y).save(
        tmp_path / "model.nc"
    )
    tamper(tmp_path / "model.nc", lambda state: values(state, "SeededDraws").update(draws=2**25))
    assert bc.load(tmp_path / "model.nc", max_bytes=2**34).draws_.seeded.draws == 2**25


@pytest.mark.parametrize("make", [bc.CategoricalNB, bc.JointBayes, bc.BayesNetClassifier])
@pytest.mark.parametrize("change", [with_levels(10_000), with_columns(100, 100)], ids=["levels", "columns"])
def test_columns_of_many_levels(make, change, tmp_path):
    """A few thousand words in a file, levels of several columns, are millions of names of cells."""
    path = tmp_path / "model.nc"
    make(inference="map").fit(WORDS, Y).save(path)
    tamper(path, change)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises(InputError, match=STRANGE):
        bc.load(path)
    assert time.process_time() - start < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000
