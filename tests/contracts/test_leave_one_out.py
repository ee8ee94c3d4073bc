"""Posteriors of all rows but one, for every family: by closed forms, by sums of statistics, by naive refits."""

import numpy as np
import pytest
from helpers.cases import DISCRETE, MULTIVARIATE_GAUSSIAN, PRIORS, TABLES, TREES
from helpers.families import MAIN_SUITE
from helpers.suites import mostly_slow

from bayesclf.evaluation.leave_one_out import TrainingRows, log_joint_without, models_without
from bayesclf.families import FAMILIES, KnownClassPrior, LearntClassPrior
from bayesclf.models.generative import Block, GenerativeModel
from bayesclf.tables.columns import Rows

every_prior = mostly_slow([*PRIORS, *DISCRETE], MAIN_SUITE)


def rows_of(case, seed=5, n=24):
    """Return rows under which the family is conjugate, one of them without any cell where that says nothing."""
    if case in MULTIVARIATE_GAUSSIAN or case in (*TABLES, *TREES):
        X, y = case.complete(seed, n)
        X[3] = case.absent
        return X, y
    return case.data(seed, n)


def model_of(case, X, y, class_prior=None):
    block = Block(case.prior, case.statistics(X, y))
    counts = np.bincount(y, minlength=3).astype(float)
    return GenerativeModel(case.axes.labels, class_prior or LearntClassPrior(np.array([0.5, 1, 2])), counts, (block,))


def test_every_family_is_tested():
    assert {type(case.family) for case in (*PRIORS, *DISCRETE)} == {*FAMILIES.values()}


@every_prior
@pytest.mark.parametrize("class_prior", [None, KnownClassPrior(np.array([0.5, 0.3, 0.2]))], ids=["learnt", "known"])
def test_closed_form_is_the_predictive_of_the_model_without_the_row(case, class_prior):
    X, y = rows_of(case)
    model, training = model_of(case, X, y, class_prior), TrainingRows(Rows((X,), len(y)), y)
    found = log_joint_without(model, training.rows, y)
    for i, without, row in models_without(model, training, np.arange(len(y))):
        np.testing.assert_allclose(found[i], without.log_predictive(row)[0], rtol=1e-9, atol=1e-9)


@every_prior
@pytest.mark.parametrize("n", [1, 2, 24])
def test_model_without_a_row_has_the_statistics_of_the_others(case, n):
    X, y = rows_of(case, n=24)
    X, y = X[-n:], y[-n:]
    model, training = model_of(case, X, y), TrainingRows(Rows((X,), n), y)
    numbers = []
    for i, without, _ in models_without(model, training, np.arange(n)):
        numbers.append(i)
        others = np.arange(n) != i
        expected = case.statistics(X[others], y[others]).arrays()
        for name, values in without.blocks[0].statistics.arrays().items():
            np.testing.assert_allclose(values, expected[name], rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(without.label_counts, np.bincount(y[others], minlength=3))
    assert numbers == list(range(n))
