"""Names in the PyMC models of several blocks: each once, and those of the posterior as they are in any model."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from helpers.suites import mainly

import bayesclf as bc

JOINT, GAUSSIAN, HISTOGRAM = ("c", "d"), ("u", "v"), ("w",)
BLOCKS = {
    "a joint table beside two levels": {JOINT: "joint"},
    "two joint tables": {("a", "b"): "joint", JOINT: "joint"},
    "a network first": {("a", "b"): bc.families.BayesianNetwork(edges=(("a", "b"),)), JOINT: "joint"},
    "a network last": {JOINT: "joint", ("a", "b"): bc.families.BayesianNetwork(edges=(("a", "b"),))},
    "three kinds of tables": {JOINT: "joint", ("a", "u"): "conditional-gaussian", "w": "histogram"},
    "blocks of numbers": {("a", "u"): "conditional-gaussian", ("b", "v"): "conditional-gaussian", "w": "log-normal"},
    "words": {("n", "m"): "multinomial", "b": "joint", "a": "joint"},
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({name: rng.choice(["x", "y"], 40) for name in "abcd"})
    X["d"] = rng.choice(["x", "y", "z"], 40)
    for name in "uvw":
        X[name] = rng.gamma(2.0, size=40)
    for name in "nm":
        X[name] = rng.poisson(2.0, size=40)
    return X, rng.choice(["no", "yes"], 40)


@pytest.mark.parametrize("name", mainly(BLOCKS, "a network first", "blocks of numbers", "words"))
def test_any_blocks_have_a_model_whose_draws_are_their_parameters(name, table):
    X, y = table
    clf = bc.NaiveBayes(BLOCKS[name], inference="map", alpha=2.0, random_state=1).fit(X, y)
    model = clf.to_pymc(X, y)
    free = [variable.name for variable in model.free_RVs]
    assert set(free) <= clf.model_.shown_dims().keys()
    values = pm.draw([model[one] for one in free], random_seed=1, mode="FAST_COMPILE")
    drawn = {one: value[None] for one, value in zip(free, values, strict=True)}
    parameters = clf.model_.from_pymc(drawn)
    assert parameters.keys() == clf.model_.dims().keys()
    shown = clf.model_.shown(parameters)
    for one in free:
        np.testing.assert_allclose(shown[one], drawn[one], rtol=1e-12)
    assert np.isfinite(clf.model_.pymc().compile_logp(mode="FAST_COMPILE")(clf.model_.pymc().initial_point()))


def test_columns_called_by_numbers_have_variables_of_their_own(table):
    """Of column 2 it is not that of the second block, here a zero-inflated family."""
    rng = np.random.default_rng(0)
    amount = np.where(rng.random(40) < 0.5, 0.0, rng.gamma(2.0, size=40))
    X, y = pd.DataFrame({2: rng.choice(["u", "v", "w"], 40), 3: rng.normal(size=40), 4: amount}), table[1]
    clf = bc.NaiveBayes({"4": "hurdle"}, families="gaussian", random_state=1).fit(X, y)
    posterior = clf.posterior_["posterior"]
    assert {"theta_2", "theta_column_2"} <= set(posterior.data_vars)
    for name, values in clf.draws_.parameters.items():
        np.testing.assert_array_equal(posterior[name].values.reshape(values.shape), values)
    assert {variable.name for variable in clf.to_pymc(X, y).free_RVs} <= set(posterior.data_vars)


@pytest.mark.slow
@pytest.mark.parametrize("first", [None, "gaussian", "gamma"])
@pytest.mark.parametrize("family", ["gamma", "exponential", "log-normal", "poisson", "negative-binomial", "hurdle"])
def test_a_family_draws_from_its_prior_in_any_block(family, first, table):
    """Variables are not called what PyTensor calls its own: a second block's shape is named "shape_2"."""
    X, y = table
    column = "n" if family in ("poisson", "negative-binomial") else "v"
    blocks = {**({} if first is None else {"u": first}), column: family}
    model = bc.NaiveBayes(blocks, inference="map", random_state=1).fit(X[[*blocks]], y).to_pymc(X[[*blocks]], y)
    prior = pm.sample_prior_predictive(3, model=model, random_seed=1)
    assert {variable.name for variable in model.free_RVs} == set(prior["prior"].data_vars)
