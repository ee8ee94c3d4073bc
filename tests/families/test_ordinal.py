"""Categories in order against enumeration of all sets of cuts, their limits, and what columns say of their order."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesclf as bc
from bayesclf.errors import InputError
from bayesclf.families import Ordinal
from bayesclf.families.cells_in_a_row import MOST_LEVELS

SIZES = pd.CategoricalDtype(["S", "M", "L", "XL"], ordered=True)


# What follows from the model


def test_a_rare_level_says_what_its_neighbors_say():
    """Level 1 has one row, of the class that levels 0 and 2 speak against, and an unordered family believes it."""
    x = np.repeat([0, 0, 2, 2, 3, 3, 1], [60, 20, 60, 20, 20, 60, 1])
    y = np.repeat(["no", "yes", "no", "yes", "no", "yes", "yes"], [60, 20, 60, 20, 20, 60, 1])
    X = pd.DataFrame({"x": pd.Categorical(x, categories=range(4), ordered=True)})
    at = pd.DataFrame({"x": [1]})
    with_order = bc.NaiveBayes({"x": "ordinal"}, random_state=1).fit(X, y).predict_proba(at, rule="predictive")[0, 1]
    without = bc.NaiveBayes({"x": "categorical"}, random_state=1).fit(X, y).predict_proba(at, rule="predictive")[0, 1]
    assert with_order < 0.45 < 0.55 < without


# Limits


def test_one_level_contributes_nothing_and_an_empty_column_is_left_out():
    X = pd.DataFrame({"one": [1] * 6, "empty": [None] * 6, "two": [1, 1, 2, 1, 2, 2]}).astype({"empty": object})
    y = [0, 0, 0, 1, 1, 1]
    clf = bc.NaiveBayes({tuple(X): Ordinal()}, random_state=1).fit(X, y)
    alone = bc.NaiveBayes({"two": Ordinal()}, random_state=1).fit(X[["two"]], y)
    assert clf.model_.blocks[0].family.axes.features == ("one", "two")
    for rule in ("map", "mean", "predictive"):
        assert_allclose(clf.predict_proba(X, rule=rule), alone.predict_proba(X[["two"]], rule=rule), rtol=1e-10)
    assert_allclose(clf.model_.blocks[0].family.log_evidence(clf.model_.blocks[0].statistics)[0], 0.0, atol=1e-12)


# Columns and their order


@pytest.fixture
def table():
    rng = np.random.default_rng(4)
    y = np.array(["no", "yes"])[np.arange(60) % 2]
    codes = np.clip(np.arange(60) % 2 + rng.integers(0, 3, 60), 0, 3)
    return pd.DataFrame({"size": pd.Categorical.from_codes(codes, dtype=SIZES), "n": rng.normal(size=60)}), y


def nb(**options):
    return bc.NaiveBayes({"size": Ordinal()}, **{"random_state": 1, **options})


def test_the_order_can_be_given(table):
    X, y = table
    words = X.assign(size=X["size"].astype(str))
    given = bc.NaiveBayes({"size": Ordinal(["S", "M", "L", "XL"])}, random_state=1).fit(words, y)
    assert_allclose(given.predict_proba(words), nb().fit(X, y).predict_proba(X), rtol=1e-12)


def test_numbers_are_in_their_order(table):
    X, y = table
    numbers = X.assign(size=X["size"].cat.codes.map({0: 10, 1: 9.5, 2: 2, 3: 100}))
    clf = nb().fit(numbers, y)
    assert clf.columns_[0].levels == (2, 9.5, 10, 100)
    codes = numbers.assign(size=numbers["size"].astype(pd.CategoricalDtype([10, 9.5, 2, 100])))
    assert nb().fit(codes, y).columns_[0].levels == (2, 9.5, 10, 100)
    in_order = numbers.assign(size=codes["size"].cat.as_ordered())
    assert nb().fit(in_order, y).columns_[0].levels == (10, 9.5, 2, 100)
    assert not any("without order" in note for note in clf.notes_)


@pytest.mark.parametrize("dtype", [str, "category"])
def test_words_without_an_order_are_refused(table, dtype):
    X, y = table
    message = r"column 'size' has words without an order, such as 'L'; .* X\['size'\].astype\(pd.CategoricalDtype\("
    with pytest.raises(InputError, match=message):
        nb().fit(X.assign(size=X["size"].astype(str).astype(dtype)), y)


def test_a_level_that_is_not_among_those_given_is_refused(table):
    X, y = table
    with pytest.raises(
        InputError, match=r"column 'size' has the level 'XL', but the levels given are \['S', 'M', 'L'\]"
    ):
        bc.NaiveBayes({"size": Ordinal(["S", "M", "L"])}).fit(X, y)


@pytest.mark.parametrize("levels", ["SML", ["S", "M", "S"], [["S"], ["M"]], [], 3, ["S", None], [1.0, np.nan]])
def test_levels_are_listed_once(levels):
    with pytest.raises(InputError, match="levels must be a list of levels, each once and in order"):
        Ordinal(levels)


def test_more_levels_than_can_be_cut_are_refused():
    X = pd.DataFrame({"size": range(MOST_LEVELS + 1)})
    with pytest.raises(InputError, match=f"column 'size' has 257 levels, more than the {MOST_LEVELS} that can be cut"):
        nb().fit(X, np.arange(len(X)) % 2)


def test_an_unknown_level_is_integrated_out(table):
    X, y = table
    clf = nb().fit(X, y)
    unknown = X.assign(size="XXL")
    assert_allclose(clf.predict_proba(unknown), clf.predict_proba(X.assign(size=None)), rtol=1e-12)


def test_parts_have_the_order_of_the_whole(table):
    X, y = table
    whole = nb().fit(X, y)
    fewer = pd.CategoricalDtype(["S", "L", "XL"], ordered=True)
    some = (X["size"] != "M").to_numpy()
    for first, second in ((some, ~some), (~some, some)):
        parts = [X[own].astype({"size": fewer} if own is some else {}) for own in (first, second)]
        clf = nb().partial_fit(parts[0], y[first], classes=["no", "yes"]).partial_fit(parts[1], y[second])
        assert clf.columns_[0].levels == ("S", "M", "L", "XL")
        assert_allclose(clf.predict_proba(X, rule="predictive"), whole.predict_proba(X, rule="predictive"), rtol=1e-9)


def test_parts_in_another_order_are_refused(table):
    X, y = table
    clf = nb().fit(X, y)
    other = X.astype({"size": pd.CategoricalDtype(["XL", "L", "M", "S"], ordered=True)})
    with pytest.raises(InputError, match=r"column 'size' has the levels .* in some rows and .* in others"):
        clf.partial_fit(other, y)


@pytest.mark.parametrize("dtype", ["ordered", "words"])
def test_missing_as_a_level_is_an_indicator_beside_the_order(table, dtype):
    X, y = table
    X = X.copy()
    X.loc[::5, "size"] = None
    family = Ordinal()
    if dtype == "words":
        X["size"], family = X["size"].astype(object), Ordinal(["S", "M", "L", "XL"])
    clf = bc.NaiveBayes({"size": family}, missing="level", random_state=1).fit(X, y)
    assert clf.columns_[0].levels == ("S", "M", "L", "XL")
    ignored = bc.NaiveBayes({"size": family}, random_state=1).fit(X, y)
    shares = bc.CategoricalNB(random_state=1).fit(X[["size"]].isna().astype(int), y)

    def log_odds(one, rows):
        return np.diff(one.predict_log_proba(rows, rule="predictive", class_prior="uniform"), axis=1)

    expected = log_odds(ignored, X) + log_odds(shares, X[["size"]].isna().astype(int))
    assert_allclose(log_odds(clf, X), expected, rtol=1e-9)


def test_log_odds_are_linear_in_the_levels(table):
    X, y = table
    clf = nb().fit(X[["size"]], y)
    theta = clf.model_.blocks[0].family.map(clf.model_.blocks[0].statistics)["theta"][0]
    weights = clf.to_logistic().posterior_["map"]["weight"].values.ravel()
    assert_allclose(weights, np.log(theta[1] / theta[0]), rtol=1e-9)
