"""Adding two classifiers: weights of rows, and nothing else."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from helpers.classifiers import NUMBERS, WORDS, assert_same_answers, every_generative
from sklearn.base import clone

import bayesclf as bc
from bayesclf.errors import InputError, Refused


@every_generative
def test_two_classifiers_are_that_of_all_rows(case, mixed_table):
    X, y = case.table(mixed_table)
    clf = case.make(inference="map")
    first = (np.arange(len(y)) < 50) | (y == "well")  # the other one lacks a class
    one, other = (clone(clf).fit(X[rows], y[rows]) for rows in (first, ~first))
    assert_same_answers(clf.fit(X, y), one + other, X, ("map",), 1e-11)
    assert_same_answers(clf, other + one, X, ("map",), 1e-11)


@pytest.mark.parametrize("options", [{}, {"m": 1.0, "kappa": 0.5, "a": 2.0, "b": 3.0}])
def test_given_priors_count_once_and_default_ones_are_of_all_rows(mixed_table, options):
    X, y = mixed_table
    X, some = X[NUMBERS], y != "well"
    one = bc.GaussianNB(**options, random_state=1).fit(X[some], y[some])
    other = bc.GaussianNB(**options, random_state=1).fit(X[~some], y[~some], classes=np.unique(y))
    whole = bc.GaussianNB(**options, random_state=1).fit(X, y)
    assert_same_answers(whole, one + other, X, ("map", "predictive", "bayes-optimal"))
    for name in ("m", "kappa", "a", "b"):
        found, expected = (getattr(clf.model_.blocks[0].family, name) for clf in (one + other, whole))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_what_was_added_can_be_saved_and_goes_on(mixed_table, tmp_path):
    X, y = mixed_table
    one, other = (bc.NaiveBayes(random_state=1).fit(X[WORDS][i::2], y[i::2]) for i in (0, 1))
    (one + other).save(tmp_path / "m.nc")
    whole = bc.NaiveBayes(random_state=1).fit(X[WORDS], y)
    assert_same_answers(whole, bc.load(tmp_path / "m.nc"), X[WORDS], ("predictive",))
    more = (one + other).partial_fit(X[WORDS], y)
    assert_same_answers(
        bc.NaiveBayes(random_state=1).fit(pd.concat([X[WORDS]] * 2), np.tile(y, 2)), more, X[WORDS], ("map",)
    )


def test_a_learned_concentration_is_kept_where_both_have_it():
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame({"x": rng.choice(list("abcdefghijkl"), 200)}), rng.integers(2, size=200)
    one, other = (bc.CategoricalNB(random_state=1).fit(X[i::2], y[i::2]) for i in (0, 1))
    assert "cannot be learned from rows that come in parts" in (one + other).notes_[0]
    assert (one + copy.deepcopy(one)).notes_ == one.notes_


def test_what_cannot_be_added_is_refused(mixed_table):
    X, y = mixed_table
    clf = bc.GaussianNB(random_state=1).fit(X[NUMBERS], y)
    with pytest.raises(Refused, match="GaussianNB and NaiveBayes cannot be added"):
        clf + bc.NaiveBayes(random_state=1).fit(X[NUMBERS], y)
    with pytest.raises(InputError, match=r"same options, but kappa is None here and 2\.0 there"):
        clf + bc.GaussianNB(kappa=2.0, random_state=1).fit(X[NUMBERS], y)
    with pytest.raises(InputError, match="the same columns in the same order"):
        clf + bc.GaussianNB(random_state=1).fit(X[NUMBERS[::-1]], y)
    with pytest.raises(InputError, match=r"labels are of one type here and of another there, .*\[0, 1\]"):
        clf + bc.GaussianNB(random_state=1).fit(X[NUMBERS], (y == "ill").astype(int))
    logistic = bc.LogisticRegression(inference="map").fit(X[NUMBERS], y)
    with pytest.raises(Refused, match="no function of statistics that add"):
        logistic + logistic
