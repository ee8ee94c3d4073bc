"""scikit-learn's own checks of every classifier, and of many settings."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

import bayesclf as bc
from bayesclf.classifiers import CLASSIFIERS
from bayesclf.tables.columns import kind_of, numbers


class Binned:
    """Cuts numbers between whole ones into a few bins: the checks give numbers only, which are refused."""

    def _validated(self, X, reset):
        frame = super()._validated(X, reset).copy()
        for j, name in enumerate(frame):
            if kind_of(frame[name]) == "number":
                # A joint table of more columns than ten is refused unless the others have one value.
                cuts = np.arange(0.5, 5 if frame.shape[1] <= 4 else 1) if j < 10 else []
                cells = numbers(frame, (name,))[:, 0]
                frame[name] = pd.Series(np.searchsorted(cuts, cells).astype(str), frame.index).mask(np.isnan(cells))
        return frame


class BinnedJoint(Binned, bc.JointBayes):
    pass


class BinnedTan(Binned, bc.BayesNetClassifier):
    pass


NOT_OF_TABLES = {bc.TextNB}
"""Takes strings, as its input tags say, for which scikit-learn has no checks: its vectorizers have none either."""

CHECKED = {bc.JointBayes: BinnedJoint, bc.BayesNetClassifier: BinnedTan}
SHORT_CHAINS = {"inference": bc.engines.Auto(nuts=bc.engines.NUTS(draws=250, tune=250, chains=2))}
"""Exact as by default, but for the tables with missing cells, where these two take NUTS."""
OPTIONS = {
    bc.LogisticRegression: {"inference": "map"},
    bc.GaussianDiscriminantAnalysis: SHORT_CHAINS,
    bc.JointBayes: SHORT_CHAINS,
}
ESTIMATORS = [
    CHECKED.get(kind, kind)(random_state=0, **OPTIONS.get(kind, {}))
    for kind in CLASSIFIERS.values()
    if kind not in NOT_OF_TABLES
]

SEEDED = {"random_state": 0}
STACKS = [
    bc.StackedClassifier(
        {"own": bc.GaussianNB(**SEEDED), "shared": bc.GaussianNB("feature", **SEEDED)}, rule="predictive"
    ),
    bc.StackedClassifier(
        {"gnb": bc.GaussianNB(**SEEDED), "lr": bc.LogisticRegression(prior_scale=2.5, inference="map", **SEEDED)}, cv=2
    ),
]

CHECKS = 61
"""Checks of one classifier: scikit-learn leaves some out without a word when a tag is wrong."""

FURTHER_CHECKS = {bc.BernoulliNB: 1, bc.LogisticRegression: 1, bc.MultinomialNB: 3}
"""Those of sparse tables, and of counts, which are neither negative nor missing."""

NEEDS_ARRAY_API = {"check_array_api_input"}
"""Left out: scikit-learn skips it unless SciPy's array API is switched on for the whole process."""

OF_REAL_NUMBERS = {(bc.MultinomialNB, "check_decision_proba_consistency")}
"""Left out: it fits negative numbers, whatever the tags say, and counts are refused below 0."""


MAIN_SUITE = {bc.NaiveBayes, bc.LogisticRegression}
"""Classifiers that the main suite checks: a generative one of numbers and words, and one of sparse tables."""


def checks(estimator):
    return list(estimator_checks_generator(estimator, mark=None))


def name_of(check):
    return getattr(check, "func", check).__name__


SETTINGS = [
    bc.GaussianNB(missing="level"),
    bc.NaiveBayes(families="auto"),
    bc.BernoulliNB(binarize=1.0),
    bc.LogisticRegression(prior_scale=2.5, prior_form="reference", intercept_at="zero", inference="map"),
]
"""Settings that take other ways through `fit` and `predict`."""


def left_out(estimator):
    """Return the names of the checks that are not for an estimator."""
    return NEEDS_ARRAY_API | {name for kind, name in OF_REAL_NUMBERS if type(estimator) is kind}


def cases(estimators, *marks):
    """Yield all checks of some estimators; those of the main suite are quick where there are no other marks."""
    for estimator in estimators:
        own = marks or (() if type(estimator) in MAIN_SUITE else (pytest.mark.slow,))
        name = " ".join(repr(estimator).split())
        for instance, check in checks(estimator.set_params(random_state=0)):
            if name_of(check) not in left_out(estimator):
                yield pytest.param(instance, check, id=f"{name}-{name_of(check)}", marks=own)


QUIET = pytest.mark.filterwarnings(
    *("ignore::bayesclf.errors.ConvergenceWarning", "ignore::bayesclf.errors.PredictionWarning")
)


def test_every_classifier_is_checked():
    kinds = set(CLASSIFIERS.values())
    checked = {next(kind for kind in type(estimator).__mro__ if kind in kinds) for estimator in ESTIMATORS}
    assert checked == kinds - NOT_OF_TABLES


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *STACKS], ids=lambda estimator: type(estimator).__name__)
def test_the_number_of_checks(estimator):
    assert len(checks(estimator)) == CHECKS + FURTHER_CHECKS.get(type(estimator), 0)


@pytest.mark.parametrize(
    ("estimator", "check"), [*cases(ESTIMATORS), *cases(STACKS), *cases(SETTINGS, pytest.mark.slow, QUIET)]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
