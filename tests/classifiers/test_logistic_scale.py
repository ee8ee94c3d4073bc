"""Logistic regression with a learned prior scale: what a user sees of it, and what follows from it."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import bayesclf as bc
from bayesclf.engines import NUTS, Laplace


@pytest.fixture(scope="module")
def table():
    """Numbers, one with gaps, and a category, of which two levels are kept for prediction."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame(
        {"age": rng.normal(50, 9, 240), "dose": rng.gamma(2, size=240), "ward": rng.choice(list("abc"), 240)}
    )
    score = (X["age"] - 50) / 9 + (X["ward"] == "a") + rng.logistic(size=240)
    X.loc[rng.random(240) < 0.2, "dose"] = np.nan
    return X, np.where(score > 0, "ill", "well")


@pytest.fixture(scope="module")
def clf(table):
    return bc.LogisticRegression(random_state=1).fit(*table)


@pytest.mark.parametrize(("inference", "notes"), [("mle", 0), (bc.engines.MLE(), 0), ("map", 1), ("laplace", 1)])
def test_maximum_likelihood_has_no_prior_to_speak_of(table, inference, notes):
    X = sparse.csr_array(table[0][["age"]].to_numpy())
    clf = bc.LogisticRegression(inference=inference, random_state=1).fit(X, table[1])
    said = [note for note in clf.notes_ if "prior scale" in note]
    assert said == ["the prior scale of the weights is 2.5, and not learned, because the table is sparse"][:notes]


def test_the_scale_is_seen_everywhere(clf, table):
    assert isinstance(clf.inference_, Laplace | NUTS)
    tree = clf.posterior_
    assert tree["posterior"]["prior_scale"].dims == ("chain", "draw")
    assert tree["map"]["prior_scale"].shape == (1, 1)
    assert float(tree["mle"]["prior_scale"].item()) == np.inf
    line = clf.summary(of="parameters").loc["prior_scale"].iloc[0]
    assert line["low"] < line["mean"] < line["high"]
    low, middle, high = np.quantile(tree["posterior"]["prior_scale"], [0.055, 0.5, 0.945])
    sentence = f"the prior scale of the weights is {middle:.2g} (89% interval {low:.2g} to {high:.2g})"
    assert sentence in clf.notes_[-1]
    rho = tree["posterior"]["prior_correlation"]
    assert 0 < rho.min() < rho.max() < 1
    assert f"their correlation is {np.median(rho):.2g}" in clf.notes_[-1]
    assert {"prior_scale", "prior_correlation", "eta"} <= set(clf.to_pymc(*complete(table)).named_vars)


def complete(table):
    """Return rows without missing cells, which are those of a page of PyMC."""
    return table[0].fillna({"dose": 2.0}), table[1]


def test_one_column_has_no_correlation(table):
    clf = bc.LogisticRegression(random_state=1).fit(table[0][["age"]], table[1])
    assert not clf.posterior_["posterior"]["prior_correlation"].any()
    assert "their correlation is 0 (fixed)" in clf.notes_[-1]
    X = table[0].assign(dose=table[0]["dose"].fillna(2.0))[["age", "dose"]]
    settings = bc.LearnedScale(given={"dose": 1.0})
    clf = bc.LogisticRegression(prior_scale=settings, inference="map").fit(X, table[1])
    assert clf.posterior_["map"]["prior_correlation"] == 0


def test_weights_of_unseen_levels_have_the_scale_of_their_draw(clf):
    parameters = clf.hypotheses("posterior").parameters
    z = parameters["unseen"][:, 0, 0] / parameters["prior_scale"]
    assert z.std() == pytest.approx(1, rel=0.06)
    wide = parameters["prior_scale"] > np.median(parameters["prior_scale"])
    assert z[wide].std() == pytest.approx(1, rel=0.08)


def test_a_mapping_fixes_what_it_names_and_the_rest_is_learned(table):
    X, y = table
    options = {"inference": "map", "random_state": 1}
    some = bc.LogisticRegression(prior_scale={"age": 0.5}, **options).fit(X, y)
    same = bc.LogisticRegression(prior_scale=bc.LearnedScale(given={"age": 0.5}), **options).fit(X, y)
    np.testing.assert_array_equal(some.predict_proba(X), same.predict_proba(X))
    every = bc.LogisticRegression(prior_scale={"age": 0.5, "dose": 1.0, "ward": 2.0}, **options).fit(X, y)
    assert "prior_scale" not in every.posterior_["map"]
    weights = every.prior_summary().set_index("feature")["prior"]
    assert weights["dose is missing"] == weights["dose"] == "Normal(0, 1²)"


def test_without_columns_there_is_no_scale():
    clf = bc.LogisticRegression(random_state=1).fit(pd.DataFrame({"one": [1.0] * 30}), [0, 1, 1] * 10)
    assert "prior_scale" not in clf.posterior_["posterior"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("sklearn:iris", "sklearn:breast_cancer", "breast_cancer_ljubljana", "bupa", "ionosphere", "lenses"),
        *("lymphography", "play_tennis", "sonar", "votes"),
    ],
)
def test_chains_of_the_default_agree_on_small_tables(name):
    """No divergence, R-hat or number of effective draws is beyond its limit, many of the tables being separable."""
    shipped = bc.datasets.load(name)
    clf = bc.LogisticRegression(random_state=1).fit(shipped.X, shipped.y)  # a warning is an error
    assert clf.convergence_problems_ == ()
    if isinstance(clf.inference_, NUTS):
        from arviz_stats import rhat

        worst = max(float(values.max()) for values in rhat(clf.posterior_draws()).data_vars.values())
        assert worst < 1.01


def test_draws_do_not_depend_on_the_order_of_rows():
    """Sums that are rounded otherwise choose no other directions of the columns of levels, several of no variance."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame({name: rng.choice(list("abc"), 60) for name in ("u", "v", "w")})
    y = np.where((X["u"] == "a") ^ (rng.random(60) < 0.3), "yes", "no")
    order = rng.permutation(60)
    one, other = (bc.LogisticRegression(random_state=1).fit(X.iloc[own], y[own]) for own in (np.arange(60), order))
    np.testing.assert_allclose(other.draws_.parameters["weight"], one.draws_.parameters["weight"], atol=1e-5)
