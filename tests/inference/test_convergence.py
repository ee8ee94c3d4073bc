"""What the checks of draws say at their limits, on draws that are made for it."""

import numpy as np
import pytest

from bayesclf.inference.convergence import MAX_SATURATED_SHARE, saturation


@pytest.mark.parametrize(("reached", "found"), [(1, False), (2, True)])
def test_a_share_at_the_limit_is_allowed(reached, found):
    draws = np.arange(20).reshape(4, 5) < reached
    assert (draws.mean() > MAX_SATURATED_SHARE) == found
    assert bool(saturation(draws, 10).problem) == found


def test_the_next_step_is_a_deeper_tree():
    assert "inference=NUTS(max_treedepth=12)" in saturation(np.ones((4, 5)), 10).remedy
