"""Fits that would take too much memory are refused before they take any; other models of a comparison go on."""

import numpy as np
import pandas as pd
import pytest
from helpers.effort import peak

import bayesclf as bc
from bayesclf import constraints
from bayesclf.errors import InputError, Refused

ALLOWED = 2**28
"""Bytes that a refusal may take at its peak, which are those of the table and its encoding, and of a name per level."""


def refused(match, clf, X, y):
    with pytest.raises(Refused, match=match):
        clf.fit(X, y)


def test_logistic_regression_of_many_numbers(monkeypatch):
    monkeypatch.setattr(constraints, "MOST_BYTES", 2**20)
    X, y = np.random.default_rng(0).normal(size=(200, 1_000)), np.arange(200) % 2
    match = r"the 1,000 columns of 200 rows would take about .* leave columns out"
    refused(match, bc.LogisticRegression(prior_scale=2.5), X, y)


def test_discriminant_analysis_of_many_columns():
    X, y = np.random.default_rng(0).normal(size=(20, 6_000)), np.arange(20) % 2
    match = r"covariances of 6,000 columns would take about 7.51 GiB of memory \(limit 4 GiB\); use fewer columns"
    assert peak(refused, match, bc.GaussianDiscriminantAnalysis(), X, y) < ALLOWED


def test_a_tree_of_a_column_with_very_many_levels():
    rows = 14_000
    X = pd.DataFrame({"id": [f"customer {i}" for i in range(rows)], "wind": ["weak", "strong"] * (rows // 2)})
    match = "the pairs of values of 2 columns need 2 × 14,002² numbers"
    assert peak(refused, match, bc.BayesNetClassifier(), X, np.arange(rows) % 2) < ALLOWED


@pytest.mark.parametrize(
    ("make", "columns", "rows"),
    [
        (lambda: bc.LogisticRegression(prior_scale=2.5, inference="map"), 150, 1_000),
        (lambda: bc.GaussianDiscriminantAnalysis("class", inference="map"), 250, 100),
    ],
    ids=["logistic", "discriminant"],
)
def test_an_estimate_is_near_what_is_taken(make, columns, rows, monkeypatch):
    """A fit that just fits in takes at most what was estimated, and at least a third of it."""
    estimates = []
    monkeypatch.setattr(constraints, "require_bytes", lambda needed, what, remedy: estimates.append(needed))
    X, y = np.random.default_rng(0).normal(size=(rows, columns)), np.arange(rows) % 2
    make().fit(X[:, :2], y)  # what is imported and cached does not count
    estimates.clear()
    taken = peak(make().fit, X, y)
    assert max(estimates) / 3 < taken < 1.2 * max(estimates)


def test_the_limit_is_raised_by_the_environment(monkeypatch):
    monkeypatch.setenv(constraints.SETTING, "16e9")
    assert constraints.most_bytes() == 16 * 10**9
    constraints.require_bytes(5 * 2**30, "work", "take less")


@pytest.mark.parametrize("given", ["much", "-1", "0", "nan", "inf"])
def test_a_limit_that_is_not_a_number_of_bytes_is_refused(given, monkeypatch):
    monkeypatch.setenv(constraints.SETTING, given)
    with pytest.raises(InputError, match="BAYESCLF_MAX_BYTES must be a number of bytes, such as 16e9, not"):
        constraints.most_bytes()
