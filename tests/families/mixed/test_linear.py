"""Coefficients keep their digits whatever the units of the columns, against exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from bayesclf.families import Axes, ConditionalGaussian

AXES = Axes(("a",), ("u", "v", "x"), ((), (), ()))


def exact(matrix, right):
    """Return the solution of a linear system of fractions, by elimination without rounding."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        for j in range(len(rows)):
            if j != i:
                share = rows[j][i] / rows[i][i]
                rows[j] = [one - share * other for one, other in zip(rows[j], rows[i], strict=True)]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def coefficients(X, centre, precision, m):
    """Return (Λ + Σzzᵀ)⁻¹(Λm + Σzx) of rows (row, column), the last column being x, as floats."""
    terms = range(len(precision))
    left = [[Fraction(value) for value in row] for row in precision.tolist()]
    right = [sum(left[i][j] * Fraction(float(m[j])) for j in terms) for i in terms]
    for *parents, x in X.tolist():
        z = [Fraction(1), *(Fraction(value) - Fraction(float(at)) for value, at in zip(parents, centre, strict=True))]
        for i in terms:
            right[i] += z[i] * Fraction(x)
            for j in terms:
                left[i][j] += z[i] * z[j]
    return np.array([float(value) for value in exact(left, right)])


@pytest.mark.parametrize("size", [1.0, 1e10, 1e20, 1e-20])
@pytest.mark.parametrize("correlation", [0.01, 1e-5, 1e-8, 1e-12])
def test_a_parent_that_is_much_larger_than_another_costs_no_digits(size, correlation):
    # In a design that is nearly orthogonal, elimination of columns as they are would take the small products of two
    # columns for its pivots.
    u, v = np.tile([1.0, -1, 1, -1], 10), np.tile([1.0, 1, -1, -1], 10)
    v = v + correlation * u
    x = 2 * u + 3 * v + 0.1 * np.random.default_rng(0).normal(size=40)
    X = np.column_stack([u, v * size, x])
    family = ConditionalGaussian(edges=(("u", "x"), ("v", "x")))
    statistics = family.statistics(X, np.zeros(40, dtype=np.intp), AXES)
    prior = family.resolve_prior(statistics)
    (_, of_x), (_, posterior) = list(prior.parts())[-1], list(prior.posterior(statistics).parts())[-1]
    expected = coefficients(X, of_x.centre, of_x.precision[0, 0], of_x.m[0, 0])
    np.testing.assert_allclose(posterior.m[0, 0, 1:], expected[1:], rtol=1e-13)
    np.testing.assert_allclose(
        posterior.m[0, 0, 0], expected[0], atol=1e-14
    )  # next to slopes of 2 and 3 it is nearly 0
    slopes = coefficients(X, np.zeros(2), np.zeros((3, 3)), np.zeros(3))[1:]
    np.testing.assert_allclose(family.mle(statistics)["beta"][0, 0, -2:], slopes, rtol=1e-13)
