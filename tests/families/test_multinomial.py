"""Counts of words where the contract of families does not look."""

import numpy as np
from scipy import sparse

from bayesclf.families import Axes, Multinomial

AXES = Axes(("no", "yes"), ("a", "b", "c"))


def test_a_stored_zero_is_no_word():
    counts = np.array([[2.0, 0.0, 1.0], [0.0, 3.5, 1.0]])
    stored = sparse.csr_array((counts.ravel(), np.tile(np.arange(3), 2), [0, 3, 6]), shape=(2, 3))
    family = Multinomial()
    family = family.resolve_prior(family.statistics(counts, np.arange(2), AXES))
    impossible = {"theta": np.array([[[0.5, 0.0, 0.5], [0.2, 0.3, 0.5]]])}
    assert stored.nnz == 6
    np.testing.assert_array_equal(family.log_predictive(stored), family.log_predictive(counts))
    np.testing.assert_array_equal(family.log_density(stored, impossible), family.log_density(counts, impossible))
