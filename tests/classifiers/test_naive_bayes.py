"""Naive Bayes against textbooks, and its blocks against each other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers.classifiers import NUMBERS, WORDS, assert_same_answers
from scipy.special import logsumexp

import bayesclf as bc
from bayesclf.rules import RULES

SUNNY = pd.DataFrame({"outlook": ["sunny"], "temperature": ["cool"], "humidity": ["high"], "wind": ["strong"]})


@pytest.mark.parametrize("kind", [bc.CategoricalNB, bc.NaiveBayes])
def test_play_tennis_is_the_textbooks(kind, play_tennis):
    """Mitchell 1997 §6.9.1."""
    clf = kind(inference="mle").fit(play_tennis.X, play_tennis.y)
    np.testing.assert_allclose(clf.predict_proba(SUNNY), [[0.795, 0.205]], atol=5e-4)
    assert clf.predict(SUNNY).tolist() == ["no"]


@pytest.mark.parametrize(("label", "joint"), [("yes", 0.0053), ("no", 0.0206)])
def test_play_tennis_estimates_multiply_to_the_textbooks(label, joint, play_tennis):
    mle = bc.CategoricalNB(inference="mle").fit(play_tennis.X, play_tennis.y).posterior_["mle"].sel(outcome=label)
    levels = [f"{name}={SUNNY[name].iloc[0]}" for name in SUNNY]
    found = float(mle["pi"].item() * mle["theta"].sel(level=levels).prod())
    assert round(found, 4) == joint


def test_naive_bayes_of_one_kind_of_column_is_that_kinds(mixed_table):
    X, y = mixed_table
    for kind, names in ((bc.GaussianNB, NUMBERS), (bc.CategoricalNB, WORDS)):
        assert_same_answers(
            kind(random_state=1).fit(X[names], y),
            bc.NaiveBayes(families="gaussian", random_state=1).fit(X[names], y),
            X[names],
            RULES,
            0,
        )


@pytest.mark.parametrize("key", [7, (7,), "7"])
def test_blocks_name_columns_by_whole_numbers_too(key):
    X, y = pd.DataFrame({7: [0.0, 1.0, 2.0, 4.0], 8: [1.0, 0.0, 2.0, 2.0]}), [0, 0, 1, 1]
    blocks = bc.NaiveBayes({key: bc.families.Gaussian("feature")}, inference="map").fit(X, y).model_.blocks
    assert [block.statistics.axes.features for block in blocks] == [("7",), ("8",)]


def test_blocks_of_naive_bayes_multiply(mixed_table):
    """log p(x, y) of both kinds of column is the sum of the kinds', the class prior counted once."""
    X, y = mixed_table
    parts = (NUMBERS + WORDS, NUMBERS, WORDS)
    both, numbers, words = (bc.NaiveBayes(inference="map").fit(X[part], y) for part in parts)
    log_pi = np.log(both.posterior_["map"]["pi"].values[0, 0])
    total = numbers.predict_log_proba(X[NUMBERS]) + words.predict_log_proba(X[WORDS]) - log_pi
    expected = total - logsumexp(total, axis=1, keepdims=True)
    np.testing.assert_allclose(both.predict_log_proba(X), expected, atol=1e-10)


def test_given_base_rates_are_the_answer_where_no_column_varies():
    clf = bc.NaiveBayes(inference="exact", random_state=1).fit([[1.0], [1.0], [1.0]], ["u", "v", "v"])
    for rule in ("map", "mean", "bayes-optimal", "predictive"):
        np.testing.assert_allclose(clf.predict_proba([[1.0]], rule=rule, class_prior=[0.2, 0.8]), [[0.2, 0.8]])
    assert clf.predict([[1.0]], rule="gibbs", class_prior=[0.0, 1.0]) == ["v"]


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
        (note,) = [note for note in fit.notes_ if "category of its own" in note]
        assert "'age' (" in note
        assert "'share' (" in note
        assert "'code'" not in note
        assert "pandas.cut" in note
    assert not any("category of its own" in note for note in bc.NaiveBayes(random_state=1).fit(X, y).notes_)
    said = bc.NaiveBayes({"share": "categorical"}, random_state=1).fit(known, y).notes_
    assert not any("category of its own" in note for note in said)
