"""New rows far from the training rows: the far ones are named, and rows like the training rows are not."""

import numpy as np
import pandas as pd
import pytest
from helpers.faults import gaussian, logistic, naive, normal_rows, word_rows
from scipy import stats

import bayesclf as bc
from bayesclf.diagnostics.distance import exceedance, far_limit, leverages


def found(case, code, **arguments):
    clf, (X, y) = case
    return clf.diagnose(X, y, checks=[code], **arguments)[code]


def test_far_rows_are_those_that_are_far():
    X, y = normal_rows(300)
    new = normal_rows(50, seed=8)[0]
    new.loc[7, "x1"] = 30.0
    for case in (gaussian(X, y), logistic(X, y)):
        finding = found(case, "Y06", new=new)
        assert finding.evidence["row"].tolist() == [8]
        assert "counted from 1: 8)" in finding.reason


@pytest.mark.parametrize("fit", [gaussian, logistic])
def test_one_absurd_row_is_told_of_however_few_rows_there_are(fit):
    case = fit(*normal_rows(50))
    new = normal_rows(1, seed=8)[0]
    assert found(case, "Y06", new=new).section == "passed"
    finding = found(case, "Y06", new=new * 0 + [1e4, -1e4])
    assert finding.section == "tip"
    assert "1 of 1 new rows (counted from 1: 1) are far beyond the furthest of 50 training rows" in finding.reason


def test_absurd_rows_among_many_are_told_of():
    new = normal_rows(2000, seed=8)[0]
    new.iloc[[3, 900]] = 1e6
    finding = found(gaussian(*normal_rows(50)), "Y06", new=new)
    assert "2 of 2000 new rows (counted from 1: 4, 901) are far beyond" in finding.reason


def test_exceedances_are_as_frequent_as_in_any_order_of_the_rows():
    known, asked = 7, 5
    order = np.random.default_rng(1).random((100_000, known + asked))
    far = (order[:, known:] > order[:, :known].max(axis=1, keepdims=True)).sum(axis=1)
    for k in range(asked + 1):
        share = (far >= k).mean()
        assert abs(share - exceedance(k, known, asked)) <= 4 * np.sqrt(share * (1 - share) / len(far))
    assert exceedance(1, 99, 1) == pytest.approx(0.01)


@pytest.mark.parametrize(("known", "asked"), [(100, 2000), (50, 1), (100, 100)])
def test_false_alarms_about_far_rows_are_as_rare_as_they_should_be(known, asked):
    rng = np.random.default_rng(1)
    alarms, repetitions = {"exceedance": 0, "limit": 0}, 1000
    for _ in range(repetitions):
        old, new = rng.exponential(size=known), rng.exponential(size=asked)
        alarms["exceedance"] += exceedance(int((new > old.max()).sum()), known, asked) < 0.01
        alarms["limit"] += (new > far_limit(old.max(), old.max() - np.median(old), known, asked)).any()
    at_most = stats.binom.isf(1e-3, repetitions, 0.01)
    assert max(alarms.values()) <= at_most, alarms


@pytest.mark.slow
@pytest.mark.parametrize("fit", [gaussian, logistic])
def test_new_rows_like_the_training_rows_are_seldom_called_far(fit):
    alarms = sum(
        found(fit(*normal_rows(100, seed=seed)), "Y06", new=normal_rows(2000, seed=1000 + seed)[0]).section == "tip"
        for seed in range(200)
    )
    assert alarms <= stats.binom.isf(1e-3, 200, 2 * 0.01)  # two tests


def test_a_far_cell_counts_where_others_are_missing():
    X, y = normal_rows(300)
    new = normal_rows(4, seed=8)[0]
    new["x0"] = [np.nan, np.nan, 0.5, 0.5]
    new["x1"] = [0.5, 20.0, 0.5, np.nan]
    finding = found(gaussian(X, y), "Y06", new=new)
    assert finding.evidence["row"].tolist() == [2]


def with_gaps(seed, rows, columns=3, share=0.4):
    X, y = normal_rows(rows, columns, seed=seed)
    return X.mask(np.random.default_rng(seed).random(X.shape) < share), y


@pytest.mark.slow
def test_a_new_row_is_compared_with_training_rows_that_have_its_cells():
    """A row with gaps has fewer terms in −log p(x), so that complete new rows were further out than it."""
    alarms = 0
    for seed in range(6):
        case = gaussian(*with_gaps(seed, 100))
        alarms += found(case, "Y06", new=with_gaps(100 + seed, 40)[0]).section == "tip"
    assert alarms <= 1
    new = with_gaps(50, 40)[0]
    new.iloc[7] = 40.0
    finding = found(gaussian(*with_gaps(1, 100)), "Y06", new=new)
    assert finding.section == "tip"
    assert 8 in finding.evidence["row"].tolist()


def test_levels_that_no_training_row_has_are_counted():
    X, y = word_rows(200)
    new = X[:5].copy()
    new.loc[3, "wind"] = "gale"
    for case in (naive(X, y), logistic(X, y)):
        finding = found(case, "Y06", new=new)
        assert finding.section == "tip"
        assert finding.evidence.query("unseen_levels > 0")["row"].tolist() == [4]


def test_leverage_is_the_mahalanobis_distance():
    X, y = normal_rows(40)
    clf, _ = logistic(X, y)
    new = normal_rows(5, seed=3)[0]
    own, others = leverages(clf.model_, clf.rows(X), clf.rows(new))

    def distance(x, rows):
        centred = rows - rows.mean()
        spread = centred.T @ centred
        deviation = x - rows.mean()
        return 1 / len(rows) + deviation @ np.linalg.solve(spread, deviation)

    np.testing.assert_allclose(others, [distance(new.iloc[i], X) for i in range(5)], rtol=1e-5)
    np.testing.assert_allclose(own, [distance(X.iloc[i], X.drop(i)) for i in range(40)], rtol=1e-5)


def test_a_new_row_that_breaks_a_sum_of_columns_is_far():
    X, y = normal_rows(100)
    X["both"] = X["x0"] + X["x1"]
    new = X[:10].copy()
    new.loc[4, "both"] += 1.0
    assert found(logistic(X, y), "Y06", new=new).evidence["row"].tolist() == [5]


def test_two_peaks_and_counts_that_vary_too_much_are_unlike_the_model():
    X, y = normal_rows(300)
    assert found(gaussian(X, y), "Y07").section == "passed"
    rng = np.random.default_rng(1)
    X["x0"] += np.where(rng.random(300) < 0.5, -3, 3)
    finding = found(gaussian(X, y), "Y07")
    assert set(finding.evidence["statistic"]) == {"shape"}
    assert "another family" in finding.next_step
    rates = rng.gamma(1.0, size=(300, 3)) * np.where(y == "yes", 5, 3)[:, None]
    counts = pd.DataFrame(rng.poisson(rates))
    finding = found((bc.MultinomialNB(random_state=1).fit(counts, y), (counts, y)), "Y07")
    assert "equal pairs of words in a document" in finding.reason
    assert "BernoulliNB" in finding.next_step
    fitting = pd.DataFrame(rng.multinomial(20, [0.2, 0.3, 0.5], size=300))
    assert found((bc.MultinomialNB(random_state=1).fit(fitting, y), (fitting, y)), "Y07").section == "passed"
