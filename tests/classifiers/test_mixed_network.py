"""Classifiers with categories and numbers in one block: networks with given edges, learned trees, naive Bayes."""

import numpy as np
import pandas as pd
import pytest
from helpers.classifiers import CLOSED_FORM, assert_same_answers
from scipy.special import softmax

import bayesclf as bc
from bayesclf import BayesNetClassifier, NaiveBayes
from bayesclf.errors import Refused
from bayesclf.families import ConditionalGaussian

EDGES = (("color", "weight"), ("weight", "height"))


@pytest.fixture(scope="module")
def fruit():
    """Return rows in which the class shows in how color, weight and height go together."""
    rng = np.random.default_rng(1)
    y = rng.choice(["apple", "pear"], 160)
    color = rng.choice(["green", "red"], 160)
    weight = 5.0 + np.where((color == "red") == (y == "apple"), 2.0, -2.0) + rng.normal(size=160)
    height = np.where(y == "apple", 0.8, -0.5) * weight + rng.normal(size=160)
    return pd.DataFrame({"color": color, "weight": weight, "height": height}), y


def test_numbers_of_a_network_are_linear_in_their_parents(fruit):
    X, y = fruit
    clf = BayesNetClassifier(EDGES, random_state=1).fit(X, y)
    assert clf.edges_ == EDGES
    assert clf.score(X, y) > 0.95
    assert clf.model_.log_evidence() > NaiveBayes(random_state=1).fit(X, y).model_.log_evidence() + 50
    mle = clf.posterior_["mle"]
    for label in ("apple", "pear"):
        own = X[y == label]
        for color, part in own.groupby("color"):
            name = f"weight | color={color}"
            np.testing.assert_allclose(mle["beta"].sel(outcome=label, term=name), part["weight"].mean(), rtol=1e-12)
            variance = mle["sigma2"].sel(outcome=label, regression=name)
            np.testing.assert_allclose(variance, part["weight"].var(ddof=0), rtol=1e-12)
        slope, intercept = np.polyfit(own["weight"], own["height"], 1)
        np.testing.assert_allclose(mle["beta"].sel(outcome=label, term="height on weight"), slope, rtol=1e-10)
        np.testing.assert_allclose(mle["beta"].sel(outcome=label, term="height"), intercept, rtol=1e-9)


def test_the_tree_leaves_columns_with_gaps_without_children(fruit):
    X, y = fruit
    assert BayesNetClassifier(random_state=1).fit(X, y).edges_ == EDGES
    gaps = X.copy()
    gaps.loc[3, "weight"] = np.nan
    clf = BayesNetClassifier(random_state=1).fit(gaps, y)
    assert clf.edges_ == (("color", "weight"), ("color", "height"))
    assert any("no column depends on 'weight' in the tree" in note for note in clf.notes_)
    assert np.isfinite(clf.predict_proba(gaps)).all()
    with pytest.raises(Refused, match="column 'weight' has missing cells that others depend on"):
        BayesNetClassifier(EDGES, inference="exact").fit(gaps, y)


def test_missing_cells_of_new_rows_are_integrated_out(fruit):
    X, y = fruit
    clf = BayesNetClassifier(EDGES, random_state=1).fit(X, y)
    some = X[:5].copy()
    some.loc[0, "weight"], some.loc[1, "color"], some.loc[2, ["weight", "height"]] = np.nan, None, np.nan
    assert np.isfinite(clf.predict_proba(some)).all()
    # The closed form of a row without its leaf is the average over it, and so is that of draws.
    exact, drawn = (clf.predict_proba(some[1:], rule=rule) for rule in ("predictive", "bayes-optimal"))
    np.testing.assert_allclose(drawn, exact, atol=0.02)
    # Without a closed form it is the average given x, as the joint density's; no row depends on the gaps of others.
    joint = clf.predict_joint_log_proba(some, rule="predictive")
    np.testing.assert_allclose(clf.predict_proba(some, rule="predictive"), softmax(joint, axis=1), rtol=1e-9)
    np.testing.assert_allclose(clf.predict_proba(some[1:], rule="predictive"), exact, rtol=1e-12)


def test_tempered_answers_to_rows_without_a_closed_form_average_the_densities_of_draws(fruit):
    X, y = fruit
    some = X[:3].copy()
    some.loc[0, "weight"] = np.nan
    for settings in ({}, {"class_prior": {"apple": 0.1, "pear": 0.9}}):
        clf = BayesNetClassifier(EDGES, random_state=1, **settings).fit(X, y)
        log_prior, temper = np.log(clf.class_prior_), clf.temper_
        joint = clf.predict_joint_log_proba(some[:1], rule="bayes-optimal")[0]
        T, b = temper["T"].values.ravel(), temper["b"].values.reshape(-1, 2)
        expected = softmax(log_prior + b + T[:, None] * (joint - log_prior), axis=1).mean(axis=0)
        found = clf.predict_proba(some, rule="tempered")
        np.testing.assert_allclose(found[0], expected, rtol=1e-9)
        np.testing.assert_allclose(found[1:], clf.predict_proba(some[1:], rule="tempered"), rtol=1e-12)
    certain = BayesNetClassifier(EDGES, random_state=1, class_prior={"apple": 0.0, "pear": 1.0}).fit(X, y)
    np.testing.assert_array_equal(certain.predict_proba(some), [[0.0, 1.0]] * 3)


def test_levels_and_numbers_that_come_later(fruit):
    X, y = fruit
    early, late = X[:80].copy(), X[80:].assign(color=np.where(X["weight"][80:] > 5, "blue", X["color"][80:]))
    early["color"] = None
    clf = BayesNetClassifier(EDGES, random_state=1).partial_fit(early, y[:80], classes=["apple", "pear"])
    with pytest.raises(Refused, match="column 'color' has missing cells that others depend on"):
        clf.set_params(inference="exact").partial_fit(late, y[80:])
    free = (("weight", "height"),)
    parts = BayesNetClassifier(free, random_state=1).partial_fit(early, y[:80], classes=["apple", "pear"])
    parts.partial_fit(late, y[80:])
    both = pd.concat([early, late])
    assert_same_answers(BayesNetClassifier(free, random_state=1).fit(both, y), parts, late, CLOSED_FORM)


def test_naive_bayes_joins_a_category_and_a_number(fruit):
    X, y = fruit
    blocks = {("color", "weight"): "conditional-gaussian"}
    clf = NaiveBayes(blocks, random_state=1).fit(X, y)
    assert type(clf.model_.blocks[0].family) is ConditionalGaussian
    network = BayesNetClassifier((("color", "weight"),), random_state=1).fit(X, y)
    assert_same_answers(network, clf, X, CLOSED_FORM)
    np.testing.assert_allclose(clf.model_.log_evidence(), network.model_.log_evidence(), rtol=1e-12)
    two = X[["color", "weight"]]
    found = bc.dependent_pairs(NaiveBayes(random_state=1).fit(two, y), two, y)
    assert found.blocks == blocks
    assert NaiveBayes(found.blocks, random_state=1).fit(two, y).score(two, y) > 0.9
    joined = bc.dependent_pairs(clf, X, y).table.set_index(["first", "second"])["joined"]
    assert joined[("color", "weight")]
    assert not joined[("weight", "height")]


def test_a_constant_number_of_an_edge_is_left_out_with_it(fruit):
    X, y = fruit
    clf = BayesNetClassifier([*EDGES, ("constant", "weight")], random_state=1).fit(X.assign(constant=1.0), y)
    without = BayesNetClassifier(EDGES, random_state=1).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X.assign(constant=1.0)), without.predict_proba(X), rtol=1e-12)
    assert any("'constant' has at most one value" in note for note in clf.notes_)
