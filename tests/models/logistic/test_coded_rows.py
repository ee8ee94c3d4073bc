"""Rows whose categories are codes: columns, sums over rows and derivatives are those of the dense design."""

import numpy as np
import pandas as pd
import pytest

from bayesclf.models.logistic.centered import with_ones
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.kernel import BLOCK
from bayesclf.models.logistic.likelihood import DENSE_ROWS, CodedLikelihood, Likelihood
from bayesclf.tables.columns import Rows, read_numbers

NAMES = ("age", "dose", "same", "size")


def both(rows, vectors, numbers=4, sizes=(3, 1, 5), seed=0):
    """Return one likelihood of dense rows and one of coded rows, with gaps in numbers and in categories."""
    rng = np.random.default_rng(seed)
    cells = rng.normal(size=(rows, 4)) * [1.0, 1e-3, 0.0, 1e4] + [5.0, 0.0, 3.0, 1e6]
    cells[rng.random(rows) < 0.2, 1] = np.nan
    cells = cells[:, :numbers]
    codes = np.column_stack([rng.integers(-1, size, rows) for size in sizes] or [np.empty((rows, 0), dtype=np.intp)])
    weight = rng.choice([0.5, 1.0, 2.0], rows)
    y = rng.integers(-1, vectors, rows)
    design = LogisticDesign.fit(
        cells,
        codes,
        weight,
        NAMES[:numbers],
        tuple(f"c{j}" for j in range(len(sizes))),
        tuple(tuple(map(str, range(size))) for size in sizes),
    )
    dense = Likelihood(with_ones(design.matrix(Rows((cells, codes), rows))), y, weight, vectors)
    frame = pd.DataFrame(cells, columns=NAMES[:numbers])
    return dense, CodedLikelihood(design.coded(read_numbers(frame, NAMES[:numbers]), list(codes.T)), y, weight, vectors)


SHAPES = {
    "mixed": {},
    "numbers only": {"sizes": ()},
    "categories only": {"numbers": 0},
    "intercept only": {"numbers": 0, "sizes": ()},
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows", [1, BLOCK, 2 * BLOCK + 77])
def test_columns_are_those_of_the_design(shape, rows):
    dense, coded = both(rows, 1, **SHAPES[shape])
    np.testing.assert_array_equal(coded.X.dense(), dense.X)
    some = np.arange(rows)[::-2]
    np.testing.assert_array_equal(coded.X[some].dense(), dense.X[some])
    assert len(coded.X) == rows


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("vectors", [1, 2, 4])
@pytest.mark.parametrize("rows", [1, BLOCK, 2 * BLOCK + 77])
def test_derivatives_are_those_of_dense_rows(shape, vectors, rows):
    dense, coded = both(rows, vectors, **SHAPES[shape])
    theta = np.random.default_rng(1).normal(size=(vectors, dense.X.shape[1]))
    for own, others in zip(coded.derivatives(theta), dense.derivatives(theta), strict=True):
        np.testing.assert_allclose(own, others, rtol=1e-12, atol=1e-12 * np.abs(others).max())


def test_derivatives_where_probabilities_are_tiny_keep_their_digits():
    dense, coded = both(300, 2)
    theta = np.zeros((2, dense.X.shape[1]))
    theta[0, 0] = 60.0  # so that 1 − P_0, and with it the whole Hessian, is about e^-60
    for own, others in zip(coded.derivatives(theta), dense.derivatives(theta), strict=True):
        np.testing.assert_allclose(own, others, rtol=1e-11, atol=1e-13 * np.abs(others).max())


@pytest.mark.parametrize("vectors", [1, 3])
def test_values_of_several_weights_are_those_of_dense_rows(vectors):
    dense, coded = both(DENSE_ROWS + 40, vectors)
    thetas = np.random.default_rng(2).normal(size=(5, vectors, dense.X.shape[1]))
    np.testing.assert_allclose(coded.values(thetas), dense.values(thetas), rtol=1e-12)
    np.testing.assert_allclose(coded.values(thetas)[3], coded.derivatives(thetas[3])[0], rtol=1e-12)
