"""What a fit is given with the table: labels of any type, all that can occur, and masked cells."""

import numpy as np
import pandas as pd
import pytest

import bayesclf as bc
from bayesclf.classifiers.inputs import checked_labels
from bayesclf.errors import InputError

X = np.array([[1.0, 0.5], [2.0, 0.1], [3.0, 0.2], [4.0, 0.9], [2.5, 0.4], [1.5, 0.8]])
Y = [0, 1, 0, 1, 1, 0]


class TestLabels:
    @pytest.mark.parametrize(
        ("y", "kind"),
        [
            (pd.Series(Y, dtype="Int64"), "i"),
            (pd.Series(Y, dtype="UInt8"), "u"),
            (pd.Series(Y, dtype="int64[pyarrow]"), "i"),
            (pd.array(Y, dtype="Int64"), "i"),
            (pd.Series(Y, dtype="boolean"), "b"),
            (pd.Series(Y, dtype="category"), "i"),
        ],
        ids=lambda y: str(getattr(y, "dtype", y)),
    )
    def test_nullable_labels_keep_their_kind(self, y, kind):
        clf = bc.GaussianNB(random_state=1).fit(X, y)
        assert clf.classes_.dtype.kind == clf.predict(X).dtype.kind == kind
        np.testing.assert_array_equal(clf.classes_, [0, 1])

    def test_those_beyond_the_digits_of_a_float_stay_different(self):
        big = 2**60
        np.testing.assert_array_equal(checked_labels(pd.Series([big, big + 1], dtype="Int64"), 2), [big, big + 1])

    @pytest.mark.parametrize("y", [pd.Series([0, 1, None], dtype="Int64"), np.ma.masked_equal([0, 1, 9], 9)])
    def test_missing_ones_are_named(self, y):
        with pytest.raises(InputError, match=r"y has no label in row 3; "):
            checked_labels(y, 3)


class TestClasses:
    @pytest.mark.parametrize("clf", [bc.GaussianNB(), bc.LogisticRegression(prior_scale=2.5, inference="map")])
    @pytest.mark.parametrize("classes", [[0, 2], [0]])
    def test_a_label_outside_is_refused(self, clf, classes):
        with pytest.raises(InputError, match="y has the label '1', which is not among the classes given, 0"):
            clf.fit(X, Y, classes=classes)
        assert not hasattr(clf, "classes_")

    @pytest.mark.parametrize(
        ("classes", "y", "message"),
        [
            ([0, 1, 2], [1, 1, 0], r"classes=\[0, 1, 2\] is not the same as on the last call of partial_fit, \[0, 1\]"),
            ([0, 1], [1, 2, 0], "y has the label '2', which is not among the classes given, 0, 1"),
            (None, [1, 2, 0], "label '2' was not among the training labels"),
        ],
    )
    def test_other_ones_are_refused_and_change_nothing(self, classes, y, message):
        clf = bc.GaussianNB(random_state=1).partial_fit(X[:3], Y[:3], classes=[0, 1])
        before = clf.predict_proba(X)
        with pytest.raises(InputError, match=message):
            clf.partial_fit(X[3:], y, classes=classes)
        np.testing.assert_array_equal(clf.predict_proba(X), before)


class TestMaskedCells:
    def test_of_numbers_they_are_missing(self):
        masked = np.ma.masked_array(X, mask=X == 2.0)
        given = bc.GaussianNB(random_state=1).fit(masked, Y)
        expected = bc.GaussianNB(random_state=1).fit(np.where(X == 2.0, np.nan, X), Y)
        np.testing.assert_array_equal(
            given.predict_proba(masked), expected.predict_proba(np.asarray(masked.filled(np.nan)))
        )

    def test_of_whole_numbers_and_words_too(self):
        clf = bc.GaussianNB().fit(np.ma.masked_equal([[1], [2], [3], [999]], 999), [0, 1, 0, 1])
        assert clf.theta_.max() < 10
        words = np.ma.masked_array([["a"], ["b"], ["a"], ["?"]], mask=[[0], [0], [0], [1]])
        assert bc.CategoricalNB().fit(words, [0, 1, 0, 1]).columns_[0].levels == ("a", "b")


def test_objects_are_no_labels_but_their_text_is():
    y = pd.Series(pd.cut([0.5, 1.5, 0.2], [0, 1, 2]))
    with pytest.raises(InputError, match=r"Unknown label type: unknown; turn them into text, as by y.astype\(str\)"):
        checked_labels(y, 3)
    assert checked_labels(y.astype(str), 3).tolist() == ["(0, 1]", "(1, 2]", "(0, 1]"]
