"""The MAP and the MLE of every family: maxima, textbooks, and where they do not exist."""

import numpy as np
import pytest
from helpers.cases import CASES, MULTINOMIAL
from helpers.families import assert_same_parameters, every_case, gaussian, ids, slow_prior
from scipy import optimize

from bayesclf.errors import DoesNotExist
from bayesclf.families import Axes, Categorical, Gaussian

# A table of all classes has the rows of the others.
CELLWISE = [case for case in CASES if case not in MULTINOMIAL and not getattr(case, "free", ())]
every_cellwise_case = pytest.mark.parametrize("case", **ids(CELLWISE))


def assert_stationary(loss, vector, step=1e-4):
    """Assert by central differences that no coordinate has a slope, where rounding of the loss leaves about 1e-9."""
    lowest = loss(vector)
    for direction in step * np.eye(len(vector)):
        below, above = loss(vector - direction), loss(vector + direction)
        assert abs(above - below) / (2 * step) < 1e-6
        assert min(below, above) > lowest


@slow_prior
def test_map_maximises_the_posterior_in_the_users_parameters(case, rng):
    X, y = case.data(5)
    statistics = case.statistics(X, y)
    posterior, mode = case.prior.posterior(statistics), case.prior.map(statistics)
    given = {name: mode[name] for name in case.marginal_modes}

    def loss(vector):
        point = case.constrained(vector) | given
        return -case.log_prior(posterior, point) - case.log_jacobian(point)

    at_mode = case.unconstrained(mode)
    assert_stationary(loss, at_mode)
    found = optimize.minimize(loss, at_mode + rng.normal(scale=0.3, size=at_mode.shape), options={"gtol": 1e-5})
    assert loss(at_mode) <= found.fun + 1e-9 * abs(found.fun)
    assert_same_parameters(case.constrained(found.x) | given, mode, rtol=2e-3, atol=1e-5)


@every_case
def test_mle_is_the_textbooks(case):
    X, y = case.data()
    assert_same_parameters(case.family.mle(case.statistics(X, y)), case.naive_mle(X, y), rtol=1e-12)


@every_cellwise_case
def test_mle_of_a_class_without_rows_or_cells_of_one_column_does_not_exist(case):
    X, y = case.complete()
    with pytest.raises(DoesNotExist, match=r"class 'maybe' has .* column 'u'"):
        case.family.mle(case.statistics(X[y != 1], y[y != 1]))
    X[y == 2, 1] = case.absent
    with pytest.raises(DoesNotExist, match=r"class 'yes' has .* column 'v'"):
        case.family.mle(case.statistics(X, y))


def with_one_row_of_no(X, y):
    kept = (y != 0) | (np.cumsum(y == 0) == 1)
    return X[kept], y[kept]


def with_a_constant_class(X, y):
    return np.where((y == 0)[:, None], 1.5, X), y


def with_a_constant_column(X, y):
    return np.where(np.arange(3) == 0, 1.5, X), y


def with_constant_columns(X, y):
    return np.full_like(X, 1.5), y


@pytest.mark.parametrize(
    ("change", "variances"),
    [
        (with_one_row_of_no, {"class-feature", "class"}),
        (with_a_constant_class, {"class-feature", "class"}),
        (with_a_constant_column, {"class-feature", "feature"}),
        (with_constant_columns, {"class-feature", "feature", "class", "shared"}),
    ],
)
@gaussian
def test_mle_of_a_variance_exists_where_its_cells_differ(case, change, variances):
    statistics = case.statistics(*change(*case.complete()))
    if case.family.variance in variances:
        with pytest.raises(DoesNotExist, match="class 'no' has too few different values in column 'u'"):
            case.family.mle(statistics)
    else:
        assert (case.family.mle(statistics)["sigma2"] > 0).all()


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_categorical_map_exists_where_counts_and_concentrations_reach_one(alpha):
    axes = Axes(("no", "yes"), ("u", "v"), ((0, 1), (0, 1)))
    X = np.array([[0, 0], [1, 1], [0, 0], [0, 1]])
    statistics = Categorical(alpha).statistics(X, np.array([0, 0, 1, 1]), axes)
    family = Categorical(alpha).resolve_prior(statistics)
    if alpha < 1:
        with pytest.raises(DoesNotExist, match=r"class 'yes' has no single most probable .* column 'u'"):
            family.map(statistics)
    else:
        np.testing.assert_array_equal(family.map(statistics)["theta"][0, 1], [1.0, 0.0, 0.5, 0.5])
        flat = Categorical(alpha).statistics(X[:2], np.array([0, 0]), axes)
        with pytest.raises(DoesNotExist, match=r"class 'yes' .* column 'u'"):
            Categorical(alpha).resolve_prior(flat).map(flat)


def test_gaussian_mean_of_a_variance_without_one_does_not_exist():
    family = Gaussian(m=np.zeros((1, 1)), kappa=np.ones((1, 1)), a=np.ones((1, 1)), b=np.ones((1, 1)))
    with pytest.raises(DoesNotExist, match="a ≤ 1"):
        family.mean()
