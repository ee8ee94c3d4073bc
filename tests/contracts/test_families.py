"""What every family must satisfy: two independent ways to each number, for every variant, at the edges of data too."""

from functools import cache

import numpy as np
import pymc as pm
import pytest
from helpers.cases import CASES, CATEGORICAL, GAUSSIAN, MULTINOMIAL, PRIORS
from hypothesis import given, settings
from hypothesis import strategies as st
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor.compile.mode import Mode
from scipy import integrate, optimize, stats
from scipy.special import logsumexp

from bayesclf.errors import DoesNotExist, InputError
from bayesclf.families import FAMILIES, Axes, Categorical, Gaussian, LearntClassPrior

PYTHON = Mode(linker="py", optimizer="fast_compile")
"""Evaluates a graph without compiling it to machine code: quicker for a handful of calls."""

STANDARD_ERRORS = 5.0
"""A right number is further off once in two million comparisons."""


def ids(cases):
    return {"argvalues": cases, "ids": [case.name for case in cases]}


every_case = pytest.mark.parametrize("case", **ids(CASES))
every_prior = pytest.mark.parametrize("case", **ids(PRIORS))
every_cellwise_case = pytest.mark.parametrize("case", **ids([case for case in CASES if case not in MULTINOMIAL]))
every_cellwise_prior = pytest.mark.parametrize("case", **ids([case for case in PRIORS if case not in MULTINOMIAL]))
gaussian = pytest.mark.parametrize("case", **ids(GAUSSIAN))
gaussian_prior = pytest.mark.parametrize("case", **ids([case for case in PRIORS if case in GAUSSIAN]))
categorical = pytest.mark.parametrize("case", **ids(CATEGORICAL))


def no_rows(X, y, rng):
    return X[:0], y[:0], None


def one_row(X, y, rng):
    return X[:1], y[:1], None


def constant_column(X, y, rng):
    X = X.copy()
    X[:, 0] = X[0, 0]
    return X, y, None


def fractional_weights(X, y, rng):
    return X, y, rng.uniform(0, 2, len(y))


def empty_class(X, y, rng):
    return X[y != 1], y[y != 1], None


def weights_of_zero(X, y, rng):
    return X, y, np.zeros(len(y))


EDGES = (no_rows, one_row, constant_column, fractional_weights, empty_class, weights_of_zero)
every_edge = pytest.mark.parametrize("edge", EDGES, ids=lambda edge: edge.__name__)


def assert_same_statistics(found, expected, rtol=1e-12):
    assert found.axes == expected.axes
    assert found.arrays().keys() == expected.arrays().keys()
    for name, values in expected.arrays().items():
        size = max(1.0, np.abs(values).max(initial=0.0))
        np.testing.assert_allclose(found.arrays()[name], values, rtol=rtol, atol=rtol * size, err_msg=name)


def assert_same_parameters(found, expected, **tolerances):
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name].shape == values.shape, name
        np.testing.assert_allclose(found[name], values, err_msg=name, **tolerances)


def hyperparameters(family):
    return {
        name: np.asarray(getattr(family, name))
        for name in ("alpha", "beta", "m", "kappa", "a", "b", "nu", "psi")
        if hasattr(family, name)
    }


def test_every_family_has_a_case():
    assert {type(case.family) for case in CASES} == set(FAMILIES.values())


@every_case
def test_statistics_are_of_the_class_that_the_family_names(case):
    assert type(case.statistics(*case.data())) is type(case.family).statistics_type


# Statistics


@every_case
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 30), parts=st.integers(1, 5), weighted=st.booleans())
@settings(max_examples=40, deadline=None)
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


@every_case
def test_a_weight_is_a_number_of_repetitions(case, rng):
    X, y = case.data()
    times = rng.integers(4, size=len(y))
    repeated = case.statistics(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_same_statistics(case.statistics(X, y, times.astype(float)), repeated)


@every_case
def test_pooled_statistics_are_those_of_one_label(case):
    X, y = case.data()
    one = Axes(("all",), case.axes.features, case.axes.levels)
    expected = case.family.statistics(X, np.zeros_like(y), one)
    assert_same_statistics(case.statistics(X, y).pooled(), expected)


@every_case
def test_selected_statistics_are_those_of_the_selected_columns(case):
    X, y = case.data()
    keep = np.array([True, False, True])
    axes = Axes(case.axes.labels, ("u", "w"), case.axes.levels[::2])
    assert_same_statistics(case.statistics(X, y).select(keep), case.family.statistics(X[:, keep], y, axes))


@every_case
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


# Densities


@every_prior
def test_log_density_is_that_of_scipy(case, rng):
    X, _ = case.data(1)
    point = case.point(rng)
    found = case.prior.log_density(X, point)
    assert found.shape == (1, len(X), 3)
    for k in range(3):
        np.testing.assert_allclose(found[0, :, k], case.row_log_density(X, np.full(len(X), k), point), rtol=1e-11)


@every_prior
def test_log_density_takes_each_draw_by_itself(case, rng):
    X, _ = case.data(1)
    points = [case.point(rng) for _ in range(4)]
    together = {name: np.concatenate([point[name] for point in points]) for name in points[0]}
    one_by_one = np.concatenate([case.prior.log_density(X, point) for point in points])
    np.testing.assert_allclose(case.prior.log_density(X, together), one_by_one, rtol=1e-11)


def spread(case, X, feature):
    """Return every row once for each value of one cell, and the weights of these values."""
    values, weights = case.cell_grid(feature)
    rows = np.repeat(X, len(values), axis=0)
    rows[:, feature] = np.tile(values, len(X))
    return rows, weights


@every_cellwise_prior
@pytest.mark.parametrize("feature", [0, 1, 2])
def test_a_missing_cell_is_integrated_out_of_the_density(case, feature, rng):
    X, _ = case.data(1, n=4)
    point = case.point(rng)
    rows, weights = spread(case, X, feature)
    density = np.exp(case.prior.log_density(rows, point)[0]).reshape(len(X), len(weights), 3)
    X[:, feature] = case.absent
    marginal = np.exp(case.prior.log_density(X, point)[0])
    np.testing.assert_allclose(np.einsum("rvk,v->rk", density, weights), marginal, rtol=1e-9)


@every_cellwise_prior
@pytest.mark.parametrize("feature", [0, 1, 2])
def test_a_missing_cell_is_integrated_out_of_the_predictive(case, feature):
    X, _ = case.data(1, n=4)
    rows, weights = spread(case, X, feature)
    density = np.exp(case.posterior.log_predictive(rows)).reshape(len(X), len(weights), 3)
    X[:, feature] = case.absent
    # Student's tails end the smoothness of the integrand at u = ±π/2, where a grid of 4,000 leaves about 1e-7.
    marginal = np.exp(case.posterior.log_predictive(X))
    np.testing.assert_allclose(np.einsum("rvk,v->rk", density, weights), marginal, rtol=1e-6)


@every_prior
def test_a_row_without_any_cell_has_density_one(case, rng):
    X = np.full((1, 3), case.absent)
    assert not case.prior.log_density(X, case.point(rng)).any()
    assert not case.posterior.log_predictive(X).any()


@gaussian_prior
@pytest.mark.parametrize("draws", [1, 50])
def test_a_distant_origin_costs_no_digits_of_the_density(case, draws):
    X, _ = case.data(1)
    points = case.posterior.draw(np.random.default_rng(0), draws)
    far = {"mu": points["mu"] + 1e6, "sigma2": points["sigma2"]}
    # x and μ keep 1e-10 of their unit at 1e6, which z²/2 multiplies by |z|/σ, here below 100.
    np.testing.assert_allclose(
        case.prior.log_density(X + 1e6, far), case.prior.log_density(X, points), rtol=1e-7, atol=1e-7
    )


@gaussian_prior
def test_a_density_in_a_millionth_of_the_unit_is_a_millionth_of_the_density(case, rng):
    X, _ = case.complete(1)
    point = case.point(rng)
    scaled = {"mu": 1e6 * point["mu"], "sigma2": 1e12 * point["sigma2"]}
    np.testing.assert_allclose(
        case.prior.log_density(1e6 * X, scaled), case.prior.log_density(X, point) - 3 * np.log(1e6), rtol=1e-12
    )


@pytest.mark.parametrize("case", **ids([case for case in GAUSSIAN if case.family.m is None]))
@pytest.mark.parametrize("estimate", ["mle", "map"])
def test_estimates_move_with_origin_and_unit(case, estimate):
    X, y = case.data()
    points = []
    for moved in (X, 1e6 + X, 1e6 * X):
        statistics = case.statistics(moved, y)
        points.append(getattr(case.family.resolve_prior(statistics), estimate)(statistics))
    plain, far, wide = points
    np.testing.assert_allclose(far["mu"] - 1e6, plain["mu"], atol=1e-9)
    np.testing.assert_allclose(far["sigma2"], plain["sigma2"], rtol=1e-8)
    np.testing.assert_allclose(wide["mu"], 1e6 * plain["mu"], rtol=1e-12)
    np.testing.assert_allclose(wide["sigma2"], 1e12 * plain["sigma2"], rtol=1e-12)


# PyMC


def model_of(case, statistics):
    features = case.axes.features
    coords = {"outcome": case.axes.labels, **dict.fromkeys(("feature", "other_feature", "word"), features)}
    with pm.Model(coords=coords) as model:
        case.prior.pymc(statistics, "")
    return model


@cache
def compiled(structure):
    """Return a model in the user's own parameters with its log density, and the one that NUTS sees with its gradient.

    Cases of one structure differ in their data only, hyperparameters included.
    """
    case = next(case for case in PRIORS if structure_of(case) == structure)
    model = model_of(case, case.statistics(*case.data()))
    plain = remove_value_transforms(model)
    return plain, plain.compile_logp(mode=PYTHON), model, model.compile_dlogp(mode=PYTHON)


def structure_of(case):
    family = case.family
    return family.name, getattr(family, "variance", None), getattr(family, "covariance", None)


@cache
def rows_at(case, edge):
    """Return rows, labels and weights at an edge of data, and the data that the PyMC model has of them, by name."""
    X, y, weight = edge(*case.data(2), np.random.default_rng(20))
    model = model_of(case, case.statistics(X, y, weight))
    return X, y, weight, {variable.name: variable.get_value() for variable in model.data_vars}


def set_data(model, values):
    for name, value in values.items():
        model[name].set_value(value)


@every_prior
@every_edge
def test_pymc_log_density_of_statistics_is_that_of_the_rows(case, edge, rng):
    X, y, weight, data = rows_at(case, edge)
    plain, log_density, _, _ = compiled(structure_of(case))
    set_data(plain, data)
    for _ in range(3):
        point = case.point(rng)
        rows = case.row_log_density(X, y, point) * (1.0 if weight is None else weight)
        expected = case.log_prior(case.prior, point) + rows.sum()
        found = log_density({name: values[0] for name, values in case.to_pymc(point).items()})
        np.testing.assert_allclose(found, expected, rtol=1e-10)


@every_prior
@every_edge
def test_pymc_gradient_is_finite(case, edge, rng):
    _, _, model, gradient = compiled(structure_of(case))
    set_data(model, rows_at(case, edge)[3])
    start = model.initial_point()
    for _ in range(3):
        point = {name: values + rng.normal(size=values.shape) for name, values in start.items()}
        assert np.isfinite(gradient(point)).all()


@every_prior
def test_from_pymc_inverts_the_grouping_of_pymc(case, rng):
    points = [case.point(rng) for _ in range(3)]
    parameters = {name: np.concatenate([point[name] for point in points]) for name in points[0]}
    assert_same_parameters(case.prior.from_pymc(case.to_pymc(parameters), ""), parameters, rtol=0)


@every_prior
def test_pymc_draws_the_prior(case):
    model = model_of(case, case.statistics(*case.data()))
    names = [variable.name for variable in model.free_RVs]
    values = pm.draw([model[name] for name in names], draws=2000, random_seed=3, mode="FAST_COMPILE")
    draws = case.prior.from_pymc(dict(zip(names, values, strict=True)), "")
    assert_drawn_from(draws, case.marginals(case.prior))


# Posterior


def assert_drawn_from(draws, marginals):
    """Compare independent draws with each parameter's distribution, by its uniform transform."""
    assert draws.keys() == marginals.keys()
    for name, distribution in marginals.items():
        u = distribution.cdf(draws[name]).reshape(len(draws[name]), -1)
        smallest = min(stats.kstest(column, "uniform").pvalue for column in u.T)
        assert smallest > 1e-6 / u.shape[1], name


@every_prior
def test_posterior_is_bayes_theorem_at_every_point(case, rng):
    """Log prior + log likelihood − log posterior is the log evidence, whatever θ: so are the predictives in a row."""
    X, y = case.data(3)
    posterior = case.prior.posterior(case.statistics(X, y))
    evidence = []
    for _ in range(5):
        point = case.point(rng)
        joint = case.log_prior(case.prior, point) + case.row_log_density(X, y, point).sum()
        evidence.append(joint - case.log_prior(posterior, point))
    one_by_one, now = 0.0, case.prior
    for i in range(len(y)):
        one_by_one += now.log_predictive(X[i : i + 1])[0, y[i]]
        now = now.posterior(case.statistics(X[i : i + 1], y[i : i + 1]))
    np.testing.assert_allclose(evidence, one_by_one, rtol=1e-10)


@every_prior
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 20))
@settings(max_examples=25, deadline=None)
def test_posterior_by_parts_is_the_posterior_of_the_whole(case, seed, n):
    X, y = case.data(seed, n)
    half = case.statistics(X[: n // 2], y[: n // 2]), case.statistics(X[n // 2 :], y[n // 2 :])
    in_two = hyperparameters(case.prior.posterior(half[0]).posterior(half[1]))
    at_once = hyperparameters(case.prior.posterior(half[0] + half[1]))
    assert_same_parameters(in_two, at_once, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("x", [[], [0], [1, 1, 0, 1]])
def test_categorical_posterior_is_that_of_quadrature(x):
    axes = Axes(("k",), ("u",), ((0, 1),))
    X = np.array(x, dtype=int)[:, None]
    family = Categorical(np.array([[1.5, 3.0]]))
    statistics = family.statistics(X, np.zeros(len(x), dtype=int), axes)
    found = family.resolve_prior(statistics).posterior(statistics)

    def joint(theta, power):
        return theta**power * stats.beta.pdf(theta, 1.5, 3.0) * np.prod(np.where(X[:, 0] == 0, theta, 1 - theta))

    norm, first, second = (integrate.quad(joint, 0, 1, args=(power,))[0] for power in (0, 1, 2))
    np.testing.assert_allclose(found.mean()["theta"][0, 0, 0], first / norm, rtol=1e-7)
    a, b = found.alpha[0]
    np.testing.assert_allclose(stats.beta(a, b).var(), second / norm - (first / norm) ** 2, rtol=1e-6)


@pytest.mark.parametrize("x", [[], [1.3], [0.2, 1.9, -0.4]])
def test_gaussian_posterior_is_that_of_quadrature(x):
    axes = Axes(("k",), ("u",))
    X = np.array(x)[:, None]
    family = Gaussian(m=0.5, kappa=0.8, a=4.0, b=2.0)
    statistics = family.statistics(X, np.zeros(len(x), dtype=int), axes)
    found = family.resolve_prior(statistics).posterior(statistics)
    # Even grids in standardized μ and in log σ²: the sums converge faster than any power of the step.
    t, log_sigma2 = np.meshgrid(np.linspace(-12, 12, 241), np.linspace(-6, 8, 1401), indexing="ij")
    sigma2 = np.exp(log_sigma2)
    mu = 0.5 + t * np.sqrt(sigma2 / 0.8)
    log_joint = stats.norm.logpdf(t) + stats.invgamma.logpdf(sigma2, 4.0, scale=2.0) + log_sigma2
    log_joint += stats.norm.logpdf(X[:, :, None], mu, np.sqrt(sigma2)).sum(axis=0)
    weights = np.exp(log_joint - logsumexp(log_joint))
    mean = found.mean()
    np.testing.assert_allclose(mean["mu"][0, 0, 0], (weights * mu).sum(), rtol=1e-6)
    np.testing.assert_allclose(mean["sigma2"][0, 0, 0], (weights * sigma2).sum(), rtol=1e-6)


@every_prior
def test_draws_follow_the_posterior(case, rng):
    assert_drawn_from(case.posterior.draw(rng, 4000), case.marginals(case.posterior))


@every_prior
def test_mean_is_that_of_the_marginals(case):
    expected = {name: marginal.mean()[None] for name, marginal in case.marginals(case.posterior).items()}
    assert_same_parameters(case.posterior.mean(), expected, rtol=1e-12)


@every_prior
def test_predictive_is_the_average_density_over_the_posterior(case, rng):
    X, _ = case.data(4, n=10)
    density = np.exp(case.posterior.log_density(X, case.posterior.draw(rng, 20_000)))
    error = density.std(axis=0) / np.sqrt(len(density))
    predictive = np.exp(case.posterior.log_predictive(X))
    assert (np.abs(density.mean(axis=0) - predictive) <= STANDARD_ERRORS * error + 1e-12).all()


def test_small_concentrations_are_drawn_without_underflow(rng):
    axes = Axes(("k",), ("u",), ((0, 1, 2),))
    theta = Categorical(np.full((1, 3), 1e-4), axes=axes).draw(rng, 2000)["theta"]
    assert np.isfinite(theta).all()
    np.testing.assert_allclose(theta.sum(axis=2), 1.0)


# Estimates


def assert_stationary(loss, vector, step=1e-4):
    """Assert by central differences that no coordinate has a slope, where rounding of the loss leaves about 1e-9."""
    lowest = loss(vector)
    for direction in step * np.eye(len(vector)):
        below, above = loss(vector - direction), loss(vector + direction)
        assert abs(above - below) / (2 * step) < 1e-6
        assert min(below, above) > lowest


@every_prior
def test_map_maximises_the_posterior_in_the_users_parameters(case, rng):
    X, y = case.data(5)
    statistics = case.statistics(X, y)
    posterior = case.prior.posterior(statistics)

    def loss(vector):
        point = case.constrained(vector)
        return -case.log_prior(posterior, point) - case.log_jacobian(point)

    mode = case.prior.map(statistics)
    at_mode = case.unconstrained(mode)
    assert_stationary(loss, at_mode)
    found = optimize.minimize(loss, at_mode + rng.normal(scale=0.3, size=at_mode.shape), options={"gtol": 1e-5})
    assert loss(at_mode) <= found.fun + 1e-9 * abs(found.fun)
    assert_same_parameters(case.constrained(found.x), mode, rtol=2e-3, atol=1e-5)


def test_mode_in_the_softmax_basis_is_the_posterior_mean():
    case = CATEGORICAL[1]
    statistics = case.statistics(*case.data())
    assert_same_parameters(case.prior.map(statistics), case.posterior.mean(), rtol=0)


@categorical
def test_predictive_of_a_concentration_is_the_map_of_one_more(case):
    X, y = case.data()
    statistics = case.statistics(X, y)
    above = Categorical(np.asarray(case.prior.alpha) + 1, axes=case.axes)
    np.testing.assert_allclose(
        case.posterior.log_predictive(X), above.log_density(X, above.map(statistics))[0], rtol=1e-12
    )


def test_map_of_concentration_one_is_the_mle():
    case = CATEGORICAL[0]
    statistics = case.statistics(*case.data())
    flat = Categorical(1.0).resolve_prior(statistics)
    assert_same_parameters(flat.map(statistics), case.family.mle(statistics), rtol=1e-15)


@every_case
def test_mle_is_the_textbooks(case):
    X, y = case.data()
    assert_same_parameters(case.family.mle(case.statistics(X, y)), case.naive_mle(X, y), rtol=1e-12)


@pytest.mark.parametrize(
    ("variance", "denominators"),
    [("class-feature", [2, 3, 4]), ("feature", 9), ("class", [4, 6, 8]), ("shared", 18)],
)
def test_unbiased_variances_divide_by_rows_less_means(variance, denominators):
    y = np.repeat([0, 1, 2], [3, 4, 5])
    X = np.random.default_rng(0).normal(size=(12, 2))
    statistics = Gaussian().statistics(X, y, Axes(("a", "b", "c"), ("u", "v")))
    biased, unbiased = (Gaussian(variance, unbiased=u).mle(statistics)["sigma2"][0] for u in (False, True))
    rows = {"class-feature": [3, 4, 5], "feature": 12, "class": [6, 8, 10], "shared": 24}[variance]
    ratio = np.array(rows) / np.array(denominators)
    expected = ratio[:, None] if variance == "class-feature" else ratio
    np.testing.assert_allclose(unbiased / biased, np.broadcast_to(expected, unbiased.shape), rtol=1e-12)


@every_cellwise_case
def test_mle_of_a_class_without_rows_does_not_exist(case):
    X, y = case.complete()
    with pytest.raises(DoesNotExist, match=r"class 'maybe' has .* column 'u'"):
        case.family.mle(case.statistics(X[y != 1], y[y != 1]))


@every_cellwise_case
def test_mle_of_a_class_without_a_cell_of_one_column_does_not_exist(case):
    X, y = case.complete()
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


def test_categorical_map_of_a_flat_posterior_is_not_unique():
    axes = Axes(("no", "yes"), ("u",), ((0, 1),))
    statistics = Categorical(1.0).statistics(np.array([[0], [1]]), np.array([0, 0]), axes)
    with pytest.raises(DoesNotExist, match=r"class 'yes' .* column 'u'"):
        Categorical(1.0).resolve_prior(statistics).map(statistics)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_the_only_level_of_a_feature_is_certain(alpha):
    axes = Axes(("no", "yes"), ("u",), (("a",),))
    statistics = Categorical(alpha).statistics(np.array([[0]]), np.array([0]), axes)
    family = Categorical(alpha).resolve_prior(statistics)
    posterior = family.posterior(statistics)
    for parameters in (family.map(statistics), posterior.mean(), posterior.draw(np.random.default_rng(0), 1)):
        np.testing.assert_array_equal(parameters["theta"], np.ones((1, 2, 1)))


def test_gaussian_mean_of_a_variance_without_one_does_not_exist():
    family = Gaussian(m=np.zeros((1, 1)), kappa=np.ones((1, 1)), a=np.ones((1, 1)), b=np.ones((1, 1)))
    with pytest.raises(DoesNotExist, match="a ≤ 1"):
        family.mean()


# Sampling, priors, options


@every_prior
def test_sampled_rows_have_the_parameters_they_were_sampled_from(case, rng):
    point = case.point(rng)
    n = 4000
    y = np.repeat([0, 1, 2], n)
    X = case.posterior.sample(point, y, rng)
    assert X.shape == (3 * n, 3)
    found = case.family.mle(case.statistics(X, y))
    for name, error in case.standard_errors(point, n).items():
        # A variance's MLE is low by a factor 1 − 1/n, far below its error.
        assert (np.abs(found[name][0] - point[name][0]) < STANDARD_ERRORS * error).all(), name


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
@pytest.mark.parametrize("value", [0.0, 0.1, -3.7, 1e6, 1e-30, np.nan])
def test_a_constant_or_empty_column_is_not_informative(case, value):
    X, y = case.complete()
    X[:, 1] = value
    given = case.family.m is not None
    np.testing.assert_array_equal(case.family.informative(case.statistics(X, y)), [True, given, True])


@pytest.mark.parametrize("case", **ids([case for case in GAUSSIAN if case.family.m is None]))
def test_a_column_that_is_constant_up_to_rounding_is_not_informative(case):
    X, y = case.complete()
    X[:, 1] = np.where(np.arange(len(y)) % 2, 0.3, 0.1 + 0.2)
    np.testing.assert_array_equal(case.family.informative(case.statistics(X, y)), [True, False, True])


@gaussian
def test_a_column_far_from_the_origin_is_informative(case):
    X, y = case.complete()
    assert case.family.informative(case.statistics(X * 1e-6 + 1e6, y)).all()


@categorical
def test_a_column_without_a_seen_cell_is_not_informative(case):
    X, y = case.complete()
    X[:, 1] = -1
    np.testing.assert_array_equal(case.family.informative(case.statistics(X, y)), [True, False, True])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Categorical(0.0), "alpha must be above 0 and finite, not 0.0"),
        (lambda: Categorical(np.array([1.0, np.nan])), "alpha must be above 0"),
        (lambda: Categorical(basis="logit"), "basis must be one of 'simplex', 'softmax', not 'logit'"),
        (lambda: Gaussian("full"), "variance must be one of 'class-feature', .*, not 'full'"),
        (lambda: Gaussian(kappa=-1.0), "kappa must be above 0 and finite, not -1.0"),
        (lambda: Gaussian(b=np.inf), "b must be above 0 and finite, not inf"),
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
    ],
)
def test_hyperparameters_that_do_not_fit_the_data_are_refused(case, family, message):
    with pytest.raises(InputError, match=message):
        family.resolve_prior(case.statistics(*case.data()))


# Class prior


class TestLearntClassPrior:
    counts = np.array([3.0, 0.0, 5.0])

    def test_mle_is_the_share_of_rows(self):
        np.testing.assert_allclose(LearntClassPrior(np.ones(3)).mle(self.counts)["pi"], [[3 / 8, 0, 5 / 8]])

    def test_map_adds_alpha_less_one(self):
        found = LearntClassPrior(np.array([2.0, 3.0, 1.5])).map(self.counts)["pi"]
        np.testing.assert_allclose(found, [[4 / 11.5, 2 / 11.5, 5.5 / 11.5]])

    def test_map_below_one_does_not_exist(self):
        with pytest.raises(DoesNotExist, match="class prior has no posterior mode"):
            LearntClassPrior(np.full(3, 0.9)).map(self.counts)

    def test_posterior_and_its_mean(self):
        posterior = LearntClassPrior(np.array([1.0, 2.0, 3.0])).posterior(self.counts)
        np.testing.assert_allclose(posterior.alpha, [4.0, 2.0, 8.0])
        np.testing.assert_allclose(posterior.mean()["pi"], [[4 / 14, 2 / 14, 8 / 14]])

    def test_pymc_observes_the_label_counts(self):
        prior = LearntClassPrior(np.array([1.5, 2.0, 3.0]))
        with pm.Model(coords={"outcome": ["a", "b", "c"]}) as model:
            prior.pymc(self.counts)
        pi = np.array([0.2, 0.5, 0.3])
        found = remove_value_transforms(model).compile_logp(mode=PYTHON)({"pi": pi})
        expected = stats.dirichlet.logpdf(pi, prior.alpha) + 3 * np.log(0.2) + 5 * np.log(0.3)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
