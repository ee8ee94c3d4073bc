"""Complement naive Bayes: what docs/sources.md says of it."""

import numpy as np
from sklearn.naive_bayes import ComplementNB

import bayesclf as bc


def test_of_two_classes_it_is_multinomial_naive_bayes():
    rng, y = np.random.default_rng(1), np.arange(60) % 2
    X = np.stack([rng.multinomial(8, theta) for theta in rng.dirichlet(np.ones(5), size=2)[y]])
    complement = ComplementNB(alpha=1.0).fit(X, y)
    own = bc.MultinomialNB(alpha=2.0, class_prior="uniform", rule="map", random_state=1).fit(X, y)
    np.testing.assert_allclose(own.predict_log_proba(X), complement.predict_log_proba(X), atol=1e-10)
