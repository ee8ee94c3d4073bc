"""No answer depends on the scale of a column, from 1e-100 to 1e100; a table beyond is refused."""

import numpy as np
import pandas as pd
import pytest
from helpers.classifiers import log_likelihoods
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

import bayesclf as bc
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.families import Poisson

RULES = ("mle", "map", "mean", "bayes-optimal", "predictive", "gibbs")
ROWS = 30
SCALES = (1e-98, 1e98)

rng = np.random.default_rng(0)
Y = np.arange(ROWS) % 2
X = rng.normal(size=(ROWS, 3)) + np.outer(Y, [1.0, -0.5, 0.3]) + [2.0, 0.0, -1.0]
NEW = 2 * rng.normal(size=(6, 3))

EXACT = bc.engines.Exact(draws=25)
ONE_COLUMN = {
    "class-feature": lambda: bc.GaussianNB(inference=EXACT, random_state=1),
    "feature": lambda: bc.GaussianNB("feature", inference=EXACT, random_state=1),
    "shared covariance": lambda: bc.GaussianDiscriminantAnalysis(inference=EXACT, random_state=1),
    "own covariance": lambda: bc.GaussianDiscriminantAnalysis("class", inference=EXACT, random_state=1),
    "logistic": lambda: bc.LogisticRegression(
        prior_scale=2.5, inference=bc.engines.Laplace(draws=100, limit=5.0), random_state=1
    ),
}
ALL_COLUMNS = {
    "class": lambda: bc.GaussianNB("class", inference=EXACT, random_state=1),
    "shared": lambda: bc.GaussianNB("shared", inference=EXACT, random_state=1),
}
MODELS = {
    **{name: (make, np.array([False, True, False])) for name, make in ONE_COLUMN.items()},
    **{name: (make, np.array([True, True, True])) for name, make in ALL_COLUMNS.items()},
}
"""Classifiers, and the columns that are rescaled: all, where they have one variance and so must have common units."""


def table(cells, factor=1.0):
    return pd.DataFrame(cells * factor, columns=["a", "b", "c"])


def probabilities(clf, rows):
    """Return the answers under all rules that the model has."""
    found = {}
    for rule in RULES:
        try:
            found[rule] = clf.predict_proba(rows, rule=rule)
        except (DoesNotExist, Refused) as reason:
            found[rule] = type(reason)
    return found


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, type | list):
            assert found[name] == value
        else:
            assert_allclose(found[name], value, rtol=1e-7, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=3, deadline=None)
@given(power=st.integers(-98, 97), digit=st.floats(1, 9.5))
def test_probabilities_do_not_depend_on_the_scale(name, power, digit):
    make, columns = MODELS[name]
    factor = np.where(columns, digit * 10.0**power, 1.0)
    clf = make().fit(table(X, factor), Y)
    assert_same(probabilities(clf, table(NEW, factor)), probabilities(make().fit(table(X), Y), table(NEW)))


def answers(clf, factor, columns):
    """Return everything else that a fitted classifier says, in the units of the unscaled table."""
    rows, new = table(X, factor), table(NEW, factor)
    jacobian = np.log(factor[columns]).sum()
    found = probabilities(clf, new)
    found["interval"] = clf.predict_interval(new)
    found["uncertainty"] = clf.uncertainty(new).total
    found["loo"] = clf.loo(rows, Y, rule="bayes-optimal").elpd
    found["frame"] = clf.predict_frame(new).select_dtypes(float).to_numpy()
    found["summary"] = clf.summary().loc[["pi"]].to_numpy() if clf.model_.generative else np.zeros(0)
    found["diagnosis"] = [finding.code for finding in clf.diagnose(rows, Y).findings]
    if clf.model_.generative:
        found["evidence"] = clf.model_.log_evidence() + ROWS * jacobian
        found["joint"] = log_likelihoods(clf, rows, Y)[0] + jacobian
        found["joint of new"] = clf.predict_joint_log_proba(new) + jacobian
        found["sample"] = clf.sample(4)[0].to_numpy() / factor
    for attribute, power in (("theta_", -1), ("means_", -1), ("coef_", 1)):
        if hasattr(clf, attribute):
            found[attribute] = getattr(clf, attribute) * factor**power
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:for . of 30 rows:bayesclf.errors.PredictionWarning")
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", MODELS)
def test_nothing_else_depends_on_the_scale_but_by_the_jacobian(name, scale):
    make, columns = MODELS[name]
    factor = np.where(columns, scale, 1.0)
    assert_same(
        answers(make().fit(table(X, factor), Y), factor, columns), answers(make().fit(table(X), Y), np.ones(3), columns)
    )


@pytest.mark.parametrize("name", ["class-feature", "class", "own covariance"])
@pytest.mark.parametrize("last", [1.0, 1e-50, 7e-90])
def test_parts_at_different_scales_add_up_in_any_order(name, last):
    """The first rows are of a column that is tiny there."""
    make, _ = MODELS[name]
    factor = np.where(np.arange(ROWS) < 8, 1e-90, last)[:, None]
    rows = table(X, factor)
    first, others = slice(None, 8), slice(8, None)
    whole = make().fit(rows, Y)
    for parts in ((first, others), (others, first)):
        clf = make()
        for part in parts:
            clf.partial_fit(rows[part], Y[part], classes=[0, 1])
        assert_same(probabilities(clf, table(NEW, last)), probabilities(whole, table(NEW, last)))


PRIORS = (
    lambda c: bc.GaussianNB(m=c, a=2.0, random_state=1),
    lambda c: bc.GaussianDiscriminantAnalysis(m=[c, c, c], random_state=1),
    lambda c: bc.GaussianNB(m=c, b=2.0 * c**2, random_state=1),
    lambda c: bc.GaussianNB("shared", m=0.0, b=2.0 * c**2, random_state=1),
    lambda c: bc.GaussianDiscriminantAnalysis(m=0.0, psi=np.array([1.0, 2.0, 0.5]) * c**2, random_state=1),
)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("make", PRIORS)
def test_explicit_means_are_in_the_units_of_the_columns_and_variances_in_squared_ones(make, scale):
    expected, found = make(1.0).fit(table(X), Y), make(scale).fit(table(X, scale), Y)
    assert_same(probabilities(found, table(NEW, scale)), probabilities(expected, table(NEW)))


OUT_OF_RANGE = r"the largest magnitude of a column must be 0 or between 1e-100 and 1e\+100; rescale column "


@pytest.mark.parametrize("scale", [1e-101, 1e101])
@pytest.mark.parametrize("name", MODELS)
def test_a_column_out_of_range_is_refused_where_rows_are_learned(name, scale):
    make, _ = MODELS[name]
    rows = table(X, np.array([1.0, scale, 1.0]))
    match = OUT_OF_RANGE + r"'b' \(\d\.\de[-+]10\d.* by a constant"
    with pytest.raises(InputError, match=match):
        make().fit(rows, Y)
    if name != "logistic":
        with pytest.raises(InputError, match=match):
            make().partial_fit(table(X), Y).partial_fit(rows, Y)
    with pytest.raises(InputError, match=match):
        make().fit_stream(rows.assign(y=Y), "y")


def test_all_columns_out_of_range_are_named():
    with pytest.raises(InputError, match=OUT_OF_RANGE + r"'a' \(\d\.\de\+2\d\d in row \d+\), 'c' \("):
        bc.GaussianNB().fit(table(X, np.array([1e200, 1.0, 1e250])), Y)
    with pytest.raises(InputError, match=OUT_OF_RANGE + r"'x1' \(1\.0e\+200 in row 2\)"):
        bc.MultinomialNB().fit(sparse.csr_array([[1.0, 0.0], [0.0, 1e200]]), [0, 1])
    with pytest.raises(InputError, match=OUT_OF_RANGE + r"'x1' \(1\.0e-200\)"):
        bc.LogisticRegression().fit(sparse.csr_array([[1.0, 0.0], [0.0, 1e-200]]), [0, 1])


@pytest.mark.parametrize("name", MODELS)
def test_cells_to_predict_may_be_tiny_but_not_too_large(name):
    clf = MODELS[name][0]().fit(table(X), Y)
    tiny, zero = (probabilities(clf, table(np.full((1, 3), cell))) for cell in (1e-200, 0.0))
    assert_same(tiny, zero)
    with pytest.raises(InputError, match=OUT_OF_RANGE + r"'c' \(1\.0e\+150 in row 1\)"):
        clf.predict_proba(table(np.array([[1.0, 1.0, -1e150]])))


@pytest.mark.parametrize(
    "setting",
    [
        lambda: bc.families.Gaussian(m=1e101),
        lambda: bc.families.Gaussian(b=[[1.0, 1e-201]]),
        lambda: bc.families.MultivariateGaussian(m=-1e101),
        lambda: bc.GaussianDiscriminantAnalysis(psi=1e201).fit(table(X), Y),
        lambda: bc.families.Exponential(b=1e-101),
        lambda: bc.families.Gamma(m=1e101),
    ],
)
def test_a_prior_out_of_range_is_refused(setting):
    with pytest.raises(InputError, match=r"must be a number between -?1e[-+]\d00 and 1e\+\d00, or None, not"):
        setting()


def test_counts_have_no_scale_and_are_bounded():
    clf = bc.NaiveBayes({"x0": Poisson()}, random_state=1)
    for proba in probabilities(clf.fit(np.arange(ROWS)[:, None] * 1e14, Y), [[1e14], [9e15]]).values():
        assert np.isfinite(proba).all()
    with pytest.raises(InputError, match=r"column 'x0' has 1e\+90 in row 2, which is too large for a count"):
        clf.fit(np.array([[1.0], [1e90], *[[2.0]] * (ROWS - 2)]), Y)
