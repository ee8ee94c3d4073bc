"""Data sets that a model makes: their statistics follow the model, and a wrong family is seen."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

import bayesclf as bc
from bayesclf.errors import InputError, Refused
from bayesclf.evaluation import predictive_checks
from bayesclf.evaluation.predictive_checks import p_value_table


def rows(n=200, classes=2, seed=1):
    """Return two numbers, a word and an event, with missing cells, and labels."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % classes)
    X = pd.DataFrame(rng.normal(size=(n, 2)) + codes[:, None], columns=["age", "dose"])
    words = np.array(["east", "north", "west"], dtype=object)
    X["ward"] = words[np.where(rng.random(n) < 0.4, codes % 3, rng.integers(3, size=n))]
    X["fever"] = (rng.random(n) < 0.3 + 0.2 * codes).astype(float)
    X = X.mask(rng.random(X.shape) < 0.1)
    return X, np.array(["ill", "mild", "well"])[codes]


BLOCKS = {"fever": bc.families.Bernoulli()}


@pytest.fixture(scope="module")
def fitted():
    X, y = rows()
    clf = bc.NaiveBayes(BLOCKS, random_state=1).fit(X, y)
    return clf, X, y, clf.predictive_check(X, y, draws=300)


def test_groups_and_axes(fitted):
    _, _, y, tree = fitted
    assert set(tree.children) == {
        *("posterior_predictive", "prior_predictive", "observed_data", "p_value", "adjusted_p_value"),
        *("posterior_statistics", "prior_statistics", "observed_statistics"),
    }
    assert tree["posterior_predictive"]["y"].dims == ("chain", "draw", "row")
    assert tree["posterior_predictive"]["y"].shape == tree["prior_predictive"]["y"].shape == (1, 300, 200)
    statistics = tree["posterior_statistics"]
    assert statistics["mean"].dims == ("chain", "draw", "outcome", "feature")
    assert statistics["share"].dims == ("chain", "draw", "outcome", "level")
    assert list(statistics["feature"].values) == ["age", "dose"]
    assert list(statistics["level"].values) == ["fever", "ward=east", "ward=north", "ward=west"]
    np.testing.assert_array_equal(tree["observed_data"]["y"], np.searchsorted(["ill", "mild"], y))


def test_observed_statistics_are_those_of_pandas(fitted):
    _, X, y, tree = fitted
    seen = tree["observed_statistics"]
    numbers = X[["age", "dose"]].groupby(y)
    np.testing.assert_allclose(seen["mean"], numbers.mean())
    np.testing.assert_allclose(seen["sd"], numbers.std(ddof=0))
    np.testing.assert_allclose(seen["max"], numbers.max())
    np.testing.assert_allclose(seen["share"].sel(level="fever"), X["fever"].groupby(y).mean())
    wards = pd.crosstab(y, X["ward"], normalize="index")
    np.testing.assert_allclose(seen["share"].sel(level=["ward=east", "ward=north", "ward=west"]), wards)
    np.testing.assert_array_equal(seen["class_count"], pd.Series(y).value_counts().sort_index())


def test_replicated_means_follow_the_predictive_in_closed_form(fitted):
    """A replicated mean of n cells is Normal(μ, σ²/n) given θ, and over the posterior has a mean and variance known."""
    clf, X, y, tree = fitted
    family = clf.model_.posterior().blocks[1].family
    n = X[["age", "dose"]].notna().groupby(y).sum().to_numpy()
    mean = tree["posterior_statistics"]["mean"].mean(("chain", "draw"))
    variance = family.b / (family.a - 1) * (1 / family.kappa + 1 / n)
    assert (np.abs(mean - family.m) < 5 * np.sqrt(variance / 300)).all()
    spread = tree["posterior_statistics"]["mean"].var(("chain", "draw"))
    assert (np.abs(np.log(spread / variance)) < 5 * np.sqrt(2 / 300)).all()


def test_replicated_events_are_above_the_threshold():
    rng, y = np.random.default_rng(1), np.arange(80) % 2
    X = rng.poisson(5 + 3 * y[:, None], size=(80, 2)).astype(float)
    tree = bc.BernoulliNB(binarize=5.0, random_state=1).fit(X, y).predictive_check(X, y, draws=200)
    table = p_value_table(tree)
    assert (table["p_value"] > 0.01).all(), table


def test_labels_given_x_follow_the_bayes_optimal_classifier(fitted):
    clf, X, _, tree = fitted
    proba = clf.predict_proba(X, rule="bayes-optimal")[:, 1]
    made = tree["posterior_predictive"]["y"].isel(chain=0)
    z = (made.mean("draw").values - proba) / np.sqrt(proba * (1 - proba) / 300 + 1e-6)
    assert np.abs(z).max() < 6
    assert np.abs(z.mean()) < 5 / np.sqrt(200)
    counts = tree["posterior_statistics"]["class_count_given_x"].isel(chain=0)
    np.testing.assert_array_equal(counts.sel(outcome="mild"), made.sum("row"))


def test_missing_cells_are_missing_in_replicated_data_too():
    X, y = rows()
    X.loc[y == "ill", "age"] = np.nan
    tree = bc.NaiveBayes(BLOCKS, random_state=1).fit(X, y).predictive_check(X, y, draws=20)
    for group in ("posterior_statistics", "observed_statistics", "p_value", "adjusted_p_value"):
        mean = tree[group]["mean"].sel(feature="age")
        assert mean.sel(outcome="ill").isnull().all()
        assert mean.sel(outcome="mild").notnull().all()
    assert not p_value_table(tree)["adjusted_p_value"][:5].isna().any()


def test_a_wrong_family_shows_in_the_statistic_that_it_misses():
    X, y = rows()
    X = np.exp(2 * X[["age", "dose"]])
    table = p_value_table(bc.GaussianNB(random_state=1).fit(X, y).predictive_check(X, y))
    largest = table[table["statistic"] == "max"]
    assert (largest["adjusted_p_value"] == 1 / 201).all()
    assert (largest["p_value"] == 0.0).all()
    assert (table[table["statistic"] == "mean"]["adjusted_p_value"] > 0.1).all()


def test_adjusted_p_values_are_of_the_largest_deviation(fitted):
    """A data set's largest studentised deviation, over all statistics at once, against that of each replicated one."""
    _, _, _, tree = fitted
    made, seen = (tree[f"{name}_statistics"].to_dataset() for name in ("posterior", "observed"))
    flat = np.hstack([made[name].values.reshape(300, -1) for name in seen])
    z = np.abs(flat - flat.mean(axis=0)) / flat.std(axis=0)
    largest = z.max(axis=1)
    observed = np.concatenate([seen[name].values.ravel() for name in seen])
    own = np.abs(observed - flat.mean(axis=0)) / flat.std(axis=0)
    expected = [(1 + (largest >= deviation).sum()) / 301 for deviation in own]
    found = np.concatenate([tree["adjusted_p_value"][name].values.ravel() for name in seen])
    np.testing.assert_allclose(found, expected)


def test_logistic_regression_is_checked_given_x():
    X, y = rows(120, classes=3)
    clf = bc.LogisticRegression(prior_scale=2.5, inference=bc.engines.Laplace(draws=500), random_state=1).fit(X, y)
    tree = clf.predictive_check(X, y)
    assert set(tree["observed_statistics"].data_vars) == {"class_count_given_x"}
    assert tree["adjusted_p_value"]["class_count_given_x"].min() > 0.01
    assert "prior_predictive" in tree.children


def test_a_flat_prior_has_no_data_of_its_own():
    X, y = rows()
    clf = bc.LogisticRegression(
        prior_scale=2.5, intercept_scale=np.inf, inference=bc.engines.Laplace(draws=500), random_state=1
    ).fit(X, y)
    tree = clf.predictive_check(X, y, draws=20)
    assert "prior_predictive" not in tree.children
    assert "flat" in tree.attrs["no_prior"]


def test_documents_are_checked_by_their_labels():
    texts = ["win a prize now", "claim the prize", "see you at lunch", "lunch now?"] * 10
    y = ["spam", "spam", "ham", "ham"] * 10
    tree = bc.TextNB(random_state=1).fit(texts, y).predictive_check(texts, y, draws=20)
    assert set(tree["observed_statistics"].data_vars) == {"class_count_given_x", "class_count"}


def test_of_a_large_table_some_rows_are_replicated():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(5_000, 3)), rng.integers(2, size=5_000)
    clf = bc.GaussianNB(random_state=1).fit(X, y)
    tree = clf.predictive_check(X, y, draws=5)
    assert (tree.attrs["rows"], tree.attrs["of_rows"]) == (2_000, 5_000)
    assert tree["observed_data"].sizes["row"] == 2_000
    np.testing.assert_array_equal(tree["observed_data"]["y"], y[tree["observed_data"]["row"]])


def test_what_cannot_be_replicated_is_refused():
    X, y = rows()
    clf = bc.GaussianNB(inference="map", random_state=1).fit(X[["age"]], y)
    with pytest.raises(Refused, match="no posterior"):
        clf.predictive_check(X[["age"]], y)
    words = sparse.csr_array(np.random.default_rng(1).poisson(0.02, size=(90, 6_000)))
    large = bc.MultinomialNB(random_state=1).fit(words, np.arange(90) % 3)
    with pytest.raises(Refused, match="too large to keep in memory"):
        large.predictive_check(words, np.arange(90) % 3)
    with pytest.raises(InputError, match="at least 1"):
        bc.GaussianNB(random_state=1).fit(X[["age"]], y).predictive_check(X[["age"]], y, draws=0)


def test_the_shape_is_cramer_von_mises_distance_from_the_fitted_normal(rng):
    X = rng.gamma(2.0, size=(40, 2)) + np.array([0.0, 1e6])
    X[:7, 1] = np.nan
    found = predictive_checks._moments(X, np.zeros(40, dtype=int), 1)["shape"]
    for j in (0, 1):
        own = X[~np.isnan(X[:, j]), j]
        expected = stats.cramervonmises((own - own.mean()) / own.std(), "norm").statistic
        assert found[0, j] == pytest.approx(expected, rel=1e-6)
    assert np.isnan(predictive_checks._moments(np.ones((5, 1)), np.zeros(5, dtype=int), 1)["shape"]).all()
