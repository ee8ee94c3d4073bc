"""Logistic regression with a learned prior scale: what a user sees of it, and what follows from it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import bayesclf as bc
from bayesclf.diagnostics.power_scaling import sensitivities
from bayesclf.inference import Laplace


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
    """Its weights are independent given their scale."""
    return bc.LogisticRegression(prior_scale=bc.LearnedScale(power=0), random_state=1).fit(*table)


@pytest.fixture(scope="module")
def averaged(table):
    """Its weights are independent or as correlated as the columns, which is the default."""
    return bc.LogisticRegression(random_state=1).fit(*table)


@pytest.mark.parametrize(("inference", "notes"), [("mle", 0), (bc.MLE(), 0), ("map", 1), ("laplace", 1)])
def test_maximum_likelihood_has_no_prior_to_speak_of(table, inference, notes):
    X = sparse.csr_array(table[0][["age"]].to_numpy())
    clf = bc.LogisticRegression(inference=inference, random_state=1).fit(X, table[1])
    said = [note for note in clf.notes_ if "prior scale" in note]
    assert said == ["the prior scale of the weights is 2.5, and not learned, because the table is sparse"][:notes]


def test_the_scale_is_seen_everywhere(clf):
    assert isinstance(clf.inference_, Laplace)
    tree = clf.posterior_
    assert tree["posterior"]["prior_scale"].dims == ("chain", "draw")
    assert tree["map"]["prior_scale"].shape == (1, 1)
    assert float(tree["mle"]["prior_scale"].item()) == np.inf
    line = clf.summary(of="parameters").loc["prior_scale"].iloc[0]
    assert line["low"] < line["mean"] < line["high"]
    low, middle, high = np.quantile(tree["posterior"]["prior_scale"], [0.055, 0.5, 0.945])
    sentence = f"learned from the rows, is {middle:.2g} (89 % interval {low:.2g} to {high:.2g})"
    assert sentence in clf.notes_[-1]
    assert "prior_scale" in clf.pymc_model_.named_vars


def test_the_power_is_seen_everywhere(averaged):
    tree = averaged.posterior_
    power = tree["posterior"]["prior_power"]
    assert power.dims == ("chain", "draw")
    assert set(np.unique(power)) == {0.0, 1.0}
    assert tree["map"]["prior_power"].item() == float(power.mean().item() > 0.5)
    line = averaged.summary(of="parameters").loc["prior_power"].iloc[0]
    assert line["mean"] == pytest.approx(power.mean().item())
    share = float((power == 1).mean())
    kinds = f"independent (probability {1 - share:.2f}) or as correlated as their columns (probability {share:.2f})"
    assert averaged.notes_[-1].endswith(f"; given it, weights are {kinds}")
    assert averaged.model_.log_evidence() == pytest.approx(
        np.logaddexp(*(member.scale_grid.log_evidence for member in averaged.model_.members)) - np.log(2)
    )


def test_one_column_has_no_power(table):
    settings = bc.LearnedScale(power=(0.5, 1.0))
    clf = bc.LogisticRegression(prior_scale=settings, random_state=1).fit(table[0][["age"]], table[1])
    assert set(clf.posterior_["posterior"].data_vars) == {"intercept", "weight", "prior_scale"}
    X = table[0].assign(dose=table[0]["dose"].fillna(2.0))[["age", "dose"]]
    settings = bc.LearnedScale(given={"dose": 1.0}, power=(0.5, 1.0))
    clf = bc.LogisticRegression(prior_scale=settings, inference="map").fit(X, table[1])
    assert set(clf.posterior_["map"].data_vars) == {"intercept", "weight", "prior_scale"}


def test_files_keep_the_settings(table, tmp_path):
    settings = bc.LearnedScale(0.5, 1.0, {"age": 0.3, "ward": np.inf}, power=(0.0, 1.0, 2.0))
    other = bc.LogisticRegression(prior_scale=settings, inference="map").fit(*table)
    other.save(tmp_path / "given.nc")
    assert bc.load(tmp_path / "given.nc").model_.prior.prior_scale == settings


@pytest.mark.parametrize("which", ["clf", "averaged"])
def test_weights_of_unseen_levels_have_the_scale_of_their_draw(which, request):
    """With correlated weights, such a level is a column without variance, C = 0.01."""
    parameters = request.getfixturevalue(which).hypotheses("posterior").parameters
    slope = np.where(parameters.get("prior_power", np.zeros(1)) == 1, 0.1, 1.0)
    z = parameters["unseen"][:, 0, 0] / (slope * parameters["prior_scale"])
    assert z.std() == pytest.approx(1, rel=0.06)
    wide = parameters["prior_scale"] > np.median(parameters["prior_scale"])
    assert z[wide].std() == pytest.approx(1, rel=0.08)


@pytest.mark.slow
def test_it_can_become_a_prior(clf, table):
    X, y = table
    prior = clf.as_prior()
    scale = clf.draws_.parameters["prior_scale"]
    assert prior.prior.khat < 1  # of a skewed posterior; below 1 the ratios have a mean
    assert prior.prior.unseen.scale == pytest.approx(np.sqrt(np.mean(scale**2)))
    again = prior.fit(X[:50], y[:50])
    assert "prior_scale" not in again.posterior_["posterior"]


def test_checks_and_datatree(clf, table):
    tree = clf.to_datatree(*table, draws=200, random_state=0)
    assert {"prior_scale", "weights"} <= set(tree["log_prior"].data_vars)
    assert {"intercept", "weight", "prior_scale"} <= set(tree["prior"].data_vars)


def test_power_scaling_leaves_out_the_power_which_is_discrete(averaged):
    """Where all draws but one have the same power, ArviZ's distance of its distributions is 0/0."""
    posterior = averaged.posterior_draws().copy(deep=True)
    posterior["prior_power"][:] = 1.0
    posterior["prior_power"][0, 0] = 0.0
    found = sensitivities(averaged.model_, posterior, None)
    assert "prior_scale" in set(found["parameter"])
    assert "prior_power" not in set(found["parameter"])
    assert np.isfinite(found[["prior", "likelihood", "pull"]]).all(axis=None)


def test_power_scaling_is_that_of_the_scale_s_own_prior(clf, table):
    """Weights that many rows determine hardly change with it; the scale, about which few weights tell, does most."""
    found = sensitivities(clf.model_, clf.posterior_draws(), None).set_index("parameter")
    assert found["prior"].idxmax() == "prior_scale"
    assert found["pull"].idxmax() == "prior_scale"


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
    assert set(clf.posterior_["posterior"].data_vars) == {"intercept", "weight"}


def test_it_is_the_default():
    assert bc.LogisticRegression().prior_scale == "learned"
