"""NUTS draws what the density says, compiles a structure once, and says when its draws cannot be trusted."""

import ctypes
import dataclasses
from dataclasses import dataclass
from importlib.metadata import version
from types import SimpleNamespace

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from arviz_stats.base import array_stats
from helpers.families import PYTHON
from nutpie.compile_pymc import CompiledPyMCModel
from scipy import stats

from bayesclf.engines.compiled import compiled, finite_or_nan
from bayesclf.engines.convergence import convergence_problems, scalars
from bayesclf.engines.inference import Draws
from bayesclf.engines.nuts import NUTS, STATISTICS, sample, sample_machine_code
from bayesclf.errors import InputError

STANDARD_ERRORS = 4.5
SMALL = NUTS(draws=500, tune=300)

NUTPIE_FIELDS = frozenset(
    {
        *("dims", "reparameterized_names", "compiled_logp_func", "compiled_expand_func", "initial_point_func"),
        *("shared_data", "shared_var_keys", "user_data", "n_expanded", "shape_info", "logp_func", "expand_func"),
        *("_n_dim", "_shapes", "_coords", "_transform_adapt_args"),
    }
)
"""Fields of nutpie's ``CompiledPyMCModel`` that `nutpie_model` was written for, the private ones included."""


def skewed(rate=2.0, concentration=(0.8, 2.0, 5.0), upper=1.0):
    with pm.Model() as model:
        pm.Gamma("precision", alpha=3.0, beta=pm.Data("rate", rate))
        pm.Dirichlet("theta", a=pm.Data("concentration", np.array(concentration)), shape=3)
        pm.Uniform("share", 0, pm.Data("upper", upper))
    return model


def slab():
    """Thirty dimensions, all wide but one that lies along no axis: no short trajectory turns back."""
    with pm.Model() as model:
        pm.MvNormal("x", mu=np.zeros(30), cov=np.eye(30) - 0.9999 / 30, shape=30)
    return model


def dataset(x, **coords):
    return xr.Dataset({"weight": (("chain", "draw", *coords), x)}, coords=coords)


def healthy(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.fixture(scope="module")
def skewed_sample():
    return sample(skewed(), NUTS(draws=2000, tune=500), seed=11, signature="skewed")


def assert_same_distribution(x, truth):
    """Compare mean, sd and quantiles of draws (chain, draw) with a SciPy distribution, by their Monte Carlo errors."""
    assert array_stats.ess(x) > 400
    error = STANDARD_ERRORS * array_stats.mcse(x, method="mean")
    assert abs(x.mean() - truth.mean()) < error
    assert abs(x.std() - truth.std()) < STANDARD_ERRORS * array_stats.mcse(x, method="sd")
    for level in (0.05, 0.5, 0.95):
        error = STANDARD_ERRORS * array_stats.mcse(x, method="quantile", prob=level)
        assert abs(np.quantile(x, level) - truth.ppf(level)) < error


def test_other_hyperparameters_reach_the_same_machine_code():
    found = compiled(skewed(), "skewed")
    model = skewed(rate=0.5, concentration=(3.0, 1.0, 0.5), upper=7.0)
    assert compiled(model, "skewed") is found
    log_density = found.log_density(model)
    value, gradient = model.compile_logp(mode=PYTHON), model.compile_dlogp(mode=PYTHON)
    names = [variable.name for variable in model.value_vars]
    for x in np.random.default_rng(0).normal(size=(5, 4)):
        point = dict(zip(names, (x[0], x[1:3], x[3]), strict=True))
        logp, dlogp = log_density(x)
        np.testing.assert_allclose(logp, value(point), rtol=1e-12)
        np.testing.assert_allclose(dlogp, gradient(point), rtol=1e-10, atol=1e-12)


def test_draws_follow_skewed_targets(skewed_sample):
    draws = skewed_sample.draws
    assert_same_distribution(draws["precision"], stats.gamma(3.0, scale=0.5))
    for level, (a, b) in enumerate([(0.8, 7.0), (2.0, 5.8), (5.0, 2.8)]):
        assert_same_distribution(draws["theta"][..., level], stats.beta(a, b))
    assert_same_distribution(draws["share"], stats.uniform())


def c_function(function):
    number = ctypes.POINTER(ctypes.c_double)
    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, number, number, number, ctypes.c_void_p)(function)


@c_function
def standard_gumbels(size, z, gradient, value, data):
    """Return log p(z) = −z − e^−z, the sum of it over the coordinates."""
    value[0] = 0.0
    for i in range(size):
        tail = np.exp(-z[i])
        gradient[i] = tail - 1
        value[0] -= z[i] + tail
    return 0


@c_function
def slab_of_normals(size, z, gradient, value, data):
    """Return the log density of `slab`."""
    mean = sum(z[i] for i in range(size)) / size
    value[0] = -0.5 * (sum(z[i] ** 2 for i in range(size)) + 9999 * size * mean**2)
    for i in range(size):
        gradient[i] = -z[i] - 9999 * mean
    return 0


@c_function
def never_finite(size, z, gradient, value, data):
    return 1


@dataclass(frozen=True)
class Target:
    """Variables 3 + 10 z, where z has the density of a C function: of independent Gumbel variables, or another."""

    size: int
    c_function: object = standard_gumbels
    addresses = np.zeros(1, dtype=np.uintp)

    @property
    def function(self):
        return SimpleNamespace(address=ctypes.cast(self.c_function, ctypes.c_void_p).value)

    scaled = False

    def parameters(self, z, rng):
        return {"x": 3 + 10 * z}


def test_draws_from_machine_code_follow_a_skewed_target():
    drawn = sample_machine_code(Target(2), NUTS(draws=1000), seed=4)
    assert set(drawn.stats) == set(STATISTICS)
    for axis in range(2):
        assert_same_distribution(drawn.draws["x"][..., axis], stats.gumbel_r(3, 10))


def test_machine_code_gives_the_same_draws_on_any_number_of_cores():
    one, three, free = (sample_machine_code(Target(3), NUTS(draws=50, cores=c), seed=7) for c in (1, 3, None))
    np.testing.assert_array_equal(one.draws["x"], three.draws["x"])
    np.testing.assert_array_equal(one.draws["x"], free.draws["x"])
    np.testing.assert_equal(one.stats, three.stats)


@pytest.mark.parametrize(("cores", "told"), [(2, 2), (None, 5)])
def test_nutpie_takes_the_cores_that_are_given_or_all(cores, told, monkeypatch):
    def stop(*_, **options):
        found.append(options["cores"])
        raise ZeroDivisionError

    found = []
    monkeypatch.setattr("nutpie.sample", stop)
    monkeypatch.setattr("bayesclf.engines.nuts.available", lambda: 5)
    with pytest.raises(ZeroDivisionError):
        sample_machine_code(Target(1), NUTS(cores=cores), seed=7)
    assert found == [told]


def test_nutpie_still_has_the_fields_that_machine_code_fills():
    found = {field.name for field in dataclasses.fields(CompiledPyMCModel)}
    assert found == NUTPIE_FIELDS, (
        f"nutpie {version('nutpie')} changed CompiledPyMCModel (differs by {sorted(found ^ NUTPIE_FIELDS)}): read its "
        "_make_model and with_data, give nutpie_model in engines/nuts.py what they now need, record the new "
        "fields in NUTPIE_FIELDS, and raise the range of nutpie in pyproject.toml only then"
    )


def test_machine_code_that_is_finite_nowhere_is_refused():
    with pytest.raises(InputError, match="not finite near its starting point"):
        sample_machine_code(Target(1, never_finite), SMALL, seed=1)


def assert_saturation_is_found(drawn, settings):
    import arviz as az

    assert drawn.stats["reached_max_treedepth"].all()
    recorded = Draws({}, settings.chains, drawn.stats).sample_stats
    posterior = xr.Dataset({"x": (("chain", "draw", "axis"), drawn.draws["x"])}, recorded.coords)
    problems = convergence_problems(scalars(posterior), drawn.stats, settings.max_treedepth)
    assert any("100% of the draws reached the maximum tree depth" in problem for problem in problems)
    tree = xr.DataTree.from_dict({"posterior": posterior, "sample_stats": recorded})
    has_errors, found = az.diagnose(tree, return_diagnostics=True, show_diagnostics=False)
    assert has_errors
    assert found["treedepth"]["n_max"] == settings.draws * settings.chains
    assert {"divergent", "treedepth", "bfmi", "ess", "rhat"} == set(found)


def test_saturated_trees_are_found():
    settings = NUTS(draws=300, tune=200, max_treedepth=2)
    assert_saturation_is_found(sample_machine_code(Target(30, slab_of_normals), settings, seed=5), settings)


def test_a_density_that_is_not_finite_everywhere_diverges_and_goes_on():
    with pm.Model() as model:
        x = pm.Normal("x")
        pm.Potential("wall", pt.switch(x > 1, -np.inf, 0.0) + 0.0 * pt.log(2.0 - x))
    drawn = sample(model, SMALL, seed=1, signature="wall")
    assert drawn.draws["x"].max() <= 1
    assert drawn.stats["diverging"].any()
    assert set(drawn.stats) == set(STATISTICS)
    posterior = xr.Dataset({"x": (("chain", "draw"), drawn.draws["x"])})
    assert any("diverged" in problem for problem in convergence_problems(scalars(posterior), drawn.stats, 10))


@pytest.mark.parametrize("error", [FloatingPointError, ZeroDivisionError, np.linalg.LinAlgError])
def test_a_density_that_fails_is_not_a_number(error):
    def fails(x):
        raise error

    value, gradient = finite_or_nan(fails)(np.ones(3))
    assert np.isnan(value)
    np.testing.assert_array_equal(gradient, np.zeros(3))


def test_what_cannot_be_sampled_is_refused():
    with pm.Model() as model:
        pm.Poisson("count", 3)
    with pytest.raises(InputError, match="count is discrete"):
        compiled(model, "discrete")


def test_the_worst_variable_is_named_with_its_coordinates():
    x = healthy((4, 1000, 2, 3))
    x[1, :, 1, 0] += 0.5
    x[1, :, 0, 2] += 2.0
    posterior = dataset(x, label=["setosa", "virginica"], feature=["width", "length", "sepal"])
    disagree, dependent = convergence_problems(scalars(posterior), None, 10)
    rhat = array_stats.rhat(x[:, :, 0, 2])
    assert disagree.startswith(f"the chains disagree: R-hat is {rhat:.3f} (limit 1.010) for 'weight[setosa, sepal]'")
    assert "above its limit for 2 of 6 parameters" in disagree
    assert "'weight[setosa, sepal]'" in dependent
    assert "below 400" in dependent


def test_too_few_chains_or_draws_are_said():
    (problem,) = convergence_problems(scalars(dataset(healthy((1, 1000)))), None, 10)
    assert problem.startswith("one chain cannot show")
    (problem,) = convergence_problems(scalars(dataset(healthy((4, 3)))), None, 10)
    assert problem.startswith("3 draws per chain are too few")


def test_slow_energy_is_found_in_its_chain():
    energy = healthy((4, 1000))
    energy[2] = np.cumsum(energy[2])
    (problem,) = convergence_problems(scalars(dataset(healthy((4, 1000)))), {"energy": energy}, 10)
    assert problem.startswith("chain 2 explores the tails slowly: E-BFMI is 0.0")
