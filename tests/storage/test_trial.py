"""Model files whose parts do not fit together are refused when they are read, not at a prediction."""

import pytest
from helpers.stored import MIXED, NUMBERS, WORDS, Y, tamper

import bayesclf as bc
from bayesclf.errors import InputError
from bayesclf.posterior import hypotheses

DAMAGED = "is damaged or was altered"


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
    with pytest.raises(InputError, match=DAMAGED):
        bc.load(tmp_path / "model.nc")


def test_columns_are_those_of_the_model(logistic, tmp_path):
    logistic.save(tmp_path / "model.nc")
    tamper(tmp_path / "model.nc", lambda state: state["fitted"]["_columns"]["tuple"].pop())
    with pytest.raises(InputError, match=DAMAGED):
        bc.load(tmp_path / "model.nc")


def test_names_of_columns_are_words(tmp_path):
    clf = bc.BayesNetClassifier(inference="map").fit(WORDS, Y)
    clf.save(tmp_path / "model.nc")
    tamper(tmp_path / "model.nc", lambda state: state["fitted"].update(feature_names_in_=3))
    with pytest.raises(InputError, match=DAMAGED):
        bc.load(tmp_path / "model.nc")


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("draws", 10**12, "1000000000000 draws"),
        ("draws", 0, "0 draws"),
        ("block", 0, "blocks of 0"),
        ("block", 10**9, "would take more than"),
        ("seed", -1, "below 0"),
    ],
)
def test_draws_that_are_made_again_are_bounded(field, value, reason, tmp_path, monkeypatch):
    monkeypatch.setattr(hypotheses, "POSTERIOR_BYTES", 0)
    clf = bc.GaussianNB(inference=bc.Exact(draws=5, chains=1), random_state=1).fit(NUMBERS, Y)
    clf.save(tmp_path / "model.nc")
    assert bc.load(tmp_path / "model.nc").predict(NUMBERS).shape == Y.shape
    tamper(tmp_path / "model.nc", lambda state: values(state, "SeededDraws").update({field: value}))
    with pytest.raises(InputError, match=f"{DAMAGED}.*{reason}"):
        bc.load(tmp_path / "model.nc")
