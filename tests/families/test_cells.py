"""Cells of sparse tables."""

import numpy as np
import pytest
from scipy import sparse

from bayesclf.errors import Refused
from bayesclf.families.cells import dense


def test_a_small_table_is_made_dense():
    np.testing.assert_array_equal(dense(sparse.csr_array(np.eye(2))), np.eye(2))


def test_a_large_table_is_refused():
    with pytest.raises(Refused, match="would hold all their 4,194,305 cells \\(limit 4,194,304\\)"):
        dense(sparse.csr_array((1, 2**22 + 1)))
