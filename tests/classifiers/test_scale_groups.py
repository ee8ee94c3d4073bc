"""Logistic regression with a prior scale for each group of columns: what a user sees of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import bayesclf as bc
from bayesclf.diagnostics.power_scaling import sensitivities
from bayesclf.errors import InputError, Refused

KINDS = bc.LearnedScale(groups="kinds")


@pytest.fixture(scope="module")
def table():
    """Numbers, one with gaps, and a category."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame(
        {"age": rng.normal(50, 9, 300), "dose": rng.gamma(2, size=300), "ward": rng.choice(list("abcde"), 300)}
    )
    score = (X["age"] - 50) / 9 + 2 * (X["ward"] == "a") + rng.logistic(size=300)
    X.loc[rng.random(300) < 0.2, "dose"] = np.nan
    return X, np.where(score > 0, "ill", "well")


@pytest.fixture(scope="module")
def clf(table):
    return bc.LogisticRegression(prior_scale=KINDS, inference="laplace", random_state=1).fit(*table)


def test_the_scales_are_seen_everywhere(clf):
    tree = clf.posterior_
    scale = tree["posterior"]["prior_scale"]
    assert scale.dims == ("chain", "draw", "scale_group")
    assert scale["scale_group"].values.tolist() == ["numbers", "ward"]
    assert tree["map"]["prior_scale"].shape == (1, 1, 2)
    assert np.isinf(tree["mle"]["prior_scale"]).all()
    lines = clf.summary(of="parameters").loc["prior_scale"]
    assert lines.index.get_level_values("feature").tolist() == ["numbers", "ward"]
    low, middle, high = np.quantile(scale.sel(scale_group="ward"), [0.055, 0.5, 0.945])
    assert f"{middle:.2g} for 'ward' ({low:.2g} to {high:.2g}); in brackets are 89 % intervals" in clf.notes_[-1]
    assert clf.pymc_model_.named_vars_to_dims["prior_scale"] == ("scale_group",)
    stats = tree["sample_stats"]
    assert float(stats["pareto_k"]) < 0.7


def test_the_prior_in_words(clf):
    priors = clf.prior_summary().set_index(["parameter", "feature"])["prior"]
    assert priors["prior_scale", "ward"] == "LogNormal(log 1, 1.5)"
    assert priors["weight", "dose is missing"] == "Normal(0, prior_scale[numbers]²)"
    assert priors["weight", "ward=c"] == "Normal(0, prior_scale[ward]²)"


def test_one_kind_is_one_scale_to_the_last_bit(table):
    X, y = table[0][["age", "dose"]], table[1]
    for groups in ("kinds", [["age", "dose"]]):
        one, other = (
            bc.LogisticRegression(prior_scale=settings, inference="laplace", random_state=1).fit(X, y)
            for settings in (bc.LearnedScale(groups=groups), bc.LearnedScale(power=0))
        )
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
        assert one.posterior_["posterior"]["prior_scale"].dims == ("chain", "draw")


def test_auto_and_nuts_agree(clf, table):
    """Few rows of what `auto` refuses go to NUTS; here both answer alike."""
    X, y = table
    auto = bc.LogisticRegression(prior_scale=KINDS, random_state=1).fit(X, y)
    assert isinstance(auto.inference_, bc.Laplace)
    nuts = bc.LogisticRegression(prior_scale=KINDS, inference=bc.NUTS(progress=False), random_state=1).fit(X, y)
    assert not nuts.convergence_problems_
    np.testing.assert_allclose(nuts.predict_proba(X), clf.predict_proba(X), atol=0.02)


def test_the_mode(table):
    X, y = table
    point = bc.LogisticRegression(prior_scale=KINDS, inference="map").fit(X, y)
    scales = point.posterior_["map"]["prior_scale"].values.ravel()
    given = bc.LogisticRegression(
        prior_scale={"age": scales[0], "dose": scales[0], "ward": scales[1]}, inference="map"
    ).fit(X, y)
    np.testing.assert_allclose(point.predict_proba(X), given.predict_proba(X), rtol=1e-6)


def test_files_keep_them(clf, table, tmp_path):
    clf.save(tmp_path / "groups.nc")
    again = bc.load(tmp_path / "groups.nc")
    assert again.prior_scale == KINDS
    X, _ = table
    for rule in ("map", "mean", "bayes-optimal", "gibbs"):
        np.testing.assert_array_equal(again.predict_proba(X, rule=rule), clf.predict_proba(X, rule=rule))
    given = {"ours": ["age", "ward"]}
    settings = bc.LearnedScale(0.5, given={"dose": 1.0}, groups=given)
    other = bc.LogisticRegression(prior_scale=bc.LearnedScale(groups=[["age"], ["dose"]]), inference="map").fit(*table)
    other.save(tmp_path / "lists.nc")
    assert bc.load(tmp_path / "lists.nc").model_.prior.prior_scale.groups == [["age"], ["dose"]]
    one = bc.LogisticRegression(prior_scale=settings, inference="map").fit(*table)
    assert one.posterior_["map"]["prior_scale"].shape == (1, 1)


def test_weights_of_unseen_levels_have_the_scale_of_their_category(clf):
    parameters = clf.hypotheses("posterior").parameters
    z = parameters["unseen"][:, 0, 0] / parameters["prior_scale"][:, 1]
    assert z.std() == pytest.approx(1, rel=0.06)
    wide = parameters["prior_scale"][:, 1] > np.median(parameters["prior_scale"][:, 1])
    assert z[wide].std() == pytest.approx(1, rel=0.08)


@pytest.mark.slow
def test_what_follows_from_a_fit(clf, table):
    """A prior of the next fit, and sensitivities to the scales' own prior."""
    X, y = table
    again = clf.as_prior().fit(X[:50], y[:50])
    assert "prior_scale" not in again.posterior_["posterior"]
    found = sensitivities(clf.model_, clf.posterior_draws(), None)
    assert {"prior_scale[numbers]", "prior_scale[ward]"} <= set(found["parameter"])


def test_names_that_no_column_has(table):
    settings = bc.LearnedScale(groups={"lab": ["sodium"]})
    with pytest.raises(InputError, match="groups names 'sodium', which is not a column"):
        bc.LogisticRegression(prior_scale=settings, inference="map").fit(*table)


def test_batches_have_one_scale(table):
    X, y = table
    parts = [X.assign(y=y)[:150], X.assign(y=y)[150:]]
    with pytest.raises(Refused, match="over batches all columns have one learned scale"):
        bc.LogisticRegression(prior_scale=KINDS, inference="map").fit_stream(parts, "y")
