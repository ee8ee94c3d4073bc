"""Logistic regression with Student-t weights or the horseshoe: what a user sees of it."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss

import bayesclf as bc
from bayesclf.diagnostics.power_scaling import sensitivities
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.evaluation.datatree import to_datatree

SETTINGS = {
    "student-t": bc.LearnedScale(given={"age": 2.0}, shape="student-t"),
    "horseshoe": bc.LearnedScale(given={"age": 2.0}, shape=bc.HorseshoeWeights(nonzero=2)),
}
NUTS = bc.NUTS(progress=False)


@pytest.fixture(scope="module")
def table():
    """Numbers, one with gaps, a category, and three classes."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame(
        {"age": rng.normal(50, 9, 200), "dose": rng.gamma(2, size=200), "ward": rng.choice(list("abc"), 200)}
    )
    score = (X["age"] - 50) / 9 + 2 * (X["ward"] == "a") + rng.logistic(size=200)
    X.loc[rng.random(200) < 0.2, "dose"] = np.nan
    return X, np.where(score > 1, "ill", np.where(score > -1, "unwell", "well"))


@pytest.fixture(scope="module")
def fits(table):
    return {
        name: bc.LogisticRegression(prior_scale=settings, inference=NUTS, random_state=1).fit(*table)
        for name, settings in SETTINGS.items()
    }


@pytest.fixture(params=SETTINGS)
def clf(fits, request):
    return fits[request.param]


@pytest.fixture
def horseshoe(fits):
    return fits["horseshoe"]


def test_the_scales_are_seen_everywhere(clf):
    tree = clf.posterior_
    local = tree["posterior"]["local_scale"]
    assert local.dims == ("chain", "draw", "scaled_feature")
    names = ["dose", "dose is missing", "ward=a", "ward=b", "ward=c"]
    assert local["scaled_feature"].values.tolist() == names
    assert ("slab_scale" in tree["posterior"]) == (clf.prior_scale.shape != "student-t")
    lines = clf.summary(of="parameters").loc["local_scale"]
    assert lines.index.get_level_values("feature").tolist() == names
    assert "useful mode" in tree["map"].attrs["does_not_exist"]
    assert tree["mle"]["weight"].shape == (1, 1, 2, 6)
    assert {"local_scale", "prior_scale", "weight"} <= set(clf.pymc_model_.named_vars)
    assert clf.pymc_model_.named_vars_to_dims["local_scale"] == ("scaled_feature",)


def test_the_prior_in_words(horseshoe, fits):
    priors = horseshoe.prior_summary()
    lines = priors.set_index(["parameter", "feature"])["prior"]
    tau0 = 2 / 3 * 2 / np.sqrt(200)
    assert lines["prior_scale", ""] == f"HalfCauchy({tau0:.4g})"
    assert lines["local_scale", ""] == "HalfCauchy(1)"
    assert lines["slab_scale", ""] == "√InvGamma(2, 12.5)"
    assert lines["weight", "ward=c"] == "between any two classes, Normal(0, S²)"
    assert lines["weight", "age"] == "between any two classes, Normal(0, 2²)"
    assert priors.attrs["model"][-1].startswith("S is 1/√(1/(prior_scale·local_scale)² + 1/slab_scale²)")
    lines = fits["student-t"].prior_summary().set_index(["parameter", "feature"])["prior"]
    assert lines["local_scale", ""] == "√InvGamma(2, 2)"
    assert lines["weight", "dose"] == "between any two classes, Normal(0, (prior_scale·local_scale)²)"


def test_which_weights_are_near_zero(horseshoe):
    """Shrinkage of each column, the same for all classes, as draws of the scales have it; none of what is given."""
    table = horseshoe.summary()
    draws, design = horseshoe.draws_.parameters, horseshoe.model_
    free = draws["prior_scale"][:, None] * draws["local_scale"]
    sd = free / np.sqrt(1 + (free / draws["slab_scale"][:, None]) ** 2)
    variance = np.asarray(design.X)[:, 1:].var(axis=0)
    kappa = 1 / (1 + 200 * variance * sd**2 / 4)
    for outcome in ("ill", "unwell"):
        own = table.loc[outcome]["shrinkage"]
        np.testing.assert_allclose(own.iloc[2:], kappa.mean(axis=0), rtol=1e-10)
        assert own.iloc[:2].isna().all()
    assert table.loc["ill"]["shrinkage"].idxmin() == "ward=a"
    low, middle, high = np.quantile((1 - kappa).sum(axis=1), [0.055, 0.5, 0.945])
    kept = np.flatnonzero(kappa.mean(axis=0) < 0.5)
    assert f"the weights of {len(kept)} of 5 columns by less than half: 'ward=a'" in horseshoe.notes_[-1]
    assert f"is {middle:.2g} (89 % interval {low:.2g} to {high:.2g})" in horseshoe.notes_[-1]
    plain = bc.LogisticRegression(prior_scale=2.5, inference="map").fit([[0.0], [1], [2]], [0, 1, 0])
    assert "shrinkage" not in plain.summary()


def test_files_and_pickles_keep_them(clf, table, tmp_path):
    clf.save(tmp_path / "shape.nc")
    X, _ = table
    for again in (bc.load(tmp_path / "shape.nc"), pickle.loads(pickle.dumps(clf))):
        assert again.prior_scale == clf.prior_scale
        assert again.notes_ == clf.notes_
        for rule in ("mle", "mean", "bayes-optimal", "gibbs"):
            np.testing.assert_array_equal(again.predict_proba(X, rule=rule), clf.predict_proba(X, rule=rule))
    copy = clone(clf)
    assert copy.get_params()["prior_scale"] == clf.prior_scale
    assert not hasattr(copy, "draws_")


def test_rules_without_a_point(clf, table):
    with pytest.raises(DoesNotExist, match="no useful mode"):
        clf.predict(table[0], rule="map")
    with pytest.raises(Refused, match="fit all rows at once"):
        clf.as_prior()


@pytest.mark.parametrize("shape", SETTINGS)
@pytest.mark.parametrize("engine", ["map", "laplace", "exact", bc.MAP(), bc.Laplace()])
def test_other_engines_are_refused(engine, shape, table):
    clf = bc.LogisticRegression(prior_scale=SETTINGS[shape], inference=engine)
    with pytest.raises(Refused, match="inference='nuts'"):
        clf.fit(*table)


@pytest.mark.parametrize("shape", SETTINGS)
def test_maximum_likelihood_has_no_prior(shape, table):
    clf, flat = (
        bc.LogisticRegression(prior_scale=scale, inference="mle").fit(*table) for scale in (SETTINGS[shape], 2.5)
    )
    rows = table[0][:3].assign(ward="zzz")
    np.testing.assert_allclose(clf.predict_proba(table[0]), flat.predict_proba(table[0]), rtol=1e-6)
    np.testing.assert_allclose(clf.predict_proba(rows), flat.predict_proba(rows), rtol=1e-6)
    assert list(clf.summary()) == list(flat.summary())


def test_auto_takes_nuts(table):
    X, y = table
    clf = bc.LogisticRegression(
        prior_scale=SETTINGS["student-t"], inference=bc.Auto(nuts=bc.NUTS(draws=300, progress=False)), random_state=1
    )
    with pytest.warns(bc.errors.ConvergenceWarning):
        clf.fit(X[:60], y[:60])
    assert isinstance(clf.inference_, bc.NUTS)
    assert "the posterior was sampled by NUTS: the joint density" in clf.notes_[0]
    assert clf.draws_.stats["acceptance_rate"].mean() > 0.95


def test_levels_that_the_rows_do_not_have(clf, table):
    X, _ = table
    rows = X[:2].assign(ward=["zzz", "a"])
    proba = clf.predict_proba(rows)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    parameters = clf.hypotheses("posterior").parameters
    assert parameters["unseen"].shape == (4_000, 2, 1)


@pytest.mark.slow
def test_what_follows_from_a_fit(clf, table):
    X, y = table
    found = sensitivities(clf.model_, clf.posterior_draws(), None)
    assert "local_scale[dose]" in set(found["parameter"])
    tree = to_datatree(clf, X, y)
    assert {"prior", "prior_predictive", "log_prior"} <= set(tree.children)
    assert {"prior_scale", "local_scale", "weights"} <= set(tree["log_prior"].data_vars)
    assert "M01" in {finding.code for finding in clf.diagnose(X, y, checks=["M01"]).passed}


def test_batches_and_missing_p0_are_refused(table):
    X, y = table
    parts = [X.assign(y=y)[:100], X.assign(y=y)[100:]]
    settings = SETTINGS["horseshoe"]
    for inference in ("auto", "nuts"):
        with pytest.raises(Refused, match="over batches weights are normal given their learned scale"):
            bc.LogisticRegression(prior_scale=settings, inference=inference).fit_stream(parts, "y")
    many = bc.LearnedScale(shape=bc.HorseshoeWeights(nonzero=30))
    with pytest.raises(InputError, match="nonzero=30 must be below the number of columns"):
        bc.LogisticRegression(prior_scale=many).fit(X, y)


def test_scales_that_are_all_given_have_no_shape(table):
    X, y = table[0][["age"]], table[1]
    one = bc.LogisticRegression(prior_scale=SETTINGS["horseshoe"], inference="map").fit(X, y)
    other = bc.LogisticRegression(prior_scale={"age": 2.0}, inference="map").fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.slow
def test_comparisons(table):
    X, y = table
    models = {"t": bc.LogisticRegression(prior_scale=SETTINGS["student-t"]), "normal": bc.LogisticRegression()}
    found = bc.compare(models, X[:100], y[:100], ["map", "bayes-optimal"], cv=2)
    assert "no useful mode" in found.answers["t", "map"].reason
    assert found.rules_of("t") == ("bayes-optimal",)


def sparse_problem(seed):
    """Five of 40 weights, and rows to fit and to test."""
    rng = np.random.default_rng(seed)
    weight = np.zeros(40)
    weight[:5] = rng.choice([-1, 1], 5) * rng.uniform(1, 2.5, 5)
    X = rng.normal(size=(3_200, 40))
    y = (X @ weight + rng.logistic(size=len(X)) > 0).astype(int)
    return X[:200], y[:200], X[200:], y[200:]


@pytest.mark.slow
def test_few_nonzero_weights():
    """The horseshoe's held-out log loss is better than that of one learned normal scale on each of four tables."""
    for seed in range(100, 104):
        X, y, X_test, y_test = sparse_problem(seed)
        loss = {}
        for shape in ("normal", "horseshoe"):
            clf = bc.LogisticRegression(prior_scale=bc.LearnedScale(shape=shape), random_state=1).fit(X, y)
            loss[shape] = log_loss(y_test, clf.predict_proba(X_test))
        assert not clf.convergence_problems_
        assert loss["horseshoe"] < loss["normal"] - 0.02
        shrinkage = clf.summary()["shrinkage"].to_numpy()[1:]
        assert shrinkage[:5].max() < shrinkage[5:].mean()
