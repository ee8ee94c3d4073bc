"""Missing cells and the class: tests of independence agree with other routes, rare classes or not."""

import numpy as np
import pandas as pd
import pytest
from helpers.faults import logistic, missing_by_class, naive, normal_rows
from scipy import stats

from bayesclf.diagnostics.columns import _identifies, all_different, independence


def found(case, code, **arguments):
    clf, (X, y) = case
    return clf.diagnose(X, y, checks=[code], **arguments)[code]


def test_missing_cells_are_tested_by_class():
    clf, (X, y) = missing_by_class(0.4)
    missing = X["wind"].isna()
    expected = stats.chi2_contingency(pd.crosstab(missing, y), correction=False).pvalue
    evidence = found((clf, (X, y)), "Y04").evidence
    assert evidence["p_value"][0] == pytest.approx(expected)
    assert evidence["most_missing"][0] == pytest.approx(missing[y == "yes"].mean())


def test_independence_of_rare_classes_is_tested_exactly():
    table = np.array([[6, 1], [291, 2]])
    assert independence(table, 1) == pytest.approx(stats.fisher_exact(table).pvalue)
    frequent = np.array([[40, 60], [260, 240]])
    assert independence(frequent, 1) == pytest.approx(stats.chi2_contingency(frequent, correction=False).pvalue)


def test_independence_of_rare_classes_is_that_of_shuffled_labels():
    table = np.array([[6, 2, 2], [280, 8, 4]])
    labels = np.repeat(np.arange(3), table.sum(axis=0))
    rng = np.random.default_rng(3)

    def statistic(counts):
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
        return ((counts - expected) ** 2 / expected).sum()

    shuffled = []
    for _ in range(2000):
        missing = np.bincount(rng.permutation(labels)[: table[0].sum()], minlength=3)
        shuffled.append(statistic(np.array([missing, table.sum(axis=0) - missing])))
    share = np.mean(np.array(shuffled) >= statistic(table) - 1e-9)
    p_value = independence(table, 1)
    assert abs(p_value - share) < 4 * np.sqrt(p_value / 2000)
    assert independence(table, 1) == p_value


@pytest.mark.slow
@pytest.mark.parametrize("rows", [(297, 3), (290, 7, 3)])
def test_false_alarms_about_missing_cells_of_rare_classes_are_rare(rows):
    rng = np.random.default_rng(1)
    labels = np.repeat(np.arange(len(rows)), rows)
    alarms = 0
    for seed in range(300):
        missing = rng.random(len(labels)) < 0.02
        table = np.array([np.bincount(labels[missing == state], minlength=len(rows)) for state in (True, False)])
        alarms += missing.any() and independence(table, seed) < 0.01
    assert alarms <= stats.binom.isf(1e-3, 300, 0.01)


def test_missing_cells_of_a_rare_class_are_found():
    X, y = normal_rows(300)
    y[:6], y[6:12] = "rare", "rarer"
    X["x0"] = X["x0"].mask((np.arange(300) < 6) | (np.arange(300) % 50 == 20))
    assert found(naive(X, y), "Y04").section == "issue"


def test_missing_cells_that_are_in_the_model_are_not_checked():
    _, (X, y) = missing_by_class(0.4)
    assert found(naive(X, y, missing="level"), "Y04").section == "not applicable"
    X["rain"] = X["rain"].mask((y == "yes") & (np.arange(len(y)) % 2 == 0))
    numbers = X[["rain"]]
    assert found(naive(numbers, y), "Y04").section == "issue"
    finding = found(logistic(numbers, y), "Y04")
    assert (finding.section, "indicators" in finding.reason) == ("not applicable", True)
    assert found(logistic(X, y), "Y04").section == "issue"


@pytest.mark.parametrize(("low", "high", "section"), [(0.10, 0.24, "differ"), (0.2, 0.2, "close")])
def test_shares_of_missing_cells_are_not_called_equal_where_there_are_too_few_rows_to_tell(low, high, section):
    X, y = normal_rows(100)
    order = np.argsort(y, kind="stable")
    empty = np.concatenate([np.arange(50) < 50 * low, np.arange(50) < 50 * high])
    X["x0"] = X["x0"].mask(empty[np.argsort(order)])
    finding = found(naive(X, y), "Y04")
    assert finding.section == "passed"
    assert f"{100 * low:.0f} % to {100 * high:.0f} %" in finding.reason
    assert section in finding.reason
    assert ("chance" in finding.reason) == (section == "differ")


def test_independent_numbers_are_all_different_as_often_as_birthdays():
    rng = np.random.default_rng(1)
    share = np.mean([len(np.unique(rng.integers(1000, size=40))) == 40 for _ in range(2000)])
    exact = np.prod(1 - np.arange(40) / 1000)
    assert all_different(40, 1000 * 39 / 41) == pytest.approx(exact)
    assert abs(share - exact) < 4 * np.sqrt(exact * (1 - exact) / 2000)
    assert all_different(30, 20) == 0.0


@pytest.mark.parametrize(("rows", "kept"), [(30, 0.7), (100, 0.3), (300, 0.1)])
def test_identifiers_are_found_after_a_split(rows, kept):
    rng = np.random.default_rng(2)
    for _ in range(20):
        some = rng.permutation(1000 + np.arange(int(rows / kept)))[:rows]
        assert _identifies(pd.Series(some))
    measured = [pd.Series(rng.integers(rows * rows // 4, size=rows)) for _ in range(100)]
    assert sum(map(_identifies, measured)) <= 5
    assert not any(
        _identifies(pd.Series(rng.permutation(np.unique(rng.integers(10**6, size=rows))))) for _ in range(20)
    )
