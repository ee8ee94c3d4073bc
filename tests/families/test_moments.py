"""Moments of large tables, read once by machine code, are those of two passes over the rows."""

import numpy as np
import pytest

import bayesclf as bc
from bayesclf.families import Axes, gaussian
from bayesclf.families.gaussian import Moments
from bayesclf.tables.numbers import Numbers

AXES = Axes(("a", "b", "c"), ("u", "v", "w"))


def rows_of(kind, rng):
    """Return cells, label codes and weights."""
    y = rng.integers(3, size=4000)
    X = rng.normal(size=(4000, 3)) * [1.0, 20.0, 1e-3] + [5.0, 0.0, 1.0]
    weight = None
    match kind:
        case "missing":
            X[rng.random(X.shape) < 0.3] = np.nan
            X[y == 1, 2] = np.nan
        case "weighted":
            weight = rng.integers(1, 4, size=4000) * 0.5
        case "classes far apart":
            X += np.array([0.0, 1e4, -1e6])[y][:, None]
        case "one class after the other":
            y.sort()
            X[:, 1] += np.arange(4000)
            X[0, 0] = 1e6
        case "one row of a class":
            y[y == 1] = 2
            y[7] = 1
        case "equal cells":
            X[:, 0], X[:, 1] = 0.1 + 1e6 * y, 0.1
    return X, y, weight


@pytest.mark.parametrize(
    "kind",
    [
        *("plain", "missing", "weighted", "classes far apart", "one class after the other", "one row of a class"),
        "equal cells",
    ],
)
@pytest.mark.parametrize("read", [np.asarray, np.asfortranarray, lambda X: Numbers(tuple(X.T), len(X))])
def test_one_pass_is_two(kind, read, monkeypatch):
    X, y, weight = rows_of(kind, np.random.default_rng(1))
    expected = Moments.of(X, y, AXES, weight)
    monkeypatch.setattr(gaussian, "COMPILED_CELLS", 0)
    monkeypatch.setattr(gaussian, "READ_CELLS", 300)
    found = Moments.of(read(X), y, AXES, weight)
    np.testing.assert_array_equal(found.n, expected.n)
    sd = np.sqrt(expected.scatter / np.maximum(expected.n, 1))
    assert (abs(found.mean - expected.mean) <= 1e-14 * abs(expected.mean) + 1e-12 * sd).all()
    np.testing.assert_allclose(found.scatter, expected.scatter, rtol=1e-12)


def test_single_precision_is_read_as_double(monkeypatch):
    X, y, _ = rows_of("plain", np.random.default_rng(1))
    single = X.astype(np.float32)
    expected = Moments.of(single.astype(float), y, AXES)
    monkeypatch.setattr(gaussian, "COMPILED_CELLS", 0)
    found = Moments.of(Numbers(tuple(single.T), len(single)), y, AXES)
    np.testing.assert_allclose(found.scatter, expected.scatter, rtol=1e-12)


@pytest.mark.parametrize("dtype", [">i4", ">f8"])
def test_labels_of_another_byte_order(dtype):
    X, y = np.random.default_rng(6).normal(size=(40, 2)), np.arange(40) % 3
    np.testing.assert_array_equal(bc.GaussianNB(inference="map").fit(X, y.astype(dtype)).classes_, [0, 1, 2])
