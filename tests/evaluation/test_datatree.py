"""The tree for ArviZ: what is in it, against the classifier's own answers, and the functions that read it."""

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from helpers.classifiers import GENERATIVE, NUMBERS, log_likelihoods
from helpers.suites import mainly

import bayesclf as bc
from bayesclf.engines import Exact, Laplace
from bayesclf.errors import InputError, Refused
from bayesclf.evaluation import datatree


@pytest.fixture(scope="module")
def complete():
    """Return a table without rows that decide a posterior by themselves, of which the weights of PSIS would warn."""
    rng, codes = np.random.default_rng(5), np.repeat(np.arange(3), 40)
    X = pd.DataFrame(rng.uniform(-2, 2, (120, 2)) + 0.5 * codes[:, None], columns=NUMBERS)
    return X, np.array(["ill", "mild", "well"])[codes]


@pytest.fixture(scope="module")
def generative(complete):
    X, y = complete
    return bc.NaiveBayes(families="gaussian", inference=Exact(draws=250), random_state=1).fit(X, y)


@pytest.fixture(scope="module")
def logistic(complete):
    X, y = complete
    return bc.LogisticRegression(prior_scale=2.5, inference=Laplace(draws=250), random_state=2).fit(X, y)


@pytest.fixture(scope="module")
def trees(generative, logistic, complete):
    return {"nb": generative.to_datatree(*complete), "lr": logistic.to_datatree(*complete)}


GROUPS = {
    *("posterior", "posterior_predictive", "prior", "prior_predictive"),
    *("observed_data", "log_likelihood", "log_prior"),
}


def test_a_tree_has_the_groups_of_arviz(trees):
    assert set(trees["nb"].children) == {*GROUPS, "conditional_log_likelihood"}
    assert set(trees["lr"].children) == {*GROUPS, "sample_stats"}
    for tree in trees.values():
        assert set(tree.prior.data_vars) == set(tree.posterior.data_vars)
        assert tree.posterior_predictive["y"].dims == tree.log_likelihood["y"].dims == ("chain", "draw", "row")
        assert tree.log_prior.sizes == {"chain": 4, "draw": 250}


def test_densities_are_those_of_the_classifier(trees, generative, logistic, complete):
    (joint, conditional), (_, of_lr) = (log_likelihoods(clf, *complete) for clf in (generative, logistic))
    rows = (-1, len(complete[1]))
    np.testing.assert_allclose(trees["nb"].log_likelihood["y"].values.reshape(rows), joint)
    np.testing.assert_allclose(trees["nb"].conditional_log_likelihood["y"].values.reshape(rows), conditional)
    np.testing.assert_allclose(trees["lr"].log_likelihood["y"].values.reshape(rows), of_lr)
    assert [trees[name].log_likelihood.attrs["density"] for name in ("nb", "lr")] == ["joint", "conditional"]


def test_log_prior_and_likelihood_add_up_to_the_posterior(trees, generative):
    """log p(θ) + log p(D | θ) differs from the conjugate posterior's own density by a constant."""
    tree, posterior = trees["nb"], generative.model_.posterior()
    parameters = {name: values.values.reshape(1000, *values.shape[2:]) for name, values in tree.posterior.items()}
    expected = sum(posterior.log_prior(parameters).values())
    prior = sum(values for values in tree.log_prior.data_vars.values())
    found = (prior + tree.log_likelihood["y"].sum("row")).values.ravel()
    np.testing.assert_allclose(found - found[0], expected - expected[0], atol=1e-8)


def test_predicted_labels_have_the_classifiers_probabilities(trees, generative, logistic, complete):
    for name, clf in (("nb", generative), ("lr", logistic)):
        drawn = trees[name].posterior_predictive["y"].values.reshape(1000, -1)
        frequencies = np.stack([(drawn == k).mean(axis=0) for k in range(3)], axis=1)
        expected = clf.predict_proba(complete[0], rule="bayes-optimal")
        # Labels are independent draws given each hypothesis: their variance is at most P(1 − P)/S.
        assert (np.abs(frequencies - expected) <= 5 * np.sqrt(expected * (1 - expected) / 1000) + 1e-3).all()


def test_loo_of_logistic_regression_is_bayesclfs(trees, logistic, complete):
    found, expected = az.loo(trees["lr"]), bc.loo(logistic, *complete, method="psis")
    assert found.elpd == pytest.approx(expected.elpd, rel=1e-9)


@pytest.mark.parametrize("name", mainly(["nb", "lr"], "nb"))
def test_arviz_reads_the_tree(name, trees):
    tree = trees[name]
    table = az.psense_summary(tree)
    assert {"prior", "likelihood", "diagnosis"} == set(table.columns)
    options = {"backend": "matplotlib"}
    az.plot_prior_posterior(tree, var_names=["mu" if name == "nb" else "intercept"], **options)
    az.plot_ppc_dist(tree, num_samples=20, kind="ecdf", **options)
    az.plot_ppc_pava(tree, data_type="categorical", **options)
    az.plot_loo_pava(tree, data_type="categorical", **options)
    plt.close("all")


def test_draws_are_thinned_and_seeded(generative, complete):
    few, again = (generative.to_datatree(*complete, draws=20) for _ in range(2))
    assert few.posterior.sizes["draw"] == few.log_likelihood.sizes["draw"] == 20
    assert few.equals(again)
    np.testing.assert_array_equal(few.posterior["mu"][0, 0], generative.posterior_["posterior"]["mu"][0, 0])
    with pytest.raises(InputError, match="draws must be a whole number between 1 and 250"):
        generative.to_datatree(*complete, draws=251)


def test_trees_are_bounded(generative, complete, monkeypatch):
    monkeypatch.setattr(datatree, "LARGEST_BYTES", 2**10)
    with pytest.raises(Refused, match=r"keep fewer draws, to_datatree\(X, y, draws=…\)"):
        generative.to_datatree(*complete)


def test_priors_without_a_density_say_so(mixed_table):
    X, y = mixed_table
    cases = {case.name: case for case in GENERATIVE}
    X = cases["all trees"].table((X, y))[0]
    tree = cases["all trees"].make().fit(X, y).to_datatree(X, y)
    assert "log_prior" not in tree
    assert "discrete or learned parts" in tree.attrs["no_log_prior"]
    assert "prior" in tree


def test_a_flat_prior_cannot_be_drawn_from(complete):
    X, y = complete
    clf = bc.LogisticRegression(
        prior_scale=2.5, inference=Laplace(draws=20), random_state=1, intercept_scale=np.inf
    ).fit(X[NUMBERS], y)
    tree = clf.to_datatree(X[NUMBERS], y)
    assert "prior" not in tree
    assert "flat" in tree.attrs["no_prior"]
