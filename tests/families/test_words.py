"""Presences and counts of words: sparse tables, and where a concentration, a probability or a cell is at an edge."""

import numpy as np
import pytest
from scipy import sparse

from bayesclf.errors import Refused
from bayesclf.families import Axes, Bernoulli, Multinomial, dirichlet
from bayesclf.families.cells import dense
from bayesclf.families.terms import Pair

AXES = Axes(("no", "yes"), ("u", "v"))
X = np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 2.0]])
Y = np.array([0, 0, 0, 1, 1])


@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_contributions_of_a_sparse_table_are_those_of_the_dense_one(threshold):
    """Some cells are at the threshold, which is absence; no row of "yes" lacks v, whose probability is 1 there."""
    prior = Bernoulli(threshold=threshold).resolve_prior(Bernoulli().statistics(X, Y, AXES))
    parameters = {"theta": np.array([[[0.3, 0.6], [0.2, 1.0]]])}
    rows = X[(threshold < X[:, 1])]
    pair = Pair(np.zeros(len(rows), dtype=int), np.ones(len(rows), dtype=int))
    density = prior.log_density(rows, parameters)[0]
    for table in (rows, sparse.csr_array(rows)):
        found = prior.contributions(table, parameters, pair)
        total = np.bincount(found.row, found.values[0], minlength=len(rows))
        np.testing.assert_allclose(total, density[:, 0] - density[:, 1], rtol=1e-12)


def test_a_stored_zero_is_no_word():
    counts, axes = np.array([[2.0, 0.0, 1.0], [0.0, 3.5, 1.0]]), Axes(("no", "yes"), ("a", "b", "c"))
    stored = sparse.csr_array((counts.ravel(), np.tile(np.arange(3), 2), [0, 3, 6]), shape=(2, 3))
    family = Multinomial()
    family = family.resolve_prior(family.statistics(counts, np.arange(2), axes))
    impossible = {"theta": np.array([[[0.5, 0.0, 0.5], [0.2, 0.3, 0.5]]])}
    assert stored.nnz == 6
    np.testing.assert_array_equal(family.log_predictive(stored), family.log_predictive(counts))
    np.testing.assert_array_equal(family.log_density(stored, impossible), family.log_density(counts, impossible))


def test_a_small_table_is_made_dense_and_a_large_one_refused():
    np.testing.assert_array_equal(dense(sparse.csr_array(np.eye(2))), np.eye(2))
    with pytest.raises(Refused, match="would hold all their 4,194,305 cells \\(limit 4,194,304\\)"):
        dense(sparse.csr_array((1, 2**22 + 1)))


def test_entries_of_one_cell_are_one():
    rows = dirichlet.canonical(sparse.csr_array((np.ones(3), [1, 0, 1], [0, 3]), shape=(1, 2)))
    assert (rows.toarray().tolist(), rows.nnz) == ([[1.0, 2.0]], 2)
