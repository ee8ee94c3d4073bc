"""Leaving rows out by reweighting draws."""

import pytest

import bayesclf as bc
from bayesclf.errors import Refused
from bayesclf.inference import Exact


def test_too_few_draws_are_refused(tennis):
    clf = bc.CategoricalNB(random_state=1, inference=Exact(draws=6)).fit(*tennis)
    with pytest.raises(Refused, match="24 draws are too few"):
        bc.loo(clf, *tennis, method="psis")
