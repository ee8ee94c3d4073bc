"""A classifier is displayed, listed and pickled without computing what was not requested."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

import bayesclf as bc
from bayesclf.classifiers import CLASSIFIERS

COMPUTED = {"posterior_", "pymc_model_"}
Y = np.array(["no", "yes"] * 10)
NUMBERS = np.random.default_rng(0).normal(size=(20, 2)) + (Y == "yes")[:, None]
TABLES = {
    "categorical": pd.DataFrame({"wind": ["weak", "strong", "weak", "weak"] * 5}),
    "text": pd.DataFrame({"message": ["buy now", "see you", "buy it", "you too"] * 5}),
    "multinomial": np.round(np.abs(NUMBERS)),
    "bernoulli": (NUMBERS > 0).astype(float),
}
TABLES["tan"] = TABLES["joint"] = pd.DataFrame(
    {"wind": ["weak", "strong"] * 10, "sky": ["sun", "sun", "rain", "sun"] * 5}
)


@pytest.fixture(scope="module", params=CLASSIFIERS)
def fitted(request):
    inference = "map" if request.param == "lr" else "auto"
    X = TABLES.get(request.param, NUMBERS)
    return CLASSIFIERS[request.param](inference=inference, random_state=1).fit(X, Y), X


def test_a_display_shows_what_fit_has_set_and_computes_nothing(fitted):
    clf, _ = fitted
    before = set(vars(clf))
    page = estimator_html_repr(clf)
    assert "classes_" in page
    assert "posterior_" not in page
    assert set(vars(clf)) == before


def test_its_names_are_listed_without_being_computed(fitted):
    clf, _ = fitted
    before = set(vars(clf))
    assert {*COMPUTED, "predict", "classes_"} <= set(dir(clf))
    assert set(vars(clf)) == before


def test_it_can_be_pickled_and_copied_after_everything_was_computed(fitted):
    clf, X = fitted
    clf = copy.copy(clf)
    assert clf.posterior_ is clf.posterior_
    assert clf.pymc_model_ is clf.pymc_model_
    for again in (pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf)):
        assert COMPUTED.isdisjoint(vars(again))
        np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert set(vars(clf)) >= COMPUTED


def test_a_pipeline_is_displayed_and_pickled():
    pipeline = make_pipeline(StandardScaler(), bc.GaussianNB(random_state=1)).fit(NUMBERS, Y)
    estimator_html_repr(pipeline)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(pipeline)).predict(NUMBERS), pipeline.predict(NUMBERS))


def test_what_pymc_cannot_model_is_displayed_too():
    clf = bc.NaiveBayes(select=True, random_state=1).fit(NUMBERS, Y)
    assert "classes_" in estimator_html_repr(clf)


def test_a_display_imports_neither_pymc_nor_arviz():
    program = """
import sys, bayesclf as bc
clf = bc.GaussianNB(random_state=1).fit([[1.0], [1.2], [3.1], [2.9]], [0, 0, 1, 1])
clf._repr_html_(); clf._repr_mimebundle_(); dir(clf); repr(clf)
print(*({"pymc", "arviz", "pytensor"} & set(sys.modules)))
"""
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == []
