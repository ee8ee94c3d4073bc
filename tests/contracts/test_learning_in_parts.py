"""Learning in parts is learning from all rows at once: by `partial_fit`, from a stream, and by adding classifiers."""

import copy
from functools import reduce
from operator import add

import numpy as np
import pandas as pd
import pytest
from helpers.classifiers import NUMBERS, OF_STATISTICS, adds_up, assert_same_answers, notes, with_numbers, words_add_up
from sklearn.base import clone

import bayesclf as bc
from bayesclf.errors import InputError, Refused

every_way = pytest.mark.parametrize("way", ["partial_fit", "stream", "plus"])


def learnt(way, clf, parts):
    """Return a classifier that has learned from tables, labels and weights; the columns of streams change places."""
    classes = np.unique(np.concatenate([y for _, y, _ in parts]))
    match way:
        case "partial_fit":
            return reduce(lambda one, part: one.partial_fit(*part[:2], classes, part[2]), parts, clone(clf))
        case "plus":
            return reduce(add, [clone(clf).fit(*part, classes=classes) for part in parts])
    first, *others = [X.assign(label=y, weight=weight) for X, y, weight in parts]
    return clone(clf).fit_stream([first, *(table[table.columns[::-1]] for table in others)], "label", weight="weight")


def assert_learnt(way, clf, table, part):
    """Check that the parts (row) of a table give the answers of one fit to all of it."""
    X, y, weight = table
    found = learnt(way, clf, [(X[part == n], y[part == n], weight[part == n]) for n in np.unique(part)])
    whole, used = clone(clf).fit(X, y, weight), weight > 0
    rules = ("map",) if clf.inference == "map" else OF_STATISTICS
    assert_same_answers(whole, found, X[used], rules, 1e-11)
    assert found.columns_ == whole.columns_
    assert list(found.classes_) == list(whole.classes_)
    if way != "plus":  # a sum has no rows left to learn a concentration from
        assert notes(found) == notes(whole)


@adds_up
@every_way
def test_parts_in_any_order_are_the_whole(case, way, mixed_table, rng):
    X, y = case.table(mixed_table)
    assert_learnt(way, case.make(inference="map"), (X, y, rng.uniform(0.5, 2.0, len(y))), rng.integers(3, size=len(y)))


@adds_up
@every_way
def test_rows_of_weight_zero_do_not_count(case, way, mixed_table):
    table = case.with_rows_of_weight_zero(mixed_table)
    assert_learnt(way, case.make(inference="map"), table, np.arange(len(table[1])) // 45)


@words_add_up
@every_way
def test_classes_and_levels_may_come_late(case, way, mixed_table):
    X, y = case.table(mixed_table)
    order = np.lexsort((y, X["ward"].map({"west": 0, "east": 1, "north": 2}).fillna(3)))
    assert_learnt(way, case.make(inference="map"), (X.iloc[order], y[order], np.ones(len(y))), np.arange(len(y)) // 18)


@with_numbers
@every_way
def test_a_column_may_vary_late(case, way, mixed_table):
    X, y = case.table(mixed_table)
    X = X.assign(dose=np.where(np.arange(len(y)) < 30, 0.3, X["dose"]))
    assert_learnt(way, case.make(inference="map"), (X, y, np.ones(len(y))), np.arange(len(y)) // 30)


def test_a_learned_concentration_is_kept_where_both_have_it():
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame({"x": rng.choice(list("abcdefghijkl"), 200)}), rng.integers(2, size=200)
    one, other = (bc.CategoricalNB(random_state=1).fit(X[i::2], y[i::2]) for i in (0, 1))
    assert "cannot be learned from rows that come in parts" in (one + other).notes_[0]
    assert (one + copy.deepcopy(one)).notes_ == one.notes_


def test_what_cannot_be_added_is_refused(mixed_table):
    X, y = mixed_table
    clf = bc.GaussianNB(random_state=1).fit(X[NUMBERS], y)
    with pytest.raises(Refused, match="cannot be added to itself, as each row would count twice"):
        clf + clf
    with pytest.raises(TypeError, match="unsupported operand"):
        clf + 1
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
