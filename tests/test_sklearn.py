"""scikit-learn's own checks of every classifier."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from bayesclf import NUTS, CategoricalNB, GaussianNB, LogisticRegression, NaiveBayes
from bayesclf.classifiers import CLASSIFIERS

ESTIMATORS = [
    GaussianNB(random_state=0),
    NaiveBayes(random_state=0),
    CategoricalNB(random_state=0),
    LogisticRegression(inference="map", random_state=0),
]
SAMPLED = LogisticRegression(inference=NUTS(draws=50, tune=50, chains=2), random_state=0)

CHECKS = 61
"""Checks of one classifier: scikit-learn leaves some out without a word when a tag is wrong."""

NEEDS_ARRAY_API = {"check_array_api_input"}
"""Left out: scikit-learn skips it unless SciPy's array API is switched on for the whole process."""


SHORT_RUN = {"check_classifiers_train", "check_dict_unchanged", "check_fit2d_predict1d", "check_pipeline_consistency"}
"""Checks that logistic regression also takes under NUTS, each of which compiles and samples."""


def checks(estimator):
    return list(estimator_checks_generator(estimator, mark=None))


def name_of(check):
    return getattr(check, "func", check).__name__


def cases(estimators):
    return [
        pytest.param(instance, check, id=f"{type(instance).__name__}-{name_of(check)}")
        for estimator in estimators
        for instance, check in checks(estimator)
        if name_of(check) not in NEEDS_ARRAY_API
    ]


def test_every_classifier_is_checked():
    assert {type(estimator) for estimator in ESTIMATORS} == set(CLASSIFIERS.values())


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_the_number_of_checks(estimator):
    assert len(checks(estimator)) == CHECKS


@pytest.mark.parametrize(("estimator", "check"), cases(ESTIMATORS))
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")
@pytest.mark.parametrize("name", sorted(SHORT_RUN))
def test_scikit_learn_check_under_nuts(name):
    chosen = [check for _, check in checks(SAMPLED) if name_of(check) == name]
    assert chosen
    for check in chosen:
        check(SAMPLED)
