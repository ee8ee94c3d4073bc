"""Complement naive Bayes: what docs/sources.md says of it."""

from itertools import product

import numpy as np
from scipy.special import gammaln
from sklearn.naive_bayes import ComplementNB

import bayesclf as bc


def documents(classes, seed=1):
    rng = np.random.default_rng(seed)
    y = np.arange(60) % classes
    return np.stack([rng.multinomial(8, theta) for theta in rng.dirichlet(np.ones(5), size=classes)[y]]), y


def test_of_two_classes_it_is_multinomial_naive_bayes():
    X, y = documents(2)
    complement = ComplementNB(alpha=1.0).fit(X, y)
    own = bc.MultinomialNB(alpha=2.0, class_prior="uniform", rule="map", random_state=1).fit(X, y)
    np.testing.assert_allclose(own.predict_log_proba(X), complement.predict_log_proba(X), atol=1e-10)


def test_of_three_classes_it_is_no_distribution_of_documents():
    """Σ_x 1/p(x | not c) over all documents of a length, which would be the normalizer of class c."""
    X, y = documents(3)
    theta = np.exp(-ComplementNB(alpha=1.0).fit(X, y).feature_log_prob_)  # its weights are −log θ of the complement
    theta = np.minimum(theta, 1 / theta)
    counts = np.array([x for x in product(range(4), repeat=5) if sum(x) == 3])
    orders = np.exp(gammaln(4) - gammaln(counts + 1).sum(axis=1))
    totals = np.array([(orders / np.exp(counts @ np.log(own))).sum() for own in theta])
    assert totals.max() / totals.min() > 1.05


def test_it_is_compared_beside_the_models_here():
    X, y = documents(3)
    found = bc.compare({"nb": bc.MultinomialNB(), "complement": ComplementNB()}, X, y, rules=["predictive"], cv=3)
    assert {"nb", "complement"} <= set(found.table.reset_index()["model"])
