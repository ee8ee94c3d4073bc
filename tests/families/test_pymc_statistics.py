"""Coordinates of simplexes in PyMC."""

import numpy as np
import pytensor.tensor as pt
from helpers.families import PYTHON
from numpy.testing import assert_allclose
from pymc.distributions.transforms import simplex

from bayesclf.families.pymc_statistics import PAIR


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
