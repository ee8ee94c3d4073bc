"""Separable classes, against the enumeration of directions in the plane."""

import numpy as np
import pytest

from bayesclf.models.logistic.identifiability import ColumnSpace, find_separation, plain_separation

NO_GUESS = np.zeros((1, 3))


def directions(points):
    """Return the directions at which the order of projections changes, and those between, (direction, 2)."""
    differences = np.array([a - b for a in points for b in points if (a != b).any()])
    normals = np.column_stack([-differences[:, 1], differences[:, 0]])
    angles = np.unique(np.round(np.arctan2(normals[:, 1], normals[:, 0]), 12))
    between = (angles + np.append(angles[1:], angles[0] + 2 * np.pi)) / 2
    turned = np.concatenate([angles, between])
    return np.column_stack([np.cos(turned), np.sin(turned)])


def kind(points, y):
    """Return "complete", "quasi" or "overlap"."""
    found = "overlap"
    if (points == points[0]).all():
        return found
    for direction in directions(points):
        projected = points @ direction
        gap = projected[y == 0].min() - projected[y == -1].max()
        if gap > 1e-9:
            return "complete"
        if gap > -1e-9 and np.ptp(projected) > 1e-9:
            found = "quasi"
    return found


@pytest.mark.parametrize("seed", range(300))
def test_kind_is_that_of_enumeration(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(4, 9)
    points = rng.integers(0, 4, size=(n, 2)).astype(float)
    y = rng.permutation(np.append([0, -1], rng.integers(-1, 1, size=n - 2)))
    points[y == 0] += rng.integers(0, 3)
    X = np.column_stack([np.ones(n), points])
    found = find_separation(X, y, NO_GUESS)
    told = "overlap" if found is None else "complete" if found.complete else "quasi"
    assert told == kind(points, y)
    plain = plain_separation(X, y, NO_GUESS)
    assert plain is None or (found is not None and plain.complete == found.complete)


def test_one_column_is_named():
    rng = np.random.default_rng(0)
    y = np.repeat([0, -1], 20)
    X = np.column_stack([np.ones(40), rng.normal(size=(40, 3)), np.arange(40) < 3])
    found = plain_separation(X, y, np.zeros((1, 5)))
    assert found is not None
    assert not found.complete
    assert found.columns.tolist() == [3]


def test_a_guess_that_separates_is_taken():
    X = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [1.0, 2.0, 2.0], [1.0, 0.5, 0.4]])
    y = np.array([0, 0, 0, -1])
    guess = np.array([[-0.95, 1.0, 1.0]])
    assert plain_separation(X, y, NO_GUESS) is None
    found = plain_separation(X, y, guess)
    assert found is not None
    assert found.complete


def test_three_classes_are_told_apart_completely_by_one_column():
    X = np.column_stack([np.ones(6), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]])
    assert find_separation(X, np.array([0, 0, 1, 1, -1, -1]), np.zeros((2, 2))).complete
    assert not find_separation(X, np.array([0, 0, 1, -1, 1, -1]), np.zeros((2, 2))).complete


def test_coordinates_of_weights_give_the_rows_the_same_log_odds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    X = np.column_stack([X, X[:, 0] - 2 * X[:, 1]])
    theta = rng.normal(size=(2, 5))
    space = ColumnSpace.of(X, rng.uniform(1, 2, size=20))
    ours = space.coordinates(X) @ space.of_weights(theta).T
    np.testing.assert_allclose(ours, np.column_stack([np.ones(20), X]) @ theta.T, atol=1e-12)
    np.testing.assert_allclose(space.of_weights(space.weights(space.of_weights(theta))), space.of_weights(theta))
