"""Separable classes, against the enumeration of directions in the plane, and collinear columns, against their ranks."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.suites import mainly
from scipy import sparse

import bayesclf as bc
from bayesclf.models.logistic.identifiability import ColumnSpace, find_separation, plain_separation
from bayesclf.models.logistic.model import LogisticModel

NO_GUESS = np.zeros((1, 3))


def directions(points):
    """Return the directions at which the order of projections changes, and those between, (direction, 2)."""
    differences = np.array([a - b for a in points for b in points if (a != b).any()])
    normals = np.column_stack([-differences[:, 1], differences[:, 0]])
    angles = np.unique(np.round(np.arctan2(normals[:, 1], normals[:, 0]), 12))
    between = (angles + np.append(angles[1:], angles[0] + 2 * np.pi)) / 2
    turned = np.concatenate([angles, between])
    return np.column_stack([np.cos(turned), np.sin(turned)])


def separable(points, y):
    for direction in directions(points) if (points != points[0]).any() else ():
        projected = points @ direction
        if projected[y == 0].min() - projected[y == -1].max() > -1e-9 and np.ptp(projected) > 1e-9:
            return True
    return False


@pytest.mark.parametrize("seed", mainly(range(300), *range(60)))
def test_separable_rows_are_those_of_enumeration(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(4, 9)
    points = rng.integers(0, 4, size=(n, 2)).astype(float)
    y = rng.permutation(np.append([0, -1], rng.integers(-1, 1, size=n - 2)))
    points[y == 0] += rng.integers(0, 3)
    X = np.column_stack([np.ones(n), points])
    expected = separable(points, y)
    assert (find_separation(X, y, NO_GUESS) is not None) == expected
    assert plain_separation(X, y, NO_GUESS) is None or expected


def test_one_column_is_named():
    rng = np.random.default_rng(0)
    y = np.repeat([0, -1], 20)
    X = np.column_stack([np.ones(40), rng.normal(size=(40, 3)), np.arange(40) < 3])
    assert plain_separation(X, y, np.zeros((1, 5))).tolist() == [3]


def test_a_guess_that_separates_is_taken():
    X = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [1.0, 2.0, 2.0], [1.0, 0.5, 0.4]])
    y = np.array([0, 0, 0, -1])
    assert plain_separation(X, y, NO_GUESS) is None
    assert plain_separation(X, y, np.array([[-0.95, 1.0, 1.0]])).tolist() == [0, 1]


def test_coordinates_of_weights_give_the_rows_the_same_log_odds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    X = np.column_stack([X, X[:, 0] - 2 * X[:, 1]])
    theta = rng.normal(size=(2, 5))
    space = ColumnSpace.of(X, rng.uniform(1, 2, size=20))
    ours = space.coordinates(X) @ space.of_weights(theta).T
    np.testing.assert_allclose(ours, np.column_stack([np.ones(20), X]) @ theta.T, atol=1e-12)
    np.testing.assert_allclose(space.of_weights(space.weights(space.of_weights(theta))), space.of_weights(theta))


def across(ratio):
    """Return rows that vary along both axes, along the second by a ratio of what they do along the first."""
    return np.repeat([[1.0, 0.0], [-1.0, 0.0], [0.0, ratio], [0.0, -ratio]], 5, axis=0)


@pytest.mark.parametrize("unit", [1.0, 1e-20, 1e20])
@pytest.mark.parametrize(("ratio", "rank"), [(1.1e-9, 2), (0.9e-9, 1)])
def test_directions_narrower_than_a_billionth_of_the_widest_are_none(unit, ratio, rank):
    assert ColumnSpace.of(unit * across(ratio), np.ones(20)).basis.shape == (2, rank)


@pytest.mark.parametrize(("ratio", "rank"), [(1.1e-6, 2), (0.9e-6, 1)])
def test_of_a_sparse_table_directions_narrower_than_a_millionth_are_none(ratio, rank):
    """Variances come from sums of squares here, whose rounding is a share of the largest."""
    assert ColumnSpace.of(sparse.csr_array(across(ratio)), np.ones(20)).basis.shape == (2, rank)


ROWS = 60
RNG = np.random.default_rng(0)
A, B, C, NOISE = RNG.normal(size=(4, ROWS)) * [[1.0], [30.0], [1e-4], [1.0]] + [[0.0], [1e3], [0.0], [5.0]]
KIND = RNG.choice(["p", "q", "r"], ROWS)
GAPS = RNG.random(ROWS) < 0.3
PARTLY = pd.Series(KIND).mask(GAPS)
Y = (NOISE + RNG.normal(size=ROWS) > 5).astype(int)


def fitted(columns: Mapping[str, Any], **settings: Any) -> bc.LogisticRegression:
    return bc.LogisticRegression(inference="map", **{"prior_scale": 2.5} | settings).fit(pd.DataFrame(columns), Y)


CASES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "healthy numbers": ({"a": A, "b": B, "c": C}, ()),
    "a category alone": ({"a": A, "k": KIND}, ()),
    "two unlike categories": ({"k": KIND, "l": RNG.choice(["u", "v"], ROWS)}, ()),
    "a category with gaps": ({"a": A, "k": PARTLY}, ()),
    "a level without rows": ({"a": A, "k": pd.Categorical(KIND, ["p", "q", "r", "never"])}, ()),
    "a category of one level": ({"a": A, "k": ["p"] * ROWS}, ()),
    "correlated but for one part in a million": ({"a": A, "b": A + 1e-6 * NOISE}, ()),
    "duplicate": ({"a": A, "b": B, "again": A}, ("a", "again")),
    "other units and origin": ({"a": A, "b": B, "again": 32 - 1.8e6 * A}, ("a", "again")),
    "sum of two": ({"a": A, "b": B, "noise": NOISE, "sum": A + B}, ("a", "b", "sum")),
    "difference of large numbers": ({"a": A + 1e5, "b": B + 1e5, "change": A - B}, ("a", "b", "change")),
    "two pairs": ({"a": A, "b": B, "a2": 2 * A, "b2": 2 * B, "noise": NOISE}, ("a", "b", "a2", "b2")),
    "identical categories": ({"a": A, "k": KIND, "l": KIND}, ("k", "l")),
    "a coarser category": ({"k": KIND, "l": np.where(KIND == "p", "u", "v")}, ("k", "l")),
    "identical categories with gaps": ({"k": PARTLY, "l": PARTLY}, ("k", "l")),
    "a number that a category determines": (
        {"years": (KIND == "q") * 2.5 + (KIND == "r") * 9, "k": KIND},
        ("years", "k"),
    ),
    "an indicator of a level": ({"a": A, "is_p": (KIND == "p") * 1.0, "k": KIND}, ("is_p", "k")),
    "gaps in the same rows": (
        {"a": np.where(GAPS, np.nan, A), "b": np.where(GAPS, np.nan, B)},
        ("a is missing", "b is missing"),
    ),
    "a gap of a category that a number marks": ({"gap": GAPS * 1.0, "k": PARTLY}, ("gap", "k")),
}


@pytest.mark.parametrize("name", CASES)
def test_collinear_columns_are_named(name: str) -> None:
    columns, expected = CASES[name]
    clf = fitted(columns)
    assert clf.model_.collinear() == expected
    notes = [note for note in clf.notes_ if "collinear" in note]
    assert len(notes) == bool(expected)
    assert all(repr(feature) in notes[0] for feature in expected)


@pytest.mark.parametrize("seed", range(20))
def test_a_number_is_named_if_and_only_if_the_rank_does_without_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (12, 9)).astype(float)
    X[:, -2] = X[:, :2] @ [1, 2] if seed % 2 else X[:, -2]
    clf = bc.LogisticRegression(prior_scale=2.5, inference="map").fit(X, np.arange(12) % 2)
    ones = np.ones((12, 1))
    rank = np.linalg.matrix_rank(np.hstack([ones, X]))
    without = [np.linalg.matrix_rank(np.hstack([ones, np.delete(X, j, axis=1)])) for j in range(9)]
    expected = tuple(f"x{j}" for j in range(9) if without[j] == rank and np.ptp(X[:, j]))
    assert clf.model_.collinear() == expected


def test_designs_of_more_columns_than_the_limit_are_not_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted({"a": A, "b": B, "again": A}).model_
    for limit, found in ((3, ("a", "again")), (2, ())):
        monkeypatch.setattr("bayesclf.models.logistic.model.DENSE_PARAMETERS", limit)
        assert model.collinear() == found
    assert model.of_rows(model.X[:0], model.y[:0], np.ones(0)).collinear() == ()


@pytest.mark.parametrize("noise", [1e-6, 1e-7, 3e-8])
def test_a_copy_is_found_beside_columns_that_are_nearly_equal(noise: float) -> None:
    a, c, e = np.random.default_rng(0).normal(size=(3, 300))
    X = pd.DataFrame({"a": a, "b": a, "c": c, "d": c + noise * e})
    assert bc.LogisticRegression(prior_scale=2.5, inference="map").fit(X, e > 0).model_.collinear() == ("a", "b")


def test_of_more_columns_than_rows_all_are_collinear() -> None:
    X = np.random.default_rng(0).normal(size=(10, 14))
    clf = bc.LogisticRegression(prior_scale=2.5, inference="map").fit(X, np.arange(10) % 2)
    assert len(clf.model_.collinear()) == 14
    assert "'x0', 'x1', 'x2', 'x3', 'x4' and 9 more are collinear" in clf.notes_[0]


def test_what_the_note_on_collinearity_says_holds() -> None:
    """Other weights give the same likelihood and probabilities, but not the same posterior density."""
    model = fitted({"a": A, "noise": NOISE, "again": 3 * A}).model_
    point = model.mle()
    other = {**point, "weight": point["weight"] + [[[3.0, 0.0, -1.0]]]}
    assert isinstance(model, LogisticModel)
    theta = [np.column_stack([p["intercept"][0], p["weight"][0] * model.design.scale]) for p in (point, other)]
    likelihood, _ = model.objective("mle")
    assert likelihood.gradient(theta[0])[0] == pytest.approx(likelihood.gradient(theta[1])[0], rel=1e-12)
    assert model.log_posterior(**point)[0] > model.log_posterior(**other)[0] + 1


def test_rows_of_weight_zero_do_not_make_columns_unlike() -> None:
    again = A.copy()
    again[:5] += 1.0
    clf = bc.LogisticRegression(prior_scale=2.5, inference="map").fit(
        pd.DataFrame({"a": A, "again": again}), Y, sample_weight=np.arange(ROWS) >= 5
    )
    assert clf.model_.collinear() == ("a", "again")


@pytest.mark.parametrize(("noise", "found"), [(0.0, ("a", "b")), (1e-7, ())])
def test_a_sum_that_varies_a_little_is_not_constant(noise, found):
    rng = np.random.default_rng(2)
    a, codes = rng.normal(size=200), np.arange(200) % 2
    X = pd.DataFrame({"a": a, "b": noise * rng.normal(size=200) - a, "c": rng.normal(size=200)})
    model = bc.LogisticRegression(prior_scale=2.5, inference="map").fit(X, codes).model_
    assert model.collinear() == found


@pytest.mark.parametrize("apart", [-1, 0, 1])
def test_one_column_tells_any_one_of_three_classes_from_the_others(apart):
    y = np.repeat([-1, 0, 1], 4)
    X = np.column_stack([np.ones(12), np.tile([1.0, 2.0, 4.0, 3.0], 3), np.where(y == apart, 5.0, np.arange(12) % 4)])
    assert plain_separation(X, y, np.zeros((2, 3))).tolist() == [1]


@pytest.mark.parametrize("absent", ["a", "b", "c"])
def test_a_level_without_rows_is_not_collinear(absent):
    levels = np.array([level for level in "abc" if level != absent])
    kinds = pd.Categorical(levels[np.arange(40) % 2], categories=list("abc"))
    X = pd.DataFrame({"kind": kinds, "a": np.random.default_rng(1).normal(size=40)})
    model = bc.LogisticRegression(inference="map").fit(X, np.arange(40) // 2 % 2).model_
    assert model.design.sizes == (3,)
    assert model.collinear() == ()


@pytest.mark.parametrize("changed", [0, 1])
def test_some_of_many_rows_neither_hide_collinear_columns_nor_move_the_mode(changed: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 20))
    X[:, -1] = X[:, 0]
    X[5, -1] += changed
    y = (X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)
    model = bc.LogisticRegression(prior_scale=2.5, inference="map").fit(X, y).model_
    assert model.collinear() == (() if changed else ("x0", "x19"))
    point = model.map()
    theta = np.column_stack([point["intercept"][0], point["weight"][0] * model.design.scale])
    assert np.abs(model.objective("map")[0].gradient(theta)[1]).max() < 1e-6
