"""New rows far from the training rows: the far ones are named, and rows like the training rows are not."""

import numpy as np
import pandas as pd
import pytest
from helpers.faults import gaussian, logistic, naive, normal_rows, word_rows
from scipy import stats

import bayesclf as bc
from bayesclf.diagnostics.distance import exceedance, far_limit, log_marginal
from bayesclf.interpretation.predictions import far_numbers
from bayesclf.models.logistic.design import training_columns


def found(case, code, **arguments):
    clf, (X, y) = case
    return clf.diagnose(X, y, checks=[code], **arguments)[code]


def test_far_rows_are_those_that_are_far():
    X, y = normal_rows(300)
    new = normal_rows(50, seed=8)[0]
    new.loc[7, "x1"] = 30.0
    finding = found(gaussian(X, y), "Y06", new=new)
    assert finding.evidence["row"].tolist() == [8]
    assert "row 8, counted from 1, is much less probable than any training row" in finding.reason
    new.loc[7, "x0"] = np.nan  # rows with missing cells have no density to compare, but far numbers
    assert "row 8, counted from 1, has numbers far outside" in found(gaussian(X, y), "Y06", new=new).reason
    assert found(logistic(X, y), "Y06", new=new).section == "not applicable"


def test_one_absurd_row_is_told_of_however_few_rows_there_are():
    case = gaussian(*normal_rows(50))
    new = normal_rows(1, seed=8)[0]
    assert found(case, "Y06", new=new).section == "passed"
    finding = found(case, "Y06", new=new * 0 + [1e4, -1e4])
    assert finding.section == "tip"
    assert "row 1, counted from 1, is much less probable than any training row" in finding.reason


def test_one_far_number_among_many_columns_is_told_of():
    X, y = normal_rows(100, 60)
    new = normal_rows(5, 60, seed=8)[0]
    assert found(gaussian(X, y), "Y06", new=new).section == "passed"
    new.loc[2, "x7"] = -40.0
    finding = found(gaussian(X.assign(x9=1.0), y), "Y06", new=new)  # of a constant column nothing is far
    assert "row 3, counted from 1, has numbers far outside the training rows' range ('x7')" in finding.reason
    assert finding.evidence["outside"].tolist() == ["x7"]


@pytest.mark.parametrize("tails", ["lognormal", "t3"])
def test_large_numbers_of_heavy_tails_are_not_far(tails, rng):
    """Exponential tails would call a column far in 25% and 40% of such tables."""
    draw = {"lognormal": rng.lognormal, "t3": lambda size: rng.standard_t(3, size=size)}[tails]
    tables = [[pd.DataFrame(draw(size=(200, 10))).add_prefix("x") for _ in range(2)] for _ in range(60)]
    far = [far_numbers(new, training_columns(known), len(new)) for known, new in tables]
    assert sum(bool(names) for names in far) <= 4  # more with probability .007 at 2%


@pytest.mark.parametrize(("known", "asked"), [(100, 2000), (50, 1), (100, 100)])
def test_false_alarms_about_far_rows_are_as_rare_as_they_should_be(known, asked):
    rng = np.random.default_rng(1)
    alarms, repetitions = {"exceedance": 0, "limit": 0}, 1000
    for _ in range(repetitions):
        old, new = rng.exponential(size=known), rng.exponential(size=asked)
        alarms["exceedance"] += exceedance(int((new > old.max()).sum()), known, asked) < 0.01
        alarms["limit"] += (new > far_limit(old, asked)).any()
    at_most = stats.binom.isf(1e-3, repetitions, 0.01)
    assert max(alarms.values()) <= at_most, alarms


def test_levels_that_no_training_row_has_are_counted():
    X, y = word_rows(200)
    new = X[:5].copy()
    new.loc[3, "wind"] = "gale"
    finding = found(naive(X, y), "Y06", new=new)
    assert finding.section == "tip"
    assert finding.evidence.query("unseen_levels > 0")["row"].tolist() == [4]


def test_two_peaks_are_unlike_the_model():
    X, y = normal_rows(300)
    assert found(gaussian(X, y), "Y07").section == "passed"
    rng = np.random.default_rng(1)
    X["x0"] += np.where(rng.random(300) < 0.5, -3, 3)
    finding = found(gaussian(X, y), "Y07")
    assert set(finding.evidence["statistic"]) == {"shape"}
    assert "families='auto'" in finding.next_step
    by_evidence = bc.NaiveBayes(families=("Gaussian", "gamma"), random_state=1).fit(X, y)
    assert "transform the column; see" in found((by_evidence, (X, y)), "Y07").next_step
    as_named = bc.NaiveBayes({"x0": "gaussian"}, random_state=1).fit(X, y)
    assert "leave it out of blocks" in found((as_named, (X, y)), "Y07").next_step


def test_densities_of_rows_are_averaged_over_given_draws():
    clf, (X, _) = gaussian(*normal_rows(200))
    exact, drawn = (log_marginal(one, one.rows(X)) for one in (clf, clf.with_posterior(clf.posterior_)))
    np.testing.assert_allclose(drawn, exact, atol=0.05)
