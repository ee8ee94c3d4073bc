"""What every family must satisfy: statistics that add up, rows that follow the parameters, options that are checked."""

import numpy as np
import pytest
from helpers.cases import CATEGORICAL, EVERY, GAMMA, GAUSSIAN
from helpers.families import STANDARD_ERRORS, categorical, every_family, every_prior, gaussian
from hypothesis import given, strategies as st

from bayesclf.errors import InputError
from bayesclf.families import FAMILIES, Axes, Categorical, Gaussian, LearntAlpha


def assert_same_statistics(found, expected, rtol=1e-12):
    assert found.axes == expected.axes
    assert found.arrays().keys() == expected.arrays().keys()
    for name, values in expected.arrays().items():
        size = max(1.0, np.abs(values).max(initial=0.0))
        np.testing.assert_allclose(found.arrays()[name], values, rtol=rtol, atol=rtol * size, err_msg=name)


@every_family
def test_a_family_shows_its_settings_and_not_what_rows_have_set(case):
    for hidden in ("axes=", "layout=", "counts=", "known="):
        assert hidden not in repr(case.family)


def test_every_family_has_a_case():
    assert {type(case.family) for case in EVERY} == {*FAMILIES.values()}


# Statistics


@every_family
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 30), parts=st.integers(1, 5), weighted=st.booleans())
def test_statistics_of_parts_add_up_to_those_of_the_whole(case, seed, n, parts, weighted):
    rng = np.random.default_rng(seed)
    X, y = case.data(seed, n)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], n) if weighted else None
    part = rng.integers(parts, size=n)
    total = case.statistics(X[:0], y[:0])
    for number in range(parts):
        rows = part == number
        total = total + case.statistics(X[rows], y[rows], None if weight is None else weight[rows])
    assert_same_statistics(total, case.statistics(X, y, weight))


@every_family
def test_a_weight_is_a_number_of_repetitions(case, rng):
    X, y = case.data()
    times = rng.integers(4, size=len(y))
    repeated = case.statistics(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_same_statistics(case.statistics(X, y, times.astype(float)), repeated)


@every_family
def test_pooled_statistics_are_those_of_one_label(case):
    X, y = case.data()
    one = Axes(("all",), case.axes.features, case.axes.levels)
    expected = case.family.statistics(X, np.zeros_like(y), one)
    assert_same_statistics(case.statistics(X, y).pooled(), expected)


@every_family
def test_statistics_move_to_axes_with_further_labels(case):
    X, y = case.data()
    wider = Axes(("maybe", "never", "no", "yes"), case.axes.features, case.axes.levels)
    moved = np.array([2, 0, 3])[y]
    assert_same_statistics(case.statistics(X, y).reindex(wider), case.family.statistics(X, moved, wider))


@categorical
def test_statistics_move_to_axes_with_further_levels(case):
    X, y = case.data()
    wider = Axes(case.axes.labels, case.axes.features, (("a", "b"), (0, 1, 2, 3), (False, "often", True)))
    new = np.array([[0, 1, -1], [1, 2, 3], [0, 2, -1]])
    moved = np.where(X < 0, X, new[np.arange(3), X])
    assert_same_statistics(case.statistics(X, y).reindex(wider), case.family.statistics(moved, y, wider))


# Sampling, priors, options


@every_prior
def test_sampled_rows_have_the_density_that_they_are_sampled_from(case, rng):
    """At the parameters of the sample the log density has no slope in any direction, within its standard error."""
    point, y, step = case.point(rng), np.repeat([0, 1, 2], 4000), 1e-4
    X, at = case.posterior.sample(point, y, rng), case.unconstrained(point)
    assert X.shape == (len(y), 3)
    directions = [sign * step * one for one in np.eye(len(at)) for sign in (1, -1)]
    moved = [point | case.constrained(at + direction) for direction in directions]
    together = {name: np.concatenate([one[name] for one in moved]) for name in point}
    density = case.prior.log_density(X, together)[:, np.arange(len(y)), y]
    slope = (density[::2] - density[1::2]) / (2 * step)
    assert (np.abs(slope.mean(axis=1)) < STANDARD_ERRORS * slope.std(axis=1) / np.sqrt(len(y)) + 1e-7).all()


@pytest.mark.parametrize("variance", ["class-feature", "feature", "class", "shared"])
def test_unit_information_prior_expects_the_pooled_variance(variance):
    case = next(case for case in GAUSSIAN if case.family.variance == variance)
    X, _ = case.data()
    s2 = np.nanvar(X, axis=0)
    prior = case.prior
    expected = np.full(3, s2.mean()) if variance in ("class", "shared") else s2
    mean = np.broadcast_to(prior.mean()["sigma2"].reshape(case.shape), (3, 3))
    np.testing.assert_allclose(mean, np.broadcast_to(expected, (3, 3)), rtol=1e-12)
    np.testing.assert_allclose(prior.m, np.broadcast_to(np.nanmean(X, axis=0), (3, 3)), rtol=1e-12)
    np.testing.assert_array_equal(prior.kappa, 1.0)


@gaussian
@pytest.mark.parametrize("value", [0.0, 0.1, -3.7, 1e6, 1e-30, np.nan, "up to rounding"])
def test_a_constant_or_empty_column_is_not_informative(case, value):
    X, y = case.complete()
    X[:, 1] = np.where(np.arange(len(y)) % 2, 0.3, 0.1 + 0.2) if isinstance(value, str) else value
    given = case.family.m is not None
    np.testing.assert_array_equal(case.family.informative(case.statistics(X, y)), [True, given, True])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Categorical(0.0), "alpha must be above 0 and finite, not 0.0"),
        (lambda: Categorical(np.array([1.0, np.nan])), "alpha must be above 0"),
        (lambda: Categorical(basis="logit"), "basis must be one of 'simplex', 'softmax', not 'logit'"),
        (lambda: Gaussian("full"), "variance must be one of 'class-feature', .*, not 'full'"),
        (lambda: Gaussian(kappa=-1.0), "kappa must be above 0 and finite, not -1.0"),
        (lambda: Gaussian(b=np.inf), "b must be above 0 and finite, not inf"),
        (lambda: FAMILIES["exponential"](a=0.0), "a must be above 0"),
        (lambda: FAMILIES["hurdle"](Gaussian()), "family must be a family of numbers above 0"),
        (lambda: FAMILIES["hurdle"](alpha=-1.0), "alpha must be above 0"),
        (lambda: FAMILIES["histogram"](a=()), "a must be above 0"),
        (lambda: LearntAlpha(spread=0.0), r"spread must be above 0 and finite, not 0\.0"),
        (lambda: LearntAlpha(least_levels=0), "least_levels must be a whole number of at least 1, not 0"),
        (lambda: FAMILIES["every-tree"](()), r"equivalent_rows must be above 0 and finite, not \(\)"),
    ],
)
def test_hyperparameters_are_checked(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("case", "family", "message"),
    [
        (CATEGORICAL[0], Categorical(np.ones((3, 5))), r"alpha has shape \(3, 5\), .* \(3, 7\)"),
        (GAUSSIAN[0], Gaussian(m=np.zeros(4)), r"m has shape \(4,\), .* \(3, 3\)"),
        (GAUSSIAN[1], Gaussian("feature", a=2.0, b=np.ones((3, 3))), r"b has shape \(3, 3\), .* \(1, 3\)"),
        (GAUSSIAN[0], Gaussian(a=1.0), "a is at most 1, .* give b too"),
        (GAMMA[0], FAMILIES["gamma"](spread=9.0), r"median and spread give numbers below e\^-25"),
    ],
)
def test_hyperparameters_that_do_not_fit_the_data_are_refused(case, family, message):
    with pytest.raises(InputError, match=message):
        family.resolve_prior(case.statistics(*case.data()))
