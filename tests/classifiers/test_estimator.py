"""A classifier is displayed, listed and pickled without computing what was not requested."""

import copy
import inspect
import io
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from helpers.suites import mainly
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr

from bayesclf.classifiers import CLASSIFIERS

COMPUTED = {"posterior_"}
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


@pytest.fixture(scope="module", params=mainly(CLASSIFIERS, "nb", "gda", "text", "tan", "lr"))
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
    unfitted = [name for name in dir(clone(clf)) if not name.startswith("_")]
    assert "predict" in unfitted
    assert len(unfitted) <= 45
    assert [name for name in unfitted if name.endswith("_")] == []


def test_it_can_be_pickled_and_copied_after_everything_was_computed(fitted):
    clf, X = fitted
    clf = copy.copy(clf)
    assert clf.posterior_ is clf.posterior_
    for again in (pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf)):
        assert COMPUTED.isdisjoint(vars(again))
        np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert set(vars(clf)) >= COMPUTED


def test_a_pickle_of_logistic_regression_leaves_out_what_can_be_computed_again():
    clf = CLASSIFIERS["lr"](inference="map").fit(NUMBERS, Y)
    evidence, again = clf.model_.log_evidence(), pickle.loads(pickle.dumps(clf))
    assert "lattice" in vars(clf.model_)
    assert "lattice" not in vars(again.model_)
    assert again.model_.log_evidence() == pytest.approx(evidence, rel=1e-12)


def dumped(estimator):
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    return joblib.load(file)


def test_it_is_displayed_and_dumped_inside_a_pipeline_and_a_search(fitted):
    clf, X = fitted
    pipeline = make_pipeline("passthrough", clf)
    search = GridSearchCV(make_pipeline(clf), {}, cv=2, error_score="raise").fit(X, Y)
    for estimator in (clf, pipeline, search):
        repr(estimator)
        assert "classes_" in estimator_html_repr(estimator)
        dir(estimator)
        for again in (pickle.loads(pickle.dumps(estimator)), dumped(estimator)):
            np.testing.assert_array_equal(again.predict(X), estimator.predict(X))
    assert COMPUTED.isdisjoint(vars(search.best_estimator_[0]))


@pytest.mark.parametrize("clf", [kind() for kind in CLASSIFIERS.values()], ids=list(CLASSIFIERS))
def test_before_fit_every_attribute_is_there_or_absent(clf):
    inspect.getmembers(clf)  # raises whatever is not an AttributeError
    assert not [name for name in ("posterior_", "coef_", "intercept_", "class_prior_", "theta_") if hasattr(clf, name)]
    with pytest.raises(NotFittedError, match="not fitted yet"):
        clf.decision_function(NUMBERS)


@pytest.mark.slow
def test_fits_answers_and_displays_import_neither_pymc_nor_arviz():
    program = """
import sys, bayesclf as bc
for clf in bc.NaiveBayes(random_state=1), bc.LogisticRegression(inference="laplace", random_state=1):
    clf.fit([[1.0], [3.2], [3.1], [2.9], [1.5]], [0, 0, 1, 1, 0]).predict_proba([[2.0]])
    clf._repr_html_(); clf._repr_mimebundle_(); dir(clf); repr(clf)
print(*({"pymc", "arviz", "pytensor", "matplotlib"} & set(sys.modules)))
"""
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == []
