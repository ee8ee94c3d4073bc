"""What every classifier must satisfy, whatever it is made of."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from helpers.classifiers import (
    CASES,
    GENERATIVE,
    LOGISTIC,
    MAIN_SUITE,
    PLUG_IN,
    assert_same_answers,
    every_case,
    every_rule,
)
from helpers.suites import mainly, mostly_slow
from scipy.special import logsumexp

import bayesclf as bc
from bayesclf.classifiers import CLASSIFIERS
from bayesclf.errors import Refused
from bayesclf.rules import RULES, Gibbs


def test_every_classifier_has_a_case():
    # Texts are not a table: tests/classifiers/test_text.py.
    assert {case.kind for case in CASES} == set(CLASSIFIERS.values()) - {bc.TextNB}


@every_case
@every_rule
def test_probabilities_add_up_to_one(case, rule, mixed_table, fitted):
    X, _ = case.table(mixed_table)
    log_proba = fitted(case).predict_log_proba(X, rule=rule)
    assert log_proba.shape == (len(X), 3)
    np.testing.assert_allclose(logsumexp(log_proba, axis=1), 0.0, atol=1e-12)


@every_case
@pytest.mark.parametrize("point", PLUG_IN)
def test_a_point_engine_answers_as_its_rule_does(case, point, mixed_table, fitted):
    X, y = case.table(mixed_table)
    expected = fitted(case).predict_proba(X, rule=point)
    only = case.make(inference=point).fit(X, y)
    np.testing.assert_array_equal(only.predict_proba(X), expected)
    with pytest.raises(Refused, match="has no posterior to average over"):
        only.predict_proba(X, rule="bayes-optimal")


@every_case
def test_fits_of_one_seed_are_equal_and_of_two_have_different_draws(case, mixed_table):
    X, y = case.table(mixed_table)
    one, same, other = (case.make(random_state=seed).fit(X, y) for seed in (5, 5, 6))
    xr.testing.assert_identical(one.posterior_, same.posterior_)
    for rule in RULES:
        np.testing.assert_array_equal(one.predict_log_proba(X, rule=rule), same.predict_log_proba(X, rule=rule))
    assert (one.predict_proba(X, rule="gibbs") != other.predict_proba(X, rule="gibbs")).any()


@every_case
@pytest.mark.parametrize("given", ["data", "data and x"])
def test_the_gibbs_classifier_is_a_function_of_seed_and_row(case, given, mixed_table, fitted):
    X, _ = case.table(mixed_table)
    clf = fitted(case)
    X = X[:20]  # later rows are so unusual that too few draws carry their weight
    rule = Gibbs(given=given)
    first = clf.predict_proba(X, rule=rule)
    np.testing.assert_array_equal(clf.predict_proba(X, rule=rule), first)
    np.testing.assert_allclose(clf.predict_proba(X[:7], rule=rule), first[:7], rtol=1e-12)


@every_case
def test_posterior_is_a_tree_with_labeled_axes(case, fitted):
    clf = fitted(case)
    tree = clf.posterior_
    assert isinstance(tree, xr.DataTree)
    for group in ("posterior", "map", "mle"):
        dims = {name: tree[group][name].dims for name in tree[group].data_vars}
        assert dims == {name: ("chain", "draw", *axes) for name, axes in clf.model_.shown_dims().items()}
        assert all(axis in tree[group].coords for axes in dims.values() for axis in axes)
    np.testing.assert_array_equal(tree["posterior"]["outcome"], clf.classes_[: tree["posterior"].sizes["outcome"]])


@every_case
@pytest.mark.parametrize("labels", mainly([[9, 10, 11], [False, True], ["9", "90", "91"]], [9, 10, 11]), ids=str)
def test_the_type_of_labels_changes_nothing(case, labels, mixed_table, fitted):
    X, y = case.table(mixed_table)
    codes = np.searchsorted(["ill", "mild", "well"], y) % len(labels)
    clf = case.make().fit(X, np.array(labels)[codes])
    assert {type(label) for label in clf.predict(X).tolist()} == {type(labels[0])}
    words = fitted(case) if len(labels) == 3 else case.make().fit(X, np.array(["a", "b"])[codes])
    assert_same_answers(words, clf, X, RULES, tolerance=0)


@every_case
def test_a_weight_is_a_number_of_repetitions(case, mixed_table, rng):
    X, y = case.table(mixed_table)
    times = 1 + rng.integers(3, size=len(y))
    repeated = case.make().fit(X.loc[X.index.repeat(times)], np.repeat(y, times))
    weighted = case.make().fit(X, y, sample_weight=times)
    assert_same_answers(repeated, weighted, X, case.closed_form, case.tolerance)


@every_case
def test_a_row_of_weight_zero_counts_for_nothing(case, mixed_table):
    X, y, weight = case.with_rows_of_weight_zero(mixed_table)
    assert_same_answers(case.make().fit(X[5:], y[5:]), case.make().fit(X, y, weight), X[5:], RULES, case.tolerance)


@every_case
def test_the_order_of_columns_at_prediction_changes_nothing(case, mixed_table, fitted):
    X, _ = case.table(mixed_table)
    clf = fitted(case)
    assert_same_answers(clf, clf, X, RULES, 0, other_X=X[X.columns[::-1]].assign(other=1))


@every_case
def test_the_draws_are_the_posterior_without_the_points(case, mixed_table, fitted):
    X, y = case.table(mixed_table)
    clf = fitted(case)
    drawn = clf.posterior_draws()
    xr.testing.assert_identical(drawn, clf.posterior_["posterior"].to_dataset()[list(drawn.data_vars)])
    with pytest.raises(Refused, match="a fit by MAP is a point estimate and has no draws"):
        case.make(inference="map").fit(X, y).posterior_draws()


@every_case
@pytest.mark.parametrize("value", [0.1, np.nan])
def test_a_constant_column_contributes_nothing_and_is_noted(case, value, mixed_table, fitted):
    X, y = case.table(mixed_table)
    numeric = "age" in X or np.isnan(value)
    if case.kind is bc.MultinomialNB or (not numeric and case.name in ("bernoulli", "all trees", "all forests")):
        pytest.skip("a word takes its share of Σα wherever it occurs, an event counts, and trees lead through a level")
    with_constant = X.assign(constant=value if numeric else "always the same")
    clf = case.make().fit(with_constant, y)
    if numeric:  # a categorical column of one level has density one, and needs no note
        assert any("'constant'" in note and "contributes nothing" in note for note in clf.notes_)
    assert not any("contributes nothing" in note for note in fitted(case).notes_)
    tolerance = 0 if case in GENERATIVE and numeric else case.tolerance
    assert_same_answers(fitted(case), clf, X, case.closed_form, tolerance, other_X=with_constant)


@every_case
def test_columns_that_all_contribute_nothing_leave_the_class_prior(case, mixed_table):
    X, y = case.table(mixed_table)
    nothing = pd.DataFrame(case.empty, index=X.index, columns=X.columns)
    for options in ({}, {"class_prior": "uniform"}) if case in GENERATIVE else ({},):
        proba = case.make(**options).fit(nothing, y).predict_proba(nothing, rule="map")
        np.testing.assert_allclose(proba, 1 / 3, atol=case.tolerance)


# Units


# Families of positive numbers are candidates for a column, or not, by where its zero is.
@mostly_slow([case for case in GENERATIVE if "age" in case.columns and case.name != "nb auto"], MAIN_SUITE)
def test_a_shift_of_a_column_changes_nothing(case, mixed_table, fitted):
    X, y = case.table(mixed_table)
    moved = X.assign(dose=X["dose"] + 1e6)
    assert_same_answers(fitted(case), case.make().fit(moved, y), X, RULES, 1e-6, moved)


@mostly_slow(LOGISTIC, MAIN_SUITE)
@pytest.mark.parametrize("change", [lambda x: x + 1e6, lambda x: x * 1e6], ids=["shift", "scale"])
def test_units_change_no_logistic_map(case, change, mixed_table, fitted):
    X, y = case.table(mixed_table)
    moved = X.assign(dose=change(X["dose"]))
    assert_same_answers(fitted(case), case.make().fit(moved, y), X, ["map"], 1e-6, moved)
