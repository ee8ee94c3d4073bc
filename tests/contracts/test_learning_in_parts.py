"""Learning in parts is learning from all rows at once: by `partial_fit`, and from a stream."""

from functools import reduce

import numpy as np
import pytest
from helpers.classifiers import OF_STATISTICS, adds_up, assert_same_answers, notes, with_numbers, words_add_up
from sklearn.base import clone

from bayesclf.classifiers.inputs import joined_labels
from bayesclf.errors import InputError

every_way = pytest.mark.parametrize("way", ["partial_fit", "stream"])


def learnt(way, clf, parts):
    """Return a classifier that has learned from tables, labels and weights; the columns of streams change places."""
    classes = np.unique(np.concatenate([y for _, y, _ in parts]))
    if way == "partial_fit":
        return reduce(lambda one, part: one.partial_fit(*part[:2], classes, part[2]), parts, clone(clf))
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


def test_labels_of_two_types_are_refused():
    with pytest.raises(InputError, match=r"labels are of one type here and of another there, .*\[0, 1\]"):
        joined_labels(np.array(["ill", "well"]), np.array([0, 1]))
