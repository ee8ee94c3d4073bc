"""The unit of each column follows from its cells and from the sizes that its prior was given."""

import numpy as np
import pytest

from bayesclf.families import units


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (5.0, [5.0, 5.0, 9.0]),
        ([4.0, 20.0, 6.0], [4.0, 20.0, 9.0]),
        ([[-1.0, 20.0, 3.0], [-4.0, 2.0, 6.0], [0.0, 0.0, 0.0]], [4.0, 20.0, 9.0]),
        ([[1.0], [-7.0]], [7.0, 7.0, 9.0]),
    ],
    ids=["a number", "by feature", "by outcome and feature", "by outcome"],
)
def test_extent_is_the_largest_magnitude_of_a_column(given, expected):
    X = np.array([[1.0, -2.0, np.nan], [0.5, 1.0, -9.0]])
    np.testing.assert_array_equal(units.extent(X, None, np.array(given)), expected)
