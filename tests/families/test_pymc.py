"""Coordinates of simplexes in PyMC, and cells of sparse tables."""

import numpy as np
import pytensor.tensor as pt
import pytest
from helpers.families import PYTHON
from numpy.testing import assert_allclose
from pymc.distributions.transforms import simplex
from scipy import sparse

from bayesclf.errors import Refused
from bayesclf.families.cells import dense
from bayesclf.families.pymc import PAIR


def test_the_number_of_a_lone_pair_is_that_of_the_simplex():
    theta = np.array([[[0.3, 0.7]]])
    z = simplex.forward(pt.constant(theta)).eval(mode=PYTHON)
    assert PAIR.forward(pt.constant(theta)).eval(mode=PYTHON) == z[0, 0]
    number = pt.constant(z[0, 0])
    assert_allclose(PAIR.backward(number).eval(mode=PYTHON), theta, rtol=1e-14)
    slope = PAIR.log_jac_det(number).eval(mode=PYTHON)
    assert slope.shape == (1, 1)
    step = 1e-5
    high, low = (PAIR.backward(number + side * step).eval(mode=PYTHON)[..., 0] for side in (1, -1))
    assert_allclose(slope, np.log((high - low) / (2 * step)), rtol=1e-8)


# Cells of rows


def test_a_small_table_is_made_dense():
    np.testing.assert_array_equal(dense(sparse.csr_array(np.eye(2))), np.eye(2))


def test_a_large_table_is_refused():
    with pytest.raises(Refused, match="would hold all their 4,194,305 cells \\(limit 4,194,304\\)"):
        dense(sparse.csr_array((1, 2**22 + 1)))
