"""Any table, labels and settings: a fit and predictions that are probabilities, or a sentence."""

import numpy as np
import pytest
from helpers.fuzz import Refusal, answer, efforts
from helpers.strategies import METHODS, OPTIONS, PREDICTIONS, classifiers, mostly, recipes
from hypothesis import strategies as st

from bayesclf.classifiers import CLASSIFIERS

WEIGHTS = {
    "none": lambda n: None,
    "some zero": lambda n: np.arange(n) % 3,
    "halves": lambda n: np.full(n, 0.5),
    "large": lambda n: np.full(n, 1e6),
    "zero": lambda n: np.zeros(n),
    "negative": lambda n: -np.ones(n),
    "gaps": lambda n: np.full(n, np.nan),
    "text": lambda n: "w",
    "short": lambda n: np.ones(max(n - 1, 0)),
    "words": lambda n: ["w"] * n,
    "infinite": lambda n: np.full(n, np.inf),
    "two axes": lambda n: np.ones((n, 2)),
}
PER_FIT = 8
"""Predictions by each fitted classifier, and so at least as many as fits after the refusals."""


def check_prediction(clf, method, X, options):
    found = answer(lambda: getattr(clf, method)(X, **options))
    if isinstance(found, Refusal):
        return found
    if method in ("predict_proba", "predict_log_proba"):
        probabilities = found if method == "predict_proba" else np.exp(found)
        assert probabilities.shape[1] == len(clf.classes_)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-6)
        assert (probabilities >= 0).all()
    if method == "predict":
        assert set(np.unique(found)) <= set(clf.classes_)
    return found


def check_fit(effort, classifier, recipe, weights, predictions):
    kind, settings = classifier
    X, y = recipe.table(), recipe.y()
    clf = answer(lambda: kind(**settings).fit(X, y, sample_weight=WEIGHTS[weights](recipe.rows)))
    if isinstance(clf, Refusal):
        return f"fits refused ({clf.kind})"
    for method, table, options in predictions:
        found = check_prediction(clf, method, PREDICTIONS[table](recipe), options)
        what = f"refused ({found.kind})" if isinstance(found, Refusal) else "answered"
        effort.outcomes[f"predictions {what}"] += 1
    return "fits answered"


@efforts(short=3, ci=15, full=1_050, parts=1)
@pytest.mark.parametrize("model", CLASSIFIERS)
def test_any_table_and_settings(model, effort):
    one = st.tuples(
        st.sampled_from(METHODS),
        mostly(("the same rows", "other rows", "one row"), tuple(PREDICTIONS), of=3),
        st.sampled_from(OPTIONS),
    )
    effort.explore(
        lambda **values: check_fit(effort, **values),
        classifier=classifiers(model),
        recipe=recipes(model),
        weights=mostly(("none",), tuple(WEIGHTS), of=6),
        predictions=st.lists(one, min_size=PER_FIT, max_size=PER_FIT + 2),
    )
