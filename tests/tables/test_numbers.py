"""Columns of numbers that become floats a few rows at a time."""

import numpy as np
import pandas as pd
import pytest

import bayesclf as bc
from bayesclf.tables import columns, numbers

RNG = np.random.default_rng(0)
CELLS = RNG.normal(size=(60, 4)).round(2)
WHOLE = RNG.integers(-9, 9, size=(60, 4))
HOLES = np.where(RNG.random((60, 4)) < 0.2, np.nan, CELLS)

FRAMES = {
    "by row": pd.DataFrame(CELLS, columns=list("abcd"), copy=False),
    "by column": pd.DataFrame(np.asfortranarray(CELLS), columns=list("abcd"), copy=False),
    "apart": pd.DataFrame({name: CELLS[:, j].copy() for j, name in enumerate("abcd")}),
    "single precision": pd.DataFrame(CELLS.astype(np.float32), columns=list("abcd")),
    "whole numbers": pd.DataFrame(WHOLE, columns=list("abcd")),
    "holes": pd.DataFrame(HOLES, columns=list("abcd")),
    "nullable": pd.DataFrame(HOLES, columns=list("abcd")).astype("Float64"),
    "of several types": pd.DataFrame({"a": CELLS[:, 0], "b": WHOLE[:, 1], "c": HOLES[:, 2], "d": WHOLE[:, 3] > 0}),
    "every second": pd.DataFrame(CELLS, columns=list("aebf"))[["a", "b"]].assign(c=1.5, d=2),
}


@pytest.mark.parametrize("name", FRAMES)
def test_rows_are_those_of_the_table(name, monkeypatch):
    monkeypatch.setattr(numbers, "LONG_ROW", 32)  # eight rows as one, and four that are left
    frame = FRAMES[name]
    expected = np.column_stack([frame[c].to_numpy(dtype=float, na_value=np.nan) for c in "abcd"])
    read = columns.read_numbers(frame, tuple("abcd"))
    assert read.shape == (60, 4)
    np.testing.assert_array_equal(columns.numbers(frame, tuple("abcd")), expected)
    for rows in (slice(3, 50), slice(0, 0), slice(50, 99), np.array([7, 3, 3]), np.array([], dtype=int)):
        found = read[rows]
        assert found.dtype == float
        assert found.flags.c_contiguous
        np.testing.assert_array_equal(found, expected[rows])
    low, high, total, count = read.ranges
    np.testing.assert_array_equal([low, high], [np.nanmin(expected, axis=0), np.nanmax(expected, axis=0)])
    np.testing.assert_allclose(total, np.nansum(expected, axis=0), rtol=1e-14)
    np.testing.assert_array_equal(count, np.isfinite(expected).sum(axis=0))
    kept = np.array([True, False, True, True])
    np.testing.assert_array_equal(read.select(kept)[5:9], expected[5:9, kept])


def test_doubles_by_row_are_not_copied():
    read = columns.read_numbers(columns.to_frame(CELLS), ("x0", "x1", "x2", "x3"))
    rows = read[2:9]
    assert np.shares_memory(rows, CELLS)
    with pytest.raises(ValueError, match="read-only"):
        rows[0, 0] = 1
    assert not np.shares_memory(read.array(), CELLS)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_table_is_left_as_it_is(order):
    X = np.array(CELLS * [1, 1e-90, 1e90, 1], order=order)
    before, y = X.copy(), WHOLE[:, 0] > 0
    clf = bc.GaussianNB(random_state=0).fit(X, y)
    for rule in ("map", "predictive", "bayes-optimal", "gibbs"):
        clf.predict_proba(np.vstack([X, [1e90, 1.0, -1e99, 0.0]]), rule=rule)
        clf.predict_proba(X, rule=rule)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("far", [[np.inf, -np.inf], [1e308, 1e308]])
@pytest.mark.parametrize("model", [bc.GaussianNB, bc.LogisticRegression])
def test_numbers_that_are_too_large_are_refused_without_a_warning(model, far):
    X = CELLS.copy()
    X[:2, 1] = far
    with pytest.raises(bc.errors.InputError, match="x1"):
        model().fit(X, np.arange(60) % 2)
