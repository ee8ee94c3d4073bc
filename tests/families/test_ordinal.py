"""Categories in order against enumeration of all sets of cuts, their limits, and what columns say of their order."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import bayesclf as bc
from bayesclf.errors import InputError
from bayesclf.families import Axes, Categorical, Ordinal
from bayesclf.families.cells_in_a_row import MOST_LEVELS
from bayesclf.rules import RULES

LABELS = ("no", "maybe", "yes")
SIZES = pd.CategoricalDtype(["S", "M", "L", "XL"], ordered=True)


def axes_of(*sizes):
    return Axes(LABELS, tuple("uvwxyz"[: len(sizes)]), tuple(tuple(range(size)) for size in sizes))


def data(*sizes, n=40, seed=0):
    """Return level codes that rise with the class, some missing, and labels."""
    rng = np.random.default_rng(seed)
    y, size = rng.integers(3, size=n), np.array(sizes)
    X = np.clip((rng.normal(y[:, None] / 2, 0.6, (n, len(sizes))) * size / 2).round(), 0, size - 1).astype(np.intp)
    return np.where(rng.random(X.shape) < 0.1, -1, X), y


def fitted(*sizes, n=40, seed=0, **options):
    X, y = data(*sizes, n=n, seed=seed)
    statistics = Ordinal(**options).statistics(X, y, axes_of(*sizes))
    return Ordinal(**options).resolve_prior(statistics), statistics


def test_evidence_of_two_levels_is_that_of_betas_of_each_class_or_of_all():
    axes = Axes(("a", "b"), ("u",), ((0, 1),))
    y, x = np.array([0] * 5 + [1] * 4), np.array([0, 0, 1, 0, 0, 1, 1, 0, 1])
    statistics = Ordinal(alpha=0.7).statistics(x[:, None], y, axes)
    prior = Ordinal(alpha=0.7).resolve_prior(statistics)

    def ordered(ones, n):
        return np.exp(stats.betabinom.logpmf(ones, n, 0.7, 0.7)) / stats.binom.pmf(ones, n, 0.5) / 2**n

    expected = 0.5 * ordered(1, 5) * ordered(3, 4) + 0.5 * ordered(4, 9)
    assert_allclose(np.exp(prior.log_evidence(statistics)), expected, rtol=1e-12)


@pytest.mark.slow
def test_ranks_of_parameters_among_draws_are_uniform(rng):
    """Simulation-based calibration: parameters from the prior, rows given them, draws given the rows."""
    prior, _ = fitted(4, alpha=(0.5, 3.0))
    y = np.repeat([0, 1, 2], [10, 6, 8])
    ranks = np.empty((2, 800), dtype=int)
    for number in range(800):
        truth = prior.draw(rng, 1)
        statistics = prior.statistics(prior.sample(truth, y, rng), y, prior.axes)
        drawn = prior.posterior(statistics).draw(rng, 9)["theta"]
        ratio = [np.log(theta[:, 0, 1] / theta[:, 1, 1]) for theta in (truth["theta"], drawn)]
        ranks[:, number] = (drawn[:, 2, 3] < truth["theta"][:, 2, 3]).sum(), (ratio[1] < ratio[0]).sum()
        ranks[1, number] += rng.integers((ratio[1] == ratio[0]).sum() + 1)  # joined levels have ratios in common
    for own in ranks:
        assert stats.chisquare(np.bincount(own, minlength=10)).pvalue > 1e-4


# What follows from the model


def test_the_order_backwards_is_the_same_order_and_another_one_is_not():
    X = (np.arange(240) % 6)[:, None]
    y = np.where(X[:, 0] < 3, np.arange(240) // 6 % 2, 2)  # two runs of three levels each
    statistics = Ordinal().statistics(X, y, axes_of(6))
    prior, back = Ordinal().resolve_prior(statistics), 5 - X
    backwards = prior.statistics(back, y, prior.axes)
    other = Ordinal().resolve_prior(backwards)
    assert_allclose(other.log_evidence(backwards), prior.log_evidence(statistics), rtol=1e-12)
    found = other.posterior(backwards).mean()["theta"][:, :, ::-1]
    assert_allclose(found, prior.posterior(statistics).mean()["theta"], rtol=1e-10)
    place = np.array([0, 3, 1, 4, 2, 5])
    mixed = prior.statistics(place[X], y, prior.axes)
    assert Ordinal().resolve_prior(mixed).log_evidence(mixed) < prior.log_evidence(statistics) - 1


def test_one_class_by_itself_does_not_depend_on_cuts():
    """Its marginal prior is Dirichlet(α) whatever they are: evidence and mean are those of a categorical column."""
    axes = Axes(("k",), ("u",), (tuple(range(5)),))
    X = np.array([0, 1, 1, 3, 4, 4, 4])[:, None]
    statistics = Ordinal(alpha=0.6).statistics(X, np.zeros(7, dtype=int), axes)
    prior = Ordinal(alpha=0.6).resolve_prior(statistics)
    plain = Categorical(0.6).resolve_prior(statistics)
    assert_allclose(prior.log_evidence(statistics), plain.log_evidence(statistics), rtol=1e-12)
    found = prior.posterior(statistics).mean()["theta"]
    assert_allclose(found, plain.posterior(statistics).mean()["theta"], rtol=1e-12)


def test_a_rare_level_says_what_its_neighbors_say():
    """Level 1 has one row, of the class that levels 0 and 2 speak against, and an unordered family believes it."""
    x = np.repeat([0, 0, 2, 2, 3, 3, 1], [60, 20, 60, 20, 20, 60, 1])
    y = np.repeat(["no", "yes", "no", "yes", "no", "yes", "yes"], [60, 20, 60, 20, 20, 60, 1])
    X = pd.DataFrame({"x": pd.Categorical(x, categories=range(4), ordered=True)})
    at = pd.DataFrame({"x": [1]})
    with_order = bc.NaiveBayes({"x": "ordinal"}, random_state=1).fit(X, y).predict_proba(at, rule="predictive")[0, 1]
    without = bc.NaiveBayes({"x": "categorical"}, random_state=1).fit(X, y).predict_proba(at, rule="predictive")[0, 1]
    assert with_order < 0.45 < 0.55 < without


def test_a_column_that_says_nothing_of_the_class_is_joined():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"x": rng.choice(4, 2000, p=[0.1, 0.4, 0.3, 0.2])})
    clf = bc.NaiveBayes({"x": "ordinal"}, random_state=1).fit(X, rng.integers(2, size=2000))
    probability = clf.predict_proba(pd.DataFrame({"x": range(4)}), rule="predictive")[:, 1]
    assert np.ptp(probability) < 0.01


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


def test_many_rows_have_finite_answers_near_their_shares(rng):
    theta = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [0.25] * 4])
    y = rng.integers(3, size=300_000)
    X = (rng.random((len(y), 1)) >= np.cumsum(theta, axis=1)[y][:, :-1]).sum(axis=1)[:, None]
    statistics = Ordinal().statistics(X, y, axes_of(4))
    posterior = Ordinal().resolve_prior(statistics).posterior(statistics)
    assert_allclose(posterior.mean()["theta"][0], theta, atol=0.01)
    assert np.isfinite(posterior.draw(rng, 10)["theta"]).all()


# PyMC


@pytest.mark.slow
def test_nuts_agrees_with_the_posterior_given_the_cuts():
    X, y = data(5, n=60, seed=2)
    frame = pd.DataFrame(X, columns=["u"]).astype(object).where(X >= 0, None)
    nuts = bc.NaiveBayes({"u": Ordinal()}, random_state=1, inference=bc.engines.NUTS(draws=1000, chains=4)).fit(
        frame, y
    )
    block = nuts.model_.blocks[0]
    family = block.family.posterior(block.statistics)
    place, begins = family.segments[0].most_probable
    theta = family.segments[0].cells(place, np.tile(begins, (8000, 1)), np.random.default_rng(0))
    starts = np.flatnonzero(begins)
    found = nuts.draws_.parameters["theta"]
    assert_allclose(found.mean(axis=0), theta.mean(axis=0), atol=0.006)
    of_runs, expected = (np.add.reduceat(values, starts, axis=2) for values in (found, theta))
    assert_allclose(of_runs.std(axis=0), expected.std(axis=0), rtol=0.12)


# Columns and their order


@pytest.fixture
def table():
    rng = np.random.default_rng(4)
    y = np.array(["no", "yes"])[np.arange(60) % 2]
    codes = np.clip(np.arange(60) % 2 + rng.integers(0, 3, 60), 0, 3)
    return pd.DataFrame({"size": pd.Categorical.from_codes(codes, dtype=SIZES), "n": rng.normal(size=60)}), y


def nb(**options):
    return bc.NaiveBayes({"size": Ordinal()}, **{"random_state": 1, **options})


def test_the_order_of_a_categorical_survives_other_codes_and_a_file(table, tmp_path):
    X, y = table
    clf = nb().fit(X, y)
    assert clf.columns_[0].levels == ("S", "M", "L", "XL")
    words = X.assign(size=X["size"].astype(str))
    codes = X.assign(size=pd.Categorical(X["size"].astype(str), categories=["XL", "S", "L", "M", "huge"]))
    clf.save(tmp_path / "model.nc")
    loaded = bc.load(tmp_path / "model.nc")
    assert loaded.columns_ == clf.columns_
    for rule in RULES:
        expected = clf.predict_log_proba(X, rule=rule)
        for own, rows in ((clf, words), (clf, codes), (loaded, X)):
            np.testing.assert_array_equal(own.predict_log_proba(rows, rule=rule), expected)
    more = [own.partial_fit(X[:9], y[:9]).predict_proba(X, rule="predictive") for own in (clf, loaded)]
    np.testing.assert_array_equal(*more)


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


def test_a_posterior_as_prior_knows_the_order(table):
    """Its rows and those of the prior are one after another: log p(all) = log p(first) + log p(second | first)."""
    X, y = table
    words = X[["size"]].astype(str)
    first = nb().fit(X[:30][["size"]], y[:30])
    second = first.as_prior().fit(words[30:], y[30:])
    block = first.model_.blocks[0]
    codes = X["size"].cat.codes.to_numpy(dtype=np.intp)[:, None]
    labels = (y == "yes").astype(np.intp)
    every, later = (
        block.family.statistics(codes[own], labels[own], block.family.axes) for own in (slice(None), slice(30, None))
    )
    chained = block.family.log_evidence(block.statistics) + second.model_.blocks[0].family.log_evidence(later)
    assert_allclose(chained, block.family.log_evidence(every), rtol=1e-12)


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


def test_columns_can_be_selected(table):
    X, y = table
    X = X.assign(noise=pd.Categorical.from_codes(np.random.default_rng(2).integers(0, 4, 60), dtype=SIZES))
    clf = bc.NaiveBayes({("size", "noise"): Ordinal()}, select=True, random_state=1).fit(X, y)
    assert clf.inclusion_["size"] > 0.9 > 0.6 > clf.inclusion_["noise"]


def test_log_odds_are_linear_in_the_levels(table):
    X, y = table
    clf = nb().fit(X[["size"]], y)
    theta = clf.model_.blocks[0].family.map(clf.model_.blocks[0].statistics)["theta"][0]
    weights = clf.to_logistic().posterior_["map"]["weight"].values.ravel()
    assert_allclose(weights, np.log(theta[1] / theta[0]), rtol=1e-9)
