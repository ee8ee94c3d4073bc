"""Tables of probabilities: what is said where one does not exist."""

import numpy as np
import pytest

from bayesclf.errors import DoesNotExist
from bayesclf.families import Axes, Categorical


def test_the_first_column_that_a_class_lacks_is_named():
    axes = Axes(("no", "yes"), ("one", "two"), (("a",), ("a", "b")))
    family = Categorical()
    statistics = family.statistics(np.array([[0, 0], [0, 1], [-1, -1]]), np.array([0, 0, 1]), axes)
    with pytest.raises(DoesNotExist, match=r"class 'yes' .* in column 'one'"):
        family.mle(statistics)
