"""The PyMC block of every family, against its own density and prior."""

from functools import cache

import numpy as np
import pymc as pm
import pytest
from helpers.cases import BY_STRUCTURE, PRIORS, structure_of
from helpers.families import PYTHON, assert_drawn_from, assert_same_parameters, every_prior
from pymc.model.transform.conditioning import remove_value_transforms


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


EDGES = (fractional_weights, no_rows, one_row, constant_column, empty_class, weights_of_zero)


def model_coords(case):
    coords = {axis: names for axis, names in case.prior.coords().items() if isinstance(names, list)}
    return {"outcome": case.axes.labels, **coords}


def model_of(case, statistics):
    with pm.Model(coords=model_coords(case)) as model:
        case.prior.pymc(statistics, "")
    return model


MAIN_SUITE = (*("categorical", "bernoulli", "multinomial", "poisson", "exponential"), "gaussian class-feature")
"""How the names of cases begin that the main suite has: PyTensor needs a second for each of the other graphs."""


def marks_of(case):
    return () if case.name.startswith(MAIN_SUITE) else pytest.mark.slow


AT_EDGES = [
    pytest.param(case, edge, id=f"{case.name}-{edge.__name__}", marks=marks_of(case))
    for case in PRIORS
    for edge in (EDGES if case in BY_STRUCTURE.values() else EDGES[:1])
]
"""Edges of data reach the model as statistics, whatever the hyperparameters: one prior of each structure has all."""
at_every_edge = pytest.mark.parametrize(("case", "edge"), AT_EDGES)


@cache
def compiled(structure):
    """Return a model in the user's own parameters with its log density; the one that NUTS sees, its gradient and start.

    Cases of one structure differ in their data only, hyperparameters included.
    """
    case = BY_STRUCTURE[structure]
    model = model_of(case, case.statistics(*case.data()))
    plain = remove_value_transforms(model)
    return plain, plain.compile_logp(mode=PYTHON), model, model.compile_dlogp(mode=PYTHON), model.initial_point()


@cache
def rows_at(case, edge):
    """Return rows, labels and weights at an edge of data, and the data that the PyMC model has of them, by name."""
    X, y, weight = edge(*case.data(2), np.random.default_rng(20))
    model = model_of(case, case.statistics(X, y, weight))
    return X, y, weight, {variable.name: variable.get_value() for variable in model.data_vars}


def set_data(model, values):
    for name, value in values.items():
        model[name].set_value(value)


@at_every_edge
def test_pymc_log_density_of_statistics_is_that_of_the_rows(case, edge, rng):
    X, y, weight, data = rows_at(case, edge)
    plain, log_density, *_ = compiled(structure_of(case))
    set_data(plain, data)
    for _ in range(3):
        point = case.point(rng)
        rows = case.row_log_density(X, y, point) * (1.0 if weight is None else weight)
        expected = case.log_prior(case.prior, point) + case.pymc_log_jacobian(point) + rows.sum()
        found = log_density({name: values[0] for name, values in case.to_pymc(point).items()})
        np.testing.assert_allclose(found, expected, rtol=1e-10)


@at_every_edge
def test_pymc_gradient_is_finite(case, edge, rng):
    *_, model, gradient, start = compiled(structure_of(case))
    set_data(model, rows_at(case, edge)[3])
    for _ in range(3):
        point = {name: values + rng.normal(size=values.shape) for name, values in start.items()}
        assert np.isfinite(gradient(point)).all()


@every_prior
def test_from_pymc_inverts_the_grouping_of_pymc(case, rng):
    points = [case.point(rng) for _ in range(3)]
    parameters = {name: np.concatenate([point[name] for point in points]) for name in points[0]}
    factored = case.name.startswith(("multivariate gaussian", "conditional gaussian"))  # matrices from their factors
    tolerances = {"rtol": 1e-11, "atol": 1e-13} if factored else {"rtol": 0}
    assert_same_parameters(case.prior.from_pymc(case.to_pymc(parameters), ""), parameters, **tolerances)


def page_of(case, X, y):
    """Return the page of a family with the class of each row given."""
    with pm.Model(coords=model_coords(case)) as model:
        case.prior.page(X, pm.Data("labels", y), "")
    return model


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.name, marks=marks_of(case)) for case in BY_STRUCTURE.values()]
)
def test_the_page_draws_the_prior(case):
    """One prior of each structure: what is drawn follows the graph."""
    model = page_of(case, *case.data())
    names = [variable.name for variable in model.free_RVs]
    values = pm.draw([model[name] for name in names], draws=2000, random_seed=3, mode="FAST_COMPILE")
    draws = case.prior.from_pymc(dict(zip(names, values, strict=True)), "")
    assert_drawn_from(draws, case.marginals(case.prior))
