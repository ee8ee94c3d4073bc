"""What every classifier must satisfy, whatever it is made of, and what generative ones must satisfy beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import arviz as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from sklearn import naive_bayes

from bayesclf.classifiers import (
    CLASSIFIERS,
    BayesNetClassifier,
    BernoulliNB,
    CategoricalNB,
    GaussianDiscriminantAnalysis,
    GaussianNB,
    JointBayes,
    LogisticRegression,
    MultinomialNB,
    NaiveBayes,
    TextNB,
)
from bayesclf.errors import DoesNotExist, InputError, PredictionWarning, Refused
from bayesclf.families import LearntAlpha
from bayesclf.families.gaussian import SHARED_OVER
from bayesclf.families.multivariate.gaussian import COVARIANCE_DIMS
from bayesclf.inference import Exact, Laplace
from bayesclf.rules import RULES, Gibbs

NUMBERS, WORDS, EVENTS, COUNTS = ["age", "dose"], ["ward", "smoker"], ["fever", "cough"], ["visits", "calls"]
PLUG_IN = ("mle", "map")
STRANGE = {"dose": 1e9, "smoker": "maybe", "cough": 1.0, "calls": 1e6}
"""Cells that would change every answer if their rows counted."""
CLOSED_FORM = ("mle", "map", "mean", "predictive")
"""Rules whose answer involves no draw, so that they do not depend on the order of classes or levels."""


@dataclass(frozen=True, eq=False)
class Case:
    """A classifier, the columns it can use, and the engine that gives it a posterior without a Markov chain."""

    name: str
    kind: type
    columns: list[str]
    options: dict[str, Any] = field(default_factory=dict)
    inference: Any = field(default_factory=lambda: Exact(draws=75))
    tolerance: float = 1e-9
    closed_form: tuple[str, ...] = CLOSED_FORM
    empty: float = np.nan

    def make(self, **options):
        return self.kind(**{"inference": self.inference, "random_state": 3, **self.options, **options})

    def table(self, mixed_table):
        X, y = mixed_table
        return X[self.columns], y


class FilledCase(Case):
    """One whose posterior has a closed form only without missing cells."""

    def table(self, mixed_table):
        X, y = super().table(mixed_table)
        return X.fillna({"ward": "north", "smoker": "no", "age": 35.0, "dose": 1.5}), y


GENERATIVE = (
    Case("nb", NaiveBayes, NUMBERS + WORDS),
    Case("nb selected", NaiveBayes, NUMBERS + WORDS, {"select": True}),
    Case("categorical, α learnt", CategoricalNB, WORDS, {"alpha": LearntAlpha(), "basis": "softmax"}),
    Case("categorical", CategoricalNB, WORDS),
    *(FilledCase(f"gda {c}", GaussianDiscriminantAnalysis, NUMBERS, {"covariance": c}) for c in COVARIANCE_DIMS),
    *(Case(f"gnb {variance}", GaussianNB, NUMBERS, {"variance": variance}) for variance in SHARED_OVER),
    Case("bernoulli", BernoulliNB, EVENTS),
    Case("multinomial", MultinomialNB, COUNTS, empty=0.0),
    FilledCase("joint", JointBayes, WORDS),
    FilledCase("tan", BayesNetClassifier, WORDS),
)
# A Newton step below its tolerance leaves MAP and MLE with some seven digits.
LOGISTIC = (
    Case("lr numbers", LogisticRegression, NUMBERS, {}, Laplace(draws=500), 1e-6, PLUG_IN),
    Case("lr mixed", LogisticRegression, NUMBERS + WORDS, {}, Laplace(draws=500), 1e-6, PLUG_IN),
)
CASES = (*GENERATIVE, *LOGISTIC)


def over(cases):
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


every_case = over(CASES)
every_generative = over(GENERATIVE)
with_numbers = over([case for case in GENERATIVE if "age" in case.columns])
with_words = over([case for case in GENERATIVE if "ward" in case.columns])
every_rule = pytest.mark.parametrize("rule", RULES)


def assert_same_answers(one, other, X, rules, tolerance=1e-9, other_X=None):
    for rule in rules:
        found = other.predict_proba(X if other_X is None else other_X, rule=rule)
        np.testing.assert_allclose(found, one.predict_proba(X, rule=rule), rtol=0, atol=tolerance, err_msg=rule)


def test_every_classifier_has_a_case():
    assert {case.kind for case in CASES} == set(CLASSIFIERS.values()) - {TextNB}  # not a table: tests/test_text.py


# Every classifier


@every_case
@every_rule
def test_probabilities_add_up_to_one(case, rule, mixed_table):
    X, y = case.table(mixed_table)
    log_proba = case.make().fit(X, y).predict_log_proba(X, rule=rule)
    assert log_proba.shape == (len(X), 3)
    np.testing.assert_allclose(logsumexp(log_proba, axis=1), 0.0, atol=1e-12)


@every_case
@every_rule
def test_predictions_are_the_most_probable_labels(case, rule, mixed_table):
    X, y = case.table(mixed_table)
    clf = case.make().fit(X, y)
    best = clf.classes_[clf.predict_proba(X, rule=rule).argmax(axis=1)]
    np.testing.assert_array_equal(clf.predict(X, rule=rule), best)


@every_case
@pytest.mark.parametrize("point", PLUG_IN)
def test_a_point_engine_answers_as_its_rule_does(case, point, mixed_table):
    X, y = case.table(mixed_table)
    expected = case.make().fit(X, y).predict_proba(X, rule=point)
    only = case.make(inference=point).fit(X, y)
    np.testing.assert_array_equal(only.predict_proba(X), expected)
    with pytest.raises(Refused, match="leaves no posterior to average over"):
        only.predict_proba(X, rule="bayes-optimal")


@every_case
def test_fits_of_one_seed_are_equal(case, mixed_table):
    X, y = case.table(mixed_table)
    one, same = (case.make(random_state=5).fit(X, y) for _ in range(2))
    xr.testing.assert_identical(one.posterior_, same.posterior_)
    for rule in RULES:
        np.testing.assert_array_equal(one.predict_log_proba(X, rule=rule), same.predict_log_proba(X, rule=rule))


@every_case
def test_fits_of_two_seeds_have_different_draws(case, mixed_table):
    X, y = case.table(mixed_table)
    one, other = (case.make(random_state=seed).fit(X, y) for seed in (5, 6))
    assert (one.predict_proba(X, rule="gibbs") != other.predict_proba(X, rule="gibbs")).any()


@every_case
@pytest.mark.parametrize("given", ["data", "data and x"])
def test_the_gibbs_classifier_is_a_function_of_seed_and_row(case, given, mixed_table):
    X, y = case.table(mixed_table)
    clf = case.make().fit(X, y)
    X = X[:20]  # later rows are so unusual that too few draws carry their weight
    rule = Gibbs(given=given)
    first = clf.predict_proba(X, rule=rule)
    np.testing.assert_array_equal(clf.predict_proba(X, rule=rule), first)
    np.testing.assert_allclose(clf.predict_proba(X[:7], rule=rule), first[:7], rtol=1e-12)


@every_case
def test_the_gibbs_classifier_averages_to_bayes_optimal(case, mixed_table):
    X, y = case.table(mixed_table)
    clf = case.make().fit(X, y)
    copies = X.iloc[np.zeros(4000, dtype=int)]
    drawn = clf.predict_proba(copies, rule="gibbs")
    error = drawn.std(axis=0) / np.sqrt(len(drawn))
    assert (np.abs(drawn.mean(axis=0) - clf.predict_proba(X[:1])[0]) < 5 * error).all()


@every_case
def test_posterior_is_a_tree_with_labeled_axes(case, mixed_table):
    X, y = case.table(mixed_table)
    clf = case.make().fit(X, y)
    tree = clf.posterior_
    assert isinstance(tree, xr.DataTree)
    for group in ("posterior", "map", "mle"):
        dims = {name: tree[group][name].dims for name in tree[group].data_vars}
        assert dims == {name: ("chain", "draw", *axes) for name, axes in clf.model_.dims().items()}
        assert all(axis in tree[group].coords for axes in dims.values() for axis in axes)
    np.testing.assert_array_equal(tree["posterior"]["outcome"], clf.classes_[: tree["posterior"].sizes["outcome"]])


@every_case
def test_arviz_summarises_the_posterior(case, mixed_table):
    X, y = case.table(mixed_table)
    tree = case.make().fit(X, y).posterior_
    summary = az.summary(tree, round_to="none")
    numbers = [values.mean(("chain", "draw")).values.ravel() for values in tree["posterior"].data_vars.values()]
    np.testing.assert_allclose(summary["mean"], np.concatenate(numbers), rtol=1e-12)


@every_case
@pytest.mark.parametrize("labels", [[9, 10, 11], [False, True], ["9", "90", "91"]], ids=str)
def test_the_type_of_labels_changes_nothing(case, labels, mixed_table):
    X, y = case.table(mixed_table)
    codes = np.searchsorted(["ill", "mild", "well"], y) % len(labels)
    words = np.array(["a", "b", "c"])[codes]
    clf = case.make().fit(X, np.array(labels)[codes])
    assert {type(label) for label in clf.predict(X).tolist()} == {type(labels[0])}
    assert_same_answers(case.make().fit(X, words), clf, X, RULES, tolerance=0)


@every_case
def test_the_order_of_labels_changes_nothing(case, mixed_table):
    X, y = case.table(mixed_table)
    codes = np.searchsorted(["ill", "mild", "well"], y)
    numbers = case.make().fit(X, np.array([9, 10, 11])[codes])
    words = case.make().fit(X, np.array(["9", "10", "11"])[codes])
    np.testing.assert_array_equal(words.classes_, ["10", "11", "9"])
    for rule in case.closed_form:
        found = words.predict_proba(X, rule=rule)[:, [2, 0, 1]]
        np.testing.assert_allclose(found, numbers.predict_proba(X, rule=rule), atol=case.tolerance)


@every_case
def test_a_weight_is_a_number_of_repetitions(case, mixed_table, rng):
    X, y = case.table(mixed_table)
    times = 1 + rng.integers(3, size=len(y))
    repeated = case.make().fit(X.loc[X.index.repeat(times)], np.repeat(y, times))
    weighted = case.make().fit(X, y, sample_weight=times)
    assert_same_answers(repeated, weighted, X, case.closed_form, case.tolerance)


@every_case
def test_a_row_of_weight_zero_is_no_row(case, mixed_table):
    X, y = case.table(mixed_table)
    X = X.copy()
    X.loc[X.index[:5], X.columns[-1]] = STRANGE[X.columns[-1]]
    weight = np.repeat([0.0, 1.0], [5, len(y) - 5])
    assert_same_answers(case.make().fit(X[5:], y[5:]), case.make().fit(X, y, weight), X[5:], RULES, case.tolerance)


@every_case
def test_the_order_of_columns_at_prediction_changes_nothing(case, mixed_table):
    X, y = case.table(mixed_table)
    clf = case.make().fit(X, y)
    assert_same_answers(clf, clf, X, RULES, 0, other_X=X[X.columns[::-1]].assign(other=1))


@every_case
def test_rows_are_those_of_the_table_with_the_training_columns(case, mixed_table):
    X, y = case.table(mixed_table)
    clf = case.make().fit(X, y)
    frame = clf.frame(X[X.columns[::-1]].assign(other=1))
    assert list(frame.columns) == list(X.columns)
    for part, expected in zip(clf.rows(X).parts, clf.encode(frame).parts, strict=True):
        np.testing.assert_array_equal(part, expected)


@every_case
def test_the_draws_are_the_posterior_without_the_points(case, mixed_table):
    X, y = case.table(mixed_table)
    clf = case.make().fit(X, y)
    xr.testing.assert_identical(clf.posterior_draws(), clf.posterior_["posterior"].to_dataset())
    with pytest.raises(Refused, match="a fit by MAP is a point estimate and has no draws"):
        case.make(inference="map").fit(X, y).posterior_draws()


@every_case
@pytest.mark.parametrize("value", [0.1, np.nan])
def test_a_constant_column_contributes_nothing_and_is_noted(case, value, mixed_table):
    if "age" not in case.columns and not np.isnan(value):
        pytest.skip("a categorical column of one level has density one and needs no note")
    if case.kind is MultinomialNB:
        pytest.skip("a word takes its share of Σα wherever it occurs, and a missing count is refused")
    X, y = case.table(mixed_table)
    with_constant = X.assign(constant=value)
    clf = case.make().fit(with_constant, y)
    assert any("'constant'" in note and "contributes nothing" in note for note in clf.notes_)
    assert not any("contributes nothing" in note for note in case.make().fit(X, y).notes_)
    tolerance = 0 if case in GENERATIVE else case.tolerance
    assert_same_answers(case.make().fit(X, y), clf, X, case.closed_form, tolerance, other_X=with_constant)


@every_case
def test_columns_that_all_contribute_nothing_leave_the_class_prior(case, mixed_table):
    X, y = case.table(mixed_table)
    nothing = pd.DataFrame(case.empty, index=X.index, columns=X.columns)
    for options in ({}, {"class_prior": "uniform"}) if case in GENERATIVE else ({},):
        proba = case.make(**options).fit(nothing, y).predict_proba(nothing, rule="map")
        np.testing.assert_allclose(proba, 1 / 3, atol=case.tolerance)


# Units


@with_numbers
@every_rule
def test_a_shift_of_a_column_changes_nothing(case, rule, mixed_table):
    X, y = case.table(mixed_table)
    moved = X.assign(dose=X["dose"] + 1e6)
    assert_same_answers(case.make().fit(X, y), case.make().fit(moved, y), X, [rule], 1e-6, moved)


@over(
    [case for case in GENERATIVE if case.name in ("nb", "gnb class-feature", "gnb feature", "gda shared", "gda class")]
)
@every_rule
def test_the_unit_of_a_column_changes_nothing(case, rule, mixed_table):
    X, y = case.table(mixed_table)
    scaled = X.assign(dose=X["dose"] * 1e6)
    assert_same_answers(case.make().fit(X, y), case.make().fit(scaled, y), X, [rule], 1e-9, scaled)


@over([case for case in GENERATIVE if case.kind is GaussianNB])
@every_rule
def test_a_common_unit_changes_nothing(case, rule, mixed_table):
    X, y = case.table(mixed_table)
    assert_same_answers(case.make().fit(X, y), case.make().fit(1e6 * X, y), X, [rule], 1e-9, 1e6 * X)


@over(LOGISTIC)
@pytest.mark.parametrize("change", [lambda x: x + 1e6, lambda x: x * 1e6], ids=["shift", "scale"])
def test_units_change_no_logistic_map(case, change, mixed_table):
    X, y = case.table(mixed_table)
    moved = X.assign(dose=change(X["dose"]))
    assert_same_answers(case.make().fit(X, y), case.make().fit(moved, y), X, ["map"], 1e-6, moved)


@pytest.mark.parametrize("variance", ["class", "shared"])
def test_the_unit_of_a_column_matters_where_columns_share_a_variance(variance, mixed_table):
    X, y = mixed_table[0][NUMBERS], mixed_table[1]
    clf = GaussianNB(variance, inference="map").fit(X, y)
    scaled = X.assign(dose=X["dose"] * 1e6)
    change = np.abs(clf.predict_proba(X) - GaussianNB(variance, inference="map").fit(scaled, y).predict_proba(scaled))
    assert change.max() > 0.01


@pytest.mark.parametrize("variance", SHARED_OVER)
def test_columns_in_unlike_units_are_noted_where_they_share_a_variance(variance, mixed_table):
    X, y = mixed_table[0][NUMBERS], mixed_table[1]
    equal = (X - X.mean()) / X.std()
    wide = equal.assign(dose=equal["dose"] * 11)
    assert GaussianNB(variance).fit(equal, y).notes_ == []
    notes = GaussianNB(variance).fit(wide, y).notes_
    if variance in ("class", "shared"):
        assert "'dose' and 'age' differ 11-fold" in notes[0]
    else:
        assert notes == []


# Learning in parts


@every_generative
@pytest.mark.parametrize("missing", ["ignore", "level"])
@given(seed=st.integers(0, 2**32 - 1), parts=st.integers(1, 4))
@settings(max_examples=5, deadline=None)
def test_partial_fit_over_any_split_is_fit(case, missing, mixed_table, seed, parts):
    X, y = case.table(mixed_table)
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.5, 2.0, len(y))
    part = rng.integers(parts, size=len(y))
    by_parts = case.make(missing=missing)
    for number in range(parts):
        if (part == number).any():
            rows = part == number
            by_parts.partial_fit(X[rows], y[rows], classes=np.unique(y), sample_weight=weight[rows])
    whole = case.make(missing=missing).fit(X, y, sample_weight=weight)
    assert_same_answers(whole, by_parts, X, RULES)
    assert by_parts.notes_ == whole.notes_


@with_words
@pytest.mark.parametrize("missing", ["ignore", "level"])
def test_partial_fit_takes_levels_that_come_later(case, missing, mixed_table):
    X, y = case.table(mixed_table)
    order = np.argsort(X["ward"].map({"west": 0, "east": 1, "north": 2}).fillna(3).to_numpy(), kind="stable")
    X, y = X.iloc[order], y[order]
    by_rows = case.make(missing=missing)
    for start in range(0, len(y), 20):
        by_rows.partial_fit(X[start : start + 20], y[start : start + 20], classes=np.unique(y))
    assert_same_answers(case.make(missing=missing).fit(X, y), by_rows, X, RULES)


@with_numbers
def test_partial_fit_takes_a_column_that_varies_later(case, mixed_table):
    X, y = case.table(mixed_table)
    X = X.assign(dose=np.where(np.arange(len(y)) < 30, 0.3, X["dose"]))
    by_parts = case.make().partial_fit(X[:30], y[:30], classes=np.unique(y))
    assert "'dose'" in by_parts.notes_[0]
    by_parts.partial_fit(X[30:], y[30:])
    assert by_parts.notes_ == []
    assert_same_answers(case.make().fit(X, y), by_parts, X, RULES)


@every_generative
def test_partial_fit_ignores_rows_of_weight_zero_as_fit_does(case, mixed_table):
    X, y = case.table(mixed_table)
    X = X.copy()
    X.loc[X.index[:5], X.columns[-1]] = STRANGE[X.columns[-1]]
    weight = np.repeat([0.0, 1.0], [5, len(y) - 5])
    by_parts = case.make().partial_fit(X, y, sample_weight=weight)
    assert_same_answers(case.make().fit(X, y, weight), by_parts, X[5:], RULES)


PROPER = {"m": np.array([30.0, 1.0]), "kappa": 0.5, "a": 2.0, "b": 3.0}
WISHART = {"m": np.array([30.0, 1.0]), "kappa": 0.5, "nu": 4.0, "psi": np.array([[40.0, 3.0], [3.0, 2.0]])}
SEQUENTIAL = (
    Case("categorical", CategoricalNB, WORDS),
    *(Case(f"gnb {variance}", GaussianNB, NUMBERS, {"variance": variance, **PROPER}) for variance in SHARED_OVER),
    *(
        FilledCase(f"gda {c}", GaussianDiscriminantAnalysis, NUMBERS, {"covariance": c, **WISHART})
        for c in COVARIANCE_DIMS
    ),
)


@over(SEQUENTIAL)
def test_yesterdays_posterior_is_todays_prior(case, mixed_table):
    X, y = case.table(mixed_table)
    first = case.make().fit(X[:25], y[:25])
    second = first.as_prior().fit(X[25:], y[25:])
    assert_same_answers(case.make().fit(X, y), second, X, [rule for rule in RULES if rule != "mle"])


@every_generative
def test_as_prior_continues_an_empirical_prior_too(case, mixed_table):
    """The prior of the first rows stays: the posterior in two steps is that of one fit under the frozen prior."""
    X, y = case.table(mixed_table)
    prior = case.make().fit(X[:25], y[:25]).as_prior()
    in_two = prior.fit(X[25:40], y[25:40]).as_prior().fit(X[40:], y[40:])
    assert_same_answers(prior.fit(X[25:], y[25:]), in_two, X, [rule for rule in RULES if rule != "mle"])


def test_a_prior_refuses_classes_that_it_does_not_know(mixed_table):
    X, y = mixed_table
    prior = NaiveBayes().fit(X[y != "ill"], y[y != "ill"]).as_prior()
    with pytest.raises(InputError, match=r"the prior knows the classes .*, but the rows have"):
        prior.fit(X, y)


# Missing cells and levels


@every_generative
@every_rule
def test_a_row_without_any_cell_is_answered_by_the_class_prior(case, rule, mixed_table):
    X, y = case.table(mixed_table)
    X, y = X[:55], y[:55]
    clf = case.make().fit(X, y)
    nothing = pd.DataFrame(case.empty, index=range(3), columns=X.columns).astype(object)
    counts = np.unique(y, return_counts=True)[1]
    found = clf.predict_proba(nothing, rule=rule)
    draws = clf.posterior_["posterior"]["pi"].values.reshape(-1, 3)
    if rule in ("mle", "map"):
        np.testing.assert_allclose(found, np.tile(counts / 55, (3, 1)), rtol=1e-12)
    elif rule in ("mean", "predictive"):
        np.testing.assert_allclose(found, np.tile((counts + 1) / 58, (3, 1)), rtol=1e-12)
    elif rule == "bayes-optimal":
        np.testing.assert_allclose(found, np.tile(draws.mean(axis=0), (3, 1)), rtol=1e-12)
    else:
        assert all(np.isclose(draws, row, rtol=1e-12).all(axis=1).any() for row in found)


@with_words
@every_rule
def test_an_unseen_level_is_a_missing_cell(case, rule, mixed_table):
    X, y = case.table(mixed_table)
    clf = case.make().fit(X, y)
    assert_same_answers(clf, clf, X.assign(ward=None), [rule], 0, other_X=X.assign(ward="south"))


@with_words
def test_an_unseen_level_is_an_error_on_request(case, mixed_table):
    X, y = case.table(mixed_table)
    clf = case.make(unseen="error").fit(X, y)
    clf.predict(X)
    with pytest.raises(InputError, match=r"column 'ward' has levels that the training rows lack: 'south'; drop"):
        clf.predict(X.assign(ward="south"))


@with_words
def test_a_missing_word_as_a_level_is_a_word_of_its_own(case, mixed_table):
    X, y = case.table(mixed_table)
    level, word = case.make(missing="level"), case.make()
    if case.kind is NaiveBayes:
        X = X[WORDS]
    said = X.fillna("~ none")
    assert_same_answers(level.fit(X, y), word.fit(said, y), X, RULES, 0, said)


@pytest.mark.parametrize("kind", [GaussianNB, NaiveBayes])
def test_a_missing_number_as_a_level_is_a_column_that_says_so(kind, mixed_table):
    X, y = mixed_table[0][NUMBERS], mixed_table[1]
    said = X.assign(**{f"no {name}": X[name].isna() for name in NUMBERS})
    level = kind(missing="level", inference="exact", random_state=1).fit(X, y)
    column = NaiveBayes(inference="exact", random_state=1).fit(said, y)
    assert_same_answers(level, column, X, RULES, 1e-12, said)


def test_a_number_that_is_never_missing_has_no_level_for_it(mixed_table):
    X, y = mixed_table[0][NUMBERS].fillna(1.0), mixed_table[1]
    ignore, level = (GaussianNB(missing=missing, random_state=1).fit(X, y) for missing in ("ignore", "level"))
    assert_same_answers(ignore, level, X, RULES, 0)


@with_words
def test_levels_of_a_pandas_categorical_are_its_categories(case, mixed_table):
    X, y = case.table(mixed_table)
    wider = X.assign(ward=pd.Categorical(X["ward"], categories=["east", "north", "south", "west"]))
    clf = case.make().fit(wider, y)
    names = clf.posterior_["posterior"]["theta"]
    assert any("ward=south" in name for name in names[names.dims[-1]].values)
    south = clf.predict_proba(wider.assign(ward="south"), rule="map")
    assert (south != clf.predict_proba(wider.assign(ward=None), rule="map")).any()


# Class priors


def fixed(pi):
    return {"class_prior": pi}


@every_generative
@every_rule
@pytest.mark.parametrize("pi", [[0.2, 0.5, 0.3], {"ill": 0.2, "mild": 0.5, "well": 0.3}], ids=["array", "mapping"])
def test_other_base_rates_at_prediction_are_those_of_a_fit(case, rule, pi, mixed_table):
    X, y = case.table(mixed_table)
    plain, fitted = case.make().fit(X, y), case.make(class_prior=pi).fit(X, y)
    np.testing.assert_array_equal(fitted.classes_, ["ill", "mild", "well"])
    if rule in CLOSED_FORM:
        np.testing.assert_allclose(
            plain.predict_proba(X, rule=rule, class_prior=pi), fitted.predict_proba(X, rule=rule), rtol=1e-12
        )
    at_prediction = plain.predict_log_proba(X, rule="map", class_prior=pi)
    odds = plain.predict_log_proba(X, rule="map") - np.log(plain.posterior_["map"]["pi"].values[0, 0])
    expected = odds + np.log([0.2, 0.5, 0.3])
    np.testing.assert_allclose(at_prediction, expected - logsumexp(expected, axis=1, keepdims=True), atol=1e-10)


@every_generative
@pytest.mark.parametrize(
    ("class_prior", "expected"),
    [("empirical", None), ("uniform", [1 / 3] * 3), ([0.2, 0.5, 0.3], [0.2, 0.5, 0.3])],
    ids=["empirical", "uniform", "given"],
)
def test_a_known_class_prior_is_not_learnt(case, class_prior, expected, mixed_table):
    X, y = case.table(mixed_table)
    X, y = X[:55], y[:55]
    clf = case.make(class_prior=class_prior).fit(X, y)
    assert "pi" not in clf.posterior_["posterior"]
    nothing = pd.DataFrame(case.empty, index=[0], columns=X.columns).astype(object)
    shares = np.unique(y, return_counts=True)[1] / 55 if expected is None else expected
    for rule in RULES:
        np.testing.assert_allclose(clf.predict_proba(nothing, rule=rule)[0], shares, rtol=1e-12)


def test_class_concentration_is_the_dirichlets(mixed_table):
    X, y = mixed_table
    clf = NaiveBayes(class_concentration=[2.0, 3.0, 5.0]).fit(X, y)
    nothing = pd.DataFrame(np.nan, index=[0], columns=X.columns).astype(object)
    np.testing.assert_allclose(clf.predict_proba(nothing, rule="map")[0], np.array([31, 32, 34]) / 97)


# Classes with few rows


@every_generative
@every_rule
def test_a_class_announced_but_not_seen(case, rule, mixed_table):
    X, y = case.table(mixed_table)
    clf = case.make().fit(X, y, classes=["dead", "ill", "mild", "well"])
    if rule == "mle":
        with pytest.raises(DoesNotExist, match="class 'dead' has"):
            clf.predict_proba(X, rule=rule)
    else:
        proba = clf.predict_proba(X, rule=rule)
        assert np.isfinite(proba).all()
        # Under a flat class prior the most probable π gives it nothing; every average gives it something.
        assert (proba[:, 0] == 0).all() if rule == "map" else (proba[:, 0] > 0).all()


@every_generative
@every_rule
def test_a_class_of_one_row(case, rule, mixed_table):
    X, y = case.table(mixed_table)
    X, y = X.dropna(), y[X.notna().all(axis=1)]
    rows = (y != "ill") | (np.cumsum(y == "ill") == 1)
    X, y = X[rows], y[rows]
    clf = case.make().fit(X, y)
    exists = case.name in (
        "gda shared",
        "categorical",
        "categorical, α learnt",
        "joint",
        "tan",
        "gnb feature",
        "gnb shared",
        "bernoulli",
        "multinomial",
    )
    if rule == "mle" and not exists:
        with pytest.raises(DoesNotExist, match="class 'ill' has too few different values"):
            clf.predict_proba(X, rule=rule)
        assert "class 'ill'" in clf.posterior_["mle"].attrs["does_not_exist"]
    else:
        assert np.isfinite(clf.predict_proba(X, rule=rule)).all()


def test_rows_impossible_under_every_class_are_answered_by_the_class_prior():
    X = pd.DataFrame({"a": ["p", "q", "q", "q"], "b": ["u", "v", "v", "u"]})
    clf = CategoricalNB(random_state=1).fit(X, ["yes", "no", "no", "yes"], classes=["no", "yes"])
    strange = pd.DataFrame({"a": ["p", "q"], "b": ["v", "v"]})
    with pytest.warns(PredictionWarning, match="1 of 2 rows have probability zero under every class"):
        proba = clf.predict_proba(strange, rule="mle")
    np.testing.assert_allclose(proba, [[0.5, 0.5], [1.0, 0.0]])
    assert np.isfinite(clf.predict_log_proba(strange, rule="map")).all()


# Generating


@every_generative
def test_generated_rows_look_like_the_training_rows(case, mixed_table, rng):
    X, y = case.table(mixed_table)
    clf = case.make().fit(X, y)
    generated, labels = clf.sample(6000, random_state=2)
    assert list(generated.columns) == list(X.columns)
    posterior = clf.posterior_["posterior"].mean(("chain", "draw"))
    spread = clf.posterior_["posterior"].std(("chain", "draw"))
    for label in clf.classes_:
        own = generated[labels == label]
        share = float(posterior["pi"].sel(outcome=label))
        assert abs(len(own) / 6000 - share) < 5 * np.sqrt(share * (1 - share) / 6000)
        for name in set(NUMBERS) & set(X.columns):
            mu = posterior["mu"].sel(outcome=label, feature=name)
            sd = np.hypot(own[name].std(), spread["mu"].sel(outcome=label, feature=name))
            assert abs(own[name].mean() - mu) < 5 * sd / np.sqrt(len(own))
        for name in set(WORDS) & set(X.columns) if "level" in posterior.dims else ():
            for level, found in own[name].value_counts(normalize=True).items():
                theta = float(posterior["theta"].sel(outcome=label, level=f"{name}={level}"))
                assert abs(found - theta) < 5 * np.sqrt(theta * (1 - theta) / len(own))


@every_generative
def test_generated_rows_can_be_learnt_from(case, mixed_table):
    X, y = case.table(mixed_table)
    clf = case.make().fit(X, y)
    again = case.make().fit(*clf.sample(200, random_state=1))
    np.testing.assert_array_equal(again.classes_, clf.classes_)
    assert again.predict_proba(X).shape == (len(X), 3)


@every_generative
def test_rows_are_generated_for_given_labels(case, mixed_table):
    X, y = case.table(mixed_table)
    wanted = ["well", "ill", "ill"]
    generated, labels = case.make().fit(X, y).sample(3, wanted)
    assert labels.tolist() == wanted
    assert generated.shape == (3, len(X.columns))


@every_generative
def test_a_point_estimate_generates_rows_too(case, mixed_table):
    X, y = case.table(mixed_table)
    assert case.make(inference="map").fit(X, y).sample(4)[0].shape == (4, len(X.columns))


# Textbooks and peers


SUNNY = pd.DataFrame({"outlook": ["sunny"], "temperature": ["cool"], "humidity": ["high"], "wind": ["strong"]})


@pytest.mark.parametrize("kind", [CategoricalNB, NaiveBayes])
def test_play_tennis_is_the_textbooks(kind, play_tennis):
    """Mitchell 1997 §6.9.1."""
    clf = kind(inference="mle").fit(play_tennis.X, play_tennis.y)
    np.testing.assert_allclose(clf.predict_proba(SUNNY), [[0.795, 0.205]], atol=5e-4)
    assert clf.predict(SUNNY).tolist() == ["no"]


@pytest.mark.parametrize(("label", "joint"), [("yes", 0.0053), ("no", 0.0206)])
def test_play_tennis_estimates_multiply_to_the_textbooks(label, joint, play_tennis):
    mle = CategoricalNB(inference="mle").fit(play_tennis.X, play_tennis.y).posterior_["mle"].sel(outcome=label)
    levels = [f"{name}={SUNNY[name].iloc[0]}" for name in SUNNY]
    found = float(mle["pi"].item() * mle["theta"].sel(level=levels).prod())
    assert round(found, 4) == joint


def test_laplaces_rule_is_that_of_scikit_learn(play_tennis):
    codes = play_tennis.X.apply(lambda column: column.astype("category").cat.codes)
    theirs = naive_bayes.CategoricalNB(alpha=1).fit(codes, play_tennis.y)
    ours = CategoricalNB(alpha=2).fit(play_tennis.X, play_tennis.y)
    np.testing.assert_allclose(ours.predict_proba(play_tennis.X, rule="map"), theirs.predict_proba(codes), rtol=1e-12)


def test_gaussian_mle_is_that_of_scikit_learn(mixed_table):
    X, y = mixed_table[0][NUMBERS].dropna(), mixed_table[1][mixed_table[0][NUMBERS].notna().all(axis=1)]
    theirs = naive_bayes.GaussianNB(var_smoothing=0).fit(X, y)
    np.testing.assert_allclose(
        GaussianNB(inference="mle").fit(X, y).predict_proba(X), theirs.predict_proba(X), rtol=1e-9
    )


def test_naive_bayes_of_one_kind_of_column_is_that_kinds(mixed_table):
    X, y = mixed_table
    for kind, names in ((GaussianNB, NUMBERS), (CategoricalNB, WORDS)):
        assert_same_answers(
            kind(random_state=1).fit(X[names], y), NaiveBayes(random_state=1).fit(X[names], y), X[names], RULES, 0
        )


def test_blocks_of_naive_bayes_multiply(mixed_table):
    """log p(x, y) of both kinds of column is the sum of the kinds', the class prior counted once."""
    X, y = mixed_table
    both, numbers, words = (NaiveBayes(inference="map").fit(X[part], y) for part in (NUMBERS + WORDS, NUMBERS, WORDS))
    log_pi = np.log(both.posterior_["map"]["pi"].values[0, 0])
    total = numbers.predict_log_proba(X[NUMBERS]) + words.predict_log_proba(X[WORDS]) - log_pi
    expected = total - logsumexp(total, axis=1, keepdims=True)
    np.testing.assert_allclose(both.predict_log_proba(X), expected, atol=1e-10)


def test_a_feature_of_one_level_changes_nothing(play_tennis):
    X = play_tennis.X.assign(planet="earth")
    one, other = (CategoricalNB(random_state=1).fit(table, play_tennis.y) for table in (play_tennis.X, X))
    assert_same_answers(one, other, play_tennis.X, CLOSED_FORM, 1e-12, X)


# What cannot be used


GOOD = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "dose": [0.5, 0.1, 0.2, 0.9]})
LABELS = ["a", "b", "a", "b"]


def good(kind):
    """Return the table with its cells as this kind of classifier takes them."""
    return GOOD.astype(str) if kind in (JointBayes, BayesNetClassifier) else GOOD


def changed(column, row, value):
    X = GOOD.astype(object)
    X.loc[row, column] = value
    return X.infer_objects()


def sentence(call):
    """Return the message of the `InputError` that a call ends in, which must be one line."""
    with pytest.raises(InputError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    return message


TABULAR = {name: kind for name, kind in CLASSIFIERS.items() if kind is not TextNB}
every_kind = pytest.mark.parametrize("kind", TABULAR.values(), ids=TABULAR)


@every_kind
@pytest.mark.parametrize(
    ("X", "y", "parts"),
    [
        (GOOD.set_axis(["age", "age"], axis=1), LABELS, ["column names must differ", "'age'"]),
        (GOOD, ["a", None, "a", "b"], ["y has 1 missing label", "rows 2"]),
        (GOOD, ["a", "a", "a", "a"], ["y has one class only", "'a'"]),
        (GOOD, ["a", "b"], ["X has 4 rows but y", "2"]),
        (GOOD, None, ["y is None"]),
        (GOOD[:0], [], ["X has no rows"]),
        (GOOD.assign(age=pd.Timestamp("2026-01-01")), LABELS, ["column 'age' holds dates"]),
    ],
    ids=["duplicate names", "missing labels", "one class", "lengths", "no labels", "no rows", "dates"],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_input_that_cannot_be_learnt_from(kind, method, X, y, parts):
    if not hasattr(kind, method):
        pytest.skip("a discriminative classifier has no partial_fit")
    message = sentence(lambda: getattr(kind(inference="map"), method)(X, y))
    assert all(part in message for part in parts), message


numeric = pytest.mark.parametrize("kind", [GaussianNB, NaiveBayes, LogisticRegression])


@numeric
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_cells_are_named(kind, value):
    message = sentence(lambda: kind(inference="map").fit(changed("dose", 2, value), LABELS))
    assert message.startswith("column 'dose' has 1 infinite value")
    assert "rows 3" in message


def test_words_are_no_numbers():
    message = sentence(lambda: GaussianNB().fit(changed("age", 1, "old"), LABELS))
    assert "column 'age' holds 'old', which is not a number" in message


@numeric
def test_words_at_prediction_are_no_numbers(kind):
    clf = kind(inference="map").fit(GOOD, LABELS)
    assert "column 'age' holds 'old'" in sentence(lambda: clf.predict(changed("age", 1, "old")))


@every_kind
def test_a_column_that_is_lacking_at_prediction_is_named(kind):
    clf = kind(inference="map").fit(good(kind), LABELS)
    assert "lacks column 'dose'" in sentence(lambda: clf.predict(GOOD[["age"]]))


@every_kind
def test_a_table_without_rows_cannot_be_predicted(kind):
    clf = kind(inference="map").fit(good(kind), LABELS)
    assert "X has no rows" in sentence(lambda: clf.predict(GOOD[:0]))


@every_kind
@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"inference": "guess"}, "unknown inference 'guess'"),
        ({"inference": 3}, "not 3"),
        ({"missing": "drop"}, "missing must be"),
    ],
    ids=["engine", "engine type", "missing"],
)
def test_options_are_checked(kind, options, part):
    assert part in sentence(lambda: kind(**{"inference": "map", **options}).fit(good(kind), LABELS))


@every_kind
def test_an_unknown_rule_is_named_with_the_known(kind):
    clf = kind(inference="map").fit(good(kind), LABELS)
    assert "unknown rule 'guess'; the rules are mle, map" in sentence(lambda: clf.predict(GOOD, rule="guess"))


@pytest.mark.parametrize("kind", [CategoricalNB, GaussianNB, NaiveBayes])
@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"unseen": "drop"}, "unseen must be"),
        ({"class_prior": "fair"}, "class_prior must be"),
        ({"class_prior": [0.5, 0.6]}, "class_prior must be 2 probabilities"),
        ({"class_prior": {"a": 1.0}}, "class_prior lacks a probability for class 'b'"),
        ({"class_concentration": 0.0}, "class_concentration must be above 0"),
    ],
)
def test_generative_options_are_checked(kind, options, part):
    assert part in sentence(lambda: kind(inference="map", **options).fit(GOOD, LABELS))


@pytest.mark.parametrize(
    ("blocks", "part"),
    [
        ({"size": "gaussian"}, "blocks names column 'size', but the table has 'age', 'dose'"),
        ({"age": "poisson"}, "'poisson' is not a family; give one of categorical, gaussian"),
        ({"age": "gaussian", ("age", "dose"): "gaussian"}, "blocks names column 'age' twice"),
    ],
)
def test_blocks_are_checked(blocks, part):
    assert part in sentence(lambda: NaiveBayes(blocks).fit(GOOD, LABELS))


def test_a_prior_by_column_that_lost_a_column_says_which():
    X = pd.DataFrame({"u": [0.0, 1.0, 2.0, 3.0], "flat": [7.0] * 4})
    with pytest.raises(InputError, match=r"m has shape .* column 'flat' has one value only in these rows"):
        GaussianNB(m=[0.0, 0.0]).fit(X, ["a", "a", "b", "b"])
