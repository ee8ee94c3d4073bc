"""Evidence of columns and pairs, which must keep its digits at a million rows."""

import numpy as np
import pytest

from bayesclf.families.trees.pairs import PairTables

LONG = np.longdouble


def log_rising(count, alpha):
    """Return log Γ(α + n)/Γ(α) as a sum of n logarithms of more digits than a float has."""
    return np.log(alpha + np.arange(int(count)).astype(LONG)).sum()


def log_marginal(counts, alpha):
    """Return the Dirichlet-multinomial evidence of counts."""
    counts = np.ravel(counts)
    return sum(log_rising(n, alpha) for n in counts) - log_rising(counts.sum(), alpha * counts.size)


def counts_of(table):
    """Return the counts (outcome, level, level) of two columns with the values of a table."""
    a, b = table.shape
    counts = np.zeros((1, a + b, a + b))
    counts[0, :a, a:], counts[0, a:, :a] = table, table.T
    counts[0, :a, :a], counts[0, a:, a:] = np.diag(table.sum(axis=1)), np.diag(table.sum(axis=0))
    return counts


@pytest.mark.skipif(np.finfo(LONG).eps == np.finfo(float).eps, reason="the reference needs more digits than a float")
@pytest.mark.parametrize("n", [0, 20, 1000, 10**6])
@pytest.mark.parametrize("rows", [0.5, 2.0, 32.0])
def test_weights_are_ratios_of_evidences(n, rows, rng):
    table = rng.multinomial(n, np.outer([0.3, 0.7], [0.2, 0.3, 0.5]).ravel()).reshape(2, 3).astype(float)
    tables = PairTables(counts_of(table), (2, 3), rows)
    one, other = log_marginal(table.sum(axis=1), LONG(rows) / 2), log_marginal(table.sum(axis=0), LONG(rows) / 3)
    expected = log_marginal(table, LONG(rows) / 6) - one - other
    np.testing.assert_allclose(tables.log_weights[0, 0, 1], float(expected), rtol=0, atol=2e-10)
    np.testing.assert_allclose(tables.log_columns[0], [float(one), float(other)], rtol=1e-13, atol=1e-12)
