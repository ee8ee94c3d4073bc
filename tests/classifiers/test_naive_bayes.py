"""Naive Bayes against a textbook, and how its blocks and notes name columns."""

import numpy as np
import pandas as pd
import pytest

import bayesclf as bc

SUNNY = pd.DataFrame({"outlook": ["sunny"], "temperature": ["cool"], "humidity": ["high"], "wind": ["strong"]})


@pytest.mark.parametrize(("label", "joint"), [("yes", 0.0053), ("no", 0.0206)])
def test_play_tennis_estimates_multiply_to_the_textbooks(label, joint, play_tennis):
    mle = bc.CategoricalNB(inference="mle").fit(play_tennis.X, play_tennis.y).posterior_["mle"].sel(outcome=label)
    levels = [f"{name}={SUNNY[name].iloc[0]}" for name in SUNNY]
    found = float(mle["pi"].item() * mle["theta"].sel(level=levels).prod())
    assert round(found, 4) == joint


@pytest.mark.parametrize("key", [7, (7,), "7"])
def test_blocks_name_columns_by_whole_numbers_too(key):
    X, y = pd.DataFrame({7: [0.0, 1.0, 2.0, 4.0], 8: [1.0, 0.0, 2.0, 2.0]}), [0, 0, 1, 1]
    blocks = bc.NaiveBayes({key: bc.families.Gaussian("feature")}, inference="map").fit(X, y).model_.blocks
    assert [block.statistics.axes.features for block in blocks] == [("7",), ("8",)]


def test_numbers_that_become_categories_are_named():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"age": rng.integers(20, 80, size=90), "share": rng.random(90).round(1), "code": [1, 2, 3] * 30})
    y = rng.integers(2, size=90)
    known = X.astype({"share": "category"})
    for fit in (
        bc.NaiveBayes({("age", "code"): "joint", "share": "categorical"}, random_state=1).fit(X, y),
        bc.CategoricalNB(random_state=1).fit(X, y),
        bc.CategoricalNB(random_state=1).partial_fit(X[:40], y[:40], classes=[0, 1]).partial_fit(X[40:], y[40:]),
    ):
        (note,) = [note for note in fit.notes_ if "unordered category" in note]
        assert "'age' (" in note
        assert "'share' (" in note
        assert "'code'" not in note
        assert "pandas.cut" in note
    assert not any("unordered category" in note for note in bc.NaiveBayes(random_state=1).fit(X, y).notes_)
    said = bc.NaiveBayes({"share": "categorical"}, random_state=1).fit(known, y).notes_
    assert not any("unordered category" in note for note in said)
