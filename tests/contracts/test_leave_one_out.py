"""Posteriors of all rows but one, for every family: by closed forms, by sums of statistics, by naive refits."""

import numpy as np
import pytest
from helpers.cases import DISCRETE, MULTIVARIATE_GAUSSIAN, PRIORS, TABLES, TREES
from helpers.families import MAIN_SUITE
from helpers.suites import mostly_slow

from bayesclf.evaluation.leave_one_out import TrainingRows, log_joint_without, models_without
from bayesclf.families import KnownClassPrior, LearntClassPrior
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


@every_prior
@pytest.mark.parametrize("class_prior", [None, KnownClassPrior(np.array([0.5, 0.3, 0.2]))], ids=["learnt", "known"])
def test_closed_form_is_the_predictive_of_the_model_without_the_row(case, class_prior):
    X, y = rows_of(case)
    model, training = model_of(case, X, y, class_prior), TrainingRows(Rows((X,), len(y)), y)
    found = log_joint_without(model, training.rows, y)
    for i, without, row in models_without(model, training, np.arange(len(y))):
        np.testing.assert_allclose(found[i], without.log_predictive(row)[0], rtol=1e-9, atol=1e-9)
